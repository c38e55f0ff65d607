"""What a grader pays for: by how an output differs, by form of the reply, by share of the tests, and unearned.

A program that solves nothing is *paid without solving* where the tests of its problem, run by ``strict``, refuse
it, or where the tests were impossible. Where these tests accept it as well, they are weak, and no grader that runs
them does better.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import fsum
from operator import itemgetter
from types import MappingProxyType
from typing import Any

from truegrade.apps.assay.acceptance import (
    NATURAL,
    REFERENCE,
    Acceptance,
    ChannelRecord,
    Steadiness,
    solves_nothing,
)
from truegrade.apps.assay.causes import MANY, Alike, Cause
from truegrade.apps.assay.cheats import CHANNELS, CLOSES
from truegrade.apps.assay.measures import BatchMeasure, ShortestPaid, UnearnedPay
from truegrade.apps.assay.probes.mutants import BEHIND, ENDLESS, EVERY_TEST, HALF_OF_TESTS, ONE_TEST
from truegrade.apps.assay.probes.right import FORMS, NO_FENCE
from truegrade.apps.assay.records import BY_CONSTRUCTION, DOES_NOT_END, Probe
from truegrade.apps.assay.skipped_tests import skipped_in_common
from truegrade.files import syntax
from truegrade.report import format as fmt
from truegrade.statistics.intervals import binomial_tail

_BY_CHANCE = 0.01
"""Chance below which a grader that errs on all wrong programs alike accepts so many of one kind."""
LEAST = 2
"""Accepted programs from which on a kind is told; of a kind that is made to be told apart all are enough."""
NEAR, FAR = 1e-3, 10
_LEAST_MUTANTS = 10
_AS_OFTEN = 0.95
"""Share of mutants accepted over that of right programs, from which on a grader tells neither from the other."""
MOST_TOLD = 6
"""Kinds that have a sentence each; of a grader that hardly compares there are more, told in one."""
ANY_VALUE = "returns another value that is as true or false"
_ON_TEST, _ON_TESTS = "is wrong on test ", "is wrong only on one of the tests "
ONE_FAILS = "is wrong on one test, whichever of "
_MADE: Mapping[str, str] = MappingProxyType(
    {
        ENDLESS: f"{DOES_NOT_END} on the last test",
        HALF_OF_TESTS: "is wrong on half of the tests",
        "negated": "returns numbers with the other sign",
        "off-by-one": "returns numbers that are off by one",
        "rounded": "returns numbers rounded to whole ones",
        "digit-more": "returns numbers with a digit more",
        "surrounded": "returns the right items, with others before and behind",
        "ahead": "returns an end, or more before it",
        "same-length": "returns as many items as is right, and others",
        "first-only": "is right in the first item or line only",
        "last-only": "is right in the last item or line only",
        "letter-case": "returns letters in the other case",
        "blanks-around": "returns texts with blanks around them",
        "blanks-within": "returns texts with blanks within them",
        **{f"behind-{chars}": f"is right in the first {chars} characters only" for chars in BEHIND},
        "in-a-text": "returns the right value within a text",
        "true-alike": ANY_VALUE,
        "exits-with-1": "ends its process with exit status 1",
        "raises-at-the-end": "gives the right output, and raises",
        "on-stderr": "writes its output to stderr",
        "as-text": "returns the right value as text",
        "list-for-tuple": "returns a list for a tuple, or a tuple for a list",
        "float-for-int": "returns a number of another type",
        "near-1e-3": "returns nearly the right number",
        "near-1e-6": "returns nearly the right number",
    }
)
"""Kind of a changed output to how it differs, where that says more than the values of a witness."""
MADE_APART = frozenset(
    {*_MADE.values(), "raises MemoryError", "raises RecursionError", "ends its process by a signal"}
)
"""Differences that no witness shows, so that no mutant is counted among them."""


def difference(probe: Probe) -> str:
    """What a wrong program does in place of the right value, by how it was made or by its witness.

    Empty where that cannot be said.
    """
    if probe.witness is None or probe.label != "wrong" or probe.tests:
        return ""
    got, made = probe.witness.got, ""
    if probe.kind == "stub" and probe.witness.source == BY_CONSTRUCTION:
        return "" if probe.order else probe.witness.got
    if probe.kind == "output":
        only = f"is {probe.change.partition(', ')[2]} only"
        made = only if probe.origin == ONE_TEST else _MADE.get(probe.origin, "")
    if made or got.startswith(("raises", DOES_NOT_END)):
        return made or ("raises" if got.startswith("raises") else DOES_NOT_END)
    if probe.kind == "cheat":
        return "returns None" if probe.inert and got.endswith("returns None") else ""
    try:
        return _of_values(syntax.literal_eval(got), syntax.literal_eval(probe.witness.expected))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return ""


def _of_values(got: Any, expected: Any) -> str:
    if got is None:
        return "returns None"
    if all(isinstance(each, int | float) and not isinstance(each, bool) for each in (got, expected)):
        return _of_numbers(got, expected)
    if type(got) is not type(expected):
        return "returns another type"
    if isinstance(got, list | tuple | str):
        if sorted(map(repr, got)) == sorted(map(repr, expected)):
            return f"returns {'characters' if isinstance(got, str) else 'items'} in another order"
        if len(got) != len(expected) and got[: len(expected)] == expected[: len(got)]:
            return "returns a beginning, or more"
    return "returns another value"


def _of_numbers(got: float, expected: float) -> str:
    if abs(got - expected) <= NEAR * abs(expected):
        return "returns nearly the right number"
    of_its_size = got * expected > 0 and abs(expected) <= FAR * abs(got) and abs(got) <= FAR * abs(expected)
    return (
        f"returns a number at most {FAR} times too large or too small" if of_its_size else "returns another value"
    )


def by_difference(probes: Iterable[Probe], acceptance: Acceptance) -> dict[str, Alike]:
    """Kind of difference to the programs of it, of all wrong ones that are no active cheats."""
    found: dict[str, list[Probe]] = defaultdict(list)
    for probe in probes:
        kind = difference(probe)
        if kind and acceptance.accepted(probe) is not None and probe.problem_id not in acceptance.refused:
            found[kind].append(probe)
    on_one = {kind: found[kind] for kind in found if kind.startswith(_ON_TEST)}
    sides: dict[bool, list[tuple[Probe, int]]] = {True: [], False: []}
    for kind, of in on_one.items():
        for probe in of:
            sides[acceptance.stands(probe)].append((probe, int(kind.split()[4])))
    if what := skipped_in_common(sides[True], sides[False]):
        found = {kind: found[kind] for kind in found.keys() - on_one.keys()} | {
            f"{_ON_TESTS}that {what}": [probe for probe, _ in sides[True]],
            f"{_ON_TESTS}of another kind": [probe for probe, _ in sides[False]],
        }
    return {
        kind: Alike([*filter(acceptance.stands, of)], len(of), Counter(probe.problem_id for probe in of))
        for kind, of in sorted(found.items())
    }


def tells_nothing(probes: Sequence[Probe], acceptance: Acceptance) -> tuple[str, str, list[Probe]] | None:
    """Whether mutants are accepted as often as right programs, and some program is not; as `overlooked` tells."""
    sides: dict[str, list[Probe]] = {"right": [], "mutant": []}
    for probe in probes:
        fits = probe.kind in sides and probe.label == ("right" if probe.kind == "right" else "wrong")
        if fits and acceptance.accepted(probe) is not None and probe.problem_id not in acceptance.refused:
            sides[probe.kind].append(probe)
    right, mutants = sides["right"], sides["mutant"]
    paid = [probe for probe in mutants if acceptance.accepted(probe)]
    accepted = sum(acceptance.accepted(probe) is True for probe in right)
    as_often = len(paid) * len(right) >= accepted * len(mutants) * _AS_OFTEN
    anything = all(acceptance.accepted(probe) is not False for probe in probes)  # which is told by itself
    if len(mutants) < _LEAST_MUTANTS or len(paid) < MANY * len(mutants) or anything or not as_often:
        return None
    said = f"accepts {len(paid)} of {len(mutants)} mutants and {accepted} of {len(right)} right programs"
    return ANY_VALUE, f"{said}: what a program returns hardly decides; it may run none, or compare nothing", paid


def overlooked(
    kinds: Mapping[str, Alike], by_chance: Callable[[int, int, int], bool]
) -> Iterable[tuple[str, str, list[Probe]]]:
    """The kinds of which a grader accepts far more than of the others, the largest first: each with a sentence
    about it and the accepted programs.

    ``by_chance`` says whether flips explain so many accepted, of so many, for one of so many kinds.
    """
    halves = kinds.get(_MADE[HALF_OF_TESTS], Alike([], 0))
    some_suffice = halves.number >= LEAST and not halves.accepted
    kinds, told = _tests_together(kinds), dict[str, tuple[str, str, list[Probe]]]()
    for kind, (programs, number, problems) in sorted(kinds.items(), key=lambda each: -len(each[1].accepted)):
        others = [of for name, of in kinds.items() if name != kind]
        accepted, rest, among = (
            len(programs),
            sum(len(of.accepted) for of in others),
            sum(of.number for of in others),
        )
        # Of a problem whose tests are not run nearly everything is accepted, of whatever kind.
        there = [probe for of in others for probe in of.accepted if probe.problem_id in problems]
        beside = sum(count for of in others for name, count in of.problems.items() if name in problems)
        enough = accepted >= LEAST or (kind in MADE_APART and accepted == number > 0)
        many = enough and accepted / number >= MANY and 2 * rest * number < accepted * among
        many = many and (2 * len(there) * number < accepted * beside or not beside)
        many = many and (len(problems) != 1 or accepted == number)
        many = many and not (0 < rest < among and binomial_tail(accepted, number, rest / among) > _BY_CHANCE)
        # `raises` tells of `raises MemoryError` too
        if many and kind.partition(" ")[0] not in told and not by_chance(accepted, number, len(kinds)):
            said = f"every program that {kind} ({accepted} of {number})"
            said = said if accepted == number else f"{accepted} of {number} programs that differ so: {kind}"
            more = ""
            if some_suffice and kind.startswith(ONE_FAILS) and kind.count(",") >= 2:
                more = f", and none of {halves.number} wrong on half of them: most of the tests suffice"
            told[kind] = kind, f"accepts {said}, and {rest} of {among} other wrong programs{more}", programs
    if any(kind.startswith((_ON_TEST, _ON_TESTS, ONE_FAILS)) for kind in told):
        # Then a program was accepted for the tests on which it is right, however it differs on another.
        told = {
            kind: one
            for kind, one in told.items()
            if kind.startswith((_ON_TEST, _ON_TESTS, ONE_FAILS)) or kind in MADE_APART
        }
    first = sorted(told.values(), key=lambda each: each[0] != ANY_VALUE)
    yield from first[:MOST_TOLD]
    if left := first[MOST_TOLD:]:
        programs = [program for _, _, of in left for program in of]
        names = "; ".join(kind for kind, _, _ in left)
        yield ANY_VALUE, f"accepts most programs of {fmt.plural(len(left), 'other kind')}: {names}", programs


def _tests_together(kinds: Mapping[str, Alike]) -> dict[str, Alike]:
    """Several tests on which a program may be wrong as one kind."""
    unseen = [kind for kind, (p, n, _) in kinds.items() if kind.startswith(_ON_TEST) and len(p) >= MANY * n]
    if len(unseen) < 2:
        return dict(kinds)
    numbers = ", ".join(sorted((kind.split()[4] for kind in unseen), key=int))
    whichever = len(unseen) == sum(kind.startswith(_ON_TEST) for kind in kinds)
    programs = [program for kind in unseen for program in kinds[kind].accepted]
    together = Counter[str]()
    for kind in unseen:
        together.update(kinds[kind].problems)
    whole = Alike(programs, sum(kinds[kind].number for kind in unseen), together)
    rest = {kind: of for kind, of in kinds.items() if kind not in unseen}
    return {**rest, f"{ONE_FAILS}{numbers}" if whichever else f"{_ON_TEST}{numbers} only": whole}


def batches_in_words(of: BatchMeasure | None) -> str:
    """What flips verdicts in batches, or that rewards are missing; empty where nothing does."""
    if of is None or not (of.flipped or of.short):
        return ""
    said = [f"gives {of.short}"] if of.short else []
    if of.flipped:
        paid = f"{of.paid} of {of.wrong} wrong replies are accepted or get more than a right one"
        refused = f"{of.refused} of {of.right} right ones are refused"
        found = " and ".join(each for each, number in ((paid, of.paid), (refused, of.refused)) if number)
        unknown = "says otherwise of replies than alone, by chance or for a reason that is not known"
        said.append(f"{of.cause or unknown}: {found}")
    return f"{'in batches' if of.at_once else 'in another order'} it {'; it '.join(said)}"


_LEAST_OF_FORM = 0.5
"""Reward above which a right reply in another form is not refused, if no wrong one to its problem gets as much."""
SHARES = {EVERY_TEST: "none", HALF_OF_TESTS: "half", ONE_TEST: "all but one", REFERENCE: "all"}
"""Origin of a program to the share of its problem's own tests that it passes."""


