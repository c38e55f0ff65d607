"""Compiled code of scripts that come again, as opaque bytes: a script with many inputs is compiled once or twice.

Only a script's process makes such bytes, after compiling and before anything of the program has run in it, and
they are the first that it says (`truegrade.sandbox.child.script`), so no program can have written them; what it
says later is never taken for code. Only such a process unmarshals them, before its own program runs, and it gets
those of the very source that it would have compiled itself. So the worst that a program can do to the code of
another is to push it out of the cache, and nothing that a program made, no output, module or answer, is kept.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from hashlib import sha256
from importlib.util import MAGIC_NUMBER

MAX_KEYS = 4096
MAX_BYTES = 64 << 20


class CodeCache:
    """Keeps the code that was used last; safe to use from several threads.

    Args:
        max_keys: sources that are remembered, with or without their code.
        max_bytes: of all code together.
    """

    def __init__(self, max_keys: int = MAX_KEYS, max_bytes: int = MAX_BYTES) -> None:
        self._max_keys, self._max_bytes = max_keys, max_bytes
        self._kept: OrderedDict[bytes, bytes | None] = OrderedDict()
        """None where a source was seen once: most are, and to ask for their code would cost more than it saves.
        Empty where there is too much of it."""
        self._lock = threading.Lock()
        self.hits = 0
        """Runs that were given code."""
        self.misses = 0
        self.bytes = 0

    @staticmethod
    def key(source: str, cpu_s: float, memory_bytes: int) -> bytes:
        """What code is kept under: source, limits of the run, and version of the byte code."""
        limits = f"python {cpu_s!r} {memory_bytes} ".encode()
        return sha256(b"".join((limits, MAGIC_NUMBER, source.encode("utf-8", "surrogatepass")))).digest()

    def look(self, key: bytes) -> tuple[bytes, bool]:
        """The code, empty if there is none, and whether it is worth asking for."""
        with self._lock:
            code = self._kept.get(key)
            if code:
                self.hits += 1
            else:
                self.misses += 1
            wanted = code is None and key in self._kept
            self._put(key, code)
            return code or b"", wanted

    def keep(self, key: bytes, code: bytes) -> None:
        """Keep code that `look` asked for."""
        with self._lock:
            self._put(key, code)

    def _put(self, key: bytes, code: bytes | None) -> None:
        """Have it as the one used last, and drop those for which there is no room."""
        self.bytes += len(code or b"") - len(self._kept.pop(key, None) or b"")
        self._kept[key] = code
        while len(self._kept) > self._max_keys or self.bytes > self._max_bytes:
            self.bytes -= len(self._kept.popitem(last=False)[1] or b"")
