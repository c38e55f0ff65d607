"""What an assay concludes (``summary.json``), and conditions on it by which a check fails.

Every share is a fraction in [0, 1]. An interval is at the confidence of the whole assay and clustered by problem.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Self

import msgspec

from truegrade.apps.assay.records import DOES_NOT_END, AssayFinding, ProbeClass
from truegrade.records import Estimate
from truegrade.statistics.conditions import Condition, read_condition
from truegrade.statistics.error_rates import RateSpan


class AcceptedShare(msgspec.Struct, frozen=True, kw_only=True):
    """How many programs of one class a grader accepts."""

    kind: ProbeClass
    accepted: int
    """Of those whose label is proven."""
    probes: int
    """Whose label is proven and that have a verdict."""
    value: float | None
    """``accepted / probes``: the proven share; None without probes."""
    upper: float | None
    """Share if every accepted undecided probe were wrong: ``(accepted + undecided_accepted) / (probes +
    undecided_accepted)``; equals ``value`` where nothing is undecided. The truth lies in [value, upper]."""
    low: float | None
    high: float | None
    """Interval; with undecided probes Imbens and Manski's, for the truth and not for the bounds."""
    mean_of_problems: float | None
    """Every problem weighted alike."""
    undecided: int = 0
    undecided_accepted: int = 0
    problems: int = 0
    """With at least one probe of the class."""
    problems_hit: int = 0
    """With at least one accepted (of class ``right``: refused) probe."""
    no_verdict: int = 0
    mean_score: float | None = None
    """Mean of the scores given, where the grader gives numbers."""
    method: str = ""
    """Of the interval."""


class MeasuredValue(msgspec.Struct, frozen=True, kw_only=True):
    """A value with its interval."""

    value: float | None
    low: float | None
    high: float | None
    method: str = ""

    @classmethod
    def of(cls, span: RateSpan | Estimate | None) -> Self:
        """That of an estimate; nothing where there is none."""
        if span is None:
            return cls(value=None, low=None, high=None)
        return cls(value=span.value, low=span.low, high=span.high, method=span.method)


class ProblemMeasure(msgspec.Struct, frozen=True, kw_only=True):
    """One problem under one grader."""

    problem_id: str
    right: int
    right_accepted: int
    wrong: int
    """Natural wrong programs: mutants, labelled programs and replies whose label is proven."""
    wrong_accepted: int
    undecided: int
    undecided_accepted: int
    fpr_low: float | None
    fpr_high: float | None
    """Clopper and Pearson."""
    fpr_shrunken: float | None
    """Drawn towards the other problems (beta-binomial by moments): for ranking."""
    doubtful: bool = False
    """FPR above 0.2, by Holm over the problems."""
    j: float | None = None


class ChannelMeasure(msgspec.Struct, frozen=True, kw_only=True):
    """One way of cheating, over all problems, under one grader."""

    channel: str
    danger: str
    accepted: int
    probes: int
    inert_accepted: int
    inert: int
    stays: int = 0
    """Cheats behind which the verdict on an honest or a wrong control changes, so often that it is no chance."""
    open: bool
    """A cheat was accepted whose inert twin was refused, both so often that flipped verdicts do not explain it."""
    not_sent: int = 0
    """Left out, since the grader may not be sent programs of this danger."""


class FlipMeasure(msgspec.Struct, frozen=True, kw_only=True):
    """How often the verdict on the same honest program differs from the one that it usually gets."""

    flips: int
    sends: int
    """Of programs that were sent more than once; controls behind a cheat that stays do not count."""
    value: float | None
    """``flips / sends``."""
    low: float | None
    high: float | None
    """Clopper and Pearson."""
    accepted_sends: int = 0
    accepted_flips: int = 0
    """The same of programs that are usually accepted."""
    refused_sends: int = 0
    refused_flips: int = 0
    """And of those that are usually refused."""


class BatchMeasure(msgspec.Struct, frozen=True, kw_only=True):
    """Replies that were sent in batches (`truegrade.apps.assay.batches`)."""

    batches: int
    """That got a reward for each reply."""
    at_once: bool = True
    """Whether the grader is called with batches; else their replies were sent one after the other."""
    sizes: tuple[int, ...]
    """Of all that were sent, rising."""
    problems: int
    right: int
    """Right replies with a verdict."""
    refused: int
    """Of these."""
    wrong: int
    """Replies with a verdict that solve nothing of their problem."""
    paid: int
    """Of these, the ones that were accepted, or got more than a right reply to their problem in the batch."""
    by_chance: int = 0
    """Verdicts that changed, no more than the grader's flips explain."""
    cause: str = ""
    """What the grader does, if that gives all its verdicts; empty where none flipped, or it is not known."""
    short: str = ""
    """How a list of rewards had another length than its batch; empty where none had."""
    unanswered: int = 0
    """Batches that got no list."""
    why: str = ""
    """Why one got none."""
    relative: bool = False
    """Whether rewards hang on the other replies to a problem, and rank the right ones above the others."""

    @property
    def flipped(self) -> bool:
        """Whether a verdict flipped beside other replies."""
        return self.paid + self.refused > 0


