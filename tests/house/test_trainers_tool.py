"""`make trainers` says last what was not run; of trainers that are named, all must be."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(*arguments):
    command = [sys.executable, "-m", "tools.trainers", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_what_was_not_run_is_said_last_and_is_an_error_where_it_was_named(tmp_path):
    done = run("--peers", tmp_path, "nemo_gym")
    told, ran = done.stdout.splitlines()[-2:]
    assert told.startswith("not run, or not all of it: nemo_gym: trainers not present: no NVIDIA-NeMo+Gym")
    assert (ran, done.returncode) == ("ran whole: none", 1)


def test_a_name_or_folder_that_is_none_is_refused(tmp_path):
    for arguments in (("--peers", tmp_path, "nemo"), ("--peers", tmp_path / "none")):
        done = run(*arguments)
        assert done.returncode == 2 and ("no trainer nemo" in done.stderr or "no such folder" in done.stderr)
