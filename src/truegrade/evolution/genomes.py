"""The genome: an adapter, what it learns from, its training and its sampling parameters."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean
from typing import Any, Literal

import msgspec

from truegrade.records import sha256_json

ID_CHARS = 16
"""Of a hash, in the name of a genome or an adapter."""


class Automaton(msgspec.Struct, frozen=True, kw_only=True):
    """A cellular automaton and where it begins."""

    grid: tuple[tuple[int, ...], ...]
    rule: int
    steps: int


class AdapterGenes(msgspec.Struct, frozen=True, kw_only=True):
    """The low-rank update (LoRA arXiv 2106.09685, DoRA arXiv 2402.09353)."""

    kind: Literal["lora", "dora"]
    rank: int
    alpha: float
    """The update is scaled by ``alpha / rank``."""
    dropout: float
    """Of the update's input, while it is trained; 0 to 1."""
    modules: tuple[str, ...]
    """Names of the linear layers that get one, as Hugging Face calls them: ``q_proj``, ..., ``down_proj``."""


class TrainingGenes(msgspec.Struct, frozen=True, kw_only=True):
    """How the adapter is trained."""

    learning_rate: float
    epochs: int


class DataGenes(msgspec.Struct, frozen=True, kw_only=True):
    """What the adapter learns from besides the lessons."""

    rounds: int = 0
    """Of expert iteration (arXiv 1705.08439): the model's own replies to the problems of the pool that pass every
    test become lessons of the next training, which begins from the base. None for 0."""
    pool: float = 1.0
    """Share of the pool that is asked."""
    samples: int = 4
    """Replies to each problem of the pool, besides a greedy one; the first that passes is learned."""
    temperature: float = 0.8
    """Of these; the greedy one has 0."""
    replay: float = 0.0
    """Share of the replay problems that the bare base is asked; its replies that pass are lessons too."""
    references: bool = False
    """Learn the references of the pool instead of replies: an upper mark, not a method that may be compared."""


class SamplingGenes(msgspec.Struct, frozen=True, kw_only=True):
    """How the adapted model is asked: what needs no training to be changed."""

    temperature: float = 0.0
    """0 is greedy."""
    top_p: float = 1.0
    top_k: int | None = None
    repetition_penalty: float = 1.0
    max_tokens: int = 256


class Genome(msgspec.Struct, frozen=True, kw_only=True):
    """One point of the search space, and where it came from."""

    adapter: AdapterGenes
    training: TrainingGenes
    sampling: SamplingGenes = SamplingGenes()
    data: DataGenes = DataGenes()
    policy: dict[str, Any] | None = None
    """The policy gradient that followed the imitation: in logs of older versions alone."""
    automaton: Automaton | None = None
    """The automaton that the genes were derived from, where one was."""
    origin: str
    """``random``, ``automaton``, ``crossover``, ``mutation``, ``tpe``, ..."""
    parents: tuple[str, ...] = ()
    """Ids."""
    merge: tuple[tuple[str, float], ...] = ()
    """Ids of genomes, and weights, whose weighted sum the adapter was: in logs of older versions alone."""

    @property
    def id(self) -> str:
        """Hash of the genes; where they came from does not count."""
        genes: list[object] = [self.adapter, self.training, self.sampling, self.automaton]
        genes += [self.merge] if self.merge else []
        genes += [self.data] if self.data != DataGenes() else []
        genes += [self.policy] if self.policy is not None else []
        return sha256_json(genes)[:ID_CHARS]

    @property
    def learns_pool(self) -> bool:
        """Whether problems of the pool are learned from, so that nothing may be chosen by them."""
        return self.data.rounds > 0 or self.data.references or self.policy is not None

    @property
    def plain(self) -> bool:
        """Whether it is one training on the lessons that all genomes share."""
        return self.data == DataGenes() and self.policy is None


class Fidelity(msgspec.Struct, frozen=True, kw_only=True):
    """How much is spent on an evaluation: shares, (0, 1], of the genome's epochs and of the selection problems."""

    epochs: float = 1.0
    problems: float = 1.0


class Scores(msgspec.Struct, frozen=True, kw_only=True):
    """What an evaluation gave. Every objective is to be maximised; costs enter negated."""

    objectives: dict[str, float]
    """Mean over problems, by objective."""
    problems: dict[str, dict[str, float]]
    """By problem id, then by objective."""
    facts: dict[str, float] = {}
    """What was seen beside them: CPU seconds, tokens, adapter parameters, training loss, ..."""

    def mean(self, objective: str, problems: Iterable[str]) -> float:
        """An objective over some of the problems; those that were not scored are left out."""
        return fmean(self.problems[name][objective] for name in problems if name in self.problems)


class Evaluated(msgspec.Struct, frozen=True, kw_only=True):
    """A genome with its scores: one event of a search."""

    generation: int
    slot: int
    """Place in the generation, from 0."""
    genome: Genome
    scores: Scores
    fidelity: Fidelity = Fidelity()


def tokens_of(scores: Scores) -> float:
    """Tokens that an evaluation learned and generated."""
    return sum(scores.facts.get(name, 0.0) for name in ("tokens_learned", "tokens_sampled", "tokens_generated"))
