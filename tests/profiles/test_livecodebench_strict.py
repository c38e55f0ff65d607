"""`strict` on contest problems: real processes, comparison outside; and EvalScope's container."""

import msgspec
import pytest
from contest_rows import SUCCESSOR, SUM, contest, judged, method, reply
from hypothesis import given
from hypothesis import strategies as st

from truegrade.extraction.contest_programs import extract_contest_program
from truegrade.profiles import open_profile
from truegrade.records import Reason

STDIN, CALLED = contest(), contest(SUCCESSOR, "f")
BOTH = contest((*SUM, ("1 1\n", "2\n")))

RIGHT = [
    (STDIN, "import sys\na = sys.stdin.readline()\nprint(sum(map(int, a.split())), sys.stdin.read())"),
    (STDIN, "import sys\nfor line in sys.stdin:\n    print(sum(map(int, line.split())))"),
    (STDIN, "import sys\nprint(sum(map(int, sys.stdin.buffer.readline().split())))"),
    (STDIN, "print(sum(map(int, open(0).read().split())))"),
    (STDIN, "import os\nos.write(1, b'%d' % sum(map(int, os.read(0, 99).split())))"),
    (STDIN, "import threading, time\nthreading.Thread(target=lambda: (time.sleep(.2), print(7))).start()"),
    (STDIN, "from __future__ import annotations\nprint(7)"),
    (STDIN, "x = 0\ndef main():\n    global x\n    x = 7\nmain()\nprint(x)"),
    (STDIN, "class Solution:\n    pass\nif __name__ == '__main__':\n    print(7)\n    exit(0)"),
    (STDIN, "print(reduce(add, map(int, input().split())))"),
    (CALLED, method("return x + 1")),
    (
        CALLED,
        "from dataclasses import dataclass\n@dataclass\nclass N:\n    v: int\ndef f(x):\n    return N(x).v + 1",
    ),
    (CALLED, "class Solution:\n    def f(self, x: Optional[int]) -> List[int]:\n        return x + 1"),
    (CALLED, "import numpy\ndef f(x):\n    return numpy.int64(x) + 1"),
    (contest((("1", "[[1, 2]]"),), "f"), "def f(x):\n    return ((1, 2),)"),
    (contest((("1\n2\n", "3"),), "add"), "from operator import add"),
    (contest((("5\n2", "10"),), "comb"), "class Solution:\n    def comb(self, n, k):\n        return comb(n, k)"),
]
WRONG = [
    (STDIN, "print(8)", Reason.WRONG_ANSWER),
    (STDIN, "print(7)\nexit(1)", Reason.RUNTIME_ERROR),
    (STDIN, "print(7)\n1 / 0", Reason.RUNTIME_ERROR),
    (STDIN, "print(7", Reason.SYNTAX_ERROR),
    (STDIN, "print(7)\nraise KeyboardInterrupt", Reason.RUNTIME_ERROR),
    (CALLED, method("return 4"), Reason.WRONG_ANSWER),
    (CALLED, "def g(x):\n    return x + 1", Reason.RUNTIME_ERROR),
    (contest((("1\n2", "3"),), "add"), "x = 1", Reason.RUNTIME_ERROR),
    (CALLED, "n = 3\ndef f(x):\n    global n\n    n += 1\n    return n", Reason.WRONG_ANSWER),
    (CALLED, "def f(x:\n    return x", Reason.SYNTAX_ERROR),
    (CALLED, "class E:\n    def __eq__(self, o):\n        return 1\nf = lambda x: E()", Reason.WRONG_ANSWER),
    (CALLED, method("import os\nos._exit(0)"), Reason.RUNTIME_ERROR),
    (contest(()), "print(7)", Reason.GRADER_ERROR),
    (contest(private_tests="?"), "print(7)", Reason.GRADER_ERROR),
]  # fmt: skip


def test_right_programs_pass():
    for (_, code), judgement in zip(RIGHT, judged("strict", RIGHT), strict=True):
        assert judgement.passed, (code, judgement.detail)
        assert judgement.marks == ()


def test_wrong_programs_fail_with_a_reason():
    judgements = judged("strict", [(problem, code) for problem, code, _ in WRONG])
    for (_, code, reason), judgement in zip(WRONG, judgements, strict=True):
        assert judgement.reason is reason, (code, judgement)


