"""Measures of the code's structure: ``python -m tools.structure [SRC]`` prints them as a table.

Counts what `docs/architecture.md` promises: rooms at the root, lines, import chains and cycles, names used twice,
and what grading one completion of HumanEval touches.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp

REPOSITORY = Path(__file__).resolve().parents[1]
ONE_REPLY = '{"task_id": "HumanEval/0", "completion": "    return False\\n"}\n'


def lines_of_code(source: str) -> int:
    """Lines that are neither blank, nor a comment, nor a docstring."""
    documented: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                documented.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    lines = enumerate(source.splitlines(), 1)
    return sum(bool(text.strip()) and not text.strip().startswith("#") for n, text in lines if n not in documented)


def public_names(sources: dict[Path, str]) -> dict[str, list[Path]]:
    """Public classes by name, each with the files that define one of that name."""
    classes = defaultdict(list)
    for path, source in sources.items():
        for node in ast.parse(source).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name].append(path)
    return dict(classes)


def shared_names(sources: dict[Path, str]) -> tuple[int, int]:
    """Public classes of one name in several files, and file names (``__init__`` apart) in several folders."""
    files = Counter(path.name for path in sources if path.name != "__init__.py")
    classes = public_names(sources).values()
    return sum(len(found) > 1 for found in classes), sum(count > 1 for count in files.values())


def import_measures(src: Path) -> tuple[int, str, str]:
    """The longest chain of imports in modules, and whether modules, or packages at the root, form a cycle."""
    sys.path.insert(0, str(src))
    graph = grimp.build_graph("truegrade", cache_dir=None, exclude_type_checking_imports=True)
    imports: dict[str, set[str]] = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    rooms: dict[str, set[str]] = defaultdict(set)
    for importer, imported in imports.items():
        rooms[room_of(importer)] |= {room_of(name) for name in imported} - {room_of(importer), ""}
    rooms.pop("", None)
    chain: dict[str, int] = {}
    modules = cycle_in(imports)
    if modules == "none":
        for name in TopologicalSorter(imports).static_order():
            chain[name] = 1 + max((chain[below] for below in imports.get(name, ())), default=0)
    return max(chain.values(), default=0), modules, cycle_in(rooms)


def room_of(module: str) -> str:
    """The package or module at the root that a module lies in; empty for the root itself."""
    return "".join(module.split(".")[1:2])


def cycle_in(graph: dict[str, set[str]]) -> str:
    """One cycle of a graph, or ``none``."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return " -> ".join(error.args[1])
    return "none"


TRACE = """
import os, sys, threading
from collections import Counter
src, *arguments = sys.argv[1:]
sys.path.insert(0, src)
touched, opened = set(), Counter()

def called(frame, event, _):
    code = frame.f_code  # bodies of classes are not optimised code, and comprehensions have names in brackets
    if event == "call" and code.co_flags & 1 and code.co_filename.startswith(src) and code.co_name[0] != "<":
        touched.add((code.co_filename, code.co_qualname))

def opening(event, given):
    reading = event == "open" and not (given[2] or 0) & (os.O_WRONLY | os.O_RDWR)
    if reading and isinstance(given[0], (str, os.PathLike)):
        name = os.path.basename(os.fspath(given[0]))
        if name.endswith(".jsonl"):
            opened[name.partition(".")[0] if name.startswith("verdicts") else name] += 1

import truegrade.cli
sys.addaudithook(opening)
threading.setprofile(called)
sys.setprofile(called)
truegrade.cli.main(arguments, standalone_mode=False)
sys.setprofile(None)
print("TRACED", len(touched), len({file for file, _ in touched}), *(f"{n}:{k}" for n, k in sorted(opened.items())))
"""
"""Runs one command and counts the functions and files of truegrade it enters, and how often it opens a journal."""


def traced(src: Path) -> list[str]:
    """Functions and files that grading one completion enters, then ``journal:times opened to be read``."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "input.jsonl").write_text(ONE_REPLY)
        command = [
            sys.executable,
            "-c",
            TRACE,
            str(src),
            "grade",
            "input.jsonl",
            "-b",
            "humaneval",
            "--out",
            "run",
        ]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return next(line for line in done.stdout.splitlines() if line.startswith("TRACED")).split()[1:]


def main(src: Path) -> None:
    """Print one row a measure."""
    root = src / "truegrade"
    sources = {path: path.read_text() for path in root.rglob("*.py")}
    rooms = {path.stem for path in root.glob("*.py")} | {path.parent.name for path in root.glob("*/__init__.py")}
    chain, module_cycle, package_cycle = import_measures(src)
    classes, files = shared_names(sources)
    functions, touched, *opened = traced(src)
    for name, value in (
        ("modules and packages at the root", len(rooms - {"__init__", "__main__"})),
        ("files", len(sources)),
        ("lines of code", sum(map(lines_of_code, sources.values()))),
        ("longest import chain, modules", chain),
        ("cycle of modules", module_cycle),
        ("cycle of packages", package_cycle),
        ("public class names used twice or more", classes),
        ("file names used twice or more", files),
        ("functions that grading one completion enters", functions),
        ("files that grading one completion enters", touched),
        ("times that each file of lines is opened to be read", ", ".join(opened)),
    ):
        print(f"{name:<52} {value}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else REPOSITORY / "src")
