"""`cruxeval`: the evaluator of facebookresearch/cruxeval @190faf1."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from truegrade.errors import UnknownName
from truegrade.extraction.parsing import MAX_SOURCE_CHARS, quietly
from truegrade.files import syntax
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement, shortened
from truegrade.kinds.input_prediction import cruxeval_input_prompts
from truegrade.kinds.output_prediction import cruxeval_output_prompts
from truegrade.profiles.base import NO_EXAMPLES, Profile, check_variant, covered_task
from truegrade.profiles.harness_runs import grade_guarded
from truegrade.prompts.making import RenderPrompt, answered_prompt
from truegrade.records import Answer, Completion, InputTask, OutputTask, Problem, Prompt, Reason
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
            (statement,) = syntax.parse(assertion).body
            if not isinstance(statement, ast.Assert) or not isinstance(statement.test, ast.Compare):
                return None
            test = statement.test
            if len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
                return None
            if any(isinstance(node, ast.Name) for node in ast.walk(test)):
                return None
            return bool(syntax.literal_eval(test.left) == syntax.literal_eval(test.comparators[0]))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


_STOPS = {"cruxeval": ("[/ANSWER]",), "cruxeval-cot": ("[/ANSWER]",), "cruxeval-phind": ("# done",)}
"""Stop strings of its runs, by the name of the prompt."""

EVALUATOR_LIMITS = Limits(cpu_s=3.0, wall_s=4.0)


class Cruxeval(Profile):
    """Meta's evaluator: ``assert <output> == <generation>`` executed behind the program."""

    name = "cruxeval"
    version = "190faf1"
    covers = ("output_prediction", "input_prediction")
    only = MappingProxyType({"output_prediction": ("cruxeval-output",), "input_prediction": ("cruxeval-input",)})
    variants: tuple[str, ...] = ("default", "cot", "phind")
    limits = EVALUATOR_LIMITS

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """CRUXEval's own words: ``default`` (direct), ``cot``, or for outputs ``phind``."""
        return published_prompt(self, problem, variant)

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
        return beside_equals(problem, text)

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Run program and assertion, unless the official evaluator skips the generation."""
        generation = answer.value or ""
        task = covered_task(self, problem, OutputTask, InputTask)
        if _skips(task, generation):
            return skipped("the official evaluator skips this generation")
        return grade_assertion(task.program, f"assert {task.expected} == {generation}", executor)

    def tally(self, outcomes: Sequence[tuple[bool, tuple[str, ...]]]) -> tuple[int, int]:
        """Skipped generations leave the denominator of an item that has a right one."""
        passed = sum(right for right, _ in outcomes)
        dropped = sum(SKIPPED in marks for _, marks in outcomes)
        return len(outcomes) - (dropped if passed else 0), passed


def published_prompts(profile: Profile, problem: Problem) -> dict[str, RenderPrompt]:
    """CRUXEval's own prompts for a problem, by name; raises as `covered_task` does."""
    task = covered_task(profile, problem, OutputTask, InputTask)
    return cruxeval_output_prompts(task) if isinstance(task, OutputTask) else cruxeval_input_prompts(task)


def published_prompt(profile: Profile, problem: Problem, variant: str | None) -> Prompt:
    """CRUXEval's prompt of a variant.

    Raises:
        UnknownName: there is none, or none for finding an input.
    """
    name = check_variant(profile, variant)
    render = published_prompts(profile, problem).get("cruxeval" if name == "default" else f"cruxeval-{name}")
    if render is None:
        known = ("default", "cot")
        raise UnknownName("prompt variant", name, known, f"for {problem.benchmark} under {profile.name}")
    return render()


def beside_equals(problem: Problem, text: str) -> Answer:
    """What a text says that ``f`` returns, or which call of it."""
    if isinstance(problem.task, OutputTask):
        return Answer(value=after_equals(text), found="after the first ==", form="answer")
    return Answer(value=call_of_f(text), found="the call of f", form="answer")


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


_DIRECT, _COT = "cruxeval-openai", "cruxeval-openai-cot"


class CruxevalOpenai(Cruxeval):
    """A system message, a chat reply, and extraction of its own; the evaluator is the same."""

    name = "cruxeval-openai"
    current = False
    variants = ("default", "cot")

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
        return beside_equals(problem, text)
