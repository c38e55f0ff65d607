"""Replies of several messages, as a model with tools gives them: whose program a grader judges.

The model's last message that holds a program is its answer; what a tool returns or a user writes is not the
model's. A grader that is only ever handed one message is not at fault if it reads another, so none of this decides
whether a grader can be paid without solving; it is said beside it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from truegrade.apps.assay.acceptance import Acceptance
from truegrade.apps.assay.batches import BatchItem, BatchReply, BatchSaid, Pool, pools, rewards_by_side
from truegrade.apps.assay.measures import TurnsMeasure
from truegrade.apps.assay.records import Dispatch, Label, Probe, make_probe
from truegrade.records import Problem

TALK = 3
"""The conversation in which they are sent, each in a batch of its own."""
MOST_PROBLEMS = 3
MODEL, TOOL, USER = "assistant", "tool", "user"
RIGHT, WRONG, LONG, NONE = "right", "wrong", "long", "none"
Turns = tuple[tuple[str, str], ...]
"""Role of each message, and whether a right program is in it, a shorter wrong one, a longer one, or none."""
SHAPES: tuple[Turns, ...] = (
    ((MODEL, RIGHT),),
    ((MODEL, WRONG), (TOOL, RIGHT)),
    ((MODEL, WRONG), (USER, RIGHT)),
    ((MODEL, NONE), (TOOL, RIGHT)),
    ((MODEL, RIGHT), (TOOL, WRONG)),
    ((MODEL, RIGHT), (TOOL, NONE)),
    ((MODEL, RIGHT), (TOOL, NONE), (MODEL, NONE)),
    ((MODEL, NONE), (TOOL, NONE), (MODEL, RIGHT)),
    ((MODEL, WRONG), (TOOL, NONE), (MODEL, RIGHT)),
    ((MODEL, RIGHT), (TOOL, NONE), (MODEL, WRONG)),
    ((MODEL, WRONG), (TOOL, RIGHT), (MODEL, NONE)),
    ((MODEL, WRONG), (TOOL, NONE), (MODEL, WRONG), (TOOL, NONE), (MODEL, RIGHT)),
    ((MODEL, RIGHT), (TOOL, NONE), (MODEL, RIGHT), (TOOL, NONE), (MODEL, WRONG)),
    ((MODEL, LONG), (TOOL, NONE), (MODEL, RIGHT)),
    ((MODEL, RIGHT), (TOOL, NONE), (MODEL, LONG)),
    ((MODEL, NONE), (TOOL, RIGHT), (MODEL, WRONG)),
    ((MODEL, RIGHT), (TOOL, WRONG), (MODEL, RIGHT)),
)
_WORDS = {MODEL: "That is what there is to say.", TOOL: "exit status 1", USER: "Time is up."}


def _of_model(turns: Turns) -> list[str]:
    return [what for role, what in turns if role == MODEL]


def _programs(found: Sequence[str]) -> list[str]:
    return [what for what in found if what != NONE]


def _whole(turns: Turns) -> list[str]:
    return [what for _, what in turns]


_BY_LENGTH = (LONG, RIGHT, WRONG)


def _longest(found: Sequence[str]) -> str:
    return min(_programs(found), key=_BY_LENGTH.index, default=NONE)


def _shortest(found: Sequence[str]) -> str:
    return max(_programs(found), key=_BY_LENGTH.index, default=NONE)


READINGS: Mapping[str, Callable[[Turns], bool]] = {
    "judges the model's last message that holds a program": lambda t: _programs(_of_model(t))[-1:] == [RIGHT],
    "judges the last message alone, whoever wrote it": lambda t: t[-1][1] == RIGHT,
    "judges the first message alone": lambda t: t[0][1] == RIGHT,
    "judges the model's last message alone, with a program or without": lambda t: _of_model(t)[-1] == RIGHT,
    "judges the model's first message that holds a program": lambda t: _programs(_of_model(t))[:1] == [RIGHT],
    "pays the best of the model's messages": lambda t: RIGHT in _of_model(t),
    "judges the last program of all messages, whoever wrote it": lambda t: _programs(_whole(t))[-1:] == [RIGHT],
    "judges the first program of all messages, whoever wrote it": lambda t: _programs(_whole(t))[:1] == [RIGHT],
    "pays the best of all messages, whoever wrote it": lambda t: RIGHT in _whole(t),
    "pays where all of the model's programs are right": lambda t: {*_programs(_of_model(t))} == {RIGHT},
    "pays where all of the model's messages are right ones": lambda t: {*_of_model(t)} == {RIGHT},
    "pays where all programs of all messages are right, whoever wrote them": lambda t: (
        {*_programs(_whole(t))} == {RIGHT}
    ),
    "pays where half of the model's programs or more are right": lambda t: (
        2 * _of_model(t).count(RIGHT) >= len(_programs(_of_model(t))) > 0
    ),
    "pays where most of the model's programs are right": lambda t: (
        2 * _of_model(t).count(RIGHT) > len(_programs(_of_model(t)))
    ),
    "judges the model's longest program": lambda t: _longest(_of_model(t)) == RIGHT,
    "judges the longest program of all messages, whoever wrote it": lambda t: _longest(_whole(t)) == RIGHT,
    "judges the model's shortest program": lambda t: _shortest(_of_model(t)) == RIGHT,
    "judges the last program of a tool, and where there is none the model's last one": lambda t: (
        (_programs([what for role, what in t if role == TOOL]) or _programs(_of_model(t)))[-1:] == [RIGHT]
    ),
    "judges the last program of the model or of a tool": lambda t: (
        _programs([what for role, what in t if role != USER])[-1:] == [RIGHT]
    ),
    "judges the model's last message, and where that holds no program the last one of any message": lambda t: (
        ([_of_model(t)[-1]] if _of_model(t)[-1] != NONE else _programs(_whole(t))[-1:]) == [RIGHT]
    ),
    "judges the model's programs, and where there is none the last one of any message": lambda t: (
        (_programs(_of_model(t)) or _programs(_whole(t)))[-1:] == [RIGHT]
    ),
    "judges no reply of more than one message": lambda t: len(t) == 1 and t[0][1] == RIGHT,
}
"""Which message a grader judges, to whether it accepts a reply; the first is what is due."""
DUE = next(iter(READINGS))


def plan_turns(
    probes: Sequence[Probe], problems: Mapping[str, Problem], acceptance: Acceptance
) -> list[list[BatchReply]]:
    """Each of `SHAPES` for up to three problems of which some stub is refused, in batches of one.

    The arguments are those of `truegrade.apps.assay.batches.plan_batches`.
    """
    found = [one for one in pools(probes, problems, acceptance) if not one.wrong[0].item.paid_alone]
    return [[_reply(turns, pool)] for pool in found[:MOST_PROBLEMS] for turns in SHAPES]


def _reply(turns: Turns, pool: Pool) -> BatchReply:
    right, name = pool.right[0].sent.probe.code.rstrip(), pool.right[0].item.problem_id
    stubs = [one.sent.probe.code.rstrip() for one in pool.wrong if not (one.item.hollow or one.item.solves)]
    wrong = min(stubs, key=len)
    long = wrong + "\n_ = 0" * (2 + (len(right) - len(wrong) + len(right) // 2) // 6)  # no sign that may be paid
    code = {RIGHT: right, WRONG: wrong, LONG: long}
    messages = [
        {"role": role, "content": f"```python\n{code[what]}\n```" if what in code else _WORDS[role]}
        for role, what in turns
    ]
    text = json.dumps(messages)
    label: Label = "right" if READINGS[DUE](turns) else "wrong"
    probe = make_probe(name, "form", "turns", text, form="reply", label=label)
    solves = name if label == "right" else ""
    item = BatchItem(problem_id=name, solves=solves, text=probe.id, chars=len(text), turns=turns)
    return BatchReply(Dispatch(probe=probe, problem=pool.right[0].sent.problem, of_messages=True), item)


def measure_turns(
    said: Sequence[BatchSaid], verdict: Callable[[BatchItem, float], bool | None]
) -> TurnsMeasure | None:
    """What one grader made of replies of several messages; None where none were sent.

    Args:
        said: of one grader, of all its batches.
        verdict: whether a reward is an acceptance.
    """
    rows = [row for row in {(row.talk, row.place): row for row in said}.values() if row.talk == TALK]
    if not rows:
        return None
    answered = [(row.items[0], row.scores[0]) for row in rows if len(row.scores) == 1]
    scored = [(one, score) for one, score in answered if score is not None]
    ranks = _ranks_right_ones_first(scored)
    found = [(one, one.is_right if ranks else verdict(one, score)) for one, score in scored]
    several = [(one, v) for one, v in found if len(one.turns) > 1]
    fits = [name for name, reads in READINGS.items() if all(reads(one.turns) is v for one, v in found)]
    cause = fits[0] if fits and several else ""
    others = [v for one, v in several if RIGHT not in _of_model(one.turns)]
    shapes: dict[Turns, set[bool | None]] = defaultdict(set)
    for one, v in found:
        shapes[one.turns].add(v)
    return TurnsMeasure(
        steady=all(len(verdicts) == 1 for verdicts in shapes.values()),
        cause=cause,
        otherwise=sum(v is not None and v is not one.is_right for one, v in several),
        as_due=cause == DUE,
        right=sum(one.is_right for one, _ in several),
        wrong=sum(not one.is_right for one, _ in several),
        refused=sum(one.is_right and v is False for one, v in several),
        paid=sum(not one.is_right and v is True for one, v in several),
        of_others=len(others),
        of_others_paid=others.count(True),
        unanswered=len(rows) - len(found),
        why=next((row.detail for row in rows if row.detail), ""),
    )


def _ranks_right_ones_first(scored: Sequence[tuple[BatchItem, float]]) -> bool:
    """Whether every right reply to a problem got more than each wrong one: that is no other reading, whatever one
    message gets."""
    sides = rewards_by_side(scored)
    return bool(sides) and all(
        of[True] and min(of[True]) > max(of[False], default=float("-inf")) for of in sides.values()
    )


def turns_in_words(of: TurnsMeasure | None) -> str:
    """Which message decides; empty where it is the one that is due, and of graders that are handed one text."""
    if of is None or (of.as_due and not of.unanswered):
        return ""
    if not of.steady:  # a state, chance or the length of messages may decide as well
        changed = f"{of.otherwise} of {of.right + of.wrong} replies with several messages get another verdict"
        return f"{changed} than the model's last program does alone" if of.otherwise else ""
    paid = f"{of.of_others_paid} of {of.of_others} right programs of a tool or a user alone are accepted"
    refused = f"{of.refused} of {of.right} right answers are refused"
    wrong = f"{of.paid} of {of.wrong} wrong ones accepted"
    silent = f"{of.unanswered} got no verdict ({of.why})"
    found = (
        paid if of.of_others_paid else "",
        refused if of.refused else "",
        wrong if of.paid > of.of_others_paid else "",
        silent if of.unanswered else "",
    )
    said = of.cause or "judges by no rule that is known here"
    whose = f"it {said}: " if of.right + of.of_others else ""
    return f"of replies with several messages {whose}{', '.join(filter(None, found))}".removesuffix(": ")
