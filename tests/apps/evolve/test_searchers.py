"""Every strategy: told the same it asks the same, it resumes by being told again, and the good ones find more."""

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from coralx_spaces import ARCHIVE, MODAL

from bench import searchers
from truegrade.apps.evolve.genomes import Evaluated, Fidelity, Scores, Space
from truegrade.apps.evolve.searchers import REGISTRY, open_searcher
from truegrade.apps.evolve.strategies import recipe
from truegrade.errors import UnknownName, UserError

OBJECTIVES = ("gain", "thrift", "security")
REFERENCE = {"gain": 0.0, "thrift": -40.0, "security": 0.0}
POPULATION, GENERATIONS = 6, 5
SPACE = Space()
RECIPES = ("recipe", "expert-iteration")
NAMES = tuple(REGISTRY.built_in)
SEARCHING = tuple(name for name in NAMES if name not in RECIPES)


def open_named(name, space=SPACE, seed=3, **args):
    if name == "tpe":
        pytest.importorskip("optuna")
    return open_searcher(name, space, seed, POPULATION, OBJECTIVES, REFERENCE, args)


def scores_of(genome):
    """Smooth in the genes, with a trade-off, and one objective that never varies."""
    rate = genome.training.learning_rate
    gain = 1.0 / (1.0 + abs(rate - 3e-3) * 300) - abs(genome.adapter.dropout - 0.05)
    return Scores(objectives={"gain": gain, "thrift": -float(genome.adapter.rank), "security": 1.0}, problems={})


def answer(searcher, generation, size=POPULATION):
    return [
        Evaluated(
            generation=generation,
            slot=slot,
            genome=genome,
            scores=scores_of(genome),
            fidelity=searcher.fidelity(generation),
        )
        for slot, genome in enumerate(searcher.ask(generation, size))
    ]


def run(searcher, generations=GENERATIONS):
    told = []
    for generation in range(generations):
        told.append(answer(searcher, generation))
        searcher.tell(told[-1])
    return told


def as_json(told):
    return msgspec.json.encode([[one.genome for one in generation] for generation in told]).decode()


def ask_all():
    return {name: as_json(run(open_named(name))) for name in NAMES}


@pytest.fixture(scope="module")
def asked():
    pytest.importorskip("optuna")
    return ask_all()


@pytest.mark.slow
def test_every_process_asks_the_same_whatever_its_hash_seed(asked):
    code = "import json, test_searchers; print(json.dumps(test_searchers.ask_all()))"
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "4242", "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == asked


@pytest.mark.parametrize("name", NAMES)
def test_a_fresh_searcher_that_is_told_everything_goes_on(name, asked):
    told = run(open_named(name))
    assert as_json(told) == asked[name]
    for done in (1, GENERATIONS - 1):
        fresh = open_named(name)
        for generation in told[:done]:
            fresh.tell(generation)
        again = fresh.ask(done, POPULATION)
        assert list(again) == [one.genome for one in told[done]]
        assert list(fresh.ask(done, POPULATION)) == list(again)  # asking changes nothing


@pytest.mark.parametrize("name", SEARCHING)
def test_generations_are_of_the_size_asked_and_new(name):
    searcher = open_named(name)
    told = run(searcher)
    assert len(told[0]) == POPULATION
    assert all(0 < len(generation) <= POPULATION for generation in told)
    assert len(searcher.ask(GENERATIONS, 2)) <= 2
    if name != "coralx":  # the seed repeats itself
        recipes = [recipe(one.genome) for generation in told for one in generation]
        assert len(set(recipes)) == len(recipes)


@pytest.mark.parametrize("name", SEARCHING)
def test_another_seed_asks_otherwise(name, asked):
    assert as_json([answer(open_named(name, seed=4), 0)]) != as_json([answer(open_named(name), 0)])


def test_children_inherit_after_resuming():
    """A learning rate is a real number: only heredity repeats one."""
    searcher = open_named("nsga2")
    first = answer(searcher, 0)
    searcher.tell(first)
    rates = {one.genome.training.learning_rate for one in first}
    children = searcher.ask(1, 20)
    assert sum(genome.training.learning_rate in rates for genome in children) >= 10


def test_one_seed_draws_the_same_first_genomes_for_ours_and_for_random():
    first = [[one.genome for one in answer(open_named(name), 0)] for name in ("random", "nsga2")]
    assert first[0] == first[1]


def test_a_used_up_space_ends_the_search():
    space = Space(
        kinds=("lora",),
        ranks=(4,),
        dropouts=(0.0,),
        modules=(("q_proj",),),
        learning_rate=(1e-3, 1e-3),
        epochs=(1, 2),
    )
    for name in ("random", "nsga2", "tpe"):
        searcher = open_named(name, space)
        told = run(searcher, 3)
        assert len({recipe(one.genome) for generation in told for one in generation}) == 8 == space.size, name
        assert not searcher.ask(3, POPULATION), name


def misses(bar_at, **args):
    """How often a parent misses ``bar_at`` while as many as breed have reached it or miss it by less."""
    seen, found = {}, 0
    for generation in run(open_named("nsga2", **args), generations=8):
        reached = sorted((min(gain, bar_at) for gain in seen.values()), reverse=True)
        bar = reached[POPULATION - 1] if len(reached) >= POPULATION else -1.0
        found += sum(seen[parent] < bar for one in generation for parent in one.genome.parents)
        seen |= {one.genome.id: one.scores.objectives["gain"] for one in generation}
    return found


