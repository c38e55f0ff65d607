"""Requests that come at the same time are answered in batches of similar length."""

import threading
from concurrent.futures import Future

import pytest

from truegrade.models.local import Gatherer


class Ask:
    def __init__(self, length):
        self.length, self.future = length, Future()


def test_similar_lengths_go_together_and_the_oldest_goes_first():
    batches = []

    def answer(batch):
        batches.append(sorted(ask.length for ask in batch))
        for ask in batch:
            ask.future.set_result(ask.length)

    gatherer = Gatherer(answer, batch_size=3)
    futures = [gatherer.submit(Ask(length)) for length in (50, 1, 51, 2, 3, 49, 900)]
    assert [future.result(timeout=180) for future in futures] == [50, 1, 51, 2, 3, 49, 900]
    assert batches == [[49, 50, 51], [1, 2, 3], [900]]


def test_a_cancelled_request_is_not_asked_and_a_failure_reaches_its_batch_only():
    seen = []

    def answer(batch):
        seen.extend(ask.length for ask in batch)
        if batch[0].length == 1:
            raise RuntimeError("out of memory")
        batch[0].future.set_result(0)

    gatherer = Gatherer(answer, batch_size=1)
    failing, cancelled, fine = (gatherer.submit(Ask(length)) for length in (1, 2, 3))
    cancelled.cancel()
    with pytest.raises(RuntimeError, match="out of memory"):
        failing.result(timeout=180)
    assert fine.result(timeout=180) == 0
    assert seen == [1, 3]
    assert not [thread for thread in threading.enumerate() if thread.name == "gatherer" and thread.join(5)]
