"""`truegrade check`: whether a published number, or a file, holds."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import click

from truegrade.cli.options import (
    data_options,
    echo,
    json_option,
    notice,
    print_json,
    progress_for,
    refuse,
    unsafe_option,
    with_flags,
)

EXIT_NOT_HELD = 1
"""The file's number is not the claim, no independent draw gives it, or the audit is not clean."""

OF_CLAIM = ("metric", "tasks", "samples", "tolerance_points")
OF_MADE_RUN = ("file_format", "out")
OF_GRADING = ("benchmark", "previous", "shots", "label", "workers", "data", "task_args", "allow_unsafe")
"""Parameters of what the command may be asked, each without a meaning where it is asked something else."""


def _ids(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> list[str]:
    """Ids, several in one option or each in its own."""
    return [name.strip() for value in values for name in value.split(",") if name.strip()]


@click.command()
@click.argument("what", nargs=-1, required=True, metavar="[CLAIM] RUN|FILE", type=click.Path())
@click.option(
    "--metric",
    default="pass@1",
    show_default=True,
    help="pass@K, any_correct, all_correct, all_solutions, first_sample or another estimate that a run prints.",
)
@click.option(
    "--n",
    "tasks",
    type=click.IntRange(min=1),
    help="Problems (or draws over them) behind the claim. [default: the whole benchmark]",
)
@click.option("--samples", type=click.IntRange(min=1), help="Samples per problem behind the claim, if known.")
@click.option(
    "--tolerance",
    "tolerance_points",
    default=0.0,
    show_default=True,
    help="Tolerance in percentage points around the interval of an independent draw.",
)
@click.option(
    "--as", "profile", metavar="PROFILE", help="Rules. [default: strict; for a claim about a run, the run's first]"
)
@click.option("--benchmark", "-b", help="Benchmark that the completions answer; runs and Inspect logs record it.")
@click.option(
    "--previous",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Earlier file of the same pipeline, checked for test feedback and copies. Repeatable.",
)
@click.option(
    "--shots",
    multiple=True,
    callback=_ids,
    metavar="ID[,ID...]",
    help="Problems whose solutions the prompt shows, such as HumanEval/0,HumanEval/1.",
)
@click.option("--label", help="Claimed model of the file. [default: from the file name]")
@click.option("--workers", type=click.IntRange(min=1), help="Programs run at once. [default: one per core]")
@data_options
@click.option("--format", "file_format", help="Format of a file that a claim is about. [default: detected]")
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the run that is made of such a file.")
@unsafe_option
@json_option
@click.pass_context
def check(ctx: click.Context, /, what: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Say whether a published number, or a file, holds, and why.

    \b
    check 67.7 FILE  grade it, hold its own number against the claim, audit it
    check FILE       audit a file or run: rows that must not count, deviations
    check 67.7 RUN   could another draw of this run's protocol give the claim

    Exit code 0: "confirmed" (the file's own count prints as the claim, rounded or truncated, and no finding of the
    audit is an error); "clean"; "reproduced". 1: any other answer, such as "differs from this file by 8 of 164
    draws". 2: the input is at fault.
    """
    from truegrade.store.packing import is_run

    *claim, named = what
    path = Path(named)
    if len(claim) > 1:
        raise click.UsageError(f"one claim and one run or file are needed, and {len(what)} words are given")
    if claim and re.fullmatch(r"[\d.]+%?", named) and Path(claim[0]).exists():
        raise click.UsageError(f"the claim comes first: truegrade check {named} {claim[0]}")
    if not claim and re.fullmatch(r"[\d.]+%?", named) and not path.exists():
        raise click.UsageError(f"{named} is a number: name what it is about, truegrade check {named} FILE")
    if claim and re.fullmatch(r"0?\.\d*[1-9]\d*", claim[0]):
        percent = f"{100 * float(claim[0]):g}"
        raise click.UsageError(
            f"a claim is in percent: write {percent} if {claim[0]} is a fraction, else {claim[0]}%"
        )
    if not claim:
        refuse(*OF_CLAIM, *OF_MADE_RUN, why=f"is about a claim, and none is given: truegrade check 67.7 {named}")
        holds = _audit(path, options, as_json=as_json)
    elif is_run(path):
        refuse(*OF_MADE_RUN, *OF_GRADING, why=f"is about grading, and a claim about the run {named} grades none")
        holds = _draw_of_run(claim[0], path, options, as_json=as_json)
    else:
        holds = _number_of_file(claim[0], path, options, as_json=as_json)
    if not holds:
        ctx.exit(EXIT_NOT_HELD)


def _of(names: Collection[str], options: dict[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in names}


def _number_of_file(claim: str, path: Path, options: dict[str, Any], *, as_json: bool) -> bool:
    """Grade a file, hold a claim against its own number, audit it, and print one answer."""
    from truegrade import api
    from truegrade.analysis.replication import CheckAnswer

    given = options | {"profile": options["profile"] or "strict", "progress": progress_for(as_json)}
    found = api.check(claim, path, notice=notice, **given)
    if as_json:
        print_json(found)
    else:
        from truegrade.report.replication_text import print_check

        print_check(found.headline, found.why, found.replication, found.audit, worded=with_flags)
        echo(f"{found.replication.run}: summary.json, audit.json, report.html")
    return found.answer is CheckAnswer.CONFIRMED


def _draw_of_run(claim: str, path: Path, options: dict[str, Any], *, as_json: bool) -> bool:
    """Print whether an independent draw of a run's protocol could give a claim; nothing is graded."""
    from truegrade.analysis.published_number import PublishedNumber
    from truegrade.analysis.replication import replicate
    from truegrade.store import Run

    published = PublishedNumber(text=claim, **_of(OF_CLAIM, options))
    found = replicate(Run.open(path), published, profile=options["profile"])
    if as_json:
        print_json(found)
    else:
        from truegrade.report.replication_text import print_replication

        print_replication(found, worded=with_flags)
    return found.holds


def _audit(path: Path, options: dict[str, Any], *, as_json: bool) -> bool:
    """Print the audit of a run or of a file."""
    import msgspec

    from truegrade.analysis.audit import Evidence, audit

    given = _of(OF_GRADING, options) | {"allow_unsafe": bool(options["allow_unsafe"]), "notice": notice}
    profile = options["profile"] or "strict"
    found = audit(Evidence(path=path, profile=profile, progress=progress_for(as_json), **given))
    if as_json:
        print_json({"clean": found.clean, **msgspec.structs.asdict(found)})
    else:
        from truegrade.report.replication_text import print_audit

        print_audit(found)
    return found.clean
