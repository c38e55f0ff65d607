"""The last stage: verdicts are counted, with intervals, and the summary is written."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from truegrade.errors import UserError
from truegrade.files.json_text import encode
from truegrade.pipeline.summary import Summary, read_summary, summarise_run
from truegrade.profiles import Profile, open_stored
from truegrade.records import Problem
from truegrade.statistics.windows import EVERYTHING, Window, described
from truegrade.store import Run


def summarise(
    run: Run,
    problems: Mapping[str, Problem],
    profiles: Sequence[Profile],
    ks: Sequence[int] | None = None,
    *,
    window: Window = EVERYTHING,
    cutoff: str | None = None,
) -> Summary:
    """Count, with intervals, and write ``summary.json``; arguments as of `summarise_run`.

    Raises:
        UserError: a k of pass@k exceeds the samples per problem.
    """
    summary = summarise_run(run, problems, profiles, ks, window=window, cutoff=cutoff)
    run.write("summary.json", encode(summary, indent=2) + b"\n")
    return summary


def summarise_part(run: Run, problems: Mapping[str, Problem], *, window: Window, cutoff: str | None) -> Summary:
    """Count a part of a graded run, with the k of its stored summary; nothing is written.

    Args:
        run: graded.
        problems: those in the window.
        window: what left the others out.
        cutoff: last day of the model's training data; None for that of the stored summary.

    Raises:
        UserError: it was not graded, or nothing of the part was.
    """
    stored = read_summary(run)
    metrics = [estimate.metric for estimate in stored.profiles[0].estimates]
    ks = [int(name.removeprefix("pass@")) for name in metrics if name.startswith("pass@")]
    profiles = graders_of(run, problems)
    if not profiles:
        raise UserError(f"{run.given}: nothing in {described(window)} was graded; truegrade grade {run.given}")
    return summarise_run(run, problems, profiles, ks, window=window, cutoff=cutoff or stored.cutoff)


def graders_of(run: Run, problems: Container[str], *, besides: Container[str] = ()) -> list[Profile]:
    """Profiles with verdicts on some of these problems: an earlier grading may have been for another window.

    Args:
        run: graded.
        problems: by id.
        besides: ids of profiles that the caller has already, whose verdicts need not be read.
    """
    return [
        open_stored(name, run.manifest.origin(name), run.path)
        for name in run.profiles
        if name not in besides and any(key.problem_id in problems for key, _ in run.graded(name))
    ]
