"""What the report of an evolution shows of the search: ancestors, the front, and the genes.

Where a genome came from: its ancestors, and what each changed.

The tree of the selected genome's ancestors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, combinations
from types import MappingProxyType

import msgspec

from truegrade.apps.evolve.folder import Event
from truegrade.apps.evolve.genomes import Genome, Scores
from truegrade.apps.evolve.reporting import verdict as phrases
from truegrade.apps.evolve.reporting.search_material import SearchMaterial, Track
from truegrade.apps.evolve.search_order import shortfall
from truegrade.report import format as fmt
from truegrade.report.charts.svg import Axis, Chart, Key, Stack, inline, number_axis, series, stacked, value_axis
from truegrade.report.charts.svg_lines import Kind, Mark, Node, front_plot, shape, strips, tree
from truegrade.report.document import Section
from truegrade.report.markup import Child, Markup, el, join
from truegrade.report.page_parts import drawn_section, figure, folded, table


class Ancestor(msgspec.Struct, frozen=True, kw_only=True):
    """A genome of the tree."""

    id: str
    generation: int
    """In which it was first evaluated."""
    origin: str
    parents: tuple[str, ...]
    """Those that are in the tree."""
    changes: tuple[str, ...]
    """What it has otherwise than each of its parents; all its genes where it has none."""
    score: float
    """The first objective."""


class GenomeOrigin(msgspec.Struct, frozen=True, kw_only=True):
    """One way in which genomes were made, and how often it paid."""

    name: str
    genomes: int
    on_front: int
    """Of the search's own archive at the end."""


def focus(material: SearchMaterial) -> tuple[Track, Event] | None:
    """The genome that the report follows, and its search: the selected one.

    Before the final report: the member of the search's own front with the best first objective.
    """
    chosen = material.chosen
    for track in material.tracks:
        if chosen is not None and (track.plan.name, track.replicate) != (chosen.search, chosen.replicate):
            continue
        front = {one.genome.id: one for one in track.archive.front}
        if chosen is None and front:
            wanted = max(front.values(), key=lambda one: one.scores.objectives[material.headline]).genome.id
        else:
            wanted = chosen.genome.id if chosen is not None else ""
        known = [event for event in track.events if event.evaluated.genome.id == wanted]
        found = min(known, key=lambda event: shortfall(event.evaluated), default=None)
        if found is not None:
            return track, found
    return None


def ancestry(track: Track, genome: str, objective: str) -> list[Ancestor]:
    """The genome and all its ancestors in a search, by generation."""
    known: dict[str, Event] = {}
    for event in track.events:
        known.setdefault(event.evaluated.genome.id, event)
    wanted, found = [genome], dict[str, Event]()
    while wanted:
        current = wanted.pop()
        if current in known and current not in found:
            found[current] = known[current]
            wanted += known[current].evaluated.genome.parents
    ordered = sorted(found.values(), key=lambda event: (event.evaluated.generation, event.evaluated.slot))
    return [_ancestor(event, found, objective) for event in ordered]


def origins(track: Track) -> list[GenomeOrigin]:
    """How the genomes of a search were made, the most frequent way first."""
    made: dict[str, str] = {}
    for event in track.events:
        made.setdefault(event.evaluated.genome.id, event.evaluated.genome.origin)
    kept = {one.genome.id for one in track.archive.front}
    survived = Counter(origin for genome, origin in made.items() if genome in kept)
    counted = Counter(made.values()).most_common()
    return [GenomeOrigin(name=name, genomes=number, on_front=survived[name]) for name, number in counted]


