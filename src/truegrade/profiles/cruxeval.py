"""`cruxeval`: the evaluator of facebookresearch/cruxeval @190faf1."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar

from truegrade.errors import UnknownName
from truegrade.extraction.parsing import MAX_SOURCE_CHARS, quietly
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement, shortened
from truegrade.profiles.base import NO_EXAMPLES, Profile, Rule
from truegrade.profiles.prompt_building import (
    RenderPrompt,
    answered_prompt,
    cruxeval_input_prompts,
    cruxeval_output_prompts,
)
from truegrade.profiles.refusals import check_variant, covered_task
from truegrade.profiles.reliability_guard import grade_guarded
from truegrade.records import Answer, Completion, InputTask, OutputTask, Problem, Prompt, Reason
from truegrade.records.kinds import Kind
from truegrade.sandbox import Limits

# -------------- Grading a prediction by executing an assertion behind the program, as several harnesses do it.
# What both sides write as literals compares the same whatever program stands before it, so nothing needs to run;
# everything else runs in the jail, under the guard that these harnesses share.


SKIPPED = "skipped"
"""Mark of a generation that a harness drops before it runs anything."""


def grade_assertion(
    program: str, assertion: str, executor: Executor, *, preload: tuple[str, ...] = ()
) -> Judgement:
    """Whether the program, trusted and known to end, and then the assertion run without an exception.

    Args:
        program: what stands before the assertion, the newline between them left out.
        assertion: an ``assert`` statement, or whatever a generation makes of it.
        executor: bound to the profile's limits.
        preload: modules that the harness has imported before its guard is set up.
    """
    verdict = literal_verdict(assertion)
    if verdict is None:
        return grade_guarded(f"{program}\n{assertion}", executor, preload=preload)
    if verdict:
        return Judgement(reason=Reason.PASSED)
    return Judgement(reason=Reason.WRONG_ANSWER, detail=f"{shortened(assertion)} is false")


def skipped(why: str) -> Judgement:
    """The verdict on a generation that the harness never runs."""
    return Judgement(reason=Reason.NO_ANSWER, detail=why, marks=(SKIPPED,))


def literal_verdict(assertion: str) -> bool | None:
    """The truth of ``assert <literal> == <literal>`` without running it; None if it is anything else.

    Text that holds a name is anything else, ``set()`` included: a program may have bound it.
    """
    if len(assertion) > MAX_SOURCE_CHARS:
        return None
    try:
        with quietly():
            (statement,) = ast.parse(assertion).body
            if not isinstance(statement, ast.Assert) or not isinstance(statement.test, ast.Compare):
                return None
            test = statement.test
            if len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
                return None
            if any(isinstance(node, ast.Name) for node in ast.walk(test)):
                return None
            return bool(ast.literal_eval(test.left) == ast.literal_eval(test.comparators[0]))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


_GENERAL = "facebookresearch/cruxeval@190faf1 evaluation/utils_general.py"
_PROMPTS = "facebookresearch/cruxeval@190faf1 prompts.py"
_MODELS = "facebookresearch/cruxeval@190faf1 inference/tasks"

_STOPS = {"cruxeval": ("[/ANSWER]",), "cruxeval-cot": ("[/ANSWER]",), "cruxeval-phind": ("# done",)}
"""Stop strings of its runs, by the name of the prompt."""

EVALUATOR_RULES = (
    Rule("comparison", "output: skip if 'f(<input>)' is in the generation; input: skip unless 'f(' is in it;"
         " else run program + newline + assert <output> == <generation>", _GENERAL),
    Rule("limits", "3 s; here 3 s of CPU time and 4 s of wall time", _GENERAL),
    Rule("aggregation", "if no generation of an item is right, all count as wrong; otherwise skipped"
         " ones leave the denominator; unbiased pass@k, mean over items, in percent", _GENERAL),
)  # fmt: skip
EVALUATOR_DEFECTS = (
    "`0 or 1` is a right answer to every item: the generation is pasted behind == without parentheses",
    "generations are executed: arbitrary code runs and an object equal to everything passes",
    "skipped generations leave the denominator (since 0a800bd, April 2024): one right among echoes scores 1.0",
    "the echo guard is a substring test: `f (x)` passes it",
    "any == inside a string or an argument ends the extracted value",
)
EVALUATOR_LIMITS = Limits(cpu_s=3.0, wall_s=4.0)


class Cruxeval(Profile):
    """Meta's evaluator: ``assert <output> == <generation>`` executed behind the program."""

    name: ClassVar[str] = "cruxeval"
    version: ClassVar[str] = "190faf1"
    summary: ClassVar[str] = (
        "Meta's evaluator: execute `assert output == generation`, echoes leave the denominator"
    )
    covers: ClassVar[tuple[Kind, ...]] = ("output_prediction", "input_prediction")
    only: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType(
        {"output_prediction": ("cruxeval-output",), "input_prediction": ("cruxeval-input",)}
    )
    variants: ClassVar[tuple[str, ...]] = ("default", "cot", "phind")
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("prompt", "direct or cot, for a base model, stop at [/ANSWER]; phind, stop at # done", _PROMPTS),
        Rule("extraction", "a reply that a service did not stop at [/ANSWER], or at # done (phind), is cut there",
             _MODELS),
        Rule("extraction", "cot: text after the first [ANSWER], if there is one. A reply to none of its prompts"
             " is taken for cot's, and cut at both stop strings", _MODELS),
        Rule("extraction", "text after the first == (output) or before it (input); input: 'f' + text after the"
             " first 'assert f'; already extracted generations as they are", _MODELS),
        *EVALUATOR_RULES,
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        *EVALUATOR_DEFECTS,
        "the first [ANSWER] counts, be it the word between two tags of a sentence (cot)",
    )
    limits: ClassVar[Limits] = EVALUATOR_LIMITS

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """CRUXEval's own words: ``default`` (direct), ``cot``, or for outputs ``phind``."""
        name = check_variant(self, variant)
        named = published_prompts(self, problem)
        render = named.get("cruxeval" if name == "default" else f"cruxeval-{name}")
        if render is None:
            raise UnknownName(
                "prompt variant", name, ("default", "cot"), f"for {problem.benchmark} under {self.name}"
            )
        return render()

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """The published post-processing of replies; what is already extracted stays as it is."""
        text = completion.text or ""
        if completion.form == "answer":
            return Answer(value=text, found="as given", form="answer")
        prompt = answered_prompt(completion, published_prompts(self, problem), _STOPS)
        for stop in ("[/ANSWER]", "# done") if prompt is None else _STOPS[prompt]:
            text = text.split(stop, maxsplit=1)[0]
        if prompt in (None, "cruxeval-cot") and "[ANSWER]" in text:
            text = text.split("[ANSWER]")[1].strip()
        if isinstance(problem.task, OutputTask):
            return Answer(value=after_equals(text), found="after the first ==", form="answer")
        return Answer(value=call_of_f(text), found="the call of f", form="answer")

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Run program and assertion, unless the official evaluator skips the generation."""
        generation = answer.value or ""
        task = published_task(self, problem)
        if _skips(task, generation):
            return skipped("the official evaluator skips this generation")
        return grade_assertion(task.program, f"assert {task.expected} == {generation}", executor)

    def tally(self, outcomes: Sequence[tuple[bool, tuple[str, ...]]]) -> tuple[int, int]:
        """Skipped generations leave the denominator of an item that has a right one."""
        passed = sum(right for right, _ in outcomes)
        dropped = sum(SKIPPED in marks for _, marks in outcomes)
        return len(outcomes) - (dropped if passed else 0), passed


def published_task(profile: Profile, problem: Problem) -> OutputTask | InputTask:
    """The task of a problem of CRUXEval; raises as `covered_task` does."""
    return covered_task(profile, problem, OutputTask, InputTask)


def published_prompts(profile: Profile, problem: Problem) -> dict[str, RenderPrompt]:
    """CRUXEval's own prompts for a problem, by name; raises as `published_task` does."""
    task = published_task(profile, problem)
    return cruxeval_output_prompts(task) if isinstance(task, OutputTask) else cruxeval_input_prompts(task)


