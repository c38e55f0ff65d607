"""Where a genome came from: its ancestors, and what each changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec

from truegrade.evolution.events import Event
from truegrade.evolution.genomes import Genome
from truegrade.evolution.reporting.search_material import SearchMaterial, Track
from truegrade.evolution.survival import shortfall


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
