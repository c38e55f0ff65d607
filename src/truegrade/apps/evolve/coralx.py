"""CORAL-X by its rules: an automaton is varied, and a hash of what it does picks the adapter.

    automaton ──▶ history ──▶ features ──▶ adapter by hash, sampling by formula
        ▲                                        │
        └── variation ◀── selection ◀── gate ◀── scores

Reproduced from ``skishore23/coralx@fd75b33``, function by function; each module names its source and where it
departs. What makes it a weak search is measured in docs/evolution.md, not repaired here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from math import dist, exp, log2, sqrt
from random import Random
from statistics import fmean, pstdev
from types import MappingProxyType
from typing import Literal

import msgspec

from truegrade.apps.evolve.genomes import (
    AdapterGenes,
    Automaton,
    Evaluated,
    Genome,
    SamplingGenes,
    Space,
    TrainingGenes,
    stable_hash,
)
from truegrade.apps.evolve.search_order import points
from truegrade.profiles.coralx_objectives import WEIGHTS

# -------------- CORAL-X's automata: the automaton, its features, the adapter that they pick, and its children.
# The cellular automaton: 8 x 8 cells on a torus. Source: ``core/domain/ca.py``, ``core/domain/experiment.py``.
#
# The window is 3 x 3, and the count of live cells in it includes the centre (the source's comment denies that). A
# rule's bit ``8 * centre + min(count, 7)`` is the new cell. First rules have 8 bits, so only births are coded and
# a live cell always dies.


SIZE = 8
"""Cells of a side; the source ignores its configured sizes, rule ranges and densities."""
RULES = (1, 255)
STEPS = (5, 20)
APART = 1000
"""Between the seeds of two first genomes."""

Grid = tuple[tuple[int, ...], ...]


def initial(seed: int, index: int) -> Automaton:
    """The automaton of first genome ``index``, as the source draws it: its grid by numpy's old generator."""
    import numpy as np

    own = seed + APART * index
    grid = np.random.RandomState(own).randint(0, 2, (SIZE, SIZE), dtype=int).tolist()
    rng = Random(own)
    rule, steps = rng.randint(*RULES), rng.randint(*STEPS)
    return Automaton(grid=tuple(map(tuple, grid)), rule=rule, steps=steps)


def history(automaton: Automaton) -> list[Grid]:
    """The grid before the first step and after each: ``steps + 1`` grids."""
    grids = [automaton.grid]
    for _ in range(automaton.steps):
        grids.append(step(grids[-1], automaton.rule))
    return grids


def step(grid: Grid, rule: int) -> Grid:
    """All cells at once."""
    height, width = len(grid), len(grid[0])
    beside = [[row[j - 1] + row[j] + row[(j + 1) % width] for j in range(width)] for row in grid]
    return tuple(
        tuple(
            rule >> (8 * grid[i][j] + min(beside[i - 1][j] + beside[i][j] + beside[(i + 1) % height][j], 7)) & 1
            for j in range(width)
        )
        for i in range(height)
    )


# --------------------- What an automaton does, in four numbers. Source: ``core/domain/feature_extraction.py``.
# The slope that the source takes from scipy's ``linregress`` is written out.


LONGEST_PERIOD = 10
"""Exclusive."""


class Features(msgspec.Struct, frozen=True, kw_only=True):
    """Each in [0, 1]."""

    complexity: float
    intensity: float
    periodicity: float
    convergence: float


def features(automaton: Automaton) -> Features:
    """Run an automaton and look at it."""
    grids = history(automaton)
    rates = change_rates(grids)
    return Features(
        complexity=complexity(grids[-1]),
        intensity=sum(rates) / len(rates) if rates else 0.0,
        periodicity=periodicity(grids),
        convergence=convergence(rates),
    )


def change_rates(grids: Sequence[Grid]) -> list[float]:
    """Share of the cells that each step changes. Their mean is the intensity."""
    cells = sum(map(len, grids[0]))
    return [_differences(before, after) / cells for before, after in pairwise(grids)]


def _differences(before: Grid, after: Grid) -> int:
    return sum(a != b for row, other in zip(before, after, strict=True) for a, b in zip(row, other, strict=True))


