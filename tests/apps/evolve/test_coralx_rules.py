"""CORAL-X by its rules, against values that its own functions gave."""

from random import Random

import numpy as np
import pytest
from coralx_spaces import ARCHIVE, MODAL
from hypothesis import given, settings
from hypothesis import strategies as st

from truegrade.apps.evolve import coralx
from truegrade.apps.evolve.coralx import (
    THRESHOLDS,
    adapter,
    candidate_alphas,
    change_rates,
    convergence,
    features,
    gene_index,
    genome_of,
    history,
    initial,
    knobs,
    periodicity,
    redraw,
    samples,
    step,
)
from truegrade.apps.evolve.genomes import AdapterGenes, Automaton, Evaluated, Scores, Space
from truegrade.profiles.coralx_objectives import WEIGHTS

# By running core/domain/{experiment,ca,feature_extraction,cheap_knobs}.py of skishore23/coralx@fd75b33 with seed
# 42 and the ranges of config/codellama_modal.yaml, numpy 2.4.6 and scipy 1.17.1: genome, rule, steps, last grid as
# one number, features; by genome, temperature, top_p, top_k, repetition_penalty, max_new_tokens, do_sample.
GOLDEN = [
    (0, 164, 8, 0x4000E2A208C1013, 0.7030437644647192, 0.44921875, 0.0, 0.04389880952380952),
    (1, 64, 9, 0, 0.025, 0.07291666666666667, 0.7777777777777778, 0.04244791666666667),
    (2, 200, 15, 0, 0.025, 0.051041666666666666, 0.8666666666666667, 0.01875),
    (5, 55, 6, 0x16180702DF72D856, 0.8976839305142608, 0.8515625, 0.0, 0.0),
    (17, 38, 19, 0xA121000007000020, 0.5087672791154574, 0.6858552631578947, 0.0, 0.003837719298245614),
    (30, 135, 19, 0x800000000000000, 0.10887663429545272, 0.9769736842105263, 0.9444444444444444, 0.0),
]
GOLDEN_KNOBS = {
    0: (0.68, 0.92, 49, 1.0, 246, True),
    1: (0.33, 0.88, 49, 1.15, 157, False),
    2: (0.33, 0.87, 50, 1.17, 154, False),
    5: (0.76, 0.94, 50, 1.0, 285, True),
    17: (0.59, 0.93, 50, 1.0, 247, True),
    30: (0.38, 0.95, 50, 1.19, 215, True),
}


def as_number(grid):
    return int("".join(str(cell) for row in grid for cell in row), 2)


def scored(fitness, generation=0, **objectives):
    genome = genome_of(initial(7, int(fitness * 1000)), ARCHIVE, 1.0, 0, "automaton")
    scores = Scores(objectives={"bugfix": fitness, **objectives}, problems={})
    return Evaluated(generation=generation, slot=0, genome=genome, scores=scores)


@pytest.mark.parametrize("seed", [0, 42, 123456])
def test_first_automata_are_the_sources_bit_for_bit(seed):
    for index in range(20):
        np.random.seed(seed + 1000 * index)  # the lines of core/domain/experiment.py
        grid = np.random.randint(0, 2, (8, 8), dtype=int)
        rng = Random(seed + 1000 * index)
        assert initial(seed, index) == Automaton(
            grid=tuple(map(tuple, grid.tolist())), rule=rng.randint(1, 255), steps=rng.randint(5, 20)
        )


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: f"genome {golden[0]}")
def test_history_features_and_knobs_are_the_sources(golden):
    index, rule, steps, last, *expected = golden
    automaton = initial(42, index)
    assert (automaton.rule, automaton.steps) == (rule, steps)
    assert as_number(history(automaton)[-1]) == last
    seen = features(automaton)
    values = (seen.complexity, seen.intensity, seen.periodicity, seen.convergence)
    assert values == pytest.approx(tuple(expected), abs=1e-15)
    got = knobs(seen, MODAL)
    temperature, top_p, top_k, penalty, tokens, draws = GOLDEN_KNOBS[index]
    assert samples(seen) is draws
    assert (got.top_p, got.top_k, got.repetition_penalty, got.max_tokens) == (top_p, top_k, penalty, tokens)
    assert got.temperature == (temperature if draws else 0.0)


@settings(derandomize=True, deadline=None, max_examples=30)
@given(st.lists(st.lists(st.integers(0, 1), min_size=8, max_size=8), min_size=8, max_size=8), st.integers(0, 255))
def test_a_live_cell_always_dies(rows, rule):
    grid = tuple(map(tuple, rows))
    after = step(grid, rule)
    assert not any(a & b for row, other in zip(grid, after, strict=True) for a, b in zip(row, other, strict=True))


