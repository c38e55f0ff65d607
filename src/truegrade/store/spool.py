"""Where an import lies until its file is read to the end: in memory while it is small, else in an unnamed file.

A bad last line, or a kill, leaves nothing of it: a file without a name ends with the process that opened it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import SpooledTemporaryFile
from types import TracebackType
from typing import Self

import msgspec

from truegrade.files.json_text import encode
from truegrade.files.writing import writing
from truegrade.records import Completion
from truegrade.store.facts import CompletionFacts, PackedFacts, completion_facts
from truegrade.store.importers.base import PENDING

IN_MEMORY_BYTES = 1 << 23


def unnamed_file(place: Path) -> SpooledTemporaryFile[bytes]:
    """A file without a name on the disk of a path, perhaps of one that is not there yet; in memory while small."""
    there = next(above for above in (place, *place.absolute().parents) if above.is_dir())
    return SpooledTemporaryFile(IN_MEMORY_BYTES, dir=str(there))


class Spool:
    """Encoded completions, and what is kept of each.

    Args:
        folder: where the run will be; the file lies on the same disk.

    Raises:
        UserError: the disk is full, or the folder may not be written to; so does `fill`.
    """

    def __init__(self, folder: Path) -> None:
        self.facts = PackedFacts(CompletionFacts)
        self.problems: set[str] = set()
        self.most_samples = 0
        """One more than the largest number of a sample."""
        self._folder = folder
        self._file = unnamed_file(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def fill(self, completions: Iterable[Completion]) -> None:
        """Keep completions, drawn one at a time."""
        with writing(self._folder):
            for completion in completions:
                self._file.write(encode(completion) + b"\n")
                self.facts.append(completion_facts(completion))
                self.problems.add(completion.problem_id)
                self.most_samples = max(self.most_samples, completion.sample + 1)
            self._file.seek(0)

    def lines(self, config_sha256: str) -> Iterator[tuple[bytes, CompletionFacts]]:
        """The encoded completions, in order, each with what is kept of it.

        Args:
            config_sha256: takes the place of `PENDING`. It is replaced in the encoded line, where the name of the
                field cannot occur before it, nor inside a text: a quotation mark there is escaped.
        """
        pending, known = (f'"config_sha256":"{value}"'.encode() for value in (PENDING, config_sha256))
        for row, facts in zip(self._file, self.facts, strict=True):
            line = row.rstrip(b"\n")
            if facts.config_sha256 == PENDING:
                yield (
                    line.replace(pending, known, 1),
                    msgspec.structs.replace(facts, config_sha256=config_sha256),
                )
            else:
                yield line, facts
