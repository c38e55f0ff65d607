import random
from itertools import product
from math import comb

import pytest

from truegrade.statistics.leakage import AnsweredPair, leak_estimate, sign_flip_tail


def answered(seen, cluster="{}"):
    """Pairs of (original, changed), each a letter: right, exchanged, wrong."""
    words = {"r": "right", "x": "exchanged", "w": "wrong"}
    return [AnsweredPair(cluster.format(place), words[a], words[b]) for place, (a, b) in enumerate(seen)]


def drawn(rng, size, dose, memory, skills, exchange):
    """Pairs by the model that the estimate assumes: memory answers a share of originals, skill the rest."""

    def skilled(right):
        draw = rng.random()
        return "right" if draw < right else "exchanged" if draw < right + exchange * (1 - right) else "wrong"

    pairs = []
    for place in range(size):
        right = rng.choice(skills)
        known = rng.random() < dose
        original = "right" if known else skilled(right)
        changed = "exchanged" if known and rng.random() < memory else skilled(right)
        pairs.append(AnsweredPair(str(place), original, changed))
    return pairs


def test_the_estimate_solves_the_equations():
    # d = 0.5, m = 0.5, p = 0.4, s = 0.2 in 1,000 pairs: S = 0.1, W = 0.2, R = 0.4, W' = 0.3, right 0.7 and 0.3.
    originals = "x" * 100 + "w" * 200 + "r" * 700
    changed = "x" * 400 + "w" * 300 + "r" * 300
    found = leak_estimate(answered(zip(originals, changed, strict=True)))
    assert found.known == pytest.approx(0.5)
    assert (found.reversion_rate, found.exchange_rate) == (0.4, 0.1)
    assert (found.original_rate, found.changed_rate) == (0.7, 0.3)


def test_without_exchanges_it_is_abbotts_correction():
    found = leak_estimate(answered(zip("w" * 30 + "r" * 70, "w" * 60 + "r" * 40, strict=True)))
    assert found.known == pytest.approx((0.7 - 0.4) / (1 - 0.4))
    assert found.low < 0.5 < found.high


def test_a_benchmark_that_is_known_whole_keeps_an_interval():
    found = leak_estimate(answered(zip("r" * 50, "x" * 20 + "w" * 20 + "r" * 10, strict=True)))
    assert found.known == found.high == 1.0
    assert 0.7 < found.low < 0.95


def test_nothing_is_said_where_memory_could_not_be_seen():
    found = leak_estimate(answered([("r", "r")] * 20))
    assert (found.known, found.low, found.high, found.p_value) == (None, None, None, 1.0)
    one = leak_estimate(answered([("r", "w"), ("w", "w")], cluster="same"))
    assert one.known == 0.5 and (one.low, one.high) == (None, None)


def test_pairs_that_all_agree_do_not_make_the_estimate_certain():
    found = leak_estimate(answered([("r", "r")] * 50 + [("w", "w")] * 50))
    assert found.known == found.low == 0.0
    assert 0.01 < found.high < 0.15


def test_the_tail_counts_every_choice_of_signs():
    scores = [2, 1, -1, 0, 2, 1, -2]
    signs = list(product((1, -1), repeat=len(scores)))
    sums = [sum(sign * score for sign, score in zip(each, scores, strict=True)) for each in signs]
    assert sign_flip_tail(scores) == sum(each >= sum(scores) for each in sums) / len(signs)
    assert sign_flip_tail([1] * 7 + [-1] * 2) == sum(comb(9, wins) for wins in (7, 8, 9)) / 2**9


def test_a_cluster_is_flipped_whole():
    seen = [("r", "w")] * 6
    assert leak_estimate(answered(seen)).p_value == 1 / 64
    assert leak_estimate(answered(seen, cluster="same")).p_value == 1 / 2


@pytest.mark.parametrize("dose", [0.0, 0.05, 0.25, 1.0])
@pytest.mark.parametrize(("memory", "exchange"), [(0.0, 0.05), (0.6, 0.15)])
def test_intervals_hold_and_alarms_are_rare(dose, memory, exchange):
    rng = random.Random(7)
    runs = [leak_estimate(drawn(rng, 120, dose, memory, (0.97, 0.5, 0.08, 0.08), exchange)) for _ in range(150)]
    assert sum(one.known for one in runs) / len(runs) == pytest.approx(dose, abs=0.02)
    # A standard error of 1.8 points at 95 %.
    assert sum(one.low <= dose <= one.high for one in runs) / len(runs) >= 0.91
    alarms = sum(one.p_value <= 0.05 for one in runs) / len(runs)
    assert alarms <= 0.09 if dose == 0 else alarms >= (0.05 if dose < 0.1 else 0.7)


def test_a_hard_half_of_each_pair_raises_no_alarm_where_a_coin_chose_the_original():
    rng, alarms = random.Random(3), 0
    for _ in range(200):
        pairs = []
        for place in range(60):
            easy, hard = ("right" if rng.random() < right else "wrong" for right in (0.9, 0.3))
            original, changed = (easy, hard) if rng.random() < 0.5 else (hard, easy)
            pairs.append(AnsweredPair(str(place), original, changed))
        alarms += leak_estimate(pairs).p_value <= 0.05
    assert alarms / 200 <= 0.09