def test_the_window_wraps_and_counts():
    corner = tuple(tuple(int(i == j == 0) for j in range(8)) for i in range(8))
    born = step(corner, 0b10)  # one live cell in the window
    alive = {(i, j) for i in range(8) for j in range(8) if born[i][j]}
    assert alive == {(i % 8, j % 8) for i in (-1, 0, 1) for j in (-1, 0, 1)} - {(0, 0)}


def test_periodicity_and_convergence_of_known_histories():
    blank, full = ((0, 0), (0, 0)), ((1, 1), (1, 1))
    assert periodicity([blank, full] * 4) == 1.0  # period two
    assert periodicity([blank, full]) == 0.0
    assert convergence([1.0, 0.75, 0.5, 0.25]) == pytest.approx(0.25)
    assert convergence([0.1, 0.5]) == 0.0
    assert (convergence([]), convergence([0.3])) == (1.0, 0.3)
    assert change_rates([blank, full, full]) == [1.0, 0.0]


def test_the_convergence_knob_hardly_moves():
    seen = [features(initial(42, index)) for index in range(200)]
    top_k = [knobs(one, ARCHIVE).top_k for one in seen]
    assert sum(one.convergence for one in seen) / 200 < 0.02
    assert min(top_k) >= 47


def test_mapping_picks_from_the_lists_by_a_stable_hash():
    picked = [adapter(features(initial(42, index)), ARCHIVE, 1.0, index) for index in range(200)]
    assert {genes.rank for genes in picked} == set(ARCHIVE.ranks)
    assert {genes.alpha for genes in picked} == set(ARCHIVE.alphas)
    assert {genes.dropout for genes in picked} == set(ARCHIVE.dropouts)
    assert {genes.kind for genes in picked} == {"dora"}
    assert picked[0] == AdapterGenes(kind="dora", rank=24, alpha=32.0, dropout=0.2, modules=ARCHIVE.modules[0])


def test_both_kinds_are_reachable():
    space = Space(kinds=("lora", "dora"))
    kinds = {genome_of(initial(1, index), space, 1.0, index, "automaton").adapter.kind for index in range(20)}
    assert kinds == {"lora", "dora"}
    assert genome_of(initial(1, 0), MODAL, 1.0, 0, "automaton").adapter.kind == "lora"


def test_low_diversity_shares_adapters_and_never_takes_the_last():
    seen = [features(initial(3, index)) for index in range(100)]
    low = {gene_index(one, "rank", 6, 0.5, index) for index, one in enumerate(seen)}
    assert low == {0, 1, 3}  # three groups of int(6 * .5), spread over five of six places
    high = {gene_index(one, "rank", 6, 1.5, index) for index, one in enumerate(seen)}
    assert high == set(range(6))
    balanced = [gene_index(one, "rank", 6, 1.0, index) for index, one in enumerate(seen)]
    assert balanced != [gene_index(one, "rank", 6, 1.5, index) for index, one in enumerate(seen)]


def test_alphas_of_a_space_with_ratios_are_all_products():
    assert candidate_alphas(Space(ranks=(4, 8), alpha_ratios=(1.0, 2.0))) == (4.0, 8.0, 16.0)


def test_crossover_of_automata_takes_the_grid_of_one_and_the_rest_of_the_other():
    one, other = initial(1, 0), initial(1, 1)
    mixes = {coralx.cross_automata(one, other, Random(seed)) for seed in range(20)}
    assert mixes == {
        Automaton(grid=one.grid, rule=other.rule, steps=other.steps),
        Automaton(grid=other.grid, rule=one.rule, steps=one.steps),
    }


def test_mutation_of_automata_has_the_sources_rates():
    parent, rng = initial(42, 0), Random(1)
    children = [coralx.mutate_automaton(parent, rng) for _ in range(4000)]
    changed = sum(child.grid != parent.grid for child in children) / 4000
    rule = sum(child.rule != parent.rule for child in children) / 4000
    steps = sum(child.steps != parent.steps for child in children) / 4000
    assert changed == pytest.approx(0.5, abs=0.03)
    assert rule == pytest.approx(0.1 * 10 / 11, abs=0.015)
    assert steps == pytest.approx(0.1 * 4 / 5, abs=0.015)
    assert max(abs(child.rule - parent.rule) for child in children) == 5
    assert max(abs(child.steps - parent.steps) for child in children) == 2


def test_an_empty_grid_stays_empty():
    empty = Automaton(grid=((0,) * 8,) * 8, rule=9, steps=1)
    children = [coralx.mutate_automaton(empty, Random(seed)) for seed in range(50)]
    assert {child.grid for child in children} == {empty.grid}
    assert min(child.steps for child in children) == 1


