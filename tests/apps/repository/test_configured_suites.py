"""What a suite's configuration says holds beside the answer, and so does what a test puts into the module."""

import json

import pytest
from click.testing import CliRunner

import truegrade
from support.repository_package import write_package
from truegrade.apps.repository.doctests import doctest_files
from truegrade.apps.repository.source import configured, options_of_pytest, read_modules, read_tree, suite_files
from truegrade.cli import main

MODULE = '''
"""Boxes."""
import warnings

STRICT = False


class Box:
    """A box."""

    def __init__(self):
        self.items = []

    def put(self, item, at=None):
        """Put an item in, and say where."""
        if item in self.items:
            if STRICT:
                raise ValueError("there already")
            return self.items.index(item)
        if at is None:
            at = len(self.items)
        if at < 0:
            at = 0
        self.items.insert(at, item)
        return at
'''
TESTS = """
from unittest import mock

import pytest
from boxes import Box

def it_puts():
    b = Box()
    assert [b.put("a"), b.put("b", at=-1), b.put("c", at=1), b.put("d", at=0)] == [0, 0, 1, 0]
    assert b.items == ["d", "b", "c", "a"] and b.put("e") == 4

class DescribeTwice:
    def it_is_strict(self):
        b = Box()
        b.put("a")
        with pytest.raises(ValueError):
            b.put("a")

    @mock.patch("boxes.STRICT", False)
    def it_may_be_lax(self):
        b = Box()
        b.put("a")
        b.put("q")
        assert b.put("q") == 1
"""
FILES = {
    "pytest.ini": '[pytest]\naddopts = -W "error::UserWarning"\nusefixtures = strict\n'
    "python_functions = test it_\npython_classes = Test Describe\n",
    "boxes.py": MODULE,
    "tests/conftest.py": "import pytest\nimport boxes\n\n@pytest.fixture\ndef strict(monkeypatch):\n"
    '    monkeypatch.setattr(boxes, "STRICT", True)\n',
    "tests/test_box.py": TESTS,
}
RIGHT = MODULE.partition("    def put")[2]
WRONG = {
    "it warns": RIGHT.replace("        if at is None:", '        warnings.warn("x")\n        if at is None:'),
    "it is lax": RIGHT.replace("if STRICT:", "if False:"),
    "it is strict": RIGHT.replace("if STRICT:", "if True:"),
    "it puts at the end": RIGHT.replace("insert(at, item)", "append(item)"),
}


def test_what_the_configuration_asks_of_tests_decides(tmp_path):
    tree = write_package(tmp_path / "tree", FILES)
    done = CliRunner().invoke(main, ["data", "build", "repository", str(tree), "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.stderr + done.stdout
    (row,) = map(json.loads, (tmp_path / "out/write.jsonl").read_text().splitlines())
    assert row["id"] == "boxes.Box.put/write" and row["tags"]["tests"] == "3"
    answers = {"it is right": RIGHT, **WRONG}
    rows = tmp_path / "answers.jsonl"
    given = [{"task_id": row["id"], "solution": f"def put{each}"} for each in answers.values()]
    rows.write_text("\n".join(map(json.dumps, given)))
    run = truegrade.grade(rows, benchmark=str(tmp_path / "out/write.jsonl"), out=tmp_path / "run")
    passed = {name: verdict.passed for name, verdict in zip(answers, run.verdicts(), strict=True)}
    assert passed == {name: name == "it is right" for name in answers}


INI_OPTIONS = r"""[tool.pytest.ini_options]
python_files = "check_*.py"
addopts = "-ra --doctest-glob=\"*.rst\""
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest.toml", "[pytest]\npython_files = ['check_*.py']\naddopts = ['--doctest-glob', '*.rst']\n"),
        ("pyproject.toml", "[tool.pytest]\npython_files = ['check_*.py']\naddopts = ['--doctest-glob=*.rst']\n"),
        ("pyproject.toml", INI_OPTIONS),
        ("setup.cfg", "[tool:pytest]\npython_files = check_*.py\naddopts =\n  -ra\n  --doctest-glob '*.rst'\n"),
        ("tox.ini", "[pytest]\npython_files = check_*.py\n[testenv]\ncommands = pytest --doctest-glob=*.rst\n"),
    ],
)  # fmt: skip
def test_every_file_that_configures_pytest_is_read(tmp_path, name, text):
    files = {name: text, "m.py": "x = 1\n", "check_m.py": "def test():\n    pass\n", "README.rst": ">>> 1\n1\n"}
    tree = read_tree(str(write_package(tmp_path, files)))
    assert suite_files(tree) == ["check_m.py"] and doctest_files(tree, ()) == ["README.rst"]
    assert options_of_pytest(tree, "--doctest-glob") == ["*.rst"]


def test_options_are_read_as_pytest_reads_them(tmp_path):
    said = '-Werror -W "ignore:a b" --import-mode="importlib" --doctest-modules -q'
    told = f"[pytest]\naddopts = {said}\nfilterwarnings =\n  error\n  ignore:x y\n"
    tree = read_tree(str(write_package(tmp_path, {"pytest.ini": told, "m.py": ""})))
    assert options_of_pytest(tree, "-W") == ["error", "ignore:a b"]
    assert options_of_pytest(tree, "--import-mode") == ["importlib"]
    assert options_of_pytest(tree, "--doctest-modules") == ["--doctest-modules"]
    assert configured(tree, "filterwarnings", by_line=True) == ["error", "ignore:x y"]


def test_examples_that_tests_run_by_hand_are_doctests(tmp_path):
    tests = "import doctest, m\ndef test():\n    assert not doctest.testmod(m)[0]\n"
    tree = read_tree(str(write_package(tmp_path, {"m.py": '"""\n>>> 1\n1\n"""\n', "test_m.py": tests})))
    assert doctest_files(tree, read_modules(tree)[0]) == ["m.py"]
