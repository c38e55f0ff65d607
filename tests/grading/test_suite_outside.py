"""Suites that run in the judge's process: which can, what crosses, and that no program is believed."""

import time

import msgspec
import pytest

from support.forged_suites import forged
from support.outside_suites import (
    FILE_TASK,
    FRAME_TASK,
    NAMED_TASK,
    OUTSIDE,
    STACK,
    STACK_TASK,
    STACK_TESTS,
    suite,
)
from support.thorough import one_in
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.grading.suite_grading import grade_by_suite, suite_source
from truegrade.grading.suite_reference import ReferencesShown, reference_outside
from truegrade.grading.suite_runs import outside_suite
from truegrade.profiles import open_profile
from truegrade.records import Answer, Problem, Reason, SuiteTask
from truegrade.sandbox import Limits, Sandbox


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(Limits(cpu_s=1.0, wall_s=3.0, packages=("numpy", "pandas")), workers=1) as made:
        yield made


@pytest.fixture(scope="module")
def graded(sandbox, tmp_path_factory):
    kept = ReferencesShown(tmp_path_factory.mktemp("suites"))
    return lambda task, program, cpu_s=1.0: grade_by_suite(task, program, kept, sandbox, min_cpu_s=cpu_s)


@pytest.mark.parametrize("name", OUTSIDE)
def test_references_pass_without_a_mark(graded, name):
    if name == "frames":
        pytest.importorskip("pandas", reason="pandas is not installed")
    judged = graded(OUTSIDE[name], OUTSIDE[name].reference)
    assert (judged.reason, judged.marks) == (Reason.PASSED, ()), judged


@pytest.mark.parametrize("name", one_in(2, ["classes", "files"]))
def test_nothing_forged_passes(graded, name):
    task = OUTSIDE[name]
    others = ["Empty", "EMPTY", "LIMIT"] if name == "classes" else []
    programs = forged(task.entry_point, *others)
    # Most of them never end, since what they return answers to everything.
    assert not [how for how, program in programs.items() if graded(task, program, 0.25).passed]


YES = """
class Yes:
    def __getattr__(self, name):
        return lambda *given, **named: True
    def __len__(self): return 2
    def __getitem__(self, key): return Yes()
    def __iter__(self): return iter([])
    def __contains__(self, value): return True
"""


def test_an_object_that_says_yes_does_not_stand_for_a_value(graded, sandbox):
    task = msgspec.structs.replace(
        STACK_TASK,
        tests=STACK_TESTS
        + "    def test_said(self):\n        self.assertTrue(Stack().push('abc').pop().startswith('ab'))\n",
    )
    assert reference_outside(task, suite_source(task), sandbox) is not None
    assert graded(task, STACK).passed
    assert not graded(task, STACK.replace("return self.held.pop()", f"return Yes()\n{YES}")).passed
    assert not graded(FRAME_TASK, f"{YES}def totals(frame):\n    return Yes()\n").passed


INSIDE = {
    "patch": "from unittest.mock import patch",
    "a pickle": "import pickle",
    "a pickle of pandas": "import pandas\nread = pandas.read_pickle",
    "code": "run = exec",
    "a program": "import subprocess",
    "the path of modules": "import sys\nsys.path.append('.')",
    "a loader": "import importlib",
    "streams": "from contextlib import redirect_stdout",
}


@pytest.mark.parametrize("how", one_in(2, INSIDE))
def test_suites_that_reach_further_are_not_judged_outside(graded, how):
    task = msgspec.structs.replace(FILE_TASK, tests=f"{INSIDE[how]}\n{FILE_TASK.tests}")
    assert outside_suite(task, suite_source(task)) is None
    judged = graded(task, task.reference)
    assert (judged.reason, judged.marks) == (Reason.PASSED, (TESTS_INSIDE,)), judged


