"""Progress of a stage on standard error: a bar on a terminal, periodic lines elsewhere, or nothing."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from truegrade.report import format as fmt
from truegrade.report.terminal import open_terminal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

LINE_EVERY_S = 5.0
"""Seconds between two lines where there is no terminal."""

PACE_S = 60.0
PACE_ITEMS = 20
"""The pace is that of the last so many seconds, and of at least so many items: what came at once from a cache, or
a pause of the machine, says nothing about the rest."""

ETA_AFTER_S = 10.0
ETA_FACTOR = 1.5
"""How long the rest takes is said no earlier than this, and where the newer half of the time that the pace is
taken from was neither faster nor slower than the whole by more than this factor."""

Clock = Callable[[], float]


@dataclass
class ProgressMeter:
    """What a stage has come to; all arithmetic of progress, none of its looks."""

    stage: str
    total: int
    done: int
    started_s: float
    """Reading of the clock at the start."""
    resumed: int = 0
    """Finished by an earlier command: counted as done, not in the rate."""
    failed: int = 0
    cost_usd: float | None = None

    def __post_init__(self) -> None:
        self._marks = deque([(self.started_s, self.resumed)])
        """What was done when, the oldest that the pace is measured from first."""

    def add(self, cost_usd: float | None, *, failed: bool) -> None:
        """One more is finished."""
        self.done += 1
        self.failed += failed
        if cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + cost_usd

    def rate(self, now_s: float) -> float:
        """Finished per second lately, by this command."""
        marks = self._marks
        if now_s - marks[-1][0] >= 1:
            marks.append((now_s, self.done))
        while len(marks) > 1 and marks[1][0] <= now_s - PACE_S and marks[1][1] <= self.done - PACE_ITEMS:
            marks.popleft()
        since_s, before = marks[0]
        return (self.done - before) / max(1e-9, now_s - since_s)

    def eta_s(self, now_s: float) -> float | None:
        """Seconds until the end at this rate; None while too little is finished, or the pace is changing."""
        if now_s - self.started_s < ETA_AFTER_S or self.done - self.resumed < min(
            PACE_ITEMS, (self.total - self.resumed) / 10
        ):
            return None
        rate = self.rate(now_s)
        middle_s, before = self._marks[len(self._marks) // 2]
        newer = (self.done - before) / max(1e-9, now_s - middle_s)
        steady = rate / ETA_FACTOR <= newer <= rate * ETA_FACTOR or now_s - middle_s < 1
        return (self.total - self.done) / rate if rate > 0 and steady else None

    def facts(self, now_s: float, *, over: bool = False) -> list[str]:
        """Rate, cost, failures and, unless the stage is over, time to go, each where it says something."""
        facts = [f"{fmt.quantity(self.rate(now_s))}/s"]
        if self.cost_usd is not None:
            facts.append(fmt.usd(self.cost_usd))
        if self.failed:
            facts.append(f"{fmt.count(self.failed)} failed")
        eta_s = None if over else self.eta_s(now_s)
        if eta_s is not None and self.done < self.total:
            facts.append(f"{fmt.seconds(eta_s)} remaining")
        return facts

    def line(self, now_s: float, *, over: bool = False) -> str:
        """All of it in one line; a stage that is over says how long it took."""
        facts = self.facts(now_s, over=over)
        if over:
            facts.append(f"{fmt.seconds(now_s - self.started_s)} in total")
        return f"{self.stage}: {fmt.count(self.done)}/{fmt.count(self.total)}, {', '.join(facts)}"


class TerminalProgress:
    """Implements `truegrade.pipeline.verdicts.Progress` for a person.

    Args:
        console: where to show it; None for standard error.
        clock: seconds that only grow.
    """

    def __init__(self, console: Console | None = None, clock: Clock = time.monotonic) -> None:
        self._console = console or open_terminal(stderr=True)
        self._clock = clock
        self._bars = _Bars(self._console)
        self._meter: ProgressMeter | None = None
        self._bar: TaskID | None = None
        self._last_line_s = 0.0

    def beside(self) -> TerminalProgress:
        """Shown in a line below."""
        other = TerminalProgress(self._console, self._clock)
        other._bars = self._bars
        return other

    def start(self, stage: str, total: int, done: int) -> None:
        """Begin to show a stage."""
        now_s = self._clock()
        self._meter = ProgressMeter(stage, total, done, started_s=now_s, resumed=done)
        self._last_line_s = now_s
        if self._console.is_terminal:
            self._bar = self._bars.add(stage, total, done)
        else:
            already = f", {fmt.count(done)} already done" if done else ""
            self._print(f"{stage}: {fmt.count(total)} in total{already}")

    def advance(self, *, cost_usd: float | None = None, failed: bool = False) -> None:
        """Show that one more is finished."""
        if self._meter is None:
            return
        self._meter.add(cost_usd, failed=failed)
        now_s = self._clock()
        if self._bar is not None:
            self._bars.show(self._bar, self._meter, now_s)
        elif (
            now_s - self._last_line_s >= LINE_EVERY_S and self._meter.done < self._meter.total
        ):  # `finish` tells it
            self._last_line_s = now_s
            self._print(self._meter.line(now_s))

    def finish(self) -> None:
        """Leave the last state on the screen."""
        if self._meter is None:
            return
        now_s = self._clock()
        if self._bar is not None:
            self._bars.show(self._bar, self._meter, now_s, over=True)
            self._bars.finish()
        else:
            self._print(self._meter.line(now_s, over=True))
        self._meter = self._bar = None

    def _print(self, line: str) -> None:
        self._console.print(line, markup=False, emoji=False, soft_wrap=True)


class _Bars:
    """The bars of stages at the same time: a terminal has room for one live display."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: RichProgress | None = None
        self._running = 0

    def add(self, stage: str, total: int, done: int) -> TaskID:
        if self._live is None:
            self._live = _bar(self._console)
            self._live.start()
        self._running += 1
        return self._live.add_task(stage, total=total, completed=done, facts="")

    def show(self, bar: TaskID, meter: ProgressMeter, now_s: float, *, over: bool = False) -> None:
        assert self._live is not None
        self._live.update(bar, completed=meter.done, facts=" · ".join(meter.facts(now_s, over=over)))

    def finish(self) -> None:
        """The display stays as it is once no stage is left."""
        self._running -= 1
        if self._running == 0 and self._live is not None:
            self._live.stop()
            self._live = None


