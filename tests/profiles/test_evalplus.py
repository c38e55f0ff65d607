"""`evalplus` and `evalplus-base`: prompts, forms, verdicts, and parity with EvalPlus itself."""

import msgspec
import pytest
from peer_process import ask, rows, tasks
from peer_replies import CHEATS, fenced, mutant
from profile_rows import completion, evalplus_request, oracle, passed, sandbox_of

from truegrade.benchmarks import load_benchmark
from truegrade.errors import UnknownName, UserError
from truegrade.grading.evalplus import run_reference
from truegrade.profiles import open_profile
from truegrade.profiles.evalplus import BASE_EOS, EOS
from truegrade.records import Answer, Reason
from truegrade.sandbox import Sandbox

PLUS, BASE = open_profile("evalplus"), open_profile("evalplus-base")
_PROMPT = 'def add(a, b):\n    """ Add. """\n'
_EQUAL = "class E:\n    def __eq__(self, o):\n        return True\n\ndef add(a, b):\n    return E()\n"


def verdicts(profile, task, *programs):
    sandbox = sandbox_of(profile.limits)
    return [profile.judgement(task, Answer(value=text, found=""), sandbox) for text in programs]


def test_base_and_plus():
    task = oracle()
    right, base_only = "def add(a, b):\n    return a + b\n", "def add(a, b):\n    return a + b if a > 0 else 9\n"
    assert [j.passed for j in verdicts(PLUS, task, right, base_only)] == [True, False]
    assert [j.passed for j in verdicts(BASE, task, right, base_only)] == [True, True]


def test_reasons():
    programs = ["def add(a, b):\n    return 0\n", "def add(", "x = 1\n", "def add(a, b):\n    return a.c\n",
                _EQUAL, "import os\ndef add(a, b):\n    os._exit(0)\n",
                "def add(a, b):\n    open('x')\n"]  # fmt: skip
    found = verdicts(BASE, oracle(), *programs)
    assert [j.reason for j in found] == [
        Reason.WRONG_ANSWER, Reason.SYNTAX_ERROR, Reason.RUNTIME_ERROR, Reason.RUNTIME_ERROR, Reason.PASSED,
        Reason.RUNTIME_ERROR, Reason.RUNTIME_ERROR,
    ]  # fmt: skip
    assert found[0].detail == "WrongAnswer: input 0: 0, not 3"
    assert all(j.marks == ("tests-inside",) for j in found)


def test_sticky_tolerance_is_reproduced_here_and_not_under_strict():
    # [[x]] is no list of floats to EvalPlus: it gets a tolerance only behind an input that expects a float.
    nested = "def add(a, b):\n    return a if b == 0 else [[a + {}]]\n"
    program, reference = nested.format("1e-9"), nested.format("0")
    for inputs, right in ((((1.0, 0), (2.0, 1)), True), (((2.0, 1), (1.0, 0)), False)):
        task = oracle(reference=reference, base_inputs=inputs, plus_inputs=())
        assert verdicts(PLUS, task, program)[0].passed is right
        assert verdicts(open_profile("strict"), task, program)[0].passed


@pytest.mark.slow
@pytest.mark.thorough
def test_endless_call_ends_after_its_limit():
    (judgement,) = verdicts(BASE, oracle(), "def add(a, b):\n    while True:\n        pass\n")
    assert judgement.reason is Reason.TIME_LIMIT
    assert judgement.cpu_s < 6 and judgement.wall_s > 3.9


def test_limits_follow_the_reference():
    # 1.2 s for one input: 4.8 s instead of 4, and more where the machine has other work.
    slow = "import time\ndef add(a, b):\n    time.sleep(1.2 if a == 2 else 0)\n    return a\n"
    task = oracle(reference=slow, base_inputs=((1, 1), (2, 1)), plus_inputs=()).task
    with Sandbox(PLUS.limits, workers=1) as sandbox:
        truth = run_reference(task, sandbox)
    first, second = truth.base.limits_s
    assert 4.0 <= first < second and 4.5 <= second < 20
    assert truth.base.total_s == first + second + 2 and truth.plus.total_s == 2
    assert not truth.base.needs_numpy


def test_a_failing_reference_is_a_grader_error():
    (judgement,) = verdicts(PLUS, oracle(reference="def add(a, b):\n    return a / 0\n"), "x = 1")
    assert judgement.reason is Reason.GRADER_ERROR and "input 1" in judgement.detail


