"""JSON Schemas of the files of a run, of a suite, and of a benchmark without Python, made of their records."""

from __future__ import annotations

from inspect import cleandoc
from typing import Any

import msgspec

from truegrade.agents.steps import Step
from truegrade.benchmarks.own_rows import BenchmarkRow
from truegrade.pipeline.suites import BenchmarkSuite
from truegrade.pipeline.summary import Summary
from truegrade.records import Completion, Verdict
from truegrade.store import Manifest
from truegrade.store.manifest import BatchEvent
from truegrade.store.run import StoredPrompt

_TYPES: dict[str, type[msgspec.Struct]] = {
    "manifest": Manifest,
    "prompt": StoredPrompt,
    "completion": Completion,
    "step": Step,
    "batch": BatchEvent,
    "verdict": Verdict,
    "summary": Summary,
    "benchmark-row": BenchmarkRow,
    "suite": BenchmarkSuite,
}


def names() -> tuple[str, ...]:
    """Names of the schemas: ``manifest`` and ``summary`` are files, the others lines of a file.

    ``benchmark-row`` and ``suite`` are not of a run, but of a benchmark and a suite of one's own.
    """
    return tuple(_TYPES)


def record_type(name: str) -> type[msgspec.Struct]:
    """The record of that name; `KeyError` if there is none."""
    return _TYPES[name]


def json_schema(name: str) -> dict[str, Any]:
    """JSON Schema (2020-12) of one kind of record."""
    schema: dict[str, Any] = msgspec.json.schema(_TYPES[name])
    for record in schema.get("$defs", {}).values():
        if "description" in record:  # a docstring, which Python before 3.13 leaves indented
            record["description"] = cleandoc(record["description"])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"Truegrade {name}", **schema}
