"""Tests of a repository that decide about answers beside them: what is kept, what they refuse, how it is told."""

import json

import pytest
from click.testing import CliRunner

import truegrade
from support.forging_answers import forgeries_of
from support.repository_package import write_package
from truegrade.apps.repository.build import RepositoryOptions, build_functions, take_inventory
from truegrade.apps.repository.functions import ParsedModule
from truegrade.apps.repository.own_tests import MODULE
from truegrade.apps.repository.source import RepositoryFile, read_tree
from truegrade.apps.repository.suite_text import suite_text
from truegrade.apps.rewards.grader import RewardGrader
from truegrade.apps.rewards.records import PolicyReply
from truegrade.benchmarks import load_benchmark
from truegrade.benchmarks.own_rows import BenchmarkRow
from truegrade.cli import main

CODE = '''
"""Shelves."""
from __future__ import annotations

import functools
import os

LIMIT = 3


class Shelf:
    """Holds things."""

    made = 0

    def __init__(self, *things):
        self.things = list(things)
        if len(self.things) > LIMIT:
            raise ValueError("full")

    def put(self, thing, at=0):
        """Put it somewhere."""
        if len(self.things) >= LIMIT:
            return False
        self.things.insert(at, thing)
        return len(self.things) > 0

    @property
    def room(self):
        """How much more it holds."""
        used = len(self.things)
        return LIMIT - used if used < LIMIT else 0

    @classmethod
    def of(cls, text, joiner=","):
        """A shelf of words."""
        cls.made += 1
        return cls(*[word for word in text.split(joiner) if len(word) > 1])

    @staticmethod
    def label(number):
        return f"{number + 1}/{number * 2}" if number > 2 else "low"

    def _hidden(self):
        return super().__init__()

    def loose(self, number):
        return number * 2 + 1


def both(left, right):
    """One shelf of two."""
    found = Shelf(*left.things)
    for thing in right.things:
        if not found.put(thing, len(found.things)):
            break
    return found


def quiet(shelf):
    """Says nothing of what it is given."""
    return len(shelf.things) * 3 + 1 - 2


def reads(shelf, path):
    with open(path) as file:
        return len(file.read()) * 2 + len(shelf.things) + 1


def known(shelf, word):
    """Words of the package's own file."""
    with open(os.path.join(os.path.dirname(__file__), "words.txt")) as file:
        words = file.read().split()
    return len(shelf.things) + 1 if word in words else len(words) - 4


def reads_bytes(shelf, path):
    with open(path, "rb") as file:
        return len(file.read()) * 3 + len(shelf.things) + 2
'''
HELPERS = "def words(shelf):\n    return ' '.join(map(str, shelf.things))\n"
CONFTEST = """
import pytest
from shelves import Shelf
from .helpers import words


@pytest.fixture
def shelf():
    return Shelf("a", "b")


@pytest.fixture
def told(shelf):
    return lambda: words(shelf)
"""
TESTS = '''
"""Tests."""
from pathlib import Path
import unittest

import pytest

import shelves
from shelves import LIMIT, Shelf
from . import helpers
from .helpers import words as spelled


@pytest.mark.parametrize("at, due", [(0, "x a b"), (1, "a x b"), (2, "a b x")])
def test_put(shelf, told, at, due):
    assert shelf.put("x", at) is True
    assert told() == due
    assert shelf.put("y") is False


def test_put_first():
    empty = Shelf()
    assert empty.put(1) is True
    assert empty.put(2) is True and empty.put(3) is True
    assert empty.things == [3, 2, 1]


class TestShelf(unittest.TestCase):
    def test_room(self):
        self.assertEqual(Shelf().room, 3)
        self.assertEqual([Shelf(*"ab").room, Shelf(*"abc").room], [1, 0])

    def test_of(self):
        before = Shelf.made
        self.assertEqual(Shelf.of("ab,c,de").things, ["ab", "de"])
        self.assertEqual(Shelf.made, before + 1)
        self.assertIs(type(Shelf.of("xy;zz", ";")), Shelf)
        self.assertEqual(Shelf.of("xy;zz", ";").things, ["xy", "zz"])

    def test_label(self):
        self.assertEqual([Shelf.label(n) for n in (0, 2, 3, 7)], ["low", "low", "4/6", "8/14"])


def test_both():
    made = shelves.both(Shelf(1), Shelf(2, 3))
    assert made.things == [1, 2, 3] and len(made.things) == LIMIT
    assert helpers.words(shelves.both(Shelf(1, 2), Shelf(3, 4))) == "1 2 3"
    assert spelled(shelves.both(Shelf(), Shelf())) == ""


def test_quiet(shelf):
    assert shelves.quiet(shelf) is not None
    assert shelf.loose(2) == 5 and shelf.loose(5) == 11


def test_reads(shelf):
    data = Path(__file__).parent / "data.txt"
    assert shelves.reads(shelf, data) == 13


def test_known(shelf):
    assert [shelves.known(shelf, word) for word in ("zig", "zag")] == [3, -3]


def test_reads_bytes(shelf):
    assert shelves.reads_bytes(shelf, Path(__file__).parent / "data.bin") == 7


def test_nothing():
    assert True
'''
FILES = {
    "src/shelves.py": CODE,
    "src/words.txt": "zig",
    "tests/__init__.py": "",
    "tests/conftest.py": CONFTEST,
    "tests/helpers.py": HELPERS,
    "tests/data.txt": "words",
    "tests/test_shelves.py": TESTS,
}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    package = write_package(folder / "package", FILES)
    (package / "tests" / "data.bin").write_bytes(b"\xff")
    told = build(package, folder, "write,repair,complete")
    rows = {kind: [*map(json.loads, (folder / f"{kind}.jsonl").read_text().splitlines())] for kind in told["rows"]}
    return (
        folder,
        rows,
        {one["name"].split()[-1]: one["why"] for one in told["left_out"] if one["kind"] == "write"},
    )


