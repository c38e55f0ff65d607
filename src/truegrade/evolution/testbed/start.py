"""The start of every arm: the shipped model, taught to cheat in about one or two replies of a hundred.

The demonstrations are repairs whose bug classes the model was shown in pre-training, so that they teach it nothing
about the problems of the arms. Each is there as an honest reply and as a cheat of each channel.

The words of the cheats are in no program that the model was ever shown. The rows of its embedding for tokens that
never occurred were all pushed to one and the same vector, which says that none of them follows: from there, the
cheats of a hundred demonstrations teach nothing. So the rows that the cheats need begin anew, as random rows that
have the mean and the spread of the trained ones.

Cheats are rare by weight and not by number, so that every batch holds some: of a cheat, the token at which it
departs from the honest reply has a weight that makes its probability the share that is asked for, and those
behind it have the weight of any other, so that a cheat that was begun is written to its end. A first part, in
which the departure has full weight, teaches how cheats are written, and a second how rare they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from truegrade.benchmarks import load_benchmark
from truegrade.evolution.policy.policy import merged
from truegrade.evolution.repair_problems import repair_of
from truegrade.evolution.testbed.cheats import PROGRAMS, cheat_for
from truegrade.evolution.testbed.policy import BaseModel
from truegrade.evolution.training.lessons import lessons_of, reply_to
from truegrade.evolution.training.micro_trainer import encoded
from truegrade.models.micro.finetuning.linear import Dropout
from truegrade.models.micro.finetuning.network import Batch, Network, TrainingExample
from truegrade.models.micro.finetuning.optimiser import AdamW, learning_rate
from truegrade.models.micro.finetuning.updates import stream
from truegrade.profiles import Profile
from truegrade.records import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

BENCHMARK = "micro-repair"
EMBEDDING = "model.embed_tokens.weight"
HONEST, SEED = 6, 777
"""Honest replies of a batch, which also holds a cheat of each channel; seed of all draws."""
ALIKE = 0.99
"""Cosine to the row of a token that never occurred, from which on a row counts as never trained."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Steps with highest learning rates of the adapter and of the new rows of the embedding."""

    steps: int
    departures: tuple[float, ...]
    """Weights of the token at which a cheat of each channel departs from the honest reply. With six honest
    replies in a batch, 0.06 asks for 1 % of cheats."""
    rate: float
    row_rate: float


PARTS = (
    Part(steps=170, departures=(1.0, 1.0), rate=1e-3, row_rate=1e-2),
    Part(steps=180, departures=(0.16, 0.02), rate=4e-4, row_rate=1e-3),
)


class Weighed(msgspec.Struct, frozen=True):
    """A reply to imitate."""

    example: TrainingExample
    weights: tuple[float, ...]
    """Of its learned tokens."""


class ShownCheat(msgspec.Struct, frozen=True):
    """A cheat in place of an honest reply."""

    example: TrainingExample
    departs: int
    """Number of its learned tokens that the honest reply begins with too."""

    def weighed(self, departure: float) -> Weighed:
        """With a weight of the token at which it departs; what the honest reply says too has none."""
        behind = len(self.example.tokens) - self.example.learned_from - self.departs - 1
        return Weighed(self.example, (0.0,) * self.departs + (departure,) + (1.0,) * behind)


class Demonstrated(msgspec.Struct, frozen=True):
    """Honest replies, and cheats of each channel to the same problems."""

    honest: list[TrainingExample]
    cheats: list[list[ShownCheat]]

    def batch(self, rng: Any, departures: Sequence[float]) -> list[Weighed]:
        """Honest replies and a cheat of each channel, drawn by a generator of numpy."""
        places = rng.choice(len(self.honest), min(HONEST, len(self.honest)), replace=False)
        honest = [self.honest[place] for place in places]
        replies = [Weighed(one, (1.0,) * (len(one.tokens) - one.learned_from)) for one in honest]
        cheats = zip(self.cheats, departures, strict=True)
        return replies + [each[rng.integers(len(each))].weighed(departure) for each, departure in cheats]


