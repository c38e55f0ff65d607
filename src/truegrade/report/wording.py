"""Explanations of codes, metrics and terms for readers of reports."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType

from truegrade.analysis.standings import Matrix, ProfileCount, RunCount, RunStanding
from truegrade.benchmarks import BENCHMARKS
from truegrade.errors import first_few
from truegrade.pipeline.cautions import Caution
from truegrade.pipeline.sample_cautions import POPULATIONS
from truegrade.pipeline.summary import ProfileSummary, Summary
from truegrade.records import UNANSWERED, Estimate, Reason
from truegrade.report import format as fmt
from truegrade.report.document import Section
from truegrade.report.markup import Child, el
from truegrade.statistics import PairedComparison

REASONS: Mapping[Reason, str] = MappingProxyType(
    {
        Reason.PASSED: "the answer is correct",
        Reason.WRONG_ANSWER: "the program ran and gave a wrong result",
        Reason.RUNTIME_ERROR: "the program raised an exception",
        Reason.SYNTAX_ERROR: "the program is not valid Python",
        Reason.NO_CODE: "the reply contains no program",
        Reason.NO_ANSWER: "the reply contains no answer in the required form",
        Reason.TRUNCATED: "the reply was cut at the token limit before an answer",
        Reason.EXTRACTION_LIMIT: "extracting the answer exceeds the work limit",
        Reason.NOT_LITERAL: "the answer is an expression, not a value",
        Reason.TIME_LIMIT: "the time limit was exceeded",
        Reason.MEMORY_LIMIT: "the memory limit was exceeded",
        Reason.OUTPUT_LIMIT: "the output limit was exceeded",
        Reason.KILLED: "the process was ended by a signal",
        Reason.TAMPERING: "the program tried to influence the grader",
        Reason.GRADER_ERROR: "the grader failed, so the answer was not judged",
    }
)

METRICS: Mapping[str, str] = MappingProxyType(
    {
        "original_pass@1": "probability that one sample is correct, on originals",
        "mutant_pass@1": "probability that one sample is correct, on mutants",
        "changed_pass@1": "probability that one sample is correct, on problems whose statement was changed",
        "preserved_pass@1": "probability that one sample is correct, on rewritings of the same meaning",
        "methods": "classes of tests, one a method and one for all together, that succeed",
        "any_correct": "problems with at least one correct sample",
        "all_correct": "problems for which every sample is correct",
        "all_solutions": "correct samples among all samples",
        "first_sample": "problems whose first sample is correct",
        "reward": "mean reward of the trainer's rule; it may lie below 0 and above 100 %",
        "bugfix": "CORAL-X's score of tests passed: their share, and 20 % where valid code passes none",
        "style": "CORAL-X's score of flake8's findings",
        "security": "CORAL-X's score of bandit's findings; below 0 where there are many",
        "runtime": "CORAL-X's score of the program's text: nothing is timed",
        "syntax": "CORAL-X's score of valid syntax: 90 %, or 0",
        "weighted_sum": "CORAL-X's fitness: .30 bugfix, .15 style, .25 security, .10 runtime, .20 syntax",
    }
)
_AT: Mapping[str, str] = MappingProxyType(
    {
        "pass": "is correct",
        # of summaries of earlier versions, as are the methods above
        "secure": "passes the tests of security, whatever it does else",
        "func-sec": "is correct and passes the tests of security",
    }
)
"""Of metrics with a k: what a sample must do."""

FAMILIES: Mapping[str, str] = MappingProxyType(
    {
        "passed": "passed",
        "failed": "failed",
        "unanswered": "no answer, or cut",
        "grader": "grader error",
        "ungraded": "not graded",
    }
)
"""What `family` returns, in words, and samples without a verdict."""

SHOWN_TASKS = 12
"""Number of problem ids that a sentence lists before it gives the count of the rest."""
NO_ANSWER = "without answer"
"""What `truegrade.records.UNANSWERED` collects: nothing to grade was found in the reply, or it was cut before."""

_LEVELS: Mapping[int, str] = MappingProxyType(
    {
        3: "level 3: namespaces, Landlock and seccomp",
        2: "level 2: Landlock and seccomp, no namespaces",
        1: "level 1: resource limits only",
    }
)


def measured(summary: Summary) -> str:
    """What was measured, on what and with what certainty, in one sentence; of the first profile."""
    profile = summary.profiles[0]
    first = profile.estimates[0]
    subject, solves = (summary.model, "solves")
    if summary.agent is not None:
        subject = f"{summary.agent.agent.partition('@')[0]} with {summary.model}"
    elif summary.imported:
        subject, solves = f"the answers of {summary.model}", "solve"
        subject = "imported answers" if summary.model == "imported" else subject
    kind = POPULATIONS.get(first.metric.removesuffix("_pass@1"), "problems")
    kind = kind.removesuffix("s") if first.tasks + first.left_out == 1 else kind
    number = _rate(first)
    among = (
        f"{number} of {fmt.count(first.tasks + first.left_out)} {kind}" if first.left_out else f"{number} {kind}"
    )
    hiding = {one.value: one.rate for one in profile.splits if one.by == "hidden_behaviour"}
    if first.metric == "pass@1" and {"no", "yes"} <= hiding.keys():  # what no prompt tells says little of a model
        told = f"{_rate(hiding['no'], 'the ')} {kind} of which no hidden detail is known"
        among = f"{told}, and {_rate(hiding['yes'], 'the ')} that hide one from the prompt"
    among += " so far" if how_far(summary) else ""
    rate = f"{solves} {among}" if first.metric.endswith("pass@1") else f"{solves} by {first.metric} {among}"
    each = "one sample" if summary.samples_per_task == 1 else f"{summary.samples_per_task} samples"
    rules = profile.profile.partition("@")[0]
    several = f", the first of {len(summary.profiles)} profiles" if len(summary.profiles) > 1 else ""
    warned = f"; {fmt.plural(len(summary.warnings), 'warning')}" if summary.warnings else ""
    return f"{summary.benchmark}: {subject} {rate}, {each} each, graded by {rules}{several}{warned}"


def _rate(of: Estimate, among: str = "") -> str:
    return f"{fmt.percent(of.value)} {fmt.bounds(of.low, of.high)} of {among}{fmt.count(of.tasks)}"


def how_far(summary: Summary) -> str | None:
    """How far a run has come that is not complete, and what goes on with it; None of a complete one."""
    if all(one.code != "stopped" for one in summary.warnings):
        return None
    replies = f"{fmt.count(summary.answered)} of {fmt.plural(summary.expected, 'sample')} have a reply"
    n = summary.samples_per_task
    verdicts = (
        f"{fmt.count(sum(each.reasons.values()))} of {fmt.count(n * len(each.tasks))} have a verdict under"
        f" {each.profile}"
        for each in summary.profiles
    )
    name, command = summary.benchmark.partition(" (")[0], "the command that began it"
    if name in BENCHMARKS and not summary.imported:
        command = f"truegrade run {name} --model {summary.model}, with the options that it began with"
    return (
        f"{'; '.join([replies, *verdicts])}. Every number here is of these alone, and may change with the rest. To"
        f" go on: {command}."
    )


def so_far(found: RunCount | None) -> str:
    """What a run that is not complete holds, behind why it is not: a count of what came first, no estimate."""
    if found is None:
        return ""
    said = [f"; so far {fmt.count(found.answered)} of {fmt.plural(found.expected, 'sample')} have a reply"]
    said += [
        f"{fmt.count(each.graded)} a verdict under {each.profile} ({passes(each)}, no estimate)"
        for each in found.profiles
    ]
    return ", ".join(said)


def passes(found: ProfileCount) -> str:
    """How many of the verdicts so far pass."""
    share = fmt.percent(found.passed / max(1, found.graded))
    return f"{fmt.count(found.passed)} of {fmt.count(found.graded)} pass, {share}"


def tiers(profile: ProfileSummary) -> str | None:
    """How many passes rest on tests outside the program and on tests beside it, in one line.

    Passes outside are over the problems that are judged so, the others over the other problems. None where the
    profile does not tell them apart.
    """
    if not profile.tiers:
        return None
    tiers = {one.tier: one for one in profile.tiers}
    outside, inside = tiers["outside"], tiers["inside"]
    said = f"{profile.profile}: tests outside the program: {outside.problems} of"
    said += f" {fmt.plural(outside.problems + inside.problems, 'problem')}"
    said += f", pass@1 {fmt.percent(outside.rate.value)}" if outside.rate else ""
    if inside.rate is None:
        return said
    said += f"; passes on the other {inside.problems} by tests beside the program: {inside.passes}"
    said += f", pass@1 {fmt.percent(inside.rate.value)}"
    if (controls := tiers.get("controls")) is not None:
        said += f"; by control runs, which this version no longer makes: {controls.passes}"
    return said


def problems_of(estimates: Sequence[Estimate | None]) -> int | str:
    """Problems that a metric averages over; each profile's where they differ, ``163 / 164``."""
    counts = [None if each is None else each.tasks for each in estimates]
    known = set(counts) - {None}
    if len(known) == 1:
        return next(each for each in counts if each is not None)
    return " / ".join("–" if each is None else fmt.count(each) for each in counts)


