"""LoRA and DoRA adapters of ``hf/...`` models, trained by PEFT on one base that is loaded once.

The seed is set before the adapter is initialised, and before every epoch: a training that was killed goes on after
its last whole epoch and ends with the same bytes. On a CPU the same order gives the same files; an accelerator
does not promise it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from truegrade.errors import UnknownName, UserError
from truegrade.evolution.genomes import AdapterGenes
from truegrade.evolution.training.base import Lesson, Trained, TrainingOrder, learned_from_lessons
from truegrade.evolution.training.cache import adapter_key
from truegrade.evolution.training.model_hash import model_sha256
from truegrade.evolution.training.peft_examples import encode, usable
from truegrade.evolution.training.peft_files import write_adapter
from truegrade.evolution.training.peft_learning import OnEpoch, learn
from truegrade.models.transformers_local import TransformersOptions, load


class PeftSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How the arithmetic is done."""

    rows: int = 2
    """Lessons in memory at once; gradients are summed until ``batch_size`` of them have passed."""
    gradient_checkpointing: bool = False
    """Compute activations twice instead of keeping them: for models of billions of parameters."""


class PeftTrainer:
    """See `truegrade.evolution.training.base.Trainer`.

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
        _check_peft()
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
        """See `truegrade.evolution.training.base.Trainer`; a killed training goes on if checkpoints are kept."""
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


def _check_peft() -> None:
    from importlib.util import find_spec

    if find_spec("peft") is None:
        raise UserError("peft not installed: pip install 'truegrade[local]'")


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
