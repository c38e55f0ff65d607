"""Suites that pytest runs: tests end in the jail, and in the judge's process, as by the command ``pytest``."""

import json
import os
import subprocess
import sys

import msgspec
import pytest

from support.pytest_features import FEATURES, SUBJECT
from truegrade.errors import UserError
from truegrade.grading.suite_grading import grade_by_suite, suite_source
from truegrade.grading.suite_reference import ReferencesShown
from truegrade.grading.suite_runs import outside_suite, run_suite
from truegrade.pipeline.verdicts import limits_for
from truegrade.profiles import open_profile
from truegrade.records import FunctionTask, Problem, Reason, SuiteTask
from truegrade.sandbox import Limits, Sandbox

RECORDS = """
import json
ended = []

def pytest_runtest_logreport(report):
    expected = "xfail" in report.keywords and hasattr(report, "wasxfail")
    letter = {"passed": "P", "skipped": "H" if expected else "S", "failed": "F"}[report.outcome]
    if report.when == "call" or letter != "P" or report.skipped:
        ended.append((report.nodeid.partition("::")[2], letter))

def pytest_sessionfinish():
    with open("ended.json", "w") as file:
        json.dump(ended, file)
"""


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(Limits(cpu_s=20.0, packages=("numpy", "pytest")), workers=1) as made:
        yield made


def suite(tests: str, **more) -> SuiteTask:
    told = {
        "prompt": "",
        "entry_point": "double",
        "reference": SUBJECT,
        "framework": "pytest",
        "module": "subject",
    }
    return SuiteTask(tests=tests, **told, **more)


def letters(task: SuiteTask, tests: str) -> dict[str, str]:
    return dict(zip(suite_source(task).names, tests, strict=False))


def by_command(folder, tests: str) -> dict[str, str]:
    """The outcome of each test over its parameter sets and heirs, as the runner has it, by pytest in a folder."""
    for name, text in {"subject.py": SUBJECT, "test_it.py": tests, "conftest.py": RECORDS}.items():
        (folder / name).write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir=."]
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=folder, env=alone, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    found: dict[str, str] = {}
    for node, letter in json.loads((folder / "ended.json").read_text()):
        name = node.partition("[")[0].replace("::", ".")
        name = name if name == "TestHeir.test_own_passes" else name.replace("TestHeir.", "TestClass.")
        before = found.get(name, letter)
        found[name] = "H" if {before, letter} == {"S", "P"} else max(before, letter, key="SPHF".index)
    return found


def test_each_test_ends_as_by_the_command(sandbox, tmp_path):
    due, task = by_command(tmp_path, FEATURES), suite(FEATURES)
    run = run_suite(task, suite_source(task), SUBJECT, sandbox, tests=FEATURES)
    got = {name: letter.replace("E", "F") for name, letter in letters(task, run.tests).items() if letter != "-"}
    assert got == {name: letter for name, letter in due.items() if not name.startswith("TestClass.TestInner")}
    assert len(got) > 50 and {*got.values()} == {"P", "H", "F", "S"}


def test_a_parameter_set_that_a_program_has_skipped_is_not_passed(sandbox):
    tests = "import pytest\nfrom subject import double\n@pytest.mark.parametrize('n', [1, 2])\n"
    task = suite(f"{tests}def test_it(n):\n    assert double(n) == 2 * n\n")
    skipping = "import pytest\ndef double(n):\n    return 2 if n == 1 else pytest.skip('no')\n"
    run = run_suite(task, suite_source(task), skipping, sandbox, tests=task.tests)
    assert run.tests == "H-"


def test_a_test_that_the_reference_passes_against_its_mark_is_not_passed_by_failing_as_marked(sandbox, tmp_path):
    tests = "import pytest\nfrom subject import double\n@pytest.mark.xfail\n"
    tests += "def test_it():\n    assert double(3) == 6\n"
    task = suite(f"{tests}def test_more():\n    assert double(1) == 2\n")
    kept = ReferencesShown(tmp_path)
    for program, passes in ((SUBJECT, True), ("def double(n):\n    return 2\n", False)):
        judged = grade_by_suite(task, program, kept, sandbox, min_cpu_s=20.0)
        assert judged.passed is passes, judged


CODE = """
import pytest
from subject import Counter, double

@pytest.fixture(params=[1, 2])
def counter(request):
    yield Counter().add(request.param)

@pytest.mark.parametrize("number, twice", [(1, 2), (0.15, pytest.approx(0.3))])
def test_double(number, twice):
    assert double(number) == twice

def test_counter(counter, tmp_path):
    assert counter.add(2).total > 2 and tmp_path.is_dir()

class TestRefused:
    def test_none(self):
        with pytest.raises(TypeError, match="unsupported"):
            double(None)

    @pytest.mark.xfail(strict=True)
    def test_wrong(self):
        assert double(1) == 3

@pytest.mark.skip
def test_skipped():
    double(1)
"""
WRONG = SUBJECT.replace("number * 2", "2 * (number or 0)")


