"""GRPO behind imitation: with the embedded model and a real jail, and what it refuses."""

from pathlib import Path

import msgspec
import pytest

from truegrade.datasets.learned import read_learned
from truegrade.errors import UserError
from truegrade.evolution.evaluation import Evaluator, Job
from truegrade.evolution.genomes import DataGenes, Genome, PolicyGenes
from truegrade.evolution.policy.reinforcement import Reinforcement
from truegrade.evolution.repair_problems import repair_of
from truegrade.evolution.searchers import open_searcher
from truegrade.evolution.settings import read_settings
from truegrade.evolution.space import Space
from truegrade.evolution.training.base import Trained
from truegrade.evolution.workplace import Workplace, prepare
from truegrade.models.micro.safetensors_file import read_tensors

ROUNDS = PolicyGenes(rounds=2, prompts=6, samples=4)


def asked_of(searcher: str, **args: object) -> Genome:
    (genome,) = open_searcher(
        searcher, Space(max_tokens=(112, 112)), 1, 4, ("solved",), {"solved": 0.0}, args
    ).ask(0, 4)
    return genome


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    settings = read_settings("micro-quick")
    roles = msgspec.structs.replace(settings.roles, train=8, pool=12, replay=4, selection=4, final=4, forgetting=4)
    settings = msgspec.structs.replace(settings, roles=roles)
    return prepare(settings, adapters=tmp_path_factory.mktemp("adapters"), allow_unsafe=True)


def test_it_goes_on_from_the_imitation_and_is_made_once(workplace: Workplace) -> None:
    evaluator = Evaluator(workplace)
    imitating = asked_of("recipe", replay=1.0, epochs=1)
    genome = msgspec.structs.replace(imitating, policy=ROUNDS)
    assert genome.id != imitating.id and genome.learns_pool and not imitating.learns_pool
    try:
        with evaluator.adapter(Job(genome=imitating, seed=3)) as begun:
            start = read_tensors(begun.folder / "adapter_model.safetensors")
        with evaluator.adapter(Job(genome=genome, seed=3)) as made:
            now, learned = read_tensors(made.folder / "adapter_model.safetensors"), read_learned(made.folder)
        with evaluator.adapter(Job(genome=genome, seed=3)) as again:
            assert again.cached and again.sha256 == made.sha256 != begun.sha256
    finally:
        evaluator.close()
    steps = {name: abs(now[name] - values).max() for name, values in start.items()}
    assert 0 < max(steps.values()) < 2 * 16 * 3e-3  # 32 steps of AdamW from where the imitation ended
    assert made.sampled > begun.sampled and made.trained.tokens > begun.trained.tokens
    assert made.asked == len(workplace.roles.pool)
    assert learned is not None
    pool = {problem.id for problem in workplace.roles.pool}
    assert pool & set(learned.problems) and set(learned.problems) <= pool | {
        problem.id for problem in (*workplace.roles.train, *workplace.roles.replay)
    }


def test_the_same_settings_give_the_same_bytes(workplace: Workplace, tmp_path: Path) -> None:
    found, genome = [], asked_of("grpo", policy=msgspec.to_builtins(ROUNDS))
    for name in ("one", "other"):
        evaluator = Evaluator(msgspec.structs.replace(workplace, adapters=tmp_path / name))
        try:
            with evaluator.adapter(Job(genome=genome, seed=1)) as made:
                found.append(made.sha256)
        finally:
            evaluator.close()
    assert found[0] == found[1]


def test_a_filter_decides_what_is_rewarded(workplace: Workplace) -> None:
    """A reply is worth what the filter says of it, cut replies included."""
    evaluator = Evaluator(workplace)
    try:
        collector, problem = evaluator._workshop()._collector, workplace.roles.pool[0]
        assert collector is not None
        asked = collector.asked(problem)
        reply = f"```python\n{repair_of(problem).solution}\n```"
        assert asked.passes(reply, False)
        assert not asked.passes("```python\nimport sys\nsys.exit(0)\n```", False)
        assert not asked.passes("", False)
    finally:
        evaluator.close()


def test_what_cannot_be_done_is_said(workplace: Workplace) -> None:
    evaluator = Evaluator(workplace)
    try:
        dora = asked_of("grpo", kind="dora", epochs=1, replay=0.0)
        with pytest.raises(UserError, match="kind lora, not dora"), evaluator.adapter(Job(genome=dora, seed=1)):
            pass
        with pytest.raises(UserError, match="samples"):
            asked_of("grpo", policy={"samples": 1})
    finally:
        evaluator.close()


def test_an_imitating_trainer_is_refused() -> None:
    class Imitates:
        base, base_sha256 = "hf/some", ""
        versions: dict[str, str] = {}  # noqa: RUF012

        def train(self, *given: object) -> Trained:
            raise AssertionError

        def close(self) -> None:
            pass

    with pytest.raises(UserError, match="hf/some cannot be trained by policy gradient"):
        Reinforcement(Imitates(), Path(), ROUNDS, [], 10)


@pytest.mark.parametrize(("name", "args"), [("grpo", {}), ("recipe", {"policy": {"rounds": 1}})])
def test_what_the_problems_or_the_model_do_not_allow_is_refused_first(name: str, args: dict[str, object]) -> None:
    quick = read_settings("micro-quick")
    search = msgspec.structs.replace(quick.search, searcher=name, args=args)
    settings = msgspec.structs.replace(quick, search=search, baselines=())
    poor = msgspec.structs.replace(settings, roles=msgspec.structs.replace(settings.roles, pool=0))
    with pytest.raises(UserError, match="learns from problems of the role 'pool'"):
        prepare(poor, allow_unsafe=True)
    with pytest.raises(UserError, match="hf/some cannot be trained by policy gradient"):
        prepare(msgspec.structs.replace(settings, model="hf/some"), allow_unsafe=True)


def test_grpo_is_a_recipe_with_a_policy() -> None:
    genome = asked_of("grpo")
    assert genome.policy == PolicyGenes() and genome.data == DataGenes(replay=1.0) and genome.origin == "grpo"
