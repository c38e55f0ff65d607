"""DSL-List: list functions drawn from a typed grammar, built on this machine, with mutants.

The set is made, not downloaded: ``truegrade data build dsl-list`` writes it, and this benchmark looks for it in
the cache. It follows arXiv:2504.05518 and akshsgaur/code-reasoning-repro@6c43fa8 src/datasets/dsl.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from truegrade.benchmarks import execution_choice, execution_prediction
from truegrade.benchmarks.base import Benchmark, BenchmarkSpec
from truegrade.benchmarks.benchmark_args import check_arguments, choice
from truegrade.datasets.built import built_path
from truegrade.errors import UserError

NAME = "dsl-list"


def load(data: Path | None, args: Mapping[str, str]) -> Benchmark:
    """Read the built set, or the file given, as either task.

    Raises:
        UserError: the set was not built yet, or an argument is not known to the task.
        BadRecord: the file is damaged.
    """
    task = choice(args, "task", ("prediction", "choice"))
    read = execution_choice if task == "choice" else execution_prediction
    check_arguments(NAME, args, {"task": "", **read.ARGS})
    path = data or built_path(NAME)
    if data is None and not path.is_file():
        raise UserError(
            f"{NAME} was not built on this machine yet: run `truegrade data build dsl-list` (half a minute),"
            " or give a file with `data`"
        )
    others = {name: value for name, value in args.items() if name != "task"}
    loaded: Benchmark = read.load(path, others, NAME)
    return msgspec.structs.replace(loaded, args=dict(args))


DSL_LIST = BenchmarkSpec(
    name=NAME,
    summary="Read list functions drawn from a grammar, and their mutants; predict what they return.",
    tasks="output_prediction or execution_choice",
    size=None,
    licence="built on your machine",
    citation="arXiv:2504.05518; akshsgaur/code-reasoning-repro@6c43fa8 src/datasets/dsl",
    load=load,
    args={
        "task": "prediction (default) or choice",
        **execution_prediction.ARGS,
        **execution_choice.ARGS,
    },
)
