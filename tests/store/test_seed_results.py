"""Result files of code-reasoning-repro's evaluate.py: written, read back, and graded to the same verdicts."""

import pytest

import truegrade
from truegrade.records import Answer, Completion, Reason
from truegrade.store.exporters.harness_files import seed_row


def completion(text, latency_s=1.2345):
    return Completion(
        benchmark="b", dataset_sha256="d", problem_id="contest431_q3702_s0", sample=0, config_sha256="c",
        prompt_sha256="p", text=text, model="gpt-4o-mini", latency_s=latency_s,
    )  # fmt: skip


def test_the_line_of_its_evaluation():
    assert seed_row(completion("..."), Answer(value="5", found="block", form="answer")) == {
        "problem_id": "contest431_q3702_s0",
        "model_name": "gpt-4o-mini",
        "generated_code": "5",
        "success": True,
        "latency_ms": 1234.5,
    }


def test_without_an_answer_or_a_reply():
    nothing = Answer(value=None, found="no_answer", reason=Reason.NO_ANSWER)
    assert seed_row(completion("I cannot tell."), nothing)["generated_code"] == ""
    failed = seed_row(completion(None, None), nothing)
    assert (failed["success"], failed["latency_ms"]) == (False, None)


def verdicts(run):
    return {v.problem_id: (v.passed, v.reason, v.marks) for v in run.verdicts("strict")}


@pytest.mark.parametrize("model", ["reference", "lookup"])
def test_what_is_written_grades_as_the_run_did(model, execution_rows, tmp_path):
    run = truegrade.run(
        "execution-prediction", model=f"baseline/{model}", data=execution_rows, out=tmp_path / "run"
    )
    path = truegrade.export(run, "seed-results", data=execution_rows)
    again = truegrade.grade(path, benchmark="execution-prediction", data=execution_rows, out=tmp_path / "again")
    assert verdicts(again) == verdicts(run)
    assert {passed for passed, _, _ in verdicts(run).values()} == {model == "reference"}
