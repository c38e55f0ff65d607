"""Fresh private items: pure functions of the user's own code, arguments, and what they return in the jail."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from truegrade.builders.mine.inputs import FoundFunction, Opaque, choose_cases, discover
from truegrade.datasets.executions import ExecutionRow, NotRecorded, RecordedCalls, Refused, record
from truegrade.datasets.identity import identity
from truegrade.grading.executor import Executor


class MineOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to build."""

    inputs: int = 3
    """Cases of a function."""
    seed: int = 0
    size: int | None = None
    """Rows at most; None for all."""


def build(
    path: Path, options: MineOptions, executor: Executor, witness: Executor, *, workers: int = 1
) -> Iterator[ExecutionRow | Refused]:
    """A row, or why there is none, for each function of a file or repository.

    Args:
        path: a Python file, or a folder of them.
        options: what to build.
        executor: runs the programs; nothing of the user's code runs anywhere else.
        witness: runs them again; give its programs another hash seed.
        workers: programs run at once.

    Raises:
        UserError: there is nothing at the path.
    """
    found: list[FoundFunction] = []
    seen: dict[str, str] = {}
    for each in discover(path):
        if isinstance(each, Refused):
            yield each
        elif (known := seen.setdefault(identity(each.program), each.place)) != each.place:
            yield Refused(each.place, f"it is the same program as another: {known}")
        else:
            found.append(each)
    made = 0
    with ThreadPoolExecutor(workers, thread_name_prefix="mine") as pool:
        for recorded in pool.map(lambda each: _recorded(each, options, executor, witness), found):
            if isinstance(recorded, Refused):
                yield recorded
            elif options.size is None or made < options.size:
                yield _row(made, *recorded)
                made += 1


def _recorded(
    found: FoundFunction, options: MineOptions, executor: Executor, witness: Executor
) -> tuple[FoundFunction, RecordedCalls] | Refused:
    try:
        try:
            cases = choose_cases(found, options.inputs, options.seed, executor)
        except Opaque:
            found = _as_list(found)
            cases = choose_cases(found, options.inputs, options.seed, executor)
        return found, record(executor, witness, found.program, found.function, cases)
    except NotRecorded as refusal:
        return Refused(found.place, str(refusal))


def _as_list(found: FoundFunction) -> FoundFunction:
    """A function that returns what another one yields, as a list."""
    name = f"{found.function}_as_list"
    program = (
        f"{found.program}\ndef {name}(*args, **kwargs):\n    return list({found.function}(*args, **kwargs))\n"
    )
    return msgspec.structs.replace(found, function=name, program=program)


def _row(number: int, found: FoundFunction, recorded: RecordedCalls) -> ExecutionRow:
    return ExecutionRow(
        id=f"mine_{number}",
        function_name=found.function,
        code=found.program,
        input=recorded.calls,
        output=recorded.outputs,
        correct_condition=recorded.conditions,
        arity=len(found.parameters),
        metrics={"loc": len(found.program.splitlines())},
        metadata={"source": "truegrade mine", "file": found.file, "line": found.line},
    )
