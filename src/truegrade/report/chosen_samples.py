"""Which samples the page carries: a seeded choice where there are too many, gathered in two passes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from heapq import heappush, heappushpop
from itertools import chain, zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING
from zlib import crc32

import msgspec

from truegrade.analysis.standings import Matrix, rule_matrix
from truegrade.pipeline.summary import Summary, read_summary
from truegrade.pipeline.verdicts import VerdictTable, disputed, graded, side_by_side, verdict_table
from truegrade.records import Prompt, SampleKey
from truegrade.report.figures import Distribution, read_distributions
from truegrade.report.sample_views import Excerpt, SampleView, excerpt, view_sample
from truegrade.store import Manifest, Run
from truegrade.store.manifest import AUDIT

if TYPE_CHECKING:
    from truegrade.analysis.audit.findings import Finding

MAX_SAMPLES = 10_000
MAX_PAGE_CHARS = 45_000_000
"""Samples whose texts would go beyond this are left out; packed, this many make a page of some 15 MB."""
SEED = 0
NO_REFERENCES: Mapping[str, str] = MappingProxyType({})
"""Where the data set is not at hand."""

Prompts = dict[str, list[tuple[str, Excerpt]]]
"""Problem id -> (role, text) of each message."""


class Browser(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the sample browser shows, and what it leaves out."""

    samples: list[SampleView]
    """In the data set's order."""
    prompts: Prompts
    """Of the problems of `samples`, where the run stores them."""
    profiles: list[str]
    graded: int
    """Samples with a verdict, of which `samples` is a choice."""
    disputed: int
    """Samples on which profiles differ."""
    disputed_shown: int


def collect(
    run: Run,
    summary: Summary,
    outcomes: Mapping[str, VerdictTable],
    references: Mapping[str, str] = NO_REFERENCES,
    *,
    max_chars: int = MAX_PAGE_CHARS,
) -> Browser:
    """Choose samples of a graded run and gather what the page tells about them.

    Args:
        run: its completions and verdicts are read here as texts, once more than numbers need.
        summary: of the run.
        outcomes: by profile id.
        references: as of `write_report`.
        max_chars: samples beyond this much text are left out.
    """
    order = {name: place for place, name in enumerate(_tasks(summary))}
    profiles = [profile.profile for profile in summary.profiles]
    chosen = choose([outcomes[profile] for profile in profiles], MAX_SAMPLES, SEED)
    prompts = read_prompts(run.prompts(), {key.problem_id for key in chosen.samples})
    views = _within_budget(read_views(run, profiles, chosen.samples, references), prompts, max_chars)
    disputed_shown = set(chosen.samples[: chosen.disputed])
    views.sort(key=lambda view: (order.get(view.id, len(order)), view.sample))
    return Browser(
        samples=views,
        prompts={task: prompts[task] for task in {view.id: None for view in views} if task in prompts},
        profiles=profiles,
        graded=chosen.graded,
        disputed=chosen.disputed,
        disputed_shown=sum(SampleKey(view.id, view.sample) in disputed_shown for view in views),
    )


class ChosenSamples(msgspec.Struct, frozen=True, kw_only=True):
    """The samples chosen, disputed ones first, and how many there were."""

    samples: list[SampleKey]
    graded: int
    disputed: int


def choose(outcomes: Sequence[VerdictTable], limit: int, seed: int) -> ChosenSamples:
    """Every sample on which profiles differ, then the same number of each reason, as far as there are any.

    Args:
        outcomes: one a profile; a sample's stratum is its reason under the first that graded it.
        limit: most samples to choose. If more are disputed, a random part of those is the choice.
        seed: of every random draw.
    """
    differing = _Draw(limit, seed)
    strata: dict[str, _Draw] = defaultdict(lambda: _Draw(limit, seed))
    for key, row in side_by_side(outcomes):
        if disputed(row):
            differing.add(key)
        else:
            strata[graded(row)[0].reason].add(key)
    in_turn = chain.from_iterable(zip_longest(*(strata[reason].drawn() for reason in sorted(strata))))
    return ChosenSamples(
        samples=[*differing.drawn(), *(key for key in in_turn if key is not None)][:limit],
        graded=differing.seen + sum(stratum.seen for stratum in strata.values()),
        disputed=differing.seen,
    )


