"""Comparison of a published number with a stored run: a verdict per profile, and possible explanations.

`truegrade check` answers by it. It reads stored files and grades nothing. The statistics
are in `truegrade.statistics.claims`.

Possible explanations of a difference between claim and run: metric, subset, cut replies, time limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum

import msgspec

from truegrade.analysis.audit.findings import Audit, Finding, Severity
from truegrade.analysis.published_number import (
    MEANS,
    Agreement,
    OwnNumber,
    PublishedNumber,
    Question,
    estimate_of,
    own_count,
    own_number,
    resolve,
)
from truegrade.analysis.standings import tallies_of
from truegrade.benchmarks.mbpp import split_of
from truegrade.errors import UserError
from truegrade.files.json_text import read_json
from truegrade.pipeline.cautions import Caution
from truegrade.pipeline.summary import ProfileSummary, Summary, read_summary
from truegrade.pipeline.verdicts import VerdictTable, first_sample, verdict_table
from truegrade.records import UNANSWERED, Estimate, Reason
from truegrade.statistics import TaskTally
from truegrade.statistics.claims import Claim, Fit, effective_draws, fits, independent_p, same_tasks_p
from truegrade.statistics.tally import is_metric
from truegrade.store import Run
from truegrade.store.facts import VerdictKind
from truegrade.store.manifest import AUDIT

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
        kinds: dict[str, tuple[str, Callable[[VerdictKind], bool]]] = {
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


def _turned(outcomes: VerdictTable, holds: Callable[[VerdictKind], bool]) -> dict[str, int]:
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


SMALL_P = 0.05
"""The p-value under which a difference is called more than chance."""


class ReplicationOutcome(StrEnum):
    """What became of a claim: whether an independent draw could give it."""

    REPRODUCED = "reproduced"
    """It is our own number, or its digits fit its denominator and it lies inside our interval."""
    NOT_REPRODUCED = "not reproduced"
    """It fits its denominator, and lies outside."""
    NOT_COMPARABLE = "not comparable"
    """It and the run do not measure the same thing."""


class ProfileResult(msgspec.Struct, frozen=True, kw_only=True):
    """The claim under one profile."""

    profile: str
    outcome: ReplicationOutcome
    why: list[str]
    """Sentences."""
    obstacles: list[str]
    """Those of them that say why claim and run do not measure the same thing; empty if they do."""
    estimate: Estimate | None
    """Ours; None where the run cannot give the metric."""
    own: OwnNumber | None
    """Our number beside the claim; None with ``estimate``."""
    p_independent: float | None = None
    """See `truegrade.statistics.claims.independent_p`."""
    p_same_tasks: float | None = None
    """See `truegrade.statistics.claims.same_tasks_p`; None unless every problem has two samples or more."""


class Replication(msgspec.Struct, frozen=True, kw_only=True):
    """A claim against a run. Shares are fractions."""

    run: str
    benchmark: str
    model: str
    claim: str
    claim_low: float
    claim_high: float
    metric: str
    tasks: int
    """Problems of the run."""
    samples: int
    """Samples per problem of the run."""
    claimed_samples: int | None
    """Samples per problem behind the claim, where known."""
    tolerance: float
    """By how much the claim may miss the interval."""
    fits: list[Fit]
    """Denominators that can print the claim."""
    result: ProfileResult
    """Under the profile in question."""
    others: list[ProfileResult]
    """Under the other profiles of the run."""
    explanations: list[Explanation]
    """What could explain a difference. None where the claim is the run's own number; only what gives exactly
    the claim where it is reproduced."""
    audited: bool | None
    """Whether the run keeps an audit of the file that it was made of; None where it was not made of a file."""
    condemned: list[str]
    """Sentences of that audit: what in the file must not count."""
    warnings: list[Caution] = []
    """Of the run."""

    @property
    def holds(self) -> bool:
        """Whether the claim is reproduced, and no audit says that the number must not count."""
        return self.result.outcome is ReplicationOutcome.REPRODUCED and not self.condemned


def replicate(run: Run, published: PublishedNumber, *, profile: str | None = None) -> Replication:
    """Hold a claim against a graded run.

    Args:
        run: graded.
        published: the claim.
        profile: the rules in question, by name or id; None for the first that the run was graded under.

    Raises:
        UserError: the run was not graded, or no such profile.
        UnknownName: no such metric.
    """
    summary = read_summary(run)
    asked = {item.profile: resolve(run, summary, item, published) for item in summary.profiles}
    wanted = run.profile_id(profile) if profile is not None else summary.profiles[0].profile
    if wanted not in asked:
        raise UserError(f"{run.given}: its summary lacks {wanted}; grade it again under that profile")
    results = {name: _judge(question, name) for name, question in asked.items()}
    result, question = results.pop(wanted), asked[wanted]
    audited = stored_audit(run)
    return Replication(
        run=str(run.given),
        benchmark=summary.benchmark,
        model=summary.model,
        claim=question.claim.text,
        claim_low=question.claim.low,
        claim_high=question.claim.high,
        metric=question.metric,
        tasks=summary.tasks,
        samples=summary.samples_per_task,
        claimed_samples=question.samples,
        tolerance=question.tolerance,
        fits=list(question.fits),
        result=result,
        others=list(results.values()),
        explanations=_explanations(run, summary, question, result, list(results.values())),
        audited=None if run.manifest.imported_from is None else audited is not None,
        condemned=[f.sentence for f in audited.findings if f.severity is Severity.ERROR] if audited else [],
        warnings=summary.warnings,
    )


def _explanations(
    run: Run, summary: Summary, asked: Question, result: ProfileResult, others: Sequence[ProfileResult]
) -> list[Explanation]:
    """What could explain that the run's own number is not the claim."""
    if result.own is not None and result.own.agrees:
        return []

    def matches(tallies: Sequence[TaskTally], metric: str) -> tuple[bool, str] | None:
        """Whether other tallies or another metric give exactly the claim or only cover it, and the sentence."""
        if not is_metric(metric):
            return None  # no tallies give it
        own, found = own_number(asked.claim, metric, tallies), estimate_of(metric, tallies)
        if own is None or found is None or not (own.agrees or asked.inside(found)):
            return None
        interval = "" if own.agrees else "; the claim lies inside its interval"
        return own.agrees, own.sentence + interval

    chosen = next(item for item in summary.profiles if item.profile == result.profile)
    found = [*_other_profiles(others), *explain(run, summary, chosen, asked.claim, asked.metric, matches)]
    return [cause for cause in found if cause.exact or result.outcome is not ReplicationOutcome.REPRODUCED]


