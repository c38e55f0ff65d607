"""Where data sets keep tests, and messages keep a reply: what the adapters to trainers share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from truegrade.integrations.rewards.records import PolicyReply

TRUTHS = ("ground_truth", "verification_info", "unit_tests", "test_cases", "tests", "answer", "solution", "label")
"""Columns that hold tests, the first that a row has counts: verl and SkyRL, open-r1, NeMo Gym, and data sets of
the Hub under the other names."""
NAMES = ("problem_id", "task_id", "question_id", "id")
"""Columns that name a problem."""


def reply_to(row: Mapping[str, Any], text: str, **given: Any) -> PolicyReply:
    """A reply, and what its row says of the problem.

    Args:
        row: of the trainer's data set.
        text: the reply.
        given: fields of `PolicyReply` that are known otherwise; those that are None are looked for in the row.
    """
    found: dict[str, Any] = {
        "ground_truth": next((row[name] for name in TRUTHS if row.get(name) is not None), None),
        "problem_id": next((str(row[name]) for name in NAMES if row.get(name) is not None), None),
        "entry_point": row.get("entry_point") or row.get("fn_name"),
    }
    return PolicyReply(text=text, **(found | {name: value for name, value in given.items() if value is not None}))


def text_of(completion: Any) -> str:
    """The text of a completion: a text, or messages of which the last one counts."""
    if isinstance(completion, str):
        return completion
    last = completion[-1] if isinstance(completion, list) and completion else completion
    content = last.get("content") if isinstance(last, Mapping) else getattr(last, "content", None)
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if isinstance(part, Mapping))
    return str(content or "")
