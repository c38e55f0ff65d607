"""bigcode's ``generations*.json``: a list of lists of programs, one list a task, and no ids.

Place i answers task i of the data set's split (bigcode-project/bigcode-evaluation-harness@8fc5bae6
``bigcode_eval/generation.py``). ``--limit N`` and ``--limit_start A`` leave no trace in the file, and the harness
pairs a file with whatever tasks it is asked for. Here a file of another length than the benchmark is refused until
``--limit`` names its tasks: pairing it with the wrong ones would give a number, a wrong one.

A program holds its prompt. An intermediate file has null where nothing was generated yet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from truegrade.errors import BadRecord
from truegrade.records import Completion
from truegrade.store.importers.base import Importer, ImportTarget
from truegrade.store.importers.reading import SourceFile, typed


def sniff(source: SourceFile) -> bool:
    """Whether it starts like a list of lists."""
    return re.match(rb"\s*\[\s*(null\s*,\s*)*\[", source.head) is not None


def read(source: SourceFile, target: ImportTarget) -> Iterator[Completion]:
    """Yield the programs of each task, in order; lists behind the last chosen task are left, as the harness does.

    Raises:
        BadRecord: not such a file, or it cannot be told which tasks it answers.
    """
    path = source.path
    lists = typed(path, source.document, list[Any])
    for place, (problem_id, value) in enumerate(zip(_tasks(path, len(lists), target), lists, strict=False)):
        texts = () if value is None else target.texts(value, path, field=f"[{place}]")
        for sample, text in enumerate(texts):
            yield target.completion(problem_id, sample, text, form="program")


def _tasks(path: Path, lists: int, target: ImportTarget) -> tuple[str, ...]:
    """The problems that the lists answer, in their order."""
    known = len(target.ids.order)
    if target.positions:
        if lists < len(target.positions):
            problem = f"holds {lists} lists, fewer than the {len(target.positions)} problems chosen by `limit`"
            raise BadRecord(path, f"{problem}; name those it answers")
        return target.positions
    if lists != known:
        split = " or choose its split (`task_args` split=test)" if lists == 500 else ""  # MBPP's test split
        problem = f"holds {lists} lists without ids, but {target.benchmark} has {known} problems"
        raise BadRecord(path, f"{problem}; say which they answer: `limit` {lists} for the first ones{split}")
    return target.ids.order


IMPORTER = Importer(
    name="bigcode-generations",
    summary="bigcode generations.json: a list of programs per task, in the data set's order",
    sniff=sniff,
    read=read,
    positional=True,
)
