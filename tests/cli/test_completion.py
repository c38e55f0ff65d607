"""Completion in shells, by click's protocol; in bash, by its own script."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import get_completion_class
from click.testing import CliRunner

from truegrade.benchmarks import REGISTRY as BENCHMARKS
from truegrade.cli import main
from truegrade.cli.files import VARIABLE
from truegrade.models import list_models
from truegrade.pipeline.suites import SUITES
from truegrade.profiles import PROFILES

TRUEGRADE = str(Path(sys.executable).with_name("truegrade"))


def completed(*words):
    """What is offered for the last of these words."""
    shell = get_completion_class("bash")(main, {}, "truegrade", VARIABLE)
    return [(item.type, item.value) for item in shell.get_completions(list(words[:-1]), words[-1])]


def names(*words):
    return {value for kind, value in completed(*words) if kind == "plain"}


@pytest.mark.parametrize(
    "words", [["run"], ["run", "--no-grade"], ["grade", "x.jsonl", "--benchmark"], ["serve", "-b"]]
)
def test_benchmarks(words):
    suites = set(SUITES) if words[0] == "run" else set()
    assert names(*words, "") == set(BENCHMARKS.built_in) | suites
    assert names(*words, "cruxeval") == {"cruxeval-input", "cruxeval-output"}


@pytest.mark.parametrize(
    "words",
    [
        ["run", "humaneval", "--as"],
        ["run", "humaneval", "--as", "strict", "--as"],
        ["grade", "runs/a", "--as"],
        ["compare", "runs/a", "--as"],
        ["list", "profiles"],
        ["list", "profiles", "strict", "--diff"],
    ],
)
def test_profiles(words):
    assert names(*words, "") == set(PROFILES)
    assert names(*words, "lm-") == {name for name in PROFILES if name.startswith("lm-")}


def test_kinds_and_their_names():
    assert {"suites", "searchers"} <= names("list", "")
    assert names("list", "suites", "") == set(SUITES)
    assert "gpt-4o-mini" in names("list", "models", "gpt-4o-m")


def test_models_by_whole_names():
    offered = names("run", "humaneval", "--model", "")
    assert {"baseline/lookup", "embedded/truegrade-micro"} <= offered
    presets = {each.name for each in list_models() if each.kind == "preset"}
    assert presets and presets <= offered
    assert not any(name != name.lower() and name not in presets for name in offered), "no pattern to fill in"


def test_a_file_can_stand_for_a_name():
    assert completed("run", "./mine") == [("file", "./mine")]
    assert completed("run", "x", "--as", "./mine") == [("file", "./mine")]


def test_a_package_s_names_are_offered_without_loading_it(monkeypatch, tmp_path):
    info = tmp_path / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[truegrade.profiles]\ntheirs = no_such_module:Theirs\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert names("run", "x", "--as", "the") == {"theirs"}


def test_commands_and_options():
    assert {"run", "report"} <= names("r")
    assert names("run", "x", "--max-c") == {"--max-connections", "--max-cost"}
    assert names("completion", "") == {"bash", "zsh", "fish"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_asks_truegrade(shell):
    done = CliRunner().invoke(main, ["completion", shell])
    assert done.exit_code == 0 and f"{VARIABLE}={shell}_complete" in done.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes(tmp_path):
    ask = (
        'eval "$(truegrade completion bash)"; COMP_WORDS=(truegrade run humanevalp); COMP_CWORD=2;'
        ' _truegrade_completion truegrade; echo "${COMPREPLY[@]}"'
    )
    path = f"{Path(TRUEGRADE).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", ask], cwd=tmp_path, env=os.environ | {"PATH": path}, capture_output=True, text=True
    )
    assert done.stdout == "humanevalplus\n", done.stderr


def test_nothing_heavy_is_imported_for_it():
    """It answers a key: 0.15 s of CPU time; what would double that stays out."""
    code = f"""
import os, sys
os.environ.update({{"{VARIABLE}": "bash_complete", "COMP_WORDS": "truegrade run x --as s", "COMP_CWORD": "4"}})
from truegrade.cli import main
try:
    main(prog_name="truegrade")
except SystemExit:
    print(*{{"openai", "numpy", "pandas", "httpx2", "starlette", "rich"}} & sys.modules.keys(), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "plain,strict" in done.stdout
    assert done.stderr == "\n"
