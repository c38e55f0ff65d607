"""Orders for training an adapter, and their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from truegrade.datasets.learned import LearnedFrom, learned_from_texts
from truegrade.evolution.genomes import AdapterGenes, TrainingGenes
from truegrade.records import Prompt


class Lesson(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to learn: a prompt, in the format in which the adapter is tested, and the reply to give."""

    problem: str
    """Id of the problem it was made from."""
    prompt: Prompt
    reply: str


def learned_from_lessons(lessons: Sequence[Lesson]) -> LearnedFrom:
    """The record of what an adapter learned from: the programs in prompts, replies, and prompts gone on with."""
    texts: list[str] = []
    for one in lessons:
        said = [message.content for message in one.prompt.messages]
        texts += [*said, one.reply, said[-1] + one.reply]
    return learned_from_texts((one.problem for one in lessons), texts)


class TrainingOrder(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that decides an adapter, apart from the lessons and the code that trains."""

    base: str
    """The model, ``embedded/NAME`` or ``hf/NAME``."""
    adapter: AdapterGenes
    training: TrainingGenes
    seed: int
    loss_on: Literal["reply", "all"] = "reply"
    """Which tokens are learned; ``all`` is CORAL-X's rule."""
    batch_size: int = 8
    longest: int = 512
    """Tokens of a lesson; what is longer is cut at the end, and counted."""


class Trained(msgspec.Struct, frozen=True, kw_only=True):
    """An adapter on disk, in PEFT's format: ``adapter_config.json`` and ``adapter_model.safetensors``."""

    folder: Path
    parameters: int
    losses: tuple[float, ...]
    """Mean per learned token, of each epoch."""
    tokens: int
    """Learned and passed over, padding apart, all epochs."""
    cpu_s: float
    cut: int = 0
    """Lessons that were too long."""


class Trainer(Protocol):
    """An engine that trains adapters of one base model, which it loads once."""

    @property
    def base(self) -> str:
        """The model."""

    @property
    def base_sha256(self) -> str:
        """Hash of its weights and tokenizer."""

    @property
    def versions(self) -> dict[str, str]:
        """Of the libraries that decide the result."""

    def train(
        self,
        order: TrainingOrder,
        lessons: Sequence[Lesson],
        folder: Path,
        on_epoch: Callable[[int, float], None] | None = None,
    ) -> Trained:
        """Train, and write the adapter into a folder that is empty or absent.

        Raises:
            UserError: the base has no such modules, or a gene is out of range.
        """

    def close(self) -> None:
        """Release memory."""
