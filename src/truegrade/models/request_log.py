"""What is logged of requests: model, status, seconds, attempt; never a key, and no text of prompts or replies."""

from __future__ import annotations

import logging

from truegrade.records import Attempt

_log = logging.getLogger(__name__)


def log_attempt(model: str, number: int, attempt: Attempt) -> None:
    """One request and what came of it.

    Args:
        model: ``provider/name``.
        number: of the request among those for one sample, from 1.
        attempt: its record; its error has no key in it.
    """
    status = "" if attempt.status is None else f" HTTP {attempt.status}"
    seconds = "" if attempt.latency_s is None else f" in {attempt.latency_s:.2f} s"
    error = "" if attempt.error is None else f": {attempt.error}"
    _log.debug("%s, attempt %d: %s%s%s%s", model, number, attempt.outcome, status, seconds, error)


def log_wait(model: str, wait_s: float, failure: str) -> None:
    """A failure that may pass, and how long is waited before the next attempt."""
    _log.info("%s: %s; the next attempt follows in %.1f s", model, failure, wait_s)


def log_unreached(model: str, base_url: str, attempts: int, failure: str) -> None:
    """No connection was ever made: half a minute of attempts is long where the address is wrong."""
    _log.warning("%s at %s: %s; trying again, %d times in all", model, base_url, failure, attempts)


def log_adapted(model: str, adaptations: tuple[str, ...]) -> None:
    """The service did not take a parameter as asked; the last of these says what is sent instead."""
    if adaptations:
        _log.info("%s does not take a parameter as asked: %s", model, adaptations[-1])
