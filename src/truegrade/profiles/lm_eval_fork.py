"""`lm-eval-fork`: the LiveCodeBench task of a fork of lm-evaluation-harness, @af0ac9f7 (2025-06-19).

tstescoTT/lm-evaluation-harness, branch adam/livecodebench, ``lm_eval/tasks/livecodebench/``. Its grader is that of
modelscope/evalscope@a2ecf3e8 but for header, logger and one unused flag; rules are cited from there.
"""

from __future__ import annotations

from typing import Any, ClassVar

from truegrade.extraction.contest_programs import first_pair
from truegrade.grading.contests import Rules
from truegrade.grading.contests.harness import Harness
from truegrade.profiles.base import Rule
from truegrade.profiles.contest_profile import GUARD, TIMEOUT_S, ContestProfile
from truegrade.profiles.contest_words import question
from truegrade.records import ContestTask, Prompt
from truegrade.statistics.tally import PERCENT, Scale

_FORK = "tstescoTT/lm-evaluation-harness@af0ac9f7 lm_eval/tasks/livecodebench"
_TESTING = "modelscope/evalscope@a2ecf3e8 evalscope/benchmarks/live_code_bench/testing_util.py"


def _runner_error(error: str) -> dict[str, Any]:
    return {}


_HARNESS = Harness(
    rules=Rules(
        world="string",
        timeout_s=TIMEOUT_S,
        whole_seconds=True,
        announces_alarm=False,
        int_digits=4300,
        faulthandler=False,
        disabled=GUARD,
        preload=[],
        forked=True,
        module="lm_eval.tasks.livecodebench.testing_util",
    ),
    added_s=0.0,
    runner_error=_runner_error,
)


class LmEvalFork(ContestProfile):
    """The fork whose alignment document calls it identical to EvalScope."""

    name: ClassVar[str] = "lm-eval-fork"
    version: ClassVar[str] = "af0ac9f7"
    summary: ClassVar[str] = "a fork of lm-evaluation-harness: EvalScope's grader of June 2025, first two fences"
    harness: ClassVar[Harness] = _HARNESS
    lenient: ClassVar[bool] = True
    contest_scale: ClassVar[Scale | None] = PERCENT
    reported: ClassVar[tuple[str, ...]] = ("first_sample",)
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("prompt", "EvalScope's user message; the system message is never sent", f"{_FORK}/utils.py"),
        Rule("extraction", "the lines between the first two that contain three backticks", f"{_FORK}/utils.py"),
        Rule("program", "as `livecodebench-2025-01`: the same preamble, wrapping and StringIO", _TESTING),
        Rule("comparison", "as `livecodebench-2025-01`; a process that ends without results is [-2] with {}",
             _TESTING),
        Rule("limits", "6 s a test by SIGALRM, silent; whole process 7 s a test, nothing added; integers of up to"
             " 4,300 digits; no faulthandler", _TESTING),
        Rule("aggregation", "acc: pass@1 of the first sample alone, in percent inside, a fraction as reported",
             f"{_FORK}/utils.py"),
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        "tests share the candidate's process (marks tests-inside, tampering)",
        "tests that cannot be decoded are silently none: private ones are then not looked at",
        "metadata that cannot be decoded makes a functional problem one on standard input",
        "zero tests get no time: [-2]",
        "sys.stdin.buffer is an AttributeError",
        "the document's 'processes all tests' is untrue: the first that fails ends it",
        "only the first sample of a problem is graded; here every one is",
    )

    def cut(self, reply: str) -> str:
        """The first two fences."""
        return first_pair(reply)

    def render_contest(self, task: ContestTask) -> Prompt:
        """The user message alone."""
        return question("lcb.evalscope.user", task)