class _Draw:
    """A random part of a stream in bounded memory: the ``size`` items of lowest seeded hash."""

    def __init__(self, size: int, seed: int) -> None:
        self.seen = 0
        self._size, self._seed = size, seed
        self._kept: list[tuple[int, str, int]] = []

    def add(self, key: SampleKey) -> None:
        """Offer one item."""
        self.seen += 1
        lot = crc32(f"{self._seed}/{key.problem_id}/{key.sample}".encode("utf-8", "replace"))
        entry = (-lot, key.problem_id, key.sample)
        if len(self._kept) < self._size:
            heappush(self._kept, entry)
        elif self._kept:
            heappushpop(self._kept, entry)

    def drawn(self) -> list[SampleKey]:
        """What was drawn, in random order."""
        return [SampleKey(problem_id, sample) for _, problem_id, sample in sorted(self._kept, reverse=True)]


def _tasks(summary: Summary) -> list[str]:
    """Problems of all profiles, in the data set's order as far as the first profile scores them."""
    return list(dict.fromkeys(task.id for profile in summary.profiles for task in profile.tasks))


def read_views(
    run: Run,
    profiles: Sequence[str],
    chosen: Sequence[SampleKey],
    references: Mapping[str, str] = NO_REFERENCES,
) -> list[SampleView]:
    """The chosen samples, in order. A later record of a sample replaces an earlier one."""
    wanted = set(chosen)
    with ExitStack() as opened:
        completions = opened.enter_context(run.last_completions(lambda one: one.answered and one.key in wanted))
        verdicts = [
            opened.enter_context(run.last_verdicts(profile, lambda one: one.key in wanted)) for profile in profiles
        ]

        def view(key: SampleKey) -> SampleView:
            judged = [verdict for each in verdicts if (verdict := each.of(key)) is not None]
            return view_sample(key, completions.of(key), judged, lambda: references.get(key.problem_id, ""))

        return [view(key) for key in chosen]


def _within_budget(views: Iterable[SampleView], prompts: Prompts, max_chars: int) -> list[SampleView]:
    """Keep samples, in order, while the page stays small; at least one. A prompt counts once."""
    kept: list[SampleView] = []
    tasks: set[str] = set()
    chars = 0
    for view in views:
        chars += view.chars
        if view.id not in tasks:
            chars += sum(len(text.text) for _, text in prompts.get(view.id, []))
        if chars > max_chars and kept:
            break
        tasks.add(view.id)
        kept.append(view)
    return kept


def read_prompts(prompts: Mapping[str, Prompt], tasks: set[str]) -> Prompts:
    """The messages of some problems, cut for the page."""
    return {
        task: [(message.role, excerpt(message.content)) for message in prompt.messages]
        for task, prompt in prompts.items()
        if task in tasks
    }


# --------------------------------------- Everything that a report of a run is made of, read from the run once.


class ReportMaterial(msgspec.Struct, frozen=True, kw_only=True):
    """What the page and the files show, the samples' texts apart."""

    manifest: Manifest
    summary: Summary
    outcomes: Mapping[str, VerdictTable]
    """By profile id, of the problems that it scores."""
    matrix: Matrix
    distributions: list[Distribution]
    findings: list[Finding]
    """Of a stored audit."""


def gather(run: Run, summary: Summary | None = None) -> ReportMaterial:
    """Read a graded run.

    Args:
        run: graded.
        summary: of the part that is reported; None for the stored one.

    Raises:
        UserError: the run was not graded yet, or by a version whose summary this one cannot read.
        BadRecord: a line of its journals is not a record.
    """
    summary = summary or read_summary(run)
    tasks = {task.id for profile in summary.profiles for task in profile.tasks}
    outcomes = {
        profile.profile: verdict_table(run.verdict_facts(profile.profile), tasks, summary.samples_per_task)
        for profile in summary.profiles
    }
    first = summary.profiles[0].profile
    return ReportMaterial(
        manifest=run.manifest,
        summary=summary,
        outcomes=outcomes,
        matrix=rule_matrix(summary, outcomes),
        distributions=read_distributions(run, outcomes[first], summary.samples_per_task),
        findings=_findings(run),
    )


def _findings(run: Run) -> list[Finding]:
    """Of the audit that the run keeps; none where it keeps none, as most do."""
    if not (run.path / AUDIT).exists():
        return []
    from truegrade.analysis.replication import stored_audit  # which loads all that audits, a tenth of a grading

    audit = stored_audit(run)
    return audit.findings if audit else []
