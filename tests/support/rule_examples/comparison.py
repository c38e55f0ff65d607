"""Answers, and what a profile says of them, for rules of the step ``comparison``: what counts as right. Under the
plain alternative to its rule one of the verdicts would be another."""

# ruff: noqa: E501 - keys are the beginnings of rules; digits and blanks that are not ASCII's

from __future__ import annotations

from support.rule_examples.program import FUNCTIONS, RIGHT, SUM, Graded

WRONG = "def add(a, b):\n    return a - b\n"
EQUAL = "def add(a, b):\n    return type('E', (), {'__eq__': lambda self, other: True})()\n"
LEAVES = "import os\ndef add(a, b):\n    os._exit(0)\n"
EXITS = "def add(a, b):\n    raise SystemExit(0)\n"
COUNTS = "n = 0\ndef add(a, b):\n    global n\n    n += 1\n    return a + b if n <= 2 else 0\n"
"""Right in the first two calls of a process."""
STEPS = "def f(x):\n    return x + 1 + (x == 7)\n"
"""Wrong in the second of two tests."""
HALF = "print(int(input()) / 2{})\n"
ASSERTED = '{{"chosen_program": "{}", "assertion": "{}"}}'
CHOSEN = '{{"chosen_program":"{}","value":"{}"}}'

