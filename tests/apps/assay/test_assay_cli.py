"""`truegrade assay` as a person types it: what is printed, what is refused, and with which exit code."""

import json
import os
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from support.thorough import one_in
from truegrade.cli import main

SMALL = ["--limit", "1", "--per-problem", "3", "--inputs", "20", "--probes", "right,mutants"]
REWARDS = """
import math, os

def honest(program, tests):
    space = {}
    try:
        exec(program, space)
        for test in tests:
            exec(test, space)
    except BaseException:
        return 0.0
    return 1.0

def graded(program, tests):
    return 0.3 + 0.7 * honest(program, tests)

def noisy(program, tests):
    print("a line on stdout")
    return honest(program, tests)

def flaky(program, tests):
    return honest(program, tests) and float(os.urandom(1)[0] % 2)

def text(program, tests):
    return "well done"

def raises(program, tests):
    raise ValueError("first line\\nsecond line")

def nothing_known(program, tests):
    return None

def nan(program, tests):
    return math.nan

def refuses(program, tests):
    return 0

def one_argument(program):
    return 1
"""


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rewards.py").write_text(REWARDS)
    (tmp_path / "dead.py").write_text("import a_module_that_is_not_there\n")
    (tmp_path / "broken.py").write_text("def (\n")


def assay(*words, code=0):
    result = CliRunner().invoke(main, ["assay", *words], env={"COLUMNS": "80"})
    assert result.exit_code == code, result.output
    return result


def refused(*words):
    """The one line of an error of exit code 2."""
    found = [each for each in assay(*words, code=2).stderr.splitlines() if each.startswith("truegrade: ")]
    assert len(found) == 1, found
    return found[0]


def graded_by(name, *words, code=0):
    return assay(*SMALL, "--grader", f"rewards.py:{name}", "--out", "out", "--json", *words, code=code)


def lines(name):
    return Path(f"out/{name}.jsonl").read_text().splitlines()


def measure_of(result):
    [one] = json.loads(result.stdout)[0]["summary"]["measures"]
    return one


def test_two_graders_are_compared_in_the_order_named_and_a_table_fits_80_columns():
    result = assay(*SMALL, "--as", "tests-inside", "--as", "strict", "--out", "out")
    printed = result.stdout.splitlines()
    named = [line.partition(":")[0] for line in printed if "CAN BE PAID WITHOUT SOLVING" in line]
    assert named == ["tests-inside", "strict@6"]
    assert max(map(len, printed)) <= 80
    size = os.stat("out/verdicts.jsonl").st_size
    files = CliRunner().invoke(main, ["report", "out", "--format", "csv"]).stdout.splitlines()
    assert "out/tables/graders.csv" in files
    assay(*SMALL, "--as", "tests-inside", "--as", "strict", "--out", "out")
    assert os.stat("out/verdicts.jsonl").st_size == size  # nothing is sent again
    probe = next(each for each in map(json.loads, lines("probes")) if each["label"] == "wrong")
    assert "reference: " in assay("replay", "out", probe["id"]).stdout
    assert "there is no probe of that id" in refused("replay", "out", "ffffffffffffffff")
    assert "holds another assay" in refused(*SMALL, "--seed", "1", "--out", "out")


def test_a_score_is_accepted_from_what_the_reference_gets_or_from_a_given_one():
    assert measure_of(graded_by("graded"))["fpr"]["value"] == 0
    lax = assay(*SMALL, "--grader", "rewards.py:graded", "--pass-at", "0.2", "--json")
    assert measure_of(lax)["fpr"]["value"] == 1


def test_a_grader_that_prints_is_measured_and_a_condition_decides_the_exit_code():
    assert measure_of(graded_by("noisy", "--fail-if", "J < 0.9"))["j"]["value"] == 1
    held = graded_by("noisy", "--fail-if", "J > 0.9", code=3)
    assert "--fail-if 'J > 0.9' holds for rewards.py:noisy on micro-repair" in held.stderr
    assert "no name 'Q'" in refused("--fail-if", "Q < 1") or "Q" in refused("--fail-if", "Q < 1")


def test_a_flaky_grader_is_found():
    result = graded_by("flaky", "--repeat", "2", "--workers", "1")
    assert json.loads(result.stdout)[0]["summary"]["findings"]["flaky_verdict"] == 1


def test_the_battery_is_written_and_not_sent():
    assay(*SMALL, "--grader", "rewards.py:raises", "--dry", "battery", "--out", "out")
    assert not os.path.exists("out/verdicts.jsonl") and os.listdir("battery")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("text", "grader_text: well done"),
        ("raises", "grader_raised: ValueError: first line second line"),
        ("nothing_known", "grader_score: None"),
        ("nan", "grader_score: nan"),
    ],
)
def test_a_grader_without_verdicts_is_an_error_that_says_why(name, said):
    line = refused(*SMALL, "--grader", f"rewards.py:{name}")
    assert "gives no verdict, so nothing of it is measured; 12 of the first 12 programs" in line
    assert said in line


def test_the_other_graders_are_measured_all_the_same_and_a_corrected_one_is_asked_again():
    words = (*SMALL, "--as", "strict", "--grader", "rewards.py:raises", "--out", "out")
    result = assay(*words, code=2)
    assert "strict@6: CAN BE PAID" in result.stdout
    said = " ".join(result.stdout.split())
    assert "rewards.py:raises: It gave no verdict on any of 12 programs" in said
    rows = len(lines("verdicts"))
    again = assay(*words, code=2)
    assert "rewards.py:raises gives no verdict" in again.stderr
    assert len(lines("verdicts")) == rows + 12


