"""Conversions of labelled sets, on tiny packages and rows in the formats of the published ones."""

import gzip
import json
import os
import subprocess
from argparse import Namespace
from pathlib import Path

import pytest

from bench import assay_contests, assay_grading, assay_rows, assay_sets
from bench.snapshots import Snapshot
from truegrade.benchmarks.own_rows import rows_benchmark

SNAPSHOTS = os.environ.get("TRUEGRADE_LABELLED_SETS", "")
DOUBLE = "print(2 * int(input()))\n"
WRONG = "print(int(input()) ** 2)\n"  # right on the sample
OLD = "print 2 * input()\n"
LATE = "n = int(input())\nwhile n > 2:\n    pass\nprint(2 * n)\n"


@pytest.fixture
def package(tmp_path):
    """A repository with a problem package: a sample that squaring passes, and a secret test that it does not."""
    files = {
        "double/problem.yaml": "name: Double\nvalidation: default # words\nvalidator_flags:\n",
        "double/problem_statement/problem.en.tex": "Print twice the number.",
        "double/data/sample/1.in": "2\n",
        "double/data/sample/1.ans": "4\n",
        "double/data/secret/g1/1.in": "5\n",
        "double/data/secret/g1/1.ans": "10\n",
        "double/data/secret/g1/2.in": "7\n",  # no answer, so no test
        "double/submissions/accepted/a.py": DOUBLE,
        "double/submissions/accepted/old.py": OLD,
        "double/submissions/wrong_answer/w.py": WRONG,
        "double/submissions/time_limit_exceeded/t.py": LATE,
        "double/submissions/mixed/m.py": WRONG,
        "double/submissions/accepted/a.cpp": "int main() {}",
        "judged/problem.yaml": "validation: custom interactive\n",
        "judged/submissions/accepted/a.py": DOUBLE,
    }
    for name, text in files.items():
        file = tmp_path / "contest" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    link = tmp_path / "contest" / "double/data/secret/g2/1.in"
    link.parent.mkdir()
    link.symlink_to("../g1/1.in")
    link.with_name("1.ans").symlink_to("../g1/1.ans")
    return tmp_path / "contest"


def committed(folder: Path) -> Path:
    """The folder's files as a commit of a git directory."""
    git = folder.with_name("repo.git")
    who = ["-c", "user.name=n", "-c", "user.email=n@example.org"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "files"]):
        subprocess.run(
            ["git", f"--git-dir={git}", f"--work-tree={folder}", *command],
            check=True,
            cwd=folder,
            capture_output=True,
        )
    return git


@pytest.mark.parametrize("as_git", [False, True])
def test_a_package_gives_its_tests_and_the_submissions_whose_verdict_is_stated(package, as_git):
    with Snapshot(committed(package) if as_git else package) as snapshot:
        judged, double = sorted(assay_contests.packages(snapshot, "r"), key=lambda each: each.id, reverse=True)
        assert (double.id, double.validation, double.flags) == ("r/double", "default", "")
        assert [each.verdict for each in double.submissions] == ["accepted", "time_limit_exceeded", "wrong_answer"]
        assert double.left_out == {"Python 2": 1, "authors state no single verdict": 1}
        assert assay_contests.unreadable(double) == ""
        assert assay_contests.unreadable(judged) == "interactive"
        row = assay_contests.row_of(double, snapshot, samples_only=False)
        assert [test["input"] for test in row["tests"]] == ["2\n", "5\n", "5\n"]
        assert row["prompt"] == "Print twice the number." and row["reference"] == DOUBLE
        sample = assay_contests.row_of(double, snapshot, samples_only=True)
        assert sample["tests"] == [{"input": "2\n", "output": "4\n"}]


def test_the_same_program_for_the_same_tests_counts_once(package):
    snapshot = Snapshot(package)
    double = next(each for each in assay_contests.packages(snapshot, "r") if each.id == "r/double")
    kept, copies = assay_contests.without_copies([(double, snapshot), (double, snapshot)])
    assert [each.id for each, _ in kept] == ["r/double"] and copies == 3


def test_contests_are_graded_once_and_what_samples_accept_is_told(package, tmp_path, capsys):
    options = Namespace(snapshots=[package], out=tmp_path / "out", workers=1, limits_s=[0.3])
    assay_sets.contests(options)
    said = capsys.readouterr().out
    assert "agreement with the labels, time limits apart: 2 of 2, 100.0%" in said
    assert "samples only, TPR      1 of     1  100.0%" in said
    assert "samples only, FPR      2 of     2  100.0%" in said  # the endless loop ends on the sample
    lines = (tmp_path / "out" / "verdicts.jsonl").read_text().splitlines()
    assert len(lines) == 6  # three programs, on all tests and on the sample
    assay_sets.contests(options)
    assert (tmp_path / "out" / "verdicts.jsonl").read_text().splitlines() == lines
    labels = [json.loads(line) for line in (tmp_path / "out" / "contests-labels.jsonl").read_text().splitlines()]
    assert [(row["label"], row["program"]) for row in labels] == [("right", DOUBLE), ("wrong", WRONG)]
    assert capsys.readouterr().out == said


@pytest.mark.parametrize(
    ("got", "wanted", "flags", "same"),
    [
        ("1 2\n", "1\n2", "", True),
        ("Yes", "YES", "", True),
        ("Yes", "YES", "case_sensitive", False),
        ("1  2", "1 2", "space_change_sensitive", False),
        ("1.00005", "1.0", "float_tolerance 1e-4", True),
        ("1.0002", "1.0", "float_tolerance 1e-4", False),
        ("1000.05", "1000", "float_absolute_tolerance 1e-4", False),
        ("1000.05", "1000", "float_relative_tolerance 1e-4", True),
        ("x", "1", "float_tolerance 1e-4", False),
        ("1.0", "1", "", False),
        ("1", "1 2", "", False),
    ],
)
def test_words_are_compared_as_the_default_validator_does(got, wanted, flags, same):
    assert assay_contests.same_tokens(got, wanted, flags) is same