def stored_audit(run: Run) -> Audit | None:
    """The audit that a run keeps; None if it keeps none.

    Raises:
        BadRecord: the file is no audit.
    """
    path = run.path / AUDIT
    if not path.is_file():
        return None
    return read_json(path, Audit, "write it anew with `truegrade check FILE --json`, or remove it")


# ---------------------------------------------------------------------------------------- the verdict


def _judge(asked: Question, profile: str) -> ProfileResult:
    ours, own = asked.ours, asked.own
    p_values = _p_values(asked, ours)
    result = ProfileResult(
        profile=profile,
        outcome=ReplicationOutcome.NOT_COMPARABLE,
        why=[*asked.obstacles, *([own.sentence] if own is not None and own.agrees else [])],
        obstacles=list(asked.obstacles),
        estimate=ours,
        own=own,
        **p_values,
    )
    if ours is None or own is None or asked.obstacles:
        return result
    if asked.no_fit is not None or (ours.low is None and not own.agrees):
        return msgspec.structs.replace(result, why=[asked.no_fit or asked.position(ours)])
    inside = asked.holds(ours)
    told = own.agrees or any(fit.denominator == own.total for fit in asked.fits[:1])
    digits = [] if told else [asked.digits()]
    return msgspec.structs.replace(
        result,
        outcome=ReplicationOutcome.REPRODUCED if inside else ReplicationOutcome.NOT_REPRODUCED,
        why=[own.sentence, asked.position(ours), *digits, *_chance(inside, **p_values)],
    )


def _p_values(asked: Question, ours: Estimate | None) -> dict[str, float | None]:
    """Both p-values, where they can be had.

    The claim's draws are taken to be worth its number of problems, whatever its samples: nobody knows how alike
    the samples of a problem were, and fewer draws mean a larger, more careful p-value.
    """
    draws = effective_draws(ours) if ours is not None else None
    if ours is None or draws is None or not asked.same_tasks:
        return {"p_independent": None, "p_same_tasks": None}
    means = asked.metric in MEANS
    return {
        "p_independent": independent_p(asked.claim, asked.tasks, ours.value, draws),
        "p_same_tasks": same_tasks_p(asked.claim, asked.samples or 1, asked.tallies) if means else None,
    }


def _chance(inside: bool, p_independent: float | None, p_same_tasks: float | None) -> list[str]:
    """What the p-values add to the interval, which is about our number alone and allows for other problems."""
    if inside:
        if p_same_tasks is None or p_same_tasks >= SMALL_P:
            return []
        beyond = f"conditional on these problems the difference is significant (p = {p_same_tasks:.2g})"
        return [f"the interval covers the sampling of problems; {beyond}"]
    p = p_same_tasks if p_same_tasks is not None else p_independent
    if p is None or p < SMALL_P:
        return []
    return [f"the claim has a sampling error too, and with it the difference is not significant (p = {p:.2g})"]


def _other_profiles(others: Sequence[ProfileResult]) -> list[Explanation]:
    """Other rules under which the claim holds."""
    return [
        Explanation(
            kind="profile",
            explains=True,
            exact=other.own.agrees,
            sentence=f"under {other.profile} {other.own.sentence if other.own.agrees else other.why[1]}",
        )
        for other in others
        if other.outcome is ReplicationOutcome.REPRODUCED and other.own is not None
    ]