def test_outside_the_tests_end_as_beside_the_program(sandbox):
    task = suite(CODE)
    source, outside = suite_source(task), outside_suite(task, suite_source(task))
    for program, due in ((SUBJECT, "PPPHS"), (WRONG, "PPFHS")):
        inside = run_suite(task, source, program, sandbox, tests=CODE)
        told = outside.run(program, sandbox, 20.0)
        assert inside.tests == told.tests == f"{due}-", (inside, told)
        assert (told.reason, inside.reason) == ((Reason.WRONG_ANSWER,) * 2 if "F" in due else (Reason.PASSED,) * 2)
        assert "F" not in due or "test_none: AssertionError: DID NOT RAISE" in inside.detail


@pytest.mark.parametrize(
    ("tests", "words"),
    [
        ("def test_it(mocker):\n    pass\n", "fixture 'mocker' not found"),
        (
            "import pytest\n@pytest.mark.parametrize('a', [1])\ndef test_it():\n    pass\n",
            "function uses no argument",
        ),
        ("async def test_it():\n    pass\n", "not natively supported"),
        ("import pytest\ndef test_it():\n    pytest.exit('now')\n", "pytest ended early: now"),
    ],
    ids=["plugin", "collection", "asynchronous", "exit"],
)
def test_what_pytest_alone_does_not_do_never_passes(sandbox, tests, words):
    more = "def test_more():\n    assert True\n"
    task = suite(tests + more)
    run = run_suite(task, suite_source(task), SUBJECT, sandbox, tests=task.tests)
    assert run.reason is not Reason.PASSED and words in run.detail, run


SAID = {
    "a skip by pytest": (
        (
            "import pytest\nfrom subject import double\n@pytest.mark.skipif(True, reason='needs a net')\n"
            "def test_it():\n    double(1)\n"
        ),
        "pytest", "no test was run; test_it was skipped: needs a net (",
    ),
    "a skip in a test": (
        "import pytest\nfrom subject import double\ndef test_it():\n    pytest.skip('needs a net')\n",
        "pytest", "no test was run; test_it was skipped: needs a net (",
    ),
    "a skip by unittest": (
        (
            "import unittest\nfrom subject import double\nclass Test(unittest.TestCase):\n"
            "    @unittest.skip('needs a net')\n    def test_it(self):\n        double(1)\n"
        ),
        "unittest", "no test was run; Test.test_it was skipped: needs a net (",
    ),
    "a strict xfail": (
        (
            "import pytest\nfrom subject import double\n@pytest.mark.xfail(strict=True, reason='known')\n"
            "def test_it():\n    assert double(1) == 2\ndef test_more():\n    assert double(1) == 2\n"
        ),
        "pytest", "test_it: AssertionError: [XPASS(strict)] known",
    ),
    "an expected failure": (
        (
            "import unittest\nfrom subject import double\nclass Test(unittest.TestCase):\n"
            "    @unittest.expectedFailure\n    def test_it(self):\n        double(1)\n"
            "    def test_more(self):\n        double(1)\n"
        ),
        "unittest", "Test.test_it: it passed, and was expected to fail",
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", SAID)
def test_what_no_line_of_a_test_shows_is_said_by_its_name(sandbox, how):
    tests, framework, words = SAID[how]
    task = msgspec.structs.replace(suite(tests), framework=framework)
    source = suite_source(task)
    inside = run_suite(task, source, SUBJECT, sandbox, tests=tests)
    outside = outside_suite(task, source).run(SUBJECT, sandbox, 20.0)
    for run in (inside, outside):
        assert run.reason is Reason.WRONG_ANSWER and run.detail.startswith(words), run


def test_no_file_beside_the_program_steers_pytest(sandbox):
    steers = {"conftest.py": "def pytest_collection_modifyitems(items):\n    items.clear()\n",
              "pytest.ini": "[pytest]\naddopts = --collect-only\n"}  # fmt: skip
    tests = "from subject import double\n\ndef test_it():\n    assert double(1) == 3\n"
    task = suite(tests, files=steers)
    program = f"import os\nos.environ['PYTEST_ADDOPTS'] = '--collect-only'\n{SUBJECT}"
    assert run_suite(task, suite_source(task), program, sandbox, tests=tests).tests == "F-"


def test_without_pytest_the_extra_is_named(monkeypatch):
    strict = open_profile("strict")
    told = {"id": "p", "benchmark": "b", "dataset_sha256": "0", "cluster": "p"}
    function = FunctionTask(prompt="", entry_point="f", tests="import pytest\nassert f() == 1\n", reference="")
    by_pytest = [Problem(task=suite(CODE), **told), Problem(task=function, **told)]
    plain = Problem(task=SuiteTask(prompt="", entry_point="f", tests="import unittest", reference=""), **told)
    for problem in by_pytest:
        assert limits_for(strict, [problem]).packages == (*strict.limits.packages, "pytest")
    monkeypatch.setitem(sys.modules, "pytest", None)
    assert limits_for(strict, [plain]).packages == strict.limits.packages
    for problem in by_pytest:
        with pytest.raises(UserError, match=r"pip install 'truegrade\[pytest\]'"):
            limits_for(strict, [problem])
