"""What the terminal and the page say about execution reasoning is what the summary says."""

from __future__ import annotations

import io
import re
from pathlib import Path

import jsonschema
import msgspec
import pytest
from click.testing import CliRunner
from reasoning_runs import CASES, ITEMS, SAMPLES, build_reasoning_run
from report_parsing import StrictPage
from report_runs import build_run
from rich.console import Console

from truegrade import api
from truegrade.analysis.comparison import compare_runs
from truegrade.analysis.standings import standings
from truegrade.cli import main
from truegrade.cli.schemas import json_schema
from truegrade.errors import UserError
from truegrade.pipeline.summary import read_summary
from truegrade.report import format as fmt
from truegrade.report.comparison_document import reasoning_metrics, render_comparison
from truegrade.report.comparison_replies import collect_replies
from truegrade.report.html import write_report
from truegrade.report.reasoning_document import AGGREGATIONS, CHOICE, PREDICTION
from truegrade.report.run_document import print_summary
from truegrade.report.standings_document import print_standings
from truegrade.report.terminal import print_parts


def printed(show, *args, width: int = 160) -> str:
    out = io.StringIO()
    show(*args, console=Console(file=out, width=width))
    return " ".join(out.getvalue().split())


@pytest.fixture
def run(tmp_path: Path):
    return build_reasoning_run(tmp_path / "run")


@pytest.fixture
def reasoning(run):
    return read_summary(run).profiles[0].reasoning


def test_the_numbers_are_those_of_the_made_up_model(reasoning) -> None:
    headline = {e.metric: e.value for e in reasoning.prediction.tables[0].estimates}
    assert headline == {
        "OC": 1.0,
        "MC": pytest.approx(5 / 8),
        "PC": 1.0,
        "MC_differing": pytest.approx(5 / 7),
        "OR": 0.0,
        "MR": pytest.approx(1 / 7),
    }
    assert reasoning.prediction.tables[0].estimates[1].truncated == 3 * CASES
    order = {e.metric: e.value for e in reasoning.choice.order}
    assert order["same_program"] == order["always_A"] == 0.5
    assert reasoning.choice.samples - reasoning.choice.valid == 2 * CASES
    assert len(reasoning.prediction.programs) == 3 * ITEMS * CASES
    assert reasoning.prediction.tables[2].cases == "all_cases"


def test_the_terminal_prints_prediction_and_choice(run, reasoning) -> None:
    words = printed(print_summary, read_summary(run))
    prediction, choice = reasoning.prediction, reasoning.choice
    for e in (*prediction.tables[0].estimates, *prediction.stability):
        assert f"{e.metric} {PREDICTION[e.metric]} {fmt.estimate(e)} {e.samples}" in words
    for difference in (*prediction.differences, choice.position):
        assert f"{difference.metric}: {fmt.difference(difference)}" in words
    for estimate in (*choice.tables[0].estimates, *choice.order):
        assert f"{CHOICE[estimate.metric]} {fmt.estimate(estimate)} {fmt.count(estimate.samples)}" in words
    assert "OC 16 32" in words and "PC 16 32" in words
    assert re.search(r"MC 16 32 \d+ \d+ 6 ", words), "cases, samples, clusters, without answer, truncated"
    assert f"without a valid choice {2 * CASES}" in words
    assert "! on 2 of 16 mutant cases both programs return the same value" in words


def test_a_kind_without_enough_samples_for_pass_at_k_shows_a_dash(run) -> None:
    summary = read_summary(run)
    prediction = summary.profiles[0].reasoning.prediction
    fewer = msgspec.structs.replace(
        prediction,
        pass_at={
            "original": [msgspec.structs.replace(prediction.tables[0].estimates[0], metric="pass@2")],
            "mutant": [msgspec.structs.replace(prediction.tables[0].estimates[1], metric="pass@1")],
        },
    )
    reasoning = msgspec.structs.replace(summary.profiles[0].reasoning, prediction=fewer)
    profile = msgspec.structs.replace(summary.profiles[0], reasoning=reasoning)
    words = printed(print_summary, msgspec.structs.replace(summary, profiles=[profile]))
    one, other, *_ = prediction.tables[0].estimates
    assert "pass@2 pass@1" in words
    assert f"original {fmt.estimate(one)} – mutant – {fmt.estimate(other)}" in words


@pytest.mark.parametrize("width", [40, 80])
def test_a_narrow_terminal_loses_nothing(run, width: int) -> None:
    out = io.StringIO()
    print_summary(read_summary(run), console=Console(file=out, width=width))
    assert max(map(len, out.getvalue().splitlines())) <= width


def test_the_page_shows_every_metric_and_aggregation(run, reasoning) -> None:
    page = StrictPage(write_report(run).read_text(encoding="utf-8"))
    assert "reasoning" in page.ids
    assert "#reasoning" in page.references
    for table in (*reasoning.prediction.tables, *reasoning.choice.tables):
        for estimate in table.estimates:
            assert fmt.estimate(estimate) in page.text
    for name in {f"{t.cases}/{t.weighting}" for t in reasoning.prediction.tables}:
        assert AGGREGATIONS[name] in page.text
    for estimate in reasoning.prediction.stability:
        assert f"{estimate.metric} {fmt.percent(estimate.value)} {PREDICTION[estimate.metric]}" in page.text
    for mode in ("python_eq", "strict_typed", "repr_exact", "given an answer"):
        assert mode in page.text
    assert "mutant-rule" in page.text
    assert page.tags.count("svg") >= 3


