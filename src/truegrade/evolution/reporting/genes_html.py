"""How genes are distributed over the generations of the search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from types import MappingProxyType

from truegrade.evolution.genomes import Genome
from truegrade.evolution.reporting.lineage import described, modules
from truegrade.evolution.reporting.search_material import SearchMaterial
from truegrade.report import format as fmt
from truegrade.report.charts.svg import Axis, Chart, Key, number_axis, series, value_axis
from truegrade.report.charts.svg_bars import Stack, stacked
from truegrade.report.charts.svg_strips import strips
from truegrade.report.markup import Child, Markup, el
from truegrade.report.page_parts import figure, section, table

FEW = 8
"""Different values up to which each has a tick of its own."""
NUMBERS: Mapping[str, tuple[Callable[[Genome], float], bool]] = MappingProxyType(
    {
        "rank": (lambda genome: genome.adapter.rank, True),
        "alpha / rank": (lambda genome: genome.adapter.alpha / genome.adapter.rank, True),
        "learning rate": (lambda genome: genome.training.learning_rate, True),
        "epochs": (lambda genome: genome.training.epochs, False),
        "dropout": (lambda genome: genome.adapter.dropout, False),
        "temperature": (lambda genome: genome.sampling.temperature, False),
    }
)
"""How a gene is read, and whether its axis is logarithmic."""
KINDS: Mapping[str, Callable[[Genome], str]] = MappingProxyType(
    {
        "kind": lambda genome: described(genome)["kind"],
        "modules": modules,
        "origin": lambda genome: genome.origin,
    }
)

Generations = Mapping[int, Sequence[Genome]]


def genes_section(material: SearchMaterial) -> Markup:
    """The section of the page; empty before the first evaluation."""
    generations = trained(material)
    if not generations:
        return Markup()
    name = material.tracks[0].plan.name
    figures = [
        *(
            figure(chart, el("b", gene), _numbers_table(generations, gene))
            for gene, chart in number_charts(generations)
        ),
        *(
            figure(chart, el("b", gene), _kinds_table(generations, gene))
            for gene, chart in kind_charts(generations)
        ),
    ]
    if not figures:
        return Markup()
    words = (
        f"Every genome that {name} had trained, by generation, all replicates together; the line joins the"
        " medians. Genes that never varied are left out."
    )
    return section(
        "genes", "Genes over generations", el("p", words, class_="note"), el("div", figures, class_="pair")
    )


def trained(material: SearchMaterial) -> dict[int, list[Genome]]:
    """Genomes of the search in question by generation; merged ones have no genes of training."""
    found: dict[int, list[Genome]] = {}
    for track in material.tracks:
        if track.plan.name == material.tracks[0].plan.name:
            for event in track.events:
                if not event.evaluated.genome.merge:
                    found.setdefault(event.evaluated.generation, []).append(event.evaluated.genome)
    return dict(sorted(found.items()))


def number_charts(generations: Generations) -> list[tuple[str, Chart]]:
    """A chart for each gene that is a number and varies."""
    drawn = []
    for gene, (read, log) in NUMBERS.items():
        columns = {number: [read(genome) for genome in genomes] for number, genomes in generations.items()}
        every = list(chain.from_iterable(columns.values()))
        if min(every) < max(every):
            axis = _axis(every, log=log and min(every) > 0)
            drawn.append((gene, strips(columns, axis, f"{gene} by generation", "generation")))
    return drawn


def _axis(values: Sequence[float], *, log: bool) -> Axis:
    if len(set(values)) <= FEW:
        return value_axis(values, log=log)
    return number_axis(min(values), max(values), log=log)


def kind_charts(generations: Generations) -> list[tuple[str, Chart]]:
    """A stacked bar a generation for each gene that is a name and varies."""
    drawn = []
    for gene, read in KINDS.items():
        values = _values(generations, read)
        if len(values) > 1:
            keys = tuple(Key(value, series(place)) for place, value in enumerate(values))
            stacks = [_stack(number, genomes, read, values) for number, genomes in generations.items()]
            drawn.append((gene, stacked(stacks, f"{gene} by generation", keys)))
    return drawn


def _stack(number: int, genomes: Sequence[Genome], read: Callable[[Genome], str], values: Sequence[str]) -> Stack:
    counted = Counter(map(read, genomes))
    parts = [(value, counted[value] / len(genomes), series(place)) for place, value in enumerate(values)]
    return Stack(f"generation {number}", [part for part in parts if part[1]])


def _values(generations: Generations, read: Callable[[Genome], str]) -> list[str]:
    return sorted({read(genome) for genome in chain.from_iterable(generations.values())})


def _numbers_table(generations: Generations, gene: str) -> Markup:
    read, _ = NUMBERS[gene]
    rows: list[list[Child]] = []
    for number, genomes in generations.items():
        values = sorted(map(read, genomes))
        middle = (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2
        rows.append(
            [fmt.count(number), *map(fmt.quantity, (values[0], middle, values[-1])), fmt.count(len(values))]
        )
    return table(gene, ["generation", "least", "median", "greatest", "genomes"], rows, class_="numeric")


def _kinds_table(generations: Generations, gene: str) -> Markup:
    values = _values(generations, KINDS[gene])
    counts = {number: Counter(map(KINDS[gene], genomes)) for number, genomes in generations.items()}
    rows: list[list[Child]] = [
        [fmt.count(number), *(fmt.count(counted[value]) for value in values)] for number, counted in counts.items()
    ]
    return table(gene, ["generation", *values], rows, class_="numeric")
