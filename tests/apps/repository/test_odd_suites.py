"""Suites and sources as one finds them: each oddity costs no more than itself, and what is said of it is true."""

import ast
import json
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

import truegrade
from support.repository_package import write_package
from truegrade.cli import main

MODULE = '''
"""A module with functions that share names with methods."""


def items(pairs):
    """Those with a value.

    >>> items({"a": 1, "b": 0, "c": -3})
    ['a', 'c']
    """
    found = []
    for name in sorted(pairs):
        if pairs[name] != 0:
            found.append(name)
    return found


def keys(text):
    """The words in front of the first colons."""
    found = {}
    for number, line in enumerate(text.split(";")):
        head, _, rest = line.partition(":")
        if rest:
            found[head] = number + len(rest)
    return found


def placed(a, b=4, /, c=6):
    """Weight."""
    total = a * b
    total = total - c
    return total if total > -3 else 0


class Sum:
\t"""A sum."""

\tdef __init__(self, start):
\t\tself.value = start

\tdef add(self, number):
\t\t"""Add it twice."""
\t\tself.value += number * 2
\t\tif self.value > 50:
\t\t\tself.value = 50 - number
\t\treturn self.value
'''
TESTS = """
import os
import unittest

import pytest

from .. import Sum, items, keys, placed


class TestParts(unittest.TestCase):
    def test_items(self):
        for given, due in (({"a": 1, "b": 0}, ["a"]), ({"b": 2, "a": 5}, ["a", "b"]), ({}, [])):
            with self.subTest(given=given):
                self.assertEqual(items(given), due)


def test_keys():
    assert keys("a:1;b;c:22") == {"a": 1, "c": 4} and keys("x") == {} and keys("a:;b:3") == {"b": 2}
    assert keys("q:rs;t:u") == {"q": 2, "t": 2}


def test_placed():
    assert placed(1) == -2 and placed(3, 5) == 9 and placed(-9) == 0 and placed(2, 2, c=1) == 3


def test_ends():
    os._exit(0)


def test_add(start):
    assert Sum(start).add(4) == 38


def test_add_to_much(start):
    assert Sum(start + 20).add(1) == 49 and Sum(start).add(10) == 50
"""
FILES = {
    "pyproject.toml": '[project]\nname = "odd"\nversion = "1"\n',
    "src/odd/__init__.py": MODULE,
    "src/odd/test/__init__.py": "",
    "src/odd/test/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef start():\n    return 3\n",
    "src/odd/test/test_odd.py": (f"{TESTS}\n\n@pytest.fixture\ndef start(start):\n    return start * 10\n"),
    "src/odd/test/more[1]/test_more.py": "def test_more():\n    assert False\n",
}
WRONG = {
    "odd.items": "def items(pairs):\n    return sorted(pairs)\n",
    "odd.keys": "def keys(text):\n    return {}\n",
    "odd.placed": "def placed(a, b=5, /, c=6):\n    total = a * b - c\n    return total if total > -3 else 0\n",
    "odd.Sum.add": "def add(self, number):\n    self.value += number * 2\n    return self.value\n",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd")
    tree = write_package(folder / "tree", FILES)
    done = CliRunner().invoke(main, ["data", "build", "repository", str(tree), "--out", str(folder / "out")])
    assert done.exit_code == 0, done.stderr + done.stdout
    return folder / "out", done


def rows_of(built, kind):
    lines = (built[0] / f"{kind}.jsonl").read_text().splitlines()
    return {row["tags"]["function"]: row for row in map(json.loads, lines)}


def test_what_cannot_run_is_named_and_the_rest_runs(built):
    said = re.sub(r"\s+", " ", built[1].stderr)
    assert "src/odd/test/test_odd.py::test_ends fails in the sandbox: it ends the process that runs it" in said
    assert "more[1]/test_more.py fails in the sandbox: pytest takes no path with [ or ::" in said
    # A test with parts is one test.
    assert "5 functions in 1 module, 5 reached by 5 tests" in built[1].stdout


def test_every_function_becomes_a_problem(built):
    rows = rows_of(built, "write")
    tiers = {name: row["tags"]["tier"] for name, row in rows.items()}
    assert tiers == dict.fromkeys(("odd.items", "odd.keys", "odd.placed"), "outside") | {
        "odd.Sum.add": "own-tests"
    }
    assert all(float(row["tags"]["strength_of_suite"]) > 0.5 for row in rows.values())  # parts that fail count
    assert "items({'a': 1, 'b': 0, 'c': -3})" in rows["odd.items"]["tests"]  # which its docstring shows
    assert "placed(1)" in rows["odd.placed"]["tests"]


def test_references_pass_outside_and_wrong_answers_do_not(built, tmp_path):
    rows = rows_of(built, "write")
    answers = tmp_path / "answers.jsonl"
    answers.write_text(
        "".join(
            json.dumps({"task_id": row["id"], "solution": program}) + "\n"
            for name, row in rows.items()
            for program in (row["reference"], WRONG[name])
        )
    )
    run = truegrade.grade(answers, benchmark=str(built[0] / "write.jsonl"), out=tmp_path / "run")
    for verdict in run.verdicts():
        assert verdict.passed == (verdict.sample == 0), verdict
        if verdict.passed:
            inside = rows[verdict.problem_id.removesuffix("/write")]["tags"]["tier"] == "own-tests"
            assert ("tests-inside" in verdict.marks) == inside, verdict


def test_a_mutant_in_a_file_with_tabs_is_python(built):
    prompt = rows_of(built, "repair")["odd.Sum.add"]["prompt"]
    ast.parse(re.search(r"```python\n(.*?)```", prompt, re.DOTALL)[1])


def test_a_conftest_that_cannot_be_loaded_is_named(tmp_path):
    tree = write_package(
        tmp_path / "tree",
        {"m.py": "def f(x):\n    return x\n", "conftest.py": "import no_such", "test_m.py": "import m"},
    )
    done = CliRunner().invoke(main, ["data", "build", "repository", str(tree), "--out", str(tmp_path / "out")])
    assert "No module named 'no_such'" in done.stderr and "exit code" not in done.stderr


def test_plain_pytest_passes_the_suite(tmp_path):
    """The files above are right: all but the one that ends its process, and the one of no path, pass."""
    write_package(tmp_path, FILES)
    file = "src/odd/test/test_odd.py"
    asked = ["-q", "-p", "no:cacheprovider", file, "--deselect", f"{file}::test_ends"]
    done = subprocess.run([sys.executable, "-m", "pytest", *asked], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "5 passed" in done.stdout, done.stdout
