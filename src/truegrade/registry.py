"""Names become things: benchmarks, profiles, providers, importers, exporters, agents, searchers; all in one way.

A thing is an object handed in by Python; ``path/to/file.py`` or ``path/to/file.py:attribute``, or
``package.module:attribute``; an entry point of an installed package; or built in. What the user says may be any of
these (`Registry.find`). A name that stands in a stored file or came over a network may only be built in or
installed (`Registry.known`), and a file that a run was made with is run again only where the user of this machine
has named that very file before (`Registry.reopen`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

import msgspec

from truegrade.app import in_one_line, usable_apps
from truegrade.errors import NotComparable, RemovedName, UnknownName, UserError
from truegrade.files.writing import read_source, remember, run_source, was_named

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")

_FILE = re.compile(r"(?P<path>.+\.py)(?::(?P<attribute>[A-Za-z_]\w*))?")
_APP = "the app "
"""In the group of what an app offers, before its name."""
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(?:\.\w+)*")


class Origin(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a thing was found."""

    how: Literal["built-in", "package", "file", "module", "object"]
    name: str
    """The name that is built in or that a package offers; the attribute of a file or module; an object's class."""
    place: str = ""
    """Name and version of the package, path of the file, name of the module."""
    sha256: str = ""
    """Of the file."""

    def __str__(self) -> str:
        if self.how == "file":
            return f"{self.place} (sha256 {self.sha256[:12]}…)"
        return {"built-in": "built-in", "object": f"an object of {self.name}"}.get(self.how, self.place)


class Found(NamedTuple, Generic[T]):
    """A thing, the name it goes by, and where it was found."""

    name: str
    value: T
    origin: Origin


class Listed(NamedTuple, Generic[T]):
    """A line of a listing; ``value`` is None where the thing cannot be used, and ``fault`` says why."""

    name: str
    value: T | None
    origin: Origin
    fault: str = ""


