"""Models that are no models: anchors which say what a score means. Offline, free and deterministic.

``reference`` is what a perfect model would score, so that anything below 100 % is the grader's doing; ``lookup``
is what memorising the prompt's examples is worth; ``empty`` is what a function that does nothing is worth;
``buggy`` hands a program back unrepaired.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from truegrade.errors import UnknownName
from truegrade.models.base import Model, Reply, Request
from truegrade.models.baseline_forms import Claim, claim_in_form
from truegrade.models.baseline_lookup import lookup_claim, lookup_code, parameters_of, write_function
from truegrade.models.baseline_reading import find_question, find_target
from truegrade.records import (
    Attempt,
    CasesTask,
    ChoiceTask,
    ContestTask,
    FunctionTask,
    InputTask,
    OracleTask,
    OutputTask,
    Prompt,
)
from truegrade.records.config import Patience

NO_FUNCTION = "The prompt shows no function to write."
"""Said where the prompt holds neither a signature nor a call; it is graded as a reply without code."""
NO_REFERENCE = "The data set has no solution of this problem."
NO_PROGRAM = "The problem shows no program to repair."


class Baseline:
    """A model made of a rule; ``answer`` turns a request into the text of the reply."""

    def __init__(self, name: str, answer: Callable[[Request], str]) -> None:
        self._name = f"baseline/{name}"
        self._answer = answer

    @property
    def name(self) -> str:
        """``baseline/NAME``."""
        return self._name

    @property
    def base_url(self) -> None:
        """Nowhere: it runs in this process."""
        return None

    @property
    def patience(self) -> Patience:
        """The default; nothing is waited for."""
        return Patience()

    async def generate(self, request: Request) -> Reply:
        """Answer, cut at the first stop string as a service would do."""
        start = time.perf_counter()
        stops = (*request.prompt.stop, *request.sampling.stop)
        text = cut_at_stop(self._answer(request), stops)
        latency_s = time.perf_counter() - start
        return Reply(
            text=text,
            finish_reason="stop",
            latency_s=latency_s,
            model=self._name,
            attempts=(Attempt(outcome="ok", latency_s=latency_s),),
        )

    async def close(self) -> None:
        """Nothing to release."""


def open_baseline(name: str) -> Model:
    """The baseline ``reference``, ``lookup``, ``empty`` or ``buggy``.

    Raises:
        UnknownName: there is no such baseline.
    """
    answers: dict[str, Callable[[Request], str]] = {
        "reference": _reference,
        "lookup": _lookup,
        "empty": _empty,
        "buggy": _buggy,
    }
    if name not in answers:
        raise UnknownName("baseline", name, answers)
    return Baseline(name, answers[name])


def cut_at_stop(text: str, stops: tuple[str, ...]) -> str:
    """The text before the first of the stop strings."""
    return text[: min((place for stop in stops if stop and (place := text.find(stop)) >= 0), default=len(text))]


def _reference(request: Request) -> str:
    """The right answer, out of the problem."""
    match request.problem.task:
        case FunctionTask(reference=reference, prefix=prefix) | OracleTask(reference=reference, prefix=prefix):
            return _code(request.prompt, _continuation(request.prompt, reference, prefix))
        case CasesTask(reference=reference):
            return _code(request.prompt, reference)
        case ContestTask(reference=reference):
            return _code(request.prompt, reference) if reference else NO_REFERENCE
        case OutputTask(function=function, arguments=arguments, expected=expected):
            claim = Claim(f"{function}({arguments})", expected)
        case ChoiceTask(function=function, arguments=arguments, expected=(expected, _)):
            claim = Claim(f"{function}({arguments})", expected)
        case InputTask(function=function, reference_arguments=arguments, expected=expected):
            claim = Claim(f"{function}({arguments})", expected)
    return claim_in_form(prompt_text(request.prompt), claim)


def _lookup(request: Request) -> str:
    """What the prompt's examples give away; the problem is not looked at."""
    text = prompt_text(request.prompt)
    claim = lookup_claim(text)
    if claim is not None:
        return claim_in_form(text, claim)
    code = lookup_code(text, continues=continues(request.prompt))
    return NO_FUNCTION if code is None else _code(request.prompt, code)


def _empty(request: Request) -> str:
    """A function that does nothing; asked for a value, what such a function returns."""
    text = prompt_text(request.prompt)
    question = find_question(text)
    if question is not None and question.asks_arguments:
        return claim_in_form(text, Claim(f"{question.call}(None)", str(question.known)))
    if question is not None:
        return claim_in_form(text, Claim(question.call, "None"))
    target = find_target(text)
    if target is None:
        return NO_FUNCTION
    code = write_function(target, parameters_of(target, ()), "pass", continues=continues(request.prompt))
    return _code(request.prompt, code)


def _buggy(request: Request) -> str:
    """The program to repair, as it was given."""
    task = request.problem.task
    buggy = task.buggy if isinstance(task, FunctionTask | CasesTask) else ""
    return _code(request.prompt, buggy) if buggy else NO_PROGRAM


def prompt_text(prompt: Prompt) -> str:
    """All that the model sees, in order."""
    return "\n".join(message.content for message in prompt.messages)


def continues(prompt: Prompt) -> bool:
    """Whether the reply is appended to the prompt's own text: a base model's prompt, or an answer begun."""
    return prompt.style == "text" or prompt.messages[-1].role == "assistant"


def _continuation(prompt: Prompt, reference: str, prefix: str) -> str:
    """The part of a reference that the prompt lacks, where the prompt ends with the code it starts with."""
    begun = prefix.rstrip()
    if not (begun and continues(prompt) and reference.startswith(begun)):
        return reference
    if not prompt_text(prompt).rstrip().endswith(begun):
        return reference
    return reference[len(begun) :].lstrip("\n")


def _code(prompt: Prompt, code: str) -> str:
    """Code as a reply: in a fence, or bare where it continues the prompt."""
    if not continues(prompt):
        return "```python\n" + code.strip("\n") + "\n```"
    return code if prompt_text(prompt).endswith("\n") else f"\n{code}"