def _bar(console: Console) -> RichProgress:
    """Stage, bar, done of total, and `Meter.facts`; the bar gives way first where the terminal is narrow."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.table import Column

    return Progress(
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
        BarColumn(bar_width=None, table_column=Column(ratio=1, min_width=4)),
        MofNCompleteColumn(table_column=Column(no_wrap=True)),
        TextColumn("{task.fields[facts]}", markup=False, table_column=Column(no_wrap=True)),
        console=console,
        expand=True,
        refresh_per_second=5,
    )


@contextmanager
def download_progress(
    name: str, *, quiet: bool = False, console: Console | None = None
) -> Iterator[Callable[[int, int | None], None]]:
    """Show a download; yields what `truegrade.datasets.pull` tells its bytes to.

    Args:
        name: what is downloaded.
        quiet: show nothing. Nothing is shown without a terminal either: these files are small.
        console: where to show it; None for standard error.
    """
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    shown = console or open_terminal(stderr=True)
    text = TextColumn("{task.description}", markup=False)
    columns = (text, BarColumn(), DownloadColumn(), TransferSpeedColumn())
    disable = quiet or not shown.is_terminal
    with Progress(*columns, console=shown, transient=True, disable=disable) as bar:
        task = bar.add_task(name, total=None)

        def told(received_bytes: int, total_bytes: int | None) -> None:
            bar.update(task, completed=received_bytes, total=total_bytes)

        yield told
