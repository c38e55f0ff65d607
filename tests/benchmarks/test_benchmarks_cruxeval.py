from __future__ import annotations

import ast
from pathlib import Path

from truegrade.benchmarks import load_benchmark
from truegrade.records import InputTask, OutputTask


def test_the_first_problem_both_ways(data_dir: Path) -> None:
    forwards = load_benchmark("cruxeval-output", data_dir).problems[0].task
    backwards = load_benchmark("cruxeval-input", data_dir).problems[0].task
    assert isinstance(forwards, OutputTask)
    assert isinstance(backwards, InputTask)
    assert forwards.program == backwards.program
    assert forwards.program.startswith("def f(nums):\n    output = []\n")
    assert forwards.function == backwards.function == "f"
    assert forwards.arguments == backwards.reference_arguments == "[1, 1, 3, 1, 3, 1]"
    assert forwards.expected == backwards.expected == "[(4, 1), (4, 1), (4, 1), (4, 1), (2, 3), (2, 3)]"


def test_every_program_defines_f_and_every_value_is_a_literal(data_dir: Path) -> None:
    for problem in load_benchmark("cruxeval-output", data_dir).problems:
        task = problem.task
        assert isinstance(task, OutputTask)
        names = {node.name for node in ast.parse(task.program).body if isinstance(node, ast.FunctionDef)}
        assert task.function in names
        ast.literal_eval(task.expected)
        assert isinstance(ast.parse(f"f({task.arguments})", mode="eval").body, ast.Call)
