"""What a reply chooses: the letter of one of two programs, and the value predicted for it.

The rule: keep the final channel; among the objects that name a ``chosen_program``, read as JSON or as a Python
dictionary with any order of keys, the last one counts, unless it only repeats the asked format; without one, or
where another object begins behind it and cannot be read, the two fields are looked for in the text. The letter
is A or B, in either case, with nothing but the word program before it. The assertion goes through the rule of
`truegrade.extraction.assertions`, so braces, brackets and quotes inside a value end nothing.

``Answer.value`` is canonical JSON, ``{"chosen_program":"A","value":"[1, 2]"}``. A reply that names a program is
a choice whatever its assertion says; one that states no value (``assert f(2) raises TypeError``) has ``null``
there and ``Answer.reason`` beside it. ``Answer.found`` says how the choice was found, ``object`` or ``fields``,
with ``:other_call`` or ``:other_fn`` where its assertion is about another call; or what is wrong with its value,
``unparsable_assertion``, ``not_literal`` or the limit that it exceeds; or why there is none, ``no_choice``,
``bad_letter`` or ``thinking`` (cut off before the final channel).
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Literal, NamedTuple

import msgspec

from truegrade.extraction.assertions import extract_output, extract_output_answer, of_another_call
from truegrade.extraction.blocks import final_channel_of_choice
from truegrade.extraction.equalities import expression_ends
from truegrade.extraction.parsing import (
    MAX_SOURCE_CHARS,
    NotLiteral,
    Parser,
    any_digits,
    parse_literal,
    unix_newlines,
)
from truegrade.patterns import pattern
from truegrade.records import Answer, Reason

MAX_OBJECTS = 100
"""Mentions of ``chosen_program`` that are read, counted from the end of a reply."""
MAX_BRACES = 20
"""Braces before a mention that are tried as the beginning of its object, nearest first."""
_MENTION_CHARS = 20_000
"""How far before a mention its object may begin."""

_MENTION = pattern(r"chosen_program")
_LETTER = pattern(r"\W*(?:program[\s_]*)?([AB])\W*", re.IGNORECASE)
_LETTER_FIELD = pattern(r"""chosen_program["'`*]*\s*[:=]\s*([^,\n}]{0,80})""", re.IGNORECASE)
_ASSERTION_FIELD = pattern(r"""\bassertion["'`*]*\s*[:=]\s*["'`]?""", re.IGNORECASE)
_UNANSWERED = pattern(r"==\s*\?\?")
_BEGUN = pattern(r"""\{\s*["']?chosen_program["']?\s*:""")


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A choice as ``Answer.value`` stores it."""

    chosen_program: Literal["A", "B"]
    value: str | None
    """The predicted value, a Python literal; None where the reply states none."""


class _Fields(NamedTuple):
    """The two fields as a reply writes them."""

    letter: Any
    assertion: Any
    found: str
    end: int = 0
    """Offset behind the object."""
    own_line: bool = True
    """Whether the object begins a line, and is no part of a sentence."""


def extract_choice(reply: str, function: str, arguments: str) -> Answer:
    """The program that a reply chooses and the literal that it predicts. Never raises; runs nothing."""
    read = cache(lambda text: _choice_in(unix_newlines(text), function, arguments))
    channel = final_channel_of_choice(reply, function, read)
    return _nothing(Reason.TRUNCATED, "thinking") if channel.truncated else read(channel.text)


def _choice_in(text: str, function: str, arguments: str) -> Answer:
    """The choice that a passage of a reply makes."""
    fields = _last_choice(text)
    if fields is None:
        return _nothing(Reason.NO_ANSWER, "no_choice")
    return _answer(fields, function, arguments)


def extract_choice_answer(text: str) -> Answer:
    """The choice in text that somebody already extracted: the canonical JSON and nothing else."""
    try:
        choice = msgspec.json.decode(text, type=Choice)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return _nothing(Reason.NO_ANSWER, "no_choice")
    if choice.value is None:
        return _without_value(choice.chosen_program, _nothing(Reason.NO_ANSWER, "no_answer"))
    predicted = extract_output_answer(choice.value)
    if predicted.value is None:
        return _without_value(choice.chosen_program, predicted)
    return _found(choice.chosen_program, predicted.value, "as given")


def _last_choice(text: str) -> _Fields | None:
    """The last object that names a choice and does not repeat the asked format; or the fields of one behind it."""
    objects = list(_objects(text))
    begun = _BEGUN.search(text, objects[0].end if objects else 0)
    if begun is not None or not objects:
        scanned = _scanned(text[begun.start() :] if begun else text)
        if scanned is not None and (not objects or _letter(scanned)):
            return scanned
    return next((fields for fields in objects if not _repeats_format(fields)), objects[0] if objects else None)


def _repeats_format(fields: _Fields) -> bool:
    """Whether an object is the prompt's: ``full_assertion``, or ``== ??`` without a letter or in a sentence."""
    said = _text(fields.assertion)
    unanswered = _UNANSWERED.search(said) is not None
    return "full_assertion" in said or (unanswered and (_letter(fields) is None or not fields.own_line))


