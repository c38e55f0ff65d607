"""LoRA and DoRA adapters of ``hf/...`` models, trained by PEFT on one base that is loaded once.

The seed is set before the adapter is initialised, and before every epoch: a training that was killed goes on after
its last whole epoch and ends with the same bytes. On a CPU the same order gives the same files; an accelerator
does not promise it.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from truegrade.apps.evolve.genomes import AdapterGenes
from truegrade.apps.evolve.training.cache import adapter_key
from truegrade.apps.evolve.training.lessons import Lesson, Trained, TrainingOrder, learned_from_lessons
from truegrade.datasets.learned import FILE, LearnedFrom, encoded
from truegrade.errors import UnknownName, UserError
from truegrade.files.extras import require
from truegrade.models.transformers_local import TransformersOptions, load, prompt_text, text_tokens
from truegrade.records import sha256_json
from truegrade.store.manifest import write_atomically

# -------------------------- Lessons as tokens for a transformers model, and the batches in which they are learned.


_WINDOW = 8
"""Batches' worth of lessons that are sorted by length together."""


class TokenizedLesson(NamedTuple):
    """One lesson in tokens."""

    tokens: tuple[int, ...]
    learned_from: int
    """Place of the first token that is learned."""
    cut: bool

    @property
    def learned(self) -> int:
        """How many tokens are learned."""
        return max(0, len(self.tokens) - self.learned_from)


def encode(lesson: Lesson, order: TrainingOrder, tokenizer: Any, end: int) -> TokenizedLesson:
    """The lesson as the model would have written it: the prompt's tokens, the reply's, and the end.

    The reply is tokenised behind the prompt, unless that would change the prompt's own last token: then apart.

    Args:
        lesson: prompt and reply.
        order: what is learned, and how many tokens there may be.
        tokenizer: of the model.
        end: the token that ends a reply.

    Raises:
        UserError: the prompt is a conversation and the model has no chat template.
    """
    text = prompt_text(tokenizer, lesson.prompt, order.base)
    prompt = text_tokens(tokenizer, lesson.prompt, text)
    tokens = text_tokens(tokenizer, lesson.prompt, text + lesson.reply)
    if tokens[: len(prompt)] != prompt:
        tokens = [*prompt, *tokenizer(lesson.reply, add_special_tokens=False)["input_ids"]]
    tokens = [*tokens, end]
    learned_from = 1 if order.loss_on == "all" else len(prompt)
    return TokenizedLesson(tuple(tokens[: order.longest]), learned_from, len(tokens) > order.longest)


def batches(lengths: Sequence[int], size: int, seed: int, epoch: int) -> list[list[int]]:
    """One epoch: every example once, batches of like lengths, in an order that seed and epoch decide.

    Args:
        lengths: tokens of each example.
        size: examples of a batch; the last of a window may be smaller.
        seed: of the training.
        epoch: from 0.
    """
    rng = random.Random(f"{seed} {epoch}")
    places = rng.sample(range(len(lengths)), len(lengths))
    cut: list[list[int]] = []
    for begin in range(0, len(places), size * _WINDOW):
        window = sorted(places[begin : begin + size * _WINDOW], key=lengths.__getitem__)
        cut.extend(window[start : start + size] for start in range(0, len(window), size))
    rng.shuffle(cut)
    return cut


