"""The one place where model text meets Python's parser.

Nothing here runs anything: text becomes a tree, or a fault that says on which line reading stopped. Hostile text
(deep nesting, null bytes, lone surrogates, numbers too long to convert, megabytes) is a fault like any other.

Python literals, read by `ast` and never evaluated by Python itself.

Beyond `ast.literal_eval` these spellings are literals, because `repr` writes them or nothing shorter exists:
``nan``, ``inf``, ``nanj``, ``infj``, ``float('nan')``, ``float("-inf")``, ``set()``, ``frozenset()`` and
``frozenset`` of one literal. Names, other calls, arithmetic, f-strings with expressions and ``...`` are not.
"""

from __future__ import annotations

import ast
import codeop
import math
import re
import sys
import threading
import warnings
from collections.abc import Callable, Hashable, Iterable
from functools import lru_cache
from typing import Any, TypeVar

import msgspec

from truegrade.files import syntax
from truegrade.patterns import pattern

MAX_SOURCE_CHARS = 100_000
"""Longer text is not parsed: CPython needs up to 5 s for a dense megabyte."""

PARSER_CHARS = 200_000
"""What one `Parser` reads in all, by default; keeps every extraction near-linear."""

MAX_NESTING = 200
"""Brackets inside brackets that CPython reads."""

TOO_LONG = f"the value has over {MAX_SOURCE_CHARS:,} characters"
TOO_DEEP = f"the value is nested deeper than {MAX_NESTING}"
"""What an extraction says of a value that is there and that it does not read."""
USED_UP = f"nothing found in the {PARSER_CHARS:,} characters that are parsed of a reply"

# SystemError: CPython's own answer to a few malformed sources it fails to report properly.
_FAULTS = (SyntaxError, ValueError, MemoryError, RecursionError, OverflowError, SystemError)
_UNREADABLE = pattern("[\0\ud800-\udfff]")
# `warnings.catch_warnings` swaps process-wide state, so two threads must not do it at once.
_QUIET = threading.Lock()

Tree = TypeVar("Tree", ast.Module, ast.expr)


class Fault(msgspec.Struct, frozen=True):
    """Text is not Python."""

    line: int
    """1-based; the first line that cannot be kept."""
    read: int | None = None
    """1-based; the last line that the parser read. None: all of the text."""
    exceeded: str = ""
    """`TOO_LONG` or `TOO_DEEP` if that is why."""


