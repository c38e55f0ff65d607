"""Failures of workers as text, because not every exception can be sent between processes."""

from __future__ import annotations

import traceback
from typing import Literal

import msgspec

from truegrade.errors import ModelError, SandboxError, TruegradeError, UserError


class ExceptionRecord(msgspec.Struct, frozen=True):
    """An exception as plain data."""

    kind: Literal["user", "model", "sandbox", "bug"]
    text: str


def in_words(error: Exception) -> ExceptionRecord:
    """An exception, ready to be sent; of one that is not ours, the whole traceback."""
    if isinstance(error, UserError):
        return ExceptionRecord("user", str(error))
    if isinstance(error, ModelError):
        return ExceptionRecord("model", str(error))
    if isinstance(error, SandboxError):
        return ExceptionRecord("sandbox", str(error))
    return ExceptionRecord("bug", "".join(traceback.format_exception(error)))


def as_error(failure: ExceptionRecord) -> Exception:
    """The exception to raise where the worker's work is waited for."""
    kinds: dict[str, type[TruegradeError]] = {"user": UserError, "model": ModelError, "sandbox": SandboxError}
    if failure.kind in kinds:
        return kinds[failure.kind](failure.text)
    return RuntimeError(f"a worker process failed:\n{failure.text}")
