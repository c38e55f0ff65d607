"""Verdicts that EvalPlus, lm-eval and EvalScope recorded, held against fresh ones."""

import json

import pytest
from audit_files import document, lines, right, toy, upstream, wrong

from support.importing import streamed
from truegrade.analysis.audit import Evidence, audit_file
from truegrade.analysis.audit.rows_beside_benchmark import read_flags, speaks_of
from truegrade.analysis.audit.survey import read_rows
from truegrade.benchmarks import load_benchmark
from truegrade.errors import BadRecord
from truegrade.settings import Silent

TASKS = 3


def findings(path):
    audited = audit_file(Evidence(path=path, progress=Silent(), allow_unsafe=True), toy(TASKS))
    return {item.code: item.rows for item in audited.findings if item.code != "model-unrecorded"}


def lm_eval(number, body, verdict):
    doc = upstream(number)
    return {"doc_id": number, "doc": doc, "target": "", "resps": [[body]], "filter": "create_test",
            "arguments": {"gen_args_0": {"arg_0": doc["prompt"], "arg_1": {}}}, "filtered_resps": [[body]],
            "metrics": ["pass@1"], "pass@1": float(verdict)}  # fmt: skip


def evalscope(number, body, verdict):
    reply = f"```python\n{upstream(number)['prompt']}{body}```"
    score = {"value": {"acc": verdict}, "prediction": reply, "metadata": {"task_id": f"Toy/{number}"}}
    return {"index": number, "messages": [], "sample_score": {"score": score, "sample_id": number}}


@pytest.mark.parametrize("row", [lm_eval, evalscope])
def test_a_recorded_pass_that_fails_is_found(tmp_path, row):
    path = lines(tmp_path / "f.jsonl", [row(0, right(0), True), row(1, wrong(1), True), row(2, right(2), False)])
    found = findings(path)
    assert found["flag-pass-contradicted"] == ["Toy/1"]
    assert found["flag-fail-contradicted"] == ["Toy/2"]
    assert set(found) == {"flag-pass-contradicted", "flag-fail-contradicted"}


@pytest.mark.parametrize(
    ("mean", "metrics", "verdicts"),
    [
        (0.5, ["pass@1"], []),
        (1.0, ["pass@1"], [True, True]),
        (0.0, ["pass@1", "pass@2"], [False, False]),
        (1.0, ["pass@2"], []),
    ],
)
def test_a_mean_over_repeats_speaks_of_each_where_all_are_alike(tmp_path, mean, metrics, verdicts):
    row = {**lm_eval(0, right(0), mean), "metrics": metrics, "pass@2": 1.0}
    row["resps"] = [[right(0), wrong(0)]]
    (read,) = streamed(read_rows, lines(tmp_path / "f.jsonl", [row]))
    assert (len(read.texts), [flag.value for flag in read.flags], read.form) == (2, verdicts, "completion")


def results(statuses):
    return {
        "date": "2026", "hash": "x",
        "eval": {f"Toy/{n}": [{"task_id": f"Toy/{n}", "solution": upstream(n)["prompt"] + body,
                               "base_status": base, "plus_status": plus}]
                 for n, (body, base, plus) in enumerate(statuses)},
    }  # fmt: skip


def test_statuses_of_evalplus_on_the_base_tests(tmp_path):
    statuses = [(right(0), "pass", "fail"), (wrong(1), "pass", "pass"), (wrong(2), "timeout", "fail")]
    found = findings(document(tmp_path / "e.json", results(statuses)))
    assert found == {"flag-pass-contradicted": ["Toy/1"]}, "plus tests are not this benchmark's"


def test_results_on_one_line_longer_than_the_head_are_a_document(tmp_path):
    path = document(tmp_path / "e.json", results([("    pass\n" + "#" * 70_000, "fail", None)]))
    (row,) = streamed(read_rows, path)
    assert (row.raw_id, row.form, row.place) == ("Toy/0", "program", "eval.Toy/0[0]")


@pytest.mark.parametrize(
    ("base", "plus", "expected"),
    [
        ("pass", "pass", {"base_status": (True, False), "plus_status": (True, True)}),
        ("fail", "pass", {"base_status": (False, False), "plus_status": (False, True)}),
        ("pass", "timeout", {"base_status": (True, False), "plus_status": (False, True)}),
        ("pass", None, {"base_status": (True, True)}),
    ],
)
def test_a_plus_set_asks_for_both_statuses(base, plus, expected):
    fields = {"base_status": base, "plus_status": plus}
    flags = read_flags(fields)
    assert {flag.name: (flag.value, speaks_of(flag, fields, "humanevalplus")) for flag in flags} == expected
    assert [flag.name for flag in flags if speaks_of(flag, fields, "humaneval")] == ["base_status"]


def test_a_raw_file_of_evalplus_holds_replies(tmp_path):
    row = {"task_id": "Toy/0", "solution": "```python\nx\n```"}
    files = [lines(tmp_path / name, [row]) for name in ("a.raw.jsonl", "a.jsonl")]
    forms = [row.form for file in files for row in streamed(read_rows, file)]
    assert forms == ["reply", "program"]


def test_wrong_rows_name_their_place(tmp_path):
    with pytest.raises(BadRecord, match="no id") as caught:
        list(streamed(read_rows, lines(tmp_path / "f.jsonl", [{"index": 0, "model_output": {"choices": []}}])))
    assert caught.value.line == 1
    path = tmp_path / "e.json"
    path.write_text(json.dumps({"eval": {"Toy/0": {"nfiles": 1}}}))
    with pytest.raises(BadRecord, match="without their solutions"):
        list(streamed(read_rows, path))


def test_results_of_a_code_reasoning_run_are_audited(tmp_path):
    code = "def f(a):\n    return a + 1"
    row = {"id": "r", "function_name": "f", "code": code, "input": ["f(1)", "f(2)"], "output": ["2", "3"]}
    benchmark = load_benchmark("execution-prediction", data=lines(tmp_path / "rows.jsonl", [row]))
    right_one, wrong_one = {"response": "[ANSWER]2[/ANSWER]"}, {"response": "[ANSWER]9[/ANSWER]"}
    failed = {"response": None}
    records = [
        {"problem_id": "r", "case_idx": 0, "oc_successes": 2, "original_predictions": [right_one, wrong_one]},
        {"problem_id": "r", "case_idx": 1, "oc_successes": 1, "original_predictions": [wrong_one, failed]},
        {"problem_id": "r", "case_idx": 0, "original_predictions": [{**right_one, "oc_correct": False}]},
    ]
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"model": "m", "results": records}))
    audited = audit_file(Evidence(path=path, progress=Silent(), allow_unsafe=True), benchmark)
    assert {item.code: item.rows for item in audited.findings} == {
        "flag-pass-contradicted": ["r/case0#1"],
        "flag-fail-contradicted": ["r/case0#2"],
        "samples-uneven": ["r/case1"],
    }
