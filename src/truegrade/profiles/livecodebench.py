"""`livecodebench`, its versions `-base` and `-2025-01`, and `livecodebench-exec`: the graders of LiveCodeBench."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import msgspec

from truegrade import prompts
from truegrade.errors import UserError
from truegrade.extraction.contest_programs import base_reply, last_pair
from truegrade.grading.contests import Rules
from truegrade.grading.contests.harness import Harness
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement
from truegrade.profiles.base import NO_EXAMPLES, Profile, check_variant, covered_task
from truegrade.profiles.contest_profile import (
    OFFICIAL_RULES,
    ContestProfile,
)
from truegrade.profiles.cruxeval import SKIPPED, grade_assertion, literal_verdict, skipped
from truegrade.profiles.livecodebench_prompts import DEFAULT_STYLE, STYLES, STYLES_SINCE_B95A71C, official_prompt
from truegrade.profiles.prompt_building import RenderPrompt, answered_prompt, base, chat
from truegrade.records import Answer, Completion, ContestTask, OutputTask, Problem, Prompt
from truegrade.sandbox import Limits
from truegrade.statistics.tally import OFFICIAL

# ---- `livecodebench` and `livecodebench-2025-01`: the official runner of LiveCodeBench @28fef95 and @b95a71c.


BASE_STYLE = "GenericBase"


def _runner_error(error: str) -> dict[str, Any]:
    return {"error": error, "error_code": -5, "error_message": "TestRunnerError"}


_HEAD = Harness(
    rules=Rules(**OFFICIAL_RULES),
    added_s=5.0,
    runner_error=_runner_error,
)


class LiveCodeBench(ContestProfile):
    """The runner of July 2025, the newest."""

    name = "livecodebench"
    version = "28fef95"
    variants = ("default", *(style for style in STYLES if style != BASE_STYLE))
    harness = _HEAD
    contest_scale = OFFICIAL

    def cut(self, reply: str) -> str:
        """The last two fences."""
        return last_pair(reply)

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """The words for a model style; without one, style OpenAIChat's system and user message."""
        style = check_variant(self, variant)
        return official_prompt(
            covered_task(self, problem, ContestTask), DEFAULT_STYLE if style == "default" else style
        )

    def render_contest(self, task: ContestTask) -> Prompt:
        """Style OpenAIChat."""
        return official_prompt(task)


class LiveCodeBench202501(LiveCodeBench):
    """The runner of January 2025, before its standard input was changed."""

    name = "livecodebench-2025-01"
    version = "b95a71c"
    variants = tuple([style for style in LiveCodeBench.variants if style not in STYLES_SINCE_B95A71C])
    current = False
    harness = msgspec.structs.replace(_HEAD, rules=_HEAD.rules | {"world": "string"})


class LiveCodeBenchBase(LiveCodeBench):
    """The newest runner with a base model: one worked example, and the whole text as the program."""

    name = "livecodebench-base"
    variants = ("default",)

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """The example, downloaded when first used, then the question."""
        check_variant(self, variant)
        return self.render_contest(covered_task(self, problem, ContestTask))

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


# ------------------------------- `livecodebench-exec`: code execution of LiveCodeBench/LiveCodeBench @28fef95.


_DIRECT = ("default", "base")
_STOP = ("###",)


class LivecodebenchExec(Profile):
    """``assert <output> == <generation>`` executed behind a block of imports and the program."""

    name = "livecodebench-exec"
    version = "28fef95"
    covers = ("output_prediction",)
    variants = ("default", "cot", "base", "base-cot")
    limits = Limits(cpu_s=3.0, wall_s=10.0, packages=("numpy", "pandas"))

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """LiveCodeBench's words, direct or ``cot``, for a chat model or a ``base`` model."""
        return _prompts(covered_task(self, problem, OutputTask))[check_variant(self, variant)]()

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """The published post-processing of replies; what is already extracted stays as it is."""
        text = completion.text or ""
        task = covered_task(self, problem, OutputTask)
        if completion.form == "answer":
            return Answer(value=text, found="as given", form="answer")
        if answered_prompt(completion, _prompts(task), self.variants) not in _DIRECT and "[ANSWER]" in text:
            text = text.split("[ANSWER]")[1].strip()
        if "==" in text:
            text = text.split("==")[1].strip()
        end = "[/ANSWER]" if "[/ANSWER]" in text else "\n"
        return Answer(value=text.split(end, maxsplit=1)[0].strip(), found="after the first ==", form="answer")

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Run imports, program and assertion, unless the call itself is in the generation."""
        task = covered_task(self, problem, OutputTask)
        generation = answer.value or ""
        if f"{task.function}({task.arguments})" in generation:
            return skipped("LiveCodeBench skips a generation that holds the call")
        assertion = f"assert {task.expected} == {generation}"
        if literal_verdict(assertion) is None and find_spec("pandas") is None:
            raise UserError(
                f"profile {self.name!r} imports pandas before every program that it runs, and {problem.id} has to"
                " be run: pip install 'truegrade[pandas]', then repeat the command"
            )
        program = f"{prompts.render('livecodebench.base_imports')}\n{task.program}"
        return grade_assertion(program, assertion, executor, preload=("pandas",))

    def tally(self, outcomes: Sequence[tuple[bool, tuple[str, ...]]]) -> tuple[int, int]:
        """Skipped generations leave the denominator, unless nothing else is left."""
        ran = sum(SKIPPED not in marks for _, marks in outcomes)
        return ran or len(outcomes), sum(right for right, _ in outcomes)


def _prompts(task: OutputTask) -> dict[str, RenderPrompt]:
    values = {"code": task.program, "call": f"{task.function}({task.arguments})"}
    system = "lcb.execution.system"
    return {
        "default": lambda: chat("lcb.execution.direct", values, system=system, stop=_STOP),
        "cot": lambda: chat("lcb.execution.cot", values, system=system, stop=_STOP),
        "base": lambda: base("lcb.execution.direct", values, stop=_STOP),
        "base-cot": lambda: base("lcb.execution.cot", values, stop=_STOP),
    }
