"""Suites of unit tests: what runs, what is controlled, and that nothing forged passes."""

import ast
import random

import msgspec
import pytest

from support.forged_suites import forged
from truegrade.assay.cheats import cheats_for
from truegrade.grading.functions import TESTS_INSIDE, ReferenceFailed
from truegrade.grading.suite_assertions import Edit, SuiteSource
from truegrade.grading.suite_controls import RECHECKS, ControlsKept, find_controls
from truegrade.grading.suite_grading import count_by_suite, grade_by_suite, suite_source
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
TASKS = {"sums": SUMS_TASK, "inside": INSIDE_TASK, "speaking": SPEAKING_TASK, "boxes": BOXES_TASK}


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(Limits(cpu_s=6.0, wall_s=40.0, packages=("numpy", "pytest")), workers=1) as made:
        yield made


@pytest.fixture(scope="module")
def graded(sandbox, tmp_path_factory):
    kept = ControlsKept(tmp_path_factory.mktemp("controls"))
    return lambda task, program: grade_by_suite(task, program, kept, sandbox, min_cpu_s=6.0)


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
        marks = () if name == "sums" else (TESTS_INSIDE,)
        assert (judged.reason, judged.marks) == (Reason.PASSED, marks), judged


@pytest.mark.parametrize("name", TASKS)
def test_every_assertion_of_these_suites_has_a_decisive_control(sandbox, name):
    found = find_controls(TASKS[name], suite_source(TASKS[name]), sandbox)
    assert found.coverage == "full"
    assert len(found.controls) == {"sums": 7, "inside": 7, "speaking": 3, "boxes": 5}[name]
    assert found.tests == {"sums": "PPPS-", "inside": "PPPS-", "speaking": "PPP-", "boxes": "PPPP-"}[name]


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
        judged = graded(task, program)
        assert judged.reason is reason, judged
        assert words in judged.detail, judged


@pytest.mark.parametrize("name", TASKS)
def test_no_forged_program_passes(graded, name):
    task = TASKS[name]
    passed = [
        how
        for how, program in forged(task.entry_point, *(["Box"] if task.module else [])).items()
        if graded(task, program).passed
    ]
    assert not passed


def test_a_liar_is_told_from_a_wrong_program(graded):
    program = forged("add")["polite liar"]
    only = "    def test_others(self):"
    judged = graded(suite(INSIDE_TASK.tests.replace(only, "    def helper(self):"), ADD, "add"), program)
    assert judged.reason is Reason.TAMPERING
    assert "changed" in judged.detail
    judged = graded(suite(SUMS.replace(only, "    def helper(self):"), ADD, "add"), program)
    assert judged.reason is Reason.WRONG_ANSWER


