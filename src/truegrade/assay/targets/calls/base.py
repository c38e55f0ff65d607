"""What a way to call graders consists of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from truegrade.assay.targets.readings import SCORE, Reading, no_verdict, read
from truegrade.grading.tests_forms import TestsForm
from truegrade.records import Problem


class ProbeQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """One probe as graders are asked about it."""

    problem: Problem
    program: str
    """The probe as it is."""
    reply: str
    """The probe as a model would have answered: in a fence, unless it is a reply already."""
    tests: Any
    """In the shape that was asked for (`truegrade.grading.tests_forms`)."""
    form: TestsForm
    """That shape."""
    timeout_s: float
    fields: dict[str, Any]
    """What the user gives besides, or in place of what is made up here (``data_source``)."""


Arguments = tuple[tuple[Any, ...], dict[str, Any]]
"""Those by place, and those by name, of which a function gets what it takes."""
Post = Callable[[dict[str, Any]], Any]
"""Sends a JSON object to the address of a grader and returns the JSON value that it answers."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A way to call graders; None where a grader of that kind is not called so."""

    name: str
    arguments: Callable[[ProbeQuestion], Arguments] | None = None
    """Of a Python function."""
    ask: Callable[[ProbeQuestion, Post], Any] | None = None
    """Over HTTP."""
    command: bool = False
    """Whether commands are."""
    reads: Callable[[Any], Reading] = read
    """What an answer means; may raise where it has another shape."""
    tests_as: TestsForm = "asserts"
    """Shape of the tests where the user asks for none."""
    needs_tests: bool = True
    """Whether they are sent in a shape at all."""

    def reading(self, value: Any) -> Reading:
        """What the answer means, of which nothing is known but that it is plain values; never raises."""
        try:
            return self.reads(value)
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            return Reading(
                None, None, no_verdict(SCORE, f"an answer that cannot be read ({type(error).__name__})")
            )


def sources(problem: Problem) -> dict[str, Any]:
    """Fields of data sets that name a problem."""
    return {"task_id": problem.id, "data_source": problem.benchmark}
