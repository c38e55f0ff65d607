"""An evolution in text: its summary for the terminal and as Markdown, and its progress while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from truegrade.apps.evolve.folder import Clock, Event
from truegrade.apps.evolve.genomes import Genome
from truegrade.apps.evolve.reporting.page import final_table, label, write_report
from truegrade.apps.evolve.reporting.search_material import SearchMaterial, gather
from truegrade.apps.evolve.reporting.verdict import contenders, verdict
from truegrade.apps.evolve.search_order import Archive
from truegrade.errors import UserError
from truegrade.report import format as fmt
from truegrade.report.document import Cautions, Cell, Prose, Table
from truegrade.report.terminal import open_terminal, print_parts
from truegrade.report.text_files import as_markdown
from truegrade.store.manifest import write_atomically

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.live import Live


# ------ An evolution as it runs, on standard error: a table of the front on a terminal, plain lines elsewhere.


SHOWN = 10
"""Genomes of the front in the table; the best of the first objective."""


class LiveWatcher:
    """Implements `truegrade.apps.evolve.folder.SearchWatcher` for a person.

    Args:
        console: where to show it; None for standard error.
        clock: seconds that only grow.
    """

    def __init__(self, console: Console | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console or open_terminal(stderr=True)
        self._clock = clock
        self._live: Live | None = None
        self._search = ""
        self._done = self._total = self._measured = 0
        self._began_s = clock()
        self._cpu_s = 0.0

    def stage(self, sentence: str) -> None:
        """Say it."""
        self.finish()
        self._print(f"evolve: {sentence}")

    def search(self, name: str, replicate: int, done: int, total: int) -> None:
        """Say which search, and how far the whole is."""
        self.finish()
        self._search = f"{name}, replicate {replicate + 1}"
        self._done, self._total = done, total
        self._print(f"search {self._search}: {done} of {total} evaluations done")

    def evaluated(self, event: Event, clock: Clock, archive: Archive) -> None:
        """Show the front and what it has cost so far, or a line."""
        self._done += 1
        self._measured += clock.wall_s > 0
        self._cpu_s += clock.cpu_s
        if self._console.is_terminal:
            self._show(archive)
        else:
            self._print(f"{self._line(archive)} · {_scores(event)} · {described(event.evaluated.genome)}")

    def finish(self) -> None:
        """Leave the last state on the screen."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _show(self, archive: Archive) -> None:
        from rich.live import Live

        if self._live is None:
            self._live = Live(console=self._console, refresh_per_second=4)
            self._live.start()
        self._live.update(self._picture(archive))

    def _picture(self, archive: Archive) -> Group:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(*archive.objectives, "adapter", box=None, pad_edge=False)
        front = sorted(archive.front, key=lambda one: -one.scores.objectives[archive.objectives[0]])
        for one in front[:SHOWN]:
            values = [f"{one.scores.objectives[name]:.3g}" for name in archive.objectives]
            table.add_row(*values, described(one.genome))
        more = [Text(f"and {len(front) - SHOWN} more on the front", "dim")] if len(front) > SHOWN else []
        return Group(Text(f"{self._search}: {self._line(archive)}", "bold"), table, *more)

    def _line(self, archive: Archive) -> str:
        facts = [
            f"{self._done}/{self._total}",
            f"front {len(archive.front)}",
            f"hypervolume {fmt.quantity(archive.volume)}",
            f"{fmt.seconds(self._cpu_s)} CPU",
        ]
        if self._measured and self._done < self._total:
            each_s = (self._clock() - self._began_s) / self._measured
            facts.append(f"{fmt.seconds(each_s * (self._total - self._done))} to go at most")
        return " · ".join(facts)

    def _print(self, line: str) -> None:
        self._console.print(line, markup=False, emoji=False, soft_wrap=True)


def described(genome: Genome) -> str:
    """The genes that matter, in a line."""
    if genome.merge:
        return "merge of " + ", ".join(f"{weight:+.2f} x {name[:6]}" for name, weight in genome.merge)
    adapter, training = genome.adapter, genome.training
    modules = "+".join(name.removesuffix("_proj") for name in adapter.modules)
    return (
        f"{adapter.kind} r{adapter.rank} alpha {adapter.alpha:g} {modules} dropout {adapter.dropout:g},"
        f" lr {training.learning_rate:.2g}, {fmt.plural(training.epochs, 'epoch')}{_learned_from(genome)}"
    )


def _learned_from(genome: Genome) -> str:
    """What it learns from besides the lessons."""
    data, policy = genome.data, genome.policy
    parts = [f"{fmt.plural(data.rounds, 'round')} of own replies"] if data.rounds else []
    parts += ["references of the pool"] if data.references else []
    parts += ["replay"] if data.replay else []
    parts += ["policy gradient"] if policy is not None else []
    return "".join(f", {part}" for part in parts)


def _scores(event: Event) -> str:
    return ", ".join(f"{name} {value:.3g}" for name, value in event.evaluated.scores.objectives.items())


def print_summary(material: SearchMaterial, console: Console | None = None) -> None:
    """Print the conclusion, the comparison and the warnings."""
    judged = verdict(material)
    title = f"{material.evolution.name} · {material.evolution.base}: {judged.title}"
    selected = (
        Prose(text=f"{label(each, one)}: {described(each.genome)}", tone="remark")
        for one in contenders(material)
        for each in one.selected
    )
    print_parts(
        Prose(lead=title),
        *(Prose(text=sentence) for sentence in judged.sentences),
        *tables(material),
        *selected,
        Cautions([Prose(text=doubt) for doubt in judged.doubts]),
        console=console,
    )


def report_files(folder: Path, file_format: str, out: Path | None) -> list[Path]:
    """`truegrade report` of an evolution: its page, or its summary as Markdown.

    Raises:
        UserError: another format, or the folder holds no evolution.
    """
    if file_format == "html":
        return [write_report(gather(folder), out)]
    if file_format != "markdown":
        raise UserError(f"{folder}: an evolution has a page (html) and a summary (markdown), no {file_format}")
    path = out or folder / "summary.md"
    write_atomically(path, markdown_summary(gather(folder)).encode())
    return [path]


def markdown_summary(material: SearchMaterial) -> str:
    """The same as Markdown."""
    judged = verdict(material)
    parts = [
        f"## {material.evolution.name} · {material.evolution.base}",
        f"**{judged.title}.**",
        "\n".join(f"- {sentence}" for sentence in judged.sentences),
        *(as_markdown(exhibit).rstrip() for exhibit in tables(material)),
        "\n".join(f"> {doubt}" for doubt in judged.doubts),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def tables(material: SearchMaterial) -> list[Table]:
    """The final comparison, or the progress of the searches."""
    return [_so_far(material) if material.final is None else final_table(material)]


def _so_far(material: SearchMaterial) -> Table:
    name = material.headline
    rows: list[list[Cell]] = []
    base = material.anchor("base")
    if base is not None:
        rows.append(["base", "–", fmt.quantity(base.scores.objectives[name]), "–", "–"])
    for track in material.tracks:
        front = track.archive.front
        best = max((one.scores.objectives[name] for one in front), default=None)
        rows.append(
            [
                f"{track.plan.name} #{track.replicate + 1}",
                fmt.count(len(track.events)),
                "–" if best is None else fmt.quantity(best),
                fmt.count(len(front)),
                fmt.quantity(track.archive.volume),
            ]
        )
    head = ("search", "evaluated", f"best {name}", "front", "hypervolume")
    return Table(
        slug="progress",
        caption="On the selection problems (optimistic, because genomes are selected by them)",
        head=head,
        rows=rows,
    )
