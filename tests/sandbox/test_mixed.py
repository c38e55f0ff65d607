"""Hostile samples change no honest sample's verdict, and leave nothing on the machine."""

import os
import random
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hostile_programs import BOMBS, ESCAPES

from support.thorough import one_in
from truegrade.sandbox import Limits, Sandbox
from truegrade.sandbox.limits import MIB

HONEST = [
    ("def f(n): return n * n", 49, "passed"),
    ("def f(n): return n + n", 49, "wrong_answer"),
    ("def f(n): return sorted({n, 3, 5})", [3, 5, 7], "passed"),
    ("def f(n):\n    open('x', 'w').write(str(n))\n    return int(open('x').read())", 7, "passed"),
    (
        (
            "from concurrent.futures import ThreadPoolExecutor\ndef f(n):\n"
            "    with ThreadPoolExecutor(4) as t: return list(t.map(abs, [-n]))"
        ),
        [7],
        "passed",
    ),
    ("import os\ndef f(n): return os.listdir('.')", [], "passed"),
    ("def f(n): return 1 // 0", 0, "runtime_error"),
    ("def f(n: return", 0, "syntax_error"),
]
SLOW = {"memory in steps", "threads", "inodes", "deep directories"}


def judge(sandbox, program, expected):
    return sandbox.judge(program, f"assert f(7) == {expected!r}", ["f"]).status


@pytest.mark.parametrize(("workers", "count"), one_in(3, [(3, 120), (1, 200), (2, 500)]))
def test_hostile_samples_change_no_honest_verdict(workers, count, monkeypatch):
    hostile = [s for n, (s, _) in BOMBS.items() if n not in SLOW] + [
        s.replace("(t)", "(n)") for s in ESCAPES.values()
    ]
    samples = [(HONEST[k % len(HONEST)], True) for k in range(count)]
    samples += [((hostile[k % len(hostile)] + "\ndef f(n): return 1", 2, None), False) for k in range(count)]
    random.Random(5).shuffle(samples)
    own = tempfile.mkdtemp(prefix="mixed-")  # other sandboxes on this machine leave and take theirs in /tmp
    monkeypatch.setattr(tempfile, "tempdir", own)
    limits = Limits(cpu_s=3, wall_s=60, memory_bytes=256 * MIB, output_bytes=MIB, scratch_bytes=16 * MIB)
    of_others = set(_zygotes())  # a jail that other tests of this process share
    with Sandbox(limits, workers=workers) as sandbox, ThreadPoolExecutor(4) as threads:
        if sandbox.level < 2:
            pytest.skip(sandbox.protection)
        statuses = list(threads.map(lambda sample: judge(sandbox, *sample[0][:2]), samples))
    for (sample, honest), status in zip(samples, statuses, strict=True):
        assert status == sample[2] if honest else status not in {"passed", "grader_error"}, (sample, status)
    os.rmdir(own)  # and it is empty
    assert set(_zygotes()) <= of_others


FLAKY = "import random\ndef f(n): return random.random() < 0"
STEADY = [
    *((program, expected) for program, expected, _ in HONEST),
    (FLAKY, False),
    ("def f(n):\n    total = 0\n    for k in range(200000): total += k % n\n    return total", 599994),
    ("def f(n): return {n: [str(n)] * n, 'a': (1, 2.5, None)}", {7: ["7"] * 7, "a": (1, 2.5, None)}),
    ("def f(n):\n    while True: pass", 0),
    ("import os\ndef f(n): os._exit(0)", 0),
    ("def f(n): return 'x' * (2 << 20)", 0),
    ("def f(n): return [0] * (1 << 28)", 0),
]


@pytest.mark.slow
@pytest.mark.thorough
def test_verdicts_are_the_same_with_any_number_of_workers_and_under_load():
    import subprocess
    import sys

    limits = Limits(cpu_s=1, wall_s=60, memory_bytes=256 * MIB, output_bytes=MIB)
    samples = STEADY * 2
    random.Random(7).shuffle(samples)

    def verdicts(workers):
        with Sandbox(limits, workers=workers) as sandbox, ThreadPoolExecutor(2 * workers) as threads:
            if sandbox.level < 2:
                pytest.skip(sandbox.protection)
            outcomes = threads.map(
                lambda sample: sandbox.judge(sample[0], f"assert f(7) == {sample[1]!r}", ["f"]), samples
            )
            return [(outcome.status, outcome.detail) for outcome in outcomes]

    first = verdicts(1)
    assert {"passed", "wrong_answer", "time_limit", "output_limit", "memory_limit"} <= {
        status for status, _ in first
    }
    assert verdicts(2) == first
    assert verdicts(4) == first
    load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        assert verdicts(2) == first
    finally:
        for process in load:
            process.kill()
            process.wait()


def test_nothing_lives_on_when_the_harness_is_killed(tmp_path):
    import signal
    import subprocess
    import sys
    import time

    script = (
        "from truegrade.sandbox import Limits, Sandbox\n"
        "Sandbox(Limits(cpu_s=60), workers=1, allow_unsafe=True).inside('print(1)\\nwhile True: pass')\n"
    )
    harness = subprocess.Popen([sys.executable, "-c", script], env={**os.environ, "TMPDIR": str(tmp_path)})
    deadline = time.monotonic() + 20
    while len(_zygotes(harness.pid)) == 0 and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1)
    running = _zygotes(harness.pid)
    harness.send_signal(signal.SIGKILL)
    harness.wait()
    assert running
    deadline = time.monotonic() + 5
    while (left := [pid for pid in running if Path(f"/proc/{pid}").exists()]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []


def _zygotes(parent=None):
    """Zygotes, and what they forked, below a process; by default this one."""
    from truegrade.sandbox.worker import descendants

    found = []
    for pid in descendants(parent or os.getpid()):
        try:
            if b"start.py" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
        except OSError:
            continue
    return found
