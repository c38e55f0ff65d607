"""The wall limit ends what sleeps, not what waits for a core."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from truegrade.sandbox import Limits, Sandbox

WALL_S = 0.5
WORK = """
import time
def f():
    began = time.thread_time()
    while time.thread_time() - began < 0.2: pass
    return 1
"""


@pytest.fixture
def one_core():
    """One core, for whatever this process starts meanwhile."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    yield
    os.sched_setaffinity(0, cores)


@contextmanager
def crowd():
    """Five endless loops on the same core. A sandbox that has been started before need not do so among them."""
    loops = [
        subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"], start_new_session=True)
        for _ in range(5)
    ]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="this kernel does not count who waits")
def test_waiting_for_a_core_is_not_held_against_a_program(one_core):
    with Sandbox(Limits(cpu_s=3, wall_s=WALL_S), workers=1, allow_unsafe=True) as sandbox:
        assert sandbox.call("def f(): return 1", "f", [()], lambda index, result: True).status == "passed"
        with crowd():
            outcome = sandbox.call(WORK, "f", [()], lambda index, result: True)
            assert (outcome.status, outcome.wall_s > 1.1 * WALL_S) == ("passed", True)
            script = sandbox.script(f"{WORK}f()")
            assert (script.status, script.wall_s > 1.1 * WALL_S) == ("passed", True)
        asleep = sandbox.call("import time\ndef f(): time.sleep(60)", "f", [()], lambda index, result: True)
        assert asleep.status == "time_limit" and "wall seconds" in asleep.detail


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="this kernel does not count who waits")
@pytest.mark.thorough
def test_nor_is_that_its_judge_waits_for_one(one_core):
    with crowd(), Sandbox(Limits(cpu_s=3, wall_s=WALL_S), workers=1, allow_unsafe=True) as sandbox:
        for _ in range(2):  # by the second time the same judge has waited before
            judged = sandbox.judge("def g(): return 1", f"{WORK}assert f() == g() == 1", ["g"])
            assert judged.status == "passed" and judged.wall_s > 1.1 * WALL_S, judged
        asleep = sandbox.judge("import time\ndef f(): time.sleep(60)", "f()", ["f"])
        assert asleep.status == "time_limit" and "wall seconds" in asleep.detail


@pytest.mark.slow
def test_a_deadline_counts_the_wait_for_a_core(one_core):
    """Of a CPU limit of half a second, a program that shares its core with five others has used little by then."""
    with Sandbox(Limits(), workers=1, allow_unsafe=True) as sandbox, crowd():
        ended = sandbox.script("while True: pass", cpu_s=WALL_S, wall_s=WALL_S, deadline_s=WALL_S)
        assert (ended.status, ended.detail) == ("time_limit", f"over {WALL_S:g} wall seconds")
        assert ended.cpu_s < WALL_S


@pytest.mark.parametrize("source", ["while True: pass", "import time; time.sleep(60)"])
def test_a_deadline_ends_a_run_and_no_second_one_is_begun(source, monkeypatch):
    runs = []
    once = Sandbox._once
    monkeypatch.setattr(Sandbox, "_once", lambda *arguments: runs.append(1) or once(*arguments))
    with Sandbox(Limits(), workers=1, allow_unsafe=True) as sandbox:
        ended = sandbox.script(source, cpu_s=0.3, wall_s=0.3, deadline_s=0.3)
        assert (ended.status, ended.time_sensitive, len(runs)) == ("time_limit", True, 1)
        assert sandbox.script("print(1)", cpu_s=5, deadline_s=30).stdout == "1\n"


STOPPED = """
from truegrade.sandbox import Limits, Sandbox
with Sandbox(Limits(cpu_s=1, wall_s=1), workers=1, allow_unsafe=True) as sandbox:
    sandbox.inside("")
    print("begins", flush=True)
    print(sandbox.inside("import time\\ntime.sleep(0.5)").status, flush=True)
    print(sandbox.inside("import time\\ntime.sleep(60)").status, flush=True)
"""


@pytest.mark.slow
def test_a_run_that_is_suspended_goes_on_as_if_nothing_had_been():
    """As Ctrl-Z does it: the programs are in sessions of their own, and go on meanwhile."""
    words = [sys.executable, "-c", STOPPED]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as grading:
        assert grading.stdout is not None and grading.stdout.readline() == "begins\n"
        time.sleep(0.1)
        grading.send_signal(signal.SIGSTOP)
        time.sleep(1.5)
        grading.send_signal(signal.SIGCONT)
        assert grading.stdout.readline() == "passed\n"
        assert grading.stdout.readline() == "time_limit\n"
