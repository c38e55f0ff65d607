"""What a reader of another harness' files is, and which problem a foreign file means."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec

from truegrade.errors import BadRecord
from truegrade.files.json_text import convert
from truegrade.records import Completion, Form, Usage
from truegrade.store.importers.reading import MISSING_FIELD, RowFaults, SourceFile, bad_row, typed

# ----------------------- Which problem a foreign file means: exact ids, other spellings of case, bare numbers.


class IdIndex(msgspec.Struct, frozen=True, kw_only=True):
    """The ids of a benchmark, ready for `match_id`."""

    exact: frozenset[str]
    folded: dict[str, str]
    """Id by its case-folded spelling, where that is unambiguous."""
    numbered: dict[int, str]
    """Id by the number it ends in, where that is unambiguous: ``MBPP/11`` by 11, ``sample_0`` by 0."""
    order: tuple[str, ...]
    """All of them as they were given: the data set's order."""
    left_out: Mapping[str, str] = {}
    """Why problems of the data set are not among these, by id; they can be spelled in the same ways."""

    def meant(self, raw: str | int) -> str | None:
        """The problem that is meant, be it left out or not."""
        text = str(raw)
        if text in self.exact or text in self.left_out:
            return text
        found = self.folded.get(text.casefold())
        return self.numbered.get(int(text)) if found is None and is_number(text) else found


def index_ids(known_ids: Collection[str], left_out: Mapping[str, str] = MappingProxyType({})) -> IdIndex:
    """Prepare a benchmark's ids; a spelling that two ids share is left out, never guessed."""
    folded: dict[str, list[str]] = {}
    numbered: dict[int, list[str]] = {}
    for known in dict.fromkeys([*known_ids, *left_out]):
        folded.setdefault(known.casefold(), []).append(known)
        if number := re.search(r"(?:^|[/_])([0-9]{1,18})$", known):
            numbered.setdefault(int(number[1]), []).append(known)
    return IdIndex(
        exact=frozenset(known_ids),
        folded={key: ids[0] for key, ids in folded.items() if len(ids) == 1},
        numbered={key: ids[0] for key, ids in numbered.items() if len(ids) == 1},
        order=tuple(dict.fromkeys(known_ids)),
        left_out=left_out,
    )


def is_number(raw: str | int) -> bool:
    """Whether an id is a bare number, which problems of several benchmarks can be meant by."""
    return re.fullmatch(r"[0-9]{1,18}", str(raw)) is not None


def match_id(
    raw: str | int, index: IdIndex, *, path: Path, line: int | None = None, field: str | None = None
) -> str:
    """The benchmark's own spelling of a problem id: exact, but for case, or by its bare number.

    Raises:
        BadRecord: no problem is meant, which offers the closest ids; or one that is left out, which says why.
    """
    found = index.meant(raw)
    if found is not None and found in index.left_out:
        raise BadRecord(path, f"problem {found!r} is left out: {index.left_out[found]}", line=line, field=field)
    if found is not None:
        return found
    close = get_close_matches(str(raw), sorted(index.exact), n=3, cutoff=0.5)
    guess = f"did you mean {' or '.join(close)}?" if close else "does the file belong to another benchmark?"
    raise BadRecord(path, f"the benchmark has no problem {raw!r}; {guess}", line=line, field=field)


Row = TypeVar("Row")

UNKNOWN_MODEL = "imported"
"""Model of a completion of which nobody says one."""


PENDING = "pending"
"""Stands for the configuration of imported texts until their file is read to its end, and its hash is known."""


