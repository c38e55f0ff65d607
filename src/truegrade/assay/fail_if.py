"""Conditions on a measured grader, such as ``J<0.9 or forgeable``: when a check in continuous integration fails.

A condition is a Python expression of a few names, numbers, comparisons, ``and``, ``or`` and ``not``. Its syntax
tree is walked here; nothing of it is executed.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType

import msgspec

from truegrade.assay.measures import AcceptedShare, GraderMeasure
from truegrade.errors import UserError
from truegrade.extraction.parsing import quietly

MAX_CHARS = 1_000

_COMPARED: Mapping[type[ast.cmpop], Callable[[float, float], bool]] = MappingProxyType(
    {
        ast.Lt: operator.lt,
        ast.LtE: operator.le,
        ast.Gt: operator.gt,
        ast.GtE: operator.ge,
        ast.Eq: operator.eq,
        ast.NotEq: operator.ne,
    }
)


def _right(measure: GraderMeasure) -> AcceptedShare | None:
    return next((share for share in measure.shares if share.kind == "right"), None)


def _of_right(field: str) -> Callable[[GraderMeasure], float | None]:
    return lambda measure: getattr(_right(measure), field, None)


VALUES: Mapping[str, Callable[[GraderMeasure], float | None]] = MappingProxyType(
    {
        "J": lambda measure: measure.j.value,
        "J_low": lambda measure: measure.j.low,
        "J_adversarial": lambda measure: measure.j_adversarial,
        "TPR": _of_right("value"),
        "TPR_low": _of_right("low"),
        "FPR": lambda measure: measure.fpr.value,
        "FPR_high": lambda measure: measure.fpr.high,
        "flips": lambda measure: measure.flips.value,
    }
)
"""Shares in [0, 1]: they are compared with a number. ``_low`` and ``_high`` are the ends of their intervals."""

COUNTS: Mapping[str, Callable[[GraderMeasure], float | None]] = MappingProxyType(
    {
        "forgeable": lambda measure: None if measure.forgeable is None else _paid(measure),
        "open_channels": lambda measure: len(measure.open_channels),
        "no_verdict": lambda measure: sum(share.no_verdict for share in measure.shares),
    }
)
"""Whole numbers, which also stand alone and then mean *at least one*: programs paid without solving, open
channels, probes without a verdict."""


def _paid(measure: GraderMeasure) -> int:
    return measure.unearned.paid + measure.unearned.impossible_paid


class Condition(msgspec.Struct, frozen=True):
    """What `read_condition` understood."""

    text: str
    tree: ast.expr

    def holds(self, measure: GraderMeasure, findings: Mapping[str, int]) -> bool:
        """Whether it is true of a grader.

        A value that could not be measured makes a comparison unknown, and a condition that hangs on such a
        comparison holds: a check must not pass because nothing was measured.

        Args:
            measure: the grader on one benchmark.
            findings: code to number of findings on it; a code that is missing counts 0.
        """
        return _true(self.tree, _Numbers(measure, findings)) is not False


def read_condition(text: str, codes: Collection[str]) -> Condition:
    """Read a condition.

    Args:
        text: names are those of `VALUES` and `COUNTS`, and codes of findings, which count the findings.
        codes: of findings that there are.

    Raises:
        UserError: it is none; the message names the place.
    """
    shown = " ".join(text.split())  # on one line, so that a place is one number
    if not shown or len(shown) > MAX_CHARS:
        raise UserError(
            f"`fail_if`: give a condition of 1 to {MAX_CHARS:,} characters, such as 'J<0.9 or forgeable'"
        )
    try:
        with quietly():
            tree = ast.parse(shown, mode="eval").body
    except SyntaxError as error:
        raise _fault(shown, error.offset or len(shown) + 1, f"not an expression ({error.msg})") from None
    except (ValueError, MemoryError, RecursionError) as error:
        raise _fault(shown, 1, f"not an expression ({error})") from None
    reader = _Reader(shown, frozenset(codes))
    return Condition(shown, reader.truth(tree))


def _fault(text: str, character: int, problem: str) -> UserError:
    return UserError(f"`fail_if` {text!r}, character {character}: {problem}")


class _Reader:
    """Checks a tree."""

    def __init__(self, text: str, codes: frozenset[str]) -> None:
        self._text, self._codes = text, codes

    def truth(self, node: ast.expr) -> ast.expr:
        """A part that is true or false."""
        match node:
            case ast.BoolOp():
                return ast.BoolOp(node.op, [self.truth(part) for part in node.values])
            case ast.UnaryOp(op=ast.Not()):
                return ast.UnaryOp(node.op, self.truth(node.operand))
            case ast.Compare():
                for kind in node.ops:
                    if type(kind) not in _COMPARED:
                        raise self._refusal(node, "compare with <, <=, >, >=, == or !=")
                parts = [self._number(part) for part in node.comparators]
                return ast.Compare(self._number(node.left), node.ops, parts)
        found = self._number(node)
        if isinstance(found, ast.Constant):
            raise self._refusal(node, "a number alone is neither true nor false; compare a name with it")
        if isinstance(found, ast.Name) and found.id in VALUES:
            raise self._refusal(node, f"{found.id} is a share; compare it with a number, such as {found.id} < 0.9")
        return found

    def _number(self, node: ast.expr) -> ast.expr:
        """A name or a number."""
        match node:
            case ast.Constant(value=bool()):
                pass
            case ast.Constant(value=int() | float() as value):
                return ast.Constant(value)
            case ast.UnaryOp(
                op=ast.USub() | ast.UAdd() as sign, operand=ast.Constant(value=int() | float() as value)
            ):
                return ast.Constant(-value if isinstance(sign, ast.USub) else value)
            case ast.Name():
                return self._known(node)
        raise self._refusal(node, "neither a name nor a number, and there are only comparisons, and, or, not")

    def _known(self, node: ast.Name) -> ast.Name:
        if node.id not in VALUES and node.id not in COUNTS and node.id not in self._codes:
            known = [*VALUES, *COUNTS, *sorted(self._codes)]
            raise self._refusal(node, f"no value or finding {node.id!r}; known: {', '.join(known)}")
        return node

    def _refusal(self, node: ast.expr, problem: str) -> UserError:
        before = self._text.encode()[: node.col_offset].decode()
        return _fault(self._text, len(before) + 1, problem)


class _Numbers:
    """What the names are worth for one grader."""

    def __init__(self, measure: GraderMeasure, findings: Mapping[str, int]) -> None:
        self._measure, self._findings = measure, findings

    def of(self, node: ast.expr) -> float | None:
        if isinstance(node, ast.Constant):
            assert isinstance(node.value, int | float)
            return node.value
        assert isinstance(node, ast.Name)
        value = VALUES.get(node.id) or COUNTS.get(node.id)
        return value(self._measure) if value else self._findings.get(node.id, 0)


def _true(node: ast.expr, numbers: _Numbers) -> bool | None:
    """Truth by Kleene's three values; None: it depends on what was not measured."""
    match node:
        case ast.BoolOp():
            deciding = isinstance(node.op, ast.Or)
            parts = [_true(part, numbers) for part in node.values]
            return deciding if deciding in parts else None if None in parts else not deciding
        case ast.UnaryOp():
            inner = _true(node.operand, numbers)
            return None if inner is None else not inner
        case ast.Compare():
            values = [numbers.of(part) for part in (node.left, *node.comparators)]
            links = [
                None if one is None or two is None else _COMPARED[type(kind)](one, two)
                for kind, one, two in zip(node.ops, values, values[1:], strict=False)
            ]
            return False if False in links else None if None in links else True
    value = numbers.of(node)
    return None if value is None else value > 0
