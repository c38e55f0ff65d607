"""Models that run on this machine: what an engine does, and the face that the pipeline sees.

An engine turns a prompt into text and gathers concurrent requests into batches by itself; `LocalModel` makes a
`Model` of it, and `truegrade.web.port` a service that speaks the OpenAI protocol.

Which folder holds an adapter, and what identifies it: the same for every engine that takes one.

An adapter is two files, as PEFT writes them, or for llama.cpp one GGUF file. Its hash enters the name of the
model, so that a run with another adapter is another run, whatever its path.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeVar

import msgspec

from truegrade.errors import ModelError, UnknownName, UserError
from truegrade.models.base import Reply
from truegrade.records import Attempt, Prompt, SampleKey, Usage, sha256_json
from truegrade.records.config import RequestPolicy, Sampling


class Generated(msgspec.Struct, frozen=True, kw_only=True):
    """What an engine wrote."""

    text: str
    finish_reason: Literal["stop", "length"]
    """``length``: at the token limit, or because the context is full."""
    usage: Usage
    note: str | None = None
    """Why nothing could be written, where that is the case."""


class Engine(Protocol):
    """Weights and the arithmetic that runs them. Safe to use from several threads."""

    @property
    def name(self) -> str:
        """``provider/name``."""

    @property
    def parallel(self) -> int:
        """Requests that it works on at once; more of them wait."""

    def submit(self, prompt: Prompt, sampling: Sampling, sample: int = 0) -> Future[Generated]:
        """Ask for one reply. The same request gives the same text, whatever else is under way.

        Args:
            prompt: what the model is sent; its stop strings count.
            sampling: what is None follows the model's own defaults.
            sample: the seed, where ``sampling`` has none.

        Raises:
            UserError: the model cannot be asked this way.
        """

    def close(self) -> None:
        """Release memory. What is under way still ends."""


class LocalModel:
    """An engine as a `Model`.

    Args:
        engine: what runs.
        request_policy: its ``max_connections`` is raised to what the engine works on at once.
    """

    def __init__(self, engine: Engine, request_policy: RequestPolicy) -> None:
        self.engine = engine
        connections = max(request_policy.max_connections, engine.parallel)
        self._request_policy = msgspec.structs.replace(request_policy, max_connections=connections)

    @property
    def name(self) -> str:
        """``provider/name``."""
        return self.engine.name

    @property
    def base_url(self) -> None:
        """Nowhere: it runs in this process."""
        return None

    @property
    def request_policy(self) -> RequestPolicy:
        """Concurrency in force; nothing is retried, because the same request would end the same way."""
        return self._request_policy

    async def generate(self, prompt: Prompt, sampling: Sampling) -> Reply:
        """Answer a prompt as sample 0 of a run; see `generate_sample`."""
        return await self._answer(prompt, sampling, 0)

    async def generate_sample(self, key: SampleKey, prompt: Prompt, sampling: Sampling) -> Reply:
        """Answer one sample; without a seed its number decides the draw.

        A prompt that does not fit the context is answered with nothing, cut at ``length``: the model has no
        answer to it, and asking again would not help.

        Raises:
            ModelError: the engine itself failed, for example for want of memory.
            UserError: the model cannot be asked this way.
        """
        return await self._answer(prompt, sampling, key.sample)

    async def close(self) -> None:
        """Release the engine's memory."""
        self.engine.close()

    async def _answer(self, prompt: Prompt, sampling: Sampling, sample: int) -> Reply:
        import asyncio  # which whoever only grades need not wait for

        started = time.perf_counter()
        try:
            generated = await asyncio.wrap_future(self.engine.submit(prompt, sampling, sample))
        except (MemoryError, RuntimeError) as error:
            raise ModelError(f"{self.name} failed: {error or type(error).__name__}") from error
        latency_s = time.perf_counter() - started
        outcome = Attempt(
            outcome="ok" if generated.text.strip() else "empty",
            latency_s=latency_s,
            error=generated.note,
            usage=generated.usage,
        )
        return Reply(
            text=generated.text,
            form="completion" if prompt.style == "text" else "reply",
            finish_reason=generated.finish_reason,
            usage=generated.usage,
            latency_s=latency_s,
            model=self.name,
            attempts=(outcome,),
        )


# -------- Concurrent requests gathered into batches of similar length, for engines that work on whole batches.