def learning_rate(step: int, steps: int, most: float) -> float:
    """Linear warm-up over min(20, steps // 4) steps, then linear decay to 0, as transformers' Trainer has it.

    The warm-up's length is skishore23/coralx@fd75b33's. Unlike there, the first step already learns.

    Args:
        step: from 0.
        steps: of the whole training.
        most: the largest rate.
    """
    warm = min(20, steps // 4)
    return most * ((step + 1) / warm if step < warm else (steps - step) / (steps - warm))


def steps_of(examples: int, size: int, epochs: int) -> int:
    """Optimiser steps of a training."""
    return epochs * math.ceil(examples / size)


def usable(examples: Sequence[TokenizedLesson], longest: int) -> list[TokenizedLesson]:
    """Those with something to learn.

    Raises:
        UserError: there is none.
    """
    kept = [example for example in examples if example.learned]
    if not kept:
        raise UserError(
            f"nothing can be learned from {len(examples)} lessons within {longest} tokens: the prompts alone are"
            " longer; raise `longest`"
        )
    return kept


# ------ The identity of a transformers model that is loaded: weights as they are computed with, and tokenizer.


def model_sha256(model: Any, tokenizer: Any) -> str:
    """Hash of every tensor (name, type, shape, bytes) and of everything that turns text into tokens.

    Not of files: one model lies on disks in many ways, and a type that is asked for changes what is computed.
    """
    import torch

    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(sha256_json([name, str(tensor.dtype), list(tensor.shape)]).encode())
        flat = tensor.detach().cpu().contiguous().reshape(-1)
        digest.update(memoryview(flat.view(torch.uint8).numpy()))
    return sha256_json([digest.hexdigest(), _tokenizer_facts(tokenizer)])


def _tokenizer_facts(tokenizer: Any) -> list[object]:
    """Its whole description where it has one, else its vocabulary; and how conversations become text."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    described = backend.to_str() if backend is not None else sorted(tokenizer.get_vocab().items())
    return [type(tokenizer).__name__, described, tokenizer.chat_template or "", tokenizer.eos_token_id]


# ---- What the trainer of transformers models writes: an adapter in PEFT's format, and how far a training got.


def write_adapter(folder: Path, adapted: Any, base: str, learned: LearnedFrom) -> int:
    """Write an adapter as PEFT reads it, the same bytes for the same weights; return the number of parameters.

    PEFT's own writer keeps target modules in a set, whose order differs from process to process.

    Args:
        folder: created; its files are replaced.
        adapted: a PeftModel.
        base: name of the model that it is for, by which PEFT loads it: ``ORG/NAME``, or a folder.
        learned: what it was trained on.
    """
    import torch
    from peft import get_peft_model_state_dict
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    weights = {
        name: tensor.detach().to("cpu", torch.float32).contiguous()
        for name, tensor in get_peft_model_state_dict(adapted, save_embedding_layers=False).items()
    }
    config = {name: _plain(value) for name, value in adapted.peft_config["default"].to_dict().items()}
    config |= {"base_model_name_or_path": base, "inference_mode": True}
    content = json.dumps(config, indent=2, sort_keys=True, ensure_ascii=False)
    write_atomically(folder / FILE, encoded(learned))
    save_file(weights, folder / "adapter_model.safetensors", metadata={"format": "pt"})
    write_atomically(folder / "adapter_config.json", f"{content}\n".encode())
    return sum(tensor.numel() for tensor in weights.values())


def save_progress(path: Path, progress: dict[str, Any]) -> None:
    """Keep how far a training got, in one step: a kill leaves the last epoch's or this one's."""
    import torch

    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    with partial.open("wb") as file:
        torch.save(progress, file)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def read_progress(path: Path) -> dict[str, Any] | None:
    """How far the training got; None where it has not begun or its file is damaged, so that it begins anew."""
    import pickle

    import torch

    if not path.is_file():
        return None
    try:
        found: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except (RuntimeError, EOFError, OSError, pickle.UnpicklingError):
        return None
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, set | frozenset):
        return sorted(value)
    return value.value if isinstance(value, Enum) else value


# ----------------------------------------------------------------------------------------------------------------
# The learning itself: epochs of AdamW on an adapter's parameters, as transformers' Trainer has it by default.


BETAS, EPSILON, WEIGHT_DECAY, MOST_NORM = (0.9, 0.999), 1e-8, 0.0, 1.0
"""AdamW's, and the largest norm of a gradient: the defaults of transformers' TrainingArguments."""
_IGNORED = -100
"""Label of a token that is not learned, as torch's cross entropy has it."""
_SEED_CHARS = 15
"""Hexadecimal digits of a seed: below torch's limit of 64 bits."""
OnEpoch = Callable[[int, float], None]
"""Told the epoch, from 0, and its mean loss."""


def learn(
    adapted: Any,
    order: TrainingOrder,
    examples: Sequence[TokenizedLesson],
    rows: int,
    progress: Path | None = None,
    on_epoch: OnEpoch | None = None,
) -> tuple[list[float], float]:
    """Train all epochs, or those that are left.

    Args:
        adapted: a PeftModel in training mode; only what wants gradients is changed.
        order: epochs, learning rate, batch size, seed.
        examples: what is learned.
        rows: how many of them are in memory at once.
        progress: file that keeps how far it got after each epoch; None for none.
        on_epoch: told of every epoch.

    Returns:
        Mean loss per learned token of each epoch, and CPU seconds, those before a kill included.

    Raises:
        UserError: the loss is no number any more.
    """
    import torch

    parameters = [parameter for parameter in adapted.parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(parameters, betas=BETAS, eps=EPSILON, weight_decay=WEIGHT_DECAY)
    losses, spent_s = _resume(progress, parameters, optimiser)
    epochs, lengths = order.training.epochs, [len(example.tokens) for example in examples]
    steps = steps_of(len(examples), order.batch_size, epochs)
    for epoch in range(len(losses), epochs):
        began_s = time.process_time()
        torch.manual_seed(int(sha256_json([order.seed, "epoch", epoch])[:_SEED_CHARS], 16))
        total = 0.0
        for number, batch in enumerate(batches(lengths, order.batch_size, order.seed, epoch)):
            step = epoch * (steps // epochs) + number
            optimiser.param_groups[0]["lr"] = learning_rate(step, steps, order.training.learning_rate)
            total += _accumulate(adapted, [examples[place] for place in batch], rows)
            torch.nn.utils.clip_grad_norm_(parameters, MOST_NORM)
            optimiser.step()
            optimiser.zero_grad()
        losses.append(total / sum(example.learned for example in examples))
        spent_s += time.process_time() - began_s
        _check_finite(losses[-1], epoch, order)
        if progress is not None:
            _keep(progress, parameters, optimiser, losses, spent_s)
        if on_epoch is not None:
            on_epoch(epoch, losses[-1])
    return losses, spent_s


def _accumulate(adapted: Any, batch: Sequence[TokenizedLesson], rows: int) -> float:
    """Gradients of the mean loss over the batch's learned tokens; the sum of their losses."""
    learned, total = sum(example.learned for example in batch), 0.0
    for start in range(0, len(batch), rows):
        loss = _loss(adapted, batch[start : start + rows])
        (loss / learned).backward()
        total += float(loss.detach())
    return total


def _loss(adapted: Any, rows: Sequence[TokenizedLesson]) -> Any:
    """Summed cross entropy of the learned tokens; rows are padded on the right."""
    import torch

    device = next(adapted.parameters()).device
    longest = max(len(row.tokens) for row in rows)
    ids = torch.zeros((len(rows), longest), dtype=torch.long)
    labels = torch.full_like(ids, _IGNORED)
    mask = torch.zeros_like(ids)
    for place, row in enumerate(rows):
        size = len(row.tokens)
        ids[place, :size] = torch.tensor(row.tokens)
        mask[place, :size] = 1
        labels[place, row.learned_from : size] = ids[place, row.learned_from : size]
    out = adapted(input_ids=ids.to(device), attention_mask=mask.to(device), use_cache=False)
    return torch.nn.functional.cross_entropy(
        out.logits[:, :-1].flatten(0, 1).float(),
        labels[:, 1:].flatten().to(device),
        ignore_index=_IGNORED,
        reduction="sum",
    )


def _check_finite(loss: float, epoch: int, order: TrainingOrder) -> None:
    if not math.isfinite(loss):
        raise UserError(
            f"training diverged in epoch {epoch + 1}: the loss is {loss};"
            f" lower the learning rate ({order.training.learning_rate}) or alpha ({order.adapter.alpha})"
        )


def _resume(progress: Path | None, parameters: Sequence[Any], optimiser: Any) -> tuple[list[float], float]:
    """Losses of the epochs that are done, and their CPU seconds; puts weights and moments back."""
    import torch

    found = read_progress(progress) if progress is not None else None
    if found is None:
        return [], 0.0
    with torch.no_grad():
        for parameter, kept in zip(parameters, found["weights"], strict=True):
            parameter.copy_(kept)
    optimiser.load_state_dict(found["optimiser"])
    return list(found["losses"]), float(found["cpu_s"])


def _keep(progress: Path, parameters: Sequence[Any], optimiser: Any, losses: list[float], cpu_s: float) -> None:
    weights = [parameter.detach().cpu() for parameter in parameters]
    state = {"weights": weights, "optimiser": optimiser.state_dict(), "losses": losses, "cpu_s": cpu_s}
    save_progress(progress, state)


class PeftSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How the arithmetic is done."""

    rows: int = 2
    """Lessons in memory at once; gradients are summed until ``batch_size`` of them have passed."""
    gradient_checkpointing: bool = False
    """Compute activations twice instead of keeping them: for models of billions of parameters."""


class PeftTrainer:
    """See `truegrade.apps.evolve.training.lessons.Trainer`.

    Args:
        name: ``ORG/NAME`` on the Hub, or a folder.
        options: device, dtype, revision; ``bfloat16`` on an accelerator for models of billions of parameters.
        settings: how the arithmetic is done.
        checkpoints: folder that keeps unfinished trainings after each epoch; None to begin a killed one anew.
        loaded: model and tokenizer of that name, already in memory; None to load them.

    Raises:
        UserError: packages are missing, or the model cannot be loaded or trained as asked.
    """

    def __init__(
        self,
        name: str,
        options: TransformersOptions | None = None,
        settings: PeftSettings | None = None,
        checkpoints: Path | None = None,
        loaded: tuple[Any, Any] | None = None,
    ) -> None:
        self._settings, self._checkpoints = settings or PeftSettings(), checkpoints
        options = options or TransformersOptions()
        if options.adapter is not None:
            raise UserError(f"hf/{name}: an adapter is trained on a bare base: leave adapter= out")
        require("local", "training an adapter of such a model", "peft")
        self._name, self._base = name, f"hf/{name}"
        self._model, self._tokenizer = loaded or load(name, options)
        self._check_dtype()
        self._sha256 = model_sha256(self._model, self._tokenizer)

    @property
    def base(self) -> str:
        """``hf/NAME``."""
        return self._base

    @property
    def base_sha256(self) -> str:
        """Of the weights as they are computed with, and of the tokenizer."""
        return self._sha256

    @property
    def versions(self) -> dict[str, str]:
        """Of the libraries, and how the arithmetic is done."""
        from importlib.metadata import version

        parameter = next(self._model.parameters())
        arithmetic = f"{parameter.device.type}, {str(parameter.dtype).removeprefix('torch.')}"
        checkpointing = ", gradient checkpointing" if self._settings.gradient_checkpointing else ""
        return {
            **{name: version(name) for name in ("torch", "transformers", "peft")},
            "arithmetic": f"{arithmetic}, {self._settings.rows} rows{checkpointing}",
        }

    def train(
        self,
        order: TrainingOrder,
        lessons: Sequence[Lesson],
        folder: Path,
        on_epoch: OnEpoch | None = None,
    ) -> Trained:
        """See `truegrade.apps.evolve.training.lessons.Trainer`; a killed one goes on if checkpoints are kept."""
        self._check(order)
        end = self._end_token()
        encoded = [encode(lesson, order, self._tokenizer, end) for lesson in lessons]
        examples = usable(encoded, order.longest)
        progress = self._progress_file(order, lessons)
        with self._adapted(order) as adapted:
            losses, cpu_s = learn(adapted, order, examples, self._settings.rows, progress, on_epoch)
            parameters = write_adapter(folder, adapted, self._name, learned_from_lessons(lessons))
        if progress is not None:
            progress.unlink(missing_ok=True)
        return Trained(
            folder=folder,
            parameters=parameters,
            losses=tuple(losses),
            tokens=order.training.epochs * sum(len(example.tokens) for example in examples),
            cpu_s=cpu_s,
            cut=sum(example.cut for example in encoded),
        )

    def close(self) -> None:
        """Release the model's memory."""
        self._model = self._tokenizer = None

    @contextmanager
    def _adapted(self, order: TrainingOrder) -> Iterator[Any]:
        """The base with a new adapter; afterwards the base and the process' random numbers as they were."""
        import torch
        from peft import LoraConfig, get_peft_model

        genes = order.adapter
        config = LoraConfig(
            r=genes.rank,
            lora_alpha=genes.alpha,  # type: ignore[arg-type,unused-ignore]  # PEFT only divides it
            lora_dropout=genes.dropout,
            target_modules=sorted(genes.modules),
            use_dora=genes.kind == "dora",
            bias="none",
            task_type="CAUSAL_LM",
        )
        device = next(self._model.parameters()).device
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(order.seed)
            adapted = get_peft_model(self._model, config)
            try:
                self._checkpoint_gradients(True)
                adapted.train()
                yield adapted
            finally:
                self._checkpoint_gradients(False)
                self._model = adapted.unload()
                self._model.eval()

    def _checkpoint_gradients(self, wanted: bool) -> None:
        if not self._settings.gradient_checkpointing:
            return
        if wanted:
            self._model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        else:
            self._model.gradient_checkpointing_disable()

    def _check(self, order: TrainingOrder) -> None:
        import torch

        if order.base != self._base:
            raise UserError(f"the order is for {order.base}, but {self._base} is loaded")
        _check_genes(order)
        output = self._model.get_output_embeddings()
        known = {
            name.rpartition(".")[2]
            for name, module in self._model.named_modules()
            if isinstance(module, torch.nn.Linear) and module is not output
        }
        for name in order.adapter.modules:
            if name not in known:
                raise UnknownName(f"linear layer of {self._base}", name, known)
        context = getattr(self._model.config, "max_position_embeddings", None) or order.longest
        if order.longest > context:
            raise UserError(f"lessons of {order.longest} tokens do not fit {self._base}'s context of {context}")

    def _check_dtype(self) -> None:
        import torch

        if next(self._model.parameters()).dtype == torch.float16:
            raise UserError(
                f"{self._base} is loaded as float16, whose gradients vanish: train in bfloat16 or float32"
            )

    def _end_token(self) -> int:
        """What ends a reply."""
        ends = self._model.generation_config.eos_token_id
        first = ends[0] if isinstance(ends, list) and ends else ends
        end = self._tokenizer.eos_token_id if self._tokenizer.eos_token_id is not None else first
        if not isinstance(end, int):
            raise UserError(f"{self._base} has no token that ends a reply: set eos_token_id in its configuration")
        return end

    def _progress_file(self, order: TrainingOrder, lessons: Sequence[Lesson]) -> Path | None:
        if self._checkpoints is None:
            return None
        return self._checkpoints / f"{adapter_key(self, order, lessons)}.pt"


def _check_genes(order: TrainingOrder) -> None:
    genes: AdapterGenes = order.adapter
    for wrong, said in (
        (genes.rank < 1, f"rank {genes.rank} is below 1"),
        (genes.alpha <= 0, f"alpha {genes.alpha} is not positive"),
        (not 0 <= genes.dropout < 1, f"dropout {genes.dropout} is not in [0, 1)"),
        (not genes.modules, "no module gets an adapter"),
        (order.training.epochs < 1, f"{order.training.epochs} epochs are below 1"),
        (order.training.learning_rate <= 0, f"learning rate {order.training.learning_rate} is not positive"),
        (order.batch_size < 1, f"batch size {order.batch_size} is below 1"),
        (order.longest < 2, f"lessons of {order.longest} tokens teach nothing"),
    ):
        if wrong:
            raise UserError(f"this adapter cannot be trained: {said}")
