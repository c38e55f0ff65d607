"""The list language: its operations, and its programs as Python and as s-expressions.

``published`` has the operations of DSL-List (DreamCoder's list language as DeepSynth carries it; the Python of
each is described in akshsgaur/code-reasoning-repro@6c43fa8 src/datasets/dsl/neural_pcfg.py), with lists of
integers for its polymorphic ones: lists of lists only give programs that wrap and unwrap. ``extended`` adds
folds, slices, zips and the like, since strong models answer nearly all of the published language.
"""

from __future__ import annotations

import ast
import json
import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache
from itertools import accumulate
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from truegrade.datasets.download import read_content
from truegrade.errors import BadRecord, UnknownName
from truegrade.files import syntax
from truegrade.files.json_text import convert


class Type(StrEnum):
    """Type of an expression."""

    INT = "int"
    BOOL = "bool"
    LIST = "list[int]"


class Argument(msgspec.Struct, frozen=True):
    """A place for an expression. ``binders`` integer variables, ``x`` and then ``y``, may be used in it."""

    type: Type
    binders: int = 0


class Operation(msgspec.Struct, frozen=True):
    """A production of the grammar."""

    name: str
    result: Type
    arguments: tuple[Argument, ...] = ()
    python: str = ""
    """An expression; ``_0``, ``_1``, ... stand for the arguments."""
    imports: str = ""
    """A statement that the expression needs."""
    binders: int = 0
    """How many variables must be bound around it: 1 for ``x``, 2 for ``y``."""


PARAMETER = "a1"
VARIABLES = ("x", "y")
CONSTANTS = range(6)

_INT, _BOOL, _LIST = Argument(Type.INT), Argument(Type.BOOL), Argument(Type.LIST)
_OF_X, _TEST_OF_X, _OF_X_Y = Argument(Type.INT, 1), Argument(Type.BOOL, 1), Argument(Type.INT, 2)

_TERMINALS = (
    Operation(PARAMETER, Type.LIST, (), PARAMETER),
    Operation("empty", Type.LIST, (), "[]"),
    *(Operation(str(number), Type.INT, (), str(number)) for number in CONSTANTS),
    *(Operation(name, Type.INT, (), name, binders=count) for count, name in enumerate(VARIABLES, 1)),
)
_PUBLISHED = (
    *_TERMINALS,
    Operation("append", Type.LIST, (_INT, _LIST), "_1 + [_0]"),
    Operation("cons", Type.LIST, (_INT, _LIST), "[_0] + _1"),
    Operation("car", Type.INT, (_LIST,), "_0[0]"),
    Operation("cdr", Type.LIST, (_LIST,), "_0[1:]"),
    Operation("length", Type.INT, (_LIST,), "len(_0)"),
    Operation("index", Type.INT, (_INT, _LIST), "_1[_0]"),
    Operation("+", Type.INT, (_INT, _INT), "_0 + _1"),
    Operation("-", Type.INT, (_INT, _INT), "_0 - _1"),
    Operation("*", Type.INT, (_INT, _INT), "_0 * _1"),
    # before `mod` and `eq?`: read from Python, the three together are one `is-mod`
    Operation("is-mod", Type.BOOL, (_INT, _INT), "_1 % _0 == 0"),
    Operation("mod", Type.INT, (_INT, _INT), "_0 % _1"),
    Operation("max", Type.INT, (_INT, _INT), "max(_0, _1)"),
    Operation("min", Type.INT, (_INT, _INT), "min(_0, _1)"),
    Operation("gt?", Type.BOOL, (_INT, _INT), "_0 > _1"),
    Operation("le?", Type.BOOL, (_INT, _INT), "_0 <= _1"),
    Operation("eq?", Type.BOOL, (_INT, _INT), "_0 == _1"),
    Operation("not", Type.BOOL, (_BOOL,), "not _0"),
    Operation("if", Type.LIST, (_BOOL, _LIST, _LIST), "_1 if _0 else _2"),
    Operation("if-int", Type.INT, (_BOOL, _INT, _INT), "_1 if _0 else _2"),
    Operation("range", Type.LIST, (_INT,), "list(range(_0))"),
    Operation("map", Type.LIST, (_OF_X, _LIST), "list(map(lambda x: _0, _1))"),
    Operation("filter", Type.LIST, (_TEST_OF_X, _LIST), "list(filter(lambda x: _0, _1))"),
    Operation("is-prime", Type.BOOL, (_INT,), "_0 >= 2 and all(_0 % i for i in range(2, _0))"),
    Operation("is-square", Type.BOOL, (_INT,), "any(i * i == _0 for i in range(_0 + 1))"),
)
_EXTENDED = (
    *_PUBLISHED,
    Operation("sum", Type.INT, (_LIST,), "sum(_0)"),
    Operation("sort", Type.LIST, (_LIST,), "sorted(_0)"),
    Operation("reverse", Type.LIST, (_LIST,), "_0[::-1]"),
    Operation("take", Type.LIST, (_INT, _LIST), "_1[:_0]"),
    Operation("drop", Type.LIST, (_INT, _LIST), "_1[_0:]"),
    Operation("slice", Type.LIST, (_INT, _INT, _LIST), "_2[_0:_1]"),
    Operation("every", Type.LIST, (_INT, _LIST), "_1[::_0]"),
    Operation("last", Type.INT, (_LIST,), "_0[-1]"),
    Operation("concat", Type.LIST, (_LIST, _LIST), "_0 + _1"),
    Operation("largest", Type.INT, (_LIST,), "max(_0)"),
    Operation("smallest", Type.INT, (_LIST,), "min(_0)"),
    Operation("count", Type.INT, (_INT, _LIST), "_1.count(_0)"),
    Operation("unique", Type.LIST, (_LIST,), "list(dict.fromkeys(_0))"),
    Operation("member?", Type.BOOL, (_INT, _LIST), "_0 in _1"),
    Operation("abs", Type.INT, (_INT,), "abs(_0)"),
    Operation("div", Type.INT, (_INT, _INT), "_0 // _1"),
    Operation("and", Type.BOOL, (_BOOL, _BOOL), "_0 and _1"),
    Operation("or", Type.BOOL, (_BOOL, _BOOL), "_0 or _1"),
    Operation("zip", Type.LIST, (_OF_X_Y, _LIST, _LIST), "list(map(lambda x, y: _0, _1, _2))"),
    Operation(
        "fold",
        Type.INT,
        (_OF_X_Y, _INT, _LIST),
        "reduce(lambda x, y: _0, _2, _1)",
        imports="from functools import reduce",
    ),
)

