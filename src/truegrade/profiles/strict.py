"""`strict`: Truegrade's own rules. What of right answers is not read is named in them; which forgeries were tried
against them, and with what result, in docs/sandbox.md.

The expected values never enter the candidate's process; CPU time decides and wall time is a backstop; every
verdict has a reason; perfect answers score 100 %.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from truegrade import prompts
from truegrade.errors import UnknownName, UserError
from truegrade.extraction.contest_programs import extract_contest_program
from truegrade.extraction.parsing import NotLiteral, parse_literal
from truegrade.extraction.programs import SAID_NOT_TO_USE, extract_continuation, extract_program
from truegrade.grading.executor import Executor
from truegrade.grading.functions import (
    TESTS_INSIDE,
    count_by_oracle,
    expected_outputs,
    grade_by_oracle,
    grade_by_tests,
)
from truegrade.grading.judgement import Judgement, TestCount
from truegrade.grading.marks import DISOWNED, READS_TESTS
from truegrade.grading.programs import assemble, called_class, own_part
from truegrade.grading.repairs import grade_repair, suite_of
from truegrade.grading.static_findings import reads_tests
from truegrade.kinds import has_kind, kind_of
from truegrade.kinds.execution_choice import ExecutionChoice
from truegrade.kinds.input_prediction import InputPrediction
from truegrade.kinds.output_prediction import OutputPrediction
from truegrade.patterns import pattern
from truegrade.profiles.base import NO_EXAMPLES, Profile
from truegrade.profiles.prompt_building import (
    question,
    repair_prompts,
)
from truegrade.prompts.making import CODEX_STOP, RenderPrompt, as_stored, chat, continuation, origin
from truegrade.records import (
    Answer,
    CasesTask,
    Completion,
    ContestTask,
    FunctionTask,
    OracleTask,
    Problem,
    Prompt,
    Reason,
    SuiteTask,
)
from truegrade.records.kinds import KINDS
from truegrade.sandbox import Limits

if TYPE_CHECKING:  # what grades suites of unit tests is imported where one is graded
    from truegrade.grading.suite_reference import ReferencesShown

# ------------- How `strict` words each kind of task, and the variants one may ask for with ``-T prompt=NAME``.


VARIANTS: tuple[str, ...] = tuple(dict.fromkeys((
    *("default", "base", "paper", "one-shot", "one-shot-base"),
    *OutputPrediction.variants, *InputPrediction.variants, *ExecutionChoice.variants,
)))  # fmt: skip

_MBPP_SHOTS = ("MBPP/2", "MBPP/3", "MBPP/4")
"""Worked examples of the MBPP paper's prompt (google-research/google-research mbpp/README.md)."""


def render_prompt(problem: Problem, variant: str | None, examples: Mapping[str, Problem]) -> Prompt:
    """The prompt for a problem.

    Args:
        problem: the one to solve.
        variant: a name out of `VARIANTS`; None means ``default``.
        examples: problems by id that a few-shot prompt may show.

    Raises:
        UnknownName: this kind of task has no such variant.
        UserError: the worked examples of a few-shot prompt are not in the data set.
    """
    choices = _choices(problem, examples)
    chosen = choices.get(variant or "default")
    if chosen is None:
        raise UnknownName("prompt variant", str(variant), choices, f"for {problem.benchmark} under strict")
    return chosen()


def _choices(problem: Problem, examples: Mapping[str, Problem]) -> dict[str, RenderPrompt]:
    task = problem.task
    if has_kind(task):
        return dict(kind_of(task).prompts(task, examples))
    if isinstance(task, ContestTask):
        return {"default": lambda: question("lcb.official.chat.user", task, system="lcb.official.system")}
    if isinstance(task, SuiteTask):
        return _suite_prompts(task)
    return _code_prompts(task, examples)


def _code_prompts(
    task: FunctionTask | OracleTask | CasesTask, examples: Mapping[str, Problem]
) -> dict[str, RenderPrompt]:
    if isinstance(task, CasesTask) or (isinstance(task, FunctionTask) and task.buggy):
        return repair_prompts(task)
    if isinstance(task, FunctionTask) and called_class(task):  # words that end in the class to complete
        return {"default": lambda: as_stored(task.prompt, source="the data set's words, as stored")}
    if isinstance(task, FunctionTask) and task.prefix != task.prompt:  # words, and not code to continue
        return _description_prompts(task, examples)
    choices: dict[str, RenderPrompt] = {"default": lambda: chat("strict.function.user", {"prompt": task.prompt})}
    if task.prefix:
        source = "the data set's prompt, as stored"
        choices["base"] = lambda: continuation(task.prompt, source=source, stop=CODEX_STOP)
    return choices


