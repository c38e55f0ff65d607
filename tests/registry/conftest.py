"""The command line in a folder of its own, and the files of the page on extensions."""

import importlib.util
from pathlib import Path

import pytest
from click.testing import CliRunner

from truegrade.cli import main


@pytest.fixture
def cli(tmp_path, monkeypatch):
    """Run a command in an empty folder; returns exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def invoke(*arguments):
        result = CliRunner().invoke(main, list(map(str, arguments)))
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result.exit_code, result.stdout, result.stderr

    return invoke


@pytest.fixture(scope="session")
def extend_page():
    """The module that reads the page on extensions."""
    path = Path(__file__).parents[1] / "support" / "extend_page.py"
    spec = importlib.util.spec_from_file_location("support_extend_page", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def site(extend_page, tmp_path_factory):
    """A folder of packages with the page's package in it."""
    folder = tmp_path_factory.mktemp("package")
    extend_page.install(folder / "source", folder / "site")
    return folder / "site"
