"""The options of the command line, each once: how they become arguments of `truegrade.api`, and ``--json``."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from truegrade.report.terminal import visible

if TYPE_CHECKING:
    from truegrade.pipeline.loading import Limit
    from truegrade.pipeline.progress import Progress


# ----------------------------------------------------------------------------------------------------------------
# Messages name arguments as Python has them, between backquotes; here they become options of the command line.


ARGUMENT = re.compile(r"`([a-z]\w*)(?:=(True|False))?`")
"""A mark in a message: `` `limit` ``, `` `allow_unsafe=True` ``; see `truegrade.errors.UserError`."""

_running: list[click.Context] = []
"""The command of this process: click knows it in the thread that runs it alone, and grading threads send notes."""


def remember_command(root: click.Context) -> None:
    """Name options in the messages of every thread as this command calls them."""
    _running[:] = [root]


def with_flags(message: object) -> str:
    """A message with options of the running command for arguments of Python.

    A name that this command lacks is looked for in the others; what no command has stays as it is.
    """
    context = click.get_current_context(silent=True)
    root = context.find_root() if context else _running[0]
    return ARGUMENT.sub(lambda mark: _flag(mark[1], mark[2] == "False", root) or mark[0], str(message))


def _flag(name: str, off: bool, root: click.Context) -> str | None:
    """The option of that name; of an argument by place, the word that stands in the usage."""
    for parameter in _parameters(name, root):
        if isinstance(parameter, click.Option):
            return parameter.secondary_opts[0] if off and parameter.secondary_opts else parameter.opts[0]
        return parameter.human_readable_name.upper()
    return None


def _parameters(name: str, root: click.Context) -> Iterator[click.Parameter]:
    """Parameters of that name: the running command's, then options of the others."""
    commands = root.command.commands if isinstance(root.command, click.Group) else {}
    running = commands.get(root.invoked_subcommand or "")
    if running is not None:
        yield from (each for each in _of(running) if each.name == name)
    yield from (each for each in _of(root.command) if each.name == name and isinstance(each, click.Option))


def _of(command: click.Command) -> Iterator[click.Parameter]:
    """The parameters of a command and of those below it."""
    yield from command.params
    for below in command.commands.values() if isinstance(command, click.Group) else ():
        yield from _of(below)


def read_limit(context: click.Context, parameter: click.Parameter, text: str | None) -> Limit:
    """``N`` or ``A-B`` as a limit.

    Raises:
        BadParameter: it is neither, or it is empty.
    """
    if text is None:
        return None
    from truegrade.benchmarks.base import limit_of

    try:
        return limit_of(text)
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from None


LEVELS = ("debug", "info", "warning", "error")
"""Of the log; see `truegrade.cli.logs`."""

F = TypeVar("F", bound=Callable[..., Any])


def _pairs(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """``k=v`` options as a dict."""
    pairs = {}
    for value in values:
        key, equals, rest = value.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"{value!r} is not of the form key=value", ctx, parameter)
        pairs[key] = rest
    return pairs


