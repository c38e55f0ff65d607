"""Problems whose answers are judged by a suite of unit tests."""

from __future__ import annotations

from typing import Literal

import msgspec


class SuiteTask(msgspec.Struct, frozen=True, kw_only=True, tag="suite"):
    """Write a function, class or module; the tests are a suite of unit tests that runs in its process."""

    prompt: str
    """The task as the data set words it: code to continue, or a description."""
    entry_point: str
    """The function or class that is asked for."""
    prefix: str = ""
    """Trusted code that stands before a body-only completion; else empty."""
    starter: str = ""
    """What the file to write holds at first: definitions without their work; else empty."""
    tests: str
    """Source of a module of `unittest` cases, or of functions that pytest collects."""
    framework: Literal["unittest", "pytest"] = "unittest"
    module: str = ""
    """Name by which the tests import the program; empty where both share one namespace, the program first."""
    files: dict[str, str] = {}
    """Text files that lie in the working directory, by relative path."""
    packages: tuple[str, ...] = ()
    """Third-party modules that tests or reference import."""
    security: str = ""
    """Source of further tests in the same form, of whether the program is secure; empty for none."""
    skipped: tuple[str, ...] = ()
    """Tests, as ``Class.test``, that the reference fails elsewhere than at its authors': left out, and marked, but
    by a harness that runs them."""
    processes: int = 0
    """Processes that the program may start where a profile allows none."""
    reference: str
    """A right program, complete."""
    cpu_s: float | None = None
    """CPU seconds this problem needs where a profile's ordinary limit is too low for the reference."""