GATHER_S = 0.02
"""Seconds that the first request of a batch waits for company."""


class Waiting(Protocol):
    """A request in the queue."""

    future: Future[Generated]

    @property
    def length(self) -> int:
        """Tokens of its prompt."""


W = TypeVar("W", bound=Waiting)


class Gatherer(Generic[W]):
    """Calls ``answer`` with batches, on a thread that lives as long as there is work.

    Args:
        answer: sets the future of every request of a batch.
        batch_size: most requests in a batch.
    """

    def __init__(self, answer: Callable[[Sequence[W]], None], batch_size: int) -> None:
        self._answer, self._batch_size = answer, batch_size
        self._waiting: list[W] = []
        self._lock = threading.Lock()
        self._alive = False

    def submit(self, request: W) -> Future[Generated]:
        """Queue a request."""
        with self._lock:
            self._waiting.append(request)
            if not self._alive:
                self._alive = True
                threading.Thread(target=self._work, name="gatherer", daemon=True).start()
        return request.future

    def _work(self) -> None:
        time.sleep(GATHER_S)
        while batch := self._next_batch():
            try:
                self._answer(batch)
            except Exception as error:  # every future must end, or its asker would wait for ever
                for request in batch:
                    if not request.future.done():
                        request.future.set_exception(error)

    def _next_batch(self) -> list[W]:
        """The requests that are closest in length to the one that has waited longest."""
        with self._lock:
            self._waiting = [request for request in self._waiting if not request.future.cancelled()]
            if not self._waiting:
                self._alive = False
                return []
            first = self._waiting[0]
            by_distance = sorted(self._waiting, key=lambda request: abs(request.length - first.length))
            batch = by_distance[: self._batch_size]
            self._waiting = [request for request in self._waiting if request not in batch]
            return batch


# -------------------------------------------- Model arguments, ``-M key=value``, as the options of a back end.


OptionsT = TypeVar("OptionsT", bound=msgspec.Struct)


def read_arguments(args: Mapping[str, Any], options: type[OptionsT], model: str) -> OptionsT:
    """Check the arguments.

    Args:
        args: as the command line read them.
        options: what they may be, field by field.
        model: the kind of model, as a message calls it.

    Raises:
        UnknownName: there is no such argument.
        UserError: a value is of the wrong kind.
    """
    for name in args:
        if name not in options.__struct_fields__:
            raise UnknownName(f"argument of a {model} model", name, options.__struct_fields__)
    try:
        return msgspec.convert(dict(args), options, strict=False)
    except msgspec.ValidationError as error:
        raise UserError(f"model argument not understood: {error}; write `model_args` key=value") from None


CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
"""The two files of an adapter."""

GGUF_SUFFIX = ".gguf"

ARGUMENT = "adapter"
"""The model argument (``-M``) that names the folder, and the option of the same name."""

_SHOWN = 16
"""Characters of its hash in the name of an adapted model."""


def check_adapter(folder: Path) -> None:
    """See that both files are there.

    Raises:
        UserError: one is missing.
    """
    for name in (CONFIG, WEIGHTS):
        if not (folder / name).is_file():
            raise UserError(f"`model_args` adapter={folder}: no {name} there; name a folder that PEFT has written")


def adapter_sha256(folder: Path) -> str:
    """Hash of both files, or of the one where it is a GGUF file.

    Raises:
        UserError: one is missing.
    """
    if folder.suffix == GGUF_SUFFIX and folder.is_file():
        return hashlib.sha256(folder.read_bytes()).hexdigest()
    check_adapter(folder)
    return sha256_json(
        {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in (CONFIG, WEIGHTS)}
    )


def adapted_name(name: str, folder: Path | None) -> str:
    """What a model is called with an adapter: ``NAME+HASH``; with none, its own name.

    Raises:
        UserError: a file of the adapter is missing.
    """
    return name if folder is None else f"{name}+{adapter_sha256(folder)[:_SHOWN]}"


def recorded_arguments(args: Mapping[str, Any]) -> dict[str, Any]:
    """Model arguments as a run keeps them: an adapter by its hash, because its path decides nothing.

    Raises:
        UserError: a file of the adapter is missing.
    """
    kept = dict(args)
    if kept.get(ARGUMENT) is not None:
        kept[ARGUMENT] = f"sha256:{adapter_sha256(Path(kept[ARGUMENT]))}"
    return kept