def accepted_by_form(probes: Iterable[Probe], acceptance: Acceptance) -> dict[str, tuple[int, int]]:
    """Form of a reply to how many right programs in it are accepted, and of how many.

    Empty for a grader that accepts most of no form with a fence: it takes programs, not replies.
    """
    probes, found, wrong = list(probes), defaultdict[str, list[bool]](list), defaultdict[str, float](float)
    for probe in probes:
        if probe.label == "wrong" and (score := acceptance.score(probe)) is not None:
            wrong[probe.problem_id] = max(wrong[probe.problem_id], score)
    for probe in probes:
        accepted = acceptance.accepted(probe)
        if accepted is False and (score := acceptance.score(probe)) is not None:
            accepted = score > max(wrong[probe.problem_id], _LEAST_OF_FORM)  # a little less for the form alone
        if probe.kind == "form" and accepted is not None and probe.problem_id not in acceptance.refused:
            found[probe.origin].append(accepted)
    if not any(2 * sum(answers) > len(answers) for name, answers in found.items() if name != NO_FENCE):
        return {}
    return {name: (sum(found[name]), len(found[name])) for name in FORMS if name in found}


def pay_by_share(probes: Iterable[Probe], acceptance: Acceptance) -> dict[str, float]:
    """Share of the tests passed to the mean score, over problems whose reference is accepted and that have a
    program of each share; empty where the grader gives no numbers."""
    found = _scores_by_share(probes, acceptance)
    whole = [
        {share: fsum(paid) / len(paid) for share, paid in by_share.items()}
        for problem, by_share in found.items()
        if problem not in acceptance.refused and len(by_share) == len(SHARES)
    ]
    return {share: fsum(one[share] for one in whole) / len(whole) for share in SHARES.values()} if whole else {}


