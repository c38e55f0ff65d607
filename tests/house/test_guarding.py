"""Which tests `make test` leaves out, what stands for them, and which of them a change has run all the same."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

from tools import guarding

ROOT = Path(__file__).parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
TABLE = guarding.guards(CONTRIBUTING)


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        (["src/truegrade/store/run.py"], ["tests/store"]),
        (["src/truegrade/apps/evolve/loop.py", "README.md"], ["tests/apps/evolve", "tests/house/test_site.py"]),
        (["src/truegrade/registry.py"], ["tests/benchmarks", "tests/registry"]),
        (["tests/report/test_report_svg.py", "tests/report/gone/here.py"], ["tests/report/test_report_svg.py"]),
        (["tests/web/service/conftest.py"], ["tests/web/service"]),
        (["tests/grading/conftest.py", "src/truegrade/grading/functions.py"], ["tests/grading", "tests/profiles"]),
        (["tests/support/pages.py", "LICENSE"], []),
    ],
)
def test_what_guards_a_change(changed, tests):
    assert guarding.guarding(changed, TABLE) == tests


def git(folder, *arguments):
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


def test_what_changed_is_what_came_since_main_or_in_the_last_commit(tmp_path, monkeypatch):
    monkeypatch.setattr(guarding, "ROOT", tmp_path)
    assert guarding.changed_paths() == [], "no repository"
    git(tmp_path, "init", "--initial-branch", "main")
    for name in ("one", "two", "three"):
        (tmp_path / name).write_text(name)
        git(tmp_path, "add", name)
        git(tmp_path, "commit", "--message", name)
        if name == "one":
            assert guarding.changed_paths() == [], "no commit before"
            git(tmp_path, "update-ref", "refs/remotes/origin/main", "HEAD")
    assert guarding.changed_paths() == ["three", "two"]
    git(tmp_path, "update-ref", "refs/remotes/origin/main", "HEAD")
    assert guarding.changed_paths() == ["three"]
    (tmp_path / "one").write_text("changed")
    (tmp_path / "new").write_text("new")
    assert guarding.changed_paths() == ["one", "three", "new"]
    assert guarding.changed_paths("HEAD~2") == ["one", "three", "two", "new"]
    assert guarding.changed_paths("0" * 40) == ["one", "three", "new"], "a commit that git does not know"


def test_contributing_names_every_file_with_thorough_tests_and_what_stands_for_them():
    told = CONTRIBUTING.partition("## Thorough tests")[2].partition("\n## ")[0]
    texts = {path.name: path.read_text() for path in (ROOT / "tests").rglob("test_*.py")}
    named = re.findall(r"`(test_\w+\.py)(?:::(test_\w+))?`", told)
    marked = {name for name, text in texts.items() if re.search(r"pytest\.mark\.thorough|one_in\(", text)}
    assert marked - {Path(__file__).name} <= {name for name, _ in named}
    for name, function in named:
        assert name in texts, name
        if function:
            made = [it for it in ast.walk(ast.parse(texts[name])) if getattr(it, "name", "") == function]
            assert made, f"{name}::{function}"
            assert "thorough" not in "".join(map(ast.unparse, made[0].decorator_list)), f"{function} always runs"
