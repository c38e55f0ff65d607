"""From a file of completions that somebody else made to a run; or to a part of one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from truegrade.benchmarks import known_benchmark
from truegrade.benchmarks.base import Benchmark
from truegrade.datasets.learned import AdapterPast
from truegrade.errors import UserError
from truegrade.kinds import kind_of
from truegrade.models.local import ARGUMENT, recorded_arguments
from truegrade.pipeline.verdicts import Progress
from truegrade.records import Completion, Problem, sha256_json
from truegrade.registry import Origin
from truegrade.store import BenchmarkIdentity, Manifest, Run, environment
from truegrade.store.facts import sample_hash
from truegrade.store.importers import Importer, ImportTarget, RowFaults, SourceFile, configuration, index_ids
from truegrade.store.importers.agentcoder import read_accepted
from truegrade.store.journal import Notice
from truegrade.store.manifest import now
from truegrade.store.spool import Spool

RUNS = Path("runs")
"""Where runs go unless told otherwise."""
_ENDINGS = re.compile(r"(\.raw|[-_.]sanitized|[-_.]eval_results)*(\.(jsonl?|eval|zip|gz))+$")
_ANY_FILE = re.compile(r"(?i)(samples?|completions?|generations?|outputs?|predictions?|results?)([-_.]|$)")


@contextmanager
def opened(path: Path) -> Iterator[SourceFile]:
    """Open a file of completions.

    Raises:
        UserError: there is none.
        BadRecord: it cannot be read.
    """
    if not path.exists():
        raise UserError(f"{path}: no such file; give a run's folder or a file of completions")
    with SourceFile(path) as source:
        yield source


def import_file(
    source: SourceFile,
    importer: Importer,
    loaded: Benchmark,
    chosen: Sequence[Problem] | None,
    *,
    out: Path | None,
    progress: Progress,
    notice: Notice,
    read_by: Origin | None = None,
    past: Callable[[Sequence[Problem]], AdapterPast] | None = None,
    model: str | None = None,
) -> Run:
    """Make a run of a file of completions, in one pass; the run is written once the file's end is read.

    Args:
        source: the file.
        importer: reads its format.
        loaded: what it answers.
        chosen: the problems it answers, for a file without ids; those to take from a file with ids. None for all.
        out: folder of the run.
        progress: watches the copying.
        notice: told how much of the benchmark the file covers.
        read_by: where the importer was found, where the user named it.
        past: says of the problems that it answers which are left out, and refuses.
        model: that all completions come from; None for what rows say, and where they say nothing the file's name.

    Raises:
        BadRecord: a row is at fault; names file, line and field.
        UserError: it answers none of the problems.
    """
    known, path = loaded.by_id(), source.path
    wanted = {problem.id for problem in chosen} if chosen is not None else known.keys()
    positions = tuple(problem.id for problem in chosen or ()) if importer.positional else ()
    faults = RowFaults(refusing=False)
    target = ImportTarget(
        benchmark=loaded.name,
        dataset_sha256=loaded.dataset_sha256,
        ids=index_ids(known, loaded.left_out),
        faults=faults,
        positions=positions,
        questions=questions_of(loaded),
        wordings=_wordings(loaded),
        model=name_from(path),
    )
    found = importer.read(source, target)
    named = found if model is None else (msgspec.structs.replace(each, model=model) for each in found)
    with Spool(out or RUNS) as spool:
        spool.fill(each for each in named if each.problem_id in wanted)
        if faults.count and not any(facts.answered for facts in spool.facts):
            raise faults.first[0]
        manifest = _manifest(source, importer, loaded, spool, positions, read_by, model)
        covered = len(spool.problems)
        if not covered:
            which = f"the {len(known)} problems of {loaded.name}" if chosen is None else "the problems of `limit`"
            raise UserError(f"{path}: answers none of {which}, so there is nothing to grade")
        if past is not None:
            seen = past([problem for problem in loaded.problems if problem.id in spool.problems])
            manifest = msgspec.structs.replace(manifest, excluded=seen.seen, training_data=seen.training_data)
        name = f"{slug(loaded.name)}-{slug(path.name.partition('.')[0])}-{source.sha256()[:8]}"
        name += "" if importer.sniff(source) else f"-{slug(importer.name)}"
        name += f"-{slug(model)}" if model else ""
        run = Run.create_or_resume(out or RUNS / name, manifest, notice=notice)
        tell_faults(faults, notice)
        scored = len(known) if run.manifest.selected is None else len(run.manifest.selected)
        if scored > covered:
            notice(f"{run.path} holds {scored} problems of {path} already; all of them are scored")
        elif covered < len(wanted):
            asked = f"the {len(known)} problems of {loaded.name}"
            asked = asked if chosen is None else f"{len(wanted)} problems asked for"
            notice(f"{path} answers {covered} of {asked}; only these are scored")
        with run.locked():
            done = sum(map(run.answered().__contains__, map(sample_hash, spool.facts)))
            progress.start("import", total=len(spool.facts), done=done)
            try:
                run.take_in(spool.lines(configuration(importer, source)), progress.advance)
            finally:
                progress.finish()
    return run


def name_from(path: Path) -> str:
    """What the name of a file says of whose completions it holds, with its folder's where any file might be called
    so, such as ``samples.jsonl``."""
    name = _ENDINGS.sub("", path.name) or path.name
    return f"{path.resolve().parent.name}/{name}".lstrip("/") if _ANY_FILE.match(name) else name


def tell_faults(
    faults: RowFaults,
    notice: Notice,
    outcome: str = "the row is left out or counts as missing, the others are graded",
) -> None:
    """Name the rows that could not be used, and say what becomes of them."""
    for error in faults.first:
        notice(f"{error}; {outcome}")
    if faults.count > len(faults.first):
        notice(f"{faults.first[0].path}: {faults.count} such rows in all; the first {len(faults.first)} are named")


def note_past(
    run: Run, problems: Mapping[str, Problem], adapter: Path, past: Callable[[Sequence[Problem]], AdapterPast]
) -> None:
    """Leave out of a run what its adapter learned from, and write down whether that is known.

    Args:
        run: whose completions were made with the adapter.
        problems: that it is to be counted over, by id.
        adapter: where the adapter lies.
        past: says which problems are left out, and refuses.

    Raises:
        UserError: the run was made with another adapter, or problems are refused.
    """
    made = run.manifest.generation.model_args if run.manifest.generation else {}
    recorded = recorded_arguments({ARGUMENT: adapter})[ARGUMENT] if ARGUMENT in made else None
    if recorded is not None and made[ARGUMENT] != recorded:
        raise UserError(f"{run.given}: its completions were made with another adapter than `adapter` {adapter}")
    found = past(list(problems.values()))
    run.update(excluded=run.manifest.excluded | found.seen, training_data=found.training_data)


def _manifest(
    source: SourceFile,
    importer: Importer,
    loaded: Benchmark,
    found: Spool,
    positions: Sequence[str],
    read_by: Origin | None,
    model: str | None,
) -> Manifest:
    # Without ids, the same bytes under another --limit are answers to other questions: another run.
    paired = f" as {positions[0]} to {positions[-1]}" if positions else ""
    # Nor are they the same answers, read in a format that the user named and the file does not show.
    read_as = "" if importer.sniff(source) else f" read as {importer.name}"
    read_as += f" of {model}" if model else ""
    return Manifest(
        created=now(),
        benchmark=identity_of(loaded),
        imported_from=f"{source.path.name} sha256:{source.sha256()}{paired}{read_as}",
        import_format=importer.name,
        samples_per_task=found.most_samples,
        selected=None
        if len(found.problems) == len(loaded.problems)
        else tuple(problem.id for problem in loaded.problems if problem.id in found.problems),
        environment=environment(),
        origins=origins(benchmark=loaded.origin, importer=read_by),
    )


def questions_of(loaded: Benchmark) -> dict[str, str]:
    """Ids of problems by their words, where no two share them."""
    words = _wordings(loaded)
    counted = Counter(words.values())
    return {text: name for name, text in words.items() if counted[text] == 1}


def _wordings(loaded: Benchmark) -> dict[str, str]:
    """The words of each question that is put in words."""
    words = {problem.id: kind_of(problem.task).shown(problem.task).text for problem in loaded.problems}
    return {name: text for name, text in words.items() if text}


_IDS = (
    (re.compile(rb'"HumanEval/\d+"'), "humaneval"),
    (re.compile(rb'"BigCodeBench/\d+"'), "bigcodebench"),
)
"""Ids of problems, and the benchmark that is meant where a file has such ids and says nothing else."""


def benchmark_of(source: SourceFile, importer: Importer) -> str:
    """What a file says that it answers, or ids at its beginning show.

    Raises:
        UnknownName: the file names what is neither built in nor installed.
        UserError: it does not say.
    """
    if importer.answers is None:
        found = [name for pattern, name in _IDS if pattern.search(source.head)]
        if len(found) == 1:
            return found[0]
        raise UserError(
            f"{source.path} does not record its benchmark; give `benchmark`, such as humaneval or your own file"
        )
    name = importer.answers(source)
    known_benchmark(name)
    return name


class Reused(NamedTuple):
    """The accepted rows (``need_reproduce`` false) of a file: answers that need not be asked for."""

    path: Path
    rows: list[Completion]
    """They keep the file's identity in ``config_sha256``: a summary says how many were not generated here."""


