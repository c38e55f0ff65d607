"""Inspect's log of a run: its members without Inspect, and what Inspect reads in it where it is installed."""

import json
import zipfile

import pytest

import truegrade
from truegrade.errors import UserError
from truegrade.records.config import Sampling

TASKS = ("HumanEval/23", "HumanEval/53", "HumanEval/2")


@pytest.fixture
def run(tmp_path, monkeypatch, humaneval_file):
    """Two samples a task, one task right, one wrong, one half; the last reply was cut."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRUEGRADE_DATA", str(humaneval_file.parent))
    right = {"HumanEval/23": "    return len(string)\n", "HumanEval/53": "    return x + y\n"}
    rows = [
        {"task_id": task, "completion": text}
        for task in TASKS
        for text in (
            right.get(task, "    return 0\n"),
            "    pass" if task == TASKS[1] else right.get(task, "    1/0\n"),
        )
    ]
    (tmp_path / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return truegrade.grade("samples.jsonl", benchmark="humaneval", out="run")


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: json.loads(archive.read(name)) for name in archive.namelist()}


def test_a_log_has_every_sample_and_sums_them_up(run):
    log = members(truegrade.export(run, "inspect"))
    samples = {(s["id"], s["epoch"]): s for name, s in log.items() if name.startswith("samples/")}
    assert set(samples) == {(task, epoch) for task in TASKS for epoch in (1, 2)}
    told = {key: sample["scores"]["verdict"]["value"] == "C" for key, sample in samples.items()}
    assert told == {(v.problem_id, v.sample + 1): v.passed for v in run.verdicts()}
    header = log["header.json"]
    assert header["status"] == "success" and header["eval"] == log["_journal/start.json"]["eval"]
    metrics = {name: metric["value"] for name, metric in header["results"]["scores"][0]["metrics"].items()}
    assert metrics["accuracy"] == pytest.approx((1 + 0.5 + 0) / 3)
    assert metrics["stderr"] == pytest.approx((0.5 / 2 / 3) ** 0.5)  # standard deviation of 1, 0.5, 0 over root 3
    assert len(log["summaries.json"]) == 6 and "messages" not in log["summaries.json"][0]


def test_the_same_run_gives_the_same_log(run, tmp_path):
    first, second = (members(truegrade.export(run, "inspect", out=tmp_path / name)) for name in ("a", "b"))
    assert first == second
    names = first["header.json"]["eval"]
    assert len({names["eval_id"], names["run_id"], names["task_id"]}) == 3
    assert all(len(names[key]) == 22 and names[key].isalnum() for key in ("eval_id", "run_id", "task_id"))


def test_what_was_asked_and_the_settings_are_in_the_log(tmp_path, monkeypatch, humaneval_file):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRUEGRADE_DATA", str(humaneval_file.parent))
    asked = truegrade.run(
        "humaneval", limit=2, sampling=Sampling(temperature=0.3, stop=("x",), top_k=9, repetition_penalty=1.2)
    )
    log = members(truegrade.export(asked, "inspect"))
    spec = log["header.json"]["eval"]
    assert spec["model_generate_config"] == {
        "temperature": 0.3, "stop_seqs": ["x"], "top_k": 9, "extra_body": {"repetition_penalty": 1.2},
    }  # fmt: skip
    assert spec["model"] == asked.manifest.generation.model and spec["task"] == "truegrade/humaneval"
    sample = log["samples/HumanEval/0_epoch_1.json"]
    assert sample["input"][0]["content"] == asked.prompts()["HumanEval/0"].messages[0].content
    assert [message["role"] for message in sample["messages"]] == ["user", "assistant"]


def test_a_run_that_was_not_graded_so_is_refused_with_the_command(run):
    with pytest.raises(UserError, match=r"truegrade grade .* --as human-eval"):
        truegrade.export(run, "inspect", profile="human-eval")


@pytest.mark.slow
def test_inspect_reads_the_log(run):
    inspect_log = pytest.importorskip("inspect_ai.log", reason="the extra [inspect] is not installed")
    path = truegrade.export(run, "inspect")
    log = inspect_log.read_eval_log(str(path))
    assert log.status == "success" and log.eval.task == "truegrade/humaneval" and len(log.samples) == 6
    assert log.results.scores[0].metrics["accuracy"].value == pytest.approx(0.5)
    one = inspect_log.read_eval_log_sample(str(path), id="HumanEval/53", epoch=2)
    assert one.scores["verdict"].value == "I" and one.scores["verdict"].metadata["verdict"]["sample"] == 1
    assert [s.id for s in inspect_log.read_eval_log_sample_summaries(str(path))].count("HumanEval/23") == 2
    assert str(path).endswith(inspect_log.list_eval_logs(str(path.parent))[0].name.rpartition("/")[2])
