"""Making a Prompt of a byte-exact text under ``prompts/`` and values for its placeholders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from truegrade import prompts
from truegrade.records import Completion, Message, Prompt

RenderPrompt = Callable[[], Prompt]

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
