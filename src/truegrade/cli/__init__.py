"""The commands, one module a group; each parses its options, calls `truegrade.api` and prints."""

from truegrade.cli.commands import main

__all__ = ["main"]
