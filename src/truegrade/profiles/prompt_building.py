"""Making a Prompt of a byte-exact text under ``prompts/`` and a problem."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Literal

from truegrade import prompts
from truegrade.errors import UserError
from truegrade.grading.repairs import RepairTask
from truegrade.records import (
    AskedState,
    ChoiceTask,
    Completion,
    ContestTask,
    InputTask,
    Message,
    OutputTask,
    Prompt,
)

CODEX_STOP = ("\nclass", "\ndef", "\n#", "\nif", "\nprint")
"""Stop strings of the Codex paper, arXiv 2107.03374 section 3.1."""


def chat(
    prompt_id: str, values: Mapping[str, str], *, system: str | None = None, stop: tuple[str, ...] = ()
) -> Prompt:
    """One user message for a chat model.

    Args:
        prompt_id: name of the text in `truegrade.prompts`.
        values: text for each placeholder.
        system: name of the text of a system message before it; None for no such message.
        stop: stop strings of the rule.
    """
    message = Message(role="user", content=prompts.render(prompt_id, **values))
    if system is None:
        return Prompt(messages=(message,), source=origin(prompt_id), stop=stop)
    before = Message(role="system", content=prompts.render(system))
    return Prompt(messages=(before, message), source=f"{origin(prompt_id)}; {origin(system)}", stop=stop)


def base(prompt_id: str, values: Mapping[str, str], *, stop: tuple[str, ...] = ()) -> Prompt:
    """A text under ``prompts/`` for a base model to continue.

    Args:
        prompt_id: name of the text in `truegrade.prompts`.
        values: text for each placeholder.
        stop: stop strings of the rule.
    """
    return continuation(prompts.render(prompt_id, **values), source=origin(prompt_id), stop=stop)


def as_stored(content: str, *, source: str) -> Prompt:
    """A text of the data set, alone, for a chat model.

    Args:
        content: the text.
        source: where its words come from.
    """
    return Prompt(messages=(Message(role="user", content=content),), source=source)


def continuation(content: str, *, source: str, stop: tuple[str, ...] = (), shots: tuple[str, ...] = ()) -> Prompt:
    """Any text for a base model to continue.

    Args:
        content: the text.
        source: where its words come from.
        stop: stop strings of the rule.
        shots: ids of problems whose solution the text shows.
    """
    message = Message(role="user", content=content)
    return Prompt(messages=(message,), style="text", stop=stop, source=source, shots=shots)


def origin(prompt_id: str) -> str:
    """Id and source of a text under ``prompts/``."""
    return f"{prompt_id}: {prompts.load(prompt_id).source}"


# ------------------------ The words of every execution task, by the name one asks for with ``-T prompt=NAME``.
# ``default`` is that of `seed-regex`: zero-shot, one user message, no system message. The others are the texts
# that published runs really sent; they do not match each other, so a result names its own.


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
    if task.state:
        return _state_prompts(task, task.state)
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


def _state_prompts(task: OutputTask, state: AskedState) -> dict[str, RenderPrompt]:
    asked = "{}({})".format(*state.claimed)
    where = f"line {state.line}, `{task.program.split(chr(10))[state.line - 1].strip()}`,"
    meaning = f"{asked} stands for the number of times that {where} runs during the call, 0 if it does not run."
    if state.variable:
        times = "once" if state.time == 1 else f"{state.time} times"
        after = f"directly after {where} has run {times} during the call"
        meaning = f"{asked} stands for the value of the variable `{state.variable}` {after}."
    call = f"{task.function}({task.arguments})"
    values = {"program": task.program, "call": call, "asked": asked, "meaning": meaning}
    return {
        "default": lambda: chat("strict.state.user", values),
        "base": lambda: base("strict.state.user", values, stop=_STOP),
    }


def _question_prompts(task: OutputTask) -> dict[str, RenderPrompt]:
    values = {
        "question": task.question,
        "starter": task.program,
        "fn": task.function,
        "args": task.arguments,
    }
    return {"default": lambda: chat("lcb.test_output.user", values, system="lcb.test_output.system")}


# ------------ Which of a profile's prompts a completion answers, for harnesses whose extraction depends on it.


def answered_prompt(
    completion: Completion, renderers: Mapping[str, RenderPrompt], names: Iterable[str]
) -> str | None:
    """The first of these names whose prompt has the hash that the completion carries.

    None for the answer to another prompt and for imported text, whose prompt nobody recorded.

    Args:
        completion: what came back.
        renderers: each makes a prompt of the problem, by name.
        names: those of the renderers to try.
    """
    if not completion.prompt_sha256:
        return None
    known = (name for name in names if name in renderers)
    return next((name for name in known if renderers[name]().sha256 == completion.prompt_sha256), None)


# ----------- How a program is asked to be repaired: the words of CORAL-X, for chat models and for base models.


FENCE = "```"


def repair_prompts(task: RepairTask) -> dict[str, RenderPrompt]:
    """Prompts by variant; ``base`` is the same text to continue, up to where the open fence is closed."""
    values = {"name": task.entry_point, "buggy": task.buggy}
    return {
        "default": lambda: chat("quixbugs.repair", values),
        "base": lambda: base("quixbugs.repair", values, stop=(FENCE,)),
    }


# ----------------------------------- Cutting a text at the first stop string, as harnesses do for base models.


HUMANEVALPACK_STOP = ("\nclass", "\ndef", "\n#", "\n@", "\nprint", "\nif", "\nassert", "<|endoftext|>")
"""bigcode-project/bigcode-evaluation-harness@8fc5bae6 ``bigcode_eval/tasks/humanevalpack.py``."""


def before_stop(text: str, stops: Iterable[str]) -> str:
    """The text before whichever stop string comes first.

    bigcode-project/bigcode-evaluation-harness@8fc5bae6 ``bigcode_eval/base.py`` ``_stop_at_stop_token``, and
    evalplus/evalplus@26d6d00 ``evalplus/provider/hf.py``.
    """
    found = (text.find(stop) for stop in stops)
    return text[: min((at for at in found if at != -1), default=len(text))]


# -------------------------------------- A contest problem in a harness' words: the starter code decides which.


VLLM_STOP = ("###",)
"""Default of ``--stop`` (LiveCodeBench/LiveCodeBench@28fef95 ``lcb_runner/runner/parser.py``);
only models served by vLLM are sent it."""


def kind_of_prompt(task: ContestTask) -> Literal["functional", "stdin"]:
    """``functional`` or ``stdin``: the starter code decides how a problem is worded, not how it is graded."""
    return "functional" if task.starter_code else "stdin"


def question(prompt_id: str, task: ContestTask, *, system: str | None = None) -> Prompt:
    """A problem in the words of the text ``prompt_id`` and its kind."""
    values = {"question": task.question} | ({"starter": task.starter_code} if task.starter_code else {})
    return chat(f"{prompt_id}.{kind_of_prompt(task)}", values, system=system)


def claude_completion(user: str, system: str) -> Prompt:
    """Style Claude: one text in the form of Anthropic's completion service.

    Args:
        user: text of the user's turn; its end is stripped.
        system: prompt id of the system text.
    """
    content = prompts.render("lcb_claude.completion", system=prompts.render(system), user=user.rstrip())
    return continuation(content, source=f"{origin('lcb_claude.completion')}; {origin(system)}")


# ------------------ LiveCodeBench's self-repair: the failing program, what its grading said, a request to mend it.
# LiveCodeBench/LiveCodeBench@28fef95 ``lcb_runner/prompts/self_repair.py``. The Format line is always that of
# stdin and the starter code is never shown. Upstream aborts the whole scenario on some gradings and styles; here
# each is a `PublishedCrash` of that sample alone.


_REPAIR_SYSTEM = "lcb.self_repair.system"
_REPAIR_USER = "lcb.self_repair.user"

_CHECKS: Mapping[int, str] = MappingProxyType(
    {code: f"lcb.self_repair.check.{-code}" for code in (-1, -2, -3, -4)}
)
"""The text about a grading, by the ``error_code`` of its metadata."""


class PublishedCrash(UserError):
    """The harness itself raises here, and its run ends."""


def repair_prompt(question: str, code: str, metadata: Mapping[str, Any], style: str = "OpenAIChat") -> Prompt:
    """The prompt for a sample that failed; one that passed is not asked again (upstream's prompt is empty).

    Args:
        question: the problem's words.
        code: the failing program.
        metadata: of its grading, as the harness stores them, decoded.
        style: model style.

    Raises:
        PublishedCrash: upstream raises for this style or these metadata.
    """
    if style not in REPAIR_STYLES:
        raise PublishedCrash(
            f"style {style}: self-repair of LiveCodeBench@28fef95 looks up LMStyle.MagiCoder, which is gone, and"
            f" ends in AttributeError; styles with words: {', '.join(REPAIR_STYLES)}"
        )
    return REPAIR_STYLES[style]({"question": question, "code": code, "check": check_text(metadata)})


def check_text(metadata: Mapping[str, Any]) -> str:
    """What the grading said; empty where the metadata hold no error code.

    Raises:
        PublishedCrash: the code has no text (-5), or a field of its text is missing ("Error during testing").
    """
    if "error_code" not in metadata:
        return ""
    code = metadata["error_code"]
    if not isinstance(code, int) or code not in _CHECKS:
        raise PublishedCrash(
            f"error_code {code!r}: self-repair of LiveCodeBench@28fef95 ends in NotImplementedError"
        )
    names = prompts.load(_CHECKS[code]).placeholders
    missing = [name for name in names if name not in metadata]
    if missing:
        raise PublishedCrash(
            f"error_code {code} without {missing[0]!r}: self-repair of LiveCodeBench@28fef95 ends in KeyError"
        )
    return prompts.render(_CHECKS[code], **{name: str(metadata[name]) for name in names})


Values = Mapping[str, str]


def _openai_chat(values: Values) -> Prompt:
    """The one style that repeats the request behind the text."""
    user = prompts.render(_REPAIR_USER, **values) + "\n\n" + prompts.render("lcb.self_repair.formatting_repeat")
    messages = (Message(role="system", content=prompts.render(_REPAIR_SYSTEM)), Message(role="user", content=user))
    return Prompt(messages=messages, source=f"{origin(_REPAIR_USER)}; {origin(_REPAIR_SYSTEM)}")


def _chat(values: Values) -> Prompt:
    return chat(_REPAIR_USER, values, system=_REPAIR_SYSTEM)


def _claude3(values: Values) -> Prompt:
    user = Message(role="user", content=prompts.render(_REPAIR_USER, **values).rstrip())
    return Prompt(
        messages=(Message(role="system", content=prompts.render(_REPAIR_SYSTEM)), user),
        source=f"{origin(_REPAIR_USER)}; {origin(_REPAIR_SYSTEM)}",
    )


def _claude(values: Values) -> Prompt:
    return claude_completion(prompts.render(_REPAIR_USER, **values), _REPAIR_SYSTEM)


def _joined(values: Values) -> str:
    return prompts.render(_REPAIR_SYSTEM) + "\n" + prompts.render(_REPAIR_USER, **values)


def _gemini(values: Values) -> Prompt:
    return Prompt(messages=(Message(role="user", content=_joined(values)),), source=origin(_REPAIR_USER))


def _star_coder(values: Values) -> Prompt:
    return continuation(_joined(values), source=origin(_REPAIR_USER), stop=VLLM_STOP)


REPAIR_STYLES: Mapping[str, Callable[[Values], Prompt]] = MappingProxyType(
    {
        "OpenAIChat": _openai_chat,
        "LLaMa3": _chat,
        "Claude": _claude,
        "Claude3": _claude3,
        "MistralWeb": _chat,
        "Gemini": _gemini,
        "StarCoderInstruct": _star_coder,
        "DeepSeekCodeInstruct": lambda values: base("lcb_repair.deepseek_code_instruct", values, stop=VLLM_STOP),
        "CodeLLaMaInstruct": lambda values: base("lcb_repair.code_llama_instruct", values, stop=VLLM_STOP),
    }
)
"""Styles that upstream asks before it looks up the missing one."""
