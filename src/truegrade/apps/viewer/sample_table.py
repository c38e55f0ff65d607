"""The samples of a run: where each one's lines lie and what a list needs of them. Texts stay on disk."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec

from truegrade.apps.viewer.run_catalogue import Folder, Limit, Offset
from truegrade.errors import UserError
from truegrade.files.json_text import decode
from truegrade.records import Completion, SampleKey, Verdict
from truegrade.report.chosen_samples import LINE_CHARS, Excerpt, SampleView, excerpt, view_sample
from truegrade.store.journal import Follower, Span
from truegrade.store.manifest import read_manifest
from truegrade.store.run import StoredPrompt
from truegrade.web.messages import Refusal

T = TypeVar("T", bound=msgspec.Struct)

TABLES = 8
"""Runs whose tables are kept."""


class Judged(NamedTuple):
    """What one profile made of a sample, as far as a list shows it."""

    span: Span
    passed: bool
    reason: str
    line: str


class Row:
    """One sample of a table."""

    __slots__ = ("asked", "chars", "key", "latency_s", "verdicts")

    def __init__(self, key: SampleKey) -> None:
        self.key = key
        self.asked: Span | None = None
        self.chars = 0
        self.latency_s: float | None = None
        self.verdicts: dict[str, Judged] = {}


class OneSample(msgspec.Struct, frozen=True, kw_only=True):
    """A sample with its texts, in the shape of the report's pages."""

    view: SampleView
    prompt: list[tuple[str, Excerpt]]
    """Role and text of each message; empty where the run stores none."""


class _Asked(msgspec.Struct, frozen=True):
    problem_id: str
    sample: int
    text: str | None = None
    reasoning: str | None = None
    latency_s: float | None = None


class _Judged(msgspec.Struct, frozen=True):
    problem_id: str
    sample: int
    profile: str
    passed: bool
    reason: str
    detail: str = ""


class _Prompted(msgspec.Struct, frozen=True):
    problem_id: str