def build(package, folder, kinds):
    """What the command says of a package, as JSON."""
    words = ["data", "build", "repository", str(package), "--out", str(folder), "--kinds", kinds, "--json"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def by_name(rows):
    return {row["id"].removeprefix("shelves.").rpartition("/")[0]: row for row in rows}


def test_methods_and_functions_of_objects_are_problems_of_their_tests(built):
    _, rows, left_out = built
    write = by_name(rows["write"])
    assert set(write) == {
        "Shelf.__init__",
        "Shelf.put",
        "Shelf.room",
        "Shelf.of",
        "Shelf.label",
        "Shelf.loose",
        "both",
        "reads",
        "known",
    }
    assert {row["tags"]["tier"] for row in write.values()} == {"own-tests"}
    assert left_out["Shelf._hidden"].startswith("it uses what only the text of its class has")
    assert left_out["quiet"].startswith("what is kept refuses fewer than half")
    lie = {"data.txt": "words", "tests/data.txt": "words", "src/words.txt": "zig"}
    assert write["reads"]["files"] == write["known"]["files"] == lie
    assert left_out["reads_bytes"].startswith(
        "none of its tests passes beside the answer: test_reads_bytes: FileNot"
    )
    put = write["Shelf.put"]
    assert (put["entry_point"], put["framework"], put["module"]) == ("put", "pytest", MODULE)
    assert "plain function `put`" in put["prompt"] and "self.things.insert" not in put["prompt"]
    assert "class Shelf:" in put["prompt"] and "How much more it holds." in put["prompt"]
    assert put["tags"]["tests_file"] == "tests/test_shelves.py" and float(put["tags"]["strength"]) >= 0.5
    assert int(put["tags"]["mutants"]) >= 5 and "self.things.insert(at, thing)" not in put["prefix"]
    assert put["reference"].startswith("def put(self, thing, at=0):")
    assert "def test_put_first" in put["tests"] and "def test_nothing" not in put["tests"]
    assert "def shelf()" in put["tests"] and "from tests.helpers import words" in put["tests"]
    assert write["Shelf.room"]["reference"].startswith("def room(self):")  # the class keeps its decorator
    repair = by_name(rows["repair"])["Shelf.put"]
    assert repair["reference"] not in repair["prompt"] and "one bug" in repair["prompt"]
    assert "    def put(self, thing, at=0):\n" in repair["prompt"]


def graded(folder, kind, answers):
    """Verdicts of answers, which are pairs of a problem and a program."""
    file = folder / f"answers-{len(answers)}-{kind}.jsonl"
    lines = [json.dumps({"task_id": f"shelves.{name}/{kind}", "solution": code}) for name, code in answers]
    file.write_text("\n".join(lines))
    run = truegrade.grade(file, benchmark=str(folder / f"{kind}.jsonl"), out=file.with_suffix(".run"))
    return run, sorted(run.verdicts(), key=lambda one: (one.problem_id, one.sample))


@pytest.mark.parametrize("kind", ["write", "repair", "complete"])
def test_references_pass_with_the_mark_and_a_report_keeps_the_tiers_apart(built, kind):
    folder, rows, _ = built
    right = [(name, row["reference"]) for name, row in by_name(rows[kind]).items()]
    wrong = [
        (name, f"def {row['entry_point']}(*a, **k):\n    pass\n") for name, row in by_name(rows[kind]).items()
    ]
    run, verdicts = graded(folder, kind, [*right, *wrong])
    assert [one.passed for one in verdicts] == [True, False] * len(right), [one.explanation for one in verdicts]
    assert all("tests-inside" in one.marks and "reads-tests" not in one.marks for one in verdicts if one.passed)
    tiers = {one["tier"]: one for one in run.summary["profiles"][0]["tiers"]}
    assert tiers["outside"]["passes"] == 0
    assert tiers["inside"]["passes"] == len(right)
    assert "share the program's process" in json.dumps(run.summary) or not tiers["inside"]["passes"]


PUT = "def put(self, thing, at=0):\n"
TRUE = PUT + "    return True\n"
REFUSED = {
    **forgeries_of("def put(self, thing, at=0):"),
    "raises the end of pytest": "import pytest\n" + PUT + "    pytest.exit('passed', 0)\n",
    "expects the failure": "import pytest\n" + PUT + "    pytest.xfail('known')\n",
    "skips by pytest": "import pytest\n" + PUT + "    pytest.skip('not here')\n",
    "skips the module": "import pytest\npytest.skip('not here', allow_module_level=True)\n" + TRUE,
    "asks what stands for it": "import shelves\n" + PUT + "    return shelves.Shelf.put(self, thing, at)\n",
    "replaces the class": "import shelves\nshelves.Shelf = type('Shelf', (), {})\n" + TRUE,
    "defines its own tests": TRUE + "\ndef test_put():\n    assert True\n",
    "a call that swallows exceptions": "import _pytest.runner as r\nwas = r.CallInfo.from_call.__func__\n"
    "r.CallInfo.from_call = classmethod(lambda cls, func, when, reraise=None: was(cls, lambda: None, when))\n"
    + TRUE,
}  # fmt: skip
LABELLED = {
    "tests that pass whatever happens": "import _pytest.python as p\np.Function.runtest = lambda _: None\n" + TRUE,
    "no failures reported": "import _pytest.reports as t\nt.TestReport.failed = property(lambda _: 0)\n" + TRUE,
}  # fmt: skip
"""What a run beside the tests cannot refuse."""


@pytest.fixture(scope="module")
def forged(built):
    answers = [("Shelf.put", code) for code in (REFUSED | LABELLED).values()]
    run, verdicts = graded(built[0], "write", answers)
    return run, dict(zip(REFUSED | LABELLED, verdicts, strict=True))


@pytest.mark.parametrize("forgery", REFUSED)
def test_a_forgery_is_refused(forged, forgery):
    verdict = forged[1][forgery]
    assert not verdict.passed and verdict.reason != "grader_error", verdict


def test_a_forgery_that_reaches_into_pytest_passes_with_marks_and_not_in_the_headline(forged):
    run, verdicts = forged
    assert all(verdicts[name].passed for name in LABELLED)
    assert all({"tests-inside", "reads-tests"} <= {*verdicts[name].marks} for name in LABELLED)
    told = run.summary["profiles"][0]
    assert told["estimates"][0]["value"] == 0 and all(tier["passes"] == 0 for tier in told["tiers"])


def test_the_same_bytes_twice_and_as_many_by_tier_as_the_command_says(built, tmp_path):
    folder, rows, _ = built
    told = build(folder / "package", tmp_path, "write")
    assert (tmp_path / "write.jsonl").read_bytes() == (folder / "write.jsonl").read_bytes()
    assert told["rows"]["write"] == told["tiers"]["write"]["own-tests"] == len(rows["write"])


def test_rows_are_suites_that_everything_reads(built):
    folder, rows, _ = built
    loaded = load_benchmark(str(folder / "write.jsonl"))
    assert len(loaded.problems) == len(rows["write"])
    assert {problem.task.framework for problem in loaded.problems} == {"pytest"}
    assert set(rows["write"][0]) <= set(BenchmarkRow.__struct_fields__)


def test_a_row_is_a_ground_truth_of_rewards(built):
    _, rows, _ = built
    row = rows["write"][0]
    replies = [
        PolicyReply(text=code, form="program", ground_truth=json.dumps(row))
        for code in (row["reference"], f"def {row['entry_point']}(*args, **kwargs): pass")
    ]
    with RewardGrader(workers=1, tests_inside=True) as grader:
        assert [one.value for one in grader.grade_sync(replies)] == [1.0, 0.0]
    with RewardGrader(workers=1) as grader:  # where tests in the program's process are not to be paid
        assert not any(one.value for one in grader.grade_sync(replies))


def test_tests_that_a_class_inherits_from_another_file_cost_their_function_alone(tmp_path):
    files = {
        "pkg.py": "def f(items):\n    items.append(len(items) * 2 + 1 if len(items) < 3 else 4)\n"
        "\n\ndef g(n):\n    n += 2\n    return [n, -n]\n",
        "common.py": "import pkg\n\nclass Common:\n    def test_f(self):\n        assert pkg.f([]) is None\n",
        "test_pkg.py": "import common\n\nclass TestAll(common.Common):\n    pass\n",
        "test_g.py": "import pkg\n\ndef test_g():\n    assert pkg.g(object.__new__(int)) == [2, -2]\n",
    }
    inventory = take_inventory(read_tree(str(write_package(tmp_path / "tree", files))), tmp_path)
    built = build_functions(inventory, RepositoryOptions(kinds=("write",)), tmp_path, workers=1)
    why = {one.name.rpartition(" ")[2]: one.why for _, one in built.left_out}
    assert "its tests cannot stand in one file" in why["f"] and "one file" not in why.get("g", "")


TWO_FILES = {
    "m.py": """
def scaled(thing, by=2, least=0):
    value = thing.value * by
    if value < least:
        value = least + 1
    return value - 1
""",
    "conftest.py": """
import pytest
import m

@pytest.fixture(autouse=True)
def in_doctests(doctest_namespace):
    doctest_namespace["m"] = m
""",
    "test_a.py": """
from types import SimpleNamespace
import pytest
import m

def thing(value):
    return SimpleNamespace(value=value)

@pytest.mark.parametrize("n", range(30))
def test_scaled(n):
    assert m.scaled(thing(n)) == n * 2 - 1

def test_by():
    assert m.scaled(thing(4), 5) == 19
""",
    "test_b-2.py": """
import m

class thing:
    def __init__(self, text):
        self.value = len(text)

def test_scaled():
    assert m.scaled(thing("ab"), least=9) == 9
    assert m.scaled(thing("ab"), least=4) == 3
""",
}
IGNORES = "def scaled(thing, by=2, least=0):\n    return thing.value * by - 1\n"


def test_what_tests_of_another_file_refuse_is_refused(tmp_path):
    told = build(write_package(tmp_path / "tree", TWO_FILES), tmp_path, "write")
    assert told["tiers"]["write"] == {"own-tests": 1}, told["left_out"]
    row = json.loads((tmp_path / "write.jsonl").read_text())
    assert row["tags"]["tests_file"] == "test_b-2.py test_a.py" and row["tags"]["strength_of_suite"] != "0.000"
    assert row["tags"]["mutants"] == "10"  # of twenty; the others put the smaller file first
    assert "def test_scaled_2" in row["tests"] and "def thing_2" in row["tests"]
    answers = [{"task_id": row["id"], "solution": code} for code in (row["reference"], IGNORES)]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, answers)))
    run = truegrade.grade(
        tmp_path / "answers.jsonl", benchmark=str(tmp_path / "write.jsonl"), out=tmp_path / "run"
    )
    assert [one.passed for one in sorted(run.verdicts(), key=lambda one: one.sample)] == [True, False]


