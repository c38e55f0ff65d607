"""What the linters say in this process is what they say on the command line, wherever one stands."""

import ast
import json
import subprocess
import sys

import pytest

from truegrade.errors import UserError
from truegrade.grading.static_findings import MAX_CHARS, MAX_LINE, UNSCANNED, Linter

PROGRAMS = {
    "clean": "def f(n):\n    return n + 1\n",
    "no-newline": "def f(n):\n    return n + 1",
    "untidy": "import os,sys\ndef f( n ):\n  x=1\n  y = lambda:0 \n  return n==None\n\n\n\n\nz = undefined\n",
    "long": "x = '" + "a" * 90 + "'\nl = 1\n",
    "waived": "import os  # noqa\nimport sys  # noqa: E501\nx=1  # noqa: E225\n",
    "waived-string": 'x = """\ntrailing \n' + "b" * 90 + '\n"""  # noqa: W291\n',
    "waived-file": "# flake8: noqa\nimport os\n",
    "crlf": "def f(n):\r\n    return n\r\n",
    "tabs": "def f(n):\n\treturn n\n",
    "redefined": "def f():\n    pass\n\n\ndef f():\n    a = 1\n    f''\n    '%s' % (1, 2)\n",
    "empty": "",
}
DANGEROUS = (
    "import pickle\nimport subprocess\n\nsubprocess.call(input(), shell=True)\neval('1')\nx = 'a'\nassert x\n"
)
SHARED_KINDS = (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)
BINARY = "+,-,*,/,//,%,@,**,<<,>>,|,&,^,and,or,==,!=,<,<=,>,>=,is,in,is not,not in"
OPERATORS = [
    *(f"a {sign} b\n" for sign in BINARY.split(",")),
    *(f"{sign} a\n" for sign in "+-~"),
    "not a\n",
    "a = b\ndel a\n",
]


@pytest.fixture(scope="module")
def linter():
    return Linter()


def checked(linter, code):
    return linter.check(ast.parse(code), code)


@pytest.mark.slow
def test_flake8_reports_the_same(linter, tmp_path):
    for name, code in PROGRAMS.items():
        (tmp_path / f"{name}.py").write_bytes(code.encode())
    command = [sys.executable, "-m", "flake8", "--isolated", "--disable-noqa", "--format=%(path)s %(code)s", "."]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout.splitlines()
    for name, code in PROGRAMS.items():
        expected = sorted(line.split()[1] for line in said if line.startswith(f"./{name}.py "))
        assert sorted(checked(linter, code).style) == expected, name
    assert len(said) > 20


