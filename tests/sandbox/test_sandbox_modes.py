import ast
import concurrent.futures
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import truegrade.sandbox
from support.thorough import one_in
from truegrade.errors import SandboxError
from truegrade.records import Reason
from truegrade.sandbox import Limits, Sandbox, Unsupported, run_program, wire
from truegrade.sandbox.levels import detect
from truegrade.sandbox.start import MODULES

ADD = "def f(x, y=1):\n    return x + y\n"


def test_statuses_are_reasons():
    mine = {name: value for name, value in vars(wire).items() if name in Reason.__members__}
    assert len(mine) == 10 and mine == {name: Reason[name].value for name in mine}
    assert wire.OF_PROGRAMS.issubset(mine.values())


def test_the_spawned_modules_import_nothing_but_each_other():
    folder = Path(truegrade.sandbox.__file__).parent
    for name in {"start", *MODULES["child"], *MODULES["judge"]}:
        tree = ast.parse((folder / f"{name}.py").read_text())
        modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert "truegrade.sandbox" not in modules, f"{name} would import the package in every process"


# --------------------------------------------------------------------------------------------------- call


def test_call_answers_in_order_and_reports_exceptions(outputs):
    outcome, results = outputs(ADD, (1,), ("a",), (2, 3))
    assert (outcome.status, [r.value for r in results]) == ("passed", [2, None, 5])
    assert results[1].error == 'TypeError: can only concatenate str (not "int") to str'
    assert 0 < outcome.cpu_s < 1
    assert outcome.wall_s > 0
    assert not outcome.time_sensitive


def test_call_ends_early_when_told_to(sandbox):
    seen = []
    outcome = sandbox.call(ADD, "f", [(1,), (2,), (3,)], lambda i, r: seen.append(i) or i < 1)
    assert (outcome.status, seen) == ("passed", [0, 1])


@pytest.mark.parametrize(
    ("program", "status", "detail"),
    [
        ("def g(): pass", "runtime_error", "does not define 'f'"),
        ("def f(:", "syntax_error", "SyntaxError"),
        ("x = '\0'", "syntax_error", "null bytes"),
        ("(" * 500 + ")" * 500, "syntax_error", ""),
        ("1/0", "runtime_error", "ZeroDivisionError: division by zero"),
        ("import no_such_module", "runtime_error", "no_such_module"),
        ("raise SyntaxError('mine')", "runtime_error", "mine"),
        ("raise SystemExit(0)", "runtime_error", "SystemExit: 0"),
        ("class E(Exception):\n def __str__(self): raise self\nraise E", "runtime_error", "E"),
    ],
)
def test_a_program_that_does_not_load(outputs, program, status, detail):
    outcome, results = outputs(program, (1,))
    assert (outcome.status, results) == (status, [])
    assert detail in outcome.detail


def test_a_main_block_does_not_run_and_the_module_is_real(outputs):
    program = (
        "from __future__ import annotations\nimport dataclasses, pickle, sys\n"
        "@dataclasses.dataclass\nclass P:\n    x: int\n"
        "def f():\n    return pickle.loads(pickle.dumps(P(3))).x, __name__, 'truegrade' in sys.modules, sys.argv\n"
        "if __name__ == '__main__':\n    raise RuntimeError\n"
    )
    assert outputs(program, ())[1][0].value == (3, "truegrade_candidate", False, [""])


def test_arguments_that_are_not_plain_are_the_callers_error(sandbox):
    with pytest.raises(SandboxError, match="argument of call 0: a function"):
        sandbox.call(ADD, "f", [(lambda: 0,)], lambda i, r: True)


def test_an_exception_of_the_callback_reaches_the_caller(sandbox):
    with pytest.raises(KeyError):
        sandbox.call(ADD, "f", [(1,)], lambda i, r: {}[i])


def test_large_arguments_and_output_do_not_block_each_other(outputs):
    outcome, results = outputs("def f(x):\n    print('y' * 1000000)\n    return len(x)\n", ("x" * 3_000_000,))
    assert (outcome.status, results[0].value) == ("passed", 3_000_000)


