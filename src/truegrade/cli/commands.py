"""The command line: parses, calls `truegrade.api`, prints. No logic, and nothing heavy is imported early."""

from __future__ import annotations

import errno
import gc
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from truegrade import __version__
from truegrade.cli.check import check
from truegrade.cli.compare import compare
from truegrade.cli.data import data
from truegrade.cli.doctor import doctor
from truegrade.cli.files import completion, export, report
from truegrade.cli.groups import AppGroup, complete_names
from truegrade.cli.listings import kinds, list_
from truegrade.cli.options import (
    LEVELS,
    Number,
    SettingsCommand,
    TellingCommand,
    drop_output,
    echo,
    end_if_held,
    fail_if_option,
    given_settings,
    json_option,
    notice,
    print_json,
    progress_for,
    refuse,
    remember_command,
    tell,
    unsafe_option,
    with_flags,
)
from truegrade.cli.serving import serve, serve_model
from truegrade.errors import TruegradeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from truegrade.analysis.standings import LeftOutBenchmark, PairStanding
    from truegrade.statistics.conditions import Condition
    from truegrade.store import Run

_FILE = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)

EXIT_USER_ERROR = 2
EXIT_GRADER_ERROR = EXIT_INCOMPLETE = EXIT_NOT_TRACKED = 1
EXIT_INTERRUPTED = 130


SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Evaluate", ("run", "grade", "check")),
    ("Graders", ("assay", "serve")),
    ("Read", ("report", "compare", "view")),
    ("Share", ("export",)),
    ("Data, names, machine", ("data", "list", "evolve", "doctor")),
)
"""Heading and commands, in the order in which they are shown; a command that is not named comes last."""

_EVALUATE = "run BENCHMARK --model NAME`, or for completions that are there `truegrade grade FILE"
OTHER_NAMES: Mapping[str, str] = {
    "audit": "check FILE",
    "bench": _EVALUATE,
    "codegen": "run BENCHMARK --no-grade",
    "datasets": "data list",
    "diff": "compare RUN RUN",
    "download": "data pull NAME",
    "eval": _EVALUATE,
    "evaluate": _EVALUATE,
    "generate": "run BENCHMARK --no-grade",
    "help": "--help",
    "import": "grade FILE",
    "info": "list KIND NAME",
    "lm-eval-tasks": "export BENCHMARK --format lm-eval --out FOLDER",
    "leaderboard": "compare RUNS --table",
    "ls": "list",
    "pack": "export RUN --format NAME`, or for the whole run `python -m zipfile -c RUN.zip RUN",
    "power": "compare --power",
    "pull": "data pull NAME",
    "rank": "compare RUNS --table",
    "replicate": "check CLAIM RUN",
    "score": "grade FILE",
    "server": "serve",
    "show": "list KIND NAME`, or for runs `truegrade view",
    "tasks": "list benchmarks",
    "test": _EVALUATE,
    "verify": "check CLAIM FILE",
    "version": "--version",
}
"""Names of earlier versions, and of other tools, to what one types here."""


COLLECTED_AFTER = 20_000
"""Objects made since Python last looked for garbage. Most of what a command makes as it starts are modules and
their classes, which stay: to look through them at every 700 is a tenth of the time of a short command."""


