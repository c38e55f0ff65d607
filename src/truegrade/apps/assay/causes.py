"""What decides a grader's verdicts in place of the program, and what right programs are refused for."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from truegrade.apps.assay.acceptance import NATURAL, REFERENCE, Acceptance
from truegrade.apps.assay.probes.mutants import ONE_TEST
from truegrade.apps.assay.probes.right import NEEDS
from truegrade.apps.assay.probes.stubs import STYLES
from truegrade.apps.assay.records import Probe

MANY = 0.5
"""Share of a kind from which on the kind is told, where it is more than twice the share of all others."""


class Alike(NamedTuple):
    """Programs that differ from others in one way."""

    accepted: list[Probe]
    """Or refused, of right ones."""
    number: int
    """Of those with a verdict."""
    problems: Mapping[str, int] = MappingProxyType({})
    """These by problem."""


def refused_kinds(probes: Iterable[Probe], acceptance: Acceptance) -> dict[str, Alike]:
    """What a right program is written with, to those that are refused; the reference is accepted."""
    found: dict[str, list[Probe]] = defaultdict(list)
    for probe in probes:
        fits = probe.kind == "right" and probe.label == "right" and probe.origin != REFERENCE
        if fits and acceptance.accepted(probe) is not None and probe.problem_id not in acceptance.refused:
            found[NEEDS.get(probe.origin, "is written in other words")].append(probe)
    return {
        kind: Alike([one for one in of if not acceptance.accepted(one)], len(of)) for kind, of in found.items()
    }


class Cause(NamedTuple):
    """What decides a grader's verdicts in place of the program."""

    code: str
    sentence: str
    programs: list[Probe]
    """That are accepted for it, or right and refused."""
    blurs: bool = False
    """Whether what the programs do shows in no verdict then."""


def misread(kinds: Mapping[str, Alike], by_chance: Callable[[int, int, int], bool]) -> Iterator[Cause]:
    """The kinds of right programs of which a grader refuses far more than of the others, each with a sentence."""
    for kind, (programs, number, _) in sorted(kinds.items(), key=lambda each: -len(each[1].accepted)):
        others = [of for name, of in kinds.items() if name != kind]
        refused, rest = len(programs), sum(len(of.accepted) for of in others)
        among = sum(of.number for of in others)
        far_more = refused >= max(1, MANY * number) and 2 * rest * number < refused * among
        if far_more and kind in NEEDS.values() and not by_chance(refused, number, len(kinds)):
            said = f"every right program that {kind} ({refused} of {number})"
            said = said if refused == number else f"{refused} of {number} right programs of one kind: {kind}"
            yield Cause("refuses_kind", f"refuses {said}, and {rest} of {among} others", programs)


def judged_by_another(
    probes: Iterable[Probe], acceptance: Acceptance, by_chance: Callable[[int, int, int], bool]
) -> Cause | None:
    """Whether stubs are accepted behind a right program, and the same refused where none goes ahead of them."""
    stubs: dict[tuple[str, str], dict[str, Probe]] = defaultdict(dict)
    last: list[bool] = []
    for probe in probes:
        accepted = acceptance.accepted(probe)
        if probe.order and accepted is not None and probe.problem_id not in acceptance.refused:
            if probe.kind == "stub":
                stubs[probe.problem_id, probe.origin][probe.order] = probe
            elif probe.order == "wrong-first":
                last.append(accepted)
    pairs = [(one["right-first"], one["wrong-first"]) for one in stubs.values() if len(one) > 1]
    paid = [behind for behind, alone in pairs if acceptance.stands(behind) and not acceptance.accepted(alone)]
    if not paid or by_chance(len(paid), len(pairs), 1):
        return None
    names = ", ".join(dict.fromkeys(one.origin for one in paid))
    refused = (
        f", and {last.count(False)} of {len(last)} right programs behind stubs refused" if not all(last) else ""
    )
    what = "the verdict on" if any(one.origin == "none" for one in paid) else "what is left of"
    return Cause(
        "judged_by_another",
        f"judges a program by {what} the one before it: {len(paid)} of {len(pairs)} stubs are accepted behind a"
        f" right program ({names}) that are refused without one{refused}",
        paid,
        blurs=bool(refused),
    )


_LEAST_DRAWN = 2
"""Programs with both verdicts from which on chance is said to decide."""


def decided_by_chance(probes: Iterable[Probe], acceptance: Acceptance) -> Cause | None:
    """Whether programs that are wrong on one test alone get both verdicts when sent again, each behind the same
    ones: then the grader may draw its tests."""
    sent = [one for one in probes if one.origin == ONE_TEST and one.label == "wrong"]
    times = {one.id: acceptance.each_time(one, again=True) for one in sent}
    again = [one for one in sent if len(times[one.id]) > 1]
    both = [one for one in again if len({*times[one.id]}) > 1]
    if len(both) < _LEAST_DRAWN:
        return None
    often = max(len(times[one.id]) for one in again)
    said = (
        f"{len(both)} of {len(again)} programs that are wrong on one test alone got both when sent {often} times"
    )
    return Cause(
        "flaky_verdict", f"gives the same program one verdict or the other: {said}; it may draw its tests", both
    )


_LEAST_ABOVE = 2
"""Wrong programs above right ones from which on that is told."""
_LEAST_DECIDED = 5
"""Wrong programs accepted, and refused, of which one text may be said to decide."""