def test_forms():
    task, body = oracle(), "\treturn a + b\n\ndef more():\n    return 1\n"
    asked = msgspec.structs.replace(
        completion(body, "completion"), prompt_sha256=PLUS.render_prompt(task, "base").sha256
    )
    found = PLUS.extract(task, asked)
    assert found.value == f"{_PROMPT}    return a + b" and found.form == "program"
    assert PLUS.extract(task, completion(body, "completion")).value == _PROMPT + body  # of a file: as it is
    assert PLUS.extract(task, completion(body)).value == "\ndef more():\n    return 1"  # the body is lost
    assert PLUS.extract(task, completion("anything", "program")).value == "anything"
    assert PLUS.extract(task, completion("")).reason is Reason.NO_CODE


def test_prompts(data_dir):
    he, mbpp = (load_benchmark(name, data_dir).problems[0] for name in ("humanevalplus", "mbppplus"))
    ask_for = (
        "Please provide a self-contained Python script that solves the following problem in a markdown code block:"
    )
    text = he.task.prompt.strip()
    assert PLUS.render_prompt(he).messages[0].content == f"{ask_for}\n```python\n{text}\n```"
    assert PLUS.render_prompt(he, "anthropic").messages[0].content == f"{ask_for}\n```python\n{text}\n```\n"
    chat = PLUS.render_prompt(he, "chat")
    assert [message.role for message in chat.messages] == ["user", "assistant"]
    assert chat.stop == (*EOS, "\n```\n") and chat.messages[0].content == f"{ask_for}\n```\n{text}\n```\n"
    base = PLUS.render_prompt(mbpp, "base")
    assert base.messages[0].content == mbpp.task.prompt.strip() + "\n" and base.style == "text"
    assert base.stop == EOS + BASE_EOS["mbppplus"]
    with pytest.raises(UnknownName):
        PLUS.render_prompt(he, "cot")
    with pytest.raises(UserError, match="no rules for 'humaneval'"):
        PLUS.render_prompt(oracle(benchmark="humaneval"))


# ------------------------------------------------------------------------------------------------- parity


def replies(problems, ids):
    pairs = []
    for name in ids:
        whole = problems[name].task.reference
        pairs += [(problems[name], text) for text in (fenced(whole), fenced(mutant(whole)))]
    signature = f"def {problems[ids[-1]].task.entry_point}(*args):\n    if not args: return 1\n"
    return pairs + [(problems[ids[-1]], fenced(signature + cheat)) for cheat in CHEATS.values()]


@pytest.mark.slow
def test_parity_of_verdicts(data_dir):
    he, mbpp = (load_benchmark(name, data_dir).by_id() for name in ("humanevalplus", "mbppplus"))
    cases = rows(replies(he, tasks(he, "HumanEval/32", "HumanEval/4", "HumanEval/95")), 10)
    cases += rows(replies(mbpp, tasks(mbpp, "Mbpp/2", "Mbpp/737", "Mbpp/558", "Mbpp/581")), 12)
    nested = "def add(a, b):\n    return a if b == 0 else [[a + 1e-9]]\n"
    for inputs in (((1.0, 0), (2.0, 1)), ((2.0, 1), (1.0, 0))):
        task = oracle(reference=nested.replace("1e-9", "0"), base_inputs=inputs, plus_inputs=())
        cases.append((task, f"x = 1\n{nested}"))
    checks = []
    for problem, reply in cases:
        checks.append(evalplus_request(problem, solution=PLUS.extract(problem, completion(reply)).value))
    peer = ask("evalplus", {"replies": [], "sanitize": [], "prompt": "", "checks": checks})["statuses"]
    ours = [passed(PLUS, [case]) for case in cases]
    assert [found for (found,) in ours] == [statuses == ["pass", "pass"] for statuses in peer]
    assert [True] in ours and [False] in ours
    assert peer[-2:] == [["pass", "pass"], ["fail", "pass"]]


@pytest.mark.slow
def test_parity_of_words():
    peer = ask("evalplus", {"replies": [], "sanitize": [], "prompt": _PROMPT, "checks": []})
    assert [list(EOS), *(list(stops) for stops in BASE_EOS.values())] == peer["stops"]
    user, opening = (message.content for message in PLUS.render_prompt(oracle(), "chat").messages)
    first, second = user.split("\n", 1)[0], opening.split("\n", 1)[0]
    assert peer["chat"] == f"{user}|{opening}".replace(first, "<instruction>").replace(second, "<response>")
