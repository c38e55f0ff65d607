"""The rewards of a conversation's turns: at which turn a program first passed, and what the last gained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from truegrade.apps.rewards.records import PolicyReply, Reward
from truegrade.extraction.conversations import answering_turns, policy_turns

Answer = Literal["last", "any", "joined"]
"""What of a conversation is graded: the last of the model's turns that holds an answer; each of these, the best of
which is paid; or all turns as one text."""
ANSWERS: tuple[Answer, ...] = ("last", "any", "joined")


class TurnRewards(msgspec.Struct, frozen=True, kw_only=True):
    """What each turn earns that holds an answer, or the one that is graded where none does."""

    places: tuple[int, ...]
    """Of these turns among all of the model's, 1-based."""
    rewards: tuple[Reward, ...]
    """One each, in order."""

    @property
    def fix_at(self) -> int | None:
        """The place of the first turn that passes; None where none is known to."""
        return next((place for place, one in zip(self.places, self.rewards, strict=True) if one.passed), None)

    @property
    def best(self) -> Reward:
        """The first that passes; else one of which nothing is known; else the highest, of equal ones the last."""
        passed = next((one for one in self.rewards if one.passed), None)
        unknown = next((one for one in self.rewards if one.value is None), None)
        return passed or unknown or max(self.rewards[::-1], key=lambda one: one.value or 0.0)

    @property
    def gain(self) -> float | None:
        """The last value less the first; None where one of them is not known."""
        first, last = self.rewards[0].value, self.rewards[-1].value
        return None if first is None or last is None else last - first


def graded_turns(reply: PolicyReply, called: Callable[[PolicyReply], str | None]) -> list[tuple[int, PolicyReply]]:
    """The turns of a reply that hold an answer, with their 1-based places; the reply alone where it has no turns.

    ``called`` is asked for the function that a reply of several turns is to define.
    """
    if reply.messages is None and reply.form != "reply":
        return [(1, reply)]
    turns = policy_turns(reply.text if reply.messages is None else reply.messages)
    if not turns:
        return [(1, reply)]
    found = answering_turns(turns, called(reply) if len(turns) > 1 else None)
    return [(place + 1, msgspec.structs.replace(reply, text=turns[place], messages=None)) for place in found]


def by_reply(turns: Sequence[Sequence[tuple[int, PolicyReply]]], rewards: Sequence[Reward]) -> list[TurnRewards]:
    """The rewards of all turns of all replies, which come in one list, as those of each reply."""
    left = iter(rewards)
    return [
        TurnRewards(places=tuple(place for place, _ in of), rewards=tuple(next(left) for _ in of)) for of in turns
    ]
