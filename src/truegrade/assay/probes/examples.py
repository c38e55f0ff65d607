"""The examples that a problem shows to whoever solves it: calls and what they return."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from truegrade.grading.suites import suite_of
from truegrade.records import CasesTask, ContestTask, FunctionTask, OracleTask, Problem

Example = tuple[tuple[Any, ...], Any]
"""Arguments and value; of a program on stdin the texts of input and output."""

_IS = re.compile(r"\s*(?:#\s*)?(?:={1,3}>?|-{1,2}>|➞|→|returns?|should return|(?:should be )?equal to)\s*")
"""What stands between a call and its value where a statement gives an example in words."""

_MOST_CASES = 3
"""Of a problem that shows no example: so many of its tests, whose values a stub may learn."""


def examples_of(problem: Problem) -> list[Example]:
    """The examples in a problem's statement: its doctests, its shown tests, its public tests.

    A repair shows none; the first of its tests stand for them. Only calls with literals count.
    """
    task = problem.task
    if isinstance(task, ContestTask):
        return list(_public(task))
    if isinstance(task, CasesTask):
        return [(case.arguments, case.expected) for case in task.cases[:_MOST_CASES]]
    if isinstance(task, FunctionTask) and task.buggy:
        return [(case.arguments, case.expected) for case in suite_of(task).cases[:_MOST_CASES]]
    if isinstance(task, FunctionTask | OracleTask):
        shown = (pair for test in task.shown_tests for pair in _assertion(test))
        calls = [*_in_words(task.prompt, task.entry_point), *shown]
        read = (_read(call, value, task.entry_point) for call, value in calls)
        return [example for example in read if example is not None]
    return []


def _in_words(prompt: str, entry_point: str) -> Iterator[tuple[str, str]]:
    """Call and value of each line ``>>> f(1)`` with the value on the next, and of each ``f(1) => 2``."""
    lines = prompt.splitlines()
    for line, following in zip_longest(lines, lines[1:], fillvalue=""):
        begin = line.find(f"{entry_point}(")
        ends = [place + 1 for place, char in enumerate(line) if char == ")" and place > begin >= 0]
        for end in ends:
            call, behind = line[begin:end], line[end:]
            if line[:begin].strip() == ">>>" and not behind.strip():
                yield call, following
            elif found := _IS.match(behind):
                yield call, behind[found.end() :]


def _assertion(test: str) -> Iterator[tuple[str, str]]:
    try:
        body = ast.parse(test).body
    except (SyntaxError, ValueError):
        return
    match body:
        case [ast.Assert(test=ast.Compare(left=call, ops=[ast.Eq()], comparators=[value]))]:
            yield ast.unparse(call), ast.unparse(value)


def _read(call: str, value: str, entry_point: str) -> Example | None:
    try:
        match ast.parse(call, mode="eval").body:
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name == entry_point:
                return tuple(ast.literal_eval(argument) for argument in args), _value(value)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
    return None


def _value(text: str) -> Any:
    """The literal that a text begins with: up to a comment, a quote of the docstring or the end of its sentence.

    Raises:
        ValueError: it begins with none.
    """
    for end in ("#", '"""', ". ", ";", ", "):
        try:
            return ast.literal_eval(text.partition(end)[0].strip(" .;"))
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    raise ValueError


def _public(task: ContestTask) -> Iterator[Example]:
    try:
        tests = json.loads(task.public_tests)
    except (ValueError, RecursionError):
        return
    for test in tests if isinstance(tests, list) else []:
        match test:
            case {"input": str(given), "output": str(output)} if task.function is None:
                yield (given,), output
            case {"input": str(given), "output": str(output)}:
                try:
                    yield tuple(json.loads(line) for line in given.split("\n")), json.loads(output)
                except (ValueError, RecursionError):
                    continue
