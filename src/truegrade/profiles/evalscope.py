"""`evalscope` and `evalscope-sandbox`: HumanEval, MBPP and LiveCodeBench of modelscope/evalscope @fde259d2."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from truegrade import prompts
from truegrade.extraction.contest_programs import last_pair
from truegrade.grading.contests.harness import Harness
from truegrade.grading.contests.sandboxed import grade_sandboxed
from truegrade.grading.contests.tests import UndecodableTests, decode
from truegrade.grading.executor import Executor
from truegrade.grading.functions import TESTS_INSIDE, expected_outputs
from truegrade.grading.joined_tests import with_joined
from truegrade.grading.judgement import Judgement, from_outcome
from truegrade.kinds import Context
from truegrade.kinds.contest import question
from truegrade.profiles.base import BY_SANITIZED_MBPP, Profile, Way, covered_task
from truegrade.profiles.contest_profile import (
    CONTEST_LIMITS,
    OFFICIAL_RULES,
    TIMEOUT_S,
    ContestProfile,
    cut_answer,
    grade_contest,
    no_metadata,
    timed,
)
from truegrade.profiles.harness_runs import grade_guarded, with_tests
from truegrade.prompts.making import RenderPrompt, chat, origin
from truegrade.records import (
    Answer,
    Completion,
    ContestTask,
    FunctionTask,
    Message,
    OracleTask,
    Problem,
    Prompt,
    Reason,
)
from truegrade.sandbox import Limits
from truegrade.statistics.tally import PERCENT

# ----------------------------------------------------------------------------------------------------------------
# LiveCodeBench as modelscope/evalscope @fde259d2 asks and grades it: words, cut, grader of the local path.


LOCAL = Harness(
    rules=OFFICIAL_RULES
    | {
        "world": "encoded",
        "whole_seconds": False,
        "announces_alarm": False,
        "int_digits": 4300,
        "faulthandler": False,
        "forked": False,
        "module": "evalscope.benchmarks.live_code_bench.testing_util",
    },
    added_s=0.0,
    runner_error=no_metadata,
)


def contest_prompt(task: ContestTask) -> Prompt:
    """System message and user message, as sent until v1.0 and again since ecb01c36 (2026-08-06)."""
    return question("lcb.evalscope.user", task, system="lcb.evalscope.system")


# --------------------------- `evalscope`: HumanEval, MBPP and LiveCodeBench of modelscope/evalscope @fde259d2.


# -------------------------------------------------------------------- How EvalScope takes code out of a reply.
# modelscope/evalscope@fde259d2: ``evalscope/benchmarks/humaneval/humaneval_adapter.py`` and, for MBPP,
# ``evalscope/benchmarks/mbpp/mbpp_adapter.py`` with ``evalscope/utils/code_utils.py``
# ``extract_code_from_freeform_completion(completion, "python", first_block_only=True)``.


_FENCE = re.compile(r"```\w*\n(.*?)```", re.DOTALL)
_MARK = "```"
_HEAD, _START = ("import", "from", "#"), ("def ", "class ")
_ENDS = ('if __name__ == "__main__":', "# Example usage")
_STOPS = ("\nassert", '\n"""')


def first_fence(reply: str) -> tuple[str, str]:
    """HumanEval's rule: the first complete fence, else the reply as it is; and how it was found."""
    match = _FENCE.search(reply)
    return (match[1], "first fence") if match else (reply, "no fence: as it is")


def freeform_code(reply: str) -> tuple[str, str]:
    """MBPP's rule: the code, perhaps empty, and how it was found."""
    code, found = _first_block(reply.partition("[DONE]")[0])
    code = code.replace("\r", "")
    for end in _ENDS:
        if end in code:
            code = code.partition(end)[0].strip()
    for stop in _STOPS:
        code = code.partition(stop)[0]
    return code, found


def without_main(program: str) -> str:
    """The program up to its main block."""
    return program.partition("if __name__ ==")[0]


