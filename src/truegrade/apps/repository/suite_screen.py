"""What mutants say of a repository's tests in words: lines of at most 80 columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from truegrade.apps.repository.suite_strength import KillShare, SuiteSummary, Survivor
from truegrade.errors import first_few
from truegrade.report import format as fmt

_SHOWN_SHARES = 3
_SHOWN_SURVIVORS = 3
_SHOWN_NAMES = 2
_WIDTH = 80


def share_in_words(summary: SuiteSummary) -> str:
    """The share of mutants that the tests refuse, with its interval."""
    whole = summary.whole
    if whole is None:
        return "not measured: no mutant of any function could be decided"
    return (
        f"the tests refuse {fmt.percent(whole.share)} of {fmt.count(whole.mutants)} mutants"
        f" {fmt.bounds(whole.low, whole.high)}"
    )


def forgeries_in_words(summary: SuiteSummary) -> str:
    """How many of the patches that solve nothing each way of judging pays; empty where none was tried."""
    tried = [one for one in summary.forgeries if one.tried]
    paid = Counter(verifier for one in tried for verifier, number in one.believed.items() if number)
    if not tried:
        return ""
    said = ", ".join(f"{name} {number}" for name, number in paid.most_common()) or "none"
    return f"{len(tried)} patches solve nothing; paid are: {said}"


def screen(summary: SuiteSummary, where: Path) -> list[str]:
    """Lines of at most 80 columns: the share, the weakest modules and functions, survivors, what was not seen."""
    lines = [share_in_words(summary)]
    for title, shares in (("modules", summary.modules), ("functions", summary.by_function)):
        weak = [one for one in shares if one.share < 1]
        if weak and len(shares) > 1:
            lines.append(f"weakest {title}:")
            lines += [_share_line(one) for one in weak[:_SHOWN_SHARES]]
    if summary.survivors:
        lines.append(f"{fmt.plural(len(summary.survivors), 'mutant')} that every test accepts, for example:")
        for one in _of_several_functions(summary.survivors)[:_SHOWN_SURVIVORS]:
            lines.append(f"  {one.where} {one.function.split()[-1]}")
            lines += [f"    {line}" for line in one.diff.splitlines()[:4]]
            lines += [f"    told apart by: {one.call}"] if one.call else []
    lines += [f"not seen: {each}" for each in _unseen(summary)]
    return [*map(cut, lines), f"every function, its share and its survivors: {where}"]


def cut(line: str) -> str:
    """A line of at most 80 columns."""
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"


def _share_line(one: KillShare) -> str:
    share = f"{fmt.percent(one.share)} {fmt.bounds(one.low, one.high)}"
    return f"  {share:<22} {one.killed:>5} of {one.mutants:<5} {one.name}"


def _of_several_functions(survivors: Sequence[Survivor]) -> list[Survivor]:
    """One of each function first, those with a call before the others."""
    first: dict[str, Survivor] = {}
    for one in sorted(survivors, key=lambda each: not each.call):
        first.setdefault(one.function, one)
    return [*first.values(), *(one for one in survivors if first[one.function] is not one)]


def _unseen(summary: SuiteSummary) -> list[str]:
    """What the share says nothing of."""
    found = []
    if summary.unreached:
        names = first_few([place.split()[-1] for place in summary.unreached], _SHOWN_NAMES)
        found.append(f"{fmt.plural(len(summary.unreached), 'function')} that no test reaches ({names})")
    if summary.unmeasured:
        (why, number), *_ = Counter(summary.unmeasured.values()).most_common(1)
        found.append(f"{fmt.plural(len(summary.unmeasured), 'function')} without a measure ({number}: {why})")
    if summary.undecided:
        name, why = next(iter(summary.undecided.items()))
        found.append(f"{fmt.plural(len(summary.undecided), 'test')} that fail or are flaky ({name}: {why})")
    if summary.idle:
        idle = fmt.plural(len(summary.idle), "test")
        found.append(f"what {idle} are for, which refuse no mutant first and no removed body")
    found.append("what a module does at its import")
    return found
