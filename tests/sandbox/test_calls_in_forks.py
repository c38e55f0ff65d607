"""Calls that are made in a fork each: what one does is the next one's in nothing, and limits are of one call."""

import pytest

from truegrade.sandbox import Limits, Sandbox, wire
from truegrade.sandbox.frames import TOKEN_BYTES, ended_frame
from truegrade.sandbox.limits import FILTERS, MIB, NAMESPACES

PROGRAM = """
made = []
def run(*given):
    if not given:
        made.append(1)
        return len(made)
    def call():
        space = {"made": made}
        exec(given[0], space)
        return space["f"]()
    return call
"""
LIMITS = Limits(cpu_s=1.0, wall_s=6.0, memory_bytes=1024 * MIB, output_bytes=MIB)


@pytest.fixture(scope="module")
def forks():
    """The outcome, and each value or error, of programs whose ``f`` is called in forks of one process."""
    with Sandbox(LIMITS, workers=1, allow_unsafe=True) as sandbox:

        def run(*sources, stop=lambda result: False):
            found = []

            def keep(index, result):
                found.append(result.error or result.value)
                return not (index and stop(result))

            calls = [(), *((source,) for source in sources)]
            return sandbox.call(PROGRAM, "run", calls, keep, forks=True), found[1:]

        run.level = sandbox.level
        yield run


def f(body, before=""):
    return f"{before}\ndef f():\n" + "".join(f"    {line}\n" for line in body.splitlines())


RIGHT = f("return 7")


def test_what_the_first_call_made_is_there_and_what_the_others_change_is_not(forks):
    grows = f("made.append(1)\nimport sys\nsys.modules['left'] = sys\nreturn len(made)")
    looks = f("import sys\nreturn 'left' in sys.modules")
    assert forks(grows, grows, looks)[1] == [2, 2, False]


def test_files_are_gone_before_the_next_call(forks):
    writes = f(
        "import os, tempfile\n"
        "found = os.listdir('.') + os.listdir(tempfile.gettempdir()) + [oct(os.stat('.').st_mode)]\n"
        "open('a', 'w').close()\nos.makedirs('b/c')\nos.chmod('.', 0o500)\n"
        "return found"
    )
    outcome, found = forks(writes, writes)
    assert outcome.status == wire.PASSED and found == [["0o40700"]] * 2


def test_streams_are_as_no_call_before_has_left_them(forks):
    sets = f(
        "import fcntl, os\n"
        "found = [fcntl.fcntl(fd, fcntl.F_GETFL) & (os.O_NONBLOCK | os.O_APPEND) for fd in range(3)]\n"
        "found += [os.fstat(fd).st_mode & 0o7777 == 0o641 for fd in (1, 2)]\n"
        "for fd in range(3): fcntl.fcntl(fd, fcntl.F_SETFL, os.O_NONBLOCK | os.O_APPEND)\n"
        "for fd in (1, 2): os.fchmod(fd, 0o641)\n"
        "return found, os.read(0, 10)"
    )
    assert forks(sets, sets, sets)[1] == [([0, 0, 0, False, False], b"")] * 3


def test_what_is_written_without_an_end_is_read_while_the_call_goes_on(forks):
    writes = f("import os\nfor fd in (1, 2, 1): os.write(fd, b'x' * 200_000)\nreturn 'a' * 200_000")
    assert forks(writes, RIGHT)[1] == ["a" * 200_000, 7]


def test_a_call_that_closes_its_streams_ends_the_run_and_one_that_closes_its_output_does_not(forks):
    outcome, found = forks(f("import os\nos.close(3)\nos.write(1, b'x' * 200_000)"), RIGHT)
    assert outcome.status == wire.RUNTIME_ERROR and found == []
    assert forks(f("import os\nos.close(1)\nos.close(2)\nreturn 7"), RIGHT)[1] == [7, 7]


def test_a_call_that_ends_its_process_says_how_and_ends_the_run(forks):
    leaves = f("import os, sys\nsys.stderr.write('last words\\n')\nsys.stderr.flush()\nos._exit(3)")
    outcome, found = forks(RIGHT, leaves, RIGHT)
    assert (outcome.status, found) == (wire.RUNTIME_ERROR, [7]) and "exit code 3" in outcome.detail
    crashes = f("import ctypes\nctypes.string_at(0)")
    outcome, found = forks(RIGHT, crashes)
    assert (outcome.status, found) == (wire.KILLED, [7]) and "SIGSEGV" in outcome.detail
    assert forks(f("raise ValueError('no')"), RIGHT)[1] == ["ValueError: no", 7]


def test_no_call_is_made_behind_the_one_that_was_enough(forks):
    outcome, found = forks(RIGHT, RIGHT, RIGHT, stop=lambda result: True)
    assert outcome.status == wire.PASSED and found == [7]


