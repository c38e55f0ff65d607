"""EvalPlus' comparison, rule by rule; every row was also given to evalplus@26d6d00 itself (test_evalplus.py)."""

import os
import pickle
import signal
from tempfile import TemporaryFile

import pytest

from truegrade.grading.evalplus import grade_by_evalplus, run_reference
from truegrade.grading.evalplus_inside import TimeLimit, WrongAnswer, check
from truegrade.records import OracleTask, Reason
from truegrade.sandbox import Limits, Sandbox


@pytest.fixture(autouse=True)
def _handlers():
    kept = {number: signal.getsignal(number) for number in (signal.SIGPROF, signal.SIGALRM)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


def run(body, rows, comparator="equal", atol=0.0, limit_s=4.0):
    """Check ``def f(*args): <body>`` on (arguments, expected) rows."""
    inputs, outputs = [list(arguments) for arguments, _ in rows], [expected for _, expected in rows]
    check(given(inputs, outputs), f"def f(*args):\n    {body}\n", "f", comparator, atol, [limit_s] * len(rows))


def given(inputs, outputs):
    """The descriptor that `check` reads and closes."""
    with TemporaryFile() as file:
        for value in (inputs, *outputs):
            pickle.dump(value, file)
        file.seek(0)
        return os.dup(file.fileno())


RIGHT = [
    ("return args[0]", [((1,), 1), (([1, 2],), [1, 2])], "equal", 0.0),
    ("return 1", [((1,), True)], "equal", 0.0),
    ("return args[0] + 1e-7", [((1.0,), 1.0)], "equal", 0.0),
    ("return args[0] + 1e-7", [((1.0,), 1.0), ((2,), 2.0)], "equal", 0.0),
    ("return [x + 1e-7 for x in args]", [((1.0, 2.0), [1.0, 2.0])], "equal", 0.0),
    ("return [2, 1, 1]", [((), [1, 2])], "set_equal", 0.0),
    ("return object()", [((), True)], "not_none", 0.0),
    ("return None", [((), False)], "not_none", 0.0),
    ("return 'anything'", [((), 1)], "always", 0.0),
    ("return 0", [((7,), 5)], "equal_or_zero", 0.0),
    ("return 2", [((1, 12), 3)], "digit_distance", 0.0),
    ("return 1.0", [(([-1, 1],), 0.3)], "root", 1e-4),
    ("return type('E', (), {'__eq__': lambda s, o: True})()", [((), 5)], "equal", 0.0),
    # The tolerance of the first input stays for the second, where 3 would have to be equal.
    ("return args[0] if args[0] < 2 else 3.0 * (1 + 1e-9)", [((1.0,), 1.0), ((3,), 3.0)], "equal", 0.0),
    ("return args[0] if args[0] == 1.0 else [[3.0 + 1e-9]]", [((1.0,), 1.0), ((2,), [[3.0]])], "equal", 0.0),
]
WRONG = [
    ("return 2", [((1,), 1)], "equal", 0.0),
    ("return (1, 2)", [((), [1, 2])], "equal", 0.0),
    ("return [[3.0 + 1e-9]]", [((2,), [[3.0]])], "equal", 0.0),
    ("return args[0] + 1e-5", [((1.0,), 1.0)], "equal", 0.0),
    ("return 1", [((), 1.1)], "equal", 0.5),
    ("return [1.0]", [((), [1.0, 2.0])], "equal", 0.0),
    ("return True", [((), False)], "not_none", 0.0),
    ("return None", [((), True)], "not_none", 0.0),
    ("return 3", [(([-1, 1],), 1.0)], "root", 1e-4),
    ("return float('nan')", [((), float("nan"))], "equal", 0.0),
]


@pytest.mark.parametrize(("body", "rows", "comparator", "atol"), RIGHT)
def test_right(body, rows, comparator, atol):
    run(body, rows, comparator, atol)


@pytest.mark.parametrize(("body", "rows", "comparator", "atol"), WRONG)
def test_wrong(body, rows, comparator, atol):
    with pytest.raises(WrongAnswer):
        run(body, rows, comparator, atol)


def test_what_ends_a_check():
    with pytest.raises(SystemExit):
        run("raise SystemExit(0)", [((), 1)])
    with pytest.raises(OSError):
        run("import sys; return sys.stdin.read()", [((), "")])
    with pytest.raises(TypeError):
        run("return [[1], [2]]", [((), [1, 2])], "set_equal")
    with pytest.raises(KeyError):
        check(given([], []), "x = 1", "f", "equal", 0.0, [])
    with pytest.raises(TimeLimit):
        run("\n    while True: pass", [((), 1)], limit_s=0.05)
    with pytest.raises(TimeLimit):
        run("import time; time.sleep(2)", [((), 1)], limit_s=0.05)


def test_output_is_swallowed(capsys):
    run("print('noise'); return 1", [((), 1)])
    assert capsys.readouterr().out == ""


LETTERS = "def f(n):\n    return chr(97 + n) * 6_000_000\n"


def graded(reference, program, inputs, memory_mib):
    task = OracleTask(prompt="", entry_point="f", reference=reference, base_inputs=(), plus_inputs=inputs)
    with Sandbox(Limits(cpu_s=30.0, memory_bytes=memory_mib << 20), workers=1) as sandbox:
        truth = run_reference(task, sandbox)
        return grade_by_evalplus(task, program, (truth.plus,), (), sandbox)


def test_values_are_in_memory_once_beside_the_program():
    """60 MB of outputs; as a part of the source they took six times that."""
    inputs = tuple((number,) for number in range(10))
    assert graded(LETTERS, LETTERS, inputs, 350).passed
    wrong = graded(LETTERS, LETTERS.replace("97 + n", "97 + min(n, 8)"), inputs, 350)
    assert (wrong.reason, wrong.detail) == (
        Reason.WRONG_ANSWER, f"WrongAnswer: input 9: '{'i' * 99}, not '{'j' * 99}",
    )  # fmt: skip


def test_the_file_of_the_values_is_closed_before_the_program_runs():
    program = (
        "import os\nimport stat\n\ndef regular(number):\n    try:\n        mode = os.fstat(number).st_mode\n"
        "    except OSError:\n        return False\n    return stat.S_ISREG(mode)\n\n"
        "FOUND = [number for number in range(3, 64) if regular(number)]\n\n"
        "def f(n):\n    return FOUND + [n for name in ('GIVEN', 'given') if name in globals()]\n"
    )
    assert graded("def f(n):\n    return []\n", program, ((1,), (2,)), 1024).passed
