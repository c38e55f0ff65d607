"""What stands on a core or accelerator of the cluster and works for whoever employs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from truegrade import __version__
from truegrade.integrations.ray.actor import Cargo


class WorkerActor:
    """Does one order at a time; Ray calls it."""

    def __init__(self) -> None:
        self._work: Callable[[Any], Any] | None = None

    def version(self) -> str:
        """Of Truegrade on this machine; an answer at all says that the actor is alive."""
        return __version__

    def work(self, order: Any, cargo: Cargo) -> Any:
        """The answer to an order.

        Args:
            order: what the function that works is called with.
            cargo: reference to what makes that function. Each order brings it, since an actor that died and was
                started anew has forgotten it; only the first of an actor's life opens it.
        """
        if self._work is None:
            import ray

            self._work = ray.get(cargo[0])()
        return self._work(order)
