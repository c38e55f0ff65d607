"""The samples of a page: how each is shown, which are chosen where there are too many, how they are packed."""

from __future__ import annotations

import base64
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from heapq import heappush, heappushpop
from itertools import chain, zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from zlib import crc32

import msgspec

from truegrade.analysis.standings import Matrix, outcomes_of, rule_matrix
from truegrade.extraction.thinking import Weight, final_channel, words
from truegrade.files.json_text import encode
from truegrade.pipeline.summary import Summary, read_summary
from truegrade.pipeline.verdicts import VerdictTable, disputed, graded, side_by_side
from truegrade.records import Completion, Prompt, SampleKey, Verdict
from truegrade.report.figures import Distribution, read_distributions
from truegrade.report.markup import Markup, el, join
from truegrade.store import Manifest, Run
from truegrade.store.manifest import AUDIT

if TYPE_CHECKING:
    from truegrade.analysis.audit.findings import Finding


# -------------- The failing test with expected and actual value, parsed from the one-line detail of a verdict.
# Plain searches, no patterns: the line quotes what a program returned, which may be hostile.


_VERBS = (" gave ", " returned ", " printed ")
_EXPECTED = ", expected "
_FAILED = "` failed"
_IN = ", in `"


class FailureLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """As much of a failure as the line says."""

    test: str = ""
    expected: str = ""
    got: str = ""


def read_failure(detail: str) -> FailureLine | None:
    """Take a line of detail apart, as the graders word it; None where it is in no known shape."""
    return _statement(detail) or _comparison(detail) or _exception(detail)


def _statement(detail: str) -> FailureLine | None:
    """```TEST` failed; expected E; the program returned G``, perhaps behind an exception."""
    before, quote, rest = detail.partition("`")
    test, failed, facts = rest.partition(_FAILED)
    if not quote or not failed or (before and not before.endswith(": ")):
        return None
    said, _, got = facts.partition("; the program returned ")
    expected = said.removeprefix("; expected ") if said else _right_side(test)
    return FailureLine(test=test, expected=expected, got=got)


def _comparison(detail: str) -> FailureLine | None:
    """``answered G, expected E``; ``f(1) gave G, expected E``."""
    head, comma, expected = detail.rpartition(_EXPECTED)
    if not comma:
        return None
    if head.startswith(("answered ", "printed ")):
        return FailureLine(expected=expected, got=head.partition(" ")[2])
    found = [(place, verb) for verb in _VERBS if (place := head.find(verb)) > 0]
    if not found:
        return None
    place, verb = min(found)
    return FailureLine(test=head[:place], expected=expected, got=head[place + len(verb) :])


def _exception(detail: str) -> FailureLine | None:
    """``IndexError: pop from empty list, in `TEST```; ``f([]) raised IndexError: ...``."""
    error, _, test = detail.rpartition(_IN)
    if error and test.endswith("`"):
        return FailureLine(test=test[:-1], expected=_right_side(test[:-1]), got=error)
    call, raised, error = detail.partition(") raised ")
    return FailureLine(test=f"{call})", got=error) if raised else None


def _right_side(test: str) -> str:
    """What an assertion that compares one call with a value expects."""
    left, equal, right = test.partition(") == ")
    return right if equal and left.startswith("assert ") and " == " not in right else ""


MAX_TEXT_CHARS = 20_000
"""A longer text is cut, with a note."""


class Excerpt(msgspec.Struct, frozen=True, array_like=True):
    """The first `MAX_TEXT_CHARS` of a text, and how long all of it is."""

    text: str
    chars: int


class ShownSpan(msgspec.Struct, frozen=True, array_like=True):
    """Where an answer stands in the reply as shown, in UTF-16 units, which is how a browser counts."""

    start: int
    end: int
    times: int
    """How often the reply holds it; of several the last is marked."""


class AnswerView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a rule took for the answer: a place in the reply, or its own text where it is not there verbatim."""

    span: ShownSpan | None = None
    text: Excerpt | None = None


class VerdictView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one profile made of a sample."""

    profile: str
    passed: bool
    reason: str
    detail: str = ""
    failure: FailureLine | None = None
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
    cost_usd: float | None = None
    answers: tuple[AnswerView, ...]
    verdicts: tuple[VerdictView, ...]
    reference: Excerpt | None = None
    """The data set's own program, where it has one and some profile refuses the sample."""

    @property
    def chars(self) -> int:
        """Characters that it takes on the page."""
        texts = [self.thinking, self.reply, self.reference, *(answer.text for answer in self.answers)]
        return sum(len(text.text) for text in texts if text) + sum(len(v.detail) for v in self.verdicts)


