"""What a graded run says: stored verdicts and completions turned into numbers. Runs nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec import UNSET

from truegrade.agents.account import AgentSummary, summarise_steps
from truegrade.errors import UserError
from truegrade.pipeline.cautions import Caution, caution, folded, sentences_for
from truegrade.pipeline.loading import made_for, scored
from truegrade.pipeline.reasoning_summary import Questions, pass_rate_by_budget, questions, reasoning
from truegrade.pipeline.sample_cautions import (
    Texts,
    constant_answer,
    count_cautions,
    data_cautions,
    identical_samples,
    joined_tests,
    missing_replies,
    near_duplicates,
    one_sample,
    pooled_populations,
    population_rates,
    replies_as_programs,
    reply_form,
    stopped,
    stopped_by_results,
    unchanged,
    unscored,
)
from truegrade.pipeline.suite_summary import TierRate, suite_tiers, tier_cautions
from truegrade.pipeline.totals import CompletionTotals, RunUsage
from truegrade.pipeline.verdicts import (
    VerdictTable,
    counted,
    disputed,
    errors_named,
    first_sample,
    graded,
    grader_errors,
    score_means,
    side_by_side,
    verdict_table,
)
from truegrade.profiles import Profile
from truegrade.records import SCHEMA_VERSION, UNANSWERED, Estimate, Problem
from truegrade.statistics import Exchangeability, TaskTally, estimate, exchangeability
from truegrade.statistics.budgets import BudgetCurve
from truegrade.statistics.reasoning import ReasoningSummary
from truegrade.statistics.tally import published_metrics, samples_needed
from truegrade.statistics.windows import EVERYTHING, Gap, Split, Window, cutoff_gap, narrowed, split_rates
from truegrade.store import Manifest, Run
from truegrade.store.facts import VerdictKind

USUAL_K = (1, 5, 10, 25, 50, 100)
"""pass@k is reported for those that the number of samples allows."""


class TaskLine(msgspec.Struct, frozen=True, array_like=True):
    """One problem in a summary: ``[id, samples, passes, cluster, tags]``."""

    id: str
    n: int
    c: int
    cluster: str
    tags: dict[str, str] = {}
    """Of the problem: contest date, platform, difficulty, split, …"""


class ProfileSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers under one profile."""

    profile: str
    estimates: list[Estimate]
    """The first is the headline."""
    reported: tuple[str, ...] = ()
    """Metrics among them that the profile's harness itself prints, where they are not pass@k."""
    published: dict[str, float] = {}
    """pass@k of contest problems as the profile's harness prints it, in its own scale."""
    reasons: dict[str, int]
    """Verdicts by reason, all of them, in order of frequency."""
    grader_errors: dict[str, str] = {}
    """Problems with a verdict ``grader_error``, each with what went wrong; such verdicts are in no estimate."""
    tasks: list[TaskLine]
    time_sensitive: int
    """Verdicts that a time limit decided, or of which half of one was used."""
    inside: int
    """Verdicts whose tests shared a process with the candidate."""
    tiers: list[TierRate] = []
    """Of suites of tests, under a profile that judges outside where it can: passes by where the tests ran."""
    level: int | None
    """Protection level; None where nothing was executed."""
    exchangeability: Exchangeability | None = None
    splits: list[Split] = []
    """pass@1 by difficulty, platform, kind, month and cut-off; of contest problems."""
    after_cutoff: Gap | None = None
    """pass@1 after the model's cut-off less that up to it, where one is given."""
    reasoning: ReasoningSummary | None = None
    """Of execution prediction and choice; None for other kinds of problem."""
    budget: BudgetCurve | None = None
    """Pass rate against output tokens; None where an agent asked several times a sample."""
    warnings: list[str] = []
    """The sentences of `Summary.warnings` that hold for this profile."""


