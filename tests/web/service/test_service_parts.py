"""The parts that HTTP shows only indirectly."""

import asyncio
import threading
import time

import pytest

from truegrade.errors import SandboxError, UserError
from truegrade.sandbox import Limits
from truegrade.web.messages import Refusal, is_loopback
from truegrade.web.service.grading_service import ServiceSettings
from truegrade.web.service.jobs import Executors
from truegrade.web.service.workload import ATTEMPTS, Workload, doubtful, steadily


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("127.8.8.8", True), ("0.0.0.0", False),
     ("::", False), ("192.168.1.5", False), ("example.org", False), ("localhost.example.org", False)],
)  # fmt: skip
def test_only_loopback_needs_no_token(host, loopback):
    assert is_loopback(host) is loopback
    settings = ServiceSettings(host=host)
    if loopback:
        settings.check()
    else:
        with pytest.raises(UserError, match="`token`"):
            settings.check()
    ServiceSettings(host=host, token="long enough".replace(" ", "-")).check()


def test_sandboxes_are_kept_by_limits_and_closed_when_they_are_too_many():
    executors = Executors(1, kept=2)
    limits = [Limits(cpu_s=float(seconds)) for seconds in (1, 2, 3)]
    with executors.lend(limits[0]) as first, executors.lend(limits[1]), executors.lend(limits[2]) as surplus:
        pass
    with executors.lend(limits[2]) as third, executors.lend(limits[0]) as again:
        assert again is first
        assert third is not surplus
    with executors.lend(limits[0]) as kept, executors.lend(limits[0]) as same:
        assert kept is same
    assert len(executors._open) <= 2
    executors.close()
    with pytest.raises(SandboxError), executors.lend(limits[0]):
        pass
    with pytest.raises(SandboxError, match="closed"):
        kept.script("1")


def test_the_queue_is_bounded_and_ordered():
    async def main():
        workload, gate, began = Workload(1, 5), threading.Event(), []

        def job(number):
            def run():
                began.append(number)
                gate.wait(10)
                return number

            return run

        first = asyncio.create_task(workload.run([job(0), job(1)]))
        second = asyncio.create_task(workload.run([job(2), job(3), job(4)]))
        await asyncio.sleep(0.05)
        assert (workload.unfinished, workload.running, workload.waiting) == (5, 1, 4)
        with pytest.raises(Refusal) as full:
            await workload.run([job(9)])
        assert (full.value.status, full.value.headers) == (429, {"Retry-After": "1"})
        with pytest.raises(Refusal) as never:
            await workload.run([job(9)] * 6)
        assert never.value.status == 413
        second.cancel()
        await asyncio.sleep(0.05)
        assert workload.unfinished == 2
        gate.set()
        assert await first == [0, 1]
        assert began == [0, 1]
        assert workload.unfinished == workload.running == 0
        assert await workload.run([]) == []
        workload.close()
        with pytest.raises(Refusal) as closed:
            await workload.run([job(0)])
        assert closed.value.status == 503

    asyncio.run(main())


def test_a_job_s_exception_comes_after_all_have_ended():
    async def main():
        workload, ended = Workload(2, 10), []

        def fail():
            raise ValueError("a job")

        def slow():
            time.sleep(0.1)
            ended.append(1)

        with pytest.raises(ValueError, match="a job"):
            await workload.run([fail, slow])
        assert ended == [1]
        assert workload.unfinished == 0

    asyncio.run(main())


@pytest.mark.parametrize(
    ("ends", "result", "runs"),
    [
        (["passed"], "passed", 1),
        (["killed", "passed"], "passed", 2),
        (["killed"] * ATTEMPTS, "killed", ATTEMPTS),
        ([SandboxError("x"), "wrong_answer"], "wrong_answer", 2),
        ([SandboxError("x"), "killed", "passed"], "passed", 3),
        ([SandboxError("x")] * ATTEMPTS, SandboxError, ATTEMPTS),
    ],
)
def test_doubtful_ends_are_confirmed(ends, result, runs):
    made = []

    def run():
        made.append(ends[len(made)])
        if isinstance(made[-1], Exception):
            raise made[-1]
        return made[-1]

    def whole():
        return steadily(run, lambda end: doubtful(end, ""), lambda: False)

    if result is SandboxError:
        with pytest.raises(SandboxError):
            whole()
    else:
        assert whole() == result
    assert len(made) == runs


def test_a_closing_service_tries_nothing_again():
    def run():
        made.append(1)
        raise SandboxError("closed")

    made = []
    with pytest.raises(SandboxError):
        steadily(run, lambda _: False, lambda: True)
    assert made == [1]
