"""What a suite is: benchmarks to be run together, each with the settings that make its number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, get_origin

import msgspec

from truegrade.benchmarks.pinned import limit_of
from truegrade.settings import RunSettings, Setting, settings_of

NOTHING = (None, (), msgspec.UNSET)
"""Values that say nothing."""

_Name = Annotated[str, msgspec.Meta(min_length=1)]
_Positive = Annotated[int, msgspec.Meta(ge=1)]
_Part = _Positive | _Name


def _field(setting: Setting) -> tuple[str, Any, Any]:
    """A setting as a field of a suite's file, where it need not be said."""
    kind, default = setting.kind | None, None
    if setting.option.reads == "part":
        kind = _Part | None
    elif get_origin(setting.kind) is Sequence:
        kind, default = tuple[_Name, ...], ()
    elif setting.option.least is not None:
        kind = Annotated[setting.kind, msgspec.Meta(ge=setting.option.least)] | None
    return setting.name, Annotated[kind, msgspec.Meta(description=setting.option.text)], default


SuiteSettings: Any = msgspec.defstruct(
    "SuiteSettings",
    [_field(each) for each in settings_of(RunSettings) if each.option.suite],
    kw_only=True, frozen=True, forbid_unknown_fields=True, omit_defaults=True, module=__name__,
)  # fmt: skip
"""The settings that a suite can say, as fields: of all its benchmarks, or of one."""


class SuiteBenchmark(SuiteSettings, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):  # type: ignore[misc, call-arg]
    """One benchmark of a suite; the settings that are not said here are the suite's to say."""

    name: _Name
    """As `truegrade run` takes it: a name, a file, or a module with attribute. Paths begin at the suite's file."""
    args: dict[str, str | bool | int | float] = msgspec.field(default_factory=dict)
    """Task arguments, as ``-T`` gives them."""
    data: _Name | None = None
    """Data file, or a folder that holds it, beside the suite's file."""
    optional: bool = False
    """Left out where its data are not on this machine; the page says so."""


class BenchmarkSuite(SuiteSettings, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):  # type: ignore[misc, call-arg]
    """Benchmarks and settings of those that do not say their own: a TOML file of these fields, or an object."""

    name: _Name
    description: _Name
    """One line for people."""
    benchmarks: Annotated[tuple[SuiteBenchmark, ...], msgspec.Meta(min_length=1)]
    models: tuple[_Name, ...] = ()
    """Asked where the command names none."""


def said_settings(level: BenchmarkSuite | SuiteBenchmark) -> dict[str, Any]:
    """The settings that a suite, or a benchmark of it, says, by name, as `RunSettings` has them."""
    values = {name: getattr(level, name) for name in SuiteSettings.__struct_fields__}
    if not isinstance(values["limit"], tuple):
        values["limit"] = limit_of(values["limit"])
    return {name: value for name, value in values.items() if value not in NOTHING}


def argument(value: str | bool | int | float) -> str:
    """A task argument as ``-T`` would give it: ``true``, ``false``, or the value as text."""
    return str(value).lower() if isinstance(value, bool) else str(value)
