"""What hardening came to, in lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from truegrade.assay.hardening.exporting import rate_told
from truegrade.assay.hardening.running import Hardened
from truegrade.report import format as fmt

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
    for field, name in _SIDES:
        side = found.total(field)
        if side.programs:
            told = rate_told(side.after, side.programs)
            yield f"{name:36}{side.before:>7,} of {side.programs:,} accepted before, after {told}"
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
    for one in found.exported:
        left_out = sum(map(len, one.left_out.values()))
        yield (
            f"{one.file}, measured as written: {fmt.count(one.rows)} rows, {fmt.count(left_out)} left out;"
            f" right programs refused: {one.right.before - one.right.after} of {one.right.before};"
            f" stubs accepted: {one.stubs.after} of {one.stubs.programs}; wrong mutants, not used to choose:"
            f" {rate_told(one.held_out.after, one.held_out.programs)}"
        )
    yield from (f"wrote {path}" for path in found.files)
