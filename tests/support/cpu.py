"""A bound on CPU time, which a busy machine does not stretch as it stretches wall clocks."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def cpu_within(seconds: float) -> Iterator[None]:
    """Fail unless the block takes less than so many seconds of this process' CPU time.

    The bound is a guard against time that grows faster than the input, several times what the block takes; how
    fast something is, ``bench/`` measures.
    """
    began = time.process_time()
    yield
    spent = time.process_time() - began
    assert spent < seconds, f"{spent:.1f} s of CPU time, at most {seconds:g} s are expected"
