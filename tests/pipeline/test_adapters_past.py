"""Completions that were made with an adapter are not graded on what it learned from, unless that is left out."""

import json

import pytest
from click.testing import CliRunner

import truegrade
from truegrade.benchmarks import load_benchmark
from truegrade.cli import main
from truegrade.datasets.learned import write_learned
from truegrade.errors import UserError

ARGS = {"size": "4"}


@pytest.fixture(scope="module")
def problems():
    return load_benchmark("micro-repair", args=ARGS).problems


@pytest.fixture
def file(tmp_path, problems):
    rows = [{"task_id": p.id, "completion": f"```python\n{p.task.reference}\n```"} for p in problems]
    path = tmp_path / "samples.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def adapter(tmp_path, problems):
    folder = tmp_path / "adapter"
    folder.mkdir()
    write_learned(folder, "micro-repair", problems[:1])
    return folder


def test_a_file_is_refused_without_a_run_or_the_problems_left_out(file, adapter, problems, tmp_path):
    arguments = ["grade", file, "-b", "micro-repair", "-T", "size=4", "--adapter", adapter]
    arguments += ["--out", tmp_path / "run"]
    refused = CliRunner().invoke(main, list(map(str, arguments)))
    assert refused.exit_code == 2 and f"was trained on {problems[0].id} " in refused.output
    assert "--exclude-seen" in refused.output and not (tmp_path / "run").exists()
    graded = CliRunner().invoke(main, list(map(str, [*arguments, "--exclude-seen", "--json"])))
    assert graded.exit_code == 0, graded.output
    summary = json.loads(graded.stdout)
    assert summary["tasks"] == 3 and summary["excluded"] == {
        problems[0].id: "the adapter learned from this program"
    }
    said = f"left out, because the adapter learned from them: {problems[0].id}"
    assert [w["sentence"] for w in summary["warnings"] if w["code"] == "seen"] == [said]
    assert said in (tmp_path / "run" / "report.html").read_text()
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["training_data"] == "recorded"


def test_an_adapter_without_a_record_is_marked(file, tmp_path):
    (tmp_path / "bare").mkdir()
    made = {"benchmark": "micro-repair", "task_args": ARGS, "out": tmp_path / "run"}
    run = truegrade.grade(file, **made, adapter=tmp_path / "bare")
    assert run.manifest.training_data == "unknown"
    summary = json.loads((run.path / "summary.json").read_text())
    assert [w["code"] for w in summary["warnings"]][:1] == ["training-data-unknown"]
    assert "training data unknown" in (run.path / "report.html").read_text()
    plain = truegrade.grade(file, **{**made, "out": tmp_path / "plain"})
    assert "training_data" not in json.loads((plain.path / "manifest.json").read_text())
    with pytest.raises(UserError, match=r"`adapter` .*: no such folder"):
        truegrade.grade(file, **made, adapter=tmp_path / "absent")


def test_a_run_that_is_graded_again_is_checked_as_well(file, adapter, problems, tmp_path):
    run = truegrade.grade(file, benchmark="micro-repair", task_args=ARGS, out=tmp_path / "run")
    with pytest.raises(UserError, match="CONTAMINATION"):
        truegrade.grade(run.path, adapter=adapter)
    again = truegrade.grade(run.path, adapter=adapter, exclude_seen=True)
    assert set(again.manifest.excluded) == {problems[0].id}
    assert json.loads((run.path / "summary.json").read_text())["tasks"] == 3