class Parser:
    """Parses and compiles model text until its allowance of characters is used up; then all is a fault."""

    def __init__(self, chars: int = PARSER_CHARS) -> None:
        self.chars_left = chars
        self.exceeded = ""
        """What says that a value was seen and not read: `TOO_LONG`, `TOO_DEEP`."""

    @property
    def limit(self) -> str:
        """The limit that kept something from being found, in words; empty if none did."""
        return USED_UP if self.used_up else self.exceeded

    @property
    def used_up(self) -> bool:
        """Whether the allowance is spent, so that what was not found may be there."""
        return self.chars_left <= 0

    def module(self, source: str) -> ast.Module | Fault:
        """The tree of a source that compiles as a module. Nothing of it is executed."""
        return self._charged(source, _module)

    def is_module(self, source: str) -> bool:
        """Whether `module` gives a tree; a short source is only compiled, which is quicker."""
        parse = _compiled if len(source) <= SHORT_CHARS else _module
        return not isinstance(self._charged(source, parse), Fault)

    def expression(self, source: str) -> ast.expr | Fault:
        """The tree of one expression."""
        return self._charged(source, parse_expression)

    def stops_early(self, source: str) -> bool:
        """Whether a source ends inside a statement: CPython reads it to its end and needs more of it.

        Any other fault is a mistake of whoever wrote it, also one in the last line: ``return x)`` lacks nothing.
        """
        if len(source) > MAX_SOURCE_CHARS or self.used_up:
            return False
        self.chars_left -= len(source)
        return _stops_early(source)

    def charge(self, chars: int) -> None:
        """Take other reading, about ten times cheaper than parsing, out of the allowance."""
        self.chars_left -= chars // 10

    def _charged(self, source: str, parse: Callable[[str], Tree | Fault]) -> Tree | Fault:
        if len(source) > MAX_SOURCE_CHARS:
            self.charge(len(source) // 10)
            return Fault(line=1)
        if self.used_up:
            return Fault(line=1)
        result = parse(source)
        self.chars_left -= _chars_read(source, result) if isinstance(result, Fault) else len(source)
        return result


class quietly:  # noqa: N801 - a class for its speed: a fault thrown into a generator costs as much as parsing
    """Parse model text here: CPython's warnings about it are nobody's concern, in any thread."""

    def __enter__(self) -> None:
        _QUIET.acquire()
        try:
            self._warnings = warnings.catch_warnings()
            self._warnings.__enter__()
            warnings.simplefilter("ignore")
        except BaseException:
            _QUIET.release()
            raise

    def __exit__(self, *_: object) -> None:
        try:
            self._warnings.__exit__(None, None, None)
        finally:
            _QUIET.release()


class any_digits(quietly):  # noqa: N801
    """Read and write integers of as many digits as a source can have, quietly: the limit is the process' own."""

    def __enter__(self) -> None:
        super().__enter__()
        self._digits = sys.get_int_max_str_digits()
        sys.set_int_max_str_digits(MAX_SOURCE_CHARS)

    def __exit__(self, *error: object) -> None:
        sys.set_int_max_str_digits(self._digits)
        super().__exit__(*error)


def parse_expression(source: str) -> ast.expr | Fault:
    """The tree of one expression, whatever its length; see `MAX_SOURCE_CHARS`."""
    try:
        with any_digits():
            return syntax.parse(source, mode="eval").body
    except _FAULTS as error:
        return _fault(source, error)


SHORT_CHARS = 200
"""Expressions up to this long are parsed once: most answers to a problem are equal."""


def read_expression(source: str) -> ast.expr | Fault:
    """`parse_expression`, of a short source from memory; the tree is shared, so nobody may change it."""
    return _short_expression(source) if len(source) <= SHORT_CHARS else parse_expression(source)


@lru_cache(maxsize=1024)
def _short_expression(source: str) -> ast.expr | Fault:
    return parse_expression(source)


def parse_module(source: str) -> ast.Module | Fault:
    """The tree of a source; unlike `Parser.module` it takes what only compiling refuses, as ``ast.parse`` does.

    A source of more than `MAX_SOURCE_CHARS` is a fault.
    """
    if len(source) > MAX_SOURCE_CHARS:
        return Fault(line=1)
    try:
        with quietly():
            return syntax.parse(source)
    except _FAULTS as error:
        return _fault(source, error)


def compiles(source: str) -> bool:
    """Whether a source of any length is a module; not one that nests too deep for the compiler."""
    return not isinstance(_compiled(source), Fault)


def unix_newlines(text: str) -> str:
    """The text with CRLF and CR as LF, as Python itself reads source."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def as_source(text: str) -> str:
    """The text as Python reads a file: `unix_newlines`, and no byte order mark ahead of it."""
    return unix_newlines(text).removeprefix("\ufeff")


def _module(source: str) -> ast.Module | Fault:
    try:
        with any_digits():
            tree = syntax.parse(source)
            # Only compiling finds a `return` outside a function, which tells a body from a program.
            try:
                syntax.compiled(tree, "<answer>", "exec")
            except RecursionError:  # a tree that is handed over may be less deep than a source
                compile(source, "<answer>", "exec", dont_inherit=True)
    except _FAULTS as error:
        return _fault(source, error)
    return tree


def _compiled(source: str) -> ast.Module | Fault:
    """As `_module`, but for the tree, which is an empty one."""
    try:
        with any_digits():
            compile(source, "<answer>", "exec", dont_inherit=True)
    except _FAULTS as error:
        return _fault(source, error)
    return _ANY_MODULE


_ANY_MODULE = ast.Module(body=[], type_ignores=[])
_INCOMPLETE = "incomplete input"
"""What CPython says under `codeop.PyCF_ALLOW_INCOMPLETE_INPUT` of a source that more lines could complete."""


def _stops_early(source: str) -> bool:
    error = _refusal(source)
    if error is None or error.msg == _INCOMPLETE or source.endswith("\n"):
        return error is not None and error.msg == _INCOMPLETE
    if error.msg.startswith("unterminated string") and error.lineno == source.count("\n") + 1:
        at = re.search("['\"]", (error.text or "")[max(0, (error.offset or 1) - 1) :])
        source += at[0] if at else ""
    # The last line has no end yet: behind a backslash the parser may ask for the rest of it.
    error = _refusal(source + "\\\n")
    return error is not None and error.msg == _INCOMPLETE


def _refusal(source: str) -> SyntaxError | None:
    """Why a source has no tree, where its syntax is the reason; what only compiling refuses has one."""
    flags = ast.PyCF_ONLY_AST | codeop.PyCF_ALLOW_INCOMPLETE_INPUT  # type: ignore[attr-defined]
    try:
        with quietly():
            syntax.compiled(source, "<answer>", "exec", flags)
    except SyntaxError as error:
        return error
    except _FAULTS:
        return None
    return None


def _fault(source: str, error: BaseException) -> Fault:
    unreadable = _UNREADABLE.search(source)
    if unreadable is not None:
        return Fault(source.count("\n", 0, unreadable.start()) + 1, read=1)
    line, end = (getattr(error, name, None) or 0 for name in ("lineno", "end_lineno"))
    too_deep = isinstance(error, MemoryError | RecursionError) or "too many nested" in str(error)
    return Fault(line or 1, read=max(line, end) or None, exceeded=TOO_DEEP if too_deep else "")


def _chars_read(source: str, fault: Fault) -> int:
    """About how much the parser read before a fault; the rest was only copied, which is 50 times cheaper."""
    if fault.read is None:
        return len(source)
    position = -1
    for _ in range(fault.read):
        position = source.find("\n", position + 1)
        if position < 0:
            return len(source)
    return min(len(source), 2 * position + len(source) // 50 + 1)


# ------------------ The text of a tree's nodes, in time that does not grow with the number of nodes asked for.


_NEWLINE = pattern(rb"\r\n|\r|\n")
_LINE_END = pattern(rb"(?:[ \t\f]*;)?(?:[ \t\f]*#[^\r\n]*)?")
_COMMENT_LINE = pattern(rb"[ \t\f]*+(?:(?:\r\n|\r(?!\n)|\n)([ \t\f]*+))+#[^\r\n]*")


class SourceText:
    """Text by the positions of tree nodes, which count lines and UTF-8 bytes.

    What `ast.get_source_segment` gives, which splits the whole source into lines for every node.
    """

    def __init__(self, text: str) -> None:
        self._bytes = text.encode("utf-8")
        self._starts = [0, *(newline.end() for newline in _NEWLINE.finditer(self._bytes))]

    def text_of(self, node: ast.stmt) -> str:
        """The statement as it is written."""
        return self._text(node, self._end(node))

    def text_with_comments(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
        """A definition with the comments that tree-sitter-python counts in behind its last statement.

        They are one on that line, and lines of comment as far as they are indented like the body or more.
        """
        first = self._starts[node.body[0].lineno - 1]
        indent = self._bytes[first : first + node.body[0].col_offset]
        end = self._end(node)
        if found := _LINE_END.match(self._bytes, end):
            end = found.end()
        if not indent.strip():
            while (found := _COMMENT_LINE.match(self._bytes, end)) and _width(found[1]) >= _width(indent):
                end = found.end()
        return self._text(node, end)

    def _text(self, node: ast.stmt, end: int) -> str:
        return self._bytes[self._starts[node.lineno - 1] + node.col_offset : end].decode("utf-8")

    def _end(self, node: ast.stmt) -> int:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._starts[node.end_lineno - 1] + node.end_col_offset


def _width(indent: bytes) -> int:
    return len(indent.expandtabs(8))


# --------------- What an extraction may cost: it runs outside the jail, and a reply is whatever a model wrote.
# Every rule takes near-linear time in the length of a reply, and the length is bounded. Where a published rule
# does more (EvalPlus parses many spans of a reply) its steps are counted. Both bounds are counts, not clocks, so
# that a verdict is the same on every machine; no reply that a model wrote in earnest comes near either.


MAX_REPLY_CHARS = 1_000_000
"""A longer reply is not read. A model's longest output, 128,000 tokens, has about 500,000 characters."""


class ExtractionLimitError(Exception):
    """Reading a reply takes more steps than its rule may take; the message says which."""


_NAMED: dict[str, Any] = {
    "nan": math.nan,
    "inf": math.inf,
    "nanj": complex(0.0, math.nan),
    "infj": complex(0.0, math.inf),
}
_NAMED_FLOAT = pattern(r"\s*[+-]?(?:nan|inf|infinity)\s*", re.IGNORECASE | re.ASCII)
_FENCE_LINE = pattern(r"^[ \t]*(?:`{3,}|~{3,})[\w+#.-]*[ \t\r]*$", re.MULTILINE)
_MANY = 1000
_MAX_SAME_HASH = 100


class Literal(msgspec.Struct, frozen=True):
    """A literal: the text it was read from and the value it writes."""

    source: str
    value: Any


class NotLiteral(msgspec.Struct, frozen=True):
    """Why text is no literal, in a few words."""

    why: str
    exceeded: bool = False
    """It may well be one, but is not read: `TOO_LONG` or `TOO_DEEP`."""


class NotALiteralError(ValueError):
    """Raised by `evaluate`; the message says what stands where a literal should."""


def parse_literal(text: str) -> Literal | NotLiteral:
    """Read text that is one literal and nothing else (blanks and a comment aside). Never raises."""
    source = text.strip()
    if not source:
        return NotLiteral("empty")
    if len(source) > MAX_SOURCE_CHARS:
        return NotLiteral(TOO_LONG, exceeded=True)
    tree = read_expression(source)
    if isinstance(tree, Fault):
        return NotLiteral(tree.exceeded or "not an expression", exceeded=bool(tree.exceeded))
    try:
        return Literal(source, evaluate(tree))
    except NotALiteralError as error:
        return NotLiteral(str(error))


def is_literal(tree: ast.expr) -> bool:
    """Whether a tree is a literal."""
    try:
        evaluate(tree)
    except NotALiteralError:
        return False
    return True


def evaluate(tree: ast.expr) -> Any:
    """The value that a literal writes.

    Raises:
        NotALiteralError: the tree holds anything else, is nested deeper than `MAX_NESTING`, or writes a set or
            dictionary that cannot be built.
    """
    try:
        return _evaluate(tree, MAX_NESTING)
    except RecursionError:  # of a caller that is deep in calls itself
        raise NotALiteralError(TOO_DEEP) from None


def strip_decoration(text: str) -> str:
    """The text without fence lines, and without the back-ticks or bold marks around the whole of it."""
    bare = (_FENCE_LINE.sub("", text) if "```" in text or "~~~" in text else text).strip()
    for mark in ("**", "`", "`", "`", "**"):
        if len(bare) >= 2 * len(mark) and bare.startswith(mark) and bare.endswith(mark):
            bare = bare[len(mark) : -len(mark)].strip()
    return bare


def _evaluate(node: ast.expr, depth: int) -> Any:
    if depth < 0:
        raise NotALiteralError(TOO_DEEP)
    match node:
        case ast.List(elts=elements):
            value: Any = [_evaluate(element, depth - 1) for element in elements]
        case ast.Tuple(elts=elements):
            value = tuple([_evaluate(element, depth - 1) for element in elements])
        case ast.Set(elts=elements):
            value = set(_hashable([_evaluate(element, depth - 1) for element in elements]))
        case ast.Dict(keys=keys, values=values):
            value = _dictionary(keys, values, depth - 1)
        case ast.Call():
            value = _named_call(node, depth - 1)
        case ast.JoinedStr(values=parts) if all(isinstance(part, ast.Constant) for part in parts):
            value = "".join(str(_evaluate(part, depth)) for part in parts)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as sign, right=right):
            value = _complex(_signed(left), sign, _number(right))
        case ast.Constant(value=value):
            if value is Ellipsis:
                raise NotALiteralError("a placeholder `...`")
        case _:
            value = _signed(node)
    return value


