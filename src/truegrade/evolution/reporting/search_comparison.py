"""The search compared with its baselines on the final problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

import msgspec

from truegrade.evolution.events import Contest, PassRateDifference, SelectedGenome
from truegrade.evolution.genomes import tokens_of
from truegrade.evolution.reporting.budgets import spent_s
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
    cost: SearchCost

    @property
    def upper_mark(self) -> bool:
        """Whether it learned references that no method is given."""
        return all(one.genome.data.references for one in self.selected)


class SearchCost(msgspec.Struct, frozen=True, kw_only=True):
    """What a search took, means over its replicates."""

    tokens: float
    """Learned and generated."""
    cpu_s: float | None
    """None where the clock does not know every evaluation."""
    seen: int
    """Problems that it learned from, asked or selected by."""


PASSING = "solved"
"""The objective that is a pass rate over replies, as the final problems are scored; where it was recorded."""


def easier_by(material: SearchMaterial) -> float | None:
    """By how much more of the selection than of the final problems the base solves: it was not selected, so this
    is a difference of the problems alone. None where it was not measured.
    """
    rate, final = base_on_selection(material), material.final
    return None if rate is None or final is None else rate - final.base.value


def flattery(selected: SelectedGenome, material: SearchMaterial) -> PassRateDifference | None:
    """By how much the selection score exceeds what the genome is worth: what the score falls by on the final
    problems, less what the base's falls by. None where the base was not measured.

    The score that was selected by is taken as it is; the interval is that of the paired difference on the final
    problems, turned about.
    """
    easier, gain = easier_by(material), selected.against_base
    if easier is None:
        return None
    value = selected.selection - selected.final.value - easier
    return PassRateDifference(
        value=value,
        low=value - (gain.high - gain.value),
        high=value + (gain.value - gain.low),
        method=gain.method,
        tasks=gain.tasks,
    )


def base_on_selection(material: SearchMaterial) -> float | None:
    """The base's pass rate on the selection problems, those of the pool apart; None where it was not measured."""
    base = material.anchor("base")
    if base is None or PASSING not in base.scores.objectives:
        return None
    return base.scores.mean(PASSING, material.evolution.roles.get("selection", ()))


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
                cost=cost_of(material, search),
            )
        )
    return sorted(found, key=lambda one: one.search != final.chosen)


def cost_of(material: SearchMaterial, search: str) -> SearchCost:
    """What a search took; an adapter that another search had made is charged as `spent_s` says."""
    own = [track for track in material.tracks if track.plan.name == search and track.events]
    spent = [spent_s(material, track) for track in own]
    facts = [event.evaluated.scores.facts for track in own for event in track.events]
    tokens = sum(tokens_of(event.evaluated.scores) for track in own for event in track.events)
    asked = max((one.get("problems_asked", 0.0) for one in facts), default=0.0)
    scored = max((len(event.evaluated.scores.problems) for track in own for event in track.events), default=0)
    return SearchCost(
        tokens=tokens / max(1, len(own)),
        cpu_s=None if None in spent or not spent else fmean(one for one in spent if one is not None),
        seen=len(material.evolution.roles.get("train", ())) + round(asked) + scored,
    )


def best_baseline(found: Sequence[SearchReplicates]) -> SearchReplicates | None:
    """The baseline with the highest pass rate on the final problems; an upper mark is none."""
    own = (one for one in found if one.baseline and not one.upper_mark)
    return max(own, key=lambda one: one.final, default=None)


def averaged(passed: Sequence[Shares]) -> Shares:
    """By problem, the mean of the shares that are known."""
    names = dict.fromkeys(name for shares in passed for name in shares)
    return {name: fmean(shares[name] for shares in passed if name in shares) for name in names}


def differences(before: Shares, after: Shares, problems: Sequence[str]) -> dict[str, float]:
    """After minus before, of the problems that both know."""
    return {name: after[name] - before[name] for name in problems if name in before and name in after}
