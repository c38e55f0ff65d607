"""Which problems of a benchmark a run is about."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from truegrade.benchmarks import find_benchmark, known_benchmark
from truegrade.benchmarks.base import Benchmark, BenchmarkSpec
from truegrade.errors import UnknownName, UserError
from truegrade.profiles import Profile
from truegrade.records import ChoiceTask, OutputTask, Problem
from truegrade.statistics.windows import FILTERS, Window, check_window, described, inside
from truegrade.store import Manifest, Run

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
    task = problem.task
    if isinstance(task, ChoiceTask):
        return task.item
    if isinstance(task, OutputTask) and task.pairing is not None:
        return task.pairing.item
    return problem.id


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
    samples = sum(key.problem_id in problems and key.problem_id not in chosen for key in run.answered())
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