def _scores_by_share(probes: Iterable[Probe], acceptance: Acceptance) -> dict[str, dict[str, list[float]]]:
    """By problem, share of the tests passed to the scores of its programs."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for probe in probes:
        score = acceptance.score(probe)
        if probe.kind in ("right", "output") and probe.origin in SHARES and score is not None:
            found[probe.problem_id][SHARES[probe.origin]].append(score)
    return found


def pays_in_part(probes: Iterable[Probe], acceptance: Acceptance) -> bool:
    """Whether a program that passes some tests of its problem gets a reward between those of none and of all."""
    whole = [of for of in _scores_by_share(probes, acceptance).values() if {"none", "all"} <= of.keys()]
    return any(
        max(of["none"]) < score < min(of["all"]) for of in whole for scores in of.values() for score in scores
    )


def nearly_accepted(probes: Iterable[Probe], acceptance: Acceptance) -> int:
    """Right programs that are refused, and get more than half of what their reference gets."""
    rights = [probe for probe in probes if probe.kind == probe.label == "right"]
    most = {probe.problem_id: acceptance.score(probe) or 0.0 for probe in rights if probe.origin == REFERENCE}
    return sum(
        acceptance.accepted(probe) is False
        and 2 * (acceptance.score(probe) or 0.0) > most.get(probe.problem_id, 0) > 0
        for probe in rights
    )


class UnearnedPrograms:
    """What one grader paid on one benchmark without having been given a solution.

    ``own`` says of programs that it accepted, by id, whether the problem's own tests accept them under ``strict``.
    """

    def __init__(self, probes: Sequence[Probe], acceptance: Acceptance, own: Mapping[str, bool]) -> None:
        self._probes, self._acceptance, self._own = probes, acceptance, own
        self._tried = [each for each in probes if solves_nothing(each) and acceptance.accepted(each) is not None]

    def paid(self, probe: Probe) -> bool:
        """Whether a program that solves nothing was paid without solving, and again when it was sent again."""
        return self._acceptance.stands(probe) and (probe.kind == "must-fail" or self._own.get(probe.id) is False)

    def all_paid(self) -> list[Probe]:
        """Every program that was paid without solving."""
        return [probe for probe in self._tried if self.paid(probe)]

    def loose(self, steadiness: Steadiness) -> list[Probe]:
        """Other wrong programs accepted that the problem's own tests refuse; none where flips explain so many.

        They are asked for only where nothing was paid without solving; what other graders had judged is no answer.
        """
        if self.all_paid():
            return []
        natural = [probe for probe in self._natural() if self._acceptance.accepted(probe) is not None]
        found = [
            probe for probe in natural if self._acceptance.accepted(probe) and self._own.get(probe.id) is False
        ]
        return [] if steadiness.explains(len(found), len(natural)) else found

    def unjudged(self) -> list[Probe]:
        """Accepted programs that the problem's own tests have to judge: those that solve nothing; if none of these
        was paid without solving, the other wrong programs."""
        left = [probe for probe in self._tried if probe.kind != "must-fail"]
        if not self.all_paid():
            left += self._natural()
        return [probe for probe in left if self._acceptance.stands(probe) and probe.id not in self._own]

    def _natural(self) -> list[Probe]:
        return [probe for probe in self._probes if probe.kind in NATURAL and probe.label == "wrong"]

    def measure(self, steadiness: Steadiness) -> UnearnedPay:
        """The figures of a summary; wrong programs that flips explain are not called loose."""
        stands = self._acceptance.stands
        weak = [probe for probe in self._tried if stands(probe) and self._own.get(probe.id) is True]
        spared = {probe.id for probe in weak}
        by_kind: dict[str, list[bool]] = defaultdict(list)
        for probe in self._tried:
            if probe.id not in spared:
                by_kind["twin" if probe.inert else probe.kind].append(self.paid(probe))
        impossible = by_kind.pop("must-fail", [])
        paid = self.all_paid()
        once = sum(not stands(probe) for probe in self._tried if self._acceptance.accepted(probe))
        natural = [probe for probe in self._natural() if self._acceptance.accepted(probe) is not None]
        return UnearnedPay(
            tried=sum(map(len, by_kind.values())),
            kinds=len({(probe.kind, probe.origin) for probe in self._tried}),
            paid=sum(map(sum, by_kind.values())),
            by_kind={kind: (sum(found), len(found)) for kind, found in sorted(by_kind.items())},
            impossible_tried=len(impossible),
            impossible_paid=sum(impossible),
            weak=len(weak),
            weak_problems=len({probe.problem_id for probe in weak}),
            once=once,
            shortest=min(paid, key=lambda probe: (len(probe.code), probe.id)).id if paid else "",
            loose=len(self.loose(steadiness)),
            natural=len(natural),
            problems=len(
                {probe.problem_id for probe in self._tried if probe.kind == "cheat"} - {*self._acceptance.refused}
            ),
        )

    def best_cheat(self) -> tuple[str, Fraction] | None:
        """The cheat that is paid most often, with the share of its problems; None where none got a verdict."""
        shares: dict[str, list[bool]] = defaultdict(list)
        for probe in self._tried:
            if probe.kind == "cheat" and not probe.inert:
                shares[probe.origin].append(self.paid(probe))
        found = ((name, Fraction(sum(paid), len(paid))) for name, paid in shares.items())
        return max(found, key=itemgetter(1), default=None)


def paid_in_words(unearned: UnearnedPay) -> str:
    """How many programs that solve nothing were paid: ``57 of 90 ... (stubs 0 of 10, cheats 57 of 80)``."""
    kinds = ", ".join(f"{kind}s {paid} of {tried}" for kind, (paid, tried) in unearned.by_kind.items())
    shown = f" ({kinds})" if unearned.paid and len(unearned.by_kind) > 1 else ""
    said = f"{unearned.paid} of {unearned.tried} programs that solve nothing were paid{shown}"
    impossible = f"{unearned.impossible_paid} of {unearned.impossible_tried}"
    if unearned.impossible_paid and not unearned.paid:
        return f"{impossible} programs were paid on impossible tests, and {said}"
    return f"{said}, and {impossible} on impossible tests" if unearned.impossible_tried else said


def weak_in_words(unearned: UnearnedPay) -> str:
    """How many programs that solve nothing the problems' own tests accept."""
    return (
        f"{fmt.plural(unearned.weak, 'program')} that solve nothing pass the tests of"
        f" {fmt.plural(unearned.weak_problems, 'problem')} under strict as well"
    )


