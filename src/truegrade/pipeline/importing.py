"""From a file of completions that somebody else made to a run; or to a part of one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import UNSET, UnsetType

from truegrade.benchmarks import known_benchmark
from truegrade.benchmarks.base import Benchmark, BenchmarkSpec
from truegrade.errors import UserError
from truegrade.pipeline.progress import Progress
from truegrade.records import Completion, ContestTask, FunctionTask, OracleTask, Problem, sha256_json
from truegrade.registry import Origin
from truegrade.store import BenchmarkIdentity, Manifest, Run, environment
from truegrade.store.importers import REGISTRY as IMPORTERS
from truegrade.store.importers import find_format, index_ids, read_completions
from truegrade.store.importers.base import Importer, Target
from truegrade.store.importers.completion_list import read_accepted
from truegrade.store.importers.reading import sha256_of
from truegrade.store.journal import Notice
from truegrade.store.manifest import now

RUNS = Path("runs")
"""Where runs go unless told otherwise."""


def import_file(
    path: Path,
    loaded: Benchmark,
    file_format: str | Importer | None,
    chosen: Sequence[Problem] | None,
    *,
    out: Path | None,
    progress: Progress,
    notice: Notice,
) -> Run:
    """Make a run of a file of completions; the file is checked to its end before anything is written.

    Args:
        path: the file.
        loaded: what it answers.
        file_format: name of its format; None to recognise it.
        chosen: the problems it answers, for a file without ids; those to take from a file with ids. None for all.
        out: folder of the run.
        progress: watches the copying.
        notice: told how much of the benchmark the file covers.

    Raises:
        BadRecord: a row is at fault; names file, line and field.
        UserError: there is no such file.
    """
    _require(path)
    importer = find_format(path, file_format)
    read_by = None if file_format is None else IMPORTERS.find(file_format).origin
    known = loaded.by_id()
    wanted = {problem.id for problem in chosen} if chosen is not None else known.keys()
    positions = [problem.id for problem in chosen or ()] if importer.positional else []

    def rows() -> Iterator[Completion]:
        found = read_completions(
            path,
            benchmark=loaded.name,
            dataset_sha256=loaded.dataset_sha256,
            known_ids=known,
            format=importer,
            positions=positions,
            questions=questions_of(loaded),
            wordings=_wordings(loaded),
        )
        return (completion for completion in found if completion.problem_id in wanted)

    found = survey(rows())
    if len(found.tasks) < len(known):
        notice(
            f"{path} answers {len(found.tasks)} of the {len(known)} problems of {loaded.name}; only these count"
        )
    manifest = _manifest(path, importer.name, loaded, found, positions)
    manifest = msgspec.structs.replace(manifest, origins=origins(benchmark=loaded.origin, importer=read_by))
    digest = sha256_of(path)
    folder = out or RUNS / f"{slug(loaded.name)}-{slug(path.name.partition('.')[0])}-{digest[:8]}"
    run = Run.create_or_resume(folder, manifest, notice=notice)
    with run.locked():
        copy_completions(run, rows(), found.samples, progress=progress)
    return run


def questions_of(loaded: Benchmark) -> dict[str, str]:
    """Ids of contest problems by their words, where no two problems share them."""
    told = [(p.task.question, p.id) for p in loaded.problems if isinstance(p.task, ContestTask)]
    counted = Counter(question for question, _ in told)
    return {question: name for question, name in told if counted[question] == 1}


def _wordings(loaded: Benchmark) -> dict[str, str]:
    """The words of each question that is put in words."""
    tasks = {problem.id: problem.task for problem in loaded.problems}
    written = {name: task.prompt for name, task in tasks.items() if isinstance(task, FunctionTask | OracleTask)}
    return written | {name: task.question for name, task in tasks.items() if isinstance(task, ContestTask)}


def benchmark_of(
    path: Path, benchmark: str | BenchmarkSpec | None, file_format: str | Importer | None
) -> str | BenchmarkSpec:
    """What a file answers: as named, else as the file itself says, which can only name what is installed.

    Raises:
        UnknownName: the file names what is neither built in nor installed.
        UserError: neither says.
    """
    if benchmark is not None:
        return benchmark
    _require(path)
    answers = find_format(path, file_format).answers
    if answers is None:
        raise UserError(f"{path} does not say what it answers; name the benchmark: --benchmark humaneval")
    name = answers(path)
    known_benchmark(name)
    return name


def _require(path: Path) -> None:
    if not path.exists():
        raise UserError(f"{path}: no such file; give a run's folder or a file of completions")


def _manifest(
    path: Path, file_format: str, loaded: Benchmark, found: Survey, positions: Sequence[str]
) -> Manifest:
    known = loaded.by_id()
    # Without ids, the same bytes under another --limit are answers to other questions: another run.
    paired = f" as {positions[0]} to {positions[-1]}" if positions else ""
    return Manifest(
        created=now(),
        benchmark=identity_of(loaded),
        imported_from=f"{path.name} sha256:{sha256_of(path)}{paired}",
        import_format=file_format,
        samples_per_task=found.samples_per_task,
        selected=None if len(found.tasks) == len(known) else tuple(key for key in known if key in found.tasks),
        environment=environment(),
    )


def take_over(run: Run, path: Path, loaded: Benchmark, asked: Collection[str], notice: Notice) -> None:
    """Store the texts of a file's accepted rows (``need_reproduce`` false) as answers that need not be asked for.

    They keep the file's identity in ``config_sha256``, so that a summary can say how many were not generated here.

    Args:
        run: receives them; samples beyond its number, or already answered, are left.
        path: JSON with a ``completion_list`` per task.
        loaded: what they answer.
        asked: ids of the problems that the run asks.
        notice: told how many samples were taken.

    Raises:
        BadRecord: the file is of another shape, or names no problem of the benchmark.
    """
    digest = sha256_of(path)
    target = Target(
        benchmark=loaded.name,
        dataset_sha256=loaded.dataset_sha256,
        config_sha256=sha256_json({"reuse": digest}),
        ids=index_ids(loaded.by_id()),
    )
    answered = run.answered()
    rows = [
        completion
        for completion in read_accepted(path, target)
        if completion.problem_id in asked
        and completion.sample < run.manifest.samples_per_task
        and completion.key not in answered
    ]
    with run.append_completions() as journal:
        for completion in rows:
            journal.append(msgspec.structs.replace(completion, latency_s=None))
    notice(f"{len(rows)} samples of {path} are taken over and not asked again (need_reproduce is false)")


def origins(**of: Origin | None) -> dict[str, Origin] | UnsetType:
    """What a manifest says of where things were found: nothing of what is built in."""
    return {name: each for name, each in of.items() if each is not None and each.how != "built-in"} or UNSET


def identity_of(loaded: Benchmark) -> BenchmarkIdentity:
    """What a manifest says about the data."""
    return BenchmarkIdentity(
        name=loaded.name,
        args=loaded.args,
        dataset_sha256=loaded.dataset_sha256,
        source=loaded.source,
        problems=len(loaded.problems),
    )


def slug(text: str) -> str:
    """A name as a part of a folder's name."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.")[:60]


class Survey(msgspec.Struct, frozen=True):
    """What a file of completions holds."""

    samples: int
    tasks: set[str]
    samples_per_task: int


def survey(completions: Iterable[Completion]) -> Survey:
    """Read completions to their end, so that a bad line is found before a run is made of them."""
    samples, tasks, most = 0, set(), 0
    for completion in completions:
        samples += 1
        tasks.add(completion.problem_id)
        most = max(most, completion.sample + 1)
    return Survey(samples, tasks, most)


def copy_completions(run: Run, completions: Iterable[Completion], total: int, *, progress: Progress) -> None:
    """Append imported completions to the run; those already there are passed over."""
    present = run.answered()
    progress.start("import", total=total, done=len(present))
    try:
        with run.append_completions() as journal:
            for completion in completions:
                if completion.key not in present:
                    journal.append(completion)
                    progress.advance()
    finally:
        progress.finish()
