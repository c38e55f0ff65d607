"""Graders that are programs (Python functions, commands), and what they find around them in the jail."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import shutil
import stat
import sys
from collections.abc import Collection, Iterable
from contextlib import suppress
from difflib import get_close_matches
from functools import cache, partial
from importlib.machinery import PathFinder
from importlib.metadata import PackageNotFoundError, distribution, entry_points, packages_distributions
from pathlib import Path
from typing import Any

import msgspec

from truegrade.apps.assay.targets.calls import DIED, EXAMPLE, TEXT, Call, ProbeQuestion, Reading, no_verdict
from truegrade.errors import UserError, first_few
from truegrade.extraction.parsing import Fault, parse_module

TOOLS = (
    "sh bash dash env true false test [ echo printf cat tee head tail cut tr wc sort uniq diff cmp grep sed awk"
    " xargs find basename dirname readlink realpath pwd ls cp mv rm mkdir rmdir mktemp touch chmod sleep timeout"
    " date expr seq"
)
"""Commands that graders start by name."""
MAX_FILES = 100_000
"""In the folder of a grader: more is looked through for too long."""
PATH = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"


def environment(*, jailed: bool) -> dict[str, str]:
    """Variables that a grader's process has besides those of every jail; outside it, all of this process."""
    return {"PATH": PATH} if jailed else dict(os.environ)


@cache
def tools() -> tuple[str, ...]:
    """Paths of the shell, the tools and this interpreter's other names, as far as they are there."""
    found = [f"{folder}/{name}" for folder in ("/bin", "/usr/bin") for name in TOOLS.split()]
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    found += [f"{Path(sys.executable).parent}/python{suffix}" for suffix in ("", "3", version)]
    return tuple(path for path in found if os.access(path, os.X_OK) and path != sys.executable)


def shown_with(file: Path) -> tuple[str, ...]:
    """The folder of a grader's file; of one that holds much else, such as a home, the file and modules beside it.

    Raises:
        UserError: the folder cannot be shown.
    """
    folder = file.parent
    homes = {Path.home(), Path("/tmp")}
    if folder in {*homes, *(parent for home in homes for parent in home.parents), *Path(sys.prefix).parents[1:]}:
        beside = [path for path in folder.glob("*.py") if path.is_file()]
        return tuple(sorted({str(file), *map(str, beside)}))
    check_folder(folder)
    return (str(folder),)


def check_folder(folder: Path) -> None:
    """Refuse a folder with sockets in it, by which a program could reach others, or with too many files.

    Raises:
        UserError: says which.
    """
    seen = 0
    for place, folders, files in os.walk(folder):
        seen += len(folders) + len(files)
        if seen > MAX_FILES:
            raise UserError(f"`grader`: {folder} holds more than {MAX_FILES:,} files; put it into one of its own")
        for path in (Path(place, name) for name in files):
            with suppress(OSError):  # a link that leads nowhere is no socket
                if stat.S_ISSOCK(path.stat().st_mode):
                    raise UserError(f"`grader`: {path} is a socket; put the grader into a folder of its own")


def scripts_of(packages: Iterable[str]) -> tuple[str, ...]:
    """Paths of the commands that installed packages bring, beside this interpreter."""
    found = []
    for name in packages:
        with suppress(PackageNotFoundError):
            scripts = distribution(name).entry_points.select(group="console_scripts")
            found += [str(Path(sys.executable).parent / script.name) for script in scripts]
    return tuple(path for path in found if os.access(path, os.X_OK))


def how_to_offer(name: str, *, command: bool) -> str:
    """What has to be said of a command, or of a module, that a grader does not find in the jail."""
    what = "command" if command else "module"
    if name == "truegrade" and not command:
        return (
            f"the jail has no module {name!r}: Truegrade's own rewards open a jail themselves; `profiles` NAME"
            " measures the rules that they pay by, and http://HOST:PORT with `call` truegrade a service"
        )
    if command:
        scripts = entry_points(group="console_scripts", name=name)
        found = {script.dist.name for script in scripts if script.dist}
    else:
        found = set(_distributions().get(name, ()))
    if found:
        return f"the jail has no {what} {name!r}; `packages` {min(found)} offers it"
    cure = "`jail=False` runs the grader outside the jail, where it is sent harmless programs alone"
    if not command:
        cure = f"install the one that does, and name it in `packages`, or else {cure}"
    return f"the jail has no {what} {name!r}, and no installed package offers it; {cure}"


