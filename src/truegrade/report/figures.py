"""The figures of a run: from its numbers to charts, for the page and for files alike."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from math import ceil, floor, log10

import msgspec

from truegrade.analysis.standings import Matrix
from truegrade.pipeline.summary import ProfileSummary, Summary, TaskLine
from truegrade.pipeline.verdicts import VerdictTable
from truegrade.records import Estimate, SampleKey
from truegrade.report import format as fmt
from truegrade.report import wording
from truegrade.report.charts.svg import (
    Chart,
    DotRow,
    HistogramLayer,
    Key,
    Stack,
    difference_rows,
    dot_range,
    heat_map,
    histogram,
    interval_plot,
    number_axis,
    stacked,
)
from truegrade.report.charts.svg_lines import pass_curve
from truegrade.report.markup import Markup, el
from truegrade.report.page_parts import facts
from truegrade.report.wording import explained
from truegrade.statistics.reasoning_choice import ChoiceSummary
from truegrade.statistics.reasoning_prediction import PredictionSummary
from truegrade.statistics.reasoning_records import ShareDifference
from truegrade.store import Run
from truegrade.store.facts import CompletionFacts, firsts

# ------------------ How tokens, seconds, dollars and lengths are spread over the samples of a run, by outcome.


BINS = 30
LOG_BEYOND = 30
"""Values whose largest is this many times the tenth percentile are binned logarithmically."""


class Distribution(msgspec.Struct, frozen=True, kw_only=True):
    """A histogram."""

    name: str
    unit: str
    edges: list[float]
    """One more than there are bins."""
    counts: dict[str, list[int]]
    """Family of outcome -> number in each bin."""
    log: bool
    below: int = 0
    """Values of zero or less that a logarithmic axis cannot show."""


Values = Mapping[str, Sequence[float]]
"""Family of outcome -> values."""


def read_distributions(run: Run, outcomes: VerdictTable, samples_per_task: int) -> list[Distribution]:
    """Histograms of what is known of the answered samples that count, split by their outcome.

    Args:
        run: graded.
        outcomes: under the first profile; they name the problems that count.
        samples_per_task: samples beyond this number do not count.
    """
    values: dict[str, dict[str, array[float]]] = {name: defaultdict(_no_values) for name, _, _ in _MEASURES}
    answered = (each for each in run.completion_facts() if each.answered and each.sample < samples_per_task)
    for completion in firsts(answered):
        family = family_of(outcomes, completion)
        for name, _, measure in _MEASURES:
            if (value := measure(completion)) is not None:
                values[name][family].append(value)
    made = (bin_values(values[name], name, unit) for name, unit, _ in _MEASURES)
    return [distribution for distribution in made if distribution is not None]


def _no_values() -> array[float]:
    return array("d")


def family_of(outcomes: VerdictTable, key: SampleKey | CompletionFacts) -> str:
    """What became of a sample: a key of `wording.FAMILIES`."""
    row = outcomes.get(key.problem_id, ())
    outcome = row[key.sample] if key.sample < len(row) else None
    if outcome is None:
        return "ungraded"
    return "passed" if outcome.passed else wording.family(outcome.reason)


def bin_values(values: Values, name: str, unit: str) -> Distribution | None:
    """Sort values into at most `BINS` bins; None where fewer than two of them differ."""
    known = sorted(value for group in values.values() for value in group)
    if not known or known[0] == known[-1]:
        return None
    positive = [value for value in known if value > 0]
    log = bool(positive) and known[-1] > LOG_BEYOND * positive[len(positive) // 10]
    edges = _log_edges(positive) if log else _linear_edges(known)
    counts = {}
    for family in wording.FAMILIES:
        bins = [0] * (len(edges) - 1)
        for value in values.get(family, ()):
            if not log or value > 0:
                bins[min(bisect_right(edges, value) - 1, len(bins) - 1)] += 1
        if any(bins):
            counts[family] = bins
    below = len(known) - len(positive) if log else 0
    return Distribution(name=name, unit=unit, edges=edges, counts=counts, log=log, below=below)


def _linear_edges(known: Sequence[float]) -> list[float]:
    """Bins of a round width, whole numbers where all values are."""
    low, high = known[0], known[-1]
    width = _round_up((high - low) / BINS)
    if all(float(value).is_integer() for value in known):
        width = max(1.0, width)
    first = floor(low / width)
    return [number * width for number in range(first, max(floor(high / width), first) + 2)]


def _log_edges(positive: Sequence[float]) -> list[float]:
    """Bins of one ratio, at least a fifth of a decade's ends apart from each other."""
    low, high = floor(10 * log10(positive[0])), ceil(10 * log10(positive[-1]))
    step = max(1, ceil((high - low) / BINS))
    return [10 ** (tenth / 10) for tenth in range(low, high + step + 1, step)]


def _round_up(width: float) -> float:
    """The next of 1, 2, 2.5 and 5 times a power of ten."""
    power = 10.0 ** floor(log10(width))
    return next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= width * (1 - 1e-9))


def _tokens_in(completion: CompletionFacts) -> float | None:
    return completion.usage.input_tokens if completion.usage else None


