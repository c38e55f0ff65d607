"""Nothing that a program returns or prints raises, loops or grows in the process that grades."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from exhausting import ATTACKS

from truegrade.grading.judgement import shortened, shown, shown_call

MAX_PEAK_MB = 300
LIMITED = {"array against a list"}
"""What cannot be compared within the limits; all the others are compared, and wrong."""


@pytest.fixture(scope="module")
def graded():
    script = Path(__file__).with_name("exhausting.py")
    done = subprocess.run([sys.executable, script, "3"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    return {line["name"]: line for line in map(json.loads, done.stdout.splitlines())}


@pytest.mark.thorough
@pytest.mark.parametrize("name", ATTACKS)
def test_it_is_the_programs_own_failure(graded, name):
    seen = graded[name]
    told = seen["reason"], seen["detail"]
    if name in LIMITED:
        assert seen["reason"] == "output_limit", told
    else:
        assert seen["reason"] in {"wrong_answer", "output_limit"}, told
    assert " at 0x" not in seen["detail"]
    assert seen["after"] == "passed"


@pytest.mark.slow  # whoever asks first pays for all gradings
@pytest.mark.thorough
def test_the_grading_process_stays_small(graded):
    assert max(line["peak_mb"] for line in graded.values()) < MAX_PEAK_MB


VALUES = [
    *(0, -1, True, None, 1.5, float("nan"), 2j, ..., "text", "it's", b"bytes", bytearray(b"x"), [], (), (1,), {}),
    *([1, "a", None], (1, (2, [3])), {1: 2, "b": [1]}, {1}, set(), frozenset({1}), frozenset(), range(3)),
    *(range(1, 9, 2), 10**4000, "x" * 300, list(range(1000)), {n: str(n) for n in range(100)}, [[["x" * 199]]]),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_a_plain_value_is_shown_as_its_repr(value):
    assert shown(value) == shortened(repr(value))
    assert shown_call("f", [value, value]) == f"f({shortened(f'{value!r}, {value!r}')})"


def test_what_has_no_repr_is_shown_all_the_same():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    endless = iter(int, 1)
    assert shown(10**5000) == "<integer of 16610 bits>"
    assert shown([endless, 10**5000]) == "[an iterator, <integer of 16610 bits>]"
    assert shown(deep) == "[" * 199 + "…"


class Odd:
    def __repr__(self):
        raise OSError("no")


def test_whatever_raises_is_named():
    assert shown([Odd()]) == "[<Odd: OSError>]"
