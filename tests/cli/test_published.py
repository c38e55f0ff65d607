"""Folders and zips of completions as others publish them, and runs where a file is named."""

import json
import os
import zipfile
from pathlib import Path

import pytest

import truegrade
from truegrade.errors import UserError

BODIES = {0: "    return True\n", 23: "    return len(string)\n"}


def rows(problems, **more):
    return "".join(
        json.dumps({"task_id": f"HumanEval/{n}", "completion": BODIES[n], **more}) + "\n" for n in problems
    )


@pytest.fixture
def published(tmp_path):
    """A folder as a repository has one: two files of results, settings, and what a system left."""
    folder = tmp_path / "published"
    (folder / "results").mkdir(parents=True)
    (folder / "README.md").write_text("# Results")
    (folder / "settings.json").write_text('{"temperature": 0.2}')
    (folder / "results" / "one.jsonl").write_text(rows([0, 23]))
    (folder / "results" / "two.jsonl").write_text(rows([23]))
    (folder / ".DS_Store").write_bytes(b"\x00")
    return folder


def zipped(folder, path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, file.relative_to(folder.parent))
        archive.writestr("../outside.jsonl", rows([0]))
    return path


def graded(out):
    return [json.loads(part) for part in out.replace("}\n{", "}\0{").split("\0")]


@pytest.mark.parametrize("packed", [False, True])
def test_every_file_of_a_folder_or_zip_becomes_a_run(cli, tmp_path, published, packed):
    source = zipped(published, tmp_path / "published.zip") if packed else published
    code, out, err = cli("grade", str(source), "--benchmark", "humaneval", "--json")
    assert code == 0, err
    one, two = graded(out)
    assert "humaneval-one-" in one["run"] and "humaneval-two-" in two["run"]
    assert [run["profiles"][0]["estimates"][0]["value"] for run in (one, two)] == [0.5, 1.0]
    assert "passed over, as no files of completions: " in err and "settings.json" in err
    assert not (tmp_path / "outside.jsonl").exists() and not (tmp_path.parent / "outside.jsonl").exists()
    alone = truegrade.grade(published / "results" / "one.jsonl", benchmark="humaneval", out=tmp_path / "alone")
    assert truegrade.load(one["run"]).manifest.imported_from == alone.manifest.imported_from
    with pytest.raises(
        UserError, match=r"holds 2 files of completions \(one.jsonl, two.jsonl\); give them one by one"
    ):
        truegrade.grade(source, benchmark="humaneval")
    code, _, err = cli("grade", str(source), "--benchmark", "humaneval", "--out", "x")
    assert code == 2 and "--out names one folder" in err


def test_a_zip_of_one_file_is_that_file(cli, tmp_path, published):
    (published / "results" / "two.jsonl").unlink()
    run = truegrade.grade(zipped(published, tmp_path / "p.zip"), benchmark="humaneval", out=tmp_path / "r")
    assert run.manifest.imported_from.startswith("one.jsonl sha256:")


def test_programs_in_evalplus_layout_are_samples(cli, tmp_path):
    folder = tmp_path / "toy_temp_0.8"
    for number, sample, body in ((23, 1, "return 0"), (23, 0, "return len(string)"), (0, 0, "return 1 / 0")):
        name = {0: "has_close_elements(numbers, threshold)", 23: "strlen(string)"}[number]
        (folder / f"HumanEval_{number}").mkdir(parents=True, exist_ok=True)
        (folder / f"HumanEval_{number}" / f"{sample}.py").write_text(f"def {name}:\n    {body}\n")
    archive = tmp_path / "toy.zip"
    with zipfile.ZipFile(archive, "w") as made:
        for file in folder.rglob("*.py"):
            made.write(file, file.relative_to(tmp_path))
    runs = [
        truegrade.grade(source, benchmark="humaneval", out=tmp_path / source.stem) for source in (folder, archive)
    ]
    for run in runs:
        outcomes = {(v.problem_id, v.sample): v.passed for v in run.verdicts()}
        assert outcomes == {("HumanEval/23", 0): True, ("HumanEval/23", 1): False, ("HumanEval/0", 0): False}


