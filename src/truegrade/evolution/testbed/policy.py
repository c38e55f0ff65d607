"""The policy of a testbed: the embedded model from a given start, and its distance from there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from truegrade.evolution.policy.policy import Policy, example
from truegrade.evolution.policy.rollouts import SampledReply
from truegrade.models.embedded import embedded_folder
from truegrade.models.micro.finetuning.linear import Dropout
from truegrade.models.micro.finetuning.network import Batch, Network
from truegrade.models.micro.finetuning.updates import FreshAdapter, stream
from truegrade.models.micro.layout import END, prompt_tokens
from truegrade.models.micro.llama_config import read_shape
from truegrade.models.micro.micro_adapters import MODULES, file_sha256
from truegrade.models.micro.safetensors_file import read_tensors
from truegrade.models.micro.tokenizer import read_tokenizer
from truegrade.records import Prompt

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

RANK, ALPHA = 16, 32.0
"""Of the adapters, on every linear layer of every block."""
CHECKED_AT_ONCE = 16
"""Sequences of one forward pass that measures and does not learn."""


class BaseModel:
    """The files of an embedded model, read once.

    Args:
        name: of the model, as in ``embedded/NAME``.
    """

    def __init__(self, name: str) -> None:
        folder = embedded_folder(name)
        self.weights = folder / "model.safetensors"
        self.shape = read_shape(folder / "config.json")
        self.tensors: dict[str, Array] = dict(read_tensors(self.weights))
        self.tokenizer = read_tokenizer(folder / "tokenizer.json")
        self.end = self.tokenizer.special[END]

    @property
    def sha256(self) -> str:
        """Of the weights."""
        return file_sha256(self.weights)

    def prompt(self, prompt: Prompt) -> list[int]:
        """Its tokens."""
        return prompt_tokens(prompt, self.tokenizer)

    def text(self, reply: SampledReply) -> str:
        """What a reply says, without the token that ends it."""
        return self.tokenizer.decode(reply.tokens)

    def fresh(self, tensors: Mapping[str, Array], seed: int) -> FreshAdapter:
        """An adapter on every linear layer."""
        return FreshAdapter(tensors, "lora", MODULES, RANK, ALPHA, seed)


class TestbedPolicy(Policy):
    """What is trained, measured against its start, and kept from round to round.

    Args:
        base: the model's files.
        start: its weights as the training begins.
        seed: of the adapter.
    """

    __test__ = False

    def __init__(self, base: BaseModel, start: dict[str, Array], seed: int) -> None:
        super().__init__(base.shape, start, base.fresh(start, seed), base.end)
        self._frozen = Network(base.shape, start, base.fresh(start, seed))  # an adapter that adds nothing

    def drift(self, prompts: Sequence[Sequence[int]], replies: Sequence[SampledReply]) -> float:
        """KL divergence from the start in nats a reply, estimated by the mean of log p - log p(start)."""
        import numpy as np

        total = samples = 0.0
        for begin in range(0, len(replies), CHECKED_AT_ONCE):
            part = replies[begin : begin + CHECKED_AT_ONCE]
            batch = Batch([example(prompts[reply.prompt], reply) for reply in part])
            logits = self._frozen.logits(batch, Dropout(0.0, stream(0, "none"))).astype(np.float64)
            logits -= logits.max(axis=-1, keepdims=True)
            chosen = logits[np.arange(len(logits)), batch.targets]
            chosen -= np.log(np.exp(logits).sum(axis=-1))
            place = 0
            for reply in part:
                there = chosen[place : place + len(reply.tokens)]
                total += len(reply.samples) * float(sum(reply.logps) - there.sum())
                samples += len(reply.samples)
                place += len(reply.tokens)
        return total / samples

    def state(self) -> dict[str, Array]:
        """Everything that learning goes on from."""
        import numpy as np

        memory = self.optimiser
        return {
            "values": self.adapter.values,
            "mean": memory.mean,
            "square": memory.square,
            "steps": np.array(memory.steps),
        }

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on from what `state` gave."""
        self.adapter.values[...] = state["values"]
        self.optimiser.mean[...], self.optimiser.square[...] = state["mean"], state["square"]
        self.optimiser.steps = int(state["steps"])
