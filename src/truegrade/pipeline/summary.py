"""What a graded run says: stored verdicts and completions turned into numbers. Runs nothing."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from truegrade.agents.account import AgentSummary, summarise_steps
from truegrade.agents.steps import read_steps
from truegrade.errors import UserError
from truegrade.pipeline.cautions import IN_THE_BOX, boxed_warnings, count_warnings, partial, unscored
from truegrade.pipeline.reasoning_summary import Questions, questions, reasoning
from truegrade.pipeline.selection import made_for, scored
from truegrade.pipeline.verdict_table import (
    VerdictTable,
    counted,
    disputed,
    errors_named,
    graded,
    grader_errors,
    side_by_side,
    verdict_table,
)
from truegrade.profiles import Profile
from truegrade.records import SCHEMA_VERSION, UNANSWERED, ContestTask, Estimate, Problem
from truegrade.statistics import Exchangeability, NumberSummary, TaskTally, estimate, exchangeability, summarise
from truegrade.statistics.contest_metrics import published_metrics
from truegrade.statistics.reasoning import ReasoningSummary
from truegrade.statistics.splits import Gap, Split, cutoff_gap, split_rates
from truegrade.statistics.windows import EVERYTHING, Window, narrowed
from truegrade.store import Manifest, Run
from truegrade.store.facts import CompletionFacts, VerdictFacts

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
    level: int | None
    """Protection level; None where nothing was executed."""
    exchangeability: Exchangeability | None = None
    splits: list[Split] = []
    """pass@1 by difficulty, platform, kind, month and cut-off; of contest problems."""
    after_cutoff: Gap | None = None
    """pass@1 after the model's cut-off less that up to it, where one is given."""
    reasoning: ReasoningSummary | None = None
    """Of execution prediction and choice; None for other kinds of problem."""
    warnings: list[str] = []


class Disagreement(msgspec.Struct, frozen=True, kw_only=True):
    """A sample on which profiles differ: profile id -> reason."""

    problem_id: str
    sample: int
    reasons: dict[str, str]


class RunUsage(msgspec.Struct, frozen=True, kw_only=True):
    """What generating took. Numbers are over answered samples; cost and attempts include failed ones.

    A reply from the response cache has the tokens and latency that it once had, and is no attempt.
    """

    input_tokens: NumberSummary | None
    output_tokens: NumberSummary | None
    latency_s: NumberSummary | None
    tokens_per_task: NumberSummary | None
    latency_s_per_task: NumberSummary | None
    cost_usd: float | None
    attempts: int
    failed_attempts: int
    empty_attempts: int


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """``summary.json``."""

    schema: int = SCHEMA_VERSION
    benchmark: str
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
    """Samples without a reply: never asked, or every attempt failed; of an imported file, not in it."""
    imported: bool = False
    """The replies come from a file: there is no model to ask for those that are missing."""
    agent: AgentSummary | None = None
    """Set where an agent stood in front of the model: its numbers are not the model's."""
    excluded: dict[str, str]
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
        return msgspec.convert(run.summary, Summary)
    except msgspec.ValidationError as error:
        raise UserError(f"{run.path / 'summary.json'}: {error}; grade the run again to rewrite it") from None


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
        f"{run.path}: its summary lacks {wanted}; grade it again: truegrade grade {run.path} --as {wanted}"
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
    completions = _Completions(manifest)
    for facts in run.completion_facts():
        if facts.problem_id in problems and facts.sample < n:
            completions.add(facts)
    tasks = {profile.id: scored(run, problems, profile) for profile in profiles}
    told = {profile.id: run.verdict_facts(profile.id) for profile in profiles}
    verdicts = {name: verdict_table(told[name], tasks[name], n) for name in told}
    expected = len(problems) * n
    disagreements = _disagreements(verdicts)
    shared = _Shared(
        problems, n, chosen, manifest, completions, _agent(run, problems, n), questions(problems.values()),
        narrowed(made_for(manifest), window), cutoff,
    )  # fmt: skip
    return Summary(
        benchmark=manifest.benchmark.name,
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
        profiles=[
            _profile(p, verdicts[p.id], tasks[p.id], shared, grader_errors(told[p.id], verdicts[p.id]))
            for p in profiles
        ],
        disagreements=disagreements[:SHOWN_DISAGREEMENTS],
        disagreeing=len(disagreements),
        usage=completions.usage(),
    )


