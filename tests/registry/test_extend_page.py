"""Every example of the page on extensions is whole, short, and works: as files, and as an installed package."""

import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from truegrade.apps.evolve.searchers import REGISTRY as SEARCHERS
from truegrade.apps.evolve.searchers import open_searcher
from truegrade.apps.evolve.settings import read_settings
from truegrade.cli import main


def test_every_example_has_less_than_thirty_lines(extend_page):
    shown = extend_page.files()
    assert {f"{module}.py" for module in extend_page.MODULES} <= shown.keys()
    assert all(len(shown[f"{module}.py"].splitlines()) < 30 for module in extend_page.MODULES)


def test_the_commands_of_the_page_run_in_order_with_its_files(cli, extend_page, tmp_path):
    extend_page.write_files(tmp_path)
    for arguments in extend_page.commands():
        if arguments[0] != "evolve":  # the searcher is asked below
            code, _, err = cli(*arguments)
            assert code == 0, (arguments, err)
    summary = json.loads((tmp_path / "runs" / "sums" / "summary.json").read_text())
    assert summary["profiles"][0]["estimates"][0]["value"] == 1.0
    assert (tmp_path / "runs" / "answers" / "verdicts.tsv").read_text() == "double/0\t0\tpassed\n"
    origins = json.loads((tmp_path / "runs" / "politely" / "manifest.json").read_text())["origins"]
    assert {name: origin["how"] for name, origin in origins.items()} == dict.fromkeys(
        ("benchmark", "provider", "agent"), "file"
    )
    graded = json.loads((tmp_path / "runs" / "doubling" / "manifest.json").read_text())["origins"]
    assert {"benchmark", "fenced@1", "fenced@1+30s"} == graded.keys()


def test_the_searcher_of_the_page_asks(extend_page, tmp_path, monkeypatch):
    extend_page.write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert SEARCHERS.find("sweep.py").value.__doc__ == "Whatever the space gives next."
    settings = read_settings("micro-quick")
    names, reference = settings.objectives.names, settings.objectives.reference
    searcher = open_searcher("sweep.py", settings.space, 1, 4, names, reference, {})
    assert len({genome.id for genome in searcher.ask(0, 4)}) == 4


@pytest.fixture
def installed(site, tmp_path, monkeypatch):
    """The command with the page's package installed, in a folder without the page's files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.syspath_prepend(str(site))
    yield lambda *arguments: CliRunner().invoke(main, list(map(str, arguments)))
    for name in [name for name in sys.modules if name.startswith("truegrade_example")]:
        del sys.modules[name]


def done(result):
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


def test_an_installed_package_offers_one_of_each_kind(installed, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    offered = ("doubling", "fenced", "parrot", "politely", "csv-answers", "verdict-table", "sweep")
    kinds = ("benchmarks", "profiles", "providers", "agents", "importers", "exporters", "searchers")
    for kind, name in zip(kinds, offered, strict=True):
        lines = {line["name"]: line["origin"] for line in json.loads(done(installed("list", kind, "--json")))}
        assert lines[name] == {"how": "package", "name": name, "place": "truegrade-example 1.0"}
        assert "truegrade-example" in done(installed("list", kind))
        assert "truegrade-example" in done(installed("list", kind, name))


def test_a_run_with_a_package_is_resumed_graded_exported_and_compared(installed, extend_page, tmp_path):
    asked = ("run", "doubling", "--as", "fenced", "--model", "parrot/grey", "--agent", "politely", "--out", "a")
    done(installed(*asked))
    done(installed(*asked, "-n", "2"))  # extended
    done(installed("run", "doubling", "--model", "baseline/empty", "--as", "fenced", "--out", "b"))
    for run in "ab":
        done(installed("grade", run, "--as", "strict", "--as", "fenced+30s"))
    assert "better" in done(installed("compare", "b", "a", "--as", "fenced", "--force"))
    done(installed("export", "a", "--format", "verdict-table", "--as", "fenced"))
    assert (tmp_path / "a" / "verdicts.tsv").read_text().count("passed") == 2
    (tmp_path / "answers.csv").write_text(extend_page.files()["answers.csv"])
    done(installed("grade", "answers.csv", "--benchmark", "doubling", "--out", "c"))  # its format is recognised
    manifest = json.loads((tmp_path / "c" / "manifest.json").read_text())
    assert manifest["import_format"] == "csv-answers"
    assert manifest["origins"]["benchmark"] == {
        "how": "package",
        "name": "doubling",
        "place": "truegrade-example 1.0",
    }


@pytest.mark.slow
def test_it_works_as_a_process_of_its_own(site, tmp_path):
    paths = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "PYTHONPATH": paths}
    command = [sys.executable, "-m", "truegrade", "run", "doubling", "--model", "parrot/grey", "--out", "run"]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["profiles"][0]["reasons"] == {"passed": 1}
