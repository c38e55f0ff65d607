"""What an evolution's report computes, against brute force and against other people's code."""

from __future__ import annotations

import re
from itertools import accumulate
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.evolution_folders import OBJECTIVES, REFERENCE, build_folder
from truegrade.apps.evolve.folder import CLOCK, EVENTS, EVOLUTION, FINAL, Event, SearchPlan
from truegrade.apps.evolve.reporting.page import render
from truegrade.apps.evolve.reporting.problems_html import grouped
from truegrade.apps.evolve.reporting.search_html import ancestry, focus, origins
from truegrade.apps.evolve.reporting.search_material import by_cpu_s, by_evaluations, cached, gather, total_cpu_s
from truegrade.apps.evolve.reporting.verdict import averaged, best_baseline, contenders, verdict
from truegrade.errors import BadRecord, UserError

SCREENED = (SearchPlan(name="screened", args={"searcher": str(Path(__file__).parents[1] / "screening.py")}),)


def rows(folder):
    return [msgspec.json.decode(line) for line in (folder / EVENTS).read_bytes().splitlines()]


def full(row):
    fidelity = row["evaluated"]["fidelity"]
    return fidelity["epochs"] == 1.0 and fidelity["problems"] == 1.0


def values(row):
    return [row["evaluated"]["scores"]["objectives"][name] for name in OBJECTIVES]


def brute_front(found):
    """Ids that nothing dominates, by comparing all with all; of a genome the first full evaluation counts."""
    first = {}
    for row in filter(full, found):
        first.setdefault(genome_id(row), values(row))
    return {
        one
        for one, mine in first.items()
        if not any(
            all(a >= b for a, b in zip(other, mine, strict=True)) and other != mine for other in first.values()
        )
    }


def genome_id(row):
    return msgspec.convert(row, Event).evaluated.genome.id


def optuna_volume(found):
    hypervolume = pytest.importorskip("optuna._hypervolume")
    import numpy as np

    # optuna minimises, and wants points that are better than the reference point in everything
    point = np.array([-REFERENCE[name] for name in OBJECTIVES])
    losses = -np.array([values(row) for row in found if full(row)]).reshape(-1, len(OBJECTIVES))
    inside = losses[(losses < point).all(axis=1)]
    return float(hypervolume.compute_hypervolume(inside, point)) if len(inside) else 0.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("optuna")
    return build_folder(tmp_path_factory.mktemp("evolution") / "run", generations=4, population=6)


@pytest.fixture(scope="module")
def material(folder):
    return gather(folder)


def test_the_front_is_that_of_brute_force(folder, material):
    front = {event.evaluated.genome.id for event in material.front}
    assert front == brute_front(rows(folder))
    assert 1 < len(front) < len(rows(folder))


def test_cheap_evaluations_are_not_on_the_front(tmp_path):
    folder = build_folder(tmp_path / "run", plans=SCREENED, replicates=1)
    found = rows(folder)
    cheap = {genome_id(row) for row in found if not full(row)} - {genome_id(row) for row in found if full(row)}
    front = {event.evaluated.genome.id for event in gather(folder).front}
    assert cheap
    assert front == brute_front(found)
    assert not front & cheap


def test_hypervolume_is_that_of_optuna(folder, material):
    found = rows(folder)
    assert material.volume == pytest.approx(optuna_volume(found), rel=1e-9)
    by_search = {one.search: one for one in by_evaluations(material)}
    for search, budgeted in by_search.items():
        for spent in (0, 7, len(budgeted.budget) - 1):
            volumes = [
                optuna_volume([r for r in found if (r["search"], r["replicate"]) == (search, i)][: spent + 1])
                for i in (0, 1)
            ]
            assert budgeted.mean[spent] == pytest.approx(sum(volumes) / 2, rel=1e-9)
            assert (budgeted.low[spent], budgeted.high[spent]) == pytest.approx(
                (min(volumes), max(volumes)), rel=1e-9
            )


def test_budgets_rise_and_end_where_the_first_replicate_ends(folder, material):
    clocks = [msgspec.json.decode(line) for line in (folder / CLOCK).read_bytes().splitlines()]
    assert total_cpu_s(material) == pytest.approx(sum(clock["cpu_s"] for clock in clocks))
    for one in by_cpu_s(material):
        assert list(one.budget) == sorted(one.budget)
        assert list(one.mean) == sorted(one.mean)
    first = by_cpu_s(material)[0]
    assert first.search == "nsga2"
    spent = [
        list(accumulate(c["cpu_s"] for c in clocks if (c["search"], c["replicate"]) == ("nsga2", replicate)))
        for replicate in (0, 1)
    ]
    assert first.budget[-1] == pytest.approx(min(spent[0][-1], spent[1][-1]))


