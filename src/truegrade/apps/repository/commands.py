"""`truegrade data build repository` makes problems of functions; `truegrade assay repository` measures tests."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from truegrade.cli.options import (
    EXIT_GATE,
    echo,
    fail_if_option,
    json_option,
    names_of,
    notice,
    print_json,
    progress_for,
    unsafe_option,
    workers_option,
)

if TYPE_CHECKING:
    from truegrade.apps.repository.build import BuiltFunctions, Inventory, SuiteRefusals
    from truegrade.apps.repository.strength import FunctionResult, StrengthOptions
    from truegrade.apps.repository.suite_strength import SuiteSummary
    from truegrade.datasets.executions import Refused
    from truegrade.pipeline.verdicts import Progress
    from truegrade.statistics.conditions import Condition

_SHOWN_CHARS = 80
_SHOWN_REASONS = 7
_SHOWN_FAILED = 5


@click.command()
@click.argument("repository", metavar="PATH|PACKAGE")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True,
              help="Folder to write; the same command resumes in it.")  # fmt: skip
@click.option("--kinds", callback=names_of, metavar="A,B,...",
              help="write, repair, complete, predict. [default: all]")  # fmt: skip
@click.option("--size", type=click.IntRange(min=1), help="Rows of each kind at most. [default: all there are]")
@click.option(
    "--seed", default=0, show_default=True, help="Decides generated calls, and which functions --size takes."
)
@click.option("--inputs", default=3, show_default=True, type=click.IntRange(min=2),
              help="Number of calls of each problem of kind predict.")  # fmt: skip
@click.option("--least", default=0.5, show_default=True, type=click.FloatRange(0, 1),
              help="Leave functions out whose problems refuse a smaller share of mutants.")  # fmt: skip
@workers_option
@fail_if_option("kill < 0.8 or forgeable > 20")
@click.option("--verbose", is_flag=True, help="Print the reason for each function that was left out.")
@unsafe_option
@json_option
def build_repository(
    repository: str,
    out: Path,
    kinds: tuple[str, ...],
    workers: int | None,
    fail_if: str | None,
    verbose: bool,
    allow_unsafe: bool | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Make problems of a repository's functions, decided by calls that its own tests make, or else by the tests.

    PATH is a checkout, an sdist, a wheel or a Python file; PACKAGE the name of an installed package. Nothing of it
    runs outside the sandbox, and no model is asked. The folder then holds a file of each kind and strength.jsonl:
    which mutants of each function the tests refuse, and calls that tell others from the original.
    """
    from truegrade.apps.repository.build import (
        KINDS,
        RepositoryOptions,
        build_functions,
        drawn_parts,
        take_inventory,
    )
    from truegrade.apps.repository.problems import DECIDED_KINDS
    from truegrade.apps.repository.source import read_tree
    from truegrade.apps.repository.strength import StrengthOptions
    from truegrade.apps.repository.suite_strength import read_suite_condition
    from truegrade.datasets.executions import prepare
    from truegrade.errors import UnknownName, UserError
    from truegrade.files.extras import require

    require("pytest", "the run of a repository's tests")
    for name in kinds:
        if name not in KINDS:
            raise UnknownName("kind of problem", name, KINDS)
    options = RepositoryOptions(kinds=tuple(kind for kind in KINDS if not kinds or kind in kinds), **asked)
    condition = None if fail_if is None else read_suite_condition(fail_if)
    tree = read_tree(repository)
    prepare(out / "repository.json")
    unsafe = bool(allow_unsafe)
    inventory = take_inventory(tree, out, allow_unsafe=unsafe, notice=notice)
    if not as_json:
        tell_inventory(inventory)
        if why := inventory.recording.why_none:
            notice(f"{why}; problems of kind predict are made with drawn calls")
    watch = progress_for(as_json)
    decided = condition is not None or any(kind in DECIDED_KINDS for kind in options.kinds)
    for some in drawn_parts(inventory, options):
        summary, results = None, list["FunctionResult"]()
        if decided:
            measure = StrengthOptions(seed=options.seed, processes=False)
            try:
                summary, results = _measured(some, measure, out, workers, unsafe, watch, search=True)
            except UserError as fault:
                notice(f"{fault}; so what problems refuse is not held against the whole suite")
        watch.start("build", total=len(some.functions), done=0)
        try:
            built = build_functions(
                some, options, out, _refused_by_suite(results), workers=workers, allow_unsafe=unsafe,
                progress=watch.advance, notice=notice,
            )  # fmt: skip
        finally:
            watch.finish()
        if options.size is not None and min(map(len, built.rows.values())) >= options.size:
            break
    files = _write(out, built)
    if as_json:
        print_json(_facts(inventory, built, files, summary))
    else:
        _tell_built(built, files, summary, len(inventory.recording.starting), out, verbose)
    if not files:
        hint = "" if verbose or as_json else "; --verbose prints the reason for each function"
        raise UserError(f"{out}: no problem could be made{hint}")
    _end_where_it_holds(fail_if, condition, summary)


