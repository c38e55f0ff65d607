"""What a rule sees of a problem and proposes, and the places of a program that words stand for."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec

from truegrade.apps.changed.statement import Statement, TestCall
from truegrade.benchmarks.own_rows import Family
from truegrade.files import syntax

# ------ What a rule sees of a problem, what it proposes, and the parts of programs that several rules ask for.

Edit = tuple[int, int, str]
"""Begin and end in the prompt, and the text that takes the place."""


class Proposal(msgspec.Struct, frozen=True):
    """A changed reference and the edits of the prompt that say the same."""

    reference: str
    edits: tuple[Edit, ...]
    entry_point: str


class ChangeRule(NamedTuple):
    """A transformation of the reference tied to an edit of the statement."""

    name: str
    kind: str
    family: Family
    summary: str
    propose: Callable[[Material], Proposal | None]
    """None where the rule has nothing to change here."""
    on_result: bool = False
    """Whether it is a demand on what is returned, and nothing else."""


class Material:
    """One problem.

    Args:
        statement: its prompt, read.
        entry_point: the function or method under test.
        reference: a right program.
        calls: of its tests.
        values: what the reference returns for them.
    """

    def __init__(
        self,
        statement: Statement,
        entry_point: str,
        reference: ast.Module,
        calls: Sequence[TestCall],
        values: Sequence[Any],
    ) -> None:
        self.statement, self.entry_point, self._reference = statement, entry_point, reference
        self.calls, self.values = calls, values
        self.prose = statement.prose

    def tree(self) -> ast.Module:
        """The reference, to be changed in place."""
        return copy.deepcopy(self._reference)

    def function(self, tree: ast.Module) -> ast.FunctionDef | None:
        """The function under test in the reference."""
        found = [
            one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef) and one.name == self.entry_point
        ]
        return found[0] if found else None

    def parameters(self) -> dict[str, list[Any]]:
        """The values that the tests pass, by parameter; empty where that is not plain."""
        function = self.function(self._reference)
        if function is None or function.args.vararg or function.args.kwarg or function.args.kwonlyargs:
            return {}
        names = [one.arg for one in function.args.args if one.arg != "self"]
        table: dict[str, list[Any]] = {name: [] for name in names}
        for call in self.calls:
            given = dict(zip(names, call.case.args, strict=False)) | call.case.kwargs
            if set(given) != set(names):
                return {}
            for name, value in given.items():
                table[name].append(value)
        return table

    @property
    def is_recursive(self) -> bool:
        """Whether the reference calls the function under test, or yields instead of returning."""
        function = self.function(self._reference)
        inside = list(ast.walk(function)) if function is not None else []
        names = {one.id for one in inside if isinstance(one, ast.Name)}
        attributes = {one.attr for one in inside if isinstance(one, ast.Attribute)}
        return self.entry_point in names | attributes or any(
            isinstance(one, ast.Yield | ast.YieldFrom) for one in inside
        )

    def says(self, pattern: str) -> bool:
        """Whether the prose matches, whatever the case."""
        return re.search(pattern, self.prose, re.IGNORECASE) is not None


def own_returns(function: ast.FunctionDef) -> Iterator[ast.Return]:
    """The function's own return statements, not those of functions inside it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            continue
        if isinstance(node, ast.Return):
            yield node
        waiting += ast.iter_child_nodes(node)


def expression(source: str) -> ast.expr:
    """The tree of an expression."""
    return syntax.parse(source, mode="eval").body


# -------- The places of a program that words stand for: each function changes all that fit, and says how many.

_FLIPPED_EQUALITY: Mapping[type[ast.cmpop], type[ast.cmpop]] = {ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
_STRICTNESS: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
_ORDER: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.Gt: ast.Lt,
    ast.LtE: ast.GtE,
    ast.GtE: ast.LtE,
}
_EVEN = 2


def extremes(tree: ast.Module, forward: bool) -> int:
    """max and min, nlargest and nsmallest; the end of a sorted list; a search that begins with an element."""
    names = _table({"max": "min", "nlargest": "nsmallest"}, forward)
    loops = {id(node) for loop in _all(tree, ast.For, ast.While) for node in ast.walk(loop)}
    called = [one for one in _all(tree, ast.Call) if _callee(one) in {"max", "min", "nlargest", "nsmallest"}]
    if called:
        fits = [one for one in called if _callee(one) in names and not (len(one.args) > 1 and id(one) in loops)]
        if len(fits) != len(called) or _calls_itself(tree) or not all(_is_returned(tree, one) for one in fits):
            return 0
        return _rename_calls(fits, names)
    sorts = [one for one in _all(tree, ast.Call) if _callee(one) in {"sorted", "sort"}]
    if sorts:
        return _ends_of(tree, 0 if forward else -1) if len(sorts) == 1 and not _all(tree, ast.Compare) else 0
    return _search(tree, forward)


