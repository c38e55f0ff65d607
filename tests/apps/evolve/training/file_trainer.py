"""A trainer that really writes files and needs no model: its adapter is a digest of what it was given."""

import hashlib
import json
import os
import signal
import sys
from pathlib import Path

import msgspec

from truegrade.apps.evolve.genomes import AdapterGenes, TrainingGenes
from truegrade.apps.evolve.training.cache import AdapterCache
from truegrade.apps.evolve.training.lessons import Lesson, Trained, TrainingOrder
from truegrade.records import Message, Prompt


class FileTrainer:
    """See `truegrade.apps.evolve.training.lessons.Trainer`; each training leaves one line in a log.

    Args:
        log: counts the trainings.
        die: whether to kill the process halfway.
        changes: other hashes and versions.
    """

    def __init__(self, log, die=False, **changes):
        self.log, self.die = Path(log), die
        self.base = changes.get("base", "test/base")
        self.base_sha256 = changes.get("base_sha256", "0" * 64)
        self.versions = changes.get("versions", {"test": "1"})

    def train(self, order, lessons, folder):
        with self.log.open("a") as file:
            file.write("trained\n")
        assert not folder.exists()
        folder.mkdir(parents=True)
        (folder / "adapter_config.json").write_bytes(msgspec.json.encode(order))
        if self.die:
            os.kill(os.getpid(), signal.SIGKILL)
        digest = hashlib.sha256(msgspec.json.encode([order, list(lessons)])).digest()
        (folder / "adapter_model.safetensors").write_bytes(digest * 100)
        return Trained(folder=folder, parameters=1, losses=(1.0,), tokens=9, cpu_s=0.5)

    def close(self):
        pass


def order(**changes):
    genes = AdapterGenes(kind="lora", rank=2, alpha=4.0, dropout=0.0, modules=("q_proj",))
    training = TrainingGenes(learning_rate=1e-3, epochs=1)
    return msgspec.structs.replace(
        TrainingOrder(base="test/base", adapter=genes, training=training, seed=0), **changes
    )


def some_lessons():
    prompt = Prompt(messages=(Message(role="user", content="p"),), source="test")
    return [Lesson(problem=f"made/{number}", prompt=prompt, reply=str(number)) for number in range(3)]


if __name__ == "__main__":
    cache_folder, log, die = sys.argv[1], sys.argv[2], sys.argv[3] == "die"
    cached = AdapterCache(Path(cache_folder)).trained(FileTrainer(log, die), order(), some_lessons())
    print(json.dumps({"sha256": cached.sha256, "hit": cached.hit}))