def test_a_suite_that_seeds_what_the_program_draws_is_not_judged_outside(graded):
    body = "import random\nrandom.seed(1)\nself.assertEqual(draw(), 18)"
    task = suite(body, "import random\ndef draw():\n    return random.randint(1, 100)\n", "draw")
    assert outside_suite(task, suite_source(task)) is None
    judged = graded(task, task.reference)
    assert judged.passed and judged.marks == (TESTS_INSIDE,)


@pytest.mark.parametrize("more", ["", "from unittest.mock import Mock\n"], ids=["outside", "inside"])
def test_no_right_program_is_lost_to_a_second_that_ends_between_two_looks_at_the_clock(graded, sandbox, more):
    body = (
        f"import time\n{more}second = int(time.time())\n"
        "if second % 3 == 0: time.sleep(second + 1 - time.time())\nself.assertEqual(now(), second)"
    )
    task = suite(body, "import time\ndef now():\n    return int(time.time())\n", "now")
    assert graded(task, task.reference).marks == ((TESTS_INSIDE,) if more else ())
    for program, reason in ((task.reference, Reason.PASSED), ("def now(): return 7\n", Reason.WRONG_ANSWER)):
        time.sleep(-time.time() % 3)
        judged = graded(task, program)
        assert judged.reason is reason, judged


@pytest.mark.parametrize("more", ["", "from unittest.mock import Mock\n"], ids=["outside", "inside"])
def test_no_right_program_is_lost_to_a_second_that_ends_between_two_answers(graded, more):
    """As in BigCodeBench/229, whose tests read no clock themselves."""
    program = (
        "import time\ndef stamp():\n    second = int(time.time())\n"
        "    if second % 3 == 0: time.sleep(second + 1 - time.time())\n    return second\n"
    )
    task = suite(f"{more}first = stamp()\nself.assertEqual(stamp(), first)", program, "stamp")
    assert graded(task, program).marks == ((TESTS_INSIDE,) if more else ())
    time.sleep(-time.time() % 3)
    assert graded(task, program).passed


def test_a_suite_whose_values_do_not_cross_is_not_judged_outside(graded, sandbox):
    task = suite("self.assertEqual(apply(len, 'abc'), 3)", "def apply(f, x):\n    return f(x)\n", "apply")
    made = suite("self.assertEqual(make()(2), 3)", "def make():\n    return lambda n: n + 1\n", "make")
    lost = suite("self.assertTrue(callable(make()))", "def make():\n    return lambda n: n + 1\n", "make")
    for one in (made, lost):
        assert reference_outside(one, suite_source(one), sandbox) is None
        judged = graded(one, one.reference)
        assert (judged.reason, judged.marks) == (Reason.PASSED, (TESTS_INSIDE,)), judged
    assert graded(task, task.reference).passed


def test_tests_that_a_program_keeps_from_going_on_are_its_own_fault(graded):
    task = suite("self.assertEqual(f(f(1)), 3)", "def f(n):\n    return n + 1\n", "f")
    judged = graded(task, "def f(n):\n    return lambda: n\n")
    assert judged.reason in (Reason.WRONG_ANSWER, Reason.RUNTIME_ERROR), judged


def test_what_the_program_returned_is_told_of_the_test_that_failed(graded):
    tests = "import unittest\nfrom two import f, g\nclass Test(unittest.TestCase):\n"
    tests += "    def test_a(self):\n        assert f(1) == 2\n    def test_b(self):\n        assert g(9) == 8\n"
    reference = "def f(n):\n    return n + 1\ndef g(n):\n    return n - 1\n"
    task = SuiteTask(prompt="", entry_point="f", tests=tests, reference=reference, module="two")
    judged = graded(task, reference.replace("n + 1", "7"))
    assert judged.detail == "`assert f(1) == 2` failed; the program returned 7"


