"""Perfect answers score 100 % under `strict`: every reference solution of every data set passes."""

import pytest

import truegrade
from support.thorough import one_in


def failures(run):
    return [(v.problem_id, v.reason.value, v.detail) for v in run.verdicts("strict") if not v.passed]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("benchmark", "size"), one_in(3, [("humaneval", 164), ("mbpp", 974), ("mbpp-sanitized", 427)])
)
def test_every_reference_passes(benchmark, size, data_dir, tmp_path):
    run = truegrade.run(benchmark, model="baseline/reference", data=data_dir, out=tmp_path / "run")
    assert failures(run) == []
    assert run.summary["profiles"][0]["estimates"][0]["tasks"] == size
    marked = {v.problem_id: v.marks for v in run.verdicts() if v.marks}
    assert set(marked.values()) <= {("tests-inside",)} and {*marked} <= {"MBPP/596"}  # it asks sys.getsizeof


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", one_in(2, ["humanevalplus", "mbppplus"]))
def test_references_of_the_plus_sets_pass_on_every_input(benchmark, data_dir, tmp_path):
    """The first tasks only; the README says how to run all of them."""
    run = truegrade.run(benchmark, model="baseline/reference", data=data_dir, limit=12, out=tmp_path / "run")
    assert failures(run) == []
