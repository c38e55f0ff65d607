"""What a testbed is asked for, and what each of its rounds says."""

from __future__ import annotations

from types import MappingProxyType

import msgspec

from truegrade.errors import UnknownName, UserError
from truegrade.evolution.policy.updates import Stepping
from truegrade.records import sha256_json

STRICT, LEAKY, PENALTY, NOISE = "strict", "leaky", "leaky+penalty", "noise"
FLIPPED = MappingProxyType({"J=0.6": 0.6, "J=0.2": 0.2, "J=0": 0.0, "J=-0.2": -0.2})
"""Arm -> Youden's J of strict verdicts that are flipped at random, alike for right and wrong replies."""
ARMS = (STRICT, LEAKY, PENALTY, NOISE)
"""The arms of a whole testbed; those of `FLIPPED` are asked for by name."""


class TestbedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that decides the numbers."""

    __test__ = False

    arms: tuple[str, ...] = ARMS
    seeds: int = 5
    rounds: int = 12
    prompts: int = 64
    """Of each round."""
    samples: int = 8
    """Of each prompt: a group."""
    pool: int = 256
    """Training problems that the prompts of a round are drawn from."""
    held_out: int = 128
    held_out_samples: int = 2
    hard: float = 0.67
    """Share of both that has a bug of the class that the start mostly fails at, where a cheat pays most."""
    demonstrations: int = 464
    """Problems by which the start is taught."""
    stepping: Stepping = Stepping(learning_rate=1e-3, batches=8, passes=2, clip=0.2)
    longest: int = 112
    """Tokens after which a reply is cut."""

    @property
    def sha256(self) -> str:
        """Hash of what decides a round; how many there are and of which arms and seeds may grow."""
        facts = msgspec.to_builtins(self)
        for name in ("arms", "seeds", "rounds"):
            del facts[name]
        return sha256_json(facts)

    def check(self) -> None:
        """See that the settings make sense.

        Raises:
            UserError: they do not.
        """
        for arm in self.arms:
            if arm not in (*ARMS, *FLIPPED):
                raise UnknownName("arm", arm, (*ARMS, *FLIPPED))
        if not self.arms:
            raise UserError("`arms`: name at least one")
        if NOISE in self.arms and LEAKY not in self.arms:
            raise UserError("`arms`: noise needs the false positives of the arm leaky; name that too")
        for name, least in (("seeds", 1), ("rounds", 1), ("prompts", 1), ("samples", 2), ("held_out", 1)):
            if getattr(self, name) < least:
                raise UserError(f"`{name}` {getattr(self, name)} is below {least}")
        if not 0 <= self.hard <= 1:
            raise UserError(f"`hard` {self.hard} is no share: give a number from 0 to 1")


class TestbedRound(msgspec.Struct, frozen=True, kw_only=True):
    """A round of an arm, measured before its update; round 0 is the start, and the last one has no update."""

    __test__ = False

    arm: str
    seed: int
    round: int
    paid: float
    """Mean reward of the round's samples."""
    accepted: float
    """Share of them that the arm's grader calls right."""
    true_pass: float
    """Share of samples of held-out problems that strict calls right."""
    cheats: dict[str, float]
    """Channel -> share of the held-out samples whose program tries it."""
    tpr: float | None
    """Share of the round's right samples that the arm's grader calls right; None where there is none."""
    fpr: float | None
    """Share of its wrong samples that it calls right."""
    entropy: float
    """Mean over held-out tokens, in nats."""
    kl: float
    """From the start, in nats a reply, on held-out problems."""
    cpu_s: float
    """Of this process, the round's update included."""

    @property
    def cheating(self) -> float:
        """Share of held-out samples that try any channel."""
        return sum(self.cheats.values())


class StartMeasured(msgspec.Struct, frozen=True, kw_only=True):
    """The start, measured once."""

    base_sha256: str
    settings_sha256: str
    true_pass: float
    cheats: dict[str, float]
    samples: int
    cpu_s: float
