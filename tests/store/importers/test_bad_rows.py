"""One row that records a failed request, or cannot be read, does not refuse the file: in every format."""

import json

import pytest
from click.testing import CliRunner

from support.importing import read_completions
from truegrade.cli import main
from truegrade.errors import BadRecord
from truegrade.store import Run
from truegrade.store.importers import IMPORTERS, RowFaults

KNOWN = [f"HumanEval/{number}" for number in range(1, 4)]
NO_FIELD = object()
"""Stands for a text whose field is not there."""


def with_text(name, text, **fields):
    return fields if text is NO_FIELD else {**fields, name: text}


def own(task, text):
    same = {"benchmark": "humaneval", "dataset_sha256": "d" * 64, "model": "m", "config_sha256": "c"}
    return with_text("text", text, **same, prompt_sha256="p", problem_id=task, sample=0)


def inspect(task, text):
    message = with_text("content", text, role="assistant")
    return {"id": task, "epoch": 1, "input": "?", "output": {"model": "m", "choices": [{"message": message}]}}


def evalscope(task, text):
    message = with_text("content", text, role="assistant")
    return {
        "index": 0,
        "model": "m",
        "metadata": {"task_id": task},
        "model_output": {"choices": [{"message": message}]},
    }


def lm_eval(task, text):
    return with_text("resps", text if text is NO_FIELD else [[text]], doc={"task_id": task}, filter="none")


def code_reasoning(task, text):
    return {"problem_id": task, "original_predictions": [with_text("response", text)]}


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def listed(name, task_name="task_id"):
    return lambda task, text: with_text(name, text if text is NO_FIELD else [text], **{task_name: task})


LOG = {"version": 2, "status": "success", "eval": {"task": "truegrade/humaneval"}}
FORMATS = {
    "truegrade": ("completions.jsonl", own, lines),
    "samples-jsonl": ("samples.jsonl", lambda t, x: with_text("completion", x, task_id=t), lines),
    "evalplus-raw": ("a.raw.jsonl", lambda t, x: with_text("solution", x, task_id=t), lines),
    "lm-eval-samples": ("samples_humaneval.jsonl", lm_eval, lines),
    "evalscope": ("predictions.jsonl", evalscope, lines),
    "mapcoder-rows": ("mapcoder.jsonl", listed("source_codes"), lines),
    "results-jsonl": (
        "a_results.jsonl",
        lambda t, x: with_text("generated_code", x, problem_id=t, success=x is not None), lines,
    ),
    "evalplus-results": (
        "eval_results.json", lambda t, x: (t, [with_text("solution", x)]),
        lambda rows: json.dumps({"eval": dict(rows)}),
    ),
    "completion-list": ("list.json", listed("completion_list"), json.dumps),
    "completion-rows": ("rows.json", lambda t, x: with_text("completion", x, task_id=t), json.dumps),
    "cruxeval-generations": (
        "generations.json", lambda t, x: (f"sample_{t[-1]}", [x]), lambda rows: json.dumps(dict(rows)),
    ),
    "bigcode-generations": ("generations.json", lambda t, x: [x], json.dumps),
    "livecodebench": ("lcb.json", listed("output_list", "question_id"), json.dumps),
    "code-reasoning": ("reasoning.json", code_reasoning, lambda rows: json.dumps({"results": rows})),
    "inspect": (
        "log.json", inspect,
        lambda rows: json.dumps({**LOG, "samples": rows}),
    ),
}  # fmt: skip


def read(tmp_path, name, texts, *, change=lambda content: content, **more):
    """What is read of a file whose rows answer `KNOWN`, and what was noted about bad rows."""
    file, row, whole = FORMATS[name]
    path = tmp_path / file
    path.write_text(change(whole([row(task, text) for task, text in zip(KNOWN, texts, strict=True)])))
    known = [f"sample_{task[-1]}" for task in KNOWN] if name == "cruxeval-generations" else KNOWN
    faults = RowFaults(refusing=False)
    same = {"benchmark": "humaneval", "dataset_sha256": "d" * 64, "known_ids": known, "faults": faults}
    found = {one.problem_id[-1]: one.text for one in read_completions(path, **same, **more)}
    return found, faults


def test_the_table_holds_every_format():
    assert FORMATS.keys() == {importer.name for importer in IMPORTERS}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("texts", [("a", None, ""), (None, "a", "b"), ("", "a", None)])
def test_a_null_reply_is_a_missing_sample_and_an_empty_one_a_reply(tmp_path, name, texts):
    found, faults = read(tmp_path, name, texts)
    assert found == dict(zip("123", texts, strict=True))
    assert faults.count == 0


@pytest.mark.parametrize("name", sorted(FORMATS.keys() - {"cruxeval-generations", "bigcode-generations"}))
@pytest.mark.parametrize("value", [5, {"x": "y"}, NO_FIELD])
def test_a_row_without_a_usable_text_is_named_and_the_others_are_read(tmp_path, name, value):
    found, faults = read(tmp_path, name, ("a", value, "b"))
    assert (found["1"], found.get("2"), found["3"]) == ("a", None, "b")
    if value is NO_FIELD and name in ("evalscope", "inspect", "code-reasoning", "truegrade"):
        return  # the field may be left out, as a null is
    assert faults.count == 1
    (fault,) = faults.first
    assert fault.line == 2 or fault.field


