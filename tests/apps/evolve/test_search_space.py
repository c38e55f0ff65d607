"""Axes, genomes of a space, and the operators of the direct genome."""

from random import Random

import pytest
from coralx_spaces import ARCHIVE, MODAL
from hypothesis import given, settings
from hypothesis import strategies as st

from truegrade.apps.evolve.genomes import Choices, NumberRange, Space, stable_hash, stream
from truegrade.apps.evolve.strategies import cross, draw, draw_by_automaton, mutate
from truegrade.errors import UserError

WIDE = Space(
    temperature=(0.0, 1.0), top_p=(0.5, 1.0), top_k=(1, 50), repetition_penalty=(1.0, 1.2), max_tokens=(64, 512)
)
SPANS = [
    NumberRange(name="rate", low=1e-4, high=1e-1, log=True),
    NumberRange(name="share", low=0.0, high=1.0),
    NumberRange(name="epochs", low=1, high=7, whole=True),
    NumberRange(name="width", low=1, high=64, log=True, whole=True),
    NumberRange(name="fixed", low=3e-4, high=3e-4, log=True),
]
any_space = st.sampled_from([Space(), WIDE, ARCHIVE])
any_random = st.integers(0, 2**32).map(Random)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(any_space, any_random)
def test_genes_are_a_genome_read_backwards(space, rng):
    genome = draw(space, rng)
    assert space.genome(space.genes(genome), "random") == genome
    for axis in space.dimensions:
        gene = space.genes(genome)[axis.name]
        if isinstance(axis, NumberRange):
            assert axis.low <= gene <= axis.high
        else:
            assert 0 <= gene < len(axis.values)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(any_space, any_random)
def test_a_mutant_differs_and_stays_inside(space, rng):
    parent = draw(space, rng)
    child = mutate(space, parent, rng)
    assert child.parents == (parent.id,)
    assert (child.adapter, child.training, child.sampling) != (parent.adapter, parent.training, parent.sampling)
    assert space.genome(space.genes(child), child.origin, child.parents) == child


@settings(derandomize=True, deadline=None, max_examples=40)
@given(any_space, any_random)
def test_a_crossing_has_each_gene_of_a_parent(space, rng):
    mother, father = draw(space, rng), draw(space, rng)
    child = space.genes(cross(space, mother, father, rng))
    one, other = space.genes(mother), space.genes(father)
    assert all(child[name] in (one[name], other[name]) for name in one)


@pytest.mark.parametrize("axis", SPANS, ids=lambda axis: axis.name)
def test_spans_draw_and_step_within_bounds(axis):
    rng = Random(3)
    for _ in range(300):
        gene = axis.draw(rng)
        moved = axis.step(gene, rng)
        assert axis.low <= moved <= axis.high
        if axis.whole:
            assert moved != gene
            assert moved == int(moved)
    assert len({axis.draw(rng) for _ in range(300)}) > 1 or axis.size == 1
    assert (axis.at(0.0), axis.at(1.0)) == (axis.low, axis.high)


def test_a_logarithmic_span_is_even_in_factors():
    axis, rng = SPANS[0], Random(0)
    below = sum(axis.draw(rng) < 1e-3 for _ in range(3000)) / 3000
    assert below == pytest.approx(1 / 3, abs=0.03)
    assert [axis.at(third / 3) for third in range(4)] == pytest.approx([1e-4, 1e-3, 1e-2, 1e-1])


def test_whole_numbers_are_equally_likely():
    axis, rng = SPANS[2], Random(0)
    counts = [0] * 8
    for _ in range(7000):
        counts[int(axis.draw(rng))] += 1
    assert counts[0] == 0
    assert min(counts[1:]) > 850


def test_ordered_choices_step_to_neighbours_and_others_anywhere():
    rng = Random(1)
    ordered = Choices(name="rank", values=(1, 2, 4, 8, 16))
    assert {ordered.step(2, rng) for _ in range(200)} == {0, 1, 3, 4}
    assert {ordered.step(0, rng) for _ in range(200)} == {1, 2}
    assert sum(abs(ordered.step(2, rng) - 2) == 1 for _ in range(1000)) == pytest.approx(800, abs=50)
    pair = Choices(name="rank", values=(1, 2))
    assert {pair.step(0, rng) for _ in range(50)} == {1}
    kinds = Choices(name="kind", values=("a", "b", "c"), ordered=False)
    assert {kinds.step(1, rng) for _ in range(50)} == {0, 2}
    assert Choices(name="one", values=(7,)).step(0, rng) == 0


def test_a_value_off_the_list_gets_the_nearest_gene():
    assert Choices(name="alpha_ratio", values=(0.5, 1.0, 2.0)).write(0.30000000000000004 / 0.3) == 1


def test_the_size_of_a_space():
    assert MODAL.size == float("inf")
    finite = Space(learning_rate=(1e-3, 1e-3), epochs=(1, 3))
    assert finite.size == 2 * 6 * 4 * 3 * 3 * 3


def test_an_automaton_may_draw_the_first_genome():
    genome = draw_by_automaton(Space(), 5, 2)
    assert genome.origin == "automaton"
    assert genome.automaton is not None
    drawn = {draw_by_automaton(Space(), 5, slot).training.learning_rate for slot in range(10)}
    assert len(drawn) == 10


def test_streams_are_apart_and_repeat():
    assert stream(1, 2, 3).random() == stream(1, 2, 3).random() == 0.5166032811550609
    others = [stream(1, 2, 4), stream(1, 3, 3), stream(2, 2, 3), stream(1, 2, 3, "x"), stream(12, 3, 3)]
    assert len({rng.random() for rng in others} | {stream(1, 2, 3).random()}) == 6
    assert stable_hash({"b": 1, "a": 2}) == stable_hash({"a": 2, "b": 1})


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"ranks": ()}, "ranks"),
        ({"ranks": (8, 4)}, "rising order"),
        ({"dropouts": (0.1, 0.1)}, "repeats"),
        ({"dropouts": (0.5, 1.0)}, "below 1"),
        ({"ranks": (0, 4)}, "from 1"),
        ({"learning_rate": (0.0, 1e-3)}, "positive"),
        ({"epochs": (5, 2)}, "lower one first"),
        ({"temperature": (-0.1, 1.0)}, "from 0 up"),
    ],
)
def test_a_space_that_makes_no_sense_is_refused(fields, named):
    with pytest.raises(UserError, match=named):
        Space(**fields)