def described(genome: Genome) -> dict[str, str]:
    """The genes in words, by name."""
    adapter, training, sampling = genome.adapter, genome.training, genome.sampling
    genes = {
        "kind": "DoRA" if adapter.kind == "dora" else "LoRA",
        "rank": str(adapter.rank),
        "alpha / rank": f"{adapter.alpha / adapter.rank:g}",
        "dropout": f"{adapter.dropout:g}",
        "modules": modules(genome),
        "learning rate": f"{training.learning_rate:.3g}",
        "epochs": str(training.epochs),
        "temperature": f"{sampling.temperature:g}",
        "top-p": f"{sampling.top_p:g}",
        "top-k": "none" if sampling.top_k is None else str(sampling.top_k),
        "repetition penalty": f"{sampling.repetition_penalty:g}",
        "most tokens": str(sampling.max_tokens),
    }
    if genome.merge:
        genes["sum of"] = " + ".join(f"{weight:g} × {part[:6]}" for part, weight in genome.merge)
    return genes


def modules(genome: Genome) -> str:
    """The adapted layers, without the ending that all their names share: ``q v``."""
    return " ".join(name.removesuffix("_proj") for name in genome.adapter.modules)


def _ancestor(event: Event, found: Mapping[str, Event], objective: str) -> Ancestor:
    genome = event.evaluated.genome
    parents = tuple(parent for parent in dict.fromkeys(genome.parents) if parent in found)
    others = [described(found[parent].evaluated.genome) for parent in parents]
    changed = (
        _change(name, value, [other.get(name, "") for other in others])
        for name, value in described(genome).items()
        if any(other.get(name) != value for other in others) or not others
    )
    return Ancestor(
        id=genome.id,
        generation=event.evaluated.generation,
        origin=genome.origin,
        parents=parents,
        changes=tuple(changed),
        score=event.evaluated.scores.objectives[objective],
    )


def _change(name: str, value: str, before: list[str]) -> str:
    olds = list(dict.fromkeys(old for old in before if old))
    return f"{name} {' | '.join(olds)} → {value}" if olds else f"{name} {value}"


# ------------------------ The front: pairs of objectives, and every genome that no other dominates as a table.


PAIRS = 4
"""Charts shown; those of further pairs are folded."""
MOST_DOMINATED = 800
"""Dominated genomes drawn in each chart; of more, every n-th."""
FAR = 1.5
"""Spans of what was evaluated within which an anchor stretches the axes; farther ones are drawn at the edge."""


def front_section(material: SearchMaterial) -> Section | None:
    """The section of the page; empty before the first full evaluation."""
    if not material.front:
        return None
    charts = [inline(chart) for chart in pair_charts(material)]
    counted = (
        f"{fmt.plural(len(material.front), 'genome')} of {fmt.count(len(material.events))} evaluations are not"
        " dominated in all objectives together; in a chart of two objectives such a point may lie inside the"
        " front."
        " Higher values are better. A dashed mark is outside the axes. Scores are on the selection problems."
    )
    more = folded(f"{len(charts) - PAIRS} more pairs", el("div", charts[PAIRS:], class_="pair"))
    return drawn_section(
        "front",
        "The front",
        el("p", counted, class_="note"),
        _legend(material),
        el("div", charts[:PAIRS], class_="pair"),
        more if charts[PAIRS:] else None,
        _table(material),
        menu="Front",
    )


def pair_charts(material: SearchMaterial) -> list[Chart]:
    """A chart for every pair of objectives that vary, those with the first objective first."""
    names = [name for name in material.evolution.objectives if name not in material.constant]
    pairs = [(other, names[0]) for other in names[1:]] + list(combinations(names[1:], 2))
    return [_pair(material, x, y) for x, y in pairs]


def search_names(material: SearchMaterial) -> list[str]:
    """The searches in the order of their colours: the one in question first."""
    return list(dict.fromkeys(track.plan.name for track in material.tracks))