GRAMMARS: Mapping[str, Mapping[str, Operation]] = MappingProxyType(
    {
        name: MappingProxyType({operation.name: operation for operation in operations})
        for name, operations in {"published": _PUBLISHED, "extended": _EXTENDED}.items()
    }
)
"""Operations by name, by grammar."""


# ----------- Programs of the list language: written as Python and as s-expressions, and read back from Python.
# One table serves both ways: an operation's Python is a template to fill in and a pattern to match.


class Term(msgspec.Struct, frozen=True):
    """An operation applied to its arguments."""

    operation: Operation
    arguments: tuple[Term, ...] = ()

    @property
    def depth(self) -> int:
        """Levels of the tree; a terminal has one."""
        return 1 + max((argument.depth for argument in self.arguments), default=0)

    @property
    def size(self) -> int:
        """Operations in the tree."""
        return 1 + sum(argument.size for argument in self.arguments)

    def operations(self) -> Iterable[Operation]:
        """Every operation of the tree, from the top."""
        yield self.operation
        for argument in self.arguments:
            yield from argument.operations()

    def __str__(self) -> str:
        if not self.arguments:
            return self.operation.name
        written = []
        for place, argument in zip(self.operation.arguments, self.arguments, strict=True):
            variables = " ".join(VARIABLES[: place.binders])
            written.append(f"(lambda ({variables}) {argument})" if place.binders else str(argument))
        return f"({self.operation.name} {' '.join(written)})"


def source(term: Term, name: str) -> str:
    """The Python function that a term is; ends with a newline.

    The layout is that of `ast.unparse`, so that a mutant cannot be told from its original by parentheses.
    """
    imports = "".join(f"{line}\n" for line in sorted({used.imports for used in term.operations()} - {""}))
    return f"{imports}def {name}({PARAMETER}):\n    return {ast.unparse(expression(term))}\n"


def expression(term: Term) -> ast.expr:
    """The Python expression that a term is."""
    arguments = {f"_{index}": expression(argument) for index, argument in enumerate(term.arguments)}
    filled: ast.expr = _filled(_template(term.operation.python), arguments)
    return filled


def read_program(code: str, operations: Mapping[str, Operation]) -> Term | None:
    """The term that a function of one parameter with one ``return`` is; None if the language lacks it."""
    try:
        tree = syntax.parse(code)
    except (SyntaxError, ValueError, RecursionError):
        return None
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    if len(functions) != 1 or len(functions[0].args.args) != 1:
        return None
    returned = functions[0].body[-1]
    if not isinstance(returned, ast.Return) or returned.value is None:
        return None
    named = _Rename({functions[0].args.args[0].arg: PARAMETER}).visit(returned.value)
    readings = (_read(named, wanted, 0, operations) for wanted in (Type.LIST, Type.BOOL, Type.INT))
    return next((term for term in readings if term is not None), None)