class TurnsMeasure(msgspec.Struct, frozen=True, kw_only=True):
    """Replies of several messages (`truegrade.apps.assay.turns`)."""

    cause: str
    """Which message the grader judges, if that gives all its verdicts; empty where it is not known."""
    as_due: bool
    """Whether it is the model's last one that holds a program."""
    steady: bool = True
    """Whether one order of messages got one verdict, whatever problem it was for."""
    right: int
    """Replies of several messages with a verdict whose answer is right."""
    wrong: int = 0
    """Others."""
    otherwise: int = 0
    """Of both, those with another verdict than is due."""
    paid: int = 0
    """Wrong ones that are accepted."""
    refused: int
    """Right ones that are refused."""
    of_others: int
    """Replies with a verdict in which nobody but a tool or a user wrote a right program."""
    of_others_paid: int
    """Of these, accepted."""
    unanswered: int
    """Replies without a verdict."""
    why: str
    """Why one got none."""


class UnearnedPay(msgspec.Struct, frozen=True, kw_only=True):
    """Programs that solve nothing, and which of them the grader pays."""

    tried: int
    """Stubs, cheats and their twins with a verdict, without `weak`."""
    kinds: int
    """Different stubs, cheats and ways to make tests impossible among all that got a verdict."""
    paid: int
    """Of `tried`, accepted where the problem's own tests under ``strict`` refuse the same program."""
    by_kind: dict[str, tuple[int, int]]
    """``stub``, ``cheat`` and ``twin`` to (paid, tried)."""
    impossible_tried: int
    impossible_paid: int
    """Accepted on tests that nothing honest passes."""
    weak: int = 0
    """Accepted, and by the problem's own tests under ``strict`` as well: the tests are weak."""
    weak_problems: int = 0
    once: int = 0
    """Accepted at first, and not when they were sent again, by a grader whose verdicts flip."""
    shortest: str = ""
    """Id of the shortest program that was paid."""
    loose: int = 0
    """Mutants, labelled programs and replies accepted where the problem's own tests under ``strict`` refuse them;
    counted where nothing was paid without solving."""
    natural: int = 0
    """Mutants, labelled programs and replies that are proven wrong."""
    problems: int = 0
    """Problems of which a cheat got a verdict, and whose reference is accepted."""

    @property
    def all_paid(self) -> int:
        """Programs that solve nothing and were paid, those on impossible tests among them."""
        return self.paid + self.impossible_paid

    @property
    def all_tried(self) -> int:
        """Of so many."""
        return self.tried + self.impossible_tried


class ShortestPaid(msgspec.Struct, frozen=True, kw_only=True):
    """The shortest program that one finding rests on, of those that the grader paid wrongly."""

    finding: str
    """``channel report``, or what was found in words."""
    how: str
    """How a channel works; empty of other findings."""
    closes: str
    """What a grader does that does not pay for it."""
    problem_id: str
    probe: str
    """Id; of programs that are equally short the least one."""
    origin: str
    change: str
    """What the program does, or what was changed in it or in its tests; empty where that is not known."""
    code: str
    """The whole program as it was sent; of a cheat about replies the text of the reply."""
    pay: float | None
    """The number that the grader gave; None where it gives none and accepted it."""


