"""`truegrade data`: the pinned data sets, and those of one's own, which `build` and `check` run in the sandbox."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from truegrade.cli.groups import AppGroup
from truegrade.cli.options import (
    Number,
    TellingCommand,
    base_url_option,
    echo,
    json_option,
    model_args_option,
    names_of,
    notice,
    print_json,
    progress_for,
    temperature_option,
    unsafe_option,
    with_flags,
    workers_option,
)

if TYPE_CHECKING:
    from truegrade.builders.mutation.file import OutputDifference
    from truegrade.datasets.executions import ExecutionRow, Refused
    from truegrade.sandbox import Sandbox


EXIT_DIFFERS = 1
_CPU_S = 5.0
_WITNESS_SEED = 1
_SHOWN_CHARS = 80


def _out(name: str) -> Callable[[Any], Any]:
    return click.option("--out", type=click.Path(dir_okay=False, path_type=Path), default=name, show_default=True,
                        help="File to write, JSON Lines.")  # fmt: skip


def _inputs() -> Callable[[Any], Any]:
    return click.option("--inputs", default=3, show_default=True, type=click.IntRange(min=2),
                        help="Number of calls of each program.")  # fmt: skip


_verbose = click.option("--verbose", is_flag=True, help="Print the reason for each program that was left out.")


class BuildGroup(AppGroup):
    """The commands of ``truegrade data build``."""

    words = "data build"

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Answer the name that a command once had with the one that it has."""
        if args[:1] == ["mine"]:
            from truegrade.errors import UserError

            raise UserError("no command 'mine'; use `truegrade data build repository PATH --out FOLDER`")
        return super().resolve_command(ctx, args)


@click.group("build", cls=BuildGroup)
def build() -> None:
    """Build a data set of programs, calls and the values recorded in the sandbox."""


@build.command("dsl-list")
@click.option("--size", default=500, show_default=True, type=click.IntRange(min=1), help="Programs.")
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same bytes.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path),
              help="File to write, JSON Lines. [default: where `truegrade run dsl-list` looks; a file of its own"
              " for other arguments, which -T built=... names]")  # fmt: skip
@click.option("--max-depth", default=4, show_default=True, type=int, help="Maximum depth of a program's tree.")
@_inputs()
@click.option("--grammar", default="published", show_default=True, help="`published`, or the harder `extended`.")
@click.option("--returns", type=click.Choice(["list", "int", "bool"]), default="list", show_default=True,
              help="Type of the returned values.")  # fmt: skip
@click.option("--mutants/--no-mutants", default=True, show_default=True, help="Add a mutant to each program.")
@click.option(
    "--weights", type=click.Path(path_type=Path), help="JSON file with weights of the grammar's productions."
)
@click.option("--fit", "examples", type=click.Path(path_type=Path),
              help="File of execution rows; the weights are fitted to its programs.")  # fmt: skip
@workers_option
@unsafe_option
@json_option
def build_dsl_list(out: Path | None, returns: str, mutants: bool, weights: Path | None, examples: Path | None,
                   workers: int | None, allow_unsafe: bool | None, as_json: bool,
                   **asked: Any) -> None:  # fmt: skip
    """Generate programs from a grammar of list functions."""
    from truegrade.builders.dsl_list import DslListOptions, variant_of
    from truegrade.builders.dsl_list import build as rows_of
    from truegrade.builders.list_language import Type
    from truegrade.datasets.executions import built_path

    wanted = {"list": Type.LIST, "int": Type.INT, "bool": Type.BOOL}[returns]
    options = DslListOptions(returns=wanted, weights=_weights(asked["grammar"], weights, examples), **asked)
    with _jail(workers, allow_unsafe) as sandbox:
        rows: Iterable[ExecutionRow] = rows_of(options, sandbox, workers=sandbox.workers)
        if mutants:
            from truegrade.builders.mutation.file import mutate_rows
            from truegrade.builders.mutation.mutants import MutationOptions

            # as in the published set, every case tells a mutant from its original
            chosen = MutationOptions(seed=options.seed, differ="all")
            rows = mutate_rows(rows, chosen, sandbox, workers=sandbox.workers)
        variant = variant_of(options, mutants=mutants)
        _write(out or built_path("dsl-list", variant), rows, options.size, as_json)
        if out is None and variant and not as_json:
            echo(f"evaluate it: truegrade run dsl-list -T built={variant}")


@build.command("leetcode")
@click.argument("submissions", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="SUBMISSIONS...")
@_out("leetcode.jsonl")
@click.option("--per-question", default=3, show_default=True, type=click.IntRange(min=1),
              help="Submissions kept of each question.")  # fmt: skip
