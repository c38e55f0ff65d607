"""The sentences of a comparison, and the replies behind it: what each run answered where two differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from truegrade.analysis.comparison import Comparison, RunPairing, Side
from truegrade.pipeline.cautions import Caution, folded
from truegrade.pipeline.summary import TaskLine
from truegrade.records import SampleKey
from truegrade.report import format as fmt
from truegrade.report import wording
from truegrade.report.chosen_samples import Excerpt, SampleView, packed, read_prompts, read_views
from truegrade.report.document import Linked, On, Prose, Section, only
from truegrade.report.markup import Markup, el, join
from truegrade.statistics.windows import described
from truegrade.store import Run


def title(pair: RunPairing) -> str:
    """``after − before``."""
    return f"{pair.second} − {pair.first}"


def forced(comparison: Comparison) -> list[str]:
    """Why pairs are not comparable, each reason once; empty unless the comparison was forced."""
    return list(dict.fromkeys(sentence for pair in comparison.pairs for sentence in pair.obstacles))


def noted(comparison: Comparison) -> list[str]:
    """What else differs, with the pair where it does not hold for all; then the warnings of the runs."""
    pairs = Counter(sentence for pair in comparison.pairs for sentence in pair.remarks)
    differing = [
        sentence if pairs[sentence] == len(comparison.pairs) else f"{title(pair)}: {sentence}"
        for pair in comparison.pairs
        for sentence in pair.remarks
    ]
    own = folded({side.label: _bare(side.warnings) for side in comparison.sides})
    return [*dict.fromkeys(differing), *(one.line for one in own)]


def _bare(warnings: Sequence[Caution]) -> list[Caution]:
    """Warnings of one side, without the profiles that they hold for."""
    return [msgspec.structs.replace(one, profiles=()) for one in warnings]


def outcomes(comparison: Comparison) -> tuple[str, str]:
    """As `truegrade.report.wording.outcomes`."""
    return wording.outcomes(same_replies=comparison.same_replies)


def correction(comparison: Comparison) -> str | None:
    """How the p-values were corrected; None for a single pair."""
    if comparison.correction is None:
        return None
    return (
        f"p-values are corrected for {fmt.plural(len(comparison.pairs), 'comparison')} ({comparison.correction});"
        " the intervals are not corrected"
    )


def scope(comparison: Comparison) -> str:
    """What is compared, in one line."""
    names = [side.label for side in comparison.sides]
    if comparison.baseline is None:
        return f"all pairs of {', '.join(names)}"
    others = [name for name in names if name != comparison.baseline]
    return f"{', '.join(others)} against {comparison.baseline}"


def named(side: Side) -> str:
    """A run as a table or sentence names it: its model, behind its label where that is another."""
    return side.model if side.label == side.model else f"{side.label}: {side.model}"


def benchmarks(comparison: Comparison) -> str:
    """What the runs answer."""
    return " and ".join(dict.fromkeys(side.benchmark for side in comparison.sides))


def profiles(comparison: Comparison) -> str:
    """By whose rules they are graded."""
    return ", ".join(dict.fromkeys(side.profile for side in comparison.sides))


def counted(comparison: Comparison) -> str:
    """How many problems the pairs share, and how many clusters these are where they are fewer."""

    def among(numbers: set[int], noun: str) -> str:
        least = f"{fmt.count(min(numbers))} to " if len(numbers) > 1 else ""
        return f"{least}{fmt.plural(max(numbers), noun)}"

    pairs = [pair.paired for pair in comparison.pairs]
    problems = among({pair.tasks for pair in pairs}, "problem")
    if all(pair.clusters == pair.tasks for pair in pairs):
        return problems
    return f"{problems} in {among({pair.clusters for pair in pairs}, 'cluster')}"


def tests(comparison: Comparison) -> str:
    """Which test the p-values are of."""
    named = (
        "sign flips of clusters (Fisher 1935), or the score test where its p is larger"
        if pair.paired.mcnemar_p is None
        else "McNemar's exact test (McNemar 1947)"
        for pair in comparison.pairs
    )
    return f"p-values are two-sided: {' or '.join(dict.fromkeys(named))}"


def sentences(comparison: Comparison) -> list[str]:
    """The methods paragraph."""
    first, draws = comparison.pairs[0].paired, comparison.pairs[0].bootstrap
    paired = (
        "paired by problem: a difference is the mean share of correct samples of the second run minus that"
        " of the first"
    )
    shown = f"{fmt.count(draws.draws)} draws, seed {draws.seed}"
    sources = f"{first.method} (Tango 1998; Miller 2024, arXiv 2411.00640)"
    said = [
        f"The comparison is {scope(comparison)}, {paired}, over the problems that both runs answered.",
        f"{100 * first.confidence:g} % confidence intervals: {sources}.",
        f"A percentile bootstrap of whole clusters ({shown}) is given for comparison.",
        f"{tests(comparison)}.",
    ]
    if comparison.correction is not None:
        several = fmt.plural(len(comparison.pairs), "comparison")
        said.append(f"They are corrected for {several} by Holm's method (Holm 1979).")
        said.append("Intervals are not corrected.")
    powers = [pair.power for pair in comparison.pairs if pair.power is not None]
    for method in dict.fromkeys(power.method for power in powers):
        chance, level = f"{100 * powers[0].power:g} %", f"{100 * powers[0].alpha:g} %"
        said.append(
            f"The minimum detectable difference is given at {chance} power and a significance level of"
            f" {level} ({method})."
        )
    return [*said, *map(_described, comparison.sides)]


def _described(side: Side) -> str:
    rule = f"prompt by {side.prompt_rule}" if side.prompt_rule else "imported"
    each = fmt.plural(side.samples_per_task, "sample")
    window = f" ({described(side.window)})" if side.window else ""
    return (
        f"{named(side)} on {side.benchmark} (data set SHA-256 {side.dataset_sha256[:16]}…),"
        f" {fmt.plural(len(side.tasks), 'problem')}{window}, {each} per problem, {rule}, graded under"
        f" {side.profile}, {side.created[:10]}."
    )


# -------------------------------------------------------------------------------- The replies behind a comparison.


SAMPLES_A_TASK = 10
"""Samples of a problem that the page shows of each run: the first ones."""
TASKS_A_BLOCK = 25
MAX_CHARS = 15_000_000
"""Problems whose texts would go beyond this are left out; packed, this many make a page of some 5 MB."""


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """What one run answered to one problem."""

    prompt: list[tuple[str, Excerpt]]
    """Role and text of each message; empty where the run stores none."""
    samples: list[SampleView]

    @property
    def chars(self) -> int:
        """Characters that it takes on the page."""
        return sum(view.chars for view in self.samples) + sum(len(text.text) for _, text in self.prompt)


class Replies(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the page shows side by side."""

    sides: list[Side]
    tasks: list[str]
    """Those shown, in the data set's order."""
    answers: list[list[Answers]]
    """By problem, then by side."""
    differing: int
    """Problems on which any two runs differ, of which ``tasks`` are the first."""


