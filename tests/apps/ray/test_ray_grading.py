"""A cluster of two nodes gives the verdicts of this machine, also when actors, a node or the driver are killed."""

import json
import os
import signal
import subprocess
import sys

import pytest

import truegrade
from truegrade.apps.ray import crew
from truegrade.benchmarks import load_benchmark
from truegrade.errors import SandboxError, UserError

ray = pytest.importorskip("ray", reason="needs the extra ray")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # Ray's own
]

PROBLEMS = 80


@pytest.fixture(scope="module")
def samples(data_dir, tmp_path_factory):
    """Of each problem: its reference, a wrong answer, one that leaves early with exit code 0, and prose."""
    path = tmp_path_factory.mktemp("samples") / "samples.jsonl"
    lines = []
    for problem in load_benchmark("humaneval", data_dir).problems[:PROBLEMS]:
        right = problem.task.reference
        wrong = (right.replace("return", "return 7 or", 1), f"{right}\nimport os\nos._exit(0)\n", "I do not know.")
        lines += [json.dumps({"task_id": problem.id, "solution": text}) + "\n" for text in (right, *wrong)]
    path.write_text("".join(lines))
    return path


@pytest.fixture(scope="module")
def local(samples, data_dir, tmp_path_factory):
    """Their verdicts on this machine."""
    return verdicts(grade(samples, data_dir, tmp_path_factory.mktemp("local") / "run"))


def grade(samples, data_dir, out, **options):
    profiles = ("strict", "human-eval+9s")
    return truegrade.grade(samples, benchmark="humaneval", data=data_dir, out=out, profiles=profiles, **options)


def verdicts(run):
    """Every line as it stands on disk, apart from times; no sample twice."""
    lines = {}
    for profile in run.profiles:
        for line in run.verdicts_path(profile).read_text().splitlines():
            verdict = json.loads(line) | {"cpu_s": None, "wall_s": None, "crc32": None}
            key = (verdict["profile"], verdict["problem_id"], verdict["sample"])
            assert key not in lines
            lines[key] = json.dumps(verdict)
    return lines


class After:
    """A progress that does something once, after so many samples of the first profile."""

    def __init__(self, samples, act):
        self._left, self._act = samples, act

    def start(self, stage, total, done):
        self._grading = stage.startswith("grade")

    def advance(self, **_):
        self._left -= self._grading
        if self._left == 0:
            self._act()

    def finish(self):
        pass


def test_two_nodes_give_the_same_verdicts(cluster, processes, samples, local, data_dir, tmp_path):
    run = grade(samples, data_dir, tmp_path / "run", executor=f"ray:{cluster.address}")
    assert len(local) == 2 * 4 * PROBLEMS
    assert verdicts(run) == local
    assert len(run.profiles) == 2 and run.manifest.levels.keys() == {*run.profiles}
    assert not processes.actors(), "none is left behind on a cluster that goes on"


def test_killed_actors_change_nothing(cluster, processes, samples, local, data_dir, tmp_path, capsys):
    killed = []

    def kill():
        killed.extend(processes.actors())
        for pid in killed:
            os.kill(pid, signal.SIGKILL)

    run = grade(samples, data_dir, tmp_path / "run", executor=f"ray:{cluster.address}", progress=After(20, kill))
    assert len(killed) == 2
    assert verdicts(run) == local
    assert not capsys.readouterr().out, "stdout is the command's own"


def test_a_lost_node_changes_nothing(cluster, samples, local, data_dir, tmp_path):
    lost = []

    def lose():
        lost.extend(cluster.worker_nodes)
        cluster.remove_node(lost[0], allow_graceful=False)

    run = grade(samples, data_dir, tmp_path / "run", executor=f"ray:{cluster.address}", progress=After(20, lose))
    assert lost
    assert verdicts(run) == local


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=lambda how: how.name)
def test_a_stopped_driver_leaves_nothing_running_and_resumes(how, processes, samples, local, data_dir, tmp_path):
    out = tmp_path / "run"
    command = [
        sys.executable, "-m", "truegrade", "grade", samples, "--benchmark", "humaneval", "--data", data_dir,
        "--out", out, "--executor", "ray", "--workers", "1", "--as", "strict", "--as", "human-eval+9s",
    ]  # fmt: skip
    driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
    try:
        processes.wait_for(lambda: some_lines(out / "verdicts.strict@6.jsonl"), 240)
        started = processes.started_by(driver.pid)
        assert started
        os.killpg(driver.pid, how) if how is signal.SIGINT else os.kill(driver.pid, how)
        _, message = driver.communicate(timeout=120)
    finally:
        driver.kill()
    assert driver.returncode == (130 if how is signal.SIGINT else -signal.SIGKILL)
    assert (b"the same command resumes" in message) == (how is signal.SIGINT)
    processes.wait_for(lambda: processes.all_gone(started), 120)
    half = some_lines(out / "verdicts.strict@6.jsonl")
    assert 0 < half < 4 * PROBLEMS
    subprocess.run(command, check=True, capture_output=True)
    assert verdicts(truegrade.load(out)) == local


def some_lines(path):
    return path.read_text().count("\n") if path.exists() else 0


def test_nothing_is_started_where_nothing_is_to_be_graded(samples, data_dir, tmp_path):
    """The second command would fail: there is no cluster at that address."""
    first = grade(samples, data_dir, tmp_path / "run")
    again = grade(samples, data_dir, tmp_path / "run", executor="ray:127.0.0.1:1")
    assert verdicts(again) == verdicts(first)
    with pytest.raises(UserError, match="no connection to a cluster"):
        grade(samples, data_dir, tmp_path / "other", executor="ray:127.0.0.1:1")


def test_what_machines_cannot_do_is_said_in_a_sentence(cluster, samples, data_dir, tmp_path, monkeypatch):
    """They lack the package, then the protection, then the version; stand-ins travel by value from the second."""
    monkeypatch.setattr("truegrade.apps.ray.crew.GradingActor", Unprotected)
    executor = f"ray:{cluster.address}"
    with pytest.raises(SandboxError, match=r"does not start on the machines .* No module named"):
        grade(samples, data_dir, tmp_path / "run", executor=executor)
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with pytest.raises(SandboxError, match=r"^protection level 1$"):
        grade(samples, data_dir, tmp_path / "run", executor=executor)
    monkeypatch.setattr("truegrade.apps.ray.crew.GradingActor", Old)
    with pytest.raises(SandboxError, match=rf"has truegrade 0\.0\.1, this one {truegrade.__version__}"):
        grade(samples, data_dir, tmp_path / "run", executor=executor)


def test_patience_ends_where_no_machine_has_room(cluster, samples, data_dir, tmp_path, monkeypatch):
    monkeypatch.setattr(crew, "PATIENCE_S", 2.0)
    ray.init(address=cluster.address, log_to_driver=False)
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    holding = [ray.remote(Old).options(num_cpus=1).remote() for _ in range(2)]
    ray.get([actor.version.remote() for actor in holding])
    with pytest.raises(SandboxError, match="no machine of the Ray cluster has had room for a worker for 2 s"):
        grade(samples, data_dir, tmp_path / "run", executor=f"ray:{cluster.address}", workers=2)


class Old:
    """An actor of an older version."""

    def __init__(self, *_):
        pass

    def version(self):
        return "0.0.1"


class Unprotected:
    """An actor as it is on a machine without any protection."""

    def __init__(self, *_):
        pass

    def version(self):
        return truegrade.__version__

    def grade_batch(self, batch, cargo):
        from truegrade.apps.ray.crew import GradedBatch

        return GradedBatch(verdicts=[], wall_s=0.0, failure="protection level 1")
