"""LiveCodeBench's self-repair in its two steps, by the command line, against a scripted service."""

from __future__ import annotations

import hashlib
import json

import pytest
from click.testing import CliRunner

from support import contest_files
from support import scripted_server as scripted
from truegrade.agents import open_agent
from truegrade.agents.steps import read_steps
from truegrade.cli import main
from truegrade.errors import UserError
from truegrade.store import Run

GOOD = "```python\nprint(sum(map(int, input().split())))\n```"
WRONG = "```python\nprint(3)\n```"
FAILS = "```python\nprint(1 // 0)\n```"
METHOD = "```python\nclass Solution:\n    def add(self, a, b):\n        return a - b\n```"
BROKEN = "```python\nprint(\n```"
PUBLISHED = ["c3a5ffb1fa74", "dd79211a6b5f", "528370fcacc9"]
"""Of the messages that format_prompt_self_repair of LiveCodeBench/LiveCodeBench@28fef95 makes, style OpenAIChat,
of the question, WRONG, METHOD and FAILS and the metadata of their gradings."""


def digest(messages):
    # Python 3.14 says "division by zero" of integers, too; the published text was made by an older one.
    text = json.dumps(messages).replace("division by zero", "integer division or modulo by zero")
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@pytest.fixture
def truegrade_(tmp_path):
    """Run a command against a script; gives the result and the requests' messages."""
    rows = [contest_files.row("a"), contest_files.row("b", function="add"), contest_files.row("c")]
    data = contest_files.write_rows(tmp_path / "rows.jsonl", rows)

    current = [None]
    with scripted.scripted_server(lambda body: scripted.Answer(scripted.chat(current[0](body)))) as server:

        def run(script, *words):
            current[0], before = script, len(server.requests)
            given = ["--base-url", server.url, "--model", "openai-compatible/m", "--max-connections", "1"]
            asking = given if words[0] == "run" else []
            done = CliRunner().invoke(main, [*words, *asking, "--data", str(data)], catch_exceptions=False)
            return done, [request.body["messages"] for request in server.requests[before:]]

        yield run


def first_step(truegrade_, tmp_path, replies, n=2):
    """Generate, grade and export; gives the run's folder."""
    told = iter(replies)
    run = tmp_path / "first"
    done, _ = truegrade_(lambda _: next(told), "run", "livecodebench", "--as", "livecodebench", "-n", str(n),
                         "--out", str(run))  # fmt: skip
    assert done.exit_code == 0, done.output
    done, _ = truegrade_(None, "export", str(run), "--format", "livecodebench-eval-all")
    assert done.exit_code == 0, done.output
    return run


def repair(truegrade_, tmp_path, script, *more, n=2, out="second"):
    words = ("run", "livecodebench", "--agent", "self-repair", "-A", f"from={tmp_path / 'first'}", "-n", str(n))
    return truegrade_(script, *words, "--as", "livecodebench", "--out", str(tmp_path / out), *more)


def test_what_failed_is_asked_once_with_its_grading_and_what_passed_is_kept(truegrade_, tmp_path):
    first_step(truegrade_, tmp_path, [GOOD, WRONG, METHOD, METHOD, FAILS, GOOD])
    mended = {"c": GOOD, "b": METHOD.replace("-", "+")}
    done, asked = repair(truegrade_, tmp_path, lambda body: mended["b" if "Solution" in str(body) else "c"])
    assert done.exit_code == 0, done.output
    assert len(asked) == 4  # of six programs two had passed
    run = Run.open(tmp_path / "second")
    assert all(verdict.passed for verdict in run.verdicts("livecodebench")) and len(asked) == 4
    texts = {(c.problem_id, c.sample): c.text for c in run.completions()}
    assert texts["a", 0] == texts["c", 1] == GOOD
    assert "asked" in done.output and "self-repair" in done.output
    assert run.summary["agent"]["settled"] == 4 and "not pass@1 of the model" in run.summary["agent"]["label"]
    assert {type(step.did).__name__ for step in read_steps(run.path)} == {"AskedStep", "SettledStep"}


