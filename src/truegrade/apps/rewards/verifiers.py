"""verifiers (Prime Intellect): a reward that a task's configuration names, and a task that has it.

    [env.taskset.task.rewards]
    truegrade = { fn = "truegrade.apps.rewards.verifiers:reward", weight = 1.0 }

or ``class MyTask(TruegradeTask[MyData])``. PrimeIntellect-ai/verifiers@a60a606 ``verifiers/v1/task.py`` scores a
trace; an exception makes it a trace that is not scored. Settings of
`truegrade.apps.rewards.grader.RewardGrader` that are not given come from the environment:
``TRUEGRADE_REWARD_URL`` and the like. `truegrade.apps.rewards.verifiers_legacy` has a rubric of the older form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Generic

from truegrade.apps.rewards.grader import reward_grader
from truegrade.apps.rewards.records import reply_to
from truegrade.files.extras import importing

with importing("verifiers", __name__, "install it from https://github.com/PrimeIntellect-ai/verifiers"):
    import verifiers.v1 as vf
    from verifiers.v1.state import StateT
    from verifiers.v1.task import ConfigT, DataT


async def reward(task: Any, trace: Any, **settings: Any) -> float:
    """What a trace's last reply that holds an answer earns.

    The numbers that come with it are recorded as metrics ``truegrade_*`` of the trace, the reason in its ``info``:
    a hook of its own for each would grade the reply again.

    Args:
        task: verifiers' ``TaskData``; its field ``ground_truth``, ``tests``, ``answer``, ... holds the tests.
        trace: of the rollout.
        settings: of `RewardGrader`.

    Raises:
        RewardError: nothing is known of the reply: verifiers records the trace as not scored.
    """
    finish_reason = "length" if trace.is_truncated else None
    asked = reply_to(task.model_dump(), trace.assistant_messages, finish_reason=finish_reason)
    (found,) = await reward_grader(**settings).grade([asked])
    trace.info["truegrade"] = {"reason": str(found.reason), "detail": found.detail, "marks": [*found.marks]}
    value = found.known()
    trace.record_metrics({f"truegrade_{name}": number for name, number in found.numbers.items()})
    return value


class TruegradeTask(vf.Task[DataT, StateT, ConfigT], Generic[DataT, StateT, ConfigT]):  # type: ignore[misc]
    """A task whose reward is the verdict on the last reply."""

    settings: ClassVar[Mapping[str, Any]] = {}
    """Of `truegrade.apps.rewards.grader.RewardGrader`."""

    @vf.reward  # type: ignore[untyped-decorator]
    async def truegrade(self, trace: Any) -> float:
        """See `reward`."""
        return await reward(self.data, trace, **self.settings)