def _refused_by_suite(results: Sequence[FunctionResult]) -> SuiteRefusals:
    """What the repository's own tests make of mutants."""
    from truegrade.apps.repository.strength import KILLED

    return {
        (one.id, one.line): {
            mutant.id: (mutant.by or mutant.status) if mutant.status in KILLED else ""
            for mutant in one.mutants
            if mutant.status in {*KILLED, "survived"}
        }
        for one in results
    }


def tell_inventory(inventory: Inventory) -> None:
    """What the tree holds and how its tests ended, a line each."""
    from truegrade.report import format as fmt

    tree, recording = inventory.tree, inventory.recording
    commit = f", commit {tree.commit[:12]} of {tree.date}" if tree.commit else ""
    functions, modules, tests = (
        fmt.plural(number, noun)
        for number, noun in (
            (len(inventory.functions), "function"), (len(inventory.modules), "module"), (recording.tests, "test")
        )
    )  # fmt: skip
    name = f"{tree.name} {tree.version}".rstrip()
    echo(f"{name}{commit}: {functions} in {modules}, {inventory.reached} reached by {tests}")
    if recording.cut:
        notice("time was up before all tests had run: functions that the others reach are missing")
    if inventory.compiled:
        notice(
            f"{len(inventory.compiled)} files of extension modules, e.g. {inventory.compiled[0]}, are not recorded"
        )
    for one in inventory.unreadable:
        notice(f"{one.name}: {one.why[:_SHOWN_CHARS]}")
    for name, why in list(recording.failed.items())[:_SHOWN_FAILED]:
        notice(f"{name} fails in the sandbox: {why[:_SHOWN_CHARS]}")
    if (more := len(recording.failed) - _SHOWN_FAILED) > 0:
        notice(f"{more} more tests fail in the sandbox")


def _write(out: Path, built: BuiltFunctions) -> dict[str, Path]:
    """A file for each kind that has rows; one that an earlier run left goes where there are none now."""
    from truegrade.datasets.executions import write_content

    files: dict[str, Path] = {}
    for kind, rows in built.rows.items():
        path = out / f"{kind}.jsonl"
        if rows:
            write_content(path, "".join(f"{row}\n" for row in rows).encode())
            files[kind] = path
        else:
            path.unlink(missing_ok=True)
    return files


def _facts(
    inventory: Inventory, built: BuiltFunctions, files: dict[str, Path], summary: SuiteSummary | None
) -> dict[str, Any]:
    tree, recording = inventory.tree, inventory.recording
    return {
        "repository": {"name": tree.name, "version": tree.version, "commit": tree.commit, "sha256": tree.sha256},
        "tests": {"run": recording.tests, "failed": recording.failed, "why_none": recording.why_none},
        "functions": len(inventory.functions),
        "reached": inventory.reached,
        "files": {kind: str(path) for kind, path in files.items()},
        "rows": {kind: len(rows) for kind, rows in built.rows.items()},
        "tiers": {kind: tiers for kind in built.rows if (tiers := built.tiers(kind))},
        "hidden_behaviour": {kind: built.hiding(kind) for kind in built.rows},
        "strength": {kind: found for kind in built.rows if (found := built.strength(kind))},
        "suite": summary,
        "left_out": [{"kind": kind, "name": one.name, "why": one.why} for kind, one in built.left_out],
    }


