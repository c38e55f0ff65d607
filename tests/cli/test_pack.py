"""A run as one file: what every command reads of it, and what is refused of damaged and hostile ones."""

import json
import shutil
import zipfile
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

import truegrade
from truegrade import api
from truegrade.apps.viewer.viewer_server import ViewServer
from truegrade.cli import main
from truegrade.errors import UserError
from truegrade.files.unpacking import FREE_BYTES
from truegrade.store import Run
from truegrade.store.packing import HEAD, PackHead, pack_run


@pytest.fixture(scope="module")
def made(tmp_path_factory, humaneval_file):
    """A folder with two runs on three problems, and a pack of the first."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("TRUEGRADE_DATA", str(humaneval_file.parent))
        for name, model in (("good", "baseline/reference"), ("bad", "baseline/lookup")):
            truegrade.run("humaneval", model=model, limit=3, profiles=["strict", "human-eval"], out=f"runs/{name}")
        done = CliRunner().invoke(main, ["pack", "runs/good"])
        assert (done.exit_code, done.stdout, done.stderr) == (0, "good.truegrade\n", "")
    return folder


@pytest.fixture
def packed(made, cli, tmp_path, monkeypatch):
    """The pack, beside the runs, in a copy of that folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return Path("good.truegrade")


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def rewritten(pack, out, change):
    """The same pack with other members: ``change`` is given name -> content, the head among them."""
    with zipfile.ZipFile(pack) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out


def test_the_same_run_gives_the_same_bytes_and_no_path_of_this_machine(packed, made):
    (Path("runs/good") / "samples.log").write_text("no part of a run")
    assert pack_run(Run.open(Path("runs/good")), Path("again.truegrade")).read_bytes() == packed.read_bytes()
    assert pack_run(Run.open(packed), Path("once-more.truegrade")).read_bytes() == packed.read_bytes()
    with zipfile.ZipFile(packed) as archive:
        names = archive.namelist()
        texts = b"".join(archive.read(name) for name in names)
    assert names[0] == HEAD and names[1:] == sorted(names[1:])
    assert set(names) == {
        HEAD, "manifest.json", "prompts.jsonl", "completions.jsonl", "summary.json",
        "verdicts.strict@6.jsonl", "verdicts.human-eval@6d43fb9.jsonl",
    }  # fmt: skip
    assert str(made).encode() not in texts and b'"/' not in texts


def test_reading_commands_take_a_pack_for_a_run_and_change_nothing(packed, cli):
    before = {**contents(Path("runs")), "pack": packed.read_bytes()}
    shutil.move("runs/good", "gone")
    for arguments in (
        ["compare", "runs/bad", packed, "--as", "strict", "--baseline", packed],
        ["compare", "runs/bad", packed, "--as", "strict", "--table"],
        ["check", "100", packed, "--as", "strict"],
        ["check", packed],
        ["report", packed],
        ["report", packed, "--format", "csv"],
        ["export", packed, "--format", "human-eval"],
    ):
        done = cli(*map(str, arguments))
        assert done[0] in (0, 1), done
    assert {path.name for path in Path("good.files").iterdir()} == {
        "report.html",
        "report",
        "samples.human-eval.jsonl",
    }
    shutil.move("gone", "runs/good")
    assert {**contents(Path("runs")), "pack": packed.read_bytes()} == before
    assert truegrade.load(packed).summary == truegrade.load("runs/good").summary
    with ViewServer(Run.open(packed).path) as server:
        assert server.url


def test_messages_name_the_pack_and_not_where_it_lies_unpacked(packed, cli):
    for arguments, words in (
        (["compare", "runs/bad", packed], "name one with --as"),
        (["check", "100", packed, "--as", "bigcode"], f"truegrade grade {packed} --as PROFILE"),
    ):
        code, _, err = cli(*map(str, arguments))
        assert code == 2 and words in err and "/packs/" not in err, err
    code, out, _ = cli("check", "100", str(packed), "--as", "strict", "--json")
    assert json.loads(out)["run"] == str(packed)


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
        (_altered, "field 'completions.jsonl': the pack is damaged"),
        (_lost, "field 'summary.json': the pack is damaged (it is missing)"),
        (_outside, "'../evil.json', which no pack does"),
        (_named_outside, "'../good', which no pack does"),
        (_more, "'sitecustomize.py', which no pack does"),
        (_bomb, "256 times its size"),
        (_no_head, "the pack is damaged"),
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


def test_what_stays_of_this_machine_is_told(packed, cli):
    manifest = json.loads(Path("runs/bad/manifest.json").read_text())
    manifest["generation"]["model_args"] = {"adapter": "/home/somebody/adapter"}
    Path("runs/bad/manifest.json").write_text(json.dumps(manifest))
    done = cli("pack", "runs/bad", "--out", "bad.truegrade")
    assert done[0] == 0 and "note: -M adapter, /home/somebody/adapter, stays in the pack" in done[2]


def test_a_pack_is_no_file_of_completions_and_no_folder_to_write_to(packed, cli):
    with pytest.raises(UserError, match=r"to compare it with the claim use: truegrade check 100 good\.truegrade"):
        api.check("100", packed)
    with pytest.raises(UserError, match="is a folder"):
        pack_run(Run.open(Path("runs/good")), Path("runs"))
