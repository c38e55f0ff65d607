"""The same HumanEval replies get the same score from four tools: no more, no less, and for the same samples."""

import pytest

pytestmark = pytest.mark.slow


def test_four_tools_give_the_same_replies_one_score(inspect_runs, lm_eval_runs, evalscope_runs, replies, lines_of):
    from inspect_ai.log import read_eval_log

    log = read_eval_log(str(inspect_runs("--limit", str(len(replies.passed)))))
    results, samples = lm_eval_runs()
    _, reviews, report = evalscope_runs()
    told = {
        "inspect": {sample.id: sample.scores["verdict"].value == "C" for sample in log.samples},
        "lm-eval": {row["doc"]["task_id"]: row["pass@1"] == 1 for row in lines_of(samples)},
        "evalscope": {
            score["metadata"]["task_id"]: score["value"]["acc"] == 1
            for score in (row["sample_score"]["score"] for row in lines_of(reviews))
        },
    }
    assert told == dict.fromkeys(told, replies.passed)
    scores = {
        "inspect": log.results.scores[0].metrics["accuracy"].value,
        "lm-eval": results["pass@1,verdicts"],
        "evalscope": next(m["score"] for m in report["metrics"] if m["identity"]["aggregation"] == "mean"),
    }
    assert scores == dict.fromkeys(
        scores, pytest.approx(replies.accuracy, abs=1e-4)
    )  # EvalScope prints four digits
