"""CRUXEval: predict what a short function returns, or find an input that makes it return a given value.

Gu et al., CRUXEval, arXiv:2401.03065.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from truegrade.benchmarks.base import ALLOW_MODIFIED, Benchmark, BenchmarkSpec, Item, load_pinned
from truegrade.datasets import SOURCES
from truegrade.records import InputTask, OutputTask

_SOURCE = SOURCES["cruxeval"]
_FUNCTION = "f"


class CruxEvalRow(msgspec.Struct, frozen=True):
    """A row as upstream stores it."""

    code: str
    input: str
    """The text between the parentheses of the call."""
    output: str
    id: str


def load_output(data: Path | None, args: Mapping[str, str]) -> Benchmark:
    """Read the 800 problems as output prediction.

    Raises:
        UserError: the file is not found or not the pinned one, or an argument is not known.
    """
    return load_pinned("cruxeval-output", _SOURCE, CruxEvalRow, _output_item, data, args)


def load_input(data: Path | None, args: Mapping[str, str]) -> Benchmark:
    """Read the 800 problems as input prediction; raises as `load_output` does."""
    return load_pinned("cruxeval-input", _SOURCE, CruxEvalRow, _input_item, data, args)


def _output_item(row: CruxEvalRow) -> Item:
    return Item(
        id=row.id,
        task=OutputTask(program=row.code, function=_FUNCTION, arguments=row.input, expected=row.output),
    )


def _input_item(row: CruxEvalRow) -> Item:
    return Item(
        id=row.id,
        task=InputTask(program=row.code, function=_FUNCTION, expected=row.output, reference_arguments=row.input),
    )


CRUXEVAL_OUTPUT = BenchmarkSpec(
    name="cruxeval-output",
    summary="Read a short Python function and a call; predict what it returns.",
    tasks="output_prediction",
    size=_SOURCE.size,
    licence=_SOURCE.licence,
    citation=_SOURCE.citation,
    source=_SOURCE.name,
    load=load_output,
    args=dict(ALLOW_MODIFIED),
)

CRUXEVAL_INPUT = BenchmarkSpec(
    name="cruxeval-input",
    summary="Read a short Python function and a value; find arguments for which it returns it.",
    tasks="input_prediction",
    size=_SOURCE.size,
    licence=_SOURCE.licence,
    citation=_SOURCE.citation,
    source=_SOURCE.name,
    load=load_input,
    args=dict(ALLOW_MODIFIED),
)
