"""`truegrade assay repository` on a small package with strong, weak and idle tests: whole, killed and resumed."""

import base64
import json
import shutil
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner

from support.commands import signalled
from support.repository_package import write_package
from truegrade.apps.repository import functions as recording
from truegrade.apps.repository import strength
from truegrade.apps.repository.build import take_inventory
from truegrade.apps.repository.jailed import runner_source
from truegrade.apps.repository.replaying import GivenOutcome
from truegrade.apps.repository.source import read_tree
from truegrade.apps.repository.survivors import _fails
from truegrade.cli import main

FILES = {
    "tool.py": '''
from functools import lru_cache


def clamp(value: int, low: int, high: int) -> int:
    """Within bounds."""
    if value < low:
        return low
    if value > high:
        return high
    return value


def grade(points: int) -> str:
    if points >= 90:
        return "A"
    if points >= 75:
        return "B"
    return "C"


@lru_cache
def countdown(n: int) -> int:
    steps = 0
    while n > 0:
        n -= 1
        steps += 1
    return steps


def unused(x: int) -> int:
    return x + 1


class Base:
    def __init__(self, start: int) -> None:
        self.__start = start

    def value(self) -> int:
        return self.__start


class Account(Base):
    def __init__(self, start: int, rate: int = 3) -> None:
        super().__init__(start)
        self.rate = rate

    @property
    def due(self) -> int:
        return self.value() + self.rate
''',
    "test_tool.py": """
import pytest

from tool import Account, clamp, countdown, grade


@pytest.mark.parametrize("value, due", [(5, 5), (-1, 0), (0, 0), (10, 10), (11, 10), (99, 10)])
def test_clamp(value, due):
    assert clamp(value, 0, 10) == due
    assert clamp(value, -5, 10) == (due if value >= 0 else -1)


@pytest.mark.parametrize("points", [95, 80, 20, 60])
def test_weak(points):
    assert grade(points) in ("A", "B", "C")


def test_idle():
    grade(3)


def test_countdown():
    assert countdown(7) == 7 and countdown(0) == 0


def test_account():
    assert Account(4).due == 7 and Account(4, 5).due == 9


def test_fails():
    assert grade(1) == "Z"


SEEN = []


def test_leaves_something():
    SEEN.append(1)


def test_order():
    assert not SEEN
""",
}


F = "def f(x):\n    return x\n"


def assay(*words):
    return CliRunner().invoke(main, ["assay", "repository", *map(str, words)])


def build(*words):
    return CliRunner().invoke(main, ["data", "build", "repository", *map(str, words)])


@pytest.fixture(scope="module")
def assayed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("assayed")
    package = write_package(folder / "package", FILES)
    done = assay(package, "--out", folder / "out", "--json", "--workers", 1)
    assert done.exit_code == 0, done.output
    return package, folder / "out", json.loads(done.stdout)


@pytest.fixture(scope="module")
def built(assayed, tmp_path_factory):
    """What a build says of the same suite, and its folder."""
    package, out = assayed[0], tmp_path_factory.mktemp("built") / "out"
    done = build(package, "--out", out, "--kinds", "write", "--json", "--workers", 1)
    assert done.exit_code == 0, done.output
    return package, out, json.loads(done.stdout)["suite"]


def functions(told):
    return {one["name"].split()[-1]: (one["killed"], one["mutants"]) for one in told["by_function"]}


def test_strong_tests_kill_and_weak_ones_let_live(assayed):
    _, _, told = assayed
    found = functions(told)
    assert found["clamp"][0] / found["clamp"][1] > 0.9
    assert found["grade"][0] / found["grade"][1] < 0.7
    assert told["by_function"][0]["name"].endswith("grade")  # the weakest first
    whole = told["whole"]
    assert whole["low"] < whole["killed"] / whole["mutants"] < whole["high"]
    assert [place.split()[-1] for place in told["unreached"]] == ["unused"]


def test_methods_defaults_wrappers_and_hidden_names_are_mutated_in_place(assayed):
    _, _, told = assayed
    found = functions(told)
    for name in ("countdown", "Base.__init__", "Base.value", "Account.__init__", "Account.due"):
        assert found[name][0] > 0, name
    assert told["statuses"]["time"] > 0  # a loop that no longer ends
    assert "not applicable" not in told["statuses"]


