"""Result files of code-reasoning-repro: each shape that its two writers left behind."""

import json

import pytest

import truegrade
from support.importing import read_completions, sniff_format
from truegrade.errors import BadRecord

PREDICTION_IDS = ["r/case0", "r/case1", "r/case0~mutant", "r/case1~mutant", "one", "one~mutant"]
CHOICE_IDS = ["r/case0~AB", "r/case0~BA", "r/case1~AB", "r/case1~BA"]


def reply(text, latency_s=2.0, **more):
    return {"prediction": "x", "response": text, "latency_s": latency_s, **more}


def load(tmp_path, document, ids=PREDICTION_IDS):
    path = tmp_path / "results.json"
    path.write_text(json.dumps(document))
    assert sniff_format(path).name == "code-reasoning"
    benchmark = "execution-choice" if ids is CHOICE_IDS else "execution-prediction"
    return list(read_completions(path, benchmark=benchmark, dataset_sha256="d" * 64, known_ids=ids))


def told(completions):
    return [(c.problem_id, c.sample, c.text) for c in completions]


def test_notebook_predictions_by_case_and_by_row(tmp_path):
    results = [
        {
            "problem_index": 0, "problem_id": "r", key: case,
            "original_predictions": [reply(f"o{case}a"), reply(f"o{case}b")],
            "mutated_predictions": [reply(f"m{case}", generation=0)],
        }
        for key, case in (("case_idx", 0), ("case_index", 1))
    ] + [{"problem_id": "one", "original_predictions": [reply("o")], "mutated_predictions": None}]  # fmt: skip
    got = load(tmp_path, {"model": "gpt-oss-20b", "metrics": {"OC": 1.0}, "results": results})
    assert told(got) == [
        ("r/case0", 0, "o0a"),
        ("r/case0", 1, "o0b"),
        ("r/case0~mutant", 0, "m0"),
        ("r/case1", 0, "o1a"),
        ("r/case1", 1, "o1b"),
        ("r/case1~mutant", 0, "m1"),
        ("one", 0, "o"),
    ]
    assert {(c.model, c.form, c.latency_s) for c in got} == {("gpt-oss-20b", "reply", 2.0)}


def test_bedrock_predictions_nest_their_cases_and_name_the_model_that_ran(tmp_path):
    record = {
        "problem_id": "r",
        "test_inputs": ["f(1)", "f(2)"],
        "original_predictions": [
            {"generation_index": i, "testcases": [reply(f"{i}.0"), reply(f"{i}.1")]} for i in range(2)
        ],
        "mutated_predictions": [{"generation_index": 0, "testcases": [reply("m0"), reply("m1", None)]}],
    }
    body = {"model": "claude-3.5", "bedrock_model_id": "us.anthropic.claude-sonnet-4-5", "results": [record]}
    got = load(tmp_path, {"prediction": body})
    assert told(got) == [
        ("r/case0", 0, "0.0"),
        ("r/case1", 0, "0.1"),
        ("r/case0", 1, "1.0"),
        ("r/case1", 1, "1.1"),
        ("r/case0~mutant", 0, "m0"),
        ("r/case1~mutant", 0, "m1"),
    ]
    assert {c.model for c in got} == {"us.anthropic.claude-sonnet-4-5"}


def record(case, first, text, **more):
    return {"problem_id": "r", "run_index": 0, "original_first": first, "response": text, "latency_s": 1.0, **more}


def test_notebook_choices_name_their_case(tmp_path):
    results = [
        record(0, True, "a", case_idx=1),
        record(0, False, "b", case_idx=0),
        record(0, True, "c", case_idx=1),
    ]
    got = load(tmp_path, {"model": "gpt-oss-20b", "results": results}, CHOICE_IDS)
    assert told(got) == [("r/case1~AB", 0, "a"), ("r/case0~BA", 0, "b"), ("r/case1~AB", 1, "c")]


def test_bedrock_choices_are_numbered_in_their_order(tmp_path):
    results = [record(case, first, f"{case}{first}") for case in (0, 1) for first in (True, False)]
    got = load(
        tmp_path,
        {"choice": {"execution_choice_summary": {}, "execution_choice_results": results}},
        CHOICE_IDS,
    )
    assert told(got) == [
        ("r/case0~AB", 0, "0True"),
        ("r/case0~BA", 0, "0False"),
        ("r/case1~AB", 0, "1True"),
        ("r/case1~BA", 0, "1False"),
    ]
    assert {c.model for c in got} == {"imported"}


@pytest.mark.parametrize(
    ("document", "ids", "message", "field"),
    [
        (
            {"results": [record(0, True, "x", case_idx=7)]},
            CHOICE_IDS,
            "with `task_args` cases=all",
            "results[0].problem_id",
        ),
        (
            {"results": [{"problem_id": "q", "original_predictions": [reply("x")]}]},
            PREDICTION_IDS,
            "no problem 'q'",
            "results[0].problem_id",
        ),
        (
            {"results": [{"problem_id": "r", "original_predictions": [{"response": 3}]}]},
            PREDICTION_IDS,
            "expected str",
            "results[0].original_predictions[0].response",
        ),
        ({"choice": {"execution_choice_summary": {}}}, CHOICE_IDS, "only scores at most", None),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, document, ids, message, field):
    with pytest.raises(BadRecord, match=message) as caught:
        load(tmp_path, document, ids)
    assert caught.value.field == field


def test_a_file_grades_against_its_rows(execution_rows, tmp_path):
    """Ids of our rows, replies as the models wrote them: right, of the other program, and none."""
    truth, other = "[ANSWER]\nassert odd(0) == set()\n[/ANSWER]", "assert odd(5) == {1, 3}"
    rows = [
        {"problem_id": "row_odd", "case_idx": 0, "original_predictions": [reply(other), reply("I think")]},
        {"problem_id": "row_odd", "case_idx": 1, "mutated_predictions": [reply(truth)]},
        {"problem_id": "row_odd", "case_idx": 0, "mutated_predictions": [reply(other)]},
    ]
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"model": "m", "results": rows}))
    run = truegrade.grade(path, benchmark="execution-prediction", data=execution_rows, out=tmp_path / "run")
    got = {(v.problem_id, v.sample): (v.reason.value, v.marks) for v in run.verdicts("strict")}
    assert got == {
        ("row_odd/case0", 0): ("passed", ()),
        ("row_odd/case0", 1): ("no_answer", ()),
        ("row_odd/case1~mutant", 0): ("passed", ("reverted",)),
        ("row_odd/case0~mutant", 0): ("wrong_answer", ("reverted",)),
    }
