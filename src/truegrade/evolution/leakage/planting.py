"""What is planted, and what one training is to learn from."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import NamedTuple

import msgspec

from truegrade.benchmarks.micro_repair import problem_of
from truegrade.builders.micro.twins import TwinItems, draw_twins
from truegrade.errors import UserError
from truegrade.evolution.genomes import AdapterGenes, TrainingGenes
from truegrade.evolution.training.base import Lesson, TrainingOrder
from truegrade.evolution.training.lessons import lessons_of
from truegrade.models.micro.micro_adapters import MODULES
from truegrade.profiles import Profile
from truegrade.records import Problem, sha256_json

MODEL = "embedded/truegrade-micro"


class Arm(NamedTuple):
    """How much of the benchmark the training data hold."""

    dose: float
    """Share of the originals that are among the lessons."""
    repeats: int
    """Times that each of them is; 0 where none is."""


class LeakSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that decides the numbers."""

    doses: tuple[float, ...] = (0.0, 0.05, 0.25, 1.0)
    trainings: int = 3
    """Of each dose above 0."""
    clean: int = 20
    """Trainings at dose 0, by which false alarms are counted."""
    repeats: int = 24
    """Times that a planted problem is among the lessons."""
    others: tuple[int, ...] = (8, 16)
    """Further numbers of repeats, at `others_dose`."""
    others_dose: float = 0.25
    pairs: int = 60
    """Of the benchmark."""
    hidden: float = 0.6
    """Share of pairs whose names do not say what is wanted: skill cannot answer them. Honest lessons have none."""
    lessons: int = 480
    """Of every training, repeats included: what is not planted is drawn afresh. Planted ones alone may be more."""
    rank: int = 32
    learning_rate: float = 3e-3
    batch_size: int = 4

    @property
    def arms(self) -> dict[Arm, int]:
        """Arm -> trainings."""
        arms = {
            Arm(dose, self.repeats if dose else 0): self.trainings if dose else self.clean for dose in self.doses
        }
        return arms | {Arm(self.others_dose, repeats): self.trainings for repeats in self.others}

    @property
    def sha256(self) -> str:
        """Hash of what decides a training; how many there are of which arms may grow."""
        facts = msgspec.to_builtins(self)
        for name in ("doses", "trainings", "clean", "repeats", "others", "others_dose"):
            del facts[name]
        return sha256_json(facts)

    def check(self) -> None:
        """See that the settings make sense.

        Raises:
            UserError: they do not.
        """
        for name in ("trainings", "clean", "repeats", "pairs", "lessons"):
            if getattr(self, name) < 1:
                raise UserError(f"`{name}` {getattr(self, name)} is below 1")
        for dose, _ in self.arms:
            if not 0 <= dose <= 1:
                raise UserError(f"`doses` {dose:g} is no share: give numbers from 0 to 1")


class PlantedPair(NamedTuple):
    """A pair of the benchmark, as one training has it."""

    original: Problem
    changed: Problem
    hidden: bool
    leaked: bool


def quick() -> LeakSettings:
    """Two arms, fewer problems and lessons."""
    return LeakSettings(doses=(0.0, 0.25), trainings=1, clean=1, others=(), pairs=40, lessons=240)


def planted(
    settings: LeakSettings, arm: Arm, seed: int, profile: Profile
) -> tuple[list[PlantedPair], list[Lesson]]:
    """The benchmark of a training, and its lessons.

    The pairs are always the same. Which problem of each is published, and which of the published ones leak, is
    drawn for every training. Honest lessons share no right program with the benchmark.

    Args:
        settings: of the experiment.
        arm: how much leaks.
        seed: of the training.
        profile: words the lessons.
    """
    rng = random.Random(f"leakage {arm.dose} {arm.repeats} {seed}")
    twins, problems = _benchmark(settings.pairs, settings.hidden)
    leaked = set(rng.sample(range(settings.pairs), round(arm.dose * settings.pairs)))
    pairs = []
    for number, (twin, both) in enumerate(zip(twins, problems, strict=True)):
        original, changed = both if rng.random() < 0.5 else both[::-1]
        pairs.append(PlantedPair(original, changed, twin.hidden, number in leaked))
    shown = [pair.original for pair in pairs if pair.leaked] * arm.repeats
    known = frozenset(program for twin in twins for program in twin.programs)
    honest = max(0, settings.lessons - len(shown))
    fresh = draw_twins(rng, -(-honest // 2), known=known)
    drawn = [problem for twin in _problems(fresh, "lessons") for problem in twin][:honest]
    return pairs, list(lessons_of([*shown, *drawn], profile))


def order_of(settings: LeakSettings, seed: int) -> TrainingOrder:
    """How a training is done: one pass over its lessons in a random order."""
    modules = tuple(sorted(MODULES))
    rank = settings.rank
    return TrainingOrder(
        base=MODEL,
        adapter=AdapterGenes(kind="lora", rank=rank, alpha=2.0 * rank, dropout=0.0, modules=modules),
        training=TrainingGenes(learning_rate=settings.learning_rate, epochs=1),
        seed=seed,
        batch_size=settings.batch_size,
    )


@lru_cache(1)
def _benchmark(pairs: int, hidden: float) -> tuple[tuple[TwinItems, ...], list[tuple[Problem, Problem]]]:
    twins = draw_twins(random.Random("leakage benchmark"), pairs, hidden)
    return twins, _problems(twins, "benchmark")


def _problems(twins: tuple[TwinItems, ...], digest: str) -> list[tuple[Problem, Problem]]:
    """Both problems of each pair, numbered one after the other."""
    return [
        (problem_of(2 * place, twin.first, digest), problem_of(2 * place + 1, twin.second, digest))
        for place, twin in enumerate(twins)
    ]