# -------------------------------------------------------------------------------------------------- judge


def test_judge_passes_a_right_program(judged):
    tests = "import math\nassert f(1) == 2\nassert f(x=1, y=2) == 3\nassert math.isclose(f(0.5), twice(0.75))"
    assert judged(ADD, tests, trusted="def twice(x):\n    return 2 * x").status == "passed"


def test_judge_says_which_test_failed_and_how(judged):
    outcome = judged(ADD, "for x, want in [(1, 2), (2, 4)]:\n    assert f(x) == want, 'text'")
    assert outcome.status == "wrong_answer"
    assert outcome.detail == "`assert f(x) == want, 'text'` failed; expected 4; the program returned 3"


@pytest.mark.parametrize(
    ("tests", "detail"),
    [
        ("r = f(1)\nassert r == 3", "`assert r == 3` failed; the program returned 2"),
        ("r = f(1)\nf(4)\nassert r == 3", "`assert r == 3` failed"),
        ("r, want = f(1), 3\nassert r == want", "`assert r == want` failed; expected 3; the program returned 2"),
        ("r, want = f(1), 3\nassert want == r", "`assert want == r` failed; expected 3; the program returned 2"),
        ("r = {'a': f(1)}\nassert r == {'a': 3}", "`assert r == {'a': 3}` failed"),
        (
            "def check(g, want):\n    assert [g(1)] == want\ncheck(f, [3])",
            "`assert [g(1)] == want` failed; expected [3]; the program returned 2",
        ),
    ],
)
def test_no_answer_of_the_program_is_called_the_expected_value(judged, tests, detail):
    assert judged(ADD, tests).detail == detail


@pytest.mark.parametrize(
    "tests",
    [
        "try:\n    f()\nexcept ValueError as e:\n    assert e.args == ('no', 3)\nelse:\n    assert False",
        "try:\n    f()\nexcept Exception as e:\n    assert type(e).__name__ == 'Mine' and str(e) == \"('no', 3)\"",
    ],
)
def test_exceptions_that_the_tests_expect(judged, tests):
    program = "class Mine(ValueError): pass\ndef f():\n    raise Mine('no', 3)\n"
    assert judged(program, tests).status == "passed"


@pytest.mark.parametrize(
    ("program", "tests", "status", "detail"),
    [
        ("def f(x):\n    return {}[x]", "assert f(1) == 2", "runtime_error", "KeyError: 1, in `assert f(1) == 2`"),
        ("def f(x):\n    assert x", "assert f(0) == 2", "runtime_error", "AssertionError"),
        ("def f(x):\n    raise SystemExit", "assert f(0) == 2", "runtime_error", "SystemExit"),
        ("def g(x): 1", "assert f(0) == 2", "runtime_error", "name 'f' is not defined"),
        ("def f(x: pass", "assert f(0) == 2", "syntax_error", "SyntaxError"),
        ("def f(x): pass", "assert f(0) == undefined", "grader_error", "NameError"),
        ("def f(x): pass", "assert f(0) == (", "grader_error", "do not run"),
        ("def f(x): pass", "f(0)\nimport nothing_of_this_name", "grader_error", "ModuleNotFoundError"),
        ("def f(x): pass", "f(0)\ndef g():\n    return unbound\ng()", "grader_error", "NameError"),
        ("def f(x): return []", "for v in f(3): last = v\nassert last == 9", "wrong_answer", "name 'last'"),
        (
            "def f(x): return []",
            "def g():\n    for v in f(3): last = v\n    return last\ng()",
            "wrong_answer",
            "'last'",
        ),
        ("def f(x): return 1", "match f(3):\n    case [last]: pass\nassert last", "wrong_answer", "name 'last'"),
        ("def f(x): return 0", "if f(3): import math as m\nassert m.pi", "wrong_answer", "name 'm'"),
        ("def f(x): return 'unbound'", "assert eval(f(3)) == 1", "wrong_answer", "name 'unbound'"),
        ("def f(x): return 'import nothing_of_this_name'", "exec(f(3))", "wrong_answer", "ModuleNotFoundError"),
        ("def f(x): return []", "for v in []: last = v\nassert last == f(3)", "grader_error", "name 'last'"),
        ("def f(x): return 1", "f(1)[0]", "wrong_answer", "TypeError"),
        ("def f(x): return []", "f(1)[0]", "wrong_answer", "IndexError"),
        ("def f(x): return 'a'", "int(f(1))", "wrong_answer", "ValueError"),
        ("def f(x): return 2", "(1).foo if f(1) == 2 else 3", "wrong_answer", "AttributeError"),
        ("def f(x): pass", "len(1)", "grader_error", "TypeError"),
        ("def f(x): pass", "assert len(f(1)) == 2", "wrong_answer", "the program returned None"),
        (
            "def f(x): return x(1)",
            "assert f(lambda x: x) == 1",
            "grader_error",
            "a function, which cannot be sent",
        ),
        ("def f(x): return f", "f(f(1))", "wrong_answer", "cannot be passed on"),
        (
            "def f(x): return (n for n in x)",
            "assert list(f([1])) == [1]\nassert f([1]) == [1]",
            "wrong_answer",
            "",
        ),
    ],
)
def test_verdicts_of_the_judge(judged, program, tests, status, detail):
    outcome = judged(program, tests)
    assert outcome.status == status, outcome
    assert detail in outcome.detail


