"""Shell completion: names of benchmarks, profiles and models behind the options and arguments that take them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pkgutil import resolve_name

import click
from click.shell_completion import CompletionItem


def _names_in(registry: str) -> Iterable[str]:
    names: Iterable[str] = resolve_name(registry).names()
    return names


_benchmarks = partial(_names_in, "truegrade.benchmarks:REGISTRY")
_profiles = partial(_names_in, "truegrade.profiles:REGISTRY")


def _models() -> Iterator[str]:
    from truegrade.models import BASELINES, LOCAL
    from truegrade.models.presets import PRESETS

    yield from (f"baseline/{name}" for name in BASELINES)
    yield from (name for name in LOCAL if name == name.lower())  # the others are patterns: hf/NAME
    yield from PRESETS


def benchmarks_and_suites() -> Iterator[str]:
    """What `truegrade run` takes."""
    yield from _benchmarks()
    yield from _names_in("truegrade.pipeline.suites:REGISTRY")


NAMES: dict[str, Callable[[], Iterable[str]]] = {
    "benchmark": _benchmarks,
    "benchmarks": _benchmarks,
    "profile": _profiles,
    "profiles": _profiles,
    "model": _models,
    "models": _models,
}
"""Parameter of a command -> what it can be called with."""


def complete_name(names: Iterable[str], begun: str) -> list[CompletionItem]:
    """The names that begin so; files where none does, as a file can stand for each."""
    found = [CompletionItem(name) for name in names if name.startswith(begun)]
    return found or [CompletionItem(begun, type="file")]


class Named(click.types.StringParamType):
    """A text that may be one of these names, or a file.

    Args:
        names: looked up when a shell asks.
    """

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self._names = names

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """See `complete_name`."""
        return complete_name(self._names(), incomplete)
