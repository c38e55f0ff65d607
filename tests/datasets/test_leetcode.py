"""Submissions become plain functions by their tree, run on the first example, in the published schema."""

import json

import pytest

from truegrade.builders.leetcode import LeetcodeOptions, build, contest_date, plain_functions, read_submissions
from truegrade.datasets.executions import NotRecorded, Refused, encode_rows
from truegrade.errors import BadRecord, UserError
from truegrade.sandbox import Limits, Sandbox

GCD = """
import math
MOD = 7
class Solution:
    BASE = 10
    def longest(self, nums: List[int]) -> int:
        "Solution of self.longest(nums)"
        text = "class Solution: self.x = 1"  # self.helper
        best = -inf
        for left in range(len(nums)):
            best = max(best, self.helper(nums[left:]) % self.BASE)
        return best if text else Solution.twice(best)
    def helper(self, part):
        return math.gcd(*part) + lcm(*part) + len(Counter(part))
    @staticmethod
    def twice(n):
        return 2 * n
"""


def test_the_class_is_taken_away_by_its_tree():
    solution = plain_functions(GCD)
    assert solution.function == "longest" and solution.parameters == ("nums",)
    program = solution.program
    assert "class Solution: self.x = 1" in program, "a string is left alone"
    assert program.count("self") == 1, "only the string speaks of self"
    for line in ("from collections import Counter", "from math import inf", "from math import lcm",
                 "from typing import List", "import math", "BASE = 10", "def twice(n):"):  # fmt: skip
        assert line in program
    assert program.count("import math") == 1
    scope = {}
    exec(program, scope)
    assert scope["longest"]([4, 6]) == 6


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("def f(n): return n", "0 classes"),
        ("class Solution:\n def f(self, n):\n  self.n = n\n  return n", "keeps state"),
        ("class Solution:\n def __init__(self): pass\n def f(self, n): return n", "__init__"),
        ("class Solution:\n def f(self, n): return g(self)", "passes self"),
        ("class Solution(Base):\n def f(self, n): return n", "base"),
        ("class Solution:\n def f(self, n): return n\n def g(self, n): return n", "2 methods"),
        (
            "class Solution:\n def f(self, n):\n  go = n\n  return self.go(go)\n def go(self, n): return n",
            "two things",
        ),
        ("class Solution:\n def f(self, *n): return n", "plain parameters"),
        ("class Solution:\n def f(self, n) return n", "no Python"),
    ],
)
def test_what_cannot_be_made_plain_is_refused(code, why):
    with pytest.raises(NotRecorded, match=why):
        plain_functions(code)


NODE = "class Solution:\n def f(self, n, s): return ListNode(n)"


def submission(**fields):
    return {
        "question_id": 7,
        "code": "class Solution:\n    def f(self, n, s):\n        return s * n\n",
        "lang": "python3",
        "submission_id": 1,
        "contest_id": 432,
    } | fields


@pytest.fixture(scope="module")
def built():
    """Build from files; rows and refusals."""
    with (
        Sandbox(Limits(cpu_s=5), allow_unsafe=True) as jail,
        Sandbox(Limits(cpu_s=5), allow_unsafe=True, hash_seed=1) as witness,
    ):

        def run(*paths, **options):
            made = list(build(read_submissions(paths), LeetcodeOptions(**options), jail, witness, workers=2))
            return [one for one in made if not isinstance(one, Refused)], [
                one for one in made if isinstance(one, Refused)
            ]

        yield run


def test_a_folder_as_collectors_leave_it(built, tmp_path):
    folder = tmp_path / "weekly-contest-440"
    folder.mkdir()
    (folder / "problems.json").write_text(
        json.dumps({"7": {"question_id": 7, "difficulty": "Easy", "sampleTestCase": '2\n"ab"', "title": "x"}})
    )
    codes = [
        "class Solution:\n    def f(self, n: int, s: str) -> str:\n        return s * n\n",
        "class Solution:\n    def f(self, k, t):\n        return t * k\n",
        "class Solution:\n    def f(self, n, s):\n        return list(set(s + 'cdefgh'))\n",
        "class Solution:\n    def f(self, n, s):\n        return ''.join(s for _ in range(n))\n",
    ]
    (folder / "question_7_submissions.json").write_text(
        json.dumps(
            [submission(code=code, submission_id=number, contest_id=440) for number, code in enumerate(codes)]
        )
    )
    rows, refused = built(tmp_path)
    assert json.loads(encode_rows(rows[:1])) == {
        "id": "contest440_q7_s0",
        "function_name": "f",
        "code": "def f(n: int, s: str) -> str:\n    return s * n\n",
        "input": "f(n=2, s='ab')",
        "output": "'abab'",
        "correct_condition": "f(n=2, s='ab') == 'abab'",
        "question_id": 7,
        "difficulty": "Easy",
        "contest_id": 440,
        "contest_date": "2025-03-09",
        "submission_id": 0,
        "metrics": {"loc": 2, "coverage": None},
    }
    assert [row.id for row in rows] == ["contest440_q7_s0", "contest440_q7_s1"]
    assert "same program" in refused[0].why and "not deterministic" in refused[1].why


def test_examples_come_as_json_lines_or_named(built, tmp_path):
    path = tmp_path / "mine.jsonl"
    codes = [
        submission(submission_id=1, question_id=1, example='3\n"x"\n4\n"y"'),
        submission(submission_id=2, question_id=2, example="n = 2, s = 'q'"),
        submission(submission_id=3, question_id=3, example="3"),
        submission(submission_id=4, question_id=4),
        submission(submission_id=5, question_id=5, lang="cpp", example="3"),
        submission(submission_id=6, question_id=6, example='1\n"x"', code=NODE),
    ]
    path.write_text("\n".join(map(json.dumps, codes)))
    rows, refused = built(path, per_question=1)
    assert [(row.input, row.output) for row in rows] == [("f(n=3, s='x')", "'xxx'"), ("f(n=2, s='q')", "'qq'")]
    assert [one.why.split(" ")[0] for one in refused] == ["its", "its", "a"]
    assert "ListNode" in refused[2].why


def test_dates_of_contests():
    assert contest_date(431) == "2025-01-05" and contest_date("467") == "2025-09-14"
    assert contest_date(None) is None and contest_date("biweekly 3") is None and contest_date(10**9) is None


def test_bad_files_are_named(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({"code": 3, "question_id": 1}))
    with pytest.raises(BadRecord, match="line 1"):
        read_submissions([path])
    path.write_text('{"question_id": 1}')
    with pytest.raises(UserError, match="no object with a field 'code'"):
        read_submissions([path])
    with pytest.raises(UserError, match="no such file"):
        read_submissions([tmp_path / "nowhere"])
