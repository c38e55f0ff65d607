"""What the service says of itself: the interface as OpenAPI, a page of it, and counts for Prometheus."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Self

import msgspec

from truegrade import __version__
from truegrade.files.extras import EXTRAS, has_package
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.records import Reason, Verdict
from truegrade.report.markup import Markup, el, join
from truegrade.sandbox.modes import CodeCache
from truegrade.web.application import JSON, OWN, PROBLEM, Client, Endpoint
from truegrade.web.messages import Health, ProblemDetails
from truegrade.web.service.workload import Workload

# -------- The interface as an OpenAPI 3.1 document, generated from the structs that requests are decoded into.

REFUSED = {
    401: "The token is missing or wrong.",
    421: "Without a token: the name asked for is not a loopback one.",
}
WORK_REFUSED = {
    400: "The body is not JSON.",
    408: "The body did not arrive in time.",
    413: "The body is too large, or holds more gradings than the queue.",
    415: "The body is not called application/json.",
    422: "A field is not what it must be; `field` says which.",
}
OWN_REFUSED = {
    429: "The queue is full; `Retry-After` says when to come back.",
    503: "The service is stopping, or too many requests are under way.",
}
HELD_REFUSED = {
    500: "The grader failed, and nothing is known of the program; or the service did, and its log says why.",
    504: "No worker was done with it in time, or the service is stopping; ask again.",
}
"""Of routes whose clients would take the others for a verdict."""


def document(routes: Sequence[Endpoint]) -> dict[str, Any]:
    """The OpenAPI document of these endpoints."""
    kinds = {kind for route in routes for kind in (route.takes, route.gives) if kind is not None}
    ordered = sorted(kinds, key=lambda kind: kind.__name__)
    _, components = msgspec.json.schema_components(
        [*ordered, ProblemDetails], ref_template="#/components/schemas/{name}"
    )
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Truegrade grading service",
            "version": __version__,
            "description": "Grades model answers: programs run in a sandbox and are judged outside it.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _operation(route: Endpoint) -> dict[str, Any]:
    refused = {} if route.public else dict(REFUSED)
    if route.takes is not None:
        refused |= WORK_REFUSED | (OWN_REFUSED if route.client == OWN else HELD_REFUSED)
    responses: dict[str, Any] = {"200": {"description": "Success.", "content": _content(route)}}
    for status, text in sorted(refused.items()):
        responses[str(status)] = {
            "description": text,
            "content": {PROBLEM: {"schema": _reference(ProblemDetails)}},
        }
    if route.path == "/readyz":
        stopping = HTTPStatus.SERVICE_UNAVAILABLE
        responses[str(stopping.value)] = {"description": "It is stopping.", "content": _content(route)}
    operation: dict[str, Any] = {
        "operationId": f"{route.method.lower()}{route.path.replace('/', '_').replace('.', '_')}",
        "summary": route.summary,
        "responses": responses,
    }
    if route.takes is not None:
        operation["requestBody"] = {"required": True, "content": {JSON: {"schema": _reference(route.takes)}}}
    if route.public:
        operation["security"] = []
    return operation


def _content(route: Endpoint) -> dict[str, Any]:
    if route.gives is None:
        return {route.text: {"schema": {} if route.text == JSON else {"type": "string"}}}
    return {JSON: {"schema": _reference(route.gives)}}


def _reference(kind: type[msgspec.Struct]) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{kind.__name__}"}


# -------------------------- ``/docs``: the endpoints on one page, with nothing that is fetched from elsewhere.

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; text-align: left; }
td, th { padding: .3rem .8rem; border-bottom: 1px solid #8884; }
pre { background: #8882; padding: .8rem; overflow-x: auto; }
"""
EXAMPLE = """curl -s ADDRESS/v1/grade -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" -d '{
  "problem": {"task": {"type": "function", "prompt": "", "entry_point": "double",
                       "tests": "assert double(2) == 4", "reference": ""}},
  "completions": [{"text": "```python\\ndef double(x):\\n    return 2 * x\\n```"}]
}'"""


def page(routes: Sequence[Endpoint], health: Health) -> str:
    """The page as HTML."""
    rows = [
        el("tr", el("td", el("code", f"{route.method} {route.path}")), el("td", route.summary),
           el("td", _name(route.takes)), el("td", _name(route.gives) or route.text),
           el("td", "" if route.public else "token"))
        for route in routes
    ]  # fmt: skip
    head = el("tr", [el("th", name) for name in ("endpoint", "", "takes", "gives", "needs")])
    body = el(
        "body",
        el("h1", "Truegrade grading service"),
        el("p", f"Version {health.version}; programs run at protection level {health.level}; {health.status}."),
        el("table", head, rows),
        el("p", "Every field is described in ", el("a", "openapi.json", href="/openapi.json"), "."),
        el("pre", EXAMPLE),
    )
    title = el("head", el("meta", charset="utf-8"), el("title", "Truegrade"), el("style", Markup(STYLE)))
    return join(Markup("<!doctype html>"), el("html", title, body, lang="en"))


def _name(kind: type | None) -> str:
    return "" if kind is None else kind.__name__


# -------------------------------------------------------- What the service counts, in Prometheus' text format.

LATENCY_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)


