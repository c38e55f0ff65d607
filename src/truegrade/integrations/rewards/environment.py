"""Settings of rewards in the environment, for trainers that hand a reward function no arguments of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from truegrade.errors import UserError

PREFIX = "TRUEGRADE_REWARD_"


def _on_error(text: str) -> str | float:
    return text if text in {"retry", "raise"} else float(text)


def _yes(text: str) -> bool:
    return bool(("0", "1").index(text))


READERS: Mapping[str, tuple[Callable[[str], Any], str]] = {
    "url": (str, ""),
    "token": (str, ""),
    "profile": (str, ""),
    "benchmark": (str, ""),
    "scheme": (str, ""),
    "on_error": (_on_error, "neither retry nor raise nor a number"),
    "retry_s": (float, "not a number of seconds"),
    "tampering": (float, "not a number"),
    "truncated": (str, ""),
    "tests_inside": (_yes, "neither 1 nor 0"),
    "workers": (int, "not a whole number"),
}
"""Arguments of `RewardGrader` that variables may give, how each is read, and what is said where it cannot be."""


def variable(name: str) -> str:
    """The environment variable of an argument of `RewardGrader`."""
    return PREFIX + name.upper()


def settings_of(environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Arguments of `RewardGrader` that the environment gives: ``TRUEGRADE_REWARD_URL`` and those of `READERS`.

    A variable that is empty gives nothing.

    Raises:
        UserError: a variable is not a number where one is needed, or none of that name is known.
    """
    names = {variable(name): name for name in READERS}
    found = {}
    for given in sorted(key for key in environ if key.startswith(PREFIX) and environ[key]):
        if given not in names:
            raise UserError(f"{given}: there is no such setting, only {', '.join(names)}")
        read, otherwise = READERS[names[given]]
        try:
            found[names[given]] = read(environ[given])
        except ValueError:
            raise UserError(f"{given}: {environ[given]!r} is {otherwise}") from None
    return found
