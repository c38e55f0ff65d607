"""The same settings give the same bytes: in any number of processes, and however often they are killed."""

import os
import signal
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.thorough
def test_two_workers_and_another_hash_seed(evolved, tiny):
    other = tiny()
    process = other.start("--workers", 2, hash_seed="77")
    _, errors = process.communicate()
    assert process.returncode == 0, errors.decode()
    assert other.logs() == evolved.logs()


def in_training(made, _):
    """An adapter is locked and not there yet."""
    locks = made.adapters / ".locks"
    keys = [path.name for path in locks.iterdir()] if locks.is_dir() else []
    return [key for key in keys if not (made.adapters / key).exists()]


def in_evaluation(made, before):
    """An adapter is there, and its genome is not in the log, which has grown."""
    kept = [path for path in made.adapters.glob("*") if (path / "entry.json").is_file()]
    return len(kept) > logged(made) > before


def logged(made):
    """Lines of the log."""
    log = made.folder / "events.jsonl"
    return log.read_bytes().count(b"\n") if log.is_file() else 0


def test_killed_in_training_and_in_evaluation_and_started_again(evolved, tiny):
    made = tiny()
    for workers, moment in ((1, in_training), (2, in_evaluation)):
        start_and_kill(made, moment, workers)
    resumed = made.run()
    assert resumed.exit_code == 0, resumed.output
    assert made.logs() == evolved.logs()


def start_and_kill(made, moment, workers):
    """Kill the evolution at this moment; its workers do not outlive it."""
    before = logged(made)
    process = made.start("--workers", workers)
    deadline = time.monotonic() + 900  # only a machine that is very busy comes near it
    while not moment(made, before):
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
        time.sleep(0.002)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert logged(made) < 8
    for child in map(int, children):
        while alive(child):
            assert time.monotonic() < deadline
            time.sleep(0.05)


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
