"""OpenRLHF: a reward function in a file.

    --reward.remote_url /path/to/site-packages/truegrade/apps/rewards/openrlhf.py

or, with no code in the trainer, the service's route: ``--reward.remote_url http://HOST:PORT/openrlhf``.
OpenRLHF/OpenRLHF@3c3be62 ``openrlhf/utils/agent.py`` ``_fetch_rewards_via_func`` calls it in a thread with one
reply in a list; a query is the prompt and the reply, with the tokenizer's special tokens. Settings of
`RewardGrader` come from the environment: ``TRUEGRADE_REWARD_URL`` and the like.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from truegrade.apps.rewards.grader import reward_grader
from truegrade.apps.rewards.records import PolicyReply, RewardError, reply_to
from truegrade.extraction.thinking import reply_behind


def reward_func(queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any]) -> dict[str, Any]:
    """Rewards of replies.

    Args:
        queries: prompts with their replies.
        prompts: of these.
        labels: the tests, see `truegrade.benchmarks.ground_truths.ground_truth`.

    Returns:
        ``rewards``, ``scores`` and ``extra_logs``: tensors with a number a reply.

    Raises:
        RewardError: nothing is known of a reply, which OpenRLHF logs as no reward.
    """
    import torch

    asked = [_policy_reply(*each) for each in zip(queries, prompts, labels, strict=True)]
    rewards = reward_grader().grade_sync(asked)
    values = torch.tensor([reward.known() for reward in rewards])
    rows = [reward.numbers for reward in rewards]
    logs = {name: torch.tensor([row[name] for row in rows]) for name in rows[0] if name != "score"}
    return {"rewards": values, "scores": values, "extra_logs": logs}


def _policy_reply(query: str, prompt: str, label: Any) -> PolicyReply:
    text = reply_behind(query, prompt)
    if text is None:
        raise RewardError("no reward: the query does not hold its prompt, so the reply is not known")
    return reply_to({}, text, ground_truth=label)