def _dictionary(keys: list[ast.expr | None], values: list[ast.expr], depth: int) -> dict[Any, Any]:
    if None in keys:
        raise NotALiteralError("unpacks `**` into a dictionary")
    names = _hashable([_evaluate(key, depth) for key in keys if key is not None])
    return dict(zip(names, (_evaluate(value, depth) for value in values), strict=True))


def _hashable(values: list[Any]) -> list[Any]:
    """The values, if a set of them can be built in linear time.

    Integers that differ by a multiple of 2**61 - 1 share a hash; a megabyte of them would take minutes.
    """
    try:
        hashes = [hash(value) for value in values]
    except TypeError:
        raise NotALiteralError("an unhashable element of a set or key of a dictionary") from None
    if len(values) > _MANY and _most_common(hashes) > _MAX_SAME_HASH:
        raise NotALiteralError("a set or dictionary of colliding keys")
    return values


def _most_common(items: Iterable[Hashable]) -> int:
    from collections import Counter

    return Counter(items).most_common(1)[0][1]


def _named_call(call: ast.Call, depth: int) -> Any:
    match call:
        case ast.Call(func=ast.Name() as name) if not _as_written(name):
            pass
        case ast.Call(func=ast.Name(id="set"), args=[], keywords=[]):
            return set()
        case ast.Call(func=ast.Name(id="frozenset"), args=[], keywords=[]):
            return frozenset()
        case ast.Call(func=ast.Name(id="frozenset"), args=[elements], keywords=[]):
            value = _evaluate(elements, depth)
            if isinstance(value, (list, tuple, set, frozenset, str, bytes, dict)):
                return frozenset(_hashable(list(value)))
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str(name))], keywords=[]):
            if _NAMED_FLOAT.fullmatch(name):
                return float(name)
    raise NotALiteralError("a function call")


def _as_written(name: ast.Name) -> bool:
    """Whether a name has these letters in the text too: Python folds others, such as full-width ones, to them."""
    return name.end_col_offset == name.col_offset + len(name.id)


def _signed(node: ast.expr) -> Any:
    """A number with at most one sign, as `ast.literal_eval` has it."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return +_number(operand)
    return _number(node)


def _number(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=value) if type(value) in {int, float, complex}:
            return value
        case ast.Name(id=name) if name in _NAMED and _as_written(node):
            return _NAMED[name]
        case ast.Call(func=ast.Name(id="float")):
            return _named_call(node, 0)
        case ast.Name(id=name):
            raise NotALiteralError(f"the name `{name[:40]}`")
    raise NotALiteralError("an expression that would have to be computed")


def _complex(real: Any, sign: ast.operator, imaginary: Any) -> complex:
    """``real ± imaginary``, put together without adding so that ``repr`` round-trips, signed zeros included."""
    if isinstance(real, complex) or not isinstance(imaginary, complex):
        raise NotALiteralError("an expression that would have to be computed")
    try:
        return complex(real, -imaginary.imag if isinstance(sign, ast.Sub) else imaginary.imag)
    except OverflowError:
        raise NotALiteralError("a number too large for a complex") from None