def test_what_fails_of_several_files_is_named_and_the_others_are_graded(cli, published):
    (published / "results" / "one.jsonl").write_text(rows([0]).replace("HumanEval/0", "Mbpp/2"))
    code, out, err = cli("grade", str(published), "--benchmark", "humaneval", "--json")
    assert code == 2 and len(graded(out)) == 1 and "one.jsonl, line 1" in err


def test_what_holds_nothing_is_refused_in_one_line(cli, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.zip").write_bytes(b"PK\x03\x04 and no more")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("inner.zip", "")
    os.mkfifo(tmp_path / "pipe")  # refused without being opened, which would wait for a writer
    for name, words in (
        ("empty", "holds no run and no file of completions"),
        ("bad.zip", "no whole zip archive"),
        ("other.zip", "other.zip: holds no run and no file of completions"),
        ("pipe", "pipe: is a pipe, which cannot be read twice; write it to a file and give that"),
    ):
        code, out, err = cli("grade", name, "--benchmark", "humaneval")
        assert (code, out, err.count("\n")) == (2, "", 1) and words in err, err


def test_a_run_is_audited_as_its_completions_are(cli, tmp_path, published):
    run = truegrade.grade(published / "results" / "one.jsonl", benchmark="humaneval", out=tmp_path / "run")
    before = (run.path / "manifest.json").read_bytes()
    code, out, err = cli("check", "run", "--json")
    same = cli("check", "run/completions.jsonl", "--benchmark", "humaneval", "--json")
    assert code == same[0] == 1 and out == same[1], err
    assert json.loads(out)["tasks"] == 2
    assert cli("check", "run", "--as", "human-eval", "--json")[0] == 1
    assert (run.path / "manifest.json").read_bytes() == before


@pytest.mark.parametrize("packed", [False, True])
def test_a_folder_or_zip_of_one_file_is_checked_and_audited(cli, tmp_path, published, packed):
    (published / "results" / "two.jsonl").unlink()
    source = zipped(published, tmp_path / "published.zip") if packed else published
    code, out, err = cli("check", str(source), "--benchmark", "humaneval", "--json")
    found = json.loads(out)
    assert (code, found["tasks"], found["file"]) == (1, 2, str(source)), err
    code, out, err = cli("check", "50.0", str(source), "--benchmark", "humaneval", "--n", "2", "--json")
    found = json.loads(out)
    assert (found["answer"], found["audit"]["file"]) == ("confirmed", str(source)), err
    code, _, err = cli("check", "50.0", found["replication"]["run"], "--benchmark", "humaneval")
    assert code == 2 and "--benchmark is about grading" in err


def test_a_fault_in_a_zip_names_the_zip_file_and_line(cli, tmp_path, published):
    (published / "results" / "one.jsonl").write_text(rows([0, 23]) + '{"task_id": "HumanEval/0"}\n')
    archive = zipped(published, tmp_path / "p.zip")
    for command in (["grade"], ["check"]):
        (published / "results" / "two.jsonl").unlink(missing_ok=True)
        code, _, err = cli(*command, str(zipped(published, archive)), "--benchmark", "humaneval")
        assert code == (0 if command == ["grade"] else 1), err  # an audit finds problems without an answer
        assert "p.zip/published/results/one.jsonl, line 3" in err, err


def test_a_part_of_a_file_whose_run_holds_more_is_announced_as_such(cli, published):
    file = str(published / "results" / "one.jsonl")
    assert cli("grade", file, "--benchmark", "humaneval", "--out", "r")[0] == 0
    code, out, err = cli("grade", file, "--benchmark", "humaneval", "--limit", "1", "--out", "r")
    assert code == 0 and "2 × 1 sample;" in out
    assert f"r holds 2 problems of {file} already; all of them are scored" in err
    assert "only these are scored" not in err and "import: 1 in total, 1 already done" in err


def test_a_part_that_a_file_does_not_answer_is_refused_and_makes_no_run(cli, published):
    file = str(published / "results" / "one.jsonl")
    code, _, err = cli("grade", file, "--benchmark", "humaneval", "--limit", "5-9", "--out", "none")
    assert (code, err.count("\n")) == (2, 1) and "one.jsonl: answers none of the problems of --limit" in err
    assert not Path("none").exists()
