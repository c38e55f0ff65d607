"""A repair problem of any kind: a name, the buggy program and the correct one."""

from __future__ import annotations

import msgspec

from truegrade.datasets.identity import program_identity, without_notes
from truegrade.errors import UserError
from truegrade.records import Problem


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
