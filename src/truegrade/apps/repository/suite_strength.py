"""What mutants say of a repository's tests: shares with intervals, survivors, and conditions on them."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import msgspec

from truegrade.apps.repository.build import Inventory
from truegrade.apps.repository.functions import AT_IMPORT, UNREACHED
from truegrade.apps.repository.strength import KILLED, NO_MUTANT, FunctionResult, MutantResult, TestSurvey
from truegrade.datasets.executions import write_content
from truegrade.files.json_text import encode
from truegrade.statistics.conditions import Condition, read_condition
from truegrade.statistics.intervals import cluster_interval, wilson

STRENGTH = "strength.jsonl"
"""A function a line: the share of its mutants that is refused, its survivors, or why it has no measure."""
NONE_DECIDED = "no mutant of it was decided"
_DECIDED_BY_MUTANTS = frozenset({AT_IMPORT, NO_MUTANT, NONE_DECIDED})
"""Reasons of functions that lack no result that another run would have."""
_SHARES = ("kill",)
_COUNTS = ("survivors", "unreached", "idle", "undecided", "forgeable")


class KillShare(msgspec.Struct, frozen=True, kw_only=True):
    """The share of mutants that tests refuse."""

    name: str
    killed: int
    mutants: int
    """Killed and survived."""
    low: float | None
    high: float | None
    """95 % interval; None where there is none."""

    @property
    def share(self) -> float:
        """Killed of all."""
        return self.killed / max(1, self.mutants)


class Survivor(msgspec.Struct, frozen=True, kw_only=True):
    """A mutant that every test accepts."""

    function: str
    """Its place."""
    where: str
    """``path:line``."""
    operator: str
    mutant: str
    diff: str
    call: str = ""
    """A call and what the original gives, which this mutant does not; empty where none was looked for or found."""


class FunctionStrength(msgspec.Struct, frozen=True, kw_only=True):
    """A line of ``strength.jsonl``."""

    function: str
    """For a person: path, line and name."""
    tests: int
    """That pass each time and reach it."""
    killed: int
    mutants: int
    """Killed and survived."""
    low: float | None = None
    high: float | None = None
    """95 % interval of the share, mutants taken for independent (Wilson)."""
    survivors: tuple[Survivor, ...] = ()
    why_none: str = ""
    """Why nothing was decided."""


class ForgeryShown(msgspec.Struct, frozen=True, kw_only=True):
    """A patch that solves nothing, and how many functions' verdicts it forges."""

    name: str
    what: str
    tried: int
    believed: dict[str, int]
    """By verifier."""


class SuiteSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What an assay of a repository's tests concludes."""

    name: str
    version: str
    commit: str
    functions: int
    tests: int
    """That pass each time, so that they decide."""
    statuses: dict[str, int]
    """Mutants by what became of them."""
    whole: KillShare | None
    modules: tuple[KillShare, ...]
    by_function: tuple[KillShare, ...]
    """The weakest first."""
    unreached: tuple[str, ...]
    """Functions that no test reaches."""
    unmeasured: dict[str, str]
    """Other functions without a decided mutant, each with why."""
    undecided: dict[str, str]
    """Tests that fail or are flaky without a mutant, each with why."""
    idle: tuple[str, ...]
    """Tests that were first to refuse no mutant, and accept the removed body of every function that they reach."""
    survivors: tuple[Survivor, ...]
    forgeries: tuple[ForgeryShown, ...] = ()
    """Tried by a build alone."""

    def worth(self, name: str) -> float | None:
        """What a name in a condition stands for; None where it was not measured."""
        if name == "forgeable":
            tried = [one for one in self.forgeries if one.tried]
            return sum(any(one.believed.values()) for one in tried) if tried else None
        if name == "undecided":
            return len(self.undecided) + self.without_result
        if name == "unreached":
            return len(self.unreached)
        if self.whole is None:
            return None
        return self.whole.share if name == "kill" else len({"survivors": self.survivors, "idle": self.idle}[name])

    @property
    def without_result(self) -> int:
        """Mutants, and functions with mutants, about which nothing was decided."""
        functions = sum(why not in _DECIDED_BY_MUTANTS for why in self.unmeasured.values())
        return self.statuses.get("undecided", 0) + functions


def holds_for_suite(condition: Condition, summary: SuiteSummary) -> bool:
    """Whether a condition is true, or hangs on what was not measured: mutants that nothing decided may have
    survived, unless it bounds ``undecided`` and so says how many there may be."""
    unknown = summary.without_result > 0 and not condition.bounds("undecided")
    resting = ("kill", "survivors") if unknown else ()
    return condition.holds(lambda name: None if name in resting else summary.worth(name))