class Commands(AppGroup):
    """The group that turns our errors into one line and exit code 2."""

    sections = SECTIONS

    def main(self, args: Sequence[str] | None = None, *more: Any, **named: Any) -> Any:
        """Run a command line; without ``args`` that of the process, which then is ours."""
        if args is None:
            gc.set_threshold(COLLECTED_AFTER)
        return super().main(args, *more, **named)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take ``--log-level`` wherever it stands: it belongs to every command."""
        found = (place for place, word in enumerate(args) if word.partition("=")[0] == "--log-level")
        if (place := next(found, None)) is not None:
            end = place + (1 if "=" in args[place] else 2)
            args = [*args[place:end], *args[:place], *args[end:]]
        try:
            return super().parse_args(ctx, args)
        except click.exceptions.NoArgsIsHelpError:
            raise
        except click.UsageError as error:
            _tell_usage(error)
            ctx.exit(EXIT_USER_ERROR)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; a user's mistake never shows a traceback."""
        remember_command(ctx.find_root())
        try:
            return super().invoke(ctx)
        except TruegradeError as error:
            tell(with_flags(error))
            ctx.exit(EXIT_USER_ERROR)
        except OSError as error:
            if error.errno in (None, errno.EPIPE):  # click sees to a reader that left
                raise
            if error.filename is None:
                drop_output()
            place = error.filename or "standard output"
            tell(f"{place}: {error.strerror}; earlier results are kept")
            ctx.exit(EXIT_USER_ERROR)
        except click.UsageError as error:
            _tell_usage(error)
            ctx.exit(EXIT_USER_ERROR)
        except KeyboardInterrupt:
            echo("", err=True)
            tell("stopped; all results so far are on disk, and the same command resumes")
            ctx.exit(EXIT_INTERRUPTED)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Answer an unknown command with the one that is meant, or with the closest ones."""
        from truegrade.errors import UnknownName, UserError

        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            kind = args[0] if args[0].endswith("s") else f"{args[0]}s"
            meant = f"list {kind}" if kind in kinds() else OTHER_NAMES.get(args[0])
            if meant is not None:
                raise UserError(f"no command {args[0]!r}; use `truegrade {meant}`")
            raise UnknownName("command", args[0], self.list_commands(ctx), "`truegrade --help` lists them")
        return super().resolve_command(ctx, args)


def _tell_usage(error: click.UsageError) -> None:
    help_of = error.ctx.command_path if error.ctx else "truegrade"
    message = error.format_message()
    end = "" if message.endswith((".", "?", ")")) else "."
    echo(f"truegrade: {message}{end} See `{help_of} --help`.", err=True)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="truegrade")
@click.option(
    "--log-level", type=click.Choice(LEVELS), default="warning", show_default=True,
    help="Least level of log messages on standard error; a run keeps its log in log.txt (docs/formats.md).",
)  # fmt: skip
@click.pass_context
def main(context: click.Context, log_level: str) -> None:
    """Grade code-writing language models, under the exact rules of each harness and under `strict`.

    \b
    truegrade grade samples.jsonl --benchmark humaneval --as strict
    truegrade run humaneval --model vllm/NAME --base-url http://localhost:8000/v1
    truegrade check 67.7 samples.jsonl --benchmark humaneval
    truegrade run micro-repair       the included model, offline: no key, no data
    truegrade doctor                 what protects this machine, what is installed
    """
    from truegrade.cli.logs import start_log

    start_log(context, log_level)


# --------------------------------------------------------------------------------------- the three verbs


@main.command(cls=SettingsCommand, several=("model",), basic=("ungraded",))
@click.argument("benchmark", nargs=-1, required=True)
@click.option("--no-grade", "ungraded", is_flag=True, help="Store the samples and stop there.")
@fail_if_option("rate < 0.6 or missing")
@json_option
def run(benchmark: tuple[str, ...], ungraded: bool, fail_if: str | None, as_json: bool, **_: Any) -> None:
    """Generate samples with a model, grade them and write the report. The same command resumes.

    Without --model the small included model is evaluated, offline: for a first look.

    BENCHMARK may also be a suite (`truegrade list suites`, or a TOML file): its benchmarks, with its settings, of
    which an option given here takes the place. With a suite, several benchmarks or models every pair is a run of
    its own, and a table and one page show them side by side. All pairs are checked before the first request; one
    that fails later does not stop the others.

    In --fail-if, rate, rate_low and rate_high are the first number of each profile and its interval, as shares;
    missing counts samples without a verdict, warnings those of the summary. Where samples are missing, a rule on
    the rate holds unless it bounds missing: 'rate < 0.6 or missing > 3'. Of several runs each is held against it.
    """
    from truegrade import api
    from truegrade.analysis.gate import run_condition
    from truegrade.pipeline.suites import is_suite

    condition = None if fail_if is None else run_condition(fail_if)
    pairs: Sequence[PairStanding] = ()
    made: list[Path] = []
    given = {**given_settings(), "progress": progress_for(as_json), "notice": notice}
    models = given.pop("model", ())
    if ungraded:
        refuse("fail_if", why="is about grading, and --no-grade does none")
        _generate(benchmark, models, given, as_json=as_json)
        return
    if any(is_suite(each) for each in benchmark):
        from truegrade.api.pairs import run_suite

        for name, option in (("ids", "--id"), ("reuse", "--reuse")):
            if name in given:
                raise click.UsageError(f"{option} is about one benchmark: run it without the suite.")
        found = run_suite(benchmark, models=models, **given)
        code = _show_pairs(found.pairs, found if as_json else None, found.folder, found.left_out)
        pairs = found.pairs
    elif len(benchmark) > 1 or len(models) > 1:
        from truegrade.api.pairs import run_all

        pairs = run_all(benchmark, **({"models": models} if models else {}), **given)
        code = _show_pairs(pairs, pairs if as_json else None, pairs[0].run.parent)
    else:
        given.pop("skip_missing", None)  # of one benchmark nothing is left without its data
        model = dict(zip(("model",), models, strict=False))
        finished, code = _show(lambda: api.run(benchmark[0], **model, **given), as_json)
        made = [] if code else [finished.path]
    if condition is not None:
        # What is missing is for the rule to judge, as it is of a single run.
        judged = [pair for pair in pairs if pair.failure is None or pair.only_short]
        if pairs:
            code = EXIT_INCOMPLETE if len(judged) < len(pairs) else 0
        _end_if_held(condition, made or [pair.run for pair in judged])
    if code:
        sys.exit(code)


def _end_if_held(condition: Condition, made: Sequence[Path], *, whole: bool = False) -> None:
    """Hold a condition against the summary of every run; ``whole`` files are to answer all of their benchmark."""
    from msgspec.structs import replace

    from truegrade.analysis.gate import gate_lines, gate_run
    from truegrade.pipeline.summary import read_summary
    from truegrade.store import Run

    def absent(run: Run) -> int:
        chosen, of_file = run.manifest.selected, run.manifest.imported_from is not None
        return run.manifest.benchmark.problems - len(chosen) if whole and of_file and chosen is not None else 0

    results = [
        result if len(made) == 1 else replace(result, of=f"{result.of} in {run.path}")
        for run in map(Run.open, made)
        for result in gate_run(condition, read_summary(run), absent(run))
    ]
    end_if_held(results, partial(gate_lines, condition))


def _generate(benchmarks: Sequence[str], models: Sequence[str], given: dict[str, Any], *, as_json: bool) -> None:
    """Ask one model about one benchmark, without grading."""
    from truegrade import api
    from truegrade.pipeline.suites import is_suite
    from truegrade.settings import GRADING_ONLY

    refuse(*GRADING_ONLY, "skip_missing", why="is about grading, and --no-grade does none")
    if len(benchmarks) > 1 or len(models) > 1 or is_suite(benchmarks[0]):
        raise click.UsageError("--no-grade asks one model about one benchmark: name one of each")
    given |= zip(("model",), models, strict=False)
    made = api.generate(benchmarks[0], **given)
    stored = len(made.answered())
    if as_json:
        print_json({"run": str(made.path), "completions": stored})
    else:
        echo(f"{stored} completions in {made.path}; grade them with: truegrade grade {made.path}")


@main.command(cls=SettingsCommand, basic=("fail_if",))
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN|FILE|FOLDER...")
@fail_if_option("rate < 0.6 or missing")
@json_option
def grade(sources: tuple[Path, ...], out: Path | None, fail_if: str | None, as_json: bool, **_: Any) -> None:
    """Grade runs, or files of completions of other tools (docs/formats.md), also in a folder or zip.

    In --fail-if stand the names of `truegrade run --help`; missing counts the problems of the benchmark of which a
    file says nothing, too.
    """
    from truegrade import api
    from truegrade.analysis.gate import run_condition
    from truegrade.pipeline.loading import completion_files

    condition = None if fail_if is None else run_condition(fail_if)
    if out is not None and len(sources) > 1:
        raise click.UsageError("--out names one folder, but several files are given; grade them one by one")
    given = {**given_settings(), "progress": progress_for(as_json), "notice": notice}
    codes, made = list[int](), list[Path]()
    for source in sources:
        with completion_files(source, notice) as files:
            if out is not None and len(files) > 1:
                raise click.UsageError(f"--out names one folder, but {source} holds {len(files)} files")
            for file in files:
                try:
                    graded, code = _show(partial(api.grade, file, **given), as_json)
                    codes.append(code)
                    made += [] if code else [graded.path]
                except TruegradeError as error:
                    if len(files) == 1:
                        raise
                    echo(f"truegrade: {with_flags(error)}", err=True)  # the others are graded all the same
                    codes.append(EXIT_USER_ERROR)
    if condition is not None:
        _end_if_held(condition, made, whole=not {"limit", "ids", "task_args"} & {*given})
    if any(codes):
        sys.exit(max(codes))


@main.command("exec", hidden=True)
@click.argument("file", type=_FILE)
@click.option("--stdin", type=_FILE, help="File that the program reads as standard input; - for standard input.")
@click.option(
    "--cpu", "cpu_s", default=10.0, show_default=True, type=Number(min=0, min_open=True), help="CPU seconds."
)
@click.option(
    "--memory", "memory_mib", default=4096, show_default=True, type=click.IntRange(min=32), help="MiB of memory."
)
@click.option(
    "--processes",
    default=0,
    show_default=True,
    type=click.IntRange(min=0),
    help="Further processes that it may start.",
)
@unsafe_option
@json_option
def exec_(file: Path, stdin: Path | None, cpu_s: float, memory_mib: int, processes: int,
          allow_unsafe: bool | None, as_json: bool) -> None:  # fmt: skip
    """Run a Python program in the sandbox; exit code 0 on success, else 1."""
    from truegrade.sandbox import Limits, run_program

    limits = Limits(cpu_s=cpu_s, memory_bytes=memory_mib * 2**20, processes=processes)
    given = _text_of(stdin) if stdin else ""
    outcome = run_program(_text_of(file), given, limits=limits, allow_unsafe=bool(allow_unsafe))
    if as_json:
        fields = ("status", "detail", "cpu_s", "wall_s", "time_sensitive", "stdout", "stderr")
        print_json({field: getattr(outcome, field) for field in fields})
    else:
        echo(outcome.stdout, nl=False)
        echo(outcome.stderr, nl=False, err=True)
        spent = f"{outcome.cpu_s:.3f} s of CPU, {outcome.wall_s:.3f} s wall-clock time"
        echo(f"{outcome.status}: {spent}{' · ' + outcome.detail if outcome.detail else ''}", err=True)
    sys.exit(0 if outcome.status == "passed" else 1)


@main.command(cls=TellingCommand, hidden=True)
@click.argument("name", required=False)
def schema(name: str | None) -> None:
    """Print the JSON Schema of a file of a run, of a benchmark's rows or of a suite; without a name, list them."""
    from truegrade.cli.schemas import json_schema, names
    from truegrade.errors import UnknownName

    if name is None:
        echo("\n".join(names()))
        return
    if name not in names():
        raise UnknownName("schema", name, names())
    print_json(json_schema(name))


