"""`open-r1`: ``code_reward`` of huggingface/open-r1 @1416fa0."""

from __future__ import annotations

from collections.abc import Iterator

from truegrade.extraction.blocks import spans
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement, TestCount
from truegrade.grading.trials import ScriptTest, Trial, first_failure, passed_of, script_trials
from truegrade.profiles.base import covered_task
from truegrade.profiles.rewards.reward_profiles import StrictWorded, contest_tests
from truegrade.records import Answer, ContestTask, Problem, Reason
from truegrade.sandbox import Limits

TIMEOUT_S = 5.0
MOST_ARGUMENT_BYTES = 128 * 1024 - 1
"""Linux starts no process with a longer argument, and the program is one (``python3 -c``)."""


class OpenR1(StrictWorded):
    """A program on standard input, a process a test."""

    name = "open-r1"
    version = "1416fa0"
    covers = ("contest",)
    limits = Limits(cpu_s=TIMEOUT_S, wall_s=TIMEOUT_S + 1, processes=16)

    def cut(self, reply: str) -> str:
        """The last python fence, or the empty program."""
        found = spans(reply, "```python\n", "```")
        return found[-1] if found else ""

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Passes where every test does."""
        tests = contest_tests(covered_task(self, problem, ContestTask))
        if isinstance(tests, Judgement):
            return tests
        code = answer.value or ""
        if not startable(code):
            return Judgement(reason=Reason.RUNTIME_ERROR, detail="python -c cannot be started with this program")
        return first_failure(self._trials(problem, code, executor), len(tests.inputs))

    def tests_passed(self, problem: Problem, answer: Answer, executor: Executor) -> TestCount | None:
        """All tests; none where one is out of time."""
        trials = list(self._trials(problem, answer.value or "", executor))
        counted = passed_of(trials, late_loses_all=True)
        return counted if counted is None or startable(answer.value or "") else TestCount(0, counted.tests)

    def _trials(self, problem: Problem, code: str, executor: Executor) -> Iterator[Trial]:
        tests = contest_tests(covered_task(self, problem, ContestTask))
        if isinstance(tests, Judgement):
            return
        scripts = [
            ScriptTest(source=code, stdin=given, expected=wanted)
            for given, wanted in zip(tests.inputs, tests.outputs, strict=True)
        ]
        yield from script_trials(scripts, same_lines, executor, cpu_s=self.cpu_s(TIMEOUT_S))


def startable(code: str) -> bool:
    """Whether a process can be given the program as an argument, as the reward's script spells it."""
    # Written as JSON into source of Python, where a pair of surrogates does not become one character.
    plain = all("\0" < sign < "\ud800" or "\udfff" < sign <= "\uffff" for sign in code)
    return plain and len(code.encode()) <= MOST_ARGUMENT_BYTES


def same_lines(got: str, expected: str) -> bool:
    """Whether the lines that both have are the same; the output is read with universal newlines."""
    printed = got.replace("\r\n", "\n").replace("\r", "\n").strip()
    pairs = zip(printed.split("\n"), expected.split("\n"), strict=False)
    return all(one.strip() == two.strip() for one, two in pairs)
