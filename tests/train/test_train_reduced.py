"""The recipe at a reduced scale: the loss falls, and accuracy rises above what needs no model.

The scale is a matter of settings alone: two layers, shallow programs to predict, a fiftieth of the full run's
tokens. Asked are the shallow programs of DSL-List, which training keeps out.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from traced_programs import TracedPrograms

from truegrade.benchmarks import load_benchmark
from truegrade.builders.dsl_list import DslListOptions, build
from truegrade.sandbox import Limits, Sandbox

ROOT = Path(__file__).parents[2]

SETTINGS = {
    "layers": 2, "shards": 6, "shard_examples": 1200, "shallow_shards": 6, "shallow": 1.0, "repair": 0.0,
    "prediction": 1.0, "batch_tokens": 2048, "warmup_steps": 20, "decay": 0.5,
}  # fmt: skip
STOPPED = SETTINGS | {"shards": 2, "decay": 1e-6}
"""The first third of the same run, for the rates have not begun to fall."""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a run that was stopped once and went on: about 80 CPU seconds, and as many around them."""
    pytest.importorskip("torch", reason="training needs the extra [train]: torch, safetensors, tokenizers")
    pytest.importorskip("tokenizers", reason="training needs the extra [train]")
    folder = tmp_path_factory.mktemp("reduced")
    settings = folder / "settings.json"
    for decided in (STOPPED, SETTINGS):
        settings.write_text(json.dumps(decided))
        started = [sys.executable, "-m", "train.train", "--settings", str(settings), "--folder", str(folder)]
        subprocess.run(started, cwd=ROOT, check=True, timeout=1800)
    return folder


@pytest.fixture(scope="module")
def shallow_programs(tmp_path_factory):
    """The rows of DSL-List that are at most three levels deep, as a built file."""
    rows = [row for row in build(DslListOptions(size=500, seed=0), TracedPrograms()) if row.depth <= 3]
    path = tmp_path_factory.mktemp("built") / "dsl-list.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    return path


@pytest.mark.slow
def test_the_loss_falls_and_a_stopped_run_goes_on(run):
    log = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    assert [entry["shard"] for entry in log] == list(range(6))
    losses = [entry["loss"] for entry in log]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.1 * losses[0]


@pytest.mark.slow
def test_it_learns_to_execute_programs_that_it_never_saw(run, shallow_programs, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from train.score import baselines, load, score
    from train.settings import read_settings

    problems = load_benchmark("dsl-list", shallow_programs, {"programs": "original"}).problems
    with Sandbox(Limits(cpu_s=2), workers=1, allow_unsafe=True) as jail:
        table = score(*load(run, read_settings(run / "settings.json")), problems, jail)
    learned = table["prediction, original"]
    assert learned["of"] == len(problems) == 147
    # three cases of a program are not independent: not only are the intervals apart, they are far apart
    without_model = baselines(problems)
    assert len(without_model) == 2
    assert learned["low"] > 2 * max(figures["high"] for figures in without_model.values())
