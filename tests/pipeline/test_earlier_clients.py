"""Runs stored by commit 64dee114, the last with clients of Google and Bedrock and with Anthropic's batches."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

import truegrade
from truegrade.cli import main
from truegrade.records import Usage
from truegrade.store.manifest import open_batches

RUNS = Path(__file__).with_name("runs_of_earlier_clients")
INSTEAD = {
    "google": "write gemini/NAME for the Gemini API; for Vertex AI openai-compatible/google/NAME with --base-url",
    "bedrock": "write openai-compatible/NAME with --base-url https://bedrock-mantle.REGION.api.aws/v1, or for",
}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Copy a stored run; what makes the command that asked it."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")

    def copy(vendor):
        folder = shutil.copytree(RUNS / vendor, tmp_path / "run")
        asked = json.loads((folder / "manifest.json").read_text())["generation"]
        command = ["run", "micro-repair", "--limit", "1", "--temperature", "0", "--max-tokens", "256"]
        return folder, [*command, "--model", asked["model"], "--base-url", asked["base_url"], "--out", str(folder)]

    return copy


@pytest.mark.parametrize("vendor", sorted(path.name for path in RUNS.iterdir()))
def test_they_are_read_reported_and_graded_again(vendor, run):
    folder, _ = run(vendor)
    stored = truegrade.load(folder)
    (completion,) = stored.completions()
    assert (completion.reasoning, completion.finish_reason) == ("hm", "stop")
    assert completion.usage == Usage(input_tokens=10, output_tokens=20)
    assert not open_batches(folder)
    for command in ("grade", "report"):
        done = CliRunner().invoke(main, [command, str(folder)])
        assert done.exit_code == 0, done.output
    assert (f"no provider '{vendor}' any more" in done.output) == (vendor in INSTEAD)
    assert truegrade.load(folder).summary["missing"] == 0
    assert stored.manifest.generation.model in (folder / "report.html").read_text()


@pytest.mark.parametrize("vendor", sorted(INSTEAD))
def test_to_ask_more_of_them_says_what_to_write_instead(vendor, run):
    _, command = run(vendor)
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 2
    assert done.output.startswith(f"truegrade: this version has no provider '{vendor}' any more: commit 64dee114")
    assert INSTEAD[vendor] in done.output and done.output.count("\n") == 1


def test_a_batch_of_anthropic_that_is_open_is_not_collected_and_says_so(run):
    folder, command = run("anthropic")
    journal = folder / "batches.jsonl"
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:2]))
    (folder / "completions.jsonl").write_text("")
    assert [batch.id for batch in open_batches(folder).values()] == ["msgbatch_0"]
    told = "this version asks and collects no batches of Anthropic, which commit 64dee114 was the last to do"
    refused = CliRunner().invoke(main, [*command, "--batch"])
    assert (refused.exit_code, refused.output.count("\n")) == (2, 1)
    assert told in refused.output
    (line,) = [line for line in CliRunner().invoke(main, command).output.splitlines() if told in line]
    assert "in a batch at the service and not asked again" in line
    assert "remove the lines of an open batch from batches.jsonl" in line
