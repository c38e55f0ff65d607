"""Replies in batches, as trainers hand them over: what is sent.

A batch holds replies to several problems, right ones and ones that solve nothing. Two conversations are held, each
with a grader started anew where that can be. A grader that judges each reply by itself says the same of it
whatever stands beside it, in whatever order, and whatever came before.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import NamedTuple

import msgspec

from truegrade.apps.assay.acceptance import REFERENCE, Acceptance
from truegrade.apps.assay.records import Dispatch, Probe, make_probe
from truegrade.apps.assay.targets.calls import Reading
from truegrade.records import Problem

SMALL, LARGE = 8, 64
MOST_PROBLEMS = 8
_TURNS = 4
_MOST_RIGHT = 4
BEGINS = 512
"""Characters of a reply that are kept of its beginning."""
NO_PROGRAM = "I do not know how to solve this problem."
"""A reply without a program."""


class BatchItem(msgspec.Struct, frozen=True, kw_only=True):
    """One reply of a batch."""

    problem_id: str
    """Whose prompt and tests stand in its row."""
    solves: str = ""
    """The problem that its program solves; empty for one that solves nothing."""
    text: str
    """Hash of the reply: equal ones are equal replies."""
    numberless: str = ""
    """The same without its digits."""
    words: str = ""
    """The same of its words and numbers alone: others may differ from it in operators."""
    names: str = ""
    """The same of its names in the order of the alphabet, each once."""
    chars: int
    lines: int = 0
    start: str = ""
    """Its first characters, `BEGINS`."""
    hollow: bool = False
    """Whether it defines nothing."""
    turns: tuple[tuple[str, str], ...] = ()
    """Of a reply of several messages, `truegrade.apps.assay.turns.Turns`."""
    paid_alone: bool = False
    """Whether the grader accepts it, or every stub for the problem, where nothing stands beside it."""

    @property
    def is_right(self) -> bool:
        """Whether it is to be accepted."""
        return self.solves == self.problem_id


def rewards_by_side(
    scored: Iterable[tuple[BatchItem, float | None]],
) -> Mapping[str, Mapping[bool, list[float]]]:
    """The rewards of right replies to each problem, and of the others."""
    sides: dict[str, dict[bool, list[float]]] = defaultdict(lambda: {True: [], False: []})
    for one, score in scored:
        if score is not None:
            sides[one.problem_id][one.is_right].append(score)
    return sides


class BatchSaid(msgspec.Struct, frozen=True, kw_only=True):
    """What a grader said of a batch: a line of ``batches.jsonl``."""

    grader: str
    talk: int
    """0-based: conversation."""
    place: int
    """0-based: in the conversation."""
    items: tuple[BatchItem, ...]
    scores: tuple[float | None, ...] = ()
    """As many as it gave; None where one is no number."""
    detail: str = ""
    """Why it gave none."""
    at_once: bool = True
    """Whether it was called with the whole batch; else with one reply after the other."""


class BatchReply(NamedTuple):
    """What is sent, and what is known of it."""

    sent: Dispatch
    item: BatchItem


def plan_batches(
    probes: Sequence[Probe], problems: Mapping[str, Problem], acceptance: Acceptance, seed: int
) -> list[list[list[BatchReply]]]:
    """Two conversations of batches of 1, 8 and 64 replies, and one of replies alone.

    None where no reference is accepted.

    Args:
        probes: all that the grader was sent.
        problems: by id.
        acceptance: of these probes, each sent alone.
        seed: of the assay; equal seeds give equal batches.
    """
    found = list(pools(probes, problems, acceptance))
    if not found:
        return []
    made = _Mixer(found, Random(f"batches {seed}"))
    one, two = made.mixed(SMALL), made.mixed(SMALL, shuffled=True)
    return [
        [
            made.single(right=True),
            one,
            two,
            made.alike(SMALL, right=False),
            made.mixed(LARGE, shuffled=True),
            made.in_turn(),
            made.single(right=False),
        ],
        [
            made.single(right=False),
            [*reversed(one)],
            made.mixed(SMALL, shuffled=True),
            [*two[1:], two[0]],
            made.alike(SMALL, right=True),
            made.near(),
            [*reversed(made.in_turn())],
            *made.by_turns(),
        ],
        [[one] for pool in found for one in pool.wrong],
    ]


ALONE = 2
"""The conversation in which what was not sent before is sent by itself, in batches of one."""


class Pool(NamedTuple):
    """Replies to one problem."""

    right: list[BatchReply]
    wrong: list[BatchReply]
    """Stubs, programs near the reference, `foreign`, and last a reply without a program."""
    foreign: list[BatchReply]
    """Right programs of other problems, in the order of those."""
    near: list[BatchReply]
    """Of the wrong ones those whose text is nearly that of the first right one."""


def pools(probes: Sequence[Probe], problems: Mapping[str, Problem], acceptance: Acceptance) -> Iterator[Pool]:
    """Of each problem whose reference is accepted; programs of the other problems solve nothing in it."""
    right, stubs = defaultdict[str, list[Probe]](list), defaultdict[str, list[Probe]](list)
    mutants = defaultdict[str, list[Probe]](list)
    for probe in sorted(probes, key=lambda one: (one.origin != REFERENCE, one.id)):
        plain = probe.form == "program" and probe.danger == "h0" and not probe.order and not probe.tests
        if plain and probe.kind == "right" and probe.label == "right" and acceptance.accepted(probe):
            right[probe.problem_id].append(probe)
        elif plain and probe.kind == "stub" and probe.label == "wrong" and "def " in probe.code:
            stubs[probe.problem_id].append(probe)
        elif plain and probe.kind == "mutant" and probe.label == "wrong" and not acceptance.accepted(probe):
            mutants[probe.problem_id].append(probe)
    solved = [name for name, of in right.items() if of[0].origin == REFERENCE and name in problems]
    for name in solved[:MOST_PROBLEMS]:
        of = right[name]
        # Where the verdict of the reply before is kept, every stub was accepted.
        alone = [one for one in stubs[name] if not acceptance.accepted(one)]
        paid, alone = not alone, alone or stubs[name]
        others = [right[other][0] for other in solved[:MOST_PROBLEMS] if right[other][0].code != of[0].code]
        foreign = [_reply(one, name, problems, paid) for one in (*others[:1], *others[1:][-1:])]
        nothing = make_probe(name, "stub", "no-program", NO_PROGRAM, form="reply", label="wrong")
        size = len(of[0].code.rstrip())
        shortest = sorted(alone, key=lambda one: (len(one.code), one.id))[:1]
        # What stands behind the right program takes its place.
        behind = [msgspec.structs.replace(one, code=f"{of[0].code.rstrip()}\n\n\n{one.code}") for one in alone[:1]]
        stubs_sent = [*(_padded(one, size) for one in alone[:2]), *shortest, *behind]
        wrong = [_reply(one, name, problems, paid) for one in stubs_sent]
        last = wrong[len(stubs_sent) - len(behind) :]
        near = [
            [one for one in mutants[name] if without(one.code) == without(of[0].code)]
            for without in (_numberless, _words)
        ]
        found = {one.id: one for alike in near for one in (alike or mutants[name])[:1]}
        nearest = [_reply(one, name, problems) for one in found.values()]
        wrong += [*nearest, *foreign, _reply(nothing, name, problems, paid)]
        yield Pool([_reply(one, name, problems) for one in of[:_MOST_RIGHT]], wrong, foreign, [*nearest, *last])


def _numberless(code: str) -> str:
    """A program without its digits; others may differ from it in numbers alone."""
    return re.sub(r"\d+", "", code).rstrip()


def _words(code: str) -> str:
    """The words and numbers of a program."""
    return " ".join(re.findall(r"\w+", code))


def _padded(probe: Probe, chars: int) -> Probe:
    """A program as long as another where it is shorter: verdicts may be kept by length."""
    code = probe.code.rstrip()
    missing = chars - len(code) - 3
    code = f"{code}\n# {'x' * missing}" if missing > 0 else code
    return msgspec.structs.replace(probe, code=code)


def _reply(probe: Probe, name: str, problems: Mapping[str, Problem], paid_alone: bool = False) -> BatchReply:
    code = probe.code.rstrip()
    item = BatchItem(
        problem_id=name,
        solves=probe.problem_id if probe.kind == "right" else "",
        text=make_probe("", "stub", "", code).id,
        numberless=make_probe("", "stub", "", _numberless(code)).id,
        words=make_probe("", "stub", "", _words(code)).id,
        names=make_probe("", "stub", "", " ".join(sorted({*re.findall(r"[^\W\d]\w*", code)}))).id,
        chars=len(code),
        lines=code.count("\n") + 1,
        start=code[:BEGINS],
        hollow="def " not in probe.code,
        paid_alone=paid_alone,
    )
    return BatchReply(
        Dispatch(probe=msgspec.structs.replace(probe, problem_id=name), problem=problems[name]), item
    )


class _Mixer:
    def __init__(self, pools: Sequence[Pool], random: Random) -> None:
        self._pools, self._random = pools, random
        self._turn = 0

    def single(self, *, right: bool) -> list[BatchReply]:
        """A batch of one."""
        pool = self._pools[0]
        return [pool.right[0] if right else pool.wrong[0]]

    def in_turn(self) -> list[BatchReply]:
        """A batch in which nothing goes before a reply by chance: right replies to two problems, none behind each,
        and the same programs in place of each other."""
        one, other = self._pools[0], self._pools[-1]
        return [
            *(one.right[0], one.wrong[-1], other.right[0], other.wrong[-1]),
            *(one.wrong[0], one.right[0], [*one.wrong[:1], *one.foreign][-1], [*other.foreign, *other.wrong][0]),
        ]

    def near(self) -> list[BatchReply]:
        """A batch in which programs that are nearly the right one stand behind it."""
        both = self._pools[0], self._pools[-1]
        half = SMALL // 2
        return [one for pool in both for one in (pool.right[0], *pool.near, *pool.wrong)[:half]]

    def by_turns(self) -> list[list[BatchReply]]:
        """Batches of one, a right reply and a wrong one to the same problem by turns: what is kept of one call may
        be taken for the next one's."""
        return [[one] for pool in self._pools[:2] for one in (pool.right[0], pool.wrong[0]) * _TURNS]

    def alike(self, size: int, *, right: bool) -> list[BatchReply]:
        """A batch of right replies alone, or of others alone."""
        pools = self._random.choices(self._pools, k=size)
        return [self._random.choice(pool.right if right else pool.wrong) for pool in pools]

    def mixed(self, size: int, *, shuffled: bool = False) -> list[BatchReply]:
        """Replies to several problems; those to one prompt stand together unless they are shuffled.

        The first problems get right and wrong ones, and the last right ones alone or wrong ones alone.
        """
        pools = self._random.sample(self._pools, min(len(self._pools), size // 4))
        shares = [size // len(pools) + (place < size % len(pools)) for place in range(len(pools))]
        self._turn += 1
        batch = []
        for place, (pool, share) in enumerate(zip(pools, shares, strict=True)):
            right = self._random.randint(1, share - 1)
            if place and place >= len(pools) - 2:
                right = share * ((self._turn + place) % 2)
            group = [
                *self._random.choices(pool.right, k=right),
                *self._random.choices(pool.wrong, k=share - right),
            ]
            self._random.shuffle(group)
            batch += group
        if shuffled:
            self._random.shuffle(batch)
        # A right reply goes first in every other batch, whatever chance says.
        first = next(place for place, one in enumerate(batch) if one.item.is_right is (self._turn % 2 == 1))
        batch[0], batch[first] = batch[first], batch[0]
        return batch


def said_of_batch(
    grader: str,
    talk: int,
    place: int,
    items: tuple[BatchItem, ...],
    answer: list[Reading] | Reading | None,
    *,
    at_once: bool,
) -> BatchSaid:
    """The record of an answer; None where the grader had ended before."""
    why, scores = "", tuple[float | None, ...]()
    if isinstance(answer, list):
        scores = tuple(
            float(one.passed) if one.score is None and one.passed is not None else one.score for one in answer
        )
    else:
        why = answer.detail if answer is not None else "not asked, as the grader ended at the batch before"
    return BatchSaid(
        grader=grader, talk=talk, place=place, items=items, scores=scores, detail=why, at_once=at_once
    )
