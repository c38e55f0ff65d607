"""Execution reasoning on the terminal: originals beside mutants and choices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from truegrade.records import Estimate
from truegrade.report import format as fmt
from truegrade.report.reasoning_html import CHOICE, KINDS, by_metric
from truegrade.report.terminal import plain_table, row
from truegrade.report.wording import NO_ANSWER

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from truegrade.pipeline.summary import ProfileSummary
    from truegrade.statistics.changed_problems import ChangedSummary
    from truegrade.statistics.reasoning_choice import ChoiceSummary
    from truegrade.statistics.reasoning_prediction import PredictionSummary


ON_TERMINAL = frozenset({"benchmark", "family", "cut-off"})
"""Groups of changed problems that the terminal shows; the page shows all."""


def reasoning_parts(profiles: Sequence[ProfileSummary]) -> Iterator[RenderableType]:
    """What to print about execution reasoning, profile by profile; nothing where there is none."""
    from rich.text import Text

    for profile in profiles:
        found = profile.reasoning
        if found is None:
            continue
        under = f" under {profile.profile}" if len(profiles) > 1 else ""
        if found.prediction is not None:
            yield Text(f"execution prediction{under}", "bold")
            yield _prediction(found.prediction)
            for difference in found.prediction.differences:
                yield Text(f"{difference.metric}: {fmt.difference(difference)}")
        if found.changed is not None:
            yield Text(f"originals and changed problems{under}", "bold")
            yield _changed(found.changed)
        if found.choice is not None:
            yield Text(f"execution choice{under}", "bold")
            yield _choice(found.choice)
            if found.choice.position is not None:
                yield Text(f"{found.choice.position.metric}: {fmt.difference(found.choice.position)}")


def _changed(changed: ChangedSummary) -> Table:
    """Originals beside changed problems, then both by group."""
    table = plain_table("", "original", "changed", "reverted", "changed - original")
    groups = (one for one in changed.groups if one.by in ON_TERMINAL)
    sides = [("all", changed.rates), *((f"{one.by}: {one.value}", one.rates) for one in groups)]
    for name, rates in sides:
        known = by_metric(rates.estimates)
        gap = "–" if rates.difference is None else fmt.difference(rates.difference)
        cells = (_cell(known.get(metric)) for metric in ("OC", "MC", "MR"))
        row(table, name, *cells, gap, bold=name == "all")
        if name == "all" and len(sides) > 1:
            table.add_section()
    return table


def _prediction(prediction: PredictionSummary) -> Table:
    """Kinds of programs as columns; correctness, reversion and counts as rows."""
    per_case = by_metric(prediction.tables[0].estimates)
    kinds = [kind for kind, (name, _) in KINDS.items() if name in per_case]
    table = plain_table("", *kinds)
    _correct(table, "correct", per_case, kinds, bold=True)
    for found in prediction.tables:
        if (found.cases, found.weighting) == ("all_cases", "mean"):
            _correct(table, "correct on all cases", by_metric(found.estimates), kinds)
    _correct(table, "correct, given an answer", by_metric(prediction.given_answer), kinds)
    for mode, estimates in prediction.modes.items():
        if mode != "python_eq":
            _correct(table, f"correct, {mode}", by_metric(estimates), kinds)
    further = {kind: by_metric(prediction.pass_at.get(kind, [])) for kind in kinds}
    for name in dict.fromkeys(name for known in further.values() for name in known if name != "pass@1"):
        row(table, f"correct, {name}", *(_plain(further[kind].get(name)) for kind in kinds))
    reversions = [per_case.get(KINDS[kind][1] or "") for kind in kinds]
    if any(reversions):
        row(table, "reverted", *map(_cell, reversions))
    _strata(table, prediction, kinds)
    again = by_metric(prediction.stability)
    if "stability" in again:
        shown = {"original": again.get("repeat_agreement"), "preserved": again["stability"]}
        row(table, "same outcome when repeated", *(_plain(shown.get(kind)) for kind in kinds))
    table.add_section()
    first = [per_case[KINDS[kind][0]] for kind in kinds]
    row(table, "cases", *(fmt.count(e.tasks) for e in first))
    row(table, "samples", *(fmt.count(e.samples) for e in first))
    row(table, "clusters of related cases", *(fmt.count(e.clusters) for e in first))
    row(table, NO_ANSWER, *(fmt.count(e.unanswered) for e in first))
    row(table, "truncated", *(fmt.count(e.truncated) for e in first))
    return table


def _strata(table: Table, prediction: PredictionSummary, kinds: Sequence[str]) -> None:
    """Correctness and reversion, split by whether the syntax of the mutant is familiar."""
    strata = [stratum for stratum in prediction.by_covariate if stratum.covariate == "unfamiliar"]
    for stratum in strata:
        _correct(table, f"correct, {stratum.name}", by_metric(stratum.estimates), kinds)
    for stratum in strata:
        known = by_metric(stratum.estimates)
        reversions = [known.get(KINDS[kind][1] or "") for kind in kinds]
        if any(reversions):
            row(table, f"reverted, {stratum.name}", *map(_cell, reversions))


def _correct(
    table: Table, name: str, estimates: Mapping[str, Estimate], kinds: Sequence[str], *, bold: bool = False
) -> None:
    row(table, name, *(_cell(estimates.get(KINDS[kind][0])) for kind in kinds), bold=bold)


def _cell(estimate: Estimate | None) -> str:
    return "–" if estimate is None else f"{estimate.metric} {fmt.estimate(estimate)}"


def _plain(estimate: Estimate | None) -> str:
    return "–" if estimate is None else fmt.estimate(estimate)


def _choice(choice: ChoiceSummary) -> Table:
    table = plain_table("", "share", "of")
    headline = by_metric(choice.tables[0].estimates)
    for estimate in headline.values():
        _share(table, estimate, CHOICE[estimate.metric], "choices", bold=estimate.metric == "preference")
    for estimate in choice.given_answer:
        if estimate.samples < headline[estimate.metric].samples:
            _share(table, estimate, "as above, given an answer", "choices")
    table.add_section()
    for estimate in choice.order:
        of = "choices" if estimate.metric == "chose_A" else "pairs of choices"
        _share(table, estimate, CHOICE[estimate.metric], of)
    table.add_section()
    row(table, "replies", fmt.count(choice.samples), f"{fmt.plural(len(choice.lines), 'pair')} of programs")
    row(table, "without a valid choice", fmt.count(choice.samples - choice.valid), "")
    row(table, "truncated", fmt.count(choice.truncated), "")
    return table


def _share(table: Table, estimate: Estimate, words: str, of: str, *, bold: bool = False) -> None:
    name = f"{estimate.metric}: {words}"
    row(table, name, fmt.estimate(estimate), f"{fmt.count(estimate.samples)} {of}", bold=bold)
