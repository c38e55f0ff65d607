"""Graders that are Python callables: they run in this process, which nothing protects from what they run."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

import msgspec

from truegrade.assay.targets import host
from truegrade.assay.targets.asking import OneByOneTarget, ProbeAsker
from truegrade.assay.targets.calls import ProbeQuestion
from truegrade.assay.targets.readings import HUNG, RAISED, Reading, no_verdict
from truegrade.errors import UserError


class CallableTarget(OneByOneTarget):
    """Calls a function here. One that hangs is left behind in its thread, for nothing can end it.

    Args:
        asker: words for probes.
        function: the grader.
        adapter: what makes its arguments of problem and reply; None for the way to call.

    Raises:
        UserError: it cannot be called so.
    """

    def __init__(
        self, asker: ProbeAsker, function: Callable[..., Any], adapter: Callable[..., Any] | None
    ) -> None:
        super().__init__(asker)
        self._function, self._adapter = function, adapter
        if adapter is None and asker.call.arguments is None:
            raise UserError(f"`call`: {asker.call.name} is no way to call a Python function")

    def close(self) -> None:
        """Nothing was started."""

    def _reading(self, question: ProbeQuestion) -> Reading:
        answered: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()

        def call() -> None:
            try:
                answered.put((host.called(self._function, self._payload(question), self._adapter), None))
            except BaseException as error:
                answered.put((None, error))

        threading.Thread(target=call, name="grader", daemon=True).start()
        try:
            value, error = answered.get(timeout=self._asker.timeout_s)
        except queue.Empty:
            return Reading(None, None, f"{HUNG} no answer in {self._asker.timeout_s:g} s")
        if error is not None:
            return Reading(None, None, no_verdict(RAISED, f"{type(error).__name__}: {error}"))
        return self._asker.call.reading(value)

    def _payload(self, question: ProbeQuestion) -> dict[str, Any]:
        if self._adapter is not None:
            return {"problem": msgspec.to_builtins(question.problem), "reply": question.reply}
        assert self._asker.call.arguments is not None
        args, kwargs = self._asker.call.arguments(question)
        return {"args": list(args), "kwargs": kwargs}
