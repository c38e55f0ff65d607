"""A part of ``bench/suite_controls.py``, seeded: guessers pass control runs as often as their chance says."""

import random
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def bench():
    name = "suite_controls"
    spec = spec_from_file_location(name, Path(__file__).parents[2] / "bench" / f"{name}.py")
    sys.modules[name] = module = module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules[name]


@pytest.mark.parametrize(("d", "m"), [(1, 1), (1, 3), (2, 2), (4, 1)])
def test_guessers_pass_as_often_as_the_chance_says(bench, d, m):
    p = bench.claimed(d, m)
    assert p == (m + 1.0) ** -d
    passed = bench.passing(d, m, 2000, random.Random(1), random.Random(2))
    assert all(bench.within(one, 2000, p) for one in passed), passed


def test_the_bounds_tell_a_doubled_chance(bench):
    assert (
        bench.within(500, 2000, 0.25) and not bench.within(1000, 2000, 0.25) and not bench.within(250, 2000, 0.25)
    )