def _read(node: ast.AST, wanted: Type, scope: int, operations: Mapping[str, Operation]) -> Term | None:
    """The term of type ``wanted`` that an expression is; the first operation that fits."""
    for operation in operations.values():
        if operation.result is not wanted or operation.binders > scope:
            continue
        found: dict[str, ast.AST] = {}
        if not _match(_template(operation.python), node, found):
            continue
        arguments = [
            _read(found[f"_{index}"], place.type, max(scope, place.binders), operations)
            for index, place in enumerate(operation.arguments)
        ]
        if None not in arguments:
            return Term(operation, tuple(argument for argument in arguments if argument is not None))
    return None


def _match(pattern: object, node: object, found: dict[str, ast.AST]) -> bool:
    """Whether a tree is the pattern with its places filled; ``found`` gets what fills them."""
    if isinstance(pattern, ast.Name) and pattern.id.startswith("_") and isinstance(node, ast.AST):
        earlier = found.setdefault(pattern.id, node)
        return earlier is node or ast.dump(earlier) == ast.dump(node)
    if type(pattern) is not type(node):
        return False
    if isinstance(pattern, ast.AST):
        fields = (field for field in pattern._fields if field not in {"ctx", "kind", "type_comment"})
        return all(_match(getattr(pattern, name), getattr(node, name, None), found) for name in fields)
    if isinstance(pattern, list) and isinstance(node, list):
        return len(pattern) == len(node) and all(
            _match(one, other, found) for one, other in zip(pattern, node, strict=True)
        )
    return pattern == node


@cache
def _template(python: str) -> ast.expr:
    return syntax.parse(python, mode="eval").body


def _filled(part: Any, arguments: Mapping[str, ast.expr]) -> Any:
    """A copy of a template with expressions in its places.

    Each place gets a copy of its own: `ast.unparse` remembers by node whether it needs parentheses.
    """
    if isinstance(part, list):
        return [_filled(each, arguments) for each in part]
    if not isinstance(part, ast.AST):
        return part
    if isinstance(part, ast.Name) and part.id in arguments:
        return _filled(arguments[part.id], {})
    return type(part)(**{name: _filled(value, arguments) for name, value in ast.iter_fields(part)})


