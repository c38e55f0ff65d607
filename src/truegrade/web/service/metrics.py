"""What the service counts, in Prometheus' text format."""

from __future__ import annotations

import builtins

from truegrade.grading.functions import TESTS_INSIDE
from truegrade.records import Reason, Verdict
from truegrade.sandbox.code_cache import CodeCache
from truegrade.web.endpoint import Client
from truegrade.web.service.workload import Workload

LATENCY_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)


class Metrics:
    """Counters of one service; safe to use from several threads.

    Args:
        workload: whose queue and threads are watched.
        level: protection level of programs.
        code: compiled code of programs that come again.
    """

    def __init__(self, workload: Workload, level: int, code: CodeCache) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        self._registry = CollectorRegistry()
        told = {"registry": self._registry, "namespace": "truegrade"}
        self._requests = Counter("requests", "Answered requests.", ["path", "status"], **told)
        self._latency = Histogram(
            "request_seconds",
            "From a request's headers to its answer.",
            ["path"],
            buckets=LATENCY_BUCKETS_S,
            **told,
        )
        self._waits = Histogram(
            "wait_seconds",
            "How long a program waited for a worker, by the route that it came by.",
            ["route"],
            buckets=LATENCY_BUCKETS_S,
            **told,
        )
        self._statuses = Counter(
            "client_status", "Answers to requests for work, by whose client it is.", ["client", "status"], **told
        )
        self._rewards = Counter("rewards", "Rewards, by what became of the reply.", ["profile", "outcome"], **told)
        self._nulls = Counter("reward_null", "Rewards that are null, by cause.", ["cause"], **told)
        self._attempts = Counter(
            "hack_attempts",
            "Replies that are accepted where they cannot be right, by channel, and whether they were paid.",
            ["channel", "paid"],
            **told,
        )
        self._disagreements = Counter(
            "grader_disagreements", "Replies looked at on which the shadow's profile decides otherwise.", **told
        )
        self._verdicts = Counter("verdicts", "Verdicts and executions, by reason.", ["endpoint", "reason"], **told)
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
            Gauge(name, text, **told).set_function(value)

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
        from prometheus_client import CONTENT_TYPE_LATEST

        return str(CONTENT_TYPE_LATEST)

    def text(self) -> bytes:
        """Everything, as ``/metrics`` shows it."""
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
