"""The evaluation of a genome: adapter, replies, verdicts, objectives; and replies that teach or need no model."""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence
from contextlib import ExitStack
from math import ceil
from pathlib import Path
from typing import Literal

import msgspec

from truegrade.apps.evolve.genomes import DataGenes, Fidelity, Genome, SamplingGenes, Scores, TrainingGenes
from truegrade.apps.evolve.objectives import (
    CoralxObjectives,
    GradedReply,
    MeasuredObjectives,
    Scorer,
    by_problem,
    sample_of,
)
from truegrade.apps.evolve.roles import Roles, repair_of
from truegrade.apps.evolve.search_order import FULL
from truegrade.apps.evolve.settings import EvolutionSettings, Training
from truegrade.apps.evolve.subject import Ask, Subject, Workplace, open_subject
from truegrade.apps.evolve.training.cache import AdapterCache, Cached
from truegrade.apps.evolve.training.lessons import Lesson, Trained, Trainer, TrainingOrder, lessons_of, reply_to
from truegrade.errors import ModelError, SandboxError, TruegradeError, UserError
from truegrade.files.json_text import encode, read_json
from truegrade.grading.executor import Executor
from truegrade.kinds import kind_of
from truegrade.models.local import Generated, adapter_sha256
from truegrade.pipeline.verdicts import limits_for, verdict_on
from truegrade.profiles import Profile, find_profile
from truegrade.records import Completion, Problem, Prompt, Reason, Verdict, sha256_json
from truegrade.records.config import Sampling
from truegrade.sandbox import Sandbox
from truegrade.store.manifest import write_atomically

# ---------- From an adapter to graded samples: prompts of the profile, replies of the adapted model, verdicts.


class Examination:
    """Asks and grades problems, in order.

    Args:
        subject: the model.
        profile: words, extracts and grades.
        variant: of the profile's prompts; None for its own choice.
        samples: replies to each problem.
        executor: the jail, bound to the profile's limits.
    """

    def __init__(
        self, subject: Subject, profile: Profile, variant: str | None, samples: int, executor: Executor
    ) -> None:
        self._subject, self._profile, self._variant = subject, profile, variant
        self._samples, self._executor = samples, executor

    def take(
        self, problems: Sequence[Problem], adapter: Path | None, sampling: SamplingGenes, seed: int
    ) -> list[GradedReply]:
        """Graded replies, problem by problem. Sample i is drawn with ``seed + i``.

        Raises:
            UserError: the adapter is missing, damaged or another model's; the bare model never stands in for it.
        """
        prompts = [self._profile.render_prompt(problem, self._variant) for problem in problems]
        asks = [
            Ask(prompt=prompt, sampling=sampling_by(sampling, seed + sample), sample=sample)
            for prompt in prompts
            for sample in range(self._samples)
        ]
        replies = iter(self._subject.answer(adapter, asks))
        return [
            graded(problem, completion(problem, prompt, sample, next(replies)), self._profile, self._executor)
            for problem, prompt in zip(problems, prompts, strict=True)
            for sample in range(self._samples)
        ]


def graded(problem: Problem, reply: Completion, profile: Profile, executor: Executor) -> GradedReply:
    """A reply with what became of each of its tests; raises as `sample_of` does."""
    return sample_of(reply, verdict_on(reply, problem, profile, executor))


def completion(problem: Problem, prompt: Prompt, sample: int, generated: Generated) -> Completion:
    """What the model wrote, as the record that profiles read."""
    return Completion(
        benchmark=problem.benchmark,
        dataset_sha256=problem.dataset_sha256,
        problem_id=problem.id,
        sample=sample,
        config_sha256="",
        prompt_sha256=prompt.sha256,
        text=generated.text,
        form="completion" if prompt.style == "text" else "reply",
        finish_reason=generated.finish_reason,
        usage=generated.usage,
        model="evolved",
    )


