"""Execution reasoning on the page: original against mutant, choice and order, every aggregation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from truegrade.pipeline.summary import ProfileSummary, Summary
from truegrade.records import Estimate
from truegrade.report import format as fmt
from truegrade.report.charts.svg import Chart
from truegrade.report.figures import (
    changed_chart,
    choice_chart,
    differences_chart,
    mutation_chart,
    order_chart,
    prediction_chart,
)
from truegrade.report.markup import Child, Markup, el, join
from truegrade.report.page_parts import facts, figure, section, table
from truegrade.report.wording import NO_ANSWER
from truegrade.statistics.reasoning import ChangedSummary
from truegrade.statistics.reasoning_choice import ChoiceSummary
from truegrade.statistics.reasoning_prediction import NAMES, PredictionSummary, Stratum
from truegrade.statistics.reasoning_records import MetricTable, ShareDifference
from truegrade.statistics.reasoning_records import MetricTable as Aggregated

# ----------------------- The metrics of execution reasoning in words, and the order in which people read them.


KINDS: Mapping[str, tuple[str, str | None]] = MappingProxyType(
    {"original": ("OC", "OR"), "mutant": ("MC", "MR"), "preserved": ("PC", None)}
)
"""Kind of program -> names of its correctness and its reversion."""

PREDICTION: Mapping[str, str] = MappingProxyType(
    {
        "OC": "correct on originals",
        "MC": "correct on mutants",
        "PC": "correct on semantics-preserving rewritings",
        "MC_differing": "correct on mutants whose value differs from the original's",
        "OR": "shown the original, answers the mutant's value",
        "MR": "shown the mutant, answers the original's value",
        "stability": "same outcome on a rewriting and its original",
        "repeat_agreement": "same outcome on two samples of the same original",
    }
)

CHANGED: Mapping[str, str] = MappingProxyType(
    {
        "OC": "correct on originals",
        "MC": "correct on changed problems",
        "OR": "asked the original, right by the changed problem's tests",
        "MR": "asked the changed problem, right by the original's tests",
    }
)

CHOICE: Mapping[str, str] = MappingProxyType(
    {
        "preference": "chooses the original",
        "OC": "correct, having chosen the original",
        "MC": "correct, having chosen the mutant",
        "OR": "the mutant's value, having chosen the original",
        "MR": "the original's value, having chosen the mutant",
        "accuracy": "correct for the chosen program",
        "same_program": "the same program in both orders",
        "always_A": "A in both orders",
        "always_B": "B in both orders",
        "preference_consistent": "the original, where both orders agree",
        "chose_A": "chooses A",
        "repeat_same": "the same program in two samples of one order",
    }
)

AGGREGATIONS: Mapping[str, str] = MappingProxyType(
    {
        "per_case/mean": "mean over cases",
        "per_case/micro": "mean over samples, case by case",
        "all_cases/mean": "all cases of a program must be correct; mean over programs",
        "all_cases/micro": "all cases of a program must be correct; mean over samples",
    }
)


def aggregation(table: MetricTable) -> str:
    """Its name, ``per_case/mean``."""
    return f"{table.cases}/{table.weighting}"


def stratum_name(stratum: Stratum) -> str:
    """``unfamiliar syntax``; of numbers also where they are parted: ``deeper (depth above 9)``."""
    if stratum.above is None:
        return stratum.name
    side = "up to" if stratum.name in {low for _, low, _ in NAMES} else "above"
    return f"{stratum.name} ({stratum.covariate} {side} {stratum.above})"


def by_metric(estimates: Sequence[Estimate]) -> dict[str, Estimate]:
    """Estimates by their name."""
    return {estimate.metric: estimate for estimate in estimates}


def has_reasoning(summary: Summary) -> bool:
    """Whether the section says anything."""
    return any(profile.reasoning is not None for profile in summary.profiles)


def reasoning(summary: Summary) -> Markup:
    """The section; empty for other kinds of problem."""
    if not has_reasoning(summary):
        return Markup()
    parts = [_profile(profile) for profile in summary.profiles]
    changed = any(profile.reasoning and profile.reasoning.changed for profile in summary.profiles)
    return section("reasoning", "Originals and changed problems" if changed else "Execution reasoning", parts)


def _profile(profile: ProfileSummary) -> Child:
    found = profile.reasoning
    if found is None:
        return None
    return [
        _prediction(found.prediction, profile.profile) if found.prediction is not None else None,
        _choice(found.choice, profile.profile) if found.choice is not None else None,
        _changed(found.changed, profile.profile) if found.changed is not None else None,
    ]


def _changed(changed: ChangedSummary, profile: str) -> Child:
    """All pairs, then each group: what is right, what is reverted, and the paired difference."""
    rows: list[list[Child]] = []
    for one in changed.groups:
        known = by_metric(one.rates.estimates)
        cells = [fmt.estimate(known[name]) if name in known else "–" for name in ("OC", "MC", "MR")]
        gap = "–" if one.rates.difference is None else fmt.difference(one.rates.difference)
        rows.append([join(one.value, el("small", one.by)), *cells, gap])
    drawn = changed_chart(changed.rates.estimates, CHANGED)
    return [
        el("h3", f"Changed problems under {profile}"),
        _plot(drawn, "Originals and changed problems", _meanings(changed.rates.estimates, CHANGED)),
        _differences([changed.rates.difference] if changed.rates.difference is not None else []),
        table("By group of pairs", ["group", "OC", "MC", "MR", "MC - OC"], rows) if rows else None,
    ]


def _prediction(prediction: PredictionSummary, profile: str) -> Child:
    headline = prediction.tables[0].estimates
    return [
        el("h3", f"Prediction under {profile}"),
        _plot(
            prediction_chart(prediction, PREDICTION),
            "Originals and mutants",
            _meanings([*headline, *prediction.stability], PREDICTION),
        ),
        _differences(prediction.differences),
        facts(
            ("mutant cases with the original's value", fmt.count(prediction.same_value)),
            ("excluded because the value is boolean", fmt.count(prediction.boolean)),
            (NO_ANSWER, fmt.count(sum(e.unanswered for e in _correctness(headline)))),
            ("truncated", fmt.count(sum(e.truncated for e in _correctness(headline)))),
        ),
        _table(
            "By comparison mode, and given an answer",
            {**prediction.modes, "given an answer": prediction.given_answer},
        ),
        _aggregations(prediction.tables),
        _table("pass@k", prediction.pass_at) if _several(prediction.pass_at) else None,
        _plot(mutation_chart(prediction.by_mutation), "By mutation operator"),
        _table("By operator", prediction.by_mutation) if prediction.by_mutation else None,
        _strata(prediction.by_covariate),
    ]


def _strata(strata: Sequence[Stratum]) -> Child:
    """Differences within strata of covariates, which may explain the loss."""
    if not strata:
        return None
    rows = {stratum_name(stratum): stratum.estimates for stratum in strata}
    said = (
        el("p", el("b", f"MC - OC, {stratum_name(stratum)}"), f": {fmt.difference(stratum.difference)}")
        for stratum in strata
        if stratum.difference is not None
    )
    return [_table("By syntax, length, depth and steps (of the mutant, where there is one)", rows), said]


def _choice(choice: ChoiceSummary, profile: str) -> Child:
    return [
        el("h3", f"Choice under {profile}"),
        _plot(
            choice_chart(choice, CHOICE),
            "Choice, and correctness of the executed program",
            _meanings(choice.tables[0].estimates, CHOICE),
        ),
        _plot(
            order_chart(choice, CHOICE), "Preference by program and by position", _meanings(choice.order, CHOICE)
        ),
        _differences([choice.position] if choice.position is not None else []),
        facts(
            ("choices", fmt.count(choice.samples)),
            ("without a valid choice", fmt.count(choice.samples - choice.valid)),
            ("truncated", fmt.count(choice.truncated)),
            ("presented in one order only", fmt.plural(choice.one_order, "pair")),
            ("incomplete pairs of choices", fmt.count(choice.incomplete)),
        ),
        _table("Given an answer", {"given an answer": choice.given_answer}) if choice.given_answer else None,
        _aggregations(choice.tables),
    ]


def _correctness(estimates: Sequence[Estimate]) -> list[Estimate]:
    return [estimate for estimate in estimates if estimate.metric in {"OC", "MC", "PC"}]


def _several(pass_at: Mapping[str, Sequence[Estimate]]) -> bool:
    return any(len(estimates) > 1 for estimates in pass_at.values())


def _plot(chart: Chart | None, title: str, numbers: Child = None) -> Child:
    return figure(chart, el("b", title), numbers) if chart is not None else None


def _meanings(estimates: Sequence[Estimate], words: Mapping[str, str]) -> Markup:
    """Each metric, what it is the share of, and its estimate."""
    rows: list[list[Child]] = [[e.metric, words[e.metric], fmt.estimate(e)] for e in estimates]
    return table("Metrics", ["metric", "share of samples that are", "estimate"], rows)


def _differences(differences: Sequence[ShareDifference]) -> Child:
    drawn = _plot(differences_chart(differences), "Paired differences in percentage points, with intervals")
    said = (
        el("p", el("b", found.metric), f": {fmt.difference(found)} in {fmt.plural(found.clusters, 'cluster')}")
        for found in differences
    )
    return [drawn, said]


def _aggregations(tables: Sequence[Aggregated]) -> Markup:
    rows = {aggregation(found): found.estimates for found in tables}
    return _table("All aggregations", rows, notes=AGGREGATIONS)


def _table(
    caption: str, rows: Mapping[str, Sequence[Estimate]], *, notes: Mapping[str, str] | None = None
) -> Markup:
    """Rows by name, metrics across."""
    metrics = dict.fromkeys(estimate.metric for estimates in rows.values() for estimate in estimates)
    body: list[list[Child]] = []
    for name, estimates in rows.items():
        known = by_metric(estimates)
        head = join(name, el("small", notes[name])) if notes else name
        body.append([head, *(fmt.estimate(known[m]) if m in known else "–" for m in metrics)])
    return table(caption, ["", *metrics], body)
