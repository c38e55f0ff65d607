"""No forged program passes a suite whose tests run in a process of their own (`support.outside_forgeries`)."""

import os
from pathlib import Path

import pytest

from support.outside_forgeries import KINDS, forged_program
from support.outside_suites import FILE_TASK, STACK_TASK, suite
from support.thorough import thorough
from truegrade.benchmarks import load_benchmark
from truegrade.grading.suite_grading import grade_by_suite, suite_source
from truegrade.grading.suite_reference import ReferencesShown
from truegrade.grading.suite_runs import outside_suite
from truegrade.pipeline.verdicts import limits_for
from truegrade.profiles import open_profile
from truegrade.records import Reason
from truegrade.sandbox import Limits, Sandbox

SUM_TASK = suite(
    "self.assertEqual(total([1, 2]), 3)\nwith self.assertRaises(TypeError):\n    total(['a'])\n"
    "self.assertAlmostEqual(total([0.5]), 0.5)",
    "def total(items):\n    return sum(items)\n",
    "total",
)
LARGE_TASK = suite(
    "import math\nself.assertEqual(product(8, range(1, 9)), 322560)\nself.assertEqual(product(2, [1e5]), 200000)\n"
    "self.assertIn(product(1, range(1, 41)), [math.factorial(40)])",
    "import math\ndef product(n, items):\n    return n * math.prod(items)\n",
    "product",
)
TASKS = {"classes": STACK_TASK, "files": FILE_TASK, "values": SUM_TASK, "large": LARGE_TASK}
FEW = [
    *("SkipTest of unittest", "_ShouldStop by name", "KeyboardInterrupt", "out of bounds", "surrogates"),
    *("NotImplemented", "opaque", "huge range", "path of itself", "true array", "no character"),
    *("infinity of 16 bits", "infinity of 32 bits", "infinities of 16 bits"),
    *("passed", "grader error", "two answers", "old token", "objects new", "attributes of anything"),
    *("a fork answers", "a thread writes", "closes all", "own memory", "reports on the streams"),
]
"""Those that each cost little."""
OF_FILES = ["settings and modules", "out of the folder", "links", "odd entries", "closed folder"]
"""The same, for suites that look at files."""
HALVES = [
    *((name, number % 2) for number, name in enumerate(TASKS)),
    *(thorough((name, 1 - number % 2)) for number, name in enumerate(TASKS)),
]
"""Suites with the half of `FEW` that is tried on them."""


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(Limits(cpu_s=1.0, wall_s=3.0, packages=("numpy", "pandas")), workers=1) as made:
        yield made


def passing(task, kinds, kept, sandbox, *, later: bool):
    """The kinds that pass without a mark, or leave the denominator; ``later`` lies from the second call on."""
    source = suite_source(task)
    found = outside_suite(task, source)
    assert found is not None
    reference = task.reference if later else ""
    programs = {
        kind: forged_program(kind, found.functions, found.classes, found.values, reference) for kind in kinds
    }
    judged = {kind: grade_by_suite(task, one, kept, sandbox, min_cpu_s=1.0) for kind, one in programs.items()}
    return [
        kind for kind, one in judged.items() if (one.passed and not one.marks) or one.reason is Reason.GRADER_ERROR
    ]


@pytest.mark.parametrize(("name", "turn"), HALVES)
def test_few_kinds(name, turn, sandbox, tmp_path):
    """Half of them on each suite; those of files on the one that looks at files."""
    kept = ReferencesShown(tmp_path)
    kinds = [*FEW[turn::2], *(OF_FILES if name == "files" or turn else ())]
    assert not passing(TASKS[name], kinds, kept, sandbox, later=False)
    assert grade_by_suite(TASKS[name], TASKS[name].reference, kept, sandbox, min_cpu_s=1.0).passed


def test_few_kinds_from_the_second_call_on(sandbox, tmp_path):
    assert not passing(SUM_TASK, [*FEW, *OF_FILES], ReferencesShown(tmp_path), sandbox, later=True)


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("level", [2, 3])
@pytest.mark.parametrize("later", [False, True])
def test_all_kinds(level, later, tmp_path):
    pytest.importorskip("pandas", reason="pandas is not installed")
    with Sandbox(
        Limits(cpu_s=1.0, wall_s=3.0, packages=("numpy", "pandas")), workers=1, max_level=level
    ) as sandbox:
        if sandbox.level > level:
            pytest.skip(f"protection level {sandbox.level} here")
        kept = ReferencesShown(tmp_path)
        for task in (STACK_TASK, SUM_TASK):
            assert not passing(task, KINDS, kept, sandbox, later=later)


@pytest.mark.slow
def test_all_kinds_on_suites_of_a_benchmark(tmp_path):
    folder = Path(os.environ.get("TRUEGRADE_DATA", ""))
    if not (folder / "BigCodeBench.jsonl.gz").is_file():
        pytest.skip("BigCodeBench.jsonl.gz is not in TRUEGRADE_DATA: see docs/benchmarks.md")
    problems = load_benchmark("bigcodebench", folder, {"packages": "installed"}).problems
    tasks = [one.task for one in problems[::8]]
    with Sandbox(limits_for(open_profile("strict"), problems), workers=1) as sandbox:
        kept, seen = ReferencesShown(tmp_path), 0
        for task in tasks:
            source = suite_source(task)
            if outside_suite(task, source) is None or not kept.of(task, source, sandbox).outside:
                continue
            assert not passing(task, KINDS, kept, sandbox, later=False), task.entry_point
            seen += 1
            if seen == 3:
                break
        assert seen
