"""A part of ``python -m bench assay_coverage``: it fails where an interval of an assay holds too rarely."""

import pytest

from bench import assay_coverage
from support.thorough import one_in


@pytest.mark.parametrize(
    "setting",
    [(20, 0.1, 0.9, False, 5, 0.0), (20, 0.1, 1.0, True, 5, 0.2), (164, 0.1, 0.9, True, 5, 0.0)],
    ids=["alike", "undecided", "unlike"],
)
def test_the_intervals_hold(setting):
    found = assay_coverage.coverage(assay_coverage.Cell(*setting), 200, seed=1)
    # 200 runs: a standard error of 1.5 points.
    for name in ("TPR", "FPR", "J"):
        assert found[name] >= 91, name
    assert found["FPR"] <= 99.5
    if setting[3]:
        assert found["naive"] < 90
    if setting[5]:
        assert found["naive"] < 30


AUDITS = {
    "few": assay_coverage.Audit(40, 1, 0.3, 0.2, True, 20),
    "single": assay_coverage.Audit(164, 1, 0.6, 0.2, False, 60),
    "many wrong": assay_coverage.Audit(164, 10, 0.6, 0.5, True, 20),
    "few wrong": assay_coverage.Audit(164, 10, 0.3, 0.05, True, 60),
}


@pytest.mark.parametrize("name", one_in(2, AUDITS))
def test_the_rate_that_an_audit_corrects_holds(name):
    found = assay_coverage.audited_coverage(AUDITS[name], 300, seed=1)
    # 300 runs: a standard error of 1.3 points.
    assert 91.5 <= found["covers"] <= 99
    assert abs(found["error"]) < 1.5
    assert found["raw covers"] < 90
