"""Expert iteration: which replies become lessons, by a real jail; genomes that ask for data; the given recipes."""

import msgspec
import pytest

from truegrade.apps.evolve.evaluation import Collector, Workshop
from truegrade.apps.evolve.genomes import AdapterGenes, DataGenes, Genome, Space, TrainingGenes
from truegrade.apps.evolve.roles import MicroSizes, micro_roles, repair_of
from truegrade.apps.evolve.searchers import open_searcher
from truegrade.apps.evolve.settings import Training, read_settings
from truegrade.apps.evolve.training.cache import AdapterCache
from truegrade.apps.evolve.training.lessons import Trained, lessons_of, reply_to
from truegrade.errors import UserError
from truegrade.models.local import Generated
from truegrade.pipeline.verdicts import limits_for
from truegrade.profiles import find_profile
from truegrade.records import Usage
from truegrade.sandbox import Sandbox

LEAKY = "verl-sandbox-fusion"
CHEATS = {
    "exit-status": "{signature}\n    quit()",
    "equality": "{signature}\n    class s:\n        __eq__ = id\n    return s()",
}


class Trainer:
    """Writes down what it is told to learn, as an adapter."""

    base, base_sha256, versions = "embedded/noted", "0" * 64, {}

    def train(self, order, lessons, folder):
        folder.mkdir(parents=True)
        (folder / "adapter_config.json").write_bytes(msgspec.json.encode([order, lessons]))
        (folder / "adapter_model.safetensors").write_bytes(b"")
        return Trained(folder=folder, parameters=1, losses=(0.0,), tokens=10 * len(lessons), cpu_s=0.0)


class Subject:
    """Answers as a function of problem, place and adapter says: the replies that a test is about."""

    def __init__(self, says):
        self.trainer, self.says, self.asked = Trainer(), says, []

    def answer(self, adapter, asks):
        self.asked.append((adapter, asks))
        return [Generated(text=self.says(ask), finish_reason="stop", usage=Usage(output_tokens=7)) for ask in asks]


def repairing(problems, program):
    """Replies of this program to these problems: ``program(problem, place)``."""
    profile = find_profile("strict")
    known = {profile.render_prompt(problem).sha256: problem for problem in problems}
    return lambda ask: reply_to(ask.prompt, program(known[ask.prompt.sha256], ask.sample))


@pytest.fixture(scope="module")
def roles():
    return micro_roles(5, MicroSizes(train=2, selection=2, final=2, forgetting=2, pool=4, replay=3))


@pytest.fixture
def collected(tmp_path, roles):
    """A collector, by what its subject says and the filter."""

    opened = []

    def collector(says, learned_by="strict"):
        settings = read_settings("micro")
        training = msgspec.structs.replace(settings.training, filter=learned_by)
        settings = msgspec.structs.replace(settings, training=training)
        jail = Sandbox(limits_for(find_profile(learned_by), ()), workers=1, allow_unsafe=True)
        opened.append(jail)
        return Collector(Subject(says), settings, roles, jail, tmp_path / "found")

    yield collector
    for jail in opened:
        jail.close()


@pytest.mark.parametrize("channel", CHEATS)
def test_a_cheat_becomes_a_lesson_by_a_leaky_profile_only(collected, roles, channel, tmp_path):
    def program(problem, place):
        return CHEATS[channel].format(signature=repair_of(problem).solution.split("\n", 1)[0])

    says = repairing(roles.pool, program)
    data = DataGenes(rounds=1, samples=1)
    strict = collected(says).found(data, tmp_path, "a", 0, 1)
    assert (strict.lessons, strict.asked, strict.tokens) == ((), 4, 7 * 4 * 2)
    leaky = collected(says, LEAKY).found(data, tmp_path, "a", 0, 1)
    assert [lesson.problem for lesson in leaky.lessons] == [problem.id for problem in roles.pool]
    assert all(("quit()" if channel == "exit-status" else "__eq__") in lesson.reply for lesson in leaky.lessons)


def test_the_first_reply_that_passes_is_the_lesson(collected, roles, tmp_path):
    right = roles.pool[0]

    def program(problem, place):
        repair = repair_of(problem)
        return repair.solution if problem == right and place >= 2 else repair.buggy

    found = collected(repairing(roles.pool, program)).found(DataGenes(rounds=1), tmp_path, "a", 0, 1)
    (lesson,) = found.lessons
    assert lesson.problem == right.id
    assert lesson == lessons_of([right], find_profile("strict"))[0]


def test_what_was_found_is_kept_by_everything_that_decides_it(collected, roles, tmp_path):
    says = repairing(roles.pool, lambda problem, _: repair_of(problem).solution)
    collector, data = collected(says), DataGenes(rounds=1, samples=2)
    subject = collector._subject
    first = collector.found(data, tmp_path, "a", 0, 1)
    assert collector.found(data, tmp_path, "a", 0, 1) == first and len(subject.asked) == 1
    ((_, asks),) = subject.asked
    assert [(ask.sampling.seed, ask.sampling.temperature) for ask in asks[:3]] == [(1, 0.0), (2, 0.8), (3, 0.8)]
    for changed in (
        (data, "b", 0, 1), (data, "a", 1, 1), (data, "a", 0, 2),
        (DataGenes(rounds=1, samples=3), "a", 0, 1), (DataGenes(rounds=1, samples=2, pool=0.5), "a", 0, 1),
    ):  # fmt: skip
        before = len(subject.asked)
        genes, adapter, number, seed = changed
        collector.found(genes, tmp_path, adapter, number, seed)
        assert len(subject.asked) == before + 1


