"""One arm under one seed: rounds of samples, verdicts and updates, each kept before the next begins.

<folder>/<arm>-<seed>/rounds.jsonl    a `TestbedRound` a line
<folder>/<arm>-<seed>/state.npz       the policy behind the last round, with that round's line
"""

from __future__ import annotations

import io
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from truegrade.errors import BadRecord
from truegrade.evolution.policy.policy import weighted
from truegrade.evolution.policy.rollouts import SampledReply
from truegrade.evolution.testbed.cheats import PROGRAMS, channel_of
from truegrade.evolution.testbed.grading import GradedProgram, ProgramGrader, accepting, flip_rates
from truegrade.evolution.testbed.policy import BaseModel, TestbedPolicy
from truegrade.evolution.testbed.records import TestbedRound, TestbedSettings
from truegrade.evolution.testbed.start import drawn
from truegrade.files.json_text import encode
from truegrade.records import Problem
from truegrade.store.folder_lock import alone_in
from truegrade.store.journal import Journal, read_journal
from truegrade.store.manifest import write_atomically

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

ROUNDS, STATE = "rounds.jsonl", "state.npz"
TRAIN_SEED, HELD_OUT_SEED = 11, 31
SPLIT, HARD = "seen-unseen", "logical"
"""Of its problems, the start repairs nine in ten with bugs of the other two classes, and one in four of this."""
MEASURED_FOR_KL = 48
"""Distinct held-out replies by which the distance from the start is estimated."""


class Sampled(msgspec.Struct, frozen=True):
    """Replies to problems, and what the graders say of each."""

    prompts: list[list[int]]
    replies: list[SampledReply]
    graded: list[GradedProgram]


class ArmBench:
    """What all arms share: the model, the start, the problems, the graders.

    Args:
        settings: of the testbed.
        base: the shipped model.
        start: weights of the start.
        grader: of replies.
    """

    def __init__(
        self, settings: TestbedSettings, base: BaseModel, start: dict[str, Array], grader: ProgramGrader
    ) -> None:
        self.settings, self.base, self.start, self.grader = settings, base, start, grader
        self.held_out = mixed(settings.held_out, settings.hard, HELD_OUT_SEED)
        known = frozenset(problem.cluster for problem in self.held_out)
        self.pool = mixed(settings.pool, settings.hard, TRAIN_SEED, known)

    def sampled(
        self, policy: TestbedPolicy, problems: Sequence[Problem], samples: int, seed: Sequence[int | str]
    ) -> Sampled:
        """Draw and grade replies."""
        worded = [self.grader.profile.render_prompt(problem) for problem in problems]
        prompts = [self.base.prompt(prompt) for prompt in worded]
        replies = policy.sample(prompts, samples, self.settings.longest, seed)
        asked = [(problems[one.prompt], worded[one.prompt], self.base.text(one)) for one in replies]
        return Sampled(prompts, replies, self.grader.graded(asked))


def mixed(size: int, hard: float, seed: int, known: frozenset[str] = frozenset()) -> list[Problem]:
    """Problems of which a share is hard.

    Args:
        size: how many.
        hard: the share.
        seed: of the draw.
        known: clusters of problems to leave out.
    """
    wanted = {True: round(size * hard), False: size - round(size * hard)}
    asked = size
    while True:
        asked *= 2
        problems = [problem for problem in drawn(SPLIT, asked, seed) if problem.cluster not in known]
        kinds = {kind: [it for it in problems if (it.tags["mutation"] == HARD) is kind] for kind in wanted}
        if all(len(kinds[kind]) >= count for kind, count in wanted.items()):
            return [problem for kind, count in wanted.items() for problem in kinds[kind][:count]]


def run_chain(bench: ArmBench, folder: Path, arm: str, seed: int, leaky: tuple[float, float] | None) -> None:
    """Make the rounds that an arm still lacks under a seed.

    Args:
        bench: what all arms share.
        folder: of the arm and seed.
        arm: its name.
        seed: decides prompts, samples and flips; the same for every arm.
        leaky: true and false positive rate of the arm leaky under this seed, for the arm noise.

    Raises:
        SandboxError: a program could not be run.
        UserError: another process is at work there.
    """
    settings = bench.settings
    with alone_in(folder, "chain.lock", "training"):
        policy = TestbedPolicy(bench.base, bench.start, seed)
        begun = _resumed(folder, policy)
        with open_rounds(folder) as journal:
            for number in range(begun, settings.rounds + 1):
                began = time.process_time()
                measured = _round(bench, policy, arm, seed, number, leaky)
                done = msgspec.structs.replace(measured, cpu_s=time.process_time() - began)
                _keep(folder, policy, done)
                journal.append(done)


