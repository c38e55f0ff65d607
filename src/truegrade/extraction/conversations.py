"""Which text of a conversation is the model's answer: the one reading of what trainers and services hand over.

A conversation is one text, or messages as OpenAI, Anthropic, Google, Hugging Face, LangChain or ShareGPT have
them, as mappings or objects, or what holds such messages. The model's turns are the texts of its own messages,
without what stands in them between the marks of an observation (`truegrade.extraction.observations`). Thoughts,
refusals and the arguments of tool calls are no text of a turn. A turn whose thought goes on behind an observation
goes on to the end of that thought; behind a role mark or a message it does where an end of one follows, since
models also forget to write the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from truegrade.extraction.blocks import quoted_by_program
from truegrade.extraction.observations import POLICY_ROLES, Turn, turns_of_text
from truegrade.extraction.programs import code_weight
from truegrade.extraction.thinking import Weight, thoughts_across

_TEXTS = frozenset({"text", "output_text"})
"""Types of parts of a content that are text."""
_MESSAGES = frozenset({"message", *_TEXTS})
"""Types of messages that say nothing of who speaks."""
_SPEAKERS = ("role", "from", "speaker", "author", "sender", "type")
_CONTENTS = ("content", "value", "text", "parts")
_HOLDERS = ("messages", "conversations", "conversation", "choices", "message")


def policy_turns(conversation: Any) -> list[str]:
    """What the model said, in order; empty where no message is the model's.

    Args:
        conversation: a text, a message, a list of messages or of such lists, or a mapping that holds one. A text
            is the model's where no mark in it says otherwise, a message where it names the model's role, or where
            none names any.
    """
    texts = [conversation] if isinstance(conversation, str) else _texts(conversation)
    return [*_with_whole_thoughts([turn for text in texts for turn in turns_of_text(text)])]


def answering_turns(turns: Sequence[str], entry_point: str | None = None) -> list[int]:
    """Places of the turns that hold an answer: a program that implements the entry point; where none does, any
    code; else of the last turn that says anything, or of the last.

    Args:
        turns: of the model, one at least.
        entry_point: function that the tests call, where that is known.
    """
    said = [place for place, turn in enumerate(turns) if turn.strip()] or [len(turns) - 1]
    if len(said) == 1:
        return said
    weights = {place: code_weight(turns[place], entry_point or "") for place in said}
    most = max(weights.values())
    return [place for place in said if weights[place] is most] if most > Weight.NOTHING else said[-1:]


def answering_turn(turns: Iterable[str], entry_point: str | None = None) -> str:
    """The last of the turns that hold an answer (`answering_turns`); empty where none says anything."""
    turns = [turn for turn in turns if turn.strip()]
    if len(turns) < 2:
        return "".join(turns)
    for turn in reversed(turns):  # mostly the last or the one before: none ahead of it is read then
        if code_weight(turn, entry_point or "") is Weight.ANSWER:
            return turn
    return turns[answering_turns(turns, entry_point)[-1]]


def _with_whole_thoughts(turns: Sequence[Turn]) -> Iterator[str]:
    """The turns, those joined over which a thought goes on."""
    held: list[Turn] = []
    family, since = "", 0
    for turn in turns:
        ended, opened = thoughts_across(turn.text, quoted_by_program(turn.text)) if len(turns) > 1 else ("", "")
        if family and (ended or opened) and ended != family:
            yield from _unended(held, since)
            held, family = [], ""
        held.append(turn)
        if not family or ended == family:
            family, since = opened, len(held) - 1
        if not family:
            yield "".join(part.text for part in held)
            held = []
    yield from _unended(held, since)


def _unended(turns: Sequence[Turn], since: int) -> Iterator[str]:
    """Turns with a thought, begun in that one, which nothing ends: it goes on to where the first is over."""
    last = next((k for k in range(since, len(turns)) if turns[k].over), len(turns) - 1)
    if turns:
        yield "".join(turn.text for turn in turns[: last + 1])
        yield from (turn.text for turn in turns[last + 1 :])


def _texts(conversation: Any) -> Iterator[str]:
    """The texts of the model's messages."""
    said: list[tuple[str, str]] = []
    waiting = _listed(conversation)[::-1]
    while waiting:
        message = waiting.pop()
        contents = (_field(message, name) for name in _CONTENTS)
        content = next((field for field in contents if field is not None), None)
        if isinstance(message, str):
            said.append(("assistant", message))
        elif isinstance(message, list | tuple) or hasattr(message, "tolist"):  # a conversation's rounds
            waiting += _listed(message)[::-1]
        elif content is None and (held := [field for name in _HOLDERS if (field := _field(message, name))]):
            waiting += _listed(held[0])[::-1]
        else:
            said.append((_speaker(message), _content(content)))
    own = POLICY_ROLES if any(role for role, _ in said) else {""}
    yield from (text for role, text in said if role in own)


def _listed(value: Any) -> list[Any]:
    """A list of messages or parts, of which one alone is its own list."""
    if hasattr(value, "tolist"):  # a table of Parquet gives arrays of numpy
        value = value.tolist()
    return [*value] if isinstance(value, list | tuple) else [] if value is None else [value]


def _speaker(message: Any) -> str:
    """Who says a message, in lower case; empty where it names nobody."""
    for name in _SPEAKERS:
        said = _field(message, name)
        said = _field(said, "role") or said
        said = str(getattr(said, "value", said) or "").lower()
        if said and (name != "type" or said not in _MESSAGES):
            return said
    return ""


def _content(content: Any) -> str:
    """The text of a message's content; what stands between two texts begins a line."""
    text, follows = "", True
    for part in _listed(content):
        kind = _field(part, "type")
        said = (
            part
            if isinstance(part, str)
            else _field(part, "text")
            if kind is None or str(kind) in _TEXTS
            else None
        )
        said = _field(said, "value") if isinstance(said, Mapping) else said
        if isinstance(said, str):
            text += said if follows or not text or text.endswith("\n") else f"\n{said}"
        follows = isinstance(said, str)
    return text


def _field(message: Any, name: str) -> Any:
    return message.get(name) if isinstance(message, Mapping) else getattr(message, name, None)
