"""Suites of unit tests that can be judged outside the program's process."""

from truegrade.records import SuiteTask


def suite(body: str, reference: str, entry_point: str, **more) -> SuiteTask:
    """A class of one test, unless the body is a module of its own."""
    lines = "\n".join(f"        {line}" for line in body.strip().splitlines())
    tests = f"import unittest\nclass TestCases(unittest.TestCase):\n    def test(self):\n{lines}\n"
    return SuiteTask(prompt="", entry_point=entry_point, tests=tests, reference=reference, **more)


STACK = """
class Empty(LookupError):
    pass
EMPTY, LIMIT = "empty", 3
class Stack:
    def __init__(self):
        self.held = []
    def __len__(self):
        return len(self.held)
    def push(self, value):
        self.held.append(value)
        return self
    def pop(self):
        if not self.held:
            raise Empty("nothing is held")
        return self.held.pop()
"""
STACK_TESTS = """
import unittest
import stack
from stack import EMPTY, LIMIT, Empty, Stack

class StackTest(unittest.TestCase):
    def test_pushed(self):
        one = Stack()
        self.assertEqual(one.push(1).push("a").held, [1, "a"])
        self.assertEqual(len(one), 2)
        self.assertEqual((one.pop(), one.pop()), ("a", 1))

    def test_empty(self):
        with self.assertRaises(Empty) as caught:
            Stack().pop()
        self.assertEqual(str(caught.exception), "nothing is held")
        self.assertEqual((stack.EMPTY, EMPTY, LIMIT), ("empty", "empty", 3))
"""
STACK_TASK = SuiteTask(prompt="", entry_point="Stack", tests=STACK_TESTS, reference=STACK, module="stack")
FRAME_TASK = suite(
    "import pandas as pd\nexpected = pd.Series([3], index=['a'])\n"
    "self.assertTrue(totals(pd.DataFrame({'a': [1, 2]})).equals(expected))",
    "def totals(frame):\n    return frame.sum()\n",
    "totals",
    packages=("pandas",),
)
FILE_TASK = suite(
    "with open('in.txt', 'w') as file:\n    file.write('abc')\n"
    "turn('in.txt', 'out.txt')\nwith open('out.txt') as file:\n    self.assertEqual(file.read(), 'cba')",
    "def turn(a, b):\n    with open(a) as one, open(b, 'w') as other:\n        other.write(one.read()[::-1])\n",
    "turn",
)
NAMED_TASK = suite(
    "self.assertEqual(json.loads(write(LIMIT)), {'n': 7})",
    'import json\nLIMIT = 7\ndef write(n):\n    return json.dumps({"n": n})\n',
    "write",
    prefix='import json\nLIMIT = 7\ndef write(n):\n    """Write."""\n',
)
OUTSIDE = {"classes": STACK_TASK, "frames": FRAME_TASK, "files": FILE_TASK, "names": NAMED_TASK}