def sound_verdict(reply: Completion, problem: Problem, profile: Profile, executor: Executor) -> Verdict:
    """The verdict on a reply.

    Raises:
        SandboxError: the grader failed, which is never counted as the model's.
    """
    verdict = verdict_on(reply, problem, profile, executor)
    if verdict.reason is Reason.GRADER_ERROR:
        raise SandboxError(f"{problem.id}: {verdict.detail}; the same command goes on from here")
    return verdict


def sampling_by(genes: SamplingGenes, seed: int) -> Sampling:
    """Genes have the names of the parameters that they set."""
    return Sampling(seed=seed, **msgspec.structs.asdict(genes))


# ---------------------------------------------------------- Anchors: the scores of replies that need no model.


def anchor_reply(anchor: str, problem: Problem) -> str:
    """The reply of an anchor, in a fence: ``identity`` (the buggy program), ``stub``, ``empty`` or ``reference``.

    Raises:
        KeyError: there is no such anchor.
    """
    repair = repair_of(problem)
    code = {
        "identity": repair.buggy,
        "stub": f"def {repair.name}(*args):\n    return None",
        "empty": "",
        "reference": repair.reference,
    }[anchor]
    return f"```python\n{code.strip()}\n```" if code else ""


def graded_reply(anchor: str, problem: Problem, profile: Profile, executor: Executor) -> GradedReply:
    """An anchor's reply to a problem, graded as any other."""
    reply = Completion(
        benchmark=problem.benchmark,
        dataset_sha256=problem.dataset_sha256,
        problem_id=problem.id,
        sample=0,
        config_sha256=anchor,
        prompt_sha256=profile.render_prompt(problem).sha256,
        text=anchor_reply(anchor, problem),
        model=f"anchor/{anchor}",
    )
    return graded(problem, reply, profile, executor)


# ------------------------- Lessons that no reference teaches: replies of the model's own that pass every test.


class FoundLessons(msgspec.Struct, frozen=True, kw_only=True):
    """What was found, as it is kept beside the adapters."""

    lessons: tuple[Lesson, ...]
    asked: int
    """Problems."""
    tokens: int
    """Generated for it."""


NOTHING_FOUND = FoundLessons(lessons=(), asked=0, tokens=0)


