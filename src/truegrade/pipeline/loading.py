"""The data set of a name or of a run, found, downloaded where it must be, and checked."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from truegrade import agents, profiles
from truegrade.benchmarks import (
    BENCHMARKS,
    READERS,
    REGISTRY,
    find_benchmark,
    known_benchmark,
    load_found,
)
from truegrade.benchmarks.base import Benchmark, BenchmarkSpec
from truegrade.datasets import pull, source
from truegrade.datasets.download import find
from truegrade.errors import (
    BadRecord,
    NotComparable,
    RemovedName,
    TruegradeError,
    UnknownName,
    UserError,
    first_few,
)
from truegrade.kinds import kind_of
from truegrade.models import providers
from truegrade.profiles import Profile
from truegrade.records import Problem
from truegrade.registry import Found, Origin, Registry, refuse_another_file
from truegrade.statistics.windows import FILTERS, Window, check_window, described, inside
from truegrade.store import Manifest, Run
from truegrade.store.facts import sample_hash
from truegrade.store.importers import SourceFile, find_format
from truegrade.store.importers.logs import is_inspect_log
from truegrade.store.importers.reading import ZIP_MAGIC, opened_zip
from truegrade.store.journal import Notice, ignore
from truegrade.store.packing import is_pack

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
    loaded = load_found(found, data, args)
    if found.origin.how == "file":
        tell_rows(loaded.left_out.values(), notice)
    return loaded


def tell_rows(faults: Collection[str], notice: Notice) -> None:
    """Name rows of a file that are left out, the first with what is at fault."""
    for fault in [*faults][:_SHOWN]:
        notice(f"left out: {fault}")
    if len(faults) > _SHOWN:
        places = [fault.partition(", field ")[0].partition(": ")[0] for fault in [*faults][_SHOWN:]]
        notice(f"{len(faults)} rows are left out in all, these too: {first_few(places, _SHOWN_PLACES)}")


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
    except RemovedName:
        raise
    except UnknownName:
        raise UserError(
            f"{run_.path} was made with a benchmark {name!r} that is not installed here; if a Python file defines"
            " it, name that file: `benchmark` FILE.py"
        ) from None


def removals(run_: Run) -> list[RemovedName]:
    """What the run was made or graded with that this version has no more."""
    manifest = run_.manifest
    agent = manifest.generation and manifest.generation.agent
    named: list[tuple[Registry[Any], str]] = [
        (REGISTRY, manifest.benchmark.name),
        *((profiles.REGISTRY, profile.partition("@")[0]) for profile in run_.profiles),
        *([(agents.REGISTRY, agent.name)] if agent else []),
    ]
    gone = [removed for one, name in named if (removed := one.removal(name)) is not None]
    if manifest.generation and (vendor := manifest.generation.model.partition("/")[0]) in providers.REMOVED:
        asked = "runs that asked it are still read, shown and graded"
        gone.append(RemovedName("provider", vendor, providers.REMOVED[vendor], asked))
    return gone


def problems_of(run_: Run, loaded: Benchmark) -> dict[str, Problem]:
    """The problems that a run is to be counted over, in the data set's order."""
    selected = run_.manifest.selected
    wanted = loaded.by_id().keys() if selected is None else set(selected)
    return {p.id: p for p in loaded.problems if p.id in wanted and p.id not in run_.manifest.excluded}


def data_at_hand(run_: Run) -> bool:
    """Whether the problems of a run can be read without a download and without running anybody's code."""
    identity = run_.manifest.benchmark
    if identity.name not in BENCHMARKS:
        place = _rows(run_)
        return place.endswith(tuple(READERS)) and Path(place).exists()
    pinned = find_benchmark(identity.name).source
    return Path(identity.source).exists() or (pinned is not None and find(source(pinned)) is not None)


def _rows(run_: Run) -> str:
    """The file that a run's own benchmark lies in; empty where it lies in none."""
    recorded = run_.manifest.origin("benchmark")
    return recorded.place if recorded is not None and recorded.how == "file" else ""


