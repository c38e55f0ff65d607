"""Running totals over the completions of a run: tokens, seconds, dollars, and what the warnings need of them."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict

import msgspec

from truegrade.pipeline.cautions import Caution, caution
from truegrade.pipeline.sample_cautions import INCLUDED_MODEL
from truegrade.records import TOOL_CALLS, SampleKey
from truegrade.statistics import NumberSummary, summarise
from truegrade.store import Manifest
from truegrade.store.facts import CompletionFacts, Shape


class RunUsage(msgspec.Struct, frozen=True, kw_only=True):
    """What generating took. Numbers are over answered samples; cost and attempts include failed ones.

    A reply from the response cache has the tokens and latency that it once had, and is no attempt.
    """

    input_tokens: NumberSummary | None
    output_tokens: NumberSummary | None
    latency_s: NumberSummary | None
    tokens_per_task: NumberSummary | None
    latency_s_per_task: NumberSummary | None
    cost_usd: float | None
    attempts: int
    failed_attempts: int
    empty_attempts: int


class ReplyLength(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """How long a reply is."""

    tokens: int | None
    """Output tokens; None where the service did not say."""
    cut: bool
    """At a token limit."""


class CompletionTotals:
    """Running totals over completions, read once."""

    def __init__(self, manifest: Manifest) -> None:
        self.texts: dict[str, dict[int, str]] = defaultdict(dict)
        """By problem and sample, the SHA-256 of the answered text."""
        self.shapes: dict[SampleKey, Shape] = {}
        self.lengths: dict[SampleKey, ReplyLength] = {}
        self._config = manifest.generation.sha256 if manifest.generation else None
        self._limit = manifest.generation.sampling.max_tokens if manifest.generation else None
        self._asked = manifest.generation is not None
        self._longer = 0
        self._reused = self._calls = 0
        self.answered = 0
        self._failed: set[SampleKey] = set()
        self.model = "imported"
        self._cost: float | None = None
        self._attempts: Counter[str] = Counter()
        self._input = array("d")
        self._output = array("d")
        self._latency = array("d")
        self._task_tokens: dict[str, float] = defaultdict(float)
        self._task_latency: dict[str, float] = defaultdict(float)

    def add(self, completion: CompletionFacts) -> None:
        """Take one completion into account."""
        self._attempts.update(completion.attempts)
        if completion.cost_usd is not None:
            self._cost = (self._cost or 0.0) + completion.cost_usd
        if completion.sha256 is None:
            self._failed.add(completion.key)
            return
        self.texts[completion.problem_id][completion.sample] = completion.sha256
        self.shapes[completion.key] = completion.shape
        tokens = None if completion.usage is None else completion.usage.output_tokens
        self.lengths[completion.key] = ReplyLength(tokens, completion.truncated)
        self.answered += 1
        self._longer += completion.truncated and self._asked and self._may_be_longer(completion)
        self._calls += completion.finish_reason == TOOL_CALLS
        self._reused += self._config not in (None, completion.config_sha256)
        self.model = completion.model
        if completion.usage is not None:
            self._input.append(completion.usage.input_tokens)
            self._output.append(completion.usage.output_tokens)
            total = completion.usage.input_tokens + completion.usage.output_tokens
            self._task_tokens[completion.problem_id] += total
        if completion.latency_s is not None:
            self._latency.append(completion.latency_s)
            self._task_latency[completion.problem_id] += completion.latency_s

    @property
    def failed(self) -> int:
        """How many samples have no reply because every attempt failed."""
        return len(self._failed - self.shapes.keys())

    def _may_be_longer(self, completion: CompletionFacts) -> bool:
        """Whether a higher limit could have let a reply that was cut go on."""
        if self._limit is None:  # the included model then stops at the length that it has learned
            return not completion.model.startswith(INCLUDED_MODEL)
        return completion.usage is None or completion.usage.output_tokens >= self._limit

    def advice(self) -> str:
        """What to do about replies that were cut; empty where a higher limit changes nothing."""
        return "; raise `max_tokens`" if self._longer else ""

    def cautions(self) -> list[Caution]:
        """The warnings that replies hold calls of tools, or were taken from a file or from the response cache."""
        found = []
        if self._calls:
            said = f"{self._calls} of {self.answered} replies hold tool_calls, which are not read"
            found.append(caution("tool-calls", said, self._calls, self.answered))
        if self._reused:
            said = f"{self._reused} of {self.answered} samples were taken from a file, not generated in this run"
            found.append(caution("reused-samples", said, self._reused, self.answered))
        cached = self._attempts["cached"]
        if cached:
            said = (
                f"{cached} of {self.answered} replies come from the response cache: beside the run that asked for"
                " them, this one is no second draw"
            )
            found.append(caution("cached-replies", said, cached, self.answered))
        return found

    def usage(self) -> RunUsage:
        """The totals so far."""
        return RunUsage(
            input_tokens=summarise(self._input),
            output_tokens=summarise(self._output),
            latency_s=summarise(self._latency),
            tokens_per_task=summarise(list(self._task_tokens.values())),
            latency_s_per_task=summarise(list(self._task_latency.values())),
            cost_usd=self._cost,
            attempts=self._attempts.total() - self._attempts["cached"],
            failed_attempts=self._attempts["error"],
            empty_attempts=self._attempts["empty"],
        )
