"""Whole runs against Google's and Bedrock's protocols: prices, a wrong key, kill -9 and resumption."""

import json
import signal
from collections import Counter

import pytest
from click.testing import CliRunner

import truegrade
from support import scripted_server as scripted
from support.commands import PATIENCE_S, signalled
from support.thorough import one_in
from support.vendor_bodies import aws_error, conversed, generated, google_error, vendor_server
from truegrade.cli import main
from truegrade.records.config import RequestPolicy

SERVICES = {
    "google/gemini-x": (
        "contents",
        generated("text", thoughts="hm"),
        google_error(404, "NOT_FOUND", "no such model"),
    ),
    "bedrock/us.anthropic.claude-x-v1:0": (
        "messages",
        conversed("text", thoughts="hm"),
        aws_error(404, "ResourceNotFoundException", "no such model"),
    ),
}


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch, humaneval_file):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRUEGRADE_DATA", str(humaneval_file.parent))
    monkeypatch.setenv("GEMINI_API_KEY", "k")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    for name, value in {
        "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "none", "AWS_SHARED_CREDENTIALS_FILE": "none",
        "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("model", one_in(2, sorted(SERVICES)))
def test_kill_9_while_asking_then_the_same_command_asks_only_what_is_missing(model):
    field, body, _ = SERVICES[model]
    with vendor_server(lambda _: scripted.Answer(body, delay_s=0.05)) as (server, url):
        options = ("--base-url", url, "--limit", "20", "--max-connections", "4", "--out", "run", "--json")
        command = ["run", "humaneval", "--no-grade", "--model", model, *options]
        signalled(command, lambda: len(server.requests) >= 10, signal.SIGKILL)
        stored = len(truegrade.load("run").answered())
        assert 5 < stored < 20
        assert CliRunner().invoke(main, command).exit_code == 0
        asked = Counter(json.dumps(request.body[field]) for request in server.requests)
    assert len(asked) == 20
    assert sum(asked.values()) - 20 <= 4, "at most the requests under way are asked again"
    completions = list(truegrade.load("run").completions())
    assert len({c.key for c in completions}) == len(completions) == 20
    assert {(c.text, c.reasoning, c.usage.output_tokens) for c in completions} == {("text", "hm", 20)}


@pytest.mark.parametrize("model", sorted(SERVICES))
def test_a_cost_limit_needs_a_price_and_is_kept(model):
    _, body, _ = SERVICES[model]
    with vendor_server([scripted.Answer(body)]) as (server, url):
        command = ["run", "humaneval", "--no-grade", "--model", model, "--base-url", url, "--limit", "3",
                   "--out", "run", "--max-cost", "0.00007", "--max-connections", "1"]  # fmt: skip
        refused = CliRunner().invoke(main, command)
        assert refused.exit_code == 2
        assert "--max-cost needs the price" in refused.output and "input_price" in refused.output
        assert server.requests == []
        CliRunner().invoke(main, [*command, "-M", "input_price=1", "-M", "output_price=2"])
        assert len(server.requests) == 2  # each costs 0.00005 dollars
    assert [c.cost_usd for c in truegrade.load("run").completions() if c.text] == [0.00005] * 2


@pytest.mark.parametrize("model", sorted(SERVICES))
def test_a_model_that_does_not_exist_is_one_line_and_exit_code_2(model):
    _, _, missing = SERVICES[model]
    with vendor_server([missing]) as (_, url):
        result = CliRunner().invoke(
            main, ["run", "humaneval", "--model", model, "--base-url", url, "--limit", "2", "--out", "run"]
        )
    assert result.exit_code == 2
    assert "HTTP 404" in result.output and "check the" in result.output


def test_interrupting_does_not_wait_for_the_answer_under_way():
    with vendor_server([scripted.Answer(hold=True)]) as (server, url):
        command = ["run", "humaneval", "--model", "bedrock/m", "--base-url", url, "--limit", "2", "--out", "run"]
        # The answer under way never comes, and is waited for longer than `signalled` waits.
        assert RequestPolicy().timeout_s > PATIENCE_S
        assert signalled(command, lambda: len(server.requests) >= 2, signal.SIGINT) == 130