class ImportTarget(msgspec.Struct, frozen=True, kw_only=True):
    """What a file is read for: the benchmark whose problems its rows answer."""

    benchmark: str
    dataset_sha256: str
    ids: IdIndex
    config_sha256: str = PENDING
    """Identity of the imported configuration."""
    positions: tuple[str, ...] = ()
    """Problems that a file without ids answers, in its order; empty where nobody said."""
    questions: Mapping[str, str] = {}
    """Id by the words of the question, where no two share them: for rows that keep the prompt and no id."""
    wordings: Mapping[str, str] = {}
    """Words of the question by id: for rows whose id may be a mere count."""
    faults: RowFaults = msgspec.field(default_factory=RowFaults)
    """Told of each row that cannot be used; unless told otherwise, the first one refuses the file."""
    model: str = UNKNOWN_MODEL
    """Of rows that name none."""

    def problem(self, raw: str | int, path: Path, *, line: int | None = None, field: str) -> str | None:
        """The problem that a row names; None where it names none, which is noted.

        Raises:
            BadRecord: it is a bare number that no problem has. The others may then be mere counts, or numbers of
                another benchmark's problems.
        """
        try:
            return match_id(raw, self.ids, path=path, line=line, field=field)
        except BadRecord as error:
            if is_number(raw) and self.ids.meant(raw) is None:
                raise
            self.faults.add(error)
            return None

    def row(self, path: Path, value: Any, kind: type[Row], *, inside: str) -> Row | None:
        """A decoded row as a type; None where it does not fit, which is noted.

        Args:
            path: the file.
            value: the row.
            kind: what it should be.
            inside: dotted name of where it stands.
        """
        try:
            return typed(path, value, kind, inside=inside)
        except BadRecord as error:
            self.faults.add(error)
            return None

    def text(self, value: Any, path: Path, *, line: int | None = None, field: str) -> str | None:
        """The text of a sample; None, a sample that is missing, for a null, which records a failed request.

        A value of another type, and a field that is not there (``UNSET``), is noted, and the sample is missing as
        well. An empty text is a reply.
        """
        return self._checked(value, str, path, line, field)

    def texts(self, value: Any, path: Path, *, line: int | None = None, field: str) -> list[str | None]:
        """The texts of a problem's samples; one that is missing where no list of any is there."""
        items = self._checked(value, list[Any], path, line, field)
        if items is None:
            return [None]
        return [self.text(item, path, line=line, field=f"{field}[{at}]") for at, item in enumerate(items)]

    def _checked(self, value: Any, kind: type[Row], path: Path, line: int | None, field: str) -> Row | None:
        """A field's value; None for a null, and for another value than it should be, which is noted."""
        if value is None:
            return None
        try:
            if value is not msgspec.UNSET:
                return convert(value, kind)
            self.faults.add(BadRecord(path, MISSING_FIELD, line=line, field=field))
        except msgspec.ValidationError as error:
            self.faults.add(bad_row(path, error, line=line, inside=field))
        return None

    def completion(
        self,
        problem_id: str,
        sample: int,
        text: str | None,
        *,
        form: Form,
        model: str | None = None,
        latency_s: float | None = None,
        usage: Usage | None = None,
        finish_reason: str | None = None,
        reasoning: str | None = None,
    ) -> Completion:
        """The record of one imported text; its prompt is not known, and so has no hash."""
        return Completion(
            benchmark=self.benchmark,
            dataset_sha256=self.dataset_sha256,
            problem_id=problem_id,
            sample=sample,
            config_sha256=self.config_sha256,
            prompt_sha256="",
            text=text,
            form=form,
            reasoning=reasoning,
            finish_reason=finish_reason,
            usage=usage,
            latency_s=latency_s,
            model=model or self.model,
        )


class Importer(msgspec.Struct, frozen=True, kw_only=True):
    """One file format."""

    name: str
    summary: str
    """One line: who writes it and what it holds."""
    sniff: Callable[[SourceFile], bool]
    """Whether a file's first bytes (``head``, and ``keys`` of its first line) look like it; never raises."""
    read: Callable[[SourceFile, ImportTarget], Iterator[Completion]]
    """Yield the completions in the file's order.

    Raises:
        BadRecord: names file, line and field.
    """
    positional: bool = False
    """Whether its rows carry no ids: what they answer is their place."""
    failed: str = "record a failed request"
    """How its rows say that a request failed, as a predicate: samples that ..."""
    answers: Callable[[SourceFile], str] | None = None
    """Name of the benchmark that a file says it answers; None where files of this format do not say.

    Raises:
        BadRecord: it names what is no benchmark here.
    """


_READ_AS = {"samples-jsonl": "evalplus-raw"}
REPLIES = "-replies"


def replies_format(name: str) -> str:
    """Name of the format that reads as chat replies what the named one reads as programs."""
    return name if name.endswith(REPLIES) else _READ_AS.get(name, f"{name}{REPLIES}")


def holding_replies(importer: Importer) -> Importer:
    """The same format, for files whose programs are chat replies; no head of a file shows it: it is named."""

    def read(source: SourceFile, target: ImportTarget) -> Iterator[Completion]:
        for completion in importer.read(source, target):
            is_program = completion.form == "program"
            yield msgspec.structs.replace(completion, form="reply") if is_program else completion

    return msgspec.structs.replace(
        importer,
        name=replies_format(importer.name),
        summary=f"{importer.name}, whose programs are chat replies",
        sniff=lambda source: False,
        read=read,
    )


class TasksOnce:
    """Refuses a task that a file lists twice: which of its lists of samples would count?"""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: set[str] = set()

    def add(self, problem_id: str, field: str, *, line: int | None = None) -> None:
        """Note a task.

        Raises:
            BadRecord: it was there before.
        """
        if problem_id in self._seen:
            problem = f"problem {problem_id} occurs twice; keep one of its entries"
            raise BadRecord(self._path, problem, line=line, field=field)
        self._seen.add(problem_id)