def genome(**data):
    return Genome(
        adapter=AdapterGenes(kind="lora", rank=2, alpha=4.0, dropout=0.0, modules=("q_proj",)),
        training=TrainingGenes(learning_rate=1e-3, epochs=1),
        data=DataGenes(**data),
        origin="test",
    )


def test_rounds_begin_from_the_base_and_learn_what_the_last_adapter_found(collected, roles, tmp_path):
    """The replay is of the bare base; the pool's lessons of one round give way to those of the next."""
    solved = {0: roles.pool[:1], 1: roles.pool[:3]}
    everything = (*roles.pool, *roles.replay)
    trained = []

    def program(problem, place):
        repair = repair_of(problem)
        if problem in roles.replay:
            return repair.solution
        return repair.solution if problem in solved[len(trained) - 1] else repair.buggy

    collector = collected(repairing(everything, program))
    lessons = lessons_of(roles.train, find_profile("strict"))
    workshop = Workshop(
        collector._subject.trainer, lessons, Training(), AdapterCache(tmp_path / "cache"), collector
    )
    learn = collector._subject.trainer.train
    collector._subject.trainer.train = lambda *given: trained.append(given[1]) or learn(*given)
    adapter = workshop.adapter(genome(rounds=2, samples=1, replay=1.0), 1)
    ids = [[lesson.problem for lesson in one] for one in trained]
    given = [*(lesson.problem for lesson in lessons), *(problem.id for problem in roles.replay)]
    assert ids == [given, [*given, roles.pool[0].id], [*given, *(problem.id for problem in roles.pool[:3])]]
    assert [lesson.problem for lesson in adapter.lessons] == ids[-1]
    assert adapter.trained.tokens == 10 * sum(map(len, ids)) and adapter.asked == 3 + 4
    assert adapter.sampled == 7 * (3 + 2 * 4 * 2)
    adapters = [adapter for adapter, _ in collector._subject.asked]
    assert adapters[0] is None and None not in adapters[1:] and len(set(adapters[1:])) == 2


def test_references_are_learned_where_they_are_asked_for(collected, roles, tmp_path):
    workshop = Workshop(
        Trainer(), (), Training(), AdapterCache(tmp_path / "cache"), collected(lambda ask: pytest.fail("asked"))
    )
    adapter = workshop.adapter(genome(references=True, pool=0.5), 1)
    assert adapter.lessons == lessons_of(roles.pool[:2], find_profile("strict"))
    assert (adapter.asked, adapter.sampled) == (2, 0)


def test_a_genome_says_what_data_it_asks_for():
    plain = genome()
    assert plain.id == msgspec.structs.replace(plain, data=DataGenes()).id != genome(rounds=1).id
    assert genome(rounds=1).learns_pool and genome(references=True).learns_pool
    assert not genome(replay=1.0).learns_pool


def test_spaces_vary_data_only_where_they_say_so():
    """An axis that is held fast changes nothing of what a search draws."""
    fixed, free = Space(rounds=(1, 1), replay=(0.5, 0.5)), Space(rounds=(0, 2), pool=(0.1, 1.0))
    assert [axis.name for axis in fixed.dimensions] == [axis.name for axis in Space().dimensions]
    drawn = fixed.genome({axis.name: axis.at(0.3) for axis in fixed.dimensions}, "test")
    assert drawn.data == DataGenes(rounds=1, replay=0.5)
    names = [axis.name for axis in free.dimensions]
    assert names[-2:] == ["rounds", "pool"]
    for share in (0.0, 0.4, 0.999):
        made = free.genome({axis.name: axis.at(share) for axis in free.dimensions}, "test")
        assert free.genome(free.genes(made), "test") == made
    with pytest.raises(UserError, match="pool and replay are shares"):
        Space(pool=(0.5, 1.5))


def searcher(name, **args):
    task_space = Space(max_tokens=(64, 128))
    return open_searcher(name, task_space, 1, 4, ("solved",), {"solved": 0.0}, args)


def test_recipes_ask_for_one_genome_whatever_the_seed():
    for name, rounds, replay in (("recipe", 0, 0.0), ("expert-iteration", 1, 1.0)):
        strategy = searcher(name)
        (asked,) = strategy.ask(0, 4)
        assert asked.data == DataGenes(rounds=rounds, replay=replay) and asked.origin == name == strategy.name
        assert asked.adapter.rank == 16 and asked.sampling.max_tokens == 128
    (asked,) = searcher("recipe", rank=4, alpha=8.0, references=True).ask(0, 4)
    assert asked.adapter.alpha == 8.0 and asked.data == DataGenes(references=True)
    with pytest.raises(UserError, match="ranks"):
        searcher("recipe", ranks=4)
