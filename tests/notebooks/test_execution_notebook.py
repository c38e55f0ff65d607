"""The Colab notebook runs from top to bottom, against a real engine with a tiny model in the place of gpt-oss.

No kernel is started: the cells are plain Python, and run here in one fresh interpreter in the order they stand.
"""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import truegrade
from truegrade.analysis.standings import standings
from truegrade.errors import UserError

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "execution_reasoning.ipynb"
RUNNER = """
import json, sys
cells = [cell for cell in json.load(open(sys.argv[1]))["cells"] if cell["cell_type"] == "code"]
scope = {"__name__": "__main__"}
for cell in cells:
    print("#", cell["id"], flush=True)
    exec(compile("".join(cell["source"]), cell["id"], "exec"), scope)
"""


def cells(kind):
    return [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == kind]


def execute(folder, **settings):
    """What the notebook prints, run in this folder; small numbers, unless told otherwise."""
    small = {"MODEL": "tiny-random", "ENGINE": "server", "LIMIT": "1", "MAX_TOKENS": "16", "PROGRAMS": "4"}
    command, environment = [sys.executable, "-c", RUNNER, str(NOTEBOOK)], os.environ | small | settings
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_it_is_a_notebook_without_outputs_and_without_magic():
    document = json.loads(NOTEBOOK.read_text())
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in document["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in cells("code"):
        assert cell["outputs"] == [] and cell["execution_count"] is None
        ast.parse("".join(cell["source"]))


@pytest.mark.parametrize(
    ("settings", "effort"),
    [
        ({}, "low"),
        ({"ENGINE": "server"}, ""),
        ({"MODEL": "Qwen/Qwen3-8B"}, ""),
        ({"REASONING_EFFORT": "high"}, "high"),
    ],
)
def test_effort_is_asked_only_of_servers_known_to_take_it(settings, effort):
    code = "".join(
        next(cell["source"] for cell in cells("code") if "REASONING_EFFORT =" in "".join(cell["source"]))
    )
    code = f"import os\nos.environ.clear(); os.environ.update({settings!r})\n{code}\nprint(repr(REASONING_EFFORT))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == repr(effort)


@pytest.mark.parametrize(
    ("made", "at", "source"),
    [
        (["src/truegrade"], "notebooks", ".."),
        (["src/truegrade"], ".", "."),
        (["truegrade-0.1.0-py3-none-any.whl"], ".", "truegrade-0.1.0-py3-none-any.whl"),
        (["truegrade-0.1.0-py3-none-any.whl", "src/truegrade"], ".", "."),
        ([], ".", ""),
    ],
)
def test_it_installs_the_checkout_or_the_wheel_that_it_lies_in_or_beside(made, at, source, tmp_path):
    """No release is needed, and no package index is asked for one."""
    for name in (*made, at):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
    code = next("".join(cell["source"]) for cell in cells("code") if "SOURCE =" in "".join(cell["source"]))
    settings = [sys.executable, "-I", "-c", f"{code}\nprint(SOURCE)"]
    without = {key: value for key, value in os.environ.items() if key != "SOURCE"}
    done = subprocess.run(settings, cwd=tmp_path / at, env=without, capture_output=True, text=True, check=True)
    assert done.stdout == f"{source}\n"


def test_without_truegrade_and_without_a_source_the_cell_says_what_to_set(tmp_path):
    """The notebook's own cells in an interpreter that has nothing of Truegrade, in a folder without a checkout."""
    first_two = json.loads(NOTEBOOK.read_text())
    first_two["cells"] = [cell for cell in first_two["cells"] if cell["cell_type"] == "code"][:2]
    (tmp_path / "two.ipynb").write_text(json.dumps(first_two))
    bare = [sys.executable, "-I", "-S", "-c", RUNNER, str(tmp_path / "two.ipynb")]
    done = subprocess.run(bare, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert "no Truegrade at '': set SOURCE to a checkout, a wheel or a git address" in done.stderr


@pytest.mark.slow
@pytest.mark.thorough
def test_it_makes_a_set_starts_and_stops_a_server_and_again_on_the_file_it_asks_nothing(llama_server, tmp_path):
    """An executable named vllm stands for the engine: it notes its end, and the model answers elsewhere."""
    engine, ended = tmp_path / "bin" / "vllm", tmp_path / "ended"
    engine.parent.mkdir()
    engine.write_text(
        f"#!{shutil.which('sh')}\ntrap 'echo \"$@\" > ended; exit 0' TERM\nwhile :; do sleep 0.1; done\n"
    )
    engine.chmod(0o755)
    path = f"{engine.parent}{os.pathsep}{os.environ['PATH']}"
    done = execute(tmp_path, BASE_URL=llama_server, ENGINE="vllm", PATH=path)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert len((tmp_path / "dsl-list.jsonl").read_text().splitlines()) == 4
    assert ended.read_text() == "serve tiny-random\n"
    ended.unlink()
    prediction = truegrade.load(tmp_path / "runs" / "prediction")
    profiles = [profile.partition("@")[0] for profile in prediction.profiles]
    assert profiles == ["strict", "seed-regex", "code-reasoning", "paper-tags"]
    assert prediction.manifest.generation.model == "openai-compatible/tiny-random"
    assert len(list(prediction.verdicts("strict"))) == 6
    assert len(list(truegrade.load(tmp_path / "runs" / "choice").verdicts())) == 6
    folders = [tmp_path / "runs" / "lookup", tmp_path / "runs" / "prediction"]
    models = [row.model for row in standings(folders, profile="strict")]
    assert models == ["baseline/lookup", "openai-compatible/tiny-random"]
    assert (tmp_path / "runs.zip").stat().st_size > 1000
    again = execute(tmp_path, BASE_URL=llama_server, DATASET="dsl-list.jsonl")
    assert again.returncode == 0, again.stderr[-3000:]
    assert not ended.exists(), "a server that was there is left alone"
    assert len(list(prediction.completions())) == 6, "a second run of all cells asks nothing again"


@pytest.mark.slow
def test_what_fails_is_said(tmp_path):
    done = execute(tmp_path, BASE_URL="http://127.0.0.1:9/v1")
    assert done.returncode == 1
    assert "RuntimeError: nothing answers at http://127.0.0.1:9/v1" in done.stderr
    with pytest.raises(UserError):
        truegrade.load(tmp_path / "runs" / "prediction")