def test_what_fails_without_a_mutant_decides_nothing_and_what_kills_nothing_is_named(assayed):
    _, out, told = assayed
    assert told["undecided"]["test_tool.py::test_fails"].startswith("fails: ")
    assert told["undecided"]["test_tool.py::test_order"].startswith("flaky: ")
    assert told["idle"] == ["test_tool.py::test_idle"]
    rows = [json.loads(line) for line in (out / "mutants.jsonl").read_text().splitlines()]
    deciders = {mutant["by"] for row in rows for mutant in row["mutants"]}
    assert not deciders & {"test_tool.py::test_fails", "test_tool.py::test_order"}


def test_survivors_say_where_and_what(assayed):
    _, _, told = assayed
    of_grade = [one for one in told["survivors"] if one["function"].endswith("grade")]
    lines = FILES["tool.py"].splitlines()
    assert {one["where"] for one in of_grade} <= {
        f"tool.py:{number}" for number, line in enumerate(lines, 1) if "points" in line or "return" in line
    }
    assert any("-    if points >= 90:" in one["diff"] for one in of_grade)


def lines_of(out):
    return [json.loads(line) for line in (out / "strength.jsonl").read_text().splitlines()]


def test_calls_are_looked_for_where_that_is_asked(assayed, built, tmp_path):
    package, _, told = assayed
    copied = shutil.copytree(assayed[1], tmp_path / "out")
    assert not any(one["call"] for one in told["survivors"])
    assert "--calls looks for calls" in assay(package, "--out", copied, "--workers", 1).stdout
    done = assay(package, "--out", copied, "--calls", "--json", "--workers", 1)
    of_build = {one["mutant"]: one["call"] for one in built[2]["survivors"]}
    assert {one["mutant"]: one["call"] for one in json.loads(done.stdout)["survivors"]} == of_build


@pytest.mark.parametrize(
    ("given", "due", "fails"),
    [
        (GivenOutcome("value", 90, "90"), GivenOutcome("value", 90.0, "90.0"), False),  # to an ==
        (GivenOutcome("value", 1, "1"), GivenOutcome("value", True, "True"), True),  # to an is
        (GivenOutcome("value", 89, "89"), GivenOutcome("value", 90.0, "90.0"), True),
        (GivenOutcome("value", 0, "0"), GivenOutcome("raised", "ValueError", None), True),
    ],
)
def test_a_line_of_a_test_tells_two_values_apart_as_python_does(given, due, fails):
    assert _fails([given], 0, due) is fails


def test_a_build_tells_survivors_from_the_original_by_calls(built):
    _, out, told = built
    with_a_call = [one for one in told["survivors"] if one["call"]]
    assert len(with_a_call) >= 4
    codes = {
        (row["place"], mutant["id"]): mutant["code"]
        for row in map(json.loads, (out / "mutants.jsonl").read_text().splitlines())
        for mutant in row["mutants"]
    }
    for one in with_a_call:
        for code, right in ((FILES["tool.py"], True), (codes[one["function"], one["mutant"]], False)):
            names = {}
            exec(f"from functools import lru_cache\n{code}", names)  # of this file
            assert eval(one["call"], names) is right, one["call"]
    assert {one["diff"].splitlines()[-1].strip("+ ") for one in with_a_call} >= {
        "if points >= 91:",
        "if points > 75:",
    }


def test_patches_that_solve_nothing_are_told_by_the_verifier_that_pays(built):
    _, _, told = built
    forged = {one["name"]: {*one["believed"]} for one in told["forgeries"]}
    assert len(forged) >= 12 and {one["tried"] for one in told["forgeries"]} == {3}
    assert forged["exit-in-call"] == forged["exit-code"] == {"exit code"}
    assert forged["printed-lines"] == {"exit code", "PASSED lines"}
    assert forged["written-report"] == forged["skip"] == {"exit code", "report"}
    assert forged["report-hook"] == forged["equal-object"] == {"exit code", "PASSED lines", "report"}
    assert forged["system-exit"] == set()
    assert forged["added-conftest"] == {"exit code", "PASSED lines", "report"}
    assert forged["added-skip"] == forged["added-xfail"] == {"exit code", "report"}
    assert forged["added-pytest"] == forged["added-sitecustomize"] == {"exit code"}
    assert forged["added-pytest-ini"] == forged["added-tox-ini"] == forged["added-pth"] == set()


