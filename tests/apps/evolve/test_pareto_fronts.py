"""Dominance, fronts, crowding, selection."""

from math import inf, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truegrade.apps.evolve.genomes import Evaluated, Fidelity, Scores, Space, stream
from truegrade.apps.evolve.search_order import FULL, beats, crowding, dominates, fronts, select, standings, varying
from truegrade.apps.evolve.strategies import draw
from truegrade.errors import UserError

small = st.integers(0, 4).map(float)
clouds = st.integers(1, 5).flatmap(lambda d: st.lists(st.tuples(*[small] * d), min_size=1, max_size=25))


def scored(slot, fidelity=FULL, **objectives):
    genome = draw(Space(), stream(0, 0, slot))
    scores = Scores(objectives=objectives, problems={})
    return Evaluated(generation=0, slot=slot, genome=genome, scores=scores, fidelity=fidelity)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(clouds, st.data())
def test_fronts_equal_brute_force(points, data):
    fouls = data.draw(st.lists(st.sampled_from([0.0, 0.0, 0.5, 1.0]), min_size=len(points), max_size=len(points)))
    left, expected = set(range(len(points))), []
    while left:
        best = {i for i in left if not any(beats(points[j], points[i], fouls[j], fouls[i]) for j in left)}
        expected.append(sorted(best))
        left -= best
    assert fronts(points, fouls) == expected


@settings(derandomize=True, deadline=None, max_examples=40)
@given(clouds)
def test_no_constraint_is_no_violation(points):
    assert fronts(points) == fronts(points, [0.0] * len(points))
    assert sorted(i for front in fronts(points) for i in front) == list(range(len(points)))


def test_dominance():
    assert dominates((1, 2), (1, 1))
    assert not dominates((1, 1), (1, 1))
    assert not dominates((2, 0), (1, 1))
    assert beats((0,), (9,), 0.0, 0.1)  # allowed before better
    assert beats((0,), (9,), 0.1, 0.2)
    assert not beats((9,), (0,), 0.1, 0.1)  # objectives count among the allowed only


def test_constraints_never_empty():
    assert fronts([(1.0,), (2.0,), (3.0,)], [0.3, 0.1, 0.2]) == [[1], [2], [0]]


def test_crowding_by_hand():
    assert crowding([(0.0, 4.0), (1.0, 2.0), (4.0, 0.0)]) == [inf, 1.0 + 1.0, inf]
    assert crowding([(0.0, 4.0), (1.0, 3.0), (2.0, 1.0), (4.0, 0.0)])[1:3] == [2 / 4 + 3 / 4, 3 / 4 + 3 / 4]
    assert crowding([(1.0, 1.0)] * 3) == [0.0, 0.0, 0.0]  # nobody gets room from an objective without spread
    assert crowding([]) == []


def test_an_objective_that_never_varies_decides_nothing():
    told = [scored(i, bugfix=value, security=1.0) for i, value in enumerate((0.2, 0.8, 0.5))]
    assert varying(told, ["bugfix", "security"]) == ("bugfix",)
    assert [one.slot for one in select(told, ["bugfix", "security"], 3)] == [1, 2, 0]
    equal = [scored(i, security=1.0) for i in range(3)]
    assert [one.slot for one in select(equal, ["security"], 2)] == [0, 1]
    assert varying([], ["security"]) == ()
    assert select([], ["security"], 2) == []


def test_room_decides_within_a_front():
    told = [scored(i, a=a, b=1.0 - a) for i, a in enumerate((0.0, 0.05, 0.5, 0.95, 1.0))]
    assert [one.slot for one in select(told, ["a", "b"], 3)] == [0, 4, 2]
    assert {standing.front for standing in standings(told, ["a", "b"])} == {0}


def test_a_cheap_evaluation_never_outranks_a_full_one():
    cheap = scored(0, Fidelity(epochs=0.2, problems=1 / 3), a=0.9)
    full = scored(1, a=0.1)
    assert select([cheap, full], ["a"], 1) == [full]
    more = scored(2, Fidelity(epochs=0.2, problems=1 / 3), a=0.95)
    assert select([cheap, full, more], ["a"], 3) == [full, more, cheap]  # cheap ones are compared with each other


def test_violations_order_the_selection():
    told = [scored(0, a=0.9), scored(1, a=0.1), scored(2, a=0.2)]
    assert select(told, ["a"], 3, [0.5, 0.0, 0.0]) == [told[2], told[1], told[0]]


@pytest.mark.parametrize("objectives", [{}, {"a": nan}, {"a": inf}])
def test_scores_without_an_objective_are_refused(objectives):
    with pytest.raises(UserError, match="objective 'a' has no finite score"):
        select([scored(0, **objectives)], ["a"], 1)