class Disagreement(msgspec.Struct, frozen=True, kw_only=True):
    """A sample on which profiles differ: profile id -> reason."""

    problem_id: str
    sample: int
    reasons: dict[str, str]


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """``summary.json``."""

    schema: int = SCHEMA_VERSION
    benchmark: str
    """Its name; with ``(modified data)`` where the data file is not the pinned one."""
    dataset_sha256: str
    model: str
    window: dict[str, str] = {}
    """Arguments that left problems out when the run was made or counted, e.g. ``{"start": "2024-09-01"}``."""
    cutoff: str | None = None
    """Last day of the model's training data, as it was given."""
    tasks: int
    """Problems that were to be answered."""
    samples_per_task: int
    expected: int
    """Samples that were to be answered."""
    answered: int
    """Samples with a reply, empty ones included."""
    missing: int
    """Samples without a reply: never asked, or every attempt failed; of an imported file, not in it, or a row
    that records a failed request."""
    imported: bool = False
    """The replies come from a file: there is no model to ask for those that are missing."""
    agent: AgentSummary | None = None
    """Set where an agent stood in front of the model: its numbers are not the model's."""
    excluded: dict[str, str]
    warnings: list[Caution] = []
    """All that a reader of the numbers must know, the gravest first."""
    profiles: list[ProfileSummary]
    disagreements: list[Disagreement]
    """The first hundred."""
    disagreeing: int
    usage: RunUsage


SHOWN_DISAGREEMENTS = 100


def read_summary(run: Run) -> Summary:
    """The stored summary of a graded run.

    Raises:
        UserError: it was not graded yet, or by a version whose summary this one cannot read.
    """
    try:
        summary = msgspec.convert(run.summary, Summary)
    except msgspec.ValidationError as error:
        raise UserError(f"{run.path / 'summary.json'}: {error}; grade the run again to rewrite it") from None
    if "warnings" in run.summary:
        return summary
    told = {
        profile.profile: [caution("profile", said) for said in profile.warnings] for profile in summary.profiles
    }
    return msgspec.structs.replace(summary, warnings=folded(told))


def profile_summary(run: Run, profile: str | None) -> ProfileSummary:
    """The numbers of a run under one profile, by name or id; None if it has only one.

    Raises:
        UserError: it was not graded under that profile.
    """
    wanted = run.profile_id(profile)
    for summary in read_summary(run).profiles:
        if summary.profile == wanted:
            return summary
    raise UserError(
        f"{run.given}: its summary lacks {wanted}; grade it again: truegrade grade {run.given} --as {wanted}"
    )


def refuse_ks(ks: Sequence[int] | None, n: int) -> None:
    """Refuse a k of pass@k that exceeds the samples per task.

    Raises:
        UserError: one does.
    """
    for k in ks or ():
        if k > n:
            raise UserError(
                f"pass@{k} needs at least {k} samples per problem, this run has {n}; raise `n` or lower `ks`"
            )


def summarise_run(
    run: Run,
    problems: Mapping[str, Problem],
    profiles: Sequence[Profile],
    ks: Sequence[int] | None = None,
    *,
    window: Window = EVERYTHING,
    cutoff: str | None = None,
) -> Summary:
    """Compute the summary of a graded run.

    Args:
        run: with verdicts under each of ``profiles``.
        problems: those the run was to answer, by id, inside the window.
        profiles: in the order to report.
        ks: the k of pass@k; None for `USUAL_K`.
        window: what left the other problems out.
        cutoff: last day of the model's training data, ``YYYY-MM-DD``.

    Raises:
        UserError: a k exceeds the samples per problem, or nothing was graded.
    """
    manifest = run.manifest
    n = manifest.samples_per_task
    refuse_ks(ks, n)
    chosen = ks or [k for k in USUAL_K if k <= n]
    completions = CompletionTotals(manifest)
    for facts in run.completion_facts():
        if facts.problem_id in problems and facts.sample < n:
            completions.add(facts)
    tasks = {profile.id: scored(run, problems, profile) for profile in profiles}
    told = {profile.id: run.verdict_facts(profile.id) for profile in profiles}
    verdicts = {name: verdict_table(told[name], tasks[name], n) for name in told}
    expected = len(problems) * n
    disagreements = _disagreements(verdicts)
    shared = _Shared(
        run, problems, n, chosen, manifest, completions, _agent(run, problems, n), questions(problems.values()),
        narrowed(made_for(manifest), window), cutoff, usual_ks=not ks,
    )  # fmt: skip
    counted_up = [
        _profile(p, verdicts[p.id], tasks[p.id], shared, grader_errors(told[p.id], verdicts[p.id]))
        for p in profiles
    ]
    warnings = folded({numbers.profile: found for numbers, found in counted_up})
    return Summary(
        benchmark=manifest.benchmark.label,
        dataset_sha256=manifest.benchmark.dataset_sha256,
        model=manifest.generation.model if manifest.generation else completions.model,
        window=shared.window,
        cutoff=cutoff,
        tasks=len(problems),
        samples_per_task=n,
        expected=expected,
        answered=completions.answered,
        missing=expected - completions.answered,
        imported=manifest.generation is None,
        agent=shared.agent,
        excluded=manifest.excluded,
        warnings=warnings,
        profiles=[
            msgspec.structs.replace(numbers, warnings=sentences_for(warnings, numbers.profile))
            for numbers, _ in counted_up
        ],
        disagreements=disagreements[:SHOWN_DISAGREEMENTS],
        disagreeing=len(disagreements),
        usage=completions.usage(),
    )


