"""What a tracker is told of a run, and telling it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from truegrade.pipeline.summary import ProfileSummary, Summary, read_summary
from truegrade.pipeline.totals import RunUsage
from truegrade.records import sha256_json
from truegrade.store import Manifest, Run
from truegrade.store.trackers import NotTracked, OpenTracker, TrackedRun, log_run

M = TypeVar("M")

_LONGEST = 500
"""Characters of a value: MLflow's limit for parameters where it is lowest."""


def track(run: Run, trackers: Sequence[OpenTracker], made: M) -> M:
    """Log a graded run, and return ``made``, which is there whether that succeeds or not.

    Raises:
        NotTracked: a tracker failed; holds ``made``.
    """
    if trackers:
        try:
            log_run(run, tracked(run), trackers)
        except NotTracked as error:
            error.made = made
            raise
    return made


def tracked(run: Run) -> TrackedRun:
    """The results of a graded run as a tracker takes them.

    Raises:
        UserError: it was not graded yet.
    """
    summary, manifest = read_summary(run), run.manifest
    files = (run.path / "summary.json", run.outputs / "report.html")
    return TrackedRun(
        id=sha256_json([*manifest.identity, manifest.created])[:16],
        name=run.path.resolve().name,
        parameters={name: value[:_LONGEST] for name, value in _parameters(manifest, summary)},
        metrics=dict(_metrics(summary)),
        tags={name: value[:_LONGEST] for name, value in _tags(manifest, summary)},
        artifacts=tuple(path for path in files if path.is_file()),
    )


def _parameters(manifest: Manifest, summary: Summary) -> Iterator[tuple[str, str]]:
    yield "benchmark", manifest.benchmark.name
    yield "model", summary.model
    for name, value in manifest.benchmark.args.items():
        yield f"benchmark.{name}", value
    config = manifest.generation
    if config is None:
        yield "imported_from", manifest.imported_from or ""
        return
    yield "prompt_rule", config.prompt_rule
    settings: dict[str, Any] = msgspec.to_builtins(config.sampling)
    settings |= {f"model.{name}": value for name, value in config.model_args.items()}
    if config.agent is not None:
        settings["agent"] = f"{config.agent.name}@{config.agent.version}"
        settings |= {f"agent.{name}": value for name, value in config.agent.args.items()}
    yield from ((name, str(value)) for name, value in settings.items() if value not in (None, [], ()))


def _tags(manifest: Manifest, summary: Summary) -> Iterator[tuple[str, str]]:
    yield "truegrade.version", manifest.environment.get("truegrade", "")
    yield "truegrade.dataset_sha256", manifest.benchmark.dataset_sha256
    yield "truegrade.profiles", ", ".join(profile.profile for profile in summary.profiles)
    yield "truegrade.created", manifest.created
    if summary.window:
        yield "truegrade.window", " ".join(f"{name}={value}" for name, value in summary.window.items())
    if told := list(dict.fromkeys(words for profile in summary.profiles for words in profile.warnings)):
        yield "truegrade.warnings", "; ".join(told)


def _metrics(summary: Summary) -> Iterator[tuple[str, float]]:
    for name in ("tasks", "samples_per_task", "expected", "answered", "missing", "disagreeing"):
        yield name, float(getattr(summary, name))
    yield from _spent(summary.usage)
    for profile in summary.profiles:
        yield from _of_profile(profile)


def _spent(usage: RunUsage) -> Iterator[tuple[str, float]]:
    yield "attempts", float(usage.attempts)
    yield "failed_attempts", float(usage.failed_attempts)
    if usage.cost_usd is not None:
        yield "cost_usd", usage.cost_usd
    if usage.input_tokens is not None:
        yield "input_tokens", usage.input_tokens.total
    if usage.output_tokens is not None:
        yield "output_tokens", usage.output_tokens.total
    if usage.latency_s is not None:
        yield "latency_s_median", usage.latency_s.median


def _of_profile(profile: ProfileSummary) -> Iterator[tuple[str, float]]:
    name = short_profile(profile.profile)
    for estimate in profile.estimates:
        metric = f"{name}/{estimate.metric.replace('@', '_at_')}"
        yield metric, estimate.value
        if estimate.low is not None and estimate.high is not None:
            yield f"{metric}_low", estimate.low
            yield f"{metric}_high", estimate.high
    yield f"{name}/warnings", float(len(profile.warnings))


def short_profile(profile: str) -> str:
    """A profile's id without its version, which a chart over months should not break at: ``human-eval_30s``."""
    name, _, version = profile.partition("@")
    _, plus, limit = version.partition("+")
    return f"{name}_{limit}" if plus else name
