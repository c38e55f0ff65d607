"""Verdicts, as little of them as numbers need: a hundred thousand samples fit in a megabyte."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

import msgspec

from truegrade.grading.marks import packages_missed
from truegrade.records import Reason, SampleKey
from truegrade.store.facts import VerdictFacts

SHOWN_ERRORS = 5
"""Problems, or packages, that a warning names."""


class BriefVerdict(msgspec.Struct, frozen=True):
    """The part of a verdict that is counted. Equal ones are one object, so a sample costs a pointer."""

    passed: bool
    reason: Reason
    truncated: bool = False
    time_sensitive: bool = False
    marks: tuple[str, ...] = ()


BriefVerdicts = Mapping[str, Sequence[BriefVerdict | None]]
"""Under one profile: by problem, then by sample; None where there is no verdict."""


def read_brief_verdicts(
    verdicts: Iterable[VerdictFacts], tasks: Container[str], samples_per_task: int
) -> BriefVerdicts:
    """Brief verdicts of the problems and samples that count; a later verdict on a sample replaces an earlier one.

    Args:
        verdicts: of one profile, in the order they were written.
        tasks: ids of the problems that count.
        samples_per_task: samples beyond this number do not count.
    """
    outcomes: dict[str, list[BriefVerdict | None]] = defaultdict(list)
    known: dict[BriefVerdict, BriefVerdict] = {}
    for v in verdicts:
        if v.problem_id in tasks and v.sample < samples_per_task:
            outcome = BriefVerdict(v.passed, v.reason, v.truncated, v.time_sensitive, v.marks)
            samples = outcomes[v.problem_id]
            samples += [None] * (v.sample + 1 - len(samples))
            samples[v.sample] = known.setdefault(outcome, outcome)
    return outcomes


def graded(samples: Iterable[BriefVerdict | None]) -> list[BriefVerdict]:
    """Those that have a verdict."""
    return [outcome for outcome in samples if outcome is not None]


def counted(samples: Iterable[BriefVerdict | None]) -> list[BriefVerdict]:
    """Those whose verdict says something about the answer: a grader's error stands in no denominator."""
    return [outcome for outcome in graded(samples) if outcome.reason is not Reason.GRADER_ERROR]


def side_by_side(profiles: Sequence[BriefVerdicts]) -> Iterator[tuple[SampleKey, list[BriefVerdict | None]]]:
    """Every sample that any profile graded, with its outcome under each, in the order given."""
    tasks = dict.fromkeys(task for outcomes in profiles for task in outcomes)
    for task in tasks:
        columns = [outcomes.get(task, ()) for outcomes in profiles]
        for sample in range(max(map(len, columns))):
            row = [column[sample] if sample < len(column) else None for column in columns]
            if any(outcome is not None for outcome in row):
                yield SampleKey(task, sample), row


def disputed(row: Iterable[BriefVerdict | None]) -> bool:
    """Whether a sample passes under one profile and fails under another."""
    return len({outcome.passed for outcome in counted(row)}) > 1


def grader_errors(verdicts: Iterable[VerdictFacts], outcomes: BriefVerdicts) -> dict[str, str]:
    """What went wrong on our side, by problem.

    Args:
        verdicts: of one profile.
        outcomes: the same, as `read_brief_verdicts` gives them.
    """
    failed = {task for task, samples in outcomes.items() if len(counted(samples)) < len(graded(samples))}
    if not failed:
        return {}
    told = (v for v in verdicts if v.reason is Reason.GRADER_ERROR and v.problem_id in failed)
    return {verdict.problem_id: verdict.detail for verdict in told}


def errors_named(errors: Mapping[str, str]) -> str:
    """The warning about `grader_errors`."""
    shown = ", ".join(list(errors)[:SHOWN_ERRORS]) + (", …" if len(errors) > SHOWN_ERRORS else "")
    tasks = "1 problem" if len(errors) == 1 else f"{len(errors)} problems"
    return (
        f"grader errors on {tasks} ({shown}) are excluded from all estimates; the first:"
        f" {next(iter(errors.values()), 'unknown')}"
    )


def missing_packages(outcomes: Sequence[BriefVerdict]) -> list[str]:
    """The warning about programs that failed for a package that they may not import; empty without any."""
    missed = Counter(name for outcome in outcomes for name in packages_missed(outcome.marks))
    named = ", ".join(f"{name} {count}" for name, count in missed.most_common(SHOWN_ERRORS))
    said = (
        f"{missed.total()} of {len(outcomes)} programs failed for a package that programs cannot import here"
        f" ({named}); `packages` NAME offers one that is installed"
    )
    return [said] if missed else []