def _search(tree: ast.Module, forward: bool) -> int:
    """``if x > best: best = x`` where best began as an element."""
    found = 0
    compared = [one for one in _all(tree, ast.Compare) if type(one.ops[0]) in _ORDER]
    begun = {
        target.id
        for one in _all(tree, ast.Assign)
        if isinstance(one.value, ast.Subscript) and isinstance(one.value.slice, ast.Constant)
        for target in one.targets
        if isinstance(target, ast.Name)
    }
    for one in _all(tree, ast.If):
        match one:
            case ast.If(
                test=ast.Compare(left=left, ops=[op], comparators=[right]),
                body=[ast.Assign(targets=[target], value=value)],
            ) if len(compared) == 1 and type(op) in _ORDER:
                sides = {ast.unparse(left), ast.unparse(right)}
                if {ast.unparse(target), ast.unparse(value)} == sides and ast.unparse(target) in begun:
                    greater = isinstance(op, ast.Gt | ast.GtE) == (ast.unparse(target) == ast.unparse(right))
                    if greater == forward:
                        compared[0].ops = [_ORDER[type(op)]()]
                        found += 1
    return found


def order(tree: ast.Module, forward: bool) -> int:
    """``reverse=True`` of a sort comes or goes."""
    found = 0
    if any(_callee(one) in {"reversed", "reverse"} for one in _all(tree, ast.Call)):
        return 0
    for one in _all(tree, ast.Call):
        if _callee(one) not in {"sorted", "sort"}:
            continue
        if not _is_returned(tree, one) or any(given.arg is None for given in one.keywords):
            return 0
        reverse = [given for given in one.keywords if given.arg == "reverse"]
        if not reverse and forward:
            one.keywords.append(ast.keyword(arg="reverse", value=ast.Constant(True)))
        elif reverse and not forward:
            one.keywords.remove(reverse[0])
        else:
            return 0
        found += 1
    steps = [one for one in _all(tree, ast.Slice) if one.step is not None]
    return 0 if steps else found


def parity(tree: ast.Module, forward: bool) -> int:
    """A remainder by 2 that is compared or used as a condition; a slice of every second item."""
    found, used = 0, set()
    for one in _all(tree, ast.Compare):
        if _is_remainder(one.left) and len(one.ops) == 1 and type(one.ops[0]) in _FLIPPED_EQUALITY:
            one.ops = [_FLIPPED_EQUALITY[type(one.ops[0])]()]
            used.add(id(one.left))
            found += 1
    for test, put in _conditions(tree):
        if _is_remainder(test):
            put(ast.UnaryOp(ast.Not(), test))
            used.add(id(test))
            found += 1
    for one in _all(tree, ast.Slice):
        if isinstance(one.step, ast.Constant) and one.step.value == _EVEN:
            start = one.lower.value if isinstance(one.lower, ast.Constant) else 0
            one.lower = ast.Constant(1 - start) if start in {0, 1} else one.lower
            found += 1 if start in {0, 1} else _EVEN
    others = [one for one in _all(tree, ast.BinOp) if _is_remainder(one) and id(one) not in used]
    return found + len(others)


def boundary(tree: ast.Module, forward: bool) -> int:
    """The one comparison by order changes whether equality counts."""
    ordered = [one for one in _all(tree, ast.Compare) if any(type(op) in _STRICTNESS for op in one.ops)]
    if len(ordered) == 1 and len(ordered[0].ops) == 1:
        ordered[0].ops = [_STRICTNESS[type(ordered[0].ops[0])]()]
    return len(ordered) + sum(len(one.ops) - 1 for one in ordered)


def sign(tree: ast.Module, forward: bool) -> int:
    """``x > 0`` and ``x < 0``."""
    found = 0
    for one in _all(tree, ast.Compare):
        if any(isinstance(side, ast.Constant) and side.value == 0 for side in (one.left, *one.comparators)):
            strict = len(one.ops) == 1 and isinstance(one.ops[0], ast.Lt | ast.Gt)
            if strict and isinstance(one.ops[0], ast.Gt) == (
                forward == isinstance(one.comparators[0], ast.Constant)
            ):
                one.ops = [_ORDER[type(one.ops[0])]()]
                found += 1
            elif type(one.ops[0]) in _ORDER:
                return 0
    return found


