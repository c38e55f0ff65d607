"""Grading in several processes, as the command does it: in a process without threads, which a test's is not."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from truegrade.sandbox.worker import descendants

PROBLEM = {
    "prompt": "def f(x):\n",
    "entry_point": "f",
    "canonical_solution": "    return x + 1\n",
    "test": "def check(candidate):\n    for x in range(5):\n        assert candidate(x) == x + 1\n",
}
BODIES = {
    "right": "    return x + 1\n",
    "wrong": "    return x\n",
    "raises": "    raise ValueError(x)\n",
    "exits": "    import os\n    os._exit(0)\n",
    "large": "    return x + 1\n#" + "y" * 300_000 + "\n",
}
SLOW = "    import time\n    time.sleep(x == 0 and 4)\n    return x + 1\n"
UNDER_WAY = [BODIES["right"]] * 12 + [SLOW] * 2
"""Of which two processes have given a few verdicts, and will not have given all of them for a while."""
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")


def written(folder: Path, bodies: list[str]) -> tuple[Path, Path]:
    """Problems and samples of a set of HumanEval's form, one problem a body."""
    problems, samples = folder / "problems.jsonl", folder / "samples.jsonl"
    rows = [PROBLEM | {"task_id": f"T/{number}"} for number in range(len(bodies))]
    problems.write_text("".join(json.dumps(row) + "\n" for row in rows))
    samples.write_text(
        "".join(
            json.dumps({"task_id": row["task_id"], "completion": body}) + "\n"
            for row, body in zip(rows, bodies, strict=True)
        )
    )
    return problems, samples


def words(folder: Path, problems: Path, samples: Path, workers: int) -> list[str]:
    """The command that grades them."""
    return [
        *(sys.executable, "-m", "truegrade", "grade", str(samples), "-b", "humaneval", "--data", str(problems)),
        *("--as", "strict", "--workers", str(workers), "--out", str(folder), "--allow-unsafe"),
        *("-T", "allow_modified=true"),
    ]


def verdicts(folder: Path) -> dict[str, tuple[object, ...]]:
    """What was decided, by problem."""
    lines = [
        json.loads(line) for path in folder.glob("verdicts.*.jsonl") for line in path.read_text().splitlines()
    ]
    assert len({line["problem_id"] for line in lines}) == len(lines)
    fields = ("passed", "reason", "detail", "answer", "found", "level", "marks")
    return {line["problem_id"]: tuple(str(line.get(field)) for field in fields) for line in lines}


def test_verdicts_are_those_of_one_process(tmp_path: Path) -> None:
    """Of right and wrong programs, of one that leaves, and of texts that a stream does not hold."""
    files = written(tmp_path, [*BODIES.values()] * 8)
    for workers in (1, 3):
        subprocess.run(words(tmp_path / str(workers), *files, workers), check=True, capture_output=True)
    one, three = verdicts(tmp_path / "1"), verdicts(tmp_path / "3")
    assert one == three
    assert {reason for _, reason, *_ in one.values()} >= {"passed", "wrong_answer", "runtime_error"}


def begun(folder: Path, least: int, command: list[str]) -> subprocess.Popen[bytes]:
    """A grading that has given so many verdicts."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    give_up = time.monotonic() + 60
    while sum(path.read_bytes().count(b"\n") for path in folder.glob("verdicts.*.jsonl")) < least:
        assert process.poll() is None, process.stderr.read() if process.stderr else b""
        assert time.monotonic() < give_up
        time.sleep(0.02)
    return process


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_of_a_grading_that_was_ended(tmp_path: Path, number: signal.Signals) -> None:
    """No process runs on, what was graded is kept, and the same command grades the rest."""
    files = written(tmp_path, UNDER_WAY)
    command = words(tmp_path / "run", *files, 2)
    process = begun(tmp_path / "run", 8, command)
    below = descendants(process.pid)
    assert len(below) > 2
    process.send_signal(number)
    process.communicate(timeout=30)
    kept = verdicts(tmp_path / "run")
    assert len(kept) >= 8
    give_up = time.monotonic() + 10
    while alive := [pid for pid in below if not _dead(pid)]:
        assert time.monotonic() < give_up, alive
        time.sleep(0.05)
    subprocess.run(command, check=True, capture_output=True)
    after = verdicts(tmp_path / "run")
    assert len(after) == 14
    assert kept.items() <= after.items()


def _dead(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_a_process_that_is_lost_is_named(tmp_path: Path) -> None:
    """The grading ends with one line, keeps what it has, and goes on."""
    files = written(tmp_path, UNDER_WAY)
    command = words(tmp_path / "run", *files, 2)
    process = begun(tmp_path / "run", 8, command)
    supervisors = [
        int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    ]
    os.kill(supervisors[0], signal.SIGKILL)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 2, said
    assert b"was lost (exit code -9)" in said
    assert b"Traceback" not in said
    subprocess.run(command, check=True, capture_output=True)
    assert len(verdicts(tmp_path / "run")) == 14


WHO_MAY = """
import io, multiprocessing, threading
from rich.console import Console
from rich.live import Live
from truegrade.pipeline.supervisors import may_be_copied
print(may_be_copied())
with Live(console=Console(file=io.StringIO(), force_terminal=True), redirect_stdout=False):
    print(threading.active_count(), may_be_copied())
with multiprocessing.get_context("fork").Pool(1) as pool:
    print(pool.apply(may_be_copied))
threading.Thread(target=threading.Event().wait, daemon=True).start()
print(may_be_copied())
"""


def test_a_process_with_threads_that_may_hold_something_is_not_copied() -> None:
    """Bars on a terminal are drawn by a thread that holds nothing which a copy needs."""
    done = subprocess.run([sys.executable, "-c", WHO_MAY], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["True", "2 True", "False", "False"]


CLOSED_MEANWHILE = """
import threading
from truegrade.errors import SandboxError
from truegrade.pipeline.grade import LocalGrader
from truegrade.profiles import open_profile
from truegrade.records import Completion, FunctionTask, Problem
task = FunctionTask(prompt="", entry_point="f", tests="assert f() == 1", reference="def f(): return 1")
problem = Problem(id="p/0", benchmark="humaneval", dataset_sha256="", cluster="0", task=task)
programs = ["def f(): return 1", "import time\\ndef f(): time.sleep(9)"]
completions = [
    Completion(benchmark="humaneval", dataset_sha256="", problem_id="p/0", sample=sample, config_sha256="",
               prompt_sha256="", text=program, form="program", model="m")
    for sample, program in enumerate(programs)
]
grader = LocalGrader(2, allow_unsafe=True)
verdicts = grader.verdicts(completions, {"p/0": problem}, open_profile("strict"))
print(next(verdicts).passed)
threading.Timer(0.1, grader.close).start()
try:
    next(verdicts)
except SandboxError as error:
    print(error)
"""


def test_a_grader_that_another_thread_closes_says_so() -> None:
    done = subprocess.run([sys.executable, "-c", CLOSED_MEANWHILE], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["True", "the grader was closed"]
