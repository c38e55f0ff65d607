"""``generations.json`` for bigcode's ``--load_generations_path``: a list of programs per task, in order.

bigcode-project/bigcode-evaluation-harness@8fc5bae6 ``bigcode_eval/generation.py``. The file has no ids: with a run
over a part of the data set, say which with ``--limit`` and ``--limit_start`` there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import IO

from truegrade.files.json_text import encode
from truegrade.records import Problem
from truegrade.store.exporters.base import Exported, Exporter, by_problem
from truegrade.store.exporters.evalplus_samples import whole_program


def write(samples: Iterable[Exported], problems: Mapping[str, Problem], file: IO[bytes]) -> None:
    """Write one document."""
    lists = [[whole_program(sample) for sample in rows] for _, rows in by_problem(samples, problems)]
    file.write(encode(lists) + b"\n")


EXPORTER = Exporter(
    name="bigcode",
    summary="generations.json for bigcode's --load_generations_path",
    file="generations.json",
    covers=("humaneval", "humanevalplus", "mbpp", "mbppplus"),
    write=write,
)
