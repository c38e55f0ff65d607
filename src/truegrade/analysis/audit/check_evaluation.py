"""Consistency of an ``_eval.json``: whether its metrics follow from its own results."""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose

from truegrade.analysis.audit.findings import Audit, Finding, Severity, finding
from truegrade.statistics.tally import OFFICIAL, Scale, published_metrics
from truegrade.store.importers.livecodebench import Evaluation, read_evaluation
from truegrade.store.importers.reading import SourceFile

_TOLERANCE = 1e-9
PERCENT = Scale(percent=True)


def audit_evaluation(source: SourceFile, benchmark: str) -> Audit:
    """Recompute the metrics of an ``_eval.json``; it holds no program, so nothing runs.

    Raises:
        BadRecord: not such a file.
    """
    said = read_evaluation(source)
    passed = said.passed
    return Audit(
        file=str(source.path),
        file_sha256=source.sha256(),
        benchmark=benchmark,
        dataset_sha256="",
        profile="its own results (no program was run)",
        tasks=len(passed),
        samples=sum(map(len, passed.values())),
        recorded={"results": sum(map(sum, passed.values()))},
        estimates=[],
        findings=list(check_evaluation(said)),
    )


def check_evaluation(said: Evaluation) -> Iterator[Finding]:
    """Every pass@k and every problem's part of it, in the scale that the file itself uses."""
    scale = _scale(said)
    metrics = published_metrics(said.passed, scale)
    wrong = [
        f"{name} {value!r}, not {metrics[name]!r}" if name in metrics else f"{name}, which needs more samples"
        for name, value in said.metrics.items()
        if name not in metrics or not isclose(value, metrics[name], rel_tol=_TOLERANCE)
    ]
    if wrong:
        yield finding("metric-contradicts-results", Severity.ERROR, [], f"the file states {'; '.join(wrong)}")
    parts = [
        f"{name}[{place}]"
        for name, values in said.detail.items()
        for place, value in values.items()
        if not isclose(value, metrics["detail"].get(name, {}).get(place, -1.0), rel_tol=_TOLERANCE)
    ]
    if parts:
        sentence = f"{len(parts)} per-problem values contradict the results"
        yield finding("metric-contradicts-results", Severity.ERROR, parts, sentence)
    lengths = {len(rows) for rows in said.results.values()}
    if len(lengths) > 1:
        fewest, most = min(lengths), max(lengths)
        rows = [place for place, samples in said.results.items() if len(samples) < most]
        yield finding("samples-uneven", Severity.WARNING, rows, f"problems have {fewest} to {most} samples")


def _scale(said: Evaluation) -> Scale:
    """Percent where any stated number is greater than 1."""
    numbers = [*said.metrics.values(), *(value for part in said.detail.values() for value in part.values())]
    return PERCENT if any(value > 1 for value in numbers) else OFFICIAL
