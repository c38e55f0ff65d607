"""The documentation is true: its Python runs, its schemas and tables are those of the code."""

import json
import re
from pathlib import Path

import click
import jsonschema
import pytest
from click.testing import CliRunner

import truegrade
from tools.tutorials import not_followed
from truegrade.apps.assay.cheats import CHANNELS
from truegrade.apps.assay.records import CODES
from truegrade.cli import main
from truegrade.cli.groups import with_apps
from truegrade.cli.schemas import json_schema, names
from truegrade.records import Reason, SampleKey
from truegrade.store.importers import IMPORTERS
from truegrade.store.manifest import BatchLog, ClosedBatch, new_token

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch, humaneval_file):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRUEGRADE_DATA", str(humaneval_file.parent))


def fenced(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [path for path in DOCUMENTS if fenced(not_followed(path), "python")],
    ids=lambda path: path.name,
)
def test_python_blocks_run_in_order(path, capsys):
    """Those of the parts that are followed are run by `test_site`."""
    scope = {"__name__": "docs", "__file__": str(path)}
    for block in fenced(not_followed(path), "python"):
        exec(compile(block, str(path), "exec"), scope)


def test_every_command_and_option_has_a_help_text():
    for name, command in with_apps(main).commands.items():
        assert command.help, name
        for parameter in command.params:
            assert not isinstance(parameter, click.Option) or parameter.help, (name, parameter.name)


@pytest.mark.parametrize(
    ("page", "head", "known"),
    [
        ("formats.md", "| reason | meaning |", [reason.value for reason in Reason]),
        ("formats.md", "| name | written by |", [importer.name for importer in IMPORTERS]),
        ("reference/schemas.md", "| code | meaning |", CODES),
        ("assay.md", "| channel | what a program does |", CHANNELS),
    ],
)
def test_a_table_names_what_there_is(page, head, known):
    text = (ROOT / "docs" / page).read_text()
    rows = text[text.index(head) :].split("\n\n")[0].splitlines()[2:]
    assert sorted(name for row in rows for name in re.findall(r"`([\w-]+)`", row.split(" | ")[0])) == sorted(known)


def test_the_fields_documented_are_the_fields_there_are():
    text = (ROOT / "docs" / "formats.md").read_text()
    for section, record in (("completions.jsonl", "completion"), ("verdicts.<profile>.jsonl", "verdict")):
        part = text[text.index(f"### `{section}`") :].split("\n### ")[0]
        schema = json_schema(record)
        fields = set(schema["$defs"][record.capitalize()]["properties"]) - {"schema", "profile"}
        missing = {field for field in fields if f"`{field}`" not in part}
        identity = {"benchmark", "dataset_sha256", "problem_id", "sample", "config_sha256", "completion_sha256"}
        assert missing <= identity, (section, missing)


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def some_batches(folder):
    with BatchLog(folder) as log:
        for outcome in ("ended", "failed"):
            token = new_token()
            log.intend(token, [SampleKey("HumanEval/0", 0)], 0.1)
            log.accept(token, "batch_1")
            log.close_batch(token, ClosedBatch(outcome=outcome, reason="why"))
    return log.path


def test_what_a_run_writes_fits_the_published_schemas():
    run = truegrade.run("humaneval", model="baseline/lookup", limit=3, n=2, profiles=["strict", "human-eval"])
    files = {
        "manifest": [json.loads((run.path / "manifest.json").read_text())],
        "summary": [json.loads((run.path / "summary.json").read_text())],
        "prompt": lines(run.path / "prompts.jsonl"),
        "completion": lines(run.completions_path),
        "step": lines(truegrade.run("humaneval", limit=(3, 3), agent="agentcoder").path / "steps.jsonl"),
        "batch": lines(some_batches(run.path)),
        "verdict": [line for p in run.profiles for line in lines(run.verdicts_path(p))],
        "suite": [{"name": "s", "description": "d", "benchmarks": [{"name": "humaneval", "limit": "1-2"}]}],
        "benchmark-row": [{"id": 1, "prompt": "Echo.", "tests": [{"input": "a", "output": "a"}]}],
    }
    assert set(files) == set(names())
    for name, records in files.items():
        validator = jsonschema.Draft202012Validator(json_schema(name))
        assert records
        for record in records:
            validator.validate(record)
        result = CliRunner().invoke(main, ["schema", name])
        assert json.loads(result.stdout) == json.loads(json.dumps(json_schema(name)))