class SampleTable:
    """Every sample of one run; follows its journals.

    Args:
        path: folder of the run.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._clear()

    def _clear(self) -> None:
        self._asked = Follower(self._path / "completions.jsonl", _Asked)
        self._prompted = Follower(self._path / "prompts.jsonl", _Prompted)
        self._judged: dict[str, Follower[_Judged]] = {}
        self._prompts: dict[str, Span] = {}
        self._files: dict[str, str] = {}
        """Profile id -> name of its journal."""
        self.rows: dict[SampleKey, Row] = {}
        self.profiles: list[str] = []
        self.version = 0
        """Grows with every record read."""
        self._last: tuple[Any, list[Row]] | None = None

    def update(self, folder: Folder) -> None:
        """Read what the journals have got since.

        Raises:
            BadRecord: a line is no record.
        """
        with self._lock:
            for name in folder.verdict_files:
                self._judged.setdefault(name, Follower(self._path / name, _Judged))
            replaced = [follower.replaced() for follower in self._judged.values()]
            if self._asked.replaced() or any(replaced):
                self._clear()
                for name in folder.verdict_files:
                    self._judged[name] = Follower(self._path / name, _Judged)
            self._read()

    def chosen(self, query: Any, choose: Callable[[list[Row]], list[Row]]) -> list[Row]:
        """Rows that fit, from memory where the last call asked for the same of the same records."""
        with self._lock:
            asked = (query, self.version)
            if self._last is None or self._last[0] != asked:
                self._last = (asked, choose(list(self.rows.values())))
            return self._last[1]

    def open(self, key: SampleKey, references: Callable[[], Mapping[str, str]] = dict) -> OneSample:
        """One sample with its texts.

        Args:
            key: of the sample.
            references: gives the data set's programs by problem id; called for a sample that is refused.

        Raises:
            Refusal: 404, the run holds no such sample.
        """
        with self._lock:
            row = self.rows.get(key)
            if row is None:
                raise Refusal(
                    HTTPStatus.NOT_FOUND, f"the run holds no sample {key.problem_id[:200]!r} #{key.sample}"
                )
            asked = row.asked and _read_at(self._asked.path, row.asked, Completion)
            verdicts = [
                _read_at(self._path / self._files[profile], judged.span, Verdict)
                for profile, judged in row.verdicts.items()
            ]
            prompt = self._prompts.get(key.problem_id)
            stored = prompt and _read_at(self._prompted.path, prompt, StoredPrompt)
        messages = stored.prompt.messages if stored else ()
        return OneSample(
            view=view_sample(key, asked, verdicts, lambda: references().get(key.problem_id, "")),
            prompt=[(message.role, excerpt(message.content)) for message in messages],
        )

    def texts(self, rows: list[Row]) -> Iterator[tuple[Row, str]]:
        """Reply and thinking of each row that has one, read from disk."""
        decoder = msgspec.json.Decoder(_Asked)
        try:
            fd = os.open(self._asked.path, os.O_RDONLY)
        except FileNotFoundError:
            return
        try:
            for row in rows:
                if row.asked is not None:
                    asked = decoder.decode(os.pread(fd, row.asked.length, row.asked.offset))
                    yield row, f"{asked.reasoning or ''}\n{asked.text or ''}"
        finally:
            os.close(fd)

    def _read(self) -> None:
        for span, asked in self._asked.news():
            self.version += 1
            if asked.text is not None:
                row = self._row(asked.problem_id, asked.sample)
                row.asked, row.latency_s = span, asked.latency_s
                row.chars = len(asked.text) + len(asked.reasoning or "")
        for name, follower in self._judged.items():
            for span, judged in follower.news():
                self.version += 1
                if judged.profile not in self._files:
                    self._files[judged.profile] = name
                    self.profiles = self._in_order_of_grading([*self.profiles, judged.profile])
                line = judged.detail[:LINE_CHARS]
                row = self._row(judged.problem_id, judged.sample)
                row.verdicts[judged.profile] = Judged(span, judged.passed, judged.reason, line)
        if self._prompted.replaced():  # written anew as a whole when a run is extended
            self._prompts = {}
        for span, prompted in self._prompted.news():
            self._prompts[prompted.problem_id] = span

    def _in_order_of_grading(self, profiles: list[str]) -> list[str]:
        """As the manifest has them, which is the order of the report; what it does not name comes last."""
        try:
            known = list(read_manifest(self._path / "manifest.json").profiles)
        except UserError:
            return profiles
        return sorted(profiles, key=lambda name: known.index(name) if name in known else len(known))

    def _row(self, problem_id: str, sample: int) -> Row:
        key = SampleKey(problem_id, sample)
        row = self.rows.get(key)
        if row is None:
            row = self.rows[key] = Row(key)
        return row


class Tables:
    """The tables of the runs that were looked at last."""

    def __init__(self) -> None:
        self._tables: dict[str, SampleTable] = {}
        self._lock = threading.Lock()

    def of(self, folder: Folder) -> SampleTable:
        """The table of a run, up to date.

        Raises:
            BadRecord: a line of its journals is no record.
        """
        with self._lock:
            table = self._tables.pop(folder.id, None) or SampleTable(folder.path)
            self._tables[folder.id] = table
            for stale in list(self._tables)[:-TABLES]:
                del self._tables[stale]
        table.update(folder)
        return table


def _read_at(path: Path, span: Span, record: type[T]) -> T:
    with path.open("rb") as file:
        file.seek(span.offset)
        return decode(file.read(span.length), msgspec.json.Decoder(record))


# ----------------------------- The list of a run's samples as it is asked for: filtered, sorted, a page of it.


Outcome = Literal["", "passed", "failed", "disputed", "ungraded"]
Order = Literal["failing", "written", "task", "disputed", "longest", "slowest"]


class SampleQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``/api/samples`` takes."""

    run: str
    profile: str = ""
    """Whose verdicts count; empty for the first that graded."""
    outcome: Outcome = ""
    reason: str = ""
    q: str = ""
    """Looked for in ``task#sample``, the line of detail and, where these do not begin so, in every text."""
    order: Order = "failing"
    offset: Offset = 0
    limit: Limit = 100


class SampleLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A sample in the list, its verdict under the profile asked for."""

    task: str
    sample: int
    reason: str | None = None
    """None where that profile has not graded it."""
    passed: bool = False
    line: str = ""


class SamplePage(msgspec.Struct, frozen=True, kw_only=True):
    """What ``/api/samples`` gives."""

    total: int
    matching: int
    version: int
    """Another number means that the run has grown, and positions may have moved."""
    profile: str
    profiles: list[str]
    reasons: list[str]
    """All that this profile gave."""
    offset: int
    samples: list[SampleLine]


def page(table: SampleTable, query: SampleQuery) -> SamplePage:
    """Choose from all samples of a run.

    Args:
        table: up to date.
        query: its profile may be one that has not graded the run; then nothing is graded.
    """
    profile = query.profile or (table.profiles[0] if table.profiles else "")
    wanted = msgspec.structs.replace(query, profile=profile, offset=0, limit=1)
    rows = table.chosen(wanted, lambda every: _choose(table, every, wanted))
    every = list(table.rows.values())
    reasons = {row.verdicts[profile].reason for row in every if profile in row.verdicts}
    return SamplePage(
        total=len(every),
        matching=len(rows),
        version=table.version,
        profile=profile,
        profiles=list(table.profiles),
        reasons=sorted(reasons),
        offset=query.offset,
        samples=[_line(row, profile) for row in rows[query.offset : query.offset + query.limit]],
    )


def _choose(table: SampleTable, every: list[Row], query: SampleQuery) -> list[Row]:
    rows = [row for row in every if _fits(row, query)]
    words = query.q.strip().lower()
    if words:
        rows = _searched(table, rows, words, query.profile)
    key = _KEYS[query.order]
    return rows if key is None else sorted(rows, key=lambda row: key(row, query.profile))


def _fits(row: Row, query: SampleQuery) -> bool:
    judged = row.verdicts.get(query.profile)
    if query.reason and (judged is None or judged.reason != query.reason):
        return False
    if query.outcome == "disputed":
        return _disputed(row)
    if query.outcome == "ungraded":
        return judged is None
    return not query.outcome or (judged is not None and judged.passed == (query.outcome == "passed"))


def _searched(table: SampleTable, rows: list[Row], words: str, profile: str) -> list[Row]:
    """Rows that hold the words; a task's name given from its beginning asks for that task, not for texts."""
    named = [row for row in rows if f"{row.key.problem_id}#{row.key.sample}".lower().startswith(words)]
    if named:
        return named
    found = {row.key for row, text in table.texts(rows) if words in text.lower()}
    for row in rows:
        judged = row.verdicts.get(profile)
        if words in f"{row.key.problem_id}#{row.key.sample}".lower() or (judged and words in judged.line.lower()):
            found.add(row.key)
    return [row for row in rows if row.key in found]


def _disputed(row: Row) -> bool:
    return len({judged.passed for judged in row.verdicts.values()}) > 1


def _failing(row: Row, profile: str) -> int:
    judged = row.verdicts.get(profile)
    return 2 if judged is None else int(judged.passed)


_KEYS: dict[Order, Callable[[Row, str], Any] | None] = {
    "written": None,
    "failing": _failing,
    "task": lambda row, _: (row.key.problem_id, row.key.sample),
    "disputed": lambda row, _: not _disputed(row),
    "longest": lambda row, _: -row.chars,
    "slowest": lambda row, _: -(row.latency_s or 0.0),
}


def _line(row: Row, profile: str) -> SampleLine:
    judged = row.verdicts.get(profile)
    key = row.key
    if judged is None:
        return SampleLine(task=key.problem_id, sample=key.sample)
    return SampleLine(
        task=key.problem_id, sample=key.sample, reason=judged.reason, passed=judged.passed, line=judged.line
    )
