"""Wrong programs that try to be taken for right ones. None may pass where the tests are outside."""

import pytest

from truegrade.sandbox import Limits, Sandbox
from truegrade.sandbox.limits import MIB

SECRET = 86420971  # what the tests expect, and no program may find or produce
TESTS = f"""
import math
def check(candidate):
    assert candidate(1) == {SECRET}
    assert isinstance(candidate(2), int) and abs(candidate(2) - {SECRET}) < 1e-6
    assert all(x == {SECRET} for x in [candidate(3), candidate(4)])
check(f)
print("TEST_PASSED")
"""

OBJECT = """
class A{base}:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return {secret}
    def __lt__(self, other): return True
    def __sub__(self, other): return 0
    def __rsub__(self, other): return 0
    def __abs__(self): return 0
    def __bool__(self): return True
    def __iter__(self): return iter([{secret}])
    def __reduce__(self): return (print, ("TEST_PASSED",))
def f(*args): return A({argument})
"""

LEAVING = {
    "sys.exit": "import sys\ndef f(x): sys.exit(0)",
    "os._exit": "import os\ndef f(x): os._exit(0)",
    "SystemExit in the call": "def f(x): raise SystemExit(0)",
    "SystemExit at import": "def f(x): return 1\nraise SystemExit(0)",
    "os._exit at import": "import os\nos._exit(0)",
    "atexit": "import atexit, os\natexit.register(os._exit, 0)\ndef f(x): return 1\nraise SystemExit(0)",
    "excepthook": "import sys, os\nsys.excepthook = lambda *a: os._exit(0)\ndef f(x): raise ValueError",
    "stderr that exits": (
        "import sys, os\nclass E:\n    def write(self, *a): os._exit(0)\n    flush = write\n"
        "sys.stderr = E()\ndef f(x): raise ValueError"
    ),
    "exit in __del__": "import os\nclass D:\n    def __del__(self): os._exit(0)\ndef f(x): D()",
    "kill itself": "import os, signal\ndef f(x): os.kill(os.getpid(), signal.SIGTERM)",
    "exec of another program": "import os\nos.execv('/bin/true', ['true'])",
    "success marker": "import sys, os\nprint('TEST_PASSED', file=sys.__stdout__, flush=True)\nos._exit(0)",
}

FORGING = {
    "plain always equal": OBJECT.format(base="", secret=1, argument=""),
    "int subclass": OBJECT.format(base="(int)", secret=1, argument="1"),
    "str subclass": OBJECT.format(base="(str)", secret=1, argument="'x'"),
    "float subclass": OBJECT.format(base="(float)", secret=1, argument="1.5"),
    "list subclass": OBJECT.format(base="(list)", secret=1, argument="[1]"),
    "mock.ANY": "from unittest.mock import ANY\ndef f(x): return ANY",
    "magic mock": "from unittest.mock import MagicMock\ndef f(x): return MagicMock(spec=int)",
    "lying __class__": "class L:\n    __class__ = int\n    def __eq__(s, o): return True\ndef f(x): return L()",
    "not a number": "def f(x): return float('nan')",
    "patched builtins": (
        "import builtins\nbuiltins.isinstance = lambda *a: True\nbuiltins.abs = lambda x: 0\n"
        "builtins.all = lambda x: True\nbuiltins.len = builtins.type = builtins.int = None\ndef f(x): return 1"
    ),
    "redefined check": "def check(candidate): pass\ndef f(x): return 1",
    "check in __main__": (
        "import sys, builtins\nfor m in list(sys.modules.values()):\n"
        "    try: m.check = lambda c: None\n    except Exception: pass\nbuiltins.check = lambda c: None\n"
        "def f(x): return 1"
    ),
    "patched json, operator, math": (
        "import json, operator, math\njson.loads = operator.eq = lambda *a: True\nmath.isclose = operator.eq\n"
        "def f(x): return 1"
    ),
    "trace function": (
        "import sys\ndef trace(frame, event, arg):\n    try: frame.f_lineno += 2\n    except Exception: pass\n"
        "    return trace\ndef f(x):\n    sys.settrace(trace)\n    return 1"
    ),
    "swallowed signals": "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ndef f(x): return 1",
}

