"""Text that continues a prompt is recorded as such, a suite's as well, and its program is found."""

import gzip

import msgspec
import pytest

from truegrade.benchmarks.bigcodebench import BigCodeBenchRow, _item
from truegrade.grading.programs import assemble
from truegrade.models.base import Reply
from truegrade.pipeline.generate import completion_of
from truegrade.profiles import open_profile
from truegrade.records import Problem, SampleKey, SuiteTask

BEHIND = "\nThe function returns what was asked for; see below (a list of\nexamples: [1, 2"
"""As base models run on: prose, and an open bracket."""
PROMPT = 'import math\n\ndef area(r):\n    """The area of a circle."""\n'
BODY = "    return math.pi * r * r\n"
SUITE = SuiteTask(prompt=PROMPT, prefix=PROMPT, entry_point="area", tests="", reference=PROMPT + BODY)
PROFILES = ("strict", "bigcodebench")


def recorded(profile, problem, text, variant="base", **of_reply):
    rules = open_profile(profile)
    prompt = rules.render_prompt(problem, variant)
    completion = completion_of(problem, prompt, SampleKey(problem.id, 0), Reply(text=text, model="m", **of_reply))
    return completion, rules.extract(problem, completion)


def problem_of(task):
    return Problem(id="BigCodeBench/0", benchmark="bigcodebench", dataset_sha256="0" * 64, cluster="0", task=task)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_suites_prompt_is_continued_as_a_functions_is(profile):
    completion, answer = recorded(profile, problem_of(SUITE), BODY + BEHIND)
    assert completion.form == "completion" and answer.reason is None
    assert BODY.strip() in answer.value and "see below" not in answer.value
    assert recorded(profile, problem_of(SUITE), BODY, form="program")[0].form == "program"
    assert recorded(profile, problem_of(SUITE), BODY, variant="default")[0].form == "reply"


def test_right_bodies_of_bigcodebench_give_an_answer_that_compiles(data_dir):
    path = data_dir / "BigCodeBench.jsonl.gz"
    if not path.is_file():
        pytest.skip("BigCodeBench.jsonl.gz is not in TRUEGRADE_DATA")
    rows = [
        msgspec.json.decode(line, type=BigCodeBenchRow) for line in gzip.decompress(path.read_bytes()).splitlines()
    ]
    missing = []
    for row in rows[:300]:
        task = _item(row, "complete").task
        answer = recorded("strict", problem_of(task), row.canonical_solution + BEHIND)[1]
        whole = "" if answer.value is None else assemble(task.prefix, answer)
        if "def task_func" not in whole or row.canonical_solution.strip() not in whole or not compiles(whole):
            missing.append((row.task_id, answer.found))
    assert missing == []


def compiles(source):
    try:
        compile(source, "<program>", "exec")
    except SyntaxError:
        return False
    return True
