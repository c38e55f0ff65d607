"""Apps stand on the core: it names none of their modules, and works where the folder of apps is taken away."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import truegrade
from truegrade.app import own_apps

ROOT = Path(__file__).parents[2]
SOURCE = Path(truegrade.__file__).parent
MODULE = re.compile(r"truegrade[./]apps[./]\w+")
EMPTY = "import sys; sys.argv = ['truegrade', *sys.argv[1:]]; from truegrade.cli import main; main()"


def test_no_text_of_the_core_names_a_module_of_an_app():
    texts = (path for path in SOURCE.rglob("*") if path.suffix in {".py", ".toml", ".txt", ".html", ".js"})
    core = (path for path in texts if SOURCE / "apps" not in path.parents)
    assert [str(path) for path in core if MODULE.search(path.read_text(encoding="utf-8"))] == []


def test_every_app_is_held_to_importing_no_other():
    contracts = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert [app.name for app in own_apps() if f'"truegrade.apps.{app.name}"' not in contracts] == []


@pytest.fixture(scope="module")
def core_alone(tmp_path_factory):
    """The package without the folder of apps."""
    place = tmp_path_factory.mktemp("core")
    shutil.copytree(SOURCE, place / "truegrade", ignore=shutil.ignore_patterns("apps", "__pycache__"))

    def run(*arguments, **options):
        command = [sys.executable, "-P", "-c", EMPTY, *arguments]
        return subprocess.run(command, env={"PYTHONPATH": str(place), "PATH": "/usr/bin:/bin",
                              "HOME": str(tmp_path_factory.mktemp("home"))},
                              capture_output=True, text=True, timeout=300, **options)  # fmt: skip

    return run


def test_the_help_of_the_core_lists_no_command_of_an_app(core_alone):
    done = core_alone("--help")
    assert done.returncode == 0, done.stderr
    listed = {line.split()[0] for line in done.stdout.splitlines() if re.match(r"  \S+  ", line)}
    commands = {words for app in own_apps() for words in app.commands}
    assert {"run", "grade", "report", "check"} <= listed
    assert not commands & listed


@pytest.mark.parametrize("command", ["run", "grade", "report", "compare", "check", "data", "serve", "doctor"])
def test_a_command_of_the_core_starts_without_apps(core_alone, command):
    done = core_alone(command, "--help")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_core_runs_grades_and_reports_without_apps(core_alone, tmp_path):
    done = core_alone("run", "micro-repair", "-T", "size=3", "--out", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "report.html").is_file()
    again = core_alone("report", "run", "--format", "markdown", "--out", "files", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
