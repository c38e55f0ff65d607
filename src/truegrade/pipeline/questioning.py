"""Put single questions to a model, outside any benchmark: for builders of data sets.

A model's back end lives on one event loop; it is kept here in a thread, so that plain functions in several
threads may ask.
"""

from __future__ import annotations

import asyncio
import threading
from types import TracebackType
from typing import Self

from truegrade.errors import ModelError
from truegrade.models.base import Model
from truegrade.pipeline.generate import Budget
from truegrade.records import Message, Prompt
from truegrade.records.config import Sampling


class Asker:
    """A context manager whose `ask` takes a question and returns the reply's text.

    Args:
        model: closed at the end.
        sampling: parameters of every request.
    """

    def __init__(self, model: Model, sampling: Sampling) -> None:
        self._model, self._sampling = model, sampling
        self._budget = Budget(model.request_policy.max_cost_usd)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="asker", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._model.close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def ask(self, question: str) -> str:
        """The text that the model answers.

        Raises:
            ModelError: the service failed after all attempts, or the money is spent.
        """
        if self._budget.exhausted:
            raise ModelError("the cost limit is reached; the same command continues with a higher `max_cost_usd`")
        prompt = Prompt(messages=(Message(role="user", content=question),), source="ours")
        answering = self._model.generate(prompt, self._sampling)
        reply = asyncio.run_coroutine_threadsafe(answering, self._loop).result()
        self._budget.spend(reply.cost_usd)
        if reply.text is None:
            why = next((attempt.error for attempt in reversed(reply.attempts) if attempt.error), "no reason given")
            raise ModelError(f"{self._model.name} gave no answer: {why}; the same command resumes")
        return reply.text