def test_nsga2_breeds_from_what_reaches_the_least_or_misses_it_by_less():
    for least in (0.6, 0.8, 2.0):
        assert misses(least, least={"gain": least}) == 0
        assert misses(least) > 0


def test_nsga2_starts_from_automata_if_told():
    genomes = [one.genome for one in answer(open_named("nsga2", initial="automaton"), 0)]
    assert {genome.origin for genome in genomes} == {"automaton"}


def test_coralx_keeps_survivors_and_asks_for_children_only():
    searcher = open_named("coralx", ARCHIVE, survival=0.5, early_stop=False)
    told = run(searcher)
    assert [len(generation) for generation in told] == [6, 3, 3, 3, 3]
    assert {one.genome.origin for one in told[0]} == {"automaton"}
    first = {one.genome.id for one in told[0]}
    assert all(set(one.genome.parents) <= first for one in told[1])
    assert {one.genome.adapter.kind for generation in told for one in generation} == {"dora"}


@pytest.mark.parametrize("selection", ["pareto", "tournament", "fittest"])
@pytest.mark.parametrize("gate", ["drop", "constraint", "none"])
def test_coralx_never_runs_dry_behind_any_gate(selection, gate):
    args = {"selection": selection, "gate": gate, "thresholds": "spec", "generations": 3, "early_stop": False}
    searcher = open_searcher("coralx", ARCHIVE, 1, 6, ["bugfix", "style"], {"bugfix": 0, "style": 0}, args)
    for generation in range(4):
        genomes = searcher.ask(generation, 6)
        assert genomes
        scores = [Scores(objectives={"bugfix": g.adapter.rank / 500, "style": 0.1}, problems={}) for g in genomes]
        pairs = enumerate(zip(genomes, scores, strict=True))
        searcher.tell([Evaluated(generation=generation, slot=i, genome=g, scores=s) for i, (g, s) in pairs])


def test_coralx_stops_where_nothing_moves():
    space = MODAL
    searcher = open_searcher("coralx", space, 1, 6, ["bugfix"], {"bugfix": 0}, {"survival": 0.2})
    sizes = []
    for generation in range(12):
        genomes = searcher.ask(generation, 6)
        sizes.append(len(genomes))
        same = Scores(objectives={"bugfix": 0.0}, problems={})
        searcher.tell(
            [Evaluated(generation=generation, slot=i, genome=g, scores=same) for i, g in enumerate(genomes)]
        )
    assert sizes[0] == 6
    assert sizes[:6].count(0) == 0


def test_direct_breeding_beats_random_search_on_a_smooth_hill():
    """A small part of ``python -m bench searchers``, on its landscape."""
    repeats = range(8)
    best = {
        name: [searchers.search(name, seed, 10, [60])[0] for seed in repeats]
        for name in ("random", "nsga2", "coralx")
    }
    mean = {name: sum(values) / len(values) for name, values in best.items()}
    assert mean["nsga2"] > 0.95
    assert mean["nsga2"] > mean["random"] + 0.1
    assert mean["nsga2"] > mean["coralx"] + 0.1
    wins = [a - b for a, b in zip(best["nsga2"], best["random"], strict=True)]
    assert min(wins) >= 0.0


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("nsga3", {}, "no searcher 'nsga3'; did you mean nsga2"),
        ("nsga2", {"crosover": 0.5}, "no argument of searcher nsga2 'crosover'; did you mean crossover"),
        ("nsga2", {"least": {"gane": 0.5}}, "no objective of this search 'gane'; did you mean gain"),
        ("nsga2", {"crossover": 2.0}, "searcher nsga2: Expected `float` <= 1.0"),
        ("coralx", {"thresholds": "archives"}, "no threshold table 'archives'; did you mean archive"),
        ("recipe", {"policy": {"rounds": 8}}, "no argument of searcher recipe 'policy'"),
        ("halving", {"of": "random"}, "no searcher 'halving'"),
    ],
)
def test_what_does_not_exist_is_named(name, args, message):
    with pytest.raises(UserError) as raised:
        open_named(name, **args)
    assert message in str(raised.value)


def test_a_reference_point_names_every_objective():
    with pytest.raises(UserError, match="objective 'thrift' has no finite score"):
        open_searcher("random", Space(), 0, 4, ["gain", "thrift"], {"gain": 0.0}, {})
    with pytest.raises(UserError, match="each named once"):
        open_searcher("random", Space(), 0, 4, ["gain", "gain"], {"gain": 0.0}, {})
    assert issubclass(UnknownName, UserError)


def test_plain_strategies_spend_everything():
    assert open_named("random").fidelity(7) == Fidelity()


@pytest.mark.parametrize("name", [name for name in SEARCHING if name != "random"])  # it looks at none
def test_scores_without_an_objective_are_refused_by_name(name):
    searcher = open_named(name)
    partial = Scores(objectives={"gain": 1.0}, problems={})
    told = [msgspec.structs.replace(one, scores=partial) for one in answer(searcher, 0)]
    with pytest.raises(UserError, match="objective 'thrift' has no finite score"):
        searcher.tell(told)
        searcher.ask(1, POPULATION)