def view_sample(
    key: SampleKey,
    completion: Completion | None,
    verdicts: Sequence[Verdict],
    reference: Callable[[], str] = str,
) -> SampleView:
    """Gather one sample.

    Args:
        key: of the sample.
        completion: None where the run stores none.
        verdicts: one a profile.
        reference: gives the data set's program for the problem, empty where there is none, or it is not at hand;
            called for a sample that some profile refuses.
    """
    program = "" if all(verdict.passed for verdict in verdicts) else reference()
    beside = excerpt(program) if program else None
    answers = list(dict.fromkeys(v.answer for v in verdicts if v.answer is not None))
    views = tuple(_verdict_view(v, None if v.answer is None else answers.index(v.answer)) for v in verdicts)
    if completion is None or completion.text is None:
        shown = tuple(AnswerView(text=excerpt(answer)) for answer in answers)
        return SampleView(id=key.problem_id, sample=key.sample, answers=shown, verdicts=views, reference=beside)
    thinking, reply = split_thinking(completion, answers)
    return SampleView(
        id=key.problem_id,
        sample=key.sample,
        thinking=excerpt(thinking) if thinking else None,
        reply=excerpt(reply),
        finish=completion.finish_reason,
        output_tokens=completion.usage.output_tokens if completion.usage else None,
        latency_s=completion.latency_s,
        cost_usd=completion.cost_usd,
        answers=tuple(view_answer(answer, reply) for answer in answers),
        verdicts=views,
        reference=beside,
    )


def excerpt(text: str) -> Excerpt:
    """Cut a text for the page."""
    return Excerpt(text[:MAX_TEXT_CHARS], len(text))


def split_thinking(completion: Completion, answers: Sequence[str]) -> tuple[str, str]:
    """Thinking, whether it came apart or inside the reply, and the rest of the reply with every character.

    Args:
        completion: what was said.
        answers: what was taken out of it.
    """
    text = completion.text or ""
    shown = [answer.strip() for answer in answers if answer.strip() and answer.strip() in text]

    def weigh(passage: str) -> Weight:
        return Weight(2 * any(answer in passage for answer in shown)) if shown else words(passage)

    offset = final_channel(text, weigh).offset if completion.form == "reply" else 0
    return "\n\n".join(part for part in (completion.reasoning, text[:offset]) if part), text[offset:]


def view_answer(answer: str, reply: str) -> AnswerView:
    """Find an answer in the reply; inside a longer word or number is not a place of it."""
    wanted = answer.strip()
    if not wanted:
        return AnswerView(text=excerpt(answer))
    places = list(_whole_places(wanted, reply))
    if not places or places[-1] + len(wanted) > MAX_TEXT_CHARS:
        return AnswerView(text=excerpt(answer))
    start = _utf16_units(reply[: places[-1]])
    return AnswerView(span=ShownSpan(start, start + _utf16_units(wanted), len(places)))


def _whole_places(wanted: str, text: str) -> Iterator[int]:
    """Where a text begins in another without being a part of a longer word, from left to right."""
    start = text.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        joined = _joins(text[start - 1 : start], wanted[0]) or _joins(wanted[-1], text[end : end + 1])
        if not joined:
            yield start
        start = text.find(wanted, end if not joined else start + 1)


def _joins(left: str, right: str) -> bool:
    """Whether two neighbouring characters are of one word or number."""
    return all(character.isalnum() or character == "_" for character in (left, right))


def _utf16_units(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text) if not text.isascii() else len(text)


def _verdict_view(verdict: Verdict, answer: int | None) -> VerdictView:
    notes = [*verdict.marks]
    if verdict.time_sensitive:
        notes.append("reached a time limit or used half of it")
    if verdict.truncated:
        notes.append("reply cut at the token limit")
    return VerdictView(
        profile=verdict.profile,
        passed=verdict.passed,
        reason=verdict.reason.value,
        detail=verdict.detail[:MAX_TEXT_CHARS],
        failure=read_failure(verdict.detail),
        answer=answer,
        found=verdict.found,
        cpu_s=verdict.cpu_s,
        wall_s=verdict.wall_s,
        notes=tuple(notes),
    )


# --------------- Which samples the page carries: a seeded choice where there are too many, gathered in two passes.


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
    outcomes = outcomes_of(run, summary)
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


