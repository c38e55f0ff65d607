from __future__ import annotations

import ast
from pathlib import Path

import pytest

from truegrade.benchmarks import Benchmark, load_benchmark
from truegrade.records import FunctionTask


@pytest.fixture(scope="module")
def humaneval(humaneval_file: Path) -> Benchmark:
    return load_benchmark("humaneval", humaneval_file)


def test_the_package_file_is_found_without_a_download(
    humaneval_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRUEGRADE_DATA", raising=False)
    monkeypatch.setenv("TRUEGRADE_CACHE", str(tmp_path))
    assert load_benchmark("humaneval").source == str(humaneval_file)


def test_the_first_problem_word_for_word(humaneval: Benchmark) -> None:
    task = humaneval.problems[0].task
    assert isinstance(task, FunctionTask)
    assert task.entry_point == "has_close_elements"
    assert task.prefix == task.prompt
    assert task.prompt.startswith("from typing import List\n\n\ndef has_close_elements(")
    assert task.reference.startswith(task.prompt)
    assert task.tests.endswith("\n\ncheck(has_close_elements)")
    assert (task.setup, task.shown_tests, task.tests_use, task.cpu_s) == ("", (), (), None)


def test_every_problem_is_whole(humaneval: Benchmark) -> None:
    for problem in humaneval.problems:
        task = problem.task
        assert isinstance(task, FunctionTask)
        functions = [node.name for node in ast.parse(task.reference).body if isinstance(node, ast.FunctionDef)]
        assert functions[-1] == task.entry_point
        assert task.prompt.endswith("\n")
        checks = [node.name for node in ast.parse(task.tests).body if isinstance(node, ast.FunctionDef)]
        assert "check" in checks


@pytest.mark.parametrize(
    ("problem_id", "helper"),
    [("HumanEval/32", "poly"), ("HumanEval/38", "encode_cyclic"), ("HumanEval/50", "encode_shift")],
)
def test_helpers_that_tests_call_are_in_the_prefix(humaneval: Benchmark, problem_id: str, helper: str) -> None:
    task = humaneval.by_id()[problem_id].task
    assert isinstance(task, FunctionTask)
    assert f"{helper}(" in task.tests
    assert f"def {helper}(" in task.prefix
    assert task.tests_use == ()
