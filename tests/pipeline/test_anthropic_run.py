"""`run`, with and without grading, with the Messages API: killed and resumed, and what ends one in a line."""

import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

import truegrade
from support.anthropic_server import KEY, Told, anthropic_server, error
from support.scripted_server import Answer
from truegrade.cli import main

SILENT = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
ANSWER = Told("```python\ndef f():\n    return 1\n```", thinking=("a thought",))


@pytest.fixture(autouse=True)
def _here(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


def command(url, *more):
    return ["run", "humaneval", "--model", "anthropic/m", "--base-url", url, "--out", "out", *more]


@pytest.mark.slow
@pytest.mark.thorough
def test_killed_and_resumed_nothing_answered_is_asked_twice():
    answered: list[str] = []
    allowed, cut, held = [2], Counter(), Counter()

    def say(body):
        """So many answers, then for each connection a stream that breaks and one that never begins."""
        asked = body["messages"][0]["content"]
        if len(answered) < allowed[0]:
            answered.append(asked)
            return ANSWER
        if not cut[allowed[0], asked]:
            cut[allowed[0], asked] += 1
            return Told("half of it", cut_at=0.6)
        held[allowed[0]] += 1
        return Answer(hold=True)

    with anthropic_server(say) as server:
        arguments = command(
            server.url, "--limit", "7", "--max-connections", "2", "--max-tokens", "50", "--no-grade"
        )
        for stop_at in (2, 5):
            allowed[0] = stop_at
            process = subprocess.Popen([sys.executable, "-m", "truegrade", *arguments], **SILENT)
            deadline = time.monotonic() + 300
            while process.poll() is None and (_kept() < stop_at or held[stop_at] < 2):
                assert time.monotonic() < deadline
                time.sleep(0.002)
            process.send_signal(signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL
        allowed[0] = 7
        result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert len(answered) == len(set(answered)) == 7
    completions = list(truegrade.load("out").completions())
    assert len({completion.key for completion in completions}) == len(completions) == 7
    assert {(c.text, c.reasoning) for c in completions} == {(ANSWER.text, "a thought")}


def _kept():
    journal = Path("out/completions.jsonl")
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


@pytest.mark.parametrize(
    ("says", "line"),
    [
        (
            error(401, "authentication_error", "invalid x-api-key"),
            "set ANTHROPIC_API_KEY to a key",
        ),
        (error(404, "not_found_error", "model: m"), "check the model name 'm' and --base-url"),
    ],
)
def test_what_ends_a_command_is_said_in_one_line(says, line):
    with anthropic_server(says) as server:
        result = CliRunner().invoke(main, command(server.url, "--limit", "2"))
    assert result.exit_code == 2
    assert line in result.output
    assert "Traceback" not in result.output


def test_no_server_no_key_no_client_no_price(monkeypatch):
    for arguments, line in (
        (("--max-attempts", "1"), "check that the service runs there"),
        (("--max-cost", "1"), "--max-cost needs the price of anthropic/m"),
        (("-T", "prompt=base"), "has no text completion: choose a --as or a -T prompt that words a chat"),
        (("-M", "thinking_budget=4096", "--max-tokens", "4000"), "raise --max-tokens"),
    ):
        result = CliRunner().invoke(main, command("http://127.0.0.1:1", "--limit", "1", *arguments))
        assert (result.exit_code, line in result.output) == (2, True), result.output
    assert not Path("out").exists(), "nothing was answered, so there is nothing to go on with"
    monkeypatch.setitem(sys.modules, "anthropic", None)
    result = CliRunner().invoke(main, command("http://127.0.0.1:1"))
    assert (result.exit_code, "pip install 'truegrade[anthropic]'" in result.output) == (2, True)
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    result = CliRunner().invoke(main, ["run", "humaneval", "--model", "anthropic/m"])
    assert (result.exit_code, "set the environment variable ANTHROPIC_API_KEY" in result.output) == (2, True)
