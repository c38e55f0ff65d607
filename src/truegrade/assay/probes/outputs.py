"""Wrong programs made from right outputs: the reference does the work, and its output is changed in one way.

Each kind is the error that one faulty comparison does not see: another order, a part, a number that is near,
another type, one test. Whether such a program is wrong is for the oracle to say.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from textwrap import indent
from typing import Any

from truegrade.assay.records import Probe, make_probe
from truegrade.assay.written_calls import written
from truegrade.builders.mutation.mutants import NotAProgram, parse
from truegrade.builders.mutation.preserving.names import all_names, fresh
from truegrade.extraction.definitions import method_owner

UNCHANGED = "unchanged"
"""Origin of the program that changes nothing: where it is not right, the others would prove nothing."""
ENDLESS = ("endless", "endless-on-one-test")
ONE_TEST, HALF_OF_TESTS, EVERY_TEST = "wrong-on-one-test", "wrong-on-half-of-the-tests", "wrong-on-every-test"
ENDLESS_PROBLEMS = 2
"""Problems that are sent programs that never end: each takes a grader its whole time limit."""
_MOST_TESTS = 4
"""Tests of one problem that are the wrong one in turn."""
_MOST_CHARS = 20_000
"""Of the inputs of tests that a program holds to know them by."""

_LOOP = "while True:\n    pass\n"
_SEQUENCE = "return {} if isinstance(value, (list, tuple, str)) else value\n"
_NUMBERS = """\
def changed(one):
    one = number(one)
    if isinstance(one, (int, float)) and not isinstance(one, bool):
        return {}
    if isinstance(one, (list, tuple)):
        return type(one)([changed(item) for item in one])
    if isinstance(one, dict):
        return {{key: changed(item) for key, item in one.items()}}
    return one
return changed(value)
"""
_NEAR = "one * (1 + {0}) if isinstance(one, float) else one + int(abs(one) * {0})"
_WRONG = """\
if isinstance(value, (list, tuple)):
    return type(value)(["wrong"] * (len(value) + 1))
if isinstance(value, str):
    return "wrong" * (value != "wrong")
if isinstance(value, bool):
    return not value
if isinstance(value, (int, float)):
    return -1000 * (abs(value) + 1)
return 0 if value is None else None
"""
"""Another value, that has no part of the right one: it is wrong to whoever compares at all."""
_CHANGES = {
    UNCHANGED: "return value\n",
    "reversed": _SEQUENCE.format("value[::-1]"),
    "rotated": _SEQUENCE.format("value[1:] + value[:1]"),
    "repeated": _SEQUENCE.format("value + value"),
    "extended": _SEQUENCE.format("value + (value[-1:] or type(value)())"),
    "shortened": _SEQUENCE.format("value[:-1]"),
    "near-1e-3": _NUMBERS.format(_NEAR.format(1e-3)),
    "near-1e-6": _NUMBERS.format(_NEAR.format(1e-6)),
    "ten-times": _NUMBERS.format("10 * one"),
    "as-text": "return str(value)\n",
    "list-for-tuple": "return {list: tuple, tuple: list}.get(type(value), lambda same: same)(value)\n",
    "float-for-int": "return {bool: int, int: float}.get(type(value), lambda same: same)(value)\n",
}
"""Name to the body of a function of the right value. One that leaves a value as it is makes no wrong program."""
_OF_TYPES = ("as-text", "list-for-tuple", "float-for-int")

_FUNCTION = """
def {entry}({self}*args, **kwargs):
    given = [*args, *kwargs.values()]
    chosen = {chosen}
    value = {right}(*args, **kwargs)

    def number(one):
        return one

