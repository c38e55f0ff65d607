"""What became of a run."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

from truegrade.patterns import pattern
from truegrade.sandbox import wire
from truegrade.sandbox.decode import UNBOUNDED, read
from truegrade.sandbox.encode import encode
from truegrade.sandbox.limits import Limits
from truegrade.sandbox.wire import Digest

BAND = 0.1
"""Part of a time limit, on either side of it, within which a run is repeated."""
NEAR = 0.5
"""Part of a time limit from which on the clock may have decided: beside others, or on another machine, the same
program takes up to twice as long."""
MAX_DETAIL = 500
LOST = "killed with the interpreter that forks programs"
"""Detail of a run whose zygote died under it, of whatever."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """How a run ended."""

    status: str
    """``passed`` or a failing value of `truegrade.records.Reason`."""
    detail: str
    """One line for a person."""
    cpu_s: float
    """CPU seconds, user and system, of the program's process and the descendants it waited for."""
    wall_s: float
    time_sensitive: bool = False
    """A time limit ended the run, or it used half of one or more: another machine may decide otherwise."""
    close: bool = False
    """The run ended within 10 % of a time limit, on either side, and is worth another."""
    stdout: str = ""
    """What a script wrote, undecodable bytes replaced; empty for every other way to run a program."""
    stderr: str = ""
    exit_code: int | None = None
    """Of a script: minus the signal, if one ended it; None if it was still running when the run ended."""

    @property
    def stopped_by_program(self) -> bool:
        """Whether tests that had seen the program could not go on: its doing, if they can on another."""
        return self.status == wire.GRADER_ERROR and self.detail.startswith(wire.CANNOT_GO_ON)


MAX_VALUE_MEMORY = 96 << 20
"""Bytes of memory that a value may take in the process that supervises programs."""
SMALL_BYTES = 1 << 16
"""A value sent in so few bytes takes little memory and time, whatever is done with it."""
_SHORT = b"|".join(rb"\x%02x\0\0\0.{%d}" % (size, size) for size in range(33))
_PLAINLY_SOLID = pattern(
    rb"(?:f.{6}(?:[\x00-\xef].|.[^\x7f\xff])|[isb](?:%s)|[NTF]|[ltSZd].{4}){1,4096}" % _SHORT, re.DOTALL
)
"""Thousands of finite numbers and short texts, and of tables of them, as `truegrade.sandbox.wire` writes them:
seen through in a thirtieth of the time that it takes to rebuild them."""


@dataclass(frozen=True)
class CallResult:
    """What one call gave: a value, or the exception it raised.

    Values are looked at by way of `Sandbox.decide`, unless the program that returned them is trusted: what is done
    with one can take far more memory and time than the value. What `value` raises, in the function that is given
    results, ends the run as ``output_limit``.
    """

    encoded: bytes = b""
    """The value it returned, in the format of `truegrade.sandbox.wire`; empty if it gave none or only a digest."""
    error: str | None = None
    """``TypeName: message`` of the exception raised instead."""
    digest: Digest | None = None
    """Stands for a value that is too large to be sent."""
    known_solid: bool | None = field(default=None, compare=False)
    """`is_solid`, where it was found out before."""

    @property
    def value(self) -> Any:
        """Rebuilt from bytes that name no code: `Unsupported` if it cannot be; the digest; None if it raised.

        Raises:
            ValueTooLarge: it would take more than `MAX_VALUE_MEMORY`.
            WireError: the bytes are not what a program's process sends.
        """
        return self._read[0]

    @property
    def small(self) -> bool:
        """Whether it is safe to compare and to show; raises as `value` does."""
        return len(self.encoded) <= SMALL_BYTES and not self._read[1]

    @property
    def whole(self) -> Any:
        """The value without a bound: of trusted programs, and where a process has limits of its own."""
        return self._read_whole()[0]

    @cached_property
    def is_solid(self) -> bool:
        """Whether the value, which must be a trusted program's, equals its like; not so NaN and iterators."""
        if self.known_solid is not None:
            return self.known_solid
        return self._is_plainly_solid() or self._read_whole()[2]

    def _is_plainly_solid(self) -> bool:
        """Whether that is seen without rebuilding the value."""
        at = 0
        while found := _PLAINLY_SOLID.match(self.encoded, at):
            at = found.end()
        return at == len(self.encoded)

    def same_as(self, expected: CallResult) -> bool:
        """Whether this is what a trusted program returned, to the bit, and something that equals its like."""
        if self.digest is not None or expected.digest is not None:
            return self.digest == expected.digest
        return self.encoded == expected.encoded and expected.error is None and expected.is_solid

    @cached_property
    def _read(self) -> tuple[Any, bool, bool]:
        return self._read_within(MAX_VALUE_MEMORY)

    def _read_whole(self) -> tuple[Any, bool, bool]:
        # What a reference returned stays for all samples, and a list of floats takes four times its bytes.
        return self._small_whole if len(self.encoded) <= SMALL_BYTES else self._read_within(UNBOUNDED)

    @cached_property
    def _small_whole(self) -> tuple[Any, bool, bool]:
        return self._read_within(UNBOUNDED)

    def _read_within(self, max_memory: int) -> tuple[Any, bool, bool]:
        if self.encoded:
            return read(self.encoded, max_memory=max_memory)
        return self.digest, False, True

    @property
    def packed(self) -> tuple[bytes, bytes, bool]:
        """Of a trusted program's result, what `unpacked` makes it of again."""
        return self.encoded, b"" if self.digest is None else self.digest.sha256, self.is_solid

    @classmethod
    def unpacked(cls, encoded: bytes, digest: bytes, is_solid: bool) -> Self:
        """The result that was `packed`, which then need not be read for being compared with its like."""
        return cls(encoded, digest=Digest(digest) if digest else None, known_solid=is_solid)

    def __reduce__(self) -> tuple[Any, ...]:
        return CallResult, (self.encoded, self.error, self.digest)


