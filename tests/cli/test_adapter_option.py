"""``--adapter``: for every model that takes one, part of a run's identity, and an error everywhere else."""

import json

import pytest
from click.testing import CliRunner

from truegrade.apps.evolve.genomes import AdapterGenes, TrainingGenes
from truegrade.apps.evolve.training.lessons import Lesson, TrainingOrder
from truegrade.apps.evolve.training.micro_trainer import EmbeddedTrainer
from truegrade.cli import main
from truegrade.models.local import adapter_sha256
from truegrade.records import Message, Prompt


@pytest.fixture(scope="module")
def adapters(llama_folder, tmp_path_factory):
    """Two adapters of the tiny model."""
    trainer = EmbeddedTrainer(f"embedded/{llama_folder}")
    genes = AdapterGenes(kind="dora", rank=2, alpha=4.0, dropout=0.0, modules=("q_proj",))
    prompt = Prompt(messages=(Message(role="user", content="def f(x):"),), source="test")
    folder = tmp_path_factory.mktemp("adapters")
    for seed in (0, 1):
        training = TrainingGenes(learning_rate=0.05, epochs=2)
        order = TrainingOrder(base=trainer.base, adapter=genes, training=training, seed=seed)
        trainer.train(order, [Lesson(problem="x", prompt=prompt, reply="return 7")], folder / str(seed))
    return folder


def invoke(*arguments):
    return CliRunner().invoke(main, list(map(str, arguments)))


@pytest.mark.slow
def test_a_run_with_another_adapter_is_another_run(llama_folder, adapters, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = (
        "run",
        "micro-repair",
        "-T",
        "size=12",
        "--no-grade",
        "--limit",
        "2",
        "--max-tokens",
        "4",
        "--model",
        f"embedded/{llama_folder}",
    )
    first = invoke(*asked, "--adapter", adapters / "0", "--out", "run")
    assert first.exit_code == 0, first.output
    generation = json.loads((tmp_path / "run" / "manifest.json").read_text())["generation"]
    sha256 = adapter_sha256(adapters / "0")
    assert generation["model"] == f"embedded/{llama_folder}+{sha256[:16]}"
    assert generation["model_args"] == {"adapter": f"sha256:{sha256}"}
    other = invoke(*asked, "--adapter", adapters / "1", "--out", "run")
    assert other.exit_code == 2
    assert "holds another run: generation.model (" in other.stderr
    assert invoke(*asked, "--out", "run").exit_code == 2
    same = invoke(*asked, "-M", f"adapter={adapters / '0'}", "--out", "run")
    assert same.exit_code == 0, same.output
    rows = [json.loads(line) for line in (tmp_path / "run" / "completions.jsonl").read_text().splitlines()]
    assert [row["model"] for row in rows] == [generation["model"]] * 2  # nothing was asked twice


@pytest.mark.parametrize(
    "model", [("--model", "baseline/buggy"), ("--model", "openai/x", "--base-url", "http://localhost:1/v1")]
)
def test_models_that_take_none(model, adapters, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    result = invoke(
        "run",
        "micro-repair",
        "-T",
        "size=12",
        "--no-grade",
        "-T",
        "size=2",
        *model,
        "--adapter",
        adapters / "0",
        "--out",
        tmp_path / "run",
    )
    assert result.exit_code == 2
    assert "takes no adapter here" in result.stderr and "--lora-modules" in result.stderr
    assert not (tmp_path / "run").exists()


def test_one_adapter_at_a_time(adapters):
    result = invoke(
        "run",
        "micro-repair",
        "-T",
        "size=12",
        "--no-grade",
        "-M",
        f"adapter={adapters / '1'}",
        "--adapter",
        adapters / "0",
    )
    assert result.exit_code == 2
    assert "--adapter and -M adapter" in result.stderr


def test_serving_an_adapter_that_is_not_there(llama_folder, tmp_path):
    result = invoke("serve-model", "--model", f"embedded/{llama_folder}", "--adapter", tmp_path)
    assert result.exit_code == 2
    assert "no adapter_config.json there" in result.stderr
