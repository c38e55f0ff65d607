"""A small client of the grading service, for trainers and scripts."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import msgspec

from truegrade.errors import TruegradeError, UserError
from truegrade.files.json_text import UNREADABLE
from truegrade.records import Verdict
from truegrade.web.messages import (
    Benchmarks,
    ExecuteRequest,
    ExecuteResponse,
    GradeRequest,
    GradeResponse,
    InlineProblem,
    ProblemDetails,
    RewardRequest,
    RewardResponse,
    Submission,
)

if TYPE_CHECKING:
    import httpx2

R = TypeVar("R")

BUSY = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
FIRST_WAIT_S = 0.5
MAX_WAIT_S = 60.0


class ServiceError(TruegradeError):
    """The service could not be reached, or stayed busy."""


class Client:
    """Asks a grading service; use it as a context manager. Safe to use from several threads.

    Args:
        address: what `truegrade serve` printed, ``http://127.0.0.1:8080``.
        token: the service's, if it has one.
        timeout_s: for one request; a batch takes as long as its programs.
        attempts: requests for one answer; a busy service (429, 503) and a lost connection are tried again, after
            as long as the service says, else a doubling time.
    """

    def __init__(
        self, address: str, token: str | None = None, *, timeout_s: float = 600.0, attempts: int = 8
    ) -> None:
        import httpx2

        headers = {"Content-Type": "application/json"} | (
            {} if token is None else {"Authorization": f"Bearer {token}"}
        )
        self._http = httpx2.Client(base_url=address, headers=headers, timeout=timeout_s, trust_env=False)
        self._attempts = attempts

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._http.close()

    def grade(
        self,
        completions: Iterable[Submission],
        *,
        benchmark: str | None = None,
        problem: InlineProblem | None = None,
        profiles: Sequence[str] | None = None,
    ) -> list[Verdict]:
        """Verdicts: completions in order, for each the profiles in order.

        Raises:
            UserError: the service refuses the request; the message names the field.
            ServiceError: it cannot be reached, or stayed busy.
        """
        request = GradeRequest(
            completions=list(completions),
            benchmark=benchmark,
            problem=problem,
            profiles=None if profiles is None else list(profiles),
        )
        return self._ask("/v1/grade", request, GradeResponse).verdicts

    def reward(
        self,
        completions: Iterable[Submission],
        *,
        benchmark: str | None = None,
        problem: InlineProblem | None = None,
        profile: str | None = None,
        cpu_s: float | None = None,
        partial: bool = False,
        tests_inside: bool = False,
    ) -> list[float | None]:
        """1.0 or 0.0 for each completion, None where the grader failed; raises as `grade` does.

        Args:
            completions: what to reward.
            benchmark: whose problems they answer.
            problem: one that all answer, instead.
            profile: rules; by default the service's.
            cpu_s: CPU seconds in place of each limit of the profile.
            partial: give a wrong completion the share of tests that it passes, where they can be counted.
            tests_inside: pay passes whose tests ran in the program's process, where they can be forged.
        """
        request = RewardRequest(
            completions=list(completions), benchmark=benchmark, problem=problem, profile=profile, cpu_s=cpu_s,
            partial=partial, tests_inside=tests_inside,
        )  # fmt: skip
        return self._ask("/v1/reward", request, RewardResponse).rewards

    def execute(self, program: str, stdin: str = "", **limits: Any) -> ExecuteResponse:
        """Run a program; ``limits`` are ``cpu_s``, ``wall_s`` and ``memory_bytes``. Raises as `grade` does."""
        return self._ask("/v1/execute", ExecuteRequest(program=program, stdin=stdin, **limits), ExecuteResponse)

    def benchmarks(self) -> Benchmarks:
        """What the service has loaded; raises as `grade` does."""
        return self._ask("/v1/benchmarks", None, Benchmarks)

    def _ask(self, path: str, request: msgspec.Struct | None, gives: type[R]) -> R:
        content = None if request is None else msgspec.json.encode(request)
        for attempt in range(self._attempts):
            reply, failure = self._try(path, content)
            if reply is not None and reply.status_code == HTTPStatus.OK:
                return _answer(reply, gives)
            if reply is not None and reply.status_code not in BUSY:
                raise UserError(refusal_text(reply))
            if attempt + 1 < self._attempts:
                time.sleep(_wait_s(reply, attempt))
        why = failure if reply is None else refusal_text(reply)
        raise ServiceError(f"{self._http.base_url}{path}: {why} ({self._attempts} attempts)")

    def _try(self, path: str, content: bytes | None) -> tuple[httpx2.Response | None, str]:
        import httpx2

        try:
            return self._http.request("GET" if content is None else "POST", path, content=content), ""
        except httpx2.TransportError as error:
            return None, f"{type(error).__name__}: {error}"


def _wait_s(reply: httpx2.Response | None, attempt: int) -> float:
    asked = "" if reply is None else reply.headers.get("Retry-After", "")
    own = min(MAX_WAIT_S, FIRST_WAIT_S * 2.0**attempt)
    return (float(asked) if asked.isdigit() else own) * random.uniform(1.0, 1.2)


def _answer(reply: httpx2.Response, gives: type[R]) -> R:
    """The service's answer.

    Raises:
        ServiceError: it is no such answer.
    """
    try:
        return msgspec.json.decode(reply.content, type=gives)
    except UNREADABLE as error:
        raise ServiceError(
            f"{reply.url}: the answer cannot be read: {error}; is it a service of Truegrade?"
        ) from None


def refusal_text(reply: httpx2.Response) -> str:
    """The service's own words about a request that it refuses."""
    try:
        problem = msgspec.json.decode(reply.content, type=ProblemDetails)
    except UNREADABLE:
        return f"the service answered {reply.status_code}"
    return f"{problem.status} {problem.detail}" + (f" (field {problem.field!r})" if problem.field else "")
