"""Possible explanations of a difference between claim and run: metric, subset, cut replies, time limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from truegrade.analysis.published_number import MEANS, own_count
from truegrade.analysis.standings import tallies_of
from truegrade.benchmarks.mbpp import split_of
from truegrade.pipeline.summary import ProfileSummary, Summary
from truegrade.pipeline.verdict_table import VerdictTable, first_sample, verdict_table
from truegrade.records import UNANSWERED, Reason
from truegrade.statistics import TaskTally
from truegrade.statistics.claims import Claim, fits
from truegrade.store import Run
from truegrade.store.facts import VerdictFacts

FIRST_TASKS = 100
"""The part that quick experiments answer."""

Matches = Callable[[Sequence[TaskTally], str], tuple[bool, str] | None]
"""``matches(tallies, metric)``: whether that number is exactly the claim, and the sentence; None if the claim does
not even lie inside its interval."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """One possible cause."""

    kind: str
    """profile, metric, subset, truncated, unanswered, time, missing, prompt or percent."""
    explains: bool
    """Whether it is enough to bridge the difference; else the sentence says that it is not."""
    exact: bool = False
    """Whether it gives exactly the claim."""
    sentence: str


def explain(
    run: Run, summary: Summary, profile: ProfileSummary, claim: Claim, metric: str, matches: Matches
) -> list[Explanation]:
    """Look for causes, those that suffice first. None of them is proven: they say where to look.

    Args:
        run: graded.
        summary: of it.
        profile: the rules in question.
        claim: the number that should be explained.
        metric: what it is said to be.
        matches: tells whether other tallies or another metric give the claim, or an interval around it.
    """
    tallies = tallies_of(profile)
    outcomes = verdict_table(
        run.verdict_facts(profile.profile), {tally.task_id for tally in tallies}, summary.samples_per_task
    )
    found = [
        *_as_fraction(claim),
        *_metrics(tallies, metric, matches),
        *_first_sample(profile, outcomes, claim),
        *_subsets(summary, claim, tallies, metric, matches),
        *(_missing_as_wrong(run, summary, tallies, claim) if metric in MEANS else ()),
        *(_verdicts(tallies, outcomes, summary.samples_per_task, claim) if metric in MEANS else ()),
        *_prompt(run),
    ]
    return sorted(found, key=lambda cause: not cause.explains)


def _as_fraction(claim: Claim) -> Iterator[Explanation]:
    """A claim such as 0.677 was probably meant as 67.7 %."""
    if 0 < claim.value <= 1 / 100 and claim.decimals >= 2:
        meant = f"{100 * float(claim.text):.{claim.decimals - 2}f}"
        yield Explanation(
            kind="percent",
            explains=False,
            sentence=f"the claim was read as {claim.text} per cent; if a fraction was meant, the claim is {meant}",
        )


def _metrics(tallies: Sequence[TaskTally], metric: str, matches: Matches) -> Iterator[Explanation]:
    """The claim may be another metric than it is said to be."""
    most = max((tally.n for tally in tallies), default=0)
    if most < 2:
        return
    for other in ("pass@1", "any_correct", "all_correct", "all_solutions"):
        found = matches(tallies, other) if other != metric else None
        # Where every task has as many samples, these two are one number and prove nothing against each other.
        if found is not None and {other, metric} != {"pass@1", "all_solutions"}:
            yield Explanation(
                kind="metric",
                explains=True,
                exact=found[0],
                sentence=f"read as {other} over {most} samples per problem, {found[1]}",
            )


def _first_sample(profile: ProfileSummary, outcomes: VerdictTable, claim: Claim) -> Iterator[Explanation]:
    found = first_sample({line.id: line.cluster for line in profile.tasks}, outcomes)
    several = any(line.n > 1 for line in profile.tasks)
    if not several or found is None:
        return
    own = own_count(claim, round(found.value * found.tasks), found.tasks, "problems")
    if own.agrees:
        yield Explanation(
            kind="metric",
            explains=True,
            exact=True,
            sentence=f"the first sample of each problem alone, {own.sentence}",
        )


def _missing_as_wrong(
    run: Run, summary: Summary, tallies: Sequence[TaskTally], claim: Claim
) -> Iterator[Explanation]:
    """Samples of the benchmark that the run lacks may have been counted as failures."""
    total = run.manifest.benchmark.problems * summary.samples_per_task
    missing = total - sum(tally.n for tally in tallies)
    if missing <= 0 or summary.excluded:
        return
    own = own_count(claim, sum(tally.c for tally in tallies), total, "draws")
    if own.agrees:
        yield Explanation(
            kind="missing",
            explains=True,
            exact=True,
            sentence=f"{missing} of {total} samples are missing; with these counted as wrong, {own.sentence}",
        )


def _subsets(
    summary: Summary, claim: Claim, tallies: Sequence[TaskTally], metric: str, matches: Matches
) -> Iterator[Explanation]:
    """The claim may be about a part of the problems; its digits must fit that part."""
    for name, part in _parts(summary.benchmark, tallies).items():
        fitting = 1 < len(part) < len(tallies) and fits(claim, [len(part)], {1, summary.samples_per_task})
        found = matches(part, metric) if fitting else None
        if found is not None:
            yield Explanation(
                kind="subset",
                explains=True,
                exact=found[0],
                sentence=f"on {name} ({len(part)} problems), {found[1]}",
            )


def _parts(benchmark: str, tallies: Sequence[TaskTally]) -> Mapping[str, Sequence[TaskTally]]:
    """Parts of a benchmark that papers report on."""
    parts: dict[str, Sequence[TaskTally]] = {f"the first {FIRST_TASKS}": tallies[:FIRST_TASKS]}
    if benchmark in ("mbpp", "mbpp-sanitized"):
        for split in ("test", "validation", "train"):
            kept = [t for t in tallies if split_of(int(t.task_id.rpartition("/")[2])) == split]
            parts[f"the {split} split"] = kept
    return parts


# ------------------------------------------------------------------------------------------ verdicts


def _verdicts(
    tallies: Sequence[TaskTally],
    outcomes: VerdictTable,
    samples: int,
    claim: Claim,
) -> Iterator[Explanation]:
    """Verdicts that other circumstances could turn: how far would the number move if all of them turned?"""
    ours = _mean(tallies)
    if claim.low > ours:
        kinds: dict[str, tuple[str, Callable[[VerdictFacts], bool]]] = {
            "truncated": ("were cut at the token limit", lambda o: o.truncated),
            "unanswered": ("contained no answer", lambda o: o.reason in UNANSWERED and not o.truncated),
            "time": ("exceeded the time limit", lambda o: o.reason is Reason.TIME_LIMIT),
        }
        for kind, (words, holds) in kinds.items():
            turned = _turned(outcomes, lambda o, holds=holds: not o.passed and holds(o))  # type: ignore[misc]
            yield from _if_turned(kind, f"replies {words}", turned, +1, tallies, claim)
        missing = {tally.task_id: samples - tally.n for tally in tallies if tally.n < samples}
        yield from _if_turned("missing", "samples are missing", missing, +1, tallies, claim)
    elif claim.high < ours:
        turned = _turned(outcomes, lambda o: o.passed and o.time_sensitive)
        yield from _if_turned("time", "passes used half of the time limit or more", turned, -1, tallies, claim)


def _turned(outcomes: VerdictTable, holds: Callable[[VerdictFacts], bool]) -> dict[str, int]:
    """How many outcomes of each problem hold, problems without any left out."""
    counts = {task: sum(o is not None and holds(o) for o in row) for task, row in outcomes.items()}
    return {task: count for task, count in counts.items() if count}


def _if_turned(
    kind: str, words: str, turned: Mapping[str, int], sign: int, tallies: Sequence[TaskTally], claim: Claim
) -> Iterator[Explanation]:
    """Count again with all of them right (+1) or wrong (-1)."""
    if not turned:
        return
    reached = _mean([_recount(tally, kind, sign * turned.get(tally.task_id, 0)) for tally in tallies])
    enough = reached >= claim.low if sign > 0 else reached <= claim.high
    yield Explanation(
        kind=kind,
        explains=enough,
        sentence=f"{sum(turned.values())} {words}; if all of them were {'correct' if sign > 0 else 'wrong'}, the"
        " rate"
        f" would be {100 * reached:.1f} %,"
        f" {'which reaches the claim' if enough else 'which does not reach the claim'}",
    )


def _recount(tally: TaskTally, kind: str, change: int) -> TaskTally:
    """The tally with ``change`` more right samples; missing ones also add to the samples."""
    n = tally.n + change if kind == "missing" else tally.n
    return msgspec.structs.replace(tally, n=n, c=max(0, min(n, tally.c + change)))


def _mean(tallies: Sequence[TaskTally]) -> float:
    """pass@1 of the problems that have samples."""
    shares = [tally.c / tally.n for tally in tallies if tally.n]
    return sum(shares) / len(shares) if shares else 0.0


def _prompt(run: Run) -> Iterator[Explanation]:
    """Nothing stored says how the claim's prompt was worded; say how this run's was."""
    config = run.manifest.generation
    words = (
        f"used the prompts of {config.prompt_rule}" if config is not None else "was imported with unknown prompts"
    )
    yield Explanation(
        kind="prompt",
        explains=False,
        sentence=f"this run {words}; another prompt, model version or temperature may account for the difference",
    )
