"""Many requests through one model at once: rows join and leave between two steps.

A thread owns a cache of `ROWS` rows. A request takes a free row, its prompt is read, and it then advances with its
neighbours until it ends. The thread lives as long as there is work. Further cores compute in processes
(`DecoderProcess`): threads of one interpreter hinder each other, since the matrices are small.
"""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truegrade.models.local import Generated
from truegrade.models.micro.llama import ROWS, Cache, Llama, read_defaults, use_one_thread
from truegrade.models.micro.tokenizer import Tokenizer, read_tokenizer
from truegrade.records import Usage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from truegrade.records.config import Sampling


# ----------------------------------------------------------------------------------------------------------------
# One token out of logits: the likeliest, or a draw; with repetition penalty, temperature, top-k and nucleus.
# What they mean and their order are Hugging Face's, so that settings published for its models mean the same here:
# transformers@5.23.0 ``generation/utils.py`` (`_get_logits_processor`) and ``generation/logits_process.py``
# (`RepetitionPenaltyLogitsProcessor`, `TopKLogitsWarper`, `TopPLogitsWarper`).


class TokenSampler:
    """Draws the tokens of one reply; its draws depend on the seed and the prompt alone.

    The prompt goes into the stream, so that sample i of one problem says nothing about sample i of another.

    Args:
        temperature: 0 takes the likeliest token, the first of equals.
        top_p: nucleus: only the likeliest tokens that together reach this probability (arXiv 1904.09751).
        seed: the sample's own seed.
        prompt: tokens of the prompt.
        top_k: only so many of the likeliest tokens, and those equal to the last of them (arXiv 1805.04833).
        repetition_penalty: divides the logits of tokens in the prompt or the reply, multiplies those below zero
            (arXiv 1909.05858); each token once, however often it was there.
    """

    def __init__(
        self,
        temperature: float,
        top_p: float,
        seed: int,
        prompt: Sequence[int],
        *,
        top_k: int | None = None,
        repetition_penalty: float = 1.0,
    ) -> None:
        import numpy as np

        self._temperature, self._top_p, self._top_k = temperature, top_p, top_k
        self._penalty, self._seen = repetition_penalty, set(prompt)
        facts = f"{seed} {' '.join(map(str, prompt))}".encode()
        entropy = int.from_bytes(hashlib.sha256(facts).digest(), "little")
        self._random = np.random.Generator(np.random.PCG64(entropy)) if temperature > 0 else None

    def draw(self, logits: NDArray[np.float32]) -> int:
        """The next token; from now on it is one of the reply's."""
        import numpy as np

        if self._random is None:
            token = int(self._penalised(logits).argmax())
        else:
            order, cumulative = self.law(logits)
            place = int(np.searchsorted(cumulative, self._random.random() * cumulative[-1], side="right"))
            token = int(order[min(place, len(cumulative) - 1)])
        self._seen.add(token)
        return token

    def law(self, logits: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """What may be drawn at a temperature above 0: tokens, the likeliest first, and their weights summed up."""
        import numpy as np

        scores = self._penalised(logits)
        scaled = scores.astype(np.float64) / self._temperature
        weights = np.exp(scaled - scaled.max())
        order = np.argsort(-weights, kind="stable")
        if self._top_k is not None and self._top_k < len(order):
            least = weights[order[self._top_k - 1]]
            order = order[: np.count_nonzero(weights >= least)]
        cumulative = np.cumsum(weights[order])
        if self._top_p < 1:
            kept = int(np.searchsorted(cumulative, self._top_p * cumulative[-1])) + 1
            order, cumulative = order[:kept], cumulative[:kept]
        return order, cumulative

    def _penalised(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """In the logits' own precision, as the source does."""
        import numpy as np

        if self._penalty == 1.0:
            return logits
        seen = np.fromiter(self._seen, np.int64, len(self._seen))
        scores, old = logits.copy(), logits[seen]
        scores[seen] = np.where(old < 0, old * self._penalty, old / self._penalty)
        return scores


def sampler_for(
    sampling: Sampling, sample: int, prompt: Sequence[int], *, temperature: float, top_p: float | None
) -> TokenSampler:
    """What draws the tokens of one sample.

    Args:
        sampling: what the request says.
        sample: its number, which is its seed where the request has none.
        prompt: tokens of the prompt.
        temperature: the model's own, where the request has none.
        top_p: the same; None for 1.
    """
    return TokenSampler(
        temperature if sampling.temperature is None else sampling.temperature,
        next((p for p in (sampling.top_p, top_p) if p is not None), 1.0),
        sample if sampling.seed is None else sampling.seed,
        prompt,
        **sampling.in_process_only,
    )


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
        self.stops = tuple(stops)
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
    """

    def __init__(self, llama: Llama, tokenizer: Tokenizer, ends: frozenset[int]) -> None:
        self.llama, self.tokenizer, self.ends = llama, tokenizer, ends
        self.unfinished = 0
        self._waiting: deque[DecodingJob] = deque()
        self._lock = threading.Lock()
        self._working = False
        self._restore_threads: Callable[[], None] = lambda: None

    @classmethod
    def open(cls, folder: Path, adapter: Path | None = None) -> Decoder:
        """That of a folder's files, with an adapter merged into the weights.

        Raises:
            BadRecord: a file is missing, damaged, or describes something that is not computed here.
        """
        defaults = read_defaults(folder / "generation_config.json")
        return cls(Llama.open(folder, adapter), read_tokenizer(folder / "tokenizer.json"), defaults.ends)

    def submit(self, ask: DecodingJob) -> Future[Generated]:
        """Queue a request; its future is set when it ends, and may be cancelled until then."""
        with self._lock:
            self._waiting.append(ask)
            self.unfinished += 1
            if not self._working:
                self._working = True
                self._restore_threads = use_one_thread()
                threading.Thread(target=self._work, name="decoder", daemon=True).start()
        ask.future.add_done_callback(self._count_down)
        return ask.future

    def _count_down(self, _: Future[Generated]) -> None:
        with self._lock:
            self.unfinished -= 1

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
            self._working = False
            self._restore_threads()
            return None


_ENDED = "the process that computes has ended"


class DecoderProcess:
    """A `Decoder` in a process of its own, which ends when it is closed or this process ends.

    Args:
        folder: the model's files.
        adapter: folder of an adapter.

    Raises:
        OSError: no process can be started.
    """

    def __init__(self, folder: Path, adapter: Path | None) -> None:
        self._socket, theirs = socket.socketpair()
        words = [sys.executable, "-P", "-c", f"from {__name__} import serve; serve()", str(theirs.fileno())]
        words += [str(folder), *([str(adapter)] if adapter is not None else [])]
        with theirs:
            self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
        self._connection = Connection(os.dup(self._socket.fileno()))
        self._asked: dict[int, DecodingJob] = {}
        self._numbers = count()
        self._lock = threading.Lock()
        self.open = True
        threading.Thread(target=self._listen, name="decoder process", daemon=True).start()

    @property
    def unfinished(self) -> int:
        """Requests that it has not answered."""
        return len(self._asked)

    def submit(self, ask: DecodingJob) -> Future[Generated]:
        """As `Decoder.submit`."""
        with self._lock:
            number = next(self._numbers)
            self._asked[number] = ask
            try:
                self._connection.send((number, ask.prompt, ask.sampler, ask.limit, ask.stops))
            except OSError:
                self._asked.pop(number, None)
                _settle(ask, RuntimeError(_ENDED))
        return ask.future

    def close(self) -> None:
        """End the process."""
        self.open = False
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._process.wait()

    def _listen(self) -> None:
        """Pass on what it answers; where it ends first, whoever waits is told."""
        try:
            while True:
                number, answer = self._connection.recv()
                with self._lock:
                    ask = self._asked.pop(number)
                _settle(ask, answer)
        except (EOFError, OSError):
            self.open = False
        self._connection.close()
        with self._lock:
            left, self._asked = [*self._asked.values()], {}
        for ask in left:
            _settle(ask, RuntimeError(_ENDED))


def _settle(ask: DecodingJob, answer: Generated | Exception) -> None:
    if ask.future.set_running_or_notify_cancel():
        if isinstance(answer, Exception):
            ask.future.set_exception(answer)
        else:
            ask.future.set_result(answer)


def serve() -> None:
    """The process of a `DecoderProcess`: answers on the socket of its first argument until that is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asks ends it
    number, folder, *adapter = sys.argv[1:]
    connection, lock = Connection(int(number)), threading.Lock()
    decoder = Decoder.open(Path(folder), Path(adapter[0]) if adapter else None)

    def reply(number: int, done: Future[Generated]) -> None:
        answer: Any = done.exception() or done.result()
        with lock, suppress(OSError):  # nobody listens any more
            connection.send((number, answer))

    while True:
        try:
            number, *job = connection.recv()
        except (EOFError, OSError):
            os._exit(0)
        decoder.submit(DecodingJob(*job)).add_done_callback(partial(reply, number))


class _Batch:
    """The rows of a decoder."""

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
                for half in (self._cache.keys, self._cache.values):
                    half[:, row, :, : len(prompt)] = half[:, other, :, : len(prompt)]
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
