"""The result of an assay as Python sees it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from truegrade.assay.measures import AcceptedShare, AssaySummary, ChannelMeasure, GraderMeasure, MeasuredValue
from truegrade.assay.records import AssayFinding


class AssayResult(msgspec.Struct, frozen=True, kw_only=True):
    """One benchmark, under every grader that was asked for; the short names below are those of the first."""

    folder: Path
    benchmark: str
    summary: AssaySummary
    findings: tuple[AssayFinding, ...]
    unusable: Mapping[str, str] = {}
    """Graders that could not be measured, with the reason."""

    @property
    def measures(self) -> tuple[GraderMeasure, ...]:
        """One of each grader."""
        return self.summary.measures

    @property
    def tpr(self) -> AcceptedShare:
        """Of right programs, the share accepted."""
        return self._shares["right"]

    @property
    def fpr(self) -> Mapping[str, AcceptedShare]:
        """Of wrong programs, the share accepted, by class: ``fpr["mutant"]``."""
        return {kind: share for kind, share in self._shares.items() if kind not in ("right", "control")}

    @property
    def j(self) -> MeasuredValue:
        """TPR - FPR over natural wrong programs."""
        return self.measures[0].j

    @property
    def channels(self) -> tuple[ChannelMeasure, ...]:
        """Ways of cheating, and whether they are open."""
        return self.measures[0].channels

    @property
    def _shares(self) -> dict[str, AcceptedShare]:
        return {share.kind: share for share in self.measures[0].shares}
