"""Runs a published harness' own functions in a process of their own, beside the profile under test."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest


def peers() -> Path:
    """The folder of checkouts, or skip."""
    folder = os.environ.get("TRUEGRADE_PEERS")
    if not folder:
        pytest.skip("peers not present: set TRUEGRADE_PEERS")
    return Path(folder).resolve()


def ask(driver: str, requests: dict) -> dict:
    """The answers of ``drive_<driver>.py`` to these requests.

    Its output goes to files, and its group is killed in the end: a harness leaves processes behind, which would
    hold a pipe open.
    """
    script = Path(__file__).with_name(f"drive_{driver}.py")
    command = [sys.executable, "-W", "ignore", str(script), str(peers())]
    with tempfile.TemporaryDirectory() as folder:
        given, out, err = (Path(folder, name) for name in ("given", "out", "err"))
        given.write_text(json.dumps(requests))
        with given.open() as stdin, out.open("w") as stdout, err.open("w") as stderr:
            running = subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True)
        try:
            code = running.wait()
        finally:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
        if code and (absent := _absent(script)):
            pytest.skip(f"not compared: no {', '.join(absent)}")
        assert code == 0, err.read_text(errors="replace")[-3000:]
        return json.loads(out.read_text().splitlines()[-1])


def _absent(script: Path) -> list[str]:
    """The checkouts that a driver names and that are not there."""
    named = dict.fromkeys(re.findall(r'"([A-Za-z][\w.-]*\+[\w.-]+)"', script.read_text()))
    return [name for name in named if not (peers() / name).is_dir()]


def rows(found: list, few: int) -> list:
    """The first few rows, or all of them where TRUEGRADE_PARITY_ROWS is ``all``."""
    return found if _all_rows() else found[:few]


def tasks(problems: dict, *ids: str) -> list[str]:
    """These tasks, behind every twelfth one where TRUEGRADE_PARITY_ROWS is ``all``."""
    return [*(list(problems)[::12] if _all_rows() else ()), *ids]


def _all_rows() -> bool:
    return os.environ.get("TRUEGRADE_PARITY_ROWS") == "all"
