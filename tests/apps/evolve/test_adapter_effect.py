"""Training does what it is for: bugs of unseen classes are repaired more often, through the whole line."""

import random

import pytest

import truegrade
from truegrade import prompts
from truegrade.apps.evolve.genomes import AdapterGenes, TrainingGenes
from truegrade.apps.evolve.training.lessons import Lesson, TrainingOrder
from truegrade.apps.evolve.training.micro_trainer import EmbeddedTrainer
from truegrade.builders.repair_items import draw_item
from truegrade.builders.repair_programs import UNSEEN
from truegrade.models.embedded import EARLY, EmbeddedEngine
from truegrade.models.local import LocalModel
from truegrade.models.micro import EARLY_WEIGHTS
from truegrade.models.micro.micro_adapters import MODULES
from truegrade.records import Message, Prompt
from truegrade.records.config import RequestPolicy

ITEMS = 60

pytestmark = [
    pytest.mark.slow,
    pytest.mark.thorough,
    pytest.mark.skipif(not (EARLY_WEIGHTS / "config.json").is_file(), reason="no weights are shipped"),
]


def lessons(count):
    """Repairs of seen programs; none is an item of the benchmark's split of unseen programs."""
    rng = random.Random("lessons")
    for number in range(count):
        item = draw_item(rng, UNSEEN, lambda program, _: program.seen)
        asked = prompts.render("quixbugs.repair", name=item.program.name, buggy=item.buggy)
        yield Lesson(
            problem=f"lesson/{number}",
            prompt=Prompt(messages=(Message(role="user", content=asked),), source="test"),
            reply=f"```python\n{item.program.source}\n```",
        )


def passed(folder, adapter):
    """Items repaired, of unseen programs with unseen bugs."""
    model = LocalModel(EmbeddedEngine(EARLY_WEIGHTS, EARLY, adapter), RequestPolicy())
    run = truegrade.run(
        "micro-repair", model=model, task_args={"split": "unseen-unseen", "size": str(ITEMS)}, out=folder
    )
    assert run.manifest.generation.model == model.name
    return sum(verdict.passed for verdict in run.verdicts("strict"))


def test_an_adapter_repairs_more_unseen_bugs(tmp_path):
    genes = AdapterGenes(kind="lora", rank=8, alpha=16.0, dropout=0.05, modules=MODULES)
    order = TrainingOrder(
        base=f"embedded/{EARLY}",
        adapter=genes,
        training=TrainingGenes(learning_rate=3e-3, epochs=3),
        seed=0,
    )
    trained = EmbeddedTrainer(order.base).train(order, list(lessons(96)), tmp_path / "adapter")
    assert trained.losses[-1] < 0.5 * trained.losses[0]
    base, adapted = passed(tmp_path / "base", None), passed(tmp_path / "adapted", trained.folder)
    print(f"base {base / ITEMS:.3f}, adapted {adapted / ITEMS:.3f} in {trained.cpu_s:.1f} CPU-s")
    assert adapted >= base + 0.05 * ITEMS
