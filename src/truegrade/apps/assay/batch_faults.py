"""What decides the verdicts of a grader on replies in batches, beside the replies themselves.

The first rule (`truegrade.apps.assay.batch_rules`) that says all that the grader said is the cause, or else the
one that leaves the least of it, where that is little, or else what those have in common whose verdicts flip
(`truegrade.apps.assay.batch_patterns`). A verdict flips where a reply that solves nothing is accepted, or a right
one refused.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, groupby

from truegrade.apps.assay.acceptance import Acceptance, SettledVerdict
from truegrade.apps.assay.batch_patterns import pattern_of_flips
from truegrade.apps.assay.batch_rules import (
    NUMBERS,
    RULES,
    PlaceInBatch,
    Rule,
    Verdicts,
    of_a_number,
    of_each,
)
from truegrade.apps.assay.batches import ALONE, BatchItem, BatchSaid, rewards_by_side
from truegrade.apps.assay.measures import BatchMeasure
from truegrade.apps.assay.records import Probe
from truegrade.report import format as fmt

LEAST_FLIPS = 2
"""Of which a rule with a number may be said: with one some such rule fits by chance. One that no rule explains is
no fault: a verdict may flip once in a hundred sends and never among those that are sent twice."""
_LEAST_FOREIGN = 3
"""Wrong replies accepted, all right ones to another problem, of which it is said that other rows judged them."""
_NOISE = 0.05
"""Share of the span of all rewards by which those of one reply may differ where nothing but time does."""
_TOLD_APART = 10
"""Times as many flips as a rule leaves unexplained it has to explain."""
SHORT: Mapping[str, Callable[[Sequence[BatchItem]], int]] = {
    "one for each different prompt": lambda batch: len({one.problem_id for one in batch}),
    "one for each different reply": lambda batch: len({one.text for one in batch}),
    "one for each different reply to a prompt": lambda batch: len({(one.problem_id, one.text) for one in batch}),
    "none for replies without a program": lambda batch: sum(not one.hollow for one in batch),
    "none for refused replies": lambda batch: sum(one.is_right for one in batch),
    "one too few": lambda batch: len(batch) - 1,
    "one too many": lambda batch: len(batch) + 1,
}
"""Why a list of rewards has another length than its batch, to that length."""


def measure_batches(
    said: Sequence[BatchSaid],
    acceptance: Acceptance,
    references: Mapping[str, Probe],
    by_chance: Callable[[int, int], bool],
) -> BatchMeasure | None:
    """What one grader made of its batches; None where none was sent.

    Args:
        said: of one grader, one row a batch; of several the last counts.
        acceptance: of the probes that it was sent alone.
        references: by problem.
        by_chance: whether flips alone explain so many verdicts of so many.
    """
    rows = {(row.talk, row.place): row for row in said if row.talk <= ALONE}
    talks = [[*talk] for _, talk in groupby((rows[each] for each in sorted(rows)), key=lambda row: row.talk)]
    together = [row for row in rows.values() if row.talk < ALONE]
    answered = [row for row in together if len(row.scores) == len(row.items)]
    if not together:
        return None
    short = [row for row in together if row.scores and len(row.scores) != len(row.items)]
    verdicts = _Verdicts(answered, acceptance, references)
    alone = {
        (row.items[0].problem_id, row.items[0].text)
        for row in rows.values()
        if row.talk == ALONE and len(row.scores) == 1 and verdicts.of(row) == [True]
    }
    right, wrong = list[bool](), list[bool]()
    """Whether each was accepted."""
    standing = list[tuple[PlaceInBatch, bool | None]]()
    """Each reply that is right, or that is not accepted alone, and whether it was accepted."""
    for talk in talks:
        before = list[BatchItem]()
        for row in talk:
            found = verdicts.of(row) if len(row.scores) == len(row.items) else []
            for place, (one, accepted) in enumerate(zip(row.items, found, strict=False)):
                paid_alone = one.paid_alone or (one.problem_id, one.text) in alone
                if one.is_right or not paid_alone:
                    standing.append((PlaceInBatch(place, row.items, before), accepted))
                if row.talk == ALONE or accepted is None:
                    continue
                if one.is_right:
                    right.append(accepted)
                else:
                    wrong.append(not paid_alone and (accepted or _is_above_a_right_one(row, place)))
            before = [*before, *row.items]
    refused, paid = right.count(False), wrong.count(True)
    flips = (paid > 0 and not by_chance(paid, len(wrong))) or (refused > 0 and not by_chance(refused, len(right)))
    cause = ""
    if flips:
        cause = _averaged(answered) or _turned_round(answered) or _cause(talks, verdicts, by_chance)
        cause = cause or pattern_of_flips(standing)
    flips = flips and (cause != "" or paid + refused >= LEAST_FLIPS)
    return BatchMeasure(
        batches=len(answered),
        at_once=all(row.at_once for row in together),
        sizes=tuple(sorted({len(row.items) for row in answered})),
        problems=len({one.problem_id for row in together for one in row.items}),
        right=len(right),
        refused=refused if flips else 0,
        wrong=len(wrong),
        paid=paid if flips else 0,
        by_chance=0 if flips else paid + refused,
        cause=cause,
        short=_why_short(short),
        unanswered=len(together) - len(answered) - len(short),
        why=next((row.detail for row in together if row.detail), ""),
        relative=verdicts.relative and _varies(answered),
    )


def _varies(rows: Sequence[BatchSaid]) -> bool:
    """Whether a reply got different rewards in different places, by more than a bonus for seconds differs."""
    got: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in rows:
        for one, score in zip(row.items, row.scores, strict=True):
            if score is not None:
                got[one.problem_id, one.text].append(score)
    every = [score for scores in got.values() for score in scores]
    return any(max(scores) - min(scores) > _NOISE * (max(every) - min(every)) for scores in got.values())


def _is_above_a_right_one(row: BatchSaid, place: int) -> bool:
    """Whether a reply of a batch got more than a right one to the same problem."""
    score, problem = row.scores[place], row.items[place].problem_id
    rights = [
        other
        for one, other in zip(row.items, row.scores, strict=True)
        if one.is_right and one.problem_id == problem
    ]
    return score is not None and any(other is not None and other < score for other in rights)


def accepts(acceptance: Acceptance, reference: Probe, score: float) -> bool | None:
    """Whether a reward for a reply to a problem is an acceptance."""
    return acceptance.means(reference, SettledVerdict(False, 0, score >= 1, score))


class _Verdicts:
    """Which replies of batches were accepted.

    A reward counts as in a batch of its own: accepted is what gets the reference's. Where there are more than two
    rewards, and in every batch the right replies to each problem got more than all others to it, the reward is
    relative to those: then right replies are accepted, and others refused.
    """

    def __init__(self, rows: Sequence[BatchSaid], acceptance: Acceptance, references: Mapping[str, Probe]) -> None:
        self._acceptance, self._references = acceptance, references
        scores = {score for row in rows for score in row.scores if score is not None}
        self.relative = len(scores) > 2 and all(map(self._ranks, rows))

    def of(self, row: BatchSaid) -> list[bool | None]:
        """Of each reply; None where it got no number."""
        return [
            None if score is None else one.is_right if self.relative else self._means(one, score)
            for one, score in zip(row.items, row.scores, strict=True)
        ]

    def _means(self, one: BatchItem, score: float) -> bool | None:
        return accepts(self._acceptance, self._references[one.problem_id], score)

    @staticmethod
    def _ranks(row: BatchSaid) -> bool:
        return all(
            min(of[True], default=float("inf")) > max(of[False], default=float("-inf"))
            for of in rewards_by_side(zip(row.items, row.scores, strict=True)).values()
        )


def _cause(
    talks: Sequence[Sequence[BatchSaid]], verdicts: _Verdicts, by_chance: Callable[[int, int], bool]
) -> str:
    """The rule that says what was said, or nearly all of it, which is said then; empty where none does."""
    seen: list[tuple[list[Sequence[BatchItem]], list[list[bool | None]]]] = []
    for talk in talks:
        whole = [row for row in talk if len(row.scores) == len(row.items)]
        seen.append(([row.items for row in whole], [verdicts.of(row) for row in whole]))
    wrong = Counter[str]()
    flips = sum(
        accepted not in (None, one.is_right)
        for batches, found in seen
        for one, accepted in zip(chain.from_iterable(batches), chain.from_iterable(found), strict=True)
    )
    numbered = chain(_up_to_a_place(seen), chain.from_iterable(map(of_a_number, NUMBERS)))
    for name, rule in chain(RULES.items(), numbered if flips >= LEAST_FLIPS else ()):
        wrong[name] = sum(
            accepted is not None and accepted != due
            for batches, found in seen
            for one, dues in zip(found, rule(batches), strict=True)
            for accepted, due in zip(one, dues, strict=True)
        )
        if not wrong[name]:
            return name
    name, off = min(wrong.items(), key=lambda each: each[1])
    of = sum(len(one) for _, found in seen for one in found)
    if off * _TOLD_APART <= flips:
        return name if by_chance(off, of) else f"{name}, but for {off} of {of} verdicts"
    at_once = all(row.at_once for talk in talks for row in talk)
    return _reordered(seen) or _of_other_rows(seen) if at_once else ""


def _reordered(seen: Sequence[tuple[Sequence[Sequence[BatchItem]], Sequence[Sequence[bool | None]]]]) -> str:
    """Whether each batch, or each prompt's replies in it, got as many acceptances as were due; empty where not."""
    among: dict[str, Callable[[BatchItem], str]] = {
        "returns the rewards of replies to a prompt in another order": lambda one: one.problem_id,
        "returns the rewards of a batch in another order": lambda one: "",
    }
    for said, key in among.items():
        sums = Counter[tuple[int, int, str]]()
        for talk, (batches, found) in enumerate(seen):
            for place, (batch, accepted) in enumerate(zip(batches, found, strict=True)):
                for one, verdict in zip(batch, accepted, strict=True):
                    sums[talk, place, key(one)] += (verdict is True) - one.is_right
        if not any(sums.values()):
            return said
    return ""