class Collector:
    """Asks a model, and makes lessons of replies that the filter passes.

    Args:
        subject: the model.
        settings: of the evolution; its profile words the prompts, its filter decides what is learned.
        roles: pool and replay problems.
        executor: the jail, bound to the limits of the filter.
        folder: where lessons that were found are kept, by everything that decides them.
    """

    def __init__(
        self, subject: Subject, settings: EvolutionSettings, roles: Roles, executor: Executor, folder: Path
    ) -> None:
        self._subject, self._settings, self._roles, self._executor = subject, settings, roles, executor
        self._profile, self._filter = find_profile(settings.profile), find_profile(settings.training.filter)
        self._folder = folder

    def replayed(self, data: DataGenes, seed: int) -> FoundLessons:
        """What the bare base can do already, so that training does not unlearn it."""
        problems = _share(self._roles.replay, data.replay)
        return self._found(problems, None, "", [self._settings.base_sampling.genes.temperature], seed)

    def found(self, data: DataGenes, adapter: Path, adapter_sha256: str, number: int, seed: int) -> FoundLessons:
        """What an adapter solves of the pool.

        Args:
            data: how many problems and samples.
            adapter: its folder.
            adapter_sha256: its hash.
            number: of the round, from 0: each draws other samples.
            seed: of the samples.
        """
        temperatures = [0.0, *[data.temperature] * data.samples]
        first = seed + number * len(temperatures)
        return self._found(_share(self._roles.pool, data.pool), adapter, adapter_sha256, temperatures, first)

    def references(self, data: DataGenes) -> FoundLessons:
        """The references of the pool."""
        problems = _share(self._roles.pool, data.pool)
        lessons = lessons_of(problems, self._profile, self._settings.variant)
        return FoundLessons(lessons=lessons, asked=len(problems), tokens=0)

    def _prompt(self, problem: Problem) -> Prompt:
        return self._profile.render_prompt(problem, self._settings.variant)

    def _found(
        self, problems: Sequence[Problem], adapter: Path | None, sha256: str, temperatures: list[float], seed: int
    ) -> FoundLessons:
        """The first reply to each problem that passes, greedy or at a temperature; kept once it is complete."""
        if not problems:
            return NOTHING_FOUND
        trainer = self._subject.trainer
        settings = self._settings
        decided = [settings.base_sampling, self._profile.id, settings.variant, self._filter.id, list(problems)]
        facts = [trainer.base_sha256, trainer.versions, sha256, temperatures, seed, *decided]
        kept = self._folder / f"{sha256_json(facts)}.json"
        if kept.is_file():
            return read_json(kept, FoundLessons, "remove it, and the same command finds its lessons anew")
        found = self._ask(problems, adapter, temperatures, seed)
        self._folder.mkdir(parents=True, exist_ok=True)
        write_atomically(kept, encode(found) + b"\n")
        return found

    def _ask(
        self, problems: Sequence[Problem], adapter: Path | None, temperatures: list[float], seed: int
    ) -> FoundLessons:
        genes = self._settings.base_sampling.genes
        drawn = [msgspec.structs.replace(genes, temperature=temperature) for temperature in temperatures]
        prompts = [self._prompt(problem) for problem in problems]
        asks = [
            Ask(prompt=prompt, sampling=sampling_by(each, seed + place), sample=place)
            for prompt in prompts
            for place, each in enumerate(drawn)
        ]
        replies = self._subject.answer(adapter, asks)
        found = [
            self._lesson(problem, prompt, replies[first : first + len(drawn)])
            for problem, prompt, first in zip(problems, prompts, range(0, len(asks), len(drawn)), strict=True)
        ]
        tokens = sum(reply.usage.output_tokens for reply in replies if reply.usage is not None)
        lessons = tuple(lesson for lesson in found if lesson is not None)
        return FoundLessons(lessons=lessons, asked=len(problems), tokens=tokens)

    def _lesson(self, problem: Problem, prompt: Prompt, replies: Sequence[Generated]) -> Lesson | None:
        """The first reply that passes, worded as the given lessons are."""
        graded = self._as_filtered(problem)
        first = {reply.text: place for place, reply in reversed([*enumerate(replies)])}
        for place in sorted(first.values()):  # of equal replies one is graded
            reply = completion(problem, prompt, place, replies[place])
            verdict = sound_verdict(reply, graded, self._filter, self._executor)
            if verdict.passed and verdict.answer is not None:
                said = reply_to(prompt, verdict.answer.strip("\n"))
                return Lesson(problem=problem.id, prompt=prompt, reply=said)
        return None

    def _as_filtered(self, problem: Problem) -> Problem:
        """A filter without rules for repairs grades the repaired function as any other."""
        kind, task = kind_of(problem.task), problem.task
        if kind.name(task) in self._filter.covers:
            return problem
        return msgspec.structs.replace(problem, task=kind.written_anew(task))


def _share(problems: Sequence[Problem], share: float) -> Sequence[Problem]:
    return problems[: ceil(len(problems) * share)]


# --------------------- Failures of workers as text, because not every exception can be sent between processes.


class ExceptionRecord(msgspec.Struct, frozen=True):
    """An exception as plain data."""

    kind: Literal["user", "model", "sandbox", "bug"]
    text: str


def in_words(error: Exception) -> ExceptionRecord:
    """An exception, ready to be sent; of one that is not ours, the whole traceback."""
    if isinstance(error, UserError):
        return ExceptionRecord("user", str(error))
    if isinstance(error, ModelError):
        return ExceptionRecord("model", str(error))
    if isinstance(error, SandboxError):
        return ExceptionRecord("sandbox", str(error))
    return ExceptionRecord("bug", "".join(traceback.format_exception(error)))


