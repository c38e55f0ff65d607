"""The verdicts that count, by problem and sample, as far as numbers need them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from truegrade.grading.marks import packages_missed
from truegrade.records import Reason, SampleKey
from truegrade.store.facts import VerdictFacts

SHOWN_ERRORS = 5
"""Problems, or packages, that a warning names."""


VerdictTable = Mapping[str, Sequence[VerdictFacts | None]]
"""Under one profile: by problem, then by sample; None where there is no verdict."""


def verdict_table(verdicts: Iterable[VerdictFacts], tasks: Container[str], samples_per_task: int) -> VerdictTable:
    """The verdicts of the problems and samples that count; a later verdict on a sample replaces an earlier one.

    Args:
        verdicts: of one profile, in the order they were written.
        tasks: ids of the problems that count.
        samples_per_task: samples beyond this number do not count.
    """
    table: dict[str, list[VerdictFacts | None]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.problem_id in tasks and verdict.sample < samples_per_task:
            samples = table[verdict.problem_id]
            samples += [None] * (verdict.sample + 1 - len(samples))
            samples[verdict.sample] = verdict
    return table


def graded(samples: Iterable[VerdictFacts | None]) -> list[VerdictFacts]:
    """Those that have a verdict."""
    return [outcome for outcome in samples if outcome is not None]


def counted(samples: Iterable[VerdictFacts | None]) -> list[VerdictFacts]:
    """Those whose verdict says something about the answer: a grader's error stands in no denominator."""
    return [outcome for outcome in graded(samples) if outcome.reason is not Reason.GRADER_ERROR]


def side_by_side(profiles: Sequence[VerdictTable]) -> Iterator[tuple[SampleKey, list[VerdictFacts | None]]]:
    """Every sample that any profile graded, with its outcome under each, in the order given."""
    tasks = dict.fromkeys(task for outcomes in profiles for task in outcomes)
    for task in tasks:
        columns = [outcomes.get(task, ()) for outcomes in profiles]
        for sample in range(max(map(len, columns))):
            row = [column[sample] if sample < len(column) else None for column in columns]
            if any(outcome is not None for outcome in row):
                yield SampleKey(task, sample), row


def disputed(row: Iterable[VerdictFacts | None]) -> bool:
    """Whether a sample passes under one profile and fails under another."""
    return len({outcome.passed for outcome in counted(row)}) > 1


def grader_errors(verdicts: Iterable[VerdictFacts], outcomes: VerdictTable) -> dict[str, str]:
    """What went wrong on our side, by problem.

    Args:
        verdicts: of one profile.
        outcomes: the same, as `verdict_table` gives them.
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


def missing_packages(outcomes: Sequence[VerdictFacts]) -> list[str]:
    """The warning about programs that failed for a package that they may not import; empty without any."""
    missed = Counter(name for outcome in outcomes for name in packages_missed(outcome.marks))
    named = ", ".join(f"{name} {count}" for name, count in missed.most_common(SHOWN_ERRORS))
    said = (
        f"{missed.total()} of {len(outcomes)} programs failed for a package that programs cannot import here"
        f" ({named}); `packages` NAME offers one that is installed"
    )
    return [said] if missed else []
