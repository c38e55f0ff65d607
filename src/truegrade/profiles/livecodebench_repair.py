"""LiveCodeBench's self-repair: the failing program, what its grading said, a request to mend it.

LiveCodeBench/LiveCodeBench@28fef95 ``lcb_runner/prompts/self_repair.py``. The Format line is always that of stdin
and the starter code is never shown. Upstream aborts the whole scenario on some gradings and styles; here each is a
`PublishedCrash` of that sample alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from truegrade import prompts
from truegrade.errors import UserError
from truegrade.prompts.making import base, chat, continuation, origin
from truegrade.records import Message, Prompt

VLLM_STOP = ("###",)
"""Default of ``--stop`` (LiveCodeBench/LiveCodeBench@28fef95 ``lcb_runner/runner/parser.py``);
only models served by vLLM are sent it."""


def claude_completion(user: str, system: str) -> Prompt:
    """Style Claude: one text in the form of Anthropic's completion service.

    Args:
        user: text of the user's turn; its end is stripped.
        system: prompt id of the system text.
    """
    content = prompts.render("lcb_claude.completion", system=prompts.render(system), user=user.rstrip())
    return continuation(content, source=f"{origin('lcb_claude.completion')}; {origin(system)}")


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
