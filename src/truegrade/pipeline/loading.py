"""The data set of a name or of a run, found, downloaded where it must be, and checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from truegrade.benchmarks.base import Benchmark, BenchmarkSpec
from truegrade.benchmarks.table import REGISTRY, load_found
from truegrade.datasets import pull, source
from truegrade.datasets.locate import find
from truegrade.errors import NotComparable, UnknownName, UserError
from truegrade.records import Problem
from truegrade.registry import Found, Origin, refuse_another_file
from truegrade.store import Run
from truegrade.store.journal import Notice

Shown = Callable[[str], AbstractContextManager[Callable[[int, int | None], None]]]
"""Shows the download of the file of that name: `truegrade.report.progress_lines.download_progress`."""


def load_announced(
    given: str | BenchmarkSpec, data: Path | None, args: Mapping[str, str], notice: Notice, shown: Shown
) -> Benchmark:
    """Load a benchmark that the user names; a data set that is not at hand is announced, then downloaded while
    ``shown`` shows it."""
    return _load(REGISTRY.find(given), data, args, notice, shown)


def _load(
    found: Found[BenchmarkSpec], data: Path | None, args: Mapping[str, str], notice: Notice, shown: Shown
) -> Benchmark:
    spec = found.value
    if data is None and spec.source is not None and find(source(spec.source)) is None:
        pinned = source(spec.source)
        notice(f"{pinned.file} is not on this machine; downloading it from {pinned.url}")
        with shown(pinned.file) as progress:
            pull(pinned.name, progress=progress)
    return load_found(found, data, args)


def load_for(
    run_: Run, benchmark: str | BenchmarkSpec | None, data: Path | None, notice: Notice, shown: Shown
) -> Benchmark:
    """The data set that a run was made from; a user's own file is looked for where it was.

    A benchmark file is code, and a run may come from elsewhere: the file that its manifest names is run only where
    the user of this machine has named it before (`truegrade.registry.Registry.reopen`).

    Raises:
        NotComparable: the data at hand, or the benchmark file, is another version.
        UserError: the run was made with a benchmark file, which has to be named.
    """
    identity = run_.manifest.benchmark
    recorded = run_.manifest.origin("benchmark")
    found = _found_again(run_, recorded) if benchmark is None else REGISTRY.find(benchmark)
    if (
        data is None
        and found.value.source is None
        and found.origin.how != "file"
        and Path(identity.source).exists()
    ):
        data = Path(identity.source)
    loaded = _load(found, data, identity.args, notice, shown)
    if loaded.dataset_sha256 != identity.dataset_sha256:
        raise NotComparable(
            f"{run_.path} was made from another version of {identity.name} ({identity.dataset_sha256[:12]}…) than"
            f" the data at hand ({loaded.dataset_sha256[:12]}…); give the matching file with `data`"
        )
    refuse_another_file(str(run_.path), recorded, found.origin)
    return loaded


def _found_again(run_: Run, recorded: Origin | None) -> Found[BenchmarkSpec]:
    """The benchmark of a run that nobody names.

    Raises:
        UserError: it has to be named.
    """
    name = run_.manifest.benchmark.name
    try:
        return REGISTRY.reopen(name, recorded, run_.path, "`benchmark` FILE.py")
    except UnknownName:
        raise UserError(
            f"{run_.path} was made with a benchmark {name!r} that is not installed here; if a Python file defines"
            " it, name that file: `benchmark` FILE.py"
        ) from None


def problems_of(run_: Run, loaded: Benchmark) -> dict[str, Problem]:
    """The problems that a run is to be counted over, in the data set's order."""
    selected = run_.manifest.selected
    wanted = loaded.by_id().keys() if selected is None else set(selected)
    return {p.id: p for p in loaded.problems if p.id in wanted and p.id not in run_.manifest.excluded}
