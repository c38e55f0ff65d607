"""``deploy/slurm.sh``: what SIGTERM ends goes on as the same job. Slurm's commands are stand-ins, the run real."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "deploy" / "slurm.sh"
SLOW = {
    "prompt": "def one():\n",
    "tests": "assert one() == 1",
    "entry_point": "one",
    "reference": "    import time\n    time.sleep(0.7)\n    return 1\n",
}
"""Four of these are graded for three seconds, in which the signal arrives."""
SRUN = """#!{python}
import pathlib, signal, subprocess, sys, time
step = subprocess.Popen(sys.argv[2:])
rows, once = pathlib.Path("runs/repair/completions.jsonl"), pathlib.Path("ended")
if not once.exists():
    while not (rows.exists() and rows.read_bytes().count(b"\\n")) and step.poll() is None:
        time.sleep(0.01)
    step.send_signal(signal.SIGTERM)
    once.touch()
code = step.wait()
sys.exit(128 - code if code < 0 else code)
"""


@pytest.mark.slow
def test_a_job_that_its_time_limit_ends_goes_on(tmp_path):
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, text in {
        "srun": SRUN.format(python=sys.executable),
        "scontrol": '#!/bin/sh\necho "$@" > requeued\n',
    }.items():
        (commands / name).write_text(text)
        (commands / name).chmod(0o755)
    rows = (json.dumps(SLOW | {"id": f"slow/{number}"}) + "\n" for number in range(4))
    (tmp_path / "slow.jsonl").write_text("".join(rows))
    path = os.pathsep.join([str(commands), str(Path(sys.executable).parent), os.environ["PATH"]])
    variables = os.environ | {"PATH": path, "SLURM_CPUS_PER_TASK": "1", "SLURM_JOB_ID": "7"}

    def job():
        words = ["bash", SCRIPT, "slow.jsonl", "--model", "baseline/reference", "--out", "runs/repair"]
        return subprocess.run(words, cwd=tmp_path, env=variables, capture_output=True, text=True)

    first = job()
    assert first.returncode == 143, first.stderr
    assert (tmp_path / "requeued").read_text() == "requeue 7\n"
    (tmp_path / "requeued").unlink()
    second = job()
    assert second.returncode == 0, second.stderr
    assert not (tmp_path / "requeued").exists()
    assert "already done" in second.stderr
    assert (tmp_path / "runs/repair/report.html").exists()


def test_the_definition_installs_what_the_image_does():
    written = {name: (SCRIPT.parent / name).read_text() for name in ("apptainer.def", "Dockerfile")}
    for part in (
        "debian:bookworm-slim",
        "--require-hashes",
        "requirements/core.txt",
        "requirements/data.txt",
        "bubblewrap",
    ):
        assert all(part in text for text in written.values()), part
