"""What a suite is: benchmarks to be run together, each with the settings that make its number."""

from __future__ import annotations

from typing import Annotated

import msgspec

_Name = Annotated[str, msgspec.Meta(min_length=1)]
_Positive = Annotated[int, msgspec.Meta(ge=1)]
_Part = _Positive | _Name


class SuiteBenchmark(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One benchmark of a suite; what is not said here is the suite's to say."""

    name: _Name
    """As `truegrade run` takes it: a name, a file, or a module with attribute. Paths begin at the suite's file."""
    args: dict[str, str | bool | int | float] = {}
    """Task arguments, as ``-T`` gives them."""
    limit: _Part | None = None
    """The first N problems, or ``"A-B"``: those from A to B, counted from 1."""
    n: _Positive | None = None
    """Samples per problem."""
    profiles: tuple[_Name, ...] = ()
    """Rules to grade under; the first also words the prompt."""
    data: _Name | None = None
    """Data file, or a folder that holds it, beside the suite's file."""
    optional: bool = False
    """Left out where its data are not on this machine; the page says so."""


class BenchmarkSuite(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Benchmarks and the settings that they share: a TOML file of these fields, or an object."""

    name: _Name
    description: _Name
    """One line for people."""
    benchmarks: Annotated[tuple[SuiteBenchmark, ...], msgspec.Meta(min_length=1)]
    models: tuple[_Name, ...] = ()
    """Asked where the command names none."""
    profiles: tuple[_Name, ...] = ()
    """Of every benchmark that names none; without them ``strict``."""
    n: _Positive | None = None
    limit: _Part | None = None
    temperature: Annotated[float, msgspec.Meta(ge=0)] | None = None
    max_tokens: _Positive | None = None
    """Of a reply."""
    cutoff: str | None = None
    """Last day of the models' training data, ``YYYY-MM-DD``: contest problems are split by it."""


def argument(value: str | bool | int | float) -> str:
    """A task argument as ``-T`` would give it: ``true``, ``false``, or the value as text."""
    return str(value).lower() if isinstance(value, bool) else str(value)