@workers_option
@_verbose
@unsafe_option
@json_option
def build_leetcode(submissions: tuple[Path, ...], out: Path, per_question: int, workers: int | None,
                   verbose: bool, allow_unsafe: bool | None, as_json: bool) -> None:  # fmt: skip
    """Convert collected submissions, JSON files or folders of them, to rows."""
    from truegrade.builders.leetcode import LeetcodeOptions, read_submissions
    from truegrade.builders.leetcode import build as rows_of

    found = read_submissions(submissions)
    options = LeetcodeOptions(per_question=per_question)
    with _jail(workers, allow_unsafe) as sandbox, _jail(workers, allow_unsafe, _WITNESS_SEED) as witness:
        rows = rows_of(found, options, sandbox, witness, workers=sandbox.workers)
        _write(out, rows, len(found), as_json, verbose)


@build.command("llm-list")
@click.option("--model", "-m", required=True, help="Model that proposes programs: provider/name.")
@base_url_option
@model_args_option
@click.option("--size", default=100, show_default=True, type=click.IntRange(min=1), help="Programs.")
@_out("llm-list.jsonl")
@_inputs()
@temperature_option
@click.option(
    "--max-tokens", type=click.IntRange(min=1), help="Maximum tokens per reply. [default: the service's]"
)
@click.option("--max-connections", default=4, show_default=True, type=click.IntRange(min=1),
              help="Programs processed at once.")  # fmt: skip
@click.option("--max-cost", "max_cost_usd", type=Number(min=0), help="Cost limit of this command in US dollars.")
@_verbose
@unsafe_option
@json_option
def build_llm_list(model: str, base_url: str | None, model_args: dict[str, Any], size: int, out: Path,
                   inputs: int, temperature: float | None, max_tokens: int | None, max_connections: int,
                   max_cost_usd: float | None, verbose: bool, allow_unsafe: bool | None,
                   as_json: bool) -> None:  # fmt: skip
    """Let a model propose functions and inputs; keep the valid ones. The same command resumes."""
    from truegrade.builders.llm_list import JournalEntry, LlmListOptions
    from truegrade.builders.llm_list import build as rows_of
    from truegrade.models import open_model
    from truegrade.pipeline.asking import Asker, require_price
    from truegrade.records.config import RequestPolicy, Sampling
    from truegrade.store.journal import Journal, read_journal

    request_policy = RequestPolicy(max_connections=max_connections, max_cost_usd=max_cost_usd)
    asked = open_model(model, base_url=base_url, request_policy=request_policy, args=model_args)
    require_price(asked)
    path = out.with_name(f"{out.name}.journal")
    out.parent.mkdir(parents=True, exist_ok=True)
    earlier = list(read_journal(path, JournalEntry, notice=notice))
    with (
        _jail(max_connections, allow_unsafe) as sandbox,
        _jail(max_connections, allow_unsafe, _WITNESS_SEED) as witness,
        Asker(asked, Sampling(temperature=temperature, max_tokens=max_tokens)) as asker,
        Journal[JournalEntry](path, notice=notice, fsync_every=1) as journal,
    ):
        rows = rows_of(
            LlmListOptions(size=size, inputs=inputs),
            asker.ask,
            sandbox,
            witness,
            journal=journal,
            earlier=earlier,
            model=asked.name,
            connections=max_connections,
        )
        _write(out, rows, size, as_json, verbose)


@click.command("check")
@click.argument("file", type=click.Path(path_type=Path))
@workers_option
@unsafe_option
@json_option
@click.pass_context
def check(ctx: click.Context, file: Path, workers: int | None, allow_unsafe: bool | None, as_json: bool) -> None:
    """Re-execute every program of FILE, mutants included; exit code 1 if an output differs from FILE."""
    from truegrade.builders.mutation.file import check_rows
    from truegrade.datasets.executions import read_rows

    rows = read_rows(file)
    watch = progress_for(as_json)
    differences: list[OutputDifference] = []
    outputs = 0
    with _jail(workers, allow_unsafe) as sandbox:
        watch.start("check", total=len(rows), done=0)
        for checked in check_rows(file, rows, sandbox, workers=sandbox.workers):
            outputs += checked.outputs
            differences += checked.differences
            watch.advance(failed=bool(checked.differences))
        watch.finish()
    if as_json:
        print_json({"rows": len(rows), "outputs": outputs, "differences": differences})
    else:
        for one in differences:
            echo(f"{one.id}, {one.program}, case {one.case}: recorded {one.recorded}, found {one.found}")
        echo(f"{file}: {outputs} outputs of {len(rows)} rows re-executed, {len(differences)} differ")
    if differences:
        ctx.exit(EXIT_DIFFERS)


