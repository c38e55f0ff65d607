"""Measures of the code's structure: ``python -m tools.structure [SRC]`` prints them beside their goals.

With ``--tree`` it writes the table of packages into ``docs/architecture.md`` instead: layers as in
``pyproject.toml``, sizes, and the first line of what each package says of itself.

Counts what `docs/architecture.md` promises: how much code there is, in the core and in what is built on it, how it
is cut into files, how modules import each other, what grading one completion of HumanEval enters, and how many
commands, options, pages and tests there are. `docs` and `tests` lie beside SRC. The time of the tests is not among
them.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from statistics import median
from typing import NamedTuple

import grimp

REPOSITORY = Path(__file__).resolve().parents[1]
ONE_REPLY = '{"task_id": "HumanEval/0", "completion": "    return False\\n"}\n'
APPS = "apps"
TREE_BEGINS, TREE_ENDS = "<!-- python -m tools.structure --tree -->\n", "<!-- end of the tree -->"
LONG_FUNCTION, SMALL_FILE, TINY_FILE = 50, 80, 40
TEXTS = (".toml", ".js", ".css", ".html", ".txt")


class Row(NamedTuple):
    """One line of the table; the goal is empty where there is none."""

    name: str
    value: str
    goal: str = ""


# ------------------------------------------------------------------------------- lines and files


class File(NamedTuple):
    """What is counted of one file."""

    about: str
    """Its docstring, or empty."""
    lines: int
    """Those that are neither blank, nor a comment, nor a docstring, of attributes too."""
    classes: tuple[str, ...]
    """The public ones."""


@cache
def read(source: str) -> File:
    """A file, read once: to parse the whole package takes seconds."""
    tree = ast.parse(source)
    documented = docstring_lines(tree)
    lines = enumerate(source.splitlines(), 1)
    code = sum(bool(text.strip()) and not text.strip().startswith("#") for n, text in lines if n not in documented)
    classes = (node.name for node in tree.body if isinstance(node, ast.ClassDef))
    return File(ast.get_docstring(tree) or "", code, tuple(name for name in classes if not name.startswith("_")))


def docstring_lines(tree: ast.Module) -> set[int]:
    """Numbers of the lines that docstrings take: at heads of bodies, and of attributes of modules and classes."""
    documented: set[int] = set()
    inside: list[ast.AST] = [tree]
    while inside:
        node = inside.pop()
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for each in node.body if isinstance(node, ast.Module | ast.ClassDef) else node.body[:1]:
                if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
                    documented.update(range(each.lineno, (each.end_lineno or each.lineno) + 1))
        # No definition stands in an expression, of which most of a tree consists.
        inside += [one for one in ast.iter_child_nodes(node) if not isinstance(one, ast.expr)]
    return documented


def lines_of_code(source: str) -> int:
    """Lines that are neither blank, nor a comment, nor a docstring."""
    return read(source).lines


def spans(source: str, *kinds: type[ast.stmt]) -> list[tuple[int, int]]:
    """First and last line of every statement of some kinds, wherever it stands."""
    found = [node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)]
    return [(node.lineno, node.end_lineno or node.lineno) for node in found]


def code_rows(root: Path, sources: dict[Path, str]) -> Iterator[Row]:
    """Lines of Python code, whole and by part, and how they are cut into functions and files."""
    code = {path: lines_of_code(source) for path, source in sources.items()}
    in_apps = sum(lines for path, lines in code.items() if path.relative_to(root).parts[0] == APPS)
    whole = sum(code.values())
    none_yet = "" if (root / APPS).is_dir() else f" (there is no {APPS}/: the core is the whole)"
    functions = [span for text in sources.values() for span in spans(text, ast.FunctionDef, ast.AsyncFunctionDef)]
    imports = {
        (path, line)
        for path, text in sources.items()
        for first, last in spans(text, ast.Import, ast.ImportFrom)
        for line in range(first, last + 1)
    }
    yield Row("lines of Python code, whole", str(whole), "<= 72000")
    yield Row("  of these in the core", f"{whole - in_apps}{none_yet}", "<= 50000")
    yield Row(f"  of these in {APPS}/", str(in_apps))
    yield Row("  of these imports", f"{len(imports)} ({len(imports) / (whole or 1):.1%})")
    yield Row("files", str(len(sources)))
    for limit in (SMALL_FILE, TINY_FILE):
        yield Row(f"  of <= {limit} lines of code", str(sum(lines <= limit for lines in code.values())))
    physical = median(len(text.splitlines()) for text in sources.values())
    yield Row("  lines, and lines of code, of the median file", f"{physical:.0f}; {median(code.values()):.0f}")
    long = sum(last - first + 1 > LONG_FUNCTION for first, last in functions)
    yield Row(f"functions over {LONG_FUNCTION} lines", str(long), "<= 29")


def data_rows(root: Path) -> Iterator[Row]:
    """What the package holds besides Python code: lines of texts, and bytes of everything else."""
    files = [path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    for suffix in TEXTS:
        found = [path for path in files if path.suffix == suffix]
        lines = sum(len(path.read_text().splitlines()) for path in found)
        what = "prompt texts (.txt)" if suffix == ".txt" else suffix
        yield Row(f"lines of {what}", f"{lines} in {len(found)} files")
    other = [path for path in files if path.suffix not in (*TEXTS, ".py")]
    kilobytes = sum(path.stat().st_size for path in other) / 1000
    yield Row("other package data", f"{kilobytes:.0f} kB in {len(other)} files")


# ------------------------------------------------------------------------------- names and imports


def public_names(sources: dict[Path, str]) -> dict[str, list[Path]]:
    """Public classes by name, each with the files that define one of that name."""
    classes = defaultdict(list)
    for path, source in sources.items():
        for name in read(source).classes:
            classes[name].append(path)
    return dict(classes)


def name_rows(root: Path, sources: dict[Path, str]) -> Iterator[Row]:
    """How many names there are at the root, and how many are used twice."""
    rooms = {path.stem for path in root.glob("*.py")} | {path.parent.name for path in root.glob("*/__init__.py")}
    yield Row("modules and packages at the root", str(len(rooms - {"__init__", "__main__"})))
    classes = public_names(sources).values()
    yield Row("public class names used twice or more", str(sum(len(found) > 1 for found in classes)))
    files = Counter(path.name for path in sources if path.name != "__init__.py")
    yield Row("file names used twice or more", str(sum(count > 1 for count in files.values())))


def imports_of(src: Path) -> dict[str, set[str]]:
    """Modules of truegrade, each with those that it imports when it runs, not only for types."""
    sys.path.insert(0, str(src))
    graph = grimp.build_graph("truegrade", cache_dir=None, exclude_type_checking_imports=True)
    return {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}


def import_measures(imports: dict[str, set[str]]) -> tuple[int, str, str]:
    """The longest chain of imports in modules, and whether modules, or packages at the root, form a cycle."""
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


def import_rows(src: Path) -> Iterator[Row]:
    """How modules depend on each other."""
    imports = imports_of(src)
    chain, module_cycle, package_cycle = import_measures(imports)
    importers = Counter(name for imported in imports.values() for name in imported)
    yield Row("longest import chain, modules", str(chain), "<= 24")
    yield Row("modules with one importer", str(sum(count == 1 for count in importers.values())))
    yield Row("cycle of modules", module_cycle)
    yield Row("cycle of packages", package_cycle)


# ------------------------------------------------------------------------------- what a program sees of it


TRACE = """
import os, sys, threading
from collections import Counter
from multiprocessing import util
src, *arguments = sys.argv[1:]
BEGINS = {"summarise_run": "summary", "write_report": "page"}
sys.path.insert(0, src)
touched, opened, part = {}, Counter(), "verdict"

