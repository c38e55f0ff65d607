"""An app of an installed package adds what it declares; one that is broken breaks nothing else."""

import json
import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import pytest
from click.testing import CliRunner

from support.extend_page import offered
from truegrade import app
from truegrade.apps.viewer import viewer_server
from truegrade.cli import main
from truegrade.report import format as fmt

EMPTY = "from truegrade.app import App\nAPP = App(name='{name}', summary='s', {more})\n"
BROKEN = {
    "absent": ("", "absent = no_such_module:APP", "no_such_module:APP of absent 1 cannot be imported: Module"),
    "raising": ("1 / 0", "raising = raising:APP", "raising:APP of raising 1 cannot be imported: ZeroDivision"),
    "leaving": ("raise SystemExit(3)", "leaving = leaving:APP", "cannot be imported: SystemExit: 3"),
    "lacking": ("", "lacking = lacking:APP", "cannot be imported: AttributeError"),
    "number": ("APP = 3", "number = number:APP", "number:APP of number 1 is int, no truegrade.app.App"),
    "wrong": (EMPTY.format(name="wrong", more="commands=['w']"), "wrong = wrong:APP",
              "is no right App: Expected `object`, got `array` - at `$.commands`"),
    "second": (EMPTY.format(name="assay", more=""), "second = second:APP", "the name 'assay', which is taken"),
    "thief": (EMPTY.format(name="thief", more="commands={'view': 'x:y'}"), "thief = thief:APP",
              "adds the command 'view', which the app viewer has"),
}  # fmt: skip
"""Name of the package: its module, its entry point, and what is said of it."""
PARTLY = {
    "away": ("commands={'away': 'no_such_module:run'}", "which cannot be imported: ModuleNotFoundError"),
    "plain": ("commands={'plain': 'plain:APP'}", "the app plain declares plain:APP, which is no click command"),
    "grabber": (
        "commands={'grade': 'truegrade.cli:main'}",
        "adds a command of this name",
    ),
}
"""Name of the package: what its app declares, and what is said of the command."""


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """A command with every kind of broken app installed."""
    folder = tmp_path_factory.mktemp("broken")
    for name, (text, line, _) in BROKEN.items():
        (folder / f"{name}.py").write_text(text)
        offered(folder, name, app.GROUP, line)
    for name, (more, _) in PARTLY.items():
        (folder / f"{name}.py").write_text(EMPTY.format(name=name, more=more))
        offered(folder, name, app.GROUP, f"{name} = {name}:APP")
    paths = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")]))

    def run(*words, **environment):
        command = [sys.executable, "-m", "truegrade", *words]
        environment = os.environ | {"PYTHONPATH": paths} | environment
        return subprocess.run(command, env=environment, capture_output=True, text=True, cwd=folder, timeout=300)

    return run


def test_the_help_says_in_a_line_each_what_cannot_be_used(broken):
    done = broken("--help")
    assert (done.returncode, done.stderr) == (0, "")
    listed, _, faults = done.stdout.partition("Cannot be used, while everything else can:\n")
    assert "\n  grade  " in listed and "\n  view " in listed
    said = {name: text for name, _, text in (line.strip().partition(": ") for line in faults.splitlines())}
    assert said.keys() == {*BROKEN, "away", "plain", "grade"}
    for name, (_, _, expected) in BROKEN.items():
        assert expected in said[name]
    for name, (_, expected) in PARTLY.items():
        assert expected in said["grade" if name == "grabber" else name]


def test_another_command_works_and_a_broken_one_is_a_users_error(broken):
    done = broken("list", "benchmarks", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    for words in (["away", "--any", "thing"], ["away", "--help"]):
        done = broken(*words)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("truegrade: the app away declares no_such_module:run, which cannot be")
        assert done.stderr.count("\n") == 1


def test_what_completes_commands_names_those_that_can_be_used_and_those_that_cannot(broken):
    variables = {"_PYTHON _M TRUEGRADE_COMPLETE": "bash_complete", "COMP_WORDS": "truegrade ", "COMP_CWORD": "1"}
    done = broken(**variables)
    assert {"plain,grade", "plain,away"} <= {*done.stdout.split()} and done.stderr == ""


def test_doctor_lists_every_app_and_what_of_it_cannot_be_used(broken):
    done = broken("doctor", "--json")
    found = {each["name"]: each for each in json.loads(done.stdout) if each["name"].startswith("app ")}
    assert found.keys() == {f"app {name}" for name in (*(own.name for own in app.own_apps()), *BROKEN, *PARTLY)}
    assert {name for name, each in found.items() if each["state"] == "warning"} == {
        f"app {name}" for name in (*BROKEN, "away")
    }
    assert found["app plain"]["detail"] == "s (plain 1)"


@pytest.fixture
def installed(site, tmp_path, monkeypatch):
    """A folder, and the packages of the page on extensions installed."""
    caches = (app.installed_apps, viewer_server.frame)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setattr(main, "commands", dict(main.commands))
    for cache in caches:
        cache.cache_clear()
    yield tmp_path
    for cache in caches:
        cache.cache_clear()


def get(server, path):
    try:
        with urllib.request.urlopen(f"{server.url}{path}", timeout=180) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_the_app_of_the_page_adds_a_command_a_benchmark_and_a_page(installed):
    done = CliRunner().invoke(main, ["warmup", "baseline/reference"])
    assert (done.exit_code, done.stdout) == (0, "baseline/reference solves 100%\n"), done.exception
    done = CliRunner().invoke(main, ["run", "tripling", "--model", "baseline/empty", "--out", "runs/again"])
    assert done.exit_code == 0, done.output
    with viewer_server.ViewServer(installed / "runs") as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        _, start = get(server, "")
        assert '<nav aria-label="Pages"><a href="/app?page=Warm-up">Warm-up</a></nav>' in start
        status, page = get(server, "app?page=Warm-up")
        assert status == 200 and "again" in page and f"<td>{fmt.percent(0.0)}</td>" in page
        status, said = get(server, "app?page=None")
        assert status == 404 and "no app adds a page 'None'" in said
        (installed / "runs" / "again" / "summary.json").write_text("{}")
        status, said = get(server, "app?page=Warm-up")
        assert status == 500 and "the page 'Warm-up' of the app warmup failed: KeyError: 'profiles'" in said
        server.shutdown()
        thread.join()


def test_the_app_of_the_page_is_short(extend_page):
    shown = extend_page.files().items()
    assert 0 < sum(len(text.splitlines()) for name, text in shown if name.startswith(extend_page.APP)) < 60
