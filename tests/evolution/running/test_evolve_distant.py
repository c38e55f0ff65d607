"""Other machines by what they promise: who needs which adapter, who brings it, and in which order results come."""

import pickle
from contextlib import closing

import msgspec
import pytest

from truegrade.errors import ModelError, SandboxError, UnknownName, UserError
from truegrade.evolution.distant import Base, Bench, Distant
from truegrade.evolution.evaluation import Evaluator, Job
from truegrade.evolution.failures import as_error, in_words
from truegrade.evolution.genomes import AdapterGenes, Genome, SamplingGenes, TrainingGenes
from truegrade.evolution.machines import open_machines
from truegrade.evolution.training.cache import AdapterCache

pytestmark = pytest.mark.slow


class Stored:
    """Counts how often a value moves."""

    def __init__(self, value, moved):
        self._value, self._moved = value, moved

    def fetch(self):
        self._moved.append(self._value.key)
        return self._value


class TwoMachines:
    """One after the other in turn, each with a cache of its own; the last to be asked answers first."""

    def __init__(self, caches):
        self.caches, self.rounds, self.moved, self.turn = caches, [], [], 0
        self.workers = {}

    def employ(self, open_worker):
        self._open = open_worker
        assert pickle.loads(pickle.dumps(open_worker)).args == open_worker.args

    def put(self, value):
        return Stored(value, self.moved)

    def work(self, tasks):
        self.rounds.append([task.name for task in tasks])
        for place in reversed(range(len(tasks))):
            self.turn += 1
            number = self.turn % len(self.caches)
            if number not in self.workers:
                workplace, base = self._open.args
                there = msgspec.structs.replace(workplace, adapters=self.caches[number])
                self.workers[number] = Bench(there, base)
            yield place, self.workers[number](tasks[place].order())

    def close(self):
        pass


@pytest.fixture
def workplace(make_workplace):
    return make_workplace("driver", train=2, selection=1, final=1, forgetting=0)


def genome(module, tokens=8, **more):
    return Genome(
        adapter=AdapterGenes(kind="lora", rank=2, alpha=4.0, dropout=0.0, modules=(module,)),
        training=TrainingGenes(learning_rate=1e-3, epochs=1),
        sampling=SamplingGenes(temperature=0.0, top_p=1.0, max_tokens=tokens),
        origin="test",
        **more,
    )


def keys(folder):
    return {path.parent.name for path in folder.glob("*/entry.json")}


def test_adapters_are_trained_once_and_come_home(workplace, tmp_path):
    caches = [tmp_path / "first", tmp_path / "second"]
    q, v, q_again = genome("q_proj"), genome("v_proj"), genome("q_proj", tokens=6)
    sum_ = msgspec.structs.replace(
        genome("q_proj"),
        adapter=AdapterGenes(kind="lora", rank=4, alpha=4.0, dropout=0.0, modules=("q_proj", "v_proj")),
        merge=((q.id, 0.5), (v.id, 0.5)),
    )
    jobs = [Job(seed=1, genome=each) for each in (q, v, q_again)]
    merging = [Job(seed=1, genome=sum_, parts=(q, v))] * 2
    machines = TwoMachines(caches)
    with closing(Evaluator(workplace)) as here, closing(Distant(machines, workplace, here)) as there:
        results = [*there.map(jobs), *there.map(merging)]
        assert [len(names) for names in machines.rounds] == [2, 1, 2], "the third waits for the first's adapter"
        driver = here.cache().folder
        assert len(keys(driver)) == 2 and keys(caches[0]) | keys(caches[1]) == keys(driver)
        for key in keys(driver):
            files = {
                (cache / key / "entry.json").read_bytes() for cache in (driver, *caches) if key in keys(cache)
            }
            assert len(files) == 1, "one training, whose files went round"
        assert [result.cached for result in results] == [False, False, True, True, True]
        assert sorted(machines.moved) == sorted(set(machines.moved)), "to each machine once"
        known = len(list(driver.glob("*/entry.json")))
        local = [here.evaluate(job) for job in [*jobs, *merging]]
        assert len(list(driver.glob("*/entry.json"))) == known, "and nothing is left to be trained here"
    assert [(r.scores, r.adapter_sha256) for r in results] == [(r.scores, r.adapter_sha256) for r in local]