class _Shared(NamedTuple):
    """What the profiles of a run have in common."""

    problems: Mapping[str, Problem]
    n: int
    ks: Sequence[int]
    manifest: Manifest
    completions: _Completions
    agent: AgentSummary | None
    asked: Questions
    window: dict[str, str]
    cutoff: str | None


def _profile(
    profile: Profile,
    outcomes: VerdictTable,
    problems: Mapping[str, Problem],
    shared: _Shared,
    errors: Mapping[str, str],
) -> ProfileSummary:
    """The numbers of one profile over the problems that it scores."""
    if not problems:
        raise UserError(f"{profile.id} scores none of the selected problems: their prompts show the solutions")
    if not outcomes:
        raise UserError(f"nothing was graded under {profile.id}: no sample has a reply")
    tallies = [_tally(profile, problem, counted(outcomes.get(task, ()))) for task, problem in problems.items()]
    if not any(tally.n for tally in tallies):
        raise UserError(f"{profile.id} has no valid verdict: {errors_named(errors)}")
    n, agent = shared.n, shared.agent
    metrics = [f"pass@{k}" for k in shared.ks]
    if n > 1:
        metrics += ["any_correct", "all_correct", "all_solutions"]
    flat = [outcome for samples in outcomes.values() for outcome in graded(samples)]
    complete = (samples for samples in map(counted, outcomes.values()) if len(samples) == n)
    whole = [[outcome.passed for outcome in samples] for samples in complete]
    order = exchangeability(whole) if n > 1 else None
    reasoned = reasoning(shared.asked, outcomes, shared.ks)
    tags = {task: problem.tags for task, problem in problems.items()}
    splits = split_rates(tallies, tags, shared.cutoff)
    return ProfileSummary(
        profile=profile.id,
        estimates=[estimate(metric, tallies) for metric in metrics if _possible(metric, tallies)],
        reported=tuple(metric for metric in profile.reported if metric in metrics),
        published=_published(profile, problems, tallies),
        grader_errors=dict(errors),
        reasons={reason.value: count for reason, count in Counter(o.reason for o in flat).most_common()},
        tasks=[TaskLine(t.task_id, t.n, t.c, t.cluster, tags[t.task_id]) for t in tallies],
        time_sensitive=sum(o.time_sensitive for o in flat),
        inside=sum("tests-inside" in o.marks for o in flat),
        level=shared.manifest.levels.get(profile.id),
        exchangeability=order,
        splits=splits,
        after_cutoff=cutoff_gap(splits),
        reasoning=reasoned,
        warnings=[
            *(agent.warnings if agent else []),
            *partial(shared.manifest, len(problems), shared.window),
            *profile.warnings(problems.values()),
            *unscored([name for name in shared.problems if name not in problems]),
            *shared.completions.reused(),
            *([errors_named(errors)] if errors else []),
            *count_warnings(tallies, n, order, flat, shared.completions.advice()),
            *boxed_warnings(shared.manifest, problems),
            *(reasoned.warnings() if reasoned else ()),
        ],
    )


def _published(
    profile: Profile, problems: Mapping[str, Problem], tallies: Sequence[TaskTally]
) -> dict[str, float]:
    """What the harness itself prints of contest problems; nothing of others."""
    contests = all(isinstance(problem.task, ContestTask) for problem in problems.values())
    if profile.contest_scale is None or not contests:
        return {}
    passed = {tally.task_id: [True] * tally.c + [False] * (tally.n - tally.c) for tally in tallies}
    metrics = published_metrics(passed, profile.contest_scale)
    return {name: value for name, value in metrics.items() if name != "detail"}


