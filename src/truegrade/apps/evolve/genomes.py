"""The genome: an adapter, what it learns from, its training and its sampling parameters."""

from __future__ import annotations

import io
import keyword
import tokenize
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from math import exp, inf, log, prod
from random import Random
from statistics import fmean
from typing import Any, Literal

import msgspec

from truegrade.errors import UserError
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


# ------------------------------- The space of a search: what every gene may be, and how genes become a genome.


Genes = dict[str, float]
"""Positions on the axes of a space, by name."""

QUERY_VALUE = ("q_proj", "v_proj")
ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
EVERYWHERE = (*ATTENTION, "gate_proj", "up_proj", "down_proj")

_DATA_GENES = {
    "rounds": "rounds",
    "pool": "pool",
    "pool_samples": "samples",
    "pool_temperature": "temperature",
    "replay": "replay",
}
"""Axis -> field of `DataGenes`."""


class Space(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """What may vary. A single value, or equal bounds, hold a gene fast.

    Raises:
        UserError: a list is empty, bounds are the wrong way round, or a number makes no sense.
    """

    kinds: tuple[Literal["lora", "dora"], ...] = ("lora", "dora")
    ranks: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    alpha_ratios: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0)
    """alpha / rank: one gene, because the update is scaled by it."""
    alphas: tuple[float, ...] = ()
    """alpha itself, as CORAL-X lists it; where given, the ratios are not used."""
    dropouts: tuple[float, ...] = (0.0, 0.05, 0.1)
    modules: tuple[tuple[str, ...], ...] = (QUERY_VALUE, ATTENTION, EVERYWHERE)
    learning_rate: tuple[float, float] = (3e-4, 1e-2)
    """Searched by factors."""
    epochs: tuple[int, int] = (1, 5)
    temperature: tuple[float, float] = (0.0, 0.0)
    top_p: tuple[float, float] = (1.0, 1.0)
    top_k: tuple[int, int] | None = None
    repetition_penalty: tuple[float, float] = (1.0, 1.0)
    max_tokens: tuple[int, int] = (256, 256)
    rounds: tuple[int, int] = (0, 0)
    """Of expert iteration; this and the next four are `DataGenes`."""
    pool: tuple[float, float] = (1.0, 1.0)
    pool_samples: tuple[int, int] = (4, 4)
    pool_temperature: tuple[float, float] = (0.8, 0.8)
    replay: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        for name in ("kinds", "ranks", "dropouts", "modules", "alphas" if self.alphas else "alpha_ratios"):
            values = getattr(self, name)
            if not values or len(set(values)) < len(values):
                raise UserError(
                    f"space, field {name!r}: {list(values)} is empty or repeats itself; list each value once"
                )
        for name in ("ranks", "alphas", "alpha_ratios", "dropouts"):
            values = getattr(self, name)
            if list(values) != sorted(values):
                raise UserError(f"space, field {name!r}: {list(values)} is not in rising order; sort it")
        for span in (
            self.learning_rate,
            self.epochs,
            self.max_tokens,
            self.top_k or (1, 1),
            self.top_p,
            self.repetition_penalty,
            self.pool,
            self.pool_samples,
            self.pool_temperature,
        ):
            if not 0 < span[0] <= span[1]:
                raise UserError(f"space: the range {list(span)} needs positive bounds, the lower one first")
        for span in (self.temperature, self.rounds, self.replay):
            if not 0 <= span[0] <= span[1]:
                raise UserError(f"space: the range {list(span)} needs bounds from 0 up, the lower one first")
        if max(self.pool[1], self.replay[1]) > 1:
            raise UserError("space: pool and replay are shares of problems, so at most 1")
        if self.ranks[0] < 1 or min(self.alphas or self.alpha_ratios) <= 0 or not _shares(self.dropouts):
            raise UserError("space: ranks are whole and from 1, alphas positive, dropouts from 0 and below 1")

    @cached_property
    def dimensions(self) -> tuple[Dimension, ...]:
        """The axes, those that are held fast included."""
        alpha = (
            Choices(name="alpha", values=self.alphas)
            if self.alphas
            else Choices(name="alpha_ratio", values=self.alpha_ratios)
        )
        axes: list[Dimension] = [
            Choices(name="kind", values=self.kinds, ordered=False),
            Choices(name="rank", values=self.ranks),
            alpha,
            Choices(name="dropout", values=self.dropouts),
            Choices(name="modules", values=self.modules, ordered=False),
            NumberRange(name="learning_rate", low=self.learning_rate[0], high=self.learning_rate[1], log=True),
            NumberRange(name="epochs", low=self.epochs[0], high=self.epochs[1], whole=True),
            NumberRange(name="temperature", low=self.temperature[0], high=self.temperature[1]),
            NumberRange(name="top_p", low=self.top_p[0], high=self.top_p[1]),
            NumberRange(
                name="repetition_penalty", low=self.repetition_penalty[0], high=self.repetition_penalty[1]
            ),
            NumberRange(name="max_tokens", low=self.max_tokens[0], high=self.max_tokens[1], whole=True),
        ]
        if self.top_k is not None:
            axes.append(NumberRange(name="top_k", low=self.top_k[0], high=self.top_k[1], whole=True))
        # Only those that vary, so that what a search draws does not depend on what it leaves alone.
        return (*axes, *(axis for axis in self._data_axes if axis.low < axis.high))

    @cached_property
    def _data_axes(self) -> tuple[NumberRange, ...]:
        whole = {"rounds", "pool_samples"}
        return tuple(
            NumberRange(name=name, low=getattr(self, name)[0], high=getattr(self, name)[1], whole=name in whole)
            for name in _DATA_GENES
        )

    @property
    def size(self) -> float:
        """Different genomes; infinite where a real number varies."""
        return prod(axis.size for axis in self.dimensions)

    def genome(
        self,
        genes: Mapping[str, float],
        origin: str,
        parents: tuple[str, ...] = (),
        automaton: Automaton | None = None,
    ) -> Genome:
        """What the genes stand for."""
        values: dict[str, Any] = {axis.name: axis.read(genes[axis.name]) for axis in self.dimensions}
        data = {_DATA_GENES[axis.name]: values.get(axis.name, axis.low) for axis in self._data_axes}
        alpha = values["alpha"] if self.alphas else values["rank"] * values["alpha_ratio"]
        return Genome(
            adapter=AdapterGenes(
                kind=values["kind"],
                rank=values["rank"],
                alpha=float(alpha),
                dropout=float(values["dropout"]),
                modules=values["modules"],
            ),
            training=TrainingGenes(learning_rate=values["learning_rate"], epochs=values["epochs"]),
            sampling=SamplingGenes(
                temperature=values["temperature"],
                top_p=values["top_p"],
                top_k=values.get("top_k"),
                repetition_penalty=values["repetition_penalty"],
                max_tokens=values["max_tokens"],
            ),
            data=DataGenes(**data),
            automaton=automaton,
            origin=origin,
            parents=parents,
        )

    def genes(self, genome: Genome) -> Genes:
        """The positions of a genome of this space: ``genome`` read backwards."""
        adapter, training, sampling = genome.adapter, genome.training, genome.sampling
        values: dict[str, Any] = {
            "kind": adapter.kind,
            "rank": adapter.rank,
            "alpha": adapter.alpha,
            "alpha_ratio": adapter.alpha / adapter.rank,
            "dropout": adapter.dropout,
            "modules": adapter.modules,
            **msgspec.structs.asdict(training),
            **msgspec.structs.asdict(sampling),
            **{axis: getattr(genome.data, gene) for axis, gene in _DATA_GENES.items()},
        }
        return {axis.name: axis.write(values[axis.name]) for axis in self.dimensions}


