"""The published graders that `grading.py` is compared with, each in a warm process of its own.

A peer is a checkout in the folder of peers, named ``owner+name``. What it imports (numpy, psutil, tqdm; for
EvalScope the whole of its requirements) is looked for in the Python of ``--peer-python``.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DRIVER = Path(__file__).with_name("drive_peers.py")


@dataclass(frozen=True)
class Checkout:
    """Where a peer is found, and what it can be asked."""

    folder: str
    functional: bool = False
    """Needs LiveCodeBench's functional tests: calls and answers as JSON."""
    most: int | None = None
    """Rows that can be waited for."""


CHECKOUTS = {
    "human-eval": Checkout("openai+human-eval"),
    "evalplus": Checkout("evalplus+evalplus"),
    "LiveCodeBench": Checkout("LiveCodeBench+LiveCodeBench", functional=True),
    "EvalScope": Checkout("modelscope+evalscope", functional=True, most=12),
}


class Peer:
    """One grader, started and holding its rows.

    Args:
        name: one of `CHECKOUTS`.
        folder: of the checkouts.
        python: interpreter that has what the peer imports.
        rows: what `rows` made.

    Raises:
        OSError: it does not start; the reason is the last line it wrote.
    """

    def __init__(self, name: str, folder: Path, python: str, rows: list[dict[str, Any]]) -> None:
        checkout = CHECKOUTS[name]
        if checkout.functional:
            rows = [row for row in rows if row["input_output"]]
        self.rows = rows[: checkout.most]
        path = folder / checkout.folder
        if not path.is_dir():
            raise OSError(f"there is no {path}")
        self._process = subprocess.Popen(
            [python, "-W", "ignore", str(DRIVER), name, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            self._tell(self.rows)
            ready = self._hear()
        except BrokenPipeError:
            ready = ""
        if ready != "ready\n":
            _, said = self._process.communicate()
            raise OSError((said.strip().splitlines() or ["it ended without a word"])[-1])

    def grade(self, workers: int) -> None:
        """Grade the rows.

        Raises:
            SystemExit: not every verdict is a pass, so a comparison would mean nothing.
        """
        self._tell({"workers": workers})
        passed = json.loads(self._hear())["passed"]
        if passed != len(self.rows):
            raise SystemExit(f"{passed} of {len(self.rows)} passed; the comparison would mean nothing")

    def close(self) -> None:
        """End it."""
        self._process.communicate()

    def _tell(self, message: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _hear(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


def row(problem: dict[str, Any], code: str, arguments: list[Any], expected: list[Any]) -> dict[str, Any]:
    """A problem as the drivers take it; ``input_output`` is empty where JSON does not hold its values."""
    try:
        same = _travels(arguments) and _travels(expected)
    except (TypeError, ValueError):
        same = False
    tests = {
        "inputs": ["\n".join(json.dumps(value) for value in call) for call in arguments] if same else [],
        "outputs": [json.dumps(value) for value in expected] if same else [],
        "fn_name": problem["entry_point"],
    }
    return {
        "problem": problem,
        "code": code,
        "calls": repr((arguments, expected)),  # JSON would make lists of tuples
        "input_output": json.dumps(tests) if same else "",
    }


def _travels(values: list[Any]) -> bool:
    """Whether JSON gives these back; a tuple may come back as a list, which the graders allow for."""
    plain = [list(value) if isinstance(value, tuple) else value for value in values]
    return bool(json.loads(json.dumps(plain, allow_nan=False)) == plain)
