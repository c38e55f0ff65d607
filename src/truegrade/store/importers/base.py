"""What a reader of another harness' files is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from truegrade.errors import BadRecord
from truegrade.records import Completion, Form, Usage
from truegrade.store.importers.ids import IdIndex
from truegrade.store.importers.reading import SourceFile

UNKNOWN_MODEL = "imported"
"""Model of a completion whose file names none."""


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

    def completion(
        self,
        problem_id: str,
        sample: int,
        text: str | None,
        *,
        form: Form,
        model: str = UNKNOWN_MODEL,
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
            model=model,
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
