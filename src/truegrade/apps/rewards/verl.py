"""verl: a custom reward function, ``compute_score``.

    reward.custom_reward_function.path=pkg://truegrade.apps.rewards.verl
    reward.custom_reward_function.name=compute_score
    +reward.custom_reward_function.reward_kwargs.url=http://127.0.0.1:8080

verl-project/verl@1dda039 ``verl/trainer/ppo/reward.py`` loads it and
``verl/experimental/reward_loop/reward_manager/naive.py`` awaits it, a reply at a time from every reward worker;
calls that are under way together become one batch. The numbers besides ``score`` are logged by verl as
``reward_extra_info``; it reads the keys of the first reply from all, so they are always the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from truegrade.apps.rewards.grader import reward_grader
from truegrade.apps.rewards.records import reply_to

_OF_VERL = frozenset({"reward_router_address", "reward_model_tokenizer"})
"""What verl adds for reward models (``naive.py``)."""


async def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    **settings: Any,
) -> dict[str, float]:
    """The reward of one reply.

    Args:
        data_source: of the row; not used.
        solution_str: the reply.
        ground_truth: tests, see `truegrade.benchmarks.ground_truths.ground_truth`.
        extra_info: of the row; ``entry_point`` names the function where the tests do not, ``problem_id`` a problem
            of ``benchmark``.
        settings: of `truegrade.apps.rewards.grader.RewardGrader`.

    Returns:
        ``score``, ``acc``, ``pass_rate``, ``tampering``, ``grader_error`` and ``truncated``.

    Raises:
        RewardError: nothing is known of the reply. verl cannot leave one out, so its step ends.
    """
    grader = reward_grader(**{name: value for name, value in settings.items() if name not in _OF_VERL})
    (reward,) = await grader.grade([reply_to(extra_info or {}, solution_str, ground_truth=ground_truth)])
    reward.known()
    return reward.numbers
