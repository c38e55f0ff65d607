"""The service as a process of its own on loopback, for as long as it is measured."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TOKEN = "token-of-the-benchmark"


@contextmanager
def serving(problems: Path, workers: int, *, token: str | None = TOKEN) -> Iterator[str]:
    """Its address; it knows HumanEval.

    Args:
        problems: HumanEval's file.
        workers: of the service.
        token: what clients send; None where anybody may ask.
    """
    words = ["serve", "--port", "0", "--json", *(["--token", token] if token else ["--no-token"])]
    words += ["--workers", str(workers), "--benchmark", f"humaneval={problems}"]
    with subprocess.Popen(
        [sys.executable, "-m", "truegrade", *words], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        said = ""
        for line in process.stdout:
            said += line
            if line == "}\n":
                break
        try:
            yield str(json.loads(said)["address"])
        finally:
            process.terminate()
