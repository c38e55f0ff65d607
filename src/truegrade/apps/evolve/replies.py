"""From an adapter to graded samples; replies that teach, and replies that need no model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path
from types import MappingProxyType

import msgspec

from truegrade.apps.evolve.genomes import DataGenes, SamplingGenes
from truegrade.apps.evolve.objectives import GradedReply, repair_task, sample_of
from truegrade.apps.evolve.roles import Roles
from truegrade.apps.evolve.settings import EvolutionSettings
from truegrade.apps.evolve.subject import Ask, Subject
from truegrade.apps.evolve.training.lessons import Lesson, lessons_of, reply_to
from truegrade.errors import SandboxError
from truegrade.files.json_text import encode, read_json
from truegrade.grading.executor import Executor
from truegrade.models.local import Generated
from truegrade.pipeline.verdicts import verdict_on
from truegrade.profiles import Profile, find_profile
from truegrade.records import Completion, FunctionTask, Problem, Prompt, Reason, Verdict, sha256_json
from truegrade.records.config import Sampling
from truegrade.records.kinds import problem_kind
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


ANCHORS: Mapping[str, str] = MappingProxyType(
    {
        "identity": "the buggy program, unchanged",
        "stub": "a function that takes anything and returns None",
        "empty": "an empty reply",
        "reference": "the correct program",
    }
)
"""Names of the anchors, and what they answer."""


def anchor_reply(anchor: str, problem: Problem) -> str:
    """The reply of an anchor, in a fence.

    Raises:
        KeyError: there is no such anchor.
    """
    task = repair_task(problem)
    code = {
        "identity": task.buggy,
        "stub": f"def {task.entry_point}(*args):\n    return None",
        "empty": "",
        "reference": task.reference,
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
        task = problem.task
        if not isinstance(task, FunctionTask) or problem_kind(task) in self._filter.covers:
            return problem
        return msgspec.structs.replace(problem, task=msgspec.structs.replace(task, buggy=""))


def _share(problems: Sequence[Problem], share: float) -> Sequence[Problem]:
    return problems[: ceil(len(problems) * share)]
