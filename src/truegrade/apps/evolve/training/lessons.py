"""What an adapter learns: the very prompt it will be tested with, and the reply that solves it.

An adapter that is trained on other words than it is tested with learns the words first. So lessons are worded by
the profile that will grade, and only the reply is learned.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from truegrade.apps.evolve.genomes import AdapterGenes, TrainingGenes
from truegrade.apps.evolve.roles import WITHOUT_JSON, repair_of
from truegrade.datasets.checkouts import TRAIN
from truegrade.datasets.learned import LearnedFrom, learned_from_texts
from truegrade.profiles.base import Profile
from truegrade.records import Message, Problem, Prompt

# ---------------------------------------------------------- Orders for training an adapter, and their results.


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

    def train(self, order: TrainingOrder, lessons: Sequence[Lesson], folder: Path) -> Trained:
        """Train, and write the adapter into a folder that is empty or absent.

        Raises:
            UserError: the base has no such modules, or a gene is out of range.
        """

    def close(self) -> None:
        """Release memory."""


_FENCE = "```"


def lessons_of(problems: Iterable[Problem], profile: Profile, variant: str | None = None) -> tuple[Lesson, ...]:
    """One lesson a problem, of any benchmark whose problems are repairs.

    Args:
        problems: those to learn from.
        profile: words the prompt.
        variant: name of its prompt; None for its own choice.

    Raises:
        UserError: a problem is no repair, or the profile does not word it.
    """
    problems = tuple(problems)
    by_id = {problem.id: problem for problem in problems}
    lessons = []
    for problem in problems:
        prompt = profile.render_prompt(problem, variant, by_id)
        reply = reply_to(prompt, repair_of(problem).solution)
        lessons.append(Lesson(problem=problem.id, prompt=prompt, reply=reply))
    return tuple(lessons)


def reply_to(prompt: Prompt, code: str) -> str:
    """Code as the reply to a prompt: in a block of its own, or in the one that a text to continue has opened."""
    closing = f"{code}\n{_FENCE}"
    if prompt.style == "text" and _has_opened(prompt.messages[-1].content):
        return closing
    return f"{_FENCE}python\n{closing}"


def _has_opened(text: str) -> bool:
    """Whether a text ends inside a block that its last line opens."""
    fences = [line for line in text.splitlines() if line.startswith(_FENCE)]
    return len(fences) % 2 == 1 and text.rstrip("\n").rpartition("\n")[2].startswith(_FENCE)


# ---------------- CORAL-X's training set: every training problem under four instructions, 24 x 4 = 96 lessons.
# The four instructions are those of CORAL-X's description. The text around them, the loss on all tokens
# and the cut at 512 are those of skishore23/coralx@fd75b33 ``core/domain/lora_training.py``. Neither generation
# prompt has these words: an adapter trained so is never trained in the format it is tested in. And 40 of the 96
# texts were counted longer than 512 tokens (a byte-pair vocabulary of 2048), which cuts the fix off.


INSTRUCTIONS = (
    "Fix the bug in this Python function from {name}:",
    "Debug and correct the following Python code for {name}:",
    "The following function has a bug. Provide the corrected version:",
    "Analyze and fix the error in this {name} implementation:",
)

_SOURCE = (
    "skishore23/coralx@93e9490 docs/archive/QUIXBUGS_USAGE_ANALYSIS.md (instructions);"
    " skishore23/coralx@fd75b33 core/domain/lora_training.py (frame)"
)


def coralx_lessons(problems: Iterable[Problem], *, json_only: bool = False) -> tuple[Lesson, ...]:
    """The set, in the order of the problems; what is not in CORAL-X's training list is skipped, as there.

    Args:
        problems: QuixBugs, or a part of it.
        json_only: skip what has no JSON tests too, as the loader of the repository does: then
            ``reverse_linked_list`` is out, and of 96 lessons 92 are left.

    Raises:
        UserError: a problem is no repair.
    """
    wanted = TRAIN - WITHOUT_JSON if json_only else TRAIN
    repairs = [repair_of(problem) for problem in problems]
    return tuple(
        Lesson(
            problem=repair.problem,
            prompt=_prompt(instruction.format(name=repair.name), repair.buggy.strip()),
            reply=repair.reference.strip(),
        )
        for repair in repairs
        if repair.name in wanted
        for instruction in INSTRUCTIONS
    )


def _prompt(instruction: str, program: str) -> Prompt:
    """Up to where the correct file follows; both files as they stand, notes included, outer white space off."""
    text = f"### Instruction: {instruction}\n### Input: {program}\n### Output: "
    return Prompt(messages=(Message(role="user", content=text),), style="text", source=_SOURCE)
