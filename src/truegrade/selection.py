"""Which problems of a benchmark a run is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from truegrade.benchmarks.base import Benchmark
from truegrade.errors import UnknownName, UserError
from truegrade.profiles import Profile
from truegrade.records import ChoiceTask, OutputTask, Problem
from truegrade.store import Run

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
            f"--limit and --id leave none of the {len(benchmark.problems)} problems of {benchmark.name}"
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
    return f"--limit counts programs: {programs:,} of {whole:,}, {len(chosen):,} questions"


def parse_limit(text: str | None) -> Limit:
    """``N`` or ``A-B`` as on the command line.

    Raises:
        UserError: it is neither, or it is empty.
    """
    if text is None:
        return None
    first, dash, last = text.partition("-")
    try:
        limit = (int(first), int(last)) if dash else int(first)
    except ValueError:
        raise UserError(f"--limit {text}: give a number (the first N) or a range A-B, 1-based") from None
    start, end = limit if isinstance(limit, tuple) else (1, limit)
    if start < 1 or end < start:
        raise UserError(f"--limit {text}: problems are counted from 1, and the range must not be empty")
    return limit


def scored(run: Run, problems: Mapping[str, Problem], profile: Profile) -> Mapping[str, Problem]:
    """The problems of a run that a profile scores: not those whose solution the prompts show.

    A profile that words such a prompt and scores its shots all the same says so (`Profile.scores_shots`); graded
    under another profile, the same replies to the same prompts count without them.
    """
    if run.manifest.benchmark.name in profile.scores_shots:
        return problems
    shown = {shot for prompt in run.prompts().values() for shot in prompt.shots}
    return {key: problem for key, problem in problems.items() if key not in shown}
