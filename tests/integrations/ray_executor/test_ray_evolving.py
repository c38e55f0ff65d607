"""An evolution on a cluster whose nodes share no adapters is that of this machine, whatever is lost meanwhile."""

import json
import os
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner

import truegrade
from truegrade.cli import main
from truegrade.errors import SandboxError
from truegrade.evolution.events import EVENTS
from truegrade.evolution.folder import EvolutionFolder
from truegrade.evolution.running import evolve
from truegrade.evolution.settings import read_settings
from truegrade.evolution.training.cache import AdapterCache
from truegrade.evolution.training.cache_entry import ENTRY
from truegrade.evolution.watching import Unwatched
from truegrade.integrations.ray import RayMachines, crew
from truegrade.models.adapters import adapter_sha256

ray = pytest.importorskip("ray", reason="needs the extra ray")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # Ray's own
]

CONFIG = """
name = "tiny"
model = "embedded/{model}"
population = 2
generations = 2
seed = 3

[objectives]
names = ["tokens", "parameters"]
reference = {{ tokens = -100.0, parameters = -400.0 }}
choose = "parameters"

[search]
searcher = "merging"
args = {{ of = "random", warmup = 1, adapters = 2 }}

[[baselines]]
searcher = "random"

[space]
kinds = ["lora"]
ranks = [2, 4, 8]
epochs = [1, 1]
max_tokens = [12, 12]

[base_sampling]
max_tokens = 12

[roles]
train = 2
selection = 2
final = 2
forgetting = 1
"""

EVALUATIONS = 6
"""Genomes that differ: two that both searches begin with, two more of random search, two merges."""


@pytest.fixture(scope="module")
def config(llama_folder, tmp_path_factory):
    path = tmp_path_factory.mktemp("config") / "tiny.toml"
    path.write_text(CONFIG.format(model=llama_folder))
    return path


@pytest.fixture(scope="session")
def logs(logs_of):
    """What must be the same; of the adapter its hash, and no evaluation twice in the log."""

    def read(folder):
        events = EvolutionFolder(folder).events()
        places = [(e.search, e.replicate, e.evaluated.generation, e.evaluated.slot) for e in events]
        assert len(set(places)) == len(places) == 8
        return logs_of(folder) | {"best": adapter_sha256(folder / "best")}

    return read


@pytest.fixture(scope="module")
def local(config, logs, tmp_path_factory):
    """The logs of this machine."""
    place = tmp_path_factory.mktemp("local")
    folder, _ = evolve(
        read_settings(str(config)), out=place / "out", adapters=place / "adapters", workers=1, allow_unsafe=True
    )
    return logs(folder)


@pytest.fixture
def apart(tmp_path, monkeypatch, start_cluster):
    """Two nodes and this process, each with adapters of its own."""
    caches = [tmp_path / name for name in ("first", "second", "driver")]
    monkeypatch.setenv("TRUEGRADE_ADAPTERS", str(caches[2]))
    cluster = start_cluster(*({"TRUEGRADE_ADAPTERS": str(cache)} for cache in caches[:2]))
    return cluster, caches


def entries(cache):
    return {path.parent.name: path.read_bytes() for path in cache.glob(f"*/{ENTRY}")}


class After(Unwatched):
    """Does something each time, after so many evaluations."""

    def __init__(self, acts):
        self._acts, self.seen = acts, 0

    def evaluated(self, event, clock, archive):
        self.seen += 1
        if self.seen in self._acts:
            self._acts[self.seen]()


def test_two_nodes_with_caches_of_their_own(apart, processes, config, logs, local, tmp_path, capsys):
    cluster, (*nodes, driver) = apart
    executor = f"ray:{cluster.address}"
    folder, _ = evolve(read_settings(str(config)), out=tmp_path / "out", executor=executor, allow_unsafe=True)
    assert logs(folder) == local
    first, second, here = (entries(cache) for cache in (*nodes, driver))
    assert len(here) == 4, "the driver has every adapter that was trained"
    assert first and second and {**first, **second} == here, "and it is the one that was trained there"
    assert all(first[key] == second[key] for key in first.keys() & second.keys()), "nothing is trained twice"
    assert AdapterCache(driver).holds(next(iter(here)))
    processes.wait_for(lambda: not processes.actors(), 60)
    assert not capsys.readouterr().out, "stdout is the command's own"


def test_killed_workers_and_a_lost_node_change_nothing(apart, processes, config, logs, local, tmp_path):
    cluster, _ = apart
    killed, lost = [], []

    def kill():
        killed.extend(processes.actors())
        for pid in killed:
            os.kill(pid, signal.SIGKILL)

    def lose():
        lost.extend(cluster.worker_nodes)
        cluster.remove_node(lost[0], allow_graceful=False)

    folder, _ = evolve(
        read_settings(str(config)), out=tmp_path / "out", executor=f"ray:{cluster.address}", allow_unsafe=True,
        watcher=After({1: kill, 3: lose}),
    )  # fmt: skip
    assert killed and lost
    assert logs(folder) == local


