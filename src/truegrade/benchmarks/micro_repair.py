"""micro-repair: functions of one bug, made by a grammar that `truegrade-micro` saw a part of in training.

The set is drawn when it is loaded, from a seed. Its items carry two tags, ``program`` and ``bug``, each ``seen``
or ``unseen``: whether programs of that kind, and bugs of that class, were shown in training. No item was, not
even a seen program with a seen bug class: those in which both are seen are reserved by their hash
(`truegrade.builders.repair_items`). The words are those of the QuixBugs prompt.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path

from truegrade.benchmarks.base import Benchmark, BenchmarkSpec, check_arguments, choice, whole_number
from truegrade.builders.repair_items import RepairItem, draw_item, is_reserved
from truegrade.builders.repair_programs import SEEN, UNSEEN, Bug, GeneratedProgram
from truegrade.errors import UserError
from truegrade.records import FunctionTask, Problem, sha256_json

NAME = "micro-repair"
SPLITS = ("all", "seen-seen", "seen-unseen", "unseen-seen", "unseen-unseen")
"""Programs, then bug classes."""

_ARGS = {
    "split": "programs, then bug classes: seen-seen, seen-unseen, unseen-seen, unseen-unseen; default all in turn",
    "size": "how many items (default 200)",
    "seed": "of the draw (default 0)",
}
_LARGEST = 20_000


def load(data: Path | None, args: Mapping[str, str]) -> Benchmark:
    """Draw the items; the same arguments give the same items on every machine.

    Raises:
        UserError: an argument is not known or out of range, or a file is given.
    """
    check_arguments(NAME, args, _ARGS)
    if data is not None:
        raise UserError(
            f"{NAME} is drawn from a seed and reads no file: leave out `data`, or see its argument seed"
        )
    split = choice(args, "split", SPLITS)
    size = whole_number(args, "size", 200, range(1, _LARGEST + 1))
    seed = whole_number(args, "seed", 0, range(2**63))
    problems = _problems(split, size, seed)
    return Benchmark(
        name=NAME,
        problems=problems,
        dataset_sha256=problems[0].dataset_sha256,
        source=f"drawn: split {split}, size {size}, seed {seed}",
        args=dict(args),
    )


@lru_cache(16)  # drawing 200 takes seconds; who asks, grades and reports loads them, and an evolution ten parts
def _problems(split: str, size: int, seed: int) -> tuple[Problem, ...]:
    items = list(_items(split, size, seed))
    digest = sha256_json(items)
    return tuple(problem_of(number, item, digest) for number, item in enumerate(items))


def _items(split: str, size: int, seed: int) -> Iterator[RepairItem]:
    """Items of the split, or of the four in turn; each differs from all others, and none is for training."""
    rng = random.Random(f"{NAME} {seed}")
    splits = SPLITS[1:] if split == "all" else (split,)
    drawn: set[str] = set()
    while len(drawn) < size:
        programs, _, bugs = splits[len(drawn) % len(splits)].partition("-")
        wanted = partial(_belongs, programs == "seen", bugs == "seen")
        item = draw_item(rng, SEEN if bugs == "seen" else UNSEEN, wanted)
        if item.identity not in drawn:
            drawn.add(item.identity)
            yield item


def _belongs(seen_program: bool, seen_bug: bool, program: GeneratedProgram, bug: Bug) -> bool:
    """Whether a pair is of a split; where training may show both, it must be one of those reserved."""
    if program.seen is not seen_program:
        return False
    return not (seen_program and seen_bug) or is_reserved(program, bug.source)


def problem_of(number: int, item: RepairItem, digest: str) -> Problem:
    """An item as a problem of this benchmark.

    Args:
        number: its place in the set.
        item: what is to be repaired.
        digest: hash of the set.
    """
    program = item.program
    tests = "\n".join(
        f"assert {program.name}({', '.join(map(repr, arguments))}) == {expected}"
        for arguments, expected in zip(item.calls, item.expected, strict=True)
    )
    return Problem(
        id=f"{NAME}/{number}",
        benchmark=NAME,
        dataset_sha256=digest,
        cluster=program.identity[:16],
        task=FunctionTask(
            prompt=program.words,
            entry_point=program.name,
            tests=tests,
            reference=program.source,
            buggy=item.buggy,
        ),
        tags={
            "program": _seen_or_unseen(program.seen),
            "bug": _seen_or_unseen(item.seen_bug),
            "mutation": item.kind,
        },
    )


def _seen_or_unseen(seen: bool) -> str:
    return "seen" if seen else "unseen"


MICRO_REPAIR = BenchmarkSpec(
    name=NAME,
    summary="Repair a small function with one bug; its name says what it is to do. Made from a seed.",
    tasks="repair",
    size=None,
    licence="Apache-2.0 (generated)",
    citation="ours; prompt: the QuixBugs prompt of the CORAL-X description",
    load=load,
    args=_ARGS,
)
