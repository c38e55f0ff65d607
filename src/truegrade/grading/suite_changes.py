"""Changes of an assertion by which a right program fails it: another value for one constant, or its opposite."""

from __future__ import annotations

import ast
import builtins
import random
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence

from truegrade.grading.suite_cases import Argument

RAISING = frozenset({"assertRaises", "assertRaisesRegex", "raises"})
"""What expects an exception: another type lets the exception through."""
EQUAL = frozenset(
    {
        *(
            "assertEqual",
            "assertEquals",
            "assertListEqual",
            "assertDictEqual",
            "assertTupleEqual",
            "assertSetEqual",
        ),
        *("assertCountEqual", "assertSequenceEqual", "assertMultiLineEqual", "assertIs"),
        *("assert_array_equal", "assert_equal"),
    }
)
NEARLY = frozenset(
    {
        *("assertAlmostEqual", "assertAlmostEquals", "assert_allclose", "assert_almost_equal"),
        *("assert_array_almost_equal", "assert_frame_equal", "assert_series_equal", "assert_index_equal"),
    }
)
OF_TWO = (
    EQUAL
    | NEARLY
    | {
        *("assertIn", "assertNotIn", "assertGreater", "assertGreaterEqual", "assertLess", "assertLessEqual"),
        *("assertNotEqual", "assertRegex", "assertIsInstance", "assertNotIsInstance", "assertIsNot"),
        "assertNotAlmostEqual",
    }
)
"""Assertions of two arguments; what follows them is a message or a tolerance."""
OPPOSITES = {
    "assertEqual": "assertNotEqual",
    "assertTrue": "assertFalse",
    "assertIn": "assertNotIn",
    "assertIs": "assertIsNot",
    "assertIsNone": "assertIsNotNone",
    "assertIsInstance": "assertNotIsInstance",
    "assertGreater": "assertLessEqual",
    "assertLess": "assertGreaterEqual",
    "assertAlmostEqual": "assertNotAlmostEqual",
    "assertRegex": "assertNotRegex",
    "assert_called": "assert_not_called",
    "assert_called_once": "assert_not_called",
}
OPPOSITES |= {after: before for before, after in OPPOSITES.items() if after != "assert_not_called"}
OPPOSITES["assert_not_called"] = "assert_called"
DECISIVE = frozenset({"assertTrue", "assertFalse", "assertIsNone", "assertIsNotNone"}) | {
    name for name in OPPOSITES if name.startswith("assert_")
}
"""Of these the opposite, too, no object can satisfy that satisfies the assertion as well: truth and identity."""
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
        cases: what parametrized tests are called with, by the parameter's name.
    """

    def __init__(
        self,
        scope: ast.FunctionDef | ast.AsyncFunctionDef,
        entry_points: frozenset[str],
        cases: Mapping[str, Sequence[Argument]],
    ) -> None:
        self._entry_points = entry_points
        own = {argument.arg for argument in (*scope.args.args, *scope.args.kwonlyargs)} - _handed_on(scope)
        self.cases = {name: values for name, values in cases.items() if name in own}
        """Of parameters of the function that it hands to no other, what they are in each case."""
        assigned = [
            node for node in ast.walk(scope) if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign)
        ]
        names = [node for node in ast.walk(scope) if isinstance(node, ast.Name)]
        self._tainted: set[str] = set()
        for _ in range(3):  # a name may get its value by way of two others
            self._taint(assigned)
        stored = [node.id for node in names if isinstance(node.ctx, ast.Store)]
        used = [node.id for node in names if isinstance(node.ctx, ast.Load)]
        self.bound: dict[str, ast.expr] = {
            node.targets[0].id: node.value
            for node in assigned
            if isinstance(node, ast.Assign)
            and len(node.targets) == 1
            and isinstance(node.targets[0], ast.Name)
            and stored.count(node.targets[0].id) == 1
        }
        """Names that are bound once."""
        self.literals: dict[str, ast.expr] = {
            name: value for name, value in self.bound.items() if used.count(name) == 1 and _is_literal(value)
        }
        """Those of them that are bound to a literal and used once."""
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


def _handed_on(scope: ast.AST) -> set[str]:
    """Names that a function hands to functions that are not built in."""
    return {
        one.id
        for node in ast.walk(scope)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not hasattr(builtins, node.func.id)
        for each in node.args
        for one in ast.walk(each)
        if isinstance(one, ast.Name)
    }


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


def _names_in(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


# -------------------------------------------------------------------------------------------------- changes

_Change = tuple[list[tuple[ast.expr, str]], bool]


def changes_of(
    node: ast.stmt, call: ast.Call | None, name: str, known: KnownNames, chance: random.Random
) -> Iterator[_Change]:
    """Changes of an assertion, best first, and whether each is decisive."""
    if call is not None and name in RAISING:
        # What is caught may be looked at later, and is not there if it went through.
        if not (isinstance(node, ast.With) and node.items[0].optional_vars):
            yield from _other_types(call.args[:1], EXCEPTIONS, chance)
        return
    judged = _judged(node, call, name)
    for kind in _types_asked(judged, name):
        yield from _other_types([kind], TYPES, chance)
    yield from _other_cases(judged, known, chance)
    equal = name in EQUAL or (len(judged) == 2 and name in {"", "assertTrue"})
    yield from _other_constants(judged, _tolerance(call), equal, known, chance)
    if (equal or name in NEARLY) and len(judged) == 2:
        yield from _shifted(judged, known, chance)
    yield from _negated(node, call, name)


def _judged(node: ast.stmt, call: ast.Call | None, name: str) -> list[ast.expr]:
    """The expressions that an assertion is about, both sides of an equation; no message, no tolerance."""
    if isinstance(node, ast.Assert):
        return _sides(node.test)
    if call is None:
        return []
    named = [one.value for one in call.keywords if one.arg in {"first", "second", "expr", "member", "container"}]
    if name in {"assertTrue", "assertFalse", "assertIsNone", "assertIsNotNone"}:
        whole = [*call.args[:1], *named]
        return _sides(whole[0]) if name == "assertTrue" and whole else whole
    if name in OF_TWO:
        return [*call.args[:2], *named]
    return [*call.args, *(one.value for one in call.keywords)]


def _sides(test: ast.expr) -> list[ast.expr]:
    equation = isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)
    return [test.left, test.comparators[0]] if isinstance(test, ast.Compare) and equation else [test]


def _types_asked(judged: list[ast.expr], name: str) -> Iterator[ast.expr]:
    """Types that an assertion compares with."""
    if name == "assertIsInstance":
        yield from judged[1:]
    for each in judged:
        for inner in ast.walk(each):
            if isinstance(inner, ast.Call) and called_name(inner) == "isinstance" and len(inner.args) == 2:
                yield inner.args[1]


def _other_types(nodes: Iterable[ast.expr], names: Iterable[str], chance: random.Random) -> Iterator[_Change]:
    for node in nodes:
        spoken = _names_in(node)
        others = [one for one in names if one not in spoken]
        for other in chance.sample(others, min(3, len(others))):
            yield [(node, other)], True


def _other_constants(
    judged: list[ast.expr], tolerance: float, equal: bool, known: KnownNames, chance: random.Random
) -> Iterator[_Change]:
    """Another value for one constant, out of what is expected first."""
    # What is expected stands second in most suites, and hardly ever has the program's name in it.
    order = judged[::-1]
    order.sort(key=known.is_programs)
    for each in order:
        constants = list(known.constants(each))
        exact = equal and "approx(" not in ast.unparse(each)
        for constant in chance.sample(constants, min(2, len(constants))):
            for other in _others(constant.value, tolerance, exact, chance):
                yield [(constant, other)], True


def _other_cases(judged: list[ast.expr], known: KnownNames, chance: random.Random) -> Iterator[_Change]:
    """Another value of a parameter in every case, so that a program that reads it reads the changed one."""
    for name in sorted(_names_in(ast.Tuple(judged, ast.Load())) & known.cases.keys()):
        cases = known.cases[name]
        changes = [(place, other) for place, value in cases for other in _other_value(value, chance)[:1]]
        if len(changes) == len(cases):
            # The first alone, where other assertions are about the other cases; else all of them.
            yield changes[:1], True
            yield changes, True


def _other_value(node: ast.expr, chance: random.Random) -> list[str]:
    """Source of a value unlike that of an expression, where its source says of which type it is."""
    written = ast.unparse(node)
    if isinstance(node, ast.Constant):
        return _others(node.value, 1.0, True, chance)
    if isinstance(node, ast.JoinedStr):
        return [f"({written}) + {chance.choice(string.ascii_lowercase)!r}"]
    if isinstance(node, ast.Dict):
        return [f"{{**({written}), 'name': {chance.randint(1, 9)}}}"]
    if isinstance(node, ast.List):
        return [f"[*({written}), {chance.randint(1, 9)}]"]
    return []


def _tolerance(call: ast.Call | None) -> float:
    """How far apart numbers may lie that the assertion calls equal, as far as the source says; at least 1."""
    named = {} if call is None else {one.arg: one.value for one in call.keywords}
    found = [
        one.value for name, one in named.items() if name in {"delta", "atol"} and isinstance(one, ast.Constant)
    ]
    return max([1.0, *(abs(float(value)) for value in found if isinstance(value, int | float))])


def _others(value: object, tolerance: float, exact: bool, chance: random.Random) -> list[str]:
    """Source of values that are unlike this one, and look as it does."""
    if isinstance(value, bool) or value is None:
        return [repr(not value)]
    if isinstance(value, int | float):
        whole = isinstance(value, int)
        least = chance.uniform(3, 9) * max(tolerance, abs(value) / 5 if abs(value) < 1e15 else 1)
        far = chance.uniform(11, 99) * 10 ** max(
            3, min(15, len(str(int(abs(value))) if abs(value) < 1e15 else ""))
        )
        if whole and exact:
            return [repr(value + chance.randint(1, 9)), repr(int(value + far)) if abs(value) < 1e15 else "-1"]
        steps = [round(value + step, 2) if abs(value) < 1e15 else 0.25 for step in (least, far, -far)]
        return [repr(int(step) if whole else step) for step in steps]
    if isinstance(value, str):
        return [repr(_other_text(value, chance))]
    return [repr(value + b"x")] if isinstance(value, bytes) else []


def _other_text(text: str, chance: random.Random) -> str:
    """The text with one of its letters or digits changed."""
    places = [place for place, sign in enumerate(text) if sign.isascii() and sign.isalnum()]
    if not places:
        return text + chance.choice(string.ascii_lowercase)
    place = chance.choice(places)
    kind = next(
        one for one in (string.digits, string.ascii_lowercase, string.ascii_uppercase) if text[place] in one
    )
    return text[:place] + chance.choice(kind.replace(text[place], "")) + text[place + 1 :]


_LARGER: Mapping[str, str] = {
    "dict": "{{**({0}), {1!r}: {2}}}",
    "list": "[*({0}), {2}]",
    "tuple": "(*({0}), {2})",
    "set": "{{*({0}), {2}}}",
    "str": "({0}) + {1!r}",
    "number": "({0}) + {2}",
}
"""By type, what differs from a value and is of its type."""
_TYPES_OF_NODES: Mapping[type[ast.expr], str] = {
    ast.Dict: "dict",
    ast.DictComp: "dict",
    ast.List: "list",
    ast.ListComp: "list",
    ast.Tuple: "tuple",
    ast.Set: "set",
    ast.SetComp: "set",
    ast.JoinedStr: "str",
}
_TYPES_OF_CALLS: Mapping[str, str] = {
    "dict": "dict",
    "Counter": "dict",
    "list": "list",
    "sorted": "list",
    "tuple": "tuple",
    "set": "set",
    "str": "str",
    "len": "number",
    "sum": "number",
    "int": "number",
    "float": "number",
    "round": "number",
}


def _type_of(node: ast.expr, known: KnownNames) -> str:
    """The type of an expression's value, where its source says it; empty where not."""
    if isinstance(node, ast.Name):
        node = known.bound.get(node.id, node)
    if isinstance(node, ast.Constant):
        return "str" if isinstance(node.value, str) else "number" if isinstance(node.value, int | float) else ""
    called = _TYPES_OF_CALLS.get(called_name(node), "") if isinstance(node, ast.Call) else ""
    return _TYPES_OF_NODES.get(type(node), called)


def _shifted(judged: list[ast.expr], known: KnownNames, chance: random.Random) -> Iterator[_Change]:
    """What is expected, where no constant of it can be changed, with a constant added or a part left out."""
    mine = [one for one in reversed(judged) if not known.is_programs(one)] or judged[1:]
    for node in mine[:1]:
        written = ast.unparse(node)
        if larger := _LARGER.get(_type_of(node, known)):
            letter = chance.choice(string.ascii_lowercase)
            yield [(node, larger.format(written, letter, chance.randint(101, 999)))], True
        for other in (f"({written}) + 3", f"({written}) + 'a'", f"({written})[1:]", f"not ({written})"):
            yield [(node, other)], True


def _negated(node: ast.stmt, call: ast.Call | None, name: str) -> Iterator[_Change]:
    if isinstance(node, ast.Assert):
        yield [(node.test, f"not ({ast.unparse(node.test)})")], not isinstance(node.test, ast.Compare)
    elif call is not None and isinstance(call.func, ast.Attribute) and name in OPPOSITES:
        other = f"{ast.unparse(call.func.value)}.{OPPOSITES[name]}"
        yield [(call.func, other)], name in DECISIVE
