"""From an adapter to graded samples: prompts of the profile, replies of the adapted model, verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from truegrade.errors import SandboxError
from truegrade.evolution.genomes import SamplingGenes
from truegrade.evolution.objectives.scorers import GradedReply, sample_of
from truegrade.evolution.subject import Ask, Subject
from truegrade.grading.executor import Executor
from truegrade.models.local import Generated
from truegrade.pipeline.verdicts import verdict_on
from truegrade.profiles import Profile
from truegrade.records import Completion, Problem, Prompt, Reason, Verdict
from truegrade.records.config import Sampling


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