@pytest.fixture(scope="module")
def impatient():
    with Sandbox(Limits(cpu_s=0.3, wall_s=1.5, memory_bytes=1 << 28), workers=1, allow_unsafe=True) as opened:
        yield opened


@pytest.mark.parametrize(
    ("program", "tests", "status"),
    one_in(
        4,
        [
            (ADD, "while True: pass", "grader_error"),
            (ADD, "import time; time.sleep(60)", "grader_error"),
            ("import time; time.sleep(60)", "assert f(1)", "time_limit"),
            ("def f(x): return 10**9", "for _ in range(f(1)): pass", "time_limit"),
            ("def f(x): return 10**9", "[0] * f(1)", "memory_limit"),
            (ADD, "import os; os._exit(0)", "grader_error"),
        ],
    ),
)
def test_a_judge_that_does_not_end_is_ended(impatient, program, tests, status):
    outcome = impatient.judge(program, tests, ["f"])
    assert outcome.status == status, outcome
    assert outcome.wall_s < 30  # those that sleep would do so for a minute


@pytest.mark.parametrize(("called", "status"), [("f(1, 2)", "time_limit"), ("", "grader_error")])
def test_tests_that_a_value_keeps_busy_in_c_are_over_the_time(judged, called, status):
    # What the kernel does to them where the limit of their own process comes before the supervisor's.
    outcome = judged(ADD, f"import os, signal\n{called}\nos.kill(os.getpid(), signal.SIGXCPU)\nassert f(1)")
    assert outcome.status == status and "CPU seconds in the process of the tests" in outcome.detail, outcome


# ------------------------------------------------------------------------------------------------- inside


def test_inside_runs_program_and_tests_as_one(sandbox):
    assert sandbox.inside(ADD + "assert f(1) == 2 and __name__ == 'builtins'").status == "passed"
    outcome = sandbox.inside(ADD + "assert f(1) == 3, 'three'")
    assert (outcome.status, outcome.detail) == ("runtime_error", "AssertionError: three")


def test_inside_applies_the_guard_after_preloading(sandbox):
    guard = ["os.kill", "os.fork", "builtins.exit", "builtins.help", "shutil.rmtree", "sys.modules:psutil"]
    source = (
        "import os, shutil, subprocess, sys\n"
        "assert os.kill is os.fork is shutil.rmtree is exit is help is None\n"
        "assert sys.modules['psutil'] is None and 'decimal' in sys.modules\n"
        "assert subprocess.Popen is None\n"
    )
    outcome = sandbox.inside(source, disabled=[*guard, "subprocess.Popen"], preload=["decimal"])
    assert outcome.status == "passed", outcome


