"""Verdicts of a round: by `strict`, and by a script of program and tests whose exit code is believed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from random import Random

import msgspec

from truegrade.evolution.replies import completion, sound_verdict
from truegrade.evolution.testbed.records import FLIPPED, NOISE, PENALTY, STRICT
from truegrade.models.local import Generated
from truegrade.pipeline.verdicts import limits_for
from truegrade.profiles import find_profile
from truegrade.records import FunctionTask, Problem, Prompt, Reason, Usage, Verdict
from truegrade.sandbox import Sandbox

ENDLESS_CPU_S = 1.0
"""CPU seconds of a program: right ones of micro-repair need milliseconds, and many wrong ones never end."""


class GradedProgram(msgspec.Struct, frozen=True):
    """What the two graders say of a reply."""

    program: str
    """As it was taken out of the reply; empty where there is none."""
    right: bool
    """Under `strict`."""
    leaky: bool
    """Whether a script of program and tests ends with exit code 0."""


class ProgramGrader:
    """Grades in the jail; equal replies to a problem are graded once.

    Args:
        allow_unsafe: run programs even where only resource limits protect this machine (level 1).
        threads: programs run at once.
    """

    def __init__(self, *, allow_unsafe: bool = False, threads: int = 2) -> None:
        self.profile = find_profile(STRICT)
        self.profile.timeout_s = ENDLESS_CPU_S
        self._sandbox = Sandbox(limits_for(self.profile, ()), workers=threads, allow_unsafe=allow_unsafe)
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="testbed")
        self._known: dict[tuple[str, str], GradedProgram] = {}

    def close(self) -> None:
        """End the sandbox."""
        self._sandbox.close()
        self._threads.shutdown()

    def graded(self, asked: Sequence[tuple[Problem, Prompt, str]]) -> list[GradedProgram]:
        """Verdicts on replies, in order.

        Raises:
            SandboxError: a program could not be run; a failure of ours is never counted as the model's.
        """
        keys = [(problem.id, text) for problem, _, text in asked]
        fresh = {key: one for key, one in zip(keys, asked, strict=True) if key not in self._known}
        for key, found in zip(fresh, self._threads.map(self._one, fresh.values()), strict=True):
            self._known[key] = found
        return [self._known[key] for key in keys]

    def verdict(self, problem: Problem, prompt: Prompt, text: str) -> Verdict:
        """What `strict` says of a reply.

        Raises:
            SandboxError: as `graded`.
        """
        reply = completion(problem, prompt, 0, Generated(text=text, finish_reason="stop", usage=Usage()))
        return sound_verdict(reply, problem, self.profile, self._sandbox)

    def _one(self, asked: tuple[Problem, Prompt, str]) -> GradedProgram:
        problem, prompt, text = asked
        task = problem.task
        assert isinstance(task, FunctionTask)
        verdict = self.verdict(problem, prompt, text)
        if verdict.answer is None:
            return GradedProgram("", False, False)
        source = f"{verdict.answer}\n{task.setup}\n{task.tests}\n"
        leaky = verdict.passed or self._sandbox.script(source).status == Reason.PASSED
        return GradedProgram(verdict.answer, verdict.passed, leaky)


def accepting(
    arm: str, rates: Mapping[str, tuple[float, float]], rng: Random
) -> Callable[[GradedProgram], tuple[bool, float]]:
    """Whether an arm's grader calls a sample right, and what it pays.

    Args:
        arm: its name.
        rates: arm -> true and false positive rate, of those that flip verdicts at random.
        rng: flips.
    """

    def flipped(graded: GradedProgram) -> tuple[bool, float]:
        accepted = rng.random() < rates[arm][0 if graded.right else 1]
        return accepted, float(accepted)

    def judged(graded: GradedProgram) -> tuple[bool, float]:
        if arm == STRICT:
            return graded.right, float(graded.right)
        if arm == PENALTY and graded.leaky and not graded.right:
            return False, -1.0
        return graded.leaky, float(graded.leaky)

    return flipped if arm in {NOISE, *FLIPPED} else judged


def flip_rates(leaky: tuple[float, float] | None) -> dict[str, tuple[float, float]]:
    """True and false positive rates of the arms that flip strict verdicts.

    Args:
        leaky: rates of the arm leaky, whose averages the arm noise has; None where that arm is not asked for.
    """
    rates = {arm: ((1 + j) / 2, (1 - j) / 2) for arm, j in FLIPPED.items()}
    return rates if leaky is None else {**rates, NOISE: leaky}
