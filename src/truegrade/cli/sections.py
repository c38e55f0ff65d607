"""The list of commands of ``truegrade --help``, by what a user wants to do."""

from __future__ import annotations

import click

SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Grade, run, check", ("grade", "run", "check", "assay", "generate")),
    (
        "Read results",
        ("report", "compare", "view", "leaderboard", "replicate", "audit", "export", "pack", "power"),
    ),
    ("Problems and models", ("benchmarks", "suites", "profiles", "models", "data", "agents", "evolve")),
    ("Services and tools", ("serve", "serve-model", "exec", "doctor", "completion", "schema", "lm-eval-tasks")),
    ("Lists for extensions", ("importers", "exporters", "providers", "searchers")),
)
"""Heading and commands, in the order in which they are shown; a command that is not named comes last."""


class SectionedGroup(click.Group):
    """A group whose help lists its commands under headings, each with the first clause of its help."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections."""
        named = {name for _, names in SECTIONS for name in names}
        rest = tuple(name for name in self.list_commands(ctx) if name not in named)
        for heading, names in (*SECTIONS, ("More", rest)):
            known = [(name, self.commands[name]) for name in names if name in self.commands]
            if known:
                with formatter.section(heading):
                    formatter.write_dl([(name, _said(command)) for name, command in known])


def _said(command: click.Command) -> str:
    """The first clause: up to a full stop, colon or semicolon."""
    text = " ".join((command.help or "").split("\n\n")[0].split())
    for mark in (". ", ": ", "; ", " ("):
        text = text.partition(mark)[0]
    return text.rstrip(".")
