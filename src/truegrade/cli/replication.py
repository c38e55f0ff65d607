"""The commands that verify published numbers and files: `check`, `replicate` and `audit`."""

from __future__ import annotations

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
    together,
    unsafe_option,
    with_flags,
)

EXIT_NOT_HELD = 1
"""The file's number is not the claim, no independent draw gives it, or the audit is not clean."""


def _ids(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> list[str]:
    """Ids, several in one option or each in its own."""
    return [name.strip() for value in values for name in value.split(",") if name.strip()]


claim_options = together(
    click.option(
        "--metric", default="pass@1", show_default=True, help="pass@K, any_correct, all_correct or all_solutions."
    ),
    click.option(
        "--n",
        "tasks",
        type=click.IntRange(min=1),
        help="Problems (or draws over the run's problems) behind the claim. [default: the whole benchmark]",
    ),
    click.option("--samples", type=click.IntRange(min=1), help="Samples per problem behind the claim, if known."),
    click.option(
        "--tolerance",
        "tolerance_points",
        default=0.0,
        show_default=True,
        help="Tolerance in percentage points around the interval of an independent draw.",
    ),
)

audit_options = together(
    click.option("--benchmark", "-b", help="Benchmark that the completions answer; Inspect logs record it."),
    click.option("--as", "profile", default="strict", show_default=True, help="Profile to grade under."),
    click.option(
        "--previous",
        multiple=True,
        type=click.Path(path_type=Path),
        help="Earlier file of the same pipeline, checked for test feedback and copies. Repeatable.",
    ),
    click.option(
        "--shots",
        multiple=True,
        callback=_ids,
        metavar="ID[,ID...]",
        help="Problems whose solutions the prompt shows, such as HumanEval/0,HumanEval/1.",
    ),
    click.option("--label", help="Claimed model of the file. [default: from the file name]"),
    click.option("--workers", type=click.IntRange(min=1), help="Programs run at once. [default: one per core]"),
    data_options,
    unsafe_option,
)


@click.command()
@click.argument("claim")
@click.argument("file", type=click.Path(path_type=Path))
@audit_options
@claim_options
@click.option("--format", "file_format", help="Format of the file. [default: detected]")
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the run that is made from the file.")
@json_option
@click.pass_context
def check(
    ctx: click.Context, /, claim: str, file: Path, as_json: bool, allow_unsafe: bool | None, **options: Any
) -> None:
    """Grade a file, compare its own number with a published one and audit it: one answer, such as "confirmed".

    Exit code 0: the file's own count prints as the claim, rounded or truncated, and no finding of the audit is an
    error. 1: any other answer, such as "differs from this file by 8 of 164 draws". 2: the input is at fault.
    """
    from truegrade import api
    from truegrade.analysis.replication import CheckAnswer

    found = api.check(
        claim,
        file,
        allow_unsafe=allow_unsafe,
        progress=progress_for(as_json),
        notice=notice,
        **options,
    )
    if as_json:
        print_json(found)
    else:
        from truegrade.report.replication_text import print_check

        print_check(found.headline, found.why, found.replication, found.audit, worded=with_flags)
        echo(f"{found.replication.run}: summary.json, audit.json, report.html")
    if found.answer is not CheckAnswer.CONFIRMED:
        ctx.exit(EXIT_NOT_HELD)


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--claim", required=True, metavar="PERCENT", help="The published number as printed, such as 67.7.")
@claim_options
@click.option("--as", "profile", metavar="PROFILE", help="Profile of the claim. [default: the run's first]")
@json_option
@click.pass_context
def replicate(
    ctx: click.Context, /, run: Path, claim: str, profile: str | None, as_json: bool, **options: Any
) -> None:
    """Say whether an independent draw of a graded run's protocol could give a published number, and why.

    Exit code 0: reproduced (it could). 1: not reproduced, not comparable, or the stored audit reports errors.
    """
    from truegrade.analysis.published_number import PublishedNumber
    from truegrade.analysis.replication import replicate as hold
    from truegrade.store import Run

    replication = hold(Run.open(run), PublishedNumber(text=claim, **options), profile=profile)
    if as_json:
        print_json(replication)
    else:
        from truegrade.report.replication_text import print_replication

        print_replication(replication, worded=with_flags)
    if not replication.holds:
        ctx.exit(EXIT_NOT_HELD)


@click.command()
@click.argument("file", type=click.Path(path_type=Path), metavar="RUN|FILE")
@audit_options
@json_option
@click.pass_context
def audit(ctx: click.Context, /, file: Path, as_json: bool, allow_unsafe: bool | None, **options: Any) -> None:
    """Audit a run or a file of completions for rows that must not count and for deviations from the protocol."""
    import msgspec

    from truegrade.analysis.audit import Evidence
    from truegrade.analysis.audit import audit as examine

    progress = progress_for(as_json)
    found = examine(
        Evidence(path=file, allow_unsafe=bool(allow_unsafe), progress=progress, notice=notice, **options)
    )
    if as_json:
        print_json({"clean": found.clean, **msgspec.structs.asdict(found)})
    else:
        from truegrade.report.replication_text import print_audit

        print_audit(found)
    if not found.clean:
        ctx.exit(EXIT_NOT_HELD)
