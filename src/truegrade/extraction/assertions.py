r"""What a reply predicts: the output of a call, or arguments that lead to an output.

The rule for outputs: keep the final channel; then the last ``[ANSWER]`` block about *the asked call* decides,
one that names the call or holds a value alone. If it cannot be read (``[2, 2 + 3]``, an open bracket, ``??``,
``raises TypeError``), there is no answer: what stands before was taken back. Words between two tags on one line
are those of a sentence about the tags. Without such a block the last on the asked function counts, then the
first on another function (base models invent new examples after answering), then what the text as a whole says
in the same way. Only literals count. What cannot be read as it stands is read once more in Python's own spelling
(see `respelled`). What the text around the blocks says is not looked at: words that take a
block back ("no, it is 6") change nothing.

``Answer.found`` says which it was: ``block``, ``bare``, ``open_block``, ``body``, or ``other_call`` and
``other_fn`` for a value that is stated of another call; the same with ``:respelled`` where that took Python's
own spelling; without an answer, ``not_literal``, ``unparsable_block``, ``no_answer``, ``thinking`` (cut off
before the final channel), or the limit that was exceeded (`truegrade.extraction.parsing`).

Other spellings of a value that Python does not read and nobody means otherwise, put into Python's own.

Only text in which no answer is found as it stands is read again so, and what stands in straight quotes is never
touched: no answer changes its value. Put right are typographic quotes around a text, the minus sign U+2212, blanks
that are no space, ``math.inf`` and ``math.nan`` (also of ``np`` and ``numpy``), LaTeX's ``\boxed{...}`` and the
signs of mathematics around it, and ``=``, ``->``, ``=>``, ``→`` and ``⇒`` between the asked call and its value.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain, groupby
from typing import NamedTuple

from truegrade.extraction.blocks import AnswerBlocks, Block, answer_blocks, final_channel_of_answer, holds_tag
from truegrade.extraction.equalities import (
    Equality,
    call_named,
    calls_pattern,
    find_calls,
    find_equalities,
    inside,
    parse_arguments,
    parse_call,
    read_equality,
    same_arguments,
    source_of,
)
from truegrade.extraction.parsing import (
    MAX_SOURCE_CHARS,
    SHORT_CHARS,
    Fault,
    Literal,
    Parser,
    parse_literal,
    read_expression,
    strip_decoration,
    unix_newlines,
)
from truegrade.patterns import pattern
from truegrade.records import Answer, Reason

_BLANKS = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_NOTHING = "\u200b\u200c\u200d\u2060\ufeff"
_OTHER = pattern(
    # Straight quotes first, closed or not, so that what they hold is passed over.
    r"""(?P<text>"[^"\\\n]*+(?:\\.[^"\\\n]*+)*"?|'[^'\\\n]*+(?:\\.[^'\\\n]*+)*'?)"""
    r"""|[“”](?P<double>[^“”"\\\n]*+)[“”](?!\w)|[‘’](?P<single>[^‘’'\\\n]*+)[‘’](?!\w)"""
    r"|(?<![\w.])(?:math|np|numpy)\.(?P<named>inf|nan)\b|\u2212(?=[\d.in])"
    rf"|\\boxed\{{(?P<boxed>[^{{}}\n]*+)\}}|[{_BLANKS}]|[{_NOTHING}]"
)
_BOXED = pattern(r"\\boxed\{(.*)\}", re.DOTALL)
_MATHEMATICS = pattern(r"\A(?:\$\$?|\\[(\[])\s*|\s*(?:\$\$?|\\[)\]])\Z")
_HINT = pattern(rf"[“”‘’\u2212\\→⇒$>{_BLANKS}{_NOTHING}]|(?<![=!<>])=(?!=)|\b(?:math|np|numpy)\.")
_SIGN = pattern(r"[ \t]*+(?:=>?|->|→|⇒)(?![=>])[ \t]*+")


def respelled(text: str, asked: ast.Call | None = None, function: str = "") -> str:
    """The text in Python's spelling, or as it is; also where it is longer than `MAX_SOURCE_CHARS`.

    Args:
        text: an answer, without decoration.
        asked: the call whose value is asked for; only behind it a sign of mathematics counts as ``==``.
        function: its name.
    """
    if len(text) > MAX_SOURCE_CHARS or _HINT.search(text) is None or '"""' in text or "'''" in text:
        return text
    plain = _MATHEMATICS.sub("", text)
    boxed = _BOXED.fullmatch(plain)
    plain = _OTHER.sub(_plain_text, boxed[1] if boxed else plain)
    return plain if asked is None else _stated(plain, asked, function)


def _plain_text(match: re.Match[str]) -> str:
    if match["text"] is not None:
        return match["text"]
    if match["double"] is not None:
        return f'"{match["double"]}"'
    if match["single"] is not None:
        return f"'{match['single']}'"
    if match["named"] is not None:
        return match["named"]
    if match["boxed"] is not None:
        return match["boxed"]
    return {"\u2212": "-"}.get(match[0], "" if match[0] in _NOTHING else " ")


def _stated(text: str, asked: ast.Call, function: str) -> str:
    """The text with ``==`` behind the asked call where another sign says that it has a value."""
    parts, done = [], 0
    for call in reversed(find_calls(Parser(), text, function)):
        sign = _SIGN.match(text, call.end)
        written = parse_call(function, call.source[call.source.index("(") + 1 : -1]) if sign else None
        if sign is not None and written is not None and same_arguments(asked, written):
            parts += [text[done : call.end], " == "]
            done = sign.end()
    return "".join([*parts, text[done:]])


# ------- Arguments that are no literals and still plain: ``'ab'.upper()``, ``dict(a=1)``, ``lambda x: x < 2``.
# Twelve of CRUXEval's 800 own inputs are written so. Only syntax decides, and nothing is evaluated here: the
# expression runs where the program runs. Refused is what could forge a result instead of being an input:
# attributes other than the methods of plain values (a generator's ``gi_frame`` leads to the builtins), builtins
# that make types or reach the interpreter, assignment, and calls beside a name of the program, whose state they
# could change.

MAX_CHARS = 2_000

_PLAIN = frozenset(
    {
        *("bool", "bytes", "complex", "dict", "float", "frozenset", "int", "list", "set", "slice", "str", "tuple"),
        *(
            "abs",
            "chr",
            "divmod",
            "enumerate",
            "filter",
            "len",
            "map",
            "max",
            "min",
            "ord",
            "pow",
            "range",
            "repr",
        ),
        *("reversed", "round", "sorted", "sum", "zip"),
    }
)
"""Builtins that make plain values of plain values."""
_METHODS = frozenset(
    name
    for kind in (str, bytes, int, float, complex, list, tuple, set, frozenset, dict, range, slice)
    for name in dir(kind)
    if not name.startswith("_")
)
_ALLOWED = (
    *(ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.JoinedStr, ast.FormattedValue),
    *(ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Subscript, ast.Slice),
    *(ast.Call, ast.keyword, ast.Attribute, ast.Name, ast.Lambda, ast.arguments, ast.arg),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.comprehension),
    *(ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context),
)


def computed_arguments(text: str, program: str = "") -> str | None:
    """The argument text in Python's own layout; None unless every argument is a plain expression.

    Args:
        text: what stands between the parentheses of a call.
        program: the program that is called; names that it binds at its top level may be used.
    """
    call = parse_call("f", text) if len(text) <= MAX_CHARS else None
    if call is None or not isinstance(call.func, ast.Name):
        return None
    parts: list[ast.AST] = [*call.args, *call.keywords]
    nodes = [node for part in parts for node in ast.walk(part)]
    local = {node.arg for node in nodes if isinstance(node, ast.arg)}
    local |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    if not all(_plain(node, local) for node in nodes):
        return None
    free = {node.id for node in nodes if isinstance(node, ast.Name)} - local - _PLAIN
    calls = any(isinstance(node, ast.Call | ast.Attribute) for node in nodes)
    if free and (calls or not free <= set(_bound(program))):
        return None
    return ", ".join(map(ast.unparse, parts))


def _plain(node: ast.AST, local: set[str]) -> bool:
    if not isinstance(node, _ALLOWED):
        return False
    if isinstance(node, ast.keyword):
        return node.arg is not None
    if isinstance(node, ast.Attribute):
        return node.attr in _METHODS
    if isinstance(node, ast.Name):
        return node.id in local | _PLAIN or not (hasattr(builtins, node.id) or node.id.startswith("_"))
    return True


def _bound(program: str) -> Iterator[str]:
    """Names that a program assigns at its top level."""
    tree = Parser().module(program)
    for statement in [] if isinstance(tree, Fault) else tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id


_NO_SENTENCE = pattern(r"\A(?:==\s*)?[-+]?[\[({'\"]|\d|\?\?|(?:Error|Exception)\b")
"""What a block holds that is meant for a value, or says that there is none, and not a sentence's words."""

_OF_ANOTHER = pattern(r"\bassert\b|\A[\w.]+[ \t]*\(.*\)[ \t]*(?:=|->|→|⇒|is\b)", re.DOTALL)
"""What a block holds that is meant for some call; of texts in which nothing on the asked function was found."""
_OWN_LINE = pattern(r"[ \t]*\n")
_STAND_INS = frozenset({"...", "…"})
"""What stands for an answer where a reply says in which tags it will be."""
_RETRACTED = "retracted"
"""In place of a candidate: nothing behind it counts."""
OTHER_CALL, OTHER_FN = "other_call", "other_fn"
"""How a value was found that the reply states of another call than the asked one."""

Candidate = tuple[str, str | None]
"""How it was found, and the value."""

__all__ = ["extract_input", "extract_input_answer", "extract_output", "extract_output_answer", "parse_arguments"]


def extract_output(reply: str, function: str, arguments: str) -> Answer:
    """The literal that a reply predicts for ``function(arguments)``. Never raises; runs nothing."""
    return (_in_short_reply if len(reply) <= SHORT_CHARS else _in_reply)(reply, function, arguments)


def _in_reply(reply: str, function: str, arguments: str) -> Answer:
    read = cache(lambda text: _OutputSearch(unix_newlines(text), function, arguments).answer())
    channel = final_channel_of_answer(reply, function, read)
    return _nothing(Reason.TRUNCATED, "thinking") if channel.truncated else read(channel.text)


_in_short_reply = lru_cache(maxsize=8192)(_in_reply)
"""Of a short reply from memory: of CRUXEval's published ones of CodeLlama four in five come again."""


def of_another_call(answer: Answer) -> bool:
    """Whether the value of a predicted output was stated of another call than the asked one."""
    return not {OTHER_CALL, OTHER_FN}.isdisjoint(answer.found.split(":"))


def extract_output_answer(text: str, function: str | None = None, asked: tuple[str, str] | None = None) -> Answer:
    """The literal in text that somebody already extracted: a literal, or one equality, and nothing else.

    Args:
        text: e.g. one generation of a CRUXEval ``generations.json``.
        function: name of the asked function; without it any call may stand in the equality.
        asked: function and arguments of the asked call, so that ``Answer.found`` tells another; None if unknown.
    """
    find = _short_output_answer if len(text) <= SHORT_CHARS else _output_answer
    return find(text, function, asked)


def _output_answer(text: str, function: str | None, asked: tuple[str, str] | None) -> Answer:
    bare = strip_decoration(text)
    # No literal begins so, and none as short as this is nested too deeply to be read.
    literal = None if bare.startswith("assert") and len(bare) <= SHORT_CHARS else parse_literal(bare)
    if isinstance(literal, Literal):
        return Answer(value=literal.source, found="bare", form="answer")
    if not bare:
        return _nothing(Reason.NO_ANSWER, "no_answer")
    if literal is not None and literal.exceeded:
        return _nothing(Reason.EXTRACTION_LIMIT, literal.why)
    equality = _whole_equality(bare, function)
    if equality is not None and equality.literal and function in {None, equality.function}:
        return Answer(value=equality.value, found=_whose(equality, asked), form="answer")
    return _nothing(Reason.NOT_LITERAL, "not_literal")


_short_output_answer = lru_cache(maxsize=8192)(_output_answer)
"""Likewise."""


def _whose(equality: Equality, asked: tuple[str, str] | None) -> str:
    """``Answer.found`` of an equality: whether it is about the asked call."""
    if asked is None:
        return "equality"
    if equality.function != asked[0]:
        return OTHER_FN
    if len(equality.call_source) <= SHORT_CHARS and equality.call_source == "{}({})".format(*asked):
        return "equality"
    call = parse_call(*asked)
    return "equality" if call is None or same_arguments(call, equality.call) else OTHER_CALL


def extract_input(reply: str, function: str, program: str = "") -> Answer:
    """The argument text of the call that a reply proposes (CRUXEval's input prediction).

    A base model goes on with new ``[PYTHON]`` examples after its answer: the last block before such an example
    that calls the function decides, not the last of all. In one place, literals win over arguments that have to
    be computed.

    Args:
        reply: what the model said.
        function: the function to call.
        program: its source; see `truegrade.extraction.assertions`.
    """
    read = cache(lambda text: _input_in(unix_newlines(text), function, program))
    channel = final_channel_of_answer(reply, function, read)
    return _nothing(Reason.TRUNCATED, "thinking") if channel.truncated else read(channel.text)


def _input_in(text: str, function: str, program: str) -> Answer:
    """The argument text that a passage of a reply proposes."""
    blocks = answer_blocks(text, _quoting_tags(text, function))
    groups = [[*group] for _, group in groupby(blocks.parts(), lambda part: part.example)]
    places = [(part.found, part.text) for group in groups for part in reversed(group)]
    parser, called, calls = Parser(), False, calls_pattern(function)
    for found, part in [*places, ("body", text)]:
        proposed = list(_proposed(parser, strip_decoration(part), function))
        literal = next((arguments for arguments in proposed if parse_arguments(arguments) is not None), None)
        if literal is not None:
            return Answer(value=literal, found=found, form="answer")
        computed = (computed_arguments(arguments, program) for arguments in proposed)
        if (plain := next((arguments for arguments in computed if arguments is not None), None)) is not None:
            return Answer(value=plain, found=f"{found}:computed", form="answer")
        called |= any("??" not in arguments for arguments in proposed)
        if found != "body" and calls.search(part):
            break  # the last block that calls the function decides
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


class _Stated(NamedTuple):
    """What one text says of the asked call."""

    value: str | None
    """The literal; None where it says something that cannot be read."""
    named: bool
    """Whether it names the call; else it is a value alone."""
    respelled: bool = False

    def found(self, place: str) -> str:
        """``Answer.found`` of a value in this place."""
        kind = "bare" if not self.named and place != "open_block" else place
        return f"{kind}:respelled" if self.respelled else kind


class _OutputSearch:
    """One search for the output of one call: what was asked, and what was seen on the way."""

    def __init__(self, text: str, function: str, arguments: str) -> None:
        self._text, self._function = text, function
        self._asked = parse_call(function, arguments)
        self._mentioned = calls_pattern(function)
        self._parser = Parser()
        self._not_literal = False

    def answer(self) -> Answer:
        """What the last text about the asked call says; without one a value that is said of another call."""
        blocks = answer_blocks(self._text, _quoting_tags(self._text, self._function))
        steps = (
            self._in_blocks(blocks),
            self._of_others(blocks),
            self._outside(),
            self._of_others_outside(blocks),
        )
        for found, value in chain.from_iterable(steps):
            if value is not None:
                return Answer(value=value, found=found, form="answer")
            if found == _RETRACTED:
                break
        if self._parser.limit:
            return _nothing(Reason.EXTRACTION_LIMIT, self._parser.limit)
        if self._not_literal:
            return _nothing(Reason.NOT_LITERAL, "not_literal")
        return _nothing(Reason.NO_ANSWER, "unparsable_block" if blocks.closed else "no_answer")

    def _in_blocks(self, blocks: AnswerBlocks) -> Iterator[Candidate]:
        """The value of the last block that is about the asked call; `_RETRACTED` where it states none.

        A block that holds a value alone is about the call, unless it belongs to a later example than the last
        block that names the call, or than another value: base models invent examples after their answer.
        """
        named: int | None = None
        values: list[tuple[Block, _Stated]] = []
        for part in reversed(blocks.parts()):
            stated = self._stated(part.text, words=_OWN_LINE.match(part.text) is not None)
            if stated is not None:
                values.append((part, stated))
                if stated.named:
                    named = part.example
                    break
            if self._parser.used_up:
                yield _RETRACTED, None
        left_empty: set[int] = set()
        for part, stated in values:
            if part.example not in left_empty and (named is None or part.example <= named):
                left_empty.add(part.example)
                yield stated.found(part.found), stated.value
        if left_empty:
            yield _RETRACTED, None

    def _outside(self) -> Iterator[Candidate]:
        """The same of a reply in which no block is about the asked call: of its text as a whole."""
        stated = self._stated(self._text, words=False)
        if stated is not None:
            yield stated.found("body"), stated.value
            yield _RETRACTED, None

    def _stated(self, text: str, *, words: bool) -> _Stated | None:
        """What a text says of the asked call, in Python's spelling if not as it stands; None if nothing.

        Args:
            text: with its decoration.
            words: whether words alone are an answer, though no value; else they are those of a sentence, in which
                two tags are named.
        """
        before, bare = self._not_literal, strip_decoration(text)
        stated = self._read(bare, words=words)
        if (stated is None or stated.value is None) and (plain := self._respelled(bare)) != bare:
            again = self._read(plain, words=words)
            if again is not None and again.value is not None:
                self._not_literal = before
                return again._replace(respelled=True)
        return stated

    def _read(self, text: str, *, words: bool) -> _Stated | None:
        equalities = find_equalities(self._parser, text, self._function, unread=True)
        mine = next((one for one in equalities if self._is_asked(one)), None)
        if mine is not None:
            self._not_literal |= not mine.literal and bool(mine.value)
            return _Stated(mine.value if mine.literal else None, named=True)
        if any(one.literal for one in equalities):
            return None
        if not equalities and (value := self._bare(text)) is not None:  # a text may quote a call
            return _Stated(value, named=False)
        asked = self._calls_asked(text)
        if asked is not None:
            return _Stated(None, named=True) if asked else None
        if equalities or text in _STAND_INS or _OF_ANOTHER.search(text):
            return None
        expression = not isinstance(self._parser.expression(text), Fault | ast.Name | ast.Constant)
        return _Stated(None, named=False) if expression or words or _NO_SENTENCE.search(text) else None

    def _calls_asked(self, text: str) -> bool | None:
        """Whether a text without an equality calls what was asked, or begins a call; None without any call."""
        calls = find_calls(self._parser, text, self._function)
        if not calls:
            return True if self._mentioned.search(text) else None
        written = [parse_call(self._function, inside(call.source)) for call in calls]
        asked = any(call is not None and self._same(call) for call in written)
        self._not_literal |= asked and not isinstance(self._parser.expression(text), Fault)
        return asked

    def _is_asked(self, equality: Equality) -> bool:
        return equality.function == self._function and self._same(equality.call)

    def _same(self, call: ast.Call) -> bool:
        return self._asked is None or same_arguments(self._asked, call)

    def _of_others(self, blocks: AnswerBlocks) -> Iterator[Candidate]:
        """Values that blocks state of another call: the last of the function, else the first of another one."""
        texts = [strip_decoration(block.text) for block in reversed(blocks.closed)]
        for respell in ("", ":respelled"):
            texts = [self._respelled(text) for text in texts] if respell else texts
            found = [one for text in texts for one in self._equalities(text)]
            yield f"{OTHER_CALL}{respell}", self._of_function(found)
            yield f"{OTHER_FN}{respell}", found[-1].value if found else None

    def _of_others_outside(self, blocks: AnswerBlocks) -> Iterator[Candidate]:
        """The same of a block that is left open, and of the text as a whole."""
        texts = [strip_decoration(blocks.open), self._text]
        for respell in ("", ":respelled"):
            texts = [self._respelled(text) for text in texts] if respell else texts
            found = [one for text in texts for one in self._equalities(text)]
            yield f"{OTHER_CALL}{respell}", self._of_function(found)
            yield f"{OTHER_FN}{respell}", found[0].value if found else None

    def _of_function(self, equalities: Sequence[Equality]) -> str | None:
        return next((one.value for one in equalities if one.function == self._function), None)

    def _respelled(self, text: str) -> str:
        return respelled(text, self._asked, self._function)

    def _equalities(self, text: str) -> list[Equality]:
        """Equalities with a literal value in the text, last first; notes those with another value."""
        found = find_equalities(self._parser, text, self._function)
        self._not_literal |= any(not equality.literal for equality in found)
        return [equality for equality in found if equality.literal]

    def _bare(self, text: str) -> str | None:
        """The text if it is one literal; another expression is noted."""
        text = text.removeprefix("==").strip()
        literal = parse_literal(text)
        if isinstance(literal, Literal):
            return literal.source
        if literal.exceeded and text[0] in "[({'\"+-0123456789":
            self._parser.exceeded = literal.why
        if text and not isinstance(self._parser.expression(text), Fault | ast.Name):
            self._not_literal = True
        return None


def _quoting_tags(text: str, function: str) -> list[tuple[int, int]]:
    """Where equalities on a function stand whose arguments or value quote a tag."""
    if not holds_tag(text):
        return []
    spans = []
    for one in find_equalities(Parser(), text, function):
        if one.function == function and holds_tag(text[one.start : one.end]):
            # Behind what is no literal a tag may be one: `== 5 [ANSWER]` reads as a subscript.
            call = text.find(one.call_source, one.start)
            spans.append((one.start, one.end if one.literal else max(call, 0) + len(one.call_source)))
    return spans


def _nothing(reason: Reason, found: str) -> Answer:
    return Answer(value=None, found=found, reason=reason, form="answer")


def _whole_equality(text: str, function: str | None) -> Equality | None:
    """The equality that is all of the text, an ``assert`` before it and a message behind it aside."""
    keyword = "assert" if text.startswith("assert") else ""
    if not keyword and len(text) <= SHORT_CHARS and isinstance(read_expression(text), Fault):  # known, and enough
        return None
    parser = Parser()
    if keyword and _parsing_decides(text):
        equality = read_equality(parser, text, len(keyword), function=function)
        # Else something stands behind the value, which may be no message.
        if equality is not None and equality.end == len(text) and text.endswith(equality.value):
            return equality
    if not parser.is_module(text):
        return None
    equality = read_equality(parser, text, len(keyword), function=function)
    return equality if keyword or not isinstance(parser.expression(text), Fault) else None


def _parsing_decides(text: str) -> bool:
    """Whether what compiles of an assertion is what parses: faults that only compiling finds have words or signs
    for them. False where that is not known."""
    plain = len(text) <= SHORT_CHARS and text.isascii() and "\n" not in text and "\r" not in text
    return plain and text.count("=") == text.count("==") * 2 == 2 and not _COMPILED_WORDS.search(text)


_COMPILED_WORDS = pattern("yield|await|async")


def _proposed(parser: Parser, text: str, function: str) -> Iterator[str]:
    """Argument texts of calls of the function in the text: those in equalities first, then any, last first."""
    equalities = find_equalities(parser, text, function)
    for equality in equalities:
        if equality.function == function:
            yield inside(equality.call_source)
    for call in find_calls(parser, text, function):
        if not any(equality.start <= call.start < equality.end for equality in equalities):
            yield inside(call.source)
