"""Endpoints that trainers ask in their own words: open-instruct's verifier and OpenRLHF's remote reward."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any

import msgspec

from truegrade.benchmarks.ground_truths.ground_truth import read_ground_truth
from truegrade.benchmarks.ground_truths.pytest_modules import Unreadable, from_text
from truegrade.benchmarks.ground_truths.python_tests import asserts_task
from truegrade.errors import SandboxError
from truegrade.extraction.thinking import reply_behind
from truegrade.files.json_text import encode
from truegrade.grading.contests.separate import grade_script
from truegrade.grading.executor import Executor
from truegrade.grading.functions import grade_by_tests
from truegrade.grading.judgement import Judgement
from truegrade.grading.marks import TAMPERING
from truegrade.grading.programs import assemble
from truegrade.profiles.strict import Strict
from truegrade.records import Answer, ContestTask, FunctionTask, Problem, Reason, Verdict
from truegrade.web.messages import InlineProblem, Refusal, Seconds, Submission, stopping, unprocessable
from truegrade.web.service.jobs import Executors
from truegrade.web.service.workload import doubtful, steadily, unknown

# ---------------- ``/test_program`` and ``/test_program_stdio`` as open-instruct's verifier of code asks them.
# Shapes: allenai/open-instruct@e6c3044 open_instruct/code_utils/api.py, ground_truth_utils.py ``CodeVerifier``.
# That client asks once: any status but 200 is a reward of 0. Tests and program share an interpreter there; here
# the tests run outside the program's process, no word in a program keeps it from being run, and nothing is
# unpickled.

LEAST_HOLD_S, MOST_HOLD_S, HELD_LIMITS = 30.0, 300.0, 10.0
"""The client waits for ten time limits, but at least 30 s and at most 300 s."""
OVERRUNS = 5
"""Tests of one program that may overrun their time before those behind are given up: an endless program with a
hundred tests would otherwise keep others waiting until their clients give up."""
NOT_RUN_S = -1.0
"""Run time of a test that did not pass, as theirs has it."""

Grade = Callable[[Executor], Judgement]
"""Runs one test."""


class ProgramTests(msgspec.Struct, frozen=True, kw_only=True):
    """A program, and the tests that it is to pass."""

    program: str
    tests: list[Any] | str
    """A list, or the text that such a list is packed into: JSON, or base64 of zlib of a pickle of plain values."""
    max_execution_time: Seconds = 1.0
    """CPU seconds for each test; of standard input, rounded up to whole ones."""


class ProgramResults(msgspec.Struct, frozen=True, kw_only=True):
    """What became of each test, in order."""

    results: list[int]
    """1 if it passed, else 0."""
    runtimes: list[float]
    """CPU seconds, the start of the program included; -1.0 of a test that did not pass."""


class StdioTest(msgspec.Struct, frozen=True):
    """What a program reads, and what it is to print."""

    input: str
    output: str


def hold_s(request: ProgramTests) -> float:
    """Seconds that the client waits."""
    return max(LEAST_HOLD_S, min(MOST_HOLD_S, HELD_LIMITS * request.max_execution_time))


def assertions(request: ProgramTests) -> list[Grade]:
    """The tests of ``/test_program``: source each, as a rule an assert.

    Raises:
        Refusal: there are none, or one is no Python or calls nothing of the program, so that anything would pass.
    """
    tasks = []
    for number, test in enumerate(_tests(request)):
        if not isinstance(test, str):
            raise unprocessable("a test is Python source", f"tests[{number}]")
        try:
            tasks.append(asserts_task([test], None))
        except Unreadable as why:
            raise unprocessable(str(why), f"tests[{number}]") from None
    answer = Answer(value=request.program, found="", form="program")
    return [partial(_asserted, task, answer, request.max_execution_time) for task in tasks]


def scripts(request: ProgramTests) -> list[Grade]:
    """The tests of ``/test_program_stdio``: what is read, and what is to be printed.

    Raises:
        Refusal: there are none, or one is something else.
    """
    try:
        tests = msgspec.convert(_tests(request), list[StdioTest])
    except msgspec.ValidationError as error:
        found = str(error).replace("`$", "`tests")
        raise unprocessable(f"a test has a text input and a text output: {found}", "tests") from None
    cpu_s = float(math.ceil(request.max_execution_time))
    return [partial(_printed, request.program, test, cpu_s) for test in tests]


def _tests(request: ProgramTests) -> list[Any]:
    tests: Any = request.tests
    if isinstance(tests, str):
        try:
            tests = from_text(tests)
        except Unreadable as why:
            raise unprocessable(str(why), "tests") from None
    if not isinstance(tests, list):
        raise unprocessable("it holds no list of tests", "tests")
    if not tests:
        raise unprocessable("it holds no test, and without one nothing is known of a program", "tests")
    return tests


def _asserted(task: FunctionTask, answer: Answer, cpu_s: float, executor: Executor) -> Judgement:
    task = msgspec.structs.replace(task, cpu_s=cpu_s)
    return grade_by_tests(task, assemble(task.prefix, answer), executor)


def _printed(program: str, test: StdioTest, cpu_s: float, executor: Executor) -> Judgement:
    return grade_script(program, test.input, test.output, executor, cpu_s=cpu_s)


def as_problem(request: ProgramTests) -> Problem:
    """What was asked, for those that look at programs beside their tests; of tests that have been read before."""
    tests = _tests(request)
    task: FunctionTask | ContestTask
    if isinstance(tests[0], str):
        task = asserts_task(tests, None)
    else:
        stored = [{"input": test["input"], "output": test["output"], "testtype": "stdin"} for test in tests]
        text = encode(stored).decode()
        task = ContestTask(title="", question="", public_tests=text, private_tests="[]")
    return Problem(id="program", benchmark="inline", dataset_sha256="", cluster="program", task=task)


class ProgramTrial:
    """The jobs of one request: a test each.

    Args:
        tests: to be run.
        executors: lend a sandbox.
    """

    def __init__(self, tests: Sequence[Grade], executors: Executors) -> None:
        self._executors = executors
        self._overran = 0
        self._lock = threading.Lock()
        self.jobs: list[Callable[[], Judgement | None]] = [partial(self._run, test) for test in tests]
        """Each gives None where it was not run."""

    def results(self, judgements: Sequence[Judgement | None]) -> ProgramResults:
        """What the client is told.

        Args:
            judgements: what the jobs gave, in order.

        Raises:
            Refusal: 500, the grader failed, so that nothing is known of the program.
        """
        results: list[int] = []
        runtimes: list[float] = []
        overran = 0
        for number, judgement in enumerate(judgements):
            # Jobs run side by side; which were begun behind the last overrun that counts must make no difference.
            known = None if overran >= OVERRUNS else judgement
            if known is not None and known.reason is Reason.GRADER_ERROR:
                words = f"test {number + 1} could not be graded: {known.detail}"
                raise Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, words, field=f"tests[{number}]")
            passed = known is not None and known.passed
            overran += known is not None and known.reason is Reason.TIME_LIMIT
            results.append(int(passed))
            runtimes.append((known.cpu_s or 0.0) if known is not None and passed else NOT_RUN_S)
        return ProgramResults(results=results, runtimes=runtimes)

    def _run(self, test: Grade) -> Judgement | None:
        if self._overran >= OVERRUNS:
            return None
        executors = self._executors
        try:
            with executors.lend(Strict.limits) as sandbox:
                judgement = steadily(
                    lambda: test(sandbox),
                    lambda judged: doubtful(judged.reason, judged.detail),
                    lambda: executors.closed,
                )
        except SandboxError as error:
            if executors.closed:
                raise stopping() from error
            return Judgement(reason=Reason.GRADER_ERROR, detail=str(error))
        if unknown(judgement.detail):
            return Judgement(reason=Reason.GRADER_ERROR, detail=judgement.detail)
        if judgement.reason is Reason.TIME_LIMIT:
            with self._lock:
                self._overran += 1
        return judgement


# -------------------------------------------------------------------- ``/openrlhf``: OpenRLHF's remote reward.
# Shapes: OpenRLHF/OpenRLHF@3c3be62 openrlhf/utils/agent.py ``_fetch_rewards_via_http``. That client sends one
# reply in lists of one, tries five times a second apart whatever the error, and then has no reward. So what
# cannot be graded is answered with an error, never with 0.

HOLD_S = 170.0
"""The client waits 180 seconds."""
Numbers = float | list[float]
"""One number of one query, as a reward function in a file gives it; else one each."""


class OpenRLHFRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Replies to be rewarded."""

    query: list[str]
    """Prompt and reply, special tokens included."""
    prompts: list[str]
    labels: list[Any]
    """The ground truth of each; see `truegrade.benchmarks.ground_truths.ground_truth`."""


