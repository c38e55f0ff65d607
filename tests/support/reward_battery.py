"""Replies of which it is known what they must earn: right and wrong ones, and the cheats of `truegrade assay`."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from truegrade.apps.assay.cheats import cheat_probes
from truegrade.apps.assay.cheats.base import TaskForm


class Due(NamedTuple):
    """A reply and what it must earn."""

    name: str
    text: str
    ground_truth: Any
    entry_point: str
    reward: float


ASSERTS = ["assert spread([3, 9, 4]) == 6", "assert spread([]) == 0", "assert spread([-2, 5]) == 7"]
STDIO = json.dumps({"inputs": ["3 9 4\n", "5\n", "-2 5\n"], "outputs": ["6\n", "0\n", "7\n"]})
CALLS = json.dumps({"fn_name": "spread", "inputs": [[[3, 9, 4]], [[]], [[-2, 5]]], "outputs": [[6], [0], [7]]})
RIGHT = {
    "function": "def spread(numbers):\n    return max(numbers) - min(numbers) if numbers else 0",
    "stdio": "numbers = [int(word) for word in input().split()]\nprint(max(numbers) - min(numbers))",
}
WRONG = {"function": "def spread(numbers):\n    return 6", "stdio": "print(6)"}
ROW = json.dumps(
    {
        "id": "tool.spread/write",
        "prompt": "The function `spread` belongs to the file `tool.py`. Its body is missing here.",
        "entry_point": "spread",
        "prefix": "import os\n",
        "tests": "\n".join(ASSERTS),
        "reference": RIGHT["function"],
        "tags": {"kind": "write", "tier": "outside"},
    }
)
"""A problem of a repository, as a row of own problems is written."""
UNREADABLE = ("[]", '{"inputs": [], "outputs": []}', "not tests at all", None)
"""Ground truths of which nothing can be known."""


def fenced(program: str) -> str:
    """A reply that contains a program."""
    return f"I would write:\n\n```python\n{program}\n```\n"


def battery(form: TaskForm, ground_truth: Any, cheats: int | None = None) -> list[Due]:
    """Right, wrong, then cheats.

    Args:
        form: of the task.
        ground_truth: `ASSERTS`, `CALLS` and `ROW` for functions, `STDIO` for programs.
        cheats: one of each channel where it is 1; all where it is None.
    """
    name = "spread" if form == "function" else ""
    found = [
        Due("right", fenced(RIGHT[form]), ground_truth, name, 1.0),
        Due("wrong", fenced(WRONG[form]), ground_truth, name, 0.0),
    ]
    seen: dict[str, int] = {}
    for probe in cheat_probes("spread", "spread", form):
        if probe.danger not in ("h0", "h1"):
            continue
        seen[probe.channel] = seen.get(probe.channel, 0) + (not probe.inert)
        if probe.inert or (cheats is not None and seen[probe.channel] > cheats):
            continue
        text = probe.code if probe.form == "reply" else fenced(probe.code)
        found.append(Due(probe.origin, text, ground_truth, name, 0.0))
    return found
