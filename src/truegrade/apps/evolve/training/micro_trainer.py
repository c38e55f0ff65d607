"""Adapters of the included model, trained in numpy: no torch, and the same bytes for the same order."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truegrade import __version__
from truegrade.apps.evolve.training.cache import write_adapter
from truegrade.apps.evolve.training.lessons import Lesson, Trained, TrainingOrder, learned_from_lessons
from truegrade.errors import UserError
from truegrade.models.embedded import embedded_folder
from truegrade.models.micro.llama import Llama, library, read_shape, use_one_thread
from truegrade.models.micro.micro_adapters import BASE_SHA256, file_sha256, read_tensors
from truegrade.models.micro.tokenizer import END, Tokenizer, prompt_tokens, read_tokenizer
from truegrade.models.micro.training import Fitting, FreshAdapter, Network, TrainingExample, fit
from truegrade.records import sha256_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FILES = ("config.json", "model.safetensors", "tokenizer.json")
"""What decides a base model."""


class EmbeddedTrainer:
    """The `Trainer` of a model that runs in numpy.

    Args:
        base: ``embedded/truegrade-micro`` or ``embedded/PATH``.

    Raises:
        UserError: it is no embedded model.
        BadRecord: a file of it is missing, damaged, or describes something that is not computed here.
    """

    def __init__(self, base: str) -> None:
        provider, _, model = base.partition("/")
        if provider != "embedded" or not model:
            raise UserError(f"{base!r} is not trained in numpy: name embedded/truegrade-micro or embedded/PATH")
        folder = embedded_folder(model)
        self._base = base
        self._shape, weights = read_shape(folder / "config.json"), folder / "model.safetensors"
        self._tensors: dict[str, NDArray[Any]] = dict(read_tensors(weights))
        Llama(self._shape, self._tensors, weights)  # says what is missing, once and for all
        self._tokenizer = read_tokenizer(folder / "tokenizer.json")
        self._weights_sha256 = file_sha256(weights)
        self._sha256 = sha256_json({name: file_sha256(folder / name) for name in _FILES})

    @property
    def base(self) -> str:
        """``embedded/NAME``."""
        return self._base

    @property
    def base_sha256(self) -> str:
        """Hash of shape, weights and tokenizer."""
        return self._sha256

    @property
    def versions(self) -> dict[str, str]:
        """Ours, numpy's, and the library that numpy multiplies with."""
        import numpy as np

        return {"truegrade": __version__, "numpy": np.__version__, "blas": library()}

    def train(self, order: TrainingOrder, lessons: Sequence[Lesson], folder: Path) -> Trained:
        """See `truegrade.apps.evolve.training.lessons.Trainer`.

        Raises:
            UserError: the order is for another base, a gene is out of range, the lessons teach nothing, or the
                folder is not empty.
        """
        _check(order, self._base)
        began = time.thread_time()
        examples, cut = self._encoded(lessons, order)
        genes = order.adapter
        adapter = FreshAdapter(self._tensors, genes.kind, genes.modules, genes.rank, genes.alpha, order.seed)
        fitting = Fitting(
            learning_rate=order.training.learning_rate,
            epochs=order.training.epochs,
            batch_size=order.batch_size,
            dropout=genes.dropout,
            seed=order.seed,
        )
        restore_threads = use_one_thread()
        try:
            losses = fit(Network(self._shape, self._tensors, adapter), adapter, examples, fitting)
        finally:
            restore_threads()
        learned = learned_from_lessons(lessons)
        write_adapter(folder, order, adapter.tensors(), {BASE_SHA256: self._weights_sha256}, learned)
        return Trained(
            folder=folder,
            parameters=adapter.values.size,
            losses=losses,
            tokens=order.training.epochs * sum(len(example.tokens) for example in examples),
            cpu_s=time.thread_time() - began,
            cut=cut,
        )

    def close(self) -> None:
        """Release the weights; another trainer is needed afterwards."""
        self._tensors.clear()

    def _encoded(self, lessons: Sequence[Lesson], order: TrainingOrder) -> tuple[list[TrainingExample], int]:
        """Lessons as tokens, and how many were cut; one whose reply is cut away is left out.

        Raises:
            UserError: none is left.
        """
        longest = min(order.longest, self._shape.max_position_embeddings)
        examples, cut = [], 0
        for lesson in lessons:
            example = encoded(lesson, self._tokenizer, everything=order.loss_on == "all")
            cut += len(example.tokens) > longest
            shortened = TrainingExample(example.tokens[:longest], example.learned_from)
            if len(shortened.tokens) > shortened.learned_from:
                examples.append(shortened)
        if not examples:
            raise UserError(
                f"{len(lessons)} lessons leave nothing to learn within {longest} tokens: raise longest"
            )
        return examples, cut


def encoded(lesson: Lesson, tokenizer: Tokenizer, *, everything: bool = False) -> TrainingExample:
    """A lesson in the layout that the model is asked in: the prompt, the reply, and the token that ends it.

    Args:
        lesson: prompt and reply.
        tokenizer: the model's.
        everything: learn the prompt too.

    Raises:
        UserError: the tokenizer lacks the special tokens of the layout.
    """
    prompt = prompt_tokens(lesson.prompt, tokenizer)
    if END not in tokenizer.special:
        raise UserError(f"this model's tokenizer has no token {END}: no reply can be taught to end")
    tokens = (*prompt, *tokenizer.encode(lesson.reply), tokenizer.special[END])
    return TrainingExample(tokens, 1 if everything else len(prompt))


def _check(order: TrainingOrder, base: str) -> None:
    """See that every number of an order makes sense.

    Raises:
        UserError: one does not; the message names it.
    """
    if order.base != base:
        raise UserError(f"an adapter of {order.base} is ordered, but {base} is loaded")
    genes, training = order.adapter, order.training
    for name, value, fits, range_ in (
        ("adapter.rank", genes.rank, genes.rank >= 1, "at least 1"),
        ("adapter.alpha", genes.alpha, 0 < genes.alpha < float("inf"), "above 0"),
        ("adapter.dropout", genes.dropout, 0 <= genes.dropout < 1, "from 0 to below 1"),
        ("training.learning_rate", training.learning_rate, 0 < training.learning_rate < 1, "between 0 and 1"),
        ("training.epochs", training.epochs, training.epochs >= 1, "at least 1"),
        ("batch_size", order.batch_size, order.batch_size >= 1, "at least 1"),
        ("longest", order.longest, order.longest >= 2, "at least 2"),
    ):
        if not fits:
            raise UserError(f"training order, {name} = {value}: must be {range_}")