def _counting() -> tuple[Any, Any, Any, Any]:
    """A registry, and the kinds of what counts; no registry where prometheus_client is not installed."""
    if not has_package(EXTRAS["serve"]):
        return None, _Uncounted, _Uncounted, _Uncounted
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

    return CollectorRegistry(), Counter, Gauge, Histogram


class _Uncounted:
    """Stands in for what counts where nobody asks for numbers: the pool of a node without prometheus_client."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def labels(self, *_: object) -> Self:
        """Itself."""
        return self

    def inc(self, *_: object) -> None:
        """Count nothing."""

    observe = set_function = inc


class Metrics:
    """Counters of one service; safe to use from several threads. Without the extra ``serve`` nothing is counted.

    Args:
        workload: whose queue and threads are watched.
        level: protection level of programs.
        code: compiled code of programs that come again.
    """

    def __init__(self, workload: Workload, level: int, code: CodeCache) -> None:
        self._registry, counter, gauge, histogram = _counting()
        told = {"registry": self._registry, "namespace": "truegrade"}
        self._requests = counter("requests", "Answered requests.", ["path", "status"], **told)
        self._latency = histogram(
            "request_seconds",
            "From a request's headers to its answer.",
            ["path"],
            buckets=LATENCY_BUCKETS_S,
            **told,
        )
        self._waits = histogram(
            "wait_seconds",
            "How long a program waited for a worker, by the route that it came by.",
            ["route"],
            buckets=LATENCY_BUCKETS_S,
            **told,
        )
        self._statuses = counter(
            "client_status", "Answers to requests for work, by whose client it is.", ["client", "status"], **told
        )
        self._rewards = counter("rewards", "Rewards, by what became of the reply.", ["profile", "outcome"], **told)
        self._nulls = counter("reward_null", "Rewards that are null, by cause.", ["cause"], **told)
        self._attempts = counter(
            "hack_attempts",
            "Replies that are accepted where they cannot be right, by channel, and whether they were paid.",
            ["channel", "paid"],
            **told,
        )
        self._disagreements = counter(
            "grader_disagreements", "Replies looked at on which the shadow's profile decides otherwise.", **told
        )
        self._verdicts = counter("verdicts", "Verdicts and executions, by reason.", ["endpoint", "reason"], **told)
        for name, text, value in (
            ("queue_length", "Programs that wait for a worker.", lambda: workload.waiting),
            ("queue_capacity", "Programs that may wait or run.", lambda: workload.max_queue),
            ("workers", "Programs that may run at once.", lambda: workload.workers),
            ("workers_busy", "Programs that run now.", lambda: workload.running),
            ("jail_level", "Protection level: 3 namespaces, 2 filters, 1 limits only.", lambda: level),
            ("code_cache_hits", "Runs of programs that were not compiled again.", lambda: code.hits),
            ("code_cache_misses", "Runs of programs that were compiled.", lambda: code.misses),
            ("code_cache_bytes", "Size of the compiled code that is kept.", lambda: code.bytes),
        ):
            gauge(name, text, **told).set_function(value)

    def answered(self, path: str, status: int, seconds: float, client: Client | None) -> None:
        """Count a request; ``client`` is None where it asked for no work."""
        self._requests.labels(path, str(status)).inc()
        self._latency.labels(path).observe(seconds)
        if client is not None:
            self._statuses.labels(client, str(status)).inc()

    def waited(self, route: str, seconds: float) -> None:
        """Count a program that has begun."""
        self._waits.labels(route).observe(seconds)

    def judged(self, endpoint: str, reason: str) -> None:
        """Count a verdict."""
        self._verdicts.labels(endpoint, reason).inc()

    def rewarded(self, profile: str, verdict: Verdict, *, truncated: bool) -> None:
        """Count a reward."""
        outcome = "right" if verdict.passed else "truncated" if truncated else "wrong"
        if verdict.reason is Reason.GRADER_ERROR:
            outcome = "unknown"
            self._nulls.labels(_cause(verdict)).inc()
        self._rewards.labels(profile, outcome).inc()

    def attempted(self, channel: str, paid: str) -> None:
        """Count an attempt to be paid for nothing: ``paid`` is yes, no or shadow."""
        self._attempts.labels(channel, paid).inc()

    def disagreed(self) -> None:
        """Count a reply on which two profiles differ."""
        self._disagreements.inc()

    @property
    def content_type(self) -> str:
        """Of `text`."""
        if self._registry is None:
            return "text/plain"
        from prometheus_client import CONTENT_TYPE_LATEST

        return str(CONTENT_TYPE_LATEST)

    def text(self) -> bytes:
        """Everything, as ``/metrics`` shows it."""
        if self._registry is None:
            return b"# prometheus_client is not installed, so nothing is counted\n"
        from prometheus_client import generate_latest

        text: bytes = generate_latest(self._registry)
        return text


def _cause(verdict: Verdict) -> str:
    """``tests-inside``, the name of the exception in front of the detail, or ``sandbox`` where there is none."""
    if TESTS_INSIDE in verdict.marks:
        return TESTS_INSIDE
    name, colon, _ = verdict.detail.partition(":")
    kind = getattr(builtins, name, None) if colon else None
    return name if isinstance(kind, type) and issubclass(kind, Exception) else "sandbox"
