"""What a program can write, the next run cannot read: mappings and streams of every kind, and notes left."""

import ast
import ctypes
import errno
import importlib.util
import os
import platform
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from support.thorough import thorough
from truegrade.sandbox import GraderNeeds, Limits, Sandbox, zygotes
from truegrade.sandbox.levels import detect
from truegrade.sandbox.limits import MIB
from truegrade.sandbox.tree import DEVICES

NAME = "looked-at"
WAIT = f"""
import ctypes, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
ctypes.CDLL(None).prctl(15, b"{NAME}", 0, 0, 0)
signal.sigwait([signal.SIGUSR1])
ctypes.CDLL(None).prctl(15, b"let go", 0, 0, 0)
"""
CALLED = "def f(*given):\n" + "".join(f"    {line}\n" for line in WAIT.splitlines())
IN_FORKS = """
def f(*given):
    def call():
        exec(given[0], space := {})
        return space.get("value")
    return call if given else 0
"""
LIMITS = Limits(
    cpu_s=10, wall_s=200, packages=("numpy", "pandas", "pytest", "matplotlib", "scikit-learn", "seaborn")
)
GRADER = Limits(cpu_s=10, wall_s=200, memory_bytes=1024 * MIB, processes=4, grader=GraderNeeds())
RUNS = {
    "script": lambda box: box.script(WAIT, "input"),
    "script with numpy": lambda box: box.script("import numpy\n" + WAIT),
    "served function": lambda box: box.call(CALLED, "f", [()], lambda *_: True),
    "served function with numpy": lambda box: box.call("import numpy\n" + CALLED, "f", [()], lambda *_: True),
    "contest function in a fork": lambda box: box.call(
        IN_FORKS, "f", [(), (WAIT,), (WAIT,)], lambda *_: True, forks=True
    ),
    "contest function in a fork with numpy": lambda box: box.call(
        "import numpy\n" + IN_FORKS, "f", [(), (WAIT,), (WAIT,)], lambda *_: True, forks=True
    ),
    "judged function": lambda box: box.judge(CALLED, "assert f()", ["f"]),
    "inside a guard": lambda box: box.inside(WAIT, disabled=["os.kill"]),
    "inside a grader": lambda box: box.inside("import faulthandler\n" + WAIT, given=b"expected"),
    "suite": lambda box: box.inside(WAIT, preload=["unittest"]),
    "suite with numpy": lambda box: box.inside(WAIT, preload=["unittest", "numpy"]),
    "suite by pytest": lambda box: box.inside(WAIT, preload=["pytest"]),
    "suite of science": lambda box: box.inside(WAIT, preload=["unittest", "pandas"]),
    "grader under measurement": lambda box: box.call(CALLED, "f", [()], lambda *_: True),
}


def wait_in_tests(box):
    return box.judge("def f(): return 1", WAIT + "assert f()", ["f"])


NEEDS = {"suite by pytest": "pytest", "suite of science": "pandas"}
KCMP = {"x86_64": 312, "aarch64": 272}
OWN_USERS = "3, in a namespace of users"


@pytest.fixture(scope="module", params=[3, 2, thorough(OWN_USERS)])
def boxes(request):
    level = 3 if request.param == OWN_USERS else request.param
    if detect(level).level != level:
        pytest.skip(detect(level).why)
    if os.geteuid() != 0:
        pytest.skip("only root may look at a process that others may not trace")
    with pytest.MonkeyPatch.context() as patch:
        if request.param == OWN_USERS:
            patch.setattr(zygotes, "spare_uid", lambda *given: None)  # as for whoever is not root
        with Sandbox(LIMITS, 1, max_level=level) as box, Sandbox(GRADER, 1, max_level=level) as graders:
            yield lambda kind: graders if kind == "grader under measurement" else box


def waiting(run, box):
    """Numbers of the processes in which `WAIT` runs, in two runs; each goes on when the next is asked for."""

    def twice():
        run(box)
        run(box)

    thread, last, wanted = threading.Thread(target=twice), 0, True
    thread.start()
    while thread.is_alive():
        for pid in processes_below(os.getpid(), NAME):
            if pid == last:
                continue
            last = pid
            try:
                if wanted:
                    yield pid
            except GeneratorExit:
                wanted = False
            os.kill(pid, signal.SIGUSR1)
        time.sleep(0.01)


def processes_below(parent, name=""):
    """Numbers of the processes that this one has started, with all below them; of those of a name."""
    found, pending = [], [parent]
    while pending:
        for task in Path(f"/proc/{pending.pop()}/task").glob("*/children"):
            below = [int(number) for number in task.read_text().split()]
            found += below
            pending += below
    return [pid for pid in found if not name or name_of(pid) == name]


