"""Synthetic files of published completions, in every shape, for a small benchmark in the manner of HumanEval."""

from __future__ import annotations

import json

from truegrade.benchmarks import Benchmark
from truegrade.records import FunctionTask, Problem

DATASET = "e" * 64


def problem(number):
    name = f"add_{number}"
    prompt = f'def {name}(x):\n    """Add {number}."""\n'
    return Problem(
        id=f"Toy/{number}",
        benchmark="humaneval",
        dataset_sha256=DATASET,
        cluster=f"Toy/{number}",
        task=FunctionTask(
            prompt=prompt,
            prefix=prompt,
            entry_point=name,
            tests=f"{test(number)}\ncheck({name})",
            reference=f"{prompt}    return x + {number}\n",
        ),
    )


def test(number):
    return f"def check(candidate):\n    assert candidate(1) == {number + 1}\n"


test.__test__ = False


def toy(tasks):
    """A benchmark of that many problems."""
    problems = tuple(problem(number) for number in range(tasks))
    return Benchmark(name="humaneval", problems=problems, dataset_sha256=DATASET, source="synthetic")


def right(number, style=0):
    """A right body; styles differ in text only."""
    return f"    return x + {number}{' ' * style}\n"


def wrong(number, style=0):
    return f"    return x - {number + 1}{' ' * style}\n"


def upstream(number):
    """The fields that published files copy from the benchmark."""
    task = problem(number).task
    return {
        "task_id": f"Toy/{number}",
        "prompt": task.prompt,
        "entry_point": task.entry_point,
        "canonical_solution": f"    return x + {number}\n",
        "test": test(number),
    }


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def document(path, value):
    path.write_text(json.dumps(value))
    return path