def reasons(replies: Replies) -> Mapping[tuple[str, str], list[str]]:
    """By side's label and task: why the samples on the page passed or failed, each reason once."""
    return {
        (side.label, name): list(dict.fromkeys(verdict.reason for view in of.samples for verdict in view.verdicts))
        for name, row in zip(replies.tasks, replies.answers, strict=True)
        for side, of in zip(replies.sides, row, strict=True)
    }


def collect_replies(comparison: Comparison, *, max_chars: int = MAX_CHARS) -> Replies:
    """Gather the replies to the problems on which runs differ, reading each side's run once.

    Raises:
        BadRecord: a line of a journal is not a record.
    """
    wanted = {t for pair in comparison.pairs for t in (*pair.paired.wins, *pair.paired.losses)}
    names = [t for t in dict.fromkeys(t.id for side in comparison.sides for t in side.tasks) if t in wanted]
    by_side = [_answers(side, names) for side in comparison.sides]
    kept: list[list[Answers]] = []
    chars = 0
    for name in names:
        row = [answers[name] for answers in by_side]
        chars += sum(answers.chars for answers in row)
        if chars > max_chars and kept:
            break
        kept.append(row)
    return Replies(sides=comparison.sides, tasks=names[: len(kept)], answers=kept, differing=len(names))


def _answers(side: Side, names: Sequence[str]) -> Mapping[str, Answers]:
    run = Run.open(side.run)
    prompts = read_prompts(run.prompts(), set(names))
    there: dict[str, set[int]] = {task.id: set() for task in side.tasks}
    for facts in run.verdict_facts(side.profile):
        if facts.problem_id in there and facts.sample < side.samples_per_task:
            there[facts.problem_id].add(facts.sample)
    shown = {name: sorted(there.get(name, ()))[:SAMPLES_A_TASK] for name in names}
    keys = [SampleKey(name, sample) for name in names for sample in shown[name]]
    views: dict[str, list[SampleView]] = {name: [] for name in names}
    for view in read_views(run, [side.profile], keys):
        views[view.id].append(view)
    return {name: Answers(prompt=prompts.get(name, []), samples=views[name]) for name in names}


def reply_blocks(replies: Replies) -> Markup:
    """The elements that hold the replies; `block` of the page's script reads them."""
    index = {
        "tasks": replies.tasks,
        "labels": [side.label for side in replies.sides],
        "profiles": [side.profile for side in replies.sides],
        "tasks_a_block": TASKS_A_BLOCK,
    }
    starts = range(0, len(replies.tasks), TASKS_A_BLOCK)
    return join(
        packed("pairs", index),
        (
            packed(f"replies-{number}", replies.answers[start : start + TASKS_A_BLOCK])
            for number, start in enumerate(starts)
        ),
    )