def test_a_killed_driver_leaves_nothing_running_and_resumes(processes, config, logs, local, tmp_path):
    out = tmp_path / "out"
    command = [
        sys.executable, "-m", "truegrade", "evolve", config, "--out", out, "--adapters", tmp_path / "adapters",
        "--executor", "ray", "--workers", "1", "--json",
    ]  # fmt: skip
    driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        processes.wait_for(lambda: lines(out / EVENTS) or driver.poll() is not None, 400)
        started = processes.started_by(driver.pid)
        os.kill(driver.pid, signal.SIGKILL)
        driver.wait()
    finally:
        driver.kill()
    assert started and driver.returncode == -signal.SIGKILL
    processes.wait_for(lambda: processes.all_gone(started), 120)
    before = (out / EVENTS).read_bytes()
    assert before.count(b"\n") < 8 and local[EVENTS].startswith(before[: before.rfind(b"\n") + 1])
    resumed = CliRunner().invoke(main, [str(each) for each in command[3:]])
    assert resumed.exit_code == 0, resumed.output
    assert json.loads(resumed.stdout)["folder"] == str(out)
    assert logs(out) == local


def lines(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.parametrize(
    ("executor", "sentence"),
    [
        ("ray:127.0.0.1:1", "no connection to a cluster"),
        ("ray:nowhere", "not the address of a cluster"),
        ("ray2", "did you mean ray?"),
        ("local:8", "has no address"),
    ],
)
def test_an_executor_that_cannot_be_meant_is_an_error_in_a_line(executor, sentence, config, tmp_path):
    arguments = ["evolve", config, "--out", tmp_path / "out", "--adapters", tmp_path, "--executor", executor]
    refused = CliRunner().invoke(main, [str(each) for each in arguments])
    assert refused.exit_code == 2 and sentence in refused.stderr, refused.output
    assert "Traceback" not in refused.output


class Word:
    """A task of one word."""

    def __init__(self, word):
        self.name = self._word = word

    def order(self):
        return self._word


def echo():
    """A worker that answers with what it is told, unless it is told to die."""
    return lambda word: os._exit(1) if word == "die" else word


class Old:
    """A worker of an older version."""

    def version(self):
        return "0.0.1"


@pytest.fixture
def machines(cluster):
    """Machines that employ `echo`; this file travels by value."""
    made = RayMachines(cluster.address, workers=2)
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    made.employ(echo)
    yield made
    made.close()
    ray.cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def test_what_machines_cannot_do_is_said_in_a_sentence(machines, monkeypatch):
    assert dict(machines.work([Word("a"), Word("b"), Word("c")])) == {0: "a", 1: "b", 2: "c"}
    monkeypatch.setattr("truegrade.integrations.ray.ray_machines.MOST_LOSSES", 2)
    with pytest.raises(SandboxError, match=r"^die: 2 times in a row the process that worked on it was lost"):
        list(machines.work([Word("die")]))
    assert list(machines.work([Word("a")])) == [(0, "a")], "after an error there is a new crew"
    machines.close()
    monkeypatch.setattr("truegrade.integrations.ray.ray_machines.WorkerActor", Old)
    with pytest.raises(SandboxError, match=rf"has truegrade 0\.0\.1, this one {truegrade.__version__}"):
        list(machines.work([Word("a")]))


def test_patience_ends_where_no_machine_has_room(machines, cluster, monkeypatch):
    monkeypatch.setattr(crew, "PATIENCE_S", 2.0)
    ray.init(address=cluster.address, log_to_driver=False)
    holding = [ray.remote(Old).options(num_cpus=1).remote() for _ in range(2)]
    ray.get([actor.version.remote() for actor in holding])
    with pytest.raises(SandboxError, match="no machine of the Ray cluster has had room for a worker for 2 s"):
        list(machines.work([Word("a")]))


def test_a_fault_there_is_the_same_fault_here(start_cluster, config, tmp_path):
    """Where the node is to keep adapters, there is a file."""
    (tmp_path / "file").write_text("in the way")
    cluster = start_cluster({"TRUEGRADE_ADAPTERS": str(tmp_path / "file")})
    arguments = ["evolve", config, "--out", tmp_path / "out", "--executor", f"ray:{cluster.address}"]
    refused = CliRunner(env={"TRUEGRADE_ADAPTERS": str(tmp_path / "here")}).invoke(main, list(map(str, arguments)))
    assert refused.exit_code == 2 and f"{tmp_path / 'file'}: adapters cannot be kept there" in refused.stderr
    assert "Traceback" not in refused.output