def complexity(grid: Grid) -> float:
    """Of the last grid: 60 % entropy of its cells and 40 % pattern in space; pattern alone where all are equal."""
    cells = [cell for row in grid for cell in row]
    counts = Counter(cells)
    pattern = _pattern(grid, cells)
    if len(counts) == 1:
        return pattern
    shares = [count / len(cells) for count in counts.values()]
    entropy = -sum(share * log2(share + 1e-10) for share in shares)
    return 0.6 * entropy / log2(len(counts)) + 0.4 * pattern


def _pattern(grid: Grid, cells: Sequence[int]) -> float:
    """Unequal neighbours (the border does not wrap here), different 2 x 2 windows of 16, and variance."""
    pairs = [(a, b) for row in grid for a, b in pairwise(row)]
    pairs += [(a, b) for above, below in pairwise(grid) for a, b in zip(above, below, strict=True)]
    edges = sum(a != b for a, b in pairs) / len(pairs)
    windows = {
        (above[j], above[j + 1], below[j], below[j + 1])
        for above, below in pairwise(grid)
        for j in range(len(above) - 1)
    }
    mean = sum(cells) / len(cells)
    variance = sum((cell - mean) ** 2 for cell in cells) / len(cells)
    return min(1.0, 0.4 * edges + 0.4 * len(windows) / 16 + 0.2 * min(1.0, 4 * variance))


