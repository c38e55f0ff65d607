"""HTTP's side of the service: token, JSON in; JSON or problem details out; every answer is counted."""

from __future__ import annotations

import asyncio
import hmac
import resource
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import TypeVar

from msgspec import structs
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from truegrade.files.extras import require
from truegrade.web import messages
from truegrade.web.application import (
    JSON,
    OWN,
    Client,
    Endpoint,
    application,
    as_response,
    decode,
    json_response,
    read_body,
    route,
)
from truegrade.web.messages import Refusal, ask_again, check_host, listen, listening_at, stopping
from truegrade.web.port import HttpServer
from truegrade.web.service import execution, trainer_protocols
from truegrade.web.service.about import Metrics, document, page
from truegrade.web.service.execution import NOT_SPOKEN, check_limits, default_s, execute
from truegrade.web.service.grading_service import Service, ServiceSettings
from truegrade.web.service.workload import JobOrigin

# ------------ The table of endpoints: path, what it takes, what it gives, and the few lines that connect them.


async def _grade(service: Service, request: messages.GradeRequest) -> messages.GradeResponse:
    verdicts = await service.workload.run(service.grader.jobs(request), JobOrigin("/v1/grade"))
    for verdict in verdicts:
        service.metrics.judged("grade", verdict.reason)
    return messages.GradeResponse(verdicts=verdicts)


async def _reward(service: Service, request: messages.RewardRequest) -> messages.RewardResponse:
    rewarded = await service.workload.run(service.grader.reward_jobs(request), JobOrigin("/v1/reward"))
    for each in rewarded if not request.attempts else ():
        service.metrics.judged("reward", each.verdict.reason)
    return messages.RewardResponse(
        rewards=[each.value for each in rewarded],
        reasons=[each.verdict.reason for each in rewarded],
        pass_rates=[each.pass_rate for each in rewarded],
        marks=[each.verdict.marks for each in rewarded],
        details=[each.verdict.detail for each in rewarded],
    )


async def _execute(service: Service, request: messages.ExecuteRequest) -> messages.ExecuteResponse:
    check_limits(request, service.settings)
    job = partial(execute, request, service.executors, service.settings)
    (ended,) = await service.workload.run([job], JobOrigin("/v1/execute"))
    service.metrics.judged("execute", ended.status)
    return ended


async def _run_code(service: Service, request: execution.RunCodeRequest) -> execution.RunCodeResponse:
    asked = execution.to_execute(request, default_s(service.settings))
    check_limits(asked, service.settings, execution.LIMIT_NAMES)
    job = partial(execute, asked, service.executors, service.settings, asked.wall_s)
    hold_s = execution.hold_s(request, default_s(service.settings))
    (ended,) = await service.workload.run_within([job], hold_s, JobOrigin("/run_code", "verl"))
    service.metrics.judged("execute", ended.status)
    return execution.run_code_response(ended)


async def _submit(service: Service, request: execution.SubmitRequest) -> execution.EvalResult:
    name = execution.DATASETS.get(request.dataset, request.dataset)
    problem = execution.find_problem(request, service.catalogue.problems(name, "dataset"))
    rules = request.config.extra.profile or service.settings.profiles[0]
    profile = service.catalogue.profile(rules, "config.extra.profile")
    service.catalogue.check_covered(profile, problem, "config.extra.profile")
    job = service.grader.job(problem, execution.to_submission(request, problem), profile)
    asked = JobOrigin("/submit", "verl")
    (verdict,) = await service.workload.run_within([job], execution.SUBMIT_HOLD_S, asked)
    service.metrics.judged("submit", verdict.reason)
    return execution.eval_result(request, problem, verdict)


