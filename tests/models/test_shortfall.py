"""What is told of requests that fail, while a run goes on."""

from truegrade.models.base import Reply
from truegrade.models.service_errors import Shortfall
from truegrade.records import Attempt

LIMITED = Attempt(outcome="error", status=429, error="HTTP 429: slow down", latency_s=0.1)
OK = Attempt(outcome="ok", status=200, latency_s=0.1)


def reply(*attempts, text=None):
    return Reply(text=text, model="x", attempts=attempts)


def test_failures_are_told_at_1_10_100():
    told = []
    shortfall = Shortfall(told.append)
    counts = {}
    for number in range(1, 251):
        shortfall.add(
            reply(Attempt(outcome="error", status=500, error=f"HTTP 500: request {number}", latency_s=0.1))
        )
        counts.setdefault(len(told), number)
    assert counts == {1: 1, 2: 10, 3: 100}
    assert told[0].startswith("1 sample has failed so far: 1 × HTTP 500: request 1 (look into the server's log")
    assert told[2].startswith("100 samples have failed so far: 100 × HTTP 500")
    assert shortfall.sentence().startswith("250 samples have no reply: 250 × HTTP 500")


def test_requests_that_were_repeated_are_told_with_their_cause_and_are_no_failures():
    told = []
    shortfall = Shortfall(told.append)
    for _ in range(12):
        shortfall.add(reply(LIMITED, LIMITED, LIMITED, OK, text="done"))
    assert len(told) == 1 and not shortfall
    assert told[0] == (
        "12 requests were repeated so far: 12 × HTTP 429: slow down (the service limits requests: lower"
        " `max_connections` or raise `max_attempts`)"
    )