def called(frame, event, _):
    global part
    code = frame.f_code  # bodies of classes are not optimised code, and comprehensions have names in brackets
    if event == "call" and code.co_flags & 1 and code.co_filename.startswith(src) and code.co_name[0] != "<":
        part = BEGINS.get(code.co_qualname, part)
        touched.setdefault((code.co_filename, code.co_qualname), part)

def opening(event, given):
    reading = event == "open" and not (given[2] or 0) & (os.O_WRONLY | os.O_RDWR)
    if reading and isinstance(given[0], (str, os.PathLike)):
        name = os.path.basename(os.fspath(given[0]))
        if name.endswith(".jsonl"):
            opened[name.partition(".")[0] if name.startswith("verdicts") else name] += 1

def tell():  # at the end of a process that grades
    with open("touched", "a") as file:
        file.writelines(f"{path}\\t{name}\\n" for path, name in touched)

import truegrade.cli
util.register_after_fork(threading, lambda _: util.Finalize(None, tell, exitpriority=0))
sys.addaudithook(opening)
threading.setprofile(called)
sys.setprofile(called)
truegrade.cli.main(arguments, standalone_mode=False)
sys.setprofile(None)
if os.path.exists("touched"):
    touched |= {tuple(line.rstrip("\\n").split("\\t")): "verdict" for line in open("touched")}
