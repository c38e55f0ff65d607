"""Pass rate against token budget in the summary and on the page of a run."""

from __future__ import annotations

import msgspec
import pytest
from report_runs import House, Lenient, build_run

from truegrade.pipeline.summary import read_summary
from truegrade.report.agents import budget_chart, known
from truegrade.report.export import export_report
from truegrade.report.html import write_report
from truegrade.statistics.budgets import SizedReply, budget_curve


def test_the_curve_ends_at_the_pass_rate_and_is_on_the_page(tmp_path):
    run = build_run(tmp_path / "run", profiles=(House(), Lenient()))
    summary = read_summary(run)
    for profile in summary.profiles:
        curve = profile.budget
        rate = next(each for each in profile.estimates if each.metric == "pass@1")
        assert curve.samples == curve.known == 60
        assert curve.points[-1].low == pytest.approx(rate.value)
        assert [point.tokens for point in curve.points] == [50, 51, 52, 53, 54]
    page = write_report(run).read_text()
    assert '<section id="budget"' in page and "#budget" in page
    assert "Pass rate against token budget" in page
    assert "token-budget.svg" in {file.name for file in export_report(run, "svg", tmp_path / "svg")}


def test_a_summary_of_before_there_was_the_curve_makes_a_page_without_it(tmp_path):
    run = build_run(tmp_path / "run")
    summary = run.summary
    del summary["profiles"][0]["budget"]
    run.write("summary.json", msgspec.json.encode(summary))
    assert '<section id="budget"' not in write_report(run).read_text()


def test_too_few_known_lengths_are_said():
    replies = [SizedReply(f"{n}", f"{n}", True, 5 if n else None, False) for n in range(10)]
    curve = budget_curve(replies)
    assert budget_chart([("house", curve)]) is None
    assert known("house", curve).startswith("house: output tokens are known for 9 of 10 replies")


def test_the_chart_goes_on_behind_the_longest_reply_with_the_bounds():
    replies = [SizedReply(f"{n}", f"{n}", n < 5, 10 + n, n == 9) for n in range(10)]
    chart = budget_chart([("house", budget_curve(replies))])
    assert "polygon" in chart.body
    assert "house ends with 0.5 at 20.5" in chart.description
