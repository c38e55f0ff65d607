"""What the tests of a function do with values, as far as their source shows: execute them, look at more of them
than what is in them when they cross, or compare what a call changed with what no call had a hand in."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from truegrade.grading.programs import statements
from truegrade.patterns import pattern

_EXECUTES = pattern(
    r"\b(?:pickle|cPickle|dill|joblib|shelve|marshal|read_pickle|allow_pickle|importlib|runpy|subprocess|ctypes"
    r"|exec|eval|compile|__import__|system|popen|spawn\w*|read_hdf|HDFStore|full_load|load_model|extractall"
    r"|unpack_archive|timeit|cProfile|numexpr|sympify|parse_expr|lambdify|jinja2)\b"
    r"|\.query\(|\byaml\.(?:unsafe_load|load)\b|\bsys\.(?:path|modules)\b"
)
_CHANGES = frozenset(
    (
        *("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "update", "add", "discard"),
        *("setdefault", "popitem", "appendleft", "popleft", "fill"),
    )
)
"""Methods that change the value that has them."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_REPEATS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.Lambda
_BRANCHES = ast.If | ast.While | ast.For | ast.AsyncFor | ast.Match | ast.IfExp | ast.BoolOp
_CATCHES = ast.Try | ast.TryStar | ast.With | ast.AsyncWith
_SHOWN = frozenset({"list", "tuple", "sorted", "len", "dict", "set", "str", "sum"})
"""What shows a value, or says one thing of it, without a comparison."""
_SHOWS = (
    *(ast.Name, ast.Constant, ast.Subscript, ast.Slice, ast.Attribute, ast.Tuple, ast.List, ast.Call),
    *(ast.UnaryOp, ast.USub, ast.Load),
)


@lru_cache(256)
def may_execute(tests: str) -> bool:
    """Whether tests might run what the program wrote or returned: nothing of it may in the judge's process."""
    return _EXECUTES.search(tests) is not None


@lru_cache(256)
def look_at_values(tests: str, entry_point: str) -> bool:
    """Whether tests see more of a value than what is in it when it crosses: whether it is another one, what became
    of an argument, what changes with it, or what became of a result by a later call."""
    return _Reading(tests, entry_point).looks()


@lru_cache(256)
def compare_with_the_given(tests: str, entry_point: str) -> bool:
    """Whether all that tests read of an argument is compared, in an ``assert ... ==`` that is always reached, with
    what neither argument nor result has a part in: no program can change what is expected."""
    return _Reading(tests, entry_point).compares_with_the_given()


