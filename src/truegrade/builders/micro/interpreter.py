"""Run programs of the grammar, bugs included, without `exec`: a walk over the syntax tree with a budget of steps.

Only what the grammar and its mutants are made of is known, so a program can reach nothing but its arguments, and
an endless loop ends after the same step on every machine.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

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
