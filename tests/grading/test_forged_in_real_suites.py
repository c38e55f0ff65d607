"""References, and programs that forge, at suites of BigCodeBench itself."""

import os
from pathlib import Path

import pytest

from support.forged_suites import forged
from truegrade.benchmarks import load_benchmark
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.pipeline.verdicts import limits_for
from truegrade.profiles import open_profile
from truegrade.records import Answer
from truegrade.sandbox import Sandbox

FILE = "BigCodeBench.jsonl.gz"
STRICT = open_profile("strict")
EVERY = int(os.environ.get("TRUEGRADE_FORGED_EVERY") or 0)
"""Every so-manieth problem; 0: as below."""


@pytest.mark.slow
def test_references_pass_and_nothing_forged_does_unmarked():
    folder = Path(os.environ.get("TRUEGRADE_DATA", ""))
    if not (folder / FILE).is_file():
        pytest.skip(f"{FILE} is not in TRUEGRADE_DATA: see docs/benchmarks.md")
    problems = load_benchmark("bigcodebench", folder, {"packages": "installed"}).problems[:: EVERY or 120]
    # Not BigCodeBench/1103: it starts `python` by a name that no jail knows, and would sleep for 20 s a run.
    problems = [each for each in problems if EVERY or "time.sleep(" not in each.task.tests]
    cases = [(each, how, code) for each in problems for how, code in forged(each.task.entry_point).items()]
    programs = [*((each, code) for each, _, code in cases), *((each, each.task.reference) for each in problems)]
    with Sandbox(limits_for(STRICT, problems), workers=1) as sandbox:
        found = [STRICT.judgement(each, Answer(value=code, found="given"), sandbox) for each, code in programs]
    judged, references = found[: len(cases)], found[len(cases) :]
    accepted = [
        (each.id, how)
        for (each, how, _), one in zip(cases, judged, strict=True)
        if one.passed and TESTS_INSIDE not in one.marks
    ]
    lost = {each.id for (each, _, _), one in zip(cases, judged, strict=True) if one.reason == "grader_error"}
    print(f"{len(cases)} programs at {len(problems)} suites, accepted {accepted}; no verdict at {lost}")
    assert not accepted
    right = sum(one.passed for one in references)
    print(f"references: {right} of {len(references)} pass")
    assert right >= 0.9 * len(references)
