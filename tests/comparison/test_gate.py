"""Gates: whether a condition holds, how often it would by chance, and what it finds."""

import json
import random
import re

import msgspec
import pytest
from click.testing import CliRunner
from comparison_runs import build, single

from support import scripted_server as scripted
from truegrade.analysis import gate
from truegrade.analysis.comparison import compare_runs
from truegrade.analysis.gate import comparison_condition, gate_comparison, gate_lines, gate_run, run_condition
from truegrade.cli import main
from truegrade.errors import UserError
from truegrade.pipeline.summary import TaskLine, read_summary
from truegrade.statistics import TaskTally, compare_paired
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


def test_problems_of_which_a_file_says_nothing_are_missing(tmp_path):
    rows = [json.dumps({"task_id": f"micro-repair/{n}", "completion": "no program"}) + "\n" for n in range(199)]
    file = tmp_path / "answers.jsonl"
    file.write_text("".join(rows))
    asked = ["grade", str(file), "--benchmark", "micro-repair", "--out", str(tmp_path / "run")]
    done = CliRunner().invoke(main, [*asked, "--fail-if", "missing"])
    assert done.exit_code == 3 and "gate `missing` holds" in done.stderr
    assert CliRunner().invoke(main, [*asked, "--fail-if", "missing > 1"]).exit_code == 0
    chosen = [*asked[:-1], str(tmp_path / "part"), "--limit", "150"]
    assert CliRunner().invoke(main, [*chosen, "--fail-if", "missing"]).exit_code == 0


def test_how_often_a_rule_about_counts_alone_holds_by_chance_is_not_said(runs):
    found = result("missing > 3", runs)
    assert (found.holds, found.false_alarm, found.found) == (False, None, None)


SAMPLES_OF_SEVENTY = [[True] * 7 + [False] * 3] * 3


@pytest.fixture(scope="module")
def lacking(tmp_path_factory):
    """Six problems solved; the same with four of them without a reply; the same with a sample less of each."""
    folder = tmp_path_factory.mktemp("lacking")
    solved = [[True, True]] * 6
    return {
        name: build(folder / name, passes)
        for name, passes in {
            "whole": solved,
            "four gone": [*solved[:2], None, None, None, None],
            "second gone": [solved[0], *([[True]] * 5)],
        }.items()
    }


UNKNOWN = ("worse", "difference < 0", "lost", "rate_after < 0.5", "p < 0.05", "not better", "worse and lost")


@pytest.mark.parametrize("gone", ["four gone", "second gone"])
@pytest.mark.parametrize("text", UNKNOWN)
def test_what_has_no_verdict_lets_no_comparison_pass(lacking, coarse, text, gone):
    for pair in ([lacking["whole"], lacking[gone]], [lacking[gone], lacking["whole"]]):
        found = result(text, pair)
        assert found.holds and found.unknown
        assert f"({text}) or missing > N" in gate_lines(comparison_condition(text), [found])[0]
    assert not result("worse", [lacking["whole"]] * 2).unknown


def test_a_condition_that_says_how_much_may_be_missing_judges_the_rest(lacking, coarse):
    gone, few = [lacking["whole"], lacking["four gone"]], [lacking["whole"], lacking["second gone"]]
    assert [result(text, gone).holds for text in ("missing == 8", "left_out == 4", "left_out > 4")] == [
        True, True, False,
    ]  # fmt: skip
    assert not result("worse or missing > 8", gone).holds
    assert result("worse or missing > 7", gone).holds
    assert not result("worse or left_out > 4", gone).holds
    assert result("worse or left_out", few).unknown == "5 samples have no verdict"
    assert not result("worse or missing > 5", few).holds


@pytest.mark.parametrize(
    "text", ["missing < 0 or worse", "worse or missing == 0", "left_out < 0 or worse", "not missing >= 0 or worse",
             "worse and missing", "missing > 1 and missing < 3 or worse"],
)  # fmt: skip
def test_a_condition_that_names_what_is_missing_without_a_bound_holds(lacking, coarse, text):
    for gone, said in (("four gone", "4 problems are left out"), ("second gone", "5 samples have no verdict")):
        found = result(text, [lacking["whole"], lacking[gone]])
        assert found.holds and found.unknown == said
    gone = read_summary(lacking["four gone"])
    for on_run in ("missing < 0 or rate < 0.5", "rate < 0.5 and missing", "not missing or rate < 0.5"):
        assert gate_run(run_condition(on_run), gone)[0].holds


def test_what_has_no_verdict_lets_no_run_pass(lacking, coarse):
    gone = read_summary(lacking["four gone"])
    (found,) = gate_run(run_condition("rate < 0.5"), gone)
    assert found.holds and found.unknown == "8 samples have no verdict"
    assert not gate_run(run_condition("rate < 0.5 or missing > 8"), gone)[0].holds
    (profile,) = gone.profiles
    failed = [msgspec.structs.replace(task, n=task.n - 1, c=task.c - 1) for task in profile.tasks[:1]]
    spoiled = msgspec.structs.replace(
        gone, answered=gone.expected,
        profiles=[msgspec.structs.replace(profile, tasks=[*failed, *profile.tasks[1:2]])],
    )  # fmt: skip
    (found,) = gate_run(run_condition("rate < 0.5"), spoiled)
    assert found.holds and found.unknown == "1 sample has no verdict"  # on which the grader failed