def _letter(fields: _Fields) -> str | None:
    letter = _LETTER.fullmatch(fields.letter) if isinstance(fields.letter, str) else None
    return letter[1].upper() if letter else None


def _answer(fields: _Fields, function: str, arguments: str) -> Answer:
    letter = _letter(fields)
    if letter is None:
        return _nothing(Reason.NO_ANSWER, "bad_letter")
    predicted = _predicted(fields.assertion, function, arguments)
    if predicted.value is None:
        return _without_value(letter, predicted)
    other = f":{predicted.found}" if of_another_call(predicted) else ""
    return _found(letter, predicted.value, f"{fields.found}{other}")


def _predicted(assertion: Any, function: str, arguments: str) -> Answer:
    """The value of an assertion; one that is no text is the value itself, as JSON wrote it."""
    if assertion is None:
        return _nothing(Reason.NO_ANSWER, "unparsable_assertion")
    if not isinstance(assertion, str):
        return extract_output_answer(_text(assertion))
    predicted = extract_output(assertion, function, arguments)
    if predicted.value is None and "\\" in assertion:
        unescaped = assertion.replace('\\"', '"').replace("\\'", "'")
        return extract_output(unescaped, function, arguments)
    return predicted


def _text(assertion: Any) -> str:
    """An assertion as it is, or the value that JSON wrote in its place."""
    with any_digits():
        return assertion if isinstance(assertion, str) else repr(assertion)


def _objects(text: str) -> Iterator[_Fields]:
    """Objects of the text that name a choice, the last first."""
    parser = Parser()
    mentions = deque((match.start() for match in _MENTION.finditer(text)), maxlen=MAX_OBJECTS)
    read_from = len(text)
    for mention in reversed(mentions):
        if mention >= read_from:
            continue  # inside an object that was read already
        for start in _braces_before(text, mention):
            if parser.chars_left <= 0:
                return
            fields = _object(parser, text, start, mention)
            if fields is not None:
                read_from = start
                yield fields
                break


def _braces_before(text: str, mention: int) -> Iterator[int]:
    """Where the object around a mention may begin, nearest first."""
    start = mention
    for _ in range(MAX_BRACES):
        start = text.rfind("{", max(0, mention - _MENTION_CHARS), start)
        if start < 0:
            return
        yield start


def _object(parser: Parser, text: str, start: int, mention: int) -> _Fields | None:
    """The object that begins at a brace, if it reaches over the mention and names a choice itself."""
    reach = expression_ends(text, start, start + MAX_SOURCE_CHARS)
    parser.charge(max(0, reach.read_to - start))
    if not reach.ends or reach.ends[0] <= mention:
        return None
    source = text[start : reach.ends[0]]
    parser.charge(10 * len(source))
    value = _decoded(source)
    if not isinstance(value, dict) or "chosen_program" not in value:
        return None
    own_line = not text[text.rfind("\n", 0, start) + 1 : start].strip()
    return _Fields(value["chosen_program"], value.get("assertion"), "object", reach.ends[0], own_line)


def _decoded(source: str) -> Any:
    """The value of a JSON object, with line ends allowed in its texts, else of a Python dictionary."""
    try:
        return json.loads(source, strict=False)
    except (ValueError, RecursionError):
        literal = parse_literal(source)
        return None if isinstance(literal, NotLiteral) else literal.value


def _scanned(text: str) -> _Fields | None:
    """The two fields without a readable object around them: the last letter, and the last assertion behind it."""
    letter = _last(_LETTER_FIELD.finditer(text))
    if letter is None:
        return None
    behind = _last(_ASSERTION_FIELD.finditer(text, letter.end(1)))
    place = behind or _last(_ASSERTION_FIELD.finditer(text, 0, letter.start()))
    return _Fields(letter[1].strip(), text[place.end() :] if place else None, "fields")


def _last(matches: Iterable[re.Match[str]]) -> re.Match[str] | None:
    return next(iter(deque(matches, maxlen=1)), None)


def _found(letter: str, value: str | None, found: str, reason: Reason | None = None) -> Answer:
    choice = json.dumps({"chosen_program": letter, "value": value}, separators=(",", ":"), ensure_ascii=False)
    return Answer(value=choice, found=found, reason=reason, form="answer")


def _without_value(letter: str, predicted: Answer) -> Answer:
    """The choice of a reply that states no value, and why there is none."""
    known = predicted.reason in {Reason.NOT_LITERAL, Reason.EXTRACTION_LIMIT}
    reason, found = (predicted.reason, predicted.found) if known else (Reason.NO_ANSWER, "unparsable_assertion")
    return _found(letter, None, found, reason)


def _nothing(reason: Reason, found: str) -> Answer:
    return Answer(value=None, found=found, reason=reason, form="answer")