def _first_block(reply: str) -> tuple[str, str]:
    """A complete fence, a fence that never closes, or the first definition of plain text."""
    opening = reply.find(_MARK)
    line_end = reply.find("\n", opening) if opening >= 0 else -1
    if line_end >= 0:
        start = line_end + 1
        end = _closed(reply, start)
        return (reply[start:], "unclosed fence") if end is None else (reply[start:end], "first complete fence")
    definition = _first_definition([line for line in reply.split("\n") if line.strip()])
    return (definition, "first definition") if definition else ("", "no code")


def _closed(reply: str, start: int) -> int | None:
    r"""Where ``(.*?)\n\s*\`\`\``` ends its group: at the first line end in the blanks before a mark. Linear."""
    while (mark := reply.find(_MARK, start)) >= 0:
        between = reply[start:mark]
        blanks = between.rstrip()
        line_end = between.find("\n", len(blanks))
        if line_end >= 0:
            return start + line_end
        start = mark + len(_MARK)
    return None


def _first_definition(lines: list[str]) -> str:
    r"""The first match, in linear time, of this expression (re.MULTILINE) in lines that are not blank.

    ``(?:^(?:import|from|#)[^\n]+\n)*^(?:def|class) [^\n]+\n(?:\s+[^\n]+\n)+``
    """
    head = 0
    for number, line in enumerate(lines[:-1]):
        if _goes_on(line, _START) and lines[number + 1][0].isspace():
            behind = range(number + 1, len(lines))
            end = next((at for at in behind if not lines[at][0].isspace()), len(lines))
            return "\n".join(lines[head:end]) + "\n"
        if not _goes_on(line, _HEAD):
            head = number + 1
    return ""


def _goes_on(line: str, words: tuple[str, ...]) -> bool:
    """Whether a line begins with one of the words and does not end with it."""
    return any(line.startswith(word) and len(line) > len(word) for word in words)


_SHOTS = ("MBPP/2", "MBPP/3", "MBPP/4")
HUMANEVAL_CPU_S = 4.0
PLUS_CPU_S = 300.0
"""``review_timeout`` of humaneval and humaneval_plus; that of mbpp is in `Evalscope.limits`."""


def _humaneval_prompts(problem: Problem, task: FunctionTask | OracleTask, _: object) -> dict[str, RenderPrompt]:
    """One user message."""
    return dict.fromkeys(_STYLES, lambda: chat("humaneval.simple_evals.user", {"prompt": task.prompt}))


def _mbpp_prompts(problem: Problem, task: FunctionTask, _: object) -> dict[str, RenderPrompt]:
    """One user message; MBPP's holds three worked examples unless ``zero-shot`` is asked for."""
    values = {"text": task.prompt, "tests": "\n".join(task.shown_tests)}

    def few_shot() -> Prompt:
        message = Message(role="user", content=prompts.render("mbpp.evalscope.few_shot", **values))
        return Prompt(messages=(message,), source=origin("mbpp.evalscope.few_shot"), shots=_SHOTS)

    def zero_shot() -> Prompt:
        return chat("mbpp.evalscope.zero_shot", values)

    return {"default": few_shot if problem.benchmark == "mbpp" else zero_shot, "zero-shot": zero_shot}


def _contest_prompts(problem: Problem, task: ContestTask, _: object) -> dict[str, RenderPrompt]:
    return dict.fromkeys(_STYLES, lambda: contest_prompt(task))


def _extract_humaneval(problem: Problem, task: FunctionTask | OracleTask, completion: Completion) -> Answer:
    """The code to put behind the prompt."""
    if completion.form == "program":
        return Answer(value=completion.text or "", found="as given: a whole program")
    code, found = first_fence(completion.text or "")
    return Answer(value=code, found=found, form="completion")


def _extract_mbpp(problem: Problem, task: FunctionTask, completion: Completion) -> Answer:
    """The program; ``mbpp`` puts the setup in front, on a line of its own even if empty; ``mbpp_plus`` none."""
    text = completion.text or ""
    code, found = (text, "as given") if completion.form == "program" else freeform_code(text)
    if not code:
        return Answer(value=None, found=found, reason=Reason.NO_CODE)
    whole = f"{task.setup}\n{code}" if problem.benchmark == "mbpp" else code
    return Answer(value=without_main(whole), found=found)


