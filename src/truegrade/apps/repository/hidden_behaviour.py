"""What an answer has to know and its prompt does not tell: constants and exceptions whose change is refused."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Collection, Iterator

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


class HiddenBehaviour:
    """Which details of a function's body decide about answers, asked of the judge once each.

    Args:
        function: whose body is removed.
        refused: whether the judge refuses a function.
    """

    def __init__(self, function: FunctionPlace, refused: Callable[[str], bool]) -> None:
        self._function, self._details = function, dict(_details(function))
        self._refused, self._known = refused, dict[str, bool]()

    def untold(self, shown: str) -> list[str]:
        """The first details, as they are written, that no word of a text tells and whose change is refused.

        Args:
            shown: what of the file the prompt shows; the stub of a removed body tells nothing.
        """
        text = "\n".join(line for line in shown.splitlines() if not line.strip().startswith("..."))
        figures = [float(one.replace(",", "").replace("_", "")) for one in _NUMBERS.findall(text)]
        words = [number for word, number in _WORDS.items() if re.search(rf"\b{word}\b", text, re.IGNORECASE)]
        numbers = {*figures, *map(abs, figures), *words}
        found: list[str] = []
        unknown = [(name, value) for name, value in self._details.items() if not _is_told(value, text, numbers)]
        for written, value in unknown[:_MOST_TRIED]:
            if self._decides(written, value):
                found.append(written)
            if len(found) == _MOST_TOLD:
                break
        return found

    def _decides(self, written: str, value: object) -> bool:
        """Whether the function with something else in the place of a detail, wherever it stands, is refused."""
        if written not in self._known:
            self._known[written] = any(self._is_refused(written, other) for other in _others(value))
        return self._known[written]

    def _is_refused(self, written: str, other: ast.expr) -> bool:
        changed = copy.deepcopy(bare_function(self._function))
        changed.body = [_Changed(written, other).visit(one) for one in changed.body]
        try:
            source = dressed(self._function, ast.unparse(ast.fix_missing_locations(changed)))
        except (RecursionError, ValueError):  # of a tree that no text can be written of
            return False
        return self._refused(source)


class _Raised(str):
    """The name of a type of exceptions."""


def _details(function: FunctionPlace) -> Iterator[tuple[str, object]]:
    """Constants and types of exceptions in a body, each once: as it is written, and its value."""
    body = ast.Module(bare_function(function).body, [])
    # Another pattern, or another way than one, may be as right.
    passed = {id(one) for node in ast.walk(body) if _is_of_re(node) for one in ast.walk(node)}
    bound = {one.id for one in ast.walk(body) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    for node in ast.walk(body):
        if id(node) in passed:
            continue
        value: object = _negative(node)
        if value is not None:
            passed |= {id(one) for one in ast.walk(node)}
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float, str, bytes):
            value = node.value
        elif isinstance(node, ast.Raise) and (name := _raised(node)) not in bound | {""}:
            value = _Raised(name)
        if value is not None and (written := _written(value)) not in _OF_ANY_BODY:
            yield written, value


def _written(value: object) -> str:
    return str(value) if isinstance(value, _Raised) else repr(value)


def _negative(node: ast.AST) -> int | float | None:
    """The value of a negative number; None for anything else."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
    return None


def _is_told(value: object, text: str, numbers: Collection[float]) -> bool:
    """Whether a text tells a detail, as a word of its own, or a number in whatever form."""
    if isinstance(value, _Raised):
        return re.search(rf"\b{value}\b", text) is not None
    if isinstance(value, str | bytes):
        plain = value if isinstance(value, str) else value.decode("latin-1")
        forms = {plain, repr(plain)[1:-1]}
        return any(re.search(_as_a_word(form), text) for form in forms)
    return value in numbers


def _as_a_word(text: str) -> str:
    """A pattern of a text that is no part of a longer word."""
    before = r"(?<!\w)" if re.match(r"\w", text) else ""
    return before + re.escape(text) + (r"(?!\w)" if re.search(r"\w$", text) else "")


_NUMBERS = re.compile(r"-?(?<![\w.])\d[\d_,]*(?:\.\d+)?(?:[eE][+-]?\d+)?(?!\w)")
_WORDS = {"three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11,
          "twelve": 12, "hundred": 100, "thousand": 1000}  # fmt: skip


def _others(value: object) -> Iterator[ast.expr]:
    """What takes a detail's place, one after the other, until something is refused."""
    if isinstance(value, _Raised):
        yield ast.Name("ArithmeticError" if value != "ArithmeticError" else "LookupError", ast.Load())
    elif isinstance(value, str):
        yield from (ast.Constant(f"{value}~"), ast.Constant("~"))
    elif isinstance(value, bytes):
        yield from (ast.Constant(value + b"~"), ast.Constant(b"~"))
    elif isinstance(value, int | float):
        yield from (ast.Constant(value + 1), ast.Constant(2 * value + 10))


def _is_of_re(node: ast.AST) -> bool:
    """Whether a node calls a function of `re`."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
    )


def _raised(node: ast.Raise) -> str:
    """The name of the type that a statement raises, without its module; empty where it is no name."""
    match node.exc.func if isinstance(node.exc, ast.Call) else node.exc:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


class _Changed(ast.NodeTransformer):
    """Puts something else in the place of a detail."""

    def __init__(self, written: str, other: ast.expr) -> None:
        self._written, self._other = written, other

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if (value := _negative(node)) is None:
            self.generic_visit(node)
            return node
        return self._other if repr(value) == self._written else node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        same = type(node.value) in (int, float, str, bytes) and repr(node.value) == self._written
        return self._other if same else node

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        if _raised(node) == self._written:
            return ast.Raise(self._other, node.cause)
        return self.generic_visit(node)
