"""The suite as a background job of a shell or under nohup, where the signals of a terminal are ignored."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INTERRUPTS = "tests/pipeline/test_batches.py::test_ctrl_c_says_that_the_batch_goes_on"


@pytest.mark.slow
def test_a_test_that_interrupts_a_command_passes_in_a_background_job():
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", INTERRUPTS]
    ignoring = ["sh", "-c", "trap '' HUP INT QUIT; exec \"$@\"", "sh", *words]
    done = subprocess.run(ignoring, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
