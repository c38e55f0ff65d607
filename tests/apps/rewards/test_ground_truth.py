"""Ground truths as trainers' data sets hold them: what is read, what a right and a wrong program then get."""

import base64
import json
import os
import pickle
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.thorough import one_in
from truegrade.benchmarks.ground_truths.ground_truth import read_ground_truth
from truegrade.benchmarks.ground_truths.pytest_modules import Unreadable, unpickled
from truegrade.grading.contests.tests import decode
from truegrade.pipeline.verdicts import limits_for, verdict_on
from truegrade.profiles.strict import Strict
from truegrade.records import Completion, Problem, Reason
from truegrade.sandbox import Sandbox

PROFILE = Strict()


@pytest.fixture(scope="module")
def sandbox():
    needs_pytest = problem(read_ground_truth(KODCODE))
    with Sandbox(limits_for(PROFILE, [needs_pytest]), workers=1, allow_unsafe=True) as opened:
        yield opened


def problem(truth):
    return Problem(id="p", benchmark="b", dataset_sha256="0", cluster="p", task=truth.task)


def verdict(truth, code, sandbox):
    ids = {"benchmark": "b", "dataset_sha256": "0", "problem_id": "p", "config_sha256": "0", "prompt_sha256": "0"}
    completion = Completion(**ids, sample=0, model="m", text=f"Here.\n```python\n{code}\n```")
    return verdict_on(completion, problem(truth), PROFILE, sandbox)


def packed(value):
    return base64.b64encode(zlib.compress(pickle.dumps(value))).decode()


SUM = "a, b = map(int, input().split())\nprint(a + b)"
DIFFERENCE = "a, b = map(int, input().split())\nprint(a - b)"
ADD = "def add(a, b):\n    return a + b"
SUBTRACT = "def add(a, b):\n    return a - b"
METHOD = "class Solution:\n    def add(self, a: int, b: int) -> int:\n        return a + b"
WRONG_METHOD = METHOD.replace("a + b", "a - b")
STACK = """class Stack:
    def __init__(self):
        self.items = []
    def push(self, value):
        self.items.append(value)
    def pop(self):
        if not self.items:
            raise Empty("nothing there")
        return self.items.pop()
class Empty(Exception):
    pass"""
REVERSED = """class Solution:
    def reverse(self, head: Optional[ListNode]) -> Optional[ListNode]:
        last = None
        while head:
            head.next, last, head = last, head, head.next
        return last"""
COPIED = """class Solution:
    def reverse(self, head):
        last = None
        while head:
            last, head = ListNode(head.val, last), head.next
        return last"""