FRAMES = """
import os, struct, sys
def tokens():
    frame, found = sys._getframe(), set()
    while frame is not None:
        for value in list(frame.f_locals.values()):
            for part in (value.values() if isinstance(value, dict) else [value]):
                if type(part) is bytes and len(part) == 16: found.add(part)
        frame = frame.f_back
    return found
def field(tag, data): return tag + struct.pack("<I", len(data)) + data
def message(*parts):
    body = b"t" + struct.pack("<I", len(parts)) + b"".join(parts)
    return struct.pack("<I", len(body)) + body
def text(s): return field(b"s", s.encode())
def everywhere(data):
    for fd in range(64):
        try: os.write(fd, data)
        except OSError: pass
def forge(known):
    for token in known or [b"0" * 16]:
        t = field(b"b", token)
        everywhere(message(text("ready"), t, field(b"t", b"")[:5]))
        everywhere(message(text("end"), t))
        everywhere(message(text("value"), t, b"T") * 4)
        everywhere(message(text("verdict"), text("passed"), text("")))
        everywhere(message(text("failed"), t, text("passed"), text("")))
        everywhere(message(text("failed"), t, text("grader_error"), text("")))
"""

FORGED_FRAMES = {
    "garbage on all descriptors": FRAMES + "everywhere(b'\\xff' * 64)\nos._exit(0)",
    "zeros on all descriptors": FRAMES + "everywhere(b'\\0' * 64)\nos._exit(0)",
    "forged frames at import": FRAMES + "forge(())\nos._exit(0)",
    "forged frames, found tokens": FRAMES + "forge(tokens())\nos._exit(0)",
    "forged frames in the call": FRAMES + "def f(x):\n    forge(tokens())\n    os._exit(0)",
    "forged frames, then silence": FRAMES + "import time\ndef f(x):\n    forge(tokens())\n    time.sleep(60)",
}

# It must not hold the value itself: not even as a folded constant, or as the text it looks for.
SEARCH = f"""
import gc, os, re, sys
half = {SECRET // 2}
text = re.compile("{str(SECRET)[0]}[{str(SECRET)[1]}]{str(SECRET)[2:]}")
def scan():
    found = []
    frame = sys._getframe()
    roots = list(gc.get_objects())
    while frame is not None:
        roots += [frame.f_locals, frame.f_code.co_consts]
        frame = frame.f_back
    for root in roots:
        for item in [root, *gc.get_referents(root)]:
            if type(item) is int and item - half == half + 1: found.append("int")
            if type(item) is str and text.search(item): found.append("str")
    return found
def memory():
    pattern = re.compile(text.pattern.encode())
    try: maps, mem = open("/proc/self/maps"), open("/proc/self/mem", "rb", 0)
    except OSError: return None  # level 2 shows nothing of /proc
    with maps, mem:
        for line in maps:
            span, mode = line.split()[:2]
            low, high = (int(x, 16) for x in span.split("-"))
            if mode.startswith("rw") and high - low < 1 << 28:
                mem.seek(low)
                try: data = mem.read(high - low)
                except OSError: continue
                if pattern.search(data): return True
    return False
def f(x):
    places = [*os.environ.values(), *sys.argv]
    places += [open(os.path.join(d, n), errors="replace").read() for d, _, ns in os.walk(".") for n in ns]
    return (memory(), tuple(scan()), tuple(p for p in places if text.search(p)))
"""

ALL = {**LEAVING, **FORGING, **FORGED_FRAMES}

NODE = "class Node:\n    def __init__(self, value): self.value = self.next = value\n"
OBJECTS = f"""
x, y = Node(1), Node(int)
x.next = y
x.value = [y]
assert f(x) == {SECRET} and f([x, y]) is y and f(int) == {SECRET} and x.value == [y] and y.value("1") == 1
"""


@pytest.fixture(scope="module")
def sandbox():
    """What a forgery waits for never comes."""
    limits = Limits(cpu_s=1, wall_s=3, memory_bytes=512 * MIB, output_bytes=4 * MIB)
    with Sandbox(limits, workers=2, allow_unsafe=True) as opened:
        yield opened


@pytest.mark.parametrize("program", [pytest.param(source, id=name) for name, source in ALL.items()])
def test_no_forgery_passes_the_judge(judged, in_time, program):
    outcome = in_time(judged(program, TESTS))
    assert outcome.status not in {"passed", "grader_error"}, outcome


WHOSE = ("tests' class", "program's class")
"""Whose class the objects are of. `make test` tries one for each forgery, in turn."""


