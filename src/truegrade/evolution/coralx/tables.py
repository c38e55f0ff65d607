"""Thresholds that CORAL-X's configurations give. Sources: ``config/codellama_modal.yaml``, ``archive`` = the
deleted ``config/main.yaml`` (``1b8597a^``), ``spec`` = the architecture document's targets.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec


class Thresholds(msgspec.Struct, frozen=True, kw_only=True):
    """What a genome must reach in each objective, at first and at last. An objective not named has no bar."""

    base: Mapping[str, float]
    last: Mapping[str, float]


def _thresholds(base: tuple[float, ...], last: tuple[float, ...]) -> Thresholds:
    names = ("bugfix", "style", "security", "runtime", "syntax")
    return Thresholds(base=dict(zip(names, base, strict=True)), last=dict(zip(names, last, strict=True)))


THRESHOLDS = MappingProxyType(
    {
        "codellama_modal": _thresholds((0.3, 0.3, 0.4, 0.3, 0.2), (0.8, 0.7, 0.9, 0.7, 0.8)),
        "archive": _thresholds((0.25, 0.35, 0.4, 0.3, 0.3), (0.75, 0.8, 0.85, 0.8, 0.9)),
        "spec": _thresholds((0.6, 0.8, 0.9, 0.7, 0.3), (0.9, 0.97, 1.0, 0.9, 0.9)),
    }
)