def _of_other_rows(seen: Sequence[tuple[Sequence[Sequence[BatchItem]], Sequence[Sequence[bool | None]]]]) -> str:
    """Whether all that was paid wrongly solves another problem; empty where not."""
    paid = [
        one
        for batches, found in seen
        for one, accepted in zip(chain.from_iterable(batches), chain.from_iterable(found), strict=True)
        if accepted and not one.is_right
    ]
    named = len(paid) >= _LEAST_FOREIGN and all(one.solves for one in paid)
    return "judges replies by the tests of other rows" if named else ""


def _averaged(rows: Sequence[BatchSaid]) -> str:
    """What a grader does that gives several replies their mean; empty of others."""
    among: dict[str, Callable[[BatchItem], str]] = {
        "gives every reply of a batch the mean of all": lambda one: "",
        "gives all replies to a prompt the mean of these in the batch": lambda one: one.problem_id,
    }
    for said, key in among.items():
        rights = [[[o.is_right for o in row.items if key(o) == key(one)] for one in row.items] for row in rows]
        means = [[sum(group) / len(group) for group in groups] for groups in rights]
        if all(
            [*map(_rounded, row.scores)] == [*map(_rounded, due)] for row, due in zip(rows, means, strict=True)
        ):
            return said
    return ""


def _turned_round(rows: Sequence[BatchSaid]) -> str:
    """What a grader of more than two rewards does that gives wrong replies to a problem more than right ones,
    wherever both stand in a batch; empty of others."""
    scores = {score for row in rows for score in row.scores if score is not None}
    pairs = [
        (other, score)
        for row in rows
        for one, score in zip(row.items, row.scores, strict=True)
        for its, other in zip(row.items, row.scores, strict=True)
        if score is not None and other is not None and its.problem_id == one.problem_id
        if its.is_right and not one.is_right
    ]
    turned = bool(pairs) and len(scores) > 2 and all(right < wrong for right, wrong in pairs)
    return "gives wrong replies more than the right ones to the same problem" if turned else ""


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, 6)