class _Rename(ast.NodeTransformer):
    """Gives the parameter and the variables of lambdas the names of the language."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """A lambda over ``x``, ``y``."""
        inner = dict(zip((arg.arg for arg in node.args.args), VARIABLES, strict=False))
        node.args.args = [ast.arg(arg=inner.get(arg.arg, arg.arg)) for arg in node.args.args]
        node.body = _Rename(self._names | inner).visit(node.body)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """The name of the language."""
        return ast.Name(id=self._names.get(node.id, node.id), ctx=node.ctx)


# ----------- A probabilistic grammar: how likely each operation is where an expression of some type is wanted.
# A nonterminal is a type and the number of variables in reach, written ``int/1``. Weights need not add up to one.
# They are fixed by default, read from a file, or fitted to programs: counts of productions, each plus one
# (Laplace), so that nothing becomes impossible. The published set's weights come from a network that may be
# untrained, and are not known.


Weights = Mapping[str, Mapping[str, float]]
"""By nonterminal, by name of the operation."""

Grammar = Mapping[str, Operation]

_VARIABLE_WEIGHT = 3.0
_CONSTANTS_WEIGHT = 2.0
_EMPTY_WEIGHT = 0.25


class Fitted(msgspec.Struct, frozen=True):
    """Weights and what they rest on."""

    weights: Weights
    read: int
    """Programs that the language has."""
    unread: int
    """Programs that it lacks; they count for nothing."""


def nonterminal(wanted: Type, scope: int) -> str:
    """Name of a nonterminal."""
    return f"{wanted}/{scope}"


def productions(grammar: Grammar, wanted: Type, scope: int) -> tuple[Operation, ...]:
    """The operations that may stand for a nonterminal; lambdas do not stand inside lambdas."""
    return tuple(
        operation
        for operation in grammar.values()
        if operation.result is wanted
        and operation.binders <= scope
        and not (scope and any(place.binders for place in operation.arguments))
    )


def nonterminals(grammar: Grammar) -> Iterable[tuple[str, tuple[Operation, ...]]]:
    """Every nonterminal with its productions."""
    scopes = {0} | {place.binders for operation in grammar.values() for place in operation.arguments}
    for scope in sorted(scopes):
        for wanted in Type:
            yield nonterminal(wanted, scope), productions(grammar, wanted, scope)


def default_weights(grammar: Grammar) -> Weights:
    """Every operation alike, variables more often, the six constants together like two."""
    return {
        name: {operation.name: _default(operation) for operation in choices}
        for name, choices in nonterminals(grammar)
    }


def fit(programs: Iterable[str], grammar: Grammar) -> Fitted:
    """Count productions in programs, plus one each."""
    counts: Counter[tuple[str, str]] = Counter()
    read = unread = 0
    for code in programs:
        term = read_program(code, grammar)
        if term is None:
            unread += 1
        else:
            read += 1
            _count(term, 0, counts)
    weights = {
        name: {operation.name: float(1 + counts[name, operation.name]) for operation in choices}
        for name, choices in nonterminals(grammar)
    }
    return Fitted(weights, read, unread)


def read_weights(path: Path, grammar: Grammar) -> Weights:
    """Weights from a file: a JSON object of nonterminals, each an object of operations and numbers.

    What the file leaves out keeps its default weight.

    Raises:
        BadRecord: the file is no such object, or a number is not positive.
        UnknownName: it names a nonterminal or an operation that the grammar lacks.
    """
    weights = {name: dict(choices) for name, choices in default_weights(grammar).items()}
    try:
        given = convert(json.loads(read_content(path)), dict[str, dict[str, float]])
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise BadRecord(path, f"is no object of weights: {error}; see docs/benchmarks.md") from None
    for name, choices in given.items():
        if name not in weights:
            raise UnknownName("nonterminal", name, weights)
        for operation, weight in choices.items():
            if operation not in weights[name]:
                raise UnknownName(f"operation of {name}", operation, weights[name])
            if not (weight > 0 and math.isfinite(weight)):
                raise BadRecord(
                    path, f"{weight} is no weight; give a positive number", field=f"{name}.{operation}"
                )
            weights[name][operation] = weight
    return weights


def _default(operation: Operation) -> float:
    if operation.name in {PARAMETER, *VARIABLES}:
        return _VARIABLE_WEIGHT
    if operation.name.isdigit():
        return _CONSTANTS_WEIGHT / len(CONSTANTS)
    return _EMPTY_WEIGHT if operation.name == "empty" else 1.0


def _count(term: Term, scope: int, counts: Counter[tuple[str, str]]) -> None:
    counts[nonterminal(term.operation.result, scope), term.operation.name] += 1
    for place, argument in zip(term.operation.arguments, term.arguments, strict=True):
        _count(argument, max(scope, place.binders), counts)


# ---------------------------------------------- Draw terms from a probabilistic grammar, no deeper than asked.


class TermSampler:
    """Draws terms; an operation that the remaining depth cannot hold is not offered.

    Args:
        grammar: its operations.
        weights: of every production.
    """

    def __init__(self, grammar: Grammar, weights: Weights) -> None:
        self._grammar, self._weights = grammar, weights
        self._choices: dict[tuple[Type, int, int], tuple[list[Operation], list[float]]] = {}
        self._least = _least_depths(grammar)

    def draw(self, wanted: Type, max_depth: int, rng: random.Random) -> Term:
        """A term of some type that is no terminal; ``max_depth`` is at least 3."""
        while True:
            term = self._draw(wanted, 0, max_depth, rng)
            if term.arguments:
                return term

    def _draw(self, wanted: Type, scope: int, depth: int, rng: random.Random) -> Term:
        key = (wanted, scope, depth)
        if key not in self._choices:
            self._choices[key] = self._offer(wanted, scope, depth)
        operations, cumulated = self._choices[key]
        operation = rng.choices(operations, cum_weights=cumulated)[0]
        arguments = [
            self._draw(place.type, max(scope, place.binders), depth - 1, rng) for place in operation.arguments
        ]
        return Term(operation, tuple(arguments))

    def _offer(self, wanted: Type, scope: int, depth: int) -> tuple[list[Operation], list[float]]:
        weights = self._weights[nonterminal(wanted, scope)]
        offered = [
            operation
            for operation in productions(self._grammar, wanted, scope)
            if all(self._least[place.type] < depth for place in operation.arguments)
        ]
        return offered, list(accumulate(weights[operation.name] for operation in offered))


def _least_depths(grammar: Grammar) -> dict[Type, int]:
    """The depth of the flattest term of each type: 1 where there is a terminal, else 2."""
    with_terminal = {operation.result for operation in grammar.values() if not operation.arguments}
    return {wanted: 1 if wanted in with_terminal else 2 for wanted in Type}