def _agent(run: Run, problems: Mapping[str, Problem], n: int) -> AgentSummary | None:
    """What the agent did for the samples that count; None without an agent."""
    config = run.manifest.generation.agent if run.manifest.generation else None
    if config is None:
        return None
    steps = read_steps(run.path)
    return summarise_steps(config, steps, lambda key: key.problem_id in problems and key.sample < n)


def _possible(metric: str, tallies: Sequence[TaskTally]) -> bool:
    needed = int(metric.removeprefix("pass@")) if metric.startswith("pass@") else 1
    return any(tally.n >= needed for tally in tallies)


def _tally(profile: Profile, problem: Problem, outcomes: Sequence[VerdictFacts]) -> TaskTally:
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


class _Completions:
    """Running totals over completions, read once."""

    def __init__(self, manifest: Manifest) -> None:
        self._config = manifest.generation.sha256 if manifest.generation else None
        self._limit = manifest.generation.sampling.max_tokens if manifest.generation else None
        self._asked = manifest.generation is not None
        self._longer = 0
        self._reused = 0
        self.answered = 0
        self.model = "imported"
        self._cost: float | None = None
        self._attempts: Counter[str] = Counter()
        self._input = array("d")
        self._output = array("d")
        self._latency = array("d")
        self._task_tokens: dict[str, float] = defaultdict(float)
        self._task_latency: dict[str, float] = defaultdict(float)

    def add(self, completion: CompletionFacts) -> None:
        """Take one completion into account."""
        self._attempts.update(completion.attempts)
        if completion.cost_usd is not None:
            self._cost = (self._cost or 0.0) + completion.cost_usd
        if not completion.answered:
            return
        self.answered += 1
        self._longer += completion.truncated and self._asked and self._may_be_longer(completion)
        self._reused += self._config not in (None, completion.config_sha256)
        self.model = completion.model
        if completion.usage is not None:
            self._input.append(completion.usage.input_tokens)
            self._output.append(completion.usage.output_tokens)
            total = completion.usage.input_tokens + completion.usage.output_tokens
            self._task_tokens[completion.problem_id] += total
        if completion.latency_s is not None:
            self._latency.append(completion.latency_s)
            self._task_latency[completion.problem_id] += completion.latency_s

    def _may_be_longer(self, completion: CompletionFacts) -> bool:
        """Whether a higher limit could have let a reply that was cut go on."""
        if self._limit is None:  # the model in the box then stops at the length that it has learned
            return not completion.model.startswith(IN_THE_BOX)
        return completion.usage is None or completion.usage.output_tokens >= self._limit

    def advice(self) -> str:
        """What to do about replies that were cut; empty where a higher limit changes nothing."""
        return "; raise `max_tokens`" if self._longer else ""

    def reused(self) -> list[str]:
        """Warnings that completions were taken from a file or from the response cache."""
        warnings = []
        if self._reused:
            warnings.append(
                f"{self._reused} of {self.answered} samples were taken from a file, not generated in this run"
            )
        if self._attempts["cached"]:
            warnings.append(
                f"{self._attempts['cached']} of {self.answered} replies come from the response cache: beside the"
                " run that asked for them, this one is no second draw"
            )
        return warnings

    def usage(self) -> RunUsage:
        """The totals so far."""
        return RunUsage(
            input_tokens=summarise(self._input),
            output_tokens=summarise(self._output),
            latency_s=summarise(self._latency),
            tokens_per_task=summarise(list(self._task_tokens.values())),
            latency_s_per_task=summarise(list(self._task_latency.values())),
            cost_usd=self._cost,
            attempts=self._attempts.total() - self._attempts["cached"],
            failed_attempts=self._attempts["error"],
            empty_attempts=self._attempts["empty"],
        )
