"""``plain``: ``f(program, tests)`` returns a truth value or a number.

Over HTTP ``{"program", "tests"}`` is posted and a truth value, a number or ``{"score"}`` answered. A command
writes it as the last line of its stdout.
"""

from __future__ import annotations

from typing import Any

from truegrade.assay.targets.calls.base import Arguments, Call, Post, ProbeQuestion


def _arguments(asked: ProbeQuestion) -> Arguments:
    return (asked.program, asked.tests), dict(asked.fields)


def _ask(asked: ProbeQuestion, post: Post) -> Any:
    return post({"program": asked.program, "tests": asked.tests, **asked.fields})


CALL = Call(name="plain", arguments=_arguments, ask=_ask, command=True)