PARTS = """
import unittest
from double import double
class Each:
    def test_it(self):
        self.assertEqual(double(self.number), 2 * self.number)
class One(Each, unittest.TestCase):
    number = 1
class Two(Each, unittest.TestCase):
    number = 2
"""
SKIPPING = """
def double(n):
    if n == 1:
        return 2
    raise __import__("unittest").SkipTest("no")
"""


@pytest.mark.parametrize("inside", [False, True])
def test_a_test_of_which_a_part_is_skipped_is_not_passed(graded, inside):
    tests = PARTS + ("from unittest.mock import patch\n" if inside else "")
    reference = "def double(n):\n    return 2 * n\n"
    task = SuiteTask(prompt="", entry_point="double", tests=tests, reference=reference, module="double")
    right, wrong = graded(task, reference), graded(task, SKIPPING)
    assert (right.passed, right.harness["results"]) == (True, "P-")
    assert not wrong.passed and (not inside or wrong.harness["results"] == "H-"), wrong


def test_a_part_that_the_reference_skips_too_is_none_that_a_program_lacks(graded):
    tests = PARTS.replace("    number = 2", "    number = 2\n    def setUp(self):\n        self.skipTest('no')")
    reference = "def double(n):\n    return 2 * n\n"
    task = SuiteTask(prompt="", entry_point="double", tests=tests, reference=reference, module="double")
    judged = graded(task, reference)
    assert (judged.passed, judged.harness) == (True, {"tests": 1, "passed": 1, "results": "H-"}), judged


def test_the_tests_that_ran_are_counted(graded):
    judged = graded(STACK_TASK, STACK.replace('"empty"', '"full"'))
    assert judged.reason is Reason.WRONG_ANSWER
    assert judged.harness == {"tests": 2, "passed": 1, "results": "PF-"}


@pytest.mark.parametrize("raised", ["SkipTest", "_ShouldStop"])
def test_a_program_cannot_have_tests_left_out(graded, raised):
    task = msgspec.structs.replace(
        STACK_TASK, tests=STACK_TESTS.replace("import unittest\n", "import unittest\nfrom unittest import case\n")
    )
    skipping = f"class {raised}(Exception):\n    pass\n"
    skipping += STACK.replace('raise Empty("nothing is held")', f"raise {raised}('')")
    judged = graded(task, skipping)
    assert not judged.passed, judged
    real = STACK.replace(
        'raise Empty("nothing is held")', "import unittest\n            raise unittest.SkipTest('')"
    )
    assert not graded(STACK_TASK, real).passed


UNCHANGED_TASK = suite(
    "data = [3, 1, 2]\nself.assertEqual(ordered(data), [1, 2, 3])\nself.assertEqual(data, [3, 1, 2])",
    "def ordered(items):\n    return sorted(items)\n",
    "ordered",
)


@pytest.mark.parametrize(
    "task, wrong",
    [
        (UNCHANGED_TASK, "def ordered(items):\n    items.sort()\n    return list(items)\n"),
        (
            suite(
                "data = [1]\nself.assertIsNot(copied(data), data)",
                "def copied(a):\n    return list(a)\n",
                "copied",
            ),
            "def copied(a):\n    return a\n",
        ),
        (
            suite(
                "import pandas as pd\ndata = pd.DataFrame({'a': [2, 1]})\nother = twice(data)\n"
                "self.assertEqual(list(other['a']), [4, 2])\nself.assertEqual(list(data['a']), [2, 1])",
                "def twice(frame):\n    return frame * 2\n",
                "twice",
                packages=("pandas",),
            ),
            "def twice(frame):\n    frame['a'] = frame['a'] * 2\n    return frame.copy()\n",
        ),
    ],
)
def test_what_a_program_does_to_its_arguments_is_seen(graded, task, wrong):
    if task.packages:
        pytest.importorskip("pandas", reason="pandas is not installed")
    assert (graded(task, task.reference).reason, graded(task, task.reference).marks) == (Reason.PASSED, ())
    judged = graded(task, wrong)
    assert (judged.reason, judged.marks) == (Reason.WRONG_ANSWER, ()), judged
    same = "def ordered(items):\n    items = list(items)\n    items.sort()\n    return items\n"
    assert graded(UNCHANGED_TASK, same).passed
    changes_nothing_that_is_looked_at = "def ordered(items):\n    kept = items[:]\n    items.sort()\n"
    restored = changes_nothing_that_is_looked_at + "    done = items[:]\n    items[:] = kept\n    return done\n"
    assert graded(UNCHANGED_TASK, restored).passed