def test_the_drivers_adapter_replaces_another_of_its_key(workplace, tmp_path):
    """An accelerator may train one that differs; the one that was scored is the one that counts."""
    with closing(Evaluator(workplace)) as here:
        machines = TwoMachines([tmp_path / "first"])
        there = Distant(machines, workplace, here)
        job = Job(seed=1, genome=genome("q_proj"))
        (one,) = there.map([job])
        (key,) = here.keys(job)
        entry = tmp_path / "first" / key / "entry.json"
        before = entry.read_bytes()
        weights = entry.parent / "adapter_model.safetensors"
        weights.write_bytes(weights.read_bytes() + b" ")
        (other,) = there.map([job])
        assert machines.moved == [key] and entry.read_bytes() == before
        assert other.adapter_sha256 == one.adapter_sha256 and other.scores == one.scores


def test_faults_come_back_as_themselves(workplace, tmp_path):
    with closing(Evaluator(workplace)) as here:
        there = Distant(TwoMachines([tmp_path / "first"]), workplace, here)
        with pytest.raises(UserError, match="no module 'c_attn'"):
            list(there.map([Job(seed=1, genome=genome("c_attn"))]))
        base = here.subject.trainer
        for other, sentence in (
            (Base("0" * 64, dict(base.versions)), "has other weights under embedded/"),
            (
                Base(base.base_sha256, {**base.versions, "numpy": "0.1"}),
                r"with numpy \S+, this machine with numpy 0.1",
            ),
        ):
            machines = TwoMachines([tmp_path / "first"])
            there = Distant(machines, workplace, here)
            machines.employ(type(machines._open)(Bench, workplace, other))
            with pytest.raises(UserError, match=sentence):
                list(there.map([Job(seed=1)]))


@pytest.mark.parametrize("kind", [UserError, ModelError, SandboxError])
def test_an_error_in_words_is_the_same_error(kind):
    error = as_error(in_words(kind("what it says")))
    assert type(error) is kind and str(error) == "what it says"
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        raise as_error(in_words(ZeroDivisionError("by zero")))


def test_machines_by_name():
    assert open_machines("local", workers=None, accelerated=False) is None
    with pytest.raises(UnknownName, match="did you mean ray"):
        open_machines("rya", workers=None, accelerated=False)
    with pytest.raises(UserError, match="this machine has no address"):
        open_machines("local:8", workers=None, accelerated=False)


def test_an_entry_on_its_way_is_verified(workplace, tmp_path):
    job = Job(seed=1, genome=genome("q_proj"))
    with closing(Evaluator(workplace)) as here:
        here.evaluate(job)
        (key,) = here.keys(job)
        packed = here.cache().packed(key)
    other = AdapterCache(tmp_path / "other")
    damaged = {name: content[:-1] + b"!" for name, content in packed.files.items() if name != "entry.json"}
    for wrong, sentence in (
        ({"files": packed.files | damaged}, "not the bytes that were kept"),
        ({"files": {"entry.json": packed.files["entry.json"]}}, "missing"),
        ({"key": "0" * 64}, "it is the entry of"),
        ({"sha256": "0" * 64}, "another adapter was announced"),
    ):
        with pytest.raises(UserError, match=sentence):
            other.adopt(msgspec.structs.replace(packed, **wrong))
        assert not keys(other.folder)
    other.adopt(packed)
    other.adopt(packed)
    assert other.holds(key, packed.sha256) and not other.holds(key, "0" * 64) and other.packed(key) == packed
    assert other.packed("1" * 64) is None
