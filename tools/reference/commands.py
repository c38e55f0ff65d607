"""The command line, command by command, from click."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import cleandoc

import click

from tools.reference.markdown import code, escaped, table
from tools.reference.markdown import page as as_page
from truegrade.cli import main
from truegrade.cli.groups import with_apps


def page() -> str:
    """Every command with its usage, arguments and options."""
    codes = table(
        ("exit code", "means"),
        [
            ("0", "done"),
            ("1", "a claim does not hold, a check failed, a program of `exec` did not end well"),
            ("2", "a mistake in what was asked: one line says where and what to do"),
            ("3", "what was given with `--fail-if` holds"),
            ("130", "stopped by Ctrl-C; the same command goes on"),
        ],
    )
    sections = [
        _section(path, command)
        for path, command in _commands(("truegrade",), with_apps(main))
        if command is not main
    ]
    about = "`--help` on any command prints the same, and on `run` and `grade` `--help-all`."
    return as_page("Command line", about, codes, *sections)


def _commands(path: tuple[str, ...], command: click.Command) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name in sorted(command.commands):
            yield from _commands((*path, name), command.commands[name])


def _section(path: tuple[str, ...], command: click.Command) -> str:
    context = click.Context(command, info_name=path[-1])
    usage = " ".join([*path, *command.collect_usage_pieces(context)])
    options = [
        (code(names), escaped(text))
        for parameter in command.params
        if isinstance(parameter, click.Option) and (record := parameter.get_help_record(context))
        for names, text in [record]
    ]
    parts = [f"## {' '.join(path[1:])}", _help(command), f"```text\n{usage}\n```"]
    return "\n\n".join([*parts, *([table(("option", ""), options)] if options else [])])


def _help(command: click.Command) -> str:
    """The help text; what click is told to leave as it stands becomes a block."""
    paragraphs = cleandoc(command.help or "").split("\n\n")
    return "\n\n".join(
        f"```text\n{paragraph[2:].rstrip()}\n```" if paragraph.startswith("\b\n") else escaped(paragraph)
        for paragraph in paragraphs
    )
