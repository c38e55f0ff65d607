"""``/v1/execute``: one program, run as a script in the jail."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from truegrade.errors import SandboxError
from truegrade.records import Reason
from truegrade.sandbox import Limits, Outcome
from truegrade.web.http_refusals import stopping, unprocessable
from truegrade.web.service.catalogue import Executors
from truegrade.web.service.grading_service import ServiceSettings
from truegrade.web.service.messages import ExecuteRequest, ExecuteResponse
from truegrade.web.service.workload import doubtful, steadily, unknown

DEFAULT_S = 10.0
OWN_NAMES: Mapping[str, str] = MappingProxyType({})


def default_s(settings: ServiceSettings) -> float:
    """Time limit of a program whose request names none."""
    return min(DEFAULT_S, settings.max_cpu_s)


def check_limits(request: ExecuteRequest, settings: ServiceSettings, names: Mapping[str, str] = OWN_NAMES) -> None:
    """Hold the limits asked for against those of the service.

    Args:
        request: with the limits.
        settings: of the service.
        names: what the client calls the fields, where that is not what we do.

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
            raise unprocessable(f"{asked:g} {unit}; this service allows at most {most:g}", names.get(field, field))


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
