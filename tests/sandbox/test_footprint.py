"""What makes a zygote cheap to fork, each in an interpreter of its own, which it changes for good."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from truegrade.sandbox import footprint

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="address spaces are read from /proc")
LOAD = f"""
import runpy, sys
names = runpy.run_path({footprint.__file__!r})
join_areas, fill_pools, fill_chunks = (names[n] for n in ("join_areas", "fill_pools", "fill_chunks"))
"""


def said_by(source: str, **environment: str) -> list[str]:
    """The words that an interpreter prints which runs this."""
    words = [sys.executable, "-c", LOAD + source]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env={**os.environ, **environment})
    return done.stdout.split()


@linux_only
def test_a_library_that_was_five_areas_is_two_and_still_works():
    before, after, answer = said_by(
        """
import ctypes, decimal, datetime, random
def areas(): return len(open("/proc/self/maps").readlines())
before = areas()
join_areas()
print(before, areas(), decimal.Decimal(2).sqrt() + datetime.date(2024, 2, 29).day + random.Random(0).randint(0, 0))
"""
    )
    assert int(after) < 0.7 * int(before)
    assert answer.startswith("30.414")


@linux_only
def test_no_area_may_be_written_and_executed():
    (count,) = said_by('join_areas()\nprint(sum("rwx" in line.split()[1] for line in open("/proc/self/maps")))')
    assert count == "0"


def test_what_is_made_next_lies_with_what_was_made_last():
    """Of each size; without the filling, few of them do, since imports leave gaps of every size."""
    program = """
import json, typing, statistics, gc
gc.collect()
filling = {filling}
pages = set()
made = [bytes(size - 34) for size in range(48, 257, 16) for _ in range(4)]
print(len({{id(one) // 4096 for one in made}}))
"""
    (with_gaps,), (filled,) = (said_by(program.format(filling=call)) for call in ("[]", "fill_pools()"))
    sizes = len(range(48, 257, 16))
    assert int(filled) <= sizes + 3 < int(with_gaps)


def test_an_interpreter_that_keeps_objects_otherwise_is_left_alone():
    (size,) = said_by("print(sum(map(sys.getsizeof, fill_pools())))", PYTHONMALLOC="malloc")
    assert int(size) <= footprint.MAX_FILLING_BYTES


@linux_only
def test_the_filling_of_chunks_is_bounded():
    before, after = said_by(
        """
def kilobytes(): return next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("VmData"))
import ctypes
before = kilobytes()
fill_chunks()
print(before, kilobytes())
"""
    )
    assert int(after) - int(before) < 2048


def test_zygotes_load_it():
    from truegrade.sandbox.start import MODULES

    assert Path(footprint.__file__).stem in MODULES["child"]
