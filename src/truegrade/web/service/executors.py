"""Sandboxes by their limits: each profile has its own, a request may ask for others, all share the workers."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from truegrade.errors import SandboxError
from truegrade.sandbox import Limits, Sandbox
from truegrade.sandbox.code_cache import CodeCache

KEPT = 4
"""Sandboxes that stay warm; each holds up to ``workers`` interpreters of some 30 MB."""


class Executors:
    """Lends sandboxes; safe to use from several threads.

    Args:
        workers: of each sandbox.
        allow_unsafe: run programs even at protection level 1.
        packages: installed packages that programs may import besides those of the limits.
        kept: sandboxes that stay warm.
    """

    def __init__(
        self, workers: int, *, allow_unsafe: bool = False, packages: Sequence[str] = (), kept: int = KEPT
    ) -> None:
        self._workers, self._allow_unsafe, self._kept = workers, allow_unsafe, kept
        self._packages = tuple(packages)
        self.code = CodeCache()
        """Of the programs of all of them."""
        self._open: OrderedDict[Limits, Sandbox] = OrderedDict()
        self._lent: dict[Limits, int] = {}
        self._lock = threading.Lock()
        self.closed = False

    @contextmanager
    def lend(self, limits: Limits) -> Iterator[Sandbox]:
        """A sandbox of these limits and the packages, for as long as the block lasts.

        Raises:
            SandboxError: all have been closed.
        """
        if self._packages:
            limits = replace(limits, packages=tuple(dict.fromkeys((*limits.packages, *self._packages))))
        with self._lock:
            if self.closed:
                raise SandboxError("the service is stopping")
            if limits not in self._open:
                self._open[limits] = Sandbox(
                    limits, self._workers, allow_unsafe=self._allow_unsafe, code=self.code
                )
            self._open.move_to_end(limits)
            self._lent[limits] = self._lent.get(limits, 0) + 1
            sandbox = self._open[limits]
        try:
            yield sandbox
        finally:
            with self._lock:
                self._lent[limits] -= 1
                surplus = self._surplus()
            for idle in surplus:
                idle.close()

    def close(self) -> None:
        """End every run; later ones are refused."""
        with self._lock:
            self.closed = True
            sandboxes = [*self._open.values()]
            self._open.clear()
        for sandbox in sandboxes:
            sandbox.close()

    def _surplus(self) -> list[Sandbox]:
        """Take out the sandboxes that nobody uses, the longest unused first, down to as many as are kept."""
        idle = [limits for limits in self._open if not self._lent[limits]]
        surplus = idle[: max(0, len(self._open) - self._kept)]
        for limits in surplus:
            del self._lent[limits]
        return [self._open.pop(limits) for limits in surplus]
