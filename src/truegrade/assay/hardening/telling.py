"""What hardening came to, in lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from truegrade.assay.hardening.problem import AcceptedPrograms
from truegrade.assay.hardening.running import Hardened
from truegrade.report import format as fmt
from truegrade.statistics import wilson

_SIDES = (
    ("held_out", "wrong mutants, not used to choose"),
    ("seen", "wrong mutants, used to choose"),
    ("bugs", "labelled wrong programs"),
    ("right", "right programs, not used to choose"),
    ("labelled_right", "labelled right programs"),
)


def hardened_lines(found: Hardened) -> Iterator[str]:
    """A table of what the present and the new tests accept, then the files."""
    new = sum(len(line.tests) for line in found.lines)
    hardened = sum(bool(line.tests) for line in found.lines)
    yield (
        f"{found.benchmark}: {fmt.count(hardened)} of {fmt.count(len(found.lines))} problems have new tests,"
        f" {fmt.count(new)} in all, {found.median_tests:g} a problem (median)"
    )
    yield f"{'':36}{'programs':>9}{'accepted before':>17}{'after':>8}{'rate after (95 %)':>26}"
    for field, name in _SIDES:
        side = found.total(field)
        if side.programs:
            yield f"{name:36}{side.programs:>9,}{side.before:>17,}{side.after:>8,}{_rate(side):>26}"
    times = [(line.cpu_before_s, line.cpu_after_s) for line in found.lines if line.tests]
    before = sum(one for one, other in times if one is not None and other is not None)
    after = sum(other for one, other in times if one is not None and other is not None)
    if times:
        yield f"CPU of a right solution, all hardened problems: {before:.2f} s before, {after:.2f} s after"
    dropped = sum(len(line.dropped) for line in found.lines)
    if dropped:
        yield f"{fmt.count(dropped)} tests refused a right program and were left out; the manifest lists them"
    doubts = sum(bool(line.ambiguous) for line in found.lines)
    if doubts:
        yield f"{fmt.count(doubts)} problems have inputs on which references disagree; the manifest lists them"
    if found.left:
        yield f"{fmt.count(found.left)} problems are left; the same command goes on and then writes the files"
    yield from (f"wrote {path}" for path in found.files)


def _rate(side: AcceptedPrograms) -> str:
    low, high = wilson(side.after, side.programs)
    return f"{100 * side.after / side.programs:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"
