"""What codes mean, in words for a reader who sees them for the first time."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from truegrade.pipeline.summary import ProfileSummary, Summary
from truegrade.records import UNANSWERED, Reason
from truegrade.report import format as fmt
from truegrade.statistics import PairedComparison

REASONS: Mapping[Reason, str] = MappingProxyType(
    {
        Reason.PASSED: "the answer is right",
        Reason.WRONG_ANSWER: "it ran, and gave something else",
        Reason.RUNTIME_ERROR: "it raised an exception",
        Reason.SYNTAX_ERROR: "it is not valid Python",
        Reason.NO_CODE: "the reply holds no program",
        Reason.NO_ANSWER: "the reply holds no answer in the form asked for",
        Reason.TRUNCATED: "the reply was cut at the token limit before an answer",
        Reason.EXTRACTION_LIMIT: "the reply takes too much work to read",
        Reason.NOT_LITERAL: "the answer is an expression, not a value",
        Reason.TIME_LIMIT: "it used up its time",
        Reason.MEMORY_LIMIT: "it used up its memory",
        Reason.OUTPUT_LIMIT: "it wrote too much",
        Reason.KILLED: "its process was ended by a signal",
        Reason.TAMPERING: "it tried to reach the grader",
        Reason.GRADER_ERROR: "the grader failed: nothing is known about the answer",
    }
)

METRICS: Mapping[str, str] = MappingProxyType(
    {
        "any_correct": "tasks with at least one right sample",
        "all_correct": "tasks whose every sample is right",
        "all_solutions": "right samples of all samples",
    }
)

FAMILIES: Mapping[str, str] = MappingProxyType(
    {
        "passed": "passed",
        "failed": "failed",
        "unanswered": "unanswered or cut",
        "grader": "grader error",
        "ungraded": "not graded",
    }
)
"""What `family` returns, in words, and samples without a verdict."""

_LEVELS: Mapping[int, str] = MappingProxyType(
    {
        3: "level 3: namespaces, Landlock and seccomp",
        2: "level 2: Landlock and seccomp, no namespaces",
        1: "level 1: resource limits only",
    }
)


def missing(summary: Summary) -> str:
    """That samples have no reply, and what can be done about it."""
    absent = f"{fmt.count(summary.missing)} of {fmt.plural(summary.expected, 'sample')}"
    if summary.imported:
        most = f"whose tasks have up to {fmt.plural(summary.samples_per_task, 'sample')}"
        return f"{absent} are not in the file, {most}, and are not scored"
    return f"{absent} have no reply and are not scored; the same command asks for them again"


def why_missing(summary: Summary) -> str:
    """What a missing sample is, for a table."""
    return "not in the file" if summary.imported else "never asked, or every attempt failed"


def level(number: int | None) -> str:
    """A protection level in words; None says that no program was run."""
    if number is None:
        return "nothing was executed"
    return _LEVELS.get(number, f"level {number}")


def metric(name: str) -> str:
    """What a metric is the share of."""
    if name.startswith("pass@"):
        k = name.removeprefix("pass@")
        return (
            "chance that one sample is right" if k == "1" else f"chance that at least one of {k} samples is right"
        )
    return METRICS.get(name, "")


def family(reason: str) -> str:
    """Colour family of a reason: ``passed``, ``failed``, ``unanswered`` or ``grader``."""
    if reason == Reason.PASSED:
        return "passed"
    if reason == Reason.GRADER_ERROR:
        return "grader"
    return "unanswered" if reason in UNANSWERED else "failed"


def conclusion(c: PairedComparison, first: str, second: str) -> str:
    """What the interval of a difference says, in words."""
    if c.low is None or c.high is None:
        return "No interval can be had, so nothing can be said about chance."
    if c.low <= 0 <= c.high:
        return "The interval holds 0: chance alone can make this difference."
    return f"The interval excludes 0: {second if c.difference > 0 else first} is better on these tasks."


def after_cutoff(profile: ProfileSummary, cutoff: str | None) -> str | None:
    """What the rate after a model's cut-off is against that before it; None without contests on both sides."""
    gap = profile.after_cutoff
    if gap is None:
        return None
    return (
        f"{profile.profile}: pass@1 after {cutoff} less that up to it: {fmt.points(gap.difference)} points"
        f" {fmt.bounds(gap.low, gap.high)}; other problems, which may be harder or easier, so this alone does not"
        " show that the earlier ones were learned"
    )
