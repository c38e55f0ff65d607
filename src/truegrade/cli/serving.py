"""The servers: `serve` (grading service), `serve-model` (OpenAI protocol), `view` (run viewer)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from truegrade.cli.options import (
    Number,
    adapter_option,
    echo,
    json_option,
    names_of,
    print_json,
    unsafe_option,
)


@click.command("serve-model", hidden=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="Port; 0 selects a free one."
)
@click.option("--model", "-m", "name", help="embedded/PATH or hf/NAME. [default: embedded/truegrade-micro]")
@adapter_option
@json_option
def serve_model(host: str, port: int, name: str | None, adapter: Path | None, as_json: bool) -> None:
    """Serve a local model over the OpenAI protocol: chat completions, completions, models. Stop with Ctrl-C."""
    from truegrade.errors import UserError
    from truegrade.models import TRUEGRADE_MICRO, open_model
    from truegrade.models.local import LocalModel
    from truegrade.settings import with_adapter
    from truegrade.web.port import ModelServer

    model = open_model(name or TRUEGRADE_MICRO, args=with_adapter({}, adapter))
    if not isinstance(model, LocalModel):
        raise UserError(f"{model.name} does not run here, so it cannot be served: name embedded/... or hf/...")
    with ModelServer(model.engine, host, port) as server:

        def announce() -> None:
            if as_json:
                print_json({"base_url": server.url, "model": server.model_id})
            else:
                echo(f"{model.name} at {server.url}; use it with")
                echo(f"  truegrade run BENCHMARK --model openai/{server.model_id} --base-url {server.url}")
            sys.stdout.flush()

        server.serve_forever(announce)
    echo("stopped", err=True)


def _benchmark_files(
    _: click.Context, __: click.Parameter, given: tuple[str, ...]
) -> tuple[tuple[str, Path | None], ...]:
    """``NAME`` or ``NAME=FILE``, as pairs."""
    pairs = (text.partition("=") for text in given)
    return tuple((name, Path(file) if file else None) for name, _, file in pairs)


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", default=8080, show_default=True, type=click.IntRange(0, 65535), help="Port; 0 selects a free one."
)
@click.option(
    "--fd",
    type=click.IntRange(min=0),
    help="Descriptor of a TCP socket that listens, in place of --host and --port; 3 under systemd.",
)
@click.option(
    "--token",
    envvar="TRUEGRADE_SERVE_TOKEN",
    show_envvar=True,
    help="Bearer token that clients must send. [default: a new one, printed]",
)
@click.option("--no-token", is_flag=True, help="Require no token; only on a loopback address.")
@click.option(
    "--benchmark",
    "-b",
    "benchmarks",
    multiple=True,
    metavar="NAME[=FILE]",
    callback=_benchmark_files,
    help="Load a benchmark whose problems requests can name. Repeatable.",
)
@click.option(
    "--as",
    "--profile",
    "profiles",
    multiple=True,
    default=("strict",),
    show_default=True,
    help="Profile for requests that name none. Repeatable.",
)
@click.option("--workers", type=click.IntRange(min=1), help="Programs run at once. [default: one per usable core]")
@click.option("--packages", callback=names_of, metavar="NAMES",
              help="Installed packages that programs may import besides a profile's, as a,b,c.")  # fmt: skip
@click.option(
    "--max-queue",
    default=4096,
    show_default=True,
    type=click.IntRange(min=1),
    help="Maximum programs waiting or running; further requests get 429.",
)
@click.option(
    "--max-body",
    "max_body_mib",
    default=64,
    show_default=True,
    type=click.IntRange(min=1),
    help="Maximum size of a request in MiB.",
)
@click.option(
    "--max-bodies",
    "max_bodies_mib",
    default=256,
    show_default=True,
    type=click.IntRange(min=1),
    help="Maximum size of all requests under way together, in MiB; further ones get 503.",
)
@click.option(
    "--max-cpu",
    "max_cpu_s",
    default=60.0,
    show_default=True,
    type=Number(min=1),
    help="Highest CPU limit, in seconds, that a request may ask for.",
)
@click.option(
    "--max-memory",
    "max_memory_mib",
    default=4096,
    show_default=True,
    type=click.IntRange(min=256),
    help="Highest memory limit, in MiB, that a request may ask for.",
)
@click.option(
    "--max-connections",
    default=512,
    show_default=True,
    type=click.IntRange(min=2),
    help="Maximum requests to /v1/* under way; further ones get 503. Trainers' own routes are not bounded.",
)
@click.option(
    "--patience",
    "patience_s",
    default=30.0,
    show_default=True,
    type=Number(min=1),
    help="Timeout for receiving a request, in seconds.",
)
@click.option(
    "--drain",
    "drain_s",
    default=60.0,
    show_default=True,
    type=Number(min=0),
    help="Seconds for running programs to finish after SIGTERM.",
)
@click.option(
    "--shadow",
    metavar="PROFILE",
    help="Look for attempts to be paid for nothing: bait, or a leaky profile, which is asked as well.",
)
@click.option(
    "--shadow-share",
    default=0.05,
    show_default=True,
    type=Number(min=0, max=1),
    help="Share of the replies without a reward that the shadow looks at.",
)
@click.option(
    "--hacks",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Keep the first reply of each kind of attempt in FOLDER/hacks.jsonl.",
)
@unsafe_option
@json_option
def serve(token: str | None, no_token: bool, workers: int | None, max_body_mib: int, max_bodies_mib: int,
          max_memory_mib: int, allow_unsafe: bool | None, as_json: bool, **options: Any) -> None:  # fmt: skip
    """Grade and run programs over HTTP, in the sandbox (docs/service.md). SIGTERM or Ctrl-C drains it."""
    from truegrade.sandbox.limits import usable_cores
    from truegrade.web.service.grading_application import new_token, serve_until_stopped
    from truegrade.web.service.grading_service import MIB, ServiceSettings

    if no_token and token:
        raise click.UsageError("--token and --no-token exclude each other.")
    settings = ServiceSettings(
        token=None if no_token else token or new_token(),
        max_body_bytes=max_body_mib * MIB,
        max_bodies_bytes=max_bodies_mib * MIB,
        max_memory_bytes=max_memory_mib * MIB,
        allow_unsafe=bool(allow_unsafe),
        workers=workers or usable_cores(),
        **options,
    )

    def announce(address: str, protection: str) -> None:
        if as_json:
            print_json({"address": address, "token": settings.token, "protection": protection})
        else:
            echo(f"grading at {address} (API: {address}/docs), {settings.workers} workers; {protection}")
            if settings.token is not None and not token:
                echo(f"token: {settings.token}")
        sys.stdout.flush()

    serve_until_stopped(settings, announce)
    echo("stopped", err=True)
