"""`livecodebench-exec`: code execution of LiveCodeBench/LiveCodeBench @28fef95."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import ClassVar

from truegrade import prompts
from truegrade.errors import UserError
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement
from truegrade.profiles.base import NO_EXAMPLES, Profile, Rule
from truegrade.profiles.cruxeval import SKIPPED, grade_assertion, literal_verdict, skipped
from truegrade.profiles.prompt_building import RenderPrompt, answered_prompt, base, chat
from truegrade.profiles.refusals import check_variant, covered_task
from truegrade.records import Answer, Completion, OutputTask, Problem, Prompt
from truegrade.records.kinds import Kind
from truegrade.sandbox import Limits

_REPO = "LiveCodeBench/LiveCodeBench@28fef95 lcb_runner"
_METRICS = f"{_REPO}/evaluation/compute_code_execution_metrics.py"
_EXECUTE = f"{_REPO}/evaluation/utils_execute.py"
_PROMPTS = f"{_REPO}/prompts/code_execution.py"
_EXTRACTION = f"{_REPO}/utils/extraction_utils.py extract_execution_code"
_DIRECT = ("default", "base")
_STOP = ("###",)


class LivecodebenchExec(Profile):
    """``assert <output> == <generation>`` executed behind a block of imports and the program."""

    name: ClassVar[str] = "livecodebench-exec"
    version: ClassVar[str] = "28fef95"
    summary: ClassVar[str] = "LiveCodeBench's code execution: imports, program, `assert output == generation`"
    covers: ClassVar[tuple[Kind, ...]] = ("output_prediction",)
    variants: ClassVar[tuple[str, ...]] = ("default", "cot", "base", "base-cot")
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("prompt", "direct or cot, behind a system message; base: the text alone (GenericBase and most"
             " instruct styles); stop at ###, 2000 tokens, temperature 0.2, n = 10",
             f"{_PROMPTS}, {_REPO}/runner/parser.py"),
        Rule("extraction", "cot: text after the first [ANSWER], if there is one. A reply to none of its prompts is"
             " taken for cot's", _EXTRACTION),
        Rule("extraction", "then the text between the first == and the next; then what stands before [/ANSWER],"
             " else the first line", _EXTRACTION),
        Rule("comparison", "skip if the whole call is in the generation; else run BASE_IMPORTS + newline + program"
             " + newline + assert <output> == <generation>", f"{_METRICS}, {_EXECUTE}"),
        Rule("program", "numpy and pandas are loaded before the guard, as its own process has them; without pandas"
             " whatever is not decided by two literals is refused: pip install 'truegrade[pandas]'", _EXECUTE),
        Rule("limits", "3 s; here 3 s of CPU time, importing pandas included, and 10 s of wall time", _EXECUTE),
        Rule("aggregation", "skipped generations leave the denominator; where all are skipped all are wrong;"
             " pass@1, mean over items, in percent", _METRICS),
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        "`0 or 1` is a right answer to every item: the generation is pasted behind == without parentheses",
        "generations are executed: arbitrary code runs and an object equal to everything passes",
        "skipped generations leave the denominator, also of an item without a right one",
        "the echo guard is a substring test: another blank in the call passes it",
        "any == inside a string or an argument ends the extracted value",
        "an answer that closes no tag loses all but its first line: a value over several lines is cut",
        "`import bisect` stands behind `from bisect import bisect`: a program that calls bisect() fails",
    )
    limits: ClassVar[Limits] = Limits(cpu_s=3.0, wall_s=10.0, packages=("numpy", "pandas"))

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """LiveCodeBench's words, direct or ``cot``, for a chat model or a ``base`` model."""
        return _prompts(self._task(problem))[check_variant(self, variant)]()

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """The published post-processing of replies; what is already extracted stays as it is."""
        text = completion.text or ""
        task = self._task(problem)
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
        task = self._task(problem)
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

    def _task(self, problem: Problem) -> OutputTask:
        return covered_task(self, problem, OutputTask)


def _prompts(task: OutputTask) -> dict[str, RenderPrompt]:
    values = {"code": task.program, "call": f"{task.function}({task.arguments})"}
    system = "lcb.execution.system"
    return {
        "default": lambda: chat("lcb.execution.direct", values, system=system, stop=_STOP),
        "cot": lambda: chat("lcb.execution.cot", values, system=system, stop=_STOP),
        "base": lambda: base("lcb.execution.direct", values, stop=_STOP),
        "base-cot": lambda: base("lcb.execution.cot", values, stop=_STOP),
    }