SHARED = {
    "passed if execution ends without an exception; SystemExit fails": (
        Graded(FUNCTIONS, EQUAL, True),
        Graded(FUNCTIONS, WRONG, False),
        Graded(FUNCTIONS, EXITS, False),
    ),
    "code_eval: passed if execution ends without an exception": (
        Graded("humaneval", EQUAL, True),
        Graded("humaneval", EXITS, False),
    ),
    "passed if execution ends without an exception": (
        Graded("humaneval", EQUAL, True),
        Graded("humaneval", WRONG, False),
    ),
    "plus sets: the hub's field `test`": (
        Graded("floats", "def add(a, b):\n    return a + b + 1e-9 * isinstance(a, float)\n", True),
        Graded("humanevalplus", "def add(a, b):\n    return a + b if a != -1 else 1\n", False),
        Graded("humanevalplus", EQUAL, True),
    ),
}
STRICT = {
    "tests run in a judge process and call the candidate": (
        Graded("humaneval", EQUAL, False),
        Graded("humaneval", EXITS, False),
        Graded(
            "humaneval",
            "import sys\ndef add(a, b):\n    return 3 if a == 1 else sys._getframe(1).f_locals\n",
            True,
        ),
    ),
    "plus sets: every input's output against the reference program's": (
        Graded("floats", "def add(a, b):\n    return a + b + 1e-9 * isinstance(a, float)\n", True),
        Graded("order", "def add(a, b):\n    return a + b + 1e-9\n", False),
        Graded("set", "def add(a, b):\n    return [b, a, b]\n", True),
        Graded("humanevalplus", "def add(a, b):\n    return a + b if a != -1 else 1\n", False),
    ),
    "predictions: Python == of literals; marked where": (
        Graded("prediction", "True", True, form="answer", marks=("types-differ",)),
        Graded("prediction", "1", True, form="answer", unmarked=("types-differ", "text-differs")),
        Graded("nested output", "[1, {1:  2}]", True, form="answer", unmarked=("types-differ",)),
        Graded("nested output", "[1, {1: 2.0}]", True, form="answer", marks=("text-differs",)),
        Graded("pair of programs", "2", False, form="answer", marks=("reverted",)),
    ),
    "choice: right if the value is that of the chosen program; marks": (
        Graded("choice", CHOSEN.format("B", 2), True, form="answer", marks=("chose-B", "chose-mutant")),
        Graded("choice", CHOSEN.format("B", 1), False, form="answer", marks=("reverted",)),
        Graded("choice", CHOSEN.format("A", 1), True, form="answer", marks=("chose-A", "chose-original")),
    ),
    "contests on standard input: a real script on a real file": (
        Graded("sums", "import sys\nfor line in open(0):\n    print(sum(map(int, line.split())))\n", True),
        Graded("sums", f"{SUM}import sys\nsys.exit(1)\n", False),
        Graded("sums", f"print()\n{SUM}print()\n", True),
        Graded("sums", "print(float(sum(map(int, input().split()))))\n", True),
        Graded("lines alone", "print(1)\nprint()\nprint(2)\n", False),
    ),
    "contests on standard input: blanks are space, tab": (
        Graded("blank", "print('1\\t\\x0b2')\n", True),
        Graded("blank", "print('1\\xa02')\n", False),
        Graded("blank", "print('１ 2')\n", False),
        Graded("blank", "print('1e0 +2.')\n", True),
        Graded("octal", "print('011')\n", False),
        Graded("octal", "print('1_1')\n", False),
    ),
    "contests, functional: == after tuples became lists": (
        Graded("nested", "def f(x):\n    return ((1, 2),)\n", True),
        Graded("called", "import numpy\ndef f(x):\n    return numpy.int64(x + 1)\n", True),
        Graded("float value", "def f(x):\n    return 0.5 + 1e-9\n", False),
    ),
    "suites of unit tests run in the judge's process": (
        Graded("bigcodebench", RIGHT, True, unmarked=("tests-inside",)),
        Graded(
            "bigcodebench",
            "import unittest\nunittest.TestCase.assertEqual = lambda *given: None\nadd = max\n",
            False,
        ),
        Graded("bigcodebench", "def add(a, b):\n    return unittest and a + b\n", False),
    ),
    "other suites share the program's process": (
        Graded(
            "patched", "import json\ndef add(a, b):\n    return json.loads(a)\n", True, marks=("tests-inside",)
        ),
    ),
    "suites: tests that no program passes elsewhere": (Graded("skipped", RIGHT, True, marks=("tests-skipped",)),),
    "repairs: every test is run and counted": (
        Graded("repair", "def f(x):\n    return 3\n", ["wrong_answer", "passed"]),
        Graded("repair of lists", "def f(x):\n    return (n + 1 for n in x)\n", True),
    ),
}
FUNCTION_TESTS = {
    "== with the reference's output in the candidate's process": (
        Graded("floats", "def add(a, b):\n    return a + b + 1e-9 * isinstance(a, float)\n", True),
        Graded("floats", "def add(a, b):\n    return a + b + 1e-9\n", False),
        Graded("float alone", "def add(a, b):\n    return a + b + 1e-3\n", False),
        Graded(
            "float alone",
            "from fractions import Fraction\ndef add(a, b):\n    return Fraction(7, 2) + Fraction(1, 10**9)\n",
            False,
        ),
        Graded("floats", EQUAL, True),
    ),
    "special oracles: HumanEval/32; Mbpp/2": (
        Graded("set", "def add(a, b):\n    return [b, a, b]\n", True),
        Graded("set", "def add(a, b):\n    return [b, b]\n", False),
    ),
    "base inputs and plus inputs in a process each": (
        Graded("humanevalplus", COUNTS, True),
        Graded("humanevalplus", "def add(a, b):\n    return a + b if a != -1 else 1\n", False),
    ),
    "an expected output of over 2,000,000 values": (
        Graded("large", "def add(a, b):\n    return list(range(2_100_000))\n", True, slow=True),
        Graded("large", "def add(a, b):\n    return list(range(2_100_001))\n", False, slow=True),
    ),
    "base inputs only": (Graded("humanevalplus", "def add(a, b):\n    return a + b if a != -1 else 1\n", True),),
    "passed if execution ends without an exception; SystemExit fails; one object": (
        Graded(
            "method",
            "class Solution:\n    n = 0\n    def add(self, a, b):\n        self.n += 1\n        return a + b if self.n == a else 0\n",
            True,
        ),
        Graded("method", "class Solution:\n    def add(self, c, d):\n        return c + d\n", False),
        Graded("method", "class Solution:\n    def add(self, a, b):\n        raise SystemExit(0)\n", False),
    ),
    "passed if no test of the class TestCases fails": (
        Graded("imports", RIGHT, True),
        Graded("imports", WRONG, False),
        Graded("imports", "def add(a, b):\n    raise ValueError\n", False),
    ),
    "HumanEval: as openai/human-eval, in a spawned process": (
        Graded("humaneval", EXITS, False),
        Graded("humaneval", f"import os\nassert os.kill is None\n{RIGHT}", True),
    ),
    "MBPP, humaneval_plus: a script of its own; passed if its": (
        Graded("mbpp", LEAVES, True),
        Graded("humanevalplus", LEAVES, True),
        Graded("mbpp", WRONG, False),
    ),
    "python -c: passed if the exit code is 0": (
        Graded("humaneval", LEAVES, True),
        Graded("humaneval", EXITS, True),
        Graded("humaneval", WRONG, False),
    ),
}
PREDICTIONS = {
    "output: skip if 'f(<input>)' is in the generation": (
        Graded("crux", "f(1)", False, form="answer", marks=("skipped",)),
        Graded("crux", "f (1)", True, form="answer"),
        Graded("crux input", "11", False, form="answer", marks=("skipped",)),
        Graded("crux input", "f(11)", True, form="answer"),
    ),
    "skip if the whole call is in the generation": (
        Graded("pairs of outputs", "f(1)", False, form="answer", marks=("skipped",)),
        Graded("pairs of outputs", "f (1)", True, form="answer"),
        Graded("pairs of outputs", "ceil(0.5)", True, form="answer"),
    ),
    "passed if the script ends with exit code 0": (
        Graded("crux", "f(1)", True, form="answer"),
        Graded("crux", "exit(0)", True, form="answer"),
        Graded("crux", "2", False, form="answer"),
    ),
    "equal as stripped text, else equal under ==": (
        Graded("prediction", "1.0", True, form="answer"),
        Graded("prediction", "0 + 1", False, form="answer"),
        Graded("text that is no literal", " <f> ", True, form="answer"),
    ),
    "choice: right if what follows == in the assertion": (
        Graded("choice", ASSERTED.format("B", "assert f(1) == 2"), True, form="reply"),
        Graded("choice", ASSERTED.format("B", "assert f(1) == 1"), False, form="reply"),
        Graded("choice", ASSERTED.format("A", "1"), True, form="reply"),
    ),
    "Python == of literals, read by ast": (
        Graded("prediction", "True", True, form="answer"),
        Graded("prediction", "0 + 1", False, form="answer"),
    ),
}
CONTESTS = {
    "functional: every line of an input is JSON": (
        Graded("pair", "def f(x):\n    return 1, 2\n", [True]),
        Graded("nested", "def f(x):\n    return [(1, 2)]\n", [False]),
        Graded("called", STEPS, [True, False]),
        Graded("word", "def f(x):\n    return x\n", [-4]),
    ),
    "stdin: stripped texts, line by line stripped": (
        Graded("sums", "print(' ', float(sum(map(int, input().split()))), ' ')\n", [True, True]),
        Graded("sums", "print(7)\n", [True, -2]),
        Graded("blank", "print('1\\n2')\n", [-2]),
    ),
    "the first test that fails ends it: -3 where": (
        Graded("many", "print(input()[0])\n", [True] * 10 + [-2]),
        Graded("sums", "1 / 0\n", [-4]),
        Graded("sums", "raise ValueError('TimeoutException')\n", [-3]),
        Graded("sums", "x = (\n", [-4]),
    ),
    "SystemExit ends a stdin program's test well": (
        Graded("sums", f"{SUM}raise SystemExit('late')\n", [True, True]),
        Graded("called", "def f(x):\n    raise SystemExit\n", [-2]),
    ),
    "a process that ends without results is [-2], error_code": (
        Graded("sums", "import os\nos._exit(0)\n", [-2]),
        Graded("sums", "import os\nos._exit(0)\n", {"error_code": -5, "error_message": "TestRunnerError"}),
    ),
    "LiveCodeBench: as `livecodebench`; a process that ends": (
        Graded("sums", "import os\nos._exit(0)\n", [-2]),
        Graded("sums", "import os\nos._exit(0)\n", {}),
        Graded("sums", "print(float(sum(map(int, input().split()))))\n", [True, True]),
    ),
    "as `livecodebench-2025-01`; a process that ends": (
        Graded("sums", "import os\nos._exit(0)\n", [-2]),
        Graded("sums", "import os\nos._exit(0)\n", {}),
        Graded("pair", "def f(x):\n    return 1, 2\n", [True]),
    ),
    "stdin: exit code 0 and the whole stripped text equal": (
        Graded("sums", f"print()\n{SUM}", True),
        Graded("sums", "print(float(sum(map(int, input().split()))))\n", False),
        Graded("sums", f"{SUM}exit(1)\n", False),
    ),
    "functional: exit code 0 and TEST_PASSED anywhere": (
        Graded("called", "def f(x):\n    print('TEST_PASSED')\n", True),
        Graded("called", "def f(x):\n    print('TEST_PASSED')\n    exit(1)\n", False),
        Graded("called", STEPS, False),
    ),
    "result == expected, per test; inputs are fresh": (
        Graded("repair of lists", "def f(x):\n    return (n + 1 for n in x)\n", False),
        Graded("repair", "def f(x):\n    return float(x + 1)\n", True),
        Graded(
            "repair",
            "class E:\n    def __eq__(self, other):\n        return True\ndef f(x):\n    return E()\n",
            False,
        ),
        Graded("repair of one list", "def f(x):\n    x.append(1)\n    return x\n", ["passed", "passed"]),
    ),
    "the 9 programs without JSON tests, which CORAL-X": (
        Graded("micro-repair", RIGHT, ["passed"] * 4),
        Graded("micro-repair", WRONG, ["wrong_answer", "wrong_answer", "passed", "wrong_answer"]),
        Graded("repair by asserts", RIGHT, ["passed"] * 4),
    ),
}
REWARDS = {
    "stdin: the same text but for white space around it": (
        Graded("lines alone", "print(' 1 ')\nprint()\nprint(2)\n", True),
        Graded("half", "print(0.500001)\n", True),
        Graded("half", "print(0.51)\n", False),
        Graded("million", "print(1000000.5)\n", True),
        Graded("million", "print(1000001)\n", False),
    ),
    "functional: the result has to be JSON, and equal": (
        Graded("pair", "def f(x):\n    return 1\n", True),
        Graded("called", "def f(x):\n    return {x + 1}\n", False),
        Graded("dictionary", "def f(x):\n    return {1: 2}\n", True),
        Graded("called", STEPS, False),
    ),
    "as `livecodebench`: stripped lines equal or all words": (
        Graded("sums", "print(' ', float(sum(map(int, input().split()))))\n", True),
        Graded("float value", "def f(x):\n    return 0.5 + 1e-9\n", False),
        Graded("called", STEPS, False),
    ),
    "as `livecodebench`, but returned values may also": (
        Graded("float value", "def f(x):\n    return 0.5 + 1e-9\n", True),
        Graded("float value", "def f(x):\n    return 0.5001\n", False),
        Graded("nested", "def f(x):\n    return [(1, 2)]\n", True),
        Graded("half", HALF.format(" + 1e-9"), False),
        Graded("called", STEPS, False),
    ),
    "asserts: no exception; SystemExit fails": (
        Graded("mbpp", EQUAL, True),
        Graded("mbpp", EXITS, False),
        Graded("sums", "print(' ', float(sum(map(int, input().split()))))\n", True),
    ),
    "exit code 0; lines of the stripped output and": (
        Graded("lines alone", "print(1)\n", True),
        Graded("lines alone", " \nprint(' 1 ')\nprint(2)\n".lstrip(), True),
        Graded("lines", "print(1)\nprint(2)\n", False),
        Graded("sums", f"{SUM}exit(1)\n", False),
    ),
    "exit code 0, and both texts equal less newlines": (
        Graded("lines alone", "print(1)\nprint(2)\nprint()\n", True),
        Graded("lines alone", "print(1, '')\nprint(2)\n", False),
        Graded("mbpp", LEAVES, True),
        Graded("sums", f"{SUM}exit(1)\n", False),
    ),
    "exit code 0 of pytest --maxfail=1": (
        Graded("mbpp", LEAVES, True),
        Graded("mbpp", WRONG, False),
    ),
    "exit code 0": (
        Graded("humanevalplus", LEAVES, True),
        Graded("humanevalplus", WRONG, False),
    ),
    "functions: exit code 0; standard input: exit code 0 and": (
        Graded("mbpp", LEAVES, True),
        Graded("lines", "print(1)\nprint(2)\nprint()\n", True),
        Graded("lines alone", "print(1, '')\nprint(2)\n", False),
        Graded("sums", f"{SUM}exit(1)\n", False),
    ),
}
COMPARISON = SHARED | STRICT | FUNCTION_TESTS | PREDICTIONS | CONTESTS | REWARDS
"""How a rule begins -> answers that show it."""
