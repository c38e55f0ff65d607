"""The page "Extend Truegrade": the files that it shows, its commands, and the package that it makes of them."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "extend.md"
MODULES = ("doubling", "fenced", "parrot", "politely", "csv_answers", "verdict_table", "sweep")
APP = "warmup/"
"""Folder of the page's app."""


def parts() -> tuple[str, str]:
    """The page's examples, whose commands build on each other, and what it says of other harnesses."""
    examples, _, others = PAGE.read_text().partition("\n## Inside other harnesses\n")
    return examples, others


def files() -> dict[str, str]:
    """What the page shows below a file's name."""
    found = re.findall(r"^`([\w./-]+)`:\n\n(`{3,})\w+\n(.*?)^\2$", parts()[0], re.DOTALL | re.MULTILINE)
    return {name: text for name, _, text in found}


def write_files(folder: Path, below: str = "") -> None:
    for name, text in files().items():
        if name.startswith(below):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)


def commands() -> list[list[str]]:
    lines = re.findall(r"^\$ truegrade (.*)$", parts()[0], re.MULTILINE)
    return [shlex.split(line) for line in lines]


def install(folder: Path, into: Path) -> None:
    """The package of the page's files, and that of its app, installed by pip without a network."""
    shown = files()
    write_files(folder, APP)
    package = folder / "truegrade_example"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    for module in MODULES:
        (package / f"{module}.py").write_text(shown[f"{module}.py"])
    (folder / "pyproject.toml").write_text(shown["pyproject.toml"])
    quietly = ("--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", "--no-build-isolation")
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *quietly, "--target", into, folder, folder / APP], check=True
    )


def offered(folder, name, group, line):
    """The metadata of an installed package that offers one thing."""
    package = folder / f"{name}-1.dist-info"
    package.mkdir()
    (package / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (package / "entry_points.txt").write_text(f"[{group}]\n{line}\n")