async def _test_program(
    read: Callable[[trainer_protocols.ProgramTests], list[trainer_protocols.Grade]],
    route: str,
    service: Service,
    request: trainer_protocols.ProgramTests,
) -> trainer_protocols.ProgramResults:
    service.catalogue.within(request.max_execution_time, "max_execution_time")
    trial = trainer_protocols.ProgramTrial(read(request), service.executors)
    asked = JobOrigin(route, "oi")
    judgements = await service.workload.run_within(trial.jobs, trainer_protocols.hold_s(request), asked)
    for judgement in judgements:
        if judgement is not None:
            service.metrics.judged("test_program", judgement.reason)
    results = trial.results(judgements)
    if service.watch.wants(request.program, paid=all(results.results)):
        submission = messages.Submission(text=request.program, form="program")
        service.watch.look(trainer_protocols.as_problem(request), submission, "strict")
    return results


async def _openrlhf(
    service: Service, request: trainer_protocols.OpenRLHFRequest
) -> trainer_protocols.OpenRLHFResponse:
    profile = service.catalogue.profile(service.settings.profiles[0], "profile")
    jobs = []
    for number, (sent, submission) in enumerate(trainer_protocols.openrlhf_queries(request)):
        problem = service.catalogue.inline(sent, f"labels[{number}]")
        service.catalogue.check_covered(profile, problem, f"labels[{number}]")
        jobs.append(service.grader.reward_job(problem, submission, profile))
    asked = JobOrigin("/openrlhf", "openrlhf")
    verdicts = await service.workload.run_within(jobs, trainer_protocols.HOLD_S, asked)
    for verdict in verdicts:
        service.metrics.judged("openrlhf", verdict.reason)
    return trainer_protocols.response(verdicts)


async def _profiles(service: Service, _: None) -> messages.Profiles:
    return messages.Profiles(profiles=service.catalogue.all_profiles(), default=list(service.settings.profiles))


async def _benchmarks(service: Service, _: None) -> messages.Benchmarks:
    return messages.Benchmarks(
        benchmarks=[
            messages.BenchmarkInfo(name=name, problems=len(it.problems), dataset_sha256=it.dataset_sha256)
            for name, it in service.catalogue.benchmarks.items()
        ]
    )


async def _alive(service: Service, _: None) -> messages.Health:
    return service.health


async def _ready(service: Service, _: None) -> Response:
    status = HTTPStatus.SERVICE_UNAVAILABLE if service.stopping else HTTPStatus.OK
    return json_response(service.health, status)


async def _ping(_: Service, __: None) -> Response:
    return Response(b'"pong"', media_type=JSON)


async def _metrics(service: Service, _: None) -> Response:
    return Response(service.metrics.text(), media_type=service.metrics.content_type)


async def _openapi(_: Service, __: None) -> Response:
    return json_response(document(ROUTES))


async def _page(service: Service, _: None) -> Response:
    return HTMLResponse(page(ROUTES, service.health))


ROUTES: tuple[Endpoint, ...] = (
    Endpoint(method="POST", path="/v1/grade", summary="Grade completions under one or more profiles.",
             handle=_grade, takes=messages.GradeRequest, gives=messages.GradeResponse),
    Endpoint(method="POST", path="/v1/reward", summary="The same as numbers, for reinforcement learning.",
             handle=_reward, takes=messages.RewardRequest, gives=messages.RewardResponse),
    Endpoint(method="POST", path="/v1/execute", summary="Run a Python program in the sandbox.", handle=_execute,
             takes=messages.ExecuteRequest, gives=messages.ExecuteResponse),
    Endpoint(method="POST", path="/run_code", summary="Run a Python program; SandboxFusion's shape.",
             handle=_run_code, takes=execution.RunCodeRequest, gives=execution.RunCodeResponse,
             client="verl"),
    Endpoint(method="POST", path="/submit", summary="Grade one completion; SandboxFusion's shape.", handle=_submit,
             takes=execution.SubmitRequest, gives=execution.EvalResult, client="verl"),
    *(Endpoint(method="POST", path=path, summary=f"{summary}; open-instruct's shape.", client="oi",
               handle=partial(_test_program, read, path), takes=trainer_protocols.ProgramTests,
               gives=trainer_protocols.ProgramResults)
      for path, read, summary in (
          ("/test_program", trainer_protocols.assertions, "Run asserts against a program"),
          ("/test_program_stdio", trainer_protocols.scripts, "Run a program on inputs"))),
    Endpoint(method="POST", path="/openrlhf", summary="Rewards; the shape of OpenRLHF's remote reward.",
             handle=_openrlhf, takes=trainer_protocols.OpenRLHFRequest, gives=trainer_protocols.OpenRLHFResponse,
             client="openrlhf"),
    Endpoint(path="/v1/ping", summary="Whether the service lives; SandboxFusion's shape.", handle=_ping,
             text=JSON, public=True),
    Endpoint(path="/v1/profiles", summary="The profiles there are.", handle=_profiles,
             gives=messages.Profiles),
    Endpoint(path="/v1/benchmarks", summary="The benchmarks that are loaded.", handle=_benchmarks,
             gives=messages.Benchmarks),
    Endpoint(path="/metrics", summary="Counters in Prometheus' text format.", handle=_metrics,
             text="text/plain"),
    Endpoint(path="/healthz", summary="Whether the service lives.", handle=_alive,
             gives=messages.Health, public=True),
    Endpoint(path="/readyz", summary="Whether it takes work; 503 once it is stopping.", handle=_ready,
             gives=messages.Health, public=True),
    Endpoint(path="/openapi.json", summary="This interface as OpenAPI 3.1.", handle=_openapi, text=JSON,
             public=True),
    Endpoint(path="/docs", summary="This interface for people.", handle=_page, text="text/html",
             public=True),
)  # fmt: skip