@contextmanager
def _jail(workers: int | None, allow_unsafe: bool | None, hash_seed: int = 0) -> Iterator[Sandbox]:
    from truegrade.builders.leetcode import OF_LEETCODE
    from truegrade.sandbox import Limits, Sandbox

    limits = Limits(cpu_s=_CPU_S, memory_bytes=1 << 30, packages=OF_LEETCODE)
    with Sandbox(limits, workers, allow_unsafe=bool(allow_unsafe), hash_seed=hash_seed) as sandbox:
        yield sandbox


def _weights(grammar: str, weights: Path | None, examples: Path | None) -> Any:
    """The weights asked for, or None for the default ones."""
    from truegrade.builders.list_language import GRAMMARS, fit, read_weights
    from truegrade.datasets.executions import read_rows
    from truegrade.errors import UnknownName, UserError

    if grammar not in GRAMMARS:
        raise UnknownName("grammar", grammar, GRAMMARS)
    if weights is not None and examples is not None:
        raise UserError("--weights and --fit both set the weights: give one of them")
    if weights is not None:
        return read_weights(weights, GRAMMARS[grammar])
    if examples is None:
        return None
    fitted = fit((row.code for row in read_rows(examples)), GRAMMARS[grammar])
    if not fitted.read:
        raise UserError(f"{examples}: the {grammar} grammar has none of its {fitted.unread} programs")
    notice(f"weights fitted to {fitted.read} programs; {fitted.unread} are not in the grammar and are ignored")
    return fitted.weights


def _write(out: Path, built: Iterable[ExecutionRow | Refused], total: int | None, as_json: bool,
           verbose: bool = False) -> None:  # fmt: skip
    """Write the rows that a builder makes and say what it refused.

    Raises:
        UserError: it made none.
    """
    from truegrade.datasets.executions import Refused, prepare, write_rows
    from truegrade.errors import UserError

    prepare(out)
    watch = progress_for(as_json or total is None)
    rows: list[ExecutionRow] = []
    refused: list[Refused] = []
    watch.start("build", total=total or 0, done=0)
    try:
        for one in built:
            if isinstance(one, Refused):
                refused.append(one)
            else:
                rows.append(one)
                watch.advance()
    finally:
        watch.finish()
    digest = write_rows(out, rows) if rows else None
    if as_json:
        print_json({"file": str(out), "rows": len(rows), "sha256": digest, "refused": refused})
    else:
        if rows:
            echo(f"{out}: {len(rows)} rows, sha256 {digest}")
        _tell(refused, verbose)
    if not rows:
        hint = "" if verbose or as_json or not refused else "; --verbose prints the reason for each program"
        raise UserError(f"{out}: not written, since no row could be made{hint}")


def _tell(refused: list[Refused], verbose: bool) -> None:
    """How many programs were left out for which reason, with one of each, or each."""
    if refused:
        echo(f"{len(refused)} left out:")
    if verbose:
        for one in refused:
            echo(f"  {one.name}: {one.why}")
        return
    reasons = Counter(one.why.partition(": ")[0] for one in refused)
    for reason, count in reasons.most_common():
        example = next(one for one in refused if one.why.partition(": ")[0] == reason)
        echo(f"  {count} x {reason}, e.g. {example.name}{example.why.removeprefix(reason)[:_SHOWN_CHARS]}")


class DataGroup(AppGroup):
    """The commands of ``truegrade data``."""

    words = "data"


@click.group(cls=DataGroup)
def data() -> None:
    """Download, inspect, build and publish data sets."""


@data.command("list", cls=TellingCommand)
@json_option
def data_list(as_json: bool) -> None:
    """List the data sets with their hashes, and whether each is available locally."""
    from truegrade.datasets import list_sources

    sources = list_sources()
    if as_json:
        print_json(sources)
    else:
        from truegrade.report.listings import print_sources

        print_sources(sources)


@data.command("pull")
@click.argument("names", nargs=-1)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="File for a data set of the hub.")
@json_option
def data_pull(names: tuple[str, ...], out: Path | None, as_json: bool) -> None:
    """Download data sets, verified: by name into the cache (all, without one), or hf:ORG/NAME[@REVISION]."""
    from truegrade.datasets import SOURCES, pull
    from truegrade.datasets.hub import PREFIX
    from truegrade.datasets.hub import pull as pull_from_hub
    from truegrade.report.progress_lines import download_progress

    located = {}
    if out is not None and not (len(names) == 1 and names[0].startswith(PREFIX)):
        raise click.UsageError("--out goes with one data set of the hub: hf:ORG/NAME.")
    for name in names or SOURCES:
        if name.startswith(PREFIX):
            located[name] = str(pull_from_hub(name, out).path)
            continue
        with download_progress(name, quiet=as_json) as progress:
            located[name] = str(pull(name, progress=progress).path)
    if as_json:
        print_json(located)
    else:
        for name, path in located.items():
            echo(f"{name}: {path}")


