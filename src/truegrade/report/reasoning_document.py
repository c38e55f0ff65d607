"""Execution reasoning in a report: original against mutant, choice and order, every aggregation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from msgspec.structs import replace

from truegrade.pipeline.summary import ProfileSummary, Summary
from truegrade.records import Estimate
from truegrade.report import document as doc
from truegrade.report import format as fmt
from truegrade.report.charts.svg import Chart
from truegrade.report.document import Cell, On, Part, Prose, Section, Table, only
from truegrade.report.figures import (
    changed_chart,
    choice_chart,
    differences_chart,
    mutation_chart,
    order_chart,
    prediction_chart,
)
from truegrade.report.wording import NO_ANSWER
from truegrade.statistics.changed_problems import ChangedSummary
from truegrade.statistics.reasoning_choice import ChoiceSummary
from truegrade.statistics.reasoning_prediction import NAMES, PredictionSummary, Stratum
from truegrade.statistics.reasoning_records import MetricTable, ShareDifference

# ----------------------- The metrics of execution reasoning in words, and the order in which people read them.


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

SPARE = ("MC_differing",)
"""Metrics that a narrow terminal leaves out."""
ON_TERMINAL = frozenset({"benchmark", "family", "cut-off"})
"""Groups of changed problems that a terminal shows; a page shows all."""


def stratum_name(stratum: Stratum) -> str:
    """``unfamiliar syntax``; of numbers also where they are parted: ``deeper (depth above 9)``."""
    if stratum.above is None:
        return stratum.name
    side = "up to" if stratum.name in {low for _, low, _ in NAMES} else "above"
    return f"{stratum.name} ({stratum.covariate} {side} {stratum.above})"


# --------------------------------------------------------------------------------------------- sections


def reasoning(summary: Summary) -> Section | None:
    """The section of a run; nothing for other kinds of problem."""
    found = [profile for profile in summary.profiles if profile.reasoning is not None]
    changed = any(profile.reasoning and profile.reasoning.changed for profile in found)
    title = "Originals and changed problems" if changed else "Execution reasoning"
    several = len(summary.profiles) > 1
    parts = [part for profile in found for part in reasoning_parts(profile, several=several)]
    return Section("reasoning", title, parts, "Reasoning") if parts else None


def reasoning_parts(profile: ProfileSummary, *, several: bool) -> list[Part]:
    """What is said under one profile; ``several`` names the profile in captions and files."""
    found = profile.reasoning
    if found is None:
        return []
    under = _Under(profile.profile, f"-{profile.profile.partition('@')[0]}" if several else "")
    return [
        *(_prediction(found.prediction, under) if found.prediction is not None else ()),
        *(_choice(found.choice, under) if found.choice is not None else ()),
        *(_changed(found.changed, under) if found.changed is not None else ()),
    ]


class _Under:
    """The profile that numbers hold for, in titles, captions and names of files."""

    def __init__(self, profile: str, suffix: str) -> None:
        self.profile, self.suffix = profile, suffix

    def title(self, words: str) -> Part:
        """A heading on a page; captions say it elsewhere."""
        return only(On.PAGE, Prose(text=f"{words} under {self.profile}", tone="heading"))

    def estimates(
        self,
        slug: str,
        caption: str,
        rows: Mapping[str, Sequence[Estimate]],
        notes: Mapping[str, str] = MappingProxyType({}),
    ) -> Table:
        """Rows by name, metrics across."""
        known = {name: {e.metric: e for e in estimates} for name, estimates in rows.items()}
        metrics = dict.fromkeys(metric for of in known.values() for metric in of)
        return Table(
            slug=f"{slug}{self.suffix}",
            caption=f"{caption} under {self.profile}",
            head=("", *metrics),
            rows=[[doc.noted(name, notes.get(name)), *map(of.get, metrics)] for name, of in known.items()],
            spare=SPARE,
        )

    def aggregations(self, kind: str, found: Sequence[MetricTable]) -> Table:
        """Every aggregation by its name, ``per_case/mean``."""
        rows = {f"{table.cases}/{table.weighting}": table.estimates for table in found}
        return self.estimates(kind, f"All aggregations of execution {kind}", rows, AGGREGATIONS)

    def strata(self, caption: str, strata: Sequence[Stratum]) -> Table:
        """Strata down, metrics across, and the difference in each."""
        rows = {stratum_name(stratum): stratum.estimates for stratum in strata}
        made = self.estimates("prediction-strata", caption, rows)
        gaps = [None if each.difference is None else fmt.difference(each.difference) for each in strata]
        whole = [[*row, gap] for row, gap in zip(made.rows, gaps, strict=True)]
        return replace(made, head=(*made.head, "MC - OC"), rows=whole, spare=("MC - OC", *SPARE))

    def metrics(self, slug: str, caption: str, estimates: Sequence[Estimate], words: Mapping[str, str]) -> Table:
        """Each metric, what it is the share of, and its estimate."""
        return Table(
            slug=f"{slug}{self.suffix}",
            caption=f"{caption} under {self.profile}",
            head=("metric", "share of samples that are", "estimate", "samples"),
            rows=[[e.metric, words[e.metric], e, e.samples] for e in estimates],
            strong=frozenset({0}),
            spare=("samples",),
        )


def _prediction(prediction: PredictionSummary, under: _Under) -> list[Part]:
    headline = prediction.tables[0].estimates
    several = any(e.metric != "pass@1" for estimates in prediction.pass_at.values() for e in estimates)
    meant = under.metrics(
        "prediction-metrics", "Execution prediction", [*headline, *prediction.stability], PREDICTION
    )
    modes = {**prediction.modes, "given an answer": prediction.given_answer}
    return [
        under.title("Prediction"),
        doc.Figure(prediction_chart(prediction, PREDICTION), "Originals and mutants", meant),
        *_differences(prediction.differences),
        _counts(headline, under),
        doc.Facts(
            [
                ("mutant cases with the original's value", prediction.same_value),
                ("excluded because the value is boolean", prediction.boolean),
            ]
        ),
        under.estimates("prediction-modes", "By comparison mode, and given an answer,", modes),
        under.estimates("prediction-pass-at-k", "pass@k", prediction.pass_at) if several else None,
        under.aggregations("prediction", prediction.tables),
        only(On.PAGE | On.FILES, *_operators(prediction, under)),
        *_strata(prediction.by_covariate, under),
    ]


def _counts(headline: Sequence[Estimate], under: _Under) -> Table:
    """What the correctness of each kind of program rests on."""
    rows: list[list[Cell]] = [
        [e.metric, e.tasks, e.samples, e.clusters, e.unanswered, e.truncated]
        for e in headline
        if e.metric in {"OC", "MC", "PC"}
    ]
    return Table(
        slug=f"prediction-counts{under.suffix}",
        caption=f"Cases and replies under {under.profile}",
        head=("metric", "cases", "samples", "clusters", NO_ANSWER, "truncated"),
        rows=rows,
        look="numeric",
    )


def _operators(prediction: PredictionSummary, under: _Under) -> list[Part]:
    if not prediction.by_mutation:
        return []
    table = under.estimates("operators", "Execution prediction by operator", prediction.by_mutation)
    return [_plot(mutation_chart(prediction.by_mutation), "By mutation operator"), table]


def _strata(strata: Sequence[Stratum], under: _Under) -> list[Part]:
    """Rates and differences within strata of covariates, which may explain the loss; of syntax on a terminal."""
    syntax = [stratum for stratum in strata if stratum.covariate == "unfamiliar"]
    caption = "By syntax, length, depth and steps (of the mutant, where there is one)"
    return [
        only(On.TERMINAL, under.strata("By syntax of the mutant", syntax)),
        only(On.PAGE | On.FILES, under.strata(caption, strata)),
    ]


def _choice(choice: ChoiceSummary, under: _Under) -> list[Part]:
    headline = choice.tables[0].estimates
    meant = under.metrics("choice-metrics", "Execution choice", headline, CHOICE)
    order = under.metrics("choice-order", "Preference by program and by position", choice.order, CHOICE)
    drawn = order_chart(choice, CHOICE)
    given = {"given an answer": choice.given_answer}
    return [
        under.title("Choice"),
        doc.Figure(choice_chart(choice, CHOICE), "Choice, and correctness of the executed program", meant),
        doc.Figure(drawn, "Preference by program and by position", order) if drawn else None,
        *_differences([choice.position] if choice.position is not None else []),
        doc.Facts(
            [
                ("choices", choice.samples),
                ("without a valid choice", choice.samples - choice.valid),
                ("truncated", choice.truncated),
                ("pairs of programs", len(choice.lines)),
                ("presented in one order only", fmt.plural(choice.one_order, "pair")),
                ("incomplete pairs of choices", choice.incomplete),
            ]
        ),
        under.estimates("choice-answered", "Given an answer,", given) if choice.given_answer else None,
        only(On.PAGE | On.FILES, under.aggregations("choice", choice.tables)),
    ]


def _changed(changed: ChangedSummary, under: _Under) -> list[Part]:
    """All pairs, then each group: what is right, what is reverted, and the paired difference."""
    rates = changed.rates
    meant = under.metrics("changed-metrics", "Originals and changed problems", rates.estimates, CHANGED)
    return [
        under.title("Changed problems"),
        doc.Figure(changed_chart(rates.estimates, CHANGED), "Originals and changed problems", meant),
        *_differences([rates.difference] if rates.difference is not None else []),
        only(On.TERMINAL, _changed_groups(changed, under, ON_TERMINAL)),
        only(On.PAGE | On.FILES, _changed_groups(changed, under)),
    ]


def _changed_groups(changed: ChangedSummary, under: _Under, kinds: frozenset[str] | None = None) -> Table:
    rows: list[list[Cell]] = []
    for one in changed.groups:
        known = {estimate.metric: estimate for estimate in one.rates.estimates}
        gap = None if one.rates.difference is None else fmt.difference(one.rates.difference)
        if kinds is None or one.by in kinds:
            rows.append([doc.GroupName(one.by, one.value), *map(known.get, ("OC", "MC", "MR")), gap])
    return Table(
        slug=f"changed-groups{under.suffix}",
        caption=f"By group of pairs under {under.profile}",
        head=("group", "OC", "MC", "MR", "MC - OC"),
        rows=rows,
    )


def _differences(differences: Sequence[ShareDifference]) -> list[Part]:
    caption = "Paired differences in percentage points, with intervals"
    said = (
        Prose(lead=f"{d.metric}: ", text=f"{fmt.difference(d)} in {fmt.plural(d.clusters, 'cluster')}")
        for d in differences
    )
    return [_plot(differences_chart(differences), caption), *said]


def _plot(chart: Chart | None, title: str) -> Part:
    return only(On.PAGE, doc.Figure(chart, title)) if chart is not None else None
