"""EvalScope itself runs our benchmarks and comes to the verdicts of our own run."""

import pytest

import truegrade

pytest.importorskip("evalscope", reason="the extra [evalscope] is not installed")

pytestmark = pytest.mark.slow


def test_evalscope_gives_every_reply_the_verdict_of_our_own_run(evalscope_runs, replies, lines_of):
    _, reviews, report = evalscope_runs(profile="strict")
    scores = [row["sample_score"]["score"] for row in lines_of(reviews)]
    assert {score["metadata"]["task_id"]: score["value"]["acc"] == 1 for score in scores} == replies.passed
    told = {score["metadata"]["task_id"]: score["metadata"]["verdict"]["reason"] for score in scores}
    assert told == replies.reasons
    metrics = {metric["identity"]["aggregation"]: metric["score"] for metric in report["metrics"]}
    assert metrics == {name: pytest.approx(replies.accuracy, abs=1e-4) for name in ("mean", "pass_at_k")}


def test_its_predictions_are_graded_again_by_truegrade_with_the_same_verdicts(evalscope_runs, replies, tmp_path):
    predictions, *_ = evalscope_runs()
    run = truegrade.grade(predictions, benchmark="humaneval", data=replies.data, out=tmp_path / "again")
    assert {verdict.problem_id: verdict.passed for verdict in run.verdicts()} == replies.passed


def test_a_profile_that_words_texts_to_continue_is_refused_with_a_sentence(evalscope_runs):
    with pytest.raises(AssertionError, match="choose another profile or prompt"):
        evalscope_runs(profile="human-eval")
