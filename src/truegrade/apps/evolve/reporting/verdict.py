"""The conclusion of an evolution: whether the improvement is significant, and the warnings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from types import MappingProxyType
from typing import Literal

import msgspec

from truegrade.apps.evolve.folder import Contest, Final, PassRateDifference, SelectedGenome
from truegrade.apps.evolve.genomes import tokens_of
from truegrade.apps.evolve.reporting.search_material import SearchMaterial, spent_s
from truegrade.report import format as fmt

# ----------------------------------------------- The search compared with its baselines on the final problems.


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


FEW_PROBLEMS = 50
"""Number of final problems below which only large effects are detectable."""


class SearchVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The conclusion at the top of the page."""

    kind: Literal["real", "unclear", "worse", "unfinished"]
    title: str
    sentences: tuple[str, ...]
    doubts: tuple[str, ...]


def verdict(material: SearchMaterial) -> SearchVerdict:
    """The conclusion of an evolution; before the final report there is none."""
    chosen = material.chosen
    if chosen is None:
        return SearchVerdict(
            kind="unfinished",
            title="Not finished: no result yet",
            sentences=(_progress(material), _not_yet()),
            doubts=_common_doubts(material),
        )
    gain, found = chosen.against_base, contenders(material)
    kind = judged(gain)
    titles = {
        "real": "The improvement over the base is significant",
        "unclear": "No significant improvement over the base",
        "worse": "The adapted model is significantly worse than its base",
    }
    sentences = (
        _gain(chosen, material),
        *_replicates(found),
        *_against_baselines(found),
        forgetting(chosen),
        _flattery(chosen, material),
    )
    doubts = (*_final_doubts(material), *_common_doubts(material))
    return SearchVerdict(kind=kind, title=titles[kind], sentences=tuple(filter(None, sentences)), doubts=doubts)


def judged(difference: PassRateDifference) -> Literal["real", "unclear", "worse"]:
    """Whether the interval is above zero, below zero, or includes it."""
    if difference.low > 0:
        return "real"
    return "worse" if difference.high < 0 else "unclear"


def forgetting(selected: SelectedGenome) -> str:
    """The change on problems of the kinds that the base was trained on."""
    lost = selected.forgetting
    if lost is None:
        return "Forgetting was not measured: there are no problems of that role."
    change = f"{_change(lost)} on {fmt.plural(lost.tasks, 'problem')} of the kinds that the base was trained on"
    words = {
        "real": f"No forgetting, but a gain: {change}.",
        "worse": f"Forgetting: {change}.",
        "unclear": f"No significant forgetting: {change}; the interval includes 0.",
    }
    return words[judged(lost)]


def _gain(chosen: SelectedGenome, material: SearchMaterial) -> str:
    final = material.final
    assert final is not None
    gain = chosen.against_base
    rates = f"from {fmt.percent(final.base.value)} to {fmt.percent(chosen.final.value)}"
    said = (
        f"On {fmt.plural(gain.tasks, 'problem')} not used for training or selection, {_who(chosen, material)}"
        " changed"
        f" the pass rate {rates}: {_change(gain)}"
    )
    ends = {
        "real": "the interval excludes 0",
        "worse": "the interval excludes 0",
        "unclear": "the interval includes 0",
    }
    look = f" (evaluation {final.look}, {confidence_of(final)} % confidence)" if final.look > 1 else ""
    return f"{said}{look}; {ends[judged(gain)]}."


def _replicates(found: list[SearchReplicates]) -> list[str]:
    if not found or len(found[0].selected) < 2:
        return []
    own = found[0].selected
    real = sum(judged(one.against_base) == "real" for one in own)
    gains = [one.against_base.value for one in own]
    said = f"Of {len(own)} replicates of {found[0].search}, {real} improved significantly"
    return [f"{said}; the gains range from {fmt.points(min(gains))} to {fmt.points(max(gains))} points."]


def _against_baselines(found: list[SearchReplicates]) -> list[str]:
    best, marks = best_baseline(found), [_mark(one) for one in found if one.upper_mark]
    if best is None or best.contest is None:
        return ["No baseline was run, so the search cannot be compared with simpler ones.", *marks]
    gap, ours = best.contest.difference, found[0].search
    said = (
        f"The best baseline, {best.search}, reaches {fmt.percent(best.final)} with {_share(best, found[0])} the"
        f" tokens; {ours} minus {best.search}: {_change(gap)} ({best.won} problems better, {best.lost} worse)"
    )
    ends = {
        "real": "the search beat the baseline",
        "worse": "the search did not beat the baseline, which is significantly better",
        "unclear": "the search did not beat the baseline significantly",
    }
    return [f"{said}; {ends[judged(gap)]}.", *marks]


def _share(one: SearchReplicates, own: SearchReplicates) -> str:
    return f"{one.cost.tokens / own.cost.tokens:.1f} times" if own.cost.tokens else "none of"


def _mark(one: SearchReplicates) -> str:
    said = f"An upper mark, {one.search}, which learned references that no other method is given, reaches"
    return f"{said} {fmt.percent(one.final)}."


