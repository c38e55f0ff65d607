"""Programs that use too much, refuse to end, or leave something behind: each ends soon after its limit."""

import os
import threading
import time

import pytest

from support.thorough import one_in
from truegrade.sandbox import Limits, Sandbox
from truegrade.sandbox.levels import detect
from truegrade.sandbox.limits import MIB
from truegrade.sandbox.supervisor import Supervisor
from truegrade.sandbox.worker import Worker
from truegrade.sandbox.zygotes import make_scratch, remove_scratch

IGNORE_ALL = """
import signal
for s in range(1, 65):
    try: signal.signal(s, signal.SIG_IGN)
    except Exception: pass
"""


@pytest.fixture(scope="module")
def small():
    with Sandbox(
        Limits(cpu_s=0.4, wall_s=3, memory_bytes=256 * MIB, output_bytes=MIB), workers=2, allow_unsafe=True
    ) as opened:
        yield opened


@pytest.fixture(scope="module")
def brief():
    """As small, and soon over: for programs that wait for nothing but the wall limit."""
    with Sandbox(Limits(cpu_s=0.4, wall_s=1), workers=1, allow_unsafe=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def patient():
    """As small, but with time to spare for what a machine with other work takes long for."""
    with Sandbox(
        Limits(cpu_s=10, wall_s=45, memory_bytes=256 * MIB, output_bytes=MIB), workers=1, allow_unsafe=True
    ) as opened:
        yield opened


ENDING = {
    "endless loop": ("while True: pass", {"time_limit"}),
    "loop that catches all": (
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        {"time_limit"},
    ),
    "loop in C": ("sum(iter(int, 1))", {"time_limit"}),
    "loop that ignores signals": (IGNORE_ALL + "while True: pass", {"time_limit"}),
    "sleep": ("import time; time.sleep(60)", {"time_limit"}),
    "stopped": ("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", {"time_limit"}),
    "two busy threads": (
        (
            "import threading\ndef g():\n    while True: pass\n"
            "for _ in range(2): threading.Thread(target=g).start()\ng()"
        ),
        {"time_limit"},
    ),
    "memory at once": ("x = bytearray(1 << 30)", {"memory_limit"}),
    # Whichever limit comes first on this machine:
    "memory in steps": ("x = []\nwhile True: x.append(bytearray(1 << 22))", {"memory_limit", "time_limit"}),
    "memory in small steps": ("x = []\nwhile True: x.append([0] * 1000)", {"memory_limit", "time_limit"}),
    "output flood": ("while True: print('x' * 1000)", {"output_limit"}),
    "error flood": ("import os\nwhile True: os.write(2, b'x' * 1000)", {"output_limit"}),
    "deep recursion": ("def g(): g()\ng()", {"runtime_error"}),
    "segmentation fault": ("import ctypes; ctypes.string_at(0)", {"killed"}),
    "abort": ("import os; os.abort()", {"killed"}),
    "killed by itself": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", {"killed"}),
    "all descriptors closed": ("import os; os.closerange(0, 64)", {"runtime_error"}),
    "all closed, still running": ("import os, time; os.closerange(0, 64); time.sleep(60)", {"runtime_error"}),
    "large file": ("f = open('f', 'wb')\nfor _ in range(128): f.write(b'x' * (1 << 20))", {"runtime_error"}),
    "many files open": ("x = [open('/dev/null') for _ in range(500)]", {"runtime_error"}),
    "reads input": ("input()", {"runtime_error"}),
}


ASLEEP = {"sleep", "stopped"}


@pytest.mark.parametrize("name", one_in(2, ENDING))
def test_a_program_that_does_not_behave_ends_in_time(small, brief, name):
    source, statuses = ENDING[name]
    outcome = (brief if name in ASLEEP else small).call(
        source + "\ndef f(): return 1", "f", [()], lambda i, r: True
    )
    assert outcome.status in statuses, outcome
    assert outcome.wall_s < 30, outcome  # those that sleep would do so for a minute


@pytest.mark.parametrize("name", ["endless loop", "sleep", "segmentation fault", "output flood", "memory at once"])
def test_the_same_inside_and_under_the_judge(small, brief, name):
    source, statuses = ENDING[name]
    sandbox = brief if name in ASLEEP else small
    assert sandbox.inside(source).status in statuses
    body = "\n".join("    " + line for line in source.splitlines())
    outcome = sandbox.judge(f"def f():\n{body}", "try:\n    f()\nexcept BaseException: pass", ["f"])
    assert outcome.status in statuses, outcome


@pytest.mark.parametrize(
    ("expression", "status"),
    [("[0] * 10**6", "output_limit"), ("'x' * 2**21", "output_limit"), ("cycle()", "output_limit"),
     ("lattice()", "output_limit"), ("{n * (2**61 - 1) for n in range(2000)}", "tampering")],
)  # fmt: skip
def test_a_value_that_is_too_large_ends_the_run(patient, expression, status):
    program = (
        "def cycle():\n    x = []\n    x.append(x)\n    return x\n"
        "def lattice():\n    x = []\n    for _ in range(99): x = [x, x]\n    return x\n"
        f"def f(): return {expression}"
    )
    outcome = patient.call(program, "f", [()], lambda i, r: r.value is not None)
    assert outcome.status == status, outcome
    assert patient.judge(program, "f()", ["f"]).status == status


def test_a_script_cannot_flood_the_stream_of_its_answers(small):
    write = "        try: os.write(fd, b'\\1\\0\\0\\0N' * 1000)\n        except OSError: pass\n"
    program = f"import os\nwhile True:\n    for fd in range(3, 9):\n{write}"
    assert small.script(program).status in {"tampering", "time_limit"}


def test_a_thread_left_alive_does_not_delay_the_verdict(patient):
    program = (
        "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\ndef f(): return 1\n"
    )
    for outcome in (
        patient.call(program, "f", [()], lambda i, r: True),
        patient.judge(program, "assert f() == 1", ["f"]),
        patient.inside(program),
    ):
        assert outcome.status == "passed", outcome


NAME = f"tg-{os.getpid()}"
"""Ours alone: another run of these tests may be under way on this machine."""
NAMED = f"import ctypes, os, time\nctypes.CDLL(None).prctl(15, b'{NAME}', 0, 0, 0)\n"


@pytest.mark.parametrize(
    "leave",
    [
        "",
        "    os.setsid()\n",
        "    if os.fork(): os._exit(0)\n",
        "    os.setsid()\n    if os.fork(): os._exit(0)\n",
    ],
    ids=["group", "session", "orphan", "daemon"],
)
def test_nothing_is_left_of_a_programs_processes_and_files(crowd, processes_named, leave):
    program = (
        f"{NAMED}old = os.listdir()\nopen('note', 'w').write('x')\n"
        f"for _ in range(3):\n  if os.fork() == 0:\n{leave}    time.sleep(60)\n"
        "def f(): return old\n"
    )
    for _ in range(2):  # the second finds nothing of the first
        seen = []

        def look(_, result, seen=seen):
            # they start beside the call, so a busy machine may not have got to all of them
            deadline = time.monotonic() + 60
            while (running := len(processes_named(NAME))) < 3 and time.monotonic() < deadline:
                time.sleep(0.05)
            seen.append((result.value, running))
            return True

        assert crowd.call(program, "f", [()], look).status == "passed"
        old, running = seen[0]
        assert old == []
        assert running >= 3  # or the next line would prove nothing
        assert processes_named(NAME) == []


def test_more_processes_than_allowed_end_the_run(processes_named):
    program = f"{NAMED}for _ in range(20):\n    if os.fork() == 0: time.sleep(60)\ntime.sleep(60)"
    with Sandbox(Limits(cpu_s=5, wall_s=50, processes=4), workers=1, allow_unsafe=True) as few:
        outcome = few.inside(program)
    assert (outcome.status, outcome.detail) == ("killed", "more than 4 processes besides its own")
    assert processes_named(NAME) == []


def test_the_memory_of_all_processes_counts_together():
    program = (
        "import os, time\nfor _ in range(4):\n"
        "    if os.fork() == 0:\n        x = b'x' * (40 << 20)\n        time.sleep(60)\ntime.sleep(60)"
    )
    with Sandbox(
        Limits(cpu_s=5, wall_s=50, memory_bytes=128 * MIB, processes=4), workers=1, allow_unsafe=True
    ) as few:
        outcome = few.inside(program)
    assert outcome.status == "memory_limit", outcome


def test_a_child_that_keeps_the_stream_open_does_not_hang_the_run(crowd):
    program = "import os, time\nif os.fork() == 0: time.sleep(60)\ndef f(): os._exit(3)"
    outcome = crowd.call(program, "f", [()], lambda i, r: True)
    assert (outcome.status, outcome.detail) == ("runtime_error", "the program ended the process (exit code 3)")


def test_a_scratch_of_any_depth_is_removed(tmp_path):
    root = make_scratch()
    outside = tmp_path / "kept"
    outside.write_text("kept")
    (root / "link").symlink_to(tmp_path)
    start = os.open(root, os.O_RDONLY)
    at = start
    for _ in range(3000):  # far beyond the length of a path and the depth of recursion
        os.mkdir("d", dir_fd=at)
        deeper = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = deeper
    os.close(at)
    (root / "closed").mkdir(mode=0)
    remove_scratch(root)
    assert not root.exists()
    assert outside.read_text() == "kept"


HELD = """
import array, os, socket
fd = os.open('big', os.O_RDWR | os.O_CREAT)
for _ in range(14): os.write(fd, bytes(1 << 20))
os.unlink('big')
a, b = socket.socketpair()
rights = array.array('i', [fd, a.fileno(), b.fileno()])
try:
    for end in (a, b): end.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
except OSError as error:  # an ordinary user has one count for all sandboxes, and the kernel collects later
    assert error.errno == 109, error
def f(): return 1
"""
"""A file without a name, a descriptor of which is under way in two sockets that only each other can reach."""


def test_a_file_that_only_a_socket_holds_takes_no_room_from_the_next_sample():
    if detect().level < 3:
        pytest.skip("only at level 3 is the scratch bounded")
    honest = "def f():\n    return sum(open(str(n), 'wb').write(bytes(1 << 20)) for n in range(14))"
    got = []
    with Sandbox(Limits(cpu_s=15, wall_s=60, scratch_bytes=16 * MIB), workers=1) as small:
        for _ in range(10):
            for program in (HELD, honest):
                outcome = small.call(program, "f", [()], lambda _, result: got.append(result) or True)
                assert outcome.status == "passed", outcome
    assert [result.value for result in got] == [1, 14 << 20] * 10


def test_runs_do_not_leave_threads_behind(small):
    before = threading.active_count()
    small.inside("pass")
    assert threading.active_count() == before


# ------------------------------------------------------------------------------------- honest programs

HONEST = {
    "numpy": (
        "import numpy as np\ndef f(): return float(np.linalg.norm(np.ones((50, 50)) @ np.ones(50))) > 350",
        True,
    ),
    "temporary files": (
        (
            "import tempfile, os\ndef f():\n    open('a', 'w').write('x')\n"
            "    with tempfile.NamedTemporaryFile('w+') as t:\n        t.write('y'); t.seek(0)\n"
            "        return open('a').read() + t.read()"
        ),
        "xy",
    ),
    "threads": (
        (
            "from concurrent.futures import ThreadPoolExecutor\n"
            "def f():\n    with ThreadPoolExecutor(4) as t: return sum(t.map(abs, range(10)))"
        ),
        45,
    ),
    "recursion": (
        (
            "import sys\nsys.setrecursionlimit(10000)\ndef g(n): return 0 if n == 0 else 1 + g(n - 1)\n"
            "def f(): return g(5000)"
        ),
        5000,
    ),
    "shadowed built-ins": ("def f():\n    global len, type\n    len = type = None\n    return [1]", [1]),
    "much memory": ("def f(): return len(bytearray(200 << 20))", 200 << 20),
    "prints": ("def f():\n    print('hello ' * 1000)\n    return 1", 1),
}


@pytest.mark.parametrize(("program", "value"), [pytest.param(*case, id=name) for name, case in HONEST.items()])
def test_honest_programs_are_not_harmed(outputs, judged, sandbox, program, value):
    outcome, results = outputs(program, ())
    assert (outcome.status, [r.value for r in results]) == ("passed", [value]), results
    assert judged(program, f"assert f() == {value!r}").status == "passed"
    assert sandbox.inside(f"{program}\nassert f() == {value!r}").status == "passed"


def test_a_program_that_reads_its_own_output_away_cannot_hang_the_run():
    # It can open the pipe by way of /proc, and be faster than the read that the poll announced.
    limits = Limits(cpu_s=1)
    worker = Worker(detect(), limits)
    try:
        with Supervisor(limits, threading.Event(), worker) as run:
            run.prepare("standard")
            assert run.program is not None
            assert len(run.program.outputs) == 2
            assert not any(map(os.get_blocking, run.program.outputs))
    finally:
        worker.close()
