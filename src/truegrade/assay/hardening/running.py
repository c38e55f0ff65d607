"""Hardening a benchmark: problem by problem, within a budget, then the files."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median

import msgspec

from truegrade.api import unsafe_allowed
from truegrade.assay.hardening.exporting import ExportedFile, exported_files, total, write_hardened
from truegrade.assay.hardening.forms import AcceptedPrograms
from truegrade.assay.hardening.problem import HardenedProblem, HardeningOptions, ProblemHardener
from truegrade.assay.opening import find_companions
from truegrade.assay.probes.labelled import ClaimedProbe, read_labels
from truegrade.assay.running import label_limits
from truegrade.benchmarks import find_benchmark
from truegrade.builders.in_order import in_order
from truegrade.errors import UserError
from truegrade.pipeline.loading import load_announced
from truegrade.pipeline.progress import Progress
from truegrade.pipeline.selection import Limit, select
from truegrade.records import CasesTask, FunctionTask, OracleTask, Problem, sha256_json
from truegrade.report.progress_lines import Silent, download_progress
from truegrade.sandbox import Sandbox
from truegrade.store.journal import Journal, Notice, ignore, read_journal

JOURNAL_ENDING = ".journal.jsonl"
_LINES = "3"
"""Version of the journal's lines: those made by other rules belong to other settings."""


class Hardened(msgspec.Struct, frozen=True, kw_only=True):
    """What hardening came to."""

    benchmark: str
    files: tuple[Path, ...]
    """Empty where the budget ended first: the same call goes on."""
    lines: tuple[HardenedProblem, ...]
    exported: tuple[ExportedFile, ...] = ()
    """What the consumer of each file makes of known programs."""
    left: int = 0
    """Problems that the budget left."""

    def total(self, side: str) -> AcceptedPrograms:
        """The programs of one field of `HardenedProblem` over all problems, as ``held_out``."""
        return total([getattr(line, side) for line in self.lines])

    @property
    def median_tests(self) -> float:
        """New tests of a hardened problem."""
        return float(median([len(line.tests) for line in self.lines if line.tests] or [0]))


def harden(
    benchmark: str,
    *,
    out: str | Path,
    budget_s: float | None = None,
    mutants: int = 40,
    inputs: int = 400,
    most_tests: int = 10,
    seed: int = 0,
    labels: str | Path | None = None,
    data: str | Path | None = None,
    task_args: Mapping[str, str] | None = None,
    limit: Limit = None,
    ids: Sequence[str] = (),
    workers: int | None = None,
    allow_unsafe: bool | None = None,
    progress: Progress | None = None,
    notice: Notice = ignore,
) -> Hardened:
    """Add tests to a benchmark that refuse wrong programs which its own tests accept.

    Half of the mutants of each problem choose the tests, the other half only measures what they gain. The same
    call goes on where an earlier one stopped.

    Args:
        benchmark: name or file.
        out: the hardened benchmark, a ``.jsonl`` file; other forms and the manifest are written beside it.
        budget_s: seconds after which no further problem is begun; None for no end.
        mutants: of each reference.
        inputs: candidates that are generated for each problem.
        most_tests: new tests of a problem, at most.
        seed: of every choice.
        labels: labelled programs, which measure and do not choose.
        data: local data file, or a folder that holds it.
        task_args: of the benchmark.
        limit: the first N problems, or those from A to B.
        ids: only these problems.
        workers: problems at once; None for one a core.
        allow_unsafe: run programs even at protection level 1.
        progress: watches.
        notice: told what a person should know.

    Raises:
        UserError: a name, file or number is at fault, or the journal beside ``out`` belongs to other settings.
    """
    place = Path(out)
    if place.suffix != ".jsonl":
        raise UserError(f"`out` {place}: write a name that ends in .jsonl")
    options = HardeningOptions(mutants=mutants, inputs=inputs, most_tests=most_tests, seed=seed)
    folder = None if data is None else Path(data)
    loaded = load_announced(benchmark, folder, task_args or {}, notice, download_progress)
    chosen = {problem.id: problem for problem in select(loaded, limit, ids)}
    for problem in chosen.values():
        if not isinstance(problem.task, FunctionTask | OracleTask | CasesTask):
            raise UserError(f"{loaded.name}: {type(problem.task).__name__} has no calls that a test could add")
    companions = find_companions(loaded, chosen, folder, notice)
    claims: dict[str, list[ClaimedProbe]] = {}
    for claimed in read_labels(Path(labels), chosen.keys()) if labels else ():
        claims.setdefault(claimed.probe.problem_id, []).append(claimed)
    settings = sha256_json([_LINES, options, loaded.dataset_sha256, sorted(companions), claims])
    journal = place.with_name(place.name.removesuffix(".jsonl") + JOURNAL_ENDING)
    journal.parent.mkdir(parents=True, exist_ok=True)
    lines = _begun(journal, settings, notice)
    deadline = None if budget_s is None else time.monotonic() + budget_s
    missing = [problem for problem in chosen.values() if problem.id not in lines]
    watch = progress or Silent()
    watch.start("harden", total=len(chosen), done=len(chosen) - len(missing))
    crew = workers or os.cpu_count() or 1
    try:
        with (
            Sandbox(
                label_limits(chosen.values()), workers=crew, allow_unsafe=unsafe_allowed(allow_unsafe)
            ) as sandbox,
            Journal[HardenedProblem](journal, notice=notice, fsync_every=1) as kept,
        ):
            hardener = ProblemHardener(options, sandbox)

            def one(problem: Problem) -> HardenedProblem:
                return hardener.harden(problem, companions.get(problem.id), claims.get(problem.id, ()))[0]

            def late() -> bool:
                return deadline is not None and time.monotonic() > deadline

            with closing(in_order(missing, one, workers=crew, stop=sandbox.close, late=late)) as made:
                for line in made:
                    lines[line.problem_id] = msgspec.structs.replace(line, settings_sha256=settings)
                    kept.append(lines[line.problem_id])
                    watch.advance()
    finally:
        watch.finish()
    ordered = tuple(lines[name] for name in chosen if name in lines)
    if len(ordered) < len(chosen):
        return Hardened(benchmark=loaded.name, files=(), lines=ordered, left=len(chosen) - len(ordered))
    spec = find_benchmark(benchmark)
    files = write_hardened(
        place,
        loaded.name,
        ordered,
        options,
        licence=spec.licence,
        source={"benchmark": loaded.name, "sha256": loaded.dataset_sha256},
    )
    exported = tuple(exported_files(place, ordered))
    return Hardened(benchmark=loaded.name, files=tuple(files), lines=ordered, exported=exported)


def _begun(journal: Path, settings: str, notice: Notice) -> dict[str, HardenedProblem]:
    """The problems that were hardened before, by id.

    Raises:
        UserError: they were hardened with other settings.
    """
    lines = {line.problem_id: line for line in read_journal(journal, HardenedProblem, notice=notice)}
    if any(line.settings_sha256 != settings for line in lines.values()):
        raise UserError(f"{journal}: belongs to other settings or data; remove it, or choose another `out`")
    return lines