@pytest.mark.parametrize("digits", ["0.7", "7e-1", "0.70000", "+.7"])
def test_seventy_percent_are_seven_tenths(tmp_path, coarse, digits):
    """A mean of three floats 0.7 is below 0.7."""
    run = build(tmp_path / "seventy", SAMPLES_OF_SEVENTY)
    for sign in ("<", ">", "!="):
        (found,) = gate_run(run_condition(f"rate {sign} {digits}"), read_summary(run))
        assert not found.holds
        assert not result(f"rate_after {sign} {digits} or rate_before {sign} {digits}", [run, run]).holds
    assert result("rate_after < 0.70000000000000000000000001", [run, run]).holds
    assert result("rate_after > 0.69999999999999999999999999", [run, run]).holds


def test_equal_totals_differ_by_nothing(tmp_path, monkeypatch):
    """2,000 pairs of runs that solve as many samples, not of the same problems."""
    monkeypatch.setattr(gate, "_GRID", (0.0,))
    monkeypatch.setattr(gate, "_STEP", 0.5)
    run = build(tmp_path / "any", [[True, False]] * 2)
    comparison = compare_runs([run, run])
    (pair,), drawn = comparison.pairs, random.Random(5)
    condition = comparison_condition("difference < 0 or difference > 0 or rate_before != rate_after")
    for _ in range(2_000):
        n, problems = drawn.randint(2, 11), drawn.randint(3, 7)
        before = [drawn.randint(0, n) for _ in range(problems)]
        after = drawn.sample(before, problems)
        counted = [
            [TaskTally(task_id=str(place), cluster=str(place), n=n, c=c) for place, c in enumerate(passes)]
            for passes in (before, after)
        ]
        sides = [
            msgspec.structs.replace(
                side, samples_per_task=n, tasks=[TaskLine(one.task_id, n, one.c, one.cluster) for one in tallies]
            )
            for side, tallies in zip(comparison.sides, counted, strict=True)
        ]
        paired = compare_paired(*counted, flips=10)
        assert paired.difference == 0.0
        same = msgspec.structs.replace(
            comparison, sides=sides, pairs=[msgspec.structs.replace(pair, paired=paired)]
        )
        assert not gate_comparison(condition, same)[0].holds, (before, after)


def test_what_is_no_condition_is_told_with_the_names_there_are():
    with pytest.raises(UserError, match=r"'wurse', character 1: no value or finding 'wurse'; did you mean worse"):
        comparison_condition("wurse")
    with pytest.raises(UserError, match="rate is a share; compare it with a number"):
        run_condition("rate")


def told(*words):
    done = CliRunner().invoke(main, [str(word) for word in words])
    return done.exit_code, done.stderr


def test_a_gate_ends_compare_and_run_with_a_code_of_its_own(runs, coarse, tmp_path):
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


def test_a_gate_judges_files_of_completions(tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text(
        '{"id": "a", "prompt": "def f():", "entry_point": "f", "reference": "    return 1",'
        ' "tests": "assert f() == 1"}'
    )
    answers = tmp_path / "answers.jsonl"
    answers.write_text('{"task_id": "a", "completion": "    return 1"}\n')
    asked = ("grade", answers, "--benchmark", rows, "--out", tmp_path / "run", "--fail-if")
    code, said = told(*asked, "rate < 0.5")
    assert code == 0 and "gate `rate < 0.5` does not hold for pass@1 under strict@" in said
    assert told(*asked, "rate > 0.5")[0] == 3
    code, said = told(*asked, "rate < 60")
    assert code == 2 and "rate is a share: write 0.6 for 60 %" in said


@pytest.mark.parametrize(
    ("rule", "code"), [("rate < 0.5 or missing > 3", 0), ("rate < 1.5 or missing > 3", 3), ("missing", 3)]
)
def test_a_gate_judges_each_of_several_runs_where_samples_are_missing(coarse, tmp_path, rule, code):
    def answered(body):
        asked = re.search(r"Write f(\d)", str(body))[1]
        if asked == "3":
            return scripted.error(400, "no")
        return scripted.Answer(scripted.chat(f"```python\ndef f{asked}(x):\n    return x\n```"))

    for name, functions in (("a", (0, 1, 2, 3)), ("b", (4,))):
        rows = [
            {
                "id": f"{each}",
                "prompt": f"Write f{each}(x): x.",
                "entry_point": f"f{each}",
                "tests": f"assert f{each}(1) == 1",
                "reference": f"def f{each}(x):\n    return x\n",
            }
            for each in functions
        ]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with scripted.scripted_server(answered) as server:
        words = ["run", *(str(tmp_path / f"{name}.jsonl") for name in "ab"), "--model", "openai/m"]
        words += ["--base-url", server.url, "--out", str(tmp_path / "runs"), "--fail-if", rule]
        done = CliRunner(env={"OPENAI_API_KEY": "x"}).invoke(main, words)
    assert done.exit_code == code, done.output
    assert done.stderr.count("gate `") == 2


def runs_paths(runs):
    return [str(run.path) for run in runs]
