"""GRPO behind imitation: an adapter goes on from what it learned, by verdicts on its own samples of the pool.

Unlike a lesson, a sample that fails counts too: what drew it becomes less probable.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Protocol, runtime_checkable

import msgspec

from truegrade.errors import UserError
from truegrade.evolution.genomes import PolicyGenes
from truegrade.evolution.policy.policy import Policy, weighted
from truegrade.evolution.policy.rollouts import SampledReply
from truegrade.evolution.policy.updates import Stepping
from truegrade.evolution.training.base import Lesson, Trained, Trainer, TrainingOrder
from truegrade.models.micro.blas import use_one_thread
from truegrade.records import Prompt

BATCHES, PASSES, CLIP = 8, 2, 0.2
"""Of every round, as in the testbed of rewards."""


class AskedPrompt(msgspec.Struct, frozen=True):
    """A problem as the policy is asked for it."""

    problem: str
    prompt: Prompt
    passes: Callable[[str, bool], bool]
    """Whether a reply passes the filter; the second argument says whether it was cut."""


@runtime_checkable
class PolicyTrainer(Trainer, Protocol):
    """A trainer that can also take a step away from a reply."""

    def policy(self, order: TrainingOrder, start: Path) -> Policy:
        """What an adapter of this order draws, beginning with the one in a folder.

        Raises:
            UserError: it is no LoRA adapter.
        """

    def prompt(self, prompt: Prompt) -> list[int]:
        """Its tokens."""

    def text(self, tokens: Sequence[int]) -> str:
        """What a reply says, without the token that ends it."""

    def keep(self, folder: Path, order: TrainingOrder, policy: Policy, learned: Sequence[Lesson]) -> None:
        """Write the policy's adapter into a folder that is empty or absent."""


class Reinforcement:
    """The `Trainer` of an adapter that goes on from another one.

    Args:
        trainer: of the base.
        start: folder of the adapter that it goes on from.
        genes: how.
        pool: what it is asked.
        longest: tokens after which a reply is cut.

    Raises:
        UserError: the trainer can imitate only.
    """

    def __init__(
        self, trainer: Trainer, start: Path, genes: PolicyGenes, pool: Sequence[AskedPrompt], longest: int
    ) -> None:
        if not isinstance(trainer, PolicyTrainer):
            raise UserError(f"{trainer.base} cannot be trained by policy gradient, only by imitation")
        self._trainer, self._start, self._genes, self._longest = trainer, start, genes, longest
        self._pool = pool
        self.base, self.base_sha256, self.versions = trainer.base, trainer.base_sha256, trainer.versions

    def train(
        self,
        order: TrainingOrder,
        lessons: Sequence[Lesson],
        folder: Path,
        on_epoch: Callable[[int, float], None] | None = None,
    ) -> Trained:
        """See `truegrade.evolution.training.base.Trainer`; an epoch is a round, and its loss the share that fails.

        Raises:
            UserError: the start is no LoRA adapter, or the folder is not empty.
            SandboxError: a reply could not be graded.
        """
        began, restore_threads = time.thread_time(), use_one_thread()
        try:
            policy = self._trainer.policy(order, self._start)
            rounds = [self._round(policy, order.seed, number) for number in range(self._genes.rounds)]
        finally:
            restore_threads()
        for number, one in enumerate(rounds):
            if on_epoch is not None:
                on_epoch(number, one.failed)
        learned = tuple(dict.fromkeys((*lessons, *(lesson for one in rounds for lesson in one.learned))))
        self._trainer.keep(folder, order, policy, learned)
        return Trained(
            folder=folder,
            parameters=policy.adapter.values.size,
            losses=tuple(one.failed for one in rounds),
            tokens=sum(one.tokens for one in rounds),
            sampled=sum(one.sampled for one in rounds),
            cpu_s=time.thread_time() - began,
        )

    def close(self) -> None:
        """Nothing: the trainer is another's."""

    def _round(self, policy: Policy, seed: int, number: int) -> _Round:
        """Draw and grade samples of some prompts, and learn from them."""
        genes = self._genes
        draws = Random(f"{seed} {number} prompts")
        asked = draws.sample(self._pool, min(genes.prompts, len(self._pool)))
        prompts = [self._trainer.prompt(one.prompt) for one in asked]
        replies = policy.sample(prompts, genes.samples, self._longest, (seed, number, "policy"))
        texts = [self._trainer.text(reply.tokens) for reply in replies]
        passed = [
            asked[reply.prompt].passes(text, len(reply.tokens) == self._longest)
            for reply, text in zip(replies, texts, strict=True)
        ]
        rewards = [[float(one)] * len(reply.samples) for one, reply in zip(passed, replies, strict=True)]
        taught = weighted(prompts, replies, rewards)
        stepping = Stepping(learning_rate=genes.learning_rate, batches=BATCHES, passes=PASSES, clip=CLIP)
        policy.learn(taught, stepping, (seed, number))
        telling = [place for place, one in enumerate(taught) if one.up or one.down]
        samples = sum(len(reply.samples) for reply in replies)
        return _Round(
            failed=1 - sum(map(sum, rewards)) / samples,
            sampled=sum(len(reply.tokens) * len(reply.samples) for reply in replies),
            tokens=PASSES * sum(len(taught[place].example.tokens) for place in telling),
            learned=tuple(_lesson(asked, replies[place], texts[place]) for place in telling),
        )


class _Round(msgspec.Struct, frozen=True, kw_only=True):
    failed: float
    """Share of samples."""
    sampled: int
    """Tokens of all samples."""
    tokens: int
    """Learned and passed over, in all passes."""
    learned: tuple[Lesson, ...]
    """Replies with an advantage, positive or negative."""


def _lesson(asked: Sequence[AskedPrompt], reply: SampledReply, text: str) -> Lesson:
    one = asked[reply.prompt]
    return Lesson(problem=one.problem, prompt=one.prompt, reply=text)