files = {file: part for part in ("page", "summary", "verdict") for (file, _), of in touched.items() if of == part}
counts = [[*of.values()].count(part) for part in ("verdict", "summary", "page") for of in (touched, files)]
print("MEASURED", *counts, *(f"{name}:{times}" for name, times in sorted(opened.items())))
"""
"""Runs one command and counts the functions and files of truegrade it enters, in processes that it forks too, and
how often it opens a journal. What is entered in several parts counts for the first: the verdict, the summary
(counting, cautions), the page and what is printed."""

COMMANDS = """
import sys
sys.path.insert(0, sys.argv[1])
import click
from truegrade.cli import main
context = click.Context(main, info_name="truegrade")
hidden = [main.get_command(context, name).hidden for name in main.list_commands(context)]
run = main.get_command(context, "run")
shown = run.get_help(click.Context(run, info_name="run", parent=context)).splitlines()
options = [line.strip().partition("  ")[0].split(", ") for line in shown if line.startswith("  -")]
own = [spellings for spellings in options if not {"--help", "--help-all"} & {*spellings}]
print("MEASURED", hidden.count(False), hidden.count(True), len(own))
"""
"""Counts visible and hidden commands, and the options that ``run --help`` shows besides the help itself."""


def measured(script: str, src: Path, *arguments: str) -> list[str]:
    """What a script that imports truegrade from a tree prints as its measures, run in a folder with one reply."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "input.jsonl").write_text(ONE_REPLY)
        command = [sys.executable, "-c", script, str(src), *arguments]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return next(line for line in done.stdout.splitlines() if line.startswith("MEASURED")).split()[1:]


def running_rows(src: Path) -> Iterator[Row]:
    """What grading one completion enters and opens, and what the command line shows."""
    found = measured(TRACE, src, "grade", "input.jsonl", "-b", "humaneval", "--out", "run")
    counts, opened = [int(count) for count in found[:6]], found[6:]
    entered = [f"{counts[at]} / {counts[at + 1]}" for at in (0, 2, 4)]
    shown = f"{counts[0] + counts[2]} / {counts[1] + counts[3]}"
    yield Row("functions / files that one completion enters", shown, "<= 500 / 75")
    yield Row("  of these to its verdict", entered[0])
    yield Row("  of these to count and caution", entered[1])
    yield Row("  besides these, for the page and the terminal", entered[2])
    yield Row("times that each file of lines is opened to be read", ", ".join(opened))
    visible, hidden, options = measured(COMMANDS, src)
    yield Row("visible commands; hidden", f"{visible}; {hidden}", "<= 16; 4")
    yield Row("options that `run --help` shows", options, "<= 14")


