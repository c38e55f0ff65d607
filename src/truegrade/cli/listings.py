"""The commands that list what has a name, each with where it comes from: `benchmarks`, `importers`, …"""

from __future__ import annotations

from collections.abc import Callable
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import click

from truegrade.app import own_apps
from truegrade.cli.options import echo, json_option, print_json, with_flags

if TYPE_CHECKING:
    from truegrade.registry import Found, Registry


def usable(registry: Registry[Any]) -> list[Found[Any]]:
    """What a registry lists and can be used; what cannot is told on standard error."""
    from truegrade.registry import Found

    found = []
    for name, value, origin, fault in registry.listed():
        if fault:
            echo(f"note: {registry.kind} {name!r} of {origin}: {fault}", err=True)
        else:
            found.append(Found(name, value, origin))
    return found


def _command(kind: str, home: str, text: str, summary: Callable[[Any], str]) -> click.Command:
    """``truegrade KINDs``, of the registry of that module."""

    @click.command(f"{kind}s", help=text)
    @json_option
    def listing(as_json: bool) -> None:
        from truegrade.report.listings import print_listing

        rows = [(each.name, summary(each.value), each.origin) for each in usable(resolve_name(home))]
        if as_json:
            print_json([{"name": name, "summary": said, "origin": origin} for name, said, origin in rows])
        else:
            print_listing(kind, [(name, said, str(origin)) for name, said, origin in rows])

    return listing


def _first_line(thing: Any) -> str:
    return (thing.__doc__ or "").strip().partition("\n")[0]


LISTINGS = (
    _command(
        "provider",
        "truegrade.models.providers:REGISTRY",
        "List the providers of models (`--model PROVIDER/NAME`); `truegrade models` lists all that --model takes.",
        lambda provider: str(provider.notes),
    ),
    _command(
        "importer",
        "truegrade.store.importers:REGISTRY",
        "List the formats of files that `grade` reads (`--format NAME`, docs/formats.md).",
        lambda importer: str(importer.summary),
    ),
    _command(
        "exporter",
        "truegrade.store.exporters:REGISTRY",
        "List the formats of files that `export` writes (`--format NAME`, docs/formats.md).",
        lambda exporter: str(exporter.summary),
    ),
    *(
        _command(kind, home, f"List the {kind}s of the app `{app.name}`.", _first_line)
        for app in own_apps()
        for kind, home in app.kinds.items()
    ),
)


_all_option = click.option(
    "--all", "everything", is_flag=True, help="Also what only single studies or older results use, with details."
)


@click.command()
@_all_option
@json_option
def benchmarks(everything: bool, as_json: bool) -> None:
    """List the benchmarks; --json lists all of them."""
    from truegrade.benchmarks import REGISTRY

    listed = usable(REGISTRY)
    if as_json:
        fields = ("name", "summary", "tasks", "size", "licence", "citation", "args")
        print_json([{**{field: getattr(e.value, field) for field in fields}, "origin": e.origin} for e in listed])
    else:
        from truegrade.report.listings import print_benchmarks

        specs, origins = [each.value for each in listed], [str(each.origin) for each in listed]
        print_benchmarks(specs, origins, everything=everything)


@click.command()
@json_option
def agents(as_json: bool) -> None:
    """List the agents (`run --agent NAME`), their arguments with defaults, and their rules."""
    from msgspec import to_builtins

    from truegrade.agents import REGISTRY

    listed = usable(REGISTRY)
    if as_json:
        print_json([{**to_builtins(each.value.info), "origin": each.origin} for each in listed])
    else:
        from truegrade.report.listings import print_agents

        print_agents([each.value.info for each in listed], [str(each.origin) for each in listed])


@click.command()
@_all_option
@json_option
def models(everything: bool, as_json: bool) -> None:
    """List what --model takes: services, models on this machine, baselines; --json lists all of them."""
    from truegrade.models import list_models

    known = list_models()
    if as_json:
        print_json(known)
    else:
        from truegrade.report.listings import print_models

        print_models(known, everything=everything)


@click.group(invoke_without_command=True)
@click.pass_context
@_all_option
@json_option
def profiles(ctx: click.Context, everything: bool, as_json: bool) -> None:
    """List the profiles; `profiles show NAME` prints every rule, `profiles diff A B` the differences of two."""
    if ctx.invoked_subcommand is not None:
        return
    from truegrade.profiles import REGISTRY, made

    opened = [made(each) for each in usable(REGISTRY)]
    if as_json:
        print_json([profile.describe() for profile in opened])
    else:
        from truegrade.report.listings import print_profiles

        print_profiles(opened, everything=everything)


@profiles.command("show")
@click.argument("name")
@json_option
def profiles_show(name: str, as_json: bool) -> None:
    """Print a profile's rules with their sources, its limits and known defects."""
    from truegrade.profiles import find_profile

    profile = find_profile(name)
    if as_json:
        print_json(profile.describe())
    else:
        from truegrade.report.listings import print_profile

        print_profile(profile)


@profiles.command("diff")
@click.argument("first")
@click.argument("second")
@json_option
def profiles_diff(first: str, second: str, as_json: bool) -> None:
    """Compare two profiles rule by rule, with sources."""
    from truegrade.profiles import find_profile
    from truegrade.profiles.difference import difference

    found = difference(find_profile(first), find_profile(second))
    if as_json:
        print_json(found)
    else:
        from truegrade.report.listings import print_profile_difference

        print_profile_difference(found)


@click.group(invoke_without_command=True)
@click.pass_context
@json_option
def suites(ctx: click.Context, as_json: bool) -> None:
    """List the suites: benchmarks that `run` runs together; `suites show NAME` prints the settings of one."""
    if ctx.invoked_subcommand is not None:
        return
    from truegrade.pipeline.suites import REGISTRY

    listed = usable(REGISTRY)
    if as_json:
        from msgspec import to_builtins

        print_json([{**to_builtins(each.value), "origin": each.origin} for each in listed])
    else:
        from truegrade.report.listings import print_suites

        print_suites([(each.value, str(each.origin)) for each in listed])


@suites.command("show")
@click.argument("name")
@json_option
def suites_show(name: str, as_json: bool) -> None:
    """Print the benchmarks of a suite, their settings, and which data are not on this machine."""
    from msgspec import to_builtins

    from truegrade.api.suites import missing_of
    from truegrade.pipeline.suites import find_suite

    found = find_suite(name)
    missing = missing_of(found)
    if as_json:
        print_json({**to_builtins(found.value), "origin": found.origin, "missing": missing})
    else:
        from truegrade.report.listings import print_suite

        print_suite(found.value, str(found.origin), {name: with_flags(why) for name, why in missing.items()})
