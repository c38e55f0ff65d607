"""Results in experiment trackers: the real clients, writing to this disk."""

import json
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

import truegrade
from truegrade import api
from truegrade.cli import main
from truegrade.errors import UnknownName, UserError
from truegrade.pipeline.finishing import short_profile, tracked
from truegrade.store.trackers import NotTracked, open_trackers


@pytest.fixture(scope="module")
def run(tmp_path_factory, humaneval_file):
    """Two problems, solved, under two profiles."""
    folder = tmp_path_factory.mktemp("tracked")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRUEGRADE_DATA", str(humaneval_file.parent))
        return truegrade.run(
            "humaneval", model="baseline/reference", limit=2, profiles=["strict", "human-eval"], out=folder / "run"
        )


@pytest.fixture
def at(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(*arguments):
    done = CliRunner().invoke(main, [str(each) for each in arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


@pytest.mark.slow
def test_mlflow_holds_one_run_however_often_it_is_logged(run, at, monkeypatch):
    mlflow = pytest.importorskip("mlflow.tracking")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    store = (at / "store").as_uri()
    api.report_files(run, log_to=[f"mlflow:{store}"])
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store)
    api.report_files(run, log_to=["mlflow"])
    client = mlflow.MlflowClient(tracking_uri=store)
    experiment = client.get_experiment_by_name("truegrade").experiment_id
    (found,) = client.search_runs([experiment])
    assert found.info.run_name == "run" and found.info.status == "FINISHED"
    data = found.data
    assert data.params["model"] == "baseline/reference" and data.params["benchmark"] == "humaneval"
    low = run.summary["profiles"][0]["estimates"][0]["low"]
    assert data.metrics["strict/pass_at_1"] == 1.0 and data.metrics["strict/pass_at_1_low"] == low
    assert data.tags["truegrade.dataset_sha256"] == run.manifest.benchmark.dataset_sha256
    assert data.tags["truegrade.profiles"] == "strict@6, human-eval@6d43fb9"
    assert "only 2 of the 164" in data.tags["truegrade.warnings"]
    assert [file.path for file in client.list_artifacts(found.info.run_id)] == ["report.html", "summary.json"]


@pytest.mark.slow
def test_wandb_offline_writes_the_same_id_twice(run, at, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(at))
    told = tracked(run)
    for _ in range(2):
        api.report_files(run, log_to=["wandb:project-x"])
    files = sorted(at.rglob("*.wandb"))
    assert {file.name for file in files} == {f"run-{told.id}.wandb"}
    until = time.monotonic() + 180  # the client's own process writes the file, and is not waited for
    while len(content := files[-1].read_bytes()) < 1000 and time.monotonic() < until:
        time.sleep(0.05)
    for words in (b"project-x", b"baseline/reference", b"human-eval/pass_at_1_low", b"summary.json"):
        assert words in content


def test_tensorboard_reads_back_what_was_estimated(run, at):
    pytest.importorskip("tensorboardX")
    from tensorboardX.proto.event_pb2 import Event

    done = invoke("report", run.path, "--log-to", "tensorboard:board")
    assert done.exit_code == 0, done.output
    api.report_files(run, log_to=["tensorboard:board"])
    (file,) = Path("board").rglob("events.out.tfevents.*")
    assert file.parent.name == f"run-{tracked(run).id[:8]}"
    scalars = {
        value.tag: value.simple_value
        for event in events(file, Event)
        for value in event.summary.value
        if value.WhichOneof("value") == "simple_value"
    }
    told = tracked(run).metrics
    assert scalars.keys() == told.keys()
    assert all(abs(scalars[name] - told[name]) < 1e-6 * max(1, told[name]) for name in told)


def events(path, kind):
    """The records of an event file: length, checksum, content, checksum."""
    content, at = path.read_bytes(), 0
    while at < len(content):
        size = int.from_bytes(content[at : at + 8], "little")
        yield kind.FromString(content[at + 12 : at + 12 + size])
        at += 16 + size


def test_a_service_that_is_not_there_is_one_line_and_loses_nothing(run, at, monkeypatch):
    pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    (run.path / "report.html").unlink()
    done = invoke("report", run.path, "--log-to", "mlflow:http://127.0.0.1:9", "--log-to", "tensorboard:board")
    assert done.exit_code == 1
    assert done.stdout == f"{run.path / 'report.html'}\n" and (run.path / "report.html").is_file()
    assert done.stderr.startswith("truegrade: not logged to mlflow:http://127.0.0.1:9: ")
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith(f"truegrade report {run.path} --log-to mlflow:http://127.0.0.1:9\n")
    assert list(Path("board").rglob("events*"))
    with pytest.raises(NotTracked) as caught:
        api.grade(run.path, log_to=["mlflow:http://127.0.0.1:9"])
    assert caught.value.made.summary["answered"] == 2
    graded = invoke("grade", run.path, "--log-to", "mlflow:http://127.0.0.1:9", "--json")
    assert graded.exit_code == 1 and json.loads(graded.stdout)["answered"] == 2


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("mlflow", "set MLFLOW_TRACKING_URI"),
        ("tensorboard", "tensorboard:FOLDER"),
        ("wanbd", "did you mean wandb?"),
    ],
)
def test_a_place_that_does_not_do_is_refused_before_anything_is_asked(at, monkeypatch, given, words):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    with pytest.raises(UserError, match=words.replace("?", r"\?")):
        open_trackers([given])
    done = invoke("run", "humaneval", "--model", "openai/none", "--log-to", given)
    assert done.exit_code == 2 and done.output.count("\n") == 1 and words in done.output
    assert not list(at.iterdir())


def test_a_package_that_is_missing_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(UserError, match=r"pip install 'truegrade\[wandb\]'"):
        open_trackers(["wandb"])
    with pytest.raises(UnknownName):
        open_trackers(["neptune:x"])


def test_a_part_of_a_run_is_not_logged(run):
    with pytest.raises(UserError, match="whole runs"):
        api.report_files(run, cutoff="2024-01-01", log_to=["tensorboard:x"])


def test_profiles_are_told_apart_without_their_versions():
    assert [short_profile(name) for name in ("strict@6", "human-eval@6d43fb9+30s")] == ["strict", "human-eval_30s"]