def _tokens_out(completion: CompletionFacts) -> float | None:
    return completion.usage.output_tokens if completion.usage else None


def _thinking(completion: CompletionFacts) -> float | None:
    return completion.usage.reasoning_tokens if completion.usage else None


_MEASURES: tuple[tuple[str, str, Callable[[CompletionFacts], float | None]], ...] = (
    ("length of the reply", "characters", lambda completion: completion.chars),
    ("output tokens", "tokens", _tokens_out),
    ("thinking tokens", "tokens", _thinking),
    ("input tokens", "tokens", _tokens_in),
    ("latency", "seconds", lambda completion: completion.latency_s),
    ("cost", "US dollars", lambda completion: completion.cost_usd),
)


_REASONING_SERIES = {"OC": 0, "MC": 1, "MC_differing": 1, "PC": 2, "OR": 0, "MR": 1, "always_A": 4, "always_B": 4}
"""Colour of a metric: originals, mutants, rewritings, position."""


def score_chart(summary: Summary) -> Chart:
    """The headline with its interval, under each profile."""
    rows = [DotRow(profile.profile, profile.estimates[0]) for profile in summary.profiles]
    metrics = " or ".join(dict.fromkeys(profile.estimates[0].metric for profile in summary.profiles))
    return dot_range(rows, f"{metrics} of {summary.model} on {summary.benchmark}")


def rules_chart(matrix: Matrix, summary: Summary) -> Chart | None:
    """The headline under each profile, on a cropped axis, and the spread; None for a single profile."""
    if len(summary.profiles) < 2:
        return None
    rows = [DotRow(profile.profile, profile.estimates[0]) for profile in summary.profiles]
    rows.sort(key=lambda row: -row.estimate.value)
    metrics = " or ".join(dict.fromkeys(row.headline for row in matrix.rows))
    return dot_range(rows, f"{metrics} of the same replies under each profile", zoomed=True, spread=True)


def curve_chart(summary: Summary) -> Chart | None:
    """pass@k against k; None where there is one k only."""
    drawn = [
        (profile.profile, [(int(e.metric[5:]), e) for e in profile.estimates if e.metric.startswith("pass@")])
        for profile in summary.profiles
    ]
    drawn = [(name, points) for name, points in drawn if points]
    return pass_curve(drawn) if len({k for _, points in drawn for k, _ in points}) > 1 else None


def reasons_chart(summary: Summary) -> Chart:
    """Verdicts by reason, one bar a profile."""
    stacks = []
    for profile in summary.profiles:
        total = max(1, sum(profile.reasons.values()))
        parts = [(name, count / total, wording.family(name)) for name, count in _by_family(profile.reasons)]
        stacks.append(Stack(profile.profile, parts))
    families = {wording.family(name) for profile in summary.profiles for name in profile.reasons}
    keys = tuple(Key(words, family) for family, words in wording.FAMILIES.items() if family in families)
    return stacked(stacks, "Verdicts by reason", keys)


def truncation_chart(summary: Summary) -> Chart | None:
    """Shares of replies without an answer and of replies cut, by profile; None where there are none."""
    rows, shares = [], []
    for profile in summary.profiles:
        first = profile.estimates[0]
        total = max(1, sum(profile.reasons.values()))
        rows.append(profile.profile)
        shares.append([first.unanswered / total, first.truncated / total])
    return (
        heat_map(rows, ["no answer", "cut"], shares, "Replies without an answer, and cut, in percent")
        if any(map(any, shares))
        else None
    )


def distribution_chart(found: Distribution) -> Chart:
    """A histogram by outcome."""
    layers = [
        HistogramLayer(wording.FAMILIES[family], bins, _colour(family)) for family, bins in found.counts.items()
    ]
    axis = number_axis(found.edges[0], found.edges[-1], found.unit, log=found.log)
    return histogram(found.edges, layers, axis, f"{found.name} by outcome")


def prediction_chart(prediction: PredictionSummary, words: Mapping[str, str]) -> Chart:
    """Originals against mutants and rewritings."""
    drawn = [*prediction.tables[0].estimates, *prediction.stability]
    return dot_range(_rows(drawn, words), "Execution prediction: originals and mutants")


def changed_chart(estimates: Sequence[Estimate], words: Mapping[str, str]) -> Chart:
    """Originals against changed problems."""
    return dot_range(_rows(estimates, words), "Originals and changed problems")


def choice_chart(choice: ChoiceSummary, words: Mapping[str, str]) -> Chart:
    """What is chosen, and whether it is executed rightly."""
    return dot_range(_rows(choice.tables[0].estimates, words), "Execution choice: choice and correctness")


def order_chart(choice: ChoiceSummary, words: Mapping[str, str]) -> Chart | None:
    """Program or position."""
    return (
        dot_range(_rows(choice.order, words), "Execution choice: preference by program and by position")
        if choice.order
        else None
    )


def differences_chart(differences: Sequence[ShareDifference]) -> Chart | None:
    """Paired differences around zero; None where there are none."""
    rows = [(found.metric, found.difference, found.low, found.high) for found in differences]
    return difference_rows(rows, "Paired differences in percentage points") if rows else None


