"""Samples of execution prediction, counted: per case, and with the cases of an item taken together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from truegrade.statistics.reasoning_records import Draw, Draws, PredictionPrompt, Shown


class ProgramLine(msgspec.Struct, frozen=True, array_like=True):
    """Counts of one program on one call, or on all calls of its item."""

    id: str
    item: str
    case: int | None
    """None: all cases together."""
    shown: Shown
    cluster: str
    mutation: str
    n: int
    """Graded samples."""
    right: int
    typed: int
    exact: int
    reverted: int
    answered: int
    truncated: int
    differs: bool
    boolean: bool
    unfamiliar: bool | None = None
    """Whether the program holds unfamiliar syntax; None where nothing is known of its source."""
    length: int | None = None
    depth: int | None = None
    steps: int | None = None

    @property
    def reversible(self) -> bool:
        """Whether OR and MR are defined here."""
        return self.differs and not self.boolean

    @property
    def place(self) -> str:
        """What an original shares with its mutant: item and case."""
        return f"{self.item}/{self.case}"


def per_case(programs: Iterable[PredictionPrompt], draws: Draws) -> list[ProgramLine]:
    """Counts case by case."""
    return [_line(program, program.case, _graded(draws.get(program.id, ()))) for program in programs]


def all_cases(programs: Iterable[PredictionPrompt], draws: Draws) -> list[ProgramLine]:
    """Counts item by item: sample i counts if it has a verdict on every case, and holds if it holds on all."""
    items: dict[tuple[str, Shown, str], list[PredictionPrompt]] = defaultdict(list)
    for program in programs:
        # rewritings of one item are told apart by their rule; an item has one original and one mutant
        rule = program.mutation if program.shown == "preserved" else ""
        items[program.item, program.shown, rule].append(program)
    lines = []
    for cases in items.values():
        rows = zip(*_same_length([draws.get(case.id, ()) for case in cases]), strict=True)
        joined = [_joined(row) for row in rows]
        whole = msgspec.structs.replace(
            cases[0],
            id=" ".join(case.id for case in cases),
            differs=any(case.differs for case in cases),
            boolean=any(case.boolean or case.booleans for case in cases),
        )
        lines.append(_line(whole, None, _graded(joined)))
    return lines


def _joined(row: Sequence[Draw | None]) -> Draw | None:
    """The sample of an item, from its samples on each case."""
    known = _graded(row)
    if len(known) < len(row):
        return None
    return Draw(
        right=all(draw.right for draw in known),
        typed=all(draw.typed for draw in known),
        exact=all(draw.exact for draw in known),
        reverted=all(draw.reverted for draw in known),
        answered=all(draw.answered for draw in known),
        truncated=any(draw.truncated for draw in known),
    )


def _line(program: PredictionPrompt, case: int | None, graded: Sequence[Draw]) -> ProgramLine:
    known = program.covariates
    return ProgramLine(
        id=program.id,
        item=program.item,
        case=case,
        shown=program.shown,
        cluster=program.cluster,
        mutation=program.mutation,
        n=len(graded),
        right=sum(draw.right for draw in graded),
        typed=sum(draw.typed for draw in graded),
        exact=sum(draw.exact for draw in graded),
        reverted=sum(draw.reverted for draw in graded),
        answered=sum(draw.answered for draw in graded),
        truncated=sum(draw.truncated for draw in graded),
        differs=program.differs,
        boolean=program.boolean,
        unfamiliar=None if known is None else bool(known.unfamiliar),
        length=None if known is None else known.length,
        depth=None if known is None else known.depth,
        steps=None if known is None else known.steps,
    )


def _graded(draws: Iterable[Draw | None]) -> list[Draw]:
    return [draw for draw in draws if draw is not None]


def _same_length(rows: Sequence[Sequence[Draw | None]]) -> list[list[Draw | None]]:
    # A sample that one case lacks leaves the item's sample unknown, not wrong.
    most = max(map(len, rows))
    return [[*row, *([None] * (most - len(row)))] for row in rows]