STDIO = {"inputs": ["1 2\n", "3 5\n"], "outputs": ["3\n", "8\n"]}
CALLS = {"fn_name": "add", "inputs": [[1, 2], [3, 5]], "outputs": [[3], [8]]}
ROWS = [{"input": "1 2\n", "output": "3\n"}, {"input": "3 5", "output": "8"}]
ASSERTS = ["assert add(1, 2) == 3", "assert add(3, 5) == 8"]
CHECK = "def check(candidate):\n    assert candidate(1, 2) == 3\n    assert candidate(a = 3, b = 5) == 8\n"
KODCODE = """
import pytest
from solution import add

@pytest.fixture
def pair():
    return 3, 5

def test_fixture(pair):
    assert add(*pair) == 8

@pytest.mark.parametrize("a, b, sum", [(1, 2, 3), pytest.param(3, 5, 8, id="more")])
def test_pairs(a, b, sum):
    assert add(a, b) == sum

def test_error_and_tolerance():
    with pytest.raises(TypeError, match="unsupported"):
        add(1, None)
    assert add(0.1, 0.2) == pytest.approx(0.3)

class TestMore:
    def test_text(self):
        assert add("a", "b") == "ab"

if __name__ == "__main__":
    pytest.main([__file__])
"""
UNITTEST = """
import unittest
import solution

class TestAdd(unittest.TestCase):
    def setUp(self):
        self.pair = (1, 2)

    def test_pair(self):
        self.assertEqual(solution.add(*self.pair), 3)

    def test_error(self):
        with self.assertRaises(TypeError):
            solution.add(1, None)
"""
HUMANEVAL_PLUS = """
import numpy as np

def is_floats(x):
    return isinstance(x, float)

def assertion(out, exp, atol):
    if atol == 0 and is_floats(exp):
        atol = 1e-6
    if out != exp and atol != 0:
        assert np.allclose(out, exp, rtol=1e-07, atol=atol)
    else:
        assert out == exp, f"out: {out}, exp: {exp}"

inputs = [[1, 2], [3, 5]]
results = [3, 8]
for i, (inp, exp) in enumerate(zip(inputs, results)):
    assertion(add(*inp), exp, 0)
"""
STACK_TESTS = """
import pytest
from solution import Stack, Empty

def test_order():
    stack = Stack()
    stack.push(1)
    stack.push(2)
    assert stack.pop() == 2 and stack.pop() == 1
    with pytest.raises(Empty):
        stack.pop()
"""
PREPARED = """
import pytest
from solution import Stack, Empty

@pytest.fixture(scope="module", params=[1, 2])
def size(request):
    return request.param

@pytest.fixture
def stack(size):
    made = Stack()
    for number in range(size + 1):
        made.push(number)
    yield made
    with pytest.raises((KeyError, Empty)):
        while True:
            made.pop()

class TestStack:
    def setup_method(self):
        self.first = 0

    @pytest.mark.parametrize("times", [1, 2])
    def test_last(self, stack, size, times):
        for number in range(times):
            assert stack.pop() == size - number
        assert self.first == 0
"""
LINKED = """def check(candidate):
    assert is_same_list(candidate(head = list_node([1, 2, 3])), list_node([3, 2, 1]))
"""

