"""How many requests are under way at once, and the pause that all of them share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Gate:
    """Lets at most ``max_connections`` requests through, and none before the end of a pause.

    One gate serves one event loop.
    """

    def __init__(self, max_connections: int) -> None:
        self._places = asyncio.Semaphore(max_connections)
        self._opens_at = 0.0

    def pause(self, seconds: float) -> None:
        """Start no new request for so long; a longer pause already in force stays."""
        self._opens_at = max(self._opens_at, time.monotonic() + seconds)

    @asynccontextmanager
    async def enter(self) -> AsyncIterator[None]:
        """Wait for a place and for the end of the pause; hold the place inside the block."""
        async with self._places:
            # whoever sleeps here holds a place, which is harmless: nobody else may start either
            while (wait_s := self._opens_at - time.monotonic()) > 0:
                await asyncio.sleep(wait_s)
            yield