def _pair(material: SearchMaterial, x: str, y: str) -> Chart:
    marks = [
        *(_mark(event, x, y, material, "dominated") for event in _dominated(material)),
        *(_mark(event, x, y, material, "front") for event in material.front),
    ]
    bounded = [marks, _anchors(material, x, y)]
    across, up = (_axis(name, place, *bounded) for name, place in ((x, 0), (y, 1)))
    followed = focus(material)
    if followed is not None:
        marks.append(_mark(followed[1], x, y, material, "selected"))
    return front_plot([*marks, *bounded[1]], across, up, f"{y} against {x}")


def _mark(event: Event, x: str, y: str, material: SearchMaterial, kind: Kind) -> Mark:
    scores, colour = event.evaluated.scores.objectives, search_names(material).index(event.search)
    name = f"{event.evaluated.genome.id[:6]} of {event.search}"
    name = f"selected: {name}" if kind == "selected" else name
    return Mark(x=scores[x], y=scores[y], name=name, kind=kind, series=colour)


def _anchors(material: SearchMaterial, x: str, y: str) -> list[Mark]:
    return [
        Mark(
            x=anchor.scores.objectives[x],
            y=anchor.scores.objectives[y],
            name=anchor.name,
            kind="anchor",
            shape=anchor.name,
        )
        for anchor in material.anchors
    ]