TRUTHS = [
    ("stdio", STDIO, SUM, DIFFERENCE),
    ("stdio", json.dumps(STDIO), SUM, DIFFERENCE),
    ("stdio", str(STDIO), SUM, DIFFERENCE),
    ("stdio", {"verifier_metadata": {"unit_tests": STDIO}}, SUM, DIFFERENCE),
    ("stdio", {"input_output": json.dumps(STDIO), "difficulty": "EASY"}, SUM, DIFFERENCE),
    ("stdio", {"input": ["1 2"], "output": ["3"], "fn_name": None, "type": "stdin_stdout"}, SUM, DIFFERENCE),
    ("stdio", {"inputs": [["1 2"]], "outputs": [["3"]]}, SUM, DIFFERENCE),
    (
        "stdio",
        {"inputs": [None], "outputs": ["3"]},
        "import sys\nassert sys.stdin.read() == ''\nprint(3)",
        "print(4)",
    ),
    ("calls", CALLS, ADD, SUBTRACT),
    ("calls", CALLS, METHOD, WRONG_METHOD),
    ("calls", {**CALLS, "outputs": [3, 8]}, ADD, SUBTRACT),
    ("calls", {"fn_name": "add", "inputs": ["1\n2", "3\n5"], "outputs": ["3", "8"]}, METHOD, WRONG_METHOD),
    (
        "calls",
        {"fn_name": "add", "inputs": ['"a"\n"b"'], "outputs": ["ab"]},
        ADD,
        "def add(a, b):\n    return 'b'",
    ),
    (
        "calls",
        {"fn_name": "add", "inputs": ["[1]\n[2]"], "outputs": ["(1, 2)"]},
        ADD,
        "def add(a, b):\n    return b",
    ),
    ("calls", {"input": [[1, 2]], "output": [[3]], "fn_name": "add", "type": "function_call"}, ADD, SUBTRACT),
    ("calls", {**CALLS, "inputs": np.array([[1, 2], [3, 5]]), "outputs": np.array([[3], [8]])}, ADD, SUBTRACT),
    (
        "calls",
        {"fn_name": "f", "inputs": [[5]], "outputs": [[5]]},
        "def f(x):\n    return [x]",
        "def f(x):\n    return [x, x]",
    ),
    ("assert_case", {"assert_case": ASSERTS, "inputs": ["", ""], "outputs": [None, None]}, ADD, SUBTRACT),
    (
        "assert_case",
        {"fn_name": "add", "assert_case": ["total = add(1, 2)\nif total != 3:\n    raise ValueError(total)"]},
        ADD,
        SUBTRACT,
    ),
    ("test_cases", ROWS, SUM, DIFFERENCE),
    ("test_cases", {"language": "python", "test_cases": ROWS}, SUM, DIFFERENCE),
    ("test_cases", {"reward_spec": {"ground_truth": json.dumps(ROWS)}}, SUM, DIFFERENCE),
    ("test_cases", np.array([json.dumps(row) for row in ROWS], dtype=object), SUM, DIFFERENCE),
    (
        "test_cases",
        [{"input": "1\n2", "output": "3", "testtype": "functional", "metadata": {"func_name": "add"}}],
        METHOD,
        WRONG_METHOD,
    ),
    (
        "test_cases",
        [{"input": "1\n2", "output": "3", "testtype": "functional", "metadata": '{"func_name": "add"}'}],
        METHOD,
        WRONG_METHOD,
    ),
    ("test_cases", packed(ROWS), SUM, DIFFERENCE),
    ("test_cases", [{"type": "function_call", "fn_name": "add", "input": [1, 2], "output": [3]}], ADD, SUBTRACT),
    (
        "livecodebench",
        {"public_test_cases": json.dumps(ROWS), "private_test_cases": packed(json.dumps(ROWS)), "metadata": "{}"},
        SUM,
        DIFFERENCE,
    ),
    ("asserts", ASSERTS, ADD, SUBTRACT),
    ("asserts", json.dumps(ASSERTS), ADD, SUBTRACT),
    ("asserts", packed(ASSERTS), ADD, SUBTRACT),
    ("asserts", tuple(ASSERTS), ADD, SUBTRACT),
    ("asserts", np.array(ASSERTS), ADD, SUBTRACT),
    ("asserts", "\n".join(ASSERTS), ADD, SUBTRACT),
    ("asserts", {"test_list": ASSERTS, "test_setup_code": "", "challenge_test_list": []}, ADD, SUBTRACT),
    ("asserts", ["assert isclose(add(1.5, sqrt(4)), 3.5)", "assert math.isfinite(add(1, 2))"], ADD, SUBTRACT),
    ("check", {"functional": CHECK + "\ncheck(Solution().add)"}, METHOD, WRONG_METHOD),
    ("check", {"test": CHECK, "entry_point": "add"}, ADD, SUBTRACT),
    ("check", {"test": CHECK, "entry_point": "Solution().add"}, METHOD, WRONG_METHOD),
    ("check", {"test": CHECK, "entry_point": "check"}, ADD.replace("add", "check"), "def check(a, b):\n    pass"),
    ("pytest", f"from solution import add\n\n{CHECK}\ndef test_check():\n    check(add)\n", ADD, SUBTRACT),
    (
        "check",
        {"test": LINKED, "entry_point": "Solution().reverse"},
        REVERSED,
        REVERSED.replace("return last", "return None"),
    ),
    ("check", {"test": LINKED, "entry_point": "Solution().reverse"}, COPIED, COPIED.replace("head.val", "0")),
    ("pytest", KODCODE, ADD, SUBTRACT),
    ("pytest", json.dumps({"pytest": KODCODE}), ADD, SUBTRACT),
    ("pytest", UNITTEST, ADD, SUBTRACT),
    ("pytest", STACK_TESTS, STACK, STACK.replace("pop()", "pop(0)")),
    ("pytest", PREPARED, STACK, STACK.replace("pop()", "pop(0)")),
    ("pytest", PREPARED, STACK, STACK.replace("raise Empty", "raise ValueError")),
    ("inputs-results", HUMANEVAL_PLUS, ADD, SUBTRACT),
]