_UNEARNED = "paid without solving"
_EVERY_TEST = "let every test decide: fail a program that one of them refuses"
_COMPARE = "compare, in every test, what the program gives with the expected value"
_NUMBERS = "compare numbers for equality, or within the tolerance that the problem states"
_ALONE = "start each program in a new process"
_CLOSED = {
    "judged_by_another": f"{_ALONE}, and keep nothing of it",
    "decided_by_text": _COMPARE,
    "pays_for_style": "pay for style only where every test passes",
    "flaky_verdict": "run every test each time",
}
_TYPES = "compare types as well as values"
_INSTEAD = (
    ("raises", "fail a test in which the program raises an exception"),
    (DOES_NOT_END, "fail a test that reaches its time limit"),
    ("returns None", "fail a test that gives None where it expects another value"),
    ("in another order", "compare items at their places, unless the problem takes any order for right"),
    ("a beginning, or more", "compare lengths as well as items"),
    ("is wrong on", _EVERY_TEST),
    ("is right in the", "compare the whole output"),
    ("ends its process", "fail a program whose process ends before the tests, or with another status than 0"),
    ("the other sign", _NUMBERS),
    ("off by one", _NUMBERS),
    ("rounded to", _NUMBERS),
    ("a digit more", _NUMBERS),
    ("to stderr", "read stdout alone"),
    ("returns nearly the right number", _NUMBERS),
    ("too large or too small", _NUMBERS),
    ("as text", "compare values, and not their texts"),
    ("of another type", _TYPES),
    ("another type", _TYPES),
    ("a tuple, or a tuple", _TYPES),
    ("", _COMPARE),
)
"""Words of a kind of difference to what a grader does that does not overlook it; the first that fits holds."""


