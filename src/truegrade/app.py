"""Apps: what is built on the core, each a folder of `truegrade/apps` or an installed package.

An app declares one `App`, which holds names and where they live and imports nothing else. The core lists the
folder and the entry points of the group ``truegrade.apps``, and imports what an app declares when it is asked for
by name; it holds no app's module path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules, resolve_name
from types import MappingProxyType
from typing import Any

import msgspec

from truegrade.errors import UserError

FOLDER = Path(__file__).parent / "apps"
GROUP = "truegrade.apps"
_NONE: Mapping[str, Any] = MappingProxyType({})


class FolderKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of folder of results that an app writes."""

    name: str
    """As a message says it: "an evolution"."""
    marker: str
    """Name of the file that tells such a folder from others: ``evolution.json``."""
    page: str = "report.html"
    """Name of the file in it that a browser shows."""
    report: str
    """``module:function`` that writes its report: `ReportOfFolder`."""


ReportOfFolder = Callable[[Path, str, Path | None], list[Path]]
"""(folder, format as ``truegrade report --format`` takes it, where to write or None) -> the files written."""


class App(msgspec.Struct, frozen=True, kw_only=True):
    """What an app adds; every value of the mappings is ``module:attribute``, imported when it is used."""

    name: str
    summary: str
    """One line."""
    commands: Mapping[str, str] = _NONE
    """Words of a command, ``assay`` or ``data change``, to its click command."""
    things: Mapping[str, Mapping[str, str]] = _NONE
    """Kind of the registry to names and things: ``{"benchmark": {"mine": "package.rows:MINE"}}``."""
    kinds: Mapping[str, str] = _NONE
    """Kinds of thing that the app itself looks up by name, to their `truegrade.registry.Registry`."""
    pages: Mapping[str, str] = _NONE
    """Names of pages that ``truegrade view`` serves and links, to a function of the folder of runs (`Path`) that
    returns a `truegrade.report.document.Document`."""
    folders: tuple[FolderKind, ...] = ()
    package: str = ""
    """Name and version of the package that it was found in; empty for our own."""


class BrokenApp(msgspec.Struct, frozen=True, kw_only=True):
    """An app of an installed package that cannot be used."""

    name: str
    fault: str


@cache
def own_apps() -> tuple[App, ...]:
    """The apps of the folder, by name; none where it was taken away."""
    names = sorted(module.name for module in iter_modules([str(FOLDER)]) if module.ispkg)
    return tuple(import_module(f"{__package__}.{FOLDER.name}.{name}").APP for name in names)


@cache
def installed_apps() -> tuple[App | BrokenApp, ...]:
    """The apps that other packages offer, by name; reading them looks at every installed package."""
    from importlib.metadata import entry_points  # a fiftieth of a second that our own commands need not wait for

    found: list[App | BrokenApp] = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        package = f"{entry.dist.name} {entry.dist.version}" if entry.dist else ""
        place = f"{entry.value} of {package}" if package else entry.value
        try:
            app = msgspec.structs.replace(_checked_app(entry.load()), package=package)
            _refuse_taken(app, [*own_apps(), *(other for other in found if isinstance(other, App))])
        except UserError as error:
            found.append(BrokenApp(name=entry.name, fault=f"{place} {error}"))
        except (Exception, SystemExit) as error:
            found.append(BrokenApp(name=entry.name, fault=f"{place} cannot be imported: {in_one_line(error)}"))
        else:
            found.append(app)
    return tuple(found)


def _checked_app(value: object) -> App:
    """An app whose fields are of their types, which making one does not see to.

    Raises:
        UserError: it is none.
    """
    if not isinstance(value, App):
        raise UserError(f"is {type(value).__name__}, no truegrade.app.App")
    try:
        return msgspec.convert({name: getattr(value, name) for name in App.__struct_fields__}, App)
    except msgspec.ValidationError as error:
        raise UserError(f"is no right App: {error}") from None


def _refuse_taken(app: App, others: Iterable[App]) -> None:
    """See that no other app has its name, one of its commands or one of its pages.

    Raises:
        UserError: another has.
    """
    for other in others:
        if app.name == other.name:
            raise UserError(f"has the name {app.name!r}, which is taken by another app")
        for kind, mine, theirs in (
            ("command", app.commands, other.commands),
            ("page", app.pages, other.pages),
        ):
            if both := sorted({*mine} & {*theirs}):
                raise UserError(f"adds the {kind} {both[0]!r}, which the app {other.name} has")


def usable_apps() -> list[App]:
    """Our own apps, then those of other packages that can be used."""
    return [*own_apps(), *(app for app in installed_apps() if isinstance(app, App))]


def app_commands(group: str = "", *, own: bool = False) -> dict[str, tuple[App, str]]:
    """Names of the commands that apps add to a group, each with its app and ``module:attribute``.

    Args:
        group: words of the group, ``data``; empty for the commands of ``truegrade`` itself.
        own: of our own apps alone, which needs no look at the installed packages.
    """
    found: dict[str, tuple[App, str]] = {}
    for app in own_apps() if own else usable_apps():
        for words, target in app.commands.items():
            above, _, name = words.rpartition(" ")
            if above == group:
                found[name] = (app, target)
    return found


def app_pages() -> dict[str, tuple[App, str]]:
    """Names of the pages that apps add, each with its app and ``module:function``."""
    return {name: (app, target) for app in usable_apps() for name, target in app.pages.items()}


def resolve(app: App, target: str) -> Any:
    """What an app declares.

    Raises:
        UserError: it cannot be imported.
    """
    try:
        return resolve_name(target)
    except (Exception, SystemExit) as error:
        raise UserError(
            f"the app {app.name} declares {target}, which cannot be imported: {in_one_line(error)}"
        ) from error


def unusable_parts(app: App) -> list[str]:
    """Why parts of an app cannot be imported; everything that it declares is tried."""
    faults = []
    things = [target for named in app.things.values() for target in named.values()]
    reports = [kind.report for kind in app.folders]
    for target in (*app.commands.values(), *things, *app.kinds.values(), *app.pages.values(), *reports):
        try:
            resolve(app, target)
        except UserError as error:
            faults.append(str(error))
    return faults


def in_one_line(error: BaseException) -> str:
    """The kind of an error and what it says."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def folder_kind(folder: Path) -> tuple[App, FolderKind] | None:
    """Which kind of an app's folders this is; None for none, a folder that is not there among them."""
    for app in usable_apps():
        for kind in app.folders:
            if (folder / kind.marker).is_file():
                return app, kind
    return None