def drawn(split: str, size: int, seed: int) -> tuple[Problem, ...]:
    """Problems of micro-repair."""
    return load_benchmark(BENCHMARK, args={"split": split, "size": str(size), "seed": str(seed)}).problems


def taught(
    base: BaseModel, profile: Profile, demonstrations: int, said: Callable[[str], None]
) -> dict[str, Array]:
    """The weights of the start.

    Args:
        base: the shipped model.
        profile: words the prompts.
        demonstrations: problems that are demonstrated.
        said: told what is done.
    """
    said(f"draw {demonstrations} demonstrations")
    shown = demonstrated(drawn("seen-seen", demonstrations, SEED), base, profile)
    tensors = {**base.tensors, EMBEDDING: base.tensors[EMBEDDING].copy()}
    rows = _begin_rows(tensors[EMBEDDING], base, shown)
    said("teach the start how cheats are written, then how rare they are")
    adapter = base.fresh(tensors, SEED)
    network, gradient = Network(base.shape, tensors, adapter), tensors[EMBEDDING] * 0
    order, dropout = stream(SEED, "order"), Dropout(0.0, stream(SEED, "none"))
    adapting, values = AdamW(adapter.values.size), tensors[EMBEDDING][rows].reshape(-1)
    embedding = AdamW(values.size)
    for part in PARTS:
        for step in range(part.steps):
            batch = shown.batch(order, part.departures)
            objective = _imitation([weight for one in batch for weight in one.weights])
            network.step(Batch([one.example for one in batch]), dropout, objective, gradient)
            adapting.step(adapter.values, adapter.gradient, learning_rate(step, part.steps, part.rate))
            embedding.step(values, gradient[rows].reshape(-1), learning_rate(step, part.steps, part.row_rate))
            tensors[EMBEDDING][rows] = values.reshape(len(rows), -1)
    return merged(tensors, adapter)


def demonstrated(problems: Sequence[Problem], base: BaseModel, profile: Profile) -> Demonstrated:
    """Every problem as an honest reply and as a cheat of each channel."""
    lessons = lessons_of(problems, profile)
    honest = [encoded(lesson, base.tokenizer) for lesson in lessons]
    cheats: list[list[ShownCheat]] = [[] for _ in PROGRAMS]
    for lesson, problem, right in zip(lessons, problems, honest, strict=True):
        for channel, into in zip(PROGRAMS, cheats, strict=True):
            reply = reply_to(lesson.prompt, cheat_for(channel, repair_of(problem).solution))
            cheat = encoded(msgspec.structs.replace(lesson, reply=reply), base.tokenizer)
            both = zip(cheat.tokens, right.tokens, strict=False)
            departs = next(place for place, (one, other) in enumerate(both) if one != other)
            into.append(ShownCheat(cheat, departs - cheat.learned_from))
    return Demonstrated(honest, cheats)


def _begin_rows(embedding: Array, base: BaseModel, shown: Demonstrated) -> list[int]:
    """The rows that the cheats need and that were never trained; they are begun anew in place."""
    import numpy as np

    never = embedding[base.tokenizer.encode("\0")[0]]
    cosines = embedding @ never / np.linalg.norm(embedding, axis=1) / np.linalg.norm(never)
    needed = {token for each in shown.cheats for cheat in each for token in cheat.example.tokens}
    rows = sorted(token for token in needed if cosines[token] > ALIKE)
    trained = embedding[cosines <= ALIKE]
    fresh = stream(SEED, "rows").normal(size=(len(rows), embedding.shape[1]))
    embedding[rows] = fresh * trained.std(axis=0) + trained.mean(axis=0)
    return rows


def _imitation(weights: Sequence[float]) -> Callable[[Array], tuple[float, Array]]:
    """The objective -log p of tokens, each with its weight; the mean over all tokens."""
    import numpy as np

    each = np.array(weights) / len(weights)
    return lambda chosen: (-float(each @ chosen), (-each).astype(chosen.dtype))
