"""The data set of a name or of a run, found, downloaded where it must be, and checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from truegrade.benchmarks import find_benchmark, load_benchmark
from truegrade.benchmarks.base import Benchmark
from truegrade.datasets import pull, source
from truegrade.datasets.locate import find
from truegrade.errors import NotComparable, UnknownName, UserError
from truegrade.records import Problem
from truegrade.store import Run
from truegrade.store.journal import Notice

Shown = Callable[[str], AbstractContextManager[Callable[[int, int | None], None]]]
"""Shows the download of the file of that name: `truegrade.report.progress.download_progress`."""


def load_announced(
    name: str, data: Path | None, args: Mapping[str, str], notice: Notice, shown: Shown
) -> Benchmark:
    """Load a benchmark; a data set that is not at hand is announced, then downloaded while ``shown`` shows it."""
    spec = find_benchmark(name)
    if data is None and spec.source is not None and find(source(spec.source)) is None:
        pinned = source(spec.source)
        notice(f"{pinned.file} is not on this machine; downloading it from {pinned.url}")
        with shown(pinned.file) as progress:
            pull(pinned.name, progress=progress)
    return load_benchmark(name, data, args)


def load_for(run_: Run, benchmark: str | None, data: Path | None, notice: Notice, shown: Shown) -> Benchmark:
    """The data set that a run was made from; a user's own file is looked for where it was.

    A benchmark file is code, which a run that came from elsewhere must not name: the user does, each time.

    Raises:
        NotComparable: the data at hand is another version.
        UserError: the run was made with a benchmark file, and none is named.
    """
    identity = run_.manifest.benchmark
    name = benchmark or identity.name
    try:
        spec = find_benchmark(name)
    except UnknownName:
        if benchmark is not None:
            raise
        raise UserError(
            f"{run_.path} was made with a benchmark {name!r} that is not installed here; if a Python file defines"
            " it, name that file: `benchmark` FILE.py"
        ) from None
    if data is None and spec.source is None and Path(identity.source).exists():
        data = Path(identity.source)
    loaded = load_announced(name, data, identity.args, notice, shown)
    if loaded.dataset_sha256 != identity.dataset_sha256:
        raise NotComparable(
            f"{run_.path} was made from another version of {identity.name} ({identity.dataset_sha256[:12]}…) than"
            f" the data at hand ({loaded.dataset_sha256[:12]}…); give the matching file with `data`"
        )
    return loaded


def problems_of(run_: Run, loaded: Benchmark) -> dict[str, Problem]:
    """The problems that a run is to be counted over, in the data set's order."""
    selected = run_.manifest.selected
    wanted = loaded.by_id().keys() if selected is None else set(selected)
    return {p.id: p for p in loaded.problems if p.id in wanted and p.id not in run_.manifest.excluded}