for _command in (
    check, compare, completion, data, doctor, export, list_, report, serve, serve_model,
):  # fmt: skip
    main.add_command(_command)


# --------------------------------------------------------------------------------------------- printing


def _show(make: Callable[[], Run], as_json: bool) -> tuple[Run, int]:
    """Print the summary of the run that is made; that, and the exit code: 1 where a tracker did not take its
    results."""
    from truegrade.store.trackers import NotTracked

    try:
        finished = make()
        return finished, _print(finished, as_json)
    except NotTracked as error:
        _print(error.made, as_json)
        echo(f"truegrade: {with_flags(error)}", err=True)
        return error.made, EXIT_NOT_TRACKED


def _print(finished: Run, as_json: bool) -> int:
    """Print a summary; the exit code: 1 where the grader failed on a sample."""
    from truegrade.pipeline.summary import read_summary
    from truegrade.store.exporters import EXPORTERS

    summary = read_summary(finished)
    code = EXIT_GRADER_ERROR if any(profile.grader_errors for profile in summary.profiles) else 0
    if as_json:
        print_json({"run": str(finished.path), **finished.summary})
        return code
    from truegrade.report.run_document import print_summary

    print_summary(summary, worded=with_flags)
    if len(summary.profiles) > 2:
        from truegrade.analysis.standings import read_matrix
        from truegrade.report.run_document import print_matrix

        print_matrix(read_matrix(finished))
    own = [exporter.file for exporter in EXPORTERS if (finished.path / exporter.file).exists()]
    echo(f"{finished.path}: {', '.join(['summary.json', 'report.html', *own])}")
    return code


def _show_pairs(
    found: Sequence[PairStanding], as_json: object, folder: Path, left_out: Sequence[LeftOutBenchmark] = ()
) -> int:
    """Print what every pair has come to, as JSON where there is something to print so; the exit code: 1 where one
    is not complete."""
    if as_json is not None:
        print_json(as_json)
    else:
        from truegrade.report.standings_document import print_pairs

        print_pairs(found, left_out, worded=with_flags)
        echo(f"{folder}: suite.html, suite.json")
    return EXIT_INCOMPLETE if any(pair.failure for pair in found) else 0


def _text_of(path: Path) -> str:
    return sys.stdin.read() if str(path) == "-" else path.read_text()


complete_names(main)
