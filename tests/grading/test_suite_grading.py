"""Suites of unit tests: what runs, what is controlled, and that nothing forged passes."""

import ast
import marshal
import math

import pytest

from support.forged_suites import forged
from support.thorough import one_in
from truegrade.apps.assay.cheats import CHEATS
from truegrade.grading.functions import TESTS_INSIDE, ReferenceFailed
from truegrade.grading.marks import chance_of
from truegrade.grading.suite_assertions import SuiteSource
from truegrade.grading.suite_controls import ControlsKept, chance_of_all, draw_versions, find_controls
from truegrade.grading.suite_grading import count_by_suite, grade_by_suite, suite_source
from truegrade.grading.suite_versions import Versions, versions_of
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


PLAIN = """
import unittest
from unittest.mock import patch

class TestCases(unittest.TestCase):
    def test_numbers(self):
        self.assertEqual(add(40, 1271), 1311)
        self.assertEqual(add(0.25, 0.5), 0.75)

    def test_texts(self):
        self.assertEqual(add("over", "view"), "overview")
        assert add("in", "put") == "input"
        with self.assertRaises(TypeError):
            add(1, "a")
"""


def suite(tests: str, reference: str, entry_point: str, **more) -> SuiteTask:
    return SuiteTask(prompt="", entry_point=entry_point, tests=tests, reference=reference, **more)


SUMS_TASK = suite(SUMS, ADD, "add")
INSIDE_TASK = suite(f"from unittest.mock import patch\n{SUMS}", ADD, "add")
"""The same, and its tests seem to replace parts of the program's process."""
PLAIN_TASK = suite(PLAIN, ADD, "add")
"""Every assertion can be shown in several versions."""
SPEAKING_TASK = suite(SPEAKING, SAY, "say")
BOXES_TASK = suite(PYTEST, BOXES, "volume", framework="pytest", module="boxes")
TASKS = {
    "sums": SUMS_TASK,
    "inside": INSIDE_TASK,
    "plain": PLAIN_TASK,
    "speaking": SPEAKING_TASK,
    "boxes": BOXES_TASK,
}


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(Limits(cpu_s=6.0, wall_s=40.0, packages=("numpy", "pytest")), workers=1) as made:
        yield made


@pytest.fixture(scope="module")
def graded(sandbox, tmp_path_factory):
    kept = ControlsKept(tmp_path_factory.mktemp("controls"))
    return lambda task, program, cpu_s=6.0: grade_by_suite(task, program, kept, sandbox, min_cpu_s=cpu_s)


@pytest.mark.parametrize("name", TASKS)
def test_references_and_other_right_programs_pass(graded, name):
    others = {
        "sums": "import operator\nadd = operator.add\n",
        "inside": "import operator\nadd = operator.add\n",
        "plain": "import operator\nadd = operator.add\n",
        "speaking": SAY.replace("    print", "    import builtins\n    builtins.print"),
        "boxes": BOXES.replace("a * b * c", "(a * b) * c + 0"),
    }
    for program in (TASKS[name].reference, others[name]):
        judged = graded(TASKS[name], program)
        inside = (
            () if name == "sums" else (TESTS_INSIDE, "controls:0.0069") if name == "plain" else (TESTS_INSIDE,)
        )
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
    for task, words in ((INSIDE_TASK, inside), (SUMS_TASK, outside), (PLAIN_TASK, "")):
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
    assert not passed or name not in {"sums", "plain"}


def test_a_liar_is_told_from_a_wrong_program(graded):
    judged = graded(PLAIN_TASK, forged("add")["polite liar"])
    assert judged.reason is Reason.TAMPERING
    assert "changed" in judged.detail
    assert graded(PLAIN_TASK, "def add(a, b):\n    return b + a\n").reason is Reason.WRONG_ANSWER