def names_of(ctx: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Names between commas."""
    return tuple(name.strip() for name in (value or "").split(",") if name.strip())


def _json_pairs(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, Any]:
    """``k=v`` options whose values are JSON where they parse as JSON, else text."""
    import json

    def read(text: str) -> Any:
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text

    return {key: read(value) for key, value in _pairs(ctx, parameter, values).items()}


class Number(click.FloatRange):
    """A finite number in a range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the number, refusing NaN and infinity, which `click.FloatRange` lets pass."""
        number = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number

    def _describe_range(self) -> str:
        """What the help says of the range, which is nothing where there is none."""
        return super()._describe_range() if self.min is not None or self.max is not None else ""


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Several options as one decorator, shown in this order."""

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


unsafe_option = click.option(
    "--allow-unsafe", is_flag=True, default=None, envvar="TRUEGRADE_ALLOW_UNSAFE",
    help="Run programs even where only resource limits protect this machine (level 1).",
)  # fmt: skip

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")

executor_option = click.option(
    "--executor", default="local", show_default=True, metavar="NAME[:ADDRESS]",
    help="Where programs run: local; ray (a cluster of this machine's cores); ray:auto; ray://HOST:PORT.",
)  # fmt: skip

data_option = click.option(
    "--data", type=click.Path(path_type=Path), help="Local data file, or a folder that holds it."
)

data_options = together(
    data_option,
    click.option("-T", "task_args", multiple=True, callback=_pairs, metavar="K=V",
                 help="Task argument, e.g. -T split=test or -T prompt=base. Repeatable."),
)  # fmt: skip

window_option = click.option(
    "-T", "window", multiple=True, callback=_pairs, metavar="K=V",
    help="Filter contest problems by start, end, month, platform or difficulty. Repeatable.",
)  # fmt: skip

cutoff_option = click.option(
    "--cutoff", metavar="DATE",
    help="Training cut-off of the model, YYYY-MM-DD: splits contest problems by date.",
)  # fmt: skip

log_to_option = click.option(
    "--log-to", "log_to", multiple=True, metavar="TRACKER",
    help="Also log the results to mlflow[:URI], wandb[:PROJECT] or tensorboard:FOLDER. Repeatable.",
)  # fmt: skip

grading_options = together(
    click.option("--as", "profiles", multiple=True, default=("strict",), show_default=True, metavar="PROFILE",
                 help="Profile to grade under. Repeatable."),
    click.option("-k", "ks", multiple=True, type=click.IntRange(min=1), help="Report pass@K. Repeatable."),
    click.option("--workers", type=click.IntRange(min=1), help="Programs run at once. [default: one per core]"),
    cutoff_option,
    click.option("--packages", callback=names_of, metavar="NAMES",
                 help="Installed packages that programs may import in addition to the profile's, as a,b,c."),
    executor_option,
    log_to_option,
    unsafe_option,
)  # fmt: skip

adapter_option = click.option(
    "--adapter", type=click.Path(path_type=Path), metavar="FOLDER",
    help="LoRA or DoRA adapter in PEFT format; for embedded/NAME and hf/NAME (-M adapter=FOLDER).",
)  # fmt: skip

exclude_seen_option = click.option(
    "--exclude-seen", is_flag=True,
    help="Leave out the problems that the adapter learned from, instead of refusing them.",
)  # fmt: skip

model_args_option = click.option(
    "-M", "model_args", multiple=True, callback=_json_pairs, metavar="K=V",
    help="Model argument, passed on to the service. Repeatable.",
)  # fmt: skip

MODEL_HELP = "provider/name, preset, embedded/NAME, hf/NAME, replay:FILE, baseline/NAME."
model_option = click.option("--model", "-m", help=MODEL_HELP)
models_option = click.option("--model", "-m", multiple=True, help=f"{MODEL_HELP} Repeatable.")

generation_options = together(
    adapter_option,
    exclude_seen_option,
    click.option("--agent", metavar="NAME",
                 help="Agent that calls the model in several steps: agentcoder, self-repair."),
    click.option("-A", "agent_args", multiple=True, callback=_json_pairs, metavar="K=V",
                 help="Agent argument, e.g. -A variant=repaired (truegrade agents). Repeatable."),
    click.option("--base-url", help="Address of an OpenAI-compatible service."),
    click.option("-n", "--epochs", "n", default=1, show_default=True, type=click.IntRange(min=1),
                 help="Samples per problem."),
    click.option("--limit", metavar="N|A-B", callback=read_limit,
                 help="The first N problems, or a 1-based range; counts programs where several problems share"
                 " one."),
    click.option("--id", "ids", multiple=True, help="One problem, by its id. Repeatable."),
    click.option("--temperature", type=Number(min=0), help="[default: the service's]"),
    click.option("--top-p", type=Number(0, 1, min_open=True), help="[default: the service's]"),
    click.option("--top-k", type=click.IntRange(min=1),
                 help="Sample from the K most likely tokens. For models in this process; for services: -M"
                 " top_k=K."),
    click.option("--repetition-penalty", type=Number(min=0, min_open=True),
                 help="Repetition penalty; 1 is none. For models in this process, as --top-k."),
    click.option("--max-tokens", type=click.IntRange(min=1),
                 help="Maximum tokens per reply. [default: the preset's or the service's]"),
    click.option("--seed", type=int, help="Seed of sample 0; sample i uses seed + i."),
    click.option("--stop", multiple=True, help="Stop string, in addition to those of the profile. Repeatable."),
    click.option("--reasoning-effort", help="For reasoning models: minimal, low, medium, high."),
    model_args_option,
    click.option("--max-connections", default=10, show_default=True, type=click.IntRange(min=1),
                 help="Concurrent requests."),
    click.option("--max-attempts", default=6, show_default=True, type=click.IntRange(min=1),
                 help="Maximum requests for one sample."),
    click.option("--timeout", "timeout_s", default=600.0, show_default=True, type=Number(min=0, min_open=True),
                 help="Timeout of a request in seconds."),
    click.option("--max-cost", "max_cost_usd", type=Number(min=0),
                 help="Cost limit in US dollars, of all runs of the command together."),
    click.option("--reuse", type=click.Path(path_type=Path),
                 help="File of completion lists; rows with need_reproduce false are not requested again."),
    click.option("--cache/--no-cache", default=None,
                 help="Answer repeated requests from the response cache. [default: on for providers' own"
                 " addresses]"),
    click.option("--probe", is_flag=True,
                 help="Probe first which parameters the server honours; the manifest records the result."),
    click.option("--batch", is_flag=True,
                 help="Ask through the service's batches: half the price, answered within a day (openai/,"
                 " anthropic/). The same command collects them."),
    click.option("--out", type=click.Path(path_type=Path),
                 help="Folder of the run; with several runs, the folder that holds theirs. [default:"
                 " runs/<name>]"),
)  # fmt: skip


skip_missing_option = click.option(
    "--skip-missing", is_flag=True,
    help="Of a suite: leave out the benchmarks whose data are not on this machine; the page names them.",
)  # fmt: skip


def of_suite(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `truegrade.api.run` as those of a suite: defaults are the suite's to say.

    Raises:
        UsageError: one is true of a single run only.
    """
    from click.core import ParameterSource

    context = click.get_current_context()
    passed = dict(arguments)
    for name, option in (("ids", "--id"), ("reuse", "--reuse")):
        if passed.pop(name):
            raise click.UsageError(f"{option} is about one benchmark: run it without the suite.")
    unsaid = {"n": None, "profiles": ()}
    defaults = [name for name in unsaid if context.get_parameter_source(name) is ParameterSource.DEFAULT]
    return passed | {name: unsaid[name] for name in defaults}


def generation_arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    """Command-line options as the keyword arguments of `truegrade.api.generate`."""
    from truegrade.records.config import RequestPolicy, Sampling

    request_policy = ("max_connections", "max_attempts", "timeout_s", "max_cost_usd")
    passed = (
        "n",
        "data",
        "task_args",
        "limit",
        "ids",
        "base_url",
        "agent",
        "agent_args",
        "reuse",
        "cache",
        "probe",
        "batch",
        "exclude_seen",
        "out",
    )
    return {
        "sampling": Sampling(**{name: options[name] for name in Sampling.__struct_fields__}),
        "request_policy": RequestPolicy(**{name: options[name] for name in request_policy}),
        "notice": notice,
        "model_args": adapted_arguments(options["model_args"], options["adapter"]),
        **{name: options[name] for name in passed},
    }


def adapted_arguments(model_args: Mapping[str, Any], adapter: Path | None) -> dict[str, Any]:
    """Model arguments, ``--adapter`` among them."""
    if adapter is not None and "adapter" in model_args:
        raise click.UsageError("--adapter and -M adapter are the same option: give one of them")
    return {**model_args} if adapter is None else {**model_args, "adapter": str(adapter)}


def progress_for(as_json: bool) -> Progress:
    """What shows how far a command is; with ``--json`` nothing does."""
    from truegrade.report.progress_lines import Silent, TerminalProgress

    return Silent() if as_json else TerminalProgress()


def echo(message: object, *, err: bool = False, nl: bool = True) -> None:
    """Print on standard output or error; a terminal gets control characters of models and programs written out."""
    text = str(message).encode("utf-8", "backslashreplace").decode()
    stream = sys.stderr if err else sys.stdout
    behind = getattr(
        stream, "rich_proxied_file", None
    )  # while progress bars are shown, which click would write over
    shown = visible(text) if (behind or stream).isatty() else text
    # click would take escape sequences away on the way into a file or a pipe.
    click.echo(shown, file=behind and stream, err=err, nl=nl, color=True)


def notice(sentence: str) -> None:
    """Print what a person should know on standard error, and log it."""
    shown = with_flags(sentence)
    echo(f"note: {shown}", err=True)
    from truegrade.files.run_log import CONSOLE

    CONSOLE.info(shown)


def tell(sentence: str) -> None:
    """Print on standard error, and log, why the command ends."""
    echo(f"truegrade: {sentence}", err=True)
    from truegrade.files.run_log import CONSOLE

    if CONSOLE.hasHandlers():  # without, as before any command has begun, logging would print it again
        CONSOLE.error(sentence)


def print_json(value: Any) -> None:
    """What ``--json`` prints."""
    from truegrade.files.json_text import encode

    echo(encode(value, enc_hook=str, indent=2).decode())
