"""Which constants of an assertion may be changed, and into what, unseen by a program.

Values fall into disjoint blocks; which block a value is in depends on nothing but the value and the rest of the
suite, and is the same for every value of it. So if the values of a block are equally likely to be expected, all
versions that are ever shown tell nothing of the original, and two assertions show the same versions or none in
common. What is changed is one number of one or two digits or one digit of a longer one, or one word of a text. A
block holds values alike in whether the suite has them elsewhere, unchanged, and in how often such values are
expected (`_SMALL`). Versions of other kinds (truth, types, words that are in no list) are shown as well, and no
chance is counted for them.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise

import msgspec

MOST_VERSIONS = 4
"""Of a constant, the original among them: there are as many control runs."""
_SMALL = ("01", "235", "46789")
"""Numbers of one digit, those together that suites expect about equally often (BigCodeBench, ClassEval)."""
_DIGITS = ("125", "346", "789")
"""The same for the last digits but zeros of longer numbers."""
_TOKEN = re.compile(r"[A-Za-z]+|\d+(?:\.\d+)?")


class Versions(msgspec.Struct, frozen=True, array_like=True):
    """What a constant may be replaced by."""

    sources: tuple[str, ...]
    original: int
    """Which of them is no change."""
    block: str
    """Blocks with the same name hold the same values; empty where no chance is counted."""


class Changeable(msgspec.Struct, frozen=True):
    """A constant of an assertion, or a part of it, that can be changed."""

    place: int
    value: bool | int | float | str
    part: int = 0
    """Of a text: which of its words and numbers."""
    counted: bool = True
    """Whether its versions are alike, so that there is a chance to count."""
    others: tuple[str, ...] = ()
    """Sources that take the place of the source ``value``, where it is a name and no constant."""


class Elsewhere:
    """Words and numbers that a suite and its task hold in places that are not changed.

    Args:
        suite: words and numbers in constants of the suite, each with the functions in which it is found.
        told: what a program's author was told.
    """

    def __init__(self, suite: Mapping[str, Collection[str]], told: str) -> None:
        self._suite = {token: frozenset(where) for token, where in suite.items()}
        self._told = frozenset(tokens(told))

    def status(self, token: str) -> tuple[frozenset[str], bool]:
        """Where else it is found: in which functions of the suite, and whether in what the author was told."""
        return self._suite.get(token, frozenset()), token in self._told

    def words(self) -> list[str]:
        """The words of the suite."""
        return [one for one in self._suite if one.isalpha()]


def tokens(text: str) -> list[str]:
    """Words, in small letters, and numbers of a text."""
    return [_plain(one) for one in _TOKEN.findall(text)]


def parts(place: int, value: object, *, counted: bool) -> Iterator[Changeable]:
    """What of a constant can be changed."""
    if isinstance(value, str):
        for number in range(min(8, len(_TOKEN.findall(value)))):
            yield Changeable(place, value, number, counted)
    elif isinstance(value, bool | int | float) and (isinstance(value, bool) or _stem(value)):
        yield Changeable(place, value, 0, counted and not isinstance(value, bool))


def tokens_of(value: object, changed: Collection[int] = ()) -> Iterator[str]:
    """Words and numbers in a constant, but for parts that are changed."""
    if isinstance(value, str):
        yield from (one for number, one in enumerate(tokens(value)) if number not in changed)
    elif isinstance(value, int | float) and not isinstance(value, bool) and 0 not in changed:
        yield _stem(value)


def versions_of(choice: Changeable, elsewhere: Elsewhere) -> Versions:
    """The versions of what was chosen, two or more."""
    value = choice.value
    if choice.others or isinstance(value, bool):
        return _versions(str(value), [str(value), *(choice.others or (str(not value),))], "")
    if isinstance(value, str):
        found = list(_TOKEN.finditer(value))[choice.part]
        token, before, after = found[0], value[: found.start()], value[found.end() :]
        block, name = _words(token, elsewhere) if token.isalpha() else _numbers(token, elsewhere)
        return _versions(repr(value), [repr(f"{before}{one}{after}") for one in block], name * choice.counted)
    stem = _stem(value)
    ending = repr(value)[len(stem) :]
    block, name = _numbers(stem, elsewhere)
    return _versions(repr(value), [f"{one}{ending}" for one in block], name * choice.counted)


def _versions(original: str, sources: list[str], block: str) -> Versions:
    return Versions(tuple(sources), sources.index(original), block)


def _stem(number: float) -> str:
    """A number as it is written, without ``.0`` or an exponent; empty where it is not finite."""
    return re.sub(r"\.0$", "", repr(number).partition("e")[0]) if abs(number) < float("inf") else ""


def _plain(token: str) -> str:
    return token.lower() if token.isalpha() else token.removesuffix(".0")


def _numbers(token: str, elsewhere: Elsewhere) -> tuple[list[str], str]:
    """The block of a number: its last digit of the first three that are not 0 is changed."""
    small = next((row for row in _SMALL if token in row and len(token) == 1), "")
    digits = [place for place, sign in enumerate(token) if sign in "123456789"][:3]
    place = digits[-1] if digits else 0
    row = next((row for row in _DIGITS if token[place] in row), "0123456789")
    family = list(small) or [f"{token[:place]}{digit}{token[place + 1 :]}" for digit in row]
    alike = [one for one in family if elsewhere.status(_plain(one)) == elsewhere.status(_plain(token))]
    block = _block(alike, token)
    return (block, _name(block)) if len(block) > 1 else (_block(family, token), "")


def _words(token: str, elsewhere: Elsewhere) -> tuple[list[str], str]:
    """The block of a word: of those of the suite, or of words of its length; else one letter is changed."""
    word = token.lower()
    known, told = elsewhere.status(word)
    if known:  # in the same functions as the others, since what is expected of a function is often given to it
        family = elsewhere.words()
    else:
        family = [one for one in _dictionary() if len(one) == len(word) and not any(elsewhere.status(one))]
    styled = next((how for how in (str.lower, str.upper, str.title) if how(word) == token), None)
    if styled is not None and word in family and len(word) > 1 and not (told and not known):
        alike = [one for one in family if elsewhere.status(one) == (known, told)]
        block = _block(alike, word)
        if len(block) > 1:
            return [styled(one) for one in block], _name(block)
    first, rest = token[:1], token[1:]
    row = "abcdefghijklmnopqrstuvwxyz"
    return _block([f"{one}{rest}" for one in (row if first.islower() else row.upper())], token), ""


def _block(values: Iterable[str], token: str) -> list[str]:
    """Those of some values that stand together with one of them, four or fewer."""
    order = sorted(set(values), key=lambda one: (len(one), hashlib.sha256(one.encode()).digest()))
    count, place = -(-len(order) // MOST_VERSIONS), order.index(token)
    bounds = [len(order) * number // count for number in range(count + 1)]
    return next(order[low:high] for low, high in pairwise(bounds) if low <= place < high)


def _name(block: Iterable[str]) -> str:
    return " ".join(sorted(_plain(one) for one in block))


@cache
def _dictionary() -> frozenset[str]:
    """Words of Python's own documentation: a list that is everywhere where Python is."""
    from pydoc_data.topics import topics  # large, and few commands need it

    return frozenset(re.findall(r"\b[a-z]{2,}\b", " ".join(topics.values())))


def literals(tree: ast.AST) -> Iterator[ast.Constant]:
    """Constants of a module but for its docstrings."""
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in told)


# --------------- Which constants of an assertion may be changed: what a value of the program is compared with.

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
    judged = _asserted_expressions(node, call, name)
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


def _asserted_expressions(node: ast.stmt, call: ast.Call | None, name: str) -> list[ast.expr]:
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
