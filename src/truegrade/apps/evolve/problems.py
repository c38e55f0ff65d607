"""A repair problem of any kind: a name, the buggy program and the correct one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec

from truegrade.apps.evolve.dimensions import is_one_token
from truegrade.builders.mutation.mutants import Mutant, MutationOptions, NotAProgram, mutants_of, normalised
from truegrade.datasets.identity import notes_of, program_identity, without_notes
from truegrade.errors import UserError
from truegrade.grading.executor import Executor
from truegrade.profiles.base import Profile
from truegrade.records import Answer, Problem, Reason, sha256_json


class Repair(msgspec.Struct, frozen=True, kw_only=True):
    """What training and the checks against contamination need of a problem."""

    problem: str
    """Its id."""
    name: str
    """The function's: what CORAL-X calls the problem."""
    buggy: str
    """As the benchmark stores it."""
    reference: str
    """As the benchmark stores it, notes and alternative solutions included."""

    @property
    def solution(self) -> str:
        """The reference without the strings that stand between its statements."""
        return without_notes(self.reference)

    @property
    def programs(self) -> frozenset[str]:
        """Identities of both programs, whatever their names and layout."""
        return frozenset({program_identity(self.buggy), program_identity(self.reference)})


def repair_of(problem: Problem) -> Repair:
    """The repair that a problem asks for.

    Raises:
        UserError: it asks for something else.
    """
    task = problem.task
    name, buggy, reference = (getattr(task, field, "") for field in ("entry_point", "buggy", "reference"))
    if not (name and buggy and reference):
        raise UserError(
            f"problem {problem.id} holds no program to repair, so nothing can be learned from it;"
            " train on a benchmark of repairs: quixbugs or micro-repair"
        )
    return Repair(problem=problem.id, name=name, buggy=buggy, reference=reference)


# ----------------------------------------------------------------------------------------------------------------
# New repair problems out of solved ones: one token of a correct program is changed, and its tests then fail.


_DECIDED = frozenset({Reason.WRONG_ANSWER, Reason.RUNTIME_ERROR})
"""Failures that no clock and no memory decides, so that every machine draws the same mutants."""


def fresh_mutants(
    problems: Sequence[Problem], profile: Profile, executor: Executor, *, seed: int, per_program: int = 2
) -> tuple[Problem, ...]:
    """Draw mutants of correct programs; each is verified to fail the tests, and its reference to pass them.

    The same seed draws the same mutants, and a program's draw does not depend on the other programs.

    Args:
        problems: repairs whose correct programs are changed.
        profile: whose grading decides.
        executor: bound to the profile's limits.
        seed: of the draw.
        per_program: how many of each, as far as there are so many.

    Raises:
        UserError: a problem is no repair, or its own reference fails.
    """
    drawn: list[Problem] = []
    for problem in problems:
        repair = repair_of(problem)
        try:
            solution = normalised(repair.solution)
        except NotAProgram as error:
            raise UserError(f"problem {problem.id}: its reference cannot be mutated: {error}") from None
        if _reason(problem, solution, profile, executor) is not Reason.PASSED:
            raise UserError(
                f"problem {problem.id}: its own reference fails under {profile.id}; no mutant is drawn"
            )
        failing = _failing(problem, repair, solution, profile, executor, seed)
        drawn.extend(islice(failing, per_program))
    return tuple(drawn)


def _failing(
    problem: Problem, repair: Repair, solution: str, profile: Profile, executor: Executor, seed: int
) -> Iterator[Problem]:
    """Mutants that fail, in the order that the seed gives them; never the bug that the benchmark itself has."""
    known = set(repair.programs)
    candidates = [each for each in mutants_of(solution, MutationOptions()) if is_one_token(solution, each.code)]
    for mutant in sorted(candidates, key=lambda each: sha256_json([seed, repair.name, each.id])):
        same = program_identity(mutant.code)
        if same not in known and _reason(problem, mutant.code, profile, executor) in _DECIDED:
            known.add(same)
            yield _as_problem(problem, repair, solution, mutant)


def _reason(problem: Problem, program: str, profile: Profile, executor: Executor) -> Reason:
    return profile.judgement(problem, Answer(value=program, found="as given"), executor).reason


def _as_problem(problem: Problem, repair: Repair, solution: str, mutant: Mutant) -> Problem:
    """The problem with another bug, both programs in one layout, the buggy one with the notes it had."""
    notes = notes_of(repair.buggy)
    buggy = f"{mutant.code}\n\n{notes}" if notes else mutant.code
    task = msgspec.structs.replace(problem.task, buggy=buggy, reference=solution)
    return msgspec.structs.replace(
        problem,
        id=f"{problem.id}~{mutant.id}",
        task=task,
        tags={**problem.tags, "mutation": mutant.operator, "fresh": "mutant"},
    )
