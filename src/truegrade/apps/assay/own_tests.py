"""A problem as `strict` judges it by its own tests alone, whoever else judges it."""

from __future__ import annotations

from msgspec import structs

from truegrade.grading.problem_tests import CallTests, ProblemTests, ReferenceTests, SourceTests, StreamTests
from truegrade.kinds import Kind, kind_of
from truegrade.kinds.contest import KIND as CONTEST
from truegrade.records import BuiltInTask, CasesTask, ContestTask, FunctionTask, OracleTask, Problem, Task


def by_own_tests(problem: Problem) -> Problem:
    """The problem with the built-in task that its tests make.

    `strict` judges a kind from outside by what the kind says, which may be what is measured: it would testify for
    itself. One that gives no tests stays as it is.
    """
    if isinstance(problem.task, BuiltInTask):
        return problem
    kind = kind_of(problem.task)
    tests = kind.tests(problem.task)
    return problem if isinstance(tests, str) else structs.replace(problem, task=_task(kind, problem.task, tests))


def _task(kind: Kind[Task], task: Task, tests: ProblemTests) -> Task:
    found, words, cpu_s = kind.reference(task), kind.shown(task).text, kind.needs(task).cpu_s
    reference = found if isinstance(found, str) else ""
    match tests:
        case CallTests():
            return CasesTask(buggy="", reference=reference, cpu_s=cpu_s, **structs.asdict(tests))
        case ReferenceTests():
            return OracleTask(
                prompt=words, entry_point=tests.entry_point, prefix=kind.prefix(task), reference=tests.reference,
                base_inputs=tests.inputs, plus_inputs=tests.further, comparator=tests.comparator, atol=tests.atol,
                cpu_s=cpu_s,
            )  # fmt: skip
        case SourceTests():
            return FunctionTask(
                prompt=words, entry_point=tests.entry_point, prefix=kind.prefix(task), tests=tests.source,
                setup=tests.setup, shown_tests=tests.shown, reference=reference,
                plain_arguments=tests.plain_arguments, tests_use=(tests.owner,) if tests.owner else (),
                cpu_s=cpu_s,
            )  # fmt: skip
        case StreamTests(function=name):
            blank = ContestTask(title="", question=words, function=name, public_tests="[]", private_tests="[]")
            return CONTEST.with_tests(blank, tests)