@pytest.mark.parametrize(("shape", "value", "right", "wrong"), one_in(2, TRUTHS))
def test_a_right_program_passes_and_a_wrong_one_does_not(shape, value, right, wrong, sandbox):
    truth = read_ground_truth(value)
    assert (truth.shape, truth.why_not) == (shape, "")
    passed, failed = verdict(truth, right, sandbox), verdict(truth, wrong, sandbox)
    assert passed.passed, passed.detail
    assert not failed.passed and failed.reason in {Reason.WRONG_ANSWER, Reason.RUNTIME_ERROR}, failed.detail


SAME = """class Same(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
def add(*given): return Same()
class Solution:
    add = staticmethod(add)"""
CHEATS = [
    "import os\nos._exit(0)",
    SAME,
    "raise SystemExit(0)",
    "from operator import add",
]


@pytest.mark.parametrize("cheat", CHEATS)
def test_no_program_buys_a_pass(cheat, sandbox):
    shapes = {shape: value for shape, value, right, _ in TRUTHS if right in (ADD, METHOD, SUM)}
    assert len(shapes) == 9
    for value in shapes.values():
        judged = verdict(read_ground_truth(value), cheat, sandbox)
        if "operator" not in cheat:
            assert not judged.passed and judged.reason is not Reason.GRADER_ERROR, judged


def test_what_stands_in_front_of_a_program_is_no_answer(sandbox):
    truth = read_ground_truth(
        {"test": "def check(candidate):\n    assert candidate(4, 6) == 2", "entry_point": "gcd"}
    )
    assert not verdict(truth, "x = 1", sandbox).passed
    assert verdict(truth, "import math\ndef gcd(a, b):\n    return math.gcd(a, b)", sandbox).passed


NOTHING = [
    *(None, 1, 2.5, True, "", "  ", "42", "null", "[]", "{}", [], {}, [[]], [None], [1, 2], b"\xff", object()),
    {"inputs": [], "outputs": []},
    {"inputs": ["1"], "outputs": ["1", "2"]},
    {"inputs": ["1"]},
    {"inputs": ["1"], "outputs": [None]},
    {"assert_case": []},
    {"assert_case": ["assert f(1)"], "outputs": ["3"]},
    {"language": "cpp", "test_cases": ROWS},
    {"fn_name": "f", "inputs": ["not json"], "outputs": ["1"]},
    {"fn_name": "f", "inputs": [[{1: 2}]], "outputs": [1]},
    [{"input": "n = 7, queries = [[0,5]]", "output": "[2]"}],
    [{"input": "1", "output": "1", "testtype": "functional"}],
    [{"input": "1", "output": "1", "testtype": "functional", "metadata": {"func_name": "f"}},
     {"input": "1", "output": "1", "testtype": "stdin"}],
    ["assert f(1) ==", "assert f(1)"],
    ["assert True"],
    ["x = f(1)"],
    "def check(candidate):\n    pass",
    "def check(candidate):\n    assert candidate(1)",
    "def f():\n    assert g(1)",
    "from solution import f\n\ndef helper():\n    pass",
    "def test_it(capsys):\n    assert f(1)",
    "words that are no program",
    {"inputs": ["\ud800"], "outputs": ["1"]},
]  # fmt: skip


@pytest.mark.parametrize("value", NOTHING)
def test_what_cannot_be_read_says_why_in_one_line(value):
    truth = read_ground_truth(value)
    assert truth.task is None and truth.shape == ""
    assert truth.why_not.startswith("the ground truth: ") and "\n" not in truth.why_not


def test_the_first_of_several_functions_that_most_asserts_call_is_the_entry_point():
    task = read_ground_truth(["assert made(node(1)) == 1", "assert made(node(2)) == 2", "assert other(1)"]).task
    assert task.entry_point == "made" and set(task.tests_use) == {"node", "other"}
    assert read_ground_truth(ASSERTS, entry_point="add").task.entry_point == "add"
    assert read_ground_truth(["assert sum([1, 2]) == 3"]).task.entry_point == "sum"


