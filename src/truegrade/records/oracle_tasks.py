"""Problems whose answers are compared with a reference program on given inputs."""

from __future__ import annotations

from typing import Any

import msgspec


class OracleTask(msgspec.Struct, frozen=True, kw_only=True, tag="oracle"):
    """Write a function; its outputs are compared with those of a reference program on given inputs."""

    prompt: str
    entry_point: str
    prefix: str = ""
    reference: str
    """Complete program that defines ``entry_point`` and is right on every input."""
    base_inputs: tuple[tuple[Any, ...], ...]
    """Argument tuples of the original benchmark."""
    plus_inputs: tuple[tuple[Any, ...], ...] = ()
    """Argument tuples added by the extended benchmark."""
    comparator: str = "equal"
    """Name of the rule in `truegrade.grading.oracles` that decides whether an output is right."""
    atol: float = 0.0
    """Absolute tolerance for floats; 0 asks for equality unless the reference returns floats."""
    shown_tests: tuple[str, ...] = ()
    cpu_s: float | None = None