# ------------------------------------------------------------------------------- pages and tests


def page_rows(docs: Path) -> Iterator[Row]:
    """How much a person can read: all pages, and the words of those that are not generated reference."""
    pages = [*docs.rglob("*.md")]
    written = [page for page in pages if page.relative_to(docs).parts[0] != "reference"]
    yield Row("pages of documentation", str(len(pages)), "<= 26")
    yield Row("words of documentation without reference", str(sum(words(page) for page in written)))


def words(page: Path) -> int:
    """Words of a text, as ``wc -w`` counts them."""
    return len(page.read_text().split())


def count_tests(tests: Path) -> int:
    """Functions and methods that pytest collects as tests, each once whatever its parameters."""
    modules = [ast.parse(path.read_text()) for path in tests.rglob("test_*.py")]
    classes = [node for module in modules for node in module.body if isinstance(node, ast.ClassDef)]
    bodies = [statement for holder in (*modules, *classes) for statement in holder.body]
    return sum(isinstance(node, ast.FunctionDef) and node.name.startswith("test") for node in bodies)


def table(src: Path) -> Iterator[Row]:
    """Every measure of the tree at SRC, and of the docs and tests beside it."""
    root = src / "truegrade"
    sources = {path: path.read_text() for path in root.rglob("*.py")}
    yield from code_rows(root, sources)
    yield from data_rows(root)
    yield from import_rows(src)
    yield from name_rows(root, sources)
    yield from running_rows(src)
    yield from page_rows(src.parent / "docs")
    yield Row("test functions", str(count_tests(src.parent / "tests")))
    yield Row("time of make test", "not measured here", "<= 500 s")


# ------------------------------------------------------------------------------- the table of packages


def layers() -> list[list[str]]:
    """Packages and modules at the root of truegrade by their layer, the uppermost first."""
    contracts = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return [[name.strip().removeprefix("truegrade.") for name in re.split("[:|]", layer)]
            for layer in contracts[0]["layers"]]  # fmt: skip


def tree() -> str:
    """The table of packages and modules at the root, and of the apps, in Markdown; lines of code in hundreds."""
    root = REPOSITORY / "src" / "truegrade"
    rows = ["| layer | package or module | files | lines | what it is for |", "| --- | --- | --- | --- | --- |"]
    for number, names in enumerate(layers(), 1):
        for name in names:
            rows.append(_tree_row(str(number), root / name, name))
            if name == APPS:
                rows += [_tree_row("", app.parent, f"{APPS}/{app.parent.name}")
                         for app in sorted((root / APPS).glob("*/__init__.py"))]  # fmt: skip
    return "\n".join(rows) + "\n"


def _tree_row(layer: str, place: Path, name: str) -> str:
    sources = [path.read_text() for path in place.rglob("*.py")] or [place.with_suffix(".py").read_text()]
    code = sum(map(lines_of_code, sources))
    about = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    first = read(about.read_text()).about.partition("\n")[0].replace("``", "`")
    shown = f"{name}/" if place.is_dir() else name
    return f"| {layer} | `{shown}` | {len(sources)} | {round(code, -2) or code:,} | {first} |"


def write_tree(page: Path) -> None:
    """Put the table between its two marks on a page."""
    before, _, rest = page.read_text().partition(TREE_BEGINS)
    _, _, after = rest.partition(TREE_ENDS)
    page.write_text(f"{before}{TREE_BEGINS}\n{tree()}{TREE_ENDS}{after}")


def main(src: Path) -> None:
    """Print one row a measure."""
    print(f"{'measure':<52} {'value':<44} goal")
    for name, value, goal in table(src):
        print(f"{name:<52} {value:<44} {goal}".rstrip())


if __name__ == "__main__":
    if sys.argv[1:] == ["--tree"]:
        write_tree(REPOSITORY / "docs" / "architecture.md")
        sys.exit()
    main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else REPOSITORY / "src")
