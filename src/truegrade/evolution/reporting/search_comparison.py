"""The search compared with its baselines on the final problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

import msgspec

from truegrade.evolution.events import Contest, SelectedGenome
from truegrade.evolution.reporting.search_material import SearchMaterial

Shares = Mapping[str, float]
"""By problem: share of its samples that passed."""


class SearchReplicates(msgspec.Struct, frozen=True, kw_only=True):
    """One search with all its replicates."""

    search: str
    baseline: bool
    selected: tuple[SelectedGenome, ...]
    """By replicate."""
    final: float
    """Mean of their pass rates on the final problems."""
    passed: Shares
    """Means over replicates."""
    contest: Contest | None
    """The search in question against this one; None for itself."""
    won: int
    """Final problems that the search in question passes more often."""
    lost: int


def contenders(material: SearchMaterial) -> list[SearchReplicates]:
    """Every search of the final report, the one in question first; none before there is a report."""
    final = material.final
    if final is None:
        return []
    by_search: dict[str, list[SelectedGenome]] = {}
    for one in final.selected:
        by_search.setdefault(one.search, []).append(one)
    baselines = {plan.name for plan in material.evolution.searches if plan.baseline}
    contests = {contest.baseline: contest for contest in final.contests}
    means = {search: averaged([one.passed for one in replicates]) for search, replicates in by_search.items()}
    ours = means.get(final.chosen, {})
    found = []
    for search, replicates in by_search.items():
        gains = differences(means[search], ours, material.evolution.roles.get("final", ()))
        found.append(
            SearchReplicates(
                search=search,
                baseline=search in baselines,
                selected=tuple(replicates),
                final=fmean(one.final.value for one in replicates),
                passed=means[search],
                contest=contests.get(search),
                won=sum(gain > 0 for gain in gains.values()),
                lost=sum(gain < 0 for gain in gains.values()),
            )
        )
    return sorted(found, key=lambda one: one.search != final.chosen)


def best_baseline(found: Sequence[SearchReplicates]) -> SearchReplicates | None:
    """The baseline with the highest pass rate on the final problems."""
    return max((one for one in found if one.baseline), key=lambda one: one.final, default=None)


def averaged(passed: Sequence[Shares]) -> Shares:
    """By problem, the mean of the shares that are known."""
    names = dict.fromkeys(name for shares in passed for name in shares)
    return {name: fmean(shares[name] for shares in passed if name in shares) for name in names}


def differences(before: Shares, after: Shares, problems: Sequence[str]) -> dict[str, float]:
    """After minus before, of the problems that both know."""
    return {name: after[name] - before[name] for name in problems if name in before and name in after}