def read_suite_condition(text: str) -> Condition:
    """Read a condition on a suite.

    Raises:
        UserError: it is none; the message names the place.
    """
    return read_condition(text, _SHARES, _COUNTS, example="kill<0.8 or unreached>10")


def summarise_suite(
    inventory: Inventory,
    survey: TestSurvey,
    results: Sequence[FunctionResult],
    calls: Mapping[tuple[str, str], str] = MappingProxyType({}),
    forgeries: tuple[ForgeryShown, ...] = (),
) -> SuiteSummary:
    """What the results of all functions amount to, in the order of the tree.

    Args:
        inventory: of the tree.
        survey: of its tests.
        results: of its functions.
        calls: by place and mutant, a call that tells it from the original.
        forgeries: what patches that solve nothing are paid.
    """
    decided = [one for one in results if one.decided]
    modules: dict[str, list[FunctionResult]] = {}
    for one in decided:
        modules.setdefault(one.place.partition(":")[0], []).append(one)
    killers = {test for one in results for test in one.killers}
    killers |= {mutant.by for one in results for mutant in one.mutants if mutant.status in KILLED}
    run = dict.fromkeys(test for one in decided for test in one.tests)
    tree = inventory.tree
    return SuiteSummary(
        name=tree.name, version=tree.version, commit=tree.commit,
        functions=len(results),
        tests=len(survey.took),
        statuses=dict(Counter(mutant.status for one in results for mutant in one.counted)),
        whole=kill_share("all", decided) if decided else None,
        modules=_weakest_first(kill_share(name, within) for name, within in modules.items()),
        by_function=_weakest_first(kill_share(one.place, [one]) for one in decided),
        unreached=tuple(function.place for function in inventory.functions if function.seen is None),
        unmeasured={
            one.place: one.why_none or NONE_DECIDED
            for one, function in zip(results, inventory.functions, strict=True)
            if not one.decided and function.seen is not None
        },
        undecided=survey.undecided,
        idle=tuple(sorted(test for test in run if test not in killers)),
        survivors=tuple(_survivor(one, mutant, calls) for one in results for mutant in one.survivors),
        forgeries=forgeries,
    )  # fmt: skip


def kill_share(name: str, results: Sequence[FunctionResult]) -> KillShare:
    """The share over functions, which are its clusters; of one function its mutants are taken for independent."""
    killed, decided = [one.killed for one in results], [one.decided for one in results]
    if len(results) > 1:
        interval = cluster_interval(killed, decided, [str(place) for place in range(len(results))], decided)
        low, high = interval.low, interval.high
    else:
        low, high = wilson(sum(killed), sum(decided))
    return KillShare(name=name, killed=sum(killed), mutants=sum(decided), low=low, high=high)


def _weakest_first(shares: Iterable[KillShare]) -> tuple[KillShare, ...]:
    return tuple(sorted(shares, key=lambda one: (one.share, -one.mutants, one.name)))


def _survivor(one: FunctionResult, mutant: MutantResult, calls: Mapping[tuple[str, str], str]) -> Survivor:
    path = one.place.partition(":")[0]
    return Survivor(
        function=one.place, where=f"{path}:{mutant.line}", operator=mutant.operator, mutant=mutant.id,
        diff=difference(one.original, mutant.code), call=calls.get((one.place, mutant.id), ""),
    )  # fmt: skip


def difference(original: str, changed: str) -> str:
    """The lines in which two texts differ: of the first with ``-`` in front, of the second with ``+``."""
    lines = difflib.unified_diff(original.splitlines(), changed.splitlines(), n=0, lineterm="")
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def write_strength(results: Sequence[FunctionResult], summary: SuiteSummary, folder: Path) -> Path:
    """Write `STRENGTH` into a folder, in the order of the tree, and say where it lies."""
    survivors: dict[str, list[Survivor]] = {}
    for survivor in summary.survivors:
        survivors.setdefault(survivor.function, []).append(survivor)
    unmeasured = {**dict.fromkeys(summary.unreached, UNREACHED), **summary.unmeasured}
    shares = {share.name: share for share in summary.by_function}
    rows = [
        FunctionStrength(
            function=one.place,
            tests=len(one.tests),
            killed=one.killed,
            mutants=one.decided,
            low=shares[one.place].low if one.place in shares else None,
            high=shares[one.place].high if one.place in shares else None,
            survivors=tuple(survivors.get(one.place, ())),
            why_none=unmeasured.get(one.place, ""),
        )
        for one in results
    ]
    path = folder / STRENGTH
    write_content(path, b"".join(encode(row) + b"\n" for row in rows))
    return path
