"""Messages name arguments as Python has them, between backquotes; here they become options of the command line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from truegrade.pipeline.loading import Limit

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
    from truegrade.benchmarks.benchmark_args import limit_of

    try:
        return limit_of(text)
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from None
