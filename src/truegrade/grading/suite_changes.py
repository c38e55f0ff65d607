"""Which constants of an assertion may be changed: what a value of the program is compared with."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from truegrade.grading.suite_versions import Changeable, parts

RAISING = frozenset({"assertRaises", "assertRaisesRegex", "raises"})
"""What expects an exception: another type lets the exception through."""
EXACT = frozenset({
    "assertEqual", "assertEquals", "assertListEqual", "assertDictEqual", "assertTupleEqual",
    "assertSetEqual", "assertCountEqual", "assertSequenceEqual", "assertMultiLineEqual", "assertIs",
    "assert_array_equal", "assert_equal", "assertAlmostEqual", "assertAlmostEquals", "assert_allclose",
    "assert_almost_equal", "assert_array_almost_equal", "assert_frame_equal", "assert_series_equal",
    "assert_index_equal", "assertIn",
})  # fmt: skip
"""Assertions of two arguments that ask for a value."""
OF_TWO = EXACT | frozenset({
    "assertNotIn", "assertGreater", "assertGreaterEqual", "assertLess", "assertLessEqual", "assertNotEqual",
    "assertRegex", "assertIsInstance", "assertNotIsInstance", "assertIsNot", "assertNotAlmostEqual",
})  # fmt: skip
"""Assertions of two arguments; what follows them is a message or a tolerance."""
CALLED = frozenset({"assert_called_with", "assert_called_once_with"})
PREDICATES = frozenset({"assertTrue", "assertFalse", "assertIsNone", "assertIsNotNone"})
"""Decided by one value, whose opposite says nothing: whoever replaces what is asked has no need to know it."""
TYPES = ("int", "str", "list", "dict", "float", "tuple", "set")
EXCEPTIONS = ("TypeError", "ValueError", "KeyError", "IndexError", "ZeroDivisionError", "RecursionError")


def called_name(call: ast.Call | None) -> str:
    """The last part of the name that is called."""
    function = None if call is None else call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


class KnownNames:
    """What a function's source says about its names.

    Args:
        scope: the function.
        entry_points: names that stand for the program.
    """

    def __init__(self, scope: ast.FunctionDef | ast.AsyncFunctionDef, entry_points: frozenset[str]) -> None:
        self._entry_points = entry_points
        assigned = [
            node for node in ast.walk(scope) if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign)
        ]
        names = [node for node in ast.walk(scope) if isinstance(node, ast.Name)]
        self._tainted: set[str] = set()
        for _ in range(3):  # a name may get its value by way of two others
            self._taint(assigned)
        stored = [node.id for node in names if isinstance(node.ctx, ast.Store)]
        used = [node.id for node in names if isinstance(node.ctx, ast.Load)]
        self.literals: dict[str, ast.expr] = {
            node.targets[0].id: node.value
            for node in assigned
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and stored.count(node.targets[0].id) == used.count(node.targets[0].id) == 1
            and _is_literal(node.value)
        }
        """Names that are bound once, to a literal, and used once."""
        self._instances = {
            target.id
            for node in assigned
            if isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and self._is_class(node.value.func)
            for target in node.targets
            if isinstance(target, ast.Name)
        }

    def _taint(self, assigned: Iterable[ast.Assign | ast.AnnAssign | ast.AugAssign]) -> None:
        """Note the names that are given values of the program's."""
        for node in assigned:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if node.value is not None and self.is_programs(node.value):
                self._tainted.update(
                    one.id
                    for each in targets
                    for one in ast.walk(each)
                    if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
                )

    def is_programs(self, node: ast.AST) -> bool:
        """Whether an expression's value comes from the program, as far as the source shows."""
        return any(
            (isinstance(one, ast.Name) and (one.id in self._entry_points or one.id in self._tainted))
            or (isinstance(one, ast.Attribute) and _is_own(one))
            for one in ast.walk(node)
        )

    def _is_class(self, function: ast.expr) -> bool:
        """Whether it is a class of the program, by its spelling."""
        return self.is_programs(function) and ast.unparse(function).rpartition(".")[2][:1].isupper()

    def _is_given(self, function: ast.expr) -> bool:
        """Whether a call hands its arguments to the program: not so methods of what a function has returned."""
        while isinstance(function, ast.Attribute):
            if _is_own(function):
                return True
            function = function.value
        if isinstance(function, ast.Call):
            return self._is_class(function.func)
        return isinstance(function, ast.Name) and function.id in self._entry_points | self._instances

    def constants(self, node: ast.AST) -> Iterator[ast.Constant]:
        """Constants of an expression and of the names in it, none of which the program is given."""
        if isinstance(node, ast.Constant):
            yield node
        elif isinstance(node, ast.Name) and node.id in self.literals:
            yield from (one for one in ast.walk(self.literals[node.id]) if isinstance(one, ast.Constant))
        elif isinstance(node, ast.Call) and self._is_given(node.func):
            return
        elif not isinstance(node, ast.JoinedStr):
            for child in ast.iter_child_nodes(node):
                yield from self.constants(child)