class Registry(Generic[T]):
    """The things of one kind.

    Args:
        kind: what messages call one. Entry points are of the group ``truegrade.KINDs``, and a Python file that
            holds several calls the one that is meant by the kind's name in capitals.
        built_in: the things by name, or ``module:attribute`` of each, imported when asked for.
        fault: what keeps an object from being such a thing, behind its name in a sentence; None for nothing.
        named: the name that a thing itself bears; None where it bears none.
        readers: how files that are not Python become things, by the end of their names.
        removed: what earlier versions had: the last commit with each, by name.
    """

    def __init__(
        self,
        kind: str,
        built_in: Mapping[str, Any],
        fault: Callable[[Any], str | None],
        *,
        named: Callable[[Any], str | None] = lambda thing: getattr(thing, "name", None),
        readers: Mapping[str, Callable[[Path], T]] = MappingProxyType({}),
        removed: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.kind, self.built_in = kind, built_in
        self._fault, self._named, self._readers, self._removed = fault, named, readers, removed

    # ------------------------------------------------------------------------------------------ finding

    def find(self, given: str | T) -> Found[T]:
        """What the user means, by any of the four ways; files are run, and remembered as named by the user.

        Raises:
            UnknownName: there is none of that name.
            UserError: a file, module or package is at fault, or what it holds is no such thing.
            BadRecord: a file raised something when it was run.
        """
        if not isinstance(given, str):
            return self._object(given)
        if given in self.built_in:
            return self._built_in(given)
        if (data := self._data(Path(given))) is not None:
            return data
        if file := _FILE.fullmatch(given):
            return self._file(Path(file["path"]).expanduser(), file["attribute"])
        if _MODULE.fullmatch(given):
            return self._module(given)
        return self.known(given)

    def known(self, name: str) -> Found[T]:
        """A thing that is built in or installed: no file is looked at, whatever the name says.

        Raises:
            RemovedName: an earlier version had it.
            UnknownName: there is none.
            UserError: two packages offer one, or the package is at fault.
        """
        if name in self.built_in:
            return self._built_in(name)
        offers = _offers(self.kind)
        if name in offers:
            return self._offered(name, offers[name])
        if (removed := self.removal(name)) is not None:
            raise removed
        hint = f"`truegrade list {self.kind}s` lists them"
        raise UnknownName(self.kind, name, {*self.built_in, *offers}, hint)

    def removal(self, name: str) -> RemovedName | None:
        """The error that says that an earlier version had it; None where none did."""
        return RemovedName(self.kind, name, self._removed[name]) if name in self._removed else None

    def reopen(
        self, name: str, origin: Origin | None, folder: Path | None, option: str, *, changed: bool = False
    ) -> Found[T]:
        """What a run was made with, without running a file that the user of this machine never named.

        Args:
            name: by which the run knows the thing.
            origin: as its manifest records it; None for what is built in, and in manifests of earlier versions.
            folder: of the run; None where it is not at hand.
            option: the argument with which the user can name the thing, for messages.
            changed: take the file also where it is another than it was, if the user has named it as it is now.

        Raises:
            UnknownName: it is neither built in nor installed.
            NotComparable: the file is another than it was.
            UserError: the user has to name it.
        """
        if origin is None or origin.how in ("built-in", "package"):
            return self.known(name if origin is None else origin.name)
        made = f"{folder or 'the run'} was made with the {self.kind} {name!r} of {origin}"
        if origin.how != "file":
            raise UserError(f"{made}, which cannot be found again by itself; name it: {option}")
        path = Path(origin.place)
        if (data := self._data(path)) is not None:
            return data
        if not path.is_file():
            raise UserError(f"{made}, which is not there; name the file: {option}")
        inside = folder is not None and path.resolve().is_relative_to(folder.resolve())
        if inside or not origin.sha256 or not was_named(origin.sha256):
            raise UserError(f"{made}, which this machine has not been told to run; name it: {option}")
        content, digest = read_source(path)
        if not (changed and was_named(digest)):
            at_hand = Origin(how="file", name=origin.name, place=str(path), sha256=digest)
            refuse_another_file(str(folder or "the run"), origin, at_hand)
        return self._picked(path, run_source(path, content, digest), origin.name, digest)

    # ---------------------------------------------------------------------------------------- listings

    def listed(self) -> Iterator[Listed[T]]:
        """Everything that is built in, then what packages offer; what cannot be used is listed with the reason."""
        for name in self.built_in:
            yield Listed(*self._built_in(name))
        for name, entries in sorted(_offers(self.kind).items()):
            origin = Origin(how="package", name=name, place=" and ".join(map(_package, entries)))
            if name in self.built_in:
                yield Listed(name, None, origin, "not used: the name is built in")
                continue
            try:
                yield Listed(*self._offered(name, entries))
            except UserError as error:
                yield Listed(name, None, origin, str(error))

    def names(self) -> list[str]:
        """What is built in, then what packages offer, by name; nothing is imported or looked at."""
        return [*self.built_in, *sorted(_offers(self.kind))]

    def usable(self) -> Iterator[Found[T]]:
        """What packages offer and can be used."""
        for name, value, origin, _ in self.listed():
            if value is not None and origin.how == "package":
                yield Found(name, value, origin)

    # -------------------------------------------------------------------------------------- the four ways

    def _object(self, given: T) -> Found[T]:
        kind = given if isinstance(given, type) else type(given)
        shown = f"{kind.__module__}.{kind.__qualname__}"
        name = self._named(given) or kind.__name__
        if name in self.built_in:
            found = self._built_in(name)
            if found.value is given or found.value is kind:
                return Found(name, given, found.origin)
        return self._checked(f"{self.kind} {shown}", name, given, Origin(how="object", name=shown))

    def _built_in(self, name: str) -> Found[T]:
        entry = self.built_in[name]
        value = resolve_name(entry) if isinstance(entry, str) else entry
        return Found(name, value, Origin(how="built-in", name=name))

    def _data(self, path: Path) -> Found[T] | None:
        """What a reader makes of a file that is not Python."""
        for end, read in self._readers.items():
            if path.name.endswith(end):
                path = path.expanduser()
                _, digest = read_source(path)
                origin = Origin(how="file", name=path.name, place=str(path.resolve()), sha256=digest)
                return self._checked(str(path), path.name.removesuffix(end), read(path), origin)
        return None

    def _file(self, path: Path, attribute: str | None) -> Found[T]:
        content, digest = read_source(path)
        remember(path, digest)
        return self._picked(path, run_source(path, content, digest), attribute, digest)

    def _picked(self, path: Path, module: ModuleType, attribute: str | None, digest: str) -> Found[T]:
        """The one thing in a file that is meant."""
        public = {name: value for name, value in vars(module).items() if not name.startswith("_")}
        chosen = attribute or (self.kind.upper() if self.kind.upper() in public else None)
        if chosen is None:
            chosen = self._only(path, module, public)
        elif chosen not in public:
            raise UserError(f"{path}: defines no {chosen!r}; name an attribute that is a {self.kind}")
        origin = Origin(how="file", name=chosen, place=str(path.resolve()), sha256=digest)
        return self._checked(f"{path}: {chosen}", path.stem, public[chosen], origin)

    def _only(self, path: Path, module: ModuleType, public: Mapping[str, Any]) -> str:
        """The attribute that is a thing of this kind, where one alone is."""
        own = {
            name: value
            for name, value in public.items()
            if getattr(value, "__module__", module.__name__) == module.__name__ or not isinstance(value, type)
        }
        fits = [name for name, value in own.items() if self._fault(value) is None and not self._taken(value)]
        if len(fits) == 1:
            return fits[0]
        if fits:
            raise UserError(
                f"{path}: defines {len(fits)} {self.kind}s, {', '.join(fits)}; say which: {path}:{fits[0]}"
            )
        classes = [name for name, value in own.items() if isinstance(value, type)]
        if len(classes) == 1:  # it says best what it lacks
            return classes[0]
        raise UserError(
            f"{path}: defines no {self.kind}; define one as {self.kind.upper()}, or say which attribute is meant:"
            f" {path}:NAME"
        )

    def _module(self, given: str) -> Found[T]:
        module, _, attribute = given.partition(":")
        try:
            value = resolve_name(given)
        except (Exception, SystemExit) as error:
            raise UserError(
                f"{self.kind} {given!r} cannot be imported: {in_one_line(error)}; is it installed, or on"
                " PYTHONPATH?"
            ) from error
        origin = Origin(how="module", name=attribute, place=module)
        return self._checked(given, module.rpartition(".")[2], value, origin)

    def _offered(self, name: str, entries: list[EntryPoint]) -> Found[T]:
        packages = [_package(entry) for entry in entries]
        if len(entries) > 1:
            raise UserError(
                f"{self.kind} {name!r} is offered by {' and by '.join(packages)}; uninstall one of them, or name"
                f" the thing itself: {entries[0].value}"
            )
        place = f"{self.kind} {name!r} of {packages[0]} ({entries[0].value})"
        try:
            value = entries[0].load()
        except (Exception, SystemExit) as error:
            raise UserError(
                f"{place} cannot be imported: {in_one_line(error)}; repair or uninstall the package"
            ) from error
        return self._checked(place, name, value, Origin(how="package", name=name, place=packages[0]))

    def _checked(self, place: str, name: str, value: Any, origin: Origin) -> Found[T]:
        """The thing, if it is one and bears no name that is built in."""
        fault = self._fault(value)
        if fault is not None:
            raise UserError(f"{place} {fault}")
        name = self._named(value) or name
        if name in self.built_in:
            raise UserError(
                f"{place}: the name {name!r} is that of a built-in {self.kind}, which nothing can take over;"
                " choose another"
            )
        return Found(name, value, origin)

    def _taken(self, value: Any) -> bool:
        """Whether it is a built-in thing, which a file may import."""
        return self._named(value) in self.built_in


def names_file_or_module(given: str) -> bool:
    """Whether `Registry.find` takes this for a Python file or a module, with or without an attribute."""
    return bool(_FILE.fullmatch(given) or _MODULE.fullmatch(given))


def refuse_another_file(whose: str, recorded: Origin | None, at_hand: Origin | None) -> None:
    """See that what was made with a file is gone on with by the same file.

    Args:
        whose: what was made with it, as a message names it.
        recorded: what it was made with.
        at_hand: what is to be used now.

    Raises:
        NotComparable: both are files, and of different bytes.
    """
    old, new = ("" if origin is None else origin.sha256 for origin in (recorded, at_hand))
    if recorded is not None and at_hand is not None and old and new and old != new:
        raise NotComparable(
            f"{whose} was made with {Path(recorded.place).name} of sha256 {old[:12]}…, and {at_hand.place} now has"
            f" {new[:12]}…: two versions must not be mixed; restore the file, or begin anew in another folder"
        )


def lacking(value: object, members: Iterable[str]) -> str | None:
    """What an object lacks of the members of a protocol, behind its name in a sentence; None for nothing."""
    missing = [name for name in members if not hasattr(value, name)]
    return f"lacks {', '.join(missing)}" if missing else None


def _offers(kind: str) -> dict[str, list[EntryPoint]]:
    """What apps and entry points offer of a kind, by name; reading them looks at every installed package."""
    from importlib.metadata import EntryPoint, entry_points  # a fiftieth of a second that built-in names spare

    offers: dict[str, list[EntryPoint]] = {}
    for app in usable_apps():
        for name, target in app.things.get(kind, {}).items():
            offers.setdefault(name, []).append(EntryPoint(name, target, f"{_APP}{app.name}"))
    for entry in sorted(entry_points(group=f"truegrade.{kind}s"), key=_package):
        offers.setdefault(entry.name, []).append(entry)
    return offers


def _package(entry: EntryPoint) -> str:
    if entry.dist is not None:
        return f"{entry.dist.name} {entry.dist.version}"
    return entry.group if entry.group.startswith(_APP) else "an unknown package"
