"""``rllm``: ``f(task_info, action)`` returns an object with ``reward`` and ``is_correct``.

rllm-org/rllm@9beb6e0 ``rllm/rewards/code_reward.py`` ``RewardCodeFn.__call__``, which chooses its rule by
``data_source``.
"""

from __future__ import annotations

from truegrade.assay.targets.calls.base import Arguments, Call, ProbeQuestion, sources
from truegrade.grading.tests_forms import words_of


def _arguments(asked: ProbeQuestion) -> Arguments:
    task_info = {
        "problem": words_of(asked.problem),
        "question": words_of(asked.problem),
        "problem_type": "code",
        "ground_truth": asked.tests,
        **sources(asked.problem),
        **asked.fields,
    }
    return (task_info, asked.reply), {}


CALL = Call(name="rllm", arguments=_arguments, tests_as="lcb")