def _is_own(node: ast.Attribute) -> bool:
    """Whether it is ``self.name``, and no assertion."""
    owner = isinstance(node.value, ast.Name) and node.value.id == "self"
    return owner and not node.attr.startswith("assert")


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, MemoryError, RecursionError):
        return False
    return True


# -------------------------------------------------------------------------------------------------- choices


def choices_of(
    node: ast.stmt, call: ast.Call | None, name: str, known: KnownNames, place: Mapping[int, int]
) -> list[Changeable]:
    """What of an assertion can be changed, best first: values it calls equal, else bounds and types.

    Args:
        node: the assertion.
        call: what it calls.
        name: the last part of its name.
        known: names of the function that it stands in.
        place: of each node by its identity.
    """
    if call is not None and name in RAISING:
        # What is caught may be looked at later, and is not there if it went through.
        bound = isinstance(node, ast.With) and node.items[0].optional_vars
        return [] if bound else list(_types(call.args[:1], EXCEPTIONS, place))
    judged = _judged(node, call, name)
    # What is expected stands second in most suites, and hardly ever has the program's name in it.
    order = sorted(judged, key=lambda one: (known.is_programs(one), -judged.index(one)))
    exact, series = _is_exact(node, call, name), {id(one) for each in order for one in _in_series(each, known)}
    found = [
        part
        for each in order
        for one in known.constants(each)
        for part in parts(place[id(one)], one.value, counted=exact and id(one) not in series)
    ]
    return [*found, *(_types(judged[1:], TYPES, place) if name == "assertIsInstance" else ())]


def _judged(node: ast.stmt, call: ast.Call | None, name: str) -> list[ast.expr]:
    """The expressions that an assertion is about, the sides of a comparison; none where it is a predicate."""
    if isinstance(node, ast.Assert):
        return _sides(node.test)
    if call is None or name in PREDICATES:
        return _sides(call.args[0]) if call is not None and name == "assertTrue" and call.args else []
    named = [one.value for one in call.keywords if one.arg in {"first", "second", "member", "container"}]
    if name in OF_TWO:
        return [*call.args[:2], *named]
    return [*call.args, *(one.value for one in call.keywords)]


def _sides(test: ast.expr) -> list[ast.expr]:
    return [test.left, *test.comparators] if isinstance(test, ast.Compare) else []


def _types(nodes: Iterable[ast.expr], names: tuple[str, ...], place: Mapping[int, int]) -> Iterator[Changeable]:
    for node in nodes:
        written = ast.unparse(node)
        for other in names if written in names else ():
            if other != written:
                yield Changeable(place[id(node)], written, others=(other,), counted=False)


def _is_exact(node: ast.stmt, call: ast.Call | None, name: str) -> bool:
    """Whether an assertion asks for a value: of a bound the original is the largest or smallest that is shown."""
    test = node.test if isinstance(node, ast.Assert) else call.args[0] if call is not None and call.args else None
    if isinstance(node, ast.Assert) or name == "assertTrue":
        return isinstance(test, ast.Compare) and all(isinstance(one, ast.Eq | ast.In) for one in test.ops)
    return name in EXACT | CALLED


def _in_series(node: ast.expr, known: KnownNames) -> Iterator[ast.expr]:
    """Numbers that stand with others in a list or tuple: of a series one can tell which number is out of line."""
    bound = [
        known.literals[one.id] for one in ast.walk(node) if isinstance(one, ast.Name) and one.id in known.literals
    ]
    for each in (one for root in (node, *bound) for one in ast.walk(root)):
        if isinstance(each, ast.List | ast.Tuple) and len(each.elts) > 2:
            yield from (
                one for one in each.elts if isinstance(one, ast.Constant) and not isinstance(one.value, str)
            )
