"""Calls that tests are about to make are sent ahead; no verdict depends on it."""

import random

import pytest

from truegrade.sandbox import modes
from truegrade.sandbox.frames import loads, value_frame
from truegrade.sandbox.judge import JudgePlan
from truegrade.sandbox.judging import MAX_BYTES, MAX_CALLS, REHEARSAL_S

NEXT_TOKEN = """
import gc, os, sys
def next_token():
    \"""Of the call after the one being answered, in what has been read of the stream. Before it: the length of the
    call's frame, and the kind and size of a marshalled tuple and of a string.\"""
    readers = (each.gi_frame for each in gc.get_objects() if type(each).__name__ == "generator")
    held = next(reader.f_locals["held"] for reader in readers if reader and "held" in reader.f_locals)
    start = 4 + int.from_bytes(held[:4], "little")
    return bytes(held[start + 14 : start + 30])
"""
"""What a program can do to learn how the next answer is to be marked."""

COUNTER = "made = []\ndef f(*given):\n    made.append(given)\n    return len(made)\n"


def foretold(tests, trusted=""):
    return [loads(call)[1] for call in JudgePlan(trusted, tests).calls(["f"])]


@pytest.mark.parametrize(
    ("tests", "calls"),
    [
        ("assert f(1) == 2\nassert f([2]) > 3", [(1,), ([2],)]),
        (
            "def check(g):\n    for n in range(3):\n        assert abs(g(n) - n) < 1e-6\ncheck(f)",
            [(0,), (1,), (2,)],
        ),
        ("given = [1]\nf(given)\ngiven.append(2)\nf(given)", [([1],), ([1, 2],)]),
        ("f(1)\nassert len(f(2)) == 1\nf(3)", [(1,), (2,)]),  # of a value's length nothing is known
        ("assert not f(1)\nf(2)", [(1,)]),
        ("f(f(1))", [(1,)]),
        ("f(1)\nf({2})\nf(3)", [(1,)]),  # the order of a set is not the tests' business
        ("try:\n    f(1)\n    assert False\nexcept ValueError:\n    pass\nf(2)", [(1,)]),
        ("import random\nf(random.Random(1).random())", [(random.Random(1).random(),)]),
        ("import numpy\nf(int(numpy.random.default_rng().integers(9)))", []),  # nobody can tell
        ("import os\nf(1)", []),  # tests that may leave something behind run once
        (f"for n in range({10 * MAX_CALLS}): f(n)", [(n,) for n in range(MAX_CALLS)]),
        (f"f('a' * {MAX_BYTES // 2})\nf('b' * {MAX_BYTES})\nf(1)", [("a" * (MAX_BYTES // 2),)]),
        (
            "while True:\n    try:\n        f(0)\n    except BaseException:\n        break\nf(1)",
            [(0,)] * MAX_CALLS,
        ),
    ],
)
def test_what_can_be_told_without_the_program(tests, calls):
    assert foretold(tests) == calls


def test_trusted_source_and_its_names_take_part_once_more():
    assert foretold("seen.append(f(limit))\nassert len(seen) == 1\nf(2)", "limit = 7\nseen = []") == [(7,), (2,)]


def test_numbers_that_are_drawn_for_the_forecast_are_drawn_again():
    random.seed(7)
    (told,), drawn = foretold("import random\nf(random.random())"), random.random()
    assert told == (drawn,)


@pytest.mark.parametrize(
    "draw", ["random.randint(0, 999)", "random.Random().random()", "random.SystemRandom().random()"]
)
def test_tests_that_draw_numbers_are_judged_as_ever(judged, draw):
    tests = f"import random\nfor _ in range(100):\n    x = {draw}\n    assert f(x) == x"
    assert judged("def f(x): return x", tests).status == "passed"
    assert judged("def f(x): return -x - 1", tests).status == "wrong_answer"


def test_draws_of_the_trusted_source_come_first(judged):
    trusted, tests = (
        "import random\nfirst = random.random()",
        "import random\nassert f(random.random()) < 1 > f(first)",
    )
    for _ in range(3):
        assert judged("def f(x): return x", tests, trusted=trusted).status == "passed"


def test_a_rehearsal_that_would_not_end_ends():
    assert foretold("x = f(3)\nwhile x != 0: x = x - 1\nf(4)") == [(3,)]
    assert REHEARSAL_S < 0.2


@pytest.mark.parametrize(
    ("tests", "status"),
    [
        # Values that agree with everything take the first branch, the program's the second.
        ("if f(1) == 5:\n    f(2)\nelse:\n    assert f(3) == 2", "passed"),
        ("if f(1) == 5:\n    f(2)\nelse:\n    assert f(3) == 3", "wrong_answer"),
        ("x = f(3)\nwhile x != 0: x = x - 1\nassert f(4) == 2", "passed"),
        ("assert f() == 1\nassert f() == 2\nassert f() == 3", "passed"),
        (f"for n in range(1, {3 * MAX_CALLS}): assert f(n) == n", "passed"),
        ("assert f() == 1 and f(2) == 2 and f({3}) == 3 and f(4) == 4", "passed"),
    ],
)
def test_each_call_is_answered_as_if_it_came_alone(judged, tests, status):
    assert judged(COUNTER, tests).status == status


def test_a_call_that_cannot_be_sent_is_another_than_the_one_foretold(judged):
    """The answers to those that were foretold after it are not taken for others."""
    program = "def f(x): return object() if x == 1 else x"
    tests = "x = f(1)\ny = 2 if x == 5 else x\ntry:\n    f(y)\nexcept TypeError:\n    pass\nassert f(3) == 3"
    assert foretold(tests) == [(1,), (2,), (3,)]
    assert judged(program, tests).status == "passed"


def test_what_comes_after_a_wrong_answer_decides_nothing(judged):
    program = "def f(x):\n    while x: pass\n    return x"
    assert judged(program, "assert f(0) == 1\nassert f(1) == 1").status == "wrong_answer"
    dying = "import os\ndef f(x):\n    return os._exit(0) if x else x"
    outcome = judged(dying, "assert f(0) == 1\nassert f(1) == 1")
    assert outcome.status == "wrong_answer"
    assert "returned 0" in outcome.detail


def test_an_answer_to_the_call_after_the_next_is_tampering(judged):
    """Found in its own memory, where the second call waits while the first is answered."""
    program = f"""{NEXT_TOKEN}
def f(x):
    os.write(3, {value_frame(b"T" * 16, 1, 100)!r}.replace(b"T" * 16, next_token()))
    return 1
"""
    tests = "assert f(1) == 1\nassert f(2) == 1"
    assert judged("def f(x): return 1", tests).status == "passed"
    assert judged(program, tests).status == "tampering"


def test_outputs_come_back_in_order_and_no_further_than_asked_for(sandbox):
    results = []

    def keep(index, result):
        results.append((index, result.value))
        return len(results) < 3

    program = "def f(x):\n    while x == 3: pass\n    return -x"  # the fourth call is endless, and is made
    outcome = sandbox.call(program, "f", [(n,) for n in range(20)], keep)
    assert (outcome.status, results) == ("passed", [(0, 0), (1, -1), (2, -2)])


def test_large_arguments_and_results_pass_each_other(outputs):
    """Neither side waits for the other to read while the other waits for it."""
    size = 300_000
    outcome, results = outputs("def f(x): return x * 2", *[("a" * size,) for _ in range(40)])
    assert outcome.status == "passed"
    assert [len(result.value) for result in results] == [2 * size] * 40


def test_a_program_that_answers_a_call_it_has_not_read_whole_is_no_trouble(outputs):
    """The stream still holds most of the last argument when the answer to it is there."""
    program = f"""{NEXT_TOKEN}
def f(x):
    for token in (sys._getframe(1).f_locals["token"], next_token()):
        os.write(3, {value_frame(b"T" * 16, 1, 100)!r}.replace(b"T" * 16, token))
    os._exit(0)
"""
    outcome, results = outputs(program, (1,), ("a" * 4_000_000,), (3,))
    assert (outcome.status, len(results)) == ("runtime_error", 2)


STATEMENTS = [
    "assert f({n}) >= 0",
    "assert f({n}, {n}) == {n}",
    "total = f({n}) + total",
    "if f({n}) > {n}:\n    f(-1)",
    "for i in range({n} % 4): assert f(i) != -7",
    "try:\n    f({n})\nexcept ValueError:\n    f(-2)",
    "assert f([{n}] * {n})",
    "values = [f(i) for i in range({n})]\nassert sorted(values) == values",
    "f(f({n}))",
]
PROGRAMS = [
    COUNTER,
    "def f(*given): return given[0]",
    "def f(*given):\n    if given[0] == 3: raise ValueError(given)\n    return len(given)",
    "import os\ndef f(*given): return os._exit(0) if given == (5,) else 4",
    "def f(x): return x",
]


def test_verdicts_are_those_of_one_call_at_a_time(sandbox, judged, monkeypatch):
    rng = random.Random(1)
    samples = [
        (
            rng.choice(PROGRAMS),
            "total = 0\n" + "\n".join(rng.choice(STATEMENTS).format(n=rng.randrange(7)) for _ in range(4)),
        )
        for _ in range(80)
    ]
    deviated = 0

    def counted(*args, **more):
        nonlocal deviated
        try:
            return one_judgement(*args, **more)
        except modes.Deviated:
            deviated += 1
            raise

    one_judgement = modes.run_tests
    monkeypatch.setattr(modes, "run_tests", counted)
    ahead = [judged(*sample) for sample in samples]
    monkeypatch.setattr(modes, "run_tests", lambda *args, **more: one_judgement(*args, **more | {"ahead": False}))
    alone = [judged(*sample) for sample in samples]
    assert [(each.status, each.detail) for each in ahead] == [(each.status, each.detail) for each in alone]
    assert len({each.status for each in alone}) >= 3
    assert 0 < deviated < len(samples) / 2