def test_contest_tests_are_kept_as_they_are():
    tests = decode(read_ground_truth(CALLS).task)
    assert (tests.inputs, tests.outputs, tests.or_outputs) == (("1\n2", "3\n5"), ("[3]", "[8]"), ("3", "8"))
    row = {"input": "1\n2", "output": "[3]", "testtype": "functional", "metadata": {"func_name": "f"}}
    assert decode(read_ground_truth([row]).task).or_outputs == ()
    assert decode(read_ground_truth({**CALLS, "outputs": [[3], [8, 9]]}).task).or_outputs == ()


# ---------------------------------------------------------------------------------------- hostile and arbitrary


class Bomb:
    def __reduce__(self):
        return os.system, ("touch /tmp/truegrade-was-here",)


@pytest.mark.parametrize(
    "data",
    [
        pickle.dumps(Bomb()),
        pickle.dumps([Bomb()], protocol=0),
        pickle.dumps({"inputs": [print]}),
        pickle.dumps(np.array([1])),
        pickle.dumps(bytearray(b"x")),
        b"\x80\x02]r\xff\xff\xff\x7f.",  # an index of the memo that alone takes 16 GiB
        b"cos\nsystem\n(S'true'\ntR.",
        b"(lp0\nh\x00a.",
        pickle.dumps([1])[:-1],
        b"",
    ],
)
def test_a_pickle_of_anything_but_data_is_refused(data):
    with pytest.raises(Unreadable):
        unpickled(data)
    text = base64.b64encode(zlib.compress(data)).decode()
    assert read_ground_truth(text).task is None


def test_a_pickle_that_refers_to_itself_or_doubles_itself_ends():
    endless = []
    endless.append(endless)
    doubled = ["x"]
    for _ in range(60):
        doubled = [doubled, doubled]
    for value in (endless, doubled):
        assert "the ground truth" in read_ground_truth(packed(value)).why_not


def test_packed_data_that_grow_too_large_are_refused():
    packer = zlib.compressobj()
    first, again = (packer.compress(b"\0" * (1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    zeros = base64.b64encode(first + again * 127).decode()
    assert "times its size" in read_ground_truth(zeros).why_not


plain_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["inputs", "outputs", "input", "output", "fn_name", "assert_case", "metadata", "type", "tests"]
            )
            | st.text(max_size=5),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(plain_json)
@settings(max_examples=100, deadline=None)
def test_arbitrary_json_never_raises(value):
    for form in (value, json.dumps(value), packed(value)):
        truth = read_ground_truth(form)
        assert (truth.task is None) == bool(truth.why_not) and (truth.task is None) == (truth.shape == "")


@given(st.text(alphabet="acdefhkstuvidnops_()[]:=.,'\" \n01"))
@settings(max_examples=200, deadline=None)
def test_arbitrary_text_never_raises(text):
    read_ground_truth(text)
    read_ground_truth([text])
    read_ground_truth(f"def check(candidate):\n {text}", entry_point=text)


OWN = {
    "id": "a",
    "prompt": "Write `add`.",
    "entry_point": "add",
    "prefix": "ZERO = 0",
    "reference": ADD + " + ZERO",
}
OWN_ROWS = {
    "calls": {**OWN, "tests": CHECK + "check(add)\n"},
    "a suite": {**OWN, "framework": "pytest", "tests": "def test_add():\n    assert add(1, 2) == 3\n"},
}


@pytest.mark.parametrize("row", OWN_ROWS.values(), ids=OWN_ROWS)
def test_a_row_of_own_problems_is_a_ground_truth_with_what_stands_before_the_answer(row, sandbox):
    for given_as in (row, json.dumps(row), {"ground_truth": row}):
        truth = read_ground_truth(given_as)
        assert truth.shape == "row" and truth.why_not == ""
        assert verdict(truth, ADD + " + ZERO", sandbox).passed
        assert verdict(truth, SUBTRACT + " + ZERO", sandbox).reason == Reason.WRONG_ANSWER


def test_a_row_of_own_problems_at_fault_says_which_field():
    truth = read_ground_truth({**OWN_ROWS["a suite"], "tests": "x = 1"})
    assert truth.task is None and "tests" in truth.why_not
    truth = read_ground_truth({**OWN_ROWS["calls"], "tags": 3})
    assert truth.task is None and "tags" in truth.why_not