# ------------------------------------------------------- a claim about a file: `truegrade check`


class CheckAnswer(StrEnum):
    """What became of a claim about a file."""

    CONFIRMED = "confirmed"
    """The file's own number prints as the claim, rounded or truncated, and no finding of the audit is an error."""
    DIFFERS = "differs from this file"
    """The file's own number does not print as the claim."""
    SHOULD_NOT_COUNT = "number confirmed, but it should not count"
    """The file's own number prints as the claim, and the audit found rows or a protocol that must not count."""
    CANNOT_BE_CHECKED = "cannot be checked"
    """Claim and file do not measure the same thing."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A claim about a file, checked."""

    answer: CheckAnswer
    why: list[str]
    """Sentences about the number; what should not count stands in the audit."""
    replication: Replication
    audit: Audit

    @property
    def headline(self) -> str:
        """The answer, and how far claim and file are apart: ``differs from this file by 8 of 164 draws``."""
        own = self.replication.result.own
        if self.answer is CheckAnswer.CONFIRMED and (refused := refused_by_strict(self.audit)) is not None:
            alone = f"{self.answer.value} by {self.audit.profile} alone"
            return f"{alone}: {refused.count} of its passes fail under strict"
        if self.answer is CheckAnswer.CONFIRMED and own is not None and own.agreement is Agreement.TRUNCATED:
            return f"{self.answer.value}, {own.agreement.value}"
        if self.answer is not CheckAnswer.DIFFERS or own is None:
            return self.answer.value
        return (
            f"{self.answer.value} by {own.apart}"
            if own.apart
            else f"{self.answer.value}, as does every count out of {own.total}"
        )


def answer(found: Replication, published: PublishedNumber, audit: Audit) -> Check:
    """What a claim held against a run of the file itself comes to, with the audit of the file."""
    return Check(
        answer=answer_of(found),
        why=[*_why(found), *own_flags(published.claim, audit)],
        replication=found,
        audit=audit,
    )


def refused_by_strict(audit: Audit) -> Finding | None:
    """The finding that passes fail under `strict`; None where none does."""
    return next((item for item in audit.findings if item.code == "pass-refused-by-strict"), None)


def own_flags(claim: Claim, audit: Audit) -> list[str]:
    """That a claim is what the file says of itself, with what speaks against that; nothing if it is not."""
    equal: dict[tuple[int, int, Agreement], list[str]] = {}
    for name, count in audit.recorded.items():
        for total, unit in {audit.samples: "draws", audit.tasks: "problems"}.items():
            own = own_count(claim, count, total, unit) if 0 < count <= total else None
            if own is not None and own.agrees:
                equal.setdefault((count, total, own.agreement), []).append(name)
    return [_equals(count, total, agreement, names, audit) for (count, total, agreement), names in equal.items()]


_AGAINST = {
    "flag-without-program": "{} of these have no program",
    "flag-pass-contradicted": "{} in all fail on regrading",
    "flag-accepted-wrong": "{} of these fail on regrading",
    "flag-of-another-text": "{} of all verdicts belong to another program",
}
"""Code of a finding about flags -> what it takes from a number that is read off them."""


def _equals(count: int, total: int, agreement: Agreement, names: Sequence[str], audit: Audit) -> str:
    against = [
        _AGAINST[item.code].format(item.count)
        for item in audit.findings
        if item.code in _AGAINST and not set(item.flags).isdisjoint(names)
    ]
    truncated = f", {agreement.value}" if agreement is Agreement.TRUNCATED else ""
    said = f"the claim equals the flags of the file: {count} of {total} by {', '.join(names)}{truncated}"
    return f"{said}; {', '.join(against)}" if against else said


def _obstacles(found: Replication) -> list[str]:
    """Why claim and file do not measure the same thing.

    An independent draw may have had any number of samples per problem; the file itself has those that it has.
    """
    width, claimed = found.samples, found.claimed_samples
    if found.result.obstacles or claimed in (None, width):
        return found.result.obstacles
    return [f"the claim is about {claimed} samples per problem, this file holds {width}"]


def _why(found: Replication) -> list[str]:
    """The file's own number; where it is not the claim, also what stands in the way or another draw could give."""
    own = found.result.own
    measured = [own.sentence] if own is not None else []
    if not (obstacles := _obstacles(found)) and own is not None and own.agrees:
        return measured
    return list(dict.fromkeys([*obstacles, *measured, *found.result.why]))


def answer_of(found: Replication) -> CheckAnswer:
    """What a claim held against a run of the file itself comes to."""
    own = found.result.own
    if own is None or _obstacles(found):
        return CheckAnswer.CANNOT_BE_CHECKED
    if not own.agrees:
        return CheckAnswer.DIFFERS
    return CheckAnswer.SHOULD_NOT_COUNT if found.condemned else CheckAnswer.CONFIRMED
