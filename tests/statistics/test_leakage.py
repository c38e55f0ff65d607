import random
import sys
from importlib.util import module_from_spec, spec_from_file_location
from itertools import product
from math import comb
from pathlib import Path

import pytest

from truegrade.statistics.leakage import AnsweredPair, leak_estimate, sign_flip_tail


def answered(seen, cluster="{}"):
    """Pairs of (original, changed), each a letter: right, exchanged, wrong."""
    words = {"r": "right", "x": "exchanged", "w": "wrong"}
    return [AnsweredPair(cluster.format(place), words[a], words[b]) for place, (a, b) in enumerate(seen)]


@pytest.fixture(scope="module")
def bench():
    name = "leakage_coverage"
    spec = spec_from_file_location(name, Path(__file__).parents[2] / "bench" / f"{name}.py")
    sys.modules[name] = module = module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules[name]


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
    assert pytest.approx(found.abbott) == found.known == pytest.approx((0.7 - 0.4) / (1 - 0.4))
    assert found.low < 0.5 < found.high


def test_abbotts_correction_takes_a_reversion_for_a_failure():
    found = leak_estimate(answered(zip("r" * 50 + "w" * 50, "x" * 50 + "w" * 50, strict=True)))
    assert found.abbott == 0.5
    assert leak_estimate(answered([("r", "r")] * 3)).abbott is None


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
@pytest.mark.parametrize("reverts", [0.0, 0.6])
def test_intervals_hold_and_alarms_are_rare(bench, dose, reverts):
    found = bench.coverage(bench.Cell(120, dose, reverts), 150, seed=7)
    assert found["estimate"] == pytest.approx(100 * dose, abs=2)
    # A standard error of 1.8 points at 95 %.
    assert found["covers"] >= 91
    assert found["detects"] <= 9 if dose == 0 else found["detects"] >= (5 if dose < 0.1 else 70)


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