R = TypeVar("R")

UNKNOWN = "unknown"
"""Path of requests for what there is not, in the metrics: their number is the client's to choose."""


def grading_application(service: Service) -> Starlette:
    """The application of one service."""
    routes = [route(it.path, partial(_answer, service, it), it.method) for it in ROUTES]
    clients = {it.path: it.client if it.takes is not None else None for it in ROUTES}
    counted = Middleware(Counted, metrics=service.metrics, clients=clients)
    return application(routes, _nowhere, middleware=[counted])


class Counted:
    """Counts answers and how long they took, by path and status.

    Args:
        app: what answers.
        metrics: where it is counted.
        clients: the paths there are, and whose they are where they take work.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, clients: Mapping[str, Client | None]) -> None:
        self._app, self._metrics, self._clients = app, metrics, clients

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        began = time.monotonic()
        path = scope["path"] if scope["path"] in self._clients else UNKNOWN
        client = self._clients.get(path)

        async def counting(event: Message) -> None:
            if event["type"] == "http.response.start":
                self._metrics.answered(path, int(event["status"]), time.monotonic() - began, client)
                if client == "oi":
                    # It keeps connections, and never repeats a request that met one being closed for idleness.
                    event["headers"] = [*event["headers"], (b"connection", b"close")]
            await send(event)

        try:
            await self._app(scope, receive, counting)
        except Exception:
            status = HTTPStatus.INTERNAL_SERVER_ERROR
            self._metrics.answered(path, status, time.monotonic() - began, client)
            raise


async def _answer(service: Service, endpoint: Endpoint, request: Request) -> Response:
    if not endpoint.public:
        _authenticate(service.settings.token, request)
    if endpoint.takes is None:
        return as_response(await endpoint.handle(service, None))
    if endpoint.client == OWN:
        _check_room(service)
    service.requests[endpoint.client] += 1
    try:
        _check_kind(request)
        with service.bodies.share(service.workload.retry_after_s) as take:
            settings = service.settings
            body = await read_body(request, settings.max_body_bytes, settings.patience_s, take)
            work = endpoint.handle(service, decode(body, endpoint.takes))
            return as_response(await _unless_left(work, request.receive))
    except Refusal as refusal:
        if endpoint.client == OWN or refusal.status != HTTPStatus.SERVICE_UNAVAILABLE:
            raise
        raise ask_again("the service is stopping" if service.stopping else refusal.detail) from None
    finally:
        service.requests[endpoint.client] -= 1


def _check_room(service: Service) -> None:
    """Refuse what cannot be taken now, of clients that come back."""
    if service.stopping:
        raise stopping()
    if service.requests[OWN] >= service.settings.max_connections:
        raise Refusal(
            HTTPStatus.SERVICE_UNAVAILABLE,
            f"{service.settings.max_connections} requests are under way; come back later",
            headers={"Retry-After": str(service.workload.retry_after_s)},
        )


def _nowhere(request: Request, error: HTTPException) -> Refusal:
    path = request.scope["path"]
    if error.status_code == HTTPStatus.NOT_FOUND and path in NOT_SPOKEN:
        words = f"{path} of SandboxFusion is not spoken here: {NOT_SPOKEN[path]}"
        return Refusal(HTTPStatus.NOT_IMPLEMENTED, words)
    if error.status_code == HTTPStatus.NOT_FOUND:
        return Refusal(HTTPStatus.NOT_FOUND, f"nothing at {path[:100]!r}; GET /docs lists what there is")
    allowed = dict(error.headers or {})
    return Refusal(error.status_code, f"{path} takes {allowed['Allow']}", headers=allowed)


def _authenticate(token: str | None, request: Request) -> None:
    if token is None:
        return check_host(request.headers.get("host", ""))
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not hmac.compare_digest(given.strip().encode("latin-1"), token.encode()):
        raise Refusal(
            HTTPStatus.UNAUTHORIZED,
            "send the token that the service was started with: Authorization: Bearer TOKEN",
            headers={"WWW-Authenticate": 'Bearer realm="truegrade"'},
        )
    return None


def _check_kind(request: Request) -> None:
    """Refuse what is not JSON by its own account: no web page can send such unasked."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        raise Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send Content-Type: application/json")


