"""How a prompt becomes text and tokens for a transformers model; the same for asking and for training."""

from __future__ import annotations

from typing import Any

from truegrade.errors import UserError
from truegrade.records import Prompt


def prompt_tokens(tokenizer: Any, prompt: Prompt, name: str, effort: str | None = None) -> list[int]:
    """The tokens after which the model writes its reply; raises as `prompt_text`."""
    return text_tokens(tokenizer, prompt, prompt_text(tokenizer, prompt, name, effort))


def text_tokens(tokenizer: Any, prompt: Prompt, text: str) -> list[int]:
    """The tokens of a prompt's text, or of one that goes on; a chat template has set its special tokens itself."""
    if prompt.style == "text":
        return list(tokenizer(text)["input_ids"])
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def prompt_text(tokenizer: Any, prompt: Prompt, name: str, effort: str | None = None) -> str:
    """A text as it stands; messages through the model's own chat template.

    Raises:
        UserError: the model has no template, or it knows no reasoning effort.
    """
    if prompt.style == "text":
        return prompt.messages[0].content
    if not tokenizer.chat_template:
        raise UserError(f"{name} has no chat template: it is a base model, ask it with `task_args` prompt=base")
    if effort is not None and "reasoning_effort" not in str(tokenizer.chat_template):
        raise UserError(f"{name} knows no reasoning effort: leave `reasoning_effort` out")
    begun = prompt.messages[-1].role == "assistant"
    text: str = tokenizer.apply_chat_template(
        [{"role": message.role, "content": message.content} for message in prompt.messages],
        tokenize=False,
        add_generation_prompt=not begun,
        continue_final_message=begun,
        **({"reasoning_effort": effort} if effort else {}),
    )
    return text
