"""``steps.jsonl``: what an agent did on the way to its answers; and what it may know of a problem.

A step is on disk before the next is begun. A killed run therefore loses at most the step in flight of each sample,
and asks again for nothing that is stored.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from truegrade.kinds import kind_of
from truegrade.models.base import Reply
from truegrade.records import SCHEMA_VERSION, Message, Problem, Reason, SampleKey
from truegrade.store.journal import Journal, Notice, ignore, read_journal

Role = Literal["programmer", "tester"]


class AskedStep(msgspec.Struct, frozen=True, kw_only=True, tag="asked", tag_field="kind"):
    """One question to the model, all attempts included, and its reply."""

    agent: Role
    index: int
    """0-based among the questions to this agent in this round."""
    prompt_sha256: str
    messages: tuple[Message, ...] = ()
    """What was sent, where the sample sends it for the first time."""
    seed: int | None = None
    reply: Reply
    tests: tuple[str, ...] = ()
    """The test designer's asserts that could be parsed."""


class AgentTrial(msgspec.Struct, frozen=True, kw_only=True):
    """One test of one candidate, self-made; or all tests of the data set, of an agent that shows their output."""

    test: str
    status: str
    """A `truegrade.records.Reason`, or ``not_run``."""
    detail: str = ""
    cpu_s: float = 0.0
    output: str = ""
    """What the tests printed, where the model is shown it."""

    @property
    def passed(self) -> bool:
        """Whether the test ran to its end."""
        return self.status == Reason.PASSED


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """How one candidate fared."""

    index: int
    trials: tuple[AgentTrial, ...] = ()
    skipped: str = ""
    """Why none of its tests was run."""

    @property
    def passed(self) -> int:
        """Tests passed."""
        return sum(trial.passed for trial in self.trials)


class TriedStep(msgspec.Struct, frozen=True, kw_only=True, tag="tried", tag_field="kind"):
    """The test executor's part of a round; with it the round is concluded."""

    candidates: tuple[Candidate, ...]
    best: int
    """Index of the first candidate that passes most tests."""
    needed: int
    """Tests that a candidate must pass; 0 where there is none, so that nothing can be accepted."""
    accepted: bool
    level: int | None = None
    """Protection level that the programs ran under; None if none ran."""


def tried_once(trial: AgentTrial, *, accepted: bool, level: int) -> TriedStep:
    """The part of a round in which one thing was run."""
    candidate = Candidate(index=0, trials=(trial,))
    return TriedStep(candidates=(candidate,), best=0, needed=1, accepted=accepted, level=level)


class SettledStep(msgspec.Struct, frozen=True, kw_only=True, tag="settled", tag_field="kind"):
    """What the agent hands in."""

    accepted: bool
    round: int
    index: int
    """Round and index of the programmer's reply that is the answer."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A line of ``steps.jsonl``."""

    problem_id: str
    sample: int
    round: int
    """1-based."""
    did: AskedStep | TriedStep | SettledStep
    schema: int = SCHEMA_VERSION

    @property
    def key(self) -> SampleKey:
        """Which sample it belongs to."""
        return SampleKey(self.problem_id, self.sample)


def steps_path(run: Path) -> Path:
    """The journal of steps of a run."""
    return run / "steps.jsonl"


def read_steps(run: Path, *, notice: Notice = ignore) -> Iterator[Step]:
    """Stream the steps of a run; none if no agent made it.

    Raises:
        BadRecord: a line is no step.
    """
    return read_journal(steps_path(run), Step, notice=notice)


class StepLog:
    """The steps of the samples that are still to be answered, and the journal that takes further ones.

    Args:
        run: folder of the run.
        answered: samples that have their answer; their steps are passed over.
        accounted: by sample, how many attempts the stored completions already tell of.
        notice: told when a torn line was dropped.
    """

    def __init__(
        self,
        run: Path,
        *,
        answered: Collection[SampleKey] = (),
        accounted: Mapping[SampleKey, int] | None = None,
        notice: Notice = ignore,
    ) -> None:
        self.path = steps_path(run)
        self.spent_usd = 0.0
        self._accounted = dict(accounted or {})
        self._stored: dict[SampleKey, list[Step]] = defaultdict(list)
        for step in read_steps(run, notice=notice):
            self._spend(step)
            if step.key not in answered:
                self._stored[step.key].append(step)
        self._journal = Journal[Step](self.path, notice=notice)

    def take(self, key: SampleKey) -> tuple[list[Step], int]:
        """The steps of a sample, handed over once, and how many of their attempts are accounted for."""
        return self._stored.pop(key, []), self._accounted.get(key, 0)

    def append(self, step: Step) -> None:
        """Write one step."""
        self._journal.append(step)
        self._spend(step)

    def close(self) -> None:
        """Sync and close; safe to call twice."""
        self._journal.close()

    def _spend(self, step: Step) -> None:
        if isinstance(step.did, AskedStep):
            self.spent_usd += step.did.reply.cost_usd or 0.0


# ----------------- What an agent may know of a problem: what it is asked, and nothing that says what is right.


class VisibleProblem(msgspec.Struct, frozen=True, kw_only=True):
    """A problem without its reference, its tests and its inputs; all that an agent sees of it."""

    id: str
    benchmark: str
    kind: str
    """Which kind of task: the tag of its class in `truegrade.records`."""
    text: str = ""
    """The task as the data set words it; empty for kinds that no agent works on."""
    entry_point: str = ""
    """The function to write; empty where there is none."""
    prefix: str = ""
    """Code that stands before a body-only completion."""
    module: str = ""
    """Name by which tests import the program; empty where they do not."""


def visible_problem(problem: Problem) -> VisibleProblem:
    """The part of a problem that an agent is given."""
    tag, shown = str(problem.task.__struct_config__.tag), kind_of(problem.task).shown(problem.task)
    return VisibleProblem(
        id=problem.id, benchmark=problem.benchmark, kind=tag, text=shown.text, entry_point=shown.entry_point,
        prefix=shown.prefix, module=shown.module,
    )  # fmt: skip


def prompt_tests(problem: Problem) -> tuple[str, ...]:
    """The tests that the data set means a prompt to show (MBPP); none for most."""
    return kind_of(problem.task).shown(problem.task).tests
