"""Which samples the page carries, and what of them: a seeded choice, read in two passes of bounded memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import heappush, heappushpop
from itertools import chain, zip_longest
from zlib import crc32

import msgspec

from truegrade.extraction.thinking import final_channel
from truegrade.outcomes import Outcomes, disputed, graded, read_outcomes, side_by_side
from truegrade.records import Completion, Prompt, SampleKey, Verdict
from truegrade.store import Run
from truegrade.summary import Summary

MAX_SAMPLES = 300
MAX_TEXT_CHARS = 20_000
"""A longer text is cut, with a note."""
MAX_PAGE_CHARS = 5_000_000
"""Samples that would take the page beyond this are left out, so that it opens anywhere."""
SEED = 0


class Excerpt(msgspec.Struct, frozen=True, array_like=True):
    """The first `MAX_TEXT_CHARS` of a text, and how long all of it is."""

    text: str
    chars: int


class VerdictView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one profile made of a sample."""

    profile: str
    passed: bool
    reason: str
    detail: str = ""
    answer: int | None = None
    """Index into the sample's answers."""
    found: str = ""
    cpu_s: float | None = None
    wall_s: float | None = None
    notes: tuple[str, ...] = ()


class SampleView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One sample as the page's script shows it."""

    id: str
    sample: int
    thinking: Excerpt | None = None
    reply: Excerpt | None = None
    """None where the run stores no reply for it."""
    finish: str | None = None
    output_tokens: int | None = None
    latency_s: float | None = None
    answers: tuple[Excerpt, ...]
    verdicts: tuple[VerdictView, ...]


Prompts = dict[str, list[tuple[str, Excerpt]]]
"""Problem id -> (role, text) of each message."""


class Browser(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the sample browser shows, and what it leaves out."""

    samples: list[SampleView]
    prompts: Prompts
    """Of the tasks of `samples`, where the run stores them."""
    graded: int
    """Samples with a verdict, of which `samples` is a choice."""
    disputed: int
    """Samples on which profiles differ."""
    disputed_shown: int


def collect(run: Run, summary: Summary) -> Browser:
    """Choose samples of a graded run and gather what the page tells about them."""
    order = {task.id: place for place, task in enumerate(summary.profiles[0].tasks)}
    profiles = [profile.profile for profile in summary.profiles]
    outcomes = [read_outcomes(run.verdicts(profile), order, summary.samples_per_task) for profile in profiles]
    chosen = choose(outcomes, MAX_SAMPLES, SEED)
    prompts = _prompts(run.prompts(), {key.problem_id for key in chosen.samples})
    views = _within_budget(_views(run, profiles, chosen.samples), prompts)
    disputed_shown = set(chosen.samples[: chosen.disputed])

    def failing_first(view: SampleView) -> tuple[bool, int, int]:
        return all(verdict.passed for verdict in view.verdicts), order[view.id], view.sample

    return Browser(
        samples=sorted(views, key=failing_first),
        prompts={task: prompts[task] for task in {view.id: None for view in views} if task in prompts},
        graded=chosen.graded,
        disputed=chosen.disputed,
        disputed_shown=sum(SampleKey(view.id, view.sample) in disputed_shown for view in views),
    )


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The samples chosen, disputed ones first, and how many there were."""

    samples: list[SampleKey]
    graded: int
    disputed: int


def choose(outcomes: Sequence[Outcomes], limit: int, seed: int) -> Choice:
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
    return Choice(
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


def excerpt(text: str) -> Excerpt:
    """Cut a text for the page."""
    return Excerpt(text[:MAX_TEXT_CHARS], len(text))


def _views(run: Run, profiles: Sequence[str], chosen: Sequence[SampleKey]) -> list[SampleView]:
    """Read the chosen samples, in the order they were chosen."""
    wanted = set(chosen)
    completions = {c.key: c for c in run.completions() if c.text is not None and c.key in wanted}
    verdicts: dict[SampleKey, dict[str, Verdict]] = defaultdict(dict)
    for profile in profiles:
        for verdict in run.verdicts(profile):
            if verdict.key in wanted:
                verdicts[verdict.key][profile] = verdict
    return [_view(key, completions.get(key), list(verdicts[key].values())) for key in chosen]


def _view(key: SampleKey, completion: Completion | None, verdicts: Sequence[Verdict]) -> SampleView:
    answers = list(dict.fromkeys(v.answer for v in verdicts if v.answer is not None))
    views = tuple(_verdict_view(v, None if v.answer is None else answers.index(v.answer)) for v in verdicts)
    shown = tuple(excerpt(answer) for answer in answers)
    if completion is None or completion.text is None:
        return SampleView(id=key.problem_id, sample=key.sample, answers=shown, verdicts=views)
    thinking, reply = _split_thinking(completion)
    return SampleView(
        id=key.problem_id,
        sample=key.sample,
        thinking=excerpt(thinking) if thinking else None,
        reply=excerpt(reply),
        finish=completion.finish_reason,
        output_tokens=completion.usage.output_tokens if completion.usage else None,
        latency_s=completion.latency_s,
        answers=shown,
        verdicts=views,
    )


def _split_thinking(completion: Completion) -> tuple[str, str]:
    """Thinking, whether it came apart or inside the reply, and the rest of the reply with every character."""
    text = completion.text or ""
    offset = final_channel(text).offset if completion.form == "reply" else 0
    return "\n\n".join(part for part in (completion.reasoning, text[:offset]) if part), text[offset:]


def _verdict_view(verdict: Verdict, answer: int | None) -> VerdictView:
    notes = [*verdict.marks]
    if verdict.time_sensitive:
        notes.append("within 10 % of a time limit")
    if verdict.truncated:
        notes.append("reply cut at the token limit")
    return VerdictView(
        profile=verdict.profile,
        passed=verdict.passed,
        reason=verdict.reason.value,
        detail=verdict.detail[:MAX_TEXT_CHARS],
        answer=answer,
        found=verdict.found,
        cpu_s=verdict.cpu_s,
        wall_s=verdict.wall_s,
        notes=tuple(notes),
    )


def _within_budget(views: Iterable[SampleView], prompts: Prompts) -> list[SampleView]:
    """Keep samples, in order, while the page stays small; at least one. A prompt counts once."""
    kept: list[SampleView] = []
    tasks: set[str] = set()
    chars = 0
    for view in views:
        texts = [text for text in (view.thinking, view.reply, *view.answers) if text is not None]
        if view.id not in tasks:
            texts += [text for _, text in prompts.get(view.id, [])]
        chars += sum(len(text.text) for text in texts) + sum(len(verdict.detail) for verdict in view.verdicts)
        if chars > MAX_PAGE_CHARS and kept:
            break
        tasks.add(view.id)
        kept.append(view)
    return kept


def _prompts(prompts: Mapping[str, Prompt], tasks: set[str]) -> Prompts:
    return {
        task: [(message.role, excerpt(message.content)) for message in prompt.messages]
        for task, prompt in prompts.items()
        if task in tasks
    }
