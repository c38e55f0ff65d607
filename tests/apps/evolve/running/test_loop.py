"""The loop over real searchers, with a landscape in the place of training: budgets, reuse, resumption."""

from pathlib import Path

import msgspec
import pytest

from truegrade.apps.evolve.evaluation import Result
from truegrade.apps.evolve.finishing import choose
from truegrade.apps.evolve.folder import EvolutionFolder, Unwatched
from truegrade.apps.evolve.genomes import Scores
from truegrade.apps.evolve.loop import Loop
from truegrade.apps.evolve.settings import EvolutionSettings, Objectives, Search
from truegrade.errors import BadRecord, UserError

PLANS = [
    Search(searcher="nsga2"),
    Search(searcher="random"),
    Search(searcher=str(Path(__file__).parents[1] / "screening.py"), name="screening"),
]


def landscape(job):
    genome = job.genome
    close = 1.0 / (1.0 + 300 * abs(genome.training.learning_rate - 3e-3))
    values = {"solved": close * job.fidelity.epochs, "parameters": -float(genome.adapter.rank)}
    return Scores(objectives=values, problems={"p": values})


class Landscape:
    """A `GenomeMap` that computes instead of training; it may be told to fail after so many jobs."""

    def __init__(self, dies_after=None):
        self.jobs, self.left = [], dies_after

    def map(self, jobs):
        for job in jobs:
            if self.left is not None and len(self.jobs) >= self.left:
                raise KeyboardInterrupt
            self.jobs.append(job)
            yield Result(scores=landscape(job), adapter_sha256=job.genome.id, cached=False, cpu_s=1.0, wall_s=2.0)

    def close(self):
        pass


@pytest.fixture
def settings():
    return EvolutionSettings(
        name="x",
        population=5,
        generations=4,
        replicates=2,
        objectives=Objectives(
            names=("solved", "parameters"), reference={"solved": 0.0, "parameters": -50.0}, choose="solved"
        ),
        search=PLANS[0],
        baselines=tuple(PLANS[1:]),
    )


def run(settings, path, evaluations):
    folder = EvolutionFolder(path)
    Loop(settings, folder, evaluations, Unwatched()).run()
    return folder.events()


def test_every_search_spends_the_same_and_nothing_is_evaluated_twice(settings, tmp_path):
    evaluations = Landscape()
    events = run(settings, tmp_path, evaluations)
    for search in settings.searches:
        for replicate in range(2):
            own = [e.evaluated for e in events if (e.search, e.replicate) == (search.title, replicate)]
            assert len(own) == settings.budget
            places = [(one.generation, one.slot) for one in own]
            assert places == sorted(places) and len(set(places)) == len(places)
    asked = [(job.seed, job.genome.id, job.fidelity) for job in evaluations.jobs]
    assert len(set(asked)) == len(asked) < len(events)  # searches begin alike, and pay once
    assert {job.seed for job in evaluations.jobs} == {0, 1}
    assert any(job.fidelity.epochs < 1 for job in evaluations.jobs)


@pytest.mark.parametrize("dies_after", [0, 1, 7, 33, 60])
def test_interrupted_anywhere_it_ends_with_the_same_bytes(settings, tmp_path, dies_after):
    whole, broken = tmp_path / "a", tmp_path / "b"
    for path in (whole, broken):
        path.mkdir()
    run(settings, whole, Landscape())
    with pytest.raises(KeyboardInterrupt):
        run(settings, broken, Landscape(dies_after))
    with (broken / "events.jsonl").open("ab") as file:
        file.write(b'{"search":"nsga2","torn')
    again = Landscape()
    run(settings, broken, again)
    assert (broken / "events.jsonl").read_bytes() == (whole / "events.jsonl").read_bytes()
    total = len({(job.seed, job.genome.id, job.fidelity) for job in again.jobs})
    assert len(again.jobs) == total


def test_a_log_that_is_not_of_these_settings_is_refused(settings, tmp_path):
    run(settings, tmp_path, Landscape())
    with pytest.raises(BadRecord, match=r"nsga2, replicate 0, generation 0, slot 0 is not what this search asks"):
        run(msgspec.structs.replace(settings, seed=9), tmp_path, Landscape())


def test_the_choice_is_the_best_full_evaluation_and_the_earlier_of_equals(settings, tmp_path):
    events = run(settings, tmp_path, Landscape())
    for search in settings.searches:
        chosen = choose(settings, events, search.title, 1)
        own = [e for e in events if (e.search, e.replicate) == (search.title, 1)]
        full = [e.evaluated for e in own if e.evaluated.fidelity.epochs == 1.0]
        best = max(one.scores.objectives["solved"] for one in full)
        assert chosen.evaluated.scores.objectives["solved"] == best
        rivals = [one for one in full if one.scores.objectives["solved"] == best]
        most = max(one.scores.objectives["parameters"] for one in rivals)
        assert chosen.evaluated == next(o for o in rivals if o.scores.objectives["parameters"] == most)


def test_a_search_that_never_evaluates_fully_has_nothing_to_hand_in(settings, tmp_path):
    cheap = msgspec.structs.replace(settings, generations=1, search=PLANS[2], baselines=(), replicates=1)
    events = run(cheap, tmp_path, Landscape())
    with pytest.raises(UserError, match="screening has evaluated no genome fully"):
        choose(cheap, events, "screening", 0)
