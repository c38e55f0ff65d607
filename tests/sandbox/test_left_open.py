"""What a program sets of its open files and writes to its memory, no later run of the same zygote finds.

Each program says what it finds of an earlier one, leaves the same notes itself, and says what it finds then: so
the first run shows that notes could be left, and the second that none is there.
"""

import json

import pytest

from truegrade.sandbox import Limits, Sandbox
from truegrade.sandbox.levels import detect
from truegrade.sandbox.limits import MIB, NAMESPACES

PROGRAM = """
import ctypes, fcntl, os, re

MARK, LATER = b"a note", 77

def shared():
    try:
        with open("/proc/self/maps") as file:
            lines = [line for line in file if re.match("[0-9a-f]+-[0-9a-f]+ .w.s ", line)]
    except OSError:
        return []
    return [int(line.partition("-")[0], 16) for line in lines]

def numbers():
    found = []
    for number in range(256):
        try:
            os.fstat(number)
        except OSError:
            continue
        found.append(number)
    return found

def asked(number, command):
    try:
        return fcntl.fcntl(number, command)
    except OSError:
        return 0

def found():
    seen = {f"shared memory at {start:x}" for start in shared()}
    for number in numbers():
        flags, status = asked(number, fcntl.F_GETFL), os.fstat(number)
        marks = {
            "waiting": flags & os.O_NONBLOCK, "appending": flags & os.O_APPEND,
            "size": asked(number, 1032) == 1 << 14, "mode": status.st_mode & 0o777 == 0o123,
            "time": status.st_mtime == LATER,
        }
        seen |= {f"{name} of {number}" for name, there in marks.items() if there}
    return seen

def leave():
    for start in shared():
        ctypes.memmove(start, MARK, len(MARK))
    for number in numbers():
        flags = asked(number, fcntl.F_GETFL) | os.O_NONBLOCK | os.O_APPEND
        for act, *given in (
            (fcntl.fcntl, fcntl.F_SETFL, flags), (fcntl.fcntl, 1031, 1 << 14), (os.chmod, 0o123),
            (os.utime, (LATER, LATER)), (fcntl.flock, fcntl.LOCK_EX | fcntl.LOCK_NB),
        ):
            try:
                act(number, *given)
            except OSError:
                pass

def f():
    before = found()
    leave()
    left = found()
    for number in range(4):  # or what is answered could be cut
        try:
            os.set_blocking(number, True)
        except OSError:
            pass
    return sorted(before), sorted(left)
"""
LEFT = {f"{name} of {number}" for name in ("waiting", "appending") for number in range(3)}
RUNS_IT = f"""
def run(*given):
    return (lambda: space["f"]()) if given else None
space = {{}}
exec({PROGRAM!r}, space)
"""
PRELOADS = {"guarded": (), "suite": ("unittest",), "pytest": ("unittest", "pytest")}


@pytest.fixture(scope="module", params=[3, 2])
def jail(request):
    if detect(request.param).level != request.param:
        pytest.skip(detect(request.param).why)
    limits = Limits(cpu_s=10, wall_s=60, memory_bytes=512 * MIB, output_bytes=MIB, packages=("pytest",))
    with Sandbox(limits, workers=1, max_level=request.param) as opened:
        yield opened


@pytest.fixture
def told(jail):
    """What a program finds before it leaves its notes, and after; one that shares a process with tests says only
    whether it found nothing and left something."""

    def run(way):
        values = []
        if way == "call":
            outcome = jail.call(PROGRAM, "f", [()], lambda _, result: values.append(result.value) or True)
        elif way == "script":
            outcome = jail.script(f"{PROGRAM}\nimport json\nprint(json.dumps(f()), flush=True)")
            values.append(json.loads(outcome.stdout or "[]"))
        else:
            outcome = jail.inside(
                f"{PROGRAM}\nfound, left = f()\nassert not found, found\nassert 'waiting of 1' in left, left",
                preload=PRELOADS[way],
            )
            values.append(([], LEFT))
        assert outcome.status == "passed", outcome
        return values[-1]

    return run


@pytest.mark.parametrize("way", ["call", "script", *PRELOADS])
def test_nothing_set_of_an_open_file_or_written_to_memory_reaches_a_later_run(told, way):
    found, left = told(way)
    assert not found and set(left) >= LEFT, left
    for _ in range(2):
        assert not told(way)[0]


def test_nor_the_next_test_of_a_contest_function(jail):
    values = []
    calls = [(), ("first",), ("second",), ("third",)]
    outcome = jail.call(RUNS_IT, "run", calls, lambda _, result: values.append(result.value) or True, forks=True)
    assert outcome.status == "passed", outcome
    assert set(values[1][1]) >= LEFT
    assert [found for found, _ in values[1:]] == [[]] * 3


def test_a_program_whose_tests_are_elsewhere_shares_no_memory_with_a_later_run(jail):
    if jail.level < NAMESPACES:
        pytest.skip("programs do not see their maps there")
    program = PROGRAM.replace("def f():", "def g():") + "\ndef f():\n    return len(shared())"
    for preload in PRELOADS.values():
        assert jail.judge(program, "assert f() == 0", ["f"], preload=preload).status == "passed"