@data.command("show", cls=TellingCommand)
@click.argument("name")
@json_option
def data_show(name: str, as_json: bool) -> None:
    """Print origin, licence, hash and location of a data set."""
    import msgspec

    from truegrade.datasets import source
    from truegrade.datasets.download import find

    pinned = source(name)
    local = find(pinned)
    facts = {
        **{field: getattr(pinned, field) for field in ("name", "file", "url", "sha256", "content_sha256")},
        **{field: getattr(pinned, field) for field in ("size", "licence", "citation")},
        "local": str(local.path) if local else None,
    }
    if as_json:
        print_json(msgspec.to_builtins(facts))
    else:
        for key, value in facts.items():
            echo(
                f"{key:<15} {value if value is not None else '(not available: truegrade data pull ' + name + ')'}"
            )


@data.command("mutate")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="File to write.")
@click.option(
    "--operators",
    callback=names_of,
    metavar="A,B,...",
    help="Mutation operators, wider ones among them, or `published` for the published tool's."
    " [default: those that are not wider]",
)
@click.option(
    "--select",
    type=click.Choice(["coverage", "first", "all"]),
    default="coverage",
    show_default=True,
    help="Keep the mutant whose execution is most similar to the original's, the first valid one, or all.",
)
@click.option(
    "--differ",
    type=click.Choice(["any", "all"]),
    default="any",
    show_default=True,
    help="On which cases the outputs must differ.",
)
@click.option(
    "--preserve",
    callback=names_of,
    metavar="A,B,...",
    help="Semantics-preserving rewritings to add to each row. [default: none]",
)
@click.option("--raw", is_flag=True, help="Keep the layout of the original, which makes the mutant recognisable.")
@click.option("--seed", default=0, show_default=True, help="Seed of the choice between equally good mutants.")
@click.option(
    "--cpu",
    "cpu_s",
    default=2.0,
    show_default=True,
    type=Number(min=0, min_open=True),
    help="CPU seconds of one mutant on all cases.",
)
@click.option(
    "--max-steps",
    default=100_000,
    show_default=True,
    type=click.IntRange(min=1),
    help="Maximum number of executed lines.",
)
@click.option(
    "--max-chars",
    default=1000,
    show_default=True,
    type=click.IntRange(min=1),
    help="Maximum number of characters of an output.",
)
@click.option(
    "--preamble",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Python file that runs before each program, for imports that the rows omit.",
)
@click.option("--workers", type=click.IntRange(min=1), help="Rows processed at once. [default: one per core]")
@unsafe_option
@json_option
def data_mutate(file: Path, out: Path, workers: int | None, allow_unsafe: bool | None, as_json: bool,
                preamble: Path | None, **asked: Any) -> None:  # fmt: skip
    """Add a mutant to every row of FILE: a program that differs in one place and returns a different value."""
    from truegrade.builders.leetcode import OF_LEETCODE
    from truegrade.builders.mutation.file import mutate_file
    from truegrade.builders.mutation.mutants import MutationOptions
    from truegrade.sandbox import Limits, Sandbox

    chosen = {name: value for name, value in asked.items() if value not in (None, ())}
    options = MutationOptions(**chosen, preamble=preamble.read_text(encoding="utf-8") if preamble else "")
    limits = Limits(cpu_s=options.cpu_s, memory_bytes=1 << 30, packages=OF_LEETCODE)
    with Sandbox(limits, workers, allow_unsafe=bool(allow_unsafe)) as sandbox:
        watch = progress_for(as_json)
        mutated = mutate_file(file, out, options, sandbox, workers=sandbox.workers, watch=watch, notice=notice)
    if as_json:
        print_json(mutated)
    else:
        operators = ", ".join(f"{name} {count}" for name, count in mutated.operators.items())
        echo(f"{out}: {mutated.mutants} mutants of {mutated.rows} programs ({operators})")
        for name, reason in mutated.without.items():
            echo(f"no mutant of {name}: {with_flags(reason)}")


@data.command("push")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--repo", required=True, metavar="ORG/NAME", help="Data set on the hub; created if absent.")
@click.option("--private", is_flag=True, help="Create it as private.")
@click.option(
    "--licence", default="unknown", show_default=True, help="Licence id of the hub, such as cc-by-4.0 or mit."
)
@json_option
def data_push(file: Path, repo: str, private: bool, licence: str, as_json: bool) -> None:
    """Put a file of execution rows on the Hugging Face hub, with a card that names its hash."""
    from truegrade.datasets.hub import push

    pushed = push(file, repo, private=private, licence=licence)
    if as_json:
        print_json(pushed)
    else:
        echo(f"{pushed.rows} rows, sha256 {pushed.sha256}\n{pushed.url}")


data.add_command(build)
data.add_command(check)
