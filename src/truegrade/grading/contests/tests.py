"""The tests of a contest problem, decoded without running anything of the data set.

LiveCodeBench/LiveCodeBench@28fef95 ``lcb_runner/benchmarks/code_generation.py`` takes a field of tests for JSON
and, where it is none, for base64 of a zlib-compressed pickle of JSON text; public tests come before private ones.
It unpickles with `pickle.loads`, which lets a row run code. Here the pickle is read opcode by opcode: one text and
nothing else.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import json
import pickletools
import zlib
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from truegrade.errors import UserError
from truegrade.files.json_text import convert
from truegrade.files.unpacking import InflationMeter, UnpackedTooLarge, unpack, zlib_stream
from truegrade.records import ContestTask, FileSpan

MOST_BYTES = 1 << 30
"""Tests that decompress to more are refused: no published problem comes near."""
FREE_BYTES = 1 << 26
"""Tests that decompress to less are read however dense they are: long lists of one number are like a bomb."""

_TEXT = frozenset({"SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE"})
_AROUND = frozenset({"PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "STOP"})
_KEPT = 4
"""Problems whose decoded tests are kept: samples of one problem are graded close together."""


class UndecodableTests(UserError):
    """A problem's tests cannot be read; never a verdict on a program."""


class Tests(msgspec.Struct, frozen=True, kw_only=True):
    """What a grader is given, public tests first; perhaps none."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    function: str | None
    """Method to call; None for programs on stdin."""
    or_outputs: tuple[str | None, ...] = ()
    """JSON that counts as well, test by test; of methods, where any test has such."""

    @property
    def entry_point(self) -> str | None:
        """The method; None for programs on stdin."""
        return self.function


class _Test(msgspec.Struct, frozen=True):
    input: str
    output: str
    testtype: str = "stdin"
    or_output: str | None = None


@lru_cache(maxsize=_KEPT)
def decode(task: ContestTask, *, lenient: bool = False) -> Tests:
    """The tests of a problem.

    Args:
        task: the problem.
        lenient: read a part that cannot be decoded as no tests, as the fork af0ac9f7 of lm-evaluation-harness
            does (``lm_eval/tasks/livecodebench/utils.py``).

    Raises:
        UndecodableTests: a part is no list of tests, or its file is gone or changed.
    """
    found: list[_Test] = []
    for part, field in ((task.public_tests, "public_test_cases"), (task.private_tests, "private_test_cases")):
        try:
            found += _read(part, field)
        except UndecodableTests:
            if not lenient:
                raise
    return Tests(
        inputs=tuple([test.input for test in found]),
        outputs=tuple([test.output for test in found]),
        function=task.function,
        or_outputs=tuple([test.or_output for test in found]) if any(test.or_output for test in found) else (),
    )


def public_kinds(task: ContestTask) -> frozenset[str]:
    """The values of ``testtype`` among the public tests, which no grader looks at; none where undecodable."""
    try:
        return frozenset(test.testtype for test in _read(task.public_tests, "public_test_cases"))
    except UndecodableTests:
        return frozenset()


def stored_text(private_tests: str | FileSpan) -> str:
    """The private tests as their row stores them.

    Raises:
        UndecodableTests: the file they lie in is gone or was changed.
    """
    if isinstance(private_tests, str):
        return private_tests
    place = f"{private_tests.path}, byte {private_tests.offset}"
    try:
        with Path(private_tests.path).open("rb") as file:
            file.seek(private_tests.offset)
            line = file.read(private_tests.length)
    except OSError as error:
        raise UndecodableTests(f"{place}: cannot be read: {error.strerror or error}; restore the file") from None
    # Offsets are of the file as it was loaded: another file in its place would give another problem's tests.
    if hashlib.sha256(line).hexdigest() != private_tests.sha256:
        raise UndecodableTests(f"{place}: the row was changed since it was loaded; start again")
    text: str = json.loads(line)["private_test_cases"]
    return text


def _read(stored: str | FileSpan, field: str) -> list[_Test]:
    """Every test of one field.

    Only the private field may be packed upstream; a packed public field is an error there.
    """
    text = stored_text(stored)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        if field == "public_test_cases":
            raise UndecodableTests(f"{field} is no JSON; get the data set again") from None
        value = _unpacked(text, field)
    try:
        return convert(value, list[_Test])
    except msgspec.ValidationError as error:
        raise UndecodableTests(f"{field} is no list of tests: {error}; get the data set again") from None


def _unpacked(text: str, field: str) -> Any:
    try:
        source = io.BytesIO(base64.b64decode(text.encode("utf-8")))
        meter = InflationMeter("problem's tests", free=FREE_BYTES, most=MOST_BYTES)
        return json.loads(pickled_text(b"".join(unpack(source.read, zlib_stream, meter))))
    except UnpackedTooLarge as error:
        raise UndecodableTests(f"{field}: {error}; get the data set again") from None
    except (binascii.Error, zlib.error, EOFError, ValueError, RecursionError) as error:
        raise UndecodableTests(
            f"{field} is neither JSON nor a packed text ({error}); get the data set again"
        ) from None


def pickled_text(packed: bytes) -> str:
    """The text that a pickle of one text holds; no opcode is ever carried out.

    Raises:
        ValueError: it is damaged, or holds anything but one text.
    """
    texts = []
    # `pickle.loads` would call whatever a row names; `genops` only reads.
    for opcode, argument, _ in pickletools.genops(packed):
        if opcode.name in _TEXT:
            texts.append(argument)
        elif opcode.name not in _AROUND:
            raise ValueError(f"its pickle holds {opcode.name}, where only a text may be")
    if len(texts) != 1 or not isinstance(texts[0], str):
        raise ValueError(f"its pickle holds {len(texts)} texts, not one")
    return texts[0]


def decoded(text: str, most_digits: int | None = None) -> Any:
    """JSON, whatever the number of digits of its integers, or up to so many.

    Raises:
        ValueError: the text is no JSON, or an integer has more digits.
        RecursionError: it is nested too deeply.
    """

    def integer(digits: str) -> int:
        if most_digits is not None and len(digits) > most_digits:
            raise ValueError(f"an integer of over {most_digits:,} digits")
        return int(Decimal(digits))

    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:  # an integer of more digits than this interpreter converts
        # `int` refuses texts of more than 4,300 digits; a Decimal has no such limit.
        return json.loads(text, parse_int=integer)
