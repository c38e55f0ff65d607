"""Stored answers with the face of a model: the same run again, without asking anybody."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from truegrade.errors import BadRecord, UserError
from truegrade.files.json_text import UNREADABLE, checksum_fits, decode
from truegrade.models.base import Reply, no_sample
from truegrade.records import Completion, Prompt, SampleKey
from truegrade.records.config import RequestPolicy, Sampling


class Replay:
    """Answers every sample with the completion stored for its problem and sample.

    Of two completions with one key the later counts, unless only the earlier has text: a sample that failed is
    asked for again when a run is resumed. What an answer once cost is left out, for replaying it costs nothing.
    """

    def __init__(self, name: str, completions: Iterable[Completion]) -> None:
        self._name = name
        self._stored: dict[SampleKey, Completion] = {}
        for completion in completions:
            earlier = self._stored.get(completion.key)
            if earlier is None or earlier.text is None or completion.text is not None:
                self._stored[completion.key] = completion

    @classmethod
    def open(cls, path: Path) -> Replay:
        """Read a file of completions, or the one in a run directory; its name is ``replay:PATH``.

        Raises:
            UserError: there is no such file, or it holds no completion.
            BadRecord: a line is no completion.
        """
        file = path / "completions.jsonl" if path.is_dir() else path
        if not file.is_file():
            raise UserError(f"{file}: no such file to replay; give a completions.jsonl or a run directory")
        replay = cls(f"replay:{path}", read_completions(file))
        if not replay._stored:
            raise UserError(f"{file}: holds no completion to replay")
        return replay

    @property
    def name(self) -> str:
        """``replay:FILE``."""
        return self._name

    @property
    def base_url(self) -> None:
        """Nowhere: nothing is served."""
        return None

    @property
    def request_policy(self) -> RequestPolicy:
        """The default; nothing is waited for."""
        return RequestPolicy()

    async def generate(self, prompt: Prompt, sampling: Sampling) -> Reply:
        """Refuse: an answer is stored for a sample.

        Raises:
            UserError: always.
        """
        raise no_sample(self._name)

    async def generate_sample(self, key: SampleKey, prompt: Prompt, sampling: Sampling) -> Reply:
        """Answer from the store.

        Raises:
            UserError: nothing is stored for this problem and sample.
        """
        stored = self._stored.get(key)
        if stored is None:
            raise UserError(
                f"{self._name}: no answer for problem {key.problem_id!r}, sample {key.sample}; "
                "lower `n` or choose problems with `limit` or `ids`"
            )
        return Reply(
            text=stored.text,
            form=stored.form,
            reasoning=stored.reasoning,
            finish_reason=stored.finish_reason,
            usage=stored.usage,
            latency_s=stored.latency_s,
            model=stored.model,
            attempts=stored.attempts,
        )

    async def close(self) -> None:
        """Nothing to release."""


def read_completions(file: Path) -> Iterator[Completion]:
    """Completions of a JSON Lines file, empty lines skipped.

    A last line without a line end that does not decode was torn when its run was stopped; it is no answer, and
    asking for it says so.

    Raises:
        BadRecord: any other line that is no completion.
    """
    decoder = msgspec.json.Decoder(Completion)
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            if checksum_fits(line) is False:
                raise BadRecord(file, "its checksum does not fit: the line is damaged", line=number)
            try:
                yield decode(line, decoder)
            except UNREADABLE as error:
                if not line.endswith(b"\n"):
                    return
                problem = f"no completion: {error}; a file of another harness is read by `truegrade grade`"
                raise BadRecord(file, problem, line=number) from None