@pytest.mark.parametrize(
    "name", sorted(FORMATS.keys() - {"cruxeval-generations", "bigcode-generations", "code-reasoning"})
)
def test_a_row_of_no_known_problem_is_named_and_the_others_are_read(tmp_path, name):
    found, faults = read(
        tmp_path, name, ("a", "b", "c"), change=lambda text: text.replace("HumanEval/2", "Other/x")
    )
    assert (found, faults.count) == ({"1": "a", "3": "c"}, 1)


@pytest.mark.parametrize("name", [name for name, (_, _, whole) in FORMATS.items() if whole is lines])
@pytest.mark.parametrize("bad", ['{"task_id": "Human', "null", "[" * 50_000, '{"x": ' + "9" * 5000 + "}", "\x00"])
@pytest.mark.parametrize("at", [0, 1, 3])
def test_a_line_that_cannot_be_read_is_named_and_the_others_are_read(tmp_path, name, bad, at):
    def damaged(content):
        rows = content.splitlines(keepends=True)
        return "".join([*rows[:at], bad + "\n", *rows[at:]])

    found, faults = read(tmp_path, name, ("a", "b", "c"), change=damaged, format=name)
    assert found == {"1": "a", "2": "b", "3": "c"}
    assert [fault.line for fault in faults.first] == [at + 1]


SEVERAL = {
    "lm-eval-samples": lambda texts: lines([{"doc": {"task_id": KNOWN[0]}, "resps": [texts]}]),
    "mapcoder-rows": lambda texts: lines([{"task_id": KNOWN[0], "source_codes": texts}]),
    "evalplus-results": lambda texts: json.dumps({"eval": {KNOWN[0]: [{"solution": text} for text in texts]}}),
    "completion-list": lambda texts: json.dumps([{"task_id": KNOWN[0], "completion_list": texts}]),
    "cruxeval-generations": lambda texts: json.dumps({"sample_1": texts}),
    "bigcode-generations": lambda texts: json.dumps([texts]),
    "livecodebench": lambda texts: json.dumps([{"question_id": KNOWN[0], "output_list": texts}]),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_a_null_among_several_replies_keeps_the_numbers_of_the_others(tmp_path, name):
    path = tmp_path / FORMATS[name][0]
    path.write_text(SEVERAL[name](["a", None, "", "b"]))
    known = ["sample_1"] if name == "cruxeval-generations" else KNOWN[:1]
    same = {"benchmark": "humaneval", "dataset_sha256": "d" * 64, "known_ids": known}
    found = [(one.sample, one.text) for one in read_completions(path, **same)]
    assert found == [(0, "a"), (1, None), (2, ""), (3, "b")]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("lm-eval-samples", lines([{"doc": {"task_id": KNOWN[0]}, "resps": None}])),
        ("mapcoder-rows", lines([{"task_id": KNOWN[0], "source_codes": None}])),
        ("evalplus-results", json.dumps({"eval": {KNOWN[0]: [None]}})),
        ("evalplus-results", json.dumps({"eval": {KNOWN[0]: None}})),
        ("completion-list", json.dumps([{"task_id": KNOWN[0], "completion_list": None}])),
        ("evalscope", lines([{"index": 0, "metadata": {"task_id": KNOWN[0]}, "model_output": None}])),
        ("code-reasoning", json.dumps({"results": [{"problem_id": KNOWN[0], "original_predictions": [None]}]})),
    ],
)
def test_a_null_in_place_of_the_replies_is_one_missing_sample(tmp_path, name, content):
    path = tmp_path / FORMATS[name][0]
    path.write_text(content)
    same = {"benchmark": "humaneval", "dataset_sha256": "d" * 64, "known_ids": KNOWN}
    assert [one.text for one in read_completions(path, **same)] == [None]


def test_unknown_bare_numbers_refuse_a_file_as_the_others_may_be_another_benchmarks(tmp_path):
    path = tmp_path / "samples.jsonl"
    path.write_text(lines({"task_id": number, "completion": "x"} for number in (1, 2, 900)))
    same = {"benchmark": "humaneval", "dataset_sha256": "d" * 64, "known_ids": KNOWN}
    with pytest.raises(BadRecord, match="no problem 900"):
        list(read_completions(path, **same, faults=RowFaults(refusing=False)))


def test_grade_names_the_bad_rows_and_scores_the_others(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    good = {"task_id": "HumanEval/23", "completion": "    return len(string)\n"}
    rows = [{"task_id": "HumanEval/0", "error": "timeout"}, good, {"task_id": "HumanEval/1", "completion": None}]
    path = tmp_path / "samples.jsonl"
    path.write_text(lines(rows) + '{"task_id": "Human\n')
    arguments = ["grade", "samples.jsonl", "-b", "humaneval", "--out"]
    result = CliRunner().invoke(main, [*arguments, "run"], terminal_width=400)
    assert result.exit_code == 0, result.output
    said = " ".join(result.output.split())
    assert "samples.jsonl, line 1: the entry holds neither 'completion' nor 'solution'" in said
    assert "samples.jsonl, line 4: not a whole JSON value" in said
    run = Run.open(tmp_path / "run")
    assert (run.summary["expected"], run.summary["answered"], run.summary["missing"]) == (3, 1, 2)
    path.write_text(lines(rows[:1]))
    result = CliRunner().invoke(main, [*arguments, "other", "--format", "samples-jsonl"])
    assert result.exit_code == 2 and "line 1" in result.output and not (tmp_path / "other").exists()
