"""Recorded verdicts compared with those of regrading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from truegrade.analysis.audit.evidence import Evidence
from truegrade.analysis.audit.findings import Finding, Severity, finding
from truegrade.analysis.audit.flags import REVERSED
from truegrade.analysis.audit.survey import RecordedVerdict, label
from truegrade.records import ChoiceTask, InputTask, OutputTask, SampleKey


def check_flags(evidence: Evidence) -> Iterator[Finding]:
    """Contradictions in both directions, passes without a program, verdicts on another text."""
    for name, items in _by_name(evidence.survey.recorded):
        yield from _stale(evidence, name, items)
        current = [item for item in items if not item.stale]
        yield from _without_program(evidence, name, current)
        yield from _contradictions(evidence, name, current)


def _by_name(recorded: list[RecordedVerdict]) -> Iterator[tuple[tuple[str, ...], list[RecordedVerdict]]]:
    """Flags by name; names that say the same of every sample are one, such as a bool and its message."""
    alike: dict[tuple[object, ...], tuple[list[str], list[RecordedVerdict]]] = {}
    by_name: dict[str, list[RecordedVerdict]] = {}
    for item in recorded:
        by_name.setdefault(item.flag.name, []).append(item)
    for name, items in by_name.items():
        said = tuple((i.problem_id, i.sample, i.flag.value, i.flag.kind, i.stale) for i in items)
        alike.setdefault(said, ([], items))[0].append(name)
    for names, items in alike.values():
        yield tuple(names), items


def _said(names: tuple[str, ...], items: list[RecordedVerdict]) -> str:
    """Subject and verb of what flags that are recorded as good say: ``'is_solved' calls passed``."""
    quoted = f"{', '.join(names)!r}"
    if any(item.flag.kind == "acceptance" for item in items):
        return f"{quoted}{' (false)' if REVERSED.issuperset(names) else ''} accepts"
    return f"{quoted} {'call' if len(names) > 1 else 'calls'} passed"


def _kind(items: list[RecordedVerdict]) -> str:
    """What a verdict of a list stands beside: a sample of its row."""
    return "samples" if any(item.flag.sample is not None for item in items) else "rows"


def _stale(evidence: Evidence, name: tuple[str, ...], items: list[RecordedVerdict]) -> Iterator[Finding]:
    rows = [_name(evidence, item) for item in items if item.stale]
    if rows:
        yield finding(
            "flag-of-another-text",
            Severity.ERROR,
            rows,
            f"{len(rows)} of {len(items)} verdicts in {', '.join(name)!r} were made on another program: the row's"
            " full_code does not consist of its completion between imports and tests; they are not counted as"
            " contradictions",
            name,
        )


def _without_program(evidence: Evidence, name: tuple[str, ...], items: list[RecordedVerdict]) -> Iterator[Finding]:
    passed = [item for item in items if item.flag.value]
    rows = [_name(evidence, item) for item in passed if _has_no_program(evidence, item)]
    if rows:
        yield finding(
            "flag-without-program",
            Severity.ERROR,
            rows,
            f"{len(rows)} of the {len(passed)} {_kind(items)} that {_said(name, items)} contain no"
            f" {_wanted(evidence)}; without them {len(passed) - len(rows)} of {len(items)} remain",
            name,
        )


def _has_no_program(evidence: Evidence, item: RecordedVerdict) -> bool:
    """No text, or one without a line of code; what a profile's rules lose of a program is not missing."""
    if item.sample is None:
        return not evidence.survey.samples.get(item.problem_id)
    fact = evidence.survey.samples[item.problem_id][item.sample]
    outcome = evidence.outcome(item.problem_id, item.sample)
    return not fact.has_program and not (outcome is not None and outcome.passed)


def _wanted(evidence: Evidence) -> str:
    """What the benchmark asks for."""
    tasks = (problem.task for problem in evidence.problems.values())
    return "answer" if any(isinstance(task, OutputTask | InputTask | ChoiceTask) for task in tasks) else "program"


def _contradictions(evidence: Evidence, name: tuple[str, ...], items: list[RecordedVerdict]) -> Iterator[Finding]:
    false_passes: list[RecordedVerdict] = []
    false_failures: list[RecordedVerdict] = []
    reasons: Counter[str] = Counter()
    for item in items:
        outcome = evidence.outcome(item.problem_id, item.sample)
        if outcome is None or outcome.passed == item.flag.value:
            continue
        (false_passes if item.flag.value else false_failures).append(item)
        reasons.update([outcome.reason.value] if item.flag.value else [])
    accepts = any(item.flag.kind == "acceptance" for item in items)
    claimed = sum(item.flag.value for item in items)
    if false_passes:
        why = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
        yield finding(
            "flag-accepted-wrong" if accepts else "flag-pass-contradicted",
            Severity.WARNING if accepts else Severity.ERROR,
            [_name(evidence, item) for item in false_passes],
            f"{len(false_passes)} of the {claimed} {_kind(items)} that {_said(name, items)} fail under"
            f" {evidence.profile}: {why}" + _sensitive(evidence, false_passes),
            name,
        )
    if false_failures and not accepts:
        yield finding(
            "flag-fail-contradicted",
            Severity.WARNING,
            [_name(evidence, item) for item in false_failures],
            f"{len(false_failures)} of the {len(items) - claimed} {_kind(items)} that"
            f" {_said(name, items).removesuffix('passed')}failed pass under {evidence.profile}"
            + _sensitive(evidence, false_failures),
            name,
        )


def _sensitive(evidence: Evidence, items: list[RecordedVerdict]) -> str:
    """How many of the fresh verdicts hang on the speed of the machine."""
    outcomes = (evidence.outcome(item.problem_id, item.sample) for item in items)
    close = sum(outcome is not None and outcome.time_sensitive for outcome in outcomes)
    return f"; {close} of these verdicts were close to a time limit" if close else ""


def _name(evidence: Evidence, item: RecordedVerdict) -> str:
    return label(SampleKey(item.problem_id, item.sample or 0), evidence.survey.width > 1)
