"""What `lint-imports` does not see of the layers, and that starting is cheap."""

import inspect
import re
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from pkgutil import resolve_name

import pytest
from click.testing import CliRunner

from tools.structure import TREE_BEGINS, TREE_ENDS, layers, read, tree
from truegrade.benchmarks import load_benchmark
from truegrade.cli import main

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"
FILES = {*(ROOT / "src").rglob("*"), *(ROOT / "tests").rglob("*"), *ROOT.iterdir()}
UNNAMED = {"__init__", "__main__"}


def test_the_root_and_the_page_on_architecture_say_the_same_as_the_floors():
    """Nothing new at the root without a floor and a line that says what it is for."""
    floors = layers()
    root = ROOT / "src" / "truegrade"
    there = {path.stem for path in (*root.glob("*.py"), *(file.parent for file in root.glob("*/__init__.py")))}
    there -= UNNAMED
    assert {name for floor in floors for name in floor} == there
    rows = re.findall(r"^\| (\d+) \| `(\w+)/?` \|", PAGE.read_text(), re.MULTILINE)
    assert [(int(number), name) for number, name in rows] == [
        (number, name) for number, floor in enumerate(floors, 1) for name in floor
    ]


def test_the_files_that_the_page_on_architecture_names_are_there():
    named = {name for name in re.findall(r"`([\w/]+(?:\.py|\.toml|/))`", PAGE.read_text()) if "NAME" not in name}
    assert len(named) > 30
    assert not [name for name in named if not {ROOT / name, ROOT / "src" / "truegrade" / name} & FILES]
    tables = re.findall(r"`([A-Z]+)` in `([\w/.]+)`", PAGE.read_text())
    assert len(tables) > 5
    assert not [each for each in tables if each[0] not in (ROOT / "src" / "truegrade" / each[1]).read_text()]


def code_of(file, name):
    """The code of a function that the page names: `cli/commands.py`, `run`."""
    found = resolve_name(
        f"truegrade.{file.removesuffix('.py').replace('/', '.').removesuffix('.__init__')}:{name}"
    )
    return inspect.unwrap(getattr(found, "callback", found)).__code__


def test_a_completion_takes_the_path_of_that_page(tmp_path, monkeypatch):
    """The page's command is run; what the page names is called, in the order in which it stands there."""
    monkeypatch.chdir(tmp_path)
    path = PAGE.read_text().partition("## The path of one completion\n")[2].partition("\n## ")[0]
    command = re.search(r"`truegrade (run .+?)`", path)[1]
    stations = re.split(r"^\d+\. ", path.partition("\nOther commands")[0], flags=re.MULTILINE)[1:]
    named = [call for station in stations for call in re.findall(r"`([\w/]+\.py)` \(`([\w.]+)`\)", station)]
    assert len(stations) <= 8 and all("`" in station for station in stations)
    codes = {id(code_of(*call)): call for call in named}
    called = []

    def note(frame, event, _):
        if event == "call" and id(frame.f_code) in codes:
            called.append(codes[id(frame.f_code)])

    load_benchmark(command.split()[1])  # drawn once a process; watched, it takes three times as long
    before = sys.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        done = CliRunner().invoke(main, [*command.split(), "--out", "run"])
    finally:
        threading.setprofile(None)
        sys.setprofile(before)
    assert done.exit_code == 0, done.output
    rest = iter(called)
    assert [call for call in named if call not in rest] == [], f"not called, or out of order; called: {called}"


def test_the_table_of_packages_on_that_page_is_as_the_code_is():
    """Its words and rows exactly, its sizes to a tenth, so that not every change has to write it anew."""
    written = PAGE.read_text().partition(TREE_BEGINS)[2].partition(TREE_ENDS)[0].strip()
    rows = zip(written.splitlines(), tree().splitlines(), strict=True)
    for stood, made in ([[cell.strip() for cell in row.split("|")] for row in pair] for pair in rows):
        differing = [pair for pair in zip(stood, made, strict=True) if pair[0] != pair[1]]
        far = [pair for pair in differing if not close(*pair)]
        assert not far, f"{made[2]}: run `python -m tools.structure --tree`"


def close(stood, made):
    """Whether both are counts, and differ by a tenth, 200 lines or two files at most."""
    try:
        old, new = (int(text.replace(",", "")) for text in (stood, made))
    except ValueError:
        return False
    return abs(old - new) <= max(old / 10, 2 if old < 100 else 200)


HEAVY = {"openai", "httpx2", "numpy", "rich", "pandas", "polars", "asyncio", "starlette", "uvicorn"}
NO_MODEL_AND_NO_SUITE = {
    *("asyncio", "ssl", "sqlite3", "unittest", "truegrade.pipeline.asking", "truegrade.agents.session"),
    *("truegrade.models.probe", "truegrade.grading.suite_runs"),
}


