"""The command that lists the agents: `agents`."""

from __future__ import annotations

import click

from truegrade.cli.options import json_option, print_json


@click.command()
@json_option
def agents(as_json: bool) -> None:
    """List the agents (`run --agent NAME`), their arguments with defaults, and their rules."""
    from truegrade.agents import list_agents

    known = list_agents()
    if as_json:
        print_json(known)
    else:
        from truegrade.report.agents import print_agents

        print_agents(known)
