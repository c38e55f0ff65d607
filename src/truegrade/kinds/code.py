"""What kinds that ask for a function, class or module share: words of their prompts, and the extraction."""

from __future__ import annotations

from collections.abc import Iterator

from truegrade.extraction.programs import extract_continuation, extract_program
from truegrade.kinds.base import ShownPart, UpstreamField
from truegrade.prompts.making import CODEX_STOP, RenderPrompt, chat, continuation
from truegrade.records import Answer, Completion, FunctionTask, OracleTask, SuiteTask


def whole_program(completion: Completion) -> Answer:
    """The text itself, where somebody says that it is a program."""
    return Answer(
        value=(completion.text or "").removeprefix("\ufeff"), found="as given: a whole program", form="program"
    )


def code_answer(completion: Completion, entry_point: str, prefix: str = "", owner: str = "") -> Answer:
    """The program in a reply, a continuation or a text that is one.

    Args:
        completion: what came back.
        entry_point: that it is to define.
        prefix: code that a continuation continues.
        owner: class of the method ``entry_point``; empty for a function.
    """
    text = completion.text or ""
    if completion.form == "program":
        return whole_program(completion)
    if completion.form == "completion":
        return extract_continuation(text, entry_point, prefix, owner)
    return extract_program(text, entry_point, prefix=prefix, called_on=owner)


def code_to_continue(prompt: str, *, base: bool = True) -> dict[str, RenderPrompt]:
    """Prompts where the data set words a problem as the beginning of a program; ``base`` is for base models."""
    choices: dict[str, RenderPrompt] = {"default": lambda: chat("strict.function.user", {"prompt": prompt})}
    if base:
        source = "the data set's prompt, as stored"
        choices["base"] = lambda: continuation(prompt, source=source, stop=CODEX_STOP)
    return choices


def named_description(prompt: str, entry_point: str) -> dict[str, RenderPrompt]:
    """Prompts where the data set words a problem in words alone."""
    named = {"prompt": prompt, "entry_point": entry_point}
    return {"default": lambda: chat("strict.named.user", named)}


def shown_code(task: FunctionTask | OracleTask) -> ShownPart:
    """Words, name, code to continue and the tests that MBPP shows."""
    return ShownPart(text=task.prompt, entry_point=task.entry_point, prefix=task.prefix, tests=task.shown_tests)


def stored_code(task: FunctionTask | OracleTask | SuiteTask) -> Iterator[UpstreamField]:
    """Prompt, name and reference as HumanEval and its kin store them."""
    yield "prompt", "prompt", task.prompt
    yield "reference", "entry_point", task.entry_point
    yield "reference", "canonical_solution", task.reference.removeprefix(task.prefix)
