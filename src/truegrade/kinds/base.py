"""What a kind of problem is: everything that depends on the type of a task, in one object."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Generic, Literal, NamedTuple, TypeVar

from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement, TestCount
from truegrade.prompts.making import RenderPrompt
from truegrade.records import Answer, Completion, Pairing, Problem
from truegrade.statistics.reasoning_records import Pair, PredictionPrompt

TaskT = TypeVar("TaskT")
UpstreamField = tuple[Literal["prompt", "reference", "test"], str, str]
"""Part of a problem, name of the field that others store it in, and its text."""


@dataclass(frozen=True, slots=True)
class Context:
    """What judging an answer may use."""

    executor: Executor
    cpu_s: Callable[[float | None], float]
    """CPU seconds in force where a problem asks for so many, or for none of its own."""


class CallClaim(NamedTuple):
    """A call and the value it is said to have, both as source."""

    call: str
    value: str

    @property
    def assertion(self) -> str:
        """``assert CALL == VALUE``."""
        return f"assert {self.call} == {self.value}"


class Kind(Generic[TaskT]):
    """One kind of problem. A method that most kinds have no use for says so by default."""

    task: type[TaskT]
    """The record that holds such a problem; its tag stands on disk."""
    names: tuple[str, ...]
    """What profiles cover of it: one name, or several where harnesses have rules for a part alone."""
    gives: ClassVar[Literal["program", "value"]] = "program"
    """What a reply is to hold."""
    language: ClassVar[str] = "python"
    """Of the programs, as a fence names it."""
    executes: ClassVar[bool] = True
    """Whether judging may run a program."""
    variants: tuple[str, ...] = ("default",)
    """Every prompt that one of its problems may have."""

    def name(self, task: TaskT) -> str:
        """Which of `names` a problem is."""
        return self.names[0]

    # asking

    def prompts(self, task: TaskT, examples: Mapping[str, Problem]) -> Mapping[str, RenderPrompt]:
        """The prompts under `strict`, by variant; ``default`` is one of them."""
        raise NotImplementedError

    # answering

    def extract(self, task: TaskT, completion: Completion) -> Answer:
        """The answer in a completion; pure, and bounded as `Profile.answer` says."""
        raise NotImplementedError

    def reference(self, task: TaskT) -> str | CallClaim | None:
        """What a perfect model answers: a program, or the value of a call; None where the data set has none."""
        return getattr(task, "reference", None)

    # judging

    def judge(self, problem: Problem, task: TaskT, answer: Answer, context: Context) -> Judgement:
        """Whether an answer that has a value is right."""
        raise NotImplementedError

    def count(self, problem: Problem, task: TaskT, answer: Answer, context: Context) -> TestCount | None:
        """How many tests it passes; None where they cannot be counted."""
        return None

    # counting

    def pairing(self, task: TaskT) -> Pairing | None:
        """Where the problem stands among the variants of one item."""
        return None

    def question(self, problem: Problem, task: TaskT) -> PredictionPrompt | Pair | None:
        """What the statistics of execution reasoning want of it."""
        return None

    def outputs(self, task: TaskT) -> tuple[str, ...]:
        """The values that a reply is to state, as literals; none where it is to hold a program."""
        return ()

    # comparing with what others store

    def upstream(self, task: TaskT) -> Iterator[UpstreamField]:
        """Part, field and text, as files published by others have them."""
        return iter(())

    def programs_shown(self, task: TaskT) -> tuple[str, ...]:
        """Programs in the prompt, by which what a model was trained on is known."""
        return ()
