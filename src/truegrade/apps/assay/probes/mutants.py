"""Wrong programs made by rule: a reference with one change or two, or with its output changed.

Whether a mutant is wrong is for the oracle to say; here it is only known to be another program. Programs are
written in normal form (`truegrade.builders.mutation.mutants.normalised`), without comments.
"""

from __future__ import annotations

import ast
import dis
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from textwrap import indent
from types import CodeType
from typing import Any

from truegrade.apps.assay.answers import written
from truegrade.apps.assay.records import Probe, make_probe
from truegrade.builders.mutation.mutants import (
    Mutant,
    MutationOptions,
    NotAProgram,
    ProgramChange,
    Text,
    changes_of,
    normalised,
    parse,
    rewritten,
)
from truegrade.builders.mutation.operators import OPERATORS, WIDER_OPERATORS
from truegrade.builders.mutation.preserving import all_names, fresh
from truegrade.extraction.definitions import method_owner
from truegrade.extraction.parsing import quietly
from truegrade.files import syntax
from truegrade.files.threads import by_turns
from truegrade.records import sha256_json

SECOND_ORDER = "second-order"
"""Origin of a program with two changes."""

_SECOND_ORDER_SHARE = 10
"""One of so many may have two changes."""
_PAIRS_TRIED = 4
"""Pairs that are looked at for each one wanted."""
_SHOWN_CHARS = 100


def mutants(
    problem_id: str, reference: str, entry_point: str, *, per_problem: int = 30, seed: int
) -> tuple[list[Probe], int]:
    """Mutants of a reference: by operators in turn, for each by sites in turn, in an order drawn from the seed.

    Only what the entry point needs is changed: itself and the definitions that it uses, and no import, docstring
    or annotation. Mutants that compile to the same byte code are one; those that compile to the reference's are
    equivalent, and left out.

    Args:
        problem_id: of the problem; another problem is drawn in another order.
        reference: a right program, whole.
        entry_point: the function that is called; empty for a program on stdin, of which everything is changed.
        per_problem: the most that are made; a tenth of them have two changes, where there are enough.
        seed: of the order.

    Returns:
        The mutants, in the order drawn, and how many were met that are proven equivalent. Nothing for a
        reference that is no program of this version of Python.
    """
    try:
        code = normalised(reference)
        tree = parse(code)
    except (NotAProgram, RecursionError):
        return [], 0
    rng = random.Random(f"{seed} {problem_id}")
    drawn = _Drawn(Text(code), fingerprint(code))
    twice = per_problem // _SECOND_ORDER_SHARE
    for change in _in_turn(_changes(tree, entry_point), rng):
        if len(drawn.kept) >= per_problem - twice:
            break
        drawn.take(rewritten(tree, drawn.text, *change))
    first = list(drawn.kept)
    twice = min(twice, len(first) // (_SECOND_ORDER_SHARE - 1))
    pairs = list(combinations(first, 2))
    for pair in rng.sample(pairs, min(len(pairs), _PAIRS_TRIED * twice)):
        if len(drawn.kept) >= len(first) + twice:
            break
        drawn.take(second_order(drawn.text, *pair))
    probes = [
        make_probe(problem_id, "mutant", mutant.operator, mutant.code, change=_change_of(mutant))
        for mutant in drawn.kept
    ]
    return probes, drawn.equivalent


def second_order(text: Text, one: Mutant, other: Mutant) -> Mutant | None:
    """A program with the changes of two mutants of ``text``; None where they touch or together make no program."""
    first, second = sorted((one, other), key=lambda mutant: mutant.span)
    if first.span[2:] > second.span[:2]:
        return None
    begin, end = text.offset(*first.span[:2]), text.offset(*first.span[2:])
    between, rest = text.offset(*second.span[:2]), text.offset(*second.span[2:])
    kept = text.data[:begin], text.data[end:between], text.data[rest:]
    try:
        code = normalised((kept[0] + first.after.encode() + kept[1] + second.after.encode() + kept[2]).decode())
    except NotAProgram:
        return None
    span, after = (*first.span[:2], *second.span[2:]), f"{_change_of(first)}; {_change_of(second)}"
    own = f"{first.id}+{second.id}"
    return replace(second, id=own, operator=SECOND_ORDER, code=code, span=span, before=first.before, after=after)


class _Drawn:
    """The mutants kept so far."""

    def __init__(self, text: Text, original: str | None) -> None:
        self.text = text
        self.kept: list[Mutant] = []
        self.equivalent = 0
        self._original, self._seen = original, {original, None}

    def take(self, mutant: Mutant | None) -> None:
        """Keep a mutant, unless it does not compile or is a program that was met before."""
        shape = None if mutant is None else fingerprint(mutant.code)
        if mutant is not None and shape is not None:
            self.equivalent += shape == self._original
            if shape not in self._seen:
                self._seen.add(shape)
                self.kept.append(mutant)


def _changes(tree: ast.Module, entry_point: str) -> Iterator[ProgramChange]:
    """The changes to what a solver would write."""
    options = MutationOptions(operators=(*OPERATORS, *WIDER_OPERATORS))
    spans = [(node.lineno, node.end_lineno or node.lineno) for node in needed(tree, entry_point)]
    for change in changes_of(tree, options):
        line = change[1].node.lineno if hasattr(change[1].node, "lineno") else 0
        if any(begin <= line <= end for begin, end in spans):
            yield change


def needed(tree: ast.Module, entry_point: str) -> list[ast.stmt]:
    """The statements of a module that its entry point needs, in order: without imports, and without unused ones.

    Where the entry point is a method, those that its class needs. All but the imports where it is not defined, as
    in a program on stdin.
    """
    binders = [node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom)]
    owner = method_owner(tree, entry_point)
    if any(entry_point in _names(node, ast.Store) for node in binders):
        wanted = {entry_point}
    elif owner is not None:
        wanted = {owner.name}
    else:
        return binders
    found = list[ast.stmt]()
    while fresh := [node for node in binders if node not in found and wanted & _names(node, ast.Store)]:
        found += fresh
        wanted = wanted.union(*(_names(node, ast.Load) for node in fresh))
    return [node for node in binders if node in found]


