"""The problems that examples of rules name (`support.rule_examples`)."""

from pathlib import Path
from tempfile import TemporaryDirectory

from contest_rows import contest
from prediction_rows import choice_problem, input_problem, output_problem
from profile_rows import oracle, problem, problems, suite_problem

from support.stand_in_data import write_stand_in
from truegrade.benchmarks import load_benchmark
from truegrade.profiles.base import covered_benchmarks
from truegrade.records import AskedState, Case, CasesTask, Pairing, Problem, SuiteTask

_METHOD = (
    "def add(*args, **named):\n    return Solution().add(*args, **named)\n\n\n"
    "def check(candidate):\n    assert candidate(a = 1, b = 2) == 3\n    assert candidate(a = 2, b = 2) == 4\n\n"
    "\ncheck(add)\n"
)
_HEAD = 'def twice(n):\n    return 2 * n\n\ndef add(a, b):\n    """ Add. """\n'
_CHECK = "def check(candidate):\n    assert candidate(1, 2) == 3\n"
_PATCHED = "import json, unittest\nfrom unittest.mock import patch\nclass TestCases(unittest.TestCase):\n"
_PATCHED += "    @patch('json.loads', return_value=3)\n    def test_add(self, loads):\n"
_PATCHED += "        self.assertEqual(add('x', 2), 3)\n    def test_more(self):\n"
_PATCHED += "        self.assertEqual(add('5', 2), 5)\n"
_STATED = "def f(x):\n    y = x + 1\n    return -y"
_READS = "import json\ndef add(a, b):\n    return json.loads(a)\n"


def _suite(benchmark, **fields):
    task = SuiteTask(**({"prompt": "", "entry_point": "add", "tests": ""} | fields))
    return Problem(id="T/1", benchmark=benchmark, dataset_sha256="", cluster="T/1", task=task)


def _repair(*cases, **fields):
    found = tuple([Case(arguments=arguments, expected=expected) for arguments, expected in cases])
    buggy, reference = "def f(x):\n    return x + 2\n", "def f(x):\n    return x + 1\n"
    task = CasesTask(entry_point="f", buggy=buggy, reference=reference, cases=found, **fields)
    return Problem(id="T/1", benchmark="quixbugs", dataset_sha256="", cluster="T/1", task=task)


def _read(benchmark, written):
    """The first problem of a benchmark, out of the file or folder that this writes."""
    with TemporaryDirectory() as folder:
        return load_benchmark(benchmark, written(Path(folder)), {"allow_modified": "true"}).problems[0]


