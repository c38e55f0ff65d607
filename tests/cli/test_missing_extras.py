"""Where an optional package is missing, a command says so in one line with its extra, before any work."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from truegrade.cli import main
from truegrade.files.extras import has_package

SUITE = {
    "id": "a", "prompt": "Write f, which returns its argument.", "entry_point": "f", "framework": "pytest",
    "tests": "def test_f():\n    assert f(2) == 2\n", "reference": "def f(x):\n    return x\n",
}  # fmt: skip
ANSWER = {"task_id": "a", "solution": SUITE["reference"]}
RUN = "run micro-repair --limit 1 --model"
COMMANDS = {
    "pytest": ("pytest", "assay repository tree --out out"),
    "pytest (build)": ("pytest", "data build repository tree --out out"),
    "pytest (a suite)": ("pytest", "run suite.jsonl --model baseline/reference --out out"),
    "pytest (a file)": ("pytest", "grade answers.jsonl --benchmark suite.jsonl --out out"),
    "serve": ("prometheus_client", "serve --no-token --port 0"),
    "ray": ("ray", "grade answers.jsonl --benchmark suite.jsonl --executor ray --out out"),
    "mlflow": ("mlflow", f"{RUN} baseline/reference --log-to mlflow --out out"),
    "wandb": ("wandb", f"{RUN} baseline/reference --log-to wandb:p --out out"),
    "tensorboard": ("tensorboardX", f"{RUN} baseline/reference --log-to tensorboard:out --out out"),
    "local": ("torch", f"{RUN} hf/x --out out"),
    "gguf": ("xllamacpp", f"{RUN} gguf/x --out out"),
    "anthropic": ("anthropic", f"{RUN} anthropic/x --out out"),
    "hub": ("huggingface_hub", "data pull hf:nobody/nothing"),
    "parquet": ("pyarrow", "run livecodebench --data rows.parquet --model baseline/reference --out out"),
}
"""Extra, and which use of it -> the module that is missing, and the command."""


@pytest.mark.parametrize("use", COMMANDS)
def test_one_line_names_the_extra_before_any_work(use, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "suite.jsonl").write_text(json.dumps(SUITE) + "\n")
    (tmp_path / "answers.jsonl").write_text(json.dumps(ANSWER) + "\n")
    (tmp_path / "rows.parquet").write_bytes(b"PAR1")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/own.py").write_text("def twice(number: int) -> int:\n    return 2 * number\n")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    module, command = COMMANDS[use]
    monkeypatch.setitem(sys.modules, module, None)
    done = CliRunner().invoke(main, command.split())
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    (line,) = done.stderr.splitlines()
    assert f"pip install 'truegrade[{use.split()[0]}]'" in line
    assert not (tmp_path / "out").exists()


def test_doctor_imports_what_apps_declare_without_pytest():
    code = "import sys; sys.modules['pytest'] = None; from truegrade.cli import main; main(['doctor'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "warning: app" not in done.stdout, done.stdout


def test_a_module_is_missing_where_the_package_around_it_is():
    assert not has_package("no_package_at_all.client")
