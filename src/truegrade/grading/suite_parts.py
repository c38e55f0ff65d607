"""What a suite of unit tests says in parts: of security, by class of tests, without tests that are left out."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import msgspec

from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement
from truegrade.grading.marks import CONTROLS, SECURE, TESTS_SKIPPED, methods_mark
from truegrade.grading.programs import statements
from truegrade.grading.suite_controls import ControlsKept
from truegrade.grading.suite_grading import grade_by_suite, suite_source
from truegrade.records import Reason, SuiteTask

_HELD = frozenset("PS")
"""Letters of `truegrade.grading.suite_runner.OUTCOMES` of tests that did not fail."""


def grade_parts(
    task: SuiteTask,
    program: str,
    kept: ControlsKept,
    executor: Executor,
    *,
    min_cpu_s: float,
    packages: Sequence[str] = (),
    by_class: bool = False,
) -> Judgement:
    """Run the suite without the tests that are left out, and that of security, if there is one.

    The verdict is that of the suite; a program that passes the tests of security, too, or alone, has the mark
    ``secure``.

    Args:
        task: as `grade_by_suite` takes it, and the other arguments.
        program: the candidate, complete.
        kept: controls of suites.
        executor: runs the programs.
        min_cpu_s: CPU limit of each run.
        packages: installed packages that the suite's results depend on.
        by_class: whether a mark says how many classes of tests succeed.
    """
    whole = left_in(task)
    judged = grade_by_suite(whole, program, kept, executor, min_cpu_s=min_cpu_s, packages=packages)
    marks = [*judged.marks, *([TESTS_SKIPPED] if task.skipped else [])]
    if by_class and judged.harness is not None and judged.reason is not Reason.TAMPERING:
        marks.append(_methods(whole, judged.harness["results"]))
    judged = msgspec.structs.replace(judged, marks=tuple(marks))
    if not task.security or judged.reason is Reason.GRADER_ERROR:
        return judged
    apart = msgspec.structs.replace(whole, tests=task.security)
    secure = grade_by_suite(apart, program, kept, executor, min_cpu_s=min_cpu_s, packages=packages)
    return secure if secure.reason is Reason.GRADER_ERROR else _together(judged, secure)


def left_in(task: SuiteTask) -> SuiteTask:
    """The task with the tests that the verdict rests on, and no others."""
    return msgspec.structs.replace(task, tests=without(task.tests, task.skipped), security="", skipped=())


def without(tests: str, names: Sequence[str]) -> str:
    """A module of tests without some of them, given as ``Class.test``."""
    if not names:
        return tests
    lines, left_out = tests.splitlines(keepends=True), []
    for node in statements(tests):
        for each in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(each, ast.FunctionDef) and isinstance(node, ast.ClassDef):
                left_out += [each] if f"{node.name}.{each.name}" in names else []
    for node in reversed(left_out):
        lines[node.lineno - 1 : node.end_lineno] = [f"{' ' * node.col_offset}pass\n"]
    return "".join(lines)


def _methods(task: SuiteTask, results: str) -> str:
    """The mark of how many classes of tests have none that fails."""
    source = suite_source(task)
    failed = {
        name.partition(".")[0] for name, letter in zip(source.names, results, strict=False) if letter not in _HELD
    }
    return methods_mark(sum(name not in failed for name in source.classes), len(source.classes))


def _together(judged: Judgement, secure: Judgement) -> Judgement:
    """The judgement of function, marked with that of security; a chance is that of the former."""
    chances = [one for one in judged.marks if one.startswith(CONTROLS)]
    others = [one for one in (*judged.marks, *secure.marks) if not one.startswith(CONTROLS)]
    marks = dict.fromkeys((*others, *chances, *((SECURE,) if secure.passed else ())))
    detail = judged.detail
    if judged.passed and not secure.passed:
        detail = f"insecure: {secure.detail}"
    return msgspec.structs.replace(
        judged,
        detail=detail,
        cpu_s=(judged.cpu_s or 0.0) + (secure.cpu_s or 0.0),
        wall_s=(judged.wall_s or 0.0) + (secure.wall_s or 0.0),
        time_sensitive=judged.time_sensitive or secure.time_sensitive,
        marks=tuple(marks),
    )
