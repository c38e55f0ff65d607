"""LiveCodeBench as modelscope/evalscope @fde259d2 asks and grades it: words, cut, grader of the local path."""

from __future__ import annotations

from typing import Any

from truegrade.extraction.contest_programs import last_pair
from truegrade.grading.contests import Rules
from truegrade.grading.contests.harness import Harness
from truegrade.profiles.base import Rule
from truegrade.profiles.contest_profile import GUARD, TIMEOUT_S, cut_answer
from truegrade.profiles.contest_words import question
from truegrade.records import Answer, Completion, ContestTask, Prompt

_FOLDER = "modelscope/evalscope@fde259d2 evalscope/benchmarks/live_code_bench"
_TESTING = f"{_FOLDER}/testing_util.py"


def _runner_error(error: str) -> dict[str, Any]:
    return {}


LOCAL = Harness(
    rules=Rules(
        world="encoded",
        timeout_s=TIMEOUT_S,
        whole_seconds=False,
        announces_alarm=False,
        int_digits=4300,
        faulthandler=False,
        disabled=GUARD,
        preload=[],
        forked=False,
        module="evalscope.benchmarks.live_code_bench.testing_util",
    ),
    added_s=0.0,
    runner_error=_runner_error,
)

ASKED = (
    Rule("prompt", "LiveCodeBench: system and user message; starter code decides the kind",
         f"{_FOLDER}/prompts.py, live_code_bench_adapter.py"),
    Rule("extraction", "LiveCodeBench: the lines between the last two that contain three backticks",
         f"{_FOLDER}/extract_utils.py"),
)  # fmt: skip
LOCAL_RULES = (
    *ASKED,
    Rule("program", "LiveCodeBench: as `livecodebench`, with sys.stdin a text stream over bytes", _TESTING),
    Rule("comparison", "LiveCodeBench: as `livecodebench`; a process that ends without results is [-2] with {}",
         f"{_FOLDER}/evaluate_utils.py"),
    Rule("limits", "LiveCodeBench: 6 s a test by a silent timer; whole process 7 s a test, of which a fresh"
         " interpreter and `import evalscope` take part there, not here; integers of up to 4,300 digits",
         _TESTING),
    Rule("aggregation", "LiveCodeBench: acc is 1 if every result is greater than 0; pass@k in percent inside",
         f"{_FOLDER}/live_code_bench_adapter.py, pass_k_utils.py"),
)  # fmt: skip
LOCAL_DEFECTS = (
    "LiveCodeBench: all of `livecodebench` but for standard input and the alarm's message",
    "LiveCodeBench: zero tests get no time: [-2]",
    "LiveCodeBench: a problem's 7 s a test include the import of the package (2.3 s); not reproduced",
)


def render_contest(task: ContestTask) -> Prompt:
    """System message and user message, as sent until v1.0 and again since ecb01c36 (2026-08-06)."""
    return question("lcb.evalscope.user", task, system="lcb.evalscope.system")


def cut(completion: Completion) -> Answer:
    """The last two fences; without them the empty program, which is graded."""
    return cut_answer(completion, last_pair)
