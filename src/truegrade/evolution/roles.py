"""The roles of problems: training, selection, final report, forgetting.

    train        adapters learn from these
    selection    the search sees these scores, so they flatter what it chose
    final        looked at once, after the search (`truegrade.evolution.final_look`)
    forgetting   what the base could do before: looked at with the final ones
    pool         with tests: expert iteration learns replies to them; other genomes are selected by them too
    replay       what the base could do before: its own replies may be learned once more

CORAL-X has two roles and reports the scores it selected by: the best of 200 equal genomes of true rate .5 then
shows .94 on its 8 problems. Roles that share a name or a program with the training set cannot be made.
"""

from __future__ import annotations

from functools import cached_property

import msgspec

from truegrade.datasets.identity import program_identity
from truegrade.evolution.contamination import (
    Contamination,
    OverlapReport,
    overlaps,
    refuse_overlap,
    refuse_trained,
)
from truegrade.evolution.repair_problems import repair_of
from truegrade.records import Problem


class Roles(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A benchmark's problems by what they are for; disjoint by construction.

    Raises:
        Contamination: a name or program of the training set is in another role, or the same bug is in selection
            and final.
    """

    benchmark: str
    train: tuple[Problem, ...]
    selection: tuple[Problem, ...]
    final: tuple[Problem, ...]
    forgetting: tuple[Problem, ...] = ()
    pool: tuple[Problem, ...] = ()
    replay: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    """What a reader of the report must know about the division, as sentences."""

    def __post_init__(self) -> None:
        refuse_overlap(self.learned, self.tested)
        refuse_shared_bugs(self.selection, (*self.final, *self.forgetting))

    @property
    def learned(self) -> tuple[Problem, ...]:
        """All problems that some adapter may learn from."""
        return (*self.train, *self.pool, *self.replay)

    @property
    def tested(self) -> tuple[Problem, ...]:
        """All problems that no adapter may learn from."""
        return (*self.selection, *self.final, *self.forgetting)

    def check(self, tested: Problem, *, learns_pool: bool = True) -> None:
        """Refuse to score a training problem; to be called for every problem that is evaluated.

        Args:
            tested: the problem.
            learns_pool: whether what is evaluated learned from the pool.

        Raises:
            Contamination: it is one.
        """
        item = repair_of(tested)
        marks = self._marks | (self._pool_marks if learns_pool else frozenset())
        if marks & {item.name, *item.programs}:
            refuse_trained(tested, self.learned)

    @cached_property
    def _marks(self) -> frozenset[str]:
        return _marks((*self.train, *self.replay))

    @cached_property
    def _pool_marks(self) -> frozenset[str]:
        return _marks(self.pool)

    def overlaps(self) -> OverlapReport:
        """How much text the training problems share with the others."""
        return overlaps(self.learned, self.tested)


def _marks(problems: tuple[Problem, ...]) -> frozenset[str]:
    """Names and programs."""
    repairs = [repair_of(problem) for problem in problems]
    return frozenset(mark for repair in repairs for mark in (repair.name, *repair.programs))


def refuse_shared_bugs(selection: tuple[Problem, ...], final: tuple[Problem, ...]) -> None:
    """Refuse a final problem that selection has already seen; another bug in the same program is another problem.

    Raises:
        Contamination: there is one.
    """
    seen = {program_identity(repair_of(problem).buggy): problem.id for problem in selection}
    for problem in final:
        before = seen.get(program_identity(repair_of(problem).buggy))
        if before is not None:
            raise Contamination(f"CONTAMINATION: {problem.id} is for the final report, but {before} selects by it")