def rounds_of(folder: Path) -> list[TestbedRound]:
    """The rounds that are kept of an arm and seed."""
    path = folder / ROUNDS
    return list(read_journal(path, TestbedRound)) if path.exists() else []


def open_rounds(folder: Path) -> Journal[TestbedRound]:
    """The journal of an arm and seed, to append to."""
    return Journal(folder / ROUNDS, fsync_every=1)


def _resumed(folder: Path, policy: TestbedPolicy) -> int:
    """Restore the policy behind the last whole round; the number of the next one."""
    import numpy as np

    path, rounds = folder / STATE, rounds_of(folder)
    if not path.exists():
        return 0
    try:
        with np.load(path) as file:
            state = dict(file)
        last = msgspec.json.decode(state.pop("record").tobytes(), type=TestbedRound)
    except (OSError, ValueError, KeyError, msgspec.DecodeError) as error:
        raise BadRecord(
            path, f"is damaged ({error}): remove its folder, and the same command makes it anew"
        ) from None
    policy.restore(state)
    if len(rounds) == last.round:  # killed between the state and the journal
        with open_rounds(folder) as journal:
            journal.append(last)
    return last.round + 1


def _keep(folder: Path, policy: TestbedPolicy, done: TestbedRound) -> None:
    import numpy as np

    content = io.BytesIO()
    record = np.frombuffer(encode(done), np.uint8)
    np.savez(content, record=record, **policy.state())  # type: ignore[arg-type]
    write_atomically(folder / STATE, content.getvalue())


def _round(
    bench: ArmBench, policy: TestbedPolicy, arm: str, seed: int, number: int, leaky: tuple[float, float] | None
) -> TestbedRound:
    """Measure the policy, draw a round's samples, and learn from them unless it is the last round."""
    settings = bench.settings
    held = bench.sampled(policy, bench.held_out, settings.held_out_samples, (seed, number, "held-out"))
    kl = policy.drift(held.prompts, held.replies[:MEASURED_FOR_KL])
    rng = random.Random(f"{seed} {number} prompts")
    problems = rng.sample(bench.pool, min(settings.prompts, len(bench.pool)))
    train = bench.sampled(policy, problems, settings.samples, (seed, number, "train"))
    judged = accepting(arm, flip_rates(leaky), random.Random(f"{seed} {number} flips"))
    said = [[judged(graded) for _ in one.samples] for one, graded in zip(train.replies, train.graded, strict=True)]
    if number < settings.rounds:
        rewards = [[reward for _, reward in each] for each in said]
        policy.learn(weighted(train.prompts, train.replies, rewards), settings.stepping, (seed, number))
    verdicts = [
        (graded.right, accepted) for graded, each in zip(train.graded, said, strict=True) for accepted, _ in each
    ]
    paid = [reward for each in said for _, reward in each]
    return TestbedRound(
        arm=arm,
        seed=seed,
        round=number,
        paid=sum(paid) / len(paid),
        accepted=sum(accepted for _, accepted in verdicts) / len(verdicts),
        true_pass=true_pass(held),
        cheats=cheat_shares(held),
        tpr=_share([accepted for right, accepted in verdicts if right]),
        fpr=_share([accepted for right, accepted in verdicts if not right]),
        entropy=_entropy(held),
        kl=kl,
        cpu_s=0.0,
    )


def true_pass(sampled: Sampled) -> float:
    """Share of samples that are right."""
    return _of_samples(sampled, [float(graded.right) for graded in sampled.graded])


def cheat_shares(sampled: Sampled) -> dict[str, float]:
    """Channel -> share of samples whose program tries it."""
    tried = [channel_of(graded.program) for graded in sampled.graded]
    return {name: _of_samples(sampled, [float(one == name) for one in tried]) for name in PROGRAMS}


def _of_samples(sampled: Sampled, values: Sequence[float]) -> float:
    counts = [len(reply.samples) for reply in sampled.replies]
    return sum(value * count for value, count in zip(values, counts, strict=True)) / sum(counts)


def _entropy(sampled: Sampled) -> float:
    total = sum(len(reply.samples) * sum(reply.entropies) for reply in sampled.replies)
    return total / sum(len(reply.samples) * len(reply.tokens) for reply in sampled.replies)


def _share(accepted: Sequence[bool]) -> float | None:
    return sum(accepted) / len(accepted) if accepted else None
