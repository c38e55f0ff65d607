"""`truegrade view`: the runs of a folder in a browser."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from truegrade.cli.options import echo, json_option, print_json


@click.command("view")
@click.argument("runs", default="runs", type=click.Path(path_type=Path), metavar="[RUNS]")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=8765,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port; a free one is used if it is taken.",
)
@click.option("--open", "open_page", is_flag=True, help="Open the page in the browser.")
@json_option
def view(runs: Path, host: str, port: int, open_page: bool, as_json: bool) -> None:
    """Show a folder of runs, or a pack, in a browser: list, samples, comparison, live. Stop with Ctrl-C."""
    from truegrade.apps.viewer.viewer_server import ViewServer
    from truegrade.store import Run

    shown = Run.open(runs).path if runs.is_file() else runs
    with ViewServer(shown, host, port) as server:

        def announce() -> None:
            if as_json:
                print_json({"address": server.url, "runs": str(runs)})
            else:
                echo(f"{runs} at {server.url}; stop with Ctrl-C")
                if not server.local_only:
                    echo(f"note: everyone who can reach {host} can read these runs", err=True)
            sys.stdout.flush()
            if open_page:
                click.launch(server.url)

        server.serve_forever(announce)
    echo("stopped", err=True)