@pytest.mark.parametrize("turn", range(4))
def test_no_cheat_of_the_assay_passes(graded, turn):
    cheats = cheats_for("function")
    assert len(cheats) > 40
    passed = [
        one.name
        for one in cheats[turn::4]
        for task in (SUMS_TASK, INSIDE_TASK)
        if one.form == "program" and graded(task, one.write("add", False)).passed
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
        find_controls(suite(tests, ADD, "add"), SuiteSource(tests, {"add"}), sandbox)


def test_a_reference_that_fails_is_the_graders_fault(graded):
    judged = graded(suite(SUMS, "def add(a, b): return a", "add"), ADD)
    assert judged.reason is Reason.GRADER_ERROR
    assert "reference" in judged.detail


def test_tests_are_counted(sandbox):
    counted = count_by_suite(SUMS_TASK, "def add(a, b): return 5", sandbox, cpu_s=6.0)
    assert (counted.passed, counted.tests) == (1, 4)


def test_controls_are_found_once_and_kept_on_disk(sandbox, tmp_path, monkeypatch):
    source = suite_source(SUMS_TASK)
    first = ControlsKept(tmp_path).of(SUMS_TASK, source, sandbox)
    monkeypatch.setattr("truegrade.grading.suite_controls.found_outside", None)  # it would be called again
    assert ControlsKept(tmp_path).of(SUMS_TASK, source, sandbox) == first
    (found,) = tmp_path.iterdir()
    found.write_bytes(found.read_bytes()[:40])
    with pytest.raises(TypeError):
        ControlsKept(tmp_path).of(SUMS_TASK, source, sandbox)


DRAWN = """
import unittest
class TestCases(unittest.TestCase):
    def test_drawn(self):
        self.assertIn(draw(), ["x", "y"])
        self.assertIn(len(draw()), [1])
"""
DRAW = "import random\ndef draw():\n    return random.choice('xy')\n"


def test_a_change_that_the_reference_fails_only_now_and_then_accuses_nobody(sandbox, tmp_path, monkeypatch):
    task = suite(f"from unittest.mock import patch\n{DRAWN}", DRAW, "draw")
    found = find_controls(task, suite_source(task), sandbox)
    nodes = list(ast.walk(suite_source(task).tree))
    (place,) = [at for at, one in enumerate(nodes) if isinstance(one, ast.Constant) and one.value == "x"]
    unsteady = msgspec.structs.replace(found.controls[0], edit=Edit(((place, "'z'"),), True))
    crafted = msgspec.structs.replace(found, controls=(unsteady, *found.controls[1:]))
    monkeypatch.setattr("truegrade.grading.suite_controls.find_controls", lambda *_: crafted)
    left = set()
    for turn in range(12):
        kept = ControlsKept(tmp_path / str(turn))
        judged = grade_by_suite(task, f"{DRAW}# {turn}\n", kept, sandbox, min_cpu_s=6.0)
        assert (judged.reason, judged.marks) == (Reason.PASSED, (TESTS_INSIDE,)), judged
        left.add(kept.of(task, suite_source(task), sandbox).decisive)
    assert left == {1, 2}  # where two runs of the program differed, the change was left out


def test_a_reference_that_never_differs_is_run_again_twice_at_most(sandbox, tmp_path):
    kept = ControlsKept(tmp_path)
    task = suite(INSIDE_TASK.tests.replace("    def test_others(self):", "    def helper(self):"), ADD, "add")
    program = forged("add")["polite liar"]
    accused = [grade_by_suite(task, f"{program}# {turn}", kept, sandbox, min_cpu_s=6.0) for turn in range(3)]
    assert {judged.reason for judged in accused} == {Reason.TAMPERING}
    assert kept.known(task, level=sandbox.level).rechecks == RECHECKS


NAMED = """
import unittest
from unittest.mock import patch
class TestCases(unittest.TestCase):
    def test_named(self):
        expected = {EXPECTED}
        self.assertEqual(box(), expected, f"expected {expected}")
"""


@pytest.mark.parametrize("value", ["{'a': 1}", "[1, 2]", "(1, 2)", "{1, 2}", "'ab'", "12", "sorted([3, 1])"])
def test_an_expected_value_that_is_used_twice_is_changed_where_it_is_compared(graded, sandbox, value):
    task = suite(NAMED.replace("{EXPECTED}", value), f"def box():\n    return {value}\n", "box")
    assert find_controls(task, suite_source(task), sandbox).coverage == "full"
    assert graded(task, task.reference).passed
    assert graded(task, forged("box")["polite liar"]).reason is Reason.TAMPERING


def test_an_assertion_that_is_meant_to_fail_is_no_control(graded, sandbox):
    tests = SUMS.replace(
        "    def test_each",
        "    def test_differs(self):\n        with self.assertRaises(AssertionError):\n"
        "            self.assertEqual(add(1, 2), 4)\n\n    def test_each",
    )
    task = suite(tests, ADD, "add")
    assert graded(task, ADD).passed
    found = find_controls(task, suite_source(task), sandbox)
    assert (found.coverage, len(found.controls)) == ("full", 8)


def test_patterns_cover_every_control_and_differ_between_programs(sandbox):
    found = find_controls(SUMS_TASK, suite_source(SUMS_TASK), sandbox, salt=b"known")
    drawn = {tuple(found.patterns(f"program {number}")) for number in range(50)}
    assert all(one | other == frozenset(range(7)) and not one & other for one, other in drawn)
    assert len(drawn) > 30
    assert found.patterns(ADD) == found.patterns(ADD)


GIVEN = """
import unittest
class TestCases(unittest.TestCase):
    def test(self):
        given = [7, 8]
        expected = [9, 10]
        result = total(given, 11)
        self.assertEqual(result, expected)
        self.assertEqual(total([12], 13), 14, 'message 15')
        self.assertAlmostEqual(result[16], 17.5, delta=200.0)
"""


def test_what_the_program_is_given_is_not_changed():
    nodes = list(ast.walk(ast.parse(GIVEN)))
    seen = set()
    for seed in range(20):
        found = SuiteSource(GIVEN, {"total"}).assertions(random.Random(seed))
        assert len(found) == 3
        seen |= {ast.unparse(nodes[place]) for one in found for edit in one.edits for place, _ in edit.places}
        ((_, other),) = found[2].edits[0].places
        assert abs(float(other) - 17.5) > 400
    assert not seen & {"7", "8", "11", "12", "13", "'message 15'", "200.0"}
    assert seen >= {"9", "10", "14", "17.5"}