def problems_at_hand(run_: Run) -> dict[str, Problem]:
    """The problems that a run is counted over, of data that is `data_at_hand`.

    Raises:
        NotComparable: the data at hand is another version.
    """
    identity = run_.manifest.benchmark
    given = Path(identity.source) if identity.name in BENCHMARKS and Path(identity.source).exists() else None
    return problems_of(run_, load_for(run_, None, given, ignore, _unshown))


def _unshown(_: str) -> AbstractContextManager[Callable[[int, int | None], None]]:
    """Of what is at hand nothing is downloaded."""
    return nullcontext(lambda done, total: None)


def reference_programs(problems: Mapping[str, Problem]) -> dict[str, str]:
    """The data set's own program of each problem that has one, by problem id."""
    programs = {name: kind_of(problem.task).reference(problem.task) for name, problem in problems.items()}
    return {name: program for name, program in programs.items() if isinstance(program, str)}


def references_at_hand(run_: Run) -> dict[str, str]:
    """`reference_programs` of a run; nothing where its data is not at hand, unreadable, or another version."""
    with suppress(TruegradeError):
        if data_at_hand(run_):
            return reference_programs(problems_at_hand(run_))
    return {}


# --------------------------------------------------------------- Which problems of a benchmark a run is about.


Limit = int | tuple[int, int] | None
"""The first N, or those from A to B, 1-based and inclusive; None for all."""


def select(
    benchmark: Benchmark, limit: Limit = None, ids: Sequence[str] = (), *, rows: bool = False
) -> tuple[Problem, ...]:
    """The problems asked for, in the data set's order.

    Args:
        benchmark: what they are chosen from.
        limit: how many; it counts programs where several problems are about one (`unit_of`).
        ids: only these; none for all.
        rows: the limit counts problems, as the rows of a file do.

    Raises:
        UnknownName: an id is not in the data set.
        UserError: nothing is left.
    """
    known = benchmark.by_id()
    for problem_id in ids:
        if problem_id in benchmark.left_out:
            raise UserError(
                f"problem {problem_id!r} of {benchmark.name} is left out: {benchmark.left_out[problem_id]}"
            )
        if problem_id not in known:
            raise UnknownName("problem", problem_id, known, f"in {benchmark.name}")
    wanted = set(ids)
    chosen = tuple(p for p in benchmark.problems if not wanted or p.id in wanted)
    if limit is not None:
        first, last = (1, limit) if isinstance(limit, int) else limit
        units = list(dict.fromkeys(p.id if rows else unit_of(p) for p in chosen))
        wanted = set(units[first - 1 : last])
        chosen = tuple(p for p in chosen if (p.id if rows else unit_of(p)) in wanted)
    if not chosen:
        raise UserError(
            f"`limit` and `ids` leave none of the {len(benchmark.problems)} problems of {benchmark.name}"
        )
    return chosen


def unit_of(problem: Problem) -> str:
    """What a limit counts: the program, with all its calls, mutants and orders, or else the problem."""
    kind = kind_of(problem.task)
    pairing = kind.pairing(problem.task) if kind.gives == "value" else None
    return problem.id if pairing is None else pairing.item


def told(benchmark: Benchmark, chosen: Sequence[Problem]) -> str | None:
    """What a limit left, where it counts programs; None where it counts problems."""
    programs, whole = len(set(map(unit_of, chosen))), len(set(map(unit_of, benchmark.problems)))
    if whole == len(benchmark.problems):
        return None
    return f"`limit` counts programs: {programs:,} of {whole:,}, {len(chosen):,} questions"