# -------------------------- The samples inside the page: packed texts that its script unpacks one block at a time.
# A block is JSON, deflated (RFC 1951), in base64, in a ``script`` element that no browser runs. The index is small
# and unpacked at once; a text is unpacked when its sample is opened, or when all texts are searched.


SAMPLES_A_BLOCK = 100
PROMPTS_A_BLOCK = 50
LINE_CHARS = 140
"""Characters of a verdict's detail in the list."""
NO_VERDICT = -1
LEVEL = 6
"""Of deflate: 9 takes a third longer for 1 % less."""


class SampleIndex(msgspec.Struct, frozen=True, kw_only=True):
    """What the list shows and filters by, column by column; one entry a sample unless said otherwise."""

    profiles: list[str]
    reasons: list[str]
    tasks: list[str]
    """Ids; the prompt of problem i is in block ``i // prompts_a_block``."""
    lines: list[str]
    """Distinct lines of detail."""
    prompted: bool
    """Whether the run stores prompts."""
    samples_a_block: int = SAMPLES_A_BLOCK
    prompts_a_block: int = PROMPTS_A_BLOCK
    task: list[int]
    sample: list[int]
    verdict: list[list[int]]
    """By profile: ``2 * reason + passed``, or `NO_VERDICT`."""
    line: list[list[int]]
    """By profile: index into ``lines``, or `NO_VERDICT`."""
    size: list[int]
    """Characters of the reply, thinking included."""
    latency_ms: list[int]
    """-1 where it is not known."""


def blocks(browser: Browser) -> Markup:
    """All elements that hold the samples."""
    index = make_index(browser)
    return join(
        packed("index", index),
        (packed(f"samples-{n}", part) for n, part in enumerate(_parts(browser.samples, SAMPLES_A_BLOCK))),
        (packed(f"prompts-{n}", part) for n, part in enumerate(_prompt_parts(index.tasks, browser.prompts))),
    )


def make_index(browser: Browser) -> SampleIndex:
    """The columns of the list."""
    tasks, reasons, lines = _Names(), _Names(), _Names()
    by_profile = [{v.profile: v for v in view.verdicts} for view in browser.samples]
    columns = [[of.get(profile) for of in by_profile] for profile in browser.profiles]
    return SampleIndex(
        profiles=browser.profiles,
        task=[tasks.number(view.id) for view in browser.samples],
        sample=[view.sample for view in browser.samples],
        verdict=[[_code(verdict, reasons) for verdict in column] for column in columns],
        line=[[_line(verdict, lines) for verdict in column] for column in columns],
        size=[sum(text.chars for text in (view.reply, view.thinking) if text) for view in browser.samples],
        latency_ms=[-1 if view.latency_s is None else round(1000 * view.latency_s) for view in browser.samples],
        tasks=tasks.all,
        reasons=reasons.all,
        lines=lines.all,
        prompted=bool(browser.prompts),
    )


def pack(value: Any) -> str:
    """JSON, deflated without a header, in base64."""
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    content = encode(value)
    return base64.b64encode(packer.compress(content) + packer.flush()).decode("ascii")


class _Names:
    """Distinct texts by the order in which they came."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, name: str) -> int:
        """The number of a text, a new one where it is new."""
        return self._numbers.setdefault(name, len(self._numbers))

    @property
    def all(self) -> list[str]:
        """Every text, by number."""
        return list(self._numbers)


def _code(verdict: VerdictView | None, reasons: _Names) -> int:
    return NO_VERDICT if verdict is None else 2 * reasons.number(verdict.reason) + verdict.passed


def _line(verdict: VerdictView | None, lines: _Names) -> int:
    return NO_VERDICT if verdict is None else lines.number(verdict.detail[:LINE_CHARS])


def _parts(views: Sequence[SampleView], size: int) -> Iterable[Sequence[SampleView]]:
    return (views[start : start + size] for start in range(0, len(views), size))


def _prompt_parts(tasks: Sequence[str], prompts: Prompts) -> Iterable[Mapping[str, Any]]:
    if not prompts:
        return
    for start in range(0, len(tasks), PROMPTS_A_BLOCK):
        yield {task: prompts[task] for task in tasks[start : start + PROMPTS_A_BLOCK] if task in prompts}


def packed(name: str, value: Any) -> Markup:
    """The element that holds a value for the script, by name."""
    return el("script", Markup(pack(value)), type="application/x-truegrade", id=f"block-{name}")
