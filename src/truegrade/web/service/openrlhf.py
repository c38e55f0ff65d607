"""``/openrlhf``: OpenRLHF's remote reward.

Shapes: OpenRLHF/OpenRLHF@3c3be62 openrlhf/utils/agent.py ``_fetch_rewards_via_http``. That client sends one reply
in lists of one, tries five times a second apart whatever the error, and then has no reward. So what cannot be
graded is answered with an error, never with 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from truegrade.benchmarks.ground_truths.ground_truth import read_ground_truth
from truegrade.extraction.thinking import reply_behind
from truegrade.grading.marks import TAMPERING
from truegrade.records import Reason, Verdict
from truegrade.web.http_refusals import Refusal, unprocessable
from truegrade.web.service.messages import InlineProblem, Submission

HOLD_S = 170.0
"""The client waits 180 seconds."""
Numbers = float | list[float]
"""One number of one query, as a reward function in a file gives it; else one each."""


class OpenRLHFRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Replies to be rewarded."""

    query: list[str]
    """Prompt and reply, special tokens included."""
    prompts: list[str]
    labels: list[Any]
    """The ground truth of each; see `truegrade.benchmarks.ground_truths.ground_truth`."""


class OpenRLHFResponse(msgspec.Struct, frozen=True, kw_only=True):
    """1.0 for a right reply, 0.0 for a wrong one."""

    rewards: Numbers
    scores: Numbers
    """The same, for dynamic sampling."""
    extra_logs: dict[str, Numbers]


def asked(request: OpenRLHFRequest) -> list[tuple[InlineProblem, Submission]]:
    """Problem and reply of each query.

    Raises:
        Refusal: the lists differ in length, a query does not hold its prompt, or a label is no ground truth.
    """
    if not len(request.query) == len(request.prompts) == len(request.labels):
        words = f"{len(request.query)} queries, {len(request.prompts)} prompts and {len(request.labels)} labels"
        raise unprocessable(f"{words}; send as many of each", "query")
    found = []
    for number, (query, prompt, label) in enumerate(
        zip(request.query, request.prompts, request.labels, strict=True)
    ):
        truth = read_ground_truth(label)
        if truth.task is None:
            raise unprocessable(truth.why_not, f"labels[{number}]")
        reply = reply_behind(query, prompt)
        if reply is None:
            raise unprocessable("it does not hold its prompt, so the reply is not known", f"query[{number}]")
        found.append((InlineProblem(task=truth.task), Submission(text=reply)))
    return found


def response(verdicts: Sequence[Verdict]) -> OpenRLHFResponse:
    """The rewards.

    Raises:
        Refusal: 500, the grader failed on one, and nothing is known of it.
    """
    for number, verdict in enumerate(verdicts):
        if verdict.reason is Reason.GRADER_ERROR:
            words = f"it could not be graded: {verdict.detail}"
            raise Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, words, field=f"query[{number}]")
    rewards = _numbers([float(verdict.passed) for verdict in verdicts])
    tampering = _numbers([float(TAMPERING in verdict.marks) for verdict in verdicts])
    return OpenRLHFResponse(rewards=rewards, scores=rewards, extra_logs={"tampering": tampering})


def _numbers(values: list[float]) -> Numbers:
    return values[0] if len(values) == 1 else values
