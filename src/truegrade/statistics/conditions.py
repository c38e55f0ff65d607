"""Conditions on measured values, such as ``J<0.9 or forgeable``: when a check in continuous integration fails.

A condition is a Python expression of a few names, numbers, comparisons, ``and``, ``or`` and ``not``. Its syntax
tree is walked here; nothing of it is executed.

Numbers are compared as fractions: ``0.7`` is seven tenths, and so is a float that Python prints as ``0.7``. A mean
of floats, such as 7 of 10 on each of three problems, may lie a last bit below, so whoever has counts gives the
fraction.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from math import inf, isinf, isnan
from types import MappingProxyType
from typing import Any, NamedTuple

from truegrade.errors import UnknownName, UserError
from truegrade.extraction.parsing import quietly
from truegrade.files import syntax

MAX_CHARS = 1_000

_COMPARED: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = MappingProxyType(
    {
        ast.Lt: operator.lt,
        ast.LtE: operator.le,
        ast.Gt: operator.gt,
        ast.GtE: operator.ge,
        ast.Eq: operator.eq,
        ast.NotEq: operator.ne,
    }
)


Number = int | float | Fraction
Values = Callable[[str], Number | None]
"""Name to what it is worth; None where that was not measured."""
_Truth = Callable[[Values], bool | None]
"""Truth by Kleene's three values; None: it depends on what was not measured."""


class Condition(NamedTuple):
    """What `read_condition` understood."""

    text: str
    names: frozenset[str]
    """Those that stand in it."""
    truth: _Truth

    def holds(self, worth: Values) -> bool:
        """Whether it is true.

        A value that could not be measured makes a comparison unknown, and a condition that hangs on such a
        comparison holds: a check must not pass because nothing was measured.
        """
        return self.truth(worth) is not False

    def bounds(self, name: str) -> bool:
        """Whether it says how much of a number there may be: from some amount on it holds, whatever the rest is.

        ``worse or missing > 3`` bounds ``missing``; ``worse or missing < 0`` merely names it.
        """
        return self.truth({name: inf}.get) is True


def read_condition(text: str, shares: Collection[str], counts: Collection[str], *, example: str) -> Condition:
    """Read a condition.

    Args:
        text: as the user wrote it.
        shares: names of numbers, which are compared with others.
        counts: names of whole numbers, which also stand alone and then mean *at least one*.
        example: of a condition, for messages.

    Raises:
        UserError: it is none; the message names the place.
    """
    shown = " ".join(text.split())  # on one line, so that a place is one number
    if not shown or len(shown) > MAX_CHARS:
        raise UserError(f"`fail_if`: give a condition of 1 to {MAX_CHARS:,} characters, such as {example!r}")
    try:
        with quietly():
            tree = syntax.parse(shown, mode="eval").body
    except SyntaxError as error:
        raise _fault(shown, error.offset or len(shown) + 1, f"not an expression ({error.msg})") from None
    except (ValueError, MemoryError, RecursionError) as error:
        raise _fault(shown, 1, f"not an expression ({error})") from None
    truth = _Reader(shown, tuple(shares), tuple(counts)).truth(tree)
    return Condition(shown, frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name)), truth)


def _fault(text: str, character: int, problem: str) -> UserError:
    return UserError(f"`fail_if` {text!r}, character {character}: {problem}")


_PERCENT = 2
"""A number from which on one that is compared with a share was meant in percent."""


class _Reader:
    """Makes of a tree what it is worth."""

    def __init__(self, text: str, shares: Sequence[str], counts: Sequence[str]) -> None:
        self._text, self._shares, self._counts = text, shares, counts

    def truth(self, node: ast.expr) -> _Truth:
        """A part that is true or false."""
        match node:
            case ast.BoolOp():
                deciding, parts = isinstance(node.op, ast.Or), [self.truth(part) for part in node.values]
                return lambda values: _joined([part(values) for part in parts], deciding=deciding)
            case ast.UnaryOp(op=ast.Not()):
                inner = self.truth(node.operand)
                return lambda values: None if (found := inner(values)) is None else not found
            case ast.Compare():
                return self._comparison(node)
        number = self._number(node)
        if not isinstance(node, ast.Name):
            raise self._refusal(node, "a number alone is neither true nor false; compare a name with it")
        if node.id in self._shares:
            raise self._refusal(node, f"{node.id} is a share; compare it with a number, such as {node.id} < 0.9")
        return lambda values: None if (found := number(values)) is None else found > 0

    def _comparison(self, node: ast.Compare) -> _Truth:
        compare = [_COMPARED.get(type(kind)) for kind in node.ops]
        if None in compare:
            raise self._refusal(node, "compare with <, <=, >, >=, == or !=")
        parts = (node.left, *node.comparators)
        numbers = [self._number(part) for part in parts]
        share = next((one.id for one in parts if isinstance(one, ast.Name) and one.id in self._shares), None)
        for part in parts:
            bare = part.operand if isinstance(part, ast.UnaryOp) else part
            value = self._literal(bare) if isinstance(bare, ast.Constant) else 0
            if share and value >= _PERCENT:
                raise self._refusal(
                    part, f"{share} is a share: write {float(value / 100):g} for {float(value):g} %"
                )

        def truth(values: Values) -> bool | None:
            found = [number(values) for number in numbers]
            links = [
                None if one is None or two is None or by is None else by(one, two)
                for by, one, two in zip(compare, found, found[1:], strict=False)
            ]
            return _joined(links, deciding=False)

        return truth

    def _number(self, node: ast.expr) -> Callable[[Values], Number | None]:
        """A name or a number."""
        match node:
            case ast.Constant(value=bool()):
                pass
            case ast.Constant(value=int() | float()):
                value = self._literal(node)
                return lambda _: value
            case ast.UnaryOp(
                op=ast.USub() | ast.UAdd() as sign, operand=ast.Constant(value=int() | float()) as bare
            ):
                value = -self._literal(bare) if isinstance(sign, ast.USub) else self._literal(bare)
                return lambda _: value
            case ast.Name(id=name):
                if name not in self._shares and name not in self._counts:
                    unknown = UnknownName("value or finding", name, [*self._shares, *self._counts])
                    raise self._refusal(node, str(unknown))
                return lambda values: _exact(values(name))
        raise self._refusal(node, "neither a name nor a number, and there are only comparisons, and, or, not")

    def _literal(self, node: ast.Constant) -> Number:
        """The number as it is written; one that is too large for a float is refused, one too small is 0."""
        value = node.value
        assert isinstance(value, int | float)
        if not isinstance(value, float) or not value:
            return int(value)
        if isinf(value):
            raise self._refusal(node, "a number this large is no value of anything")
        return Fraction(ast.get_source_segment(self._text, node) or value)

    def _refusal(self, node: ast.expr, problem: str) -> UserError:
        before = self._text.encode()[: node.col_offset].decode()
        return _fault(self._text, len(before) + 1, problem)


def _exact(value: Number | None) -> Number | None:
    """A float is the shortest decimal number that is read as it."""
    if not isinstance(value, float) or isinf(value):
        return value
    return None if isnan(value) else Fraction(repr(value))


def _joined(parts: Sequence[bool | None], *, deciding: bool) -> bool | None:
    """Parts joined by ``or``, where one true one decides, or by ``and``, where one false one does."""
    return deciding if deciding in parts else None if None in parts else not deciding
