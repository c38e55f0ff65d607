"""Graders that are Python functions, named ``FILE.py:NAME`` or ``MODULE:NAME``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from importlib.machinery import PathFinder
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import msgspec

from truegrade.assay.targets.calls import Arguments, Call, ProbeQuestion
from truegrade.assay.targets.readings import Reading
from truegrade.assay.targets.surroundings import environment, shown_with
from truegrade.errors import UserError
from truegrade.records import FunctionTask, Problem


class Located(msgspec.Struct, frozen=True, kw_only=True):
    """Where a function is."""

    spec: str
    """As the user named it."""
    module: str
    file: str = ""
    """Empty where it is imported by its module's name."""
    attribute: str
    path: tuple[str, ...] = ()
    """Folders ahead of which its modules are looked up."""
    shown: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()


def locate(spec: str) -> Located:
    """Find a function without running anything.

    Args:
        spec: ``rewards.py:code_reward`` or ``package.module:name``.

    Raises:
        UserError: there is no such file or module.
    """
    place, _, attribute = spec.rpartition(":")
    if not place or not all(part.isidentifier() for part in attribute.split(".")):
        raise UserError(
            f"`grader`: {spec!r} is no grader; name FILE.py:FUNCTION, MODULE:FUNCTION, 'cmd:COMMAND {{program}} "
            "{tests}' or http://ADDRESS"
        )
    if place.endswith(".py") or "/" in place:
        return _in_file(spec, Path(place), attribute)
    return _in_module(spec, place, attribute)


def _in_file(spec: str, path: Path, attribute: str) -> Located:
    if not path.is_file():
        raise UserError(f"`grader`: {path}: no such file; check the path")
    path = path.resolve()
    root = path.parent
    while (root / "__init__.py").is_file():  # a module of a package may import its neighbours
        root = root.parent
    if root == path.parent:
        shown = shown_with(path)
        return Located(
            spec=spec, module=path.stem, file=str(path), attribute=attribute, path=(str(root),), shown=shown
        )
    parts = path.relative_to(root).with_suffix("").parts
    module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return Located(spec=spec, module=module, attribute=attribute, path=(str(root),), shown=(str(root / parts[0]),))


def _in_module(spec: str, module: str, attribute: str) -> Located:
    top = module.partition(".")[0]
    installed = _distributions().get(top)
    if installed:
        return Located(spec=spec, module=module, attribute=attribute, packages=tuple(sorted(set(installed))))
    folders = [str(Path.cwd()), *sys.path]
    found = PathFinder.find_spec(top, folders)
    if found is None:
        raise UserError(f"`grader`: there is no module {top!r}; install it, or name a file as FILE.py:FUNCTION")
    if top in sys.stdlib_module_names or found.origin is None:
        return Located(spec=spec, module=module, attribute=attribute)
    origin = Path(found.origin).resolve()
    place = origin.parent if found.submodule_search_locations else origin
    shown = (str(place),) if found.submodule_search_locations else shown_with(origin)
    return Located(spec=spec, module=module, attribute=attribute, path=(str(place.parent),), shown=shown)


@cache
def _distributions() -> dict[str, list[str]]:
    return {name: list(found) for name, found in packages_distributions().items()}


class FunctionProgram:
    """A function for the host to call.

    Args:
        located: the function.
        call: how it is called.
        adapter: what makes its arguments in place of that.
        jailed: whether it runs in the jail.
    """

    step = "grade"

    def __init__(self, located: Located, call: Call, adapter: Located | None, *, jailed: bool) -> None:
        self._located, self._call, self._adapter = located, call, adapter
        path = [folder for one in (located, adapter) if one is not None for folder in one.path]
        given, named = ((), {}) if adapter is not None else _arguments(call, _EXAMPLE)
        self.settings: dict[str, Any] = {
            "path": list(dict.fromkeys(path)) + ([] if jailed else [one for one in sys.path if one]),
            "environment": environment(jailed=jailed),
            "folder": "" if jailed else str(Path.cwd()),
            "grader": [located.module, located.file, located.attribute],
            "adapter": None if adapter is None else [adapter.module, adapter.file, adapter.attribute],
            "given": len(given),
            "named": list(named),
            "checked": adapter is None,
        }

    def payload(self, asked: ProbeQuestion) -> dict[str, Any]:
        """Arguments, or for an adapter the problem and the reply."""
        if self._adapter is not None:
            return {"problem": msgspec.to_builtins(asked.problem), "reply": asked.reply}
        args, kwargs = _arguments(self._call, asked)
        return {"args": list(args), "kwargs": kwargs}

    def reading(self, value: Any) -> Reading:
        """What it returned means."""
        return self._call.reading(value)

    def unusable(self, why: str) -> UserError:
        """The error that says so."""
        spec = self._located.spec
        if why.startswith("ModuleNotFoundError"):
            advice = "name the installed packages that it imports in `packages`"
        elif why.startswith("TypeError"):
            advice = f"`call` {self._call.name} hands it {_told(self.settings)}; choose another `call`"
        else:
            advice = "correct it"
        return UserError(f"`grader`: {spec}: {why}; {advice}")


def _told(settings: dict[str, Any]) -> str:
    given, named = settings["given"], settings["named"]
    return f"{given} arguments" if given else ", ".join(named)


def _arguments(call: Call, asked: ProbeQuestion) -> Arguments:
    if call.arguments is None:
        raise UserError(f"`call`: {call.name} is no way to call a Python function")
    return call.arguments(asked)


_TASK = FunctionTask(prompt="", entry_point="f", tests="", reference="")
_EXAMPLE = ProbeQuestion(
    problem=Problem(id="", benchmark="", dataset_sha256="", cluster="", task=_TASK),
    program="",
    reply="",
    tests=[],
    form="asserts",
    timeout_s=1.0,
    fields={},
)
"""Shows how many arguments a way to call hands over, and their names."""


def all_packages(*located: Located | None, named: Sequence[str]) -> tuple[str, ...]:
    """Packages that the graders are part of, and those that the user names."""
    return tuple(dict.fromkeys([*named, *(name for one in located if one for name in one.packages)]))
