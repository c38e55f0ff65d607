"""Audit of contest answers: what was lost in capture, what was cut or graded otherwise than said."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from support import contest_files
from truegrade.analysis.audit.contests import leaves_thread
from truegrade.analysis.audit.findings import CODES
from truegrade.cli.check import check as command

RIGHT = "a, b = map(int, input().split())\nprint(a + b)"
WRONG = "print(4)"
UNJOINED = (
    "import threading, time\n"
    "def solve():\n"
    "    time.sleep(0.2)\n"
    "    a, b = map(int, input().split())\n"
    "    print(a + b)\n"
    "threading.Thread(target=solve).start()"
)
LOST = "import os\na, b = map(int, input().split())\nos.write(1, str(a + b).encode())"
ITERATES = "import sys\nfor line in sys.stdin:\n    print(sum(map(int, line.split())))"
NOT_CALLED = "def main():\n    a, b = map(int, input().split())\n    print(a + b)"
EMPTY = {"error_code": -2, "error_message": "Wrong Answer", "output": "", "inputs": "1 2\n", "expected": "3"}


def fenced(code):
    return f"Here:\n```python\n{code}\n```"


@pytest.fixture
def submission(tmp_path):
    """Rows as published: (code, reply, graded, metadata) by problem."""

    def write(answers, name="submission.json"):
        rows = []
        for problem, (code, reply, graded, metadata) in answers.items():
            row = contest_files.row(problem, **({"function": "add"} if problem == "functional" else {}))
            for field in ("public_test_cases", "private_test_cases"):
                del row[field]
            row |= {"output_list": [reply], "code_list": [code], "graded_list": [graded],
                    "pass@1": float(graded), "metadata": [json.dumps(metadata)]}  # fmt: skip
            rows.append(row)
        path = tmp_path / name
        path.write_text(json.dumps(rows))
        return path

    return write


def audited(path, *options):
    result = CliRunner().invoke(command, [str(path), "--benchmark", "livecodebench", "--json", *options])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code in (0, 1), result.output
    found = json.loads(result.stdout)
    assert result.exit_code == int(not found["clean"])
    assert {item["code"] for item in found["findings"]} <= CODES.keys()
    return found, {item["code"]: item["rows"] for item in found["findings"]}


ANSWERS = {
    "fine": (RIGHT, fenced(RIGHT), True, {"execution time": 0.1}),
    "accepted": (WRONG, fenced(WRONG), True, {"execution time": 0.1}),
    "rejected": (WRONG, fenced(WRONG), False, {**EMPTY, "output": "4"}),
    "unjoined": (UNJOINED, fenced(UNJOINED), False, EMPTY),
    "lost": (LOST, fenced(LOST), False, EMPTY),
    "uncalled": (NOT_CALLED, fenced(NOT_CALLED), False, EMPTY),
    "iterates": (ITERATES, fenced(ITERATES), True, {"execution time": 0.1}),
    "first": (RIGHT, fenced(RIGHT) + "\nprints\n```\n3\n```", True, {"execution time": 0.1}),
    "contrary": (RIGHT, fenced(RIGHT), True, EMPTY),
    "functional": (RIGHT, fenced(RIGHT), True, {}),
}


@pytest.mark.slow
def test_every_kind_of_finding_names_its_rows(submission):
    found, rows = audited(submission(ANSWERS))
    assert rows == {
        "flag-contradicts-metadata": ["contrary#0"],
        "extraction-differs": ["first#0"],
        "flag-pass-contradicted": ["accepted#0"],
        "thread-not-joined": ["unjoined#0"],
        "output-lost": ["lost#0"],
        "version-regression": ["iterates#0"],
        "samples-unknown": ["functional"],
    }
    assert (found["tasks"], found["samples"], found["recorded"]) == (10, 10, {"graded_list": 6})
    sentences = {item["code"]: item["sentence"] for item in found["findings"]}
    assert "1 of them equal the text between the first two" in sentences["extraction-differs"]


def test_a_file_with_nothing_to_say_against_it_is_clean(submission):
    found, rows = audited(submission({"fine": ANSWERS["fine"]}))
    assert found["clean"] and rows == {}


def test_with_the_data_set_its_tests_decide_too(submission, tmp_path):
    """The private test finds what the sample did not, and the samples are the data set's own."""
    three = "print(3)"
    path = submission({"three": (three, fenced(three), True, {}), "lost": ANSWERS["lost"]})
    data = contest_files.write_rows(
        tmp_path / "rows.jsonl", [contest_files.row(name) for name in ("three", "lost")]
    )
    _, rows = audited(path, "--data", str(data), "--as", "livecodebench")
    assert rows["flag-pass-contradicted"] == ["three"]
    assert rows["output-lost"] == ["lost#0"]


