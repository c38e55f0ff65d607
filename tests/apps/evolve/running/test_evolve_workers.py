"""Worker processes: the same results in the same order, and failures in words."""

import msgspec
import pytest

from truegrade.apps.evolve.evaluation import Evaluator, Job, as_error, in_words
from truegrade.apps.evolve.genomes import AdapterGenes, Fidelity, Genome, TrainingGenes
from truegrade.apps.evolve.loop import InThisProcess, Processes, open_map
from truegrade.errors import ModelError, SandboxError, UserError

pytestmark = pytest.mark.slow


@pytest.fixture
def workplace(make_workplace):
    return make_workplace(train=2, selection=2, final=2, forgetting=1)


def genome(module):
    return Genome(
        adapter=AdapterGenes(kind="dora", rank=2, alpha=4.0, dropout=0.0, modules=(module,)),
        training=TrainingGenes(learning_rate=1e-3, epochs=1),
        origin="test",
    )


@pytest.mark.thorough
def test_order_results_and_errors(workplace):
    jobs = [Job(seed=1), Job(seed=1, genome=genome("q_proj")), Job(seed=1, genome=genome("v_proj"))]
    evaluator, processes = Evaluator(workplace), Processes(workplace, 2)
    try:
        here = list(InThisProcess(evaluator).map(jobs))
        there = list(processes.map(jobs))
        for one, other in zip(here, there, strict=True):
            assert (one.scores, one.adapter_sha256) == (other.scores, other.adapter_sha256)
        with pytest.raises(UserError, match="no module 'c_attn'"):
            list(processes.map([Job(seed=1, genome=genome("c_attn"))]))
    finally:
        evaluator.close()
        processes.close()


def test_a_cheap_evaluation_trains_for_less_and_asks_fewer_problems(make_workplace):
    evaluator = Evaluator(make_workplace(train=2, selection=4, final=2, forgetting=1))
    genes = msgspec.structs.replace(genome("q_proj"), training=TrainingGenes(learning_rate=1e-3, epochs=2))
    try:
        half = evaluator.evaluate(Job(seed=1, genome=genes, fidelity=Fidelity(epochs=0.5, problems=0.5)))
        whole = evaluator.evaluate(Job(seed=1, genome=genes))
    finally:
        evaluator.close()
    cheap, full = half.scores, whole.scores
    assert ("loss_2" in cheap.facts, "loss_2" in full.facts) == (False, True)
    assert full.facts["tokens_learned"] == 2 * cheap.facts["tokens_learned"]
    assert set(cheap.problems) < set(full.problems) and (len(cheap.problems), len(full.problems)) == (2, 4)
    assert half.adapter_sha256 != whole.adapter_sha256


def test_one_worker_is_this_process(workplace):
    evaluator = Evaluator(workplace)
    try:
        assert isinstance(open_map(workplace, evaluator, 1), InThisProcess)
        assert isinstance(open_map(workplace, evaluator, 2), Processes)
    finally:
        evaluator.close()


@pytest.mark.parametrize("kind", [UserError, ModelError, SandboxError])
def test_an_error_in_words_is_the_same_error(kind):
    error = as_error(in_words(kind("what it says")))
    assert type(error) is kind and str(error) == "what it says"
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        raise as_error(in_words(ZeroDivisionError("by zero")))
