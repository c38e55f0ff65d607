"""Comparing problem by problem in a seeded order, and pass rates against token budgets side by side."""

from __future__ import annotations

import json

import msgspec
import pytest
from click.testing import CliRunner
from comparison_runs import build, single, task

from truegrade.analysis.comparison import compare_runs
from truegrade.cli import main
from truegrade.errors import UserError
from truegrade.report.comparison_export import export_comparison
from truegrade.report.comparison_html import render_comparison
from truegrade.report.comparison_replies import collect_replies
from truegrade.report.comparison_text import print_comparisons
from truegrade.report.comparison_wording import sentences
from truegrade.report.tables import open_console
from truegrade.statistics.budgets import SizedReply, budget_curve
from truegrade.statistics.sequential import log_e_path, ordered_clusters
from truegrade.store import Run
from truegrade.store.manifest import Stopping

BAD, GOOD = single("00000" * 8), single("00111" * 8)


@pytest.fixture
def two(tmp_path):
    return [build(tmp_path / name, passes, model=f"toy/{name}") for name, passes in (("bad", BAD), ("good", GOOD))]


def sequential(runs, **options):
    return compare_runs(runs, sequential=True, **options).pairs[0].sequential


def test_it_is_decided_where_e_first_reaches_twenty(two):
    found = sequential(two, order_seed=4)
    order = ordered_clusters({task(n): task(n) for n in range(40)}, 4)
    gains = [[1.0 if GOOD[int(names[0][-2:])][0] else 0.0] for names in order]
    wins = [place + 1 for place, gain in enumerate(gains) if gain == [1.0]]
    assert found.test.decision.problems == wins[7]
    assert found.test.e == pytest.approx(
        2.718281828459045 ** log_e_path(gains, single=True, largest=1, alpha=0.05)[-1]
    )
    assert found.test.second_better
    assert found.test.decision.benchmark_low > 0
    assert found.test.end.benchmark_low == pytest.approx(0.6, abs=1e-9)
    assert found.test.end.low < 0.6 < found.test.end.high
    assert found.saved.problems == 40 - wins[7]
    assert (found.saved.tokens, found.saved.cost_usd) == (None, None)
    assert found.unfinished == ()


def test_without_asking_for_it_nothing_is_said(two):
    assert compare_runs(two).pairs[0].sequential is None


def test_the_seed_decides_the_order_and_the_confidence_the_level(two):
    decided = {sequential(two, order_seed=seed).test.decision.problems for seed in range(8)}
    assert len(decided) > 2
    strict = sequential(two, confidence=0.999)
    assert strict.test.alpha == pytest.approx(0.001)
    assert strict.test.decision.problems > sequential(two).test.decision.problems


def test_runs_that_are_alike_are_not_decided(two, tmp_path):
    again = build(tmp_path / "again", BAD, model="toy/again")
    found = sequential([two[0], again])
    assert found.test.decision is None and found.saved is None
    assert found.test.p_value == 1


def test_an_unfinished_run_is_named(two, tmp_path):
    part = build(tmp_path / "part", single("0011-" * 8), model="toy/part")
    found = sequential([two[0], part])
    assert found.unfinished == ("toy/part",)
    assert found.test.end.problems == 32
    assert found.test.problems == 40


def test_clusters_stay_whole(tmp_path):
    clusters = {n: f"c{n // 2}" for n in range(40)}
    runs = [build(tmp_path / name, passes, model=name, clusters=clusters) for name, passes in
            (("a", single("0" * 40)), ("b", single("1" * 40)))]  # fmt: skip
    found = sequential(runs)
    assert found.test.method.startswith("hedged betting")
    assert found.test.clusters == 20
    assert found.test.decision.problems % 2 == 0


def test_a_run_that_stopped_in_another_order_is_refused(two):
    stopped = two[1]
    test = sequential(two).test
    rule = Stopping(against="bad", against_created="x", profile="house@1", order_seed=0, alpha=0.05, test=test)
    summary = {**stopped.summary, "stopping": msgspec.to_builtins(rule)}
    stopped.write("summary.json", msgspec.json.encode(summary))
    with pytest.raises(UserError, match="stopped early in the order of seed 0: give that as `order_seed`"):
        sequential(two, order_seed=1)
    assert sequential(two).test == test


def test_terminal_page_files_and_methods_say_it(two, tmp_path, capsys):
    found = compare_runs(two, sequential=True)
    decided = f"at problem {found.pairs[0].sequential.test.decision.problems} of 40: toy/good is better"
    console = open_console(None)
    print_comparisons(found, console=console)
    printed = " ".join(capsys.readouterr().out.split())
    assert decided in printed
    assert "which must be chosen before anything is seen" in printed
    page = render_comparison(found, collect_replies(found))
    assert decided in page
    assert '<section id="sequential"' in page and "#sequential" in page
    assert "compared problem by problem in the order of seed 0" in " ".join(sentences(found))
    files = export_comparison(found, "csv", tmp_path / "csv")
    assert "sequential.csv" in {file.name for file in files}
    plain = compare_runs(two)
    assert '<section id="sequential"' not in render_comparison(plain, collect_replies(plain))


def test_the_command_prints_it_as_json(two):
    arguments = ["compare", *(str(run.path) for run in two), "--sequential", "--order-seed", "2", "--json"]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0
    (pair,) = json.loads(done.output)["pairs"]
    assert pair["sequential"]["order_seed"] == 2
    assert pair["sequential"]["test"]["decision"]["problems"] > 8
    done = CliRunner().invoke(main, ["compare", *arguments[1:3], "--table", "--sequential"])
    assert done.exit_code == 2 and "--sequential" in done.output


def with_budget(run: Run, replies) -> Run:
    """The run with a stored curve of these replies."""
    summary = run.summary
    summary["profiles"][0]["budget"] = msgspec.to_builtins(budget_curve(replies))
    run.write("summary.json", msgspec.json.encode(summary))
    return run


def replies(lengths, cut=()):
    return [SizedReply(task(n), task(n), length > 0, abs(length), n in cut) for n, length in enumerate(lengths)]


def test_the_page_shows_two_curves_and_where_they_surely_differ(two):
    with_budget(two[0], replies([-90] * 20 + [10] * 20, cut=range(4)))
    with_budget(two[1], replies([-90] * 8 + [40] * 32))
    found = compare_runs(two)
    assert [(each.start, each.end, each.second_higher) for each in found.pairs[0].budgets_apart] == [
        (10, 10, False), (40, None, True),
    ]  # fmt: skip
    page = render_comparison(found, collect_replies(found))
    assert "toy/bad is higher at 10 tokens; toy/good is higher from 40 tokens on" in page
    assert "exact up to 90 tokens. 4 of 40 replies were cut without being correct" in page
    assert "between 50.0 % and 60.0 %" in page


def test_bounds_that_meet_decide_nothing_and_old_summaries_are_read(two):
    with_budget(two[0], replies([-90] * 20 + [40] * 20, cut=range(15)))
    with_budget(two[1], replies([-90] * 8 + [40] * 32))
    found = compare_runs(two)
    assert [(each.start, each.end) for each in found.pairs[0].budgets_apart] == [(40, 90)]
    summary = two[0].summary
    for key in ("budget", "splits"):
        summary["profiles"][0].pop(key)
    summary.pop("stopping")
    two[0].write("summary.json", msgspec.json.encode(summary))
    found = compare_runs(two)
    assert found.sides[0].budget is None and found.pairs[0].budgets_apart == ()
    assert '<section id="budget"' not in render_comparison(found, collect_replies(found))
