"""What a token costs in training an adapter of the included model, beside PEFT where that is installed.

    python -m bench finetuning [FOLDER] [--lessons 96] [--epochs 2] [--rank 8] [--rounds 1]

The same repairs, batches of 8, float32, one thread on both sides. PEFT works on padded batches, sorted by length
so that little is padding; padding is not counted. Without a folder the shipped weights are trained.
"""

from __future__ import annotations

import random
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from bench.rounds import Cost, Way, compare, parser, table
from truegrade import prompts
from truegrade.apps.evolve.genomes import AdapterGenes, TrainingGenes
from truegrade.apps.evolve.training.cache import peft_config
from truegrade.apps.evolve.training.lessons import Lesson, TrainingOrder
from truegrade.apps.evolve.training.micro_trainer import EmbeddedTrainer, encoded
from truegrade.builders.repair_items import draw_item
from truegrade.builders.repair_programs import UNSEEN
from truegrade.models.micro import WEIGHTS
from truegrade.models.micro.micro_adapters import MODULES
from truegrade.models.micro.tokenizer import read_tokenizer
from truegrade.records import Message, Prompt

CASES = (("lora", 4, 0.0), ("lora", 4, 0.05), ("dora", 4, 0.0), ("lora", 7, 0.05), ("dora", 7, 0.05))
"""Kind, how many of a block's layers get an update, dropout."""
BATCH_SIZE = 8


def main() -> None:
    """Measure and print."""
    given = parser(__doc__, rounds=1, workers=None)
    given.add_argument("folder", nargs="?", type=Path, default=WEIGHTS)
    given.add_argument("--lessons", type=int, default=96)
    given.add_argument("--epochs", type=int, default=2)
    given.add_argument("--rank", type=int, default=8)
    options = given.parse_args()
    lessons = [_lesson(random.Random(number)) for number in range(options.lessons)]
    trainer = EmbeddedTrainer(f"embedded/{options.folder}")
    print(f"{trainer.versions}; rank {options.rank}, {options.epochs} epochs of {options.lessons} lessons")
    tokenizer = read_tokenizer(options.folder / "tokenizer.json")
    tokens = options.epochs * sum(len(encoded(lesson, tokenizer).tokens) for lesson in lessons)
    with table("peft", "torch"):
        for kind, count, dropout in CASES:
            order = TrainingOrder(
                base=trainer.base,
                adapter=AdapterGenes(
                    kind=kind,
                    rank=options.rank,
                    alpha=2.0 * options.rank,
                    dropout=dropout,
                    modules=MODULES[:count],
                ),
                training=TrainingGenes(learning_rate=3e-3, epochs=options.epochs),
                seed=0,
                batch_size=BATCH_SIZE,
                longest=1024,
            )
            ways: dict[str, Way] = {"truegrade": lambda order=order: _trained(trainer, order, lessons)}
            if find_spec("peft") is not None:
                ways["PEFT"] = lambda order=order: _with_peft(order, lessons, options.folder)
            work = f"tokens, {kind} of {count} layers, dropout {dropout}"
            compare(work, ways, options.rounds, amount=tokens)


def _trained(trainer: EmbeddedTrainer, order: TrainingOrder, lessons: list[Lesson]) -> Cost:
    """Ours; loading is not counted."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        trained = trainer.train(order, lessons, Path(scratch) / "adapter")
    return Cost(trained.cpu_s, time.perf_counter() - began)


def _lesson(rng: random.Random) -> Lesson:
    item = draw_item(rng, UNSEEN)
    asked = prompts.render("quixbugs.repair", name=item.program.name, buggy=item.buggy)
    prompt = Prompt(messages=(Message(role="user", content=asked),), source="bench")
    return Lesson(problem=item.identity, prompt=prompt, reply=f"```python\n{item.program.source}\n```")


def _with_peft(order: TrainingOrder, lessons: list[Lesson], folder: Path) -> Cost:
    """The same work by torch, transformers and PEFT; loading is not counted."""
    import peft
    import torch
    import transformers

    torch.set_num_threads(1)
    torch.manual_seed(0)
    base = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    settings = {**peft_config(order), "inference_mode": False}
    del settings["peft_type"]
    model = peft.get_peft_model(base, peft.LoraConfig(**settings)).train()
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=order.training.learning_rate, weight_decay=0.0)
    tokenizer = read_tokenizer(folder / "tokenizer.json")
    examples = sorted((encoded(lesson, tokenizer) for lesson in lessons), key=lambda example: len(example.tokens))
    began, began_wall = time.process_time(), time.perf_counter()
    for _ in range(order.training.epochs):
        for begin in range(0, len(examples), order.batch_size):
            batch = examples[begin : begin + order.batch_size]
            longest = max(len(example.tokens) for example in batch)
            ids = torch.tensor([[*e.tokens, *[0] * (longest - len(e.tokens))] for e in batch])
            mask = torch.tensor([[1] * len(e.tokens) + [0] * (longest - len(e.tokens)) for e in batch])
            labels = ids.masked_fill(mask == 0, -100)
            for row, example in enumerate(batch):
                labels[row, : example.learned_from] = -100
            optimiser.zero_grad()
            model(input_ids=ids, attention_mask=mask, labels=labels).loss.backward()
            torch.nn.utils.clip_grad_norm_(trained, 1.0)
            optimiser.step()
    return Cost(time.process_time() - began, time.perf_counter() - began_wall)
