"""A short ``python -m bench rewards soak``: right, wrong and hostile programs, kills and a restart."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
@pytest.mark.thorough
def test_a_short_soak_loses_nothing_and_leaves_nothing(tmp_path):
    out = tmp_path / "soak.json"
    options = ["--requests", "400", "--kill-every", "50", "--connections", "16", "--workers", "2", "--out", out]
    words = [sys.executable, "-m", "bench", "rewards", "soak", *options]
    ended = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300)
    found = json.loads(out.read_text()) if out.exists() else ended.stderr
    assert not any(found["faults"].values()), found["said"]
    assert (found["sent"]["restarts"], found["sent"]["killed"] >= 6) == (1, True)
    assert (found["processes_left"], found["files_left"], found["descriptors_left"] <= 0) == ([], [], True)
