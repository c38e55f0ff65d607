"""One run of real tests in the jail: what reaches a function, its calls, and what the jail does not allow."""

import pytest

from support.repository_package import write_package
from truegrade.apps.repository import functions as recording_module
from truegrade.apps.repository.functions import (
    ParsedModule,
    RecordedCall,
    case_of,
    form_of,
    list_functions,
    record_tests,
)
from truegrade.apps.repository.source import read_modules, read_tree
from truegrade.datasets.executions import RecordedCase
from truegrade.errors import UserError
from truegrade.grading.programs import statements
from truegrade.sandbox import Limits, Sandbox


@pytest.fixture(scope="module")
def jail():
    with Sandbox(Limits(packages=("pytest",), cpu_s=60, processes=32), 1, allow_unsafe=True) as sandbox:
        yield sandbox


def recorded(folder, jail, seconds=60):
    tree = read_tree(str(folder))
    modules, _ = read_modules(tree)
    found = record_tests(tree, modules, jail, seconds)
    return found, {one.name: one for one in list_functions([ParsedModule(module) for module in modules], found)}


@pytest.fixture(scope="module")
def package(jail, tmp_path_factory):
    return recorded(write_package(tmp_path_factory.mktemp("package")), jail)


def test_tests_run_though_the_configuration_asks_for_a_plugin_and_what_fails_is_named(package):
    found, _ = package
    assert found.tests == 16 and not found.cut and not found.why_none
    assert sorted(name.partition("::")[2] for name in found.failed) == ["test_fails", "test_wants_the_network"]
    assert "assert 'a-b' == 'b-a'" in found.failed["tests/test_text.py::test_fails"]


def test_functions_are_reached_also_by_way_of_others(package):
    _, functions = package
    assert len(functions["slug"].seen.tests) == 7  # the failing one among them
    assert functions["words"].seen.seen > functions["slug"].seen.seen
    assert functions["never"].seen is None and functions["Box.doubled"].seen.crossing == 0


def test_calls_hold_arguments_by_value_and_what_came_back(package):
    _, functions = package
    calls = {case.args: seen for case, seen in functions["number"].recorded()}
    assert calls[("-7",)].kind == "value" and calls[("-7",)].result == "-7"
    assert calls[("x",)].kind == "raised" and calls[("x",)].result is None
    slugs = [case for case, _ in functions["slug"].recorded()]
    assert RecordedCase(("One",), {"joiner": "_"}) in slugs and RecordedCase(("One",)) in slugs
    assert {seen.kind for _, seen in functions["pieces"].recorded()} == {"items"}


def test_why_calls_cannot_decide(package):
    _, functions = package
    assert functions["push"].seen.changes and not functions["words"].seen.changes
    why = {name: one.why_not_outside() for name, one in functions.items()}
    assert [name for name, reason in why.items() if not reason] == [
        "words", "slug", "number", "letters", "counts", "pieces", "steps", "drawn", "is_long"
    ]  # fmt: skip
    assert "changes its arguments" in why["push"] and why["never"] == "no test reaches it"
    assert why["later"] == "it is async" and "condition" in why["conditional"]
    assert all("method" in why[name] for name in ("Box.__init__", "Box.doubled", "Box.halved"))


def test_a_variable_bound_anew_is_no_changed_argument(jail, tmp_path):
    code = "def f(items):\n    items = sorted(items)\n    return items\n\ndef g(items):\n    items.sort()\n"
    test = "import m\ndef test():\n    for n in range(3):\n        m.f([3, n]); m.g([3, n])\n"
    _, functions = recorded(write_package(tmp_path, {"m.py": code, "test_m.py": test}), jail)
    assert not functions["f"].seen.changes and functions["g"].seen.changes


def test_a_test_that_does_not_end_is_ended_and_the_others_run(jail, tmp_path, monkeypatch):
    monkeypatch.setattr(recording_module, "TEST_SECONDS", 1)
    test = "import m\ndef test_a():\n    while True: m.f(1)\n\ndef test_b():\n    assert m.f(2) == 3\n"
    found, functions = recorded(
        write_package(tmp_path, {"m.py": "def f(n): return n + 1\n", "test_m.py": test}), jail
    )
    assert list(found.failed) == ["test_m.py::test_a"] and "TooLong" in found.failed["test_m.py::test_a"]
    assert found.tests == 2 and len(functions["f"].seen.tests) == 2 and len(functions["f"].seen.calls) == 2