def modules(**files):
    made = []
    for name, text in files.items():
        file = RepositoryFile(path=f"{name}.py", dotted=name, text=text, is_package=False, is_generated=False)
        made.append([ParsedModule(file)])
    return made


def test_names_that_two_files_share_are_changed_where_they_mean_something_else():
    shared = "import os\nfrom x import y\n\ndef helper():\n    return os\n"
    first, second = modules(
        a=f"{shared}N = 1\ndef test_a():\n    assert helper() and N\n",
        b=f"{shared}N = 2\nclass TestB:\n    N = 3\n    def test_a(self):\n        assert self.N and N\n",
    )
    text = suite_text([(first, {"test_a"}), (second, {"TestB.test_a"})], exact=True)
    assert text.count("def helper") == text.count("import os") == 1
    assert "N = 1\n" in text and "N_2 = 2\n" in text and "assert self.N and N_2" in text


def test_a_fixture_of_the_same_name_is_changed_with_the_parameters_that_ask_for_it():
    fixture = (
        "import pytest\n@pytest.fixture\ndef made():\n    return {}\ndef test_{}(made):\n    assert made == {}\n"
    )
    first, second = modules(a=fixture.format(1, "a", 1), b=fixture.format(2, "b", 2))
    text = suite_text([(first, {"test_a"}), (second, {"test_b"})], exact=True)
    assert "def made_2():" in text and "def test_b(made_2):\n    assert made_2 == 2" in text
    assert "def test_a(made):\n    assert made == 1" in text


