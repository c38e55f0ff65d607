"""Verdicts, as little of them as numbers need: a hundred thousand samples fit in a megabyte."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

import msgspec

from truegrade.records import Reason, SampleKey, Verdict


class Outcome(msgspec.Struct, frozen=True):
    """The part of a verdict that is counted. Equal ones are one object, so a sample costs a pointer."""

    passed: bool
    reason: Reason
    truncated: bool = False
    time_sensitive: bool = False
    marks: tuple[str, ...] = ()


Outcomes = Mapping[str, Sequence[Outcome | None]]
"""Under one profile: by problem, then by sample; None where there is no verdict."""


def read_outcomes(verdicts: Iterable[Verdict], tasks: Container[str], samples_per_task: int) -> Outcomes:
    """Outcomes of the tasks and samples that count; a later verdict on a sample replaces an earlier one.

    Args:
        verdicts: of one profile, in the order they were written.
        tasks: ids of the problems that count.
        samples_per_task: samples beyond this number do not count.
    """
    outcomes: dict[str, list[Outcome | None]] = defaultdict(list)
    known: dict[Outcome, Outcome] = {}
    for v in verdicts:
        if v.problem_id in tasks and v.sample < samples_per_task:
            outcome = Outcome(v.passed, v.reason, v.truncated, v.time_sensitive, v.marks)
            samples = outcomes[v.problem_id]
            samples += [None] * (v.sample + 1 - len(samples))
            samples[v.sample] = known.setdefault(outcome, outcome)
    return outcomes


def graded(samples: Iterable[Outcome | None]) -> list[Outcome]:
    """Those that have a verdict."""
    return [outcome for outcome in samples if outcome is not None]


def side_by_side(profiles: Sequence[Outcomes]) -> Iterator[tuple[SampleKey, list[Outcome | None]]]:
    """Every sample that any profile graded, with its outcome under each, in the order given."""
    tasks = dict.fromkeys(task for outcomes in profiles for task in outcomes)
    for task in tasks:
        columns = [outcomes.get(task, ()) for outcomes in profiles]
        for sample in range(max(map(len, columns))):
            row = [column[sample] if sample < len(column) else None for column in columns]
            if any(outcome is not None for outcome in row):
                yield SampleKey(task, sample), row


def disputed(row: Iterable[Outcome | None]) -> bool:
    """Whether a sample passes under one profile and fails under another."""
    return len({outcome.passed for outcome in row if outcome is not None}) > 1
