"""How harnesses other than EvalPlus grade HumanEval+ and MBPP+: by the programs of the hub's copies."""

from __future__ import annotations

from collections.abc import Callable

from truegrade.grading.evalplus import plus_tests
from truegrade.grading.executor import Executor
from truegrade.grading.functions import ReferenceFailed, References
from truegrade.grading.judgement import Judgement
from truegrade.profiles.base import Rule
from truegrade.records import FunctionTask, OracleTask, Problem, Reason

PLUS_RULE = Rule(
    "comparison",
    "plus sets: the hub's field `test`, derived from inputs and reference by the rules that generated it",
    "evalplus/evalplus@26d6d00 tools/humaneval/to_original_fmt.py, tools/mbpp/to_original_fmt.py",
)
PLUS_DEFECTS = (
    "HumanEval+/32: the test unpacks the number that the function returns: no right answer passes",
    "MBPP+ 737, 787 and 794: the test asserts nothing: whatever does not raise passes",
    "plus sets: the tests' imports and names (np, inf, math) are the answer's globals as well",
)


def with_tests(
    problem: Problem, references: References, executor: Executor, grade: Callable[[str], Judgement]
) -> Judgement:
    """Grade with a problem's test program; where it cannot be had the data set is to blame, not the answer.

    Args:
        problem: with test source, or one of a plus set.
        references: expected outputs, shared by the samples of a problem.
        executor: runs the reference of a plus set.
        grade: the grading, given the test program complete with its call.
    """
    task = problem.task
    if isinstance(task, OracleTask):
        try:
            return grade(plus_tests(f"{problem.dataset_sha256}/{problem.id}", task, references, executor))
        except ReferenceFailed as failure:
            return Judgement(reason=Reason.GRADER_ERROR, detail=str(failure))
    assert isinstance(task, FunctionTask)
    return grade(task.tests)
