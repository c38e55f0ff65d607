"""Rows of own problems about a function that something decides: write it, repair it, complete it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from textwrap import dedent, indent
from typing import Any, Protocol

from truegrade.apps.repository.functions import FunctionPlace
from truegrade.apps.repository.outside import TriedMutant, without_body
from truegrade.apps.repository.packing import BodyLines, body_lines, body_removed, outline
from truegrade.apps.repository.source import SourceTree, last_change, lines_of
from truegrade.benchmarks.own_rows import BenchmarkRow
from truegrade.builders.mutation.mutants import Mutant
from truegrade.datasets.executions import NotRecorded
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement

DECIDED_KINDS = ("write", "repair", "complete")
_MOST_FILE_CHARS = 12_000
"""Of a file that is shown whole; of a larger one the bodies of the other functions are left out."""
_LEAST_STATEMENTS = 3
_ASKED = {
    "write": "Its body is missing here.",
    "repair": "It has one bug: correct it, and give the whole function.",
    "complete": "The end of its body is missing here: give the whole function.",
}
FOR_METHODS = " Give it as a plain function "
_METHOD = (
    FOR_METHODS + "`{own}` of the module, without decorators and with the parameters that it has in"
    " its class, which calls it."
)
_PROMPT = """\
The function `{name}` belongs to the file `{path}`{of}. {asked} The rest of the file is there when it runs.{method}

```python
{file}
```
"""


class Decider(Protocol):
    """A function, and what decides about answers to it."""

    @property
    def function(self) -> FunctionPlace:
        """The function."""

    @property
    def mutants(self) -> Sequence[TriedMutant]:
        """Mutants of it that were tried."""

    @property
    def row(self) -> dict[str, Any]:
        """What its problems' rows hold, whatever they ask for: fields of `BenchmarkRow`."""

    def judged(self, source: str, executor: Executor) -> Judgement:
        """What the judge says of an answer."""


def problem_rows(
    decided: Decider, tree: SourceTree, packages: tuple[str, ...], kinds: Sequence[str], executor: Executor
) -> Iterator[tuple[str, BenchmarkRow | str]]:
    """The rows of a function, each with its kind; instead of a row, why there is none.

    The judge has the last word: it accepts the reference, and refuses what a row gives or leaves out.

    Args:
        decided: the function and what decides.
        tree: its repository.
        packages: installed ones that the module imports.
        kinds: out of `DECIDED_KINDS`.
        executor: the jail, with these packages.
    """
    function = decided.function
    reference = decided.judged(function.source, executor)
    removed = decided.judged(without_body(function.node), executor)
    for kind in kinds:
        try:
            if not reference.passed:
                raise NotRecorded(f"the judge refuses its own code: {reference.reason}: {reference.detail}")
            if removed.passed:
                raise NotRecorded("the judge accepts a removed body")
            yield kind, _row(kind, decided, tree, packages, _file_shown(kind, decided, executor))
        except NotRecorded as refusal:
            yield kind, str(refusal)


def _file_shown(kind: str, decided: Decider, executor: Executor) -> str:
    """The text of the file in a prompt.

    Raises:
        NotRecorded: there is no problem of this kind.
    """
    function = decided.function
    lines = lines_of(function.module.text)
    body = body_lines(function.node, lines)
    if body is None:
        raise NotRecorded("its body stands on the line of its head")
    if kind == "write":
        return body_removed(function)
    if kind == "complete":
        given = _first_half(function, body, lines)
        if not given:
            raise NotRecorded(f"its body has fewer than {_LEAST_STATEMENTS} statements")
        begin = (function.node.lineno if function.is_method else function.first_line) - 1
        if decided.judged(dedent("".join([*lines[begin : body.begin], *given])), executor).passed:
            raise NotRecorded("its first statements alone pass")
        return body_removed(function, [*given, f"{body.indent}...  # the rest is missing\n"])
    mutant = _hardest(decided)
    if decided.judged(mutant.code, executor).passed:
        raise NotRecorded("the judge accepts its mutant")
    before, after = function.first_line - 1, lines[function.node.end_lineno or 0 :]
    if not function.is_method:
        return "".join([*lines[:before], f"{mutant.code}\n", *after])
    code = indent(f"{mutant.code}\n", " " * function.node.col_offset)
    return "".join([*lines[: function.node.lineno - 1], code, *after])


def _first_half(function: FunctionPlace, body: BodyLines, lines: Sequence[str]) -> Sequence[str]:
    """The lines of the first statements of its body; none where there are too few."""
    node = function.node
    inside = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    if len(inside) < _LEAST_STATEMENTS:
        return []
    return lines[body.begin : inside[len(inside) // 2 - 1].end_lineno]


def _hardest(decided: Decider) -> Mutant:
    """The mutant that fewest calls refuse; of equals the one that was drawn first."""
    return min((one for one in decided.mutants if one.refused_by), key=lambda one: one.refused_by).mutant


def _row(kind: str, decided: Decider, tree: SourceTree, packages: tuple[str, ...], file: str) -> BenchmarkRow:
    function = decided.function
    path, own = function.module.path, function.node.name
    of = f" of {tree.name} {tree.version}".rstrip() if tree.version else ""
    if len(file) > _MOST_FILE_CHARS:
        file = outline(file, own)
    seen, fields = function.seen, decided.row
    tags = {
        "kind": kind,
        "function": function.id,
        "tests": str(len(seen.tests) if seen else 0),
        **fields["tags"],
    }
    if tree.commit:
        commit, day = last_change(tree, path, function.first_line, function.node.end_lineno or 0)
        tags |= {"commit": tree.commit, "changed": commit, "contest_date": day}
    prompt = _PROMPT.format(
        name=function.name,
        path=path,
        of=of,
        asked=_ASKED[kind],
        method=_METHOD.format(own=own) if function.is_method else "",
        file=file.strip("\n"),
    )
    row = {"packages": packages, **fields, "tags": tags}
    return BenchmarkRow(
        id=f"{function.id}/{kind}", prompt=prompt, entry_point=own, reference=function.source, **row
    )
