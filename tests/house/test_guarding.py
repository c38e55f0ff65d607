"""Which thorough tests a change has run all the same."""

import subprocess

import pytest

from tools import guarding

TABLE = guarding.guards((guarding.ROOT / "CONTRIBUTING.md").read_text())


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
