"""Suites of unit tests: what runs, and that nothing forged passes."""

import pytest

from support.forged_suites import forged
from support.thorough import one_in
from truegrade.apps.assay.cheats import CHEATS
from truegrade.grading.functions import TESTS_INSIDE, ReferenceFailed
from truegrade.grading.suite_grading import count_by_suite, grade_by_suite, suite_source
from truegrade.grading.suite_reference import ReferencesShown, reference_beside
from truegrade.records import Reason, SuiteTask
from truegrade.sandbox import Limits, Sandbox

SUMS = """
import unittest

class TestCases(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.start = 2

    def test_typed(self):
        result = add(self.start, 3)
        self.assertIsInstance(result, int)
        self.assertEqual(result, 5)

    def test_each(self):
        for a, b in [(1, 2), (3, 4)]:
            with self.subTest(a=a):
                self.assertEqual(add(a, b), a + b)

    def test_others(self):
        with self.assertRaises(TypeError):
            add(1, "a")
        self.assertAlmostEqual(add(0.1, 0.2), 0.3)
        self.assertTrue(add("ab", "c").startswith("abc"))
        self.assertIn(add(1, 1), [2])

    @unittest.skip("not today")
    def test_later(self):
        self.fail()
"""
ADD = "def add(a, b):\n    return a + b\n"
SPEAKING = """
import os
import unittest
from unittest.mock import patch

def setUpModule():
    os.mkdir("kept")

class TestCases(unittest.IsolatedAsyncioTestCase):
    async def test_waits(self):
        self.assertEqual(await say("x"), {"said": "x"})

    @patch("builtins.print")
    async def test_says(self, said):
        await say("hello")
        said.assert_called_once_with("say:", "hello")

    async def test_file(self):
        await say("y")
        with open("kept/log.txt") as file:
            self.assertIn("y", file.read())
"""
SAY = """
async def say(text):
    print("say:", text)
    with open("kept/log.txt", "a") as file:
        file.write(text)
    return {"said": text}
"""
PYTEST = """
import pytest
from boxes import Box, volume

@pytest.fixture
def box():
    made = Box(2, 3, 4)
    yield made
    made.closed = True

@pytest.mark.parametrize("sides, expected", [((1, 1, 1), 1), ((2, 3, 4), 24)])
def test_volume(sides, expected):
    assert volume(*sides) == expected

def test_box(box, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    box.save("box.txt")
    assert (tmp_path / "box.txt").read_text() == "2x3x4"
    assert box.largest() == pytest.approx(4.0)

class TestSmall:
    def setup_method(self):
        self.side = 1

    def test_refused(self):
        with pytest.raises(ValueError, match="negative"):
            volume(-self.side, 1, 1)

    def test_written(self, capsys):
        Box(1, 1, 1).show()
        assert capsys.readouterr().out == "1x1x1\\n"
"""
BOXES = """
def volume(a, b, c):
    if min(a, b, c) < 0:
        raise ValueError("negative side")
    return a * b * c

class Box:
    def __init__(self, *sides):
        self.sides = sides
    def __str__(self):
        return "x".join(map(str, self.sides))
    def save(self, path):
        with open(path, "w") as file:
            file.write(str(self))
    def largest(self):
        return float(max(self.sides))
    def show(self):
        print(self)
"""


def suite(tests: str, reference: str, entry_point: str, **more) -> SuiteTask:
    return SuiteTask(prompt="", entry_point=entry_point, tests=tests, reference=reference, **more)


SUMS_TASK = suite(SUMS, ADD, "add")
INSIDE_TASK = suite(f"from unittest.mock import patch\n{SUMS}", ADD, "add")
"""The same, and its tests seem to replace parts of the program's process."""
SPEAKING_TASK = suite(SPEAKING, SAY, "say")
BOXES_TASK = suite(PYTEST, BOXES, "volume", framework="pytest", module="boxes")
TASKS = {
    "sums": SUMS_TASK,
    "inside": INSIDE_TASK,
    "speaking": SPEAKING_TASK,
    "boxes": BOXES_TASK,
}


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(Limits(cpu_s=6.0, wall_s=40.0, packages=("numpy", "pytest")), workers=1) as made:
        yield made


@pytest.fixture(scope="module")
def graded(sandbox, tmp_path_factory):
    kept = ReferencesShown(tmp_path_factory.mktemp("suites"))
    return lambda task, program, cpu_s=6.0: grade_by_suite(task, program, kept, sandbox, min_cpu_s=cpu_s)


@pytest.mark.parametrize("name", TASKS)
def test_references_and_other_right_programs_pass(graded, name):
    others = {
        "sums": "import operator\nadd = operator.add\n",
        "inside": "import operator\nadd = operator.add\n",
        "speaking": SAY.replace("    print", "    import builtins\n    builtins.print"),
        "boxes": BOXES.replace("a * b * c", "(a * b) * c + 0"),
    }
    for program in (TASKS[name].reference, others[name]):
        judged = graded(TASKS[name], program)
        inside = () if name == "sums" else (TESTS_INSIDE,)
        assert (judged.reason, judged.marks) == (Reason.PASSED, inside), judged


