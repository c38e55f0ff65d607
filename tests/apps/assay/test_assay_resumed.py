"""An assay that is killed goes on, and comes to the same summary."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from support.thorough import one_in

ASKED = ["--as", "strict", "--per-problem", "2", "--inputs", "10", "--probes", "right,mutants,stubs,must-fail"]
ROWS = [
    {
        "id": f"own/{number}",
        "prompt": f'def between(values, low, high):\n    """{number} times the values from low to high."""\n',
        "tests": f"assert between([5, 1, 9], 1, 5) == [{5 * number}, {number}]\nassert between([], 1, 2) == []",
        "entry_point": "between",
        "reference": "    kept = []\n    for value in values:\n        if low <= value <= high:\n"
        f"            kept.append({number} * value)\n    return kept\n",
    }
    for number in (2, 3)
]
JOURNALS = ("problems.jsonl", "probes.jsonl", "verdicts.jsonl")


def lines_of(folder):
    return sum((folder / name).read_bytes().count(b"\n") for name in JOURNALS if (folder / name).exists())


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """Starts the assay in a folder, in a process of its own."""
    problems = tmp_path_factory.mktemp("problems") / "own.jsonl"
    problems.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    command = [sys.executable, "-m", "truegrade", "assay", str(problems), *ASKED, "--out"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return lambda folder: subprocess.Popen([*command, str(folder)], **quiet)


def killed_at(process, folder, most):
    """Kill once so many lines are written; whether there was anything left to kill."""
    while process.poll() is None and lines_of(folder) < most:
        time.sleep(0.002)
    alive = process.poll() is None
    if alive:
        os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return alive


@pytest.fixture(scope="module")
def whole(start, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "assay"
    assert start(folder).wait() == 0
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("moments", one_in(2, [2, 10]))
def test_killed_at_some_moments_it_comes_to_the_same_summary(start, whole, moments, tmp_path):
    torn, lines = tmp_path / "torn", lines_of(whole)
    most = [1 + (2 * place + 1) * lines // (2 * moments + 1) for place in range(moments)]
    kills = [killed_at(start(torn), torn, each) for each in most]
    assert sum(kills) >= moments * 0.8
    assert start(torn).wait() == 0
    assert (torn / "summary.json").read_bytes() == (whole / "summary.json").read_bytes()
    assert (torn / "findings.jsonl").read_bytes() == (whole / "findings.jsonl").read_bytes()
    for journal, name in (("problems.jsonl", "problem_id"), ("verdicts.jsonl", "probe")):
        done = [json.loads(line)[name] for line in (torn / journal).read_bytes().splitlines()]
        assert len(set(done)) == len(done)  # what was done was not done again
