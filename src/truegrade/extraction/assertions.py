"""What a reply predicts: the output of a call, or arguments that lead to an output.

The rule for outputs: keep the final channel; then the last ``[ANSWER]`` block on *the asked call* wins, then the
last on the asked function, then the last that is a bare literal, then the first on another function (base models
invent new examples after answering), then a block left open, then any equality in the text. Only literals count.
Where the blocks, or the text around them, hold none, they are read once more in Python's own spelling (see
`truegrade.extraction.spellings`).

``Answer.found`` says which it was: ``block``, ``bare``, ``other_fn``, ``open_block``, ``body``, the same with
``:respelled`` where that took Python's own spelling; without an answer, ``not_literal``, ``unparsable_block``,
``no_answer``, ``thinking`` (cut off before the final channel), or the limit that was exceeded
(`truegrade.extraction.parsing`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache

from truegrade.extraction.blocks import AnswerBlocks, answer_blocks
from truegrade.extraction.calls import call_named, inside, parse_arguments, parse_call, same_arguments
from truegrade.extraction.computed import computed_arguments
from truegrade.extraction.equalities import Equality, find_calls, find_equalities, read_equality, source_of
from truegrade.extraction.literals import Literal, parse_literal, strip_decoration
from truegrade.extraction.parsing import Fault, Parser, unix_newlines
from truegrade.extraction.quoted import final_channel_of_answer
from truegrade.extraction.spellings import respelled
from truegrade.records import Answer, Reason

__all__ = ["extract_input", "extract_input_answer", "extract_output", "extract_output_answer", "parse_arguments"]


def extract_output(reply: str, function: str, arguments: str) -> Answer:
    """The literal that a reply predicts for ``function(arguments)``. Never raises; runs nothing."""
    read = cache(lambda text: _OutputSearch(unix_newlines(text), function, arguments).answer())
    channel = final_channel_of_answer(reply, function, read)
    return _nothing(Reason.TRUNCATED, "thinking") if channel.truncated else read(channel.text)


def extract_output_answer(text: str, function: str | None = None) -> Answer:
    """The literal in text that somebody already extracted: a literal, or one equality, and nothing else.

    Args:
        text: e.g. one generation of a CRUXEval ``generations.json``.
        function: name of the asked function; without it any call may stand in the equality.
    """
    bare = strip_decoration(text)
    literal = parse_literal(bare)
    if isinstance(literal, Literal):
        return Answer(value=literal.source, found="bare", form="answer")
    if not bare:
        return _nothing(Reason.NO_ANSWER, "no_answer")
    if literal.exceeded:
        return _nothing(Reason.EXTRACTION_LIMIT, literal.why)
    equality = _whole_equality(bare, function)
    if equality is not None and equality.literal and function in {None, equality.function}:
        return Answer(value=equality.value, found="equality", form="answer")
    return _nothing(Reason.NOT_LITERAL, "not_literal")


def extract_input(reply: str, function: str, program: str = "") -> Answer:
    """The argument text of the call that a reply proposes (CRUXEval's input prediction).

    A base model goes on with new ``[PYTHON]`` examples after its answer: the last answer before such an example
    wins, not the last of all. In one place, literals win over arguments that have to be computed.

    Args:
        reply: what the model said.
        function: the function to call.
        program: its source; see `truegrade.extraction.computed`.
    """
    read = cache(lambda text: _input_in(unix_newlines(text), function, program))
    channel = final_channel_of_answer(reply, function, read)
    return _nothing(Reason.TRUNCATED, "thinking") if channel.truncated else read(channel.text)


def _input_in(text: str, function: str, program: str) -> Answer:
    """The argument text that a passage of a reply proposes."""
    blocks = answer_blocks(text)
    places = [("block", part) for group in blocks.by_example() for part in reversed(group)]
    parser, called = Parser(), False
    for found, part in [*places, ("open_block", blocks.open), ("body", text)]:
        proposed = list(_proposed(parser, strip_decoration(part), function))
        literal = next((arguments for arguments in proposed if parse_arguments(arguments) is not None), None)
        if literal is not None:
            return Answer(value=literal, found=found, form="answer")
        computed = (computed_arguments(arguments, program) for arguments in proposed)
        if (plain := next((arguments for arguments in computed if arguments is not None), None)) is not None:
            return Answer(value=plain, found=f"{found}:computed", form="answer")
        called |= any("??" not in arguments for arguments in proposed)
    if parser.limit:
        return _nothing(Reason.EXTRACTION_LIMIT, parser.limit)
    if called:
        return _nothing(Reason.NOT_LITERAL, "not_literal")
    return _nothing(Reason.NO_ANSWER, "unparsable_block" if blocks.closed else "no_answer")


def extract_input_answer(text: str, function: str | None = None, program: str = "") -> Answer:
    """The argument text in text already extracted: ``f(ARGS)``, an equality on it, or bare ``ARGS``."""
    bare = strip_decoration(text)
    if not bare:
        return _nothing(Reason.NO_ANSWER, "no_answer")
    tree = Parser().expression(bare)
    equality = _whole_equality(bare, function)
    if equality is not None:
        arguments, found = inside(equality.call_source), "equality"
    elif isinstance(tree, ast.Call) and function in {None, call_named(tree)}:
        arguments, found = inside(source_of(bare, tree)), "call"
    else:
        arguments, found = bare, "bare"
    if parse_arguments(arguments) is not None:
        return Answer(value=arguments, found=found, form="answer")
    if (plain := computed_arguments(arguments, program)) is not None:
        return Answer(value=plain, found=f"{found}:computed", form="answer")
    return _nothing(Reason.NOT_LITERAL, "not_literal")


class _OutputSearch:
    """One search for the output of one call: what was asked, and what was seen on the way."""

    def __init__(self, text: str, function: str, arguments: str) -> None:
        self._text, self._function = text, function
        self._asked = parse_call(function, arguments)
        self._parser = Parser()
        self._not_literal = False

    def answer(self) -> Answer:
        """The first candidate in order of preference, or why there is none."""
        blocks = answer_blocks(self._text)
        for found, value in self._candidates(blocks):
            if value is not None:
                return Answer(value=value, found=found, form="answer")
        if self._parser.limit:
            return _nothing(Reason.EXTRACTION_LIMIT, self._parser.limit)
        if self._not_literal:
            return _nothing(Reason.NOT_LITERAL, "not_literal")
        return _nothing(Reason.NO_ANSWER, "unparsable_block" if blocks.closed else "no_answer")

    def _candidates(self, blocks: AnswerBlocks) -> Iterator[tuple[str, str | None]]:
        texts = [strip_decoration(block.text) for block in reversed(blocks.closed)]
        yield from self._in_blocks(texts)
        plain = [self._respelled(text) for text in texts]
        if plain != texts:
            yield from ((f"{found}:respelled", value) for found, value in self._in_blocks(plain))
        left_open = strip_decoration(blocks.open)
        yield from self._elsewhere(left_open, self._text)
        plain = [self._respelled(left_open), self._respelled(self._text)]
        if plain != [left_open, self._text]:
            yield from ((f"{found}:respelled", value) for found, value in self._elsewhere(*plain))

    def _in_blocks(self, texts: Sequence[str]) -> Iterator[tuple[str, str | None]]:
        in_blocks = [equality for text in texts for equality in self._equalities(text)]
        yield "block", self._best(in_blocks)
        yield "bare", next((value for text in texts if (value := self._bare(text)) is not None), None)
        yield "other_fn", in_blocks[-1].value if in_blocks else None

    def _elsewhere(self, left_open: str, body: str) -> Iterator[tuple[str, str | None]]:
        in_open = self._equalities(left_open)
        yield "open_block", self._best(in_open) or self._bare(left_open)
        in_body = self._equalities(body)
        yield "body", self._best(in_body)
        yield "bare", self._bare(strip_decoration(body), prose=True)
        yield "other_fn", next((equality.value for equality in in_open + in_body), None)

    def _respelled(self, text: str) -> str:
        return respelled(text, self._asked, self._function)

    def _best(self, equalities: Sequence[Equality]) -> str | None:
        """Value of the last equality (they come last first) on the asked call, else on the asked function."""
        mine = [equality for equality in equalities if equality.function == self._function]
        asked = self._asked
        on_call = (equality for equality in mine if asked is not None and same_arguments(asked, equality.call))
        chosen = next(on_call, mine[0] if mine else None)
        return chosen.value if chosen else None

    def _equalities(self, text: str) -> list[Equality]:
        """Equalities with a literal value in the text, last first; notes those with another value."""
        found = find_equalities(self._parser, text, self._function)
        self._not_literal |= any(not equality.literal for equality in found)
        return [equality for equality in found if equality.literal]

    def _bare(self, text: str, *, prose: bool = False) -> str | None:
        """The text if it is one literal; another expression is noted, unless the text may be prose."""
        text = text.removeprefix("==").strip()
        literal = parse_literal(text)
        if isinstance(literal, Literal):
            return literal.source
        if literal.exceeded and text[0] in "[({'\"+-0123456789":
            self._parser.exceeded = literal.why
        if text and not prose and not isinstance(self._parser.expression(text), Fault | ast.Name):
            self._not_literal = True
        return None


def _nothing(reason: Reason, found: str) -> Answer:
    return Answer(value=None, found=found, reason=reason, form="answer")


def _whole_equality(text: str, function: str | None) -> Equality | None:
    """The equality that is all of the text, an ``assert`` before it and a message behind it aside."""
    parser = Parser()
    if isinstance(parser.module(text), Fault):
        return None
    keyword = "assert" if text.startswith("assert") else ""
    equality = read_equality(parser, text, len(keyword), function=function)
    return equality if keyword or not isinstance(parser.expression(text), Fault) else None


def _proposed(parser: Parser, text: str, function: str) -> Iterator[str]:
    """Argument texts of calls of the function in the text: those in equalities first, then any, last first."""
    equalities = find_equalities(parser, text, function)
    for equality in equalities:
        if equality.function == function:
            yield inside(equality.call_source)
    for call in find_calls(parser, text, function):
        if not any(equality.start <= call.start < equality.end for equality in equalities):
            yield inside(call.source)