WRONG = {
    "a wrong value": ("def add(a, b): return 5", Reason.WRONG_ANSWER, ("5 != 3", "the program returned 5")),
    "an exception": ("def add(a, b): return 1 / 0", Reason.RUNTIME_ERROR, ("ZeroDivisionError",) * 2),
    "no such function": ("def plus(a, b): return a + b", Reason.RUNTIME_ERROR, ("NameError",) * 2),
    "no Python": ("def add(a, b:", Reason.SYNTAX_ERROR, ("SyntaxError",) * 2),
    "an exception at import": ("1 / 0", Reason.RUNTIME_ERROR, ("ZeroDivisionError",) * 2),
    "exit": ("import sys\nsys.exit(0)", Reason.RUNTIME_ERROR, ("SystemExit",) * 2),
    "hard exit": ("import os\nos._exit(0)", Reason.RUNTIME_ERROR, ("exit code 0",) * 2),
    "no end": ("while True: pass", Reason.TIME_LIMIT, ("", "")),
    "no memory": ("def add(a, b): return bytearray(1 << 42)", Reason.MEMORY_LIMIT, ("MemoryError",) * 2),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_programs_fail_with_their_reason(graded, name):
    program, reason, (inside, outside) = WRONG[name]
    for task, words in ((INSIDE_TASK, inside), (SUMS_TASK, outside)):
        judged = graded(task, program, 0.5 if reason is Reason.TIME_LIMIT else 6.0)
        assert judged.reason is reason, judged
        assert words in judged.detail, judged


@pytest.mark.parametrize("name", one_in(2, TASKS))
def test_no_forged_program_passes_unmarked(graded, name):
    task = TASKS[name]
    judged = {
        how: graded(task, program, 0.25)
        for how, program in forged(task.entry_point, *(["Box"] if task.module else [])).items()
    }
    passed = [how for how, one in judged.items() if one.passed]
    assert not [how for how in passed if judged[how].marks != (TESTS_INSIDE,)]
    assert not passed or name != "sums"


@pytest.mark.parametrize("turn", one_in(2, range(4)))
def test_no_cheat_of_the_assay_passes(graded, turn):
    cheats = [one for one in CHEATS if "function" in one.forms]
    assert len(cheats) > 40
    passed = [
        one.name
        for one in cheats[turn::4]
        if one.form == "program" and graded(SUMS_TASK, one.write("add", False)).passed
    ]
    assert not passed


def test_a_suite_without_assertions_is_judged_by_what_it_calls(graded):
    tests = "import unittest\nclass TestCases(unittest.TestCase):\n    def test_runs(self):\n        add(1, 2)\n"
    judged = graded(suite(tests, ADD, "add"), ADD)
    assert (judged.reason, judged.marks) == (Reason.PASSED, ())
    assert (
        graded(suite(tests, ADD, "add"), "def add(a, b):\n    raise KeyError(a)\n").reason is Reason.RUNTIME_ERROR
    )


def test_a_suite_that_runs_no_test_is_never_passed(sandbox):
    tests = "import unittest\nclass TestCases(unittest.TestCase):\n    def check(self):\n        add(1, 2)\n"
    with pytest.raises(ReferenceFailed, match="no test was run"):
        task = suite(tests, ADD, "add")
        reference_beside(task, suite_source(task), sandbox)


def test_a_reference_that_fails_is_the_graders_fault(graded):
    judged = graded(suite(SUMS, "def add(a, b): return a", "add"), ADD)
    assert judged.reason is Reason.GRADER_ERROR
    assert "reference" in judged.detail


def test_tests_are_counted(sandbox, tmp_path):
    kept = ReferencesShown(tmp_path)
    for task in (SUMS_TASK, INSIDE_TASK):
        program = "def add(a, b):\n    return 6 if a == 2 or b == 'put' else a + b\n"
        counted = count_by_suite(task, program, kept, sandbox, min_cpu_s=6.0)
        assert (counted.passed, counted.tests) == (2, 4)


def test_what_a_reference_shows_is_found_once_and_kept_on_disk(sandbox, tmp_path, monkeypatch):
    source = suite_source(SUMS_TASK)
    first = ReferencesShown(tmp_path).of(SUMS_TASK, source, sandbox)
    monkeypatch.setattr("truegrade.grading.suite_reference.reference_outside", None)  # it would be called again
    assert ReferencesShown(tmp_path).of(SUMS_TASK, source, sandbox) == first
    (found,) = (path for path in tmp_path.iterdir() if path.suffix != ".lock")
    found.write_bytes(found.read_bytes()[:-1])
    with pytest.raises(TypeError):
        ReferencesShown(tmp_path).of(SUMS_TASK, source, sandbox)