def read_reused(path: Path, loaded: Benchmark) -> Reused:
    """Read the accepted rows of a file.

    Args:
        path: JSON with a ``completion_list`` per problem.
        loaded: what they answer.

    Raises:
        BadRecord: the file cannot be read, is of another shape, or names no problem of the benchmark.
    """
    ids = index_ids(loaded.by_id(), loaded.left_out)
    target = ImportTarget(benchmark=loaded.name, dataset_sha256=loaded.dataset_sha256, ids=ids)
    with SourceFile(path) as source:
        accepted = list(read_accepted(source, target))
        config = sha256_json({"reuse": source.sha256()})
    rows = [msgspec.structs.replace(row, latency_s=None, config_sha256=config) for row in accepted]
    return Reused(path, rows)


def take_over(run: Run, reused: Reused, asked: Collection[str], notice: Notice) -> None:
    """Store the answers that need not be asked for.

    Args:
        run: receives them; samples beyond its number, or already answered, are left.
        reused: what `read_reused` read.
        asked: ids of the problems that the run asks.
        notice: told how many samples were taken.
    """
    answered, n = run.answered(), run.manifest.samples_per_task
    fitting = (row for row in reused.rows if row.problem_id in asked and row.sample < n)
    rows = [row for row in fitting if sample_hash(row) not in answered]
    with run.append_completions() as journal:
        for completion in rows:
            journal.append(completion)
    notice(f"{len(rows)} samples of {reused.path} are kept and not requested again (need_reproduce is false)")


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
        modified=loaded.modified or UNSET,
        part=loaded.part or UNSET,
    )


def slug(text: str) -> str:
    """A name as a part of a folder's name."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.")[:60]