def test_a_long_message_of_a_failing_test_is_no_tampering(graded):
    task = suite("self.assertEqual(float(f()), 1)", "def f():\n    return '1'\n", "f")
    judged = graded(task, "def f():\n    return 'x' * 300000\n")
    assert judged.reason is Reason.WRONG_ANSWER, judged


def test_a_program_need_not_import_what_the_prompt_does(graded):
    inside = 'def write(n):\n    import json\n    return json.dumps({"n": n})\n'
    judged = graded(NAMED_TASK, inside)
    assert (judged.reason, judged.marks) == (Reason.PASSED, ()), judged


BOX = """
class Item:
    def size(self):
        return 1
class Box:
    def __init__(self):
        self.inside, self.LABEL = Item(), "abc"
"""


def test_objects_cross_where_the_references_do_and_nowhere_else(graded):
    # Numbers of "Box|get inside" and "Box|get LABEL" that are equal modulo 1021, by which places were once told.
    box = BOX.replace("LABEL", "label1169")
    body = "self.assertEqual(Box().inside.size(), 1)\nself.assertIn('ab', Box().label1169)"
    task = suite(body, box, "Box")
    assert (graded(task, box).reason, graded(task, box).marks) == (Reason.PASSED, ())
    assert not graded(task, YES + box.replace('"abc"', "Yes()")).passed


def test_a_suite_that_comes_again_is_not_made_again():
    task = msgspec.structs.replace(STACK_TASK)
    assert outside_suite(task, suite_source(task)) is outside_suite(STACK_TASK, suite_source(STACK_TASK))


PLOT = """
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
def draw(values):
    ax = plt.subplots()[1]
    ax.bar(range(len(values)), values)
    ax.set_title("Values")
    return list(values), ax
"""
PLOT_TASK = suite(
    "import matplotlib.pyplot as plt\nvalues, ax = draw([3, 1])\nself.assertEqual(values, [3, 1])\n"
    "self.assertIsInstance(ax, plt.Axes)\nself.assertEqual(ax.get_title(), 'Values')\n"
    "self.assertEqual([one.get_height() for one in ax.patches], [3, 1])\nself.assertTrue(values.count(3) == 1)",
    PLOT,
    "draw",
    packages=("matplotlib",),
)


