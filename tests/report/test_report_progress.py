"""Progress: a bar on a terminal, a line every five seconds elsewhere, silence on request."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from truegrade.cli.options import echo
from truegrade.pipeline.verdicts import Progress
from truegrade.report.progress_lines import ProgressMeter, TerminalProgress, download_progress
from truegrade.settings import Silent


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def watch(*, terminal: bool, width: int = 100) -> tuple[TerminalProgress, Clock, io.StringIO]:
    out, clock = io.StringIO(), Clock()
    console = Console(file=out, width=width, force_terminal=terminal, highlight=False)
    return TerminalProgress(console, clock), clock, out


def test_a_line_every_five_seconds_without_a_terminal() -> None:
    progress, clock, out = watch(terminal=False)
    progress.start("generate", total=100, done=10)
    for _ in range(45):
        clock.now_s += 0.25
        progress.advance(cost_usd=0.01, failed=False)
    progress.advance(failed=True)
    progress.finish()
    assert out.getvalue().splitlines() == [
        "generate: 100 in total, 10 already done",
        "generate: 30/100, 4/s, $0.20",
        "generate: 50/100, 4/s, $0.40, 12.5 s remaining",
        "generate: 56/100, 4.09/s, $0.45, 1 failed, 11.2 s in total",
    ]


def test_the_last_one_is_told_once_without_a_terminal() -> None:
    progress, clock, out = watch(terminal=False)
    progress.start("grade as strict", total=1, done=0)
    clock.now_s += 10.0
    progress.advance()
    progress.finish()
    assert out.getvalue().splitlines()[1:] == ["grade as strict: 1/1, 0.1/s, 10.0 s in total"]


def test_the_bar_shows_stage_count_rate_cost_failures_and_time_to_go() -> None:
    progress, clock, out = watch(terminal=True)
    progress.start("grade as strict", total=8, done=0)
    for number in range(4):
        clock.now_s += 2.5
        progress.advance(cost_usd=0.5, failed=number == 0)
    assert progress._bars._live is not None
    progress._bars._live.refresh()
    progress.finish()
    shown = out.getvalue()
    for words in ("grade as strict", "4/8", "0.4/s", "$2.00", "1 failed", "10.0 s remaining"):
        assert words in shown
    assert "remaining" not in shown.splitlines()[-1].rpartition("grade as strict")[2], "a stage that is over"


def test_a_note_beside_bars_stands_above_them(capsys: pytest.CaptureFixture[str]) -> None:
    progress, _, out = watch(terminal=True)
    below = progress.beside()
    progress.start("generate", total=2, done=0)
    below.start("grade as strict", total=2, done=0)
    echo("note: one \x1b[2Jrequest was repeated", err=True)
    progress.finish()
    below.finish()
    assert "request was repeated" in out.getvalue()  # past the display, the next drawing would erase it
    assert capsys.readouterr().err == ""


def test_brackets_in_a_stage_are_text() -> None:
    for terminal in (False, True):
        progress, _, out = watch(terminal=terminal)
        progress.start("[bold]x", total=1, done=0)
        progress.finish()
        assert "[bold]x" in out.getvalue()


def test_a_stage_can_follow_another_and_finish_may_come_twice() -> None:
    progress, _, out = watch(terminal=False)
    for stage in ("one", "two"):
        progress.start(stage, total=1, done=0)
        progress.advance()
        progress.finish()
        progress.finish()
    progress.advance()
    assert [line.split(":")[0] for line in out.getvalue().splitlines()] == ["one", "one", "two", "two"]


def test_nothing_finished_yet_has_no_time_to_go() -> None:
    meter = ProgressMeter("x", total=5, done=2, started_s=0.0, resumed=2)
    assert meter.eta_s(10.0) is None
    assert meter.line(10.0) == "x: 2/5, 0/s"


def test_the_time_to_go_after_a_resume_is_that_of_this_command_alone() -> None:
    progress, clock, out = watch(terminal=False)
    progress.start("generate", total=1000, done=900)
    for _ in range(20):
        clock.now_s += 1
        progress.advance()
    # 80 are left at one a second; with the 900 of the first command the pace would be 46 a second
    assert out.getvalue().splitlines()[-1] == "generate: 920/1,000, 1/s, 1 min 20 s remaining"


def test_what_came_at_once_from_a_cache_leaves_the_pace_after_a_minute() -> None:
    meter = ProgressMeter("x", total=600, done=0, started_s=0.0)
    for _ in range(300):
        meter.add(0.0, failed=False)
    seconds = range(1, 122)
    for second in seconds:
        meter.add(0.0, failed=False)
        meter.rate(second)
    assert meter.done == 421
    assert 179 <= (meter.eta_s(seconds[-1]) or 0) <= 185
    assert meter.line(seconds[-1]).startswith("x: 421/600, 1/s")


def test_slow_requests_have_a_pace_of_at_least_twenty_of_them() -> None:
    meter = ProgressMeter("x", total=100, done=0, started_s=0.0)
    for number in range(1, 51):
        meter.add(None, failed=False)
        meter.rate(30.0 * number)
    assert meter.eta_s(30.0 * 50) == 50 * 30.0
    assert (meter.eta_s(30.0 * 51) or 0) > 50 * 30.0


def test_while_the_pace_changes_nothing_is_said_of_the_rest() -> None:
    meter = ProgressMeter("x", total=400, done=0, started_s=0.0)
    said = {}
    for second in range(1, 121):
        for _ in range(1 if second <= 30 else 4):  # the first requests wait for the model to be loaded
            meter.add(None, failed=False)
        said[second] = meter.eta_s(float(second))
    assert all(said[second] is None for second in (1, 9, 40))
    assert said[20] == 380
    assert said[100] is not None and abs(said[100] - (400 - 310) / 4) < 5


def test_silence(capfd) -> None:
    progress: Progress = Silent()
    progress.start("x", total=1, done=0)
    progress.advance()
    progress.finish()
    assert capfd.readouterr() == ("", "")


def test_standard_error_is_the_default(capfd) -> None:
    progress: Progress = TerminalProgress()
    progress.start("x", total=1, done=0)
    progress.finish()
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("x: 1 in total\n")


def test_downloads_show_bytes_on_a_terminal_only() -> None:
    for terminal, quiet in ((True, False), (True, True), (False, False)):
        out = io.StringIO()
        console = Console(file=out, width=100, force_terminal=terminal)
        with download_progress("mbpp", quiet=quiet, console=console) as told:
            told(500, 1000)
        assert ("mbpp" in out.getvalue()) == (terminal and not quiet)


def test_two_stages_at_once_share_a_terminal_and_take_turns_elsewhere() -> None:
    for terminal in (True, False):
        progress, clock, out = watch(terminal=terminal)
        other = progress.beside()
        progress.start("generate", total=2, done=0)
        other.start("grade as strict", total=2, done=0)
        for stage in (progress, other, progress):
            clock.now_s += 6
            stage.advance()
        progress.finish()
        other.advance()
        other.finish()
        shown = out.getvalue()
        assert "generate" in shown and "grade as strict" in shown
        assert "2/2" in shown.rsplit("generate", 1)[1] and "2/2" in shown.rsplit("grade as strict", 1)[1]
        if not terminal:
            assert [line.split(",")[0] for line in shown.splitlines()] == [
                "generate: 2 in total", "grade as strict: 2 in total",
                "generate: 1/2", "grade as strict: 1/2", "generate: 2/2", "grade as strict: 2/2",
            ]  # fmt: skip
