"""Groups of commands: those of the core, and those that apps add, imported when they are used."""

from __future__ import annotations

from collections.abc import Sequence

import click

from truegrade.app import App, BrokenApp, app_commands, installed_apps, resolve
from truegrade.cli.options import NAMES, Named, SettingsCommand, benchmarks_and_suites
from truegrade.errors import UserError


class AppGroup(click.Group):
    """A group to which apps add commands (`truegrade.app.App.commands`); no app takes the name of one of ours."""

    words = ""
    """Of the group, as apps declare them; empty for ``truegrade`` itself."""
    sections: Sequence[tuple[str, Sequence[str]]] = ()
    """Headings of its help and the commands under each; all others stand under one more."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of ours and of the apps'."""
        return sorted({*self.commands, *app_commands(self.words)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command by name; installed packages are looked through only for a name that is not ours."""
        if (found := super().get_command(ctx, cmd_name)) is not None:
            return found
        for own in (True, False):
            if cmd_name in (offered := app_commands(self.words, own=own)):
                command = command_of_app(*offered[cmd_name])
                complete_names_of(command)
                self.add_command(command, cmd_name)  # whatever walks the commands finds it too
                return command
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections: each command with the first clause of its help, whole."""
        named = {name for _, names in self.sections for name in names}
        rest = [name for name in self.list_commands(ctx) if name not in named]
        for heading, names in (*self.sections, ("More" if named else "Commands", rest)):
            known = [(name, command) for name in names if (command := self.get_command(ctx, name)) is not None]
            if shown := [(name, _first_clause(command.help)) for name, command in known if not command.hidden]:
                with formatter.section(heading):
                    formatter.write_dl(shown)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Say of what apps offer here what cannot be used, one line each."""
        super().format_epilog(ctx, formatter)
        faults = {}
        for name, (app, target) in app_commands(self.words).items():
            command, declared = self.get_command(ctx, name), command_of_app(app, target)
            if isinstance(declared, UnusableCommand):
                faults[name] = str(declared.error)
            elif command is not declared:
                faults[name] = f"the app {app.name} adds a command of this name, which is one of Truegrade's own"
        if not self.words:
            faults |= {broken.name: broken.fault for broken in installed_apps() if isinstance(broken, BrokenApp)}
        if faults:
            formatter.write("\nCannot be used, while everything else can:\n")
        for name, fault in faults.items():
            formatter.write(f"  {name}: {fault}\n")


def _first_clause(text: str | None) -> str:
    """Up to a full stop, colon or semicolon."""
    said = " ".join((text or "").split("\n\n")[0].split())
    for mark in (". ", ": ", "; ", " ("):
        said = said.partition(mark)[0]
    return said.rstrip(".")


class UnusableCommand(click.Command):
    """Stands for a command that an app declares and that cannot be had: the others work, and this one says why."""

    def __init__(self, error: UserError) -> None:
        super().__init__(None, help="cannot be used", add_help_option=False)
        self.ignore_unknown_options = self.allow_extra_args = True
        self.error = error

    def invoke(self, ctx: click.Context) -> None:
        """Refuse, whatever is asked."""
        raise self.error


def command_of_app(app: App, target: str) -> click.Command:
    """The command that an app declares, or what stands for it."""
    try:
        command = resolve(app, target)
        if isinstance(command, click.Command):
            return command
        raise UserError(f"the app {app.name} declares {target}, which is no click command")
    except UserError as error:
        return UnusableCommand(error)


def with_apps(group: click.Group) -> click.Group:
    """The group, with the commands of every app in it and below it: for what walks all commands."""
    for name in group.list_commands(click.Context(group)):
        found = group.get_command(click.Context(group), name)
        if isinstance(found, click.Group):
            with_apps(found)
    return group


def complete_names(group: click.Group) -> None:
    """Let the parameters of a group's commands be completed by what they name."""
    for command in group.commands.values():
        complete_names_of(command)


def complete_names_of(command: click.Command) -> None:
    """Let a command's parameters, and those of the commands below it, be completed by what they name."""
    if isinstance(command, click.Group):
        complete_names(command)
    for parameter in command.declared if isinstance(command, SettingsCommand) else command.params:
        names = NAMES.get(parameter.name or "")
        if command.name == "run" and parameter.name == "benchmark":
            names = benchmarks_and_suites
        if names is not None and vars(parameter).get("type") is click.STRING:
            parameter.type = Named(names)