def _dominated(material: SearchMaterial) -> list[Event]:
    """Full evaluations that are not on the front, thinned evenly where there are very many."""
    front = {event.evaluated.genome.id for event in material.front}
    found = [e for e in material.events if e.evaluated.genome.id not in front and shortfall(e.evaluated) <= 0.0]
    return found[:: max(1, -(-len(found) // MOST_DOMINATED))]


def _axis(name: str, place: int, marks: Sequence[Mark], anchors: Sequence[Mark]) -> Axis:
    """An axis that holds all genomes, and the anchors that are not very far from them."""
    own = [(mark.x, mark.y)[place] for mark in marks]
    reach = FAR * (max(own) - min(own))
    near = [value for a in anchors if min(own) - reach <= (value := (a.x, a.y)[place]) <= max(own) + reach]
    return number_axis(min([*own, *near]), max([*own, *near]), name)


def _legend(material: SearchMaterial) -> Markup:
    """Colours are searches, shapes anchors."""

    def sample(*drawn: Child) -> Markup:
        return el("svg", drawn, width=22, height=22, aria_hidden="true")

    def dot(class_: str, radius: float) -> Markup:
        return el("circle", class_=class_, cx=11, cy=11, r=radius)

    items = [
        el("li", sample(dot(f"point {series(place)}", 5.5)), name)
        for place, name in enumerate(search_names(material))
    ]
    items.append(el("li", sample(dot("faint s0", 3.5)), "dominated"))
    if focus(material) is not None:
        words = "selected" if material.chosen is not None else f"best {material.headline} so far"
        items.append(el("li", sample(dot("ring", 9), dot("point s0", 5)), words))
    for anchor in material.anchors:
        words = f"{anchor.name}: {phrases.ANCHORS[anchor.name]}"
        items.append(el("li", sample(shape(anchor.name, "anchor", x=11, y=11)), words))
    return el("ul", items, class_="marks")


def _table(material: SearchMaterial) -> Markup:
    """The front with its exact scores, then the anchors."""
    objectives = material.evolution.objectives
    rows: list[list[Child]] = []
    for event in material.front:
        genome = event.evaluated.genome
        genes = ", ".join(f"{name} {value}" for name, value in described(genome).items() if name in _SHOWN)
        name = el("code", genome.id, class_="genome")
        rows.append([name, event.search, *_scores(event.evaluated.scores, objectives), genes])
    anchors = [[anchor.name, "anchor", *_scores(anchor.scores, objectives), ""] for anchor in material.anchors]
    head = [
        "genome",
        "search",
        *(join(name, el("small", phrases.objective(name))) for name in objectives),
        "genes",
    ]
    shown = table("Non-dominated genomes, and the anchors", head, [*rows, *anchors], class_="lasting")
    return folded("The front as a table", shown)


def _scores(scores: Scores, objectives: Sequence[str]) -> list[Child]:
    """Read to three places; the element carries the exact number."""
    return [
        el("data", fmt.quantity(scores.objectives[name]), value=repr(scores.objectives[name]))
        for name in objectives
    ]


_SHOWN = frozenset({"kind", "rank", "alpha / rank", "modules", "learning rate", "epochs", "sum of"})


# ----------------------------------------------- How genes are distributed over the generations of the search.


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


def genes_section(material: SearchMaterial) -> Section | None:
    """The section of the page; empty before the first evaluation."""
    generations = trained(material)
    if not generations:
        return None
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
        return None
    words = (
        f"Every genome that {name} had trained, by generation, all replicates together; the line joins the"
        " medians. Genes that never varied are left out."
    )
    return drawn_section(
        "genes",
        "Genes over generations",
        el("p", words, class_="note"),
        el("div", figures, class_="pair"),
        menu="Genes",
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
            axis = _gene_axis(every, log=log and min(every) > 0)
            drawn.append((gene, strips(columns, axis, f"{gene} by generation", "generation")))
    return drawn


def _gene_axis(values: Sequence[float], *, log: bool) -> Axis:
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


LABEL_CHARS = 4
"""Of a genome's id, under its dot: what fits beside seven others on a phone."""


def lineage_section(material: SearchMaterial) -> Section | None:
    """The section of the page; empty before the first full evaluation."""
    followed = focus(material)
    if followed is None:
        return None
    track, event = followed
    family = ancestry(track, event.evaluated.genome.id, material.headline)
    which = (
        "the selected genome"
        if material.chosen is not None
        else f"the genome with the best {material.headline} so far"
    )
    size = fmt.plural(len(family), "genome")
    caption = [el("b", f"Ancestors of {which}."), f" {track.plan.name}, replicate {track.replicate + 1}: {size}."]
    drawn = figure(
        lineage_chart(family, event.evaluated.genome.id), caption, _family_table(family, material.headline)
    )
    return drawn_section("lineage", "Lineage", drawn, _origins_table(track))


def lineage_chart(family: list[Ancestor], genome: str) -> Chart:
    """The family as a tree; the genome that it is about is ringed."""
    nodes = [
        Node(
            id=one.id,
            row=one.generation,
            parents=one.parents,
            label=one.id[:LABEL_CHARS],
            title=f"{one.id}, {one.origin}: {'; '.join(one.changes)}",
            colour=phrases.origin_colour(one.origin),
            ringed=one.id == genome,
        )
        for one in family
    ]
    used = dict.fromkeys(one.origin for one in family)
    legend = tuple(Key(name, phrases.origin_colour(name)) for name in used)
    return tree(nodes, "Ancestors by generation", legend)


def _family_table(family: list[Ancestor], objective: str) -> Markup:
    rows: list[list[Child]] = [
        [
            el("code", one.id[:LABEL_CHARS]),
            fmt.count(one.generation),
            one.origin,
            ", ".join(parent[:LABEL_CHARS] for parent in one.parents) or "–",
            fmt.quantity(one.score),
            "; ".join(one.changes) or "nothing",
        ]
        for one in family
    ]
    head = ["genome", "generation", "origin", "parents", objective, "changes from its parents"]
    return table("Ancestors, and their changes from their parents", head, rows)


def _origins_table(track: Track) -> Markup:
    rows: list[list[Child]] = [
        [
            join(origin.name, el("small", phrases.ORIGINS.get(origin.name, ""))),
            fmt.count(origin.genomes),
            fmt.count(origin.on_front),
            fmt.percent(origin.on_front / origin.genomes),
        ]
        for origin in origins(track)
    ]
    head = ["origin", "genomes", "on its front", "share"]
    caption = f"Operators by result, in {track.plan.name}, replicate {track.replicate + 1}"
    return table(caption, head, rows, class_="numeric")
