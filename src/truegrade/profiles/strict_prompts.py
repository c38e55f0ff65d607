"""How `strict` words each kind of task, and the variants one may ask for with ``-T prompt=NAME``."""

from __future__ import annotations

from collections.abc import Mapping

from truegrade import prompts
from truegrade.errors import UnknownName, UserError
from truegrade.grading.programs import called_class
from truegrade.profiles.contest_words import question
from truegrade.profiles.prompt_building import (
    CHOICE_VARIANTS,
    CODEX_STOP,
    CRUXEVAL_VARIANTS,
    PREDICTION_VARIANTS,
    RenderPrompt,
    as_stored,
    chat,
    choice_prompts,
    continuation,
    input_prompts,
    origin,
    output_prompts,
    repair_prompts,
)
from truegrade.records import (
    CasesTask,
    ChoiceTask,
    ContestTask,
    FunctionTask,
    InputTask,
    OracleTask,
    OutputTask,
    Problem,
    Prompt,
    SuiteTask,
)

VARIANTS: tuple[str, ...] = (
    *("default", "base", "paper", "one-shot", "one-shot-base"),
    *dict.fromkeys((*PREDICTION_VARIANTS, *CHOICE_VARIANTS, *CRUXEVAL_VARIANTS)),
)

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
    if isinstance(task, OutputTask):
        return output_prompts(task)
    if isinstance(task, ChoiceTask):
        return choice_prompts(task)
    if isinstance(task, ContestTask):
        return {"default": lambda: question("lcb.official.chat.user", task, system="lcb.official.system")}
    if isinstance(task, InputTask):
        return input_prompts(task)
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
    """Code to continue is asked for as functions are, words as descriptions without tests; a file to fill in is
    shown behind its words."""
    if task.starter:
        values = {"prompt": task.prompt.strip(), "file": f"{task.module}.py", "starter": task.starter.strip()}
        return {"default": lambda: chat("strict.file.user", values)}
    if f"class {task.entry_point}" in task.prompt:
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
