"""Two files of one pipeline: duplicates, and official tests used as feedback.

A pipeline that samples anew exactly those problems whose completion failed the benchmark's own tests reports the
best of several attempts with an oracle. It shows in the files: no completion that passed was ever changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb

import msgspec

from truegrade.analysis.audit.evidence import Evidence
from truegrade.analysis.audit.findings import Finding, Severity, finding

CHANCE = 1e-3
"""Feedback is claimed only where chance would leave this few passed problems unchanged less often than this."""

SLIPS = 0.15
"""Share of the changed problems that may have passed here: another grader's time limit or rules failed them."""


class Rounds(msgspec.Struct, frozen=True, kw_only=True):
    """What changed from one file to the next."""

    tasks: int
    """In both files."""
    failed: int
    """Problems of the earlier file that do not pass."""
    changed: list[str]
    changed_passed: list[str]
    """Changed although they pass."""
    p_value: float
    """Chance of so few passed problems among the changed, had these been chosen regardless of the verdict."""


def check_rounds(evidence: Evidence, previous: Evidence) -> Iterator[Finding]:
    """Compare a file with an earlier one, both graded afresh."""
    name = previous.survey.path.name
    rounds = compare_rounds(evidence, previous)
    if evidence.survey.file_sha256 == previous.survey.file_sha256:
        yield finding("file-duplicated", Severity.ERROR, [], f"identical to {name}, byte for byte")
    elif rounds.tasks and not rounds.changed:
        yield finding(
            "completions-duplicated",
            Severity.ERROR,
            [],
            f"all completions of the {rounds.tasks} problems shared with {name} are identical",
        )
    elif rounds.p_value < CHANCE and len(rounds.changed_passed) <= SLIPS * len(rounds.changed):
        yield finding(
            "official-feedback",
            Severity.ERROR,
            rounds.changed,
            f"{len(rounds.changed)} of {rounds.tasks} problems changed since {name}, {_who(rounds)} fail the"
            f" benchmark's own tests there under {evidence.profile} ({rounds.failed} do;"
            f" p = {rounds.p_value:.1g}): the official tests were used as feedback, so the result is best of"
            " several attempts with an oracle, not pass@1",
        )


def compare_rounds(evidence: Evidence, previous: Evidence) -> Rounds:
    """Which problems changed, and how many of those had passed.

    The p-value is the lower tail of the hypergeometric distribution.
    """
    common = [
        task for task, facts in evidence.survey.samples.items() if facts and previous.survey.samples.get(task)
    ]
    passed = {task for task in common if previous.passes_all(task)}
    changed = [task for task in common if evidence.survey.texts(task) != previous.survey.texts(task)]
    kept = [task for task in changed if task in passed]
    return Rounds(
        tasks=len(common),
        failed=len(common) - len(passed),
        changed=changed,
        changed_passed=kept,
        p_value=hypergeometric_tail(len(common), len(passed), len(changed), len(kept)),
    )


def hypergeometric_tail(tasks: int, passed: int, drawn: int, at_most: int) -> float:
    """Chance that ``drawn`` of ``tasks``, drawn blindly, hold at most ``at_most`` of the ``passed`` ones."""
    ways = sum(comb(passed, hit) * comb(tasks - passed, drawn - hit) for hit in range(min(at_most, drawn) + 1))
    return ways / comb(tasks, drawn)


def _who(rounds: Rounds) -> str:
    slips = len(rounds.changed_passed)
    return f"all but {slips} of which" if slips else "all of which"
