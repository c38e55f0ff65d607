"""What the rounds come to: means over seeds, with t intervals of paired differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt

import msgspec

from truegrade.evolution.testbed.records import STRICT, StartMeasured, TestbedRound, TestbedSettings
from truegrade.statistics.quantiles import two_sided_t

CONFIDENCE = 0.95
ALGORITHM = (
    "GRPO: clipped ratio, rewards normalised within a group, loss averaged over tokens, no KL term;"
    " AdamW on a LoRA adapter of rank 16"
)


class MeanOverSeeds(msgspec.Struct, frozen=True, kw_only=True):
    """A mean over seeds and its t interval (Student 1908); the bounds are None with a single seed."""

    mean: float
    low: float | None
    high: float | None


class ArmResult(msgspec.Struct, frozen=True, kw_only=True):
    """An arm, over the seeds that have all rounds."""

    arm: str
    seeds: int
    paid_start: MeanOverSeeds
    paid: MeanOverSeeds
    """Mean reward in the last round."""
    true_start: MeanOverSeeds
    true: MeanOverSeeds
    """True pass rate in the last round."""
    true_change: MeanOverSeeds
    """From the first round to the last, paired by seed."""
    against_strict: MeanOverSeeds | None
    """True pass rate in the last round less that of strict, paired by seed; None of strict, or without it."""
    cheats_start: MeanOverSeeds
    cheats: MeanOverSeeds
    tpr: float | None
    """Mean over rounds and seeds."""
    fpr: float | None
    entropy: MeanOverSeeds
    kl: MeanOverSeeds
    cpu_s: float
    """Of all rounds and seeds."""


class TestbedResults(msgspec.Struct, frozen=True, kw_only=True):
    """``results.json``."""

    __test__ = False

    settings: TestbedSettings
    algorithm: str
    start: StartMeasured
    arms: tuple[ArmResult, ...]


def summarised(settings: TestbedSettings, start: StartMeasured, rounds: Sequence[TestbedRound]) -> TestbedResults:
    """Count; arms without a finished seed are left out."""
    found = {
        arm: {seed: whole for seed in range(settings.seeds) if (whole := _of(rounds, arm, seed, settings.rounds))}
        for arm in settings.arms
    }
    strict = found.get(STRICT, {})
    arms = tuple(_result(arm, by_seed, strict) for arm, by_seed in found.items() if by_seed)
    return TestbedResults(settings=settings, algorithm=ALGORITHM, start=start, arms=arms)


def over_seeds(values: Sequence[float]) -> MeanOverSeeds:
    """Mean and t interval."""
    size, mean = len(values), sum(values) / len(values)
    if size < 2:
        return MeanOverSeeds(mean=mean, low=None, high=None)
    variance = sum((value - mean) ** 2 for value in values) / (size - 1)
    half = two_sided_t(CONFIDENCE, size - 1) * sqrt(variance / size)
    return MeanOverSeeds(mean=mean, low=mean - half, high=mean + half)


def _of(rounds: Sequence[TestbedRound], arm: str, seed: int, last: int) -> list[TestbedRound]:
    """The rounds of an arm under a seed, if all are there."""
    mine = [one for one in rounds if (one.arm, one.seed) == (arm, seed)]
    return mine if len(mine) == last + 1 else []


def _result(arm: str, by_seed: dict[int, list[TestbedRound]], strict: dict[int, list[TestbedRound]]) -> ArmResult:
    chains = list(by_seed.values())

    def at(place: int, value: Callable[[TestbedRound], float]) -> MeanOverSeeds:
        return over_seeds([value(rounds[place]) for rounds in chains])

    both = [seed for seed in by_seed if seed in strict and arm != STRICT]
    apart = [by_seed[seed][-1].true_pass - strict[seed][-1].true_pass for seed in both]
    every = [one for rounds in chains for one in rounds]
    return ArmResult(
        arm=arm,
        seeds=len(chains),
        paid_start=at(0, lambda one: one.paid),
        paid=at(-1, lambda one: one.paid),
        true_start=at(0, lambda one: one.true_pass),
        true=at(-1, lambda one: one.true_pass),
        true_change=over_seeds([rounds[-1].true_pass - rounds[0].true_pass for rounds in chains]),
        against_strict=over_seeds(apart) if apart else None,
        cheats_start=at(0, lambda one: one.cheating),
        cheats=at(-1, lambda one: one.cheating),
        tpr=_mean([one.tpr for one in every]),
        fpr=_mean([one.fpr for one in every]),
        entropy=at(-1, lambda one: one.entropy),
        kl=at(-1, lambda one: one.kl),
        cpu_s=sum(one.cpu_s for one in every),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
