# ruff: noqa: E501 - programs, one a line
"""Tests about objects under `strict`: ten ways to forge a pass, none of which may work, and honest programs."""

import pytest

from truegrade.grading.functions import grade_by_tests
from truegrade.profiles.strict import Strict
from truegrade.records import Answer, FunctionTask, Problem
from truegrade.sandbox import Limits, Sandbox
from truegrade.sandbox.levels import detect

NODE = "class Node:\n    def __init__(self, value=None, next=None):\n        self.value, self.next = value, next\n"
LENGTH = "def f(node):\n    return 1 + f(node.next) if node else 0\n"
COUNT = "def f(values, kind):\n    return sum(isinstance(value, kind) for value in values)\n"
TASKS = {
    # as MBPP/367, 601 and 927: objects of a class that the program defines
    "the program's class": (
        {
            "setup": "root = Node(1)\nroot.next = Node(2)\n",
            "tests": "assert f(root) == 2\nassert f(root.next) == 1",
            "tests_use": ("Node",),
        },
        NODE + LENGTH,
    ),
    # as MBPP/533
    "types": (
        {"tests": "assert f((4, 5, 7.7, 1), int) == 3\nassert f(('a', 5), str) == 1", "plain_arguments": False},
        COUNT,
    ),
    # as QuixBugs' graphs and lists
    "the tests' class": (
        {
            "setup": NODE,
            "tests": "node = Node(1)\ndef test1():\n    assert f(Node(2, node)) == 2\n"
            "def test2():\n    assert f(node) == 1\ntest1()\ntest2()\n",
            "plain_arguments": False,
            "buggy": "x",
        },
        LENGTH,
    ),
}

TOKENS = """
import os, struct, sys
def everywhere(frame):
    while frame is not None:
        for value in list(frame.f_locals.values()):
            if type(value) is bytes and len(value) == 16:
                t = b"b" + struct.pack("<I", 16) + value
                for kind in (b"s\\3\\0\\0\\0end", b"s\\5\\0\\0\\0value"):
                    parts = [kind, t] + [b"T"] * (b"value" in kind)
                    body = b"t" + struct.pack("<I", len(parts)) + b"".join(parts)
                    for fd in range(16):
                        try: os.write(fd, struct.pack("<I", len(body)) + body)
                        except OSError: pass
        frame = frame.f_back
"""
FORGERIES = {
    "sys.exit": "import sys\ndef f(*a): sys.exit(0)",
    "os._exit": "import os\ndef f(*a): os._exit(0)",
    "always equal": "class A(int):\n    __eq__ = lambda s, o: True\n    __hash__ = None\ndef f(*a): return A()",
    "expected value read in frames": (
        "import opcode, sys\ndef f(*a):\n    frame = sys._getframe(1)\n"
        "    code, at = frame.f_code.co_code, frame.f_lasti\n"
        "    loads = {opcode.opmap[n] for n in ('LOAD_CONST', 'LOAD_SMALL_INT') if n in opcode.opmap}\n"
        "    while code[at] not in loads: at += 2\n"
        "    small = opcode.opname[code[at]] == 'LOAD_SMALL_INT'\n"
        "    return code[at + 1] if small else frame.f_code.co_consts[code[at + 1]]"
    ),
    "patched builtins": (
        "import builtins\nclass Always(int):\n    __eq__ = lambda s, o: True\n"
        "builtins.int = builtins.sum = builtins.isinstance = lambda *a: Always()\n"
        "def f(*a): return isinstance(a, int)"
    ),
    "tracing past the assert": (
        "import sys\ndef skip(frame, event, arg):\n    try: frame.f_lineno = frame.f_lineno + 1\n"
        "    except Exception: pass\n    return skip\n"
        "def f(*a):\n    frame = sys._getframe(1)\n    while frame:\n        frame.f_trace = skip\n"
        "        frame = frame.f_back\n    sys.settrace(skip)\n    return 0"
    ),
    "forged end": TOKENS + "def f(*a):\n    everywhere(sys._getframe())\n    os._exit(0)",
    "patching the class": (
        "import gc\nclass Always(int):\n    __eq__ = lambda s, o: True\ndef f(*a):\n"
        "    for kind in gc.get_objects():\n        if isinstance(kind, type) and kind.__name__ in ('Node', 'Held', 'Table'):\n"
        "            kind.value = kind.next = kind.encode = kind.owns = lambda *a: Always()\n    return Always()"
    ),
    "atexit": "import atexit, os\natexit.register(os._exit, 0)\ndef f(*a): raise SystemExit",
    "excepthook": "import os, sys\nsys.excepthook = lambda *a: os._exit(0)\ndef f(*a): raise ValueError",
}


def problem(kind):
    fields, reference = TASKS[kind]
    task = FunctionTask(prompt="", entry_point="f", reference=reference, **fields)
    return Problem(id=f"made/{kind}", benchmark="made", dataset_sha256="0", cluster=kind, task=task)


@pytest.fixture(scope="module", params=[3, 2])
def jail(request):
    if detect(request.param).level != request.param:
        pytest.skip(f"no level {request.param} here")
    with Sandbox(Limits(cpu_s=15), workers=1, max_level=request.param, allow_unsafe=True) as opened:
        yield opened


def graded(jail, kind, program):
    return Strict().judgement(problem(kind), Answer(value=program, found="", form="program"), jail)


@pytest.mark.parametrize("kind", TASKS)
def test_a_right_program_passes_and_shares_no_process_with_the_tests(jail, kind):
    judgement = graded(jail, kind, TASKS[kind][1])
    assert judgement.passed and judgement.marks == (), judgement


@pytest.mark.parametrize("kind", TASKS)
@pytest.mark.parametrize("forgery", FORGERIES)
def test_no_forgery_passes(jail, kind, forgery):
    program = NODE * (kind == "the program's class") + FORGERIES[forgery]
    judgement = graded(jail, kind, program)
    assert judgement.reason in {"runtime_error", "wrong_answer", "tampering"} and judgement.marks == (), judgement


@pytest.mark.parametrize("kind", TASKS)
@pytest.mark.parametrize("answer", ["0", "None", "a", "[1]", "1/0"])
def test_wrong_programs_fail(jail, kind, answer):
    program = NODE * (kind == "the program's class") + f"def f(*a): return {answer}"
    judgement = graded(jail, kind, program)
    assert judgement.reason == ("runtime_error" if answer == "1/0" else "wrong_answer"), judgement


@pytest.mark.parametrize(
    ("tests", "right", "wrong"),
    [
        ("exec(f())\nassert True", "'r = 3'", "'no_such_name'"),
        ("assert __import__(f()).pi > 3", "'math'", "'no_such_module'"),
        ("assert f(eval(f(1))) == '1'", "'1'", "'lambda: 0'"),
        ("assert f()\nimport no_such_module", "1", "0"),
        ("assert f()\nimport no_such_module", "1", "1"),
    ],
)
def test_tests_that_a_program_keeps_from_going_on_are_its_own_fault(tests, right, wrong):
    programs = [f"def f(*a): return {value}" for value in (right, wrong)]
    task = FunctionTask(prompt="", entry_point="f", tests=tests, reference=programs[0])
    with Sandbox(Limits(cpu_s=5), workers=1, allow_unsafe=True) as sandbox:
        judged = [grade_by_tests(task, program, sandbox) for program in programs]
    ours = "import no" in tests
    assert judged[0].reason == ("grader_error" if ours else "passed"), judged
    assert judged[1].reason == ("grader_error" if ours and wrong == "1" else "wrong_answer"), judged
    assert "do not run" not in judged[1].detail
