"""Making the call of a witness again: the evidence for a label, repeated by one command."""

from __future__ import annotations

from pathlib import Path

from truegrade.api import unsafe_allowed
from truegrade.assay.folder import open_assay
from truegrade.assay.labelling import Replayed
from truegrade.assay.labelling import replay as replay_call
from truegrade.assay.opening import find_companions, load_benchmarks
from truegrade.assay.oracle import build_oracle
from truegrade.assay.records import Probe
from truegrade.assay.running import label_limits
from truegrade.benchmarks.own_rows import rows_benchmark
from truegrade.benchmarks.table import REGISTRY
from truegrade.errors import UserError
from truegrade.sandbox import Sandbox
from truegrade.store.journal import Notice, ignore


def replay(folder: str | Path, probe: str, *, data: str | Path | None = None, allow_unsafe: bool | None = None,
           notice: Notice = ignore) -> tuple[Probe, Replayed]:  # fmt: skip
    """Make the call of a probe's witness again, of the reference and of the probe.

    Args:
        folder: of the assay.
        probe: id of the probe, or how it begins.
        data: where the benchmark's file is now; None for where it was.
        allow_unsafe: run programs even at protection level 1.
        notice: told what a person should know.

    Raises:
        UserError: there is no such probe, or its label needed nothing to be run.
    """
    opened = open_assay(Path(folder))
    found = [each for each in opened.probes() if each.id.startswith(probe)]
    if len(found) != 1:
        many = f"{len(found)} probes begin so" if found else "there is no probe of that id"
        raise UserError(f"{opened.path}: `probe` {probe}: {many}; probes.jsonl and the page name them")
    (one,) = found
    if one.witness is None or one.witness.source == "by construction":
        why = "has no witness" if one.witness is None else f"is wrong by construction: {one.witness.got}"
        raise UserError(f"{opened.path}: probe {one.id} {why}; there is nothing to run")
    recorded = opened.manifest().benchmark
    place = data or (recorded.data if Path(recorded.data).exists() else None)
    rows = recorded.name not in REGISTRY.names() and str(place).endswith((".jsonl", ".jsonl.gz"))
    given = rows_benchmark(Path(str(place))) if rows else recorded.name
    (benchmark,) = load_benchmarks([given], (), place, recorded.args, notice)
    problem = benchmark.by_id()[one.problem_id]
    with Sandbox(label_limits([problem]), workers=1, allow_unsafe=unsafe_allowed(allow_unsafe)) as sandbox:
        companion = find_companions(benchmark, {problem.id: problem}, place, notice).get(problem.id)
        oracle = build_oracle(problem, companion, sandbox, generated=0)
        if isinstance(oracle, str):
            raise UserError(f"{problem.id}: {oracle}")
        return one, replay_call(oracle, one.code, one.witness.call, sandbox, one.witness.repeats)