@pytest.mark.parametrize("turn", one_in(2, range(4)))
def test_no_cheat_of_the_assay_passes(graded, turn):
    cheats = [one for one in CHEATS if "function" in one.forms]
    assert len(cheats) > 40
    passed = [
        one.name
        for one in cheats[turn::4]
        for task in (SUMS_TASK, PLAIN_TASK)
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


def test_tests_are_counted(sandbox, tmp_path):
    kept = ControlsKept(tmp_path)
    for task, tests in ((SUMS_TASK, 4), (PLAIN_TASK, 2)):
        program = "def add(a, b):\n    return 6 if a == 2 or b == 'put' else a + b\n"
        counted = count_by_suite(task, program, kept, sandbox, min_cpu_s=6.0)
        assert (counted.passed, counted.tests) == (tests - 2 + (task is PLAIN_TASK), tests)


def test_controls_are_found_once_and_kept_on_disk(sandbox, tmp_path, monkeypatch):
    source = suite_source(SUMS_TASK)
    first = ControlsKept(tmp_path).of(SUMS_TASK, source, sandbox)
    monkeypatch.setattr("truegrade.grading.suite_controls.found_outside", None)  # it would be called again
    assert ControlsKept(tmp_path).of(SUMS_TASK, source, sandbox) == first
    (found,) = (path for path in tmp_path.iterdir() if path.suffix != ".lock")
    found.write_bytes(found.read_bytes()[:-1])
    with pytest.raises(TypeError):
        ControlsKept(tmp_path).of(SUMS_TASK, source, sandbox)


DRAWN = """
import unittest
from unittest.mock import patch
class TestCases(unittest.TestCase):
    def test_drawn(self):
        self.assertIn(draw(), [30, 40])
        self.assertEqual(len(str(draw())), 2)
"""
DRAW = "import random\ndef draw():\n    return random.choice([30, 40])\n"


def test_a_suite_with_an_assertion_that_the_reference_fails_only_now_and_then_has_no_chance(graded, sandbox):
    task = suite(DRAWN, DRAW, "draw")
    assert find_controls(task, suite_source(task), sandbox).controls == ()
    for turn in range(12):
        judged = graded(task, f"{DRAW}# {turn}\n")
        assert (judged.reason, judged.marks) == (Reason.PASSED, (TESTS_INSIDE,)), judged


UNDECIDED = {
    "a loop": ("for a in (4, 5):\n    self.assertEqual(add(a, 7), a + 7)", "in a loop"),
    "a condition": ("if add(4, 7):\n    self.assertEqual(add(4, 7), 11)", "in a loop, a condition"),
    "a helper": ("self.helper(add(4, 7))", "a helper"),
    "parts of a test": ("with self.subTest(a=1):\n    [self.assertEqual(add(4, 7), 11)]", "other statements"),
    "a predicate": ("self.assertTrue(isinstance(add(4, 7), int))", "nothing that can be changed"),
    "an opposite": ("self.assertNotEqual(add(4, 7), 12)", "no change that the reference fails"),
    "a call to fail": ("if add(4, 7) != 11:\n    self.fail()", "other statements"),
    "no value of the program": ("add(4, 7)\nself.assertEqual(len('abcdefghijk'), 11)", "what the program returns"),
    "truth alone": ("self.assertEqual(add(4, 7) > 3, True)", "can be guessed"),
    "a bound": ("self.assertLess(add(4, 7), 12)", ""),
}


@pytest.mark.parametrize("name", UNDECIDED)
def test_no_chance_is_claimed_where_an_assertion_is_not_decisive(sandbox, name):
    body, why = UNDECIDED[name]
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    more = "    def helper(self, value):\n        self.assertEqual(value, 11)\n" * (name == "a helper")
    counted = PLAIN * (name not in {"truth alone", "a bound"}) or PLAIN[: PLAIN.index("    def test_numbers")]
    task = suite(f"{counted}\n    def test_more(self):\n{lines}{more}", ADD, "add")
    found = find_controls(task, suite_source(task), sandbox)
    assert found.controls == () and found.chance == 1, found
    assert why in found.why


def test_at_level_2_no_chance_is_claimed(sandbox):
    with Sandbox(workers=1, max_level=2) as shared:
        found = find_controls(PLAIN_TASK, suite_source(PLAIN_TASK), shared)
    assert (found.controls, found.chance) == ((), 1) and "no runs apart" in found.why
    assert find_controls(PLAIN_TASK, suite_source(PLAIN_TASK), sandbox).chance < 1


def test_each_set_of_parameters_is_a_turn_of_its_own_and_covered_by_none(sandbox):
    found = find_controls(BOXES_TASK, suite_source(BOXES_TASK), sandbox)
    assert found.controls == () and "volume(*sides) == expected" in found.why


def versions(block: str, size: int, original: int) -> Versions:
    return Versions(tuple(map(str, range(size))), original, block)


def test_the_chance_is_that_of_naming_the_originals_of_disjoint_blocks():
    assert chance_of_all([versions(str(d), m + 1, d % 2) for m in (3,) for d in range(8)]) == 4.0**-8
    assert chance_of_all([versions("a", 4, 1), versions("a", 4, 1)]) == 1 / 4  # the same guess
    assert chance_of_all([versions("a", 4, 1), versions("a", 4, 2), versions("b", 2, 0)]) == 1 / (4 * 3 * 2)
    assert chance_of_all([versions("", 4, 1)]) == 1
    assert chance_of("controls:6.1e-05") == 6.1e-05
    assert chance_of(TESTS_INSIDE) is None


def test_every_assertion_shows_each_version_once_and_no_run_is_the_unchanged_one():
    sizes, orders = [4, 4, 3, 2], set()
    for _ in range(200):
        runs = draw_versions(sizes)
        orders.add(tuple(map(tuple, runs)))
        shown = [sorted({run[number] for run in runs}) for number in range(4)]
        assert len(runs) == 4 and shown == [[*range(size)] for size in sizes]
    assert len(orders) > 190
    assert {place for runs in orders for place, run in enumerate(runs) if run[0] == 0} == {0, 1, 2, 3}


def test_the_same_versions_are_found_again_and_hold_no_trace_of_the_original(sandbox):
    source = suite_source(PLAIN_TASK)
    first, again = (find_controls(PLAIN_TASK, source, sandbox) for _ in range(2))
    assert first.controls == again.controls and math.isclose(first.chance, 1 / 144)
    for one in first.controls:
        if not one.versions.block:
            continue
        for other in one.versions.sources:  # as if it were the original
            changed = source.compiled({}, {one.constant: other}, "watch")
            text = ast.unparse(ast.parse(PLAIN)).replace(one.versions.sources[one.versions.original], other)
            assert changed == marshal.dumps(compile(text, "__test__.py", "exec", dont_inherit=True))
            task = suite(text, ADD, "add")
            twin = suite_source(task)
            places = {each.place: each.choices[0] for each in twin.assertions()}
            chosen = [each.choices[0] for each in twin.assertions()]
            elsewhere = twin.elsewhere(chosen, "add")
            assert versions_of(places[one.place], elsewhere).sources == one.versions.sources


def test_nothing_is_run_again_because_of_what_a_program_did(sandbox, tmp_path, monkeypatch):
    kept, runs = ControlsKept(tmp_path), []
    grade_by_suite(PLAIN_TASK, ADD, kept, sandbox, min_cpu_s=6.0)
    inside = sandbox.inside
    monkeypatch.setattr(sandbox, "inside", lambda *given, **named: runs.append(1) or inside(*given, **named))
    for program, due in (
        (ADD, 4),
        ("def add(a, b): return 7", 4),
        ("1 / 0", 1),
        (forged("add")["polite liar"], 4),
    ):
        runs.clear()
        grade_by_suite(PLAIN_TASK, program, kept, sandbox, min_cpu_s=6.0)
        assert 1 <= len(runs) <= due, program


SKIPS = """
import unittest
def skipping(name):
    old = getattr(unittest.TestCase, name)
    def held(self, *given, **named):
        try:
            return old(self, *given, **named)
        except AssertionError:
            raise unittest.SkipTest
    setattr(unittest.TestCase, name, held)
skipping("assertEqual")
"""


def test_a_test_passes_that_passes_in_every_run(graded):
    assert not graded(PLAIN_TASK, SKIPS + ADD).passed
    assert graded(PLAIN_TASK, f"import unittest\n{ADD}").passed


def test_an_assertion_that_is_meant_to_fail_is_no_control(graded, sandbox):
    tests = SUMS.replace(
        "    def test_each",
        "    def test_differs(self):\n        with self.assertRaises(AssertionError):\n"
        "            self.assertEqual(add(1, 2), 4)\n\n    def test_each",
    )
    task = suite(tests, ADD, "add")
    assert graded(task, ADD).passed
    assert "assertEqual(add(1, 2), 4)" not in "".join(
        suite_source(task).text(one.place) for one in suite_source(task).assertions()
    )


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
    found = SuiteSource(GIVEN, {"total"}).assertions()
    assert len(found) == 3
    seen = {ast.unparse(nodes[choice.place]) for one in found for choice in one.choices}
    assert not seen & {"7", "8", "11", "12", "13", "'message 15'", "200.0"}
    assert seen >= {"9", "10", "14", "17.5"}