def _tell_built(
    built: BuiltFunctions, files: dict[str, Path], summary: SuiteSummary | None, starting: int, out: Path,
    verbose: bool,
) -> None:  # fmt: skip
    """How many rows of each kind and how strong, what was left out and why, and what to run next; ``starting`` is
    the number of tests that start processes."""
    from truegrade.apps.repository.suite_screen import forgeries_in_words, share_in_words
    from truegrade.apps.repository.suite_strength import STRENGTH
    from truegrade.report import format as fmt

    echo("problems:")
    for kind, rows in built.rows.items():
        tiers = ", ".join(f"{count} {tier}" for tier, count in built.tiers(kind).items())
        hidden = built.hiding(kind)
        hiding = f"; {hidden} hide{'s' if hidden == 1 else ''} a detail from the prompt" if hidden else ""
        echo(f"{len(rows):>5} {kind}" + (f" ({tiers}{hiding})" if tiers else ""))
    found = next(filter(None, map(built.strength, built.rows)), None)  # that of one kind is that of all
    if found:
        kept, whole = (fmt.percent(found[name]) for name in ("strength", "strength_of_suite"))
        echo(
            f"of {found['mutants']:.0f} mutants kept back for this, the problems refuse {kept}, the tests {whole}"
        )
    if summary is not None:
        without = f", without {fmt.plural(starting, 'test')} that start processes" if starting else ""
        measured = f"{len(summary.by_function)} of {fmt.plural(summary.functions, 'function')}"
        echo(f"of {measured}")
        echo(f"  {share_in_words(summary)}{without}")
        if said := forgeries_in_words(summary):
            echo(said)
        echo(f"every function, its share and its survivors: {out / STRENGTH}")
    _tell_left_out(built, verbose)
    for command in _next_commands(files):
        echo(command)


def _tell_left_out(built: BuiltFunctions, verbose: bool) -> None:
    """Why functions have no problem of a kind: each, or the reasons that most have."""
    from truegrade.apps.repository.build import BY_CALLS
    from truegrade.apps.repository.suite_screen import cut

    kinds: dict[Refused, list[str]] = {}
    for kind, one in built.left_out:
        kinds.setdefault(one, []).append(kind)
    echo("left out:" if kinds else "nothing is left out")
    if verbose:
        for one, of in kinds.items():
            echo(f"  {one.name} ({', '.join(of)}): {one.why}")
        return
    alike: dict[tuple[str, str], list[Refused]] = {}
    for one, of in kinds.items():
        why = one.why.partition(BY_CALLS)[0].partition(": ")[0]
        alike.setdefault((why, ", ".join(of)), []).append(one)
    most = sorted(alike.items(), key=lambda item: -len(item[1]))
    for (why, concerned), ones in most[:_SHOWN_REASONS]:
        echo(cut(f"{len(ones):>5} {why} ({concerned}), e.g. {ones[0].name.split()[-1]}"))
    if rest := most[_SHOWN_REASONS:]:
        echo(f"{sum(len(ones) for _, ones in rest):>5} for {len(rest)} other reasons")
    if most:
        echo("      --verbose names each with its reason")


def _next_commands(files: dict[str, Path]) -> Sequence[str]:
    """Commands that ask a model what was built."""
    return [
        f"truegrade run execution-prediction --data {path} --model ...  # also with -T asks=states"
        if kind == "predict"
        else f"truegrade run {path} --model ..."
        for kind, path in files.items()
    ]


# ------------------------------------------------------------ How strong a repository's own tests are.


@click.command()
@click.argument("repository", metavar="PATH|PACKAGE")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True,
              help="Folder to write, perhaps of a build; the same command resumes in it.")  # fmt: skip
@click.option(
    "--most", default=20, show_default=True, type=click.IntRange(min=1), help="Mutants of each function."
)
@click.option("--seed", default=0, show_default=True, type=int,
              help="Decides which mutants of a function are tried.")  # fmt: skip
