"""What trainings come to, arm by arm."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import msgspec

from truegrade.evolution.leakage.planting import Arm, LeakSettings
from truegrade.evolution.leakage.training import LeakTraining
from truegrade.evolution.testbed.summary import MeanOverSeeds, over_seeds
from truegrade.statistics.intervals import wilson
from truegrade.statistics.leakage import LeakEstimate, leak_estimate, sign_flip_tail

LEVEL = 0.05
REDRAWS = 200
"""Times that a training without a leak is looked at as if other problems of its pairs had been published: its
model saw neither, so each such draw is as good as the one that was made."""


class TrainingFound(msgspec.Struct, frozen=True, kw_only=True):
    """What the comparison finds of one training."""

    seed: int
    estimate: LeakEstimate
    remembered: float | None
    """Of the planted originals that skill cannot answer, the share that is answered rightly; None without any."""
    truth: float
    """Planted originals that skill cannot answer and that are answered rightly, as a share of all that it cannot:
    what the estimate, which is not told which are which, is to find."""
    cpu_s: float


class ArmFound(msgspec.Struct, frozen=True, kw_only=True):
    """An arm, over its trainings."""

    dose: float
    repeats: int
    known: MeanOverSeeds | None
    """Mean of the estimates, with Student's t interval over trainings; None where no training has one."""
    holds: int
    """Trainings whose own interval holds the dose."""
    holds_truth: int
    """Trainings whose own interval holds what is known in truth."""
    detected: int
    """Trainings in which the p-value is at most 5 %."""
    detection_low: float
    """Wilson's interval of the detection rate."""
    detection_high: float
    redraws: int
    """Of the trainings without a leak; 0 in other arms."""
    redraw_alarms: int
    """Of these, p-values of at most 5 %."""
    trainings: tuple[TrainingFound, ...]

    def mean(self, name: str) -> float | None:
        """Mean of a number of every training, or of its estimate; None where a training lacks it."""
        held = [one if hasattr(one, name) else one.estimate for one in self.trainings]
        values = [getattr(each, name) for each in held]
        known = [value for value in values if value is not None]
        return sum(known) / len(known) if known else None


class LeakResults(msgspec.Struct, frozen=True, kw_only=True):
    """``results.json``."""

    settings: LeakSettings
    arms: tuple[ArmFound, ...]


def summarised(settings: LeakSettings, trainings: Sequence[LeakTraining]) -> LeakResults:
    """Estimate and count; arms without a training are left out."""
    by_arm = {arm: [one for one in trainings if one.arm == arm] for arm in settings.arms}
    return LeakResults(settings=settings, arms=tuple(_arm(arm, found) for arm, found in by_arm.items() if found))


def _arm(arm: Arm, trainings: Sequence[LeakTraining]) -> ArmFound:
    found = tuple(_found(one) for one in trainings)
    known = [one.estimate.known for one in found if one.estimate.known is not None]
    detected = sum(one.estimate.p_value <= LEVEL for one in found)
    low, high = wilson(detected, len(found))
    return ArmFound(
        dose=arm.dose,
        repeats=arm.repeats,
        known=over_seeds(known) if known else None,
        holds=sum(_holds(one.estimate, arm.dose) for one in found),
        holds_truth=sum(_holds(one.estimate, one.truth) for one in found),
        detected=detected,
        detection_low=low,
        detection_high=high,
        redraws=0 if arm.dose else REDRAWS * len(found),
        redraw_alarms=0 if arm.dose else sum(map(_alarms, trainings)),
        trainings=found,
    )


def _found(training: LeakTraining) -> TrainingFound:
    seen = zip(training.pairs, training.leaked, training.hidden, strict=True)
    planted = [pair.original == "right" for pair, leaked, hidden in seen if leaked and hidden]
    return TrainingFound(
        seed=training.seed,
        estimate=leak_estimate(training.pairs),
        remembered=sum(planted) / len(planted) if planted else None,
        truth=sum(planted) / max(1, sum(training.hidden)),
        cpu_s=training.cpu_s,
    )


def _holds(estimate: LeakEstimate, dose: float) -> bool:
    return estimate.low is not None and estimate.high is not None and estimate.low <= dose <= estimate.high


def _alarms(training: LeakTraining) -> int:
    """How many redraws of what was published raise an alarm."""
    rng = Random(f"redraws {training.seed}")
    scores = [pair.score for pair in training.pairs]
    redrawn = ([score if rng.random() < 0.5 else -score for score in scores] for _ in range(REDRAWS))
    return sum(sign_flip_tail(each) <= LEVEL for each in redrawn)