def as_error(failure: ExceptionRecord) -> Exception:
    """The exception to raise where the worker's work is waited for."""
    kinds: dict[str, type[TruegradeError]] = {"user": UserError, "model": ModelError, "sandbox": SandboxError}
    if failure.kind in kinds:
        return kinds[failure.kind](failure.text)
    return RuntimeError(f"a worker process failed:\n{failure.text}")


# ----------------------------------------------- From a genome to its adapter: found in the cache, or trained.


class Adapter(msgspec.Struct, frozen=True, kw_only=True):
    """An adapter on disk."""

    folder: Path
    sha256: str
    trained: Trained
    """Tokens are those of everything that had to be trained for it."""
    cached: bool
    """Whether nothing had to be."""
    lessons: tuple[Lesson, ...]
    """What it learned from."""
    sampled: int = 0
    """Tokens generated to find lessons."""
    asked: int = 0
    """Problems without a lesson of their own that were asked for one, or whose reference was learned."""


class Workshop:
    """Makes adapters of one base from one set of lessons.

    Args:
        trainer: of the base.
        lessons: what every adapter learns.
        common: settings that no genome varies.
        cache: where adapters are kept.
        collector: finds further lessons, for genomes that ask for them.
    """

    def __init__(
        self,
        trainer: Trainer,
        lessons: Sequence[Lesson],
        common: Training,
        cache: AdapterCache,
        collector: Collector | None = None,
    ) -> None:
        self._trainer, self._lessons, self._common, self._cache = trainer, tuple(lessons), common, cache
        self._collector = collector

    def adapter(self, genome: Genome, seed: int, fidelity: Fidelity = FULL) -> Adapter:
        """The adapter of a genome.

        Args:
            genome: whose genes are followed.
            seed: of the training.
            fidelity: its share of the epochs is trained, at least one.

        Raises:
            UserError: it cannot be made, or its files are not those that were made.
        """
        if genome.merge or genome.policy:
            raise UserError(f"genome {genome.id}: adapters only learn by imitation; leave merge and policy out")
        order = self._order(genome, max(1, round(genome.training.epochs * fidelity.epochs)), seed)
        if genome.plain:
            made = _adapter([self._cache.trained(self._trainer, order, self._lessons)], self._lessons)
        elif self._collector is not None:
            made = self._taught_more(genome.data, order, seed, self._collector)
        else:
            raise UserError(f"genome {genome.id} finds lessons of its own, which nothing here collects")
        if adapter_sha256(made.folder) != made.sha256:  # seen right before it is used
            raise UserError(
                f"{made.folder}: the adapter's files changed while in use; the same command trains it anew"
            )
        return made

    def _taught_more(self, data: DataGenes, order: TrainingOrder, seed: int, collector: Collector) -> Adapter:
        """Train on the lessons and on those found by the base; each round adds those found by the last adapter.

        Every training begins from the base: one that goes on from the last adapter would keep what that had
        learned from fewer lessons.
        """
        begun = [collector.replayed(data, seed), *([collector.references(data)] if data.references else [])]
        given = (*self._lessons, *(lesson for one in begun for lesson in one.lessons))
        lessons, made, rounds = given, [self._cache.trained(self._trainer, order, given)], list[FoundLessons]()
        for number in range(data.rounds):
            last = made[-1]
            rounds.append(collector.found(data, last.trained.folder, last.sha256, number, seed))
            lessons = (*given, *rounds[-1].lessons)
            made.append(self._cache.trained(self._trainer, order, lessons))
        return msgspec.structs.replace(
            _adapter(made, lessons),
            sampled=sum(one.tokens for one in (*begun, *rounds)),
            asked=sum(one.asked for one in (*begun, *rounds[:1])),  # each round asks the same problems
        )

    def _order(self, genome: Genome, epochs: int, seed: int) -> TrainingOrder:
        common = self._common
        return TrainingOrder(
            base=self._trainer.base,
            adapter=genome.adapter,
            training=TrainingGenes(learning_rate=genome.training.learning_rate, epochs=epochs),
            seed=seed,
            loss_on=common.loss_on,
            batch_size=common.batch_size,
            longest=common.longest,
        )