def _suite_prompts(task: SuiteTask) -> dict[str, RenderPrompt]:
    """Code to continue is asked for as functions are, words as descriptions without tests."""
    if re.search(rf"\bclass {re.escape(task.entry_point)}\b", task.prompt):
        return {"default": lambda: chat("strict.class.user", {"prompt": task.prompt})}
    if task.prefix and task.prefix == task.prompt:
        source = "the data set's prompt, as stored"
        return {
            "default": lambda: chat("strict.function.user", {"prompt": task.prompt}),
            "base": lambda: continuation(task.prompt, source=source, stop=CODEX_STOP),
        }
    named = {"prompt": task.prompt, "entry_point": task.entry_point}
    return {"default": lambda: chat("strict.named.user", named)}


def _description_prompts(task: FunctionTask, examples: Mapping[str, Problem]) -> dict[str, RenderPrompt]:
    values = {"prompt": task.prompt, "tests": "\n".join(task.shown_tests)}
    if not task.shown_tests:
        named = {"prompt": task.prompt, "entry_point": task.entry_point}
        return {"default": lambda: chat("strict.named.user", named)}
    return {
        "default": lambda: chat("strict.description.user", values),
        "paper": lambda: _mbpp_paper(task, examples),
    }


def _mbpp_paper(task: FunctionTask, examples: Mapping[str, Problem]) -> Prompt:
    """Three worked examples, an empty line between them, then the task up to ``[BEGIN]``."""
    shown = [examples[key].task for key in _MBPP_SHOTS if key in examples]
    solved = [shot for shot in shown if isinstance(shot, FunctionTask)]
    if len(solved) != len(_MBPP_SHOTS):
        raise UserError(f"prompt variant 'paper' shows {', '.join(_MBPP_SHOTS)}, which this data set lacks")
    texts = [_mbpp_text(shot, shot.reference) for shot in solved]
    texts.append(_mbpp_text(task, "").removesuffix("\n[DONE]"))
    content = "\n\n".join(texts)
    return continuation(content, source=origin("mbpp.paper"), stop=("[DONE]",), shots=_MBPP_SHOTS)


def _mbpp_text(task: FunctionTask, code: str) -> str:
    return prompts.render("mbpp.paper", prompt=task.prompt, tests="\n".join(task.shown_tests), code=code)


_SHOWN_CAUSES = 3
_OWN_MAIN = pattern(r"__name__ *== *['\"]__main__['\"]")