_MISSING = (
    (re.compile(r"FileNotFoundError: \[Errno 2\] No such file or directory: '([^'/ ]+)'"), True),
    (re.compile(r"ModuleNotFoundError: No module named '(\w+)"), False),
    (re.compile(r"python[\d.]*: No module named (\w+)"), False),
)


def missing_in(why: str) -> str:
    """How to offer what a grader did not find in the jail, by the exception that it raised; empty for others."""
    for pattern, command in _MISSING:
        if found := pattern.search(why):
            return how_to_offer(found[1], command=command)
    return ""


_STARTING = frozenset({"run", "Popen", "call", "check_call", "check_output", "system", "getoutput", "which"})
"""Functions that start a command, or look for one."""


def started_in_vain(spec: str, packages: Collection[str]) -> list[str]:
    """What has to be said of commands that a function's file starts by name and that the jail does not have.

    Only names that stand in the call count, and modules behind ``-m``.
    """
    file = Path(spec.rpartition(":")[0])
    tree = parse_module(file.read_text("utf-8", "replace")) if file.is_file() else None
    if tree is None or isinstance(tree, Fault):
        return []
    there = {Path(path).name for path in (sys.executable, *tools(), *scripts_of(packages))}
    offered = set(map(_normalized, packages))
    said = []
    for node in ast.walk(tree):
        name = getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""
        if not isinstance(node, ast.Call) or name not in _STARTING or not node.args:
            continue
        words = _constants(node.args[0])
        if words[0] and "/" not in words[0] and words[0] not in there:
            said.append(how_to_offer(words[0], command=True))
        module = words[words.index("-m") + 1] if "-m" in words[:-1] else ""
        brought = set(map(_normalized, _distributions().get(module, ())))
        known = module in sys.stdlib_module_names or (file.parent / f"{module}.py").exists()
        if module and not known and not brought & offered:
            said.append(how_to_offer(module, command=False))
    return list(dict.fromkeys(said))


def _normalized(package: str) -> str:
    """A package's name as the index compares it (PEP 503)."""
    return re.sub("[-_.]+", "-", package).lower()


def _constants(node: ast.expr) -> list[str]:
    """The words of a command as far as they stand there, one at least; empty ones for the others."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.split() or [""]
    parts = node.elts if isinstance(node, ast.List | ast.Tuple) else []
    values = (part.value if isinstance(part, ast.Constant) else "" for part in parts)
    return [value if isinstance(value, str) else "" for value in values] or [""]


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
    """Find a function, ``rewards.py:code_reward`` or ``package.module:name``, without running anything.

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
    names = _bound_in(path)
    if names is not None and (name := attribute.partition(".")[0]) not in names:
        close = get_close_matches(name, names, n=1)
        known = f"did you mean {close[0]}?" if close else f"it defines {first_few(names, 8)}"
        raise UserError(f"`grader`: {path}: has no {name}; {known}")
    path = path.resolve()
    root = path.parent
    while (root / "__init__.py").is_file():  # a module of a package may import its neighbours
        root = root.parent
    found = Located(spec=spec, module=path.stem, attribute=attribute, path=(str(root),))
    if root == path.parent:
        return msgspec.structs.replace(found, file=str(path), shown=shown_with(path))
    parts = path.relative_to(root).with_suffix("").parts
    module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return msgspec.structs.replace(found, module=module, shown=(str(root / parts[0]),))


