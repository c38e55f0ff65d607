"""One process judges many samples, and nothing of one reaches the next."""

import random

import pytest

from support.cpu import cpu_within
from support.thorough import one_in
from truegrade.sandbox import Sandbox, worker
from truegrade.sandbox.judging import is_stateless, statement_at
from truegrade.sandbox.limits import MIB, Limits

ECHO = "def f(x): return x"
LIMITS = Limits(cpu_s=15, wall_s=90, memory_bytes=512 * MIB)


@pytest.fixture(scope="module")
def single():
    with Sandbox(LIMITS, workers=1, allow_unsafe=True) as opened:
        yield opened


@pytest.fixture
def alive(single):
    """The process that would judge the next sample; None if a new one would."""
    return lambda: single._idle[-1]._judges.get("standard")


def judge(sandbox, tests, program=ECHO):
    endless = "while True" in program + tests
    return sandbox.judge(program, tests, ["f"], cpu_s=0.5 if endless else None)


@pytest.mark.parametrize(
    ("program", "tests", "status"),
    [
        (ECHO, "assert f(1) == 1", "passed"),
        (ECHO, "assert f(1) == 2", "wrong_answer"),
        ("def f(x): raise ValueError(x)", "f(1)", "runtime_error"),
        ("def f(x): raise KeyError(x)", "try:\n    f(1)\nexcept KeyError:\n    pass", "passed"),
        (ECHO, "f(1) + 'a'", "wrong_answer"),
        ("def f(x): return x - 1", "assert f(2 if f(1) else 3) == 2", "passed"),  # not as foretold
    ],
)
def test_lives_on_after_an_ordinary_end(single, alive, program, tests, status):
    judge(single, "assert f(1) == 1")
    before = alive()
    assert before is not None
    assert judge(single, tests, program).status == status
    assert alive() is before


@pytest.mark.parametrize(
    ("program", "tests", "status"),
    one_in(
        4,
        [
            ("import os\ndef f(x): os._exit(0)", "f(1)", "runtime_error"),
            ("import os\ndef f(x): os.write(3, b'x' * 99)", "f(1)", "tampering"),
            ("def f(x):\n    while True: pass", "f(1)", "time_limit"),
            (ECHO, "while True: pass", "grader_error"),
            (ECHO, "f(1)\nwhile True: pass", "time_limit"),
            (ECHO, "import nothing_of_this_name", "grader_error"),
            (ECHO, "1 + 'a'", "grader_error"),
            (ECHO, "f(1)\nraise MemoryError", "memory_limit"),
            (ECHO, "f(1)\nraise SystemExit", "wrong_answer"),
            (ECHO, "import os\nf(1)\nos._exit(0)", "runtime_error"),
            (ECHO, "import math\nmath.pi = 3\nassert f(1) == 1", "passed"),
            ("def f(x): return 'a' * (4 << 20)", "a = f(1) * 10\nassert len(a) > 1", "passed"),
        ],
    ),
)
def test_ends_after_anything_else(single, alive, program, tests, status):
    judge(single, "assert f(1) == 1")
    assert alive() is not None
    assert judge(single, tests, program).status == status
    assert alive() is None
    assert judge(single, "import math\nassert math.pi > 3.1 and f(1) == 1").status == "passed"


def test_is_replaced_after_its_samples(single, alive, monkeypatch):
    monkeypatch.setattr(worker, "MAX_SAMPLES", 3)
    seen = []
    for _ in range(12):
        assert judge(single, "assert f(1) == 1").status == "passed"
        seen.append(alive())  # kept, so that no number is given away twice
    assert len({id(process) for process in seen[-9:]}) >= 3


def test_names_of_one_sample_are_unknown_to_the_next(single, alive):
    judge(single, "helper = 5\ndef other(): return helper\nassert f(1) == other() - 4")
    before = alive()
    assert judge(single, "assert f(1) == helper").status == "grader_error"
    assert before is not None


def test_generators_are_seeded_anew(single, alive):
    judge(single, "import random\nrandom.seed(1)\nassert f(random.random()) >= 0")
    before = alive()
    seeded = random.Random(1)
    continued = [seeded.random() for _ in range(2)]
    outcome = judge(single, "import random\nassert f(random.random()) == -1")
    assert alive() is before
    assert outcome.status == "wrong_answer"
    assert not any(repr(number) in outcome.detail for number in continued)


def test_each_sample_has_limits_of_its_own(single):
    spend = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass\nassert f(1) == 1"
    assert [single.judge(ECHO, spend, ["f"], cpu_s=2).status for _ in range(7)] == ["passed"] * 7


@pytest.mark.parametrize(
    "source",
    [
        "def check(candidate):\n    assert candidate(1) == 1\ncheck(f)",
        "import math, random\nx = {}\nx['a'] = math.floor(random.random())",
        "import numpy as np\nassert np.allclose(f(1), 1)",
        "from typing import List\nclass A:\n    '''Words.'''\n    def g(self): return set([1])",
        "class A:\n    x: int = 1\n    def g(self): return super().__len__()\ny: int = 2",
        "d = {}\nd.setdefault(1, []).append(2)",
    ],
)
def test_harmless_tests_are_known(source):
    assert is_stateless(compile(source, "t", "exec"))


@pytest.mark.parametrize(
    "source",
    [
        "import math\nmath.pi = 3",
        "import math\ndel math.pi",
        "import math\ndef g():\n    math.pi = 3\ng()",
        "import sys\nsys.setrecursionlimit(99)",
        "import os",
        "from os import environ",
        "import os.path",
        "def g():\n    from threading import Thread",
        "import random\nsetattr(random, 'random', 1)",
        "import json\nvars(json)['dumps'] = 1",
        "import json\njson.__dict__['dumps'] = 1",
        "open('note', 'w')",
        "exec('import os')",
        "import numpy\nnumpy.set_printoptions(3)",
        "class A:\n    def __del__(self): pass",
        "g = lambda: __import__('os')",
        "import collections.abc\ncollections.abc.Sized.register(int)",
        "\n".join(f"a{i} = {i}" for i in range(300)) + "\nimport os",
    ],
)
def test_what_may_outlast_tests_is_known(source):
    assert not is_stateless(compile(source, "t", "exec"))


def test_tests_that_are_kept_do_not_grow_without_bound(single, alive):
    """Six of 100,000 characters each, of which five can be kept, over and over in one process."""
    judge(single, "assert f(1) == 1")
    before = alive()
    for number in [*range(6), *range(6), 5, 0]:
        tests = f"assert f({number}) == {number}\n" + "#" * 100_000
        assert judge(single, tests).status == "passed"
        assert judge(single, tests, "def f(x): return -1").status == "wrong_answer"
    assert alive() is before


SOURCE = """x = 'é'; assert x == '日本', 1
if x:
    assert (2 ==
            3)
# nothing
"""


@pytest.mark.parametrize(
    ("line", "text"),
    [(1, "assert x == '日本', 1"), (2, "if x: assert (2 == 3)"), (4, "assert (2 == 3)"), (5, "# nothing")],
)
def test_the_statement_of_a_line_is_found_without_a_look_at_every_letter(line, text):
    filling = "".join(f"# {number}{'.' * 900}\n" for number in range(3000))
    for source in (SOURCE + filling, (SOURCE + filling).replace("\n", "\r\n")):
        with cpu_within(0.3):
            assert statement_at(source, line)[0] == text
