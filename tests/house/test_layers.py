"""What `lint-imports` does not see of the layers, and that starting is cheap."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from pkgutil import resolve_name

import pytest

from tools.structure import TREE_BEGINS, TREE_ENDS, layers, read, tree

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
    for file, name in re.findall(r"`([\w/]+)\.py` \(`([\w.]+)`\)", PAGE.read_text()):
        assert resolve_name(f"truegrade.{file.replace('/', '.').removesuffix('.__init__')}:{name}")
    assert not [each for each in tables if each[0] not in (ROOT / "src" / "truegrade" / each[1]).read_text()]


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
    assert len(rooms) - len(UNNAMED) <= 26
    assert import_measures(imports_of(ROOT / "src"))[1:] == ("none", "none")
    classes = public_names({path: path.read_text() for path in root.rglob("*.py")})
    assert {name: places for name, places in classes.items() if len(places) > 1} == {}