def ends(tree: ast.Module, forward: bool) -> int:
    """``x[0]`` and ``x[-1]``; find and rfind; ``x[1:]`` and ``x[:-1]``."""
    found = _ends_of(tree, -1 if forward else 0) if not _all(tree, ast.For, ast.While) else 0
    found += _rename_calls(_all(tree, ast.Call), _table({"find": "rfind", "index": "rindex"}, forward))
    return found


def affix(tree: ast.Module, forward: bool) -> int:
    """startswith and endswith."""
    return _rename_calls(
        _all(tree, ast.Call), _table({"startswith": "endswith", "removeprefix": "removesuffix"}, forward)
    )


def letter_case(tree: ast.Module, forward: bool) -> int:
    """upper and lower, isupper and islower."""
    methods = {"upper", "lower", "isupper", "islower", "swapcase", "capitalize", "title"}
    if sum(_callee(one) in methods for one in _all(tree, ast.Call)) != 1:
        return 0
    return _rename_calls(_all(tree, ast.Call), _table({"upper": "lower", "isupper": "islower"}, forward))


def vowels(tree: ast.Module, forward: bool) -> int:
    """Membership in a text or list of vowels."""
    named = {
        target.id
        for one in _all(tree, ast.Assign)
        for target in one.targets
        if isinstance(target, ast.Name) and _is_vowels(one.value)
    }
    found = 0
    for one in _all(tree, ast.Compare):
        among = one.comparators[0]
        if isinstance(one.ops[0], ast.In) and (
            _is_vowels(among) or (isinstance(among, ast.Name) and among.id in named)
        ):
            one.ops = [ast.NotIn()]
            found += 1
    return found


def rounding(tree: ast.Module, forward: bool) -> int:
    """floor and ceil."""
    return _rename_calls(_all(tree, ast.Call), _table({"floor": "ceil"}, forward))


def quantifier(tree: ast.Module, forward: bool) -> int:
    """all and any."""
    called = [one for one in _all(tree, ast.Call) if _callee(one) in {"all", "any"}]
    return _rename_calls(called, {"all": "any"}) if len(called) == 1 else 0


def combination(tree: ast.Module, forward: bool) -> int:
    """sum and math.prod; a running total that begins with 0 and a running product that begins with 1."""
    summed = [one for one in _all(tree, ast.Call) if _callee(one) == "sum" and len(one.args) == 1]
    if any(isinstance(getattr(one.args[0], "elt", None), ast.Compare | ast.Constant) for one in summed):
        return 0  # it counts
    if summed:
        if not forward or len(summed) > 1 or _running(tree, ast.Add, 0) or not _is_returned(tree, summed[0]):
            return 0
        summed[0].func = expression("math.prod")
        tree.body.insert(0, ast.Import(names=[ast.alias(name="math")]))
        return 1
    operator, neutral, other, first = (ast.Add, 0, ast.Mult, 1) if forward else (ast.Mult, 1, ast.Add, 0)
    running = _running(tree, operator, neutral)
    constant = any(isinstance(step.value, ast.Constant) for _, step in running)
    if len(running) != 1 or constant:
        return 0
    begin, step = running[0]
    if not _is_returned(tree, begin.value):
        return 0
    begin.value, step.op = ast.Constant(first), other()
    return 1


def _running(
    tree: ast.Module, operator: type[ast.operator], neutral: int
) -> list[tuple[ast.Assign, ast.AugAssign]]:
    """Variables that begin with a number and are combined with further values."""
    steps = [one for one in _all(tree, ast.AugAssign) if isinstance(one.op, operator)]
    begun = [
        one
        for one in _all(tree, ast.Assign)
        if isinstance(one.value, ast.Constant) and type(one.value.value) is int and one.value.value == neutral
    ]
    return [
        (begin, step)
        for begin in begun
        for step in steps
        if len(begin.targets) == 1 and ast.unparse(begin.targets[0]) == ast.unparse(step.target)
    ]


def difference(tree: ast.Module, forward: bool) -> int:
    """The one subtraction."""
    found = [one for one in _all(tree, ast.BinOp) if isinstance(one.op, ast.Sub)]
    others = [one for one in _all(tree, ast.BinOp, ast.AugAssign) if one not in found]
    if len(found) != 1 or others or any(_callee(one) == "abs" for one in _all(tree, ast.Call)):
        return 0
    found[0].op = ast.Add()
    return 1


