"""Exact hypervolume against brute force, Monte Carlo and two other libraries; the archive that follows it."""

from itertools import combinations
from math import prod
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truegrade.apps.evolve.genomes import Evaluated, Fidelity, Scores, Space, stream
from truegrade.apps.evolve.search_order import FULL, Archive, contribution, dominates, hypervolume
from truegrade.apps.evolve.strategies import draw
from truegrade.errors import UserError

share = st.integers(0, 20).map(lambda n: n / 20)
clouds = st.integers(1, 6).flatmap(lambda d: st.lists(st.tuples(*[share] * d), min_size=1, max_size=7))


def random_points(dimensions, count, seed):
    rng = Random(seed)
    return [[rng.random() for _ in range(dimensions)] for _ in range(count)]


def by_inclusion_and_exclusion(points, reference):
    total = 0.0
    for size in range(1, len(points) + 1):
        for some in combinations(points, size):
            sides = (
                max(0.0, min(axis) - low) for axis, low in zip(zip(*some, strict=True), reference, strict=True)
            )
            total += (-1) ** (size + 1) * prod(sides)
    return total


@settings(derandomize=True, deadline=None, max_examples=40)
@given(clouds)
def test_equals_inclusion_and_exclusion(points):
    reference = [0.1] * len(points[0])
    assert hypervolume(points, reference) == pytest.approx(
        by_inclusion_and_exclusion(points, reference), abs=1e-12
    )


@settings(derandomize=True, deadline=None, max_examples=40)
@given(clouds, st.data())
def test_never_shrinks_and_grows_by_the_contribution(points, data):
    new = data.draw(st.tuples(*[share] * len(points[0])))
    reference = [0.05] * len(new)
    before, after = hypervolume(points, reference), hypervolume([*points, new], reference)
    assert after >= before - 1e-15
    assert after - before == pytest.approx(contribution(new, points, reference), abs=1e-12)


# pymoo 0.6.1.5: HV(ref_point=-0.05)(-points), the points drawn as here.
@pytest.mark.parametrize(
    ("dimensions", "count", "seed", "expected"),
    [
        (2, 12, 1, 0.577131792903091),
        (3, 20, 2, 0.6614008514994042),
        (4, 25, 3, 0.5379223514538607),
        (5, 30, 4, 0.3729659879811528),
        (6, 15, 5, 0.1947271916353883),
    ],
)
def test_equals_pymoo(dimensions, count, seed, expected):
    points = random_points(dimensions, count, seed)
    assert hypervolume(points, [0.05] * dimensions) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("dimensions", [1, 2, 3, 4, 5, 6])
def test_equals_optuna(dimensions):
    pytest.importorskip("optuna")
    import numpy as np
    from optuna._hypervolume import compute_hypervolume

    points = random_points(dimensions, 20, 100 + dimensions)
    theirs = compute_hypervolume(-np.array(points), np.zeros(dimensions))
    assert hypervolume(points, [0.0] * dimensions) == pytest.approx(float(theirs), abs=1e-9)


def test_equals_monte_carlo():
    points, rng = random_points(5, 12, 9), Random(0)
    draws = 20_000
    hits = sum(
        any(all(x <= y for x, y in zip(at, point, strict=True)) for point in points)
        for at in ([rng.random() for _ in range(5)] for _ in range(draws))
    )
    share = hits / draws
    error = (share * (1 - share) / draws) ** 0.5
    assert hypervolume(points, [0.0] * 5) == pytest.approx(share, abs=4 * error)


def test_points_that_do_not_exceed_the_reference_add_nothing():
    assert hypervolume([(0.5, 0.0), (0.2, 0.1)], (0.2, 0.0)) == 0.0
    assert hypervolume([], (0.0,)) == 0.0
    assert hypervolume([(3.0,), (2.0,)], (1.0,)) == 2.0
    assert contribution((0.1, 9.0), [(1.0, 1.0)], (0.2, 0.0)) == 0.0


def evaluated(slot, fidelity=FULL, **objectives):
    genome = draw(Space(), stream(0, 0, slot))
    return Evaluated(
        generation=0,
        slot=slot,
        genome=genome,
        scores=Scores(objectives=objectives, problems={}),
        fidelity=fidelity,
    )


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.lists(st.tuples(share, share, share), min_size=1, max_size=15))
def test_the_archive_holds_all_that_nothing_dominates(points):
    archive = Archive(["a", "b", "c"], {"a": 0.1, "b": 0.1, "c": 0.1})
    told = [evaluated(i, a=a, b=b, c=c) for i, (a, b, c) in enumerate(points)]
    added = [archive.add(one) for one in told]
    assert archive.front == tuple(
        one
        for one, point in zip(told, points, strict=True)
        if not any(dominates(other, point) for other in points)
    )
    assert added[0]
    expected = [hypervolume(points[: n + 1], [0.1] * 3) for n in range(len(points))]
    assert archive.trace == pytest.approx(expected, abs=1e-12)
    assert archive.trace == sorted(archive.trace)


def test_the_archive_takes_first_and_full_evaluations():
    archive = Archive(["a", "s"], {"a": 0.0, "s": 0.0})
    assert archive.volume == 0.0
    assert archive.constant == ()
    assert not archive.add(evaluated(0, Fidelity(epochs=0.5), a=0.9, s=1.0))
    assert archive.add(evaluated(0, a=0.5, s=1.0))
    assert not archive.add(evaluated(0, a=0.8, s=1.0))  # the same genome, luckier
    assert archive.add(evaluated(1, a=0.6, s=1.0))
    assert not archive.add(evaluated(2, a=0.55, s=1.0))
    assert [one.slot for one in archive.front] == [1]
    assert archive.trace == [0.0, 0.5, 0.5, 0.6, 0.6]
    assert archive.constant == ("s",)
    with pytest.raises(UserError, match="'s' has no finite score"):
        archive.add(evaluated(3, a=1.0))