def test_a_grader_whose_file_changed_is_another_grader(tmp_path):
    graded_by("honest")
    (tmp_path / "rewards.py").write_text(REWARDS.replace("return 1.0", "return 2.0"))
    assert "holds verdicts of another rewards.py:honest" in refused(
        *SMALL, "--grader", "rewards.py:honest", "--out", "out"
    )
    assert "--call" in refused(*SMALL, "--grader", "rewards.py:honest", "--call", "verl", "--out", "out")


def test_a_grader_that_refuses_every_reference_is_asked_how_it_is_called():
    result = assay(*SMALL, "--grader", "rewards.py:refuses")
    assert "It refuses every reference" in result.stdout
    assert "reference_refused" in result.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    one_in(
        3,
        [
            (["--grader", "rewards.py:one_argument"], "hands it 2 arguments; choose another --call"),
            (["--grader", "rewards.py:missing"], "rewards.py: has no missing; it defines "),
            (["--grader", "nowhere.py:f"], "nowhere.py: no such file"),
            (["--grader", "dead.py:f"], "No module named 'a_module_that_is_not_there'"),
            (["--grader", "broken.py:f"], "SyntaxError"),
            (["--grader", "cmd:./nowhere {program}"], "there is no command './nowhere'"),
            (["--grader", "http://127.0.0.1:9/x"], "cannot be reached"),
            (["--grader", "rewards.py:honest", "--call", "foo"], "--call: 'foo' is none of plain"),
            (["--grader", "rewards.py:honest", "--tests-as", "foo"], "--tests-as: 'foo' is none of asserts"),
            (["--as", "nowhere"], "no profile 'nowhere'"),
            (["nowhere"], "no benchmark 'nowhere'"),
            (["--probes", "foo"], "no class of probes 'foo'"),
            (["--as", "human-eval"], "profile 'human-eval' has no rules for 'micro-repair'"),
        ],
    ),
)
def test_bad_input_is_one_line(words, said):
    assert said in refused(*SMALL, *words)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("no json", "labels.jsonl, line 1: not a whole JSON value"),
        ('{"problem": "micro-repair/0", "program": "x", "label": "maybe", "source": "me"}', "field 'label'"),
        ('{"problem": "nowhere", "program": "x", "label": "right", "source": "me"}', "no problem 'nowhere'"),
    ],
)
def test_a_bad_line_of_labels_is_named(tmp_path, line, said):
    (tmp_path / "labels.jsonl").write_text(f"{line}\n")
    assert said in refused(*SMALL, "--labels", "labels.jsonl")


def test_folders_of_something_else_are_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    assert "not the folder of an assay" in refused("replay", "empty", "00")
    assert "no such file" in refused("verdicts", "empty")
    assay(*SMALL, "--dry", "battery", "--out", "out")
    shown = CliRunner().invoke(main, ["report", "out", "--format", "csv"])
    assert shown.exit_code == 2 and "this assay is not finished" in shown.stderr


def test_problems_without_a_label_are_refused_before_anything_is_sent(data_dir):
    line = refused("cruxeval-output", "--limit", "1", "--data", str(data_dir), "--out", "out")
    assert "no label can be proven for any of its problems" in line
    assert "--probes cheats,must-fail" in line
    assert not os.path.exists("out/verdicts.jsonl")


def test_one_call_is_shown_and_nothing_is_measured():
    shown = assay("--show-call", "--grader", "rewards.py:honest", "--call", "trl", "--limit", "1").stdout
    assert shown.startswith("--call trl, --tests-as asserts: a Python function")
    assert "\ntests, test_cases, test_list: list of 1: list of 8: str\n    [['assert " in shown
    assert not os.path.exists("runs")
    command = assay("--show-call", "--grader", "cmd:cat {program} {tests}").stdout
    assert command.startswith("--call exit-code, ") and "\n{tests}, tests.json: str\n" in command
    for spec, kind in (("cmd:cat {program}", "command"), ("http://127.0.0.1:1/", "service")):
        assert f"trl is no way to call a {kind}" in refused("--show-call", "--grader", spec, "--call", "trl")
    assert "cannot hold its tests; `tests_as=asserts` holds them" in refused("--show-call", "--tests-as", "stdio")


@pytest.mark.parametrize("command", ["harden", "verdicts", "replay"])
def test_the_commands_are_listed_and_explained(command):
    shown = assay("--help").stdout
    assert f"  {command} " in shown and "None" not in shown
    assert "Usage:" in assay(command, "--help").stdout


def test_the_example_of_the_docs_prints_what_stands_there(tmp_path, monkeypatch):
    """A reward with the fault of lm-evaluation-harness' issue 4212: the test that the prompt shows decides."""
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[3] / "docs/assay.md").read_text()
    part = page[page.index("### An example") :]
    source, shown = (part.split(f"```{name}\n")[1].split("```")[0] for name in ("python", "console"))
    Path("shown_test.py").write_text(source)
    command, *expected = shown.splitlines()
    printed = assay(*shlex.split(command.removeprefix("$ truegrade assay "))).stdout
    assert [line for line in expected if line != "…" and line not in printed.splitlines()] == []