def as_returned(value: object) -> bytes:
    """`CallResult.encoded` of a call that returns this value; empty if it is too large to be sent."""
    try:
        return encode(value, MAX_VALUE_MEMORY)
    except wire.ValueTooLarge:
        return b""


_ADDRESS = re.compile(r" at 0x[0-9a-f]+(?=>)")
"""Where an object lies in memory, as Python's own ``repr`` tells."""


class Stop(Exception):
    """Ends a run early.

    Args:
        status: of the outcome.
        detail: of the outcome.
    """

    def __init__(self, status: str, detail: str) -> None:
        super().__init__(status, detail)
        self.status, self.detail = status, detail


def death(code: int, last_words: str) -> Stop:
    """What it means that a program's process ended before it had answered.

    Args:
        code: exit code, or minus the number of the signal.
        last_words: the last line it wrote to stderr.
    """
    if code >= 0:
        return Stop(wire.RUNTIME_ERROR, f"the program ended the process (exit code {code})")
    try:
        name = signal.Signals(-code).name
    except ValueError:  # a real-time signal
        name = f"signal {-code}"
    if name == "SIGXCPU":
        return Stop(wire.TIME_LIMIT, "CPU seconds")
    return Stop(wire.KILLED, f"killed by {name}" + (f": {last_words}" if last_words else ""))


def conclude(stop: Stop, limits: Limits, cpu_s: float, wall_s: float) -> Outcome:
    """The outcome of a run that ended as ``stop`` says and used this much time.

    Whatever it answered, a run that went over a limit is one that the limit would have ended.

    Args:
        stop: how it ended.
        limits: of the run.
        cpu_s: CPU seconds; of several calls in processes of their own, of the longest.
        wall_s: wall seconds likewise, without those for which the program waited for a core, which are the
            machine's.
    """
    used = {"CPU": (cpu_s, limits.cpu_s), "wall": (wall_s, limits.wall_backstop_s)}
    close = any(abs(spent - limit) <= BAND * limit for spent, limit in used.values())
    over = [clock for clock, (spent, limit) in used.items() if spent > limit]
    if stop.status == wire.GRADER_ERROR:
        over = [clock for clock in over if clock == "CPU"]  # wall time is the tests' time as well
    status, detail = stop.status, stop.detail
    if over:
        status = wire.TIME_LIMIT
        detail = "over " + " and ".join(f"{used[clock][1]:g} {clock} seconds" for clock in over)
    return Outcome(
        status=status,
        detail=one_line(detail),
        cpu_s=cpu_s,
        wall_s=wall_s,
        time_sensitive=status == wire.TIME_LIMIT or any(spent >= NEAR * limit for spent, limit in used.values()),
        # One that the supervisor ended was past the band of a clock, and may never end.
        close=close and stop.status != wire.TIME_LIMIT,
    )


def one_line(text: str) -> str:
    """The text as a detail may be: one line, bounded, the same in every run, nothing that a terminal obeys or a
    file cannot hold."""
    line = _ADDRESS.sub("", " ".join(text[: 4 * MAX_DETAIL].split()))
    if line.isprintable():
        return line[:MAX_DETAIL]
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in line)[:MAX_DETAIL]
