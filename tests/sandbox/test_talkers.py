"""What one run beside its tests can leave to the next: no process numbers, no inodes, no files, no memory."""

import importlib.util

import pytest

from support.outside_suites import suite
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.grading.suite_grading import grade_by_suite
from truegrade.grading.suite_reference import ReferencesShown
from truegrade.records import Reason
from truegrade.sandbox import Limits, Sandbox, zygotes
from truegrade.sandbox.confine import RUNS
from truegrade.sandbox.outcome import Outcome

KINDS = {"suite": ("unittest",), "science": ("unittest", "pandas")}

LEAVE = """
import ctypes, os, threading
for _ in range({note}):  # a thread's number is taken from those of processes
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
    open("note", "w").close()  # and a file's from those of the folder
    os.unlink("note")
for folder in ("/dev/shm", "/tmp", "."):
    open(f"{{folder}}/note", "w").write("{note}")
os.utime(".", ({note}, {note}))
libc = ctypes.CDLL(None)
memory = libc.shmget({key}, 4096, 0o1666)
"""
LOOK = """
import ctypes, os, threading
thread = threading.Thread(target=int)
thread.start()
open("mine", "w").close()
libc = ctypes.CDLL(None)
own = os.stat(".")
found = {
    "process": os.getpid(), "session": os.getsid(0), "thread": thread.native_id, "proc": os.readlink("/proc/self"),
    "others": [name for name in os.listdir("/proc") if name.isdigit()],
    "last": open("/proc/loadavg").read().split()[-1],
    "inode": os.stat("mine").st_ino, "folder": (own.st_ino, own.st_nlink), "shared": os.listdir("/dev/shm"),
    "temporary": os.listdir("/tmp"), "memory": libc.shmget(4711, 4096, 0o600),
    "semaphore": libc.semget(4711, 1, 0),
}
raise LookupError(repr(found))
"""

CROWD = """
import os, time
for _ in range({count}):
    if os.fork() == 0:
        time.sleep(1)
        os._exit(0)
time.sleep(0.5)
"""


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(Limits(cpu_s=5.0, wall_s=60.0, packages=("numpy", "pandas")), workers=1) as made:
        if made.level < 3:
            pytest.skip("namespaces cannot be made here, so process numbers are the machine's")
        yield made


def inside(sandbox: Sandbox, source: str, kind: str) -> Outcome:
    if kind == "science" and importlib.util.find_spec("pandas") is None:
        pytest.skip("pandas is not installed")
    return sandbox.inside(source, preload=KINDS[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_finds_nothing_of_the_one_before(sandbox, kind):
    seen = set()
    for note in (3, 40, 77):
        assert inside(sandbox, LEAVE.format(note=note, key=4711), kind).status == "passed"
        seen.add(inside(sandbox, LOOK, kind).detail)
    (found,) = seen
    assert "'memory': -1, 'semaphore': -1" in found
    assert "'others': ['2']" in found


def test_the_same_holds_in_a_namespace_of_users(monkeypatch):
    monkeypatch.setattr(zygotes, "spare_uid", lambda *given: None)  # as for whoever is not root
    with Sandbox(Limits(cpu_s=5.0, wall_s=60.0), workers=1) as made:
        if made.level < 3:
            pytest.skip("namespaces cannot be made here")
        assert inside(made, LEAVE.format(note=9, key=1), "suite").status == "passed"
        first, second = (inside(made, LOOK, "suite").detail for _ in range(2))
    assert first == second
    assert "'others': ['2']" in first


@pytest.mark.parametrize("kind", KINDS)
def test_a_program_has_none_of_the_rights_that_its_namespaces_took(sandbox, kind):
    rights = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
held = [line.split()[1] for line in open("/proc/self/status") if line.startswith(("CapPrm", "CapEff", "CapInh"))]
refused = [
    libc.unshare(flag) for flag in (0x20000, 0x20000000, 0x10000000)
] + [libc.mount(b"x", b"/tmp", b"tmpfs", 0, None), libc.syscall(446, 3, 0), libc.syscall(126, 0, 0)]
written = []
for path in ("/proc/self/comm", "/proc/1/mem", "/etc/note", "/sample/../note"):
    try:
        open(path, "w")
        written.append(path)
    except OSError:
        pass
raise LookupError(repr((set(held), set(refused), written, os.path.exists("/proc/1"))))
"""
    outcome = inside(sandbox, rights, kind)
    assert outcome.detail == f"LookupError: {({'0' * 16}, {-1}, [], False)!r}"


def test_processes_that_a_program_leaves_end_with_it():
    leaving = """
import os, time
if os.fork() == 0:
    os.setsid()
    time.sleep(60)
    os._exit(0)
"""
    with Sandbox(Limits(cpu_s=5.0, wall_s=30.0, processes=2), workers=1) as several:
        if several.level < 3:
            pytest.skip("namespaces cannot be made here")
        for _ in range(2):
            assert several.inside(leaving, preload=KINDS["suite"]).status == "passed"
        assert several.inside(CROWD.format(count=4), preload=KINDS["suite"]).status == "killed"
        assert several.inside(CROWD.format(count=2), preload=KINDS["suite"]).status == "passed"


def test_many_runs_are_served_by_one_zygote(sandbox):
    outcomes = {inside(sandbox, "open('a', 'w').close()", "suite").status for _ in range(RUNS + 4)}
    assert outcomes == {"passed"}


def test_where_there_are_no_namespaces_suites_are_marked_unless_judged_outside(tmp_path):
    patched = "from unittest import mock\nwith mock.patch('math.pi', 3):\n    self.assertEqual(area(2), 12)\n"
    tasks = {
        (TESTS_INSIDE,): suite(patched, "import math\ndef area(r):\n    return math.pi * r * r\n", "area"),
        (): suite("self.assertEqual(f(1), 2)", "def f(n):\n    return n + 1\n", "f"),
    }
    with Sandbox(Limits(cpu_s=2.0), workers=1, max_level=2) as shallow:
        if shallow.level < 2:
            pytest.skip("level 2 is not to be had here")
        for marks, task in tasks.items():
            judged = grade_by_suite(task, task.reference, ReferencesShown(tmp_path), shallow, min_cpu_s=2.0)
            assert (judged.reason, judged.marks) == (Reason.PASSED, marks), judged
