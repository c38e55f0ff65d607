"""``--log-level``: what of the log a person sees on standard error, and the file that every run keeps of it."""

from __future__ import annotations

import logging

import click

from truegrade import __version__
from truegrade.cli.options import echo
from truegrade.files.run_log import CONSOLE, ROOT, LogLine, RunLog


class _OnStandardError(logging.Handler):
    """Shows records, but for those that the console shows anyway."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.name != CONSOLE.name:
            echo(self.format(record), err=True)


def start_log(context: click.Context, level: str) -> None:
    """Send the log to standard error and to the run's ``log.txt`` until the command ends.

    The file has what a person would ask for afterwards, whatever is shown: everything from ``info`` up, at
    ``debug`` each request too.

    Args:
        context: of the command line.
        level: the lowest that standard error shows.
    """
    command = f"truegrade {__version__}, {context.invoked_subcommand}"
    shown, kept = _OnStandardError(level.upper()), RunLog(command)
    shown.setFormatter(LogLine())
    before, propagated = ROOT.level, ROOT.propagate
    ROOT.setLevel(min(logging.INFO, shown.level))
    ROOT.propagate = False  # a library that sets up logging of its own would show every line twice
    for handler in (shown, kept):
        ROOT.addHandler(handler)

    def stop() -> None:
        ROOT.setLevel(before)
        ROOT.propagate = propagated
        for handler in (shown, kept):
            ROOT.removeHandler(handler)
            handler.close()

    context.call_on_close(stop)
