"""Pass rate against token budget: known up to the limit, bounds beyond, and where two runs surely differ."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegrade.statistics.budgets import POINTS, SizedReply, budget_curve, surely_apart
from truegrade.statistics.intervals import cluster_interval

REPLIES = st.lists(
    st.tuples(st.integers(0, 5), st.booleans(), st.integers(1, 60), st.booleans()), min_size=2, max_size=60
).map(
    lambda rows: [
        SizedReply(f"t{task}", f"t{task}", passed, 50 if cut else min(tokens, 50), cut)
        for task, passed, tokens, cut in rows
    ]
)


def reply(task, passed, tokens, cut=False):
    return SizedReply(task, task, passed, tokens, cut)


def rate(replies, budget):
    tasks = {each.task for each in replies}
    of = {task: [each for each in replies if each.task == task] for task in tasks}
    right = {task: sum(each.passed and each.tokens <= budget for each in of[task]) for task in tasks}
    return sum(right[task] / len(of[task]) for task in tasks) / len(tasks)


def test_up_to_the_limit_the_rate_is_known_and_beyond_it_lies_between_bounds():
    replies = [reply("a", True, 10), reply("b", True, 30), reply("c", False, 40, True), reply("d", False, 20)]
    curve = budget_curve(replies)
    assert [(point.tokens, point.low, point.high) for point in curve.points] == [
        (10, 0.25, 0.25), (30, 0.5, 0.5), (40, 0.5, 0.5),
    ]  # fmt: skip
    assert curve.limit == 40
    assert (curve.beyond.low, curve.beyond.high) == (0.5, 0.75)
    assert curve.bounds(9) == (0.0, 0.0)
    assert curve.bounds(20) == (0.25, 0.5)
    assert curve.bounds(10) == (0.25, 0.25)
    assert curve.bounds(1_000_000) == (0.5, 0.75)


def test_a_reply_cut_before_any_right_one_leaves_the_rate_open_from_there_on():
    curve = budget_curve([reply("a", True, 10), reply("b", False, 5, cut=True)])
    assert curve.bounds(4) == (0.0, 0.0)
    assert curve.bounds(7) == (0.0, 1.0)
    assert curve.bounds(10) == (0.5, 1.0)


def test_the_ends_of_the_interval_are_those_of_the_bounds():
    replies = [reply(f"{place}", place < 6, 10 + place, cut=place == 9) for place in range(10)]
    curve = budget_curve(replies)
    lower = cluster_interval([1.0] * 6 + [0.0] * 4, [1.0] * 10, list("0123456789"), [1] * 10)
    upper = cluster_interval([1.0] * 7 + [0.0] * 3, [1.0] * 10, list("0123456789"), [1] * 10)
    assert (curve.beyond.interval_low, curve.beyond.interval_high) == (lower.low, upper.high)


def test_where_no_reply_was_cut_the_rate_stays():
    curve = budget_curve([reply("a", True, 10), reply("b", False, 900)])
    assert curve.limit is None
    assert curve.beyond is None
    assert curve.bounds(5000) == (0.5, 0.5)


def test_a_reply_that_was_cut_and_is_right_leaves_nothing_open():
    assert budget_curve([reply("a", True, 50, cut=True), reply("b", False, 9)]).beyond is None


def test_few_unknown_lengths_widen_the_bounds_and_many_leave_no_curve():
    known = [reply(f"{place}", True, 10) for place in range(199)]
    curve = budget_curve([*known, reply("unknown", True, None)])
    assert (curve.points[-1].low, curve.points[-1].high) == (0.995, 1.0)
    assert budget_curve([*known[:9], reply("unknown", True, None)]).points == []


@given(REPLIES)
def test_bounds_hold_the_rate_at_every_budget_and_grow(replies):
    curve = budget_curve(replies)
    assert len(curve.points) <= POINTS
    for budget in range(1, 50):
        low, high = curve.bounds(budget)
        assert low - 1e-12 <= rate(replies, budget) <= high + 1e-12
    for point in curve.points:
        assert point.low == pytest.approx(rate(replies, point.tokens))
        assert curve.limit is None or point.tokens > curve.limit or point.low == point.high
    assert [point.low for point in curve.points] == sorted(point.low for point in curve.points)
    assert [point.high for point in curve.points] == sorted(point.high for point in curve.points)


@given(REPLIES, st.lists(st.booleans(), min_size=60, max_size=60))
def test_whatever_becomes_of_cut_replies_lies_within_the_bounds(replies, fates):
    beyond = [
        SizedReply(each.task, each.cluster, each.passed or (each.cut and fate), each.tokens, each.cut)
        for each, fate in zip(replies, fates, strict=False)
    ]
    low, high = budget_curve(replies).bounds(10**6)
    assert low - 1e-12 <= rate(beyond, 10**6) <= high + 1e-12


def stretches(first, second):
    return [(each.start, each.end, each.second_higher) for each in surely_apart(first, second)]


def test_two_runs_surely_differ_only_where_the_bounds_do_not_meet():
    short = budget_curve([reply(f"{place}", place < 5, 10) for place in range(10)])
    long = budget_curve([reply(f"{place}", place < 8, 100) for place in range(10)])
    assert stretches(short, long) == [(10, 10, False), (100, None, True)]
    cut = budget_curve([reply(f"{place}", place < 4, 20, cut=place >= 4) for place in range(10)])
    assert stretches(short, cut) == [(10, 20, False)]
    assert stretches(short, short) == []