def test_the_question_is_the_published_one_byte_for_byte(truegrade_, tmp_path):
    first_step(truegrade_, tmp_path, [WRONG, METHOD, FAILS], n=1)
    _, asked = repair(truegrade_, tmp_path, lambda _: GOOD, n=1)
    assert [digest(messages) for messages in asked] == PUBLISHED


def test_the_same_command_asks_for_nothing_again(truegrade_, tmp_path):
    first_step(truegrade_, tmp_path, [WRONG, METHOD, GOOD], n=1)
    _, asked = repair(truegrade_, tmp_path, lambda _: GOOD, n=1)
    done, again = repair(truegrade_, tmp_path, lambda _: GOOD, n=1)
    assert (len(asked), len(again), done.exit_code) == (2, 0, 0)


def test_a_grading_without_words_stops_before_anything_is_asked_or_keeps_its_program(truegrade_, tmp_path):
    first_step(truegrade_, tmp_path, [BROKEN, METHOD, GOOD], n=1)
    done, asked = repair(truegrade_, tmp_path, lambda _: GOOD, n=1)
    assert done.exit_code == 2 and not asked
    assert "a, program 0: error_code -4 without 'inputs'" in done.output and "-A crash=keep" in done.output
    done, asked = repair(truegrade_, tmp_path, lambda _: GOOD, "-A", "crash=keep", n=1)
    assert done.exit_code == 0 and len(asked) == 1
    texts = {c.problem_id: c.text for c in Run.open(tmp_path / "second").completions()}
    assert texts["a"] == BROKEN


def test_more_samples_than_programs_are_refused(truegrade_, tmp_path):
    first_step(truegrade_, tmp_path, [WRONG, METHOD, GOOD], n=1)
    done, _ = repair(truegrade_, tmp_path, lambda _: GOOD, n=2)
    assert done.exit_code == 2 and "holds 1 programs of" in done.output and "pass -n 1" in done.output


def test_another_file_is_another_run(truegrade_, tmp_path):
    first_step(truegrade_, tmp_path, [WRONG, METHOD, GOOD], n=1)
    repair(truegrade_, tmp_path, lambda _: GOOD, n=1)
    path = tmp_path / "first" / "livecodebench_eval_all.json"
    path.write_text(path.read_text().replace("print(3)", "print(4)"))
    done, asked = repair(truegrade_, tmp_path, lambda _: GOOD, n=1)
    assert done.exit_code == 2 and not asked and "sha256" in done.output


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ({}, "needs graded programs"),
        ({"from": "x", "rounds": 2}, "rounds"),
        ({"from": "x", "style": "OpenAIReason"}, "OpenAIReason"),
        ({"from": "x", "crash": "explode"}, "`agent_args` crash"),
    ],
)
def test_arguments_that_do_not_fit_are_named(args, says):
    with pytest.raises(UserError, match=says):
        open_agent("self-repair", args)


def test_a_file_without_verdicts_is_refused(truegrade_, tmp_path):
    path = tmp_path / "answers.json"
    path.write_text(json.dumps([{"question_id": name, "code_list": ["x"]} for name in "abc"]))
    words = ("run", "livecodebench", "--agent", "self-repair", "-A", f"from={path}", "--out", str(tmp_path / "r"))
    done, asked = truegrade_(lambda _: GOOD, *words)
    assert done.exit_code == 2 and not asked and "graded_list" in done.output
    row = {"question_id": "a", "code_list": ["x"], "graded_list": [True], "metadata": ["{}"]}
    path.write_text(json.dumps([row, row]))
    done, _ = truegrade_(lambda _: GOOD, *words)
    assert done.exit_code == 2 and "twice" in done.output
    path.unlink()
    done, _ = truegrade_(lambda _: GOOD, *words)
    assert done.exit_code == 2 and "answers.json" in done.output
