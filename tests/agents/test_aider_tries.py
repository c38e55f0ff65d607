"""Aider's two tries, by the command line, against a scripted service."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from support import scripted_server as scripted
from truegrade.agents import open_agent
from truegrade.agents.session import official_tests, packages
from truegrade.agents.steps import read_steps
from truegrade.benchmarks import load_benchmark
from truegrade.cli import main
from truegrade.errors import UnknownName, UserError
from truegrade.store import Run

WRONG, RIGHT = "def double(x):\n    return x + 1\n", "def double(x):\n    return 2 * x\n"
TESTS = """import unittest

from double import double


class DoubleTest(unittest.TestCase):
    def test_three(self):
        self.assertEqual(double(3), 6)
"""
ENDLESS = "while True:\n    pass\n"


def reply(code):
    return f"Here it is.\n\ndouble.py\n```\n{code}```\n"


@pytest.fixture
def exercise(tmp_path):
    """A checkout with one exercise."""
    folder = tmp_path / "checkout/python/exercises/practice/double"
    kinds = {"solution": ["double.py"], "test": ["double_test.py"], "example": [".meta/example.py"]}
    files = {
        ".docs/instructions.md": "Twice.\n", ".meta/config.json": json.dumps({"files": kinds}),
        ".meta/example.py": RIGHT, "double.py": "def double(x):\n    pass\n", "double_test.py": TESTS,
    }  # fmt: skip
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return tmp_path / "checkout"


@pytest.fixture
def tries(exercise, tmp_path):
    """Run the benchmark against replies in order; gives result and the messages of each request."""
    replies = []
    with scripted.scripted_server(lambda body: scripted.Answer(scripted.chat(replies.pop(0)))) as server:

        def run(told, *words, out="run"):
            before, replies[:] = len(server.requests), told
            given = ["run", "polyglot-python", "-T", "allow_modified=true", "--data", str(exercise)]
            asked = ["--model", "openai-compatible/m", "--base-url", server.url, "--max-connections", "1"]
            where = ["--out", str(tmp_path / out)]
            done = CliRunner().invoke(main, [*given, *asked, *where, *words], catch_exceptions=False)
            return done, [request.body["messages"] for request in server.requests[before:]]

        yield run


def test_the_second_try_is_shown_what_the_tests_print(tries, tmp_path):
    done, asked = tries([reply(WRONG), reply(RIGHT)], "--agent", "aider", "--as", "aider", "--as", "strict")
    assert done.exit_code == 0, done.output
    first, second = asked
    assert not any("assertEqual" in message["content"] for message in first)
    assert second[5]["content"].startswith("Twice.\n") and second[6]["content"] == reply(WRONG).strip()
    assert second[9]["content"].endswith(f"double.py\n```\n{WRONG}```\n")
    told = second[-1]["content"]
    assert "AssertionError: 4 != 6" in told and "rootdir: double\n" in told and "1 failed  =" in told
    assert "The tests are correct, don't try and change them.\nFix the code in double.py" in told
    run = Run.open(tmp_path / "run")
    assert all(verdict.passed for name in ("aider", "strict") for verdict in run.verdicts(name))
    about = run.summary["agent"]
    assert (about["pass_rates"], about["rounds"]) == ({"1": 0.0, "2": 1.0}, {"2": 1})
    assert "official tests between them; not pass@1 of the model" in about["label"]
    for said in (
        "pass_rate_1 0.0 %",
        "pass_rate_2 100.0 %",
        "in 1 of 1 samples the model was shown what the tests",
    ):
        assert said in " ".join(done.output.split()), done.output


def test_a_first_try_that_passes_is_the_answer(tries, tmp_path):
    done, asked = tries([reply(RIGHT)], "--agent", "aider", "--as", "aider")
    assert (done.exit_code, len(asked)) == (0, 1), done.output
    run = Run.open(tmp_path / "run")
    assert run.summary["agent"]["pass_rates"] == {"1": 1.0}
    assert "in 0 of" not in done.output and "was shown" not in done.output
    tried = next(step.did for step in read_steps(run.path) if type(step.did).__name__ == "TriedStep")
    assert tried.accepted and "1 passed" in tried.candidates[0].trials[0].output


def test_a_second_try_that_fails_too_fails(tries, tmp_path):
    done, asked = tries([reply(WRONG), "I give up."], "--agent", "aider", "--as", "aider")
    assert (done.exit_code, len(asked)) == (0, 2), done.output
    run = Run.open(tmp_path / "run")
    (verdict,) = run.verdicts("aider")
    assert verdict.reason == "no_code" and run.summary["agent"]["pass_rates"] == {"1": 0.0, "2": 0.0}


def test_the_same_command_asks_for_nothing_again(tries):
    tries([reply(WRONG), reply(RIGHT)], "--agent", "aider", "--as", "aider")
    done, asked = tries([], "--agent", "aider", "--as", "aider")
    assert (done.exit_code, asked) == (0, []), done.output


def test_a_killed_run_goes_on_behind_its_first_try(tries, tmp_path):
    tries([reply(WRONG), reply(RIGHT)], "--agent", "aider", "--as", "aider")
    run = tmp_path / "run"
    steps = (run / "steps.jsonl").read_text().splitlines(keepends=True)
    (run / "steps.jsonl").write_text("".join(steps[:2]))  # asked and tried, the second question unanswered
    (run / "completions.jsonl").write_text("")
    done, asked = tries([reply(RIGHT)], "--agent", "aider", "--as", "aider")
    assert (done.exit_code, len(asked)) == (0, 1), done.output
    assert "AssertionError: 4 != 6" in asked[0][-1]["content"]


def test_without_the_agent_there_is_one_try(tries, tmp_path):
    done, asked = tries([reply(WRONG)], "--as", "aider")
    assert (done.exit_code, len(asked)) == (0, 1), done.output
    assert Run.open(tmp_path / "run").summary["agent"] is None


def test_only_an_agent_that_declares_it_may_run_the_tests(exercise):
    loaded = load_benchmark("polyglot-python", exercise, {"allow_modified": "true"}).by_id()
    declared, other = open_agent("aider", {}), open_agent("agentcoder", {})
    assert list(official_tests(declared, loaded)) == ["Exercism/double"] and "pytest" in packages(declared)
    assert official_tests(other, loaded) == {} and "pytest" not in packages(other)


def test_arguments_and_other_benchmarks_are_refused(tries):
    with pytest.raises(UnknownName, match="tries"):
        open_agent("aider", {"tries": 3})
    done, asked = tries([], "--agent", "aider", "-A", "tries=3")
    assert done.exit_code == 2 and not asked and "tries" in done.output
    with pytest.raises(UserError, match="it covers polyglot-python"):
        from truegrade.agents.steps import VisibleProblem

        open_agent("aider", {}).render_prompt(VisibleProblem(id="q", benchmark="quixbugs", kind="cases"), ())