def _adapter(made: Sequence[Cached], lessons: tuple[Lesson, ...]) -> Adapter:
    """The last of the adapters that were trained one after another, with the tokens of all."""
    last = made[-1]
    return Adapter(
        folder=last.trained.folder,
        sha256=last.sha256,
        trained=msgspec.structs.replace(last.trained, tokens=sum(one.trained.tokens for one in made)),
        cached=all(one.hit for one in made),
        lessons=lessons,
    )


THOUSAND = 1000.0
FOUND = "found"
"""Folder of lessons that were found, beside the adapters."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One evaluation to make."""

    genome: Genome | None = None
    """None for the bare base."""
    seed: int
    """Of training and sampling."""
    fidelity: Fidelity = FULL
    role: Literal["selection", "report"] = "selection"
    """``report`` is the final and forgetting problems, on which only ``solved`` is scored."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it. All but the last three is the same in every process, on every run."""

    scores: Scores
    adapter_sha256: str
    """Empty for the bare base."""
    cached: bool
    cpu_s: float
    """CPU seconds of this process; the jailed programs' are not among them."""
    wall_s: float


class Evaluator:
    """Evaluates in this process. The base model is loaded once, when first needed.

    Args:
        workplace: settings, problems, lessons.
    """

    def __init__(self, workplace: Workplace) -> None:
        settings = workplace.settings
        self._workplace, self.settings = workplace, settings
        self._profile = find_profile(settings.profile)
        self._objectives: Scorer = (
            CoralxObjectives() if settings.objectives.kind == "coralx" else MeasuredObjectives()
        )
        self._stack = ExitStack()
        self._sandbox = self._stack.enter_context(self._jail(self._profile))
        learned_by = find_profile(settings.training.filter)
        same = learned_by.id == self._profile.id
        self._filtering = self._sandbox if same else self._stack.enter_context(self._jail(learned_by))
        """The jail of what is learned: with the limits of the filter."""
        self._subject: Subject | None = None

    @property
    def subject(self) -> Subject:
        """The base model."""
        if self._subject is None:
            self._subject = open_subject(self.settings.model, self.settings.model_args)
            self._stack.callback(self._subject.close)
        return self._subject

    def close(self) -> None:
        """End the sandbox, release the model."""
        self._stack.close()

    def evaluate(self, job: Job) -> Result:
        """Make an evaluation.

        Raises:
            UserError: the adapter cannot be made, or is damaged.
            Contamination: a problem to be scored was trained on.
            SandboxError: the sandbox failed; a failure of ours is never scored as the model's.
        """
        cpu_s, wall_s = time.process_time(), time.perf_counter()
        if job.genome is None:
            scores, sha256, cached = self._scored(job, None), "", True
        else:
            adapter = self.adapter(job)
            scores, sha256, cached = self._scored(job, adapter), adapter.sha256, adapter.cached
        return Result(
            scores=scores,
            adapter_sha256=sha256,
            cached=cached,
            cpu_s=time.process_time() - cpu_s,
            wall_s=time.perf_counter() - wall_s,
        )

    def adapter(self, job: Job) -> Adapter:
        """The adapter of a job's genome.

        Raises:
            UserError: as `evaluate`.
        """
        if job.genome is None:
            raise UserError("the bare base has no adapter")
        return self._workshop().adapter(job.genome, job.seed, job.fidelity)

    def _workshop(self) -> Workshop:
        cache, training = AdapterCache(self._workplace.adapters), self.settings.training
        collector = Collector(
            self.subject, self.settings, self._workplace.roles, self._filtering, cache.folder / FOUND
        )
        return Workshop(self.subject.trainer, self._workplace.lessons, training, cache, collector)

    def _jail(self, profile: Profile) -> Sandbox:
        return Sandbox(limits_for(profile, ()), workers=1, allow_unsafe=self._workplace.allow_unsafe)

    def anchor(self, name: str) -> Scores:
        """Scores of replies that need no model."""
        problems = self._workplace.roles.selection
        samples = [graded_reply(name, problem, self._profile, self._sandbox) for problem in problems]
        return self._all_scores(problems, samples, None)

    def _scored(self, job: Job, adapter: Adapter | None) -> Scores:
        settings = self.settings
        problems = self._problems(job)
        learns_pool = self._learns_pool(job)
        for problem in problems:
            self._workplace.roles.check(problem, learns_pool=learns_pool)
        examination = Examination(self.subject, self._profile, settings.variant, settings.samples, self._sandbox)
        sampling = settings.base_sampling.genes if job.genome is None else job.genome.sampling
        folder = None if adapter is None else adapter.folder
        samples = examination.take(problems, folder, sampling, job.seed)
        _refuse_failures_of_ours(samples)
        if job.role == "report":
            return _solved(problems, samples)
        return self._all_scores(problems, samples, adapter)

    def _problems(self, job: Job) -> tuple[Problem, ...]:
        roles = self._workplace.roles
        if job.role == "report":
            return (*roles.final, *roles.forgetting)
        # All searches see the same problems: those who do not learn from the pool select by it.
        seen = roles.selection if self._learns_pool(job) else (*roles.selection, *roles.pool)
        return seen[: ceil(len(seen) * job.fidelity.problems)]

    def _learns_pool(self, job: Job) -> bool:
        """Whether the pool is no measure of a job's adapter, nor of those that the search compares it with."""
        own = job.genome is not None and job.genome.learns_pool
        return own or self.settings.space.rounds[1] > 0

    def _all_scores(
        self, problems: Sequence[Problem], samples: Sequence[GradedReply], adapter: Adapter | None
    ) -> Scores:
        """The objectives' own, and what only the loop knows."""
        scores, solved = self._objectives.score(problems, samples, self._sandbox), _solved(problems, samples)
        trained = None if adapter is None else adapter.trained
        parameters, tokens = (0, 0) if trained is None else (trained.parameters, trained.tokens)
        losses = {} if trained is None else {f"loss_{n}": loss for n, loss in enumerate(trained.losses, 1)}
        return Scores(
            objectives={
                **scores.objectives,
                **solved.objectives,
                "parameters": -parameters / THOUSAND,
                "training": -tokens / THOUSAND,
            },
            problems={name: {**own, **solved.problems[name]} for name, own in scores.problems.items()},
            facts={
                **scores.facts,
                "replies": float(len(samples)),
                "tokens_generated": float(sum(sample.tokens or 0 for sample in samples)),
                "parameters": float(parameters),
                "tokens_learned": float(tokens),
                "tokens_sampled": float(0 if adapter is None else adapter.sampled),
                "lessons": float(0 if adapter is None else len(adapter.lessons)),
                "problems_asked": float(0 if adapter is None else adapter.asked),
                "lessons_cut": float(0 if trained is None else trained.cut),
                **losses,
            },
        )


def _solved(problems: Sequence[Problem], samples: Sequence[GradedReply]) -> Scores:
    """Share of replies that pass every test, by problem and on average."""
    shares = {
        name: sum(sample.solved for sample in found) / max(1, len(found))
        for name, found in by_problem(problems, samples).items()
    }
    return Scores(
        objectives={"solved": sum(shares.values()) / len(shares)},
        problems={name: {"solved": share} for name, share in shares.items()},
    )


def _refuse_failures_of_ours(samples: Sequence[GradedReply]) -> None:
    for sample in samples:
        if Reason.GRADER_ERROR in sample.results:
            raise SandboxError(f"{sample.problem}: a test could not be run; the same command goes on from here")