def name_of(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def shared_mappings(pid):
    """What a process has mapped that others can have too and that it may write to, now or after `mprotect`."""
    blocks = re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", Path(f"/proc/{pid}/smaps").read_text(), flags=re.MULTILINE)
    flags = [(block.splitlines()[0], block.partition("VmFlags:")[2].split()) for block in blocks if block]
    assert len(flags) > 20
    return [first for first, held in flags if "sh" in held and "mw" in held]


def descriptors(pid):
    return [int(path.name) for path in Path(f"/proc/{pid}/fd").iterdir()]


def same_description(pid, number, other, others):
    call = KCMP[platform.machine()]
    answer = ctypes.CDLL(None, use_errno=True).syscall(call, pid, other, 0, number, others)
    closed_since = answer < 0 and ctypes.get_errno() in {errno.EBADF, errno.ESRCH}
    assert answer >= 0 or closed_since, os.strerror(ctypes.get_errno())
    return answer == 0


def holders(pid, number):
    """Processes besides this one that hold the same open description: flags, offset and locks are of that."""
    around = {os.getpid(), *processes_below(os.getpid())} - {pid}
    found = []
    for other in around:
        try:
            found += [other for held in descriptors(other) if same_description(pid, number, other, held)]
        except FileNotFoundError:
            continue
    return found


def identity(pid, number):
    status = os.stat(f"/proc/{pid}/fd/{number}")
    return (status.st_dev, status.st_ino)


def is_sealed_input(pid, number):
    """Whether it is what a run was given to read, which nobody can write and only the supervisor holds besides."""
    flags = int(re.search(r"flags:\s+(\d+)", Path(f"/proc/{pid}/fdinfo/{number}").read_text())[1], 8)
    return "memfd:given" in os.readlink(f"/proc/{pid}/fd/{number}") and flags & os.O_ACCMODE == os.O_RDONLY


@pytest.mark.parametrize("kind", RUNS)
def test_no_mapping_and_no_stream_is_there_for_the_next_run(boxes, kind):
    if importlib.util.find_spec(NEEDS.get(kind, "os")) is None:
        pytest.skip(f"{NEEDS[kind]} is not installed")
    box, seen = boxes(kind), []
    if kind == "grader under measurement" and box.level < 3:
        pytest.skip("graders need level 3")
    for pid in waiting(RUNS[kind], box):
        assert shared_mappings(pid) == []
        numbers = descriptors(pid)
        assert {0, 1, 2} <= set(numbers)
        for number in numbers:
            if not is_sealed_input(pid, number):
                assert holders(pid, number) == [], os.readlink(f"/proc/{pid}/fd/{number}")
        seen.append({identity(pid, number) for number in numbers if not is_device(pid, number)})
    assert len(seen) == (4 if "fork" in kind else 2)
    assert all(seen) and len(set.union(*seen)) == sum(map(len, seen))


def is_device(pid, number):
    return stat.S_ISCHR(os.stat(f"/proc/{pid}/fd/{number}").st_mode)


def test_the_process_of_the_tests_shares_one_mapping_with_who_supervises_it(boxes):
    assert [len(shared_mappings(pid)) for pid in waiting(wait_in_tests, boxes("tests"))] == [1, 1]


NOTES = Path(__file__).with_name("notes_left.py").read_text()
CONTROL = (
    NOTES
    + """
import mmap, sys
FOLDERS, RINGS = (".",), (-3,)
LIBC.syscall(KEYCTL[1], 1, None)  # a session of its own
memory = mmap.mmap(-1, 4096)
with open("given", "w+") as given:
    given.write("something to read")
os.dup2(os.open("given", os.O_RDONLY), 0)
report = os.dup(1)
for number in (1, 2):
    os.dup2(os.pipe()[1], number)
for act in (found, leave, found):
    pid = os.fork()
    if pid == 0:
        os.write(report, f"{act()}\\n".encode())
        os._exit(0)
    os.waitpid(pid, 0)
"""
)


def test_each_note_is_found_where_nothing_forbids_it(tmp_path):
    if os.geteuid() != 0 or subprocess.run(["unshare", "--ipc", "true"], capture_output=True).returncode != 0:
        pytest.skip("needs root, and a namespace of memory and queues to leave notes in")
    words = ["unshare", "--ipc", sys.executable, "-c", CONTROL]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=True)
    before, left, after = map(ast.literal_eval, done.stdout.splitlines())
    assert before == []
    assert set(left).difference(after) <= {"size_of_folder"}  # which some file systems do not keep
    assert left == [name.removeprefix("leave_") for name in re.findall(r"leave_\w+(?=\(\):)", NOTES)]


def by_calls(box, *steps):
    said = []
    for step in steps:
        box.call(
            f"{NOTES}\ndef f(): return {step}", "f", [()], lambda _, result: said.append(result.value) or True
        )
    return said


def by_forks(box, *steps):
    said = []
    calls = [(), *((f"{NOTES}\nvalue = {step}",) for step in steps)]
    while len(calls) > 1:  # where one leaves something, the others are made in another process
        before = len(said)
        box.call(
            IN_FORKS, "f", calls, lambda index, result: not index or said.append(result.value) is None, forks=True
        )
        assert len(said) > before
        del calls[1 : 1 + len(said) - before]
    return said


def by_scripts(box, *steps):
    written = [box.script(f"{NOTES}\nprint({step})", "something to read").stdout for step in steps]
    return [ast.literal_eval(text[text.index("[") :]) for text in written]


def by_suites(box, *steps):
    details = [box.inside(f"{NOTES}\nraise LookupError({step})", preload=["unittest"]).detail for step in steps]
    return [ast.literal_eval(detail.removeprefix("LookupError: ")) for detail in details]


@pytest.mark.parametrize("asked", [by_calls, by_forks, by_scripts, by_suites])
def test_no_note_is_found_by_the_next_run(boxes, asked):
    box = boxes("")
    before, left, after = asked(box, "found()", "leave()", "found()")
    assert (before, after) == ([], [])
    assert {"flags", "modes", "files", "size_of_folder"} <= set(left)


def test_nothing_that_a_program_sees_can_be_opened_for_writing_but_devices_that_keep_nothing(boxes):
    for asked in (by_calls, by_suites):
        ((*opened,),) = asked(boxes(""), "writable('/')")
        assert set(opened) <= set(DEVICES)
