"""The floors of the house: imports point down only, and starting is cheap."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
UNNAMED = {"__init__", "__main__"}
HEAVY = {"openai", "httpx2", "numpy", "rich", "pandas", "polars", "asyncio", "starlette", "uvicorn"}


def run_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_imports_point_down_only():
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_root_and_the_page_on_architecture_say_the_same_as_the_floors():
    """Nothing new at the root without a floor and a line that says what it is for."""
    import tomllib

    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    floors = [[name.strip().removeprefix("truegrade.") for name in re.split("[:|]", layer)]
              for layer in contracts[0]["layers"]]  # fmt: skip
    root = ROOT / "src" / "truegrade"
    there = {path.stem for path in (*root.glob("*.py"), *(file.parent for file in root.glob("*/__init__.py")))}
    there -= UNNAMED
    assert {name for floor in floors for name in floor} == there
    rows = re.findall(r"^\| (\d+) \| `(\w+)/?` \|", (ROOT / "docs" / "architecture.md").read_text(), re.MULTILINE)
    assert [(int(number), name) for number, name in rows] == [
        (number, name) for number, floor in enumerate(floors, 1) for name in floor
    ]


def test_import_truegrade_pulls_nothing_heavy():
    loaded = run_python("import truegrade, sys; print(*sys.modules)").split()
    assert not HEAVY & set(loaded)


def test_help_pulls_nothing_heavy():
    code = "import sys, truegrade.cli as c; c.main(['--help'], standalone_mode=False); print(*sys.modules)"
    assert not HEAVY & set(run_python(code).split())


def test_no_file_is_long_and_no_package_lacks_a_docstring():
    import ast

    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text()
        assert len(text.splitlines()) <= 450, f"{path} holds more than one idea"
        assert ast.get_docstring(ast.parse(text)), f"{path} does not say what it is"


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
    from tools.structure import import_measures, public_names

    root = ROOT / "src" / "truegrade"
    rooms = [path for path in root.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
    assert len(rooms) - len(UNNAMED) <= 25
    assert import_measures(ROOT / "src")[1:] == ("none", "none")
    classes = public_names({path: path.read_text() for path in root.rglob("*.py")})
    assert {name: places for name, places in classes.items() if len(places) > 1} == {}
