"""An assay that is killed goes on, and comes to the same summary."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

COMMAND = [
    *(sys.executable, "-m", "truegrade", "assay", "micro-repair", "--as", "strict"),
    *(
        "--limit",
        "2",
        "--per-problem",
        "4",
        "--inputs",
        "30",
        "--probes",
        "right,mutants,stubs,must-fail",
        "--json",
    ),
]
JOURNALS = ("problems.jsonl", "probes.jsonl", "verdicts.jsonl")


def lines_of(folder):
    return sum((folder / name).read_bytes().count(b"\n") for name in JOURNALS if (folder / name).exists())


def start(folder):
    return subprocess.Popen([*COMMAND, "--out", str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def killed_at(folder, most):
    """Start, and kill once so many lines are written; whether there was anything left to kill."""
    process = start(folder)
    while process.poll() is None and lines_of(folder) < most:
        time.sleep(0.002)
    alive = process.poll() is None
    if alive:
        os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return alive


@pytest.mark.slow
def test_killed_at_ten_moments_it_comes_to_the_same_summary(tmp_path):
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    assert start(whole).wait() == 0
    lines = lines_of(whole)
    kills = [killed_at(torn, 1 + place * lines // 10) for place in range(10)]
    assert sum(kills) >= 8
    assert start(torn).wait() == 0
    assert (torn / "summary.json").read_bytes() == (whole / "summary.json").read_bytes()
    assert (torn / "findings.jsonl").read_bytes() == (whole / "findings.jsonl").read_bytes()
    for journal, name in (("problems.jsonl", "problem_id"), ("verdicts.jsonl", "probe")):
        done = [json.loads(line)[name] for line in (torn / journal).read_bytes().splitlines()]
        assert len(set(done)) == len(done)  # what was done was not done again