class GraderMeasure(msgspec.Struct, frozen=True, kw_only=True):
    """One grader on one suite of problems."""

    grader: str
    benchmark: str
    problems: int
    """Of which a program got a verdict."""
    probes: int
    """With a verdict."""
    shares: tuple[AcceptedShare, ...]
    """By class, in the order of the classes."""
    fpr: MeasuredValue
    """Over natural wrong programs: mutants, labelled programs and replies."""
    j: MeasuredValue
    """TPR - FPR over natural wrong programs, at the proven FPR; the interval covers the undecided too."""
    j_bootstrap: MeasuredValue
    """The same by the bootstrap over problems."""
    j_adversarial: float | None
    """TPR - the share of its problems on which the best cheat is paid without solving: what is left against a
    policy that selects for reward."""
    best_cheat: str
    """That cheat; empty where none is paid."""
    forgeable: bool | None
    """Whether a program was paid without solving; None where that is not measured (`unknown`)."""
    unearned: UnearnedPay
    open_channels: tuple[str, ...]
    differences: dict[str, tuple[int, int]]
    """How wrong programs differ from right ones, to (accepted, with a verdict)."""
    overlooks: tuple[str, ...] = ()
    """Sentences about the differences of which far more programs are accepted than of others."""
    causes: tuple[str, ...] = ()
    """Sentences about what decides the grader's verdicts in place of the program."""
    shortest: tuple[ShortestPaid, ...] = ()
    """Of each open channel, and of each other way in which wrong programs are paid."""
    ppv: dict[str, MeasuredValue]
    """Base rate, as text (``"0.5"``), to the probability that an accepted program is right."""
    per_problem: tuple[ProblemMeasure, ...]
    channels: tuple[ChannelMeasure, ...]
    operators: dict[str, tuple[int, int]]
    """Mutation operator, or kind of a changed output, to (accepted, proven wrong)."""
    forms: dict[str, tuple[int, int]] = {}
    """Form of a reply to the right programs in it that are (accepted, sent); empty for a grader of programs."""
    pay: dict[str, float] = {}
    """Share of a problem's own tests passed (none, half, all but one, all) to the mean score, if there is any."""
    flaky: tuple[str, ...] = ()
    """Probes whose verdict differed between repetitions."""
    flips: FlipMeasure
    references_refused: int = 0
    """Problems whose reference the grader refuses; their wrong programs are in no share."""
    unanswered: dict[str, int] = {}
    """Code of a finding to the programs of every class that got no verdict for that reason."""
    left_out: int = 0
    """Problems whose tests have not the form that the grader takes: nothing of them was sent."""
    with_bonus: bool = False
    """Whether right replies get different rewards above 1, so that 1 or the least of them is a pass."""
    nearly: int = 0
    """Right programs that are refused, and get more than half of what the reference gets."""
    pays_in_part: bool = False
    """Whether a program got a reward between that of one that passes no test and that of a right one."""
    one_at_a_time: bool = False
    """Whether the grader is one of replies, and each was sent by itself alone."""
    batches: BatchMeasure | None = None
    """Of a foreign grader."""
    turns: TurnsMeasure | None = None
    """Of one that is handed replies as messages."""
    wrong_above_right: str = ""
    """What is said of wrong programs that get more than right ones to the same problem."""

    @property
    def all_paid(self) -> int:
        """Programs that solve nothing and were paid, alone or in a batch."""
        return self.unearned.all_paid + (self.batches.paid if self.batches else 0)

    @property
    def unknown(self) -> str:
        """Why it is not known whether cheating pays, if nothing was paid; empty where cheats got verdicts."""
        asked = any(share.no_verdict for share in self.shares)
        if asked and not any(share.probes or share.undecided for share in self.shares):
            return "it gave no verdict"
        if self.references_refused == self.problems:
            return "it pays no reference either"
        if not any(channel.probes for channel in self.channels):
            asked = any(share.kind == "cheat" and share.no_verdict for share in self.shares)
            return "no cheat got a verdict" if asked else "no cheat was sent"
        return ""

    @property
    def endless(self) -> int:
        """Programs that do not end, and got a verdict."""
        return self.differences.get(DOES_NOT_END, (0, 0))[1]

    @property
    def right(self) -> AcceptedShare | None:
        """The share of the right programs; None where none was sent."""
        return next((share for share in self.shares if share.kind == "right"), None)


class AssaySummary(msgspec.Struct, frozen=True, kw_only=True):
    """``summary.json``: equal journals give equal bytes, so nothing in it depends on a clock."""

    confidence: float
    measures: tuple[GraderMeasure, ...]
    """A grader and a benchmark each, in the order in which they were named."""
    battery: dict[str, int]
    """Class of probe to how many there are."""
    witnesses: dict[str, int]
    """Source of the witness to the number of labels that rest on it."""
    equivalent: int
    """Mutants proven equal to the reference, and left out."""
    findings: dict[str, int]
    """Code to number."""
    assumptions: tuple[str, ...]
    """What the numbers rest on, in sentences."""
    schema: int = 2


class AssayResult(msgspec.Struct, frozen=True, kw_only=True):
    """One benchmark, under every grader that was asked for; the short names below are those of the first."""

    folder: Path
    benchmark: str
    summary: AssaySummary
    findings: tuple[AssayFinding, ...]
    unusable: Mapping[str, str] = {}
    """Graders that could not be measured, with the reason."""

    @property
    def measures(self) -> tuple[GraderMeasure, ...]:
        """One of each grader."""
        return self.summary.measures

    @property
    def tpr(self) -> AcceptedShare:
        """Of right programs, the share accepted."""
        return self._shares["right"]

    @property
    def fpr(self) -> Mapping[str, AcceptedShare]:
        """Of wrong programs, the share accepted, by class: ``fpr["mutant"]``."""
        return {kind: share for kind, share in self._shares.items() if kind not in ("right", "control")}

    @property
    def j(self) -> MeasuredValue:
        """TPR - FPR over natural wrong programs."""
        return self.measures[0].j

    @property
    def channels(self) -> tuple[ChannelMeasure, ...]:
        """Ways of cheating, and whether they are open."""
        return self.measures[0].channels

    @property
    def _shares(self) -> dict[str, AcceptedShare]:
        return {share.kind: share for share in self.measures[0].shares}