def apart(
    benchmark: str | BenchmarkSpec, args: Mapping[str, str], *, known: bool = False
) -> tuple[dict[str, str], dict[str, str]]:
    """Arguments (``-T``) that only leave problems of the benchmark out, and the others.

    Args:
        benchmark: as the user names it.
        args: to be told apart.
        known: the name was read, and may only be that of a built-in or installed benchmark.

    Raises:
        UnknownName: the benchmark takes no such argument.
        UserError: a date is none.
    """
    if not args:
        return {}, {}
    spec = known_benchmark(benchmark) if known and isinstance(benchmark, str) else find_benchmark(benchmark)
    for name in args:
        if name not in spec.args:
            raise UnknownName(f"{spec.name} argument", name, spec.args)
    window = {name: value for name, value in args.items() if name in spec.filters}
    check_window(window)
    return window, {name: value for name, value in args.items() if name not in window}


def window_of(manifest: Manifest, args: Mapping[str, str]) -> dict[str, str]:
    """The part of a run that ``-T`` arguments ask for; arguments that the run was made with say nothing new.

    Raises:
        UnknownName: the benchmark takes no such argument.
        UserError: the argument cannot be changed for a run that exists.
    """
    made = manifest.benchmark
    window, others = apart(made.name, args, known=True)
    for name, value in others.items():
        if made.args.get(name) != value:
            was = f"{name}={made.args[name]}" if name in made.args else f"no {name}"
            usable = ", ".join(known_benchmark(made.name).filters) or "none"
            raise UserError(
                f"`task_args` {name}={value}: the run was made with {was}, and only arguments that leave problems"
                f" out ({usable}) can be given for it now"
            )
    return window


def made_for(manifest: Manifest) -> dict[str, str]:
    """The window that a run was made for."""
    return {name: value for name, value in manifest.benchmark.args.items() if name in FILTERS}


def narrow(problems: Mapping[str, Problem], window: Window) -> dict[str, Problem]:
    """The problems that lie in the window.

    Raises:
        UserError: none does.
    """
    kept = {name: problem for name, problem in problems.items() if inside(problem.tags, window)}
    if not kept:
        raise UserError(f"{described(window)}: none of the {len(problems)} problems fits; widen the window")
    return kept


def left_out(run: Run, problems: Mapping[str, Problem], chosen: Container[str], window: Window) -> str:
    """The sentence on what a window leaves out of a run's problems and answered samples."""
    kept = sum(name in chosen for name in problems)
    others = (facts for facts in run.completion_facts() if facts.problem_id not in chosen)
    samples = len({sample_hash(facts) for facts in others if facts.answered and facts.problem_id in problems})
    return f"{described(window)}: {kept} of {len(problems)} problems; {samples} samples of the others are left out"


def scored(run: Run, problems: Mapping[str, Problem], profile: Profile) -> Mapping[str, Problem]:
    """The problems of a run that a profile scores: not those whose solution the prompts show.

    A profile that words such a prompt and scores its shots all the same says so (`Profile.scores_shots`); graded
    under another profile, the same replies to the same prompts count without them.
    """
    if run.manifest.benchmark.name in profile.scores_shots:
        return problems
    shown = {shot for prompt in run.prompts().values() for shot in prompt.shots}
    return {key: problem for key, problem in problems.items() if key not in shown}


# ----------------- Folders and zips as others publish their completions: which files of them are to be graded.


ENDINGS = (".jsonl", ".json", ".jsonl.gz", ".json.gz", ".eval")
"""Of files that may hold completions."""
_PROGRAM = re.compile(r"(?:(?P<set>.*)/)?(?P<name>[A-Za-z]+)_(?P<number>\d+)/(?P<sample>\d+)\.py")
"""A sample as evalplus publishes it: ``SET/HumanEval_0/0.py`` (evalplus/evalplus@26d6d00, its release v0.1.0)."""
_SHOWN, _SHOWN_PLACES = 5, 100


