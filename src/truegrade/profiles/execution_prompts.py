"""The words of every execution task, by the name one asks for with ``-T prompt=NAME``.

``default`` is that of `seed-regex`: zero-shot, one user message, no system message. The others are the texts
that published runs really sent; they do not match each other, so a result names its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from truegrade.profiles.prompt_building import base, chat
from truegrade.records import ChoiceTask, InputTask, OutputTask, Prompt

RenderPrompt = Callable[[], Prompt]

PREDICTION_VARIANTS = ("inference-py", "bedrock", "livecodebench", "livecodebench-cot")
CRUXEVAL_VARIANTS = ("cruxeval", "cruxeval-cot", "cruxeval-phind", "cruxeval-openai", "cruxeval-openai-cot")
CHOICE_VARIANTS = ("bedrock", "leetcode-notebook", "dsl-notebook")

_STOP = ("[/ANSWER]",)
_PHIND_STOP = ("# done",)
_OPENAI = "cruxeval.system.openai"
_LIVECODEBENCH = "lcb.execution.system"


def output_prompts(task: OutputTask) -> dict[str, RenderPrompt]:
    """Prompts for a program and a call; where a question in words stands instead of the program, for that."""
    if task.question:
        return _question_prompts(task)
    seed = {"program": task.program, "fn": task.function, "args": task.arguments}
    whole = {"code": task.program, "call": f"{task.function}({task.arguments})"}
    choices: dict[str, RenderPrompt] = {
        "default": lambda: chat("exec.prediction.zero_shot", seed),
        "one-shot": lambda: chat("exec.prediction.one_shot", seed),
        "base": lambda: base("exec.prediction.zero_shot", seed, stop=_STOP),
        "one-shot-base": lambda: base("exec.prediction.one_shot", seed, stop=_STOP),
        "inference-py": lambda: chat("exec.prediction.zero_shot", seed, system="exec.system.inference_py"),
        "bedrock": lambda: chat("exec.prediction.zero_shot", seed, system="exec.system.bedrock"),
        "livecodebench": lambda: chat("lcb.execution.direct", whole, system=_LIVECODEBENCH),
        "livecodebench-cot": lambda: chat("lcb.execution.cot", whole, system=_LIVECODEBENCH),
    }
    return choices | cruxeval_output_prompts(task)


def cruxeval_output_prompts(task: OutputTask) -> dict[str, RenderPrompt]:
    """CRUXEval's own prompts; none where the function is not called ``f``, as their texts call it."""
    if task.function != "f":
        return {}
    values = {"code": task.program, "input": task.arguments}
    return {
        "cruxeval": lambda: base("cruxeval.output.direct", values, stop=_STOP),
        "cruxeval-cot": lambda: base("cruxeval.output.cot", values, stop=_STOP),
        "cruxeval-phind": lambda: base("cruxeval.output.phind", values, stop=_PHIND_STOP),
        "cruxeval-openai": lambda: chat("cruxeval.output.direct", values, system=_OPENAI, stop=_STOP),
        "cruxeval-openai-cot": lambda: chat("cruxeval.output.cot", values, system=_OPENAI, stop=_STOP),
    }


def cruxeval_input_prompts(task: InputTask) -> dict[str, RenderPrompt]:
    """CRUXEval's own prompts for finding an input."""
    values = {"code": task.program, "output": task.expected}
    return {
        "cruxeval": lambda: base("cruxeval.input.direct", values, stop=_STOP),
        "cruxeval-cot": lambda: base("cruxeval.input.cot", values, stop=_STOP),
        "cruxeval-openai": lambda: chat("cruxeval.input.direct", values, system=_OPENAI, stop=_STOP),
        "cruxeval-openai-cot": lambda: chat("cruxeval.input.cot", values, system=_OPENAI, stop=_STOP),
    }


def input_prompts(task: InputTask) -> dict[str, RenderPrompt]:
    """Prompts for a program and a value to reach."""
    values = {"code": task.program, "output": task.expected}
    return {"default": lambda: chat("cruxeval.input.direct", values)} | cruxeval_input_prompts(task)


def choice_prompts(task: ChoiceTask) -> dict[str, RenderPrompt]:
    """Prompts for a pair of programs."""
    first, second = task.programs
    values: Mapping[str, str] = {
        "program": first,
        "program2": second,
        "fn": task.function,
        "args": task.arguments,
    }
    return {
        "default": lambda: chat("exec.choice.zero_shot", values),
        "one-shot": lambda: chat("exec.choice.one_shot", values),
        "base": lambda: base("exec.choice.zero_shot", values),
        "one-shot-base": lambda: base("exec.choice.one_shot", values),
        "bedrock": lambda: chat("exec.choice.bedrock", values, system="exec.system.bedrock"),
        "leetcode-notebook": lambda: chat("exec.choice.leetcode_notebook", values),
        "dsl-notebook": lambda: chat("exec.choice.dsl_notebook", values),
    }


def _question_prompts(task: OutputTask) -> dict[str, RenderPrompt]:
    values = {
        "question": task.question,
        "starter": task.program,
        "fn": task.function,
        "args": task.arguments,
    }
    return {"default": lambda: chat("lcb.test_output.user", values, system="lcb.test_output.system")}
