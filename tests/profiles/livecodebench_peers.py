"""Asks the published LiveCodeBench graders about programs, where their checkouts are present.

The graders run the programs unprotected, so the whole driver runs in a jail of bubblewrap's: no network, no file
but a temporary one, nothing it leaves behind.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from drive_livecodebench import PEERS, has_history

DRIVER = Path(__file__).with_name("drive_livecodebench.py")
PROFILES = {
    "livecodebench": "official",
    "livecodebench-2025-01": "official-2025-01",
    "evalscope": "evalscope",
    "lm-eval-fork": "evalscope-2025-06",
    "evalscope-sandbox": "evalscope-sandbox",
}
"""Which peer speaks for each profile."""
OLDER = ("official-2025-01", "evalscope-2025-06")
"""Peers at an older commit than the other of their repository: a checkout without history is at the latter."""
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")


def missing(peers: Path, peer: str) -> str | None:
    """Why a peer cannot be asked: there is no checkout, or one of another version and without the history."""
    repository, commit, _ = PEERS[peer]
    if not (peers / repository).is_dir():
        return f"not compared: no {repository}"
    if peer in OLDER and not has_history(peers / repository):
        return f"not compared: {repository} has no history with {commit}"
    return None


def ask(
    peers: Path, peer: str, rows: Sequence[dict], *, workers: int = 1, timeout_s: int = 6, nice: int = 10
) -> list[dict]:
    """``code``, ``results``, ``metadata`` and ``passed`` of each row, as the peer gives them.

    Args:
        peers: the folder of checkouts.
        peer: one of `PROFILES`' values.
        rows: ``sample`` with inputs, outputs and function, and ``code`` or ``completion``.
        workers: gradings at the same time.
        timeout_s: the harness' seconds a test.
        nice: of its processes.
    """
    request = json.dumps(request_of(peer, rows, workers=workers, timeout_s=timeout_s))
    done = subprocess.run(jailed(peers, "nice", f"-n{nice}"), input=request, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{peer}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def request_of(peer: str, rows: Sequence[dict], *, workers: int, timeout_s: int = 6) -> dict:
    """What the driver reads: as `ask`, but each sample once, as the text that a data set stores."""
    samples = [json.dumps(row["sample"]) for row in rows]
    numbers = {text: number for number, text in enumerate(dict.fromkeys(samples))}
    numbered = [{**row, "sample": numbers[text]} for row, text in zip(rows, samples, strict=True)]
    return {"peer": peer, "rows": numbered, "samples": list(numbers), "workers": workers, "timeout": timeout_s}


def jailed(peers: Path, *before: str, driver: Path = DRIVER) -> list[str]:
    """The driver's command, in a jail: it reads a request and prints the answer.

    Args:
        peers: the folder of checkouts.
        before: words of a command that runs another, in the jail.
        driver: the script.

    Raises:
        RuntimeError: there is no bubblewrap.
    """
    if shutil.which("bwrap") is None:
        raise RuntimeError(
            "the published graders run programs unprotected: install bubblewrap to compare with them"
        )
    jail = [
        "bwrap",
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "--unshare-all",
        "--die-with-parent",
    ]
    # The checkouts may lie under /tmp, which the programs must not write to, or be links to where they do.
    folder = str(peers.resolve())
    jail += ["--tmpfs", "/tmp"]
    for place in (folder, *(str(link.resolve()) for link in Path(folder).iterdir() if link.is_symlink())):
        jail += ["--ro-bind", place, place]
    moved = driver.is_relative_to("/tmp")
    jail += ["--ro-bind", str(driver), "/tmp/driver.py"] if moved else []
    script = "/tmp/driver.py" if moved else str(driver)
    return [*jail, *before, sys.executable, "-W", "ignore", script, folder]


def normal(row: dict) -> dict:
    """Results and metadata with addresses and the execution time masked."""
    metadata = {key: value for key, value in row["metadata"].items() if key != "execution time"}
    if "execution time" in row["metadata"]:
        metadata["execution time"] = "masked"
    return json.loads(_ADDRESS.sub("0xADDRESS", json.dumps({"results": row["results"], "metadata": metadata})))
