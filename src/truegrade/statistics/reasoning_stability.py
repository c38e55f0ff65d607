"""Stability: whether semantics-preserving rewritings change the outcome, compared with repeated samples.

Samples are paired by their number, disjointly, so that the pairs are independent draws.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from truegrade.records import Estimate
from truegrade.statistics.reasoning_measures import measure
from truegrade.statistics.reasoning_records import Draw, Draws, PredictionPrompt
from truegrade.statistics.tally import TaskTally


def stability(programs: Sequence[PredictionPrompt], draws: Draws) -> Estimate | None:
    """Share of (original, rewriting) pairs of samples that are both right or both wrong; None without any."""
    originals = {(p.item, p.case): p.id for p in programs if p.shown == "original"}
    agreements = []
    for program in programs:
        original = originals.get((program.item, program.case))
        if program.shown == "preserved" and original is not None:
            pairs = zip(draws.get(original, ()), draws.get(program.id, ()), strict=False)
            agreements.append(_agreement(program, pairs))
    return measure("stability", agreements)


def repeat_agreement(programs: Sequence[PredictionPrompt], draws: Draws) -> Estimate | None:
    """The same for samples 0 and 1, 2 and 3, ... of each original; None where each has a single sample."""
    found = []
    for program in programs:
        samples = draws.get(program.id, ())
        if program.shown == "original":
            found.append(_agreement(program, zip(samples[::2], samples[1::2], strict=False)))
    return measure("repeat_agreement", found)


def _agreement(program: PredictionPrompt, pairs: Iterable[tuple[Draw | None, Draw | None]]) -> TaskTally:
    known = [(one, other) for one, other in pairs if one is not None and other is not None]
    agreeing = sum(one.right == other.right for one, other in known)
    return TaskTally(task_id=program.id, cluster=program.cluster, n=len(known), c=agreeing)