def decided_by_text(probes: Iterable[Probe], acceptance: Acceptance) -> Cause | None:
    """The length, or a word, that tells the wrong programs that are accepted from those that are refused."""
    sides: dict[bool, list[Probe]] = {True: [], False: []}
    for probe in probes:
        accepted, wrong = acceptance.accepted(probe), probe.label == "wrong" and not probe.tests
        # Whether the tests refuse an accepted mutant, nobody asked.
        wrong = wrong and (not accepted or probe.kind in ("stub", "cheat", "output"))
        if wrong and accepted is not None and not probe.order and probe.problem_id not in acceptance.refused:
            sides[accepted].append(probe)
    paid, others = sides[True], sides[False]
    if paid and all(probe.origin in STYLES for probe in paid):
        styles = [what for origin, what in STYLES.items() if any(probe.origin == origin for probe in paid)]
        said = f"pays what solves nothing for {', and for '.join(styles)}: accepts {len(paid)} of these"
        return Cause("pays_for_style", f"{said}, and none of {len(others)} other wrong programs", paid)
    of_outputs = all(probe.kind == "output" for probe in paid)  # of which a word is one of what changes outputs
    what = _told_apart_by(paid, others, words=not of_outputs)
    return Cause("decided_by_text", f"accepts every wrong program {what}", paid) if what else None


def refused_by_text(probes: Iterable[Probe], acceptance: Acceptance) -> Cause | None:
    """The length, or what stands in the text, that tells right programs that are refused from all others."""
    sides: dict[bool, list[Probe]] = {True: [], False: []}
    for probe in probes:
        accepted = acceptance.accepted(probe)
        fits = probe.kind == probe.label == "right" and probe.problem_id not in acceptance.refused
        if fits and accepted is not None:
            sides[accepted].append(probe)
    refused, others = sides[False], sides[True]
    what = _told_apart_by(refused, others, words=True)
    return Cause("refuses_kind", f"refuses every right program {what}", refused) if what else None


_SIGNS: Mapping[str, str] = MappingProxyType({"an empty line": "\n\n", "a tab": "\t", "a comment": "#"})


def _told_apart_by(some: Sequence[Probe], others: Sequence[Probe], *, words: bool) -> str:
    """What of their texts some programs have in common, and others lack, with their numbers; empty where there is
    nothing, or where one side has too few."""
    if min(len(some), len(others)) < _LEAST_DECIDED:
        return ""
    what = _length_apart(some, others) or _sign_apart(some, others) or (_word_apart(some, others) if words else "")
    return what and f"{what} ({len(some)} of {len(some)}), and none of {len(others)} others"


def _length_apart(some: Sequence[Probe], others: Sequence[Probe]) -> str:
    lengths, rest = ([len(probe.code) for probe in side] for side in (some, others))
    if min(lengths) > max(rest):
        return f"of {min(lengths)} characters and more"
    return f"of {max(lengths)} characters and less" if max(lengths) < min(rest) else ""


def _sign_apart(some: Sequence[Probe], others: Sequence[Probe]) -> str:
    found = (
        f"with {name}"
        for name, sign in _SIGNS.items()
        if all(sign in one.code for one in some) and not any(sign in one.code for one in others)
    )
    return next(found, "")


def _word_apart(some: Sequence[Probe], others: Sequence[Probe]) -> str:
    held = [frozenset(re.findall(r"\w+", probe.code)) for probe in some]
    lacking = frozenset[str]().union(*(re.findall(r"\w+", probe.code) for probe in others))
    shared = sorted(frozenset.intersection(*held) - lacking, key=lambda word: (-len(word), word))
    return f"with the word {shared[0]}" if shared else ""


def wrong_above_right(probes: Iterable[Probe], acceptance: Acceptance) -> Cause | None:
    """Whether wrong programs that are refused get more than a right program, or than one in another form that gets
    half of the reference's reward or more: then form or style weighs more than a test."""
    by_problem: dict[str, list[Probe]] = defaultdict(list)
    for probe in probes:
        if acceptance.score(probe) is not None and probe.problem_id not in acceptance.refused:
            by_problem[probe.problem_id].append(probe)
    above, tried, least = list[Probe](), 0, dict[float, Probe]()
    for found in by_problem.values():
        scores = {probe.id: acceptance.score(probe) or 0.0 for probe in found}
        due = min((scores[probe.id] for probe in found if probe.origin == REFERENCE), default=0.0)
        rights = [probe for probe in found if probe.kind in ("right", "form") and probe.label == "right"]
        rights = [one for one in rights if due > 0 and (one.kind == "right" or 2 * scores[one.id] >= due)]
        # Whether the tests of its problem refuse a mutant that is refused here, nobody asked.
        known = [probe for probe in found if probe.label == "wrong" and probe.kind not in NATURAL]
        wrong = [probe for probe in known if not acceptance.accepted(probe)]
        tried += len(wrong)
        if rights:
            lowest = min(rights, key=lambda probe: (scores[probe.id], probe.id))
            more = [probe for probe in wrong if scores[probe.id] > scores[lowest.id]]
            least |= {scores[lowest.id]: lowest} if more else {}
            above += more
    if len(above) < _LEAST_ABOVE:
        return None
    score, lowest = min(least.items(), key=lambda each: each[0])
    said = (
        f"gives {len(above)} of {tried} wrong programs, mutants aside, more than a right one to the same problem"
    )
    return Cause("wrong_above_right", f"{said}: a right one ({lowest.origin}) gets {score:g}", above)
