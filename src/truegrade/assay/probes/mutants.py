"""Wrong programs made by rule: a reference with one change, some with two.

Whether a mutant is wrong is for the oracle to say; here it is only known to be another program. Programs are
written in normal form (`truegrade.builders.mutation.mutants.normalised`), without comments.
"""

from __future__ import annotations

import ast
import dis
import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from types import CodeType
from typing import Any

from truegrade.assay.records import Probe, make_probe
from truegrade.builders.in_order import by_turns
from truegrade.builders.mutation import OPERATORS, WIDER_OPERATORS, MutationOptions
from truegrade.builders.mutation.mutants import (
    Mutant,
    NotAProgram,
    ProgramChange,
    Text,
    changes_of,
    normalised,
    parse,
    rewritten,
)
from truegrade.extraction.definitions import method_owner
from truegrade.extraction.parsing import quietly
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
            tree = ast.parse(code)
            for node in ast.walk(tree):
                if hasattr(node, "lineno"):
                    node.lineno = node.end_lineno = 1  # type: ignore[attr-defined]  # the branch asks for it
                    node.col_offset = node.end_col_offset = 0  # type: ignore[attr-defined]
            return sha256_json(_shape(compile(tree, "<program>", "exec", dont_inherit=True, optimize=0)))
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
