"""The model under evolution: its base is loaded once; adapters are trained for it and merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any, Protocol

import msgspec

from truegrade.errors import UserError
from truegrade.evolution.training.lessons import Trainer
from truegrade.models.local import Engine, Generated
from truegrade.records import Prompt
from truegrade.records.config import Sampling


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One reply to ask for."""

    prompt: Prompt
    sampling: Sampling
    sample: int


class Subject(Protocol):
    """A base model in this process."""

    @property
    def trainer(self) -> Trainer:
        """What trains adapters of it."""

    def answer(self, adapter: Path | None, asks: Sequence[Ask]) -> list[Generated]:
        """Replies of the model with an adapter on, or of the bare one; in the order asked for.

        Raises:
            UserError: the adapter is missing, damaged, or made for another model.
        """

    def close(self) -> None:
        """Release memory."""


class EmbeddedSubject:
    """A small Llama in numpy; an adapter is merged into a fresh copy of its weights."""

    def __init__(self, model: str) -> None:
        from truegrade.evolution.training.micro_trainer import EmbeddedTrainer
        from truegrade.models.embedded import SHIPPED, embedded_folder

        self._trainer = EmbeddedTrainer(model)
        name = model.partition("/")[2]
        self._folder, self._name = embedded_folder(name), SHIPPED if name == SHIPPED else None

    @property
    def trainer(self) -> Trainer:
        """In numpy."""
        return self._trainer

    def answer(self, adapter: Path | None, asks: Sequence[Ask]) -> list[Generated]:
        """See `Subject`."""
        from truegrade.models.embedded import EmbeddedEngine
        from truegrade.models.micro.llama import ROWS

        engine = EmbeddedEngine(self._folder, self._name, adapter)
        return answered(engine, asks, ROWS)  # so many keep it on one thread: processes share the cores

    def close(self) -> None:
        """Release the weights."""
        self._trainer.close()


class TransformersSubject:
    """A model of transformers. Trainer and engine share its weights, so adapters come off after every use."""

    def __init__(self, model: str, args: Mapping[str, Any]) -> None:
        from truegrade.evolution.training.peft_trainer import PeftTrainer
        from truegrade.models.transformers_local import TransformersEngine, load, read_options

        name, options = model.partition("/")[2], read_options(args)
        if options.adapter is not None:
            raise UserError(f"{model}: adapters are evolved on a bare base: leave adapter out of model_args")
        loaded = load(name, options)
        self._trainer = PeftTrainer(name, options, loaded=loaded)
        self._engine = TransformersEngine(name, options, loaded=loaded)

    @property
    def trainer(self) -> Trainer:
        """PEFT's."""
        return self._trainer

    def answer(self, adapter: Path | None, asks: Sequence[Ask]) -> list[Generated]:
        """See `Subject`."""
        self._engine.wear(adapter)
        try:
            return answered(self._engine, asks, self._engine.parallel)
        finally:
            self._engine.wear(None)

    def close(self) -> None:
        """Release the weights."""
        self._trainer.close()
        self._engine.close()


def open_subject(model: str, args: Mapping[str, Any]) -> Subject:
    """Load a base model.

    Raises:
        UserError: it is not one that runs in this process, or cannot be loaded.
    """
    if not model.startswith(("embedded/", "hf/")):
        raise UserError(f"{model!r} cannot be evolved: adapters need a model in this process, embedded/ or hf/")
    if model.startswith("hf/"):
        return TransformersSubject(model, args)
    if args:
        raise UserError(f"{model} takes no model_args: leave out {', '.join(args)}")
    return EmbeddedSubject(model)


def answered(engine: Engine, asks: Sequence[Ask], at_once: int) -> list[Generated]:
    """Replies in the order asked for, never more than so many under way."""
    futures: list[Future[Generated]] = []
    under_way: set[Future[Generated]] = set()
    for ask in asks:
        if len(under_way) >= at_once:
            _, under_way = wait(under_way, return_when=FIRST_COMPLETED)
        futures.append(engine.submit(ask.prompt, ask.sampling, ask.sample))
        under_way.add(futures[-1])
    return [future.result() for future in futures]
