"""DSL-List: list functions drawn from a typed grammar, built on this machine, with mutants.

The set is made, not downloaded: ``truegrade data build dsl-list`` writes it, and this benchmark looks for it in
the cache. It follows arXiv:2504.05518 and akshsgaur/code-reasoning-repro@6c43fa8 src/datasets/dsl.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from truegrade.benchmarks.base import Benchmark, BenchmarkSpec
from truegrade.benchmarks.execution_tasks import CHOICE_ARGS, PREDICTION_ARGS, load_choice, load_prediction
from truegrade.benchmarks.pinned import check_arguments, choice
from truegrade.datasets.executions import built_path, built_variants
from truegrade.errors import DataMissing, UnknownName, UserError

NAME = "dsl-list"


def load(data: Path | None, args: Mapping[str, str]) -> Benchmark:
    """Read the built set, or the file given, as either task.

    Raises:
        UserError: the set was not built yet, ``built`` stands beside a file, or an argument is not known to the
            task.
        BadRecord: the file is damaged.
    """
    task = choice(args, "task", ("prediction", "choice"))
    read, known = (load_choice, CHOICE_ARGS) if task == "choice" else (load_prediction, PREDICTION_ARGS)
    check_arguments(NAME, args, {"task": "", "built": "", **known})
    if data is not None and "built" in args:
        raise UserError(f"`data` and `task_args` built={args['built']} both choose the file: give one of them")
    path = data or _built(args.get("built"))
    if data is None and not path.is_file():
        raise DataMissing(
            f"{NAME} was not built on this machine yet: run `truegrade data build dsl-list` (half a minute),"
            " or give a file with `data`"
        )
    others = {name: value for name, value in args.items() if name not in ("task", "built")}
    loaded: Benchmark = read(path, others, NAME)
    return msgspec.structs.replace(loaded, args=dict(args))


def _built(variant: str | None) -> Path:
    """The built file of the default arguments, or of others.

    Raises:
        UnknownName: none was built with these.
    """
    if variant is None:
        return built_path(NAME)
    known = built_variants(NAME)
    if variant not in known:
        raise UnknownName(f"{NAME} built with", variant, known, "built by `truegrade data build dsl-list`")
    return built_path(NAME, variant)


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
        "built": "which file of `truegrade data build dsl-list`: its arguments, such as size-20 (default: none)",
        **PREDICTION_ARGS,
        **CHOICE_ARGS,
    },
)