def shortest_paid(
    channels: Iterable[ChannelRecord],
    overlooks: Iterable[tuple[str, str, Sequence[Probe]]],
    unearned: Sequence[Probe],
    loose: Sequence[Probe],
    acceptance: Acceptance,
    causes: Sequence[Cause] = (),
) -> Iterator[ShortestPaid]:
    """Of each finding about what is paid wrongly the shortest program, the least id where several are.

    ``overlooks`` is what `overlooked` gives, ``unearned`` what was paid without solving; ``loose`` are other wrong
    programs that are accepted, and that the problems' own tests refuse; ``causes`` decide in a program's place.
    """
    solved = [probe for probe in unearned if probe.kind == "must-fail"]
    unsolved = {probe.id: probe for probe in unearned if probe.kind != "must-fail"}
    found: list[tuple[str, Sequence[Probe], str, str]] = []
    for of in channels:
        if of.open_by:
            through = [probe for probe in of.through if probe.id in unsolved] or of.open_by
            found.append(
                (f"channel {of.channel}", through, CLOSES.get(of.channel, ""), CHANNELS.get(of.channel, ""))
            )
        found.append((f"a cheat of channel {of.channel} stays", of.staying, _ALONE, ""))
    for kind, sentence, programs in overlooks:
        found.append((sentence, programs, next(closes for words, closes in _INSTEAD if words in kind), ""))
    found += [(one.sentence, one.programs, _CLOSED[one.code], "") for one in causes if one.code in _CLOSED]
    found.append(("paid on impossible tests", solved, _COMPARE, ""))
    found.append((_UNEARNED, [*unsolved.values()], _COMPARE, ""))
    found.append(("accepted against the problem's own tests", loose, _COMPARE, ""))
    shown = set[str]()
    for finding, programs, closes, how in found:
        one = min(programs, key=lambda probe: (len(probe.code), probe.id), default=None)
        if one is None or (finding == _UNEARNED and one.id in shown):
            continue
        shown.add(one.id)
        yield ShortestPaid(
            finding=finding, how=how, closes=closes, problem_id=one.problem_id, probe=one.id,
            origin=f"inert twin of {one.origin}" if one.inert else one.origin,
            change="" if one.inert else one.change, code=one.code, pay=acceptance.score(one),
        )  # fmt: skip
