"""Doctests as a part of a suite: which ones pytest is asked for, and that they decide about answers."""

import json

import pytest
from click.testing import CliRunner

from support.repository_package import write_package
from truegrade.apps.repository.doctests import doctest_arguments, doctest_files
from truegrade.apps.repository.source import read_modules, read_tree
from truegrade.cli import main

MODULE = '''"""Bags of letters."""
import json


class Bag:
    """A bag.

    >>> from json import dumps
    >>> dumps(Bag("abc").count())
    '3'
    """

    def __init__(self, text):
        self.text = text

    def count(self, most=9):
        """How many letters it has.

        >>> Bag("abcabc").count(4)
        4
        >>> Bag("  ").count()   # doctest: +SKIP
        7
        """
        found = len(self.text)
        found = min(found, most)
        return found * 1 + 0

    def twice(self, sep="-"):
        """The letters twice.

        >>> Bag("ab").twice()
        'ab-...'
        >>> Bag("a").twice("+")
        'a+a'
        """
        if len(self.text) > 100:
            return self.text
        return self.text + sep + self.text

    def made(self):
        """Another one of its class.

        >>> Bag("ab").made().text
        'ab!1'
        """
        number = len(self.text) - 1
        other = self.__class__(self.text + "!" + str(number))
        return other
'''
README = """
A page
======

    >>> from pkg.bags import Bag
    >>> Bag("").count(-2)
    -2
"""
FILES = {
    "pkg/__init__.py": "",
    "pkg/bags.py": MODULE,
    "README.rst": README,
    "tests/test_bags.py": "from pkg.bags import Bag\n\n\ndef test_count():\n    assert Bag('a').count() == 1\n",
}
TABLE = "[tool.pytest.ini_options]\n"


@pytest.mark.parametrize(
    ("configured", "due"),
    [
        ({}, []),
        ({"pytest.ini": "[pytest]\naddopts = --doctest-modules\n"}, ["pkg/bags.py"]),
        ({"pytest.ini": "[pytest]\naddopts = --doctest-modules\ntestpaths = tests\n"}, []),
        ({"pytest.ini": "[pytest]\naddopts = --doctest-modules\ntestpaths = tests pkg/\n"}, ["pkg/bags.py"]),
        ({"tox.ini": "[testenv]\ncommands =\n    pytest --doctest-modules {posargs}\n"}, ["pkg/bags.py"]),
        ({"setup.cfg": "[tool:pytest]\naddopts = --doctest-glob='*.rst'\n"}, ["README.rst"]),
        (
            {"pyproject.toml": f"{TABLE}addopts = ['--doctest-glob', '*.rst', '--doctest-modules']\n"},
            ["README.rst", "pkg/bags.py"],
        ),
        ({"tests/test_text.txt": ">>> 1\n1\n"}, ["tests/test_text.txt"]),
    ],
)  # fmt: skip
def test_doctests_belong_to_the_suite_where_the_configuration_says_so(tmp_path, configured, due):
    tree = read_tree(str(write_package(tmp_path, {**FILES, **configured})))
    modules, _ = read_modules(tree)
    assert doctest_files(tree, modules) == due
    assert doctest_arguments(tree, modules)[2:][-len(due) or 9 :] == due


def test_what_doctests_alone_refuse_is_refused(tmp_path):
    """Those of a class, of its methods and of a page, with the flags of the configuration."""
    options = "[pytest]\naddopts = --doctest-modules --doctest-glob=*.rst\n"
    options += "doctest_optionflags = ELLIPSIS ALLOW_UNICODE\n"
    place = write_package(tmp_path / "tree", {**FILES, "pytest.ini": options})
    out = tmp_path / "out"
    built = CliRunner().invoke(main, ["data", "build", "repository", str(place), "--out", str(out), "--verbose"])
    assert built.exit_code == 0, built.output
    rows = {row["id"]: row for row in map(json.loads, (out / "write.jsonl").read_text().splitlines())}
    assert {*rows} == {f"pkg.bags.Bag.{name}/write" for name in ("count", "twice", "made")}
    assert "README.rst" in rows["pkg.bags.Bag.count/write"]["tags"]["tests_file"]
    answers = {
        "count": {
            "return min(len(self.text), most)": True,
            "return len(self.text)": False,  # by its docstring
            "return max(0, min(len(self.text), most))": False,  # by the page
            "return str(min(len(self.text), most))": False,
        },
        "twice": {"return sep.join([self.text] * 2)": True, "return self.text + '-' + self.text": False},
        "made": {"return Bag(f'{self.text}!{len(self.text) - 1}')": True, "return self": False},
    }
    heads = {"count": "most=9", "twice": "sep='-'", "made": ""}
    wrong = tmp_path / "answers.jsonl"
    told = [
        {"task_id": f"pkg.bags.Bag.{name}/write", "solution": f"def {name}(self, {heads[name]}):\n    {body}\n"}
        for name, bodies in answers.items()
        for body in bodies
    ]
    wrong.write_text("".join(json.dumps(one) + "\n" for one in told))
    graded = CliRunner().invoke(
        main,
        ["grade", str(wrong), "-b", str(out / "write.jsonl"), "--out", str(tmp_path / "run")],
    )
    assert graded.exit_code == 0, graded.output
    (file,) = (tmp_path / "run").glob("verdicts.*.jsonl")
    verdicts = [one for one in map(json.loads, file.read_text().splitlines()) if "problem_id" in one]
    passed = {(one["problem_id"], one["sample"]): one["reason"] == "passed" for one in verdicts}
    assert passed == {
        (f"pkg.bags.Bag.{name}/write", number): due
        for name, bodies in answers.items()
        for number, due in enumerate(bodies.values())
    }
    assert any('example: Bag("").count(-2) Expected: -2 Got: 0' in one.get("detail", "") for one in verdicts)


def test_doctests_of_a_namespace_package_ask_for_fixtures_and_functions_named_test_are_none(tmp_path):
    code = '''
def saved(text, folder, times=2):
    """
    >>> folder = getfixture("tmp_path")
    >>> saved("ab", folder, 3)
    9
    >>> saved("", folder)
    1
    """
    path = folder / "x"
    path.write_text(text * times)
    size = len(path.read_text())
    return size + times if size else 1


def tested(n):
    return n
'''
    files = {
        "src/acme/unit/__init__.py": "",
        "src/acme/unit/num.py": code,
        "tests/test_no.py": "def test(): pass\n",
    }
    files["tox.ini"] = "[testenv]\ncommands = pytest --doctest-modules src tests\n"
    out = tmp_path / "out"
    place = str(write_package(tmp_path / "tree", files))
    built = CliRunner().invoke(main, ["data", "build", "repository", place, "--out", str(out)])
    assert built.exit_code == 0 and "fails in the sandbox" not in built.output, built.output
    (row,) = map(json.loads, (out / "write.jsonl").read_text().splitlines())
    assert row["id"] == "acme.unit.num.saved/write" and row["tags"]["tier"] == "own-tests"


def test_a_suite_of_doctests_alone_makes_problems_of_methods(tmp_path):
    files = {"pkg/__init__.py": "", "pkg/bags.py": MODULE.replace("'ab-...'", "'ab-ab'")}
    out = tmp_path / "out"
    place = str(write_package(tmp_path / "tree", files))
    built = CliRunner().invoke(main, ["data", "build", "repository", place, "--out", str(out)])
    assert built.exit_code == 0, built.output
    ids = [json.loads(line)["id"] for line in (out / "write.jsonl").read_text().splitlines()]
    assert "pkg.bags.Bag.twice/write" in ids