def periodicity(grids: Sequence[Grid]) -> float:
    """Over periods below ten and below half the history: the share of grids equal to that one period ago."""
    if len(grids) < 3:
        return 0.0
    periods = range(1, min(len(grids) // 2, LONGEST_PERIOD))
    shares = (
        sum(grids[i] == grids[i - period] for i in range(period, len(grids))) / (len(grids) - period)
        for period in periods
    )
    return max(shares, default=0.0)


def convergence(rates: Sequence[float]) -> float:
    """How fast change fades: minus the slope of the change rate over steps, clipped to [0, 1].

    The slope per step of a rate in [0, 1] is next to nothing over 5 to 20 steps, so this knob hardly moves. A
    history of one step gives the rate itself, and an empty one 1, as in the source.
    """
    if not rates:
        return 1.0
    if len(rates) == 1:
        return rates[0]
    middle, mean = (len(rates) - 1) / 2, sum(rates) / len(rates)
    slope = sum((t - middle) * (rate - mean) for t, rate in enumerate(rates))
    slope /= sum((t - middle) ** 2 for t in range(len(rates)))
    return min(1.0, max(0.0, -slope))


# ------ How the adapted model is asked, by formulas over the features. Source: ``core/domain/cheap_knobs.py``.


SAMPLES_ABOVE = 0.4
"""Creativity from which replies are drawn at all; below it decoding is greedy."""


def knobs(seen: Features, space: Space) -> SamplingGenes:
    """Sampling genes within the ranges of the space."""
    still, steady = 1.0 - seen.convergence, 1.0 - seen.periodicity
    need = 0.4 * seen.complexity + 0.3 * seen.intensity + 0.2 * still + 0.1 * steady
    return SamplingGenes(
        temperature=round(_within(space.temperature, seen.complexity**0.8), 2) if samples(seen) else 0.0,
        top_p=round(_within(space.top_p, sqrt(seen.intensity)), 2),
        top_k=round(_within(space.top_k, sqrt(still))) if space.top_k else None,
        repetition_penalty=round(_within(space.repetition_penalty, seen.periodicity**1.2), 2),
        max_tokens=round(_within(space.max_tokens, need**0.9)),
    )


def samples(seen: Features) -> bool:
    """The source's ``do_sample``: whether the features call for creativity."""
    creativity = 0.3 * seen.complexity + 0.3 * seen.intensity
    return creativity + 0.2 * (1.0 - seen.convergence) + 0.2 * (1.0 - seen.periodicity) > SAMPLES_ABOVE


def _within(bounds: tuple[float, float], share: float) -> float:
    return bounds[0] + share * (bounds[1] - bounds[0])


# ------ From features to an adapter: a hash picks each gene from its list. Source: ``core/domain/mapping.py``.
# The source hashes with Python's ``hash`` of strings, which differs from process to process: one seed gives other
# adapters every time. Here the same values go through SHA-256 of canonical JSON; everything else is the source's,
# its salts included. A space of several kinds or module sets is picked from in the same way; the source takes
# both from its configuration, which a space of one each does too.


LEARNING_RATE, EPOCHS = 2e-4, 5
"""``core/domain/lora_training.py``: no genes there. Moved to the nearer bound where the space excludes them."""
MUTATES = 0.3
"""Chance of each gene that a direct mutation draws again."""


def gene_index(seen: Features, gene: str, count: int, strength: float, index: int) -> int:
    """Which of ``count`` candidates a gene takes.

    Args:
        seen: the automaton's features.
        gene: name; each has its own hash.
        count: candidates.
        strength: of diversity. Up to 0.5 a blend of the features falls into few groups, so that adapters are
            shared (and the last candidate is never reached); from 1.5 the hash is hashed once more.
        index: of the genome; a salt, so that equal features need not give equal genes.
    """
    values = [seen.complexity, seen.intensity, seen.periodicity, seen.convergence]
    entropy = stable_hash([*(f"{value * 1000:.0f}" for value in values), gene, index * 7919]) % 10_000
    fingerprint = stable_hash([*(f"{value:.8f}" for value in values), gene, entropy, index + 1])
    if strength <= 0.5:
        blend = 0.4 * values[0] + 0.3 * values[1] + 0.2 * values[2] + 0.1 * values[3]
        blend = (blend + entropy * 0.001 + index * 0.01) % 1.0
        groups = max(2, int(count * strength))
        return int(int(blend * groups) % groups / groups * (count - 1))
    if strength >= 1.5:
        product = f"{seen.complexity * seen.intensity:.12f}"
        ratio = f"{seen.periodicity / (seen.convergence + 1e-8):.12f}"
        fingerprint = stable_hash([str(fingerprint), product, ratio, int(strength * 1000), index * 997])
    return fingerprint % count


def adapter(seen: Features, space: Space, strength: float, index: int) -> AdapterGenes:
    """The adapter that features stand for."""
    alphas = candidate_alphas(space)

    def pick(gene: str, count: int) -> int:
        return gene_index(seen, gene, count, strength, index)

    return AdapterGenes(
        kind=space.kinds[pick("kind", len(space.kinds))],
        rank=space.ranks[pick("rank", len(space.ranks))],
        alpha=alphas[pick("alpha", len(alphas))],
        dropout=space.dropouts[pick("dropout", len(space.dropouts))],
        modules=space.modules[pick("modules", len(space.modules))],
    )


def candidate_alphas(space: Space) -> tuple[float, ...]:
    """What alpha is taken from, whatever the rank: the space's list, or all products of ranks and ratios."""
    products = {float(rank * ratio) for rank in space.ranks for ratio in space.alpha_ratios}
    return tuple(map(float, space.alphas)) or tuple(sorted(products))


def genome_of(
    automaton: Automaton, space: Space, strength: float, index: int, origin: str, parents: tuple[str, ...] = ()
) -> Genome:
    """Everything that an automaton stands for."""
    seen = features(automaton)
    low, high = space.learning_rate
    return Genome(
        adapter=adapter(seen, space, strength, index),
        training=TrainingGenes(
            learning_rate=min(high, max(low, LEARNING_RATE)),
            epochs=min(space.epochs[1], max(space.epochs[0], EPOCHS)),
        ),
        sampling=knobs(seen, space),
        automaton=automaton,
        origin=origin,
        parents=parents,
    )


def redraw(genes: AdapterGenes, space: Space, rng: Random) -> AdapterGenes:
    """Rank, alpha and dropout, each drawn again with its chance. The source loses the kind here; this keeps it."""
    alphas = candidate_alphas(space)
    return AdapterGenes(
        kind=genes.kind,
        rank=rng.choice(space.ranks) if rng.random() < MUTATES else genes.rank,
        alpha=rng.choice(alphas) if rng.random() < MUTATES else genes.alpha,
        dropout=rng.choice(space.dropouts) if rng.random() < MUTATES else genes.dropout,
        modules=genes.modules,
    )


# ------------- Children of automata. Source: ``core/domain/neat.py``, ``core/services/genetic_operations.py``.
# The rules are the source's; its stream of random numbers, shared by all genomes in the order of work, is not.


CROSSOVER_RATE = 0.7
MUTATES_AUTOMATON = 0.7
"""Share of mutations that vary the automaton; the others vary the adapter itself."""
RULE_CHANCE, RULE_REACH = 0.1, 5
STEPS_CHANCE, STEPS_REACH = 0.1, 2
SALTS = 1000


def diversity_strength(population: Sequence[Genome], fitnesses: Sequence[float]) -> float:
    """How diverse a population is, [0.5, 2]: 60 % spread of fitness, 40 % different genes, doubled.

    The spread of fitness is far below 1, so a population of ten hardly ever leaves the lower bound's side.
    """
    if len(population) <= 1:
        return 1.0
    adapters = [genome.adapter for genome in population]
    kinds = [
        len({getattr(genes, name) for genes in adapters}) / len(adapters) for name in ("rank", "alpha", "dropout")
    ]
    return max(0.5, min(2.0, (0.6 * pstdev(fitnesses) + 0.4 * sum(kinds) / 3.0) * 2.0))


def crossover_rate(strength: float, base: float = CROSSOVER_RATE) -> float:
    """More crossover where diversity is low, less where it is high."""
    if strength < 0.8:
        return min(0.9, base * 1.2)
    if strength > 1.5:
        return max(0.3, base * 0.8)
    return base


def child(survivors: Sequence[Genome], space: Space, strength: float, rate: float, rng: Random) -> Genome:
    """A child of any two survivors, or of one."""
    if rng.random() < rate and len(survivors) >= 2:
        mother, father = rng.sample(list(survivors), 2)
        return cross(mother, father, space, strength, rng)
    return mutate(rng.choice(list(survivors)), space, strength, rng)


def cross(mother: Genome, father: Genome, space: Space, strength: float, rng: Random) -> Genome:
    """The grid of one and rule and steps of the other; all genes are derived anew."""
    mixed = cross_automata(_automaton(mother), _automaton(father), rng)
    salt = stable_hash(mother.id + father.id) % SALTS
    return genome_of(mixed, space, strength, salt, "crossover", (mother.id, father.id))


def mutate(parent: Genome, space: Space, strength: float, rng: Random) -> Genome:
    """A varied automaton with all genes derived anew, or some genes drawn again beside the same automaton."""
    if rng.random() < MUTATES_AUTOMATON:
        varied = mutate_automaton(_automaton(parent), rng)
        return genome_of(varied, space, strength, stable_hash(parent.id) % SALTS, "mutation", (parent.id,))
    genes = redraw(parent.adapter, space, rng)
    return msgspec.structs.replace(parent, adapter=genes, origin="mutation", parents=(parent.id,))


def cross_automata(one: Automaton, other: Automaton, rng: Random) -> Automaton:
    """The grid of either with rule and steps of the other."""
    giver, rest = (one, other) if rng.random() < 0.5 else (other, one)
    return Automaton(grid=giver.grid, rule=rest.rule, steps=rest.steps)


def mutate_automaton(automaton: Automaton, rng: Random) -> Automaton:
    """One cell takes a random value, often its own; the rule moves by up to 5 and the steps by up to 2, rarely.

    A rule may leave the first rules' range upwards, as in the source. On an empty grid the random value is 0.
    """
    i, j = rng.randrange(len(automaton.grid)), rng.randrange(len(automaton.grid[0]))
    grid = [list(row) for row in automaton.grid]
    grid[i][j] = rng.randint(0, max(map(max, grid)))
    rule, steps = automaton.rule, automaton.steps
    if rng.random() < RULE_CHANCE:
        rule = rng.randint(max(0, rule - RULE_REACH), rule + RULE_REACH)
    if rng.random() < STEPS_CHANCE:
        steps = max(1, steps + rng.randint(-STEPS_REACH, STEPS_REACH))
    return Automaton(grid=tuple(map(tuple, grid)), rule=rule, steps=steps)


def _automaton(genome: Genome) -> Automaton:
    if genome.automaton is None:
        raise ValueError(f"genome {genome.id} has no automaton: it is of another search")
    return genome.automaton


# -------------- CORAL-X's rules beside the automaton: thresholds, the gate for breeding, and when it gives up.
# Thresholds that CORAL-X's configurations give. Sources: ``config/codellama_modal.yaml``, ``archive`` = the
# deleted ``config/main.yaml`` (``1b8597a^``), ``spec`` = the architecture document's targets.


class Thresholds(msgspec.Struct, frozen=True, kw_only=True):
    """What a genome must reach in each objective, at first and at last. An objective not named has no bar."""

    base: Mapping[str, float]
    last: Mapping[str, float]


def _thresholds(base: tuple[float, ...], last: tuple[float, ...]) -> Thresholds:
    names = ("bugfix", "style", "security", "runtime", "syntax")
    return Thresholds(base=dict(zip(names, base, strict=True)), last=dict(zip(names, last, strict=True)))


THRESHOLDS = MappingProxyType(
    {
        "codellama_modal": _thresholds((0.3, 0.3, 0.4, 0.3, 0.2), (0.8, 0.7, 0.9, 0.7, 0.8)),
        "archive": _thresholds((0.25, 0.35, 0.4, 0.3, 0.3), (0.75, 0.8, 0.85, 0.8, 0.9)),
        "spec": _thresholds((0.6, 0.8, 0.9, 0.7, 0.3), (0.9, 0.97, 1.0, 0.9, 0.9)),
    }
)


# ------------------------- The threshold gate: what a genome must reach to breed, rising over the generations.
# Source: ``core/domain/threshold_gate.py``, ``core/services/population_manager.py``. The source drops who fails
# any bar, keeps the two fittest where fewer than two pass, and with its strictest bars drops the reference
# solution. The other reading is a constraint: who misses by less is better (``pareto.beats``), and none is
# dropped.


Schedule = Literal["sigmoid", "sqrt", "linear"]
FEWEST = 2
"""Genomes that a gate lets through at least."""


def sigma(generation: int, generations: int, schedule: Schedule = "sigmoid") -> float:
    """How far the bars have risen, 0 to 1."""
    if generations <= 0:
        return 1.0
    share = generation / generations
    if schedule == "sigmoid":
        return 1.0 / (1.0 + exp(-12.0 * (share - 0.5)))
    return sqrt(share) if schedule == "sqrt" else share


def bars(thresholds: Thresholds, risen: float) -> dict[str, float]:
    """What must be reached now, by objective."""
    return {name: low + risen * (thresholds.last[name] - low) for name, low in thresholds.base.items()}


def missing(objectives: Mapping[str, float], required: Mapping[str, float]) -> float:
    """By how much the bars are missed, summed over objectives; 0 where all are reached."""
    return sum(max(0.0, bar - objectives[name]) for name, bar in required.items() if name in objectives)


def admit(evaluated: Sequence[Evaluated], required: Mapping[str, float]) -> list[Evaluated]:
    """Who reaches every bar, or the two fittest where fewer than two do."""
    passed = [one for one in evaluated if missing(one.scores.objectives, required) <= 0.0]
    if len(passed) >= FEWEST:
        return passed
    return sorted(evaluated, key=lambda one: -fitness(one.scores.objectives))[:FEWEST]


def fitness(objectives: Mapping[str, float]) -> float:
    """The weighted sum of the objectives that have a weight; where none has, the mean of all."""
    weighted = [WEIGHTS[name] * value for name, value in objectives.items() if name in WEIGHTS]
    return sum(weighted) if weighted else sum(objectives.values()) / len(objectives)


# ------------ When CORAL-X gives up. Source: ``should_stop_early`` of ``core/services/population_manager.py``.


WINDOW = 5
"""Generations that are looked back on."""
LEAST_GAIN = 0.001
ALIKE = 0.1
"""Diversity below which a generation counts as uniform."""


def diversity(evaluated: Sequence[Evaluated], objectives: Sequence[str]) -> float:
    """Mean of three: spread of fitness, share of different adapters, mean distance of scores."""
    if len(evaluated) <= 1:
        return 0.0
    adapters = {
        (one.genome.adapter.rank, one.genome.adapter.alpha, one.genome.adapter.modules, one.genome.adapter.dropout)
        for one in evaluated
    }
    distances = [dist(a, b) for a, b in combinations(points(evaluated, objectives), 2)]
    spread = pstdev(fitness(one.scores.objectives) for one in evaluated)
    return fmean([spread, len(adapters) / len(evaluated), fmean(distances)])


def stops(best: Sequence[float], diversities: Sequence[float]) -> bool:
    """Whether the last five generations gained next to nothing and at least two of them were uniform.

    Args:
        best: greatest fitness of each generation so far.
        diversities: of each generation so far.
    """
    if len(best) <= WINDOW:
        return False
    flat = max(best[-WINDOW:]) - min(best[-WINDOW:]) < LEAST_GAIN
    uniform = sum(value < ALIKE for value in diversities[-WINDOW:])
    return flat and uniform >= WINDOW // 2