def _up_to_a_place(
    seen: Sequence[tuple[Sequence[Sequence[BatchItem]], Sequence[Sequence[bool | None]]]],
) -> Iterator[tuple[str, Rule]]:
    """Rules by which only so many replies of a batch are judged, for the places where one stops to be."""
    places = set[int]()
    for batch, found in chain.from_iterable(zip(*talk, strict=True) for talk in seen):
        as_due = [accepted in (one.is_right, None) for one, accepted in zip(batch, found, strict=True)]
        places |= {as_due.index(False)} if False in as_due else set()
    for place in sorted(places - {0}):
        for rest, does in ((False, "refuses"), (True, "accepts")):

            def rule(_: Sequence[BatchItem], v: Verdicts, place: int = place, rest: bool = rest) -> Verdicts:
                return [*v[:place], *[rest] * len(v[place:])]

            yield (
                f"judges the first {place} replies of a batch, or for so long, and {does} those behind them",
                of_each(rule),
            )


def _why_short(rows: Sequence[BatchSaid]) -> str:
    """``2 rewards for 8 replies, one for each different prompt``; empty where every list was long enough."""
    if not rows:
        return ""
    row = rows[0]
    why = [name for name, due in SHORT.items() if all(len(one.scores) == due(one.items) for one in rows)]
    said = f"{fmt.plural(len(row.scores), 'reward')} for {len(row.items)} replies"
    return f"{said}, {why[0]}" if why else said
