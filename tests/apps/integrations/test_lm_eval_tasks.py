"""The harness itself runs the tasks that we write and comes to the verdicts of our own run."""

import json

import pytest

import truegrade

pytest.importorskip("lm_eval", reason="the extra [lm-eval] is not installed")

pytestmark = pytest.mark.slow


def test_the_harness_gives_every_reply_the_verdict_of_our_own_run(lm_eval_runs, replies, lines_of):
    results, samples = lm_eval_runs()
    told = {row["doc"]["task_id"]: json.loads(row["filtered_resps"][0][0]) for row in lines_of(samples)}
    assert {name: verdict["passed"] for name, verdict in told.items()} == replies.passed
    assert {name: row["pass@1"] == 1 for name, row in by_task(lines_of(samples)).items()} == replies.passed
    assert results["pass@1,verdicts"] == pytest.approx(replies.accuracy)


def test_its_samples_are_graded_again_by_truegrade_with_the_same_verdicts(lm_eval_runs, replies, tmp_path):
    _, samples = lm_eval_runs()
    run = truegrade.grade(samples, benchmark="humaneval", data=replies.data, out=tmp_path / "again")
    assert {verdict.problem_id: verdict.passed for verdict in run.verdicts()} == replies.passed


def test_repeats_give_pass_at_k(lm_eval_runs, replies, lines_of):
    results, samples = lm_eval_runs(repeats=2)
    assert all(len(row["resps"][0]) == 2 for row in lines_of(samples))
    for metric in ("pass@1", "any_correct", "all_correct"):
        assert results[f"{metric},verdicts"] == pytest.approx(replies.accuracy)


def by_task(rows):
    return {row["doc"]["task_id"]: row for row in rows}
