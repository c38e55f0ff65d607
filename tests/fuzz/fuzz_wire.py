"""Targets that read what a program sends: frames, values on the way to a verdict, answers out of a live jail."""

from __future__ import annotations

import collections
import datetime
import decimal
import fractions
import itertools
import math
import tracemalloc
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from random import Random
from typing import Any

import msgspec
import numpy
from fuzz_target import OPENED, Target

from truegrade.grading import functions, repairs
from truegrade.grading.contests.separate import grade_separately
from truegrade.grading.contests.tests import Tests
from truegrade.grading.functions import expected_outputs, grade_by_oracle
from truegrade.grading.judgement import Judgement
from truegrade.grading.repairs import grade_repair
from truegrade.kinds.input_prediction import grade_input
from truegrade.records import Answer, Case, InputTask, OracleTask
from truegrade.sandbox import CallResult, Limits, Outcome, Sandbox
from truegrade.sandbox.decode import decode
from truegrade.sandbox.encode import encode
from truegrade.sandbox.frames import Inbox, message_of, pack
from truegrade.sandbox.limits import MIB
from truegrade.sandbox.wire import ValueTooLarge, WireError

TOKEN = b"T" * 16
"""Stands in an input for the token of the answer that is due."""
VALUE_BYTES = 1 << 16
SMALLEST_MESSAGE = 14
"""Bytes of a header and of a tuple that holds an empty text."""
BYTES_FOR_A_BYTE = 200
"""Memory that a byte of a message may become: an empty deque is 7 of them, and takes 760."""

_ATOMS: tuple[Any, ...] = (
    *(None, True, ..., NotImplemented, 0, -1, 3, 2**63, 10**5000, -(10**300), 0.0, -0.0, 2.5, math.nan, -math.inf),
    *(
        5e-324,
        1j,
        complex(math.nan, math.inf),
        "",
        "a",
        "\ud800\x1b[31m\n",
        "x" * 5000,
        b"",
        b"\xff",
        bytearray(b"a"),
    ),
    *(range(3), range(10**9), range(10**30), frozenset({1}), object(), {}.keys(), {1: 2}.items(), {1: 2}.values()),
    *(decimal.Decimal("1.10"), decimal.Decimal("NaN"), decimal.Decimal("1e999999"), fractions.Fraction(-3, 7)),
    *(datetime.date.max, datetime.datetime.min, datetime.time(1, 2, 3, 4), datetime.timedelta.max),
    *(datetime.datetime(2020, 1, 2, tzinfo=datetime.UTC), collections.Counter("aab"), collections.deque([1], 3)),
    *(numpy.float64(0.1), numpy.float16("nan"), numpy.str_("a"), numpy.datetime64("NaT"), numpy.arange(6.0)),
    *(numpy.ones((2, 3)), numpy.zeros((10**7, 0)), numpy.array(3), numpy.array([], dtype="<U1")),
)
_TAGS = [bytes([tag]) for tag in b"NTFe!ifcsbaltSZdOCDKVIQGrqMxyzwnU"]
_PIECES = (*_TAGS, TOKEN, *(encode(atom, MIB) for atom in _ATOMS), *(tag + b"\0\0\0\0" for tag in _TAGS))


def any_value(rng: Random, depth: int = 3) -> Any:
    """A value that a program can return, of any kind that travels."""
    if depth == 0 or rng.random() < 0.4:
        return rng.choice((*_ATOMS, *_ATOMS, itertools.count(), iter([3])))
    parts = [any_value(rng, depth - 1) for _ in range(rng.choice((0, 1, 2, 4)))]
    keys = [part for part in parts if type(part).__hash__ is not None and not isinstance(part, tuple)]
    kind = rng.choice((list, tuple, collections.deque, set, frozenset, dict, collections.OrderedDict))
    if kind in (list, tuple, collections.deque):
        return kind(parts)
    # The order of a larger set is another in every process.
    return kind(keys[:1]) if kind in (set, frozenset) else kind.fromkeys(keys, parts)


def messages(rng: Random) -> bytes:
    """One to three messages of a program, or values that are none."""
    kinds = ("value", "value", "ready", "raised", "failed", "digest", "end", "verdict")
    made = [(rng.choice(kinds), TOKEN, any_value(rng)) for _ in range(rng.randint(1, 3))]
    return b"".join(pack(message if rng.random() < 0.8 else any_value(rng), 1 << 28) for message in made)


