"""What the service counts, in Prometheus' text format."""

from __future__ import annotations

from truegrade.web.service.workload import Workload

LATENCY_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)


class Metrics:
    """Counters of one service; safe to use from several threads.

    Args:
        workload: whose queue and threads are watched.
        level: protection level of programs.
    """

    def __init__(self, workload: Workload, level: int) -> None:
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
        self._verdicts = Counter("verdicts", "Verdicts and executions, by reason.", ["endpoint", "reason"], **told)
        for name, text, value in (
            ("queue_length", "Programs that wait for a worker.", lambda: workload.waiting),
            ("queue_capacity", "Programs that may wait or run.", lambda: workload.max_queue),
            ("workers", "Programs that may run at once.", lambda: workload.workers),
            ("workers_busy", "Programs that run now.", lambda: workload.running),
            ("jail_level", "Protection level: 3 namespaces, 2 filters, 1 limits only.", lambda: level),
        ):
            Gauge(name, text, **told).set_function(value)

    def answered(self, path: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(path, str(status)).inc()
        self._latency.labels(path).observe(seconds)

    def judged(self, endpoint: str, reason: str) -> None:
        """Count a verdict."""
        self._verdicts.labels(endpoint, reason).inc()

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
