"""Before a run: rows of one's own whose tests refuse their reference, or accept what they must refuse, go out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import starmap

from truegrade.errors import UserError
from truegrade.kinds import kind_of
from truegrade.pipeline.grade import Grader
from truegrade.profiles import find_profile
from truegrade.records import Completion, Problem, Reason, Task, Verdict

_SHOWN = 5
_NEVER_RUNS = frozenset({Reason.SYNTAX_ERROR, Reason.NO_CODE})


def rows_at_fault(problems: Iterable[Problem], grader: Grader) -> dict[str, str]:
    """Why rows that carry wrong programs are left out, by their ids; `strict` judges these and the reference.

    Args:
        problems: of any benchmark; only rows of one's own carry wrong programs.
        grader: runs the programs.

    Raises:
        UserError: none of the problems is left.
        SandboxError: the machine failed.
    """
    given = list(problems)
    asked = {problem.id: problem for problem in given if problem.wrong}
    if not asked:
        return {}
    programs = [(problem, number, text) for problem in asked.values() for number, text in _programs(problem)]
    verdicts = list(grader.verdicts(starmap(_completion, programs), asked, find_profile("strict")))
    found = dict(_faults(asked, sorted(verdicts, key=lambda one: one.sample, reverse=True)))
    if len(found) == len(given):
        why = [found[problem.id] for problem in given]
        more = [f"and {len(why) - _SHOWN} more"] if len(why) > _SHOWN else []
        raise UserError(f"no problem is left: {'; '.join([*why[:_SHOWN], *more])}")
    return {problem: found[problem] for problem in asked if problem in found}


def _programs(problem: Problem) -> Iterator[tuple[int, str]]:
    """The reference as an answer, numbered -1, and the wrong programs with their places."""
    reference = kind_of(problem.task).reference(problem.task)
    if isinstance(reference, str):
        yield -1, reference
    yield from enumerate(problem.wrong)


def _faults(asked: dict[str, Problem], verdicts: list[Verdict]) -> Iterator[tuple[str, str]]:
    """The problem and what is wrong with it; of several faults the last one counts."""
    for one in verdicts:
        place = asked[one.problem_id].place or one.problem_id
        if one.sample >= 0 and one.passed:
            advice = "add a test that it fails, or take it out"
            yield one.problem_id, f"{place}, field 'wrong[{one.sample}]': the tests accept it; {advice}"
        elif one.sample >= 0 and one.reason is Reason.GRADER_ERROR:
            yield one.problem_id, f"{place}, field 'wrong[{one.sample}]': cannot be judged: {one.detail}"
        elif one.sample >= 0 and _never_ran(one, asked[one.problem_id].task):
            advice = "give a program that runs, without a fence"
            why = f"never runs ({one.detail or one.reason}), and so says nothing of the tests; {advice}"
            yield one.problem_id, f"{place}, field 'wrong[{one.sample}]': {why}"
        elif one.sample < 0 and not one.passed:
            why = one.detail or one.reason
            yield (
                one.problem_id,
                f"{place}, field 'reference': does not pass the tests: {why}; correct it, or them",
            )


def _never_ran(verdict: Verdict, task: Task) -> bool:
    """Whether a program is none, does not define what is called, or imports what is not there."""
    lacks = (f"NameError: name {kind_of(task).entry_point(task)!r} is not defined", "ModuleNotFoundError")
    return verdict.reason in _NEVER_RUNS or verdict.detail.startswith(lacks)


def _completion(problem: Problem, number: int, program: str) -> Completion:
    return Completion(
        benchmark=problem.benchmark,
        dataset_sha256=problem.dataset_sha256,
        problem_id=problem.id,
        sample=number,
        config_sha256="",
        prompt_sha256="",
        text=program,
        form="program",
        model="",
    )
