"""How tokens, seconds, dollars and lengths are spread over the samples of a run, by outcome."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from math import ceil, floor, log10

import msgspec

from truegrade.pipeline.verdict_table import VerdictTable
from truegrade.records import SampleKey
from truegrade.report import wording
from truegrade.store import Run
from truegrade.store.facts import CompletionFacts

BINS = 30
LOG_BEYOND = 30
"""Values whose largest is this many times the tenth percentile are binned logarithmically."""


class Distribution(msgspec.Struct, frozen=True, kw_only=True):
    """A histogram."""

    name: str
    unit: str
    edges: list[float]
    """One more than there are bins."""
    counts: dict[str, list[int]]
    """Family of outcome -> number in each bin."""
    log: bool
    below: int = 0
    """Values of zero or less that a logarithmic axis cannot show."""


Values = Mapping[str, Sequence[float]]
"""Family of outcome -> values."""


def read_distributions(run: Run, outcomes: VerdictTable, samples_per_task: int) -> list[Distribution]:
    """Histograms of what is known of the answered samples that count, split by their outcome.

    Args:
        run: graded.
        outcomes: under the first profile; they name the problems that count.
        samples_per_task: samples beyond this number do not count.
    """
    values: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name, _, _ in _MEASURES}
    counted: set[SampleKey] = set()
    for completion in run.completion_facts():
        key = completion.key
        if not completion.answered or key.sample >= samples_per_task or key in counted:
            continue
        counted.add(key)
        family = family_of(outcomes, key)
        for name, _, measure in _MEASURES:
            if (value := measure(completion)) is not None:
                values[name][family].append(value)
    made = (bin_values(values[name], name, unit) for name, unit, _ in _MEASURES)
    return [distribution for distribution in made if distribution is not None]


def family_of(outcomes: VerdictTable, key: SampleKey) -> str:
    """What became of a sample: a key of `wording.FAMILIES`."""
    row = outcomes.get(key.problem_id, ())
    outcome = row[key.sample] if key.sample < len(row) else None
    if outcome is None:
        return "ungraded"
    return "passed" if outcome.passed else wording.family(outcome.reason)


def bin_values(values: Values, name: str, unit: str) -> Distribution | None:
    """Sort values into at most `BINS` bins; None where fewer than two of them differ."""
    known = sorted(value for group in values.values() for value in group)
    if not known or known[0] == known[-1]:
        return None
    positive = [value for value in known if value > 0]
    log = bool(positive) and known[-1] > LOG_BEYOND * positive[len(positive) // 10]
    edges = _log_edges(positive) if log else _linear_edges(known)
    counts = {}
    for family in wording.FAMILIES:
        bins = [0] * (len(edges) - 1)
        for value in values.get(family, ()):
            if not log or value > 0:
                bins[min(bisect_right(edges, value) - 1, len(bins) - 1)] += 1
        if any(bins):
            counts[family] = bins
    below = len(known) - len(positive) if log else 0
    return Distribution(name=name, unit=unit, edges=edges, counts=counts, log=log, below=below)


def _linear_edges(known: Sequence[float]) -> list[float]:
    """Bins of a round width, whole numbers where all values are."""
    low, high = known[0], known[-1]
    width = _round_up((high - low) / BINS)
    if all(float(value).is_integer() for value in known):
        width = max(1.0, width)
    first = floor(low / width)
    return [number * width for number in range(first, max(floor(high / width), first) + 2)]


def _log_edges(positive: Sequence[float]) -> list[float]:
    """Bins of one ratio, at least a fifth of a decade's ends apart from each other."""
    low, high = floor(10 * log10(positive[0])), ceil(10 * log10(positive[-1]))
    step = max(1, ceil((high - low) / BINS))
    return [10 ** (tenth / 10) for tenth in range(low, high + step + 1, step)]


def _round_up(width: float) -> float:
    """The next of 1, 2, 2.5 and 5 times a power of ten."""
    power = 10.0 ** floor(log10(width))
    return next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= width * (1 - 1e-9))


def _tokens_in(completion: CompletionFacts) -> float | None:
    return completion.usage.input_tokens if completion.usage else None


def _tokens_out(completion: CompletionFacts) -> float | None:
    return completion.usage.output_tokens if completion.usage else None


def _thinking(completion: CompletionFacts) -> float | None:
    return completion.usage.reasoning_tokens if completion.usage else None


_MEASURES: tuple[tuple[str, str, Callable[[CompletionFacts], float | None]], ...] = (
    ("length of the reply", "characters", lambda completion: completion.chars),
    ("output tokens", "tokens", _tokens_out),
    ("thinking tokens", "tokens", _thinking),
    ("input tokens", "tokens", _tokens_in),
    ("latency", "seconds", lambda completion: completion.latency_s),
    ("cost", "US dollars", lambda completion: completion.cost_usd),
)
