"""Repair items: a right program, the same with a bug, calls that tell them apart, an interpreter.

Only what the grammar and its mutants are made of is known, so a program can reach nothing but its arguments, and
an endless loop ends after the same step on every machine.
"""

from __future__ import annotations

import ast
import operator
import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from truegrade.builders.list_language import CONSTANTS, PARAMETER, VARIABLES, Term
from truegrade.builders.repair_programs import (
    SEEN,
    UNSEEN,
    Arguments,
    Bug,
    GeneratedProgram,
    draw_arguments,
    draw_bug,
    draw_program,
)
from truegrade.datasets.identity import identity
from truegrade.files import syntax
from truegrade.records import sha256_json

_STEPS = 2_000

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda one, other: one in other,
    ast.NotIn: lambda one, other: one not in other,
}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {"len": len, "range": range, "min": min, "max": max, "abs": abs}


class OutOfSteps(Exception):
    """The program ran longer than any right one does."""


class NotOfTheGrammar(Exception):
    """A piece of syntax that no program of the grammar has."""


class _Return(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


def outcome(function: ast.FunctionDef, arguments: Sequence[Any]) -> str:
    """``repr`` of what a call returns, or the name of the exception it ends with.

    Raises:
        NotOfTheGrammar: the function uses syntax that the grammar lacks.
    """
    try:
        return repr(call(function, arguments))
    except NotOfTheGrammar:
        raise
    except Exception as error:
        return type(error).__name__


def call(function: ast.FunctionDef, arguments: Sequence[Any]) -> Any:
    """What a call returns; lists among the arguments are copied first.

    Raises:
        OutOfSteps: it takes too long.
        NotOfTheGrammar: it uses other syntax.
        Exception: whatever the program itself raises.
    """
    given = [list(value) if isinstance(value, list) else value for value in arguments]
    names = dict(zip((arg.arg for arg in function.args.args), given, strict=True))
    try:
        _Run(names).block(function.body)
    except _Return as returned:
        return returned.value
    return None


class _Run:
    """One call: its variables and what is left of its steps."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names, self._left = names, _STEPS

    def block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self._left -= 1
            if self._left < 0:
                raise OutOfSteps
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._names[name] = self._value(value)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                self._names[name] = _BINARY[type(op)](self._names[name], self._value(value))
            case ast.If(test=test, body=body, orelse=orelse):
                self.block(body if self._value(test) else orelse)
            case ast.For(target=ast.Name(id=name), iter=over, body=body):
                for item in self._value(over):
                    self._names[name] = item
                    self.block(body)
            case ast.While(test=test, body=body):
                while self._value(test):
                    self.block(body)
            case ast.Expr(value=value):
                self._value(value)
            case ast.Return(value=ast.expr() as value):
                raise _Return(self._value(value))
            case _:
                raise NotOfTheGrammar(ast.dump(node))

    def _value(self, node: ast.expr) -> Any:
        result: Any
        match node:
            case ast.Name(id=name):
                if name not in self._names:
                    raise NameError(name)
                result = self._names[name]
            case ast.Constant(value=value):
                result = value
            case ast.BinOp(left=left, op=op, right=right):
                result = _BINARY[type(op)](self._value(left), self._value(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                result = _COMPARE[type(op)](self._value(left), self._value(right))
            case ast.BoolOp(op=op, values=values):
                result = self._joined(isinstance(op, ast.Or), values)
            case ast.Subscript(value=value, slice=place):
                result = self._value(value)[self._value(place)]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                result = -self._value(operand)
            case ast.List(elts=elements):
                result = [self._value(element) for element in elements]
            case ast.IfExp(test=test, body=body, orelse=orelse):
                result = self._value(body) if self._value(test) else self._value(orelse)
            case ast.Call(func=function, args=arguments, keywords=[]):
                result = self._called(function, arguments)
            case _:
                raise NotOfTheGrammar(ast.dump(node))
        return result

    def _called(self, function: ast.expr, arguments: Sequence[ast.expr]) -> Any:
        """A built-in function, or ``append``."""
        match function:
            case ast.Attribute(value=value, attr="append"):
                return self._value(value).append(*map(self._value, arguments))
            case ast.Name(id=name) if name in _FUNCTIONS:
                return _FUNCTIONS[name](*map(self._value, arguments))
        raise NotOfTheGrammar(ast.dump(function))

    def _joined(self, enough: bool, values: Sequence[ast.expr]) -> Any:
        """``and`` and ``or``, which stop at the first value that decides."""
        value: Any = None
        for each in values:
            value = self._value(each)
            if bool(value) is enough:
                break
        return value


# ----------------------- Repair items: a correct program, the same with a bug, and calls that tell them apart.

CALLS = 8
"""Calls by which an item is graded."""

_RESERVED = 10
"""One buggy program in so many is for evaluation only, of seen programs and seen bug classes too."""


class RepairItem(msgspec.Struct, frozen=True):
    """A function to repair."""

    program: GeneratedProgram
    buggy: str
    kind: str
    """Bug class."""
    calls: tuple[Arguments, ...]
    expected: tuple[str, ...]
    """``repr`` of what the correct program returns, call by call."""

    @property
    def seen_bug(self) -> bool:
        """Whether training shows the bug class."""
        return self.kind in SEEN

    @property
    def identity(self) -> str:
        """Hash that items share which are equal but for names."""
        return pair_identity(self.program, self.buggy)

    @property
    def for_training(self) -> bool:
        """Whether training may show it: program and class are seen, and the item is not reserved."""
        return self.program.seen and self.seen_bug and not is_reserved(self.program, self.buggy)


def pair_identity(program: GeneratedProgram, buggy: str) -> str:
    """Hash of a correct and a buggy program, whatever their names."""
    return sha256_json([identity(buggy), program.identity])


def is_reserved(program: GeneratedProgram, buggy: str) -> bool:
    """Whether a pair is for evaluation only; decided by the pair itself, never by chance."""
    return int(pair_identity(program, buggy)[:8], 16) % _RESERVED == 0


def _anything(_: GeneratedProgram, __: Bug) -> bool:
    return True


def draw_item(
    rng: random.Random,
    kinds: tuple[str, ...] = SEEN + UNSEEN,
    wanted: Callable[[GeneratedProgram, Bug], bool] = _anything,
) -> RepairItem:
    """An item whose bug shows on at least one of its calls.

    Args:
        rng: decides everything.
        kinds: bug classes, every one alike as far as programs have a place for it.
        wanted: refuses a program and its bug before anything is run.
    """
    while True:
        item = _attempt(draw_program(rng), kinds, wanted, rng)
        if item is not None:
            return item


def _attempt(
    program: GeneratedProgram,
    kinds: tuple[str, ...],
    wanted: Callable[[GeneratedProgram, Bug], bool],
    rng: random.Random,
) -> RepairItem | None:
    bug = draw_bug(program.source, (rng.choice(kinds),), rng)
    if bug is None or not wanted(program, bug):
        return None
    calls = tuple(draw_arguments(program, rng) for _ in range(CALLS))
    right, wrong = function_of(program.source), function_of(bug.source)
    expected = tuple(repr(call(right, arguments)) for arguments in calls)
    if all(outcome(wrong, arguments) == text for arguments, text in zip(calls, expected, strict=True)):
        return None
    return RepairItem(program, bug.source, bug.kind, calls, expected)


def function_of(source: str) -> ast.FunctionDef:
    """The function that a program consists of."""
    function = syntax.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    return function


# ----------- Run terms of the list language, and write down how: the text a small model is taught to think in.
# One line an operation, innermost first, with the values in its place, then `` = `` and the result::
#
#     [4, 3, 2][1:] = [3, 2]
#     x = 3
#     3 * 3 = 9
#     x = 2
#     2 * 2 = 4
#     map = [9, 4]
#
# The interpreter knows the operations of the published grammar and runs no text.


Value = Any
"""An int, a bool or a list of ints."""


def _is_prime(number: int) -> bool:
    return number >= 2 and all(number % divisor for divisor in range(2, number))


def _is_square(number: int) -> bool:
    return any(root * root == number for root in range(number + 1))


_MEANINGS: Mapping[str, Callable[..., Value]] = {
    "append": lambda item, items: [*items, item],
    "cons": lambda item, items: [item, *items],
    "car": lambda items: items[0],
    "cdr": lambda items: items[1:],
    "length": len,
    "index": lambda place, items: items[place],
    "+": lambda one, other: one + other,
    "-": lambda one, other: one - other,
    "*": lambda one, other: one * other,
    "mod": lambda one, other: one % other,
    "is-mod": lambda divisor, number: number % divisor == 0,
    "max": max,
    "min": min,
    "gt?": lambda one, other: one > other,
    "le?": lambda one, other: one <= other,
    "eq?": lambda one, other: one == other,
    "not": lambda truth: not truth,
    "range": lambda stop: list(range(stop)),
    "is-prime": _is_prime,
    "is-square": _is_square,
}
_SHORT = {"is-prime": "prime(_0)", "is-square": "square(_0)"}
"""Operations whose Python is long, by what the trace calls them."""

_PLACE = re.compile(r"_\d")
"""Arguments are evaluated in the order in which Python's text shows them."""


def trace(term: Term, argument: list[int]) -> tuple[Value, list[str]]:
    """What a program returns, and the lines of its trace.

    Raises:
        Exception: whatever the program itself raises.
        KeyError: it has an operation of another grammar.
    """
    run = _Trace({PARAMETER: argument, "empty": []} | {str(number): number for number in CONSTANTS})
    return run.value(term), run.lines


class _Trace:
    """One run: what names stand for, values found in advance, and the lines so far."""

    def __init__(self, names: dict[str, Value]) -> None:
        self._names = names
        self._known: dict[int, Value] = {}
        self.lines: list[str] = []

    def value(self, term: Term) -> Value:
        """Evaluate a term, writing its lines."""
        name = term.operation.name
        if id(term) in self._known:
            return self._known[id(term)]
        if not term.arguments:
            return self._names[name]
        if name in {"if", "if-int"}:
            return self._branch(term)
        if name in {"map", "filter"}:
            return self._each(term)
        text = _SHORT.get(name, term.operation.python)
        values: dict[str, Value] = {}
        for place in _PLACE.findall(text):
            if place not in values:
                values[place] = self.value(term.arguments[int(place[1:])])
        result = _MEANINGS[name](*(values[place] for place in sorted(values)))
        self.lines.append(f"{_PLACE.sub(lambda found: repr(values[found[0]]), text)} = {result!r}")
        return result

    def _branch(self, term: Term) -> Value:
        test, chosen, other = term.arguments
        truth = self.value(test)
        result = self.value(chosen if truth else other)
        self.lines.append(f"if {truth} = {result!r}")
        return result

    def _each(self, term: Term) -> Value:
        body, over = term.arguments
        items = self.value(over)
        if items:
            self._foresee(body)
        results = []
        for item in items:
            self._names[VARIABLES[0]] = item
            self.lines.append(f"x = {item}")
            results.append(self.value(body))
        mapped = term.operation.name == "map"
        result = results if mapped else [item for item, kept in zip(items, results, strict=True) if kept]
        self.lines.append(f"{term.operation.name} = {result!r}")
        return result

    def _foresee(self, term: Term) -> None:
        """Evaluate, once, the parts of a lambda's body that do not depend on its variable."""
        if any(operation.name in VARIABLES for operation in term.operations()):
            for argument in term.arguments:
                self._foresee(argument)
        elif term.arguments:
            self._known[id(term)] = self.value(term)
