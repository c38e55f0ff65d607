"""Many requests through one model at once: rows join and leave between two steps.

Each worker thread owns a cache of `ROWS` rows. A request takes a free row, its prompt is read, and it then
advances with its neighbours until it ends. Threads live as long as there is work, so that nothing has to be
closed.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING

from truegrade.models.local import Generated
from truegrade.models.micro.blas import use_one_thread
from truegrade.models.micro.llama import CHUNK, ROWS, Cache, Llama
from truegrade.models.micro.sampling import TokenSampler
from truegrade.models.micro.tokenizer import Tokenizer
from truegrade.records import Usage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_WORKERS = 4


class DecodingJob:
    """One request, and what it has written so far.

    Args:
        prompt: its tokens; at least one, and fewer than the context holds.
        sampler: draws its tokens.
        limit: tokens after which it is cut; at least 1, and within the context.
        stops: strings before the first of which it is cut.
    """

    def __init__(self, prompt: Sequence[int], sampler: TokenSampler, limit: int, stops: Sequence[str]) -> None:
        self.prompt, self.sampler, self.limit = tuple(prompt), sampler, limit
        self.future: Future[Generated] = Future()
        self.tokens: list[int] = []
        # UTF-8 never hides one character inside another, so strings can be looked for as bytes
        self._stops = [stop.encode() for stop in stops if stop]
        self._text = bytearray()

    def take(self, token: int, text: bytes, *, ends: bool) -> Generated | None:
        """Add a token that stands for ``text``; what was written, if that was the last one.

        A token that ends the reply is no part of it.
        """
        self.tokens.append(token)
        before = len(self._text)
        self._text += b"" if ends else text
        cuts = [place for stop in self._stops if (place := self._text.find(stop, max(0, before - len(stop)))) >= 0]
        if cuts:
            del self._text[min(cuts) :]
        if not (ends or cuts or len(self.tokens) == self.limit):
            return None
        return Generated(
            text=self._text.decode("utf-8", "replace"),
            finish_reason="stop" if ends or cuts else "length",
            usage=Usage(input_tokens=len(self.prompt), output_tokens=len(self.tokens)),
        )


class Decoder:
    """A model that answers many requests at once.

    Args:
        llama: the model.
        tokenizer: its tokenizer.
        ends: tokens that end a reply.
        workers: threads; None for one a core, up to `MAX_WORKERS`.
    """

    def __init__(
        self, llama: Llama, tokenizer: Tokenizer, ends: frozenset[int], workers: int | None = None
    ) -> None:
        self.llama, self.tokenizer, self.ends = llama, tokenizer, ends
        self.workers = workers or min(MAX_WORKERS, os.cpu_count() or 1)
        self._waiting: deque[DecodingJob] = deque()
        self._lock = threading.Lock()
        self._unfinished = self._alive = 0
        self._restore_threads: Callable[[], None] = lambda: None

    def submit(self, ask: DecodingJob) -> Future[Generated]:
        """Queue a request; its future is set when it ends, and may be cancelled until then."""
        with self._lock:
            self._waiting.append(ask)
            self._unfinished += 1
            # one worker more only where those there are have no row left for it
            if self._unfinished > self._alive * ROWS and self._alive < self.workers:
                if self._alive == 0:
                    self._restore_threads = use_one_thread()
                self._alive += 1
                threading.Thread(target=self._work, name="decoder", daemon=True).start()
        ask.future.add_done_callback(self._count_down)
        return ask.future

    def _count_down(self, _: Future[Generated]) -> None:
        with self._lock:
            self._unfinished -= 1

    def _work(self) -> None:
        """Advance a batch until neither it nor the queue holds anything."""
        batch = _Batch(self)
        while (fresh := self._next_asks(batch)) is not None:
            try:
                batch.admit(fresh)
                batch.step()
            except Exception as error:  # every future must end, or its asker would wait for ever
                batch.fail(error, fresh)

    def _next_asks(self, batch: _Batch) -> list[DecodingJob] | None:
        """Requests for the free rows; None where the worker is to end."""
        with self._lock:
            fresh = [self._waiting.popleft() for _ in range(min(batch.free, len(self._waiting)))]
            if fresh or batch.free < ROWS:
                return fresh
            self._alive -= 1
            if self._alive == 0:
                self._restore_threads()
            return None


class _Batch:
    """The rows of one worker."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self._cache = Cache(decoder.llama.shape)
        self._asks: list[DecodingJob | None] = [None] * ROWS
        self._read: list[tuple[tuple[int, ...], NDArray[np.float32]] | None] = [None] * ROWS
        """The prompt that each row's cache begins with, and the logits behind it."""

    @property
    def free(self) -> int:
        return self._asks.count(None)

    def admit(self, fresh: Sequence[DecodingJob]) -> None:
        """Give each request a row, read its prompt and draw its first token."""
        for ask in fresh:
            row = self._asks.index(None)
            logits = self._read_prompt(ask.prompt, row)
            self._asks[row] = ask
            self._advance(row, logits)

    def step(self) -> None:
        """Advance every row that is busy by one token."""
        import numpy as np

        for row, ask in enumerate(self._asks):
            if ask is not None and ask.future.cancelled():
                self._asks[row] = None
        tokens, positions = np.zeros(ROWS, np.int64), np.zeros(ROWS, np.int64)
        for row, ask in enumerate(self._asks):
            if ask is not None:
                tokens[row] = ask.tokens[-1]
                positions[row] = len(ask.prompt) + len(ask.tokens) - 1
            else:
                self._read[row] = None  # an idle row is computed too, and overwrites its first place
        if positions.any():
            logits = self._decoder.llama.step(tokens, positions, self._cache)
            for row, ask in enumerate(self._asks):
                if ask is not None:
                    self._advance(row, logits[row])

    def fail(self, error: Exception, fresh: Sequence[DecodingJob]) -> None:
        """End every request with the error."""
        for ask in (*self._asks, *fresh):
            if ask is not None and not ask.future.done():
                ask.future.set_exception(error)
        self._asks = [None] * ROWS
        self._read = [None] * ROWS  # a prompt may have been read in part

    def _read_prompt(self, prompt: tuple[int, ...], row: int) -> NDArray[np.float32]:
        """Read a prompt into a row, or copy it from a row that begins with the same one: another sample of it."""
        for other, read in enumerate(self._read):
            if read is not None and read[0] == prompt:
                chunks = -(-len(prompt) // CHUNK)
                for half in (self._cache.keys, self._cache.values):
                    half[:, row, :, :chunks] = half[:, other, :, :chunks]
                break
        else:
            read = prompt, self._decoder.llama.read(prompt, self._cache, row)
        self._read[row] = read
        return read[1]

    def _advance(self, row: int, logits: NDArray[np.float32]) -> None:
        """Draw a row's next token, and end its request if that was the last."""
        ask = self._asks[row]
        assert ask is not None
        token = ask.sampler.draw(logits)
        written = ask.take(token, self._decoder.tokenizer.bytes_of(token), ends=token in self._decoder.ends)
        if written is not None:
            self._asks[row] = None
            if ask.future.set_running_or_notify_cancel():
                ask.future.set_result(written)