class OpenRLHFResponse(msgspec.Struct, frozen=True, kw_only=True):
    """1.0 for a right reply, 0.0 for a wrong one."""

    rewards: Numbers
    scores: Numbers
    """The same, for dynamic sampling."""
    extra_logs: dict[str, Numbers]


def openrlhf_queries(request: OpenRLHFRequest) -> list[tuple[InlineProblem, Submission]]:
    """Problem and reply of each query.

    Raises:
        Refusal: the lists differ in length, a query does not hold its prompt, or a label is no ground truth.
    """
    if not len(request.query) == len(request.prompts) == len(request.labels):
        words = f"{len(request.query)} queries, {len(request.prompts)} prompts and {len(request.labels)} labels"
        raise unprocessable(f"{words}; send as many of each", "query")
    found = []
    for number, (query, prompt, label) in enumerate(
        zip(request.query, request.prompts, request.labels, strict=True)
    ):
        truth = read_ground_truth(label)
        if truth.task is None:
            raise unprocessable(truth.why_not, f"labels[{number}]")
        reply = reply_behind(query, prompt)
        if reply is None:
            raise unprocessable("it does not hold its prompt, so the reply is not known", f"query[{number}]")
        found.append((InlineProblem(task=truth.task), Submission(text=reply)))
    return found


def response(verdicts: Sequence[Verdict]) -> OpenRLHFResponse:
    """The rewards.

    Raises:
        Refusal: 500, the grader failed on one, and nothing is known of it.
    """
    for number, verdict in enumerate(verdicts):
        if verdict.reason is Reason.GRADER_ERROR:
            words = f"it could not be graded: {verdict.detail}"
            raise Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, words, field=f"query[{number}]")
    rewards = _numbers([float(verdict.passed) for verdict in verdicts])
    tampering = _numbers([float(TAMPERING in verdict.marks) for verdict in verdicts])
    return OpenRLHFResponse(rewards=rewards, scores=rewards, extra_logs={"tampering": tampering})


def _numbers(values: list[float]) -> Numbers:
    return values[0] if len(values) == 1 else values
