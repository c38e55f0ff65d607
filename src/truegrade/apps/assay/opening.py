"""The assay as one call: names become problems and graders, and `truegrade.apps.assay.running` does the rest.

And the call of a witness made again: the evidence for a label, repeated by one command.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from truegrade.api import unsafe_allowed
from truegrade.apps.assay.folder import PAGE, AssayedBenchmark, AssayFolder, AssayManifest, open_assay
from truegrade.apps.assay.input_domain import find_companions
from truegrade.apps.assay.labelling import Replayed
from truegrade.apps.assay.labelling import replay as replay_call
from truegrade.apps.assay.measures import AssayResult
from truegrade.apps.assay.oracle import build_oracle
from truegrade.apps.assay.probes.labelled import ClaimedProbe, read_labels
from truegrade.apps.assay.probes.labelled import replies as replies_of
from truegrade.apps.assay.records import BY_CONSTRUCTION, Battery, Danger, Probe
from truegrade.apps.assay.reporting.assay_document import write_assay_page
from truegrade.apps.assay.reporting.assay_tables import gather_folder
from truegrade.apps.assay.running import (
    AssayRequest,
    label_limits,
    plan,
    run_assay,
    tell_so_far,
    write_battery,
)
from truegrade.apps.assay.targets import Target
from truegrade.apps.assay.targets.opening import (
    TESTS_INSIDE,
    InsideTarget,
    ProfileTarget,
    inside_tests,
    open_target,
)
from truegrade.apps.assay.targets.programs import started_in_vain, words_of_command
from truegrade.benchmarks import REGISTRY
from truegrade.benchmarks.base import Benchmark, BenchmarkSpec
from truegrade.benchmarks.own_rows import rows_benchmark
from truegrade.errors import UserError
from truegrade.pipeline.loading import Limit, load_announced, select
from truegrade.pipeline.verdicts import Progress, refuse_ungradable, with_packages
from truegrade.profiles import AnyProfile, find_profile
from truegrade.records import Problem, sha256_json
from truegrade.report.progress_lines import download_progress
from truegrade.sandbox import Sandbox
from truegrade.settings import Silent
from truegrade.store.journal import Notice, ignore
from truegrade.store.manifest import environment, now

DEFAULT_BENCHMARK = "micro-repair"
DEFAULT_PROBLEMS = 8
"""So that there is a first answer within two minutes."""
Grader = str | Callable[..., Any]


def assay(
    benchmarks: Sequence[str | BenchmarkSpec] = (),
    *,
    problems: Sequence[Problem] = (),
    grader: Grader | Sequence[Grader] = (),
    profiles: Sequence[AnyProfile] = (),
    battery: Battery | None = None,
    call: str = "",
    tests_as: str = "",
    data: str | Path | None = None,
    task_args: Mapping[str, str] | None = None,
    limit: Limit = None,
    ids: Sequence[str] = (),
    labels: str | Path | None = None,
    replies: Sequence[str | Path] = (),
    danger: Danger | None = None,
    mine: bool = False,
    packages: Sequence[str] = (),
    timeout_s: float | None = None,
    jail: bool = True,
    dry: str | Path | None = None,
    pass_at: float | None = None,
    repeat: int = 1,
    confidence: float = 0.95,
    out: str | Path | None = None,
    workers: int | None = None,
    allow_unsafe: bool | None = None,
    command: str = "",
    progress: Progress | None = None,
    notice: Notice = ignore,
) -> list[AssayResult]:
    """Measure graders on benchmarks: how many right and wrong programs they accept, and which cheats.

    The same call goes on where an earlier one stopped.

    Args:
        benchmarks: names, files or specs; none (and no ``problems``) for micro-repair.
        problems: problems of your own, instead of benchmarks.
        grader: foreign graders: ``FILE.py:function``, ``cmd:COMMAND``, an HTTP address, or a function.
        profiles: profiles of ours that are graders under measurement; ``tests-inside`` is the plainest rule of
            all. None: ``strict``, if no ``grader`` is given either.
        battery: what is sent; None for every class of probes.
        call: how a foreign grader is called, a name of `truegrade.apps.assay.targets.calls.CALLS` or
            ``module:adapter``; by default ``exit-code`` for commands, else ``plain``.
        tests_as: the form in which it is given the tests (`truegrade.grading.tests_forms`); by default the usual
            one of ``call``.
        data: local data file, or a folder that holds it.
        task_args: of the benchmark.
        limit: the first N problems, or those from A to B; None for the first 8 of a benchmark that is named, and
            for all ``problems``. What was measured of others in the same folder stays there and counts no more.
        ids: only these problems.
        labels: JSON Lines of labelled programs (`truegrade.apps.assay.probes.labelled`).
        replies: folders of runs whose replies are sent as well.
        danger: the most dangerous programs that graders outside the jail may be sent; None for ``h0``.
        mine: a grader at another machine's address is the caller's own.
        packages: installed packages that a grader in the jail may import, with what they require.
        timeout_s: seconds that a foreign grader may take for one program; None for ten times what the slowest
            right program took, at least 12 and at most 60.
        jail: False runs a foreign function or command outside the jail, under limits of resources only.
        dry: a folder to write the probes into, with what each does; nothing is sent.
        pass_at: score from which on a grader that gives numbers accepts; None: what it gives the reference.
        repeat: times that every probe is sent; verdicts that differ are a finding.
        confidence: of every interval.
        out: folder of the assay; with several benchmarks, the folder that holds theirs.
        workers: programs run at once; None for one a core.
        allow_unsafe: run programs even at protection level 1.
        command: what measures this again, for the page.
        progress: watches the stages.
        notice: told what a person should know.

    Raises:
        UserError: a name, file or number is at fault; the message says which and what to do.
        SandboxError: programs would have to run at level 1, and that is not allowed.
    """
    unsafe, crew = unsafe_allowed(allow_unsafe), workers or os.cpu_count() or 1
    if repeat < 1 or not 0 < confidence < 1:
        raise UserError("`repeat` is at least 1, and `confidence` lies between 0 and 1")
    plain = not benchmarks and not problems
    graders = [grader] if isinstance(grader, str) or callable(grader) else list(grader)
    named = list(profiles) or ([] if graders else ["strict", TESTS_INSIDE] if plain else ["strict"])
    with_packages({}, packages)  # refused before anything is loaded or labelled
    opened = load_benchmarks(benchmarks, problems, data, task_args or {}, notice)
    limit = DEFAULT_PROBLEMS if limit is None and not problems and not ids else limit
    claims = _claims(labels, replies, opened, notice)
    setups = {
        each: _setup(each, call, tests_as, packages, timeout_s, jail) for each in graders if isinstance(each, str)
    }
    for each in setups if jail else ():
        for lacking in started_in_vain(each, packages):
            notice(f"{each} may not work: {lacking}")
    told: set[str] = set()

    def once(line: str) -> None:
        """Tell a line that was not told before: what is known may be the same at the next turn."""
        if line not in told:
            told.add(line)
            notice(line)

    results = []
    with _targets(
        named, graders, crew, unsafe, call=call, tests_as=tests_as, danger=danger, mine=mine,
        packages=packages, timeout_s=timeout_s, jail=jail,
    ) as targets:  # fmt: skip
        for benchmark in opened:
            chosen = {problem.id: problem for problem in select(benchmark, limit, ids)}
            companions = find_companions(benchmark.name, benchmark.problems, data, notice)
            manifest = AssayManifest(
                battery=battery or Battery(),
                benchmark=AssayedBenchmark(
                    name=benchmark.name,
                    dataset_sha256=benchmark.dataset_sha256,
                    selected=tuple(chosen),
                    companion=next((each.benchmark for each in companions.values()), ""),
                    companion_sha256=next((each.dataset_sha256 for each in companions.values()), ""),
                    args=benchmark.args,
                    data=benchmark.source,
                ),
                graders=tuple(target.name for target in targets),
                repeat=repeat,
                pass_at=pass_at,
                labels_sha256=sha256_json(claims) if claims else "",
                call=call if graders else "",
                one_at_a_time=tuple(target.name for target in targets if target.of_replies),
                tests_as=tests_as if graders else "",
                setups=setups,
                environment=environment(),
                created=now(),
            )
            folder = AssayFolder(_place(out, manifest, several=len(opened) > 1), notice=notice)
            request = AssayRequest(
                folder=folder,
                manifest=manifest,
                problems=chosen,
                companions=companions,
                claims=claims,
                targets=targets,
                workers=crew,
                allow_unsafe=unsafe,
                confidence=confidence,
            )
            _refuse(targets, chosen.values())
            with folder.locked():
                if dry is not None:
                    notice(f"nothing is sent; {write_battery(request, Path(dry), progress or Silent())}")
                    continue
                if said := plan(request, len(benchmark.problems)):
                    notice(said)
                try:
                    summary, unusable = run_assay(request, progress or Silent(), once)
                except KeyboardInterrupt:
                    tell_so_far(request, once)
                    raise
                write_assay_page(gather_folder(folder, command), folder.path / PAGE)
            results.append(
                AssayResult(
                    folder=folder.path,
                    benchmark=benchmark.name,
                    summary=summary,
                    findings=tuple(folder.findings()),
                    unusable=unusable,
                )
            )
    return results


def load_benchmarks(
    benchmarks: Sequence[str | BenchmarkSpec],
    problems: Sequence[Problem],
    data: str | Path | None,
    task_args: Mapping[str, str],
    notice: Notice,
) -> list[Benchmark]:
    """Benchmarks by name, or the problems given as one.

    Raises:
        UserError: both are given, or a name or file is at fault.
    """
    if problems:
        if benchmarks:
            raise UserError("give names of benchmarks or problems of your own, not both")
        return [
            Benchmark(
                name=problems[0].benchmark,
                problems=tuple(problems),
                dataset_sha256=problems[0].dataset_sha256,
                source="problems given by the caller",
            )
        ]
    place = None if data is None else Path(data)
    names = list(benchmarks) or [DEFAULT_BENCHMARK]
    return [load_announced(name, place, task_args, notice, download_progress) for name in names]


def _claims(
    labels: str | Path | None, replies: Sequence[str | Path], opened: Sequence[Benchmark], notice: Notice
) -> dict[str, list[ClaimedProbe]]:
    """Labelled programs and replies, by problem id."""
    if (labels or replies) and len(opened) > 1:
        raise UserError("`labels` and `replies` belong to one benchmark; assay the others by themselves")
    known = {problem.id: problem for benchmark in opened for problem in benchmark.problems}
    left_out = {id_: why for benchmark in opened for id_, why in benchmark.left_out.items()}
    read = read_labels(Path(labels), known.keys(), left_out, notice=notice) if labels else []
    read += [claimed for run_ in replies for claimed in replies_of(Path(run_), known.values(), notice=notice)]
    claims: dict[str, list[ClaimedProbe]] = {}
    for claimed in read:
        claims.setdefault(claimed.probe.problem_id, []).append(claimed)
    return claims


def _refuse(targets: Sequence[Target], problems: Collection[Problem]) -> None:
    """Refuse a grader of ours that has no rules for a problem.

    Raises:
        UserError: says which and what it covers.
    """
    refuse_ungradable([each.profile for each in targets if isinstance(each, ProfileTarget)], problems)
    if any(isinstance(each, InsideTarget) for each in targets):
        for problem in problems:
            inside_tests(problem)


def _setup(grader: str, *how: object) -> str:
    """A hash of what decides a foreign grader's verdicts: the files that it names, and how it is called."""
    words = words_of_command(grader) if grader.startswith("cmd:") else [grader.rpartition(":")[0]]
    files = [sha256(path.read_bytes()).hexdigest() for word in words if (path := Path(word)).is_file()]
    return sha256_json([files, *how])


