"""The derived test programs of the plus sets: verdicts, refusals, parity with the program that generated them."""

import base64
import pickle

import pytest
from peer_process import ask, rows
from peer_replies import CHEATS, mutant
from plus_data import data_of
from profile_rows import completion, sandbox_of

from truegrade.benchmarks import load_benchmark
from truegrade.errors import UserError
from truegrade.grading.evalplus import CROSS_CHECKED, plus_tests
from truegrade.grading.functions import expected_outputs
from truegrade.profiles import open_profile
from truegrade.records import Answer, OracleTask, Problem, Reason
from truegrade.sandbox import Limits, Sandbox

BIGCODE = open_profile("bigcode")
SPECIAL = {
    "humanevalplus": ("HumanEval/32", "HumanEval/4", "HumanEval/2", "HumanEval/14", "HumanEval/95"),
    "mbppplus": ("Mbpp/2", "Mbpp/737", "Mbpp/558", "Mbpp/581", "Mbpp/98", "Mbpp/88"),
}
"""Tasks with a comparison of their own or a tolerance, or whose reference is called beside the candidate."""


def oracle(benchmark="humanevalplus", **changed):
    prefix = 'def add(a, b):\n    """ Add. """\n' if benchmark == "humanevalplus" else ""
    fields = {
        "prefix": prefix, "entry_point": "add", "reference": "def add(a, b):\n    return a + b\n",
        "prompt": prefix, "base_inputs": ((1, 2), (1, 2), (0.1, 0.2)), "plus_inputs": ((-1, 1),),
    } | changed  # fmt: skip
    return Problem(id=repr(fields), benchmark=benchmark, dataset_sha256="", cluster="", task=OracleTask(**fields))


def judge(profile, problem, *programs):
    sandbox = sandbox_of(profile.limits)
    return [profile.judgement(problem, Answer(value=text, found=""), sandbox) for text in programs]


@pytest.mark.parametrize("name", ["bigcode", "lm-eval", "evalscope"])
def test_base_and_plus_inputs_within_tolerance(name):
    right, close = "def add(a, b):\n    return a + b\n", "def add(a, b):\n    return a + b + (a == 0.1) * 1e-8\n"
    base_only, wrong = "def add(a, b):\n    return a + b if a > 0 else 9\n", "def add(a, b):\n    return 3\n"
    found = judge(open_profile(name), oracle(), right, close, base_only, wrong)
    assert [j.passed for j in found] == [True, True, False, False]
    assert all(j.marks == ("tests-inside",) for j in found)


def test_names_of_the_tests_are_the_answers_own():
    assert judge(BIGCODE, oracle("mbppplus"), "def add(a, b):\n    return np.add(a, b)\n")[0].passed


def test_a_failing_reference_is_a_grader_error():
    (found,) = judge(BIGCODE, oracle(reference="def add(a, b):\n    return a / 0\n"), "x = 1")
    assert found.reason is Reason.GRADER_ERROR


@pytest.mark.parametrize("name", ["lm-eval", "evalscope"])
def test_mbppplus_is_refused_where_its_asserts_are_those_of_sanitized_mbpp(name):
    with pytest.raises(UserError, match="use the benchmark mbpp-sanitized"):
        open_profile(name).extract(oracle("mbppplus"), completion("x"))
    with pytest.raises(UserError, match="generate under evalplus"):
        BIGCODE.render_prompt(oracle("mbppplus"))


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", SPECIAL)
def test_parity_with_the_generated_programs(benchmark, data_dir):
    problems = load_benchmark(benchmark, data_dir).by_id()
    chosen = [problems[name] for name in dict.fromkeys((*SPECIAL[benchmark], *rows(list(problems), 1)[::20]))]
    asked, ours, references = [], [], expected_outputs()
    with Sandbox(BIGCODE.limits, workers=1) as sandbox:
        for problem in chosen:
            task = problem.task
            head = f"def {task.entry_point}(*given):\n"
            programs = [task.reference, mutant(task.reference), *(head + cheat for cheat in CHEATS.values())]
            found = [BIGCODE.judgement(problem, Answer(value=text, found=""), sandbox) for text in programs]
            kept = [(text, j) for text, j in zip(programs, found, strict=True) if not j.time_sensitive
                    and j.reason is not Reason.TIME_LIMIT]  # fmt: skip
            inputs = [list(arguments) for arguments in task.base_inputs + task.plus_inputs]
            crossed = task.entry_point in CROSS_CHECKED
            shown = () if crossed else references.of(problem.id, task, sandbox).results
            outputs = [None] * len(inputs) if crossed else [one.value for one in shown]
            asked.append({
                "kind": "humaneval" if task.prefix else "mbpp", "id": problem.id, "entry_point": task.entry_point,
                "reference": task.reference, "atol": task.atol, "programs": [text for text, _ in kept],
                "values": base64.b64encode(pickle.dumps((inputs, list(outputs)))).decode(),
            })  # fmt: skip
            ours.append([judgement.passed for _, judgement in kept])
    assert ask("plus_tests", {"rows": asked})["verdicts"] == ours
    assert any(True in found for found in ours) and any(False in found for found in ours)


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", SPECIAL)
def test_parity_of_inputs_and_expected_outputs(benchmark, data_dir):
    """From the released file by EvalPlus' own loader, reference runs and generator, and by ours."""
    problems = load_benchmark(benchmark, data_dir).by_id()
    ids = list(dict.fromkeys((*SPECIAL[benchmark], *problems)))
    files = [str(data_dir / name) for name in ("HumanEvalPlus.jsonl.gz", "MbppPlus.jsonl.gz")]
    ids, references = rows(ids, 12), expected_outputs()
    theirs = ask("plus_texts", {"files": files, "ids": ids})
    with Sandbox(Limits(cpu_s=60), workers=1) as sandbox:
        for name in ids:
            task = problems[name].task
            text = plus_tests(name, task, references, sandbox)
            assert data_of(text, as_sets=task.comparator == "set_equal") == theirs[name], name
