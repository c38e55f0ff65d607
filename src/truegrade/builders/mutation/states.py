"""Questions about values inside the calls of a program: what a variable holds after a line, how often a line runs.

Papers on execution reasoning ask so (RE2-Bench, CodeSense, RepoReason). A value is asked for where it cannot be
copied: it is no argument of the call, not what the call returns, and no literal of its line. Nor is it one that a
reply of always the same would often get right (`is_usual`): most lines run once or not at all, and most
collections begin empty. With these, "0" was right on 47 of the 155 questions of toolz 1.0.0.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

import msgspec

from truegrade.builders.mutation.file import is_askable
from truegrade.builders.mutation.mutants import MutationOptions, calls_of, parse, texts
from truegrade.builders.mutation.observing import LineSeen, observe_calls
from truegrade.datasets.executions import ExecutionRow, RecordedState
from truegrade.extraction.parsing import Fault, evaluate, is_literal, parse_expression
from truegrade.files import syntax
from truegrade.grading.executor import Executor
from truegrade.records import sha256_json

_ONCE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)
"""Statements that an interpreter reports once each time that they run, whatever its version."""
_UNEVEN = (
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
    *(ast.Lambda, ast.Yield, ast.YieldFrom, ast.Await),
)
"""Parts that have lines of their own, or end a line before it is over."""


def watched_lines(code: str) -> dict[int, str]:
    """The lines of functions that can be asked about, each with the variable that it binds or changes, or without.

    Args:
        code: a program that has one statement a line.
    """
    found: dict[int, str] = {}
    functions = (node for node in ast.walk(parse(code)) if isinstance(node, ast.FunctionDef))
    for node in (inner for function in functions for each in function.body for inner in ast.walk(each)):
        if not isinstance(node, _ONCE) or node.lineno != node.end_lineno:
            continue
        if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Call):
            continue
        if not any(isinstance(part, _UNEVEN) for part in ast.walk(node)):
            found[node.lineno] = _changed(node)
    return found


def _changed(node: ast.AST) -> str:
    """The variable that a statement binds, stores into or calls a method of; empty for none, or several."""
    match node:
        case ast.Assign(targets=[target]) | ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            held: ast.AST = target
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=value))):
            held = value
        case _:
            return ""
    while isinstance(held, ast.Attribute | ast.Subscript):
        held = held.value
    return held.id if isinstance(held, ast.Name) else ""


class _Seen(NamedTuple):
    """What a program did inside one call, alike in every executor."""

    lines: dict[int, LineSeen]

    def told(self, line: int, variable: str, time: int) -> str | None:
        """The value asked for; None where there is none that a model can be asked for."""
        _, runs, held = self.lines.get(line, (line, 0, ()))
        if variable:
            text = held[time - 1] if time <= len(held) else ""
        else:
            text = str(runs) if line in self.lines else ""
        return text if is_askable(text) and not is_usual(text) else None


def with_states(row: ExecutionRow, executors: Sequence[Executor], options: MutationOptions) -> ExecutionRow:
    """The row with one value inside each of its calls, drawn by the seed among those that can be asked for.

    Of these a value is preferred that was not asked for in an earlier call, and that is another one in the mutant.

    Args:
        row: its programs have one statement a line, as `mutate_row` leaves them.
        executors: a value is kept where it is the same in each.
        options: limits of watching, and the seed.
    """
    lines = watched_lines(row.code)
    seen = _seen(row, row.code, lines, executors, options)
    mutant = row.mutated_code if row.mutated_code is not None else row.code
    shared = lines.items() & watched_lines(mutant).items()
    other = seen if mutant == row.code else _seen(row, mutant, dict(shared), executors, options)
    random = Random(sha256_json([options.seed, row.id, row.code]))
    drawn: list[RecordedState] = []
    for case, known in enumerate(_known(row)):
        found = [
            msgspec.structs.replace(one, mutated=None if other is seen else told)
            for one in _candidates(row.code, case, lines, seen[case], known)
            for told in (other[case].told(one.line, one.variable, one.time),)
        ]
        found = [one for one in found if one.value not in [earlier.value for earlier in drawn]] or found
        found = [one for one in found if one.mutated not in (None, one.value)] or found
        kinds = [[one for one in found if bool(one.variable) is kind] for kind in (True, False)]
        if found:
            drawn.append(random.choice(random.choice([kind for kind in kinds if kind])))
    return msgspec.structs.replace(row, states=tuple(drawn))


def _known(row: ExecutionRow) -> Iterator[list[Any]]:
    """By call, the values of its arguments and what it returns."""
    for call, output in zip(calls_of(row), texts(row.output), strict=True):
        asked = parse_expression(call)
        given = [*asked.args, *(each.value for each in asked.keywords)] if isinstance(asked, ast.Call) else []
        yield list(_values([*given, parse_expression(output)]))


def _candidates(
    code: str, case: int, lines: Mapping[int, str], seen: _Seen, known: Sequence[Any]
) -> Iterator[RecordedState]:
    """Values of variables, and numbers of runs, that cannot be copied."""
    for line, runs, held in seen.lines.values():
        shown = [*known, *_values(ast.walk(syntax.parse(code.split("\n")[line - 1].strip())))]
        for time in range(1, len(held) + 1):
            text = seen.told(line, lines[line], time)
            if text is not None and next(_values([parse_expression(text)])) not in shown:
                yield RecordedState(case=case, line=line, variable=lines[line], time=time, value=text)
        if runs not in known and (text := seen.told(line, "", 1)) is not None:
            yield RecordedState(case=case, line=line, value=text)


def is_usual(text: str) -> bool:
    """Whether a literal is false, as None, 0 and what is empty are, or is equal to 1."""
    value = next(_values([parse_expression(text)]), None)
    return not value or value == 1


def _values(nodes: Iterable[ast.AST | Fault]) -> Iterator[Any]:
    """The values of those that are literals."""
    for node in nodes:
        if isinstance(node, ast.expr) and is_literal(node):
            yield evaluate(node)


def _seen(
    row: ExecutionRow,
    code: str,
    lines: Mapping[int, str],
    executors: Sequence[Executor],
    options: MutationOptions,
) -> list[_Seen]:
    """By call; nothing of a call that gave no value."""
    runs = [
        [set(case.lines) if case.kind == "value" else set() for case in found]
        for found in (observe_calls(executor, code, calls_of(row), options, lines) for executor in executors)
    ]
    alike = (sorted(set.intersection(*case)) for case in zip(*runs, strict=True))
    return [_Seen({one[0]: one for one in case}) for case in alike]
