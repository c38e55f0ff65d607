"""An ``_eval.json`` is held against its own results: fractions and percent, wrong numbers named."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from truegrade.cli import main

RESULTS = {"0": [[True, True], [True, -2]], "1": [[True, 0.5], [False]], "2": [[-3], [-4]]}
METRICS = {"pass@1": 1 / 3, "detail": {"pass@1": {"0": 0.5, "1": 0.5, "2": 0.0}}}
PERCENT = {"pass@1": 100 / 3, "detail": {"pass@1": {"0": 50.0, "1": 50.0, "2": 0.0}}}


@pytest.fixture
def audited(tmp_path):
    def run(*document):
        path = tmp_path / "x_eval.json"
        path.write_text(json.dumps(document))
        return CliRunner().invoke(main, ["check", str(path), "--benchmark", "livecodebench", "--json"])

    return run


def found(done):
    return [(item["code"], item["rows"]) for item in json.loads(done.stdout)["findings"]]


@pytest.mark.parametrize("metrics", [METRICS, PERCENT])
def test_numbers_that_follow_from_the_results_are_clean(audited, metrics):
    done = audited(metrics, RESULTS, [["{}", "{}"]] * 3)
    assert (done.exit_code, found(done)) == (0, [])
    said = json.loads(done.stdout)
    assert (said["tasks"], said["samples"], said["recorded"]) == (3, 6, {"results": 2})


def test_numbers_that_do_not_follow_are_named(audited):
    wrong = {"pass@1": 0.5, "pass@5": 1.0, "detail": {"pass@1": {"0": 0.5, "1": 1.0, "2": 0.0}}}
    done = audited(wrong, RESULTS)
    assert done.exit_code == 1
    assert found(done) == [("metric-contradicts-results", []), ("metric-contradicts-results", ["pass@1[1]"])]
    assert "pass@1 0.5, not 0.333" in done.stdout and "pass@5, which needs more samples" in done.stdout


def test_problems_of_several_numbers_of_samples_are_told(audited):
    results = {"0": [[True], [True]], "1": [[True]]}
    done = audited({"pass@1": 1.0, "detail": {"pass@1": {"0": 1.0, "1": 1.0}}}, results)
    assert found(done) == [("samples-uneven", ["1"])]


@pytest.mark.parametrize("document", [(METRICS,), (METRICS, {"0": [["x"]]}), (METRICS, [1])])
def test_what_is_no_such_file_is_refused(audited, document):
    done = audited(*document)
    assert done.exit_code == 2 and "x_eval.json" in done.output