def test_the_detail_names_the_first_test_that_fails():
    wrong, raised = judged("strict", [(BOTH, "print(7)"), (CALLED, method("return 4 if x == 3 else 1 / 0"))])
    assert wrong.detail == "test 2 of 2: printed '7\\n', expected '2\\n'; input '1 1\\n'"
    assert raised.detail == "test 2 of 2: ZeroDivisionError: division by zero; input '7'"


def test_integers_of_many_digits():
    digits = "9" * 6000
    rows = [
        (contest(((f"{digits}\n", digits),)), "print(int(input()))"),
        (contest(((digits, digits),), "f"), "def f(x):\n    return x"),
    ]
    assert [judgement.passed for judgement in judged("strict", rows)] == [True, True]


REPLIES = [
    ("Sure.\n```python\nprint(input())\n```\nOutput:\n```\n7\n```", "print(input())\n"),
    ("```python\nn = 1\n```\nthen\n```python\nprint(2)\n```", "print(2)\n"),
    ("```python\nprint(input())", "print(input())"),
    ("1. Do:\n   ```python\n   print(input())\n   ```", "print(input())\n"),
    ("import sys\nprint(sys.stdin.read())", "import sys\nprint(sys.stdin.read())"),
    ("~~~python\n    import sys\n    print(sys.stdin.read())\n~~~", "import sys\nprint(sys.stdin.read())\n"),
    ("\ufeffprint(input())", "print(input())"),
    ("```python\nprint(input())\nprint((\n```", "print(input())\nprint((\n"),
    ("```python\nprint(input())\nprint((", "print(input())"),
    ("<think>?</think>```python\nprint(input('</think>'))\n```", "print(input('</think>'))\n"),
]


@pytest.mark.parametrize(("text", "program"), REPLIES)
def test_extraction_for_standard_input(text, program):
    assert open_profile("strict").extract(STDIN, reply(text)).value == program


def test_a_program_may_begin_with_a_byte_order_mark():
    given = msgspec.structs.replace(reply("\ufeffprint(7)"), form="program")
    for problem in (STDIN, CALLED):
        assert open_profile("strict").extract(problem, given).value == "print(7)"


def test_a_reply_without_code_is_no_code():
    assert open_profile("strict").extract(STDIN, reply("I cannot do this.")).reason is Reason.NO_CODE
    assert open_profile("strict").extract(STDIN, reply("")).reason is Reason.NO_ANSWER


@given(st.text(alphabet="`\n prints(input)=1:#~", max_size=80))
def test_any_reply_is_read(text):
    answer = extract_contest_program(text)
    assert (answer.value is None) == (answer.reason is not None)


# ----------------------------------------------------------------------------------------- EvalScope's container

CONTAINER = [
    (STDIN, "import sys\nprint(sum(map(int, sys.stdin.buffer.read().split())))", True),
    (STDIN, "print('7.0')", False),
    (STDIN, "print(7)\nexit(1)", False),
    (CALLED, method("return x + 1"), True),
    (CALLED, "def f(x):\n    print('TEST_PASSED')", True),
    (contest((("[1, 2]", "3"),), "f"), "def f(x):\n    return sum(x)", True),
    (contest((("1\ntrue", '"true"'),), "f"), "def f(x, y):\n    return y", True),
    (contest((("1", "1"),), "f"), "def f(x):\n    '''one'''\n    return x", False),
    (contest((("4", "2.0"),), "f"), "def f(x):\n    return sqrt(x)", False),
    (contest(()), "", True),
]


def test_evalscopes_container():
    judgements = judged("evalscope-sandbox", [(problem, code) for problem, code, _ in CONTAINER])
    for (_, code, passed), judgement in zip(CONTAINER, judgements, strict=True):
        assert judgement.passed == passed, (code, judgement)
        assert judgement.harness["results"] == [passed]
    assert judgements[1].harness["metadata"]["failed_cases"] == ["Test 0: Expected '7', got '7.0'"]
    assert "tampering" not in judgements[3].marks


def test_evalscopes_container_marks_a_program_that_is_not_right():
    reads = "import sys\ndef f(x):\n    return int(sys._getframe(1).f_globals['expected_output'])"
    judgement = judged("evalscope-sandbox", [(CALLED, reads)])[0]
    assert judgement.passed
    assert judgement.marks == ("tests-inside", "tampering")
