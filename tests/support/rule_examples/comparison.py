"""Answers, and what a profile says of them, for rules of the step ``comparison``: what counts as right. Under the
plain alternative to its rule one of the verdicts would be another."""

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
    "no-exception-nor-exit": (
        Graded(FUNCTIONS, EQUAL, True),
        Graded(FUNCTIONS, WRONG, False),
        Graded(FUNCTIONS, EXITS, False),
    ),
    "code-eval-no-exception": (
        Graded("humaneval", EQUAL, True),
        Graded("humaneval", EXITS, False),
    ),
    "no-exception": (
        Graded("humaneval", EQUAL, True),
        Graded("humaneval", WRONG, False),
    ),
    "derived-plus-test": (
        Graded("floats", "def add(a, b):\n    return a + b + 1e-9 * isinstance(a, float)\n", True),
        Graded("humanevalplus", "def add(a, b):\n    return a + b if a != -1 else 1\n", False),
        Graded("humanevalplus", EQUAL, True),
    ),
}
STRICT = {
    "strict-judge-process": (
        Graded("humaneval", EQUAL, False),
        Graded("humaneval", EXITS, False),
        Graded(
            "humaneval",
            "import sys\ndef add(a, b):\n    return 3 if a == 1 else sys._getframe(1).f_locals\n",
            True,
        ),
    ),
    "strict-plus-sets": (
        Graded("floats", "def add(a, b):\n    return a + b + 1e-9 * isinstance(a, float)\n", True),
        Graded("order", "def add(a, b):\n    return a + b + 1e-9\n", False),
        Graded("set", "def add(a, b):\n    return [b, a, b]\n", True),
        Graded("humanevalplus", "def add(a, b):\n    return a + b if a != -1 else 1\n", False),
    ),
    "strict-predictions": (
        Graded("prediction", "True", True, form="answer", marks=("types-differ",)),
        Graded("prediction", "1", True, form="answer", unmarked=("types-differ", "text-differs")),
        Graded("nested output", "[1, {1:  2}]", True, form="answer", unmarked=("types-differ",)),
        Graded("nested output", "[1, {1: 2.0}]", True, form="answer", marks=("text-differs",)),
        Graded("pair of programs", "2", False, form="answer", marks=("reverted",)),
    ),
    "strict-choice": (
        Graded("choice", CHOSEN.format("B", 2), True, form="answer", marks=("chose-B", "chose-mutant")),
        Graded("choice", CHOSEN.format("B", 1), False, form="answer", marks=("reverted",)),
        Graded("choice", CHOSEN.format("A", 1), True, form="answer", marks=("chose-A", "chose-original")),
    ),
    "strict-standard-input": (
        Graded("sums", "import sys\nfor line in open(0):\n    print(sum(map(int, line.split())))\n", True),
        Graded("sums", f"{SUM}import sys\nsys.exit(1)\n", False),
        Graded("sums", f"print()\n{SUM}print()\n", True),
        Graded("sums", "print(float(sum(map(int, input().split()))))\n", True),
        Graded("lines alone", "print(1)\nprint()\nprint(2)\n", False),
    ),
    "strict-numerals": (
        Graded("blank", "print('1\\t\\x0b2')\n", True),
        Graded("blank", "print('1\\xa02')\n", False),
        Graded("blank", "print('１ 2')\n", False),
        Graded("blank", "print('1e0 +2.')\n", True),
        Graded("octal", "print('011')\n", False),
        Graded("octal", "print('1_1')\n", False),
    ),
    "strict-functional": (
        Graded("nested", "def f(x):\n    return ((1, 2),)\n", True),
        Graded("called", "import numpy\ndef f(x):\n    return numpy.int64(x + 1)\n", True),
        Graded("float value", "def f(x):\n    return 0.5 + 1e-9\n", False),
    ),
    "strict-suites": (
        Graded("bigcodebench", RIGHT, True, unmarked=("tests-inside",)),
        Graded(
            "bigcodebench",
            "import unittest\nunittest.TestCase.assertEqual = lambda *given: None\nadd = max\n",
            False,
        ),
        Graded("bigcodebench", "def add(a, b):\n    return unittest and a + b\n", False),
    ),
    "strict-shared-suites": (
        Graded(
            "patched", "import json\ndef add(a, b):\n    return json.loads(a)\n", True, marks=("tests-inside",)
        ),
    ),
    "strict-skipped-tests": (Graded("skipped", RIGHT, True, marks=("tests-skipped",)),),
    "strict-repairs": (
        Graded("repair", "def f(x):\n    return 3\n", ["wrong_answer", "passed"]),
        Graded("repair of lists", "def f(x):\n    return (n + 1 for n in x)\n", True),
    ),
}
FUNCTION_TESTS = {
    "evalplus-tolerance": (
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
    "evalplus-special-oracles": (
        Graded("set", "def add(a, b):\n    return [b, a, b]\n", True),
        Graded("set", "def add(a, b):\n    return [b, b]\n", False),
    ),
    "evalplus-base-and-plus": (
        Graded("humanevalplus", COUNTS, True),
        Graded("humanevalplus", "def add(a, b):\n    return a + b if a != -1 else 1\n", False),
    ),
    "evalplus-large-outputs": (
        Graded("large", "def add(a, b):\n    return list(range(2_100_000))\n", True, slow=True),
        Graded("large", "def add(a, b):\n    return list(range(2_100_001))\n", False, slow=True),
    ),
    "evalplus-base-alone": (
        Graded("humanevalplus", "def add(a, b):\n    return a + b if a != -1 else 1\n", True),
    ),
    "leetcode-no-exception": (
        Graded(
            "method",
            "class Solution:\n    n = 0\n    def add(self, a, b):\n"
            "        self.n += 1\n        return a + b if self.n == a else 0\n",
            True,
        ),
        Graded("method", "class Solution:\n    def add(self, c, d):\n        return c + d\n", False),
        Graded("method", "class Solution:\n    def add(self, a, b):\n        raise SystemExit(0)\n", False),
    ),
    "no-failed-unit-test": (
        Graded("imports", RIGHT, True),
        Graded("imports", WRONG, False),
        Graded("imports", "def add(a, b):\n    raise ValueError\n", False),
    ),
    "evalscope-humaneval": (
        Graded("humaneval", EXITS, False),
        Graded("humaneval", f"import os\nassert os.kill is None\n{RIGHT}", True),
    ),
    "evalscope-mbpp": (
        Graded("mbpp", LEAVES, True),
        Graded("humanevalplus", LEAVES, True),
        Graded("mbpp", WRONG, False),
    ),
    "inspect-exit-code-zero": (
        Graded("humaneval", LEAVES, True),
        Graded("humaneval", EXITS, True),
        Graded("humaneval", WRONG, False),
    ),
}
PREDICTIONS = {
    "cruxeval-skips": (
        Graded("crux", "f(1)", False, form="answer", marks=("skipped",)),
        Graded("crux", "f (1)", True, form="answer"),
        Graded("crux input", "11", False, form="answer", marks=("skipped",)),
        Graded("crux input", "f(11)", True, form="answer"),
    ),
    "livecodebench-execution-skips": (
        Graded("pairs of outputs", "f(1)", False, form="answer", marks=("skipped",)),
        Graded("pairs of outputs", "f (1)", True, form="answer"),
        Graded("pairs of outputs", "ceil(0.5)", True, form="answer"),
    ),
    "sandboxfusion-exit-code-zero": (
        Graded("crux", "f(1)", True, form="answer"),
        Graded("crux", "exit(0)", True, form="answer"),
        Graded("crux", "2", False, form="answer"),
    ),
    "text-or-literal-equality": (
        Graded("prediction", "1.0", True, form="answer"),
        Graded("prediction", "0 + 1", False, form="answer"),
        Graded("text that is no literal", " <f> ", True, form="answer"),
    ),
    "choice-by-chosen-program": (
        Graded("choice", ASSERTED.format("B", "assert f(1) == 2"), True, form="reply"),
        Graded("choice", ASSERTED.format("B", "assert f(1) == 1"), False, form="reply"),
        Graded("choice", ASSERTED.format("A", "1"), True, form="reply"),
    ),
    "literal-equality": (
        Graded("prediction", "True", True, form="answer"),
        Graded("prediction", "0 + 1", False, form="answer"),
    ),
}
CONTESTS = {
    "livecodebench-functional": (
        Graded("pair", "def f(x):\n    return 1, 2\n", [True]),
        Graded("nested", "def f(x):\n    return [(1, 2)]\n", [False]),
        Graded("called", STEPS, [True, False]),
        Graded("word", "def f(x):\n    return x\n", [-4]),
    ),
    "livecodebench-stdin": (
        Graded("sums", "print(' ', float(sum(map(int, input().split()))), ' ')\n", [True, True]),
        Graded("sums", "print(7)\n", [True, -2]),
        Graded("blank", "print('1\\n2')\n", [-2]),
    ),
    "livecodebench-first-failure": (
        Graded("many", "print(input()[0])\n", [True] * 10 + [-2]),
        Graded("sums", "1 / 0\n", [-4]),
        Graded("sums", "raise ValueError('TimeoutException')\n", [-3]),
        Graded("sums", "x = (\n", [-4]),
    ),
    "livecodebench-system-exit": (
        Graded("sums", f"{SUM}raise SystemExit('late')\n", [True, True]),
        Graded("called", "def f(x):\n    raise SystemExit\n", [-2]),
    ),
    "livecodebench-lost-process": (
        Graded("sums", "import os\nos._exit(0)\n", [-2]),
        Graded("sums", "import os\nos._exit(0)\n", {"error_code": -5, "error_message": "TestRunnerError"}),
    ),
    "evalscope-livecodebench": (
        Graded("sums", "import os\nos._exit(0)\n", [-2]),
        Graded("sums", "import os\nos._exit(0)\n", {}),
        Graded("sums", "print(float(sum(map(int, input().split()))))\n", [True, True]),
    ),
    "lm-eval-fork-livecodebench": (
        Graded("sums", "import os\nos._exit(0)\n", [-2]),
        Graded("sums", "import os\nos._exit(0)\n", {}),
        Graded("pair", "def f(x):\n    return 1, 2\n", [True]),
    ),
    "evalscope-sandbox-stdin": (
        Graded("sums", f"print()\n{SUM}", True),
        Graded("sums", "print(float(sum(map(int, input().split()))))\n", False),
        Graded("sums", f"{SUM}exit(1)\n", False),
    ),
    "evalscope-sandbox-functional": (
        Graded("called", "def f(x):\n    print('TEST_PASSED')\n", True),
        Graded("called", "def f(x):\n    print('TEST_PASSED')\n    exit(1)\n", False),
        Graded("called", STEPS, False),
    ),
    "coralx-results": (
        Graded("repair of lists", "def f(x):\n    return (n + 1 for n in x)\n", False),
        Graded("repair", "def f(x):\n    return float(x + 1)\n", True),
        Graded(
            "repair",
            "class E:\n    def __eq__(self, other):\n        return True\ndef f(x):\n    return E()\n",
            False,
        ),
        Graded("repair of one list", "def f(x):\n    x.append(1)\n    return x\n", ["passed", "passed"]),
    ),
    "coralx-pytest-modules": (
        Graded("micro-repair", RIGHT, ["passed"] * 4),
        Graded("micro-repair", WRONG, ["wrong_answer", "wrong_answer", "passed", "wrong_answer"]),
        Graded("repair by asserts", RIGHT, ["passed"] * 4),
    ),
}
REWARDS = {
    "verl-prime-stdin": (
        Graded("lines alone", "print(' 1 ')\nprint()\nprint(2)\n", True),
        Graded("half", "print(0.500001)\n", True),
        Graded("half", "print(0.51)\n", False),
        Graded("million", "print(1000000.5)\n", True),
        Graded("million", "print(1000001)\n", False),
    ),
    "verl-prime-functional": (
        Graded("pair", "def f(x):\n    return 1\n", True),
        Graded("called", "def f(x):\n    return {x + 1}\n", False),
        Graded("dictionary", "def f(x):\n    return {1: 2}\n", True),
        Graded("called", STEPS, False),
    ),
    "lines-or-decimals": (
        Graded("sums", "print(' ', float(sum(map(int, input().split()))))\n", True),
        Graded("float value", "def f(x):\n    return 0.5 + 1e-9\n", False),
        Graded("called", STEPS, False),
    ),
    "nemo-gym-tolerance": (
        Graded("float value", "def f(x):\n    return 0.5 + 1e-9\n", True),
        Graded("float value", "def f(x):\n    return 0.5001\n", False),
        Graded("nested", "def f(x):\n    return [(1, 2)]\n", True),
        Graded("half", HALF.format(" + 1e-9"), False),
        Graded("called", STEPS, False),
    ),
    "open-instruct-asserts-and-stdin": (
        Graded("mbpp", EQUAL, True),
        Graded("mbpp", EXITS, False),
        Graded("sums", "print(' ', float(sum(map(int, input().split()))))\n", True),
    ),
    "open-r1-line-pairs": (
        Graded("lines alone", "print(1)\n", True),
        Graded("lines alone", " \nprint(' 1 ')\nprint(2)\n".lstrip(), True),
        Graded("lines", "print(1)\nprint(2)\n", False),
        Graded("sums", f"{SUM}exit(1)\n", False),
    ),
    "verl-sandbox-fusion-output": (
        Graded("lines alone", "print(1)\nprint(2)\nprint()\n", True),
        Graded("lines alone", "print(1, '')\nprint(2)\n", False),
        Graded("mbpp", LEAVES, True),
        Graded("sums", f"{SUM}exit(1)\n", False),
    ),
    "pytest-exit-code-zero": (
        Graded("mbpp", LEAVES, True),
        Graded("mbpp", WRONG, False),
    ),
    "exit-code-zero": (
        Graded("humanevalplus", LEAVES, True),
        Graded("humanevalplus", WRONG, False),
    ),
    "code-r1-exit-code-and-text": (
        Graded("mbpp", LEAVES, True),
        Graded("lines", "print(1)\nprint(2)\nprint()\n", True),
        Graded("lines alone", "print(1, '')\nprint(2)\n", False),
        Graded("sums", f"{SUM}exit(1)\n", False),
    ),
}
COMPARISON = SHARED | STRICT | FUNCTION_TESTS | PREDICTIONS | CONTESTS | REWARDS
"""Id of a rule -> answers that show it."""
