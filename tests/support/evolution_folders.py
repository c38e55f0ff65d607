"""Writes folders of evolutions: real searchers on a made-up landscape, in the formats of the loop."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10
from pathlib import Path

import msgspec

from truegrade.apps.evolve.finishing import look_at_final
from truegrade.apps.evolve.folder import (
    ANCHORS,
    CLOCK,
    EVENTS,
    EVOLUTION,
    FINAL,
    Anchor,
    Clock,
    Contest,
    Event,
    Evolution,
    Final,
    PassRateDifference,
    SearchPlan,
    SelectedGenome,
)
from truegrade.apps.evolve.genomes import EVERYWHERE, QUERY_VALUE, Evaluated, Genome, Scores, Space, stable_hash
from truegrade.apps.evolve.roles import Overlap, OverlapReport
from truegrade.apps.evolve.searchers import open_searcher
from truegrade.records import sha256_json
from truegrade.statistics.paired import assess_difference, mcnemar_p
from truegrade.statistics.tally import TaskTally, mean_pass_at_k
from truegrade.store.journal import Journal

OBJECTIVES = ("solved", "parameters", "training", "patch", "security")
REFERENCE = {"solved": 0.0, "parameters": -400.0, "training": -100.0, "patch": -1.0, "security": 0.0}
ROLES = {
    "train": tuple(f"micro/{n}" for n in range(96)),
    "selection": tuple(f"micro/{n}" for n in range(100, 164)),
    "final": tuple(f"micro/{n}" for n in range(200, 360)),
    "forgetting": tuple(f"micro/{n}" for n in range(400, 460)),
}
SPACE = Space(ranks=(1, 2, 4, 8, 16, 32), modules=(QUERY_VALUE, EVERYWHERE))
MAIN = (SearchPlan(name="nsga2"), SearchPlan(name="random", baseline=True), SearchPlan(name="tpe", baseline=True))
BASE_SKILL = 0.45


def chance(*what: object) -> float:
    """A number in [0, 1) that only depends on what is given."""
    return stable_hash(list(what)) % 2**32 / 2**32


def skill(genome: Genome) -> float:
    """Of the model with the adapter, on new kinds of problems."""
    if genome.merge:
        return 0.6
    away = abs(log10(genome.training.learning_rate) + 2.5)
    return BASE_SKILL + 0.1 + 0.3 * (1 - away) * (0.6 + 0.08 * SPACE.ranks.index(genome.adapter.rank))


def passed(skilled: float, who: str, problems: Sequence[str]) -> dict[str, float]:
    """Two samples each; hard problems stay hard for everybody."""
    return {
        problem: sum(0.3 * chance(who, problem, sample) + 0.7 * chance(problem) < skilled for sample in (0, 1)) / 2
        for problem in problems
    }


def scores(genome: Genome) -> Scores:
    """On the selection problems."""
    shares = passed(skill(genome), genome.id, ROLES["selection"])
    layers = 4 * len(genome.adapter.modules)
    own = {
        "solved": mean(shares),
        "parameters": -genome.adapter.rank * layers * 0.256,
        "training": -17.0 * genome.training.epochs,
        "patch": -0.2 - 0.3 * chance("patch", genome.id),
        "security": 1.0,
    }
    by_problem = {name: {**own, "solved": share} for name, share in shares.items()}
    return Scores(objectives=own, problems=by_problem, facts={"parameters": -1000 * own["parameters"]})


def anchors() -> list[Anchor]:
    found = []
    for name, solved, patch in (
        ("base", None, -0.3), ("identity", 0.0, 0.0), ("stub", 0.0, -1.0), ("reference", 1.0, -0.1)
    ):  # fmt: skip
        shares = dict.fromkeys(ROLES["selection"], solved)
        if solved is None:
            shares = passed(BASE_SKILL, "base", ROLES["selection"])
        own = {"solved": mean(shares), "parameters": 0.0, "training": 0.0, "patch": patch, "security": 1.0}
        by_problem = {problem: {**own, "solved": share} for problem, share in shares.items()}
        found.append(Anchor(name=name, scores=Scores(objectives=own, problems=by_problem)))
    return found


def build_folder(
    folder: Path,
    *,
    plans: Sequence[SearchPlan] = MAIN,
    generations: int = 6,
    population: int = 8,
    replicates: int = 2,
    finished: bool = True,
    gain: float = 1.0,
    objectives: Sequence[str] = OBJECTIVES,
) -> Path:
    """Run the searches and write their folder.

    Args:
        folder: made.
        plans: the searches; a plan's ``searcher`` argument is the strategy, its name where there is none.
        generations: of each search.
        population: of each.
        replicates: of each.
        finished: whether there is a final report; else the last search stops in its last but one generation.
        gain: factor of what an adapter gains on the final problems.
        objectives: of `OBJECTIVES`.
    """
    folder.mkdir(parents=True)
    evolution = described(plans, generations, population, replicates, objectives)
    (folder / EVOLUTION).write_bytes(msgspec.json.encode(evolution))
    with Journal[Anchor](folder / ANCHORS) as journal:
        for anchor in anchors():
            journal.append(anchor)
    events: list[Event] = []
    for plan in plans:
        for replicate in range(replicates):
            short = 1 if not finished and plan is plans[-1] else 0
            events += search(plan, replicate, generations - short, population, objectives)
    write_events(folder, events)
    if finished:
        (folder / FINAL).write_bytes(msgspec.json.encode(final(evolution, events, gain)))
        look_at_final(folder, "subject")
    return folder


def described(plans, generations, population, replicates, objectives) -> Evolution:
    settings = {"name": "micro", "population": population, "generations": generations, "seed": 0}
    pair = Overlap(trained="micro/3", tested="micro/204", kind="6-gram", share=0.74, jaccard=0.41)
    return Evolution(
        name="micro",
        settings=settings,
        settings_sha256=sha256_json(settings),
        versions={"truegrade": "0.1.0", "numpy": "2.3.4"},
        base="embedded/truegrade-micro",
        base_sha256="ab" * 32,
        benchmark="micro-repair",
        profile="strict@6",
        objectives=tuple(objectives),
        reference_point={name: REFERENCE[name] for name in objectives},
        searches=tuple(plans),
        replicates=replicates,
        roles=ROLES,
        notes=("micro-repair is a made-up language of small programs: it says little about real ones.",),
        contamination=OverlapReport(pairs=96 * 324, near=(pair,), closest=pair),
    )


def search(plan, replicate, generations, population, objectives) -> list[Event]:
    name = str(plan.args.get("searcher", plan.name))
    args = {key: value for key, value in plan.args.items() if key != "searcher"}
    point = {objective: REFERENCE[objective] for objective in objectives}
    searcher = open_searcher(name, SPACE, replicate, population, objectives, point, args)
    events = []
    for generation in range(generations):
        asked = searcher.ask(generation, population)
        told = [
            Evaluated(
                generation=generation,
                slot=slot,
                genome=genome,
                scores=scores(genome),
                fidelity=searcher.fidelity(generation),
            )
            for slot, genome in enumerate(asked)
        ]
        searcher.tell(told)
        events += [
            Event(search=plan.name, replicate=replicate, adapter_sha256=sha256_json(one.genome.id), evaluated=one)
            for one in told
        ]
    return events


def write_events(folder: Path, events: Sequence[Event]) -> None:
    made: set[str] = set()
    with Journal[Event](folder / EVENTS) as journal, Journal[Clock](folder / CLOCK) as clock:
        for event in events:
            journal.append(event)
            one, cached = event.evaluated, event.adapter_sha256 in made
            cpu_s = 1.5 + (0 if cached else 2.0 * one.genome.training.epochs * (1 + one.genome.adapter.rank / 32))
            clock.append(
                Clock(
                    search=event.search,
                    replicate=event.replicate,
                    generation=one.generation,
                    slot=one.slot,
                    cpu_s=cpu_s,
                    wall_s=cpu_s / 2,
                    cached=cached,
                )
            )
            made.add(event.adapter_sha256)


def final(evolution: Evolution, events: Sequence[Event], gain: float) -> Final:
    base = passed(BASE_SKILL, "base", ROLES["final"]) | passed(0.97, "base", ROLES["forgetting"])
    chosen = []
    for plan in evolution.searches:
        for replicate in range(evolution.replicates):
            own = [e for e in events if (e.search, e.replicate) == (plan.name, replicate)]
            best = max(own, key=lambda event: event.evaluated.scores.objectives["solved"])
            genome = best.evaluated.genome
            able = BASE_SKILL + gain * (skill(genome) - BASE_SKILL)
            shares = passed(able, genome.id, ROLES["final"]) | passed(0.93, genome.id, ROLES["forgetting"])
            chosen.append(
                SelectedGenome(
                    search=plan.name,
                    replicate=replicate,
                    genome=genome,
                    adapter_sha256=best.adapter_sha256,
                    selection=best.evaluated.scores.objectives["solved"],
                    final=estimate(shares, ROLES["final"]),
                    against_base=difference(shares, base, ROLES["final"]),
                    forgetting=difference(shares, base, ROLES["forgetting"]),
                    passed=shares,
                )
            )
    return Final(
        look=1,
        rule="Of each search's front the genome with the best solved was selected, the earlier among equals",
        chosen=evolution.searches[0].name,
        base=estimate(base, ROLES["final"]),
        base_passed=base,
        selected=tuple(chosen),
        contests=tuple(contest(plan.name, evolution, chosen) for plan in evolution.searches if plan.baseline),
    )


def contest(baseline: str, evolution: Evolution, chosen: Sequence[SelectedGenome]) -> Contest:
    ours, theirs = (
        [one for one in chosen if one.search == name] for name in (evolution.searches[0].name, baseline)
    )
    means = [
        {problem: sum(one.passed[problem] for one in of) / len(of) for problem in ROLES["final"]}
        for of in (ours, theirs)
    ]
    pairs = [(a.final.value, b.final.value) for a, b in zip(ours, theirs, strict=True)]
    wins, losses = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
    return Contest(
        baseline=baseline,
        difference=difference(*means, ROLES["final"]),
        wins=wins,
        losses=losses,
        sign_p=mcnemar_p(wins, losses),
    )


def estimate(shares: dict[str, float], problems: Sequence[str]):
    tallies = [TaskTally(task_id=name, cluster=name, n=2, c=round(2 * shares[name])) for name in problems]
    return mean_pass_at_k(tallies, 1)


def difference(ours: dict[str, float], theirs: dict[str, float], problems: Sequence[str]) -> PassRateDifference:
    gains = [ours[name] - theirs[name] for name in problems]
    found = assess_difference([[one] for one in gains])
    return PassRateDifference(value=sum(gains) / len(gains), low=found.low, high=found.high, method=found.method,
        tasks=len(problems))  # fmt: skip


def mean(shares: dict[str, float]) -> float:
    return sum(shares.values()) / len(shares)
