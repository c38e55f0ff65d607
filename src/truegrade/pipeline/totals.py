"""Running totals over the completions of a run: tokens, seconds, dollars, and what the warnings need of them."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

import msgspec

from truegrade.pipeline.cautions import Caution, caution
from truegrade.pipeline.sample_cautions import INCLUDED_MODEL
from truegrade.records import TOOL_CALLS, SampleKey
from truegrade.statistics import NumberSummary, summarise
from truegrade.store import Manifest
from truegrade.store.facts import UNKNOWN, CompletionFacts, ReplyForm, reply_form
from truegrade.store.importers.base import UNKNOWN_MODEL


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


_NO_TEXT = -1


class SampleTexts(Mapping[int, int]):
    """By sample of a problem, what stands for its text: equal texts have equal numbers, of eight bytes each."""

    def __init__(self) -> None:
        self._numbers = array("q")
        self._count = 0

    def add(self, sample: int, sha256: str) -> None:
        """Note the text of a sample by its hash; a later one replaces an earlier one."""
        self._numbers.extend([_NO_TEXT] * (sample + 1 - len(self._numbers)))
        self._count += self._numbers[sample] == _NO_TEXT
        self._numbers[sample] = int(sha256[:15], 16)

    def __getitem__(self, sample: int) -> int:
        number = self._numbers[sample] if 0 <= sample < len(self._numbers) else _NO_TEXT
        if number == _NO_TEXT:
            raise KeyError(sample)
        return number

    def __iter__(self) -> Iterator[int]:
        return (sample for sample, number in enumerate(self._numbers) if number != _NO_TEXT)

    def __len__(self) -> int:
        return self._count


class CompletionTotals:
    """Running totals over completions, read once."""

    def __init__(self, manifest: Manifest) -> None:
        self.texts: dict[str, SampleTexts] = defaultdict(SampleTexts)
        """By problem and sample, what stands for the answered text."""
        self._forms: dict[str, list[ReplyForm]] = defaultdict(list)
        self._same_form: dict[ReplyForm, ReplyForm] = {UNKNOWN: UNKNOWN}
        self._config = manifest.generation.sha256 if manifest.generation else None
        self._limit = manifest.generation.sampling.max_tokens if manifest.generation else None
        self._asked = manifest.generation is not None
        self._longer = 0
        self._reused = self._calls = 0
        self.answered = 0
        self._failed: set[SampleKey] = set()
        self._models: dict[str, None] = {}
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
        self.texts[completion.problem_id].add(completion.sample, completion.sha256)
        form = reply_form(completion)
        forms = self._forms[completion.problem_id]
        forms += [UNKNOWN] * (completion.sample + 1 - len(forms))
        forms[completion.sample] = self._same_form.setdefault(form, form)
        self.answered += 1
        self._longer += completion.truncated and self._asked and self._may_be_longer(completion)
        self._calls += completion.finish_reason == TOOL_CALLS
        self._reused += self._config not in (None, completion.config_sha256)
        self._models[completion.model] = None
        if completion.usage is not None:
            self._input.append(completion.usage.input_tokens)
            self._output.append(completion.usage.output_tokens)
            total = completion.usage.input_tokens + completion.usage.output_tokens
            self._task_tokens[completion.problem_id] += total
        if completion.latency_s is not None:
            self._latency.append(completion.latency_s)
            self._task_latency[completion.problem_id] += completion.latency_s

    @property
    def model(self) -> str:
        """The model that made them; of several the first, and how many others."""
        first, *others = self._models or [UNKNOWN_MODEL]
        return f"{first} and {len(others)} more" if others else first

    @property
    def failed(self) -> int:
        """How many samples have no reply because every attempt failed."""
        return sum(key.sample not in self.texts.get(key.problem_id, ()) for key in self._failed)

    def form(self, problem_id: str, sample: int) -> ReplyForm:
        """What the reply to a sample looks like."""
        forms = self._forms.get(problem_id, ())
        return forms[sample] if sample < len(forms) else UNKNOWN

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