@pytest.mark.parametrize("bad", [{"preload": ["no_such_module"]}, {"disabled": ["no_such_module.x"]}])
def test_inside_a_guard_that_fails_is_no_fault_of_the_program(sandbox, bad):
    assert sandbox.inside("pass", **bad).status == "grader_error"


# ------------------------------------------------------------------------------------------------- script


def test_a_script_reads_writes_and_leaves_as_scripts_do():
    outcome = run_program(
        "import sys\nprint(input().upper(), __name__)\nsys.stderr.write('e')\nsys.exit(0)",
        "é\n",
        allow_unsafe=True,
    )
    assert (outcome.status, outcome.stdout, outcome.stderr) == ("passed", "É __main__\n", "e")


@pytest.mark.skipif(detect(3).level < 3, reason="the machine's own /dev is seen below level 3")
def test_a_script_opens_its_input_again_by_name_and_cannot_change_it():
    source = (
        "print(open('/dev/stdin').read(), open(0).read())\n"
        "import os\n"
        "for change in (lambda: open('/dev/stdin', 'w').write('x'), lambda: os.ftruncate(0, 0)):\n"
        "    try:\n        change()\n        print('changed')\n    except OSError:\n        pass\n"
    )
    assert run_program(source, "abc").stdout == "abc abc\n"


@pytest.mark.parametrize(
    ("source", "status", "detail"),
    [
        ("import sys; sys.exit(3)", "runtime_error", "exit code 3"),
        ("def g():\n    1/0\ng()", "runtime_error", "ZeroDivisionError: division by zero"),
        ("def (", "syntax_error", "SyntaxError"),
        ("import os; os.abort()", "killed", "SIGABRT"),
        ("input()", "runtime_error", "EOFError"),
    ],
)
def test_a_script_that_fails(source, status, detail):
    outcome = run_program(source, allow_unsafe=True)
    assert (outcome.status, detail in outcome.detail) == (status, True), outcome
    assert "truegrade" not in outcome.stderr


def test_a_script_shows_its_own_traceback_only():
    shown = run_program("def g():\n    1/0\ng()", allow_unsafe=True).stderr
    assert shown.splitlines()[1] == '  File "<program>", line 3, in <module>'
    assert "1/0" in shown


# ------------------------------------------------------------------------------------------- the sandbox


def test_time_sensitive_runs_are_repeated_and_marked_and_delivered_once():
    seen = []
    program = (
        "import time\ndef f(x):\n    end = time.process_time() + x\n    while time.process_time() < end: pass\n"
    )
    with Sandbox(Limits(cpu_s=1, wall_s=60), allow_unsafe=True) as sandbox:
        outcome = sandbox.call(program, "f", [(0,), (0.93,)], lambda i, r: seen.append(i) or True)
        assert outcome.time_sensitive
        assert seen == [0, 1]
        assert not sandbox.call(program, "f", [(0.1,)], lambda i, r: True).time_sensitive
        endless = sandbox.call(program, "f", [(9,)], lambda i, r: seen.append(i) or True)
        assert (endless.status, endless.time_sensitive, seen) == ("time_limit", True, [0, 1])
        assert endless.cpu_s < 1.8


@pytest.mark.thorough
def test_over_the_limit_but_ended_is_a_time_limit_all_the_same():
    program = "import time\ndef f():\n    while time.process_time() < 0.52: pass\n"
    with Sandbox(Limits(cpu_s=0.5, wall_s=60), allow_unsafe=True) as sandbox:
        outcome = sandbox.call(program, "f", [()], lambda i, r: True)
    assert (outcome.status, outcome.detail, outcome.time_sensitive) == ("time_limit", "over 0.5 CPU seconds", True)