def test_other_tasks_have_no_such_section(tmp_path: Path) -> None:
    other = build_run(tmp_path / "other")
    page = StrictPage(write_report(other).read_text(encoding="utf-8"))
    assert "reasoning" not in page.ids
    assert "#reasoning" not in page.references
    assert "execution" not in printed(print_summary, read_summary(other))


def test_the_summary_fits_its_schema(run) -> None:
    stored = msgspec.json.decode((run.path / "summary.json").read_bytes())
    assert stored["profiles"][0]["reasoning"]["prediction"]["programs"]
    jsonschema.Draft202012Validator(json_schema("summary")).validate(stored)


# ---------------------------------------------------------------------------------------------- comparison


def test_comparison_prints_every_metric_paired(run, tmp_path: Path) -> None:
    better = build_reasoning_run(tmp_path / "better", skill=8)
    comparison = api.compare(run, better)
    parts = {part.metric: part for part in comparison.parts}
    assert parts["MC"].difference == pytest.approx(3 / 8)
    assert parts["MC - OC"].difference == pytest.approx(3 / 8)
    assert parts["OC"].difference == parts["choice preference"].difference == 0
    assert parts["MC"].pairs == ITEMS * CASES
    words = printed(print_parts, reasoning_metrics(comparison.parts, "first", "second"))
    for part in parts.values():
        interval = f"{fmt.points(part.difference)} {fmt.bounds(part.low, part.high)}"
        assert f"{interval} {fmt.p_value(part.p_value, digits=3)} {part.pairs}" in words
    assert f"MC - OC {fmt.points(-3 / 8)} {fmt.points(0)} +37.5 [" in words


def test_the_page_of_a_comparison_holds_every_metric(run, tmp_path: Path) -> None:
    comparison = compare_runs([run, build_reasoning_run(tmp_path / "better", skill=8)])
    page = StrictPage(render_comparison(comparison, collect_replies(comparison)))
    assert "reasoning" in page.ids
    (pair,) = comparison.pairs
    for part in pair.paired.parts:
        shown = fmt.points if part.metric == "MC - OC" else fmt.percent
        assert f"{part.metric} {shown(part.first)} {shown(part.second)}" in page.text
    assert {part.metric for part in pair.paired.parts} >= {"MC - OC", "MR", "choice preference"}


def test_runs_of_other_tasks_have_no_parts(tmp_path: Path) -> None:
    one, two = build_run(tmp_path / "one"), build_run(tmp_path / "two")
    assert api.compare(one, two).parts == ()


def test_several_models_and_data_sets_in_one_table(run, tmp_path: Path) -> None:
    better = build_reasoning_run(tmp_path / "better", skill=8, model="toy/better")
    elsewhere = build_reasoning_run(tmp_path / "elsewhere", data="e" * 64)
    first, second, third = standings([run, better.path, elsewhere])
    assert first.against_first == third.against_first == []
    assert {d.metric for d in second.against_first} >= {"pass@1", "OC", "MC", "MC - OC", "MR", "choice preference"}
    assert second.gap.difference == 0
    words = printed(print_standings, [first, second])
    assert f"pass@1 {fmt.estimate(first.headline)} {fmt.estimate(second.headline)}" in words
    (mc,) = (d for d in second.against_first if d.metric == "MC")
    assert f"MC {fmt.points(mc.difference)} {fmt.bounds(mc.low, mc.high)} p {mc.p_value:.2g}" in words
    assert "data set" not in words
    words = printed(print_standings, [first, second, third])
    assert f"data set toy {'d' * 8} toy {'d' * 8} toy {'e' * 8}" in words
    assert "! elsewhere: different data set or profile" in words
    # 5 items of 8, on 2 cases with 2 samples each
    assert first.prediction[1].samples == ITEMS * CASES * SAMPLES


def test_the_command_compares_two_and_tabulates_more(run, tmp_path: Path) -> None:
    better = build_reasoning_run(tmp_path / "better", skill=8, model="toy/better")
    runner = CliRunner()

    def said(*arguments) -> str:
        result = runner.invoke(main, ["compare", *map(str, arguments)])
        assert result.exit_code == 0, result.output
        return result.stdout

    two = msgspec.json.decode(said(run.path, better.path, "--json"))
    assert {part["metric"] for part in two["pairs"][0]["paired"]["parts"]} >= {"OC", "MC", "MC - OC"}
    three = msgspec.json.decode(said(run.path, better.path, run.path, "--table", "--json"))
    assert [row["model"] for row in three] == ["toy/reader", "toy/better", "toy/reader"]
    assert len(msgspec.json.decode(said(run.path, better.path, "--table", "--json"))) == 2
    assert runner.invoke(main, ["compare", str(run.path)]).exit_code == 2


def test_a_run_without_that_profile_is_refused(run) -> None:
    with pytest.raises(UserError):
        standings([run], profile="human-eval")
