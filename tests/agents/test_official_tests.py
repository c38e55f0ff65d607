"""An agent that declares it is given what runs the data set's own tests, and no other is; by the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from support import scripted_server as scripted
from truegrade.agents import find_agent, open_agent
from truegrade.agents.account import summarise_steps
from truegrade.agents.session import official_tests, packages
from truegrade.agents.steps import SettledStep, Step, read_steps
from truegrade.benchmarks import load_benchmark
from truegrade.cli import main
from truegrade.records.config import AgentConfig
from truegrade.store import Run

AGENT = Path(__file__).parents[1] / "support" / "two_tries.py"
WRONG, RIGHT = "def double(x):\n    return x + 1\n", "def double(x):\n    return 2 * x\n"
SUITE = "from twice import double\n\n\ndef test_three():\n    assert double(3) == 6\n"
ROWS = {
    "suite": {
        "id": "t/suite", "prompt": "Twice.", "entry_point": "double", "framework": "pytest", "module": "twice",
        "tests": SUITE, "reference": RIGHT,
    },
    "function": {
        "id": "t/function", "prompt": "Twice.", "entry_point": "double", "tests": "assert double(3) == 6\n",
        "reference": RIGHT,
    },
}  # fmt: skip


@pytest.fixture(params=ROWS)
def own(request, tmp_path):
    """A file with one problem of its own kind."""
    file = tmp_path / "own.jsonl"
    file.write_text(json.dumps(ROWS[request.param]) + "\n")
    return file


@pytest.fixture
def tries(own, tmp_path):
    """Run the problem against programs in order; gives the result and the messages of each request."""
    replies = []
    with scripted.scripted_server(lambda body: scripted.Answer(scripted.chat(replies.pop(0)))) as server:

        def run(programs):
            before, replies[:] = len(server.requests), [f"```python\n{each}```" for each in programs]
            asked = ["--model", "openai-compatible/m", "--base-url", server.url, "--agent", str(AGENT)]
            words = ["run", str(own), *asked, "--max-connections", "1", "--out", str(tmp_path / "run")]
            done = CliRunner().invoke(main, words, catch_exceptions=False)
            assert done.exit_code == 0, done.output
            return " ".join(done.output.split()), [r.body["messages"] for r in server.requests[before:]]

        yield run


def test_the_second_try_is_shown_what_the_tests_say(tries, tmp_path):
    said, (first, second) = tries([WRONG, RIGHT])
    assert "6" not in str(first) and "double(3)" in second[-1]["content"] and "6" in second[-1]["content"]
    run = Run.open(tmp_path / "run")
    assert [verdict.passed for verdict in run.verdicts("strict")] == [True]
    about = run.summary["agent"]
    assert (about["pass_rates"], about["rounds"]) == ({"1": 0.0, "2": 1.0}, {"2": 1})
    for words in (
        "pass_rate_1 0.0 %",
        "pass_rate_2 100.0 %",
        "in 1 of 1 samples the model was shown what the tests",
    ):
        assert words in said, said


def test_a_first_try_that_passes_is_the_answer(tries, tmp_path):
    said, asked = tries([RIGHT])
    run = Run.open(tmp_path / "run")
    assert len(asked) == 1 and run.summary["agent"]["pass_rates"] == {"1": 1.0} and "was shown" not in said
    tried = next(step.did for step in read_steps(run.path) if type(step.did).__name__ == "TriedStep")
    assert tried.accepted


def test_a_killed_run_goes_on_behind_its_first_try(tries, tmp_path):
    tries([WRONG, RIGHT])
    steps = (tmp_path / "run/steps.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "run/steps.jsonl").write_text(
        "".join(steps[:2])
    )  # asked and tried, the second question unanswered
    (tmp_path / "run/completions.jsonl").write_text("")
    _, asked = tries([RIGHT])
    assert len(asked) == 1 and "double(3)" in asked[0][-1]["content"]


def test_only_an_agent_that_declares_it_may_run_the_tests(own):
    problems = load_benchmark(str(own)).by_id()
    declared, other = find_agent(str(AGENT), {}).value, open_agent("agentcoder", {})
    assert official_tests(declared, problems).keys() == problems.keys() and "pytest" in packages(declared)
    assert official_tests(other, problems) == {} and "pytest" not in packages(other)


def test_rounds_of_an_agent_that_counts_from_zero_are_counted_from_one():
    steps = [
        Step(problem_id="t", sample=sample, round=0, did=SettledStep(accepted=True, round=0, index=0))
        if sample == 0
        else Step(problem_id="t", sample=sample, round=1, did=SettledStep(accepted=True, round=1, index=0))
        for sample in range(4)
    ]
    config = AgentConfig(name="seer", version="1", args={}, sees_official_tests=True)
    about = summarise_steps(config, steps, lambda key: True)
    assert (about.rounds, about.pass_rates) == ({"1": 1, "2": 3}, {"1": 0.25, "2": 1.0})
    assert any("in 3 of 4 samples the model was shown" in warning for warning in about.warnings)
