"""``truegrade``: our own grading service, POST to ``/v1/grade`` (`truegrade.integrations.client.Client.grade`).

The problem travels with the request, so the tests need no other shape.
"""

from __future__ import annotations

from typing import Any

import msgspec

from truegrade.assay.targets.calls.base import Call, Post, ProbeQuestion
from truegrade.assay.targets.readings import SCORE, Reading, no_verdict
from truegrade.records import Reason
from truegrade.web.service.messages import GradeRequest, InlineProblem, Submission


def _ask(asked: ProbeQuestion, post: Post) -> Any:
    problem = InlineProblem(task=asked.problem.task, id=asked.problem.id, benchmark=asked.problem.benchmark)
    request = GradeRequest(completions=[Submission(text=asked.reply)], problem=problem)
    return post(msgspec.to_builtins(request) | asked.fields)


def _reading(value: Any) -> Reading:
    verdicts = value.get("verdicts") if isinstance(value, dict) else None
    if not verdicts or not isinstance(verdicts[0].get("passed"), bool):
        return Reading(None, None, no_verdict(SCORE, f"no verdict of the service: {value}"))
    first = verdicts[0]
    if first.get("reason") == Reason.GRADER_ERROR:
        return Reading(None, None, no_verdict(SCORE, f"grader_error: {first.get('detail')}"))
    return Reading(first["passed"], float(first["passed"]))


CALL = Call(name="truegrade", ask=_ask, reads=_reading, needs_tests=False)