def test_replicates_of_one_evaluation_have_one_point(tmp_path):
    """Their costs differ, so there is no budget that both have spent exactly."""
    folder = build_folder(tmp_path / "run", generations=1, population=1)
    clocks = [msgspec.json.decode(line) for line in (folder / CLOCK).read_bytes().splitlines()]
    for number, clock in enumerate(clocks):
        clock["cpu_s"] = 1.0 + number
    (folder / CLOCK).write_bytes(b"".join(msgspec.json.encode(clock) + b"\n" for clock in clocks))
    material = gather(folder)
    for one in by_cpu_s(material):
        slowest = max(clock["cpu_s"] for clock in clocks if clock["search"] == one.search)
        assert one.budget[-1] >= slowest and len(one.mean) == len(one.budget) == 1 and one.replicates == 2
    assert render(material)


def test_who_finds_an_adapter_made_is_charged_for_it(folder, material):
    """The first generation of random search is that of nsga2: it is not to seem cheaper."""
    assert cached(material) > 0
    clocks = [msgspec.json.decode(line) for line in (folder / CLOCK).read_bytes().splitlines()]
    shown = {(c["search"], c["replicate"]): 0.0 for c in clocks}
    for clock in clocks:
        shown[clock["search"], clock["replicate"]] += clock["cpu_s"]
    charged = next(one for one in by_cpu_s(material) if one.search == "random")
    assert charged.budget[-1] > min(shown["random", 0], shown["random", 1])


def test_without_a_clock_there_is_no_chart_over_time(folder, tmp_path):
    other = build_folder(tmp_path / "run", generations=2, population=3)
    (other / CLOCK).write_text("")
    assert by_cpu_s(gather(other)) == []
    assert by_evaluations(gather(other))


def test_the_ancestors_are_all_there_and_each_after_its_parents(folder, material):
    track, event = focus(material)
    assert event.evaluated.genome.id == material.chosen.genome.id
    family = ancestry(track, material.chosen.genome.id, material.headline)
    known = {genome_id(row): row for row in reversed(rows(folder)) if row["search"] == "nsga2"}
    wanted, expected = [material.chosen.genome.id], set()
    while wanted:
        current = wanted.pop()
        expected.add(current)
        wanted += known[current]["evaluated"]["genome"]["parents"]
    assert {one.id for one in family} == expected
    seen = set()
    for one in family:
        assert set(one.parents) <= seen
        seen.add(one.id)
    assert family[-1].id == material.chosen.genome.id


def test_a_child_says_what_it_has_otherwise(material):
    track, _ = focus(material)
    children = [e for e in track.events if e.evaluated.genome.origin == "mutation"]
    by_id = {event.evaluated.genome.id: event.evaluated.genome for event in track.events}
    for event in children:
        genome = event.evaluated.genome
        parent = by_id[genome.parents[0]]
        found = next(a for a in ancestry(track, genome.id, "solved") if a.id == genome.id)
        named = {change.partition(" ")[0] for change in found.changes}
        assert ("rank" in named) == (genome.adapter.rank != parent.adapter.rank)
        assert ("epochs" in named) == (genome.training.epochs != parent.training.epochs)
        assert found.changes


def test_origins_count_every_genome_once(material):
    track, _ = focus(material)
    assert sum(origin.genomes for origin in origins(track)) == len({e.evaluated.genome.id for e in track.events})
    assert sum(origin.on_front for origin in origins(track)) == len(track.archive.front)


def test_contenders_are_means_over_replicates(folder, material):
    final = msgspec.json.decode((folder / FINAL).read_bytes())
    found = contenders(material)
    assert [one.search for one in found] == ["nsga2", "random", "tpe"]
    for one in found:
        values = [s["final"]["value"] for s in final["selected"] if s["search"] == one.search]
        assert one.final == pytest.approx(sum(values) / 2)
    best = best_baseline(found)
    assert best.final == max(one.final for one in found[1:])
    ours, theirs = averaged([s.passed for s in found[0].selected]), best.passed
    problems = material.evolution.roles["final"]
    assert best.won == sum(ours[name] > theirs[name] for name in problems)
    assert best.lost == sum(ours[name] < theirs[name] for name in problems)