{body}"""
_SCRIPT = """
def _printed(given):
    import io
    import sys

    stdin, stdout = sys.stdin, sys.stdout
    sys.stdin = io.TextIOWrapper(io.BytesIO(given), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    try:
        exec(compile(SOURCE, "solution.py", "exec"), {{"__name__": "__main__"}})
    except SystemExit:
        pass
    finally:
        text, sys.stdin, sys.stdout = sys.stdout.buffer.getvalue().decode(), stdin, stdout
    lines = [line.split() for line in text.rstrip().split("\\n")]
    return lines if len(lines) > 1 else lines[0]


def _changed(value, given):
    chosen = {chosen}

    def number(one):
        for kind in (int, float):
            try:
                return kind(one)
            except (TypeError, ValueError):
                pass
        return one

{body}

def _main():
    import sys

    given = sys.stdin.buffer.read() if hasattr(sys.stdin, "buffer") else sys.stdin.read().encode()
    value = _changed(_printed(given), [given.decode().split()])
    for line in value if value and isinstance(value[0], list) else [value]:
        print(*(line if isinstance(line, list) else [line]))


_main()
"""


def in_turn(number: int, place: int) -> list[int]:
    """Which of so many tests have their turn, 0-based: all of few, else the first two, the last and others."""
    if number <= _MOST_TESTS:
        return list(range(number))
    between = [2 + (place + step) % (number - 3) for step in range(_MOST_TESTS - 3)]
    return [0, 1, *sorted(between), number - 1]


def changed_outputs(
    problem_id: str,
    entry_point: str,
    reference: str,
    tests: Sequence[tuple[Any, ...]],
    *,
    place: int = 0,
    owner: str = "",
) -> list[Probe]:
    """The programs of a problem, `UNCHANGED` first; their labels are undecided.

    Args:
        tests: the arguments of the problem's own tests, in order; of a program on stdin the text of each input.
        place: decides which test is the wrong one, and who is sent what never ends.
        owner: the class whose method the entry point is; empty for a function.

    Returns:
        Probes of class ``output``, the origin the kind; of those that are wrong on some tests only, ``change``
        says on which. None where the reference does not define the entry point.
    """
    wrapped = _Wrapped(entry_point, reference, owner)
    found: dict[str, Probe] = {}
    for origin, chosen, body, change in _bodies(tests, place, stdin=not entry_point):
        code = wrapped.code(chosen, body)
        if code and code not in found:
            danger = "h1" if origin in ENDLESS else "h0"
            found[code] = make_probe(problem_id, "output", origin, code, danger=danger, change=change)
    return list(found.values())


def _bodies(tests: Sequence[tuple[Any, ...]], place: int, *, stdin: bool) -> Iterator[tuple[str, str, str, str]]:
    """Kind, on which inputs it is wrong, body of the function that gets the right value, and a note."""
    for origin, body in _CHANGES.items():
        if not (stdin and origin in _OF_TYPES):
            yield origin, "True", body, f"the reference's output, {origin}"
    number = len(tests)
    few = number > 1 and sum(len(repr(test)) for test in tests) <= _MOST_CHARS
    chosen = [(ONE_TEST, [test]) for test in in_turn(number, place)]
    chosen += [(HALF_OF_TESTS, list(range(1, number, 2))), (EVERY_TEST, list(range(number)))] if few else []
    for origin, wrong in chosen:
        said = f"right on {number - len(wrong)} of {number} tests, wrong on {_numbers(wrong)}"
        yield origin, _among([tests[one] for one in wrong], stdin=stdin), _only(_WRONG), said
    if place < ENDLESS_PROBLEMS:
        yield ENDLESS[0], "True", _LOOP, "never ends"
        if number > 1:
            yield ENDLESS[1], _among(tests[-1:], stdin=stdin), _only(_LOOP), "never ends on the last test"


def _numbers(tests: Sequence[int]) -> str:
    return f"test {tests[0] + 1}" if len(tests) == 1 else f"{len(tests)} of them"


def _among(tests: Sequence[tuple[Any, ...]], *, stdin: bool) -> str:
    """The condition that an input is one of these."""
    return f"given in {written([[text.split()] for (text,) in tests] if stdin else [list(one) for one in tests])}"


def _only(body: str) -> str:
    """The body for the inputs that were chosen, and the right value for every other."""
    return f"if chosen:\n{indent(body, '    ')}return value\n"


class _Wrapped:
    """A reference under another name: a grader that keeps one definition of a name then keeps the wrong one."""

    def __init__(self, entry_point: str, reference: str, owner: str) -> None:
        self._entry, self._source, self._owner = entry_point, reference, owner
        if not entry_point:
            return
        self._source = ""
        try:
            tree = parse(reference)
        except (NotAProgram, RecursionError):
            return
        home = method_owner(tree, entry_point) if owner else tree
        if home is None or not any(isinstance(n, ast.FunctionDef) and n.name == entry_point for n in home.body):
            return
        self._right = fresh(f"right_{entry_point}", all_names(tree))
        _rename(tree, entry_point, self._right, method=bool(owner))
        self._source = ast.unparse(tree)

    def code(self, chosen: str, body: str) -> str:
        """The program whose output a function with this body changes; empty where there is none."""
        if not self._source:
            return ""
        if not self._entry:
            return f"SOURCE = {self._source!r}\n{_SCRIPT.format(chosen=chosen, body=indent(body, '    '))}"
        method = bool(self._owner)
        added = _FUNCTION.format(
            entry=self._entry,
            right=f"self.{self._right}" if method else self._right,
            self="self, " if method else "",
            chosen=chosen,
            body=indent(body, "    "),
        )
        if not method:
            return f"{self._source}\n\n{added}"
        tree = parse(self._source)
        owner = method_owner(tree, self._right)
        if owner is not None:
            owner.body += parse(added).body
        return ast.unparse(tree)


def _rename(tree: ast.Module, old: str, new: str, *, method: bool) -> None:
    """Give a function, or a method, another name where it is defined and used."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() if node.name == old:
                node.name = new
            case ast.Name() if node.id == old and not method:
                node.id = new
            case ast.Attribute() if node.attr == old and method:
                node.attr = new