def test_a_text_that_equals_a_name_stays_and_one_that_asks_for_a_fixture_changes():
    fixture = "import pytest\n@pytest.fixture\ndef made():\n    return {}\n"
    asking = (
        "@pytest.mark.usefixtures('made')\n@pytest.mark.parametrize('n, made', [('made', 1)], indirect=['made'])\n"
        "def test_b(n, made, request):\n    assert n == 'made' and request.getfixturevalue('made')\n"
    )
    first, second = modules(
        a=f"{fixture.format(1)}def test_a(made):\n    assert made\n", b=fixture.format(2) + asking
    )
    text = suite_text([(first, {"test_a"}), (second, {"test_b"})], exact=True)
    assert "usefixtures('made_2')" in text and "('n,made_2', [('made', 1)], indirect=['made_2'])" in text
    assert "(n, made_2, request):\n    assert n == 'made' and request.getfixturevalue('made_2')" in text


def test_a_test_of_the_same_text_is_another_one_where_a_name_in_it_is():
    test = "import pytest\n@pytest.mark.parametrize('n', CASES)\ndef test_a(n):\n    assert n\n"
    first, second = modules(a=f"CASES = [1]\n{test}", b=f"CASES = [2]\n{test}")
    text = suite_text([(first, {"test_a"}), (second, {"test_a"})], exact=True)
    assert "('n', CASES_2)\ndef test_a_2(n):" in text and "('n', CASES)\ndef test_a(n):" in text


