"""Programs run as scripts in the jail: ``/v1/execute``, and the endpoints that SandboxFusion speaks."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

import msgspec

from truegrade.errors import SandboxError
from truegrade.grading.problem_tests import SourceTests
from truegrade.kinds import kind_of
from truegrade.records import Problem, Reason, Verdict
from truegrade.sandbox import Limits, Outcome
from truegrade.sandbox.limits import MIB
from truegrade.web.messages import (
    MIN_MEMORY_BYTES,
    ExecuteRequest,
    ExecuteResponse,
    Seconds,
    Submission,
    stopping,
    unprocessable,
)
from truegrade.web.service.grading_service import ServiceSettings
from truegrade.web.service.jobs import Executors
from truegrade.web.service.workload import doubtful, steadily, unknown

# -------------------------------------------------- ``/v1/execute``: one program, run as a script in the jail.

DEFAULT_S = 10.0
OWN_NAMES: Mapping[str, tuple[str, str, int]] = MappingProxyType({})


def default_s(settings: ServiceSettings) -> float:
    """Time limit of a program whose request names none."""
    return min(DEFAULT_S, settings.max_cpu_s)


def check_limits(
    request: ExecuteRequest, settings: ServiceSettings, names: Mapping[str, tuple[str, str, int]] = OWN_NAMES
) -> None:
    """Hold the limits asked for against those of the service.

    Args:
        request: with the limits.
        settings: of the service.
        names: what the client calls the fields, and in which unit it gives them, where that is not what we do.

    Raises:
        Refusal: one is higher.
    """
    highest = {
        "cpu_s": (request.cpu_s, settings.max_cpu_s, "seconds"),
        "wall_s": (request.wall_s, Limits(cpu_s=settings.max_cpu_s).wall_backstop_s, "seconds"),
        "memory_bytes": (request.memory_bytes, settings.max_memory_bytes, "bytes"),
    }
    for field, (asked, most, unit) in highest.items():
        if asked is not None and asked > most:
            name, theirs, size = names.get(field, (field, unit, 1))
            raise unprocessable(f"{asked / size:g} {theirs}; this service allows at most {most / size:g}", name)


def execute(
    request: ExecuteRequest, executors: Executors, settings: ServiceSettings, deadline_s: float | None = None
) -> ExecuteResponse:
    """Run a program; where the machinery fails for good the status is ``grader_error``.

    Args:
        request: with its limits.
        executors: lend a sandbox.
        settings: of the service.
        deadline_s: see `truegrade.sandbox.Sandbox.script`.

    Raises:
        Refusal: the service is stopping.
    """
    cpu_s = default_s(settings) if request.cpu_s is None else request.cpu_s
    limits = Limits(
        memory_bytes=request.memory_bytes or settings.max_memory_bytes, output_bytes=settings.max_output_bytes
    )
    try:
        with executors.lend(limits) as sandbox:
            outcome = steadily(
                lambda: sandbox.script(
                    request.program, request.stdin, cpu_s=cpu_s, wall_s=request.wall_s, deadline_s=deadline_s
                ),
                lambda ended: doubtful(ended.status, ended.detail),
                lambda: executors.closed,
            )
            if unknown(outcome.detail):
                outcome = _failure(outcome.detail)
            return _response(outcome, sandbox.level)
    except SandboxError as error:
        if executors.closed:
            raise stopping() from error
        return _response(_failure(str(error)), 0)


def _failure(detail: str) -> Outcome:
    return Outcome(
        status=Reason.GRADER_ERROR, detail=detail, cpu_s=0.0, wall_s=0.0, stdout="", stderr="", exit_code=None
    )


def _response(outcome: Outcome, level: int) -> ExecuteResponse:
    return ExecuteResponse(
        status=str(outcome.status),
        detail=outcome.detail,
        exit_code=outcome.exit_code,
        stdout=outcome.stdout,
        stderr=outcome.stderr,
        cpu_s=outcome.cpu_s,
        wall_s=outcome.wall_s,
        time_sensitive=outcome.time_sensitive,
        level=level,
    )


# ----------------------------------------------------------------------------------------------------------------
# ``/run_code``, ``/submit`` and ``/v1/ping`` as SandboxFusion speaks them, for clients written against it.
# Shapes: bytedance/SandboxFusion@469de08 sandbox/server/sandbox_api.py, sandbox/datasets/types.py,
# sandbox/runners/types.py. What is not offered here (other languages, files, extraction code of the client's) is
# refused, never ignored. Time limits are theirs, in wall seconds, and hold for CPU seconds as well.

DATASETS = {"humaneval_python": "humaneval"}
"""Their name of a data set -> ours (sandbox/configs/ci.yaml)."""
LIMIT_NAMES = {
    "cpu_s": ("run_timeout", "seconds", 1),
    "wall_s": ("run_timeout", "seconds", 1),
    "memory_bytes": ("memory_limit_MB", "MB", MIB),
}
"""Our name of a limit -> theirs, its unit and how many of ours that is."""
NOT_SPOKEN = {
    "/run_jupyter": "it runs no notebook cells; send programs to /run_code",
    "/list_datasets": "GET /v1/benchmarks names the benchmarks that it serves",
    "/list_ids": "the ids of problems are those of the benchmark's file",
    "/get_prompts": "it words no prompts; truegrade run --no-grade does",
    "/get_prompt_by_id": "it words no prompts; truegrade run --no-grade does",
    "/get_metrics": "it keeps no results; truegrade report and compare count them",
    "/get_metrics_function": "it sends no code; truegrade report and compare count results",
    "/playground": "GET /docs is the page for people",
    "/SandboxFusion": "GET /docs is the page for people",
}
"""Path of their server that this service does not answer -> what to do instead (sandbox/server/server.py,
sandbox_api.py, online_judge_api.py)."""
MARGIN_S = 5.0
"""verl's client waits for the time limits of compiling and running and 10 seconds more. It repeats a request after
504 alone, and counts any other error as a failed case (volcengine/verl@10f0796
verl/utils/reward_score/sandbox_fusion/utils.py). So it is answered this long after those limits."""
SUBMIT_HOLD_S = 60.0
"""Seconds until a submission that no worker could finish is answered 504."""
KILLED = -9
"""Exit code of a program that a limit ended."""

RunStatus = Literal["Success", "Failed", "SandboxError"]
CommandStatus = Literal["Finished", "Error", "TimeLimitExceeded"]
Empty = Annotated[dict[str, str | None], msgspec.Meta(max_length=0)]


class RunCodeRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A program to run."""

    code: str
    language: Literal["python"]
    stdin: str | None = None
    compile_timeout: Seconds = 10.0
    """Nothing is compiled; it counts towards how long the client waits (`hold_s`)."""
    run_timeout: Seconds | None = None
    """By default 10, or the service's limit where that is lower."""
    memory_limit_MB: Annotated[int, msgspec.Meta(ge=-1)] = -1  # noqa: N815 - theirs
    """-1 and 0 for the service's limit; at least 256 otherwise."""
    files: Empty = {}
    """Not offered."""
    fetch_files: Annotated[list[str], msgspec.Meta(max_length=0)] = []
    """Not offered."""


class CommandRunResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a command."""

    status: CommandStatus
    execution_time: float | None = None
    return_code: int | None = None
    stdout: str | None = None
    stderr: str | None = None


class RunCodeResponse(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a program."""

    status: RunStatus
    message: str
    compile_result: CommandRunResult | None = None
    run_result: CommandRunResult | None = None
    executor_pod_name: str | None = None
    files: dict[str, str] = {}


class SubmitExtra(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Further settings of a submission."""

    is_freeform: bool = False
    """The completion is a chat reply, not a continuation of the prompt."""
    profile: str | None = None
    """Ours: the rules to grade by."""


class SubmitConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a submission is to be graded."""

    language: Literal["python"] | None = None
    locale: str | None = None
    """Chooses their prompt's language; no verdict depends on it."""
    dataset_type: None = None
    is_fewshot: Literal[False] | None = None
    compile_timeout: float | None = None
    """Nothing is compiled."""
    run_timeout: None = None
    """Not offered: the limits are the profile's."""
    custom_extract_logic: None = None
    """Not offered: extraction is the profile's."""
    provided_data: None = None
    """Not offered: send problems to ``/v1/grade``."""
    extra: SubmitExtra = SubmitExtra()


class SubmitRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A completion for a problem of a data set."""

    dataset: str
    id: int | str
    completion: str
    config: SubmitConfig


class EvalTestCase(msgspec.Struct, frozen=True, kw_only=True):
    """All tests of a problem, as one."""

    passed: bool
    exec_info: RunCodeResponse
    test_info: dict[str, Any] | None = None


class EvalResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a submission."""

    id: int | str
    accepted: bool
    extracted_code: str
    full_code: str | None = None
    """Always null: solution and tests never run as one program."""
    test_code: str | None = None
    tests: list[EvalTestCase]
    extracted_type: Literal["fenced", "incomplete_fenced", "heuristic", "empty"] | None = None
    extra: dict[str, Any] | None = None


def hold_s(request: RunCodeRequest, default_s: float) -> float:
    """Seconds after which a client is told to ask again; see `MARGIN_S`.

    Args:
        request: with its time limits.
        default_s: time limit where the request names none.
    """
    timeout_s = default_s if request.run_timeout is None else request.run_timeout
    return request.compile_timeout + timeout_s + MARGIN_S


def to_execute(request: RunCodeRequest, default_s: float) -> ExecuteRequest:
    """A program to run, in our own terms.

    Args:
        request: theirs.
        default_s: time limit where the request names none.

    Raises:
        Refusal: the memory limit is too low for an interpreter.
    """
    memory_bytes = request.memory_limit_MB * MIB if request.memory_limit_MB > 0 else None
    if memory_bytes is not None and memory_bytes < MIN_MEMORY_BYTES:
        raise unprocessable(
            f"{request.memory_limit_MB} MB; the least is {MIN_MEMORY_BYTES // MIB}, and -1 is the service's limit",
            "memory_limit_MB",
        )
    timeout_s = default_s if request.run_timeout is None else request.run_timeout
    return ExecuteRequest(
        program=request.code,
        stdin=request.stdin or "",
        cpu_s=timeout_s,
        wall_s=timeout_s,
        memory_bytes=memory_bytes,
    )


def run_code_response(ended: ExecuteResponse) -> RunCodeResponse:
    """How a run ended, in their terms (sandbox_api.py ``parse_run_status``)."""
    code = KILLED if ended.exit_code is None and ended.status != Reason.PASSED else ended.exit_code
    late = ended.status == Reason.TIME_LIMIT
    return _run_code_response(
        ended.status,
        ended.detail,
        CommandRunResult(
            status="TimeLimitExceeded" if late else "Finished",
            execution_time=ended.wall_s,
            return_code=None if late else code,
            stdout=ended.stdout,
            stderr=ended.stderr,
        ),
    )


def _run_code_response(status: str, detail: str, result: CommandRunResult) -> RunCodeResponse:
    if status == Reason.GRADER_ERROR:
        broken = CommandRunResult(status="Error", stderr=detail)
        return RunCodeResponse(status="SandboxError", message=detail, run_result=broken)
    return RunCodeResponse(
        status="Success" if status == Reason.PASSED else "Failed", message="", run_result=result
    )


def find_problem(request: SubmitRequest, problems: Mapping[str, Problem]) -> Problem:
    """The problem a submission answers: its id, or the part of it after the last slash.

    Raises:
        Refusal: there is none.
    """
    asked = str(request.id)
    if asked in problems:
        return problems[asked]
    found = [problem for name, problem in problems.items() if name.rpartition("/")[2] == asked]
    if len(found) != 1:
        raise unprocessable(f"{request.dataset} has no problem {request.id!r}", "id")
    return found[0]


def to_submission(request: SubmitRequest, problem: Problem) -> Submission:
    """The completion in our own terms; where it continues no prompt, it is a reply."""
    continues = kind_of(problem.task).prefix(problem.task)
    form: Literal["reply", "completion"] = (
        "completion" if continues and not request.config.extra.is_freeform else "reply"
    )
    return Submission(text=request.completion, form=form)


def eval_result(request: SubmitRequest, problem: Problem, verdict: Verdict) -> EvalResult:
    """A verdict in their terms."""
    late = verdict.reason is Reason.TIME_LIMIT
    run = CommandRunResult(
        status="TimeLimitExceeded" if late else "Finished",
        execution_time=verdict.wall_s,
        return_code=None if late else int(not verdict.passed),
        stdout="",
        stderr=verdict.detail,
    )
    tests = kind_of(problem.task).tests(problem.task)
    info = {"reason": verdict.reason, "profile": verdict.profile, "marks": verdict.marks}
    return EvalResult(
        id=request.id,
        accepted=verdict.passed,
        extracted_code=verdict.answer or "",
        test_code=tests.source if isinstance(tests, SourceTests) else None,
        tests=[
            EvalTestCase(
                passed=verdict.passed,
                exec_info=_run_code_response(verdict.reason, verdict.detail, run),
                test_info=info,
            )
        ],
        extracted_type=None if verdict.answer else "empty",
        extra={"verdict": verdict},
    )
