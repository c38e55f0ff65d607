"""Rows of own problems about a function that calls decide: write it, repair it, complete it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from truegrade.apps.repository.functions import FunctionPlace
from truegrade.apps.repository.outside import Decided, without_body
from truegrade.apps.repository.packing import BodyLines, body_lines, body_removed, outline
from truegrade.apps.repository.source import SourceTree, lines_of
from truegrade.benchmarks.own_rows import BenchmarkRow
from truegrade.builders.mutation.mutants import Mutant
from truegrade.datasets.executions import NotRecorded
from truegrade.grading.executor import Executor
from truegrade.grading.functions import grade_by_tests
from truegrade.grading.judgement import Judgement
from truegrade.grading.programs import assemble
from truegrade.records import Answer, FunctionTask

OUTSIDE_KINDS = ("write", "repair", "complete")
_MOST_FILE_CHARS = 12_000
"""Of a file that is shown whole; of a larger one the bodies of the other functions are left out."""
_LEAST_STATEMENTS = 3
_ASKED = {
    "write": "Its body is missing here.",
    "repair": "It has one bug: correct it, and give the whole function.",
    "complete": "The end of its body is missing here: give the whole function.",
}
_PROMPT = """\
The function `{name}` belongs to the file `{path}`{of}. {asked} The rest of the file is there when it runs.

```python
{file}
```
"""


def problem_rows(
    decided: Decided, tree: SourceTree, packages: tuple[str, ...], kinds: Sequence[str], executor: Executor
) -> Iterator[tuple[str, BenchmarkRow | str]]:
    """The rows of a function, each with its kind; instead of a row, why there is none.

    The judge has the last word: it accepts the reference, and refuses what a row gives or leaves out.

    Args:
        decided: the function and its calls.
        tree: its repository.
        packages: installed ones that the module imports.
        kinds: out of `OUTSIDE_KINDS`.
        executor: the jail, with these packages.
    """
    function = decided.function
    reference = _judged(decided, function.source, executor)
    removed = _judged(decided, without_body(function.node), executor)
    for kind in kinds:
        try:
            if not reference.passed:
                raise NotRecorded(f"the judge refuses its own code: {reference.reason}: {reference.detail}")
            if removed.passed:
                raise NotRecorded("the judge accepts a removed body")
            yield kind, _row(kind, decided, tree, packages, _file_shown(kind, decided, executor))
        except NotRecorded as refusal:
            yield kind, str(refusal)


def _file_shown(kind: str, decided: Decided, executor: Executor) -> str:
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
        if _judged(decided, "".join([*lines[function.first_line - 1 : body.begin], *given]), executor).passed:
            raise NotRecorded("its first statements alone pass")
        return body_removed(function, [*given, f"{body.indent}...  # the rest is missing\n"])
    mutant = _hardest(decided)
    if _judged(decided, mutant.code, executor).passed:
        raise NotRecorded("the judge accepts its mutant")
    after = lines[function.node.end_lineno or 0 :]
    return "".join([*lines[: function.first_line - 1], f"{mutant.code}\n", *after])


def _judged(decided: Decided, source: str, executor: Executor) -> Judgement:
    task = FunctionTask(
        prompt="",
        entry_point=decided.function.node.name,
        prefix=decided.prefix,
        tests=decided.tests,
        reference=decided.function.source,
    )
    program = assemble(decided.prefix, Answer(value=source, found="the repository's", form="program"))
    return grade_by_tests(task, program, executor)


def _first_half(function: FunctionPlace, body: BodyLines, lines: Sequence[str]) -> Sequence[str]:
    """The lines of the first statements of its body; none where there are too few."""
    node = function.node
    inside = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    if len(inside) < _LEAST_STATEMENTS:
        return []
    return lines[body.begin : inside[len(inside) // 2 - 1].end_lineno]


def _hardest(decided: Decided) -> Mutant:
    """The mutant that fewest calls refuse; of equals the one that was drawn first."""
    return min((one for one in decided.mutants if one.refused_by), key=lambda one: one.refused_by).mutant


def _row(kind: str, decided: Decided, tree: SourceTree, packages: tuple[str, ...], file: str) -> BenchmarkRow:
    function = decided.function
    name, path = function.node.name, function.module.path
    of = f" of {tree.name} {tree.version}".rstrip() if tree.version else ""
    if len(file) > _MOST_FILE_CHARS:
        file = outline(file, name)
    share, low, high = decided.strength
    seen = function.seen
    tags = {
        "kind": kind,
        "tier": "outside",
        "function": function.id,
        "strength": f"{share:.3f}",
        "strength_interval": f"{low:.3f}-{high:.3f}",
        "mutants": str(len(decided.held_out)),
        "calls": str(len(decided.calls)),
        "generated": str(sum(call.generated for call in decided.calls)),
        "rewritings": str(decided.rewritings),
        "tests": str(len(seen.tests) if seen else 0),
    }
    if tree.commit:
        tags |= {"commit": tree.commit, "contest_date": tree.date}
    return BenchmarkRow(
        id=f"{function.id}/{kind}",
        prompt=_PROMPT.format(name=name, path=path, of=of, asked=_ASKED[kind], file=file.strip("\n")),
        entry_point=name,
        prefix=decided.prefix,
        tests=decided.tests,
        reference=function.source,
        tags=tags,
        packages=packages,
    )
