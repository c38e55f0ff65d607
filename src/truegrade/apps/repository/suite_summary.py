"""What an assay of a repository's tests concludes: shares with intervals, and which tests decide nothing."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from truegrade.apps.repository.build import Inventory
from truegrade.apps.repository.strength import KILLED, FunctionResult, MutantResult, TestSurvey
from truegrade.errors import UserError
from truegrade.statistics.conditions import Condition, read_condition
from truegrade.statistics.intervals import cluster_interval, wilson

SUMMARY = "strength.json"
"""What an assay of a repository's tests concludes; such a folder is known by it."""
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
    test: str = ""
    """Name of the added test that refuses it; empty where there is none."""


class AddedTests(msgspec.Struct, frozen=True, kw_only=True):
    """The tests written for survivors."""

    tests: int = 0
    killed: int = 0
    """Survivors that one refuses."""
    held_out: int = 0
    """Survivors, each of which once had no part in the choice of calls."""
    told_apart: int = 0
    """Of these, those that some call tried tells from the original."""
    held_out_killed: int = 0
    """Of these, those that the calls chosen without them refuse."""
    rewritings: int = 0
    rewritings_refused: int = 0
    """Behaviour-preserving rewritings tried, and those that a test refuses."""
    left_out: dict[str, int] = {}
    """Why functions with survivors got none, and how many."""


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
    added: AddedTests = AddedTests()
    forgeries: tuple[ForgeryShown, ...] = ()

    def worth(self, name: str) -> float | None:
        """What a name in a condition stands for."""
        if name == "kill":
            return None if self.whole is None else self.whole.share
        if name == "forgeable":
            return sum(any(one.believed.values()) for one in self.forgeries)
        found: Mapping[str, Sequence[object] | Mapping[str, str]] = {
            "survivors": self.survivors,
            "unreached": self.unreached,
            "idle": self.idle,
            "undecided": self.undecided,
        }
        return len(found[name])


def read_suite_condition(text: str) -> Condition:
    """Read a condition on a suite.

    Raises:
        UserError: it is none; the message names the place.
    """
    return read_condition(text, _SHARES, _COUNTS, example="kill<0.8 or unreached>10")


def open_suite(folder: Path) -> SuiteSummary:
    """What an assay in a folder concluded.

    Raises:
        UserError: it is not finished, or of another version.
    """
    try:
        return msgspec.json.decode((folder / SUMMARY).read_bytes(), type=SuiteSummary)
    except (OSError, msgspec.DecodeError) as error:
        raise UserError(f"{folder / SUMMARY}: cannot be read: {error}; measure again into this folder") from None


def summarise_suite(inventory: Inventory, survey: TestSurvey, results: Sequence[FunctionResult]) -> SuiteSummary:
    """What the results of all functions amount to, in the order of the tree."""
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
        statuses=dict(Counter(mutant.status for one in results for mutant in one.mutants)),
        whole=kill_share("all", decided) if decided else None,
        modules=_weakest_first(kill_share(name, within) for name, within in modules.items()),
        by_function=_weakest_first(kill_share(one.place, [one]) for one in decided),
        unreached=tuple(function.place for function in inventory.functions if function.seen is None),
        unmeasured={
            one.place: one.why_none or "no mutant of it was decided"
            for one, function in zip(results, inventory.functions, strict=True)
            if not one.decided and function.seen is not None
        },
        undecided=survey.undecided,
        idle=tuple(sorted(test for test in run if test not in killers)),
        survivors=tuple(_survivor(one, mutant) for one in results for mutant in one.survivors),
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


def _survivor(one: FunctionResult, mutant: MutantResult) -> Survivor:
    path = one.place.partition(":")[0]
    return Survivor(
        function=one.place, where=f"{path}:{mutant.line}", operator=mutant.operator, mutant=mutant.id,
        diff=difference(one.original, mutant.code),
    )  # fmt: skip


def difference(original: str, changed: str) -> str:
    """The lines in which two texts differ: of the first with ``-`` in front, of the second with ``+``."""
    lines = difflib.unified_diff(original.splitlines(), changed.splitlines(), n=0, lineterm="")
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))
