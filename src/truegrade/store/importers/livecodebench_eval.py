"""LiveCodeBench's ``_eval.json``: metrics, results and metadata of a grading, and no answer.

LiveCodeBench/LiveCodeBench@28fef95 ``lcb_runner/runner/main.py`` writes what ``codegen_metrics`` gives: the
metrics with their ``detail``; by the problem's place, per sample, one entry a test up to the first that fails; and
per problem and sample the metadata as JSON text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from truegrade.errors import BadRecord
from truegrade.store.importers.reading import SourceFile, typed


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """What such a file says."""

    metrics: Mapping[str, float]
    """``pass@k`` as recorded, a fraction or, EvalScope's, percent."""
    detail: Mapping[str, Mapping[str, float]]
    """``pass@k`` by the problem's place."""
    results: Mapping[str, tuple[tuple[bool | float, ...], ...]]
    """By the problem's place and sample."""
    metadata: tuple[Any, ...] = ()

    @property
    def passed(self) -> dict[str, list[bool]]:
        """By the problem's place, whether each sample passes: every entry is greater than 0.

        ``lcb_runner/evaluation/pass_k_utils.py`` ``compute_metrics_from_results``.
        """
        return {place: [all(value > 0 for value in row) for row in rows] for place, rows in self.results.items()}


def is_evaluation(source: SourceFile) -> bool:
    """Whether a file is a list that begins with metrics."""
    if source.head.lstrip()[:1] != b"[":
        return False
    document = source.document
    first = document[0] if isinstance(document, list) and document else None
    return isinstance(first, dict) and "detail" in first


def read_evaluation(source: SourceFile) -> Evaluation:
    """Read the file.

    Raises:
        BadRecord: not such a file; names the part that is at fault.
    """
    path, document = source.path, source.document
    if not isinstance(document, list) or len(document) not in (2, 3):
        raise BadRecord(path, "expected metrics, results and metadata, as codegen_metrics gives them")
    metrics, results, *metadata = document
    fields = {
        "metrics": {name: value for name, value in metrics.items() if name != "detail"},
        "detail": metrics.get("detail", {}),
        "results": results,
        "metadata": metadata[0] if metadata else (),
    }
    return typed(path, fields, Evaluation, inside="")