class Strict(Profile):
    """Grading outside the program's process, with a reason for every verdict."""

    name = "strict"
    version = "6"
    prompt_version = "1"
    covers = KINDS
    everything = True
    judges_outside = True
    variants = VARIANTS
    limits = Limits(cpu_s=10.0, output_bytes=64 * 2**20)
    """MBPP+ holds right answers of tens of megabytes (Mbpp/255)."""

    def __init__(self) -> None:
        self._references = expected_outputs()

    @cached_property
    def _shown(self) -> ReferencesShown:
        from truegrade.grading.suite_reference import ReferencesShown

        return ReferencesShown()

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """Word the problem; see `VARIANTS` for what ``variant`` may be."""
        return render_prompt(problem, variant, examples)

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """Take the answer out of a reply, a continuation, a program or an already extracted answer."""
        text = completion.text or ""
        task = problem.task
        if has_kind(task):
            return kind_of(task).extract(task, completion)
        if completion.form == "program" or (isinstance(task, ContestTask) and completion.form == "answer"):
            return Answer(value=text.removeprefix("\ufeff"), found="as given: a whole program", form="program")
        if isinstance(task, ContestTask):
            if task.function is None:
                return extract_contest_program(text)
            return extract_program(text, task.function, called_on="Solution")
        prefix = "" if isinstance(task, CasesTask) else task.prefix
        owner = called_class(task) if isinstance(task, FunctionTask) else ""
        if completion.form == "completion":
            return extract_continuation(text, task.entry_point, prefix, owner)
        return extract_program(text, task.entry_point, prefix=prefix, called_on=owner)

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Decide whether the answer is right."""
        judged = self._judged(problem, answer, executor)
        if SAID_NOT_TO_USE not in answer.found:
            return judged
        return msgspec.structs.replace(judged, marks=(*judged.marks, DISOWNED))

    def _judged(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        task = problem.task
        if has_kind(task):
            return kind_of(task).judge(problem, task, answer, self.context(executor))
        if isinstance(task, ContestTask):
            return _contest_judgement(task, answer, executor)
        cpu_s = self.cpu_s(task.cpu_s or self.limits.cpu_s)
        if isinstance(task, CasesTask) or (isinstance(task, FunctionTask) and task.buggy):
            return grade_repair(suite_of(task), answer.value or "", executor, cpu_s=cpu_s, timeouts=1)
        program = assemble(task.prefix, answer)
        if isinstance(task, FunctionTask):
            return grade_by_tests(msgspec.structs.replace(task, cpu_s=cpu_s), program, executor)
        return self._by_reference(problem, task, program, executor, cpu_s)

    def _by_reference(
        self, problem: Problem, task: OracleTask | SuiteTask, program: str, executor: Executor, cpu_s: float
    ) -> Judgement:
        """What is known of the right outcome is found once with the reference."""
        if isinstance(task, SuiteTask):
            from truegrade.grading.suite_grading import grade_left_in

            packages = problem.packages
            judged = grade_left_in(task, program, self._shown, executor, min_cpu_s=cpu_s, packages=packages)
            if judged.passed and _reads_tests(task, program):
                # Outside, the run beside the tests is one of two that it has to pass, and proves nothing now.
                mark = READS_TESTS if TESTS_INSIDE in judged.marks else TESTS_INSIDE
                return msgspec.structs.replace(judged, marks=(*judged.marks, mark))
            return judged
        key = f"{problem.dataset_sha256}/{problem.id}"
        return grade_by_oracle(key, task, program, self._references, executor, min_cpu_s=cpu_s)

    def tally(self, outcomes: Sequence[tuple[bool, tuple[str, ...]]]) -> tuple[int, int]:
        """A program that passes tests in its own process and reads what they are made of is no pass."""
        return super().tally([(passed and READS_TESTS not in marks, marks) for passed, marks in outcomes])

    def tests_passed(self, problem: Problem, answer: Answer, executor: Executor) -> TestCount | None:
        """Tests of contests and suites, inputs of plus sets, top-level asserts of functions; no predictions."""
        task = problem.task
        if has_kind(task):
            return kind_of(task).count(problem, task, answer, self.context(executor))
        if isinstance(task, ContestTask):
            from truegrade.grading.contests.separate import count_passed  # which others would wait for
            from truegrade.grading.contests.tests import UndecodableTests, decode

            try:
                return count_passed(answer.value or "", decode(task), executor)
            except UndecodableTests:
                return None
        cpu_s = self.cpu_s(task.cpu_s or self.limits.cpu_s)
        if isinstance(task, OracleTask | SuiteTask):
            return self._counted(problem, task, assemble(task.prefix, answer), executor, cpu_s)
        program = answer.value or ""
        if isinstance(task, FunctionTask) and not task.buggy:
            program = assemble(task.prefix, answer)
        judged = grade_repair(suite_of(task), program, executor, cpu_s=cpu_s, timeouts=1)
        if judged.reason is Reason.GRADER_ERROR or judged.harness is None:
            return None
        return TestCount(judged.harness["passed"], judged.harness["tests"])

    def _counted(
        self, problem: Problem, task: OracleTask | SuiteTask, program: str, executor: Executor, cpu_s: float
    ) -> TestCount | None:
        if isinstance(task, SuiteTask):
            from truegrade.grading.suite_grading import count_by_suite, left_in

            kept, packages = self._shown, problem.packages
            return count_by_suite(left_in(task), program, kept, executor, min_cpu_s=cpu_s, packages=packages)
        key = f"{problem.dataset_sha256}/{problem.id}"
        return count_by_oracle(key, task, program, self._references, executor, min_cpu_s=cpu_s)

    def warnings(self, problems: Iterable[Problem]) -> list[str]:
        """The number of problems whose own output no reply can state, since it would not be read as a literal."""
        tasks = [problem.task for problem in problems]
        stated = [outputs for task in tasks if has_kind(task) and (outputs := kind_of(task).outputs(task))]
        unread = Counter(why for outputs in stated if (why := _why_unread(outputs)) is not None)
        if not unread:
            return []
        causes = "; ".join(f"{why} ({count})" for why, count in unread.most_common(_SHOWN_CAUSES))
        count = f"{unread.total()} of {len(stated)} problems"
        return [f"{count} have an output that strict reads in no reply: {causes}"]

    def executes(self, problem: Problem) -> bool:
        """Predicted outputs and choices are graded without running anything."""
        task = problem.task
        return kind_of(task).executes if has_kind(task) else True


def _reads_tests(task: SuiteTask, program: str) -> bool:
    """Whether a program reads its tests; what stands before every answer, if it is complete, is none of it."""
    own = own_part(task)
    written = program if own == task.reference else program.replace(task.prefix, "", 1)
    # No way to run a suite runs the program as a main module, unless its tests do.
    tests = "\n".join([_OWN_MAIN.sub("", task.tests), *task.files.values()])
    return reads_tests(written, own, imported="__main__" not in tests and "runpy" not in tests)


def _why_unread(outputs: Iterable[str]) -> str | None:
    """Why one of these values is read in no reply; None if all are."""
    return next((found.why for found in map(parse_literal, outputs) if isinstance(found, NotLiteral)), None)


def _contest_judgement(task: ContestTask, answer: Answer, executor: Executor) -> Judgement:
    """Every test in a process of its own; tests that cannot be decoded are the grader's fault."""
    from truegrade.grading.contests.separate import grade_separately  # which others would wait for
    from truegrade.grading.contests.tests import UndecodableTests, decode

    try:
        tests = decode(task)
    except UndecodableTests as error:
        return Judgement(reason=Reason.GRADER_ERROR, detail=str(error))
    return grade_separately(answer.value or "", tests, executor)
