"""Whether the package compiles under every Python that is here: ``python -m tools.compiles [FOLDER]``.

Tried are those that ``pyproject.toml`` allows and that lie on PATH or among pyenv's, each once; a warning of the
compiler is a fault. A docstring that holds a lone surrogate, which no compiler takes since Python 3.13, is refused
whatever is here.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_VERSION = "import sys; print(*sys.version_info[:3], sep='.')"
_COMPILE = """
import sys, warnings
from pathlib import Path
warnings.simplefilter("error")
faults = 0
for path in sorted(Path(sys.argv[1]).rglob("*.py")):
    try:
        compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError, Warning) as error:
        faults += 1
        print("%s, line %s: %s" % (path, getattr(error, "lineno", "?"), error))
sys.exit(bool(faults))
"""
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def interpreters() -> dict[str, Path]:
    """Version -> a Python that `pyproject.toml` allows, oldest first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    least = tuple(map(int, project["requires-python"].removeprefix(">=").split(".")))
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    folders = [*map(Path, os.environ.get("PATH", "").split(os.pathsep)), *pyenv.glob("versions/*/bin")]
    found = {}
    named = (path for folder in folders for path in folder.glob("python3*"))
    for path in (Path(sys.executable), *(path for path in named if re.fullmatch(r"python3(\.\d+)?", path.name))):
        told = subprocess.run([path, "-c", _VERSION], capture_output=True, text=True, check=False).stdout.strip()
        if told and tuple(map(int, told.split("."))) >= least:
            found.setdefault(told, path)
    return dict(sorted(found.items(), key=lambda item: tuple(map(int, item[0].split(".")))))


def surrogates(folder: Path) -> Iterator[str]:
    """Docstrings that hold a lone surrogate, a line each."""
    for path in sorted(folder.rglob("*.py")):
        try:
            tree = ast.parse(path.read_bytes())
        except SyntaxError:  # which every Python tells
            continue
        for node in ast.walk(tree):
            text = (ast.get_docstring(node) or "") if isinstance(node, _DOCUMENTED) else ""
            if any("\ud800" <= sign <= "\udfff" for sign in text):
                yield f"{path}, line {node.body[0].lineno}: the docstring holds a lone surrogate; make it raw"


def main(folder: Path) -> None:
    """Try each, print what was tried; exit code 1 where one refuses a file."""
    faults = list(surrogates(folder))
    found = interpreters()
    for version, path in found.items():
        done = subprocess.run([path, "-c", _COMPILE, folder], capture_output=True, text=True, check=False)
        faults += [f"Python {version}: {line}" for line in (done.stdout + done.stderr).splitlines()]
        faults += (
            [f"Python {version}: ended with {done.returncode}"] if done.returncode and not done.stdout else []
        )
    print(*faults, f"{folder}: compiled by Python {', '.join(found)}", sep="\n")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "src" / "truegrade")
