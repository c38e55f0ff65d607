"""`code-r1`: ``coder1`` of ganler/code-r1 @443f8da, executed by firejail."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar

from truegrade.extraction.blocks import spans
from truegrade.grading.executor import Executor
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.grading.judgement import Judgement
from truegrade.grading.trials import ScriptTest, as_file, first_failure, script_trials
from truegrade.profiles.base import Rule
from truegrade.profiles.refusals import covered_task
from truegrade.profiles.rewards.strict_worded import STRICT_WORDS, StrictWorded, assert_tests, contest_tests
from truegrade.records import Answer, ContestTask, FunctionTask, Problem, Verdict
from truegrade.records.kinds import Kind
from truegrade.sandbox import Limits

_SCORE = "ganler/code-r1@443f8da verl/utils/reward_score/coder1/__init__.py"
_EXEC = "ganler/code-r1@443f8da verl/utils/reward_score/coder1/firejail_exec.py"
TIMEOUT_S = 30.0
PASSED, FAILED, NO_ANSWER = 1.1, 0.1, -1.1
"""Rewards: where all pass; where one fails; where the format is wrong or there is no code."""
_OPENING = re.compile(r"```(?:\w+)?\n")
_THINK, _THOUGHT, _ANSWER, _ANSWERED = "<think>", "</think>", "<answer>", "</answer>"


class CodeR1(StrictWorded):
    """Tests behind the program in one script, or a script a test of standard input."""

    name: ClassVar[str] = "code-r1"
    version: ClassVar[str] = "443f8da"
    summary: ClassVar[str] = "reward of code-r1: think and answer tags, all fences joined, a script of 30 s"
    covers: ClassVar[tuple[Kind, ...]] = ("function", "description", "contest")
    rules: ClassVar[tuple[Rule, ...]] = (
        STRICT_WORDS,
        Rule("extraction", "the stripped reply begins with <think>, ends with </answer>, and has </think> and"
             " <answer> between; else no code", f"{_SCORE} validate_response_structure"),
        Rule("extraction", "of the last pair of <answer> and </answer>, all fences that are opened by ``` with"
             " or without a word and a newline, and closed by a newline and ```, joined by newlines; stripped; if"
             " empty: no code", f"{_SCORE} extract_code_from_string"),
        Rule("program", "python3 -c, a file from 3,072 characters on; here standard input never has a file;"
             " functions: the program, a newline and the test source, always a file here", f"{_SCORE}; {_EXEC}"),
        Rule("comparison", "functions: exit code 0; standard input: exit code 0 and the stripped texts equal",
             f"{_SCORE} _compute_score"),
        Rule("limits", "30 s of wall time a script; here 30 s of CPU and 31 s of wall time; 4 GiB, 32 processes,"
             " 32 open files, files of 2 MB", _EXEC),
        Rule("aggregation", "1.1 where all pass, 0.1 where one fails, -1.1 where the format is wrong or there is"
             " no code; a verdict passes at 1.1", f"{_SCORE} _compute_score"),
    )  # fmt: skip
    scored: ClassVar[tuple[str, ...]] = ("reward",)
    defects: ClassVar[tuple[str, ...]] = (
        "functions: a program that leaves with exit code 0 passes; tests share its process (mark tests-inside)",
        "every fence of the answer is part of the program, examples of use and of output as well",
        "a fence that closes behind the last line of code, or whose opening has more than a word, is not read",
        "standard input: blanks at a line's end within the text and 1.0 for 1 are wrong",
        "the words of the prompts here do not ask for the tags, without which nothing is read",
        "output that is no UTF-8 raises there; here its bytes are replaced and compared",
        "no tests raise there; here they are grader errors",
    )
    limits: ClassVar[Limits] = Limits(
        cpu_s=TIMEOUT_S, wall_s=TIMEOUT_S + 1, processes=32, open_files=32, scratch_bytes=2 * 2**20
    )

    def cut(self, reply: str) -> str | None:
        """The fences of the last answer."""
        if not well_formed(reply):
            return None
        blocks = spans(spans(reply, _ANSWER, _ANSWERED)[-1].strip(), _OPENING, "\n```")
        return "\n".join(blocks).strip() or None

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Passes where everything does."""
        task = covered_task(self, problem, FunctionTask, ContestTask)
        code = answer.value or ""
        if isinstance(task, FunctionTask):
            tests = "\n".join(assert_tests(problem, task))
            scripts = [as_file(f"{code}\n{tests}", "main.py")]
        else:
            found = contest_tests(task)
            if isinstance(found, Judgement):
                return found
            pairs = zip(found.inputs, found.outputs, strict=True)
            scripts = [ScriptTest(source=code, stdin=given, expected=wanted) for given, wanted in pairs]
        marks = (TESTS_INSIDE,) if isinstance(task, FunctionTask) else ()
        trials = script_trials(scripts, same_stripped, executor, cpu_s=self.cpu_s(TIMEOUT_S))
        return first_failure(trials, len(scripts), marks=marks)

    def scores(self, verdict: Verdict) -> Mapping[str, float]:
        """The reward of an answer."""
        if verdict.passed:
            return {"reward": PASSED}
        return {"reward": NO_ANSWER if verdict.answer is None else FAILED}


def well_formed(reply: str) -> bool:
    """Whether ``<think>.*</think>.*<answer>.*</answer>$`` matches the stripped reply, found in linear time."""
    text = reply.strip()
    if not (text.startswith(_THINK) and text.endswith(_ANSWERED)):
        return False
    thought = text.find(_THOUGHT, len(_THINK))
    answer = text.find(_ANSWER, thought + len(_THOUGHT)) if thought >= 0 else -1
    return 0 <= answer <= len(text) - len(_ANSWER) - len(_ANSWERED)


def same_stripped(got: str, expected: str) -> bool:
    """Whether two outputs are the same but for blanks at their ends."""
    return got.strip() == expected.strip()