# -------------------------------------------------------------------------- a cell for each problem


def strips(comparison: Comparison, replies: Replies) -> list[Markup]:
    """For each pair a cell for each problem: which of the two is higher."""
    return [_strip(comparison, pair, replies) for pair in comparison.pairs]


def strips_legend(comparison: Comparison) -> Markup:
    """What the colours of the cells mean."""
    gained = outcomes(comparison)[0]
    named = {
        "won": f"second {gained}",
        "lost": f"first {gained}",
        "both": "equal, right",
        "neither": "equal, wrong",
    }
    keys = (el("li", el("span", class_=f"swatch {kind}"), said) for kind, said in named.items())
    return el("ul", keys, class_="legend")


def replies_link(comparison: Comparison, pair: RunPairing, task: str) -> Linked:
    """A problem's name that leads to both replies."""
    return Linked(task, "#replies", _link(comparison, pair, task))


def _strip(comparison: Comparison, pair: RunPairing, replies: Replies) -> Markup:
    c, (more, less) = pair.paired, outcomes(comparison)
    said = f"{len(c.wins)} {more}, {len(c.losses)} {less}, {len(c.ties)} equal"
    first, second = _counts(comparison, pair.first), _counts(comparison, pair.second)
    shown = set(replies.tasks)
    cells = (
        _cell(name, first.get(name), second.get(name), _link(comparison, pair, name) if name in shown else {})
        for name in dict.fromkeys([*first, *second])
    )
    strip = el("div", cells, class_="strip gains", role="img", aria_label=f"{title(pair)}: {said}")
    return el("figure", el("figcaption", el("b", title(pair)), ": ", said), strip)


def _cell(name: str, one: TaskLine | None, two: TaskLine | None, link: dict[str, object]) -> Markup:
    if one is None or two is None or not one.n or not two.n:
        return el("i", title=f"{name}: not in both", class_="none still")
    gain = two.c / two.n - one.c / one.n
    title = f"{name}: {one.c} of {one.n}, {two.c} of {two.n}"
    if gain:
        kind = ("won" if gain > 0 else "lost") if link else f"{'won' if gain > 0 else 'lost'} still"
        # A gain of one sample in ten is still to be seen.
        return el("i", title=title, class_=kind, style=f"--p:{30 + 70 * abs(gain):.0f}", **link)
    return el("i", title=title, class_="both still" if 2 * one.c >= one.n and one.c else "still")


def _counts(comparison: Comparison, label: str) -> dict[str, TaskLine]:
    return next({task.id: task for task in side.tasks} for side in comparison.sides if side.label == label)


def _link(comparison: Comparison, pair: RunPairing, task: str) -> dict[str, object]:
    """Attributes that lead to the replies of a problem."""
    labels = [side.label for side in comparison.sides]
    return {"data_task": task, "data_left": labels.index(pair.first), "data_right": labels.index(pair.second)}


# ---------------------------------------------------------------------------------------------- replies


def replies_section(replies: Replies) -> Section | None:
    """The frame of the replies side by side; the page's script fills it. Nothing where no problem differs."""
    if not replies.tasks:
        return None
    places = (("left", "Left", 0), ("right", "Right", 1))
    tasks = (el("option", name, value=place) for place, name in enumerate(replies.tasks))
    controls = el(
        "form",
        el("label", "Problem", el("select", tasks, id="choose-task")),
        el("label", "Sample", el("select", id="choose-sample")),
        (_side_choice(replies, name, title, start) for name, title, start in places),
        el("button", "Previous problem", type="button", id="before"),
        el("button", "Next problem", type="button", id="next"),
        id="choose",
        hidden=True,
    )
    articles = (el("article", id=f"reply-{name}", tabindex=-1, aria_label=title) for name, title, _ in places)
    return Section(
        "replies",
        "Replies side by side",
        [
            only(On.PAGE, Prose(text=_what_is_shown(replies), tone="note")),
            el("noscript", el("p", "Showing replies requires JavaScript; the rest of this page does not.")),
            controls,
            el("p", id="replies-problem", class_="note", role="status"),
            el("div", articles, id="beside", class_="beside", hidden=True),
        ],
        "Replies",
    )


def _side_choice(replies: Replies, name: str, title: str, start: int) -> Markup:
    options = (
        el("option", side.label, value=place, selected=place == start) for place, side in enumerate(replies.sides)
    )
    return el("label", title, el("select", options, id=f"choose-{name}"))


def _what_is_shown(replies: Replies) -> str:
    said = f"The problems on which runs differ: {fmt.count(replies.differing)}"
    if len(replies.tasks) < replies.differing:
        said += f", of which the first {fmt.count(len(replies.tasks))} are on this page"
    if any(side.samples_per_task > SAMPLES_A_TASK for side in replies.sides):
        said += f"; the first {SAMPLES_A_TASK} samples of each"
    return f"{said}. The run folders contain all of them."