async def _unless_left(work: Awaitable[R], receive: Callable[[], Awaitable[Message]]) -> R:
    """Do the work, and give it up as soon as nobody waits for it.

    Raises:
        ClientDisconnect: the client hung up before its answer.
    """
    doing = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(receive())
    try:
        await asyncio.wait({doing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            raise ClientDisconnect
        return doing.result()
    finally:
        for task in (doing, leaving):
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task


# -------------------------------------------------------------------------------------- The service on a port.

TOKEN_BYTES = 24
OPEN_FILES = 65_536
"""Files, connections among them, that the service has open at most, if the system allows it so many."""


def new_token() -> str:
    """A token that nobody guesses."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def serve_until_stopped(settings: ServiceSettings, announce: Callable[[str, str], None]) -> None:
    """Serve until SIGTERM or SIGINT, then finish what runs; a second signal ends it at once.

    Args:
        settings: what to serve.
        announce: told the address and the line about protection, once requests are taken.

    Raises:
        UserError: an extra is missing, or a setting, benchmark, profile or address is at fault.
        SandboxError: programs cannot be run, or only at protection level 1.
    """
    require("serve", "the service")
    _allow_connections()
    given = None if settings.fd is None else listening_at(settings.fd)
    if given is not None:
        host, port = given.getsockname()[:2]
        settings = structs.replace(settings, host=host, port=port)
    service = Service(settings)
    try:
        with GradingServer(service, given or listen(settings.host, settings.port)) as server:
            protection = f"protection level {service.level}: {service.protection}"
            server.serve_forever(lambda: announce(server.url, protection))
    finally:
        service.close()


def _allow_connections() -> None:
    """Use what the system allows: the usual soft limit is 1,024. Programs have a limit of their own."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        with suppress(OSError, ValueError):  # macOS refuses some
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


class GradingServer(HttpServer):
    """Serves one service, which has until the end of its drain to answer what is under way.

    Args:
        service: does the work.
        listener: a socket that listens.
    """

    def __init__(self, service: Service, listener: socket.socket) -> None:
        self._service = service
        super().__init__(
            grading_application(service),
            listener,
            max_connections=None,
            patience_s=service.settings.patience_s,
            headers={"x-content-type-options": "nosniff"},
        )

    async def drain(self) -> None:
        """Finish what there is; meanwhile own requests are told 503, and those of other clients are served.

        New connections are left to the next service where another process keeps the socket open.
        """
        self._service.stopping = True
        if self._service.settings.fd is not None:
            await self.leave_socket(self._service.settings.drain_s)
        await self._service.drain()
