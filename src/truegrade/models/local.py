"""Models that run on this machine: what an engine does, and the face that the pipeline sees.

An engine turns a prompt into text and gathers concurrent requests into batches by itself; `LocalModel` makes a
`Model` of it, and `truegrade.web.model_server` a service that speaks the OpenAI protocol.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future
from typing import Literal, Protocol

import msgspec

from truegrade.errors import ModelError
from truegrade.models.base import Reply
from truegrade.records import Attempt, Prompt, SampleKey, Usage
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