def test_build_and_assay_are_one_measure_and_the_assay_reads_that_of_a_build(assayed, built):
    package, out, told = built
    one = assayed[2]
    assert {**told, "forgeries": [], "survivors": [{**each, "call": ""} for each in told["survivors"]]} == one
    kept = (out / "strength.jsonl").read_bytes()
    done = assay(package, "--out", out, "--json", "--workers", 1)
    assert json.loads(done.stdout) == told and (out / "strength.jsonl").read_bytes() == kept
    rows = lines_of(assayed[1])
    assert [row["function"] for row in rows] == [row["function"] for row in lines_of(out)]
    assert sum(row["killed"] for row in rows) == one["whole"]["killed"]
    assert {row["function"].split()[-1]: row["why_none"] for row in rows if row["why_none"]} == {
        "unused": "no test reaches it"
    }


def test_each_is_one_screen_and_conditions_end_it(assayed, built):
    package, out, _ = assayed
    for done in (
        assay(package, "--out", out, "--workers", 1),
        build(package, "--out", built[1], "--kinds", "write", "--workers", 1),
    ):
        lines = done.stdout.splitlines()
        assert len(lines) <= 30 and all(
            len(line) <= 80 for line in lines if "truegrade run" not in line and "strength.jsonl" not in line
        )
        assert any(line.startswith(("the tests refuse", "  the tests refuse")) for line in lines)
    shown = assay(package, "--out", out, "--workers", 1).stdout
    assert "tool.py:14 grade" in shown and "not seen: 1 function that no test reaches (unused)" in shown
    assert assay(package, "--out", out, "--workers", 1, "--fail-if", "kill<0.999").exit_code == 3
    assert assay(package, "--out", out, "--workers", 1, "--fail-if", "kill<0.1").exit_code == 0
    refused = assay(package, "--out", out, "--fail-if", "J<1")
    assert refused.exit_code == 2 and "kill" in refused.output
    words = (package, "--out", built[1], "--kinds", "write", "--workers", 1, "--fail-if")
    assert build(*words, "forgeable > 3").exit_code == 3 and build(*words, "forgeable > 99").exit_code == 0


def test_of_few_rows_few_functions_are_measured(tmp_path):
    """Twelve functions alike: four are tried for one row, and what was measured is read where more are wanted."""
    names = [f"f{number}" for number in range(12)]
    body = "def {}(x: int) -> int:\n    if x > {}:\n        x = x * 2\n    return x + 1\n"
    tests = "".join(f"def test_{name}():\n    assert [m.{name}(x) for x in range(40)]\n" for name in names)
    checks = "".join(
        f"def test_{name}_is():\n    assert m.{name}(1) == 2 and m.{name}({number}) == {number + 1} and"
        f" m.{name}({number + 1}) == {2 * number + 3}\n"
        for number, name in enumerate(names, 3)
    )
    texts = "\n".join(body.format(name, number) for number, name in enumerate(names, 3))
    files = {"m.py": texts, "test_m.py": f"import m\n{tests}{checks}"}
    package, out = write_package(tmp_path / "package", files), tmp_path / "out"
    few = build(package, "--out", out, "--kinds", "write", "--size", 1, "--workers", 1)
    assert few.exit_code == 0 and len(lines_of(out)) == 4, few.output
    first = (out / "write.jsonl").read_text()
    kept = (out / "mutants.jsonl").read_bytes()
    more = build(package, "--out", out, "--kinds", "write", "--size", 3, "--workers", 1)
    assert more.exit_code == 0 and len(lines_of(out)) == 12
    assert (out / "mutants.jsonl").read_bytes().startswith(kept) and first in (out / "write.jsonl").read_text()
    assert len((out / "mutants.jsonl").read_text().splitlines()) == 12


def test_killed_and_started_again_it_gives_the_same(assayed, tmp_path):
    package, out, _ = assayed
    command = ["assay", "repository", str(package), "--out", str(tmp_path / "out"), "--workers", "1"]
    journal = tmp_path / "out" / "mutants.jsonl"
    signalled(command, lambda: journal.exists() and journal.stat().st_size > 0, signal.SIGKILL)
    assert assay(package, "--out", tmp_path / "out", "--workers", 1).exit_code == 0
    assert lines_of(tmp_path / "out") == lines_of(out)