@contextmanager
def completion_files(path: Path, notice: Notice) -> Iterator[list[Path]]:
    """What is to be graded of a source: files of completions and folders of runs, in the order of their names.

    A run's folder, a zip of it, a pack and a file stand for themselves. A folder or ``.zip`` of other files stands
    for those that an importer recognises, wherever they lie in it, and for each set of programs in evalplus'
    layout, one file a sample.

    Args:
        path: what the user names.
        notice: told which files are passed over.

    Raises:
        UserError: a folder or zip holds nothing that can be graded.
        BadRecord: the zip is damaged.
    """
    if path.is_dir() and not (path / "manifest.json").exists():
        with TemporaryDirectory(prefix="truegrade-published-") as made:
            yield _recognised(path, path, Path(made), notice)
    elif path.suffix == ".zip" and path.is_file() and _is_archive(path):
        with TemporaryDirectory(prefix="truegrade-published-") as made:
            folder = Path(made) / path.name  # messages name the files in it
            _unpack(path, folder)
            yield _recognised(path, folder, Path(made), notice)
    else:
        yield [path]


@contextmanager
def completion_file(path: Path, notice: Notice) -> Iterator[Path]:
    """The one file that a source stands for; otherwise as `completion_files`.

    Raises:
        UserError: there are several.
    """
    with completion_files(path, notice) as files:
        if len(files) > 1:
            names = first_few([file.name for file in files], _SHOWN)
            raise UserError(f"{path}: holds {len(files)} files of completions ({names}); give them one by one")
        yield files[0]


def _is_archive(path: Path) -> bool:
    """Whether it is a zip, and neither a run as one file nor one that Inspect wrote as a log."""
    if is_pack(path):
        return False
    with SourceFile(path, hashed=False) as source:
        return source.head.startswith(ZIP_MAGIC) and not is_inspect_log(source)


def _unpack(path: Path, folder: Path) -> None:
    """Write the members that may hold completions; none outside the folder."""
    folder.mkdir()
    with SourceFile(path, hashed=False) as source, opened_zip(source) as documents:
        for name in documents.names:
            inside = Path(name)
            if inside.is_absolute() or ".." in inside.parts or not name.endswith((*ENDINGS, ".py")):
                continue
            place = folder / inside
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(documents.content(name))


def _recognised(path: Path, folder: Path, made: Path, notice: Notice) -> list[Path]:
    found, passed = [], []
    programs = defaultdict[str, list[Path]](list)
    for file in _walk(folder):
        inside = file.relative_to(folder).as_posix()
        if sample := _PROGRAM.fullmatch(inside):
            programs[sample["set"] or path.name.partition(".")[0]].append(file)
        elif file.is_dir() or (inside.endswith(ENDINGS) and _known(file)):
            found.append(file)
        else:
            passed.append(inside)
    found += [
        _as_rows(made / f"{Path(name).name}-{number}.jsonl", programs[name])
        for number, name in enumerate(programs)
    ]
    if not found:
        raise UserError(
            f"{path}: holds no run and no file of completions that is recognised; see docs/formats.md, or name a"
            " file in it and its `file_format`"
        )
    if passed:
        notice(f"{path}: passed over, as no files of completions: {first_few(passed, _SHOWN)}")
    return found


def _walk(folder: Path) -> Iterator[Path]:
    """Files, and folders of runs, that are not hidden, by name."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith((".", "__")):
            continue
        if path.is_dir() and not (path / "manifest.json").exists():
            yield from _walk(path)
        else:
            yield path


def _known(path: Path) -> bool:
    try:
        with SourceFile(path, hashed=False) as source:
            find_format(source, None)
    except BadRecord:
        return False
    return True


def _as_rows(path: Path, programs: list[Path]) -> Path:
    """Programs, one file each, as rows of evalplus' ``samples.jsonl``, by problem and sample."""
    rows = []
    for program in programs:
        name, _, number = program.parent.name.rpartition("_")
        try:
            text = program.read_text("utf-8")
        except UnicodeDecodeError as error:
            raise BadRecord(program, f"not UTF-8 text ({error.reason}); write the file anew as UTF-8") from None
        rows.append((name, int(number), int(program.stem), text))
    lines = [json.dumps({"task_id": f"{name}/{n}", "solution": text}) for name, n, _, text in sorted(rows)]
    path.write_text("".join(f"{line}\n" for line in lines))
    return path