def _judge_humaneval(
    problem: Problem, task: FunctionTask | OracleTask, answer: Answer, context: Context
) -> Judgement:
    """``humaneval`` runs under the guard in a process of EvalScope's, ``humaneval_plus`` in its sandbox."""
    start = task.prefix if answer.form == "completion" else ""
    executor = context.executor

    def run(source: str) -> Judgement:
        if problem.benchmark == "humaneval":
            return grade_guarded(source, executor, cpu_s=context.cpu_s(HUMANEVAL_CPU_S))
        return from_outcome(executor.script(source, cpu_s=context.cpu_s(PLUS_CPU_S)), marks=(TESTS_INSIDE,))

    def grade(tests: str) -> Judgement:
        source = f"{start}{answer.value or ''}\n{tests}"
        return with_joined(run(source), source, tests)

    return with_tests(problem, context.kept(expected_outputs), executor, grade)


def _judge_mbpp(problem: Problem, task: FunctionTask, answer: Answer, context: Context) -> Judgement:
    """By a script's exit code."""
    source = answer.value or ""
    tests = "".join(f"\n{test}\n" for test in task.shown_tests)
    judged = from_outcome(context.executor.script(source + tests), marks=(TESTS_INSIDE,))
    return with_joined(judged, source + tests, tests)


_STYLES = ("default", "zero-shot")


class Evalscope(Profile):
    """Tasks ``humaneval``, ``humaneval_plus``, ``mbpp``, on sanitized MBPP ``mbpp_plus``, ``live_code_bench``."""

    name = "evalscope"
    version = "fde259d2"
    ways: ClassVar[Mapping[str, Way]] = {
        "function": Way(
            prompts=_humaneval_prompts, extract=_extract_humaneval, judge=_judge_humaneval, only=("humaneval",)
        ),
        "description": Way(
            prompts=_mbpp_prompts, extract=_extract_mbpp, judge=_judge_mbpp, only=("mbpp", "mbpp-sanitized")
        ),
        "oracle": Way(
            prompts=_humaneval_prompts, extract=_extract_humaneval, judge=_judge_humaneval,
            only=("humanevalplus",),
        ),
        "contest": Way(
            prompts=_contest_prompts,
            extract=lambda problem, task, completion: cut_answer(completion, last_pair),
        ),
    }  # fmt: skip
    elsewhere = BY_SANITIZED_MBPP
    variants = _STYLES
    contest_scale = PERCENT
    harness = LOCAL
    """Of contest problems."""
    limits = Limits(cpu_s=20.0)

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Contests by the local path, whose limit is the harness'."""
        if isinstance(problem.task, ContestTask):
            return grade_contest(timed(self.harness, self), problem.task, answer.value or "", executor)
        return super().judgement(problem, answer, executor)


# ----------------------------------------------------------------------------------------------------------------
# `evalscope-sandbox`: LiveCodeBench of modelscope/evalscope @fde259d2 in its container, as its docs advise.


class EvalscopeSandbox(ContestProfile):
    """One script a test, no preamble, no Decimal rule."""

    name = "evalscope-sandbox"
    version = "fde259d2"
    limits = replace(CONTEST_LIMITS, processes=16)

    def render_contest(self, task: ContestTask) -> Prompt:
        """EvalScope's words."""
        return contest_prompt(task)

    def cut(self, reply: str) -> str:
        """The last two fences."""
        return last_pair(reply)

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """A script a test; the harness' details are in ``Judgement.harness``."""
        try:
            tests = decode(covered_task(self, problem, ContestTask))
        except UndecodableTests as error:
            return Judgement(reason=Reason.GRADER_ERROR, detail=str(error))
        return grade_sandboxed(answer.value or "", tests, executor, timeout_s=self.cpu_s(TIMEOUT_S))
