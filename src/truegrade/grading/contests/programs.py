"""What the in-process graders of contests share: what they do with a program's text, and what is told of it.

Rules: LiveCodeBench/LiveCodeBench@28fef95 ``lcb_runner/evaluation/testing_util.py``. The text of this file is sent
to the sandbox.
"""

import ast
import json
import sys
from contextlib import suppress
from typing import Any


class Observed:
    """What the program did, told to the one outside who did not see it.

    Args:
        budget: characters that may be told.
    """

    def __init__(self, budget: int) -> None:
        self.outputs: list[str | None] = []
        self._budget = budget
        self.syntax = False

    def add(self, text: str) -> None:
        """Keep one output; None stands for one too many."""
        self._budget -= len(text)
        self.outputs.append(text if self._budget >= 0 else None)


def clean_if_name(code: str) -> str:
    """The program with a main block that ends it replaced by that block's body; an else is lost."""
    with suppress(Exception):
        *before, last = ast.parse(code).body
        if isinstance(last, ast.If) and ast.unparse(last.test).strip() == "__name__ == '__main__'":
            return ast.unparse(before) + "\n" + ast.unparse(last.body)  # type: ignore[arg-type]
    return code


def as_text(value: Any) -> str:
    """A returned value as JSON, quickly; nothing, which is no JSON, if it is none."""
    try:
        return json.dumps(value)
    except Exception:
        return ""


def allclose(got: list[float], expected: list[float]) -> bool:
    """What `numpy.allclose` says of as many numbers: within 1e-8 and 1e-5 of the expected one, or equal.

    Where numpy is loaded it is numpy's, which a program may have replaced.
    """
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        return bool(numpy.allclose(got, expected))
    pairs = zip(got, expected, strict=True)
    return all(one == two or abs(one - two) <= 1e-8 + 1e-5 * abs(two) < float("inf") for one, two in pairs)
