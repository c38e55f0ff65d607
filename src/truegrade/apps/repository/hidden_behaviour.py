"""What an answer has to know and its prompt does not tell: constants and exceptions whose change is refused."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from truegrade.apps.repository.deciding_mutants import dressed
from truegrade.apps.repository.functions import FunctionPlace, bare_function

HIDDEN = "hidden_behaviour"
"""The tag that says if a row asks for what its prompt does not tell, ``yes`` or ``no``; reports split by it."""
HIDES = "hides"
"""The tag that says what."""
_MOST_TRIED = 8
_MOST_TOLD = 3
_OF_ANY_BODY = frozenset({"0", "1", "2", "-1", "''", "' '"})
"""Constants of which a prompt need not tell."""


class Detail(NamedTuple):
    """A constant or the type of an exception in a body."""

    text: str
    """As it is written: ``'-'``, ``80``, ``ValueError``."""
    known_by: str
    """A pattern of texts that tell it."""


class HiddenBehaviour:
    """Which details of a function's body decide about answers, asked of the judge once each.

    Args:
        function: whose body is removed.
        refused: whether the judge refuses a function.
    """

    def __init__(self, function: FunctionPlace, refused: Callable[[str], bool]) -> None:
        self._function, self._details = function, list(_details(function))
        self._refused, self._known = refused, dict[str, bool]()

    def untold(self, prompt: str) -> list[str]:
        """The first details, as they are written, that no word of a prompt tells and whose change is refused."""
        found: list[str] = []
        for detail in [one for one in self._details if not re.search(one.known_by, prompt)][:_MOST_TRIED]:
            if self._decides(detail.text):
                found.append(detail.text)
            if len(found) == _MOST_TOLD:
                break
        return found

    def _decides(self, text: str) -> bool:
        """Whether the function with something else in the place of a detail, wherever it stands, is refused."""
        if text not in self._known:
            changed = copy.deepcopy(bare_function(self._function))
            changed.body = [_Changed(text).visit(one) for one in changed.body]
            try:
                source = dressed(self._function, ast.unparse(ast.fix_missing_locations(changed)))
            except (RecursionError, ValueError):  # of a tree that no text can be written of
                source = ""
            self._known[text] = bool(source) and self._refused(source)
        return self._known[text]


def _details(function: FunctionPlace) -> Iterator[Detail]:
    body = ast.Module(bare_function(function).body, [])
    # Another pattern, or another way than one, may be as right.
    patterns = {id(one) for node in ast.walk(body) if _is_of_re(node) for one in ast.walk(node)}
    texts: dict[str, str] = {}
    for node in ast.walk(body):
        if isinstance(node, ast.Constant) and id(node) not in patterns and type(node.value) in (int, float, str):
            texts.setdefault(repr(node.value), _known_by(node.value))
        elif isinstance(node, ast.Raise) and (name := _raised(node)):
            texts.setdefault(name, rf"\b{re.escape(name)}\b")
    yield from (Detail(text, known_by) for text, known_by in texts.items() if text not in _OF_ANY_BODY)


def _is_of_re(node: ast.AST) -> bool:
    """Whether a node calls a function of `re`."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
    )


def _known_by(value: object) -> str:
    """A pattern of the texts that tell a constant, as it is or as it is written."""
    if isinstance(value, str):
        return f"{re.escape(value)}|{re.escape(repr(value)[1:-1])}"
    written = {repr(value), *((f"{value:,}", f"{value:_}") if isinstance(value, int) else ())}
    return rf"(?<![\w.])(?:{'|'.join(map(re.escape, sorted(written)))})(?!\w|\.\d)"


def _raised(node: ast.Raise) -> str:
    """The name of the type that a statement raises; empty where it is no name."""
    raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    return raised.id if isinstance(raised, ast.Name) else ""


class _Changed(ast.NodeTransformer):
    """Puts something else in the place of a detail."""

    def __init__(self, text: str) -> None:
        self._text = text

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int | float | str) or repr(value) != self._text:
            return node
        return ast.Constant(f"{value}~" if isinstance(value, str) else value + 1)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        if _raised(node) == self._text:
            other = "ArithmeticError" if self._text != "ArithmeticError" else "LookupError"
            return ast.Raise(ast.Name(other, ast.Load()), node.cause)
        return self.generic_visit(node)
