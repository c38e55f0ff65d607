"""One training: it learns, answers originals and changed problems, and is judged in the jail."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from truegrade.evolution.leakage.planting import MODEL, Arm, LeakSettings, PlantedPair, order_of, planted
from truegrade.evolution.subject import Ask, EmbeddedSubject
from truegrade.evolution.testbed.grading import ProgramGrader
from truegrade.models.micro.blas import use_one_thread
from truegrade.records import FunctionTask, Problem
from truegrade.records.config import Sampling
from truegrade.statistics.leakage import AnsweredPair, Reply

LONGEST = 128
"""Tokens after which a reply is cut; the longest right one has about 90."""


class LeakTraining(msgspec.Struct, frozen=True, kw_only=True):
    """A line of ``trainings.jsonl``."""

    dose: float
    repeats: int
    seed: int
    pairs: tuple[AnsweredPair, ...]
    leaked: tuple[bool, ...]
    """Of each pair, whether its original was among the lessons."""
    hidden: tuple[bool, ...]
    """Of each pair, whether its names do not say what is wanted."""
    loss: float
    """Mean per learned token."""
    tokens: int
    """Of all lessons."""
    cpu_s: float
    """Of this process, answers included; programs run in others."""

    @property
    def arm(self) -> Arm:
        """Its place in the experiment."""
        return Arm(self.dose, self.repeats)


def train_one(settings: LeakSettings, arm: Arm, seed: int, allow_unsafe: bool) -> LeakTraining:
    """Train, ask and judge, in whichever process.

    Raises:
        SandboxError: a program could not be run.
    """
    began, restore = time.process_time(), use_one_thread()
    try:
        with (
            closing(ProgramGrader(allow_unsafe=allow_unsafe, threads=1)) as grader,
            closing(EmbeddedSubject(MODEL)) as subject,
            TemporaryDirectory() as temporary,
        ):
            pairs, lessons = planted(settings, arm, seed, grader.profile)
            adapter = Path(temporary) / "adapter"
            trained = subject.trainer.train(order_of(settings, seed), lessons, adapter)
            answered = _answers(pairs, subject, adapter, grader)
    finally:
        restore()
    return LeakTraining(
        dose=arm.dose,
        repeats=arm.repeats,
        seed=seed,
        pairs=answered,
        leaked=tuple(pair.leaked for pair in pairs),
        hidden=tuple(pair.hidden for pair in pairs),
        loss=trained.losses[-1],
        tokens=trained.tokens,
        cpu_s=time.process_time() - began,
    )


def _answers(
    pairs: Sequence[PlantedPair], subject: EmbeddedSubject, adapter: Path, grader: ProgramGrader
) -> tuple[AnsweredPair, ...]:
    """Greedy replies to both problems of every pair, judged."""
    asked = [problem for pair in pairs for problem in (pair.original, pair.changed)]
    sampling = Sampling(temperature=0.0, max_tokens=LONGEST)
    prompts = [grader.profile.render_prompt(problem) for problem in asked]
    asks = [Ask(prompt=prompt, sampling=sampling, sample=0) for prompt in prompts]
    texts = iter([reply.text for reply in subject.answer(adapter, asks)])
    return tuple(
        AnsweredPair(
            pair.original.cluster,
            judged(next(texts), pair.original, pair.changed, grader),
            judged(next(texts), pair.changed, pair.original, grader),
        )
        for pair in pairs
    )


def judged(text: str, problem: Problem, other: Problem, grader: ProgramGrader) -> Reply:
    """Whether a reply is right, or the right answer of the pair's other problem, whatever its function's name."""
    prompt = grader.profile.render_prompt(problem)
    if grader.verdict(problem, prompt, text).passed:
        return "right"
    mine, theirs = (one.task.entry_point for one in (problem, other) if isinstance(one.task, FunctionTask))
    return "exchanged" if grader.verdict(other, prompt, text.replace(mine, theirs)).passed else "wrong"