class _Reading:
    """Tests, and which of their names stand for the program, for its arguments, and for what came of either."""

    def __init__(self, tests: str, entry_point: str) -> None:
        self.tree = ast.Module(statements(tests), [])
        self.nodes = list(ast.walk(self.tree))
        self.callers = self._callers(entry_point)
        self.given: set[str] = set()
        """Names of arguments, and of what an argument is an item of."""
        self.giving: set[int] = set()
        """Ids of the nodes that give them, or take them out of something."""
        for node in self.nodes:
            if self._is_call(node):
                self._give(each for part in ast.iter_child_nodes(node) for each in ast.walk(part))
        while self._follow():
            continue

    def _callers(self, entry_point: str) -> frozenset[str]:
        """Names whose call is one of the program, or holds some."""
        found = {entry_point, "candidate"}
        for node in self.nodes:
            if isinstance(node, _Function):  # a parameter that is called
                own = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
                called = (each.func for each in ast.walk(node) if isinstance(each, ast.Call))
                found |= own & {each.id for each in called if isinstance(each, ast.Name)}
        before = 0
        while before != len(found):
            before = len(found)
            for node in self.nodes:
                names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and names & found:
                    found.add(node.name)
                if (
                    isinstance(node, ast.Assign)
                    and isinstance(node.value, ast.Name | ast.Lambda)
                    and names & found
                ):
                    found |= {one.id for one in node.targets if isinstance(one, ast.Name)}
        return frozenset(found)

    def _is_call(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in self.callers

    def _give(self, nodes: Iterator[ast.AST]) -> None:
        names = [each for each in nodes if isinstance(each, ast.Name) and each.id not in self.callers]
        self.given.update(each.id for each in names)
        self.giving.update(map(id, names))

    def _follow(self) -> bool:
        """Take other names of what is given, and all that it is made of, for given too; whether there was more."""
        before = len(self.given), len(self.giving)
        for node in self.nodes:
            if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
                targets, source = [node.target], node.iter
            elif isinstance(node, ast.Assign):
                targets, source = node.targets, node.value
            else:
                continue
            if self._names(*targets) & self.given:
                self.given.update(one.id for one in targets if isinstance(one, ast.Name))
                self._give(ast.walk(source))
        return before != (len(self.given), len(self.giving))

    @staticmethod
    def _names(*nodes: ast.AST) -> set[str]:
        return {each.id for node in nodes for each in ast.walk(node) if isinstance(each, ast.Name)}

    # ------------------------------------------------------------------------------------------------ what is seen

    def looks(self) -> bool:
        """See `look_at_values`."""
        if any(self._sees(node) for node in self.nodes if id(node) not in self.giving):
            return True
        return self._keeps(self.tree.body)

    def _sees(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Name):
            return isinstance(node.ctx, ast.Load) and node.id in self.given
        if isinstance(node, ast.Compare):
            plain = any(isinstance(one, ast.Constant) for one in (node.left, *node.comparators))
            return not plain and any(isinstance(one, ast.Is | ast.IsNot) for one in node.ops)
        if isinstance(node, ast.Subscript):
            return not isinstance(node.ctx, ast.Load)
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGES

    def _keeps(self, body: list[ast.stmt]) -> bool:
        """Whether a result is there while a later call is made, by the statements of one scope in their order."""
        kept = False
        for node, repeated in _in_order(body, False):
            if isinstance(node, _Function):
                inner: list[ast.stmt] = [ast.Expr(node.body)] if isinstance(node, ast.Lambda) else node.body
                if self._keeps(inner):
                    return True
            parts = _own_parts(node)
            calls = sum(map(self._calls, parts))
            if calls > 1 or (calls and kept):
                return True
            if calls and self._is_kept(node, parts):
                kept = True
                if repeated:
                    return True
        return False

    def _calls(self, node: ast.AST) -> int:
        """How many calls of the program an expression makes, more than one counted as two."""
        if isinstance(node, ast.Name):
            return 2 * (node.id in self.callers and isinstance(node.ctx, ast.Load))
        inner: list[ast.AST] = list(ast.iter_child_nodes(node))
        if self._is_call(node):
            given = [one for one in inner if not (isinstance(one, ast.Name) and one.id in self.callers)]
            return 1 + sum(map(self._calls, given))
        return sum(map(self._calls, inner)) * (2 if isinstance(node, _REPEATS) else 1)

    def _is_kept(self, node: ast.AST, parts: list[ast.AST]) -> bool:
        """Whether the result of a statement's call may be there when the statement is over."""
        if any(
            isinstance(each, ast.NamedExpr | ast.Yield | ast.YieldFrom) for one in parts for each in ast.walk(one)
        ):
            return True
        if isinstance(node, ast.Expr):
            asked = node.value.func if isinstance(node.value, ast.Call) else None
            name = getattr(asked, "attr", getattr(asked, "id", ""))
            return not (self._is_call(node.value) or name.startswith("assert") or name == "print")
        return not isinstance(node, ast.Assert | ast.If | ast.While | ast.Return | ast.Raise)

    # ------------------------------------------------------------------------------------- what it is held against

    def compares_with_the_given(self) -> bool:
        """See `compare_with_the_given`."""
        moved = self._moved()

        def hangs(node: ast.AST) -> bool:
            return bool(self._names(node) & moved) or self._calls(node) > 0

        sound: set[int] = set()
        for node in self.nodes:
            if isinstance(node, _BRANCHES | ast.comprehension) and any(map(hangs, _own_parts(node))):
                return False
            if isinstance(node, _CATCHES) and any(isinstance(each, ast.Assert) for each in ast.walk(node)):
                return False
            test = node.test if isinstance(node, ast.Assert) else None
            if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
                sides = [test.left, *test.comparators]
                if any(not hangs(one) for one in sides) and all(not hangs(one) or _shows(one) for one in sides):
                    sound.update(map(id, ast.walk(test)))
        return not any(self._sees(node) for node in self.nodes if id(node) not in sound | self.giving)

    def _moved(self) -> set[str]:
        """Names of arguments, and of all that is made of those or of a result."""
        moved, before = set(self.given), -1
        while before != len(moved):
            before = len(moved)
            for node in self.nodes:
                if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.NamedExpr) and node.value:
                    made = self._names(node.value) & moved or self._calls(node.value)
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    moved |= self._names(*targets) if made else set()
        return moved - self.callers


def _in_order(body: list[ast.stmt], repeated: bool) -> Iterator[tuple[ast.AST, bool]]:
    """The statements of a scope as they are written, and whether a loop repeats them; functions without theirs."""
    for node in body:
        yield node, repeated
        for part in _own_parts(node):
            yield from ((each, repeated) for each in ast.walk(part) if isinstance(each, ast.Lambda))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        again = repeated or isinstance(node, ast.For | ast.AsyncFor | ast.While)
        for name in ("body", "handlers", "cases", "orelse", "finalbody"):
            for each in getattr(node, name, ()):
                inner = [each] if isinstance(each, ast.stmt) else each.body
                yield from _in_order(inner, again)


def _own_parts(node: ast.AST) -> list[ast.AST]:
    """The expressions of a node, without the statements in it, the body of a lambda, and what a failure says."""
    if isinstance(node, ast.Lambda | ast.Assert):
        return [node.args if isinstance(node, ast.Lambda) else node.test]
    parts = ast.iter_child_nodes(node)
    return [one for one in parts if not isinstance(one, ast.stmt | ast.ExceptHandler | ast.match_case)]


def _shows(node: ast.AST) -> bool:
    """Whether an expression shows values without comparing them with each other."""
    called = (each.func for each in ast.walk(node) if isinstance(each, ast.Call))
    return all(isinstance(each, _SHOWS) for each in ast.walk(node)) and all(
        isinstance(each, ast.Name) and each.id in _SHOWN for each in called
    )