@contextmanager
def in_proportion(data: bytes) -> Iterator[None]:
    """Fail where reading these bytes took more memory at once than their number allows."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= 2 * MIB + BYTES_FOR_A_BYTE * len(data), f"{peak} bytes of memory for {len(data)}"


def read_frames(data: bytes) -> None:
    """A stream in pieces of any length is messages or a WireError, in bounded memory and steps."""
    rng, inbox, arrived, at = Random(zlib.crc32(data)), Inbox(VALUE_BYTES), 0, 0
    with in_proportion(data), suppress(WireError):
        while at < len(data):
            step = rng.choice((1, 5, 100, 1 << 12, 1 << 16))
            inbox.feed(data[at : at + step])
            at += step
            while inbox.pop() is not None:
                arrived += 1
    assert arrived * SMALLEST_MESSAGE <= len(data)
    with suppress(WireError):
        assert type(message_of(data)[0]) is str


# -------------------------------------------------------------------------------------------------- grading

_RIGHT: tuple[Any, ...] = (3, [3], [1, 2.0, "a"], {"a": (1.5, None)}, True, [[1, 2], [3, 4]])
_REFERENCE = "reference"


class Answering(Sandbox):
    """A sandbox whose programs return one value; the reference returns the truth."""

    def answer(self, right: Any, data: bytes) -> None:
        """Return these from now on."""
        self._right, self._data = encode(right, MIB), data

    def call(
        self, program: str, function: str, calls: Sequence[Any], on_result: Callable[..., bool], **_: Any
    ) -> Outcome:
        """Answer until nobody asks for more."""
        status = "passed"
        try:
            for index in range(len(calls)):
                if not on_result(index, CallResult(self._right if program.startswith(_REFERENCE) else self._data)):
                    break
        except WireError:
            status = "tampering"
        except ValueTooLarge:
            status = "output_limit"
        return Outcome(status=status, detail="", cpu_s=0.0, wall_s=0.0)


@cache
def _answering() -> Answering:
    return OPENED.enter_context(Answering(workers=1))


def judgements(data: bytes) -> Iterator[Judgement]:
    """What every grader that compares values says of this one, under each of its rules."""
    for right in _RIGHT:
        jail = _answering()
        jail.answer(right, data)
        for name in functions.COMPARATORS:
            oracle = OracleTask(
                prompt="", entry_point="f", reference=_REFERENCE, comparator=name, atol=1e-6,
                base_inputs=(([1.0, -2.0],),) if name == "root" else ((12, 345),),
            )  # fmt: skip
            yield grade_by_oracle(name, oracle, "program", expected_outputs(), jail, min_cpu_s=1.0)
        for name in repairs.COMPARATORS:
            cases = (Case(arguments=(0.1,), expected=right),)
            suite = repairs.Suite(entry_point="f", cases=cases, comparator=name)
            yield grade_repair(suite, "program", jail, cpu_s=1.0)
        tests = Tests(inputs=("1",), outputs=(msgspec.json.encode(right).decode(),), function="f")
        yield grade_separately("program", tests, jail)
        predicted = InputTask(program="program", function="f", expected=repr(right), reference_arguments="1")
        yield grade_input(predicted, Answer(value="1", found=""), jail)


def read_value(data: bytes) -> None:
    """Bytes are a value or a WireError; a value is sent on as it came, and any grader gives a verdict on it."""
    sent = b""
    with in_proportion(data), suppress(WireError, RuntimeError):  # how an iterator that was cut off ends
        sent = encode(decode(data), 1 << 28)
    if sent:
        # Sets may be walked in another order.
        assert sorted(encode(decode(sent), 1 << 28)) == sorted(sent), "another value than was sent"
        for judgement in judgements(data):
            assert "\n" not in judgement.detail, "a detail of two lines"
            msgspec.json.encode(judgement)


# -------------------------------------------------------------------------------------------------- the jail

_HOSTILE = """
import os, sys, threading
def write(wait=0):
    frame = sys._getframe(1)
    while frame and "token" not in frame.f_locals:
        frame = frame.f_back
    data = {data!r}.replace({mark!r}, frame.f_locals["token"] if frame else b"")
    def later():
        if wait: threading.Event().wait(wait)
        for at in range(0, len(data), {step}): os.write(3, data[at:at + {step}])
    threading.Thread(target=later, daemon=True).start() if wait else later()
def leave(): os._exit(0)
ending = threading.Timer(0.1, leave)
ending.daemon = True
ending.start()
{moment}
"""
_MOMENTS = (
    "def f(n): return None\nwrite()",
    "def f(n): write()",
    "def f(n):\n    write()\n    leave()",
    "def f(n):\n    write(0.01)\n    threading.Event().wait(0.02)",
    "def f(n): return None\nwrite(0.005)",
    "def f(n):\n    write()\n    raise ValueError('a')",
)
_HONEST = "def f(n): return n * n + 1"


@cache
def _sandbox() -> Sandbox:
    limits = Limits(cpu_s=2, wall_s=5, memory_bytes=512 * MIB, output_bytes=MIB)
    return OPENED.enter_context(Sandbox(limits, workers=1, allow_unsafe=True))


def _called(program: str, number: int) -> str:
    values: list[Any] = []
    outcome = _sandbox().call(program, "f", [(number,)], lambda _, result: bool(values.append(result.value)))
    if outcome.status != "passed" or not values:
        return outcome.status  # a pass without an answer is as good as a right one
    return "passed" if type(values[0]) is int and values[0] == number * number + 1 else "wrong_answer"


def _judged(program: str, number: int) -> str:
    return _sandbox().judge(program, f"assert f({number}) == {number * number + 1}", ["f"]).status


def read_in_jail(data: bytes) -> None:
    """A program that writes this to its answers, as the first byte says, fails; the next one passes."""
    way, number = data[0] if data else 0, zlib.crc32(data)
    moment, step = _MOMENTS[way % len(_MOMENTS)], 7 if way & 64 else 1 << 16
    hostile = _HOSTILE.format(data=data[1 : 1 << 15], mark=TOKEN, step=step, moment=moment)
    run = _judged if way & 128 else _called
    assert (status := run(hostile, number)) not in ("passed", "grader_error"), status
    assert (status := run(_HONEST, number)) == "passed", f"the next honest program: {status}"


FRAMES = Target(read_frames, _PIECES, messages)
VALUES = Target(read_value, _PIECES, lambda rng: encode(any_value(rng), 1 << 28))
JAIL = Target(read_in_jail, _PIECES, lambda rng: bytes([rng.randrange(256)]) + messages(rng))