def spread_note(warnings: Sequence[Caution]) -> str:
    """Which profiles of a spread were given replies of another form than they take; empty without any."""
    named = [name for one in warnings if one.code == "reply-form" for name in one.profiles]
    return f", of which a part is due to replies in a form that {', '.join(named)} cannot read" if named else ""


def spread(matrix: Matrix) -> str:
    """How far the results of profiles over the same replies lie apart."""
    ends = f"{matrix.lowest} to {matrix.highest}{spread_note(matrix.warnings)}"
    differing = f"{fmt.count(matrix.disagreeing)} of {fmt.plural(matrix.compared, 'sample')}"
    return f"spread {100 * matrix.spread:.1f} points, {ends}; the profiles disagree on {differing}"


def first_tasks(names: Sequence[str]) -> str:
    """The first of many ids, and how many more there are."""
    return first_few(names, SHOWN_TASKS)


def why_missing(summary: Summary) -> str:
    """What a missing sample is, for a table."""
    return (
        "not in the file, or a row without a reply"
        if summary.imported
        else "not requested, or every attempt failed"
    )


def level(number: int | None) -> str:
    """A protection level in words; None: no program was run."""
    if number is None:
        return "no program was executed"
    return _LEVELS.get(number, f"level {number}")


def metric(name: str) -> str:
    """Definition of a metric."""
    kind, _, k = name.partition("@")
    if kind in _AT and k.isdigit():
        one = "one sample" if k == "1" else f"at least one of {k} samples"
        return f"probability that {one} {_AT[kind]}"
    return METRICS.get(name, "")