def test_a_row_of_humanevalpack_is_a_wrong_program_and_a_right_one():
    row = {
        "task_id": "Python/3",
        "declaration": "def f(x):\n",
        "canonical_solution": "    return x\n",
        "buggy_solution": "    return x + 1\n",
        "bug_type": "excess logic",
        "entry_point": "f",
        "prompt": "def f(x):\n    # f(1) is 1\n",
        "example_test": "def check(f):\n    assert f(1) == 1\ncheck(f)\n",
    }
    wrong, right = assay_rows.humanevalpack([row])
    assert wrong == assay_grading.Labelled(
        problem="HumanEval/3",
        program="def f(x):\n    return x + 1\n",
        label="wrong",
        source="humanevalpack: excess logic",
    )
    assert (right.label, right.program) == ("right", "def f(x):\n    return x\n")
    (example,) = assay_rows.example_rows([row])
    assert example["id"] == "HumanEval/3" and example["tests"] == row["example_test"]
    untested = {**row, "example_test": "def check(f):\n    pass\ncheck(f)\n"}
    assert list(assay_rows.example_rows([untested, {**row, "example_test": "  x\n y"}])) == []
    changed = {**row, "canonical_solution": "    return x + 1\n"}
    assert len({each.program for each in assay_rows.mutants([changed], 2)} - {right.program}) == 2


LIST_NODE = """\
class ListNode:
    def __init__(self, val=0, next=None):
        self.val = val
        self.next = next

def list_node(values):
    head = None
    for value in reversed(values):
        head = ListNode(value, head)
    return head
"""
TAIL = """\
class Solution:
    def tail(self, head):
        if head is None:
            return -inf
        while head.next:
            head = head.next
        return head.val
"""


def test_a_row_of_leetcode_grades_its_reference_right_and_a_change_of_it_wrong(tmp_path):
    """Linked lists are made by helpers of the set's prompt, and infinity is compared."""
    row = {
        "task_id": "tail",
        "query": "Return the last value of a linked list.",
        "prompt": f"from math import *\ninf = float('inf')\n{LIST_NODE}",
        "completion": TAIL,
        "entry_point": "Solution().tail",
        "test": "def check(candidate):\n    assert candidate(head = list_node([1, 2])) == 2\n"
        "    assert candidate(head = None) == -inf\n",
        "difficulty": "Easy",
    }
    made = assay_rows.leetcode_row(row)
    file = tmp_path / "rows.jsonl"
    assay_grading.write_rows(file, [made])
    (problem,) = rows_benchmark(file).load(None, {}).problems
    programs = [made["reference"], made["reference"].replace("-inf", "inf")]
    rows = [assay_grading.Labelled(problem="tail", program=program, label="", source="") for program in programs]
    said = assay_grading.Journal(tmp_path / "v.jsonl").grade(rows, {"tail": problem}, "own", workers=1)
    assert [one.passed for one in said] == [True, False]
    with pytest.raises(ValueError, match="no method of Solution"):
        assay_rows.leetcode_row({**row, "entry_point": "tail"})


def test_a_suite_of_unittest_is_run_to_its_end(tmp_path, capsys):
    suite = (
        "import unittest\nclass TestCases(unittest.TestCase):\n"
        "    def test_a(self):\n        self.assertEqual(task_func(2), 4)\n"
        "    def test_b(self):\n        self.assertRaises(TypeError, task_func, 'x')\n"
    )
    head = "import math\ndef task_func(x):\n    'Square.'\n"
    rows = [
        {"task_id": f"BigCodeBench/{number}", "entry_point": "task_func", "prompt": head,
         "canonical_solution": body, "test": suite, "libs": libraries}
        for number, (body, libraries) in enumerate(
            [("    return x ** math.floor(2.5)\n", ["math"]), ("    return x + 2\n", "['math']"),
             ("    return 2 * x\n", ["math"]), ("    return x\n", ["numpy"])])
    ]  # fmt: skip
    file = tmp_path / "snapshot" / "data" / "BigCodeBench.jsonl.gz"
    file.parent.mkdir(parents=True)
    file.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    options = Namespace(snapshot=tmp_path / "snapshot", out=tmp_path / "out", limit=None, workers=1)
    assay_sets.bigcodebench(options)
    said = capsys.readouterr().out
    assert "references of 3 tasks; in one process Counter({'passed': 2, 'runtime_error': 1})" in said
    assert "BigCodeBench/2: inside runtime_error; judge wrong_answer" in said  # 'x' doubled is no TypeError


@pytest.mark.skipif(
    not SNAPSHOTS, reason="TRUEGRADE_LABELLED_SETS names no folder of snapshots (owner+name/repo, git directories)"
)
@pytest.mark.slow
def test_the_published_packages_hold_the_submissions_that_are_known():
    counts = {}
    for path in [*Path(SNAPSHOTS).glob("Kodsport+*/repo"), Path(SNAPSHOTS, "mzuenni+icpc-problems/repo")]:
        with Snapshot(path) as snapshot:
            for package in assay_contests.packages(snapshot, path.parent.name):
                for each in package.submissions:
                    counts[each.asked] = counts.get(each.asked, 0) + 1
    assert counts == {"accepted": 129, "wrong answer or error": 50, "time limit": 16, "partial": 139}
