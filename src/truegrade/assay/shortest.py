"""The shortest program behind each way in which a grader pays wrongly, and what a grader does that closes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from truegrade.assay.acceptance import Acceptance
from truegrade.assay.channels import ChannelRecord
from truegrade.assay.cheats import CHANNELS, CLOSES
from truegrade.assay.measures import ShortestPaid
from truegrade.assay.records import DOES_NOT_END, Probe

_UNEARNED = "paid without solving"
_EVERY_TEST = "run every test, and fail a program that one of them refuses"
_COMPARE = "run every test, and compare what the program gives with the expected value"
_NUMBERS = "compare numbers for equality, or within the tolerance that the problem states"
_ALONE = "start each program in a new process"
_INSTEAD = (
    ("raises", "fail a test in which the program raises an exception"),
    (DOES_NOT_END, "fail a test that reaches its time limit"),
    ("returns None", "fail a test that gives None where it expects another value"),
    ("in another order", "compare items at their places, unless the problem takes any order for right"),
    ("a beginning, or more", "compare lengths as well as items"),
    ("is wrong on test", _EVERY_TEST),
    ("is near", _NUMBERS),
    ("too large or too small", _NUMBERS),
    ("as text", "compare values, and not their texts"),
    ("another value", _COMPARE),
    ("", "compare types as well as values"),
)
"""Words of a kind of difference to what a grader does that does not overlook it; the first that fits holds."""


def shortest_paid(
    channels: Iterable[ChannelRecord],
    overlooks: Iterable[tuple[str, str, Sequence[Probe]]],
    unearned: Sequence[Probe],
    loose: Sequence[Probe],
    acceptance: Acceptance,
) -> Iterator[ShortestPaid]:
    """Of each finding about what is paid wrongly the shortest program, the least id where several are.

    Args:
        channels: what was seen of each.
        overlooks: what `truegrade.assay.paying.overlooked` gives.
        unearned: what was paid without solving.
        loose: other wrong programs that are accepted, and that the problems' own tests refuse.
        acceptance: of the grader.
    """
    solved = [probe for probe in unearned if probe.kind == "must-fail"]
    unsolved = {probe.id: probe for probe in unearned if probe.kind != "must-fail"}
    found: list[tuple[str, Sequence[Probe], str, str]] = []
    for of in channels:
        if of.open_by:
            through = [probe for probe in of.through if probe.id in unsolved] or of.open_by
            found.append((f"channel {of.channel}", through, _of(CLOSES, of), _of(CHANNELS, of)))
        found.append((f"a cheat of channel {of.channel} stays", of.staying, _ALONE, ""))
    for kind, sentence, programs in overlooks:
        found.append((sentence, programs, next(closes for words, closes in _INSTEAD if words in kind), ""))
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


def _of(table: Mapping[str, str], record: ChannelRecord) -> str:
    return table.get(record.channel, "")
