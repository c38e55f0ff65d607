"""Tokens per CPU-second of training an adapter of the included model; where PEFT is installed, its figure too.

    python bench/finetuning.py [FOLDER] [--lessons 96] [--epochs 2] [--rank 8]

The same repairs, batches of 8, float32, one thread on both sides. PEFT works on padded batches, sorted by length
so that little is padding; padding is not counted. Without a folder the shipped weights are trained.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=WEIGHTS)
    parser.add_argument("--lessons", type=int, default=96)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--rank", type=int, default=8)
    options = parser.parse_args()
    lessons = [_lesson(random.Random(number)) for number in range(options.lessons)]
    trainer = EmbeddedTrainer(f"embedded/{options.folder}")
    print(f"{trainer.versions}; rank {options.rank}, {options.epochs} epochs of {options.lessons} lessons")
    for kind, count, dropout in (CASES[0], *CASES):  # the first is measured twice, and the second figure counts
        genes = AdapterGenes(
            kind=kind,
            rank=options.rank,
            alpha=2.0 * options.rank,
            dropout=dropout,
            modules=MODULES[:count],
        )
        training = TrainingGenes(learning_rate=3e-3, epochs=options.epochs)
        order = TrainingOrder(
            base=trainer.base, adapter=genes, training=training, seed=0, batch_size=BATCH_SIZE, longest=1024
        )
        with tempfile.TemporaryDirectory() as scratch:
            trained = trainer.train(order, lessons, Path(scratch) / "adapter")
        ours = trained.tokens / trained.cpu_s
        print(f"{kind} of {count} layers, dropout {dropout:4}: {ours:6.0f} tokens/CPU-s", end="", flush=True)
        if find_spec("peft") is not None:
            theirs = _with_peft(order, lessons, options.folder)
            print(f"; PEFT {theirs:6.0f}, ratio {ours / theirs:.2f}", end="")
        print()


def _lesson(rng: random.Random) -> Lesson:
    item = draw_item(rng, UNSEEN)
    asked = prompts.render("quixbugs.repair", name=item.program.name, buggy=item.buggy)
    prompt = Prompt(messages=(Message(role="user", content=asked),), source="bench")
    return Lesson(problem=item.identity, prompt=prompt, reply=f"```python\n{item.program.source}\n```")


def _with_peft(order: TrainingOrder, lessons: list[Lesson], folder: Path) -> float:
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
    began = time.process_time()
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
    tokens = order.training.epochs * sum(len(example.tokens) for example in examples)
    return tokens / (time.process_time() - began)


if __name__ == "__main__":
    main()