def family(reason: str) -> str:
    """Colour family of a reason: ``passed``, ``failed``, ``unanswered`` or ``grader``."""
    if reason == Reason.PASSED:
        return "passed"
    if reason == Reason.GRADER_ERROR:
        return "grader"
    return "unanswered" if reason in UNANSWERED else "failed"


def outcomes(*, same_replies: bool) -> tuple[str, str]:
    """What the second of a pair does on a problem that counts for it, and against it."""
    return ("accepts more", "accepts less") if same_replies else ("better", "worse")


def conclusion(c: PairedComparison, first: str, second: str, *, same_replies: bool = False) -> str:
    """What the interval of a difference says, in words; of two profiles over one run's replies none is better."""
    if c.low is None or c.high is None:
        return "No interval is available (one cluster), so significance is not assessed."
    more, less = (second, first) if c.difference > 0 else (first, second)
    undecided = c.low <= 0 <= c.high
    if same_replies:
        said = "neither profile accepts significantly more" if undecided else f"{more} accepts more than {less}"
        return f"The interval {'in' if undecided else 'ex'}cludes 0: of the same replies, {said}."
    if undecided:
        return "The interval includes 0: the difference is not statistically significant."
    return f"The interval excludes 0: {more} is significantly better on these problems."


def interval(estimate: Estimate) -> str:
    """How an interval was computed, or why there is none."""
    if estimate.low is None:
        return f"not available ({'one cluster' if estimate.clusters == 1 else estimate.method})"
    samples = fmt.plural(estimate.samples, "sample")
    if estimate.clusters == estimate.tasks:
        return f"{estimate.method}, over {fmt.plural(estimate.tasks, 'problem')}, {samples}"
    clusters = fmt.plural(estimate.clusters, "cluster")
    return f"{estimate.method}, over {clusters} of related problems ({fmt.count(estimate.tasks)}), {samples}"


