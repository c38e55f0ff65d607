"""What later stages need of a run's journals, texts apart: read once, and kept up to date while it grows."""

from __future__ import annotations

import re
import zlib
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from sys import intern
from typing import Any, Generic, Literal, TypeVar

import msgspec

from truegrade.extraction.parsing import Fault, Parser
from truegrade.files.json_text import decode, encode
from truegrade.grading.marks import packages_missed
from truegrade.records import Completion, Form, Reason, SampleKey, Usage, Verdict
from truegrade.store.journal import FSYNC_EVERY, Journal, LastRecords, Notice, OfSample, ignore, placed

T = TypeVar("T", Completion, Verdict)

Shape = Literal["fenced", "indented", "reply", "other"]
"""``fenced``: not indented, and Markdown code stands in it; ``indented``: the first line is, and no fence or
definition stands at the start of a later one, as in the body of a function; ``reply``: handed in as a program, no
Python, and like what a chat model says: Markdown, a thought or a sentence before the code; ``other``, which says
nothing."""
_FENCE = re.compile(r"^```", re.MULTILINE)
_SAID = re.compile(
    r"^[ \t]*(?:```|~~~)|\A\s*(?:<think|[A-Z][\w'’]*,?(?: [\w'’`,()-]+){2,}[.:!]?[ \t]*\n)", re.MULTILINE
)
_MARKS = re.compile(r"^(?:```|def |class |async def )", re.MULTILINE)


