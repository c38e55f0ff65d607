"""rLLM: an evaluator, and a reward function of the older form.

    AgentTrainer(..., evaluator=TruegradeEvaluator())

or by name, ``rllm eval BENCHMARK --evaluator truegrade``, with the settings of
`truegrade.apps.rewards.grader.RewardGrader` from the environment: ``TRUEGRADE_REWARD_URL`` and the like.

rllm-org/rllm@9beb6e0 ``rllm/types.py`` (``Evaluator``, ``Episode``), ``rllm/eval/types.py`` (``EvalOutput``) and
``rllm/rewards/reward_types.py`` (``RewardOutput``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from truegrade.apps.rewards.grader import reward_grader
from truegrade.apps.rewards.records import Reward, reply_to


class TruegradeEvaluator:
    """Grades the last reply of an episode.

    Args:
        settings: of `RewardGrader`.

    Raises:
        UserError: a setting is at fault.
    """

    def __init__(self, **settings: Any) -> None:
        reward_grader(**settings)
        self._settings = settings

    def evaluate(self, task: Any, episode: Any) -> Any:
        """An ``EvalOutput``.

        Args:
            task: a row, or rLLM's ``Task`` with the row as ``metadata``.
            episode: rLLM's ``Episode``, whose last step has the reply.

        Raises:
            RewardError: nothing is known of the reply; rLLM cannot leave one out.
        """
        from rllm.eval.types import EvalOutput, Signal

        row = task if isinstance(task, Mapping) else dict(getattr(task, "metadata", None) or {})
        said, finish_reason = _answer(episode)
        reward = _graded(row, said, self._settings, finish_reason)
        signals = [Signal(name=name, value=value) for name, value in reward.numbers.items()]
        return EvalOutput(
            reward=reward.known(), is_correct=bool(reward.passed), signals=signals, metadata=_facts(reward)
        )


def truegrade_reward(task_info: Mapping[str, Any], action: str, **settings: Any) -> Any:
    """A ``RewardOutput``, for what takes ``f(task_info, action)``; raises as `TruegradeEvaluator.evaluate`."""
    from rllm.rewards.reward_types import RewardOutput

    reward = _graded(task_info, action, settings)
    return RewardOutput(
        reward=reward.known(), is_correct=bool(reward.passed), metadata=_facts(reward) | reward.numbers
    )


def _graded(row: Mapping[str, Any], said: Any, settings: Mapping[str, Any], finish_reason: Any = None) -> Reward:
    (reward,) = reward_grader(**settings).grade_sync([reply_to(row, said, finish_reason=finish_reason)])
    return reward


def _facts(reward: Reward) -> dict[str, Any]:
    return {"reason": str(reward.reason), "detail": reward.detail, "marks": list(reward.marks)}


def _answer(episode: Any) -> tuple[str | list[str], str | None]:
    """What the agent said, in order, looked for where rLLM's own rewards look, and why the model stopped.

    ``rllm/eval/reward_fns/_helpers.py`` ``extract_answer_text``.
    """
    last = episode.trajectories[-1] if episode.trajectories else None
    steps = last.steps if last is not None else []
    finish_reason = getattr(steps[-1].model_output, "finish_reason", None) if steps else None
    if "answer" in episode.artifacts:
        return str(episode.artifacts["answer"]), finish_reason
    said = [step.model_response for step in steps]
    # Of a step that was a call of a tool (``rllm/harnesses/tool_calling.py``) the output is the tool's.
    said += [step.output for step in steps[-1:] if step.done or step.model_response]
    said += [last.output] if last is not None else []
    return [str(text) for text in said if text] or "", finish_reason
