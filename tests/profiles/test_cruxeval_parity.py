"""`cruxeval` and `strict` against the published verdicts on CodeLlama-7B's generations."""

import json

import pytest
from profile_rows import sandbox_of

import truegrade
from truegrade.profiles import open_profile
from truegrade.profiles.cruxeval import SKIPPED
from truegrade.records import Answer, OutputTask, Problem, Reason


@pytest.fixture(scope="module")
def published(data_dir):
    return json.loads((data_dir / "cruxeval_codellama7b" / "output_scored.json").read_text())


@pytest.mark.slow
def test_published_generations_grade_to_the_published_numbers_sample_by_sample(data_dir, published, tmp_path):
    run = truegrade.grade(
        data_dir / "cruxeval_codellama7b" / "output_generations.json",
        benchmark="cruxeval-output",
        data=data_dir,
        profiles=["cruxeval", "strict"],
        out=tmp_path / "run",
    )
    for profile in run.summary["profiles"]:
        estimates = {estimate["metric"]: estimate["value"] * 100 for estimate in profile["estimates"]}
        assert estimates["pass@1"] == pytest.approx(published["pass_at_1"], abs=1e-9)
        assert estimates["pass@5"] == pytest.approx(published["pass_at_5"], abs=1e-9)
        verdicts = {}
        for verdict in run.verdicts(profile["profile"]):
            verdicts.setdefault(verdict.problem_id, {})[verdict.sample] = verdict.passed
        ours = {task: [samples[i] for i in sorted(samples)] for task, samples in verdicts.items()}
        assert ours == published["raw_scored_generations"]
    assert run.summary["disagreeing"] == 0
    assert all(verdict.cpu_s is None for verdict in run.verdicts("strict")), "strict executes nothing"


TASK = OutputTask(program="def f(x):\n    return x + 1", function="f", arguments="1", expected="2")
PROBLEM = Problem(id="sample_0", benchmark="cruxeval-output", dataset_sha256="", cluster="sample_0", task=TASK)


@pytest.mark.parametrize(
    ("generation", "official", "strict"),
    [
        ("2", Reason.PASSED, Reason.PASSED),
        ("3", Reason.WRONG_ANSWER, Reason.WRONG_ANSWER),
        ("0 or 1", Reason.PASSED, None),
        ("1 + 1", Reason.PASSED, None),
        ("f (1)", Reason.PASSED, None),
        ("type('E', (), {'__eq__': lambda s, o: True})()", Reason.PASSED, None),
        ("f(1)", Reason.NO_ANSWER, None),
        ("[1, 2", Reason.SYNTAX_ERROR, None),
        ("__import__('os')._exit(0)", Reason.RUNTIME_ERROR, None),
    ],
)
def test_known_defects_are_reproduced_and_strict_accepts_none(generation, official, strict):
    profile = open_profile("cruxeval")
    answer = Answer(value=generation, found="", form="answer")
    sandbox = sandbox_of(profile.limits)
    assert profile.judgement(PROBLEM, answer, sandbox).reason is official
    from truegrade.extraction.assertions import extract_output_answer

    extracted = extract_output_answer(generation)
    if strict is None:
        assert extracted.value is None
    else:
        assert open_profile("strict").judgement(PROBLEM, extracted, sandbox).reason is strict


def test_skipped_generations_leave_the_denominator_of_an_item_that_has_a_right_one():
    profile = open_profile("cruxeval")
    right, wrong, echo = (True, ()), (False, ()), (False, (SKIPPED,))
    assert profile.tally([right, echo, echo]) == (1, 1)
    assert profile.tally([wrong, echo, echo]) == (3, 0)
    assert profile.tally([right, wrong, echo]) == (2, 1)