def _shares(values: tuple[float, ...]) -> bool:
    return all(0.0 <= value < 1.0 for value in values)


LOCAL = 0.15
"""Standard deviation of a local step on a span, as a share of it."""
DIGITS = 4
"""Significant, of a real gene: so that what is written is what was used."""

# ---------------------------------------- One axis of a search space: a choice among values, or a span of numbers.
# A position on an axis, a *gene*, is a number: the index of a value, or the number itself.


class Choices(msgspec.Struct, frozen=True, kw_only=True):
    """A few values. Where they are ordered, neighbours are alike."""

    name: str
    values: tuple[Any, ...]
    ordered: bool = True

    @property
    def size(self) -> float:
        """Different genes."""
        return len(self.values)

    def draw(self, rng: Random) -> float:
        """Any gene, all equally likely."""
        return rng.randrange(len(self.values))

    def step(self, gene: float, rng: Random) -> float:
        """Another gene: a neighbour where there is an order, one in five times two places off; else any other."""
        last, here = len(self.values) - 1, int(gene)
        if last == 0:
            return here
        if not self.ordered:
            return (here + 1 + rng.randrange(last)) % (last + 1)
        reach = 2 if rng.random() < 0.2 else 1
        near = [here + offset for offset in (-reach, reach) if 0 <= here + offset <= last]
        return rng.choice(near or [here + offset for offset in (-1, 1) if 0 <= here + offset <= last])

    def at(self, share: float) -> float:
        """The gene at a share, [0, 1), of the axis."""
        return min(int(share * len(self.values)), len(self.values) - 1)

    def read(self, gene: float) -> Any:
        """The value that a gene stands for."""
        return self.values[int(gene)]

    def write(self, value: Any) -> float:
        """The gene of a value, or of the nearest where numbers do not match exactly."""
        if value in self.values or not self.ordered:
            return self.values.index(value)
        return min(range(len(self.values)), key=lambda index: abs(self.values[index] - value))


