"""How models and benchmarks stand in a table: which go down, which across, what tells two of one name apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

from truegrade.analysis.standings import RunStanding, titled

MAX_ACROSS = 4
"""Benchmarks that stand across; where there are more of them than that and than models, the models do."""

T = TypeVar("T")


class Placed(NamedTuple, Generic[T]):
    """Something that belongs to one model and one benchmark."""

    model: str
    benchmark: str
    run: str
    """Name of its folder, by which it is told apart where the place is taken."""
    what: T


class Grid(NamedTuple, Generic[T]):
    """A table without its words."""

    head: tuple[str, ...]
    """What the rows are, then the names of the other columns."""
    rows: dict[str, dict[str, T]]
    """Name of a row -> name of a column -> what stands there."""


def grid_of(found: Iterable[Placed[T]]) -> Grid[T]:
    """Models down and benchmarks across; the other way round where the benchmarks would be too many across."""
    by_model: dict[str, dict[str, T]] = {}
    for model, benchmark, run, what in found:
        name = f"{model} ({run})" if benchmark in by_model.get(model, {}) else model
        by_model.setdefault(name, {})[benchmark] = what
    benchmarks = list(dict.fromkeys(benchmark for of in by_model.values() for benchmark in of))
    if len(benchmarks) <= max(MAX_ACROSS, len(by_model)):
        return Grid(("model", *benchmarks), by_model)
    turned = {name: {model: of[name] for model, of in by_model.items() if name in of} for name in benchmarks}
    return Grid(("benchmark", *by_model), turned)


def benchmark_names(found: Sequence[RunStanding]) -> list[str]:
    """What each run's benchmark is called: name and arguments, with the hash where one of that name differs."""
    names = [titled(standing.benchmark, standing.args) for standing in found]
    hashes: dict[str, set[str]] = {}
    for name, standing in zip(names, found, strict=True):
        hashes.setdefault(name, set()).add(standing.dataset_sha256)
    return [
        f"{name} {standing.dataset_sha256[:8]}" if len(hashes[name]) > 1 else name
        for name, standing in zip(names, found, strict=True)
    ]


def standings_caption(found: Sequence[RunStanding]) -> str:
    """What the numbers of a table are."""
    profiles = ", ".join(dict.fromkeys(standing.profile for standing in found))
    metrics = " or ".join(dict.fromkeys(standing.headline.metric for standing in found))
    return f"{metrics} with 95 % confidence intervals, under {profiles}"