def test_time_that_is_up_leaves_the_rest_of_the_tests_out(jail, tmp_path):
    test = "import time, pytest\n@pytest.mark.parametrize('n', range(50))\ndef test(n): time.sleep(0.2)\n"
    found, _ = recorded(
        write_package(tmp_path, {"m.py": "def f(n): return n\n", "test_m.py": test}), jail, seconds=2
    )
    assert found.cut and 0 < found.tests < 50


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"m.py": "def f(n): return n\n"}, "there are no tests"),
        (
            {"m.py": "", "test_m.py": "import no_such_module\n"},
            "no test could be run: test_m.py: ModuleNotFoundError",
        ),
        ({"m.py": "", "test_m.py": "import os\nos._exit(3)\n"}, "the test run did not end"),
        ({"m.py": "", "test_m.py": "import sys\nsys.exit('early')\n"}, "no test could be run"),
    ],
)
def test_a_suite_that_says_nothing_is_one_sentence(jail, tmp_path, files, why):
    found, functions = recorded(write_package(tmp_path, files), jail)
    assert found.why_none.startswith(why) and all(one.seen is None for one in functions.values())


def test_a_file_that_cannot_be_collected_is_named_and_the_others_run(jail, tmp_path):
    files = {"m.py": "def f(n): return n + 1\n", "test_a.py": "import no_such_module\n"}
    files["test_m.py"] = "import m\ndef test(): assert m.f(1) == 2\n"
    found, functions = recorded(write_package(tmp_path, files), jail)
    assert found.tests == 1 and list(found.failed) == ["test_a.py"] and functions["f"].seen.tests


def test_doctests_are_run_where_there_are_no_other_tests(jail, tmp_path):
    code = 'def f(n):\n    """\n    >>> f(2)\n    3\n    >>> f(4)\n    99\n    """\n    return n + 1\n'
    found, functions = recorded(write_package(tmp_path, {"pkg/__init__.py": "", "pkg/m.py": code}), jail)
    assert found.tests == 1 and [case.args for case, _ in functions["f"].recorded()] == [(2,), (4,)]


@pytest.mark.parametrize(
    ("head", "arguments", "call"),
    [
        ("a, b=2, *, c=None", "({'a': 1, 'b': 2, 'c': None}, (), {})", ((1,), {})),
        ("a, b=2, *, c=None", "({'a': 1, 'b': 3, 'c': 'x'}, (), {})", ((1,), {"b": 3, "c": "x"})),
        ("a, b=True", "({'a': 1, 'b': 1}, (), {})", ((1,), {"b": 1})),  # 1 is not True
        ("a, b=2, *rest", "({'a': 1, 'b': 2}, (7, 8), {})", ((1, 2, 7, 8), {})),
        ("a, b=2, /", "({'a': 1, 'b': 2}, (), {})", ((1,), {})),
        ("a, b=2, /", "({'a': 1, 'b': 3}, (), {})", ((1, 3), {})),
        ("a, **more", "({'a': [1]}, (), {'k': 5})", (([1],), {"k": 5})),
        ("a, b=OTHER", "({'a': 1, 'b': 4}, (), {})", ((1,), {"b": 4})),
    ],
)
def test_recorded_arguments_are_written_as_somebody_would(head, arguments, call):
    (function,) = statements(f"def f({head}): pass")
    assert case_of(RecordedCall(arguments, "value"), form_of(function)) == RecordedCase(*call)


def test_a_text_that_is_no_recorded_call_is_refused():
    (function,) = statements("def f(a): pass")
    for text in ("(", "(1, 2)", "({}, (), {})"):
        with pytest.raises(UserError, match="not readable"):
            case_of(RecordedCall(text, "value"), form_of(function))


REACH = {
    "m.py": "def f(n, deep=False):\n    return n + 1 if not deep else [n]\n\n\ndef g(n):\n    return n\n",
    "test_m.py": """
import importlib, os, signal, subprocess, sys, threading
import m


def test_thread():
    one = threading.Thread(target=m.f, args=(1,))
    one.start()
    one.join()


def test_reload():
    assert importlib.reload(m).f(2) == 3


def test_process():
    subprocess.run([sys.executable, "-c", "print(1)"], check=True)


def test_ends_its_parent():
    os.kill(os.getppid(), signal.SIGKILL)


def test_behind_it():
    assert m.g(1) == 1
""",
}


def test_threads_reloads_and_processes_are_seen_and_a_test_that_ends_its_parent_is_named(jail, tmp_path):
    found, functions = recorded(write_package(tmp_path, REACH), jail)
    assert functions["f"].seen.tests == ("test_m.py::test_thread", "test_m.py::test_reload")
    assert found.starting == ("test_m.py::test_process",)
    assert list(found.failed) == ["test_m.py::test_ends_its_parent"]
    assert "ends the process" in found.failed["test_m.py::test_ends_its_parent"]
    assert functions["g"].seen.tests == ("test_m.py::test_behind_it",)


def test_calls_with_a_value_that_comes_late_are_kept(jail, tmp_path):
    test = "import m\ndef test():\n    for n in range(90): m.f(n)\n    m.f(3, deep=True)\n"
    _, functions = recorded(write_package(tmp_path, {"m.py": REACH["m.py"], "test_m.py": test}), jail)
    calls = [case for case, _ in functions["f"].recorded()]
    assert len(calls) == 41 and calls[-1] == RecordedCase((3,), {"deep": True})
    assert len(functions["f"].seen.tests) == 1


