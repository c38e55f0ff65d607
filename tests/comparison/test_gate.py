"""Gates: whether a condition holds, how often it would by chance, and what it finds."""

import msgspec
import pytest
from click.testing import CliRunner
from comparison_runs import build, single

from truegrade.analysis import gate
from truegrade.analysis.comparison import compare_runs
from truegrade.analysis.gate import comparison_condition, gate_comparison, gate_lines, gate_run, run_condition
from truegrade.cli import main
from truegrade.errors import UserError
from truegrade.pipeline.summary import read_summary
from truegrade.statistics.intervals import binomial_tail

BEFORE = "1" * 70 + "0" * 30


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gate")
    return [build(folder / "before", single(BEFORE)), build(folder / "after", single("1" * 50 + "0" * 50))]


@pytest.fixture
def coarse(monkeypatch):
    """Few true rates and differences are tried, for tests that ask whether a condition holds."""
    monkeypatch.setattr(gate, "_STEP", 0.1)


def result(text, runs):
    (found,) = gate_comparison(comparison_condition(text), compare_runs(runs))
    return found


@pytest.mark.parametrize(
    ("text", "forwards", "backwards"),
    [("worse", True, False), ("better", False, True), ("difference < -0.1", True, False), ("p < 0.01", True, True),
     ("lost > 19", True, False), ("won and not worse", False, True), ("rate_after < 0.6", True, False)],
)  # fmt: skip
def test_a_condition_holds_where_its_numbers_say_so(runs, coarse, text, forwards, backwards):
    assert (result(text, runs).holds, result(text, runs[::-1]).holds) == (forwards, backwards)


def test_what_holds_by_chance_and_what_is_found(runs):
    (pair,) = compare_runs(runs).pairs
    worse = result("worse", runs)
    assert worse.false_alarm == pytest.approx(0.025, abs=0.0026)
    assert -worse.found == pytest.approx(pair.power.detectable, abs=0.03)
    assert result("difference < 0", runs).false_alarm == 0.5
    assert result("better", runs).found is None
    unknown = result("lost > 3", runs)
    assert (unknown.false_alarm, unknown.found) == (None, None)
    assert "not computed" in gate_lines(comparison_condition("lost > 3"), [unknown])[1]


def test_the_gate_on_a_run_names_rates_that_a_binomial_draw_bears_out(runs):
    summary = read_summary(runs[0])
    condition = run_condition("rate < 0.6")
    (found,) = gate_run(condition, summary)
    assert not found.holds
    assert 1 - binomial_tail(60, 100, found.quiet) == pytest.approx(0.05, abs=0.03)
    assert 1 - binomial_tail(60, 100, found.found) == pytest.approx(0.8, abs=0.06)
    assert found.found < 0.6 < found.quiet
    first, second = gate_lines(condition, [found])
    assert first == "gate `rate < 0.6` does not hold for pass@1 under house@1"
    assert "at most 5 % where the true rate is" in second


def test_missing_samples_can_end_a_gate_and_are_not_drawn(runs, coarse):
    summary = read_summary(runs[0])
    lacking = msgspec.structs.replace(summary, answered=summary.answered - 2)
    assert [gate_run(run_condition(text), lacking)[0].holds for text in ("missing", "missing > 2")] == [
        True,
        False,
    ]
    assert not gate_run(run_condition("missing"), summary)[0].holds


def test_what_is_no_condition_is_told_with_the_names_there_are():
    with pytest.raises(UserError, match=r"'wurse', character 1: no value or finding 'wurse'; known: diff"):
        comparison_condition("wurse")
    with pytest.raises(UserError, match="rate is a share; compare it with a number"):
        run_condition("rate")


def test_a_gate_ends_compare_and_run_with_a_code_of_its_own(runs, coarse, tmp_path):
    def told(*words):
        done = CliRunner().invoke(main, [str(word) for word in words])
        return done.exit_code, done.stderr

    code, said = told("compare", *runs_paths(runs), "--fail-if", "worse")
    assert code == 3 and "gate `worse` holds for" in said and "% of equals" in said
    code, said = told("compare", *runs_paths(runs), "--fail-if", "better", "--json")
    assert code == 0 and "gate `better` does not hold for" in said
    assert told("compare", *runs_paths(runs), "--table", "--fail-if", "worse")[0] == 2
    asked = (
        "run",
        "micro-repair",
        "-T",
        "size=12",
        "--limit",
        "4",
        "--out",
        tmp_path / "run",
        "-m",
        "baseline/empty",
    )
    code, said = told(*asked, "--fail-if", "rate < 0.5")
    assert code == 3 and "gate `rate < 0.5` holds for pass@1 under strict@" in said
    assert told(*asked, "--fail-if", "missing")[0] == 0
    assert told(*asked, "--fail-if", "rate")[0] == 2


def runs_paths(runs):
    return [str(run.path) for run in runs]