def power(tree: ast.Module, forward: bool) -> int:
    """``x ** 2`` and ``x ** 3``, also ``x * x``."""
    old, new = (2, 3) if forward else (3, 2)
    found = 0
    for one in _all(tree, ast.BinOp):
        if isinstance(one.op, ast.Pow) and isinstance(one.right, ast.Constant):
            if one.right.value != old:
                return 0
            one.right = ast.Constant(new)
            found += 1
        elif isinstance(one.op, ast.Mult) and ast.unparse(one.left) == ast.unparse(one.right) and forward:
            one.op, one.right = ast.Pow(), ast.Constant(new)
            found += 1
    return found


def constant(tree: ast.Module, value: int) -> int:
    """The number that stands in the program once becomes one larger; those that are indices do not fit."""
    indices = {id(one.slice) for one in _all(tree, ast.Subscript)}
    found = [one for one in _all(tree, ast.Constant) if type(one.value) is int and one.value == value]
    if len(found) == 1 and id(found[0]) not in indices:
        found[0].value = value + 1
        return 1
    return 0


# ---------------------------------------------------------------------------------------------------- parts


def _all(tree: ast.AST, *kinds: type) -> list[Any]:
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


def _callee(call: ast.Call) -> str:
    """The last part of the name of what is called."""
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def _is_returned(tree: ast.Module, node: ast.AST) -> bool:
    """Whether an expression is part of what is returned, or of a variable that is; ``x.sort()`` is of x."""
    returned = [inner for one in _all(tree, ast.Return, ast.Yield) for inner in ast.walk(one)]
    names = {one.id for one in returned if isinstance(one, ast.Name)}
    if any(one is node for one in returned):
        return True
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
    ):
        return node.func.value.id in names
    for one in _all(tree, ast.Assign, ast.AugAssign, ast.AnnAssign):
        if one.value is not None and any(inner is node for inner in ast.walk(one.value)):
            targets = one.targets if isinstance(one, ast.Assign) else [one.target]
            return any(inner.id in names for target in targets for inner in _all(target, ast.Name))
    return False


def _table(forth: Mapping[str, str], forward: bool) -> Mapping[str, str]:
    return forth if forward else {other: name for name, other in forth.items()}


def _rename_calls(calls: Iterable[ast.Call], names: Mapping[str, str]) -> int:
    found = 0
    for call in calls:
        if (name := _callee(call)) in names:
            if isinstance(call.func, ast.Name):
                call.func.id = names[name]
            elif isinstance(call.func, ast.Attribute):
                call.func.attr = names[name]
            found += 1
    return found


def _ends_of(tree: ast.Module, to: int) -> int:
    """Give the one index 0 or -1 the other value; slices that leave out an end count as well."""
    found = 0
    for one in _all(tree, ast.Subscript):
        text = ast.unparse(one.slice)
        if text in {"0", "-1"}:
            if text == str(to):
                return 0
            one.slice = expression(str(to))
            found += 1
        elif isinstance(one.slice, ast.Slice) and text in {"1:", ":-1"}:
            if text == (":-1" if to == -1 else "1:"):
                return 0
            one.slice = ast.Slice(upper=expression("-1")) if to == -1 else ast.Slice(lower=ast.Constant(1))
            found += 1
    return found


def _calls_itself(tree: ast.Module) -> bool:
    names = {one.name for one in _all(tree, ast.FunctionDef)}
    inside = [call for one in _all(tree, ast.FunctionDef) for call in _all(one, ast.Call)]
    return any(_callee(call) in names for call in inside)


def _is_remainder(node: ast.AST) -> bool:
    match node:
        case (
            ast.BinOp(op=ast.Mod(), right=ast.Constant(value=2))
            | ast.BinOp(op=ast.BitAnd(), right=ast.Constant(value=1))
        ):
            return True
    return False


def _conditions(tree: ast.Module) -> Iterator[tuple[ast.expr, Callable[[ast.expr], None]]]:
    """What is asked by statements, expressions and comprehensions, and how to put something in its place."""
    for one in _all(tree, ast.If, ast.IfExp, ast.While):
        yield one.test, partial(setattr, one, "test")
    for one in _all(tree, ast.UnaryOp):
        if isinstance(one.op, ast.Not):
            yield one.operand, partial(setattr, one, "operand")
    for one in _all(tree, ast.comprehension):
        if len(one.ifs) == 1:
            yield one.ifs[0], partial(one.ifs.__setitem__, 0)
    for one in _all(tree, ast.Lambda):
        yield one.body, partial(setattr, one, "body")


def _is_vowels(node: ast.AST) -> bool:
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        letters = [item.value for item in node.elts if isinstance(item, ast.Constant)]
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        letters = list(node.value)
    else:
        letters = []
    return {letter.lower() for letter in letters if isinstance(letter, str)} == set("aeiou")
