"""A run as one file, a zip of its folder or a pack of an earlier version: what commands read of it, and what is
refused of damaged ones."""

import json
import os
import shutil
import warnings
import zipfile
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

import truegrade
from truegrade import api
from truegrade.apps.viewer.viewer_server import ViewServer
from truegrade.errors import UserError
from truegrade.files.unpacking import FREE_BYTES
from truegrade.store import Run
from truegrade.store.packing import HEAD, PackHead


@pytest.fixture(scope="module")
def made(tmp_path_factory, humaneval_file):
    """A folder with two runs on three problems, and a pack of the first."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("TRUEGRADE_DATA", str(humaneval_file.parent))
        for name, model in (("good", "baseline/reference"), ("bad", "baseline/lookup")):
            truegrade.run("humaneval", model=model, limit=3, profiles=["strict", "human-eval"], out=f"runs/{name}")
        write_pack(Path("runs/good"), Path("good.truegrade"))
        for name, inside in (("good.zip", "runs"), ("flat.zip", "runs/good")):
            shutil.make_archive(Path(name).stem, "zip", inside, "good" if inside == "runs" else ".")
    return folder


def write_pack(run, out):
    """A pack as versions up to commit 64dee114 wrote it."""
    files = {each.name: each.read_bytes() for each in sorted(run.iterdir()) if each.suffix in (".json", ".jsonl")}
    head = {"schema": 1, "truegrade": "0.1.0", "run": run.name}
    head["files"] = {name: sha256(content).hexdigest() for name, content in files.items()}
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(HEAD, json.dumps(head), zipfile.ZIP_STORED)
        for name, content in files.items():
            archive.writestr(name, content)


@pytest.fixture
def beside(made, cli, tmp_path, monkeypatch):
    """In a copy of that folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)


@pytest.fixture
def packed(beside):
    """The pack, beside the runs."""
    return Path("good.truegrade")


@pytest.fixture(params=["good.truegrade", "good.zip"])
def one_file(request, beside):
    """The pack, or a zip of the run's folder."""
    return Path(request.param)


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def rewritten(pack, out, change):
    """The same pack with other members: ``change`` is given name -> content, the head among them."""
    with zipfile.ZipFile(pack) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    return rewritten_members(members, out)


def rewritten_members(members, out):
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out


def test_reading_commands_take_a_pack_for_a_run_and_change_nothing(one_file, cli):
    before = {**contents(Path("runs")), "pack": one_file.read_bytes()}
    shutil.move("runs/good", "gone")
    for arguments in (
        ["compare", "runs/bad", one_file, "--as", "strict", "--baseline", one_file],
        ["compare", "runs/bad", one_file, "--as", "strict", "--table"],
        ["check", "100", one_file, "--as", "strict"],
        ["check", one_file],
        ["report", one_file],
        ["report", one_file, "--format", "csv"],
        ["export", one_file, "--format", "human-eval"],
    ):
        done = cli(*map(str, arguments))
        assert done[0] in (0, 1), done
    assert {path.name for path in Path("good.files").iterdir()} == {
        "report.html",
        "report",
        "samples.human-eval.jsonl",
    }
    shutil.move("gone", "runs/good")
    assert {**contents(Path("runs")), "pack": one_file.read_bytes()} == before
    assert truegrade.load(one_file).summary == truegrade.load("runs/good").summary
    with ViewServer(Run.open(one_file).path) as server:
        assert server.url


def test_messages_name_the_pack_and_not_where_it_lies_unone_file(one_file, cli):
    for arguments, words in (
        (["compare", "runs/bad", one_file], "name one with --as"),
        (["check", "100", one_file, "--as", "bigcode"], f"truegrade grade {one_file} --as PROFILE"),
    ):
        code, _, err = cli(*map(str, arguments))
        assert code == 2 and words in err and "/packs/" not in err, err
    code, out, _ = cli("check", "100", str(one_file), "--as", "strict", "--json")
    assert json.loads(out)["run"] == str(one_file)


def test_grading_a_pack_makes_a_run_of_its_own_and_goes_on_with_it(packed, cli):
    before = packed.read_bytes()
    first = api.grade(packed, profiles=["strict", "simple-evals"])
    assert first.path.parent == Path("runs") and first.path.name.startswith("good-")
    assert first.profiles[:2] == ("strict@6", "human-eval@6d43fb9") and len(first.profiles) == 3
    again = api.grade(packed, profiles=["bigcode"])
    assert again.path == first.path and len(again.profiles) == 4
    assert packed.read_bytes() == before
    zipped = packed.rename("good.zip")  # a pack by what it holds, whatever its name
    assert cli("grade", str(zipped), "--as", "bigcode", "--out", "zipped")[0] == 0
    packed = zipped.rename("good.truegrade")
    other = api.grade(packed, out="elsewhere")
    assert other.path == Path("elsewhere") and other.summary["profiles"][0]["estimates"][0]["value"] == 1.0
    refused = cli("grade", str(packed), "--out", "runs/bad")
    assert refused[0] == 2 and refused[2].count("\n") == 1 and "choose another --out" in refused[2]


def _newer(members):
    members[HEAD] = members[HEAD].replace(b'"schema": 1', b'"schema": 2')


def _altered(members):
    members["completions.jsonl"] = members["completions.jsonl"].replace(b"return", b"retorn", 1)


