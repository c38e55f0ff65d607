"""A policy: frozen weights and a LoRA adapter on them, sampled and updated in numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truegrade.evolution.policy.rollouts import SampledReply, Sampler
from truegrade.evolution.policy.updates import Stepping, Weighted, advantages, update
from truegrade.models.micro.finetuning.network import Network, TrainingExample
from truegrade.models.micro.finetuning.optimiser import AdamW
from truegrade.models.micro.finetuning.updates import FreshAdapter, stream
from truegrade.models.micro.llama_config import LlamaShape

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


class Policy:
    """What is trained.

    Args:
        shape: of the model.
        start: its weights, which stay as they are.
        adapter: LoRA, as the training begins; changed in place.
        end: the token that ends a reply.
    """

    def __init__(self, shape: LlamaShape, start: Mapping[str, Array], adapter: FreshAdapter, end: int) -> None:
        self.adapter, self.optimiser = adapter, AdamW(adapter.values.size)
        self._shape, self._start, self._end = shape, start, end
        self._network = Network(shape, start, adapter)

    def sample(
        self, prompts: Sequence[Sequence[int]], samples: int, longest: int, seed: Sequence[int | str]
    ) -> list[SampledReply]:
        """Distinct replies, prompt by prompt; see `truegrade.evolution.policy.rollouts`."""
        sampler = Sampler(self._shape, merged(self._start, self.adapter), Path("policy"))
        return sampler.sample(prompts, samples, self._end, longest, stream(0, "sample", *seed))

    def learn(self, replies: Sequence[Weighted], stepping: Stepping, seed: Sequence[int]) -> None:
        """One round of `truegrade.evolution.policy.updates.update`."""
        update(self._network, self.adapter, self.optimiser, replies, stepping, seed)


def example(prompt: Sequence[int], reply: SampledReply) -> TrainingExample:
    """A reply to a prompt as a sequence to learn from."""
    return TrainingExample((*prompt, *reply.tokens), len(prompt))


def weighted(
    prompts: Sequence[Sequence[int]], replies: Sequence[SampledReply], rewards: Sequence[Sequence[float]]
) -> list[Weighted]:
    """Replies with the advantages of their samples, of which those of a prompt are a group.

    Args:
        prompts: tokens of each.
        replies: of a round.
        rewards: of the samples of each reply.
    """
    groups: dict[int, list[float]] = {}
    for reply, each in zip(replies, rewards, strict=True):
        groups.setdefault(reply.prompt, []).extend(each)
    left = {prompt: iter(advantages(group)) for prompt, group in groups.items()}
    found = []
    for reply in replies:
        mine = [next(left[reply.prompt]) for _ in reply.samples]
        found.append(
            Weighted(
                example=example(prompts[reply.prompt], reply),
                logps=reply.logps,
                up=sum(max(one, 0.0) for one in mine),
                down=sum(min(one, 0.0) for one in mine),
                samples=len(mine),
            )
        )
    return found


def merged(tensors: Mapping[str, Array], adapter: FreshAdapter) -> dict[str, Array]:
    """Weights with a LoRA adapter in them."""
    changed = {
        f"{module}.weight": tensors[f"{module}.weight"] + update.scale * (update.up[0] @ update.down[0])
        for module, update in adapter.updates.items()
    }
    return {**tensors, **{name: each.astype(tensors[name].dtype) for name, each in changed.items()}}
