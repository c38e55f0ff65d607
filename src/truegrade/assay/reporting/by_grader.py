"""Parts of a section that stand once for each grader and benchmark."""

from __future__ import annotations

from collections.abc import Callable

from truegrade.assay.measures import GraderMeasure
from truegrade.assay.reporting import words
from truegrade.assay.reporting.material import AssayMaterial
from truegrade.report.markup import Child
from truegrade.report.page_parts import folded

MAX_MEASURES = 12
"""Graders and benchmarks that the page shows in detail; the table of all names the others."""


def by_grader(material: AssayMaterial, make: Callable[[GraderMeasure], Child]) -> Child:
    """One part for each of the first graders: the first as it stands, the others folded under their names."""
    shown = material.summary.measures[:MAX_MEASURES]
    rest = [folded(words.title(measure), made) for measure in shown[1:] if (made := make(measure))]
    return [*map(make, shown[:1]), *rest]
