"""Problems whose answers are compared with a reference program on given inputs."""

from __future__ import annotations

from typing import Any, Literal

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


class EfficiencyTask(OracleTask, frozen=True, kw_only=True, tag="efficiency"):
    """Write a function whose outputs and whose cost are compared with those of a reference (ENAMEL)."""

    base_inputs: tuple[tuple[Any, ...], ...] = ()
    """None: the generator makes them."""
    generator: str
    """Trusted source that defines ``generate_input(size, lid, cid)``, which returns an argument tuple."""
    sizes: tuple[int, ...]
    """What the generator is given as ``size`` at each level, easy to hard."""
    seed: int
    """Of the generator's random numbers; the first test's, from which those of the others follow."""
    cost: Literal["cpu", "steps"] = "cpu"
    """What a profile that measures inside the program's process counts: seconds, or lines executed."""
