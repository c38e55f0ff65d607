"""``trl``: ``f(prompts, completions, **columns)`` returns a list of numbers or None.

huggingface/trl@f2cd577 ``trl/trainer/grpo_trainer.py`` ``_calculate_rewards``: everything by name, a batch of one
here. In conversations a completion is a list of messages; ``trl-text`` is the same for plain texts. The tests
stand in each column that published reward functions read them from; ``verification_info`` is open-r1's
(huggingface/open-r1@1416fa0 ``src/open_r1/rewards.py``).
"""

from __future__ import annotations

from typing import Any

from truegrade.assay.targets.calls.base import Arguments, Call, ProbeQuestion, sources
from truegrade.grading.tests_forms import entry_point_of, words_of

TEST_COLUMNS = ("tests", "test_cases", "ground_truth", "answer", "solution", "label")


def _arguments(asked: ProbeQuestion) -> Arguments:
    prompt = [{"role": "user", "content": words_of(asked.problem)}]
    return (), _columns(asked, prompt, [{"role": "assistant", "content": asked.reply}])


def _text_arguments(asked: ProbeQuestion) -> Arguments:
    return (), _columns(asked, words_of(asked.problem), asked.reply)


def _columns(asked: ProbeQuestion, prompt: Any, completion: Any) -> dict[str, Any]:
    columns = {
        **dict.fromkeys(TEST_COLUMNS, asked.tests),
        "verification_info": {"language": "python", "test_cases": asked.tests},
        "entry_point": entry_point_of(asked.problem),
        **sources(asked.problem),
        **asked.fields,
    }
    return {"prompts": [prompt], "completions": [completion], **{name: [one] for name, one in columns.items()}}


CALL = Call(name="trl", arguments=_arguments)
TEXT_CALL = Call(name="trl-text", arguments=_text_arguments)