def _names(statement: ast.stmt, context: type[ast.expr_context]) -> set[str]:
    """The names that a statement of a module binds there, or that it reads anywhere within."""
    if context is ast.Store and isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    nodes = ast.walk(statement)
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, context)}


def _in_turn(changes: Iterator[ProgramChange], rng: random.Random) -> Iterator[ProgramChange]:
    """One change of each operator, then another of each; of an operator one at each site, then the next there."""
    operators: dict[str, dict[int, list[ProgramChange]]] = {}
    for change in changes:
        operators.setdefault(change[0], {}).setdefault(id(change[1]), []).append(change)
    queues = []
    for places in operators.values():
        alternatives = list(places.values())
        rng.shuffle(alternatives)
        for each in alternatives:
            rng.shuffle(each)
        queues.append(by_turns(alternatives))
    rng.shuffle(queues)
    yield from by_turns(queues)


def _change_of(mutant: Mutant) -> str:
    """What was changed, ``line 3: a < b -> a <= b``; of several lines those that differ, the first one named."""
    if mutant.operator == SECOND_ORDER:
        return mutant.after
    before, after = mutant.before.splitlines(), mutant.after.splitlines()
    line = mutant.span[0]
    while before and after and before[0] == after[0]:
        del before[0], after[0]
        line += 1
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    return f"line {line}: {_in_one_line(before)} -> {_in_one_line(after)}"


def _in_one_line(lines: list[str]) -> str:
    text = " ".join(" ".join(lines).split()) or "nothing"
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"


