from __future__ import annotations

import ast
import warnings
from collections import Counter
from pathlib import Path

import pytest

from truegrade.benchmarks import Benchmark, load_benchmark
from truegrade.benchmarks.base import entry_point, names_only_solution_binds
from truegrade.benchmarks.mbpp import split_of
from truegrade.errors import UserError
from truegrade.records import FunctionTask


@pytest.fixture(scope="module")
def mbpp(data_dir: Path) -> Benchmark:
    return load_benchmark("mbpp", data_dir)


@pytest.fixture(scope="module")
def sanitized(data_dir: Path) -> Benchmark:
    return load_benchmark("mbpp-sanitized", data_dir)


def tasks(benchmark: Benchmark) -> dict[str, FunctionTask]:
    return {problem.id: problem.task for problem in benchmark.problems if isinstance(problem.task, FunctionTask)}


def parse(program: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(program)


def test_the_first_problem_word_for_word(mbpp: Benchmark) -> None:
    task = tasks(mbpp)["MBPP/1"]
    assert task.prompt.startswith("Write a function to find the minimum cost path to reach (m, n) from (0, 0)")
    assert task.entry_point == "min_cost"
    assert task.reference.startswith("R = 3\r\nC = 3\r\ndef min_cost(cost, m, n): \r\n\t")
    assert len(task.shown_tests) == 3
    assert task.tests == "\n".join(task.shown_tests)
    assert (task.prefix, task.setup, task.tests_use, task.cpu_s) == ("", "", (), None)


def test_the_sanitized_wording_is_its_own(sanitized: Benchmark) -> None:
    task = tasks(sanitized)["MBPP/2"]
    assert task.prompt == "Write a function to find the shared elements from the given two lists."
    assert task.tests.startswith("assert set(similar_elements((3, 4, 5, 6),(5, 7, 4, 10))) == set((4, 5))\n")
    assert tasks(sanitized)["MBPP/300"].setup == "import math"


@pytest.mark.parametrize("name", ["mbpp", "mbpp-sanitized"])
def test_every_reference_defines_the_entry_point_that_the_tests_call(name: str, data_dir: Path) -> None:
    for problem_id, task in tasks(load_benchmark(name, data_dir)).items():
        defined = {node.name for node in parse(task.reference).body if isinstance(node, ast.FunctionDef)}
        called = {
            node.func.id
            for node in ast.walk(parse(task.tests))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert called & defined == {task.entry_point}, problem_id
        parse(task.setup)


def test_what_tests_need_beside_the_entry_point(mbpp: Benchmark, sanitized: Benchmark) -> None:
    assert {name: task.tests_use for name, task in tasks(mbpp).items() if task.tests_use} == {
        "MBPP/367": ("Node",),
        "MBPP/596": ("sys",),
        "MBPP/601": ("Pair",),
        "MBPP/927": ("Node",),
    }
    assert {name: task.tests_use for name, task in tasks(sanitized).items() if task.tests_use} == {
        "MBPP/596": ("sys",)
    }


def test_setups(mbpp: Benchmark, sanitized: Benchmark) -> None:
    with_setup = [name for name, task in tasks(mbpp).items() if task.setup]
    assert with_setup == ["MBPP/367", "MBPP/927"]
    assert sum(bool(task.setup) for task in tasks(sanitized).values()) == 13


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("mbpp", {"prompt": 10, "test": 500, "validation": 90, "train": 374}),
        ("mbpp-sanitized", {"prompt": 7, "test": 257, "validation": 43, "train": 120}),
    ],
)
def test_splits(name: str, sizes: dict[str, int], data_dir: Path) -> None:
    assert Counter(problem.tags["split"] for problem in load_benchmark(name, data_dir).problems) == sizes
    for split, size in sizes.items():
        part = load_benchmark(name, data_dir, {"split": split})
        assert len(part.problems) == size
        assert part.args == {"split": split}


def test_there_is_no_task_975() -> None:
    with pytest.raises(UserError, match="no task 975"):
        split_of(975)


def test_slow_and_not_plain_tasks_are_marked(mbpp: Benchmark, sanitized: Benchmark) -> None:
    assert tasks(mbpp)["MBPP/123"].cpu_s == 60
    assert [p.id for p in mbpp.problems if not p.task.plain_arguments] == ["MBPP/533"]
    assert all(p.task.plain_arguments for p in sanitized.problems)


def test_entry_point_may_shadow_a_builtin_and_skips_helpers(mbpp: Benchmark) -> None:
    assert tasks(mbpp)["MBPP/126"].entry_point == "sum"
    assert entry_point("x", "def helper(): ...\ndef main(): ...", "assert str(main()) == 'a'") == "main"


def test_an_entry_point_that_cannot_be_found() -> None:
    with pytest.raises(UserError, match="MBPP/9: its tests call no function"):
        entry_point("MBPP/9", "x = 1", "assert x == 1")
    with pytest.raises(UserError, match="MBPP/9: its code is no Python"):
        entry_point("MBPP/9", "def", "assert x == 1")
    with pytest.raises(UserError, match="MBPP/9: its code is no Python"):
        names_only_solution_binds("MBPP/9", "def f(): ...", "root = = 1", "f")


@pytest.mark.parametrize(
    ("reference", "tests", "names"),
    [
        ("class A: ...\ndef f(a): ...", "assert f(A())", ("A",)),
        ("class A: ...\ndef f(a): ...", "A = int\nassert f(A())", ()),
        ("import sys\ndef f(a): ...", "import sys\nassert f(sys)", ()),
        ("import sys\ndef f(a): ...", "assert all(f(sys.path) for _ in range(3))", ("sys",)),
        ("import sys\ndef f(a): ...", "def g():\n    return lambda: f(sys)\nassert g()", ("sys",)),
        ("import sys\ndef f(a): ...", "def g(sys):\n    return f(sys)\nassert g(1)", ()),
        ("def f(a): ...", "assert f(len('a'))", ()),
        ("def len(a): ...\ndef f(a): ...", "assert f(len('a'))", ("len",)),
        ("X, (Y, Z) = 1, (2, 3)\ndef f(a): ...", "assert f(Z) == Y", ("Y", "Z")),
    ],
)
def test_names_that_only_the_solution_binds(reference: str, tests: str, names: tuple[str, ...]) -> None:
    assert names_only_solution_binds("x", reference, tests, "f") == names
