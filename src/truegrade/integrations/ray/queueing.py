"""Which samples make the next batch: pure bookkeeping, no Ray.

A batch is large where samples are short, so that handing it out costs little, and small where they are long, so
that no core waits for another at the end. Samples that were lost with their actor go out one by one: if one of
them ends whatever machine grades it, it is found out, and takes no other along.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence

from truegrade.errors import SandboxError
from truegrade.records import Completion, SampleKey

MOST = 64
"""Samples of a batch. Handing out costs some 0.05 ms a sample in batches of 16 to 64, 1 ms one by one."""
FIRST = 16
"""Samples of a batch while nothing is known about how long they take."""
TARGET_S = 1.0
"""Wall time that a batch should take."""
MOST_LOSSES = 5
"""Times that one sample may be lost with its actor: machines fail, but not always under the same one."""
_SMOOTHING = 0.3


class Pace:
    """How many samples make a batch of about `TARGET_S`; learns from every batch."""

    def __init__(self) -> None:
        self._sample_s: float | None = None

    @property
    def size(self) -> int:
        """Samples of the next batch."""
        if self._sample_s is None:
            return FIRST
        return max(1, min(MOST, int(TARGET_S / max(self._sample_s, TARGET_S / MOST))))

    def learn(self, samples: int, wall_s: float) -> None:
        """Take note of how long so many samples took on one core; the newest count most."""
        newest = wall_s / samples
        known = newest if self._sample_s is None else self._sample_s
        self._sample_s = known + _SMOOTHING * (newest - known)


class Queue:
    """Samples that wait: those that came back first, then those not drawn yet, which are drawn when needed.

    Args:
        completions: to be graded, each once.
    """

    def __init__(self, completions: Iterable[Completion]) -> None:
        self._source = iter(completions)
        self._returned: deque[Completion] = deque()
        self._losses: Counter[SampleKey] = Counter()

    def take(self, size: int) -> list[Completion]:
        """The next batch, at most ``size`` long; empty if nothing waits at the moment."""
        batch: list[Completion] = []
        while len(batch) < size:
            completion = self._returned.popleft() if self._returned else next(self._source, None)
            if completion is None:
                break
            if self._losses[completion.key] and batch:
                self._returned.appendleft(completion)
                break
            batch.append(completion)
            if self._losses[completion.key]:
                break
        return batch

    def give_back(self, completions: Sequence[Completion]) -> None:
        """Samples of a batch that were not reached: they go first."""
        self._returned.extendleft(reversed(completions))

    def lose(self, completions: Sequence[Completion], why: str) -> None:
        """Samples whose actor died under them: they go out again, one by one.

        Raises:
            SandboxError: one of them was lost too often.
        """
        for completion in completions:
            self._losses[completion.key] += 1
            if self._losses[completion.key] >= MOST_LOSSES:
                raise SandboxError(
                    f"{completion.problem_id} sample {completion.sample}: {MOST_LOSSES} times in a row the process"
                    f" that graded it was lost ({why}); the verdicts so far are kept, grade it without `executor`"
                )
        self.give_back(completions)