@contextmanager
def _targets(
    profiles: Sequence[AnyProfile], graders: Sequence[Grader], workers: int, unsafe: bool, **foreign: Any
) -> Iterator[list[Target]]:
    """The graders, opened; closed at the end."""
    targets: list[Target] = []
    try:
        for profile in profiles:
            if profile == TESTS_INSIDE:
                targets.append(InsideTarget(workers=workers, allow_unsafe=unsafe))
            else:
                targets.append(ProfileTarget(find_profile(profile), workers=workers, allow_unsafe=unsafe))
        targets += [open_target(each, workers=workers, allow_unsafe=unsafe, **foreign) for each in graders]
        yield targets
    finally:
        for target in targets:
            target.close()


def _place(out: str | Path | None, manifest: AssayManifest, *, several: bool) -> Path:
    """The folder of one benchmark's assay."""
    name = manifest.benchmark.name
    if out is not None:
        return Path(out) / name if several else Path(out)
    return Path("runs") / f"assay-{name}-{sha256_json([manifest.identity, manifest.graders, manifest.setups])[:8]}"


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
    if one.witness is None or one.witness.source == BY_CONSTRUCTION:
        why = "has no witness" if one.witness is None else f"is wrong by construction: {one.witness.got}"
        raise UserError(f"{opened.path}: probe {one.id} {why}; there is nothing to run")
    recorded = opened.manifest().benchmark
    place = data or (recorded.data if Path(recorded.data).exists() else None)
    rows = recorded.name not in REGISTRY.names() and str(place).endswith((".jsonl", ".jsonl.gz"))
    given = rows_benchmark(Path(str(place))) if rows else recorded.name
    (benchmark,) = load_benchmarks([given], (), place, recorded.args, notice)
    problem = benchmark.by_id()[one.problem_id]
    with Sandbox(label_limits([problem]), workers=1, allow_unsafe=unsafe_allowed(allow_unsafe)) as sandbox:
        companion = find_companions(benchmark.name, [problem], place, notice).get(problem.id)
        oracle = build_oracle(problem, companion, sandbox, generated=0)
        if isinstance(oracle, str):
            raise UserError(f"{problem.id}: {oracle}")
        return one, replay_call(oracle, one.code, one.witness.call, sandbox, one.witness.repeats)
