"""Adapters trained in numpy: deterministic, whole or absent, and right in what they report."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest

from support import tiny_llama
from truegrade.apps.evolve.genomes import AdapterGenes, TrainingGenes
from truegrade.apps.evolve.training.lessons import Lesson, TrainingOrder
from truegrade.apps.evolve.training.micro_trainer import EmbeddedTrainer, encoded
from truegrade.errors import BadRecord, UserError
from truegrade.models.embedded import EmbeddedEngine
from truegrade.models.micro.micro_adapters import read_metadata, read_tensors
from truegrade.models.micro.tokenizer import read_tokenizer
from truegrade.models.micro.training import TrainingExample
from truegrade.records import Message, Prompt


def lesson(asked, reply, style="chat", begun=None):
    messages = [Message(role="user", content=asked)]
    if begun is not None:
        messages.append(Message(role="assistant", content=begun))
    return Lesson(problem=asked, prompt=Prompt(messages=tuple(messages), style=style, source="test"), reply=reply)


LESSONS = [lesson(f"def f{n}(x): " + "y" * n, f"return {n}") for n in range(13)]


def order(base, *, kind="lora", modules=("q_proj", "down_proj"), **changes):
    genes = {"rank": 2, "alpha": 4.0, "dropout": 0.1, **{k: changes.pop(k) for k in list(changes) if k in GENES}}
    training = {"learning_rate": 1e-2, "epochs": 2, **{k: changes.pop(k) for k in list(changes) if k in TRAINING}}
    return TrainingOrder(
        base=base,
        adapter=AdapterGenes(kind=kind, modules=modules, **genes),
        training=TrainingGenes(**training),
        **{"seed": 1, "batch_size": 4, **changes},
    )


GENES, TRAINING = {"rank", "alpha", "dropout"}, {"learning_rate", "epochs"}


@pytest.fixture(scope="module")
def trainer(llama_folder):
    return EmbeddedTrainer(f"embedded/{llama_folder}")


def digest(folder):
    return [
        hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in sorted(p.name for p in folder.iterdir())
    ]


@pytest.mark.parametrize("kind", ["lora", "dora"])
def test_losses_fall_and_the_folder_is_an_adapter(trainer, llama_folder, tmp_path, kind):
    trained = trainer.train(order(trainer.base, kind=kind, epochs=6), LESSONS, tmp_path / "new" / "a")
    assert len(trained.losses) == 6 and trained.losses[-1] < trained.losses[0] * 0.8
    tensors = read_tensors(trained.folder / "adapter_model.safetensors")
    assert trained.parameters == sum(tensor.size for tensor in tensors.values())
    tokenizer = read_tokenizer(llama_folder / "tokenizer.json")
    assert trained.tokens == 6 * sum(len(encoded(one, tokenizer).tokens) for one in LESSONS)
    assert trained.cpu_s > 0 and trained.cut == 0
    base = hashlib.sha256((llama_folder / "model.safetensors").read_bytes()).hexdigest()
    assert read_metadata(trained.folder / "adapter_model.safetensors")["base_sha256"] == base
    assert sorted(path.name for path in trained.folder.parent.iterdir()) == ["a"]  # nothing half-written is left
    assert EmbeddedEngine(llama_folder, adapter=trained.folder).name.count("+") == 1


def test_the_adapter_belongs_to_its_weights(trainer, tmp_path):
    folder = trainer.train(order(trainer.base, epochs=1), LESSONS[:4], tmp_path / "a").folder
    other = tiny_llama.write_llama(tmp_path / "other", seed=9)
    with pytest.raises(BadRecord, match="trained on other weights"):
        EmbeddedEngine(other, adapter=folder)


def test_the_same_order_gives_the_same_bytes_in_any_process(trainer, llama_folder, tmp_path):
    """Other processes, other hash seeds, other numbers of threads allowed to the linear algebra."""
    code = f"""
