"""`truegrade list KIND [NAME]`: what has a name, each with where it comes from; with a name, all about one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from truegrade.app import usable_apps
from truegrade.cli.options import NAMES, TellingCommand, complete_name, echo, json_option, print_json, with_flags

if TYPE_CHECKING:
    from truegrade.models import ModelInfo
    from truegrade.profiles import Profile


def _summary(thing: Any) -> str:
    return str(thing.summary)


def _first_line(thing: Any) -> str:
    return (thing.__doc__ or "").strip().partition("\n")[0]


class ListedKind:
    """A kind of thing: as it is here, one of which a line says what there is to say.

    Args:
        home: ``module:attribute`` of its registry.
        text: what the kind is.
        summary: a thing in a line.
        origin: where the kind comes from.
    """

    def __init__(
        self, home: str, text: str, summary: Callable[[Any], str] = _summary, origin: str = "built-in"
    ) -> None:
        self.home, self.text, self.summary, self.origin = home, text, summary, origin

    def every(self) -> list[Any]:
        """What can be used; what cannot is told on standard error."""
        from truegrade.registry import Found

        registry, found = resolve_name(self.home), []
        for name, value, origin, fault in registry.listed():
            if fault:
                echo(f"note: {registry.kind} {name!r} of {origin}: {fault}", err=True)
            else:
                found.append(Found(name, value, origin))
        return found

    def find(self, name: str) -> Any:
        """One of them.

        Raises:
            UserError: there is none of that name, or it cannot be used.
        """
        return resolve_name(self.home).find(name)

    def as_json(self, each: Any) -> Any:
        """What ``--json`` prints of one."""
        return {"name": each.name, "summary": self.summary(each.value), "origin": each.origin}

    def show(self, found: Sequence[Any], *, everything: bool) -> None:
        """Print them as a table."""
        from truegrade.report.listings import print_listing

        kind = resolve_name(self.home).kind
        print_listing(kind, [(each.name, self.summary(each.value), str(each.origin)) for each in found])

    def show_one(self, one: Any) -> None:
        """Print one whole."""
        self.show([one], everything=True)


class _Benchmarks(ListedKind):
    def as_json(self, each: Any) -> Any:
        fields = ("name", "summary", "tasks", "size", "licence", "citation", "args")
        return {**{field: getattr(each.value, field) for field in fields}, "origin": each.origin}

    def show(self, found: Sequence[Any], *, everything: bool) -> None:
        from truegrade.report.listings import print_benchmarks

        specs, origins = [each.value for each in found], [str(each.origin) for each in found]
        print_benchmarks(specs, origins, everything=everything)


class _Profiles(ListedKind):
    def every(self) -> list[Profile]:
        from truegrade.profiles import made

        return [made(each) for each in super().every()]

    def find(self, name: str) -> Profile:
        from truegrade.profiles import find_profile

        return find_profile(name)

    def as_json(self, each: Profile) -> Any:
        return each.describe()

    def show(self, found: Sequence[Profile], *, everything: bool) -> None:
        from truegrade.report.listings import print_profiles

        print_profiles(found, everything=everything)

    def show_one(self, one: Profile) -> None:
        from truegrade.report.listings import print_profile

        print_profile(one)


class _Models(ListedKind):
    def every(self) -> list[ModelInfo]:
        from truegrade.models import list_models

        return list_models()

    def find(self, name: str) -> ModelInfo:
        from truegrade.errors import UnknownName
        from truegrade.models import provider_of
        from truegrade.models.providers import REMOVED

        known = {each.name: each for each in self.every()}
        if name not in known:
            if name.partition("/")[0] in REMOVED:
                provider_of(name)  # which says so
            raise UnknownName("model", name, known, "`truegrade list models` lists them")
        return known[name]

    def as_json(self, each: ModelInfo) -> Any:
        return each

    def show(self, found: Sequence[ModelInfo], *, everything: bool) -> None:
        from truegrade.report.listings import print_models

        print_models(found, everything=everything)


class _Suites(ListedKind):
    def as_json(self, each: Any) -> Any:
        from msgspec import to_builtins

        from truegrade.api.pairs import missing_of

        return {**to_builtins(each.value), "origin": each.origin, "missing": missing_of(each)}

    def show(self, found: Sequence[Any], *, everything: bool) -> None:
        from truegrade.report.listings import print_suites

        print_suites([(each.value, str(each.origin)) for each in found])

    def show_one(self, one: Any) -> None:
        from truegrade.api.pairs import missing_of
        from truegrade.report.listings import print_suite

        missing = {name: with_flags(why) for name, why in missing_of(one).items()}
        print_suite(one.value, str(one.origin), missing)


class _Agents(ListedKind):
    def as_json(self, each: Any) -> Any:
        from msgspec import to_builtins

        return {**to_builtins(each.value.info), "origin": each.origin}

    def show(self, found: Sequence[Any], *, everything: bool) -> None:
        from truegrade.report.listings import print_agents

        print_agents([each.value.info for each in found], [str(each.origin) for each in found])

    def show_one(self, one: Any) -> None:
        from truegrade.report.listings import print_agent

        print_agent(one.value.info, str(one.origin))


KINDS: Mapping[str, ListedKind] = {
    "benchmarks": _Benchmarks("truegrade.benchmarks:REGISTRY", "what `run` asks a model"),
    "suites": _Suites("truegrade.pipeline.suites:REGISTRY", "benchmarks that `run` runs together, with settings"),
    "profiles": _Profiles("truegrade.profiles:REGISTRY", "rules of grading (`--as NAME`)"),
    "models": _Models("", "what `--model` takes: services, models on this machine, baselines"),
    "agents": _Agents("truegrade.agents:REGISTRY", "what asks a model in several steps (`run --agent NAME`)"),
    "providers": ListedKind(
        "truegrade.models.providers:REGISTRY",
        "services of models (`--model PROVIDER/NAME`)",
        lambda provider: str(provider.notes),
    ),
    "importers": ListedKind("truegrade.store.importers:REGISTRY", "what `grade` reads (`--format NAME`)"),
    "exporters": ListedKind("truegrade.store.exporters:REGISTRY", "what `export` writes (`--format NAME`)"),
    "executors": ListedKind(
        "truegrade.pipeline.grade:REGISTRY", "what runs programs (`--executor NAME`)", _first_line
    ),
}
"""The kinds of the core; apps add theirs (`truegrade.app.App.kinds`)."""


def kinds() -> dict[str, ListedKind]:
    """All kinds by name, those of apps among them."""
    of_apps = {
        f"{kind}s": ListedKind(home, f"{kind}s: {app.summary}", _first_line, f"the app {app.name}")
        for app in usable_apps()
        for kind, home in app.kinds.items()
    }
    return {**KINDS, **{name: of for name, of in of_apps.items() if name not in KINDS}}


def _complete_kind(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in sorted(kinds()) if name.startswith(begun)]


def _complete_name(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    kind = "profiles" if parameter.name == "diff" else ctx.params["kind"]
    if kind not in (known := kinds()):
        return []
    names = NAMES.get(kind) or resolve_name(known[kind].home).names
    return complete_name(names(), begun)


@click.command(
    "list",
    cls=TellingCommand,
    help=f"""List what has a name, and where it comes from; with NAME, say all about one.

    KIND: {", ".join(KINDS)}, or one that an app adds; without KIND, list the kinds.

    \b
    truegrade list benchmarks
    truegrade list profiles evalscope                  every rule with its source
    truegrade list profiles evalscope --diff lm-eval   where two harnesses differ
    """,
)
@click.argument("kind", required=False, shell_complete=_complete_kind)
@click.argument("name", required=False, shell_complete=_complete_name)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Also what only single studies or older results use, with details; --json always lists all.",
)
@click.option(
    "--diff",
    metavar="PROFILE",
    shell_complete=_complete_name,
    help="Of a profile: where this one differs from it, rule by rule, with sources.",
)
@json_option
def list_(kind: str | None, name: str | None, everything: bool, diff: str | None, as_json: bool) -> None:
    """List the kinds, the things of a kind, or all about one."""
    known = kinds()
    if diff is not None:
        if kind != "profiles" or name is None:
            raise click.UsageError("--diff compares profiles: truegrade list profiles NAME --diff PROFILE")
        _show_difference(name, diff, as_json=as_json)
    elif kind is None:
        from truegrade.report.listings import print_listing

        if as_json:
            print_json([{"name": each, "summary": of.text} for each, of in known.items()])
        else:
            print_listing("KIND", [(each, of.text, of.origin) for each, of in known.items()])
    elif kind not in known:
        from truegrade.errors import UnknownName

        raise UnknownName("kind", kind, known, "`truegrade list` lists them")
    elif name is not None:
        one = known[kind].find(name)
        if as_json:
            print_json(known[kind].as_json(one))
        else:
            known[kind].show_one(one)
    elif as_json:
        print_json([known[kind].as_json(each) for each in known[kind].every()])
    else:
        known[kind].show(known[kind].every(), everything=everything)


def _show_difference(first: str, second: str, *, as_json: bool) -> None:
    from truegrade.profiles import find_profile
    from truegrade.profiles.base import difference

    found = difference(find_profile(first), find_profile(second))
    if as_json:
        print_json(found)
    else:
        from truegrade.report.listings import print_profile_difference

        print_profile_difference(found)