@pytest.mark.slow
def test_bandit_reports_the_same(linter, tmp_path):
    (tmp_path / "program.py").write_text(DANGEROUS)
    command = [sys.executable, "-m", "bandit", "-f", "json", "-q", "program.py"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout
    expected = sorted(issue["issue_severity"] for issue in json.loads(said)["results"])
    assert list(checked(linter, DANGEROUS).security) == expected
    assert {"LOW", "MEDIUM", "HIGH"} <= set(expected)


def test_the_working_folder_s_configuration_is_not_read(tmp_path, monkeypatch):
    (tmp_path / "setup.cfg").write_text(
        "[flake8]\nignore = W\n[pycodestyle]\nignore = W292,E\nmax-line-length=10\n"
    )
    (tmp_path / "tox.ini").write_text("[pep8]\nmax-line-length = 10\n")
    (tmp_path / ".bandit").write_text("[bandit]\nskips = B307,B602\n")
    (tmp_path / "candidate.py").write_text("import os\n")
    monkeypatch.chdir(tmp_path)
    linter = Linter()
    assert checked(linter, PROGRAMS["no-newline"]).style == ("W292",)
    assert "HIGH" in checked(linter, DANGEROUS).security


WAIVERS = {
    "as it is": DANGEROUS,
    "comments": DANGEROUS.replace("\n", "  # noqa # nosec # type: ignore # pylint: skip-file\n"),
    "noqa of a file": "# flake8: noqa\n# noqa\n# nopep8\n# pylint: skip-file\n" + DANGEROUS,
    "a codec in which a string swallows the program": "# coding: unicode_escape\n# \\n'''\n"
    + DANGEROUS
    + "# \\n'''\n",
    "a codec that hides names": "# -*- coding: utf-7 -*-\n" + DANGEROUS,
    "no such codec": "# coding: nothing\n" + DANGEROUS,
    "byte order mark": "\ufeff# coding: latin-1\n" + DANGEROUS,
}


@pytest.mark.parametrize("way", WAIVERS)
def test_a_program_cannot_waive_its_findings(linter, way):
    plain = checked(linter, DANGEROUS)
    assert {"HIGH", "MEDIUM", "LOW"} <= set(plain.security) and "E401" not in plain.style
    found = linter.check(ast.parse(DANGEROUS), WAIVERS[way])
    assert found.security == plain.security
    assert set(plain.style) <= set(found.style)


@pytest.mark.parametrize("style", ["x=1", "x = 1 ", "if x == None:\n    pass", 'x = """\ntrailing \n"""'])
def test_no_comment_makes_pycodestyle_look_away(linter, style):
    plain = checked(linter, f"{style}\n").style
    assert plain
    for waiver in ("# noqa", "# NOPEP8", "#noqa", "# flake8: noqa", "# pycodestyle: noqa"):
        assert set(plain) - {"W291"} <= set(checked(linter, f"{style}  {waiver}\n").style), waiver


def test_the_text_is_not_executed(linter, tmp_path):
    path = tmp_path / "written"
    checked(linter, f"open({str(path)!r}, 'w')\nraise SystemExit\n")
    assert not path.exists()


def test_nesting_that_a_linter_gives_up_on_is_a_finding(linter):
    deep = checked(linter, "x = " + "-" * 900 + "1\n")
    assert deep.style == (UNSCANNED,) and not deep.complete
    assert linter.check(ast.parse("x = 1"), "x = 1\0").security == (UNSCANNED,)
    assert linter.check(ast.parse("x = 1"), "x = (1\n").style == (UNSCANNED,)
    assert checked(linter, "x = 1\n").complete


@pytest.mark.parametrize("code", ["x = " + " " * MAX_LINE + "1\n", "x = 1\n" * (MAX_CHARS // 6 + 1)])
def test_what_would_take_a_linter_minutes_is_not_scanned(linter, code):
    found = checked(linter, code)
    assert (found.style, found.security) == ((UNSCANNED,), (UNSCANNED,))


def test_a_check_that_raises_is_not_a_check_that_found_nothing(linter, monkeypatch, capfd):
    def fails(*_: object) -> None:
        raise IndexError

    monkeypatch.setattr("bandit.core.context.Context.call_function_name_qual", property(fails))
    assert checked(linter, "eval('1')\n").security == (UNSCANNED,)
    assert capfd.readouterr() == ("", "")


def test_without_the_tools_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pycodestyle", None)
    with pytest.raises(UserError, match=r"pip install 'truegrade\[evolve\]'"):
        Linter()


def test_nothing_is_imported_before_it_is_used():
    code = (
        "import sys, truegrade.apps.evolve.objectives, truegrade.profiles.coralx;"
        "print([m for m in ('flake8', 'bandit', 'pyflakes', 'pycodestyle') if m in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "[]\n"


def test_a_scan_leaves_no_trace_in_trees_of_other_programs(linter):
    every = [kind for base in SHARED_KINDS for kind in base.__subclasses__() if kind.__module__ == "ast"]
    parsed = {type(node): node for text in OPERATORS for node in ast.walk(ast.parse(text))}
    shared = [parsed[kind] for kind in every if kind in parsed]
    assert len(shared) > 30
    for text in OPERATORS:
        checked(linter, text)
    assert [node for node in shared if vars(node)] == []
