"""The cost of running a program, as a number that is the same on every machine: executed lines.

Line events of `sys.settrace` are identical in every process, where wall time of such short calls varies by a
quarter. They are counted in the sandbox, by the watcher that also watches mutants; a program could spoil the
count, and one that names the means to (`_TRACERS`) is not measured.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from truegrade.builders.mutation.mutation_options import MutationOptions
from truegrade.builders.mutation.observing import Observer
from truegrade.evolution.objectives.scorers import repair_task
from truegrade.grading.executor import Executor
from truegrade.grading.suites import Suite, suite_of
from truegrade.records import CasesTask, Problem

COST_CAP = 4.0
"""Times the reference's lines beyond which a program is not followed; what an unpassed test costs, too."""

_EVENTS_PER_LINE = 3
"""At most, calls and returns included, for programs like the reference."""
_LEAST_EVENTS = 200
_REFERENCE_EVENTS = 100_000
"""A test on which the reference has more is not counted: being watched, it would take seconds."""
_CPU_S = 10.0
"""Backstop for all tests of a program together."""
_CALL_ENDS = frozenset({"value", "raised", "endless", "unwritable"})
_TRACERS = ("settrace", "setprofile", "monitoring", "f_trace", "gettrace", "_getframe")


class CostMeter:
    """Counts the lines of programs and of their references, which are remembered."""

    def __init__(self) -> None:
        self._references: dict[tuple[str, str], tuple[int | None, ...]] = {}
        self._lock = threading.Lock()

    def cost(self, problem: Problem, code: str, passed: Sequence[bool], executor: Executor) -> float:
        """Executed lines per line of the reference, mean over the tests, each at most `COST_CAP`.

        Args:
            problem: a `truegrade.grading.suites.RepairTask`.
            code: the program.
            passed: by test; one not passed costs `COST_CAP`.
            executor: the jail.
        """
        reference = self._of_reference(problem, executor)
        counted = [index for index, steps in enumerate(reference) if steps is not None]
        if not counted:
            return COST_CAP
        wanted = [index for index in counted if index < len(passed) and passed[index]]
        if any(word in code for word in _TRACERS):
            wanted = []
        longest = max((reference[index] or 0 for index in wanted), default=0)
        most = _LEAST_EVENTS + int(_EVENTS_PER_LINE * COST_CAP * longest)
        steps = _steps(problem, code, wanted, most, executor)
        costs = [
            min(COST_CAP, max(0, steps[i]) / (reference[i] or 1)) if i in steps else COST_CAP for i in counted
        ]
        return sum(costs) / len(costs)

    def _of_reference(self, problem: Problem, executor: Executor) -> tuple[int | None, ...]:
        """Lines of the reference by test; None for a test that is not counted."""
        key = (problem.dataset_sha256, problem.id)
        with self._lock:
            if key in self._references:
                return self._references[key]
        reference = repair_task(problem).reference
        steps = _steps(problem, reference, countable(problem), _REFERENCE_EVENTS, executor)
        counts = tuple(steps.get(index) for index in range(_suite(problem).size))
        with self._lock:
            return self._references.setdefault(key, counts)


def countable(problem: Problem) -> list[int]:
    """Tests whose lines are counted: those that are expressions, and not the slow ones."""
    suite, task = _suite(problem), problem.task
    slow = task.slow if isinstance(task, CasesTask) else ()
    return [index for index in range(suite.size) if index not in {*slow, *suite.skipped} and _call(suite, index)]


def _suite(problem: Problem) -> Suite:
    return suite_of(repair_task(problem))


def _call(suite: Suite, index: int) -> str:
    """A test as an expression; empty if it is none."""
    if suite.statements:
        return "" if suite.statements[index].startswith("assert") else suite.statements[index]
    call = f"{suite.entry_point}({', '.join(map(repr, suite.cases[index].arguments))})"
    return f"list({call})" if suite.comparator == "list" else call


def _steps(problem: Problem, code: str, wanted: Sequence[int], most: int, executor: Executor) -> dict[int, int]:
    """Lines executed, by test, of those that end within ``most`` events."""
    suite, pending = _suite(problem), list(wanted)
    found: dict[int, int] = {}
    preamble = f"{suite.trusted}\n{suite.context}"
    options = MutationOptions(cpu_s=_CPU_S, max_steps=most, max_chars=1_000_000, preamble=preamble)
    while pending:
        observer = Observer(executor, [_call(suite, index) for index in pending], options)
        cases = observer.alone(code, "lines").cases
        found.update(
            (index, case.steps) for index, case in zip(pending, cases, strict=False) if case.kind == "value"
        )
        if cases[-1].kind not in _CALL_ENDS:
            break  # the process ended
        pending = pending[len(cases) :]
    return found
