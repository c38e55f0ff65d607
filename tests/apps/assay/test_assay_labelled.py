"""Labelled programs and models' replies: what they claim, and one line for what cannot be read."""

from __future__ import annotations

import gzip
import json
from collections import Counter

import pytest

import truegrade
from truegrade.apps.assay.probes.labelled import read_labels, replies
from truegrade.benchmarks import load_benchmark
from truegrade.errors import BadRecord, UnknownName

ROW = {"problem": "p/1", "program": "def f(): return 1", "label": "right", "source": "set"}


@pytest.fixture
def file(tmp_path):
    def write(*rows):
        path = tmp_path / "labels.jsonl"
        path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
        return path

    return write


def test_a_label_is_a_claim(file, tmp_path):
    wrong = {**ROW, "program": "def f(): return 2", "label": "wrong", "more": 1}
    path = file(ROW, wrong, {**ROW, "source": "another"})
    found = read_labels(path, ["p/1"])
    assert [(each.claim, each.source, each.probe.code) for each in found] == [
        ("right", "set", "def f(): return 1"),
        ("wrong", "set", "def f(): return 2"),
    ]
    assert {(each.probe.kind, each.probe.label, each.probe.origin) for each in found} == {
        ("labelled", "undecided", "set")
    }
    packed = tmp_path / "labels.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read_labels(packed, ["p/1"]) == found


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([ROW, {**ROW, "label": "good"}], "line 2, field 'label': 'good' is neither right nor wrong"),
        ([{**ROW, "program": 3}], "line 1, field 'program': expected str, got int"),
        ([ROW, {"problem": "p/1"}], "line 2, field 'program': the field is missing"),
        ([{**ROW, "problem": "p/2"}], "line 1, field 'problem': no problem 'p/2'; did you mean p/1?"),
        ([{**ROW, "program": " "}], "line 1, field 'program': holds no program"),
        ([ROW, {**ROW, "label": "wrong"}], "line 2, field 'label': line 1 says that this program is right"),
        ([ROW, '{"problem" 1}'], "line 2: not a whole JSON value"),
        ([], "holds no rows"),
    ],
)
def test_a_bad_line_is_named(file, rows, said):
    path, told = file(*rows), []
    if ROW in rows:
        assert [each.source for each in read_labels(path, ["p/1"], notice=told.append)] == ["set"]
        assert told[0].endswith("; the line is left out, the others are used")
    else:
        with pytest.raises(BadRecord) as raised:
            read_labels(path, ["p/1"])
        told.append(str(raised.value))
    assert len(told) == 1 and said in told[0] and "labels.jsonl" in told[0]


HEAD = 'def triple(x):\n    """Three times x."""\n'
FENCED = "Here:\n\n```python\ndef triple(x):\n    return {}\n```\n"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A graded run on two problems of the user's own in HumanEval's form, and these problems."""
    monkeypatch.setenv("TRUEGRADE_CACHE", str(tmp_path / "cache"))
    rows = [
        {"task_id": f"HumanEval/{number}", "prompt": HEAD, "canonical_solution": "    return 3 * x\n",
         "entry_point": "triple", "test": "def check(candidate):\n    assert candidate(2) == 6\n"}
        for number in (0, 900)
    ]  # fmt: skip
    data = tmp_path / "mine.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    texts = [FENCED.format(body) for body in ("3 * x", "2 * x", "3 * x", "4 * x", "5 * x")] + [
        "    return x\n",
        "",
    ]
    samples = tmp_path / "samples.jsonl"
    samples.write_text("".join(json.dumps({"task_id": row["task_id"], "completion": text}) + "\n"
                               for row in rows for text in texts))  # fmt: skip
    asked = {"data": data, "task_args": {"allow_modified": "true"}}
    graded = truegrade.grade(samples, benchmark="humaneval", profiles=("strict",), out=tmp_path / "run", **asked)
    return graded.path, load_benchmark("humaneval", data, {"allow_modified": "true"}).problems


def test_replies_are_whole_programs_with_their_verdict(run):
    path, problems = run
    found = list(replies(path, problems))
    claims = Counter((each.probe.problem_id, each.claim) for each in found)
    assert claims == {
        (problem.id, claim): number for problem in problems for claim, number in (("right", 1), ("wrong", 4))
    }
    assert {(each.probe.kind, each.probe.label, each.source) for each in found} == {
        ("reply", "undecided", "run, strict@6")
    }
    for each in found:
        scope = {}
        exec(each.probe.code, scope)
        assert (scope["triple"](2) == 6) == (each.claim == "right")


def test_a_problem_has_so_many_replies_at_most(run):
    path, problems = run
    found = list(replies(path, problems[:1], "strict", per_problem=2))
    assert [each.claim for each in found] == ["right", "wrong", "wrong"]
    with pytest.raises(UnknownName):
        next(replies(path, problems, "evalplus"))