@given(st.lists(st.tuples(st.sampled_from((0.0, 0.5, 1.0)), st.sampled_from((0.0, 0.5, 1.0))), max_size=30))
def test_every_problem_is_in_one_group(pairs):
    base = {str(n): before for n, (before, _) in enumerate(pairs)}
    after = {str(n): later for n, (_, later) in enumerate(pairs)}
    groups = grouped(base, after, [*base, "unknown"])
    assert sorted(name for group in groups for name in group.problems) == sorted(base)
    by_name = {group.name: group.problems for group in groups}
    assert all(after[name] > base[name] for name in by_name["gained"])
    assert all(after[name] < base[name] for name in by_name["lost"])
    assert all(after[name] == base[name] == 0 for name in by_name["unchanged, never solved"])


@pytest.mark.parametrize(("gain", "kind"), [(1.0, "real"), (0.0, "unclear"), (-0.6, "worse")])
def test_the_verdict_follows_the_interval(tmp_path, gain, kind):
    folder = build_folder(tmp_path / "run", generations=2, population=4, replicates=1, gain=gain)
    material = gather(folder)
    found = verdict(material)
    assert found.kind == kind
    gain = material.chosen.against_base
    assert (gain.low > 0, gain.high < 0) == (kind == "real", kind == "worse")
    assert any("One replicate" in doubt for doubt in found.doubts)


def test_an_unfinished_evolution_claims_nothing(tmp_path):
    folder = build_folder(tmp_path / "run", finished=False, generations=3, population=4)
    with (folder / EVENTS).open("ab") as file:
        file.write(b'{"search":"tpe","repl')  # torn by a kill
    material = gather(folder)
    found = verdict(material)
    assert found.kind == "unfinished"
    assert "So far 64 evaluations of 72: nsga2 24, random 24, tpe 16." in found.sentences
    assert "optimistic" in " ".join(found.sentences)
    best = max(one.scores.objectives["solved"] for one in material.tracks[0].archive.front)
    assert focus(material)[1].evaluated.scores.objectives["solved"] == best


def test_the_adapter_of_best_is_the_one_followed(tmp_path):
    """Of several replicates the one that scored best on the selection problems, as the loop exports it."""
    material = gather(build_folder(tmp_path / "run", generations=2, population=4))
    own = [one for one in material.final.selected if one.search == "nsga2"]
    assert material.chosen.selection == max(one.selection for one in own)


def test_what_is_no_evolution_is_said(tmp_path):
    with pytest.raises(UserError, match=r"no evolution\.json here; give the folder"):
        gather(tmp_path)
    (tmp_path / EVOLUTION).write_text('{"name": 3}')
    with pytest.raises(BadRecord, match=r"evolution\.json, field 'name': Expected `str`"):
        gather(tmp_path)
    (tmp_path / EVOLUTION).write_text("{")
    with pytest.raises(BadRecord, match="not JSON"):
        gather(tmp_path)


def test_a_damaged_line_is_named_and_left_out(tmp_path, caplog):
    folder = build_folder(tmp_path / "run", generations=1, population=2, replicates=1)
    text = (folder / EVENTS).read_text().splitlines()
    text[1] = "{}"
    (folder / EVENTS).write_text("\n".join(text) + "\n")
    assert len(gather(folder).events) == len(text) - 1
    assert "events.jsonl, line 2: damaged" in caplog.text


def test_genomes_that_are_no_better_than_the_base_are_pointed_out(tmp_path):
    folder = build_folder(tmp_path / "run", generations=1, population=2, replicates=1)
    said = "No genome has a better solved than the base"
    assert not any(said in doubt for doubt in verdict(gather(folder)).doubts)
    lines = (folder / EVENTS).read_text().splitlines()
    worse = [re.sub(r'"solved":[0-9.]+', '"solved":0.1', re.sub(r',"crc32":"\w+"', "", line)) for line in lines]
    (folder / EVENTS).write_text("\n".join(worse) + "\n")
    assert any(said in doubt for doubt in verdict(gather(folder)).doubts)


def test_an_evaluation_whose_time_a_kill_took_is_charged_the_mean(tmp_path):
    folder = build_folder(tmp_path / "run", generations=2, population=3, replicates=1)
    before = by_cpu_s(gather(folder))[0]
    lines = (folder / CLOCK).read_text().splitlines()
    (folder / CLOCK).write_text("\n".join(lines[:4] + lines[5:]) + "\n")
    material = gather(folder)
    after = by_cpu_s(material)[0]
    assert after.mean == before.mean
    assert after.budget[:4] == before.budget[:4]
    assert after.budget[4] - after.budget[3] == pytest.approx(total_cpu_s(material) / (len(lines) - 1))
