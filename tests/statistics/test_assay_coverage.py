"""A part of ``bench/assay_coverage.py``, seeded: it fails where an interval of an assay holds too rarely."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def bench():
    name = "assay_coverage"
    spec = spec_from_file_location(name, Path(__file__).parents[2] / "bench" / f"{name}.py")
    sys.modules[name] = module = module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules[name]


@pytest.mark.parametrize(
    "setting",
    [(20, 0.1, 0.9, False, 5, 0.0), (20, 0.1, 1.0, True, 5, 0.2), (164, 0.1, 0.9, True, 5, 0.0)],
    ids=["alike", "undecided", "unlike"],
)
def test_the_intervals_hold(bench, setting):
    found = bench.coverage(bench.Cell(*setting), 200, seed=1)
    # 200 runs: a standard error of 1.5 points.
    for name in ("TPR", "FPR", "J", "corrected"):
        assert found[name] >= 91, name
    # 98 to 100 at a TPR of 1, which any interval holds that reaches the end; elsewhere none is wide for nothing.
    assert found["corrected"] <= 99
    assert found["FPR"] <= 99.5
    if setting[3]:
        assert found["naive"] < 90
    if setting[5]:
        assert found["naive"] < 30


def test_a_tie_of_difficulty_and_strictness_breaks_the_mean_and_not_the_strata(bench):
    found = dict(bench.tied_models(40, seed=1))
    for figures in found.values():
        assert figures["by strata: covers"] >= 90
        assert abs(figures["by strata: error"]) < 1.5
    assert abs(found["same tests"]["corrected: error"]) < 1.5
    assert found["same tests"]["raw: error"] > 5
    # 1/6 (sd of t) times 0.15 (sd of J) over a mean J of 0.85: 2.9 points.
    assert found["hard problems graded less strictly"]["corrected: error"] == pytest.approx(2.9, abs=1.5)
    assert found["more strictly"]["corrected: error"] == pytest.approx(-2.9, abs=1.5)
    for figures in found.values():
        assert figures["covariance band: covers"] >= 97
