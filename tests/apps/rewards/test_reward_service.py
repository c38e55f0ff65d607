"""Rewards from `truegrade serve` over HTTP: restarted, full, gone, or refusing."""

import asyncio
import contextlib
import socket
import threading
import time

import pytest

from support.grading_service import TOKEN, served
from support.reward_replies import ENDLESS, RIGHT, SLOW, WRONG, square
from truegrade.apps.rewards.grader import RewardGrader
from truegrade.apps.rewards.records import RewardError
from truegrade.errors import UserError


@pytest.fixture(scope="module")
def service(own_node):
    with served("--max-queue", "6", "--max-cpu", "5") as running:
        yield running


def free_port():
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as taken:
        return taken.getsockname()[1]


def counted(service):
    """Answers of the service, by path and status."""
    with service.http() as http:
        lines = http.get("/metrics").text.splitlines()
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if "requests_total{" in line}


def test_a_full_queue_costs_no_reward(service):
    """Six programs fit; 48 replies of 16 threads are told 413 and 429 on their way, and all get their due."""
    earned = {}
    with RewardGrader(url=service.address, token=service.token, retry_s=120) as grader:

        def ask(number):
            replies = [square(RIGHT if (number + i) % 3 else WRONG) for i in range(3)]
            earned[number] = [reward.value for reward in grader.grade_sync(replies)]

        threads = [threading.Thread(target=ask, args=(n,)) for n in range(16)]
        for it in threads:
            it.start()
        for it in threads:
            it.join()
    assert earned == {n: [float((n + i) % 3 > 0) for i in range(3)] for n in range(16)}
    assert any('status="4' in line for line in counted(service))


def test_single_calls_travel_together(service):
    """How many requests is no matter of time: the first goes alone, and the rest have gathered by then."""
    with served("--max-queue", "512") as roomy:

        async def many(grader):
            return await asyncio.gather(*(grader.grade([square()]) for _ in range(128)))

        with RewardGrader(url=roomy.address, token=roomy.token) as grader:
            assert {rewards[0].value for rewards in asyncio.run(many(grader))} == {1.0}
        (line,) = [value for key, value in counted(roomy).items() if "/v1/reward" in key]
    assert line <= 16


def test_a_service_that_restarts_is_asked_again():
    port = free_port()
    earned = []
    with RewardGrader(url=f"http://127.0.0.1:{port}", token=TOKEN, retry_s=60) as grader:

        def ask():
            earned.extend(reward.value for reward in grader.grade_sync([square(), square(WRONG)] * 8))

        asking = threading.Thread(target=ask)
        asking.start()  # nobody listens yet
        with served("--port", str(port)) as first:
            asking.join(60)
            slow = [square(SLOW)] * 4 + [square(WRONG)] * 4
            more = threading.Thread(target=lambda: earned.extend(it.value for it in grader.grade_sync(slow)))
            more.start()
            time.sleep(0.3)
            first.process.kill()
        with served("--port", str(port)):
            more.join(60)
    assert earned == [1.0, 0.0] * 8 + [1.0] * 4 + [0.0] * 4


def test_a_service_that_stays_away_earns_what_was_set():
    address = f"http://127.0.0.1:{free_port()}"
    with RewardGrader(url=address, retry_s=1) as grader:
        (reward,) = grader.grade_sync([square()])
    assert (reward.value, reward.passed, reward.reason) == (None, None, "grader_error")
    assert reward.detail.startswith("ConnectError")
    assert reward.numbers["grader_error"] == 1.0
    with RewardGrader(url=address, on_error=-2) as grader:
        assert grader.grade_sync([square()])[0].value == -2.0
    with RewardGrader(url=address, on_error="raise") as grader, pytest.raises(RewardError, match="ConnectError"):
        asyncio.run(grader.grade([square()]))


def test_a_service_that_never_answers_is_waited_for_no_longer_than_said():
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as silent:
        grader = RewardGrader(url=f"http://127.0.0.1:{silent.getsockname()[1]}", retry_s=0.3)
        (reward,) = grader.grade_sync([square()])
        grader.close()
    assert reward.value is None and "not answered in time" in reward.detail


def test_closing_ends_what_is_under_way(service):
    earned = []
    grader = RewardGrader(url=service.address, token=service.token)
    asking = threading.Thread(target=lambda: earned.extend(grader.grade_sync([square(ENDLESS)])), daemon=True)
    asking.start()
    time.sleep(0.3)
    grader.close()
    asking.join(60)
    assert [reward.value for reward in earned] == [None]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"token": "another-token"}, "401"),
        ({"profile": "strickt"}, "strickt"),
        ({"benchmark": "humaneval"}, "no benchmark 'humaneval' here"),
        ({"limits": {"cpu_s": 60.0}}, "at most 5"),
    ],
)
def test_what_the_service_does_not_have_is_an_error_at_once(service, settings, words):
    settings = {"url": service.address, "token": service.token, **settings}
    replies = [square(truth=None, problem_id="HumanEval/0")] if "benchmark" in settings else [square()]
    with RewardGrader(**settings) as grader, pytest.raises(UserError, match=words):
        grader.grade_sync(replies)