class CompletionFacts(msgspec.Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """A completion without its texts."""

    problem_id: str
    sample: int
    sha256: str | None
    """Of the text; None where every attempt failed."""
    chars: int
    """Length of the text."""
    dataset_sha256: str
    config_sha256: str
    model: str
    form: Form
    finish_reason: str | None
    truncated: bool
    usage: Usage | None
    latency_s: float | None
    cost_usd: float | None
    attempts: tuple[str, ...]
    """What came of each (`truegrade.records.Attempt`)."""
    shape: Shape = "other"
    """What the text of a reply or a completion looks like."""

    @property
    def key(self) -> SampleKey:
        """Which sample it is."""
        return SampleKey(self.problem_id, self.sample)

    @property
    def answered(self) -> bool:
        """Whether it holds a reply, perhaps an empty one."""
        return self.sha256 is not None


class ReplyForm(msgspec.Struct, frozen=True, gc=False):
    """What a reply looks like, and how long it is: one object stands for all that are equal."""

    shape: Shape = "other"
    tokens: int | None = None
    """Output tokens; None where the service did not say."""
    cut: bool = False
    """At a token limit."""


UNKNOWN = ReplyForm()
"""Of a sample without a reply."""


class VerdictKind(msgspec.Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """What numbers need of a verdict: few of a million differ, so that one object stands for all equal ones."""

    passed: bool
    reason: Reason
    truncated: bool
    time_sensitive: bool
    marks: tuple[str, ...]


class VerdictFacts(VerdictKind, frozen=True, kw_only=True, array_like=True, gc=False):
    """A verdict without the answer, and with its detail only where that says what went wrong on our side."""

    problem_id: str
    sample: int
    completion_sha256: str
    detail: str
    """Of a grader's error; empty for others."""
    answer_hash: int = 0
    """Of the answer without its white space, to find equal ones in this process; 0 where there is none."""

    @property
    def key(self) -> SampleKey:
        """Which sample it judges."""
        return SampleKey(self.problem_id, self.sample)


F = TypeVar("F", CompletionFacts, VerdictFacts)
P = TypeVar("P", bound=msgspec.Struct)
S = TypeVar("S", bound=OfSample)


def sample_hash(record: OfSample) -> int:
    """Stands for a sample in sets of this process: 64 bits, where its id would take hundreds of bytes."""
    return hash((record.problem_id, record.sample))


def reply_hash(record: OfSample, sha256: str) -> int:
    """The same of a text with this hash, given as a reply to the sample."""
    return hash((record.problem_id, record.sample, sha256))


def firsts(records: Iterable[S]) -> Iterator[S]:
    """The first record of each sample. The numbers of samples should be bounded: a byte is kept of each."""
    seen: dict[str, bytearray] = defaultdict(bytearray)
    for record in records:
        row = seen[record.problem_id]
        row += bytes(max(0, record.sample + 1 - len(row)))
        if not row[record.sample]:
            row[record.sample] = True
            yield record


PACKED_AT_ONCE = 500


class PackedFacts(Sequence[P]):
    """Facts in the order in which they were noted. All but the last lie packed, in some 60 bytes each."""

    def __init__(self, kind: type[P]) -> None:
        self._decoder = msgspec.json.Decoder(list[kind])  # type: ignore[valid-type]
        self._packed: list[bytes] = []
        self._last: list[P] = []

    def append(self, facts: P) -> None:
        """Note one more."""
        self._last.append(facts)
        if len(self._last) == PACKED_AT_ONCE:
            self._packed.append(zlib.compress(encode(self._last), 1))
            self._last = []

    def __len__(self) -> int:
        return len(self._packed) * PACKED_AT_ONCE + len(self._last)

    def __iter__(self) -> Iterator[P]:
        for packed in self._packed:
            yield from decode(zlib.decompress(packed), self._decoder)
        yield from self._last

    def __getitem__(self, place: Any) -> Any:
        return list(self)[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PackedFacts) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


def completion_facts(completion: Completion) -> CompletionFacts:
    """What is kept of a completion."""
    return CompletionFacts(
        problem_id=intern(completion.problem_id),
        sample=completion.sample,
        sha256=None if completion.text is None else completion.sha256,
        chars=len(completion.text or ""),
        dataset_sha256=intern(completion.dataset_sha256),
        config_sha256=intern(completion.config_sha256),
        model=intern(completion.model),
        form=completion.form,
        finish_reason=completion.finish_reason,
        truncated=completion.truncated,
        usage=completion.usage,
        latency_s=completion.latency_s,
        cost_usd=completion.cost_usd,
        attempts=tuple(attempt.outcome for attempt in completion.attempts),
        shape=_shape(completion),
    )


def _shape(completion: Completion) -> Shape:
    """What a text looks like that a rule has still to be applied to."""
    text = (completion.text or "").lstrip("\r\n")
    if completion.form == "program":
        return "reply" if _SAID.search(text) and isinstance(Parser().module(text), Fault) else "other"
    if completion.form == "answer" or not text.strip():
        return "other"
    if text[0] not in " \t":
        return "fenced" if _FENCE.search(text) else "other"
    return "other" if _MARKS.search(text) else "indented"


def reply_form(facts: CompletionFacts) -> ReplyForm:
    """What numbers need of a reply."""
    tokens = None if facts.usage is None else facts.usage.output_tokens
    return ReplyForm(facts.shape, tokens, facts.truncated)


def verdict_facts(verdict: Verdict) -> VerdictFacts:
    """What is kept of a verdict."""
    return VerdictFacts(
        problem_id=intern(verdict.problem_id),
        sample=verdict.sample,
        completion_sha256=verdict.completion_sha256,
        passed=verdict.passed,
        reason=verdict.reason,
        truncated=verdict.truncated,
        time_sensitive=verdict.time_sensitive,
        marks=verdict.marks,
        detail=verdict.detail if verdict.reason is Reason.GRADER_ERROR else "",
        answer_hash=hash("".join(verdict.answer.split())) if verdict.answer else 0,
    )


def verdict_kind(verdict: Verdict | VerdictFacts) -> VerdictKind:
    """What numbers need of a verdict."""
    return VerdictKind(
        passed=verdict.passed,
        reason=verdict.reason,
        truncated=verdict.truncated,
        time_sensitive=verdict.time_sensitive,
        marks=verdict.marks,
    )


class FactIndex(Generic[T, F]):
    """The facts of one journal, in its order.

    They are read when first asked for, and again only where somebody else changed the file's size: what is
    appended through `journal` is added here as well.

    Args:
        path: of the journal; a missing one is empty.
        record: what it holds.
        kind: what is kept of a record.
        facts: makes that of one.
        says: what a second record of a sample must not say otherwise; None for one that says nothing.
        notice: told of a torn line, and of records that contradict each other.
    """

    def __init__(
        self,
        path: Path,
        record: type[T],
        kind: type[F],
        facts: Callable[[T], F],
        says: Callable[[T], object],
        notice: Notice,
    ) -> None:
        self._path, self._notice = path, notice
        self._record: type[T] = record
        self._kind: type[F] = kind
        self._of: Callable[[T], F] = facts
        self._says: Callable[[T], object] = says
        self._facts: PackedFacts[F] = PackedFacts(kind)
        self._begins = array("q")
        """Where the record of each begins."""
        self._bytes = -1
        """Size of the file that the facts are of; -1 before it was read."""

    def read(self) -> Sequence[F]:
        """The facts of all records.

        Raises:
            BadRecord: the file cannot be read, or a line is no record.
        """
        size = self._path.stat().st_size if self._path.exists() else 0
        if size != self._bytes:
            self._facts, self._begins = PackedFacts(self._kind), array("q")
            if size:
                self._read()
            self._bytes = size
        return self._facts

    def last(self, counts: Callable[[F], bool]) -> LastRecords[T]:
        """The last record of each sample among those that count, to be closed by the caller; raises as `read`."""
        facts = self.read()
        placed_facts = zip(self._begins, facts, strict=True)
        return LastRecords(self._path, self._record, (each for each in placed_facts if counts(each[1])))

    def add(self, facts: F, size: int) -> None:
        """Note a record of ``size`` bytes that was appended."""
        if self._bytes >= 0:
            self._facts.append(facts)
            self._begins.append(self._bytes)
            self._bytes += size

    def journal(self, fsync_every: int = FSYNC_EVERY) -> Journal[T]:
        """The file, opened for appending; what is appended is noted here."""

        def appended(record: T, size: int) -> None:
            """Note what was written."""
            self.add(self._of(record), size)

        journal: Journal[T] = Journal(self._path, notice=self._notice, appended=appended, fsync_every=fsync_every)
        if self._bytes >= 0:
            self._bytes -= journal.torn
        elif self._path.stat().st_size == 0:
            self._bytes = 0  # nothing to read: the facts of a new file are those of what is appended
        return journal

    def _read(self) -> None:
        """Read all records; those that contradict each other are named, for only one of them counts."""
        once, again = set[int](), set[int]()
        for _, begin, record in placed(self._path, self._record, notice=self._notice):
            self._facts.append(self._of(record))
            self._begins.append(begin)
            if self._says(record) is not None:
                sample = sample_hash(record)
                (again if sample in once else once).add(sample)
        if again:
            self._name_contradictions(again)

    def _name_contradictions(self, among: AbstractSet[int]) -> None:
        """Read the records of these samples anew, which few journals hold any of."""
        first: dict[SampleKey, tuple[int, int]] = {}
        pairs, shown = 0, ""
        for line, _, record in placed(self._path, self._record, notice=ignore):
            said = self._says(record) if sample_hash(record) in among else None
            if said is not None:
                earlier, told = first.setdefault(record.key, (line, hash(said)))
                if told != hash(said):
                    pairs += 1
                    place = f"lines {earlier} and {line}, {record.key.problem_id} sample {record.key.sample}"
                    shown = shown or place
        if pairs:
            more = f", and {pairs - 1} more such pairs" if pairs > 1 else ""
            self._notice(
                f"{self._path}: two records of one sample contradict each other ({shown}{more}), and only one"
                " counts; remove the wrong one"
            )


def reply_said(completion: Completion) -> object:
    """What a second record of a sample must not say otherwise; None for one whose attempts all failed."""
    if completion.text is None:
        return None
    return completion.text, completion.form, completion.config_sha256, completion.prompt_sha256


def verdict_said(verdict: Verdict) -> object:
    """The same of a verdict; times differ from one grading to the next. Of a grader's error, nothing."""
    if verdict.reason is Reason.GRADER_ERROR or packages_missed(verdict.marks):
        return None
    return verdict.completion_sha256, verdict.passed, verdict.reason, verdict.answer
