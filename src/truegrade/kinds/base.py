"""What a kind of problem is: everything that depends on the type of a task, in one object."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

import msgspec

from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement, TestCount
from truegrade.grading.problem_tests import CallTests, ProblemTests
from truegrade.grading.programs import assemble
from truegrade.grading.repairs import Suite, suite_of_calls
from truegrade.grading.trials import PytestRun
from truegrade.prompts.making import RenderPrompt
from truegrade.records import Answer, Completion, Pairing, Problem, Prompt, Task
from truegrade.statistics.reasoning_records import Pair, PredictionPrompt

TaskT = TypeVar("TaskT", bound=Task)
MadeT = TypeVar("MadeT")
UpstreamField = tuple[Literal["prompt", "reference", "test"], str, str]
"""Part of a problem, name of the field that others store it in, and its text."""


class Kept:
    """One object of each maker, made when it is first asked for; threads share it."""

    def __init__(self) -> None:
        self._made: dict[Callable[[], Any], Any] = {}

    def __call__(self, make: Callable[[], MadeT]) -> MadeT:
        """What ``make`` made the first time."""
        found: MadeT = self._made[make] if make in self._made else self._made.setdefault(make, make())
        return found


@dataclass(frozen=True, slots=True)
class Context:
    """What judging an answer may use."""

    executor: Executor
    cpu_s: Callable[[float | None], float]
    """CPU seconds in force where a problem asks for so many, or for none of its own."""
    kept: Kept
    """What kinds keep from one judgement to the next, such as what a reference returns."""


class CallClaim(NamedTuple):
    """A call and the value it is said to have, both as source."""

    call: str
    value: str

    @property
    def assertion(self) -> str:
        """``assert CALL == VALUE``."""
        return f"assert {self.call} == {self.value}"


class ShownPart(msgspec.Struct, frozen=True, kw_only=True):
    """What of a problem anybody may see: neither reference nor tests nor inputs."""

    text: str = ""
    """The words of the data set; empty where a problem has none."""
    entry_point: str = ""
    """The function or class to write; empty where there is none."""
    prefix: str = ""
    """Code that stands before a body-only answer."""
    module: str = ""
    """Name by which tests import the program; empty where they do not."""
    tests: tuple[str, ...] = ()
    """Tests that the data set means a prompt to show."""


class Needs(msgspec.Struct, frozen=True, kw_only=True):
    """What judging a problem takes besides what a profile allows."""

    packages: tuple[str, ...] = ()
    """Installed packages, beside those of the problem."""
    processes: int = 0
    """Processes that the program may start."""
    cpu_s: float | None = None
    """CPU seconds where the ordinary limit is too low for the reference."""


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
    inside: ClassVar[bool] = False
    """Whether tests may run in the program's process, where a verdict can be forged."""
    variants: tuple[str, ...] = ("default",)
    """Every prompt that one of its problems may have under `strict`."""

    def name(self, task: TaskT) -> str:
        """Which of `names` a problem is."""
        return self.names[0]

    def shown(self, task: TaskT) -> ShownPart:
        """What of it anybody may see."""
        return ShownPart()

    # asking

    def prompts(self, task: TaskT, examples: Mapping[str, Problem]) -> Mapping[str, RenderPrompt]:
        """The prompts under `strict`, by variant; ``default`` is one of them."""
        raise NotImplementedError

    def continues(self, task: TaskT, prompt: Prompt) -> bool:
        """Whether what a model answers is put behind the prompt's own code."""
        return prompt.style == "text" and self.gives == "program"

    # answering

    def extract(self, task: TaskT, completion: Completion) -> Answer:
        """The answer in a completion; pure, and bounded as `Profile.answer` says."""
        raise NotImplementedError

    def prefix(self, task: TaskT) -> str:
        """Trusted code that stands before a body-only answer; empty where an answer is whole."""
        return getattr(task, "prefix", "")

    def begun(self, task: TaskT) -> str:
        """Code with which a program begins and a prompt may end."""
        return self.prefix(task) or getattr(task, "prompt", "")

    def program(self, task: TaskT, answer: Answer) -> str:
        """The program that an answer with a value makes."""
        return assemble(self.prefix(task), answer)

    def buggy(self, task: TaskT) -> str:
        """The program that is to be repaired; empty where none is."""
        return ""

    def written_anew(self, task: TaskT) -> TaskT:
        """The same as a program to write and not to repair, where that can be asked for."""
        return task

    def reference(self, task: TaskT) -> str | CallClaim | None:
        """What a perfect model answers: a program, or the value of a call; None where the data set has none."""
        return getattr(task, "reference", None)

    # the tests

    def entry_point(self, task: TaskT) -> str | None:
        """The function or class that they call; None of a program on standard input."""
        return getattr(task, "entry_point", None)

    def tests(self, task: TaskT) -> ProblemTests | str:
        """What decides about a program, for whoever puts it in other forms or changes it; or why nobody can."""
        return "it asks for no function"

    def with_tests(self, task: TaskT, tests: Any) -> TaskT:
        """The same with others, of the shape that `tests` gives."""
        raise NotImplementedError

    def suite(self, task: TaskT) -> Suite | None:
        """Those of a program that may be repaired, one by one; None where they are not run so."""
        tests = self.tests(task)
        return suite_of_calls(tests) if isinstance(tests, CallTests) else None

    def tests_run(self, task: TaskT, folder: str) -> Callable[[str, Executor], PytestRun] | None:
        """What runs them and tells what they print, for agents that may see it; None where there are none.

        Args:
            task: whose tests they are.
            folder: by whose name messages call the working directory.
        """
        return None

    def refusal(self, task: TaskT) -> tuple[str, str] | None:
        """The field by which it may not come from somebody else, and why; None where it may."""
        return None

    def public(self, task: TaskT) -> TaskT | None:
        """The problem with the tests alone that its statement shows; None where none are kept back."""
        return None

    def carried(self, task: TaskT) -> TaskT:
        """The same for another machine: with what it left in files of this one."""
        return task

    # judging

    def needs(self, task: TaskT) -> Needs:
        """What judging takes."""
        return Needs(cpu_s=getattr(task, "cpu_s", None))

    def judge(self, problem: Problem, task: TaskT, answer: Answer, context: Context) -> Judgement:
        """Whether an answer that has a value is right."""
        raise NotImplementedError

    def count(self, problem: Problem, task: TaskT, answer: Answer, context: Context) -> TestCount | None:
        """How many tests it passes; None where they cannot be counted."""
        return None

    def reversal(self, problem: Problem, task: TaskT) -> Problem | None:
        """The problem with the tests of the one it is paired with; None where it is paired with none."""
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

    def learnable(self, task: TaskT) -> tuple[str, ...]:
        """Texts by which it is found out that a model was trained on the problem: its programs."""
        fields = (getattr(task, name, None) for name in ("buggy", "reference", "program"))
        return tuple(text for text in (*fields, *getattr(task, "programs", ())) if text and isinstance(text, str))

    def programs_shown(self, task: TaskT) -> tuple[str, ...]:
        """Programs in the prompt, by which what a model was trained on is known."""
        return ()