def test_tests_that_do_not_end_decide_nothing_and_the_others_do(tmp_path, monkeypatch):
    for module in (recording, strength):
        monkeypatch.setattr(module, "TEST_SECONDS", 1)
    test = """
import time
from tool import f

def test_spins():
    while True:
        f(1)

def test_sleeps():
    time.sleep(600)

def test_decides():
    assert f(1) == 1
"""
    package = write_package(tmp_path / "package", {"tool.py": F, "test_it.py": test})
    inventory = take_inventory(read_tree(str(package)), tmp_path / "out")
    with strength.open_sandbox(inventory, 1, allow_unsafe=False) as sandbox:
        survey = strength.survey_tests(inventory, sandbox, tmp_path / "out", 0)
    assert list(survey.took) == ["test_it.py::test_decides"]
    assert survey.undecided == dict.fromkeys(
        ("test_it.py::test_spins", "test_it.py::test_sleeps"), "fails: took more seconds than a test may"
    )


@pytest.mark.parametrize(
    "files, why",
    [
        ({"tool.py": F}, "there are no tests"),
        (
            {"tool.py": F, "test_it.py": "from tool import f\ndef test_f():\n    assert f(1) == 2\n"},
            "no test passes in the sandbox each time",
        ),
        ({"tool.py": F, "test_it.py": "import no_such_module\n"}, "no test could be run"),
    ],
)
def test_where_nothing_can_be_done_one_line_says_why(tmp_path, files, why):
    package = write_package(tmp_path / "package", files)
    done = assay(package, "--out", tmp_path / "out", "--workers", 1)
    assert done.exit_code == 2
    assert why in done.output.strip().splitlines()[-1]


WAYS = {
    "src/ways/__init__.py": "",
    **{
        f"src/ways/{name}.py": f"def {name}(x):\n    if x > 3:\n        x = x * 2 - 5\n    return x\n"
        for name in ("command", "again")
    },
    "tests/test_ways.py": """
import importlib, os, subprocess, sys
import ways
from ways import again, command

def test_each_is_reached():
    assert again.again(1) is not None and command.command(1) is not None

def test_command():
    code = "from ways.command import command as f; assert (f(1), f(5)) == (1, 5), f(5)"
    env = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(ways.__file__))}
    assert subprocess.run([sys.executable, "-c", code], env=env).returncode == 0

def test_again():
    f = importlib.reload(again).again
    assert (f(1), f(5)) == (1, 5)

def test_ends_its_parent():
    os.kill(os.getppid(), 9)
""",
}


def test_mutants_are_seen_by_processes_and_reloads_and_a_test_that_ends_its_parent_ends_nothing(tmp_path):
    package = write_package(tmp_path / "package", WAYS)
    inventory = take_inventory(read_tree(str(package)), tmp_path / "out")
    with strength.open_sandbox(inventory, 1, allow_unsafe=False) as sandbox:
        survey = strength.survey_tests(inventory, sandbox, tmp_path / "out", 0)
        found = strength.measure_functions(
            inventory, survey, strength.StrengthOptions(), sandbox, tmp_path / "out"
        )
    assert survey.undecided == {"tests/test_ways.py::test_ends_its_parent": "fails: ended the process"}
    killers = {one.id.rpartition(".")[2]: {mutant.by for mutant in one.mutants} for one in found}
    assert all(one.killed > 2 for one in found)
    assert "tests/test_ways.py::test_command" in killers["command"]
    assert "tests/test_ways.py::test_again" in killers["again"]


NAMED = """
import pytest
from tool import f

@pytest.mark.parametrize("n", [1, 5], ids=["a - b", "\\u00e9[ x]::y"])
def test_f(n):
    assert f(n) == n
"""


def test_forgeries_are_tried_where_names_of_tests_hold_what_reports_put_between_parts(tmp_path):
    package = write_package(tmp_path / "package", {"tool.py": F, "test_it.py": NAMED})
    assert build(package, "--out", tmp_path / "out", "--workers", 1, "--fail-if", "forgeable < 1").exit_code != 3
    tried = json.loads((tmp_path / "out" / "forgeries.jsonl").read_text().splitlines()[0])
    assert tried["usable"] and tried["believed"]["printed-lines"] == ["exit code", "PASSED lines"]


def test_of_two_lines_about_a_test_the_last_counts(tmp_path):
    """The first is printed by the test, and stands in pytest's report of what it has captured."""
    test = "def test_f():\n    print('PASSED test_it.py::test_f')\n    assert 1 == 2\n"
    given = {
        "files": {"test_it.py": base64.b85encode(test.encode()).decode()},
        "import_root": "", "tests": ["test_it.py::test_f"], "variants": [{}],
    }  # fmt: skip
    command = [sys.executable, "-c", runner_source("forged_runs")]
    done = subprocess.run(
        command, input=json.dumps(given), cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [{"exit code": False, "PASSED lines": False, "report": False}]