class _Shared(NamedTuple):
    """What the profiles of a run have in common."""

    run: Run
    problems: Mapping[str, Problem]
    n: int
    ks: Sequence[int]
    manifest: Manifest
    completions: CompletionTotals
    agent: AgentSummary | None
    asked: Questions
    window: dict[str, str]
    cutoff: str | None
    usual_ks: bool = True
    """Nobody asked for other k: those of the profile's harness are added."""


def _profile(
    profile: Profile,
    outcomes: VerdictTable,
    problems: Mapping[str, Problem],
    shared: _Shared,
    errors: Mapping[str, str],
) -> tuple[ProfileSummary, list[Caution]]:
    """The numbers of one profile over the problems that it scores, and what must be known of them."""
    if not problems:
        raise UserError(f"{profile.id} scores none of the selected problems: their prompts show the solutions")
    if not outcomes:
        raise UserError(f"nothing was graded under {profile.id}: no sample has a reply")
    tallies = [_tally(profile, problem, counted(outcomes.get(task, ()))) for task, problem in problems.items()]
    if not any(tally.n for tally in tallies):
        raise UserError(f"{profile.id} has no valid verdict: {errors_named(errors)}")
    n = shared.n
    own_ks = [k for k in profile.ks if k <= n] if shared.usual_ks else []
    metrics = [f"pass@{k}" for k in sorted({*shared.ks, *own_ks})]
    if n > 1:
        metrics += ["any_correct", "all_correct", "all_solutions"]
    flat = [outcome for samples in outcomes.values() for outcome in graded(samples)]
    complete = (samples for samples in map(counted, outcomes.values()) if len(samples) == n)
    whole = [[outcome.passed for outcome in samples] for samples in complete]
    order = exchangeability(whole) if n > 1 else None
    tags = {task: problem.tags for task, problem in problems.items()}
    splits = split_rates(unchanged(problems, tallies), tags, shared.cutoff)
    estimates = [
        *population_rates(problems, tallies),
        *(estimate(metric, tallies) for metric in metrics if _possible(metric, tallies)),
        *score_means(profile, problems, outcomes, shared.run.verdicts(profile.id)),
        *_first_sample(profile, problems, outcomes),
    ]
    summary = ProfileSummary(
        profile=profile.id,
        estimates=estimates,
        reported=tuple(metric for metric in profile.reported if metric in {e.metric for e in estimates}),
        published=_published(profile, problems, tallies),
        grader_errors=dict(errors),
        reasons={reason.value: count for reason, count in Counter(o.reason for o in flat).most_common()},
        tasks=[TaskLine(t.task_id, t.n, t.c, t.cluster, tags[t.task_id]) for t in tallies],
        time_sensitive=sum(o.time_sensitive for o in flat),
        inside=sum("tests-inside" in o.marks for o in flat),
        tiers=suite_tiers(profile, problems, outcomes),
        level=shared.manifest.levels.get(profile.id),
        exchangeability=order,
        splits=splits,
        after_cutoff=cutoff_gap(splits),
        reasoning=reasoning(shared.asked, outcomes, shared.ks, shared.cutoff),
        budget=None if shared.agent else pass_rate_by_budget(outcomes, problems, shared.completions.form),
    )
    found = _own_cautions(profile, outcomes, problems, shared, summary)
    return summary, [*found, *count_cautions(tallies, n, order, flat, shared.completions.advice())]


def _first_sample(profile: Profile, problems: Mapping[str, Problem], outcomes: VerdictTable) -> list[Estimate]:
    """The first samples alone, where the profile's harness prints their share."""
    if "first_sample" not in profile.reported:
        return []
    found = first_sample({name: problem.cluster for name, problem in problems.items()}, outcomes)
    return [] if found is None else [found]