def _lost(members):
    del members["summary.json"]


def _outside(members):
    head = msgspec.json.decode(members[HEAD], type=PackHead)
    files = {**head.files, "../evil.json": "0" * 64}
    members[HEAD] = msgspec.json.encode(msgspec.structs.replace(head, files=files))
    members["../evil.json"] = b"{}"


def _named_outside(members):
    members[HEAD] = members[HEAD].replace(b'"run": "good"', b'"run": "../good"')


def _more(members):
    members["sitecustomize.py"] = b"print('run')"


def _bomb(members):
    members["summary.json"] = b" " * (FREE_BYTES * 4)


def _no_head(members):
    members[HEAD] = b"[]"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_newer, "layout 2"),
        (_altered, "field 'completions.jsonl': the file is damaged"),
        (_lost, "field 'summary.json': the file is damaged (it is missing)"),
        (_outside, "'../evil.json', which no pack does"),
        (_named_outside, "'../good', which no pack does"),
        (_more, "'sitecustomize.py', which no pack does"),
        (_bomb, "256 times its size"),
        (_no_head, "the file is damaged"),
    ],
)
def test_another_version_and_a_damaged_pack_are_one_line(packed, cli, tmp_path, change, words):
    bad = rewritten(packed, Path("bad.truegrade"), change)
    before = contents(tmp_path)
    for command in ("report", "grade"):
        done = cli(command, str(bad))
        assert done[:2] == (2, "") and done[2].count("\n") == 1, done
        assert "bad.truegrade" in done[2] and words in done[2]
    assert contents(tmp_path) == before


@pytest.mark.parametrize("share", [0.3, 0.999])
def test_a_pack_that_was_cut_off_is_one_line(packed, cli, share):
    Path("cut.truegrade").write_bytes(packed.read_bytes()[: int(packed.stat().st_size * share)])
    done = cli("compare", "runs/bad", "cut.truegrade", "--as", "strict")
    assert done[0] == 2 and done[2].count("\n") == 1 and "copy it again" in done[2]


def test_a_run_as_one_file_is_no_file_of_completions(one_file):
    with pytest.raises(UserError, match=rf"to compare it with the claim use: truegrade check 100 {one_file}"):
        api.check("100", one_file)


def test_a_zip_of_what_is_in_the_folder_is_the_run_too_and_its_other_files_stay_out(beside, cli):
    flat = Run.open(Path("flat.zip"))
    assert flat.summary == Run.open(Path("runs/good")).summary
    assert not {"log.txt", "report.html"} & {each.name for each in flat.path.iterdir()}


def test_a_zip_of_several_runs_is_a_folder_of_files(beside, cli):
    shutil.make_archive("both", "zip", ".", "runs")
    code, _, err = cli("report", "both.zip")
    assert code == 2 and "is a file, and a run is a folder" in err


@pytest.mark.parametrize("change", [_bomb, _altered], ids=["too large", "another text"])
def test_a_hostile_zip_is_one_line_or_a_run(beside, cli, change):
    with zipfile.ZipFile("flat.zip") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    bad = rewritten_members(members, Path("bad.zip"))
    code, _, err = cli("report", str(bad))
    assert (code, err.count("\n")) == (2, 1) and "256 times its size" in err if change is _bomb else code == 0


def test_an_export_names_no_place_of_this_machine(one_file, cli, made):
    Path("runs/good/manifest.json").read_text().index(str(Path(os.environ["TRUEGRADE_DATA"])))
    for run in ("runs/good", str(one_file)):
        assert cli("export", run, "--format", "inspect", "--as", "strict", "--out", "log.eval")[0] == 0
        with zipfile.ZipFile("log.eval") as archive:
            texts = b"".join(archive.read(name) for name in archive.namelist() if name.endswith(".json"))
        assert os.environ["TRUEGRADE_DATA"].encode() not in texts and b"HumanEval" in texts


def test_other_layouts_of_one_folder_are_the_run_and_links_and_twins_are_refused(beside, cli):
    with zipfile.ZipFile("good.zip") as archive:
        members = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    dotted = rewritten_members({f"./{name}": text for name, text in members.items()}, Path("dotted.ZIP"))
    assert Run.open(dotted).summary == Run.open(Path("runs/good")).summary
    linked = zipfile.ZipInfo("good/completions.jsonl")
    linked.external_attr = 0o120777 << 16
    for name, more in (("linked.zip", linked), ("twice.zip", "good/completions.jsonl")):
        left = members if name == "twice.zip" else {k: v for k, v in members.items() if "completions" not in k}
        rewritten_members(left, Path(name))
        with zipfile.ZipFile(name, "a") as archive, warnings.catch_warnings(action="ignore"):
            archive.writestr(more, "")
        code, _, err = cli("report", name)
        assert code == 2 and "it is a link, or there are several of that name" in err, err


def test_an_export_names_a_replayed_file_by_its_name(beside, cli, made):
    done = cli(
        "run", "humaneval", "--limit", "3", "--model", f"replay:{Path('runs/good').resolve()}", "--out", "again"
    )
    assert done[0] == 0, done
    assert cli("export", "again", "--format", "inspect", "--out", "log.eval")[0] == 0
    with zipfile.ZipFile("log.eval") as archive:
        header = archive.read("header.json")
    assert b'"replay:good"' in header and str(Path.cwd()).encode() not in header