class NumberRange(msgspec.Struct, frozen=True, kw_only=True):
    """All numbers between two bounds, both included."""

    name: str
    low: float
    high: float
    log: bool = False
    whole: bool = False

    @property
    def size(self) -> float:
        """Different genes, as far as one can count them."""
        if self.low == self.high:
            return 1
        return self.high - self.low + 1 if self.whole else inf

    def draw(self, rng: Random) -> float:
        """Any gene; on a logarithmic span every factor is equally likely."""
        return self.at(rng.random())

    def step(self, gene: float, rng: Random) -> float:
        """A gene nearby: a normal step, and at least one where numbers are whole."""
        if self.size == 1:
            return gene
        moved = self.at(self._share(gene) + rng.gauss(0.0, LOCAL))
        if self.whole and moved == gene:
            up = gene == self.low or (gene != self.high and rng.random() < 0.5)
            moved = gene + (1 if up else -1)
        return moved

    def at(self, share: float) -> float:
        """The gene at a share of the axis; beyond its ends, the end."""
        share = min(1.0, max(0.0, share))
        if self.whole and not self.log:
            return min(int(self.high), int(self.low + share * (self.high - self.low + 1)))
        if self.log:
            value = exp(log(self.low) + share * (log(self.high) - log(self.low)))
        else:
            value = self.low + share * (self.high - self.low)
        return self.clip(round(value) if self.whole else _tidy(value))

    def clip(self, gene: float) -> float:
        """The gene, moved to the nearer bound where it lies outside."""
        return min(self.high, max(self.low, gene))

    def read(self, gene: float) -> Any:
        """The number, tidy."""
        return int(gene) if self.whole else self.clip(_tidy(gene))

    def write(self, value: Any) -> float:
        """The gene of a number."""
        return self.clip(value)

    def _share(self, gene: float) -> float:
        if self.log:
            return (log(gene) - log(self.low)) / (log(self.high) - log(self.low))
        if self.whole:
            return (gene - self.low + 0.5) / (self.high - self.low + 1)
        return (gene - self.low) / (self.high - self.low)


def _tidy(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


Dimension = Choices | NumberRange


# ------------------------- Randomness that any process repeats: one stream for each seed, generation and slot.


def stable_hash(value: object) -> int:
    """A whole number of 256 bits: SHA-256 of the value's canonical JSON.

    The same in every process; Python's own ``hash`` of a string is not, unless PYTHONHASHSEED says so.
    """
    return int(sha256_json(value), 16)


def stream(seed: int, generation: int, slot: int, purpose: str = "") -> Random:
    """The random numbers for one genome.

    Independent streams, so that neither the number of genomes nor what was drawn for others plays a part. Two
    strategies with one seed draw the same first genomes, which takes luck out of their comparison.

    Args:
        seed: of the search.
        generation: from 0.
        slot: place in the generation, from 0; -1 for what concerns the whole generation.
        purpose: tells streams of one slot apart.
    """
    return Random(stable_hash(["truegrade evolution", seed, generation, slot, purpose]))


# ----------------------------------------------------- Programs as Python's tokens, layout and comments apart.


PLACEHOLDER = "N"
"""Stands for every name."""

_LAYOUT = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)


def program_tokens(source: str) -> list[tokenize.TokenInfo]:
    """The tokens that mean something.

    Raises:
        SyntaxError: the text cannot be tokenised.
    """
    try:
        found = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, UnicodeError) as error:  # the latter since 3.12, of surrogates and odd newlines
        raise SyntaxError(str(error)) from None
    return [token for token in found if token.type not in _LAYOUT]


def nameless(source: str) -> list[str]:
    """The tokens' texts, every name that is no keyword made one placeholder.

    Text that cannot be tokenised is split at white space.
    """
    try:
        found = program_tokens(source)
    except SyntaxError:
        return source.split()
    return [
        PLACEHOLDER if token.type == tokenize.NAME and not keyword.iskeyword(token.string) else token.string
        for token in found
    ]


def is_one_token(before: str, after: str) -> bool:
    """Whether one program becomes the other by putting in, taking out or replacing one token.

    Raises:
        SyntaxError: one of them cannot be tokenised.
    """
    one = [token.string for token in program_tokens(before)]
    other = [token.string for token in program_tokens(after)]
    head = _shared(one, other)
    tail = _shared(one[head:][::-1], other[head:][::-1])
    return max(len(one), len(other)) - head - tail == 1


def ngrams(tokens: Sequence[str], size: int) -> frozenset[tuple[str, ...]]:
    """All spans of so many tokens; none where there are fewer."""
    return frozenset(tuple(tokens[start : start + size]) for start in range(len(tokens) - size + 1))


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How many tokens both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))
