"""The replies behind a comparison: of every problem on which two runs differ, what each of them answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from truegrade.analysis.comparison import Comparison, Side
from truegrade.records import SampleKey
from truegrade.report.chosen_samples import read_prompts, read_views
from truegrade.report.markup import Markup, join
from truegrade.report.sample_blocks import packed
from truegrade.report.sample_views import Excerpt, SampleView
from truegrade.store import Run

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