@click.option(
    "--calls", is_flag=True,
    help="Look for calls that tell the survivors from the original, and for patches that pass the tests and solve"
    " nothing; takes longer.",
)  # fmt: skip
@fail_if_option("kill < 0.8 or unreached > 10")
@workers_option
@unsafe_option
@json_option
def assay_repository(
    repository: str,
    out: Path,
    calls: bool,
    fail_if: str | None,
    workers: int | None,
    allow_unsafe: bool | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Measure how strong a repository's own tests are: which mutants of its functions they refuse.

    PATH is a checkout, an sdist, a wheel or a Python file; PACKAGE the name of an installed package. Nothing of it
    runs outside the sandbox, and no model is asked. The folder then holds strength.jsonl, a function a line. What
    a build measured in the folder is read, the calls that it found too.
    """
    from truegrade.apps.repository.build import take_inventory
    from truegrade.apps.repository.source import read_tree
    from truegrade.apps.repository.strength import StrengthOptions
    from truegrade.apps.repository.suite_screen import screen
    from truegrade.apps.repository.suite_strength import STRENGTH, read_suite_condition
    from truegrade.apps.repository.survivors import FOUND_CALLS
    from truegrade.datasets.executions import prepare
    from truegrade.files.extras import require

    require("pytest", "the run of a repository's tests")
    condition = None if fail_if is None else read_suite_condition(fail_if)
    tree = read_tree(repository)
    prepare(out / "recording.json")
    unsafe = bool(allow_unsafe)
    inventory = take_inventory(tree, out, allow_unsafe=unsafe, notice=notice)
    if not as_json:
        tell_inventory(inventory)
    watch = progress_for(as_json)
    search = calls or (out / FOUND_CALLS).exists()
    summary, _ = _measured(inventory, StrengthOptions(**asked), out, workers, unsafe, watch, search=search)
    if as_json:
        print_json(summary)
    else:
        for line in screen(summary, out / STRENGTH):
            echo(line)
        if summary.survivors and not search:
            echo("--calls looks for calls that refuse these mutants: `assert` them in a test")
    _end_where_it_holds(fail_if, condition, summary)


def _end_where_it_holds(fail_if: str | None, condition: Condition | None, summary: SuiteSummary | None) -> None:
    """End the command with its own code where a condition holds, or hangs on what was not measured."""
    from truegrade.apps.repository.suite_strength import holds_for_suite

    if condition is None or (summary is not None and not holds_for_suite(condition, summary)):
        return
    if summary is None:
        echo(f"truegrade: --fail-if {fail_if!r} holds: the tests were not measured", err=True)
    else:
        echo(f"truegrade: --fail-if {fail_if!r} holds for {summary.name}", err=True)
        if summary.without_result and not condition.bounds("undecided"):
            rest = f"({condition.text}) or undecided > N"
            undecided = f"{summary.without_result} mutants and functions are undecided"
            echo(f"note: {undecided}; {rest!r} judges the rest", err=True)
    sys.exit(EXIT_GATE)


def _measured(
    inventory: Inventory,
    options: StrengthOptions,
    out: Path,
    workers: int | None,
    unsafe: bool,
    watch: Progress,
    *,
    search: bool,
) -> tuple[SuiteSummary, list[FunctionResult]]:
    """The measure of a repository's tests, which lies in the folder then; ``search`` looks for calls that tell
    survivors from the original, and tries patches that solve nothing."""
    from truegrade.apps.repository.forgeries import try_forgeries
    from truegrade.apps.repository.strength import measure_functions, open_sandbox, survey_tests
    from truegrade.apps.repository.suite_strength import ForgeryShown, summarise_suite, write_strength
    from truegrade.apps.repository.survivors import calls_for_survivors

    calls, forgeries = dict[tuple[str, str], str](), tuple[ForgeryShown, ...]()
    with open_sandbox(inventory, workers, allow_unsafe=unsafe) as sandbox:
        survey = survey_tests(inventory, sandbox, out, options.seed, notice=notice)
        watch.start("mutants", total=len(inventory.functions), done=0)
        try:
            results = measure_functions(
                inventory, survey, options, sandbox, out, progress=watch.advance, notice=notice
            )
        finally:
            watch.finish()
        if search:
            watch.start("calls", total=sum(bool(one.survivors) for one in results), done=0)
            try:
                calls = calls_for_survivors(
                    inventory, results, options.seed, out,
                    workers=workers, allow_unsafe=unsafe, progress=watch.advance, notice=notice,
                )  # fmt: skip
            finally:
                watch.finish()
            forgeries = try_forgeries(inventory, results, sandbox, out, notice=notice)
    summary = summarise_suite(inventory, survey, results, calls, forgeries)
    write_strength(results, summary, out)
    return summary, results