_SHOWN = 'def add(a, b):\n    """ Add. """\n'
_BUSY = "import time\ndef busy(seconds):\n    end = time.process_time() + seconds\n"
_BUSY += f"    while time.process_time() < end:\n        pass\n\n{_SHOWN}"
_SPACED = f"\n{_SHOWN}\n"
_FLOATS = {"base_inputs": ((1, 2), (1.5, 2.0)), "plus_inputs": ()}
_LARGE = "def add(a, b):\n    return list(range(2_100_000))\n"
TASKS = {
    "helper": lambda: problem("humaneval", prefix=_HEAD, prompt=_HEAD),
    "two defs": lambda: problem("humaneval", tests=f"THREE = 3\ndef three():\n    return 3\n{_CHECK}\ncheck(add)"),
    "setup": lambda: problem("mbpp", setup="extra = 2", tests="assert add(1, extra) == 3"),
    "late setup": lambda: problem("mbpp", setup="x = Two().n", shown_tests=("assert add(x, 1) == 3",)),
    "sanitized setup": lambda: problem("mbpp-sanitized", setup="1 / 0"),
    "method": lambda: problem(
        "leetcode-dataset", prefix="import math\n", tests=_METHOD, tests_use=("Solution",), reference=""
    ),
    "floats": lambda: oracle(**_FLOATS),
    "float alone": lambda: oracle(base_inputs=((1.5, 2.0),), plus_inputs=()),
    "order": lambda: oracle(base_inputs=((1.5, 2.0), (1, 2)), plus_inputs=()),
    "set": lambda: oracle("mbppplus", comparator="set_equal", reference="def add(a, b):\n    return [a, b]\n"),
    "large": lambda: oracle("mbppplus", reference=_LARGE, base_inputs=((1, 2),), plus_inputs=()),
    "imports": lambda: _suite(
        "bigcodebench", tests=suite_problem().task.tests, prefix="import math\ndef add(a, b):\n",
        prompt="import math\ndef add(a, b):\n", reference="import math\ndef add(a, b):\n    return a + b\n",
    ),
    "patched": lambda: _suite("bigcodebench", tests=_PATCHED, reference=_READS),
    "skipped": lambda: _suite(
        "bigcodebench", skipped=("TestCases.test_lost",), reference="def add(a, b):\n    return a + b\n",
        tests=f"{suite_problem().task.tests}    def test_lost(self):\n        self.assertEqual(1, 2)\n",
    ),
    "spaced oracle": lambda: oracle(prompt=_SPACED, prefix=_SPACED),
    "spaced suite": lambda: _suite("bigcodebench", prompt=_SPACED, prefix=_SPACED, reference=""),
    "described suite": lambda: _suite("bigcodebench", prompt="Add.", prefix=_SHOWN, reference=""),
    "explained": lambda: _read("humanevalexplain", lambda folder: write_stand_in("humanevalexplain", folder)),
    "slow problem": lambda: problem("humaneval", cpu_s=60.0),
    "slow reference": lambda: oracle(
        prompt=_BUSY, prefix=_BUSY, plus_inputs=(), base_inputs=((1, 2),),
        reference=f"{_BUSY}    busy(0.2)\n    return a + b\n",
    ),
    "long output": lambda: output_problem(("", "1", f"'{'a' * 99_999}'"), "execution-prediction"),
    "less long output": lambda: output_problem(("", "1", f"'{'a' * 99_998}'"), "execution-prediction"),
    "starter": lambda: contest(starter_code="class Solution:\n    def f(self, a):\n        "),
    "question": lambda: output_problem(
        ("def f(x):\n    pass", "1", "1"), "livecodebench-testoutput", question="Add.\n"
    ),
    "sums": lambda: contest((("3 4\n", "7\n"), ("1 1\n", "2\n"))),
    "sums, wrong first": lambda: contest((("3 4\n", "8\n"), ("1 1\n", "2\n"))),
    "half": lambda: contest((("1\n", "0.5\n"),)),
    "lines": lambda: contest((("", "\n1\n2\n"),)),
    "lines alone": lambda: contest((("", "1\n2\n"),)),
    "blank": lambda: contest((("", "1 2\n"),)),
    "octal": lambda: contest((("", "11\n"),)),
    "million": lambda: contest((("", "1000000\n"),)),
    "many": lambda: contest(tuple([(f"{n} 0\n", f"{n}\n") for n in range(12)])),
    "called": lambda: contest((("3", "4"), ("7", "8")), "f"),
    "add": lambda: contest((("1\n2", "3"),), "add"),
    "pair": lambda: contest((("1", "[1, 2]"),), "f"),
    "nested": lambda: contest((("1", "[[1, 2]]"),), "f"),
    "dictionary": lambda: contest((("1", '{"1": 2}'),), "f"),
    "list or text": lambda: contest((("[1, 2]", "3"), ("[3]\n[4]", "7"), ("word\n1", '"word"')), "f"),
    "long integer": lambda: contest((("9" * 4400 + "\n", "9" * 4400 + "\n"),)),
    "float value": lambda: contest((("1", "0.5"),), "f"),
    "output": output_problem,
    "nested output": lambda: output_problem(("def f(x):\n    return [x, {1: 2}]", "1", "[1, {1: 2}]")),
    "pairs of outputs": lambda: output_problem(("def f(x):\n    return x", "1", "1"), "livecodebench-execution"),
    "state": lambda: output_problem(
        (_STATED, "1", "2"), "execution-prediction", state=AskedState(line=2, variable="y")
    ),
    "runs": lambda: output_problem((_STATED, "1", "1"), "execution-prediction", state=AskedState(line=2)),
    "prediction": lambda: output_problem(("def f(x):\n    return x", "1", "1"), "execution-prediction"),
    "crux": lambda: output_problem(("def f(x):\n    return x", "1", "1")),
    "crux input": lambda: input_problem(("def f(x):\n    return x % 10", "1", "1")),
    "choice": lambda: choice_problem(),
    "pair of programs": lambda: output_problem(
        ("def f(x):\n    return x", "1", "1"), "execution-prediction",
        pairing=Pairing(item="r", case=0, shown="original", other="2"),
    ),
    "text that is no literal": lambda: output_problem(
        ("def f(x):\n    return f", "1", "<f>"), "execution-prediction"
    ),
    "word": lambda: contest((("word", '"word"'),), "f"),
    "repair of one list": lambda: _repair((([1],), [1, 1]), (([1],), [1, 1])),
    "repair by asserts": lambda: problem("quixbugs", buggy="def add(a, b):\n    return a - b\n"),
    "repair": lambda: _repair(((1,), 2), ((2,), 3)),
    "repair of lists": lambda: _repair((([1],), [2]), comparator="list"),
    "repair skipped": lambda: _repair(((1,), 2), ((2,), 3), skipped=(1,)),
}  # fmt: skip


EXAMPLES = {
    f"HumanEval/{n}": problem("humaneval", prompt=f"def shown_{n}():\n", reference=f"def shown_{n}():\n    pass\n")
    for n in range(2)
}
"""What prompts show solved."""


def task_of(profile, name):
    """The problem of this name; ``a|b``: the first that the profile covers, of a benchmark or a task here."""
    covered = covered_benchmarks(profile)
    for one in name.split("|"):
        if one in TASKS:
            found = TASKS[one]()
            if found.benchmark in covered:
                return found
        elif one in covered:
            return problems(one)[0]
    raise AssertionError(f"{profile.name} covers none of {name}")