def test_seven_in_ten_mutations_vary_the_automaton_and_none_loses_the_kind():
    parent = genome_of(initial(42, 3), ARCHIVE, 1.0, 3, "automaton")
    children = [coralx.mutate(parent, ARCHIVE, 1.0, Random(seed)) for seed in range(300)]
    assert {child.adapter.kind for child in children} == {"dora"}
    assert all(child.origin == "mutation" and child.parents == (parent.id,) for child in children)
    rng = Random(5)
    redrawn = [redraw(parent.adapter, ARCHIVE, rng) for _ in range(3000)]
    kept = sum(genes.alpha == parent.adapter.alpha for genes in redrawn) / 3000
    assert kept == pytest.approx(0.7 + 0.3 / 8, abs=0.03)


def test_the_hash_destroys_heredity_and_the_direct_genome_keeps_it():
    """docs/evolution.md gives the figures of ``python -m bench coralx``, which takes more genomes."""
    from truegrade.apps.evolve.strategies import mutate

    parents = [genome_of(initial(42, index), ARCHIVE, 1.0, index, "automaton") for index in range(150)]
    rng = Random(0)
    hashed = [coralx.cross(one, one, ARCHIVE, 1.0, rng) for one in parents]  # even with itself
    direct = [mutate(ARCHIVE, one, rng) for one in parents]

    def same(children):
        pairs = zip(parents, children, strict=True)
        return sum(one.adapter.rank == child.adapter.rank for one, child in pairs) / 150

    assert same(hashed) < 0.25  # chance is one in six
    assert same(direct) > 0.75


def test_diversity_drives_the_crossover_rate():
    same = [genome_of(initial(42, 0), ARCHIVE, 1.0, 0, "automaton")] * 10
    assert coralx.diversity_strength(same, [0.5] * 10) == 0.5
    assert coralx.diversity_strength(same[:1], [0.5]) == 1.0
    assert coralx.diversity_strength(same[:2], [0.0, 1.0]) == pytest.approx((0.6 * 0.5 + 0.4 * 0.5) * 2)
    assert coralx.crossover_rate(0.5) == pytest.approx(0.84)
    assert coralx.crossover_rate(1.0) == 0.7
    assert coralx.crossover_rate(1.6) == pytest.approx(0.56)
    assert coralx.crossover_rate(0.5, 0.8) == 0.9
    assert coralx.crossover_rate(1.6, 0.35) == 0.3


@pytest.mark.parametrize(
    ("generation", "expected"), [(0, 0.002), (10, 0.047), (20, 0.5), (30, 0.953), (39, 0.997)]
)
def test_the_gate_rises_as_a_sigmoid(generation, expected):
    assert coralx.sigma(generation, 40) == pytest.approx(expected, abs=0.0007)


def test_other_schedules_and_bars():
    assert coralx.sigma(4, 16, "sqrt") == 0.5
    assert coralx.sigma(4, 16, "linear") == 0.25
    assert coralx.sigma(3, 0) == 1.0
    table = THRESHOLDS["codellama_modal"]
    assert coralx.bars(table, 0.0) == table.base
    assert coralx.bars(table, 1.0) == pytest.approx(table.last)
    assert coralx.bars(table, 0.5)["bugfix"] == pytest.approx(0.55)


def test_the_gate_keeps_the_two_fittest_where_fewer_pass():
    population = [scored(value) for value in (0.1, 0.4, 0.3, 0.2)]
    assert coralx.admit(population, {"bugfix": 0.15}) == population[1:]
    assert coralx.admit(population, {"bugfix": 0.35}) == [population[1], population[2]]
    assert coralx.admit(population, {"bugfix": 0.9}) == [population[1], population[2]]
    assert coralx.admit(population, {"style": 0.9}) == population  # an objective that nobody measured bars nobody
    assert coralx.missing({"bugfix": 0.25, "style": 1.0}, {"bugfix": 0.5, "style": 0.5}) == 0.25


def test_fitness_is_the_weighted_sum_of_coralx():
    best = {"bugfix": 1.0, "security": 1.0, "syntax": 0.9, "style": 0.97, "runtime": 0.9}
    assert coralx.fitness(best) == pytest.approx(0.9655)
    assert sum(WEIGHTS.values()) == pytest.approx(1.0)
    assert coralx.fitness({"pass_rate": 0.5, "tokens": -1.5}) == -0.5


def test_early_stopping_needs_a_plateau_and_uniformity():
    flat, uniform = [0.5] * 6, [0.5, 0.5, 0.5, 0.5, 0.05, 0.05]
    assert coralx.stops(flat, uniform)
    assert not coralx.stops(flat[:5], uniform[1:])
    assert not coralx.stops([0.5] * 5 + [0.502], uniform)
    assert not coralx.stops(flat, [0.5] * 5 + [0.05])
    two = [scored(0.2), scored(0.4)]
    assert coralx.diversity(two[:1], ["bugfix"]) == 0.0
    spread = 0.1 * WEIGHTS["bugfix"]
    assert coralx.diversity(two, ["bugfix"]) == pytest.approx((spread + 1.0 + 0.2) / 3)
