"""What a prompt shows: the function asked for, examples of it, or a question about one call.

Only the prompt's text is read, line by line, with Python's parser as judge; nothing of it is ever executed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from truegrade.extraction.literals import is_literal
from truegrade.extraction.parsing import Fault, Parser, parse_expression, unix_newlines

MAX_LINES = 40
"""Lines that one call or value may take."""

_DEF = re.compile(r"\s*(?:async\s+)?def\s+(\w+)\s*\(")
_ASSERT = re.compile(r"\s*assert\b\s*(.*)")
_DOCTEST = re.compile(r"\s*>>>\s?(.*)")
_WRAPPERS = frozenset(
    {"set", "sorted", "list", "tuple", "dict", "round", "abs", "len", "str", "int", "float", "bool", "isinstance"}
)
"""Functions that a test may put around the call it is about."""


@dataclass(frozen=True, slots=True)
class ShownExample:
    """One call and the value it should give, both as the prompt writes them."""

    call: ast.Call
    value: ast.expr

    @property
    def name(self) -> str:
        """Name of the called function."""
        return self.call.func.id if isinstance(self.call.func, ast.Name) else ""


@dataclass(frozen=True, slots=True)
class TargetFunction:
    """The function that a prompt asks for."""

    name: str
    parameters: ast.arguments | None
    """None where the prompt shows calls but no signature."""
    body_indent: str | None = None
    """Indentation of the body if the text ends inside this function, so that it can be continued."""


@dataclass(frozen=True, slots=True)
class ShownQuestion:
    """``assert f(arguments) == ??`` (or ``# TODO``, or nothing at all) or ``assert f(??) == value``."""

    call: str
    """Source of the call; for a question about arguments, the function's name."""
    known: str | None
    """Source of what is shown: the first literal argument, or the value to reach."""
    asks_arguments: bool


def find_question(text: str) -> ShownQuestion | None:
    """The last assertion that leaves open its value or its arguments; None if there is none."""
    lines = _lines(text)
    for start in range(len(lines) - 1, -1, -1):
        if (match := _ASSERT.match(lines[start])) is None:
            continue
        source = _rest(lines, start, match[1])
        question = _about_arguments(source) or _about_value(source)
        if question is not None:
            return question
    return None


def _about_arguments(source: str) -> ShownQuestion | None:
    match = re.match(r"(\w+)\(\s*\?\?\s*\)\s*==\s*", source)
    if match is None:
        return None
    value = next(filter(is_literal, _growing(source[match.end() :])), None)
    return ShownQuestion(match[1], None if value is None else ast.unparse(value), asks_arguments=True)


def _about_value(source: str) -> ShownQuestion | None:
    for match in re.finditer(r"\s*==\s*(?:\?\?|# TODO|\Z)", source):
        call = source[: match.start()]
        tree = parse_expression(call)
        if isinstance(tree, ast.Call):
            arguments = [*tree.args, *(keyword.value for keyword in tree.keywords)]
            first = next((argument for argument in arguments if is_literal(argument)), None)
            return ShownQuestion(call, None if first is None else ast.unparse(first), asks_arguments=False)
    return None


def find_target(text: str) -> TargetFunction | None:
    """The function asked for: that of the last assertion, unless a ``def`` comes later.

    A prompt with worked examples ends with the task itself, so the last one counts.
    """
    lines = _lines(text)
    signatures = {row: match[1] for row, line in enumerate(lines) if (match := _DEF.match(line))}
    asserted = [(row, name) for row, name in _asserted_names(lines) if name]
    last_def = max(signatures, default=-1)
    last_assert, name = asserted[-1] if asserted else (-1, "")
    if last_def < 0 and last_assert < 0:
        return None
    if last_assert < last_def:
        return _signature(lines, last_def) or TargetFunction(signatures[last_def], None)
    own = [row for row, defined in signatures.items() if defined == name]
    target = _signature(lines, own[-1]) if own else None
    return TargetFunction(name, None) if target is None else replace(target, body_indent=None)


def _asserted_names(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Row and called function of each assertion; the call may be wrapped, as in ``set(f(x)) == set(y)``."""
    for row, line in enumerate(lines):
        if match := _ASSERT.match(line):
            tree = next(_growing(_rest(lines, row, match[1])), None)
            calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)] if tree is not None else []
            names = [call.func.id for call in calls if isinstance(call.func, ast.Name)]
            yield row, next((name for name in names if name not in _WRAPPERS), "")


def _signature(lines: Sequence[str], row: int) -> TargetFunction | None:
    """The ``def`` that starts on a row; it is open if all that follows is its docstring."""
    source = "\n".join(lines[row:]).lstrip()
    for colon in re.finditer(":", source[:4000]):
        tree = Parser().module(source[: colon.end()] + " pass")
        if isinstance(tree, Fault) or not isinstance(tree.body[0], ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        after = re.match(r"[^\n]*\s*\n([ \t]+)\S", source[colon.end() :])
        indent = after[1] if after else "    "
        whole = Parser().module(f"{source}\n{indent}pass\n")
        is_open = isinstance(whole, ast.Module) and len(whole.body) == 1
        return TargetFunction(tree.body[0].name, tree.body[0].args, indent if is_open else None)
    return None


def find_examples(text: str, name: str) -> list[ShownExample]:
    """Doctests and assertions that call ``name`` with literals and compare with a literal, in order."""
    lines = _lines(text)
    found = [_doctest(lines, row) or _assertion(lines, row) for row in range(len(lines))]
    return [example for example in found if example is not None and example.name == name and _is_plain(example)]


def _is_plain(example: ShownExample) -> bool:
    arguments = [*example.call.args, *(keyword.value for keyword in example.call.keywords)]
    return all(is_literal(tree) for tree in [*arguments, example.value])


def _assertion(lines: Sequence[str], row: int) -> ShownExample | None:
    match = _ASSERT.match(lines[row])
    if match is None:
        return None
    tree: ast.AST | None = next(_growing(_rest(lines, row, match[1])), None)
    if isinstance(tree, ast.Tuple) and tree.elts:
        tree = tree.elts[0]  # what follows the comma is the assertion's message
    match tree:
        case ast.UnaryOp(op=ast.Not(), operand=ast.Call() as call):
            return ShownExample(call, ast.Constant(False))
        case ast.Call() as call:
            return ShownExample(call, ast.Constant(True))
        case _:
            return _comparison(tree)


def _doctest(lines: Sequence[str], row: int) -> ShownExample | None:
    match = _DOCTEST.match(lines[row])
    if match is None:
        return None
    following = list(lines[row + 1 : row + MAX_LINES])
    source = [match[1]]
    while following and following[0].lstrip().startswith("..."):
        source.append(following.pop(0).lstrip()[3:])
    tree = parse_expression("\n".join(source).strip())
    if not isinstance(tree, ast.Call):
        return None if isinstance(tree, Fault) else _comparison(tree)
    value = next(filter(is_literal, _growing("\n".join(following))), None)
    return None if value is None else ShownExample(tree, value)


def _comparison(tree: ast.AST | None) -> ShownExample | None:
    """``f(x) == y``, ``f(x) is y``, or both sides in the same wrapper."""
    match tree:
        case ast.Compare(left=ast.Call() as left, ops=[ast.Eq() | ast.Is()], comparators=[right]):
            pass
        case _:
            return None
    match left, right:
        case (
            ast.Call(func=ast.Name(id=outer), args=[ast.Call() as inner]),
            ast.Call(func=ast.Name(id=other), args=[value]),
        ) if outer == other and outer in _WRAPPERS:
            return ShownExample(inner, value)
        case _:
            return ShownExample(left, right)


def _lines(text: str) -> list[str]:
    """Lines as Python reads them; `str.splitlines` would also cut inside literals."""
    return unix_newlines(text).split("\n")


def _rest(lines: Sequence[str], row: int, first: str) -> str:
    """``first``, which is what matters of a row, and the rows that may belong to it."""
    return "\n".join([first, *lines[row + 1 : row + MAX_LINES]])


def _growing(source: str) -> Iterator[ast.expr]:
    """Expressions that the first 1, 2, ... lines of a text form, up to the first blank line."""
    lines = source.split("\n")
    for count in range(1, min(len(lines), MAX_LINES) + 1):
        if not lines[count - 1].strip():
            return
        tree = parse_expression("\n".join(lines[:count]).strip())
        if not isinstance(tree, Fault):
            yield tree