@pytest.mark.parametrize(
    ("program", "own"),
    [
        pytest.param(source, whose == WHOSE[0], id=f"{whose}-{name}",
                     marks=() if whose == WHOSE[number % 2] else pytest.mark.thorough)
        for number, (name, source) in enumerate(ALL.items())
        for whose in WHOSE
    ],
)  # fmt: skip
def test_no_forgery_passes_tests_about_objects(judged, in_time, program, own):
    more = {"trusted": NODE, "classes": ()} if own else {"classes": ("Node",)}
    outcome = in_time(judged(program if own else NODE + program, OBJECTS, **more))
    assert outcome.status not in {"passed", "grader_error"}, outcome


@pytest.mark.parametrize("program", [pytest.param(source, id=name) for name, source in ALL.items()])
def test_no_forgery_gives_an_equal_value(outputs, in_time, program):
    outcome, results = outputs(program, (1,), (2,))
    in_time(outcome)
    assert outcome.status != "grader_error"
    assert not any(result.error is None and result.value == SECRET for result in results)
    assert not any(type(result.value) not in {int, str, float, list} and result.value == 1 for result in results)


@pytest.mark.parametrize("program", [pytest.param(source, id=name) for name, source in LEAVING.items()])
def test_leaving_is_not_passing_inside(sandbox, in_time, program):
    outcome = in_time(sandbox.inside(f"{program}\nassert f(1) == {SECRET}\n"))
    assert outcome.status in {"runtime_error", "killed"}, outcome


@pytest.mark.parametrize("name", ["garbage on all descriptors", "forged frames at import"])
def test_frames_forged_blindly_do_not_pass_inside(sandbox, in_time, name):
    assert in_time(sandbox.inside(FORGED_FRAMES[name])).status in {"runtime_error", "tampering"}


@pytest.mark.parametrize("mode", ["call", "judge"])
def test_the_programs_process_holds_no_expected_value(outputs, judged, mode):
    if mode == "call":
        found = outputs(SEARCH, (1,))[1][0].value
        assert found in {(False, (), ()), (None, (), ())}
    else:
        outcome = judged(SEARCH, f"expected = {SECRET}\nassert not any(f(1)), expected")
        assert outcome.status == "passed", outcome


def test_the_search_would_find_a_value_that_is_there(sandbox):
    there = f"import os\nopen('note', 'w').write('{SECRET}')\nexpected = [{SECRET}, 'the value is {SECRET}']\n"
    found = "found[0] is not False and {'int', 'str'} == set(found[1]) and found[2]"
    source = f"{there}{SEARCH}\nfound = f(1)\nassert {found}, found"
    outcome = sandbox.inside(source)
    assert outcome.status == "passed", outcome


def test_an_answer_to_a_call_that_was_not_made_is_tampering(outputs, judged):
    early = FRAMES + "forge([b'0' * 16])\ndef f(x): return 1"
    assert outputs(early, (1,))[0].status == "tampering"
    assert judged(early, TESTS).status == "tampering"


def test_a_forked_copy_of_the_program_does_not_answer(crowd):
    program = "import os\nos.fork()\nn = 0\ndef f(x):\n    global n\n    n += 1\n    return n"
    results = []
    outcome = crowd.call(program, "f", [(1,)] * 5, lambda _, result: results.append(result) or True)
    assert (outcome.status, [r.value for r in results]) == ("passed", [1, 2, 3, 4, 5])


@pytest.mark.parametrize("kind", ["StopIteration", "GeneratorExit", "StopAsyncIteration"])
def test_an_exception_that_ends_loops_does_not_end_the_tests(judged, kind):
    program = f"class Mine({kind}): pass\ndef f(x): raise Mine"
    for source in (program, f"def f(x): raise {kind}"):
        outcome = judged(source, "assert all(map(f, [1, 2]))\nassert list(map(f, [1])) == []")
        assert outcome.status == "runtime_error", outcome


def test_a_detail_is_one_printable_line(outputs, judged):
    program = "def f(x): raise ValueError('a\\nb\\x1b[2J\\udc80' + 'c' * 9999)"
    for text in (outputs(program, (1,))[1][0].error, judged(program, "f(1)").detail):
        assert text.startswith("ValueError: a b\ufffd[2J\ufffdccc")
        assert len(text) == 500