def _own_cautions(
    profile: Profile,
    outcomes: VerdictTable,
    problems: Mapping[str, Problem],
    shared: _Shared,
    summary: ProfileSummary,
) -> list[Caution]:
    """What must be known of one profile's numbers, their counts apart."""
    texts = {task: row for task, row in shared.completions.texts.items() if task in problems}
    generation, errors = shared.manifest.generation, summary.grader_errors
    return [
        *_without_reply(profile, shared, texts, outcomes),
        *data_cautions(shared.manifest, problems, shared.window),
        *(caution("agent", said) for said in (shared.agent.warnings if shared.agent else ())),
        *(caution("profile", said) for said in profile.warnings(problems.values())),
        *unscored([name for name in shared.problems if name not in problems]),
        *shared.completions.cautions(),
        *([caution("grader-errors", errors_named(errors), len(errors), len(problems))] if errors else []),
        *tier_cautions(profile, outcomes),
        *joined_tests(outcomes),
        *reply_form(profile, problems, outcomes, shared.completions.form),
        *replies_as_programs(shared.manifest.import_format, outcomes, shared.completions.form),
        *identical_samples(texts),
        *near_duplicates(problems, outcomes, texts, shared.run.verdict_facts(profile.id)),
        *pooled_populations(problems),
        *constant_answer(problems),
        *one_sample(generation, shared.n),
        *(caution("reasoning", said) for said in (summary.reasoning.warnings() if summary.reasoning else ())),
    ]


def _without_reply(profile: Profile, shared: _Shared, texts: Texts, outcomes: VerdictTable) -> list[Caution]:
    """What must be known of the samples that have no reply or verdict."""
    expected, told = len(shared.problems) * shared.n, shared.completions
    whole = shared.manifest.generation is None or shared.manifest.stopping is not UNSET
    # a run that an earlier version stopped has its own warning
    unasked = 0 if whole else expected - told.answered - told.failed
    found = missing_replies(shared.manifest, expected, told.answered, told.failed, profile)
    found = [*stopped(unasked, expected, texts, outcomes), *found]
    if told.answered < expected and shared.manifest.stopping is not UNSET:
        return [*stopped_by_results(shared.manifest.stopping), *found]
    return found


def _published(
    profile: Profile, problems: Mapping[str, Problem], tallies: Sequence[TaskTally]
) -> dict[str, float]:
    """What the harness itself prints of contest problems; nothing of others."""
    scale = profile.published_scale(problems.values())
    if scale is None:
        return {}
    passed = {tally.task_id: [True] * tally.c + [False] * (tally.n - tally.c) for tally in tallies}
    metrics = published_metrics(passed, scale)
    return {name: value for name, value in metrics.items() if name != "detail"}


def _agent(run: Run, problems: Mapping[str, Problem], n: int) -> AgentSummary | None:
    """What the agent did for the samples that count; None without an agent."""
    generation = run.manifest.generation
    if generation is None or generation.agent is None:
        return None
    from truegrade.agents.steps import read_steps  # which loads what agents are made of

    steps = read_steps(run.path)
    return summarise_steps(
        generation.agent, steps, lambda key: key.problem_id in problems and key.sample < n, generation.model
    )


def _possible(metric: str, tallies: Sequence[TaskTally]) -> bool:
    return any(tally.n >= samples_needed(metric) for tally in tallies)


def _tally(profile: Profile, problem: Problem, outcomes: Sequence[VerdictKind]) -> TaskTally:
    n, c = profile.tally([(o.passed, o.marks) for o in outcomes])
    return TaskTally(
        task_id=problem.id,
        cluster=problem.cluster,
        n=n,
        c=c,
        unanswered=min(n, sum(o.reason in UNANSWERED for o in outcomes)),
        truncated=min(n, sum(o.truncated for o in outcomes)),
    )


def _disagreements(verdicts: Mapping[str, VerdictTable]) -> list[Disagreement]:
    """Samples that pass under one profile and fail under another."""
    return [
        Disagreement(
            problem_id=key.problem_id,
            sample=key.sample,
            reasons={profile: o.reason.value for profile, o in zip(verdicts, row, strict=True) if o is not None},
        )
        for key, row in side_by_side(list(verdicts.values()))
        if disputed(row)
    ]