def _bound_in(path: Path) -> list[str] | None:
    """The names that a file binds anywhere, its functions and classes first; None where that cannot be told, or
    where it has none of these, so that loading it tells more."""
    try:
        tree = parse_module(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    if isinstance(tree, Fault):
        return None
    nodes = [*ast.walk(tree)]
    imported = [alias for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names]
    if any(alias.name == "*" for alias in imported):
        return None
    scopes = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    run = (part for node in tree.body if not isinstance(node, scopes) for part in ast.walk(node))
    called = {node.func.id for node in run if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    if called & {"exec", "globals", "vars", "setattr", "locals"}:
        return None
    defined = [node.name for node in nodes if isinstance(node, scopes)]
    stored = [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    names = [alias.asname or alias.name.partition(".")[0] for alias in imported]
    return None if not defined or "__getattr__" in defined else [*dict.fromkeys((*defined, *stored, *names))]


def _in_module(spec: str, module: str, attribute: str) -> Located:
    top = module.partition(".")[0]
    found = Located(spec=spec, module=module, attribute=attribute)
    if installed := _distributions().get(top):
        return msgspec.structs.replace(found, packages=tuple(sorted(set(installed))))
    at = PathFinder.find_spec(top, [str(Path.cwd()), *sys.path])
    if at is None:
        raise UserError(f"`grader`: there is no module {top!r}; install it, or name a file as FILE.py:FUNCTION")
    if top in sys.stdlib_module_names or at.origin is None:
        return found
    origin, package = Path(at.origin).resolve(), bool(at.submodule_search_locations)
    place = origin.parent if package else origin
    shown = (str(place),) if package else shown_with(origin)
    return msgspec.structs.replace(found, path=(str(place.parent),), shown=shown)


_distributions = cache(packages_distributions)


class FunctionProgram:
    """A function for the host to call: as ``call`` says, or with what an adapter makes."""

    step = "grade"

    def __init__(self, located: Located, call: Call, adapter: Located | None, *, jailed: bool) -> None:
        self._located, self._call = located, call
        self.payload, self.reading = partial(call.payload, adapted=adapter is not None), call.reading
        path = [folder for one in (located, adapter) if one is not None for folder in one.path]
        example = {} if adapter is not None else call.payload(EXAMPLE, adapted=False)
        self.settings: dict[str, Any] = {
            "path": list(dict.fromkeys(path)) + ([] if jailed else [one for one in sys.path if one]),
            "environment": environment(jailed=jailed),
            "folder": "" if jailed else str(Path.cwd()),
            "grader": [located.module, located.file, located.attribute],
            "adapter": adapter and [adapter.module, adapter.file, adapter.attribute],
            "given": len(example.get("args", ())),
            "named": [*example.get("kwargs", ()), *call.of_trainer],
            "checked": adapter is None,
        }

    def unusable(self, why: str) -> UserError:
        """The error that says so."""
        spec = self._located.spec
        if why.startswith("ModuleNotFoundError"):
            advice = missing_in(why) or "name the installed packages that it imports in `packages`"
        elif why.startswith("TypeError"):
            given, named = self.settings["given"], self.settings["named"]
            told = f"{given} arguments" if given else ", ".join(named)
            advice = f"`call` {self._call.name} hands it {told}; choose another `call`"
        else:
            advice = "correct it"
        return UserError(f"`grader`: {spec}: {why}; {advice}")


CANNOT_RUN, NOT_FOUND = 126, 127
"""Exit statuses by which a shell says that there was no command to run."""
_NOTHING_TO_RUN = re.compile(
    r"\S*python[\d.]*: (?:No module named|Error while finding module specification for|can't open file) (.*)"
)
"""Python's last words where a module or a file that it was to run is not there."""


class CommandProgram:
    """A command for the host to run, once a probe.

    Raises:
        UserError: there is no such command, it has no place for the program, or ``call`` is not for commands.
    """

    step = "run"

    def __init__(self, spec: str, words: list[str], call: Call, *, jailed: bool) -> None:
        self._spec, self._call = spec, call
        if not call.command:
            raise UserError(f"`call`: {call.name} is no way to run a command; take exit-code or plain")
        if not any("{program}" in word for word in words):
            raise UserError(f"`grader`: {spec}: put {{program}} where the path of the program belongs")
        self.shown: tuple[str, ...] = ()
        self._words = self._absolute(words, jailed=jailed)
        self.settings: dict[str, Any] = {"environment": environment(jailed=jailed)}

    def _absolute(self, words: list[str], *, jailed: bool) -> list[str]:
        """The words with paths that hold from any folder; what they lead to is shown."""
        shown: dict[str, None] = {}
        made = []
        for number, word in enumerate(words):
            path = Path(word)
            if path.is_file() and (number or "/" in word):
                shown.update(dict.fromkeys(shown_with(path.resolve())))
                made.append(str(path.resolve()))
            elif path.is_dir() and "/" in word:
                check_folder(path.resolve())
                shown[str(path.resolve())] = None
                made.append(str(path.resolve()))
            else:
                made.append(word)
        shown.update(dict.fromkeys(self._command(made[0], jailed=jailed)))
        self.shown = tuple(shown)
        return made

    def _command(self, word: str, *, jailed: bool) -> list[str]:
        """What the jail has to show for the command itself."""
        path = shutil.which(word, path=None if not jailed else f"{PATH}:{os.environ.get('PATH', '')}")
        if path is None:
            raise UserError(f"`grader`: {self._spec}: there is no command {word!r}; check the path and its mode")
        with Path(path).open("rb") as file:
            head = file.readline(200)
        if not head.startswith(b"#!"):
            return [path]
        interpreter = head[2:].decode("utf-8", "replace").split()
        if interpreter[:1] and not Path(interpreter[0]).exists():
            raise UserError(f"`grader`: {self._spec}: its first line names {interpreter[0]}, which is not there")
        named = [shutil.which(one, path=f"{PATH}:{os.environ.get('PATH', '')}") for one in interpreter]
        return [path, *(one for one in named if one is not None and one != sys.executable)]

    def payload(self, asked: ProbeQuestion) -> dict[str, Any]:
        """The words, and the two files."""
        return {"words": self._words, "files": files_of(asked)}

    def reading(self, value: Any) -> Reading:
        """Exit status 0 is passed; or the last line of its stdout says it."""
        status, last = value["status"], value["last"]
        vain = _NOTHING_TO_RUN.fullmatch(last)
        if vain is not None:  # what names another file may be the answer's own words
            vain = vain if any(word.rstrip("/") in vain[1] for word in self._words[1:] if word[0] != "-") else None
        if status in {CANNOT_RUN, NOT_FOUND} or status < 0 or (status and vain):
            return no_verdict(DIED, f"exit status {status}: {last}")
        if self._call.name == "exit-code":
            return Reading(status == 0, float(status == 0), f"exit status {status}")
        if status != 0:
            return no_verdict(DIED, f"exit status {status}: {last}")
        line = value["said"].splitlines()[-1] if value["said"] else ""
        try:
            return self._call.reading(json.loads(line.lower()))
        except (ValueError, RecursionError):
            return no_verdict(TEXT, line)

    def unusable(self, why: str) -> UserError:
        """The error that says so."""
        return UserError(f"`grader`: {self._spec}: {why}; correct it")


def files_of(asked: ProbeQuestion) -> dict[str, list[str]]:
    """The files of a command by what stands for their paths in its words: name and text."""
    source = isinstance(asked.tests, str)
    tests = asked.tests if source else json.dumps(asked.tests)
    return {
        "program": ["solution.py", asked.program],
        "tests": ["test_solution.py" if source else "tests.json", tests],
    }


def words_of_command(spec: str) -> list[str]:
    """The words behind ``cmd:``.

    Raises:
        UserError: quotes are open, or there is none.
    """
    try:
        words = shlex.split(spec.removeprefix("cmd:"))
    except ValueError as error:
        raise UserError(f"`grader`: {spec}: {error}") from None
    if not words:
        raise UserError(f"`grader`: {spec}: name a command, 'cmd:./judge {{program}} {{tests}}'")
    return words
