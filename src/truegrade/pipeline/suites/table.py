"""Suites by name: built in, offered by installed packages, in a TOML file, or an object in Python."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from truegrade.benchmarks import BENCHMARKS
from truegrade.benchmarks import REGISTRY as KNOWN_BENCHMARKS
from truegrade.pipeline.suites.reading import read_suite
from truegrade.pipeline.suites.suite import BenchmarkSuite
from truegrade.registry import Found, Registry

SUITES: Mapping[str, str] = MappingProxyType(
    {name: f"truegrade.pipeline.suites.built_in:{name.upper()}" for name in ("quick", "classic", "today")}
)
"""Built-in suites: name to ``module:attribute``, imported when asked for."""

_ENDING = ".toml"
_ATTRIBUTE = ":SUITE"


def _fault(thing: Any) -> str | None:
    return None if isinstance(thing, BenchmarkSuite) else "is no truegrade.pipeline.suites.BenchmarkSuite"


REGISTRY = Registry[BenchmarkSuite]("suite", SUITES, _fault, readers={_ENDING: read_suite})


def find_suite(given: str | BenchmarkSuite) -> Found[BenchmarkSuite]:
    """The suite that the user means (`truegrade.registry.Registry.find`), and where it comes from.

    Raises:
        UnknownName: no such suite.
        UserError: a file or package is at fault.
    """
    return REGISTRY.find(given)


def is_suite(given: str) -> bool:
    """Whether a suite is meant where a benchmark could be: a TOML file, an attribute ``SUITE`` of a Python file or
    module, or a suite's name that no benchmark has."""
    if given.endswith((_ENDING, _ATTRIBUTE)) or given in SUITES:
        return True
    return given not in BENCHMARKS and given in REGISTRY.names() and given not in KNOWN_BENCHMARKS.names()
