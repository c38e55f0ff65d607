"""HumanEval: complete a function from its signature and docstring.

Chen et al., Evaluating Large Language Models Trained on Code, arXiv:2107.03374.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from truegrade.benchmarks.base import Benchmark, BenchmarkSpec
from truegrade.benchmarks.pinned import ALLOW_MODIFIED, Item, load_pinned
from truegrade.datasets import SOURCES
from truegrade.records import FunctionTask

_SOURCE = SOURCES["humaneval"]


class HumanEvalRow(msgspec.Struct, frozen=True):
    """A row as upstream stores it."""

    task_id: str
    prompt: str
    entry_point: str
    canonical_solution: str
    test: str


def load(data: Path | None, args: Mapping[str, str]) -> Benchmark:
    """Read the 164 problems.

    Raises:
        UserError: the file is not found or not the pinned one, or an argument is not known.
    """
    return load_pinned("humaneval", _SOURCE, HumanEvalRow, _item, data, args)


def _item(row: HumanEvalRow) -> Item:
    """Prefix, tests and call as openai/human-eval@6d43fb9 human_eval/execution.py puts them together.

    The tests of 32, 38 and 50 call helpers that the prompt defines; these are part of the trusted prefix.
    """
    return Item(
        id=row.task_id,
        task=FunctionTask(
            prompt=row.prompt,
            entry_point=row.entry_point,
            prefix=row.prompt,
            tests=f"{row.test}\ncheck({row.entry_point})",
            reference=row.prompt + row.canonical_solution,
        ),
    )


HUMANEVAL = BenchmarkSpec(
    name="humaneval",
    summary="Complete a Python function from its signature and docstring; graded by hidden asserts.",
    tasks="function",
    size=_SOURCE.size,
    licence=_SOURCE.licence,
    citation=_SOURCE.citation,
    source=_SOURCE.name,
    load=load,
    args=dict(ALLOW_MODIFIED),
)