@pytest.mark.parametrize(
    "write", ["b'\\x05\\0\\0\\0hello'", "b'x'", "b'\\xff' * 4", "b'\\0' * (2 << 20)"], ids=str
)
def test_bytes_beside_the_answer_are_tampering(forks, write):
    outcome, found = forks(RIGHT, f(f"import os\nos.write(3, {write})\nreturn 7"), RIGHT)
    assert outcome.status == wire.TAMPERING and found == [7]


def test_what_only_the_process_of_the_calls_may_say_is_tampering_from_a_fork(forks):
    forged = ended_frame(bytes(TOKEN_BYTES), 0, 0.0, 0.0, True, 1)
    outcome, found = forks(RIGHT, f(f"import os\nos.write(3, {forged!r})\nos._exit(0)"), RIGHT)
    assert outcome.status == wire.TAMPERING and found == [7]


def test_a_fork_can_read_no_call_and_reach_no_other_process(forks):
    assert forks(f("import os\nreturn os.read(3, 100)"))[1] == ["OSError: [Errno 9] Bad file descriptor"]
    if forks.level < FILTERS:
        pytest.skip("level 1 lets programs reach what the user can")
    assert forks(f("import os\nreturn os.fork()"))[1] == ["PermissionError: [Errno 1] Operation not permitted"]
    kills = f("import os\nos.kill(os.getppid(), 9)")
    assert forks(kills, RIGHT)[1] == ["PermissionError: [Errno 1] Operation not permitted", 7]
    if forks.level < NAMESPACES:
        pytest.skip("below level 3 programs see nothing of /proc")
    looks = f("import os\nreturn os.path.exists('/proc/self/status'), os.path.exists(f'/proc/{os.getppid()}')")
    assert forks(looks)[1] == [(True, False)]


SEARCH = """
import re
def f():
    needles = [re.compile(text) for text in (b"behind[-]me", b"with[-]me")]  # which do not match themselves
    found = set()
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
        for line in maps:
            start, end = (int(number, 16) for number in line.split()[0].split("-"))
            if " rw" in line and end - start < 1 << 26:
                memory.seek(start)
                held = memory.read(end - start)
                found |= {each.pattern for each in needles if each.search(held)}
    return sorted(found)
MARK = "with-me"
"""


def test_no_call_that_is_still_to_come_is_in_the_memory_of_a_fork(forks):
    if forks.level < NAMESPACES:
        pytest.skip("below level 3 programs see nothing of /proc")
    later = f("return 7", before="MARK = 'behind-me'")
    assert forks(SEARCH, later)[1] == [[b"with[-]me"], 7]


def test_limits_are_of_one_call(forks):
    works = f("import time\nuntil = time.process_time() + 0.45\nwhile time.process_time() < until: pass\nreturn 7")
    outcome, found = forks(works, works, works)
    assert (outcome.status, found) == (wire.PASSED, [7, 7, 7]) and outcome.cpu_s > 1.3
    writes = f("print('a' * 700_000, flush=True)\nreturn 7")
    assert forks(writes, writes, writes)[1] == [7, 7, 7]
    outcome, found = forks(RIGHT, f("print('a' * 2_000_000, flush=True)"), RIGHT)
    assert (outcome.status, found) == (wire.OUTPUT_LIMIT, [7])


def test_a_call_that_never_ends_is_ended_and_sleeping_counts_by_the_wall(forks):
    outcome, found = forks(RIGHT, f("while True: pass"), RIGHT)
    assert (outcome.status, found) == (wire.TIME_LIMIT, [7]) and outcome.cpu_s < 2
    outcome, found = forks(RIGHT, f("import time\ntime.sleep(60)"), RIGHT)
    assert (outcome.status, found) == (wire.TIME_LIMIT, [7]) and "wall" in outcome.detail


def test_a_call_just_over_its_limit_gives_no_value_and_is_marked(forks):
    late = f("import time\nuntil = time.process_time() + 1.04\nwhile time.process_time() < until: pass\nreturn 7")
    outcome, found = forks(RIGHT, late, RIGHT)
    assert (outcome.status, found, outcome.time_sensitive) == (wire.TIME_LIMIT, [7], True)


def test_where_a_process_could_outlive_its_call_no_other_is_made():
    found = []
    with Sandbox(LIMITS, workers=1, max_level=1, allow_unsafe=True) as sandbox:
        calls = [(), (RIGHT,), (RIGHT,)]
        outcome = sandbox.call(
            PROGRAM, "run", calls, lambda _, result: found.append(result.value) or True, forks=True
        )
    assert (outcome.status, found) == (wire.PASSED, [1, 7])


def test_what_a_call_leaves_running_with_its_output_is_not_waited_for():
    leaves = f("import os, time\nif os.fork() == 0:\n    os.close(3)\n    time.sleep(60)\nreturn 7")
    found = []
    with Sandbox(LIMITS, workers=1, max_level=1, allow_unsafe=True) as sandbox:
        calls = [(), (leaves,), (RIGHT,)]
        outcome = sandbox.call(
            PROGRAM, "run", calls, lambda _, result: found.append(result.value) or True, forks=True
        )
    assert (outcome.status, found) == (wire.PASSED, [1, 7])
