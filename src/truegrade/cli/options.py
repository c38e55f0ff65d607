"""The options of the command line, each once: how they become arguments of `truegrade.api`, and ``--json``.

Shell completion: names of benchmarks, profiles and models behind the options and arguments that take them.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from math import isfinite
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin

import click
from click.shell_completion import CompletionItem

from truegrade.report.terminal import visible

if TYPE_CHECKING:
    from truegrade.analysis.gate import GateResult
    from truegrade.pipeline.loading import Limit
    from truegrade.pipeline.verdicts import Progress
    from truegrade.settings import Setting


def _names_in(registry: str) -> Iterable[str]:
    names: Iterable[str] = resolve_name(registry).names()
    return names


_benchmarks = partial(_names_in, "truegrade.benchmarks:REGISTRY")
_profiles = partial(_names_in, "truegrade.profiles:REGISTRY")


def _models() -> Iterator[str]:
    from truegrade.models import BASELINES, LOCAL
    from truegrade.models.providers import PRESETS

    yield from (f"baseline/{name}" for name in BASELINES)
    yield from (name for name in LOCAL if name == name.lower())  # the others are patterns: hf/NAME
    yield from PRESETS


def benchmarks_and_suites() -> Iterator[str]:
    """What `truegrade run` takes."""
    yield from _benchmarks()
    yield from _names_in("truegrade.pipeline.suites:REGISTRY")


NAMES: dict[str, Callable[[], Iterable[str]]] = {
    "benchmark": _benchmarks,
    "benchmarks": _benchmarks,
    "profile": _profiles,
    "profiles": _profiles,
    "model": _models,
    "models": _models,
}
"""Parameter of a command -> what it can be called with."""


def complete_name(names: Iterable[str], begun: str) -> list[CompletionItem]:
    """The names that begin so; files where none does, as a file can stand for each."""
    found = [CompletionItem(name) for name in names if name.startswith(begun)]
    return found or [CompletionItem(begun, type="file")]


class Named(click.types.StringParamType):
    """A text that may be one of these names, or a file.

    Args:
        names: looked up when a shell asks.
    """

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self._names = names

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """See `complete_name`."""
        return complete_name(self._names(), incomplete)


# ----------------------------------------------------------------------------------------------------------------
# Messages name arguments as Python has them, between backquotes; here they become options of the command line.


ARGUMENT = re.compile(r"(?<!required field )(?<!unknown field )`([a-z]\w*)(?:=(True|False))?`")
"""A mark in a message: `` `limit` ``, `` `allow_unsafe=True` ``; see `truegrade.errors.UserError`. The words of
msgspec mark a field of a file in the same way."""

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
"""Of the log; see `truegrade.cli.options`."""

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


def refuse(*names: str, why: str) -> None:
    """See that no option of these parameters stands in the line of the running command.

    Raises:
        UsageError: one does; ``why`` says behind its name what is wrong with that.
    """
    from click.core import ParameterSource

    context = click.get_current_context()
    for each in context.command.params:
        if each.name in names and context.get_parameter_source(each.name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{each.opts[0]} {why}")


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")

window_option = click.option(
    "-T", "window", multiple=True, callback=_pairs, metavar="K=V",
    help="Filter contest problems by start, end, month, platform or difficulty. Repeatable.",
)  # fmt: skip


# ----------------------------------------------------------------------------------------------------------------
# The options of settings, made of `truegrade.settings`.


class SettingOption(click.Option):
    """The option of a setting, made when something first asks for more than its name.

    To import the settings costs more than a tenth of ``truegrade --help``, which shows none.
    """

    def __init__(
        self, param_decls: Sequence[str], setting: Setting | None = None, *, several: bool = False
    ) -> None:
        self.name, self._setting, self._several = param_decls[0], setting, several

    def __getattr__(self, attribute: str) -> Any:
        if "_made" in self.__dict__:
            raise AttributeError(attribute)
        self._made = True
        flags, attributes = option_of(self.setting, several=self._several)
        super().__init__([self.name, *flags], **attributes)
        return getattr(self, attribute)

    @property
    def setting(self) -> Setting:
        """What it sets."""
        if self._setting is None:
            from truegrade.settings import RunSettings, settings_of

            self._setting = next(each for each in settings_of(RunSettings) if each.name == self.name)
        return self._setting


def option_of(setting: Setting, *, several: bool) -> tuple[list[str], dict[str, Any]]:
    """How a setting is spelled on the command line, and what `click.Option` is told of it.

    Args:
        setting: one that has an option.
        several: it can be given several times, where the setting is one value.
    """
    option, kind, default = setting.option, setting.kind, setting.default
    text = option.text
    attributes: dict[str, Any] = {"metavar": option.metavar, "envvar": option.variable}
    origin = get_origin(kind)
    if kind is bool:
        attributes |= {"default": default} if "/" in option.flags else {"default": default, "is_flag": True}
    elif origin is Mapping:
        reader = _pairs if get_args(kind)[1] is str else _json_pairs
        attributes |= {"multiple": True, "callback": reader, "metavar": "K=V"}
    elif option.reads is not None:
        attributes |= {"callback": read_limit if option.reads == "part" else names_of}
    else:
        several = several or origin in (Sequence, tuple)
        attributes |= {"type": _type_of(setting, get_args(kind)[0] if origin else kind), "multiple": several}
        if default:
            shown = (default,) if several and isinstance(default, str) else default
            attributes |= {"default": shown, "show_default": True}
    if attributes.get("multiple"):
        text, mark, rest = text.partition(" [default:")
        text = f"{text} Repeatable.{mark}{rest}"
    return option.flags.split(), {**attributes, "help": text}


def _type_of(setting: Setting, kind: Any) -> click.ParamType[Any, Any]:
    """How one value is read; ``kind`` is the type, or where there are several that of each."""
    option = setting.option
    if kind is int:
        return click.INT if option.least is None else click.IntRange(min=int(option.least))
    if kind is float:
        least = option.least if option.above is None else option.above
        return Number(least, option.most, min_open=option.above is not None)
    if kind is Path:
        return click.Path(path_type=Path)
    names = NAMES.get(setting.name)
    return click.STRING if names is None else Named(names)


class SettingsCommand(click.Command):
    """A command that takes settings, and lists its options by the sections that they are in; the basic ones, or,
    by ``--help-all``, every one.

    Args:
        several: settings that can be given several times here, where they are one value.
        basic: options of its own that are listed among the basic ones.
    """

    def __init__(self, *args: Any, several: Sequence[str] = (), basic: Sequence[str] = (), **more: Any) -> None:
        self._several, self._basic = several, basic
        self._help_all = click.Option(
            ["--help-all"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_show_all,
            help="Show all options and exit.",
        )
        super().__init__(*args, **more)

    @cached_property
    def _made(self) -> list[click.Parameter]:
        from truegrade.settings import COMMANDS, settings_of

        options = [
            SettingOption([each.name], each, several=each.name in self._several)
            for each in settings_of(*COMMANDS[str(self.name)])
            if each.option.flags
        ]
        place = sum(isinstance(each, click.Argument) for each in self.declared)
        return [*self.declared[:place], *options, *self.declared[place:]]

    @property
    def params(self) -> list[click.Parameter]:
        """Its parameters, made when they are first asked for."""
        return self._made

    @params.setter
    def params(self, declared: list[click.Parameter]) -> None:
        self.declared = declared

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Its parameters, and the options that print its help."""
        return [*super().get_params(ctx), self._help_all]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, a list for each section."""
        from truegrade.settings import OTHER, SECTIONS

        rows: dict[str, list[tuple[str, str]]] = {heading: [] for heading in SECTIONS}
        options = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        shown = [each for each in options if ctx.meta.get(_EVERYTHING) or self._is_basic(each)]
        for parameter in shown:
            heading = parameter.setting.option.section if isinstance(parameter, SettingOption) else OTHER
            if (record := parameter.get_help_record(ctx)) is not None:
                rows[heading].append(record)
        for heading in (each for each in SECTIONS if rows[each]):
            with formatter.section(heading):
                formatter.write_dl(rows[heading])
        if rest := len(options) - len(shown):
            formatter.write_paragraph()
            formatter.write_text(f"--help-all shows {rest} more options.")

    def _is_basic(self, option: click.Option) -> bool:
        if isinstance(option, SettingOption):
            return option.setting.option.basic
        return option.name in self._basic or not option.expose_value  # those that print help


_EVERYTHING = "truegrade.help_all"
"""In the context of a command whose help is to show all options."""


def _show_all(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked and not context.resilient_parsing:
        context.meta[_EVERYTHING] = True
        click.echo(context.get_help())
        context.exit()


def given_settings() -> dict[str, Any]:
    """The settings that the running command was given, in its line or by the environment, as keywords."""
    from click.core import ParameterSource

    from truegrade.records.config import RequestPolicy, Sampling

    context = click.get_current_context()
    given: dict[str, Any] = {}
    parts: dict[str, dict[str, Any]] = {"sampling": {}, "request_policy": {}}
    for parameter in context.command.params:
        if not isinstance(parameter, SettingOption):
            continue
        if context.get_parameter_source(parameter.name) is not ParameterSource.DEFAULT:
            place = parts.get(parameter.setting.within or "", given)
            place[parameter.name] = context.params[parameter.name]
    made = {"sampling": Sampling, "request_policy": RequestPolicy}
    return given | {name: made[name](**values) for name, values in parts.items() if values}


def _setting(name: str) -> Callable[[F], F]:
    """The option of a setting, for commands that take few."""
    return click.option(name, cls=SettingOption)


unsafe_option = _setting("allow_unsafe")
data_option = _setting("data")
cutoff_option = _setting("cutoff")
log_to_option = _setting("log_to")
adapter_option = _setting("adapter")
exclude_seen_option = _setting("exclude_seen")
model_args_option = _setting("model_args")
base_url_option = _setting("base_url")
temperature_option = _setting("temperature")
workers_option = _setting("workers")


def data_options(command: F) -> F:
    """The options that name a benchmark's data and arguments."""
    return data_option(_setting("task_args")(command))


