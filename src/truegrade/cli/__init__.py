"""The command line, one module a command group; each command parses, calls `truegrade.api` and prints."""

from truegrade.cli.commands import main

__all__ = ["main"]
