"""The hub, through its real client and a local server: what is pushed comes back the same, or is refused."""

import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from support.hub_server import hub_server
from truegrade.cli import main
from truegrade.datasets.executions import ExecutionRow, encode_rows, read_rows
from truegrade.datasets.hub import hash_in, write_card
from truegrade.errors import UserError

ROWS = [
    ExecutionRow(
        id=str(n),
        function_name="f",
        code="def f(n):\n    return n\n",
        input=(f"f({n})", "f(0)"),
        output=(str(n), "0"),
    )
    for n in range(3)
]


@pytest.fixture
def rows_file(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(encode_rows(ROWS))
    return path


@pytest.fixture
def hub(monkeypatch, tmp_path):
    pytest.importorskip("huggingface_hub", reason="the extra [hub] is not installed")
    with hub_server() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        monkeypatch.setenv("HF_TOKEN", running.token)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        monkeypatch.setenv("TRUEGRADE_CACHE", str(tmp_path / "cache"))
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield running


def cli(*arguments):
    return CliRunner().invoke(main, ["data", *map(str, arguments)])


def test_what_is_pushed_comes_back(hub, rows_file, tmp_path):
    pushed = cli("push", rows_file, "--repo", "org/set", "--private", "--licence", "cc-by-4.0", "--json")
    assert pushed.exit_code == 0, pushed.stderr
    facts = json.loads(pushed.stdout)
    repository = hub.repositories["org/set"]
    assert (
        repository.visibility == "private" and facts["commit"] == repository.commits[-1][0] and facts["rows"] == 3
    )
    assert repository.commits[-1][1]["data.jsonl"] == rows_file.read_bytes()
    card = repository.commits[-1][1]["README.md"].decode()
    assert "license: cc-by-4.0" in card and hash_in(card) == facts["sha256"]
    pulled = cli("pull", "hf:org/set", "--out", tmp_path / "back.jsonl")
    assert pulled.exit_code == 0, pulled.stderr
    assert (tmp_path / "back.jsonl").read_bytes() == rows_file.read_bytes()
    in_cache = json.loads(cli("pull", "hf:org/set", "--json").stdout)["hf:org/set"]
    assert in_cache.startswith(str(tmp_path / "cache")) and read_rows(tmp_path / "back.jsonl") == tuple(ROWS)


def test_a_revision_is_the_file_as_it_was(hub, rows_file, tmp_path):
    first = json.loads(cli("push", rows_file, "--repo", "org/set", "--json").stdout)["commit"]
    rows_file.write_bytes(encode_rows(ROWS[:1]))
    assert cli("push", rows_file, "--repo", "org/set").exit_code == 0
    for address, count in ((f"hf:org/set@{first}", 3), ("hf:org/set", 1)):
        assert cli("pull", address, "--out", tmp_path / "x.jsonl").exit_code == 0
        assert len(read_rows(tmp_path / "x.jsonl")) == count


def test_a_file_that_is_not_what_its_card_says_is_refused(hub, rows_file, tmp_path):
    assert cli("push", rows_file, "--repo", "org/set").exit_code == 0
    repository = hub.repositories["org/set"]
    repository.commit(repository.commits[-1][1] | {"data.jsonl": encode_rows(ROWS[:2])})
    refused = cli("pull", "hf:org/set", "--out", tmp_path / "x.jsonl")
    assert refused.exit_code == 2 and "card says" in refused.stderr and not (tmp_path / "x.jsonl").exists()


def test_files_of_others(hub, rows_file, tmp_path):
    assert cli("push", rows_file, "--repo", "org/set").exit_code == 0
    repository = hub.repositories["org/set"]
    repository.commit(
        {
            "theirs.json": json.dumps(
                [{"id": 1, "function_name": "f", "code": "", "input": "1", "output": "1"}]
            ).encode()
        }
    )
    assert cli("pull", "hf:org/set", "--out", tmp_path / "x.json").exit_code == 0
    repository.commit({"a.json": b"[]", "b.json": b"[]"})
    assert "2 JSON files" in cli("pull", "hf:org/set").stderr
    repository.commit({"a.json": b'[{"id": 1}]'})
    refused = cli("pull", "hf:org/set")
    assert refused.exit_code == 2 and "hf:org/set a.json, line 1" in refused.stderr


def test_refusals_are_one_line(hub, rows_file, monkeypatch):
    assert "ORG/NAME" in cli("push", rows_file, "--repo", "set").stderr
    assert "hf:ORG/NAME" in cli("pull", "hf:set").stderr
    assert "--out goes with" in cli("pull", "mbpp", "--out", "x").stderr
    missing = cli("pull", "hf:org/nowhere")
    assert missing.exit_code == 2 and "404" in missing.stderr and missing.stderr.count("\n") == 1
    assert cli("push", rows_file, "--repo", "org/set").exit_code == 0
    assert "404" in cli("pull", "hf:org/set@0000000").stderr
    monkeypatch.setenv("HF_TOKEN", "wrong")
    forbidden = cli("push", rows_file, "--repo", "org/set")
    assert forbidden.exit_code == 2 and "401" in forbidden.stderr and "HF_TOKEN" in forbidden.stderr
    rows_file.write_text('{"id": 1}')
    assert "line 1" in cli("push", rows_file, "--repo", "org/set").stderr


def test_the_client_was_imported_before_the_address_was_set(hub, rows_file):
    """It reads ``HF_ENDPOINT`` once, so this takes a process of its own."""
    assert cli("push", rows_file, "--repo", "org/set").exit_code == 0
    command = "import os, sys, huggingface_hub.constants\n"
    command += "os.environ.update(HF_ENDPOINT=sys.argv.pop(1), HF_TOKEN='wrong')\n"
    command += "from truegrade.cli import main; main()"
    process = [sys.executable, "-c", command, hub.url, "data", "push", str(rows_file), "--repo", "org/set"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    forbidden = subprocess.run(process, env=kept, capture_output=True, text=True)
    assert forbidden.returncode == 2 and "401" in forbidden.stderr and "HF_TOKEN" in forbidden.stderr


def test_without_the_client_the_install_line_is_named(rows_file, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    for arguments in (("push", rows_file, "--repo", "org/set"), ("pull", "hf:org/set")):
        refused = cli(*arguments)
        assert refused.exit_code == 2 and "pip install 'truegrade[hub]'" in refused.stderr


def test_the_card_names_every_field_that_occurs():
    card = write_card("org/set", ROWS, "0" * 64, "mit")
    assert "3 programs with 6 calls" in card and hash_in(card) == "0" * 64
    for name in ("id", "function_name", "code", "input", "output"):
        assert f"| `{name}` | " in card
    assert "`dsl`" not in card and 'load_dataset("org/set", split="train")' in card
    assert hash_in("none") is None and hash_in(f"sha256: {'0' * 64}\nsha256: {'1' * 64}\n") is None
    for name in ExecutionRow.__struct_fields__:
        from truegrade.datasets.hub import _MEANINGS

        assert name in _MEANINGS


def test_a_card_cannot_be_made_of_a_bad_file(tmp_path):
    from truegrade.datasets.hub import push

    with pytest.raises(UserError, match="cannot be read"):
        push(tmp_path / "nowhere.jsonl", "org/set")
