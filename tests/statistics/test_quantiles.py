import pytest

from truegrade.errors import UserError
from truegrade.statistics.intervals import EXPANSION_FROM, _bisect, _expansion, two_sided_t, two_sided_z

# Published tables of Student's t, two-sided (NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2).
TABLE = {
    (0.95, 1): 12.706,
    (0.95, 2): 4.303,
    (0.95, 3): 3.182,
    (0.95, 4): 2.776,
    (0.95, 19): 2.093,
    (0.95, 30): 2.042,
    (0.95, 100): 1.984,
    (0.99, 1): 63.657,
    (0.99, 10): 3.169,
    (0.90, 7): 1.895,
}


@pytest.mark.parametrize(("key", "value"), TABLE.items())
def test_matches_the_published_table(key, value):
    assert two_sided_t(*key) == pytest.approx(value, abs=6e-4)


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99, 0.999])
def test_series_and_expansion_meet(confidence):
    z = two_sided_z(confidence)
    for df in (EXPANSION_FROM, EXPANSION_FROM + 1, 500):
        assert _expansion(z, df) == pytest.approx(_bisect(confidence, df), abs=1e-8)


def test_t_falls_towards_z():
    values = [two_sided_t(0.95, df) for df in [*range(1, 130), 1000, 10**6]]
    assert values == sorted(values, reverse=True)
    assert values[-1] == pytest.approx(two_sided_z(0.95), abs=1e-5) == pytest.approx(1.959964, abs=1e-5)


def test_impossible_requests_are_refused():
    for confidence in (0.0, 1.0, 95.0):
        with pytest.raises(UserError, match="strictly between 0 and 1"):
            two_sided_z(confidence)
    with pytest.raises(UserError, match="degree of freedom"):
        two_sided_t(0.95, 0)