def fingerprint(code: str) -> str | None:
    """A hash of what a program compiles to, without places in the source and docstrings; None if it does not.

    All nodes are given one line, so that the compiler drops what it keeps for debuggers alone (``pass``).
    """
    try:
        with quietly():
            tree = syntax.parse(code)
            for node in ast.walk(tree):
                if hasattr(node, "lineno"):
                    node.lineno = node.end_lineno = 1  # type: ignore[attr-defined]  # the branch asks for it
                    node.col_offset = node.end_col_offset = 0  # type: ignore[attr-defined]
            return sha256_json(_shape(syntax.compiled(tree, "<program>", "exec", optimize=0)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _shape(code: CodeType) -> list[Any]:
    """Everything of a code object that decides what it does."""
    return [
        code.co_name,
        [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags],
        [code.co_varnames, code.co_freevars, code.co_cellvars],
        code.co_exceptiontable.hex(),
        [
            [step.opname, step.arg if step.argval is None else _key(step.argval)]
            for step in dis.get_instructions(code)
        ],
    ]


def _key(value: Any) -> Any:
    """A constant with its type: 1, 1.0 and True are three constants."""
    if isinstance(value, CodeType):
        return _shape(value)
    if isinstance(value, tuple):
        return ["tuple", [_key(item) for item in value]]
    if isinstance(value, frozenset):
        return ["frozenset", sorted(f"{type(item).__name__} {item!r}" for item in value)]
    return [type(value).__name__, repr(value)]


# ----------------------------------------------------------------------------------------------------------------
# Wrong programs made from right outputs: the reference does the work, and its output is changed in one way.
# Each kind is the error that one faulty comparison does not see: another order, a part, a number that is near,
# another type, one test. Whether such a program is wrong is for the oracle to say.


UNCHANGED = "unchanged"
"""Origin of the program that changes nothing: where it is not right, the others would prove nothing."""
ENDLESS = "endless-on-one-test"
ONE_TEST, HALF_OF_TESTS, EVERY_TEST = "wrong-on-one-test", "wrong-on-half-of-the-tests", "wrong-on-every-test"
ENDLESS_PROBLEMS = 2
"""Problems that are sent a program that does not end on one test: it takes a grader its whole time limit."""
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
_ITEMS = """\
if isinstance(value, (list, tuple)):
    wrong, items, kind = ["wrong"], list(value), type(value)
elif isinstance(value, str):
    wrong, items, kind = ["x"], list(value), "".join
else:
    return value
return kind({})
"""
_TEXTS = """\
def changed(one):
    if isinstance(one, str):
        return {}
    return type(one)([changed(item) for item in one]) if isinstance(one, (list, tuple)) else one
return changed(value)
"""
_BEHIND = """\
def other(text):
    return "".join(("1" if one != "1" else "2") if one.isdigit() else "x" if one != "x" else "y" for one in text)
if isinstance(value, str):
    return value[:{0}] + other(value[{0}:])
if isinstance(value, (list, tuple)):
    ahead = [" ".join(map(str, value[:place])) for place in range(len(value))]
    return type(value)([item if len(text) < {0} else "wrong" for item, text in zip(value, ahead)])
if isinstance(value, int) and not isinstance(value, bool):
    return int(str(value)[:{0}] + other(str(value)[{0}:]))
return value
"""
BEHIND = (16, 64)
"""Characters in which an output may agree with the right one, and differ behind them."""
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
    "negated": _NUMBERS.format("-one"),
    "off-by-one": _NUMBERS.format("one + 1"),
    "rounded": _NUMBERS.format("float(round(one)) if isinstance(one, float) and abs(one) < 1e15 else one"),
    "digit-more": _NUMBERS.format("type(one)(f'{one}5') if one and str(one)[-1].isdigit() else one"),
    "surrounded": _ITEMS.format("[*wrong, *items, *wrong]"),
    "ahead": _SEQUENCE.format("(value[:1] or type(value)()) + value"),
    "same-length": _ITEMS.format("wrong * len(items)"),
    "first-only": _ITEMS.format("items[:1] + wrong * len(items[1:])"),
    "last-only": _ITEMS.format("wrong * len(items[:-1]) + items[-1:]"),
    "letter-case": _TEXTS.format("one.swapcase()"),
    "blanks-around": _TEXTS.format("f' {one} '"),
    "blanks-within": _TEXTS.format("' '.join(one)"),
    **{f"behind-{chars}": _BEHIND.format(chars) for chars in BEHIND},
    "in-a-text": "return f'0 {value} 0'\n",
    "true-alike": "return 'wrong' * bool(value)\n",
    "as-text": "return str(value)\n",
    "list-for-tuple": "return {list: tuple, tuple: list}.get(type(value), lambda same: same)(value)\n",
    "float-for-int": "return {bool: int, int: float}.get(type(value), lambda same: same)(value)\n",
}
"""Name to the body of a function of the right value. One that leaves a value as it is makes no wrong program."""
_OF_TYPES = ("as-text", "list-for-tuple", "float-for-int", "in-a-text", "true-alike", "blanks-around")
_LAST: dict[str, str] = {
    "exits-with-1": "_main()\nimport sys\nsys.exit(1)\n",
    "raises-at-the-end": "_main()\nraise ValueError\n",
    "on-stderr": "import sys\nsys.stdout = sys.stderr\n_main()\n",
}
"""Of a program on stdin: what stands at its end in place of the call of what prints the right output."""

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
            danger = "h1" if origin == ENDLESS else "h0"
            found[code] = make_probe(problem_id, "output", origin, code, danger=danger, change=change)
    if not entry_point:
        unchanged = wrapped.code("True", _CHANGES[UNCHANGED]).removesuffix("_main()\n")
        for origin, last in _LAST.items():
            found[origin] = make_probe(problem_id, "output", origin, unchanged + last, change=origin)
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
    if place < ENDLESS_PROBLEMS and number > 1:
        yield ENDLESS, _among(tests[-1:], stdin=stdin), _only(_LOOP), "never ends on the last test"


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