def rewritten(path, change):
    rows = json.loads(path.read_text())
    path.write_text(json.dumps(change(rows) or rows))
    return path


def test_a_stored_rate_that_its_flags_do_not_give_and_a_repeated_question_are_named(submission):
    path = submission({name: ANSWERS[name] for name in ("fine", "rejected")})

    def change(rows):
        rows[0]["pass@1"] = 0.0
        return [*rows, rows[1]]

    found, rows = audited(rewritten(path, change))
    assert rows == {"metric-contradicts-results": ["fine"], "question-repeated": ["rejected"]}
    assert found["samples"] == 3
    _, rows = audited(rewritten(path, lambda rows: rows[1:2]))
    assert rows == {}


@pytest.mark.parametrize("short", [None, []])
def test_a_short_or_missing_list_of_verdicts_is_named(submission, short):
    path = submission({name: ANSWERS[name] for name in ("fine", "rejected")})

    def change(rows):
        rows[0] |= {"code_list": [RIGHT] * 2, "output_list": [fenced(RIGHT)] * 2}
        rows[0]["graded_list"] = [True] if short is None else short

    _, rows = audited(rewritten(path, change))
    assert rows == {"flags-missing": ["fine#1"] if short is None else ["fine#0", "fine#1"]}


def lines(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def lm_eval_row(row, reply, acc, filter_="none"):
    return {
        "doc_id": 0, "doc": row, "target": "", "arguments": {"gen_args_0": {"arg_0": "### Question:"}},
        "resps": [[reply]], "filtered_resps": [reply], "filter": filter_, "metrics": ["acc"], "acc": acc,
    }  # fmt: skip


def review_row(row, index, code, acc, metadata):
    prompt = f"### Question:\n{row['question_content']}\n\n### Format: Read the inputs from stdin"
    score = {"value": {"acc": acc}, "prediction": fenced(code), "extracted_prediction": code,
             "metadata": {"final_metadata": [[json.dumps(metadata)]]}}  # fmt: skip
    return {"index": index, "messages": [{"role": "user", "content": prompt}], "sample_score": {"score": score}}


def test_samples_of_lm_eval_and_reviews_of_evalscope_are_read(tmp_path):
    """The two that LIVECODEBENCH_ALIGNMENT_ANALYSIS.md of tstescoTT/lm-evaluation-harness@af0ac9f7 compares."""
    rows = [contest_files.row("a"), contest_files.row("b")]
    rows[1]["question_content"] = rows[1]["question_content"].replace("Add two", "Sum two")
    samples = lines(
        tmp_path / "samples_lcb.jsonl",
        lm_eval_row(rows[0], fenced(WRONG), 1.0),
        lm_eval_row(rows[0], fenced(WRONG), 1.0, "other"),
        lm_eval_row(rows[1], fenced(RIGHT), 1.0),
    )
    reviews = lines(
        tmp_path / "reviews.jsonl",
        review_row(rows[0], 0, WRONG, 1.0, {}),
        review_row(rows[1], 1, RIGHT, 1.0, EMPTY),
    )
    found, names = audited(samples)
    assert names == {"flag-pass-contradicted": ["a#0"]} and found["samples"] == 2
    _, names = audited(reviews)
    assert names == {"flag-pass-contradicted": ["row on line 1#0"],
                     "flag-contradicts-metadata": ["row on line 2#0"]}  # fmt: skip
    data = contest_files.write_rows(tmp_path / "rows.jsonl", rows)
    for path in (samples, reviews):
        _, names = audited(path, "--data", str(data), "--as", "livecodebench")
        assert names["flag-pass-contradicted"] == ["a"]


def test_lines_of_another_kind_are_refused(tmp_path):
    result = CliRunner().invoke(
        command, [str(lines(tmp_path / "x.jsonl", {"a": 1})), "--benchmark", "livecodebench"]
    )
    assert "neither lm-eval's row" in str(result.exception)


def test_uneven_lists_are_refused(submission):
    path = submission({"fine": ANSWERS["fine"]})
    rows = json.loads(path.read_text())
    rows[0]["graded_list"] = [True, False]
    path.write_text(json.dumps(rows))
    result = CliRunner().invoke(command, [str(path), "--benchmark", "livecodebench"])
    assert "2 entries for 1 programs" in str(result.exception)


@pytest.mark.parametrize(
    ("code", "leaves"),
    [
        (UNJOINED, True),
        ("t = threading.Thread(target=f)\nt.start()\nt.join()", False),
        ("t = threading.Thread(target=f)\nt.start()\nprint(', '.join(x))", True),
        ("t = threading.Thread(target=f)\nt.start()\nt.join(timeout=9)", False),
        ("re.compile('a').match('b').start()", False),
        ("not python Thread", False),
    ],
)
def test_threads_left_running_are_told_from_the_text(code, leaves):
    assert leaves_thread(code) is leaves