def test_marks_and_fixtures_of_a_whole_file_hold_for_its_own_tests():
    head = "import pytest\npytestmark = pytest.mark.slow\n"
    fixture = "@pytest.fixture(autouse=True)\ndef clean():\n    yield\n"
    first, second = modules(
        a=f"{head}{fixture}def test_a():\n    pass\n", b="class TestB:\n    def test_b(self):\n        pass\n"
    )
    text = suite_text([(first, {"test_a"}), (second, {"TestB.test_b"})], exact=True)
    asking = "@__import__('pytest').mark.usefixtures('clean')\n@pytest.mark.slow\ndef test_a"
    assert asking in text and "autouse" not in text and "pytestmark" not in text and "\nclass TestB" in text
    assert text.count("usefixtures") == 1
    assert "pytestmark = " in suite_text([(first, {"test_a"})], exact=True), "one file is as it is"


@pytest.mark.parametrize(
    "second",
    [
        "made = 2\ndef test_b():\n    assert globals()['made']\n",
        "made = 2\ndef test_b():\n    global made\n    made = 3\n",
    ],
)
def test_files_whose_names_cannot_be_changed_do_not_go_together(second):
    first = "import pytest\n@pytest.fixture\ndef made():\n    return 1\ndef test_a(made):\n    assert made\n"
    files = modules(a=first, b=second)
    with pytest.raises(ValueError, match="cannot be changed"):
        suite_text([(files[0], {"test_a"}), (files[1], {"test_b"})], exact=True)