# ----------------------------------------------------------------------------------------------------------------
# Conditions on a measured grader, such as ``J<0.9 or forgeable``: when a check in continuous integration fails.


VALUES: Mapping[str, Callable[[GraderMeasure], float | None]] = MappingProxyType(
    {
        "J": lambda measure: measure.j.value,
        "J_low": lambda measure: measure.j.low,
        "J_adversarial": lambda measure: measure.j_adversarial,
        "TPR": lambda measure: getattr(measure.right, "value", None),
        "TPR_low": lambda measure: getattr(measure.right, "low", None),
        "FPR": lambda measure: measure.fpr.value,
        "FPR_high": lambda measure: measure.fpr.high,
        "flips": lambda measure: measure.flips.value,
    }
)
"""Shares in [0, 1]: they are compared with a number. ``_low`` and ``_high`` are the ends of their intervals."""

COUNTS: Mapping[str, Callable[[GraderMeasure], float | None]] = MappingProxyType(
    {
        "forgeable": lambda measure: None if measure.forgeable is None else measure.all_paid,
        "open_channels": lambda measure: len(measure.open_channels) if _cheats(measure) else None,
        "no_verdict": lambda measure: sum(measure.unanswered.values()),
    }
)
"""Whole numbers, which also stand alone and then mean *at least one*: programs paid without solving, open
channels, programs without a verdict."""


def _cheats(measure: GraderMeasure) -> int:
    return sum(channel.probes for channel in measure.channels)


def _of_class(*kinds: str) -> Callable[[GraderMeasure], int]:
    return lambda measure: sum(share.probes for share in measure.shares if share.kind in kinds)


_RESTS_ON: Mapping[str, Callable[[GraderMeasure], object]] = MappingProxyType(
    {
        **dict.fromkeys(("channel_open", "cheat_stays", "stub_like_cheat"), _cheats),
        **dict.fromkeys(("accepts_anything", "judged_by_another"), _of_class("stub")),
        **dict.fromkeys(("reference_refused", "refuses_kind", "right_refused"), _of_class("right")),
        **dict.fromkeys(
            ("decided_by_text", "overlooks_difference", "pays_for_style", "wrong_above_right"),
            lambda measure: measure.differences,
        ),
        "depends_on_batch": lambda measure: measure.batches,
        "reads_other_messages": lambda measure: measure.turns,
        "flaky_verdict": lambda measure: measure.flips.sends,
        "looser_than_tests": lambda measure: measure.unearned.natural,
        "must_fail_accepted": _of_class("must-fail"),
        "paid_without_solving": lambda measure: measure.forgeable is not None,
        "vacuous_comparison": _of_class("mutant", "labelled", "reply", "stub"),
        "weak_tests": lambda measure: measure.unearned.all_tried + measure.unearned.weak,
    }
)
"""Code of a finding about a grader to what it is seen by: where there is none of that, nothing was measured."""


SILENCE = frozenset({"grader_died", "grader_hung", "grader_raised", "grader_score", "grader_text", "tests_form"})
"""Codes of findings that say why programs got no verdict."""


def read_grader_condition(text: str, codes: Collection[str]) -> Condition:
    """Read a condition, whose names are those of `VALUES` and `COUNTS`, and codes of findings, which count them.

    Raises:
        UserError: it is none; the message names the place.
    """
    return read_condition(text, VALUES, [*COUNTS, *sorted(codes)], example="J<0.9 or forgeable")


def silenced(condition: Condition, measure: GraderMeasure) -> int:
    """Programs without a verdict where a condition does not say how many there may be: what it asks is unknown."""
    return 0 if condition.bounds("no_verdict") else sum(share.no_verdict for share in measure.shares)


def holds_for(condition: Condition, measure: GraderMeasure, findings: Mapping[str, int]) -> bool:
    """Whether a condition is true of a grader, or hangs on what was not measured.

    A code that ``findings`` lacks counts 0, if programs by which it would be seen got a verdict.
    """
    unknown = silenced(condition, measure) > 0

    def worth(name: str) -> float | None:
        if unknown and name not in SILENCE:
            return None
        if value := VALUES.get(name) or COUNTS.get(name):
            return value(measure)
        seen = name in findings or name not in _RESTS_ON or _RESTS_ON[name](measure)
        return findings.get(name, 0) if seen else None

    return condition.holds(worth)