import sys; sys.path[:0] = [{str(Path(__file__).parent)!r}]
from pathlib import Path
from test_embedded_trainer import EmbeddedTrainer, LESSONS, order
trainer = EmbeddedTrainer({trainer.base!r})
trainer.train(order(trainer.base, kind="dora"), LESSONS, Path(sys.argv[1]))
"""
    here = trainer.train(order(trainer.base, kind="dora"), LESSONS, tmp_path / "here").folder
    for number, threads in enumerate(("1", "2")):
        environment = {"PYTHONHASHSEED": str(number + 7), "OPENBLAS_NUM_THREADS": threads}
        there = tmp_path / str(number)
        path = ":".join(filter(None, sys.path))
        done = subprocess.run(
            [sys.executable, "-c", code, str(there)],
            env={**os.environ, **environment, "PYTHONPATH": path},
            capture_output=True,
        )
        assert done.returncode == 0, done.stderr
        assert digest(there) == digest(here)


@pytest.mark.parametrize(
    "changes",
    [{"seed": 2}, {"dropout": 0.2}, {"learning_rate": 2e-2}, {"epochs": 1}, {"loss_on": "all"}, {"batch_size": 3}],
)
def test_whatever_is_ordered_otherwise_changes_the_adapter(trainer, tmp_path, changes):
    one = trainer.train(order(trainer.base), LESSONS, tmp_path / "one").folder / "adapter_model.safetensors"
    other = trainer.train(order(trainer.base, **changes), LESSONS, tmp_path / "other").folder
    assert one.read_bytes() != (other / "adapter_model.safetensors").read_bytes()


def test_lessons_in_the_layout_of_the_model(llama_folder):
    tokenizer = read_tokenizer(llama_folder / "tokenizer.json")
    user, assistant, end = (tokenizer.special[name] for name in ("<|user|>", "<|assistant|>", "<|end|>"))

    def text(value):
        return tuple(tokenizer.encode(value))

    asked, reply = text("def"), text("return")
    assert encoded(lesson("def", "return"), tokenizer) == TrainingExample(
        (user, *asked, assistant, *reply, end), 2 + len(asked)
    )
    assert encoded(lesson("def", "return", "text"), tokenizer) == TrainingExample(
        (user, *asked, *reply, end), 1 + len(asked)
    )
    begun = encoded(lesson("def", "return", begun="x"), tokenizer)
    assert begun == TrainingExample((user, *asked, assistant, *text("x"), *reply, end), 3 + len(asked))
    assert encoded(lesson("def", "return"), tokenizer, everything=True).learned_from == 1


def test_long_lessons_are_cut_and_counted(trainer, tmp_path):
    long = [lesson("x" * 30, "y" * 40), lesson("x" * 90, "y"), lesson("x", "y")]
    trained = trainer.train(order(trainer.base, longest=50, epochs=1), long, tmp_path / "a")
    assert trained.cut == 2
    assert trained.tokens == 50 + 5  # one lesson lost its whole reply and teaches nothing
    with pytest.raises(UserError, match="leave nothing to learn within 20 tokens"):
        trainer.train(order(trainer.base, longest=20), long[:2], tmp_path / "b")
    with pytest.raises(UserError, match="0 lessons leave nothing"):
        trainer.train(order(trainer.base), [], tmp_path / "b")
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rank": 0}, "adapter.rank = 0"),
        ({"dropout": 1.0}, "adapter.dropout = 1.0"),
        ({"alpha": float("nan")}, "adapter.alpha"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"epochs": 0}, "training.epochs = 0"),
        ({"batch_size": 0}, "batch_size"),
        ({"modules": ("c_attn",)}, "no module 'c_attn'"),
        ({"modules": ()}, "an adapter of no modules"),
    ],
)
def test_orders_out_of_range(trainer, tmp_path, changes, message):
    with pytest.raises(UserError, match=message):
        trainer.train(order(trainer.base, **changes), LESSONS, tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_folders_that_hold_something_are_left_alone(trainer, tmp_path):
    full, empty = tmp_path / "full", tmp_path / "empty"
    full.mkdir(), empty.mkdir()
    (full / "note").write_text("mine")
    with pytest.raises(UserError, match="name one that is empty or absent"):
        trainer.train(order(trainer.base, epochs=1), LESSONS[:4], full)
    assert [path.name for path in full.iterdir()] == ["note"]
    assert trainer.train(order(trainer.base, epochs=1), LESSONS[:4], empty).folder == empty
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "full"]


def test_other_bases(trainer, llama_folder, tmp_path):
    with pytest.raises(UserError, match="is not trained in numpy"):
        EmbeddedTrainer("hf/x")
    with pytest.raises(UserError, match="is ordered, but"):
        trainer.train(order("embedded/another"), LESSONS, tmp_path / "a")
    with pytest.raises(BadRecord, match=r"config\.json"):
        EmbeddedTrainer(f"embedded/{tmp_path}")
    assert len(trainer.base_sha256) == 64
    assert trainer.versions["numpy"] == np.__version__ and trainer.versions["blas"]
    copied = tmp_path / "copy"
    copied.mkdir()
    for path in llama_folder.iterdir():
        (copied / path.name).write_bytes(path.read_bytes())
    assert EmbeddedTrainer(f"embedded/{copied}").base_sha256 == trainer.base_sha256
    config = json.loads((copied / "config.json").read_text())
    (copied / "config.json").write_text(json.dumps({**config, "rope_theta": 9.0}))
    assert EmbeddedTrainer(f"embedded/{copied}").base_sha256 != trainer.base_sha256


def test_what_is_returned_can_be_stored(trainer, tmp_path):
    trained = trainer.train(order(trainer.base, epochs=1), LESSONS[:4], tmp_path / "a")
    stored = msgspec.json.decode(msgspec.json.encode(trained, enc_hook=str))
    assert stored["losses"] == list(trained.losses)