def test_a_test_that_waits_is_not_ended_by_the_clock_of_the_wall(jail, tmp_path, monkeypatch):
    monkeypatch.setattr(recording_module, "TEST_SECONDS", 1)
    test = "import m, time\ndef test():\n    time.sleep(1.5)\n    assert m.f(2) == 3\n"
    found, _ = recorded(write_package(tmp_path, {"m.py": REACH["m.py"], "test_m.py": test}), jail)
    assert found.tests == 1 and not found.failed


def test_files_that_are_named_test_are_suites_too(jail, tmp_path):
    files = {"m.py": REACH["m.py"], "test.py": "import m\ndef test_f():\n    assert m.f(1) == 2\n"}
    _, functions = recorded(write_package(tmp_path, files), jail)
    assert functions["f"].seen.tests == ("test.py::test_f",) and "test_f" not in functions


def test_what_a_fixture_calls_is_reached_by_each_test_that_asks_for_it(jail, tmp_path):
    """Also where it is set up once for several, or by a test that runs."""
    files = {
        "m.py": "def f(n):\n    return n + 1\n\n\ndef g(n):\n    return n\n\n\ndef tested(n):\n    return n\n",
        "conftest.py": """
import pytest
import m

@pytest.fixture(scope="session")
def once():
    return m.f(1)

@pytest.fixture
def late():
    return m.f(2)
""",
        "test_m.py": """
import m

def test_first(once):
    assert once == 2

def test_second(once):
    assert once == 2

def test_third(request):
    assert request.getfixturevalue("late") == 3 and m.g(4) == 4

def test_fourth():
    assert m.tested(1) == 1
""",
    }
    _, functions = recorded(write_package(tmp_path, files), jail)
    names = {
        name: {test.partition("::")[2] for test in functions[name].seen.tests} for name in ("f", "g", "tested")
    }
    assert names == {
        "f": {"test_first", "test_second", "test_third"},
        "g": {"test_third"},
        "tested": {"test_fourth"},
    }


@pytest.mark.parametrize("option", ["--import-mode=importlib", "--import-mode importlib"])
def test_the_import_mode_of_the_configuration_is_kept(jail, tmp_path, option):
    """Without it two files of one name are refused."""
    files = {
        "m.py": "def f(n):\n    return n + 1\n",
        "pytest.ini": "[pytest]\naddopts = -q " + option + "\n",
        "a/test_m.py": "import m\ndef test(): assert m.f(1) == 2\n",
        "b/test_m.py": "import m\ndef test(): assert m.f(2) == 3\n",
    }
    found, functions = recorded(write_package(tmp_path, files), jail)
    assert (found.tests, found.failed) == (2, {}) and len(functions["f"].seen.tests) == 2


SHARED = """
from functools import lru_cache

names = {}

def register(f):
    names[f.__name__] = f
    return f

@lru_cache
def table(n):
    return list(range(n))

@register
def made(text):
    return [text]

def closed(box):
    box.clear()

def lent(text):
    return text.upper()
"""
SHARED_TESTS = """
import pytest
import m

@pytest.fixture(scope="module")
def box():
    held = m.made("a")
    yield held
    m.closed(held)

@pytest.fixture(scope="session")
def capital():
    return m.lent("b")

@pytest.fixture(params=["box", "capital"])
def either(request):
    return request.getfixturevalue(request.param)

def test_box(box):
    assert m.table(3)

def test_either(either):
    assert either

def test_capital(capital):
    assert m.table(3)

def test_alone():
    assert m.names
"""


def test_a_test_reaches_what_fixtures_call_at_their_end_or_that_another_had_made_before(jail, tmp_path):
    _, functions = recorded(write_package(tmp_path, {"m.py": SHARED, "test_m.py": SHARED_TESTS}), jail)
    assert functions.pop("register").seen is None
    reached = {name: [test.partition("::")[2] for test in one.seen.tests] for name, one in functions.items()}
    assert reached["made"] == reached["closed"] == ["test_box", "test_either[box]"]
    assert reached["lent"] == ["test_either[capital]", "test_capital"]
    assert reached["table"] == ["test_box", "test_capital"], "a cache answered the second"


def test_what_is_called_while_modules_are_loaded_is_known(jail, tmp_path):
    tests = "import m\nmade = m.lent('a')\ndef test():\n    m.register(m.lent)\n    assert m.made(m.table(2))\n"
    _, functions = recorded(write_package(tmp_path, {"m.py": SHARED, "test_m.py": tests}), jail)
    assert {name for name, one in functions.items() if one.seen and one.seen.at_import} == {"register"}
    assert functions["lent"].seen is None, "no test calls it"
