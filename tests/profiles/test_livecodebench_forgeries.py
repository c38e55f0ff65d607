"""Every forgery that a published grader of contest problems accepts carries the mark; no honest program does."""

from __future__ import annotations

import pytest
from contest_rows import EVALSCOPE, FORK, JANUARY, OFFICIAL, contest, judged, method
from livecodebench_corpus.completions import ROWS
from livecodebench_corpus.forgeries import CLOCK, FORGERIES
from livecodebench_rows import case_row, contest_problem, grade

from support.thorough import thorough
from truegrade.grading.contests.screen import plain
from truegrade.grading.marks import TAMPERING
from truegrade.profiles import open_profile
from truegrade.profiles.evalscope import LOCAL
from truegrade.records import Reason
from truegrade.sandbox.limits import MIB

SANDBOX = "evalscope-sandbox"
FEWEST = {OFFICIAL: 50, JANUARY: 50, EVALSCOPE: 50, FORK: 50, SANDBOX: 35}
"""Forgeries that a grader is known to accept; fewer would say that they no longer reach it."""
SHORT_S = 1.0
"""Seconds a test, so that forgeries that outlast them take little."""


@pytest.mark.parametrize("profile", [SANDBOX, *map(thorough, (OFFICIAL, JANUARY, EVALSCOPE, FORK))])
def test_a_forgery_that_is_accepted_is_marked(profile, monkeypatch):
    if profile != SANDBOX:
        harness = LOCAL if profile == EVALSCOPE else open_profile(profile).harness
        monkeypatch.setitem(harness.rules, "timeout_s", SHORT_S)
    # The container's clock is not in the program's process.
    names = [name for name in FORGERIES if profile != SANDBOX or name not in CLOCK]
    found = grade(profile, [case_row(FORGERIES[name]) for name in names], workers=2, memory_bytes=512 * MIB)
    judgements = {name: row["judgement"] for name, row in zip(names, found, strict=True)}
    accepted = [name for name, judgement in judgements.items() if judgement.passed]
    assert [name for name in accepted if TAMPERING not in judgements[name].marks] == []
    assert len(accepted) >= FEWEST[profile]
    assert not [name for name, judgement in judgements.items() if judgement.reason is Reason.GRADER_ERROR]


@pytest.mark.slow
@pytest.mark.thorough
def test_strict_accepts_none_but_right_answers_that_come_late_for_the_published_graders():
    found = grade("strict", [case_row(case) for case in FORGERIES.values()], workers=2, memory_bytes=512 * MIB)
    accepted = {name for name, row in zip(FORGERIES, found, strict=True) if row["judgement"].passed}
    assert len(FORGERIES) == 90
    assert accepted <= CLOCK


def test_a_forgery_reaches_nothing_if_it_is_plain():
    """Those that are swallow the alarm, or speak to the container, for which being plain is not enough."""
    harmless = {name for name, case in FORGERIES.items() if plain(case.code, stdin=case.function is None)}
    to_script = {name for name in harmless if "marker" in name or "of the script" in name}
    swallowed = {name for name in CLOCK if "timeout swallowed" in name}
    assert harmless - to_script == swallowed - {"function: timeout swallowed, beyond what is plain"}


CALLED = contest((("3", "4"), ("7", "8")), "f")
READ = contest((("3 4\n", "7\n"), ("1 1\n", "2\n")))
HONEST = [
    (CALLED, method("return getattr(x, '__add__')(1)")),
    (CALLED, "import numpy as np\ndef f(x):\n    return np.int64(x) + 1"),
    (CALLED, "import numpy as np\ndef f(x):\n    return np.array([x + 1])"),
    (CALLED, "from fractions import Fraction\ndef f(x):\n    return Fraction(2 * x + 2, 2)"),
    (CALLED, "def f(x):\n    return complex(x + 1, 0)"),
    (CALLED, "def f(x):\n    return eval('x') + 1"),
    (contest((("3", "[4]"),), "f"), "from collections import UserList\ndef f(x):\n    return UserList([x + 1])"),
    (contest((("3", "0.1"),), "f"), "import numpy\ndef f(x):\n    return numpy.float32(0.1)"),
    (contest((("3", "[[0.5]]"),), "f"), "import numpy\ndef f(x):\n    return [numpy.array([0.5])]"),
    (contest((("3", '{"a": [null, true, "é"]}'),), "f"), "f = eval('lambda x: {\"a\": [None, 1, chr(233)]}')"),
    (READ, "import os\nprint(eval('sum(map(int, input().split()))'), '.0', sep='')"),
    (READ, "import os, sys, signal\nos.environ.get('A')\nprint(sum(map(int, sys.stdin.readline().split())))"),
    (READ, "memo = globals().setdefault('memo', {})\nprint(sum(map(int, input().split())))"),
]  # fmt: skip


@pytest.mark.parametrize("profile", [OFFICIAL, EVALSCOPE])
def test_an_honest_program_that_is_not_plain_is_not_marked(profile):
    for (_, code), judgement in zip(HONEST, judged(profile, HONEST), strict=True):
        assert judgement.passed and TAMPERING not in judgement.marks, (code, judgement)


IN_CONTAINER = [
    *HONEST[:2],
    *HONEST[3:6],
    (contest((("3", "yes"),), "f"), "def f(x):\n    print('asked')\n    return 'yes'\n"),
    (contest((("3", "[1, 2]"),), "f"), "def f(x):\n    return tuple([1, 2])\n# it's \"quoted\""),
    (CALLED, "def f(x):\n    return x + 1\nif __name__ == '__main__':\n    print(f(1))"),
]  # fmt: skip


def test_an_honest_program_in_the_container_is_not_marked():
    judgements = judged(SANDBOX, IN_CONTAINER)
    for (_, code), judgement in zip(IN_CONTAINER, judgements, strict=True):
        assert judgement.passed and TAMPERING not in judgement.marks, (code, judgement)


def test_completions_of_models_are_plain_and_never_marked():
    rows = [(contest_problem(problem), code) for _, problem, code, _ in ROWS[::2]]
    found = grade(OFFICIAL, rows, workers=2)
    passed = [code for (_, code), row in zip(rows, found, strict=True) if row["passed"]]
    assert not [row for row in found if TAMPERING in row["judgement"].marks]
    assert sum(plain(code, stdin=False) for code in passed) >= 0.97 * len(passed)


@pytest.mark.parametrize("forged", ["'text'", "None", "[1]"])
def test_facts_that_a_program_has_replaced_end_in_a_verdict(forged):
    code = f"""
import sys
frame = sys._getframe(1)
while 'alarm' not in frame.f_locals:
    frame = frame.f_back
type(frame.f_locals['alarm']).total_s = {forged}
def f(x):
    return x + 1
"""
    judgement = judged(OFFICIAL, [(CALLED, code)])[0]
    assert not judgement.passed and judgement.reason is not Reason.GRADER_ERROR