def after_equals(text: str) -> str:
    """The text between the first ``==`` and the next; all of it where there is none."""
    return text.split("==")[1].strip() if "==" in text else text.strip()


def call_of_f(text: str) -> str:
    """The text before the first ``==``, from the first ``assert f`` on without its ``assert``."""
    text = text.split("==", maxsplit=1)[0].strip() if "==" in text else text
    return "f" + text.split("assert f")[1].strip() if "assert f" in text else text.strip()


def _skips(task: OutputTask | InputTask, generation: str) -> bool:
    if isinstance(task, OutputTask):
        return f"{task.function}({task.arguments})" in generation
    return "f(" not in generation


# ---------- `cruxeval-openai`: the OpenAI runs of facebookresearch/cruxeval @190faf1, graded by its evaluator.


_OPENAI = "facebookresearch/cruxeval@190faf1 openai/openai_prompt.py"
_DIRECT, _COT = "cruxeval-openai", "cruxeval-openai-cot"


class CruxevalOpenai(Cruxeval):
    """A system message, a chat reply, and extraction of its own; the evaluator is the same."""

    name: ClassVar[str] = "cruxeval-openai"
    summary: ClassVar[str] = "CRUXEval's OpenAI runs: system message, own extraction, Meta's evaluator"
    current: ClassVar[bool] = False
    variants: ClassVar[tuple[str, ...]] = ("default", "cot")
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("prompt", "direct (max_tokens 100) or cot (1000) behind a system message, stop at [/ANSWER];"
             " n = 10, temperature 0.2 for pass@1 and 0.8 for pass@5", f"{_OPENAI}, openai_run.py"),
        Rule("extraction", "a reply that a service did not stop at [/ANSWER] is cut there", _OPENAI),
        Rule("extraction", "direct: text after the first == (output); before it, then 'f' + text after the first"
             " 'assert f' (input)", f"{_OPENAI} extract_answer_direct_*"),
        Rule("extraction", "cot: the same in the text after the first [ANSWER]; without that tag the last line as"
             " it is. A reply to none of its prompts is taken for cot's", f"{_OPENAI} extract_answer_cot_*"),
        *EVALUATOR_RULES,
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        *EVALUATOR_DEFECTS,
        "the first [ANSWER] counts, be it the word between two tags of a sentence (cot)",
        "without a tag the last line is the generation, whole: `assert f(1) == 2` is skipped or a syntax error",
    )

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """CRUXEval's words behind its system message: ``default`` (direct) or ``cot``."""
        name = check_variant(self, variant)
        return published_prompts(self, problem)[_DIRECT if name == "default" else _COT]()

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """The extraction of the OpenAI runs; what is already extracted stays as it is."""
        text = completion.text or ""
        if completion.form == "answer":
            return Answer(value=text, found="as given", form="answer")
        prompt = answered_prompt(completion, published_prompts(self, problem), (_DIRECT, _COT))
        text = text.split("[/ANSWER]", maxsplit=1)[0]
        if prompt != _DIRECT:
            if "[ANSWER]" not in text:
                return Answer(value=text.split("\n")[-1].strip(), found="the last line", form="answer")
            text = text.split("[ANSWER]")[1].strip()
        if isinstance(problem.task, OutputTask):
            return Answer(value=after_equals(text), found="after the first ==", form="answer")
        return Answer(value=call_of_f(text), found="the call of f", form="answer")
