"""Files that tests and program both work with, each in a folder of its own."""

import pytest

from truegrade.sandbox import Limits, Sandbox
from truegrade.sandbox.mirror import MAX_ENTRIES


@pytest.fixture(scope="module")
def judge():
    with Sandbox(Limits(cpu_s=5.0), workers=1) as made:
        yield lambda program, tests, **more: made.judge(
            program, tests, ["f"], classes=(), files=True, carries=True, **more
        )


WORKS = """
import os
def f(action, path="a.txt", text=""):
    if action == "read":
        return open(path).read()
    if action == "write":
        open(path, "w").write(text)
    elif action == "folder":
        os.makedirs(path)
    elif action == "remove":
        os.remove(path)
    elif action == "age":
        return os.path.getmtime(path)
    elif action == "link":
        os.symlink("/etc/passwd", path)
    elif action == "list":
        return sorted(os.listdir("."))
"""


@pytest.mark.parametrize(
    "tests",
    [
        "open('a.txt', 'w').write('x')\nassert f('read') == 'x'",
        "f('write', 'b.txt', 'y')\nassert open('b.txt').read() == 'y'",
        "f('write', 'b.txt', 'y')\nopen('b.txt', 'a').write('z')\nassert f('read', 'b.txt') == 'yz'",
        "import os\nos.makedirs('p/q')\nopen('p/q/c', 'w').write('1')\nassert f('read', 'p/q/c') == '1'",
        "import os\nf('folder', 'p/q')\nassert os.path.isdir('p/q')\nos.rmdir('p/q')\nassert f('list') == ['p']",
        "import os\nopen('a.txt', 'w').close()\nf('remove')\nassert not os.path.exists('a.txt')",
        "import os\nopen('a.txt', 'w').close()\nos.utime('a.txt', (5, 5))\nassert f('age') == 5",
        "import os\nf('link', 'l')\nassert not os.path.lexists('l')",
        "import os, tempfile\np = tempfile.mkdtemp() + '/x'\nf('write', p, 'y')\nassert open(p).read() == 'y'",
    ],
)
def test_files_cross_both_ways(judge, tests):
    outcome = judge(WORKS, tests)
    assert outcome.status == "passed", outcome


LIES = """
import os, stat
real = os.listdir
def f():
    os.listdir = lambda path: [PATH] if path.rstrip("/").count("/") < 3 else []
    kept = os.lstat
    os.lstat = lambda path: kept("mine")
    open("mine", "w").write("x")
"""


@pytest.mark.parametrize("path", ["../out", "/etc/passwd", "a/../../b", ".", "x" * 2000, ""])
def test_a_path_outside_the_folder_is_tampering(judge, path):
    outcome = judge(LIES.replace("PATH", repr(path)), "f()")
    assert outcome.status == "tampering", outcome


@pytest.mark.parametrize(
    "program",
    [
        "def f():\n    for n in range(20000): open(f'{n}', 'w').close()",
        "def f():\n    for n in range(9): open(f'{n}', 'wb').write(bytes(8 << 20))",
    ],
)
def test_too_much_is_the_programs_fault(judge, program):
    assert MAX_ENTRIES < 20000
    assert judge(program, "f()").status in ("output_limit", "runtime_error")


def test_what_returned_too_much_is_named(judge):
    outcome = judge("def f(): return [0] * 3_000_000", "f()")
    assert (outcome.status, outcome.detail) == ("output_limit", "the program returned more than 2000000 values")


@pytest.mark.parametrize("module", ["colorsys", "this_is_no_module", "nltk_data", "pytest"])
def test_no_module_is_found_in_the_folder(judge, module):
    program = f"def f():\n    open('{module}.py', 'w').write('import os; os._exit(0)')\n    return 1"
    tests = f"import os\nassert f() == 1 and os.path.exists('{module}.py')\n"
    tests += f"try:\n    import {module}\nexcept ImportError:\n    pass\nassert f() == 2"
    outcome = judge(program, tests)
    assert outcome.status == "wrong_answer", outcome


def test_the_home_of_the_tests_is_not_what_the_program_writes_to(judge):
    program = "import os\ndef f():\n    open(os.path.expanduser('~/settings'), 'w').write('x')\n    return 1"
    tests = "import os\nassert f() == 1 and not os.path.exists(os.path.expanduser('~/settings'))"
    assert judge(program, tests).status == "passed"


def test_what_was_changed_in_a_call_that_raised_comes_with_the_next(judge):
    program = "def f(n):\n    open('a', 'a').write('x')\n    return 1 / n"
    tests = "try:\n    f(0)\nexcept ZeroDivisionError:\n    pass\nf(1)\nassert open('a').read() == 'xx'"
    assert judge(program, tests).status == "passed"