# ----------------------------------------------------------------------------------------------------------------
# What is printed.


def drop_output() -> None:
    """Send what standard output still holds nowhere: Python would write it at its end, and exit with 120."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


class TellingCommand(click.Command):
    """A command whose exit code answers nothing: a reader that has seen enough and left is no failure of it."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run it."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            with suppress(BrokenPipeError):
                sys.stdout.flush()
            drop_output()
            return ctx.exit(0)


EXIT_GATE = 3
"""A condition that was given with ``--fail-if`` holds."""


def fail_if_option(example: str) -> Callable[[Any], Any]:
    """``--fail-if RULE``, which ends a command with `EXIT_GATE`."""
    return click.option(
        "--fail-if", metavar="RULE", help=f"Exit with {EXIT_GATE} where this holds, e.g. '{example}'."
    )


def end_if_held(results: Sequence[GateResult], lines: Callable[[Sequence[GateResult]], Iterable[str]]) -> None:
    """Say what became of a gate on standard error; exit with `EXIT_GATE` where it holds for anything."""
    for line in lines(results):
        echo(line, err=True)
    if any(result.holds for result in results):
        sys.exit(EXIT_GATE)


def progress_for(as_json: bool) -> Progress:
    """What shows how far a command is; with ``--json`` nothing does."""
    from truegrade.report.progress_lines import TerminalProgress
    from truegrade.settings import Silent

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