def after_cutoff(profile: ProfileSummary | RunStanding, cutoff: str | None) -> str | None:
    """What the rate after a model's cut-off is against that before it; None without contests on both sides."""
    gap = profile.after_cutoff
    if gap is None:
        return None
    return (
        f"{profile.profile}: pass@1 after {cutoff} minus pass@1 up to it: {fmt.points(gap.difference)} points"
        f" {fmt.bounds(gap.low, gap.high)}; the two groups hold different problems, so a gap alone does not show"
        " contamination"
    )


# --------------------------- The terms of a report: explained where they stand, and listed at the end of the page.


TERMS: Mapping[str, str] = MappingProxyType(
    {
        "95 % CI": "95 % confidence interval: in 95 of 100 such runs the interval so computed holds the true rate;"
        " numbers in brackets are its ends",
        "clusters": "problems that share a question and are not independent; intervals are computed over clusters",
        "disagreeing": "samples that pass under one profile and fail under another",
        "missing": "samples without a reply; they are not scored",
        "problem": "one item of a benchmark: what is asked, and the tests of an answer",
        "profile": "the rules of one evaluation harness at a named version: prompt, extraction, tests, limits",
        "protection": "what separates a graded program from this machine",
        "sample": "one reply of the model to a problem",
        "spread": "the largest result of a profile less the smallest, on the same replies",
        "truncated": "replies cut at the token limit; graded like any other",
        "without answer": "replies that hold no program or no answer; they count as failures",
        "verdict": "what grading one sample came to: passed, or why not",
    }
)
"""Term -> what it means; metrics are in `metric`."""


@cache
def _words(terms: frozenset[str]) -> re.Pattern[str]:
    longest = sorted(map(re.escape, sorted(terms)), key=len, reverse=True)
    return re.compile(r"(?<![\w@/-])(" + "|".join(longest) + r"|(?:[a-z_]*pass|eff)@\d+)(s?)(?![\w-])")


def explained(text: str, terms: Mapping[str, str] = TERMS) -> Child:
    """A text in which each term, where it first stands, shows on hover what it means."""
    parts: list[Child] = []
    seen, place = set(), 0
    for found in _words(frozenset(terms)).finditer(text):
        term = found[1]
        meaning = terms.get(term) or metric(term)
        if term in seen or not meaning:
            continue
        seen.add(term)
        parts += [text[place : found.start()], el("abbr", found[0], title=meaning)]
        place = found.end()
    return [*parts, text[place:]]


def glossary_section(summary: Summary) -> Section:
    """The terms that a page of this run uses."""
    metrics = dict.fromkeys(e.metric for profile in summary.profiles for e in profile.estimates)
    meant = {**{name: said for name in metrics if (said := metric(name))}, **TERMS}
    return terms_section(meant)


def terms_section(terms: Mapping[str, str]) -> Section:
    """A list of terms and what they mean, as the last section of a page."""
    rows = (el("div", el("dt", name), el("dd", said)) for name, said in terms.items())
    return Section("glossary", "Terms", [el("dl", rows, class_="glossary")])
