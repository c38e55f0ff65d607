"""`sandboxfusion`: CRUXEval as bytedance/SandboxFusion @469de08 grades it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from truegrade.grading.functions import TESTS_INSIDE
from truegrade.grading.judgement import Judgement, from_outcome
from truegrade.kinds import Context
from truegrade.profiles.base import Profile, Way
from truegrade.profiles.cruxeval import INPUTS, OUTPUTS, published_prompts
from truegrade.prompts.making import RenderPrompt, continuation
from truegrade.records import Answer, Completion, Problem, Prompt
from truegrade.sandbox import Limits

_STOPS = ("# done", "[/ANSWER]")


def _prompts(problem: Problem, task: Any, examples: Mapping[str, Problem]) -> dict[str, RenderPrompt]:
    """CRUXEval's words to continue: ``default`` (direct), ``cot``, or for outputs ``phind``."""

    def as_text(render: RenderPrompt) -> Prompt:
        published = render()
        return continuation(published.messages[0].content, source=published.source)

    return {name: partial(as_text, render) for name, render in published_prompts(problem, task, examples).items()}


def _read(completion: Completion, side: int) -> Answer:
    """The published post-processing of replies; what is already extracted stays as it is."""
    text = completion.text or ""
    if completion.form == "answer":
        return Answer(value=text, found="as given", form="answer")
    for stop in _STOPS:
        text = text.split(stop, maxsplit=1)[0]
    if "[ANSWER]" in text:
        text = text.split("[ANSWER]")[1].strip()
    if "assert f" in text:
        text = "f" + text.split("assert f")[1].strip()
    if "==" in text:
        text = text.split("==")[side].strip()
    return Answer(value=text, found="beside the first ==", form="answer")


def _run(program: str, answer: Answer, other: str, context: Context) -> Judgement:
    """Program and assertion as a script."""
    source = f"{program}\nassert {answer.value or ''} == {other}"
    return from_outcome(context.executor.script(source), marks=(TESTS_INSIDE,))


class Sandboxfusion(Profile):
    """``assert <completion> == f(<input>)``, run as a script and judged by its exit code."""

    name = "sandboxfusion"
    version = "469de08"
    ways: ClassVar[Mapping[str, Way]] = {
        "output_prediction": Way(
            prompts=_prompts,
            extract=lambda problem, task, completion: _read(completion, 1),
            judge=lambda problem, task, answer, context: _run(
                task.program, answer, f"f({task.arguments})", context
            ),
            only=OUTPUTS,
        ),
        "input_prediction": Way(
            prompts=_prompts,
            extract=lambda problem, task, completion: _read(completion, 0),
            judge=lambda problem, task, answer, context: _run(task.program, answer, task.expected, context),
            only=INPUTS,
        ),
    }
    variants = ("default", "cot", "phind")
    limits = Limits(cpu_s=30.0, wall_s=31.0)