def mutation_chart(by_mutation: Mapping[str, Sequence[Estimate]]) -> Chart | None:
    """MC and MR by the operator that made the mutant; None where there are fewer than two operators."""
    metrics = list(dict.fromkeys(e.metric for estimates in by_mutation.values() for e in estimates))
    if len(by_mutation) < 2:
        return None
    known = {name: {e.metric: e.value for e in estimates} for name, estimates in by_mutation.items()}
    shares = [[values.get(metric) for metric in metrics] for values in known.values()]
    return heat_map(list(known), [f"{metric}, %" for metric in metrics], shares, "By mutation operator")


def _rows(estimates: Sequence[Estimate], words: Mapping[str, str]) -> list[DotRow]:
    return [DotRow(e.metric, e, _REASONING_SERIES.get(e.metric, 0), words[e.metric]) for e in estimates]


def _by_family(reasons: Mapping[str, int]) -> list[tuple[str, int]]:
    """Passed first, then failed, unanswered and grader errors, the most frequent first in each."""
    order = ["passed", "failed", "unanswered", "grader"]
    return sorted(reasons.items(), key=lambda item: (order.index(wording.family(item[0])), -item[1]))


def _colour(family: str) -> str:
    return "s4" if family == "ungraded" else family


def said(found: Distribution) -> str:
    """What a histogram leaves out."""
    if not found.below:
        return found.name
    return f"{found.name} ({fmt.plural(found.below, 'value')} of zero not shown)"


# ------------------------------------------------------------------- What else only a page shows of a run.


def score_card(profile: ProfileSummary, summary: Summary) -> Markup:
    """The headline of a profile in large letters, and what it rests on."""
    first = profile.estimates[0]
    interval = f"{100 * first.confidence:g} % CI {fmt.bounds(first.low, first.high)}"
    if first.low is None:
        interval = f"{100 * first.confidence:g} % CI: not available (one cluster)"
    so_far = ", so far" if wording.how_far(summary) else ""
    scale = el("div", el("span", "0"), el("span", "50"), el("span", "100 %"), class_="scale", aria_hidden="true")
    return el(
        "article",
        el("h3", profile.profile, el("span", explained(first.metric), class_="metric")),
        el("p", fmt.percent(first.value), class_="value"),
        el("p", explained(interval), so_far, class_="interval-text"),
        interval_plot(first, f"{first.metric} under {profile.profile}"),
        scale,
        facts(
            ("problems × samples", f"{fmt.count(first.tasks)} × {summary.samples_per_task}"),
            (explained("clusters of related problems"), fmt.count(first.clusters)),
            (explained(wording.NO_ANSWER), fmt.count(max(e.unanswered for e in profile.estimates))),
            (explained("truncated"), fmt.count(max(e.truncated for e in profile.estimates))),
            ("interval by", first.method),
            (explained("protection"), wording.level(profile.level)),
        ),
        class_="card",
    )


def count_tiles(summary: Summary) -> Markup:
    """How many samples were expected, answered and missing."""
    asked = f"{fmt.plural(summary.tasks, 'problem')} × {summary.samples_per_task}"
    tiles = [
        ("samples expected", summary.expected, asked),
        ("replies", summary.answered, "received, empty ones included"),
        ("missing", summary.missing, wording.why_missing(summary)),
    ]
    if summary.excluded:
        tiles.append(("excluded problems", len(summary.excluded), "not scored; see Methods"))
    rows = (
        el("div", el("dt", explained(name)), el("dd", fmt.count(number)), el("dd", what, class_="what"))
        for name, number, what in tiles
    )
    return el("dl", rows, class_="tiles")


def task_strip(profile: ProfileSummary, each: int) -> Markup:
    """Cells shaded by the share of samples that pass, so many problems each."""
    solved = sum(0 < task.n == task.c for task in profile.tasks)
    unsolved = sum(task.n > 0 == task.c for task in profile.tasks)
    ungraded = sum(task.n == 0 for task in profile.tasks)
    mixed = len(profile.tasks) - solved - unsolved - ungraded
    words = (
        f"of {fmt.plural(len(profile.tasks), 'problem')} {solved} always pass, {mixed} sometimes, {unsolved} never"
    )
    words += f", {ungraded} not graded" if ungraded else ""
    cells = (_strip_cell(profile.tasks[at : at + each]) for at in range(0, len(profile.tasks), each))
    strip = el("div", cells, class_="strip", role="img", aria_label=f"{profile.profile}: {words}")
    return el("figure", el("figcaption", el("b", profile.profile), ": ", words), strip)


def _strip_cell(lines: Sequence[TaskLine]) -> Markup:
    """The samples of these problems together; selecting it finds the first of them."""
    c, n = sum(task.c for task in lines), sum(task.n for task in lines)
    name = lines[0].id if len(lines) == 1 else f"{lines[0].id} to {lines[-1].id}"
    return el(
        "i",
        title=f"{name}: {c} of {n}",
        style=f"--p:{100 * c / n:.0f}" if n else None,
        class_=None if n else "none",
        data_find=f"{lines[0].id}#",
    )