@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        ("import truegrade", HEAVY),
        ("import truegrade.api, truegrade.pipeline.grade", HEAVY | {"truegrade.analysis"}),
        ("import truegrade.api, truegrade.profiles.strict, truegrade.report.export", NO_MODEL_AND_NO_SUITE),
        ("import truegrade.cli as c; c.main(['--help'], standalone_mode=False)", HEAVY),
    ],
)
def test_starting_is_cheap(code, unwanted):
    """Nothing that takes long to import; to grade a function, nothing that asks models or runs suites."""
    command = [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"]
    loaded = set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    assert not loaded & unwanted


def test_no_file_is_long_and_no_package_lacks_a_docstring():
    for path in (ROOT / "src").rglob("*.py"):
        file = read(path.read_text())
        assert file.lines <= 450, f"{path} holds more than one idea"
        assert file.about, f"{path} does not say what it is"


def test_the_repository_speaks_of_the_product_alone():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in listed.splitlines():
        path = ROOT / name
        if name.startswith("requirements/") and name.endswith(".txt"):
            assert "://" not in path.read_text(), f"{name} records an address"
        if path.is_file() and path != Path(__file__):
            assert "/" + "work/" not in path.read_text(errors="replace"), f"{name} names a machine's path"


def test_no_two_test_files_share_a_name():
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name, files in names.items() if files > 1] == []


def test_the_root_stays_small_nothing_is_circular_and_no_two_public_classes_share_a_name():
    """As `python -m tools.structure` measures them."""
    from tools.structure import import_measures, imports_of, public_names

    root = ROOT / "src" / "truegrade"
    rooms = [path for path in root.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
    assert len(rooms) - len(UNNAMED) <= 27
    assert import_measures(imports_of(ROOT / "src"))[1:] == ("none", "none")
    classes = public_names({path: path.read_text() for path in root.rglob("*.py")})
    assert {name: places for name, places in classes.items() if len(places) > 1} == {}


LONG = "def long():\n" + "    long\n" * 50
MADE = {
    "src/truegrade/__init__.py": "",
    "src/truegrade/low.py": '"""Docs.\n\nMore.\n"""\n\n# a comment\n'
    + LONG
    + 'KEPT = 1\n"""Of an attribute,\nin two lines."""\n'
    + 'def summarise_run():\n    "Docs."\n    "no docs"\n    short()\n'
    + "def short(): pass\ndef write_report(): short()\n",
    "src/truegrade/cli.py": """
import click

from truegrade import (
    low,
)

@click.group()
def main(): low

@main.command(hidden=True)
def secret(): pass

@main.command()
@click.option("-k", "--known", help="--help")
@click.option("--rare", hidden=True)
def run(known, rare): pass

@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("rest", nargs=-1)
def grade(rest):
    open(rest[0]).close()
    low.long()
    low.summarise_run()
    low.write_report()
""",
    "src/truegrade/apps/__init__.py": "",
    "src/truegrade/apps/one.py": "from truegrade import low\nfrom truegrade.apps import two\nlow, two\n",
    "src/truegrade/apps/two.py": "from truegrade import low\nlow\n",
    "src/truegrade/apps/page.html": "<p>\n</p>\n",
    "src/truegrade/suite.toml": "a = 1\nb = 2\nc = 3",
    "src/truegrade/prompts/ask.txt": "Write\nit",
    "src/truegrade/shown.bin": "x" * 2000,
    "docs/index.md": "# Three words\n",
    "docs/reference/cli.md": "These are not counted.\n",
    "tests/test_a.py": "def test_one(): pass\ndef helper(): pass\nclass TestIt:\n    def test_two(self): pass\n",
}


def test_structure_counts_a_made_package(tmp_path):
    """Each count of the table is worked out by hand on a tree of a few lines."""
    for name, text in MADE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-m", "tools.structure", str(tmp_path / "src")]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    rows = {line[:52].strip(): line[53:97].strip() for line in shown.splitlines()[1:]}
    assert rows == {
        "lines of Python code, whole": "81", "of these in the core": "76", "of these in apps/": "5",
        "of these imports": "7 (8.6%)", "files": "6", "of <= 80 lines of code": "6", "of <= 40 lines of code": "5",
        "lines, and lines of code, of the median file": "2; 2", "functions over 50 lines": "1",
        "lines of .toml": "3 in 1 files", "lines of .js": "0 in 0 files", "lines of .css": "0 in 0 files",
        "lines of .html": "2 in 1 files", "lines of prompt texts (.txt)": "2 in 1 files",
        "other package data": "2 kB in 1 files",
        "longest import chain, modules": "3", "modules with one importer": "1",
        "cycle of modules": "none", "cycle of packages": "none", "modules and packages at the root": "3",
        "public class names used twice or more": "0", "file names used twice or more": "0",
        "functions / files that one completion enters": "5 / 2", "of these to its verdict": "3 / 2",
        "of these to count and caution": "2 / 0", "besides these, for the page and the terminal": "1 / 0",
        "times that each file of lines is opened to be read": "input.jsonl:1",
        "visible commands; hidden": "2; 1", "options that `run --help` shows": "1",
        "pages of documentation": "2", "words of documentation without reference": "3",
        "test functions": "2", "time of make test": "not measured here",
    }  # fmt: skip
