"""The rule matrix: every number of every profile, and the spread that rules alone make."""

import io
import re

import pytest
from replication_runs import make_run
from rich.console import Console

from truegrade.analysis.standings import read_matrix, rule_matrix
from truegrade.errors import UserError
from truegrade.pipeline.summary import read_summary
from truegrade.report.run_document import print_matrix


@pytest.fixture
def run(tmp_path):
    kind = [[True, True], [True, False], [False, True], [False, False]]
    hard = [[True, False], [False, False], [False, False], [False, False]]
    return make_run(tmp_path / "r", {"kind": kind, "hard": hard}, ks=[1, 2])


def test_each_number_is_counted_by_its_own_rule(run):
    matrix = read_matrix(run)
    kind, hard = matrix.rows
    assert (kind.profile, kind.headline) == ("kind@1", "pass@1")
    assert kind.pass_at[1].value == 0.5
    assert kind.pass_at[2].value == pytest.approx(0.75)
    assert kind.all_solutions.value == 0.5
    assert kind.any_of_n.value == 0.75
    assert kind.first_sample.value == 0.5
    assert (hard.first_sample.value, hard.any_of_n.value, hard.all_solutions.value) == (0.25, 0.25, 0.125)
    assert kind.first_sample.metric == "first_sample"
    assert kind.first_sample.tasks == 4


def test_the_spread_is_between_the_headlines_and_disagreements_are_counted(run):
    matrix = read_matrix(run)
    assert matrix.spread == pytest.approx(0.375)
    assert (matrix.lowest, matrix.highest) == ("hard@1", "kind@1")
    assert (matrix.compared, matrix.disagreeing) == (8, 3)


def test_one_profile_has_no_spread(tmp_path):
    matrix = read_matrix(make_run(tmp_path / "r", {"only": [[True], [False]]}))
    assert (matrix.spread, matrix.disagreeing, len(matrix.rows)) == (0.0, 0, 1)


def test_a_task_without_its_first_sample_is_left_out_of_the_first_sample_rate(tmp_path):
    matrix = read_matrix(make_run(tmp_path / "r", {"only": [[True, True], [], [False, True]]}))
    assert matrix.rows[0].first_sample.tasks == 2
    assert matrix.rows[0].first_sample.left_out == 1


def test_a_profile_without_outcomes_is_refused(run):
    with pytest.raises(UserError, match="kind@1, hard@1"):
        rule_matrix(read_summary(run), {})


def test_the_printed_matrix_holds_every_number(run):
    out = io.StringIO()
    print_matrix(read_matrix(run), console=Console(file=out, width=160))
    text = out.getvalue()
    assert "spread 37.5 points, hard@1 to kind@1; the profiles disagree on 3 of 8 samples" in text
    line = next(line for line in text.splitlines() if line.strip().startswith("kind@1"))
    numbers = re.findall(r"([\d.]+) % \[", line)[1:]
    assert numbers == ["75.0", "50.0"], "pass@2, first sample"
    assert "any of N equals pass@2; all solutions equals pass@1" in text
