"""Groups of commands: those of the core, and those that apps add, imported when they are used."""

from __future__ import annotations

import click

from truegrade.app import app_commands, resolve
from truegrade.cli.options import complete_names_of


class AppGroup(click.Group):
    """A group to which apps add commands (`truegrade.app.App.commands`); no app takes the name of one of ours."""

    words = ""
    """Of the group, as apps declare them; empty for ``truegrade`` itself."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of ours and of the apps'."""
        return sorted({*self.commands, *app_commands(self.words)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command by name; the packages that are installed are looked through only for a name that is not ours.

        Raises:
            UserError: an app declares it, and it cannot be imported.
        """
        if (found := super().get_command(ctx, cmd_name)) is not None:
            return found
        for own in (True, False):
            if cmd_name in (offered := app_commands(self.words, own=own)):
                command: click.Command = resolve(*offered[cmd_name])
                complete_names_of(command)
                self.add_command(command, cmd_name)  # whatever walks the commands finds it too
                return command
        return None


def with_apps(group: click.Group) -> click.Group:
    """The group, with the commands of every app in it and below it: for what walks all commands.

    Raises:
        UserError: an app declares one that cannot be imported.
    """
    for name in group.list_commands(click.Context(group)):
        found = group.get_command(click.Context(group), name)
        if isinstance(found, click.Group):
            with_apps(found)
    return group
