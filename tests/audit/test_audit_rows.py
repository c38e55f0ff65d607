"""Rows of every published shape."""

import json

import pytest
from audit_files import document, lines

from support.importing import streamed
from truegrade.analysis.audit.survey import read_rows
from truegrade.errors import BadRecord


def one(path):
    (row,) = streamed(read_rows, path)
    return row


SHAPES = {
    "samples": ({"task_id": "T/1", "completion": "a"}, ("a",), "completion", "T/1"),
    "evalplus": ({"task_id": "T/1", "solution": "a", "completion": "b"}, ("a",), "program", "T/1"),
    "mapcoder": ({"name": "x", "task_id": "T/1", "source_codes": ["a", "b"]}, ("a", "b"), "completion", "T/1"),
    "named": ({"name": "T/1", "source_codes": [""]}, ("",), "completion", "T/1"),
    "agentcoder": ({"task_id": "T/1", "completion_list": ["a"], "completion": "a"}, ("a",), "completion", "T/1"),
    "livecodebench": ({"question_id": "q", "code_list": ["a"], "graded_list": [True]}, ("a",), "program", "q"),
    "mbpp": ({"task_id": 11, "text": "Question", "test_list": [], "completion": "a"}, ("a",), "completion", 11),
    "reply": ({"problem_id": "p", "text": "a"}, ("a",), "reply", "p"),
    "failed request": ({"task_id": "T/1", "completion": None}, (), "completion", "T/1"),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("write", [lambda p, row: lines(p, [row]), lambda p, row: document(p, [row])])
def test_every_shape_in_lines_and_in_a_list(tmp_path, shape, write):
    row, texts, form, raw_id = SHAPES[shape]
    found = one(write(tmp_path / "f.json", row))
    assert (found.texts, found.form, found.raw_id) == (texts, form, raw_id)


def test_objects_keyed_by_id_or_by_row_number(tmp_path):
    by_id = one(document(tmp_path / "a.json", {"T/1": {"completion": "a"}}))
    assert (by_id.raw_id, by_id.place) == ("T/1", "T/1")
    with pytest.raises(BadRecord, match="no id"):
        one(document(tmp_path / "b.json", {"0": {"completion": "a"}}))


def test_cruxeval_generations_with_their_scores(tmp_path):
    path = document(
        tmp_path / "s.json",
        {"raw_generations": {"sample_0": ["1", "2"]}, "raw_scored_generations": {"sample_0": [True, False]}},
    )
    row = one(path)
    assert row.texts == ("1", "2")
    assert [(flag.sample, flag.value) for flag in row.flags] == [(0, True), (1, False)]


def test_a_list_keyed_by_id_holds_texts(tmp_path):
    assert one(document(tmp_path / "g.json", {"sample_0": ["1"]})).texts == ("1",)


def test_the_judged_text_is_the_chosen_one(tmp_path):
    def judged(**row):
        return one(lines(tmp_path / "f.jsonl", [{"task_id": "T", **row}])).judged

    assert judged(completion_list=["a", "b"], idx=1, completion="a") == 1
    assert judged(completion_list=["a", "b"], completion="b") == 1
    assert judged(completion_list=["a", "b"], completion="c") is None
    assert judged(source_codes=["a", "b"]) == 1
    assert judged(source_codes=[]) is None


def test_a_graded_program_that_is_not_the_completion_is_stale(tmp_path):
    rows = [
        {"task_id": "T", "completion": "a = 1", "full_code": "import x\na = 1\ntest"},
        {"task_id": "U", "completion": "a = 2", "full_code": "import x\na = 1\ntest"},
    ]
    assert [row.stale for row in streamed(read_rows, lines(tmp_path / "f.jsonl", rows))] == [False, True]


def test_a_first_line_longer_than_the_head_is_still_a_row(tmp_path):
    rows = [{"task_id": f"T/{i}", "completion": "x" * 100_000} for i in range(2)]
    assert [row.line for row in streamed(read_rows, lines(tmp_path / "f.jsonl", rows))] == [1, 2]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"task_id": "T", "completion": "a"}\n{"task_id": "T"}\n', ("line 2", "no completion")),
        ('{"task_id": "T", "completion": "a"}\n{"task_id": "T", "comp', ("line 2",)),
        ('{"task_id": "T", "completion": 7}\n', ("line 1", "completion", "expected text")),
        ('[{"completion": "a"}]', ("[0]", "no id")),
        ("[1]", ("[0]", "not an object")),
        ("not json", ("not JSON",)),
        ("7", ("expected rows",)),
        (b'{"\xff": 1}', ("not UTF-8",)),
        ('{"a": ' + "[" * 100_000, ("nested too deeply",)),
        ('[{"id": "T", "completion": "a", "n": ' + "1" * 5000 + "}]", ("digits",)),
    ],
)
def test_a_bad_file_is_refused_with_its_place(tmp_path, content, words):
    path = tmp_path / "bad.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(BadRecord) as caught:
        list(streamed(read_rows, path))
    assert all(word in str(caught.value) for word in ("bad.json", *words)), caught.value


def test_half_a_surrogate_pair_becomes_a_question_mark(tmp_path):
    path = tmp_path / "s.json"
    path.write_text(json.dumps([{"task_id": "T", "completion": "\ud800x"}]))
    assert one(path).texts == ("?x",)