def _flattery(chosen: SelectedGenome, material: SearchMaterial) -> str:
    """By how much selection flatters: what the score falls by, less what the base's falls by."""
    fall, bias = chosen.selection - chosen.final.value, flattery(chosen, material)
    kept = len(material.evolution.roles.get("selection", ()))
    compared = f"{100 * abs(fall):.1f} points {'more' if fall >= 0 else 'less'} than on the final ones"
    said = f"On the {fmt.plural(kept, 'selection problem')} it scored {fmt.percent(chosen.selection)}, {compared}"
    if bias is None:
        return f"{said}; how much of it is the problems was not measured."
    base = f"{said}; the base, which was not selected, differs by {fmt.points(fall - bias.value)} points"
    ends = "includes 0" if judged(bias) == "unclear" else "excludes 0"
    return f"{base}: selection flatters by {_change(bias)}, the interval of the final problems, which {ends}."


def confidence_of(final: Final) -> str:
    """Confidence of the intervals in percent, without the sign."""
    return f"{100 * final.confidence:.4g}"


def _who(chosen: SelectedGenome, material: SearchMaterial) -> str:
    return chosen.search if material.evolution.replicates == 1 else f"{chosen.search} #{chosen.replicate + 1}"


def _progress(material: SearchMaterial) -> str:
    parts = []
    for plan in dict.fromkeys(track.plan.name for track in material.tracks):
        own = [track for track in material.tracks if track.plan.name == plan]
        done = sum(len(track.events) for track in own)
        parts.append(f"{plan} {fmt.count(done)}")
    total, planned = fmt.plural(len(material.events), "evaluation"), material.planned
    of = f" of {fmt.count(planned)}" if planned is not None else ""
    return f"So far {total}{of}: {', '.join(parts)}."


def _not_yet() -> str:
    return (
        "All scores below are on the selection problems and are optimistic, because the search selects by them."
        " The"
        " same command continues from here; the final problems are evaluated once, at the end."
    )


def _final_doubts(material: SearchMaterial) -> list[str]:
    final, doubts = material.final, list[str]()
    assert final is not None
    if final.look > 1:
        doubts.append(
            f"This is evaluation {final.look} of these final problems with this base, so this choice may depend on"
            f" what an earlier one showed: intervals have {confidence_of(final)} % confidence and p-values are"
            f" multiplied by {final.look} (Bonferroni). Compare the earlier results at the same confidence."
        )
    number = len(material.evolution.roles.get("final", ()))
    if number < FEW_PROBLEMS:
        doubts.append(f"{fmt.plural(number, 'final problem')}: only large effects are detectable.")
    if material.evolution.replicates < 2:
        doubts.append("One replicate: the variation between seeds is not known.")
    return doubts


def _common_doubts(material: SearchMaterial) -> tuple[str, ...]:
    evolution, doubts = material.evolution, list[str]()
    shared, near = evolution.contamination.refused, evolution.contamination.near
    if shared:
        doubts.append(f"Pairs of training and test problems that share a name or a program: {len(shared)}.")
    if near:
        doubts.append(f"Pairs of training and test problems that are near duplicates by text: {len(near)}.")
    base = material.anchor("base")
    if base is not None and material.front:
        best = max(event.evaluated.scores.objectives[material.headline] for event in material.front)
        if best <= base.scores.objectives[material.headline]:
            doubts.append(f"No genome has a better {material.headline} than the base on the selection problems.")
    if material.constant:
        doubts.append(
            f"In {', '.join(material.constant)} all genomes are equal, so the objective had no influence."
        )
    return tuple(doubts)


def _change(difference: PassRateDifference) -> str:
    return f"{fmt.points(difference.value)} points {fmt.bounds(difference.low, difference.high)}"


# --------------------------- Explanations of objectives, anchors, origins and roles for readers of the report.


OBJECTIVES: Mapping[str, str] = MappingProxyType(
    {
        "pass_rate": "share of the tests passed",
        "patch": "minus the token edit distance to the buggy program, per token",
        "cost": "minus the executed lines per line of the reference",
        "findings": "minus the linters' findings that the buggy program does not have",
        "tokens": "minus the tokens generated",
        "solved": "share of replies that pass every test",
        "parameters": "minus the adapter's parameters, in thousands",
        "training": "minus the tokens it was trained on, in thousands",
        "bugfix": "as in CORAL-X: share of tests passed, 0.2 for a valid program that passes none",
        "style": "as in CORAL-X: flake8",
        "security": "as in CORAL-X: bandit",
        "runtime": "as in CORAL-X: estimated from the text of the program",
        "syntax": "as in CORAL-X: whether the program parses",
    }
)
"""All are to be maximised."""

ANCHORS: Mapping[str, str] = MappingProxyType(
    {
        "base": "the model without an adapter",
        "identity": "returns the buggy program",
        "stub": "returns a function that returns None",
        "reference": "returns the correct program",
    }
)

ORIGINS: Mapping[str, str] = MappingProxyType(
    {
        "random": "drawn at random",
        "automaton": "by a cellular automaton",
        "mutation": "one genome, changed a little",
        "crossover": "genes of two genomes",
        "tpe": "proposed by the Parzen estimator",
    }
)
_ORIGIN_COLOURS = {
    "random": "s5",
    "automaton": "s5",
    "mutation": "s0",
    "crossover": "s1",
}

ROLES: Mapping[str, str] = MappingProxyType(
    {
        "train": "used to train adapters",
        "selection": "used to score and select genomes, so the best scores here are optimistic",
        "final": "evaluated once, after all choices",
        "forgetting": "kinds of problems that the base was trained on",
    }
)


def objective(name: str) -> str:
    """What an objective measures; nothing for one of the user's own."""
    return OBJECTIVES.get(name, "")


def origin_colour(name: str) -> str:
    """Class of the colour of an origin."""
    return _ORIGIN_COLOURS.get(name, "s3")