def test_many_threads_share_a_sandbox_and_leave_nothing_open(sandbox):
    program = "import os\ndef f(x):\n    return x, sum(alive(fd) for fd in range(64))\ndef alive(fd):\n"
    program += "    try: return bool(os.fstat(fd))\n    except OSError: return False\n"

    def one(n):
        got = []
        sandbox.call(program, "f", [(n,)], lambda i, r: got.append(r.value) or True)
        return got[0]

    open_after = [-1]
    for _ in range(
        5
    ):  # a worker starts when callers have waited for one, and keeps what it opened: few rounds do that
        with concurrent.futures.ThreadPoolExecutor(6) as threads:
            answers = list(threads.map(one, range(24)))
        assert [n for n, _ in answers] == list(range(24))
        assert {fds for _, fds in answers} == {4}  # three standard streams and the channel
        open_after.append(len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0)
        if open_after[-1] == open_after[-2]:
            return
    pytest.fail(f"each round leaves more descriptors open: {open_after[1:]}")


def test_closing_ends_what_runs_and_refuses_more():
    sandbox = Sandbox(Limits(cpu_s=20), allow_unsafe=True)
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        running = threads.submit(sandbox.inside, "import time; time.sleep(60)")
        time.sleep(0.3)
        sandbox.close()
        with pytest.raises(SandboxError, match="closed while"):
            running.result(timeout=45)
    with pytest.raises(SandboxError, match="is closed"):
        sandbox.inside("pass")


def test_the_program_sees_nothing_of_the_caller(outputs, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    program = (
        "import os\ndef f():\n    return dict(os.environ), os.getcwd(), os.listdir(), os.getsid(0) == os.getpid()"
    )
    environ, folder, files, own_session = outputs(program, ())[1][0].value
    assert set(environ) == {
        *("PATH", "LANG", "PYTHONHASHSEED", "HOME", "TMPDIR"),
        *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
    }
    assert environ["HOME"] == folder
    assert (files, own_session) == ([], True)
    assert not Path(folder).exists() or os.listdir(folder) == []


def test_signals_of_a_terminal_are_a_programs_own_where_the_caller_ignores_them():
    code = (
        "from truegrade.sandbox import run_program\n"
        "shown = 'import signal\\nprint([signal.getsignal(number) for number in (1, 2, 3)])'\n"
        "print(run_program(shown, allow_unsafe=True).stdout)"
    )
    ignoring = ["sh", "-c", "trap '' HUP INT QUIT; exec \"$@\"", "sh", sys.executable, "-c", code]
    done = subprocess.run(ignoring, capture_output=True, text=True, check=True)
    usual = [signal.SIG_DFL, signal.default_int_handler, signal.SIG_DFL]
    assert done.stdout.strip() == str(usual)


def test_an_object_of_the_programs_own_is_opaque(outputs):
    value = outputs("class Node: pass\ndef f():\n    return Node()", ())[1][0].value
    assert isinstance(value, Unsupported)
    assert value.type_name == "Node"


def test_set_order_does_not_change_from_run_to_run(outputs):
    program = "def f():\n    return list({'a', 'b', 'c', 'd', 'e', 'f'})"
    assert len({tuple(outputs(program, ())[1][0].value) for _ in range(4)}) == 1


@pytest.mark.parametrize(
    "program",
    [
        "import random\ndef f(): return random.random()",
        "from statistics import NormalDist\ndef f(): return NormalDist().samples(2)",
        "import numpy\ndef f(): return numpy.random.rand()",
    ],
)
def test_random_numbers_differ_from_sample_to_sample(outputs, program):
    found = [outputs(program, ())[1][0] for _ in range(3)]
    assert all(result.error is None for result in found)
    assert len({repr(result.value) for result in found}) == 3


def test_a_program_finds_no_trace_of_how_the_zygote_was_started(outputs):
    program = "import os, sys\ndef f(): return 'LD_BIND_NOW' in os.environ, 'socket' in sys.modules"
    assert outputs(program, ())[1][0].value == (False, False)