def test_objects_of_a_package_stay_with_the_program_and_are_judged_by_what_they_answer(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    with Sandbox(Limits(cpu_s=10.0, wall_s=60.0, packages=("numpy", "matplotlib")), workers=1) as plots:
        kept = ReferencesShown(tmp_path)

        def graded(program):
            return grade_by_suite(PLOT_TASK, program, kept, plots, min_cpu_s=10.0)

        assert (graded(PLOT).reason, graded(PLOT).marks) == (Reason.PASSED, ())
        assert not graded(PLOT.replace('"Values"', '"Other"')).passed
        assert not graded(PLOT.replace("values)\n    ax.set", "[1, 3])\n    ax.set")).passed
        assert not graded(PLOT.replace("return list(values), ax", "return list(values), 'Axes'")).passed
        yes = YES.replace("class Yes", "class Axes") + "    __module__ = 'matplotlib.axes._axes'\n"
        yes = yes.replace("Yes()", "Axes()")
        for answer in ("Axes(), Axes()", "list(values), Axes()", "[3, 1], Axes()"):
            assert not graded(f"{yes}def draw(values):\n    return {answer}\n").passed
        # Where a value was due, no object stands for one, though it is told of as the other.
        both = PLOT.replace("return list(values), ax", "Axes.__eq__ = lambda *given: True\n    return ax, ax")
        assert not graded(f"{yes}{both}").passed


BOXES_IN_TURN = """
class Box:
    def __init__(self, n):
        self.n = n
def fill(numbers):
    return [Box(n) for n in numbers]
"""


@pytest.mark.parametrize(
    ("looks", "outside"),
    one_in(
        2,
        [
            ("for box, n in zip(boxes, [4, 5]):\n    self.assertEqual(box.n, n)", False),
            ("self.assertTrue(all(box.n > 3 for box in boxes))", False),
            ("self.assertEqual([box.n for box in boxes], [4, 5])", True),
            ("for place, n in enumerate([4, 5]):\n    self.assertEqual(boxes[place].n, n)", True),
            ("def look(held):\n    for box in held:\n        self.assertGreater(box.n, 3)\nlook(boxes)", False),
            ("def look(box):\n    assert box.n > 3\nfor box in boxes:\n    look(box)", False),
            ("[self.assertGreater(box.n, 3) for box in boxes]", False),
            ("list(map(lambda box: self.assertGreater(box.n, 3), boxes))", False),
            ("found = []\nfor box in boxes:\n    found.append(box.n)\nfor n in found:\n    assert n > 3", False),
            ("while boxes:\n    self.assertGreater(boxes.pop().n, 3)", False),
            ("def look(numbers):\n    self.assertEqual(numbers, [4, 5])\nlook([box.n for box in boxes])", True),
        ],
    ),
)
def test_no_loop_over_objects_decides_how_much_is_asserted(graded, looks, outside):
    # An object that says to be two long, and has no items, would pass: to the tests both are its word.
    told = "boxes = fill([4, 5])\nself.assertEqual(len(boxes), 2)\nself.assertEqual(Box(1).n, 1)"
    task = suite(f"{told}\n{looks}", BOXES_IN_TURN, "fill")
    judged = graded(task, BOXES_IN_TURN)
    assert (judged.passed, TESTS_INSIDE not in judged.marks) == (True, outside)


CLAIMED = """
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
def draw(values):
    return plt.subplots()[1] if values else "nothing"
"""


def test_an_object_is_of_no_class_but_those_of_packages_whose_objects_cross(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    body = "self.assertIsInstance(draw([1]), plt.Axes)\nself.assertIsInstance(draw([]), str)"
    task = suite(f"import matplotlib.pyplot as plt\n{body}", CLAIMED, "draw", packages=("matplotlib",))
    lie = "'Text', (), {'__module__': 'matplotlib.pyplot', '__qualname__': 'inspect.builtins.str'}"
    # Beside the tests it is right, so that what they see of it outside decides.
    forged = CLAIMED.replace('"nothing"', f"('nothing' if __name__ == '__test__' else type({lie})())")
    with Sandbox(Limits(cpu_s=10.0, wall_s=60.0, packages=("numpy", "matplotlib")), workers=1) as plots:
        kept = ReferencesShown(tmp_path)
        judged = grade_by_suite(task, CLAIMED, kept, plots, min_cpu_s=10.0)
        assert (judged.reason, judged.marks) == (Reason.PASSED, ())
        assert not grade_by_suite(task, forged, kept, plots, min_cpu_s=10.0).passed


@pytest.mark.parametrize("raised", ["StopIteration", "StopAsyncIteration", "Own"])
def test_no_exception_of_a_program_ends_a_loop_of_the_tests(graded, raised):
    body = "self.assertTrue(all(a == b for a, b in zip(map(twice, [1, 2]), [2, 4])))"
    task = suite(body, "def twice(n):\n    return 2 * n\n", "twice")
    task = msgspec.structs.replace(task, tests=f"class Own(StopIteration):\n    pass\n{task.tests}")
    assert (graded(task, task.reference).reason, graded(task, task.reference).marks) == (Reason.PASSED, ())
    judged = graded(task, f"class Own(StopIteration):\n    pass\ndef twice(n):\n    raise {raised}\n")
    assert not judged.passed, judged


COUNT_FILES = """
import os
def count(folder):
    return sum(name.endswith('.txt') for name in os.listdir(folder))
"""
COUNTED = """
import os
os.mkdir('here')
for n in range(3):
    with open(f'here/{n}.txt', 'w') as file:
        file.write('abc')
found = count('here')
self.assertEqual(found, sum(name.endswith('.txt') for name in os.listdir('here')))
"""
DELETES = """
import shutil
def count(folder):
    shutil.rmtree(folder)
    __import__('os').mkdir(folder)
    return 0
"""
ONE_TEXT = "with open('in.txt', 'w') as file:\n    file.write('a b')\n"
WORDS = "def words(path):\n    with open(path) as file:\n        return len(file.read().split())\n"
SAME_WORDS = ONE_TEXT + "found = words('in.txt')\nself.assertEqual(found, len(open('in.txt').read().split()))"
EMPTIES = "def words(path):\n    open(path, 'w').close()\n    return 0\n"


@pytest.mark.parametrize(
    "task, wrong",
    [
        (suite(COUNTED, COUNT_FILES, "count"), DELETES),
        (suite(SAME_WORDS, WORDS, "words"), EMPTIES),
    ],
)
def test_what_a_program_does_to_files_of_the_tests_makes_no_wrong_answer_right(graded, task, wrong):
    assert (graded(task, task.reference).reason, graded(task, task.reference).marks) == (Reason.PASSED, ())
    judged = graded(task, wrong)
    assert judged.reason is Reason.WRONG_ANSWER, judged


SORT_TASK = suite(
    "data = [3, 1, 2]\nself.assertIs(ordered(data), data)\nself.assertEqual(data, sorted(data))",
    "def ordered(items):\n    items.sort()\n    return items\n",
    "ordered",
)
LOWER = """
def lower(path):
    text = open(path).read()
    with open(path, 'w') as file:
        file.write(text.lower())
"""
LOWER_TASK = suite(
    "with open('in.txt', 'w') as file:\n    file.write('A b')\nlower('in.txt')\n"
    "text = open('in.txt').read()\nself.assertEqual(text, text.lower())\nself.assertEqual(text.strip(), text)\n"
    "self.assertNotIn('A', text)",
    LOWER,
    "lower",
)


@pytest.mark.parametrize(
    "task, right, wrong",
    [
        (
            SORT_TASK,
            "def ordered(items):\n    items[:] = sorted(items)\n    return items\n",
            "def ordered(items):\n    items.clear()\n    return items\n",
        ),
        (
            LOWER_TASK,
            "from pathlib import Path\ndef lower(at):\n    Path(at).write_text(Path(at).read_text().lower())\n",
            "def lower(path):\n    open(path, 'w').close()\n",
        ),
    ],
)
def test_where_the_reference_changes_what_the_tests_gave_others_change_it_alike_or_are_marked(
    graded, task, right, wrong
):
    for program in (task.reference, right):
        judged = graded(task, program)
        assert (judged.reason, judged.marks) == (Reason.PASSED, ()), judged
    judged = graded(task, wrong)
    assert not judged.passed or judged.marks == (TESTS_INSIDE,), judged


def test_files_that_the_tests_made_empty_are_the_programs_to_fill(graded):
    body = "open('out.txt', 'w').close()\nfill('out.txt')\nself.assertIn('1', open('out.txt').read())"
    task = suite(body, "def fill(path):\n    open(path, 'w').write('1, 2')\n", "fill")
    judged = graded(task, "def fill(path):\n    open(path, 'w').write('1,2')\n")
    assert (judged.reason, judged.marks) == (Reason.PASSED, ()), judged


MADE = """
import os
os.mkdir('here')
for n in range(3):
    open(f'here/{n}.txt', 'w').close()
"""


COUNT = "self.assertEqual(size('here'), len(os.listdir('here')))"
COUNTS = "import os\ndef size(folder):\n    return len(os.listdir(folder))\n"
SIZED = "self.assertEqual(size('here'), sum(os.path.getsize(f'here/{n}') for n in os.listdir('here')))"
SIZE = """
import os
def size(folder):
    return sum(os.path.getsize(f'{folder}/{n}') for n in os.listdir(folder))
"""
LATEST = """
for n, time in enumerate((8e8, 9e8, 1e8)):
    os.utime(f'here/{n}.txt', (time, time))
self.assertEqual(size('here'), max(os.listdir('here'), key=lambda n: os.stat(f'here/{n}').st_mtime))
"""
NEWEST = """
import os
def size(folder):
    return max(os.listdir(folder), key=lambda n: os.stat(f'{folder}/{n}').st_mtime)
"""
ADDS = "def size(folder):\n    for n in range(7): open(f'{folder}/n{n}', 'w').close()\n    return 10\n"
FILLS = "def size(folder):\n    open(f'{folder}/0.txt', 'w').write('abc')\n    return 3\n"
TOUCHES = "import os\ndef size(folder):\n    os.utime(f'{folder}/2.txt')\n    return '2.txt'\n"


@pytest.mark.parametrize(
    "body, reference, wrong",
    [
        (COUNT, COUNTS, ADDS),
        (SIZED, SIZE, FILLS),
        (LATEST, NEWEST, TOUCHES),
    ],
    ids=["new", "empty", "times"],
)
def test_what_a_program_adds_to_the_tests_folders_makes_no_wrong_answer_right(graded, body, reference, wrong):
    task = suite(MADE + body, reference, "size")
    assert (graded(task, reference).reason, graded(task, reference).marks) == (Reason.PASSED, ())
    logs = reference.replace(":\n", ":\n    open('log.txt', 'w').write('begun')\n", 1)
    assert (graded(task, logs).reason, graded(task, logs).marks) == (Reason.PASSED, ())
    judged = graded(task, wrong)
    assert judged.reason is Reason.WRONG_ANSWER, judged


def test_what_is_in_a_new_file_is_the_programs_to_choose_and_its_name_is_not(graded):
    body = (
        "import os, tempfile\nfolder = tempfile.mkdtemp(dir='.')\nsave(folder)\n"
        "self.assertEqual([open(f'{folder}/{n}').read().count('1') for n in os.listdir(folder)], [1])"
    )
    task = suite(body, "def save(folder):\n    open(f'{folder}/a.txt', 'w').write('1, 2')\n", "save")
    assert (graded(task, task.reference).reason, graded(task, task.reference).marks) == (Reason.PASSED, ())
    other = graded(task, task.reference.replace("1, 2", "2, 1"))
    assert (other.reason, other.marks) == (Reason.PASSED, ())
    renamed = graded(task, task.reference.replace("a.txt", "b.txt"))
    assert (renamed.reason, renamed.marks) == (Reason.PASSED, (TESTS_INSIDE,))


GIVES_UP = """
class Done(Exception):
    pass
"""


def test_a_program_raises_no_exception_of_the_tests_own(graded):
    body = "try:\n    self.assertEqual(twice(2), 4)\n    raise Done\nexcept Done:\n    pass"
    task = suite(body, "def twice(n):\n    return 2 * n\n", "twice")
    task = msgspec.structs.replace(task, tests=GIVES_UP + task.tests)
    assert (graded(task, task.reference).reason, graded(task, task.reference).marks) == (Reason.PASSED, ())
    judged = graded(task, f"{GIVES_UP}def twice(n):\n    raise Done\n")
    assert not judged.passed, judged


@pytest.mark.parametrize(
    "own",
    [
        "class Low(Empty): pass\nclass Stack(Stack):\n    def pop(self):\n        raise Low('nothing is held')\n",
        "class Empty(LookupError):\n    def __str__(self): return 'nothing is held'\n",
    ],
)
def test_an_exception_of_the_program_may_be_below_the_one_that_is_asked_for(graded, own):
    task = msgspec.structs.replace(STACK_TASK, tests=STACK_TESTS.replace("(one.pop(), one.pop())", "('a', 1)"))
    judged = graded(task, STACK + own)
    assert (judged.reason, judged.marks) == (Reason.PASSED, ()), judged


@pytest.mark.parametrize(
    "call", ["import timeit\ntimeit.timeit(text(), number=1)", "import json\njson.loads(text())"]
)
def test_no_text_of_the_program_is_run_beside_the_tests(call):
    task = suite(f"{call}\nself.assertEqual(text(), '1')", "def text():\n    return '1'\n", "text")
    assert (outside_suite(task, suite_source(task)) is None) == ("timeit" in call)


def test_a_run_beside_the_tests_proves_nothing_of_a_program_that_reaches_into_them():
    """What does not cross, as an alias does not, is decided there alone."""
    task = suite(
        "a = pair()\na[0].append(1)\nself.assertEqual(a[1], [])", "def pair():\n    return [], []\n", "pair"
    )
    problem = Problem(id="p", benchmark="toy", dataset_sha256="0" * 64, cluster="p", task=task)
    silent = "import unittest\nunittest.TestCase.assertEqual = lambda *given, **named: None\n"
    profile = open_profile("strict")
    with Sandbox(profile.limits, workers=1) as sandbox:
        judged = profile.judgement(
            problem, Answer(value=silent + task.reference, found="", form="program"), sandbox
        )
    assert TESTS_INSIDE in judged.marks or not judged.passed


REPORT = (
    "open('in.txt', 'w').write('a b')\nreport('in.txt', 'out.txt')\n"
    "self.assertEqual(open('out.txt').read().strip(), '2')"
)
REPORTS = "def report(a, b):\n    open(b, 'w').write(str(len(open(a).read().split())))\n"


@pytest.mark.parametrize(
    "more",
    [
        "    open('log.txt', 'w').write('done')\n",
        "    import os, shutil\n    shutil.copy(b, b + '.bak2'); os.chmod(b, 0o600); os.utime(a)\n",
        "    import os\n    os.mkdir('cache')\n",
    ],
)
def test_what_no_test_asks_for_marks_no_right_program(graded, more):
    task = suite(REPORT, REPORTS, "report")
    judged = graded(task, REPORTS + more)
    assert (judged.reason, judged.marks) == (Reason.PASSED, ()), judged


@pytest.mark.parametrize(
    "program",
    [
        "class ValueError(Exception): pass\ndef f(n): raise ValueError('bad')\n",
        "E = type('ValueError', (Exception,), {})\ndef f(n): raise E('bad')\n",
        "class KeyError(BaseException): pass\ndef f(n): raise KeyError('bad')\n",
    ],
)
def test_a_class_that_has_the_name_of_a_built_in_one_is_another(graded, program):
    task = suite(
        "with self.assertRaises((ValueError, KeyError)):\n    f(-1)", "def f(n): raise ValueError('bad')\n", "f"
    )
    assert (graded(task, task.reference).reason, graded(task, task.reference).marks) == (Reason.PASSED, ())
    assert not graded(task, program).passed


def test_an_exception_may_be_of_two_built_in_classes(graded):
    program = "class Lost(ValueError, KeyError): pass\ndef f(n): raise Lost('bad')\n"
    for name in ("ValueError", "KeyError", "LookupError"):
        task = suite(f"with self.assertRaises({name}):\n    f(-1)", f"def f(n): raise {name}('bad')\n", "f")
        judged = graded(task, program)
        assert (judged.reason, judged.marks) == (Reason.PASSED, ()), judged
