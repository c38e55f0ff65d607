"""The roles of micro-repair: draws from seeds, disjoint by name and by program."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from truegrade.benchmarks import load_benchmark
from truegrade.evolution.repair_problems import repair_of
from truegrade.evolution.roles import Roles
from truegrade.records import Problem, sha256_json

BENCHMARK = "micro-repair"
_TRAINED = ("seen-unseen",)
_UNSEEN = ("seen-unseen", "unseen-unseen")
_SEEN = ("seen-seen", "unseen-seen")
"""Splits of the benchmark, programs then bug classes, by whether pre-training showed the class."""
_SPARE_PART = 8
"""One item in so many is drawn to spare, for those that another role has."""
_SEED_CHARS = 15
"""Hexadecimal digits of a seed: below the benchmark's limit of 63 bits."""


class MicroSizes(msgspec.Struct, frozen=True, kw_only=True):
    """Items of each role."""

    train: int = 96
    selection: int = 64
    final: int = 200
    forgetting: int = 100
    pool: int = 0
    replay: int = 0


def micro_roles(seed: int, sizes: MicroSizes | None = None) -> Roles:
    """Train, select and report on bug classes that pre-training never showed; forgetting on those it did.

    No two roles share a function's name, a correct program or a buggy one. Selection and final have seen and
    unseen programs in turn. The same seed gives the same roles on every machine.

    Raises:
        UserError: a size is out of range.
    """
    sizes = sizes or MicroSizes()
    taken: set[str] = set()
    drawn: dict[str, tuple[Problem, ...]] = {}
    for role, splits, size in (
        ("final", _UNSEEN, sizes.final),
        ("selection", _UNSEEN, sizes.selection),
        ("train", _TRAINED, sizes.train),
        ("forgetting", _SEEN, sizes.forgetting),
        ("pool", _TRAINED, sizes.pool),
        ("replay", _SEEN, sizes.replay),
    ):
        drawn[role] = tuple(_draw(role, splits, size, seed, frozenset(taken)))
        for problem in drawn[role]:
            taken |= _marks(problem)
    note = f"drawn from seed {seed}; no two roles share a name, a correct program or a buggy one"
    return Roles(benchmark=BENCHMARK, notes=(note,), **drawn)


def _draw(role: str, splits: tuple[str, ...], size: int, seed: int, taken: frozenset[str]) -> Iterator[Problem]:
    """Items of the splits in turn, none of whose names and programs are taken."""
    enough = size // len(splits) + size // _SPARE_PART + 1
    streams = [_stream(role, split, seed, enough) for split in splits]
    for number in range(size):
        stream = streams[number % len(streams)]
        found = next(problem for problem in stream if not _marks(problem) & taken)
        yield msgspec.structs.replace(found, id=f"{BENCHMARK}/{role}/{number}")


def _stream(role: str, split: str, seed: int, enough: int) -> Iterator[Problem]:
    """Items of a split without end, as many at first as are likely to do.

    A larger set begins with the smaller one, so more can be drawn and the first ones left out.
    """
    begin = int(sha256_json([BENCHMARK, role, split, seed])[:_SEED_CHARS], 16)
    given = 0
    while True:
        args = {"split": split, "seed": str(begin), "size": str(enough)}
        yield from load_benchmark(BENCHMARK, args=args).problems[given:]
        given, enough = enough, 2 * enough


def _marks(problem: Problem) -> set[str]:
    """What no other role may have: the name and both programs."""
    repair = repair_of(problem)
    return {repair.name, *repair.programs}
