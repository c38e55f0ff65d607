"""Many clients, hostile programs, dead workers, full queues, the end: nothing is lost and nothing is wrong."""

import json
import os
import random
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from truegrade.sandbox.worker import descendants

HOSTILE = {
    "endless": ("def double(x):\n    while True: pass", "time_limit"),
    "exit": ("import os\ndef double(x):\n    os._exit(0)", "runtime_error"),
    "fork bomb": ("import os\ndef double(x):\n    while True: os.fork()", None),
    "flood": ("def double(x):\n    while True: print('x' * 10**6)", "output_limit"),
    "memory": ("def double(x):\n    return [0] * 10**12", "memory_limit"),
    "suicide": ("import os\ndef double(x):\n    os.kill(os.getpid(), 9)", "killed"),
    "always equal": ("class E:\n    def __eq__(s, o): return True\ndef double(x):\n    return E()", None),
    "close all": ("import os\ndef double(x):\n    os.closerange(0, 64)\n    return 2 * x", None),
}
HONEST = {
    "right": ("def double(x):\n    return 2 * x", "passed"),
    "wrong": ("def double(x):\n    return 3 * x", "wrong_answer"),
    "broken": ("def double(x:\n", None),
}


def reply_of(code):
    return f"```python\n{code}\n```"


@pytest.mark.slow
def test_a_mixed_load_gets_the_verdicts_of_each_alone(service, doubling):
    """Every honest verdict is right whoever runs beside it; no hostile one passes; every request is answered."""
    doubling["task"]["cpu_s"] = 1.0
    kinds = {**HOSTILE, **HONEST}
    names = [*HOSTILE, *(name for name in HONEST for _ in range(30))]
    random.Random(5).shuffle(names)
    sizes = iter([1, 1, 3, 7] * len(names))
    batches = []
    while names:
        size = next(sizes)
        batches.append(names[:size])
        del names[:size]

    def ask(batch):
        completions = [{"text": reply_of(kinds[name][0])} for name in batch]
        with service.http() as client:
            reply = client.post("/v1/reward", json={"problem": doubling, "completions": completions})
        return batch, reply.status_code, reply.json()

    with ThreadPoolExecutor(12) as clients:
        answers = list(clients.map(ask, batches))
    assert len(answers) == len(batches)
    for batch, status, body in answers:
        assert status == 200
        assert len(body["rewards"]) == len(batch)
        for name, reward, reason in zip(batch, body["rewards"], body["reasons"], strict=True):
            assert reward == float(name == "right"), (name, reason)
            assert kinds[name][1] in (None, reason), (name, reason)


def children(pid):
    """The processes that a process started itself: of the service, one for each warm interpreter."""
    return [below for below in descendants(pid) if below != pid and parent(below) == pid]


def parent(pid):
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


@pytest.mark.slow
def test_killing_the_jail_s_workers_costs_no_verdict(service, http, doubling):
    """Warm interpreters are killed, with all that runs in them, while requests are under way."""
    slow = "def double(x):\n    s = sum(i * i for i in range(10**6))\n    return 2 * x + 0 * s"
    request = {"problem": doubling, "completions": [{"text": reply_of(slow)}] * 2}
    choose = random.Random(3)

    def kill():
        killed = 0
        for _ in range(5):
            time.sleep(0.25)
            below = children(service.process.pid)
            for pid in choose.sample(below, min(1, len(below))):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    killed += 1
        return killed

    def ask(_):
        with service.http() as client:
            return client.post("/v1/reward", json=request).json()

    with ThreadPoolExecutor(5) as threads:
        killer = threads.submit(kill)
        answers = list(threads.map(ask, range(16)))
        assert killer.result() >= 4
    assert [answer["rewards"] for answer in answers] == [[1.0, 1.0]] * 16, answers
    assert http.post("/run_code", json={"code": "print(1)", "language": "python"}).json()["status"] == "Success"


@pytest.mark.slow
def test_a_full_queue_says_when_to_come_back(serve, doubling):
    sleeper = {"program": "import time; time.sleep(1.5)", "cpu_s": 1, "wall_s": 5}
    with serve("--max-queue", "4", "--workers", "4") as service, ThreadPoolExecutor(8) as clients:

        def ask(_):
            with service.http() as client:
                return client.post("/v1/execute", json=sleeper)

        replies = list(clients.map(ask, range(8)))
        statuses = sorted(reply.status_code for reply in replies)
        assert statuses == [200] * 4 + [429] * 4
        for reply in replies:
            if reply.status_code == 429:
                assert 1 <= int(reply.headers["retry-after"]) <= 60
                assert reply.json()["status"] == 429
        with service.http() as client:
            many = {"problem": doubling, "completions": [{"text": ""}] * 5}
            assert client.post("/v1/grade", json=many).status_code == 413
            assert client.post("/v1/grade", json={**many, "completions": [{"text": ""}] * 4}).status_code == 200


IMPATIENT = (
    "from truegrade.web.service import execution; execution.MARGIN_S = 0.3;"
    "import runpy; runpy.run_module('truegrade', run_name='__main__', alter_sys=True)"
)


@pytest.mark.slow
def test_clients_of_sandboxfusion_are_held_where_the_queue_is_full_and_told_504_at_last(serve):
    """verl's client repeats a request after 504 and takes any other error for a failed case."""
    quick = {"code": "print(1)", "language": "python"}
    slow = {"code": "import time; time.sleep(2)", "language": "python", "run_timeout": 5}
    hopeless = {**quick, "compile_timeout": 0.01, "run_timeout": 0.01}
    impatient = ("-c", IMPATIENT)
    with (
        serve("--max-queue", "1", "--workers", "1", through=impatient) as service,
        ThreadPoolExecutor(16) as clients,
    ):

        def ask(request):
            with service.http() as client:
                return client.post("/run_code", json=request)

        blocking = clients.submit(ask, slow)
        service.wait_until_busy(1)
        with service.http() as client:
            assert client.post("/v1/execute", json={"program": "print(1)"}).status_code == 429
        held = [clients.submit(ask, quick) for _ in range(12)]
        late = ask(hopeless)
        assert (late.status_code, "ask again" in late.json()["detail"]) == (504, True)
        assert blocking.result().json()["status"] == "Success"
        assert [reply.result().json()["run_result"]["stdout"] for reply in held] == ["1\n"] * 12


@pytest.mark.slow
def test_work_nobody_waits_for_is_given_up(serve):
    import httpx2

    busy = {"program": "import time; time.sleep(1.5)", "cpu_s": 1, "wall_s": 3}
    with serve("--max-queue", "50") as service, ThreadPoolExecutor(20) as clients:

        def leave(_):
            with service.http() as client, pytest.raises(httpx2.TimeoutException):
                client.post("/v1/execute", json=busy, timeout=0.5)

        list(clients.map(leave, range(20)))
        with service.http() as client:  # fifteen seconds, if all of them ran
            assert client.post("/v1/execute", json={"program": "1"}, timeout=12).json()["status"] == "passed"


def test_the_bodies_of_all_requests_under_way_are_bounded_together(serve):
    """The one that finds no room comes back; the room is free again once the others are answered."""
    padded = {"program": "import time; time.sleep(1.5)", "wall_s": 6, "stdin": "x" * (600 << 10)}
    small = {"program": "1", "wall_s": 5}
    with serve("--max-body", "2", "--max-bodies", "1") as service, ThreadPoolExecutor(3) as clients:

        def ask(body):
            with service.http() as client:
                return client.post("/v1/execute", json=body, timeout=30)

        replies = list(clients.map(ask, [padded] * 3))
        assert sorted(reply.status_code for reply in replies) == [200, 503, 503]
        for reply in replies:
            if reply.status_code == 503:
                assert int(reply.headers["retry-after"]) >= 1 and "1048576 bytes" in reply.json()["detail"]
        assert ask(small).status_code == 200
        alone = ask({**small, "stdin": "x" * (1500 << 10)})
        assert alone.status_code == 200, "a request that is alone has room up to --max-body"


@pytest.mark.slow
def test_sigterm_lets_what_runs_finish_and_refuses_the_rest(serve):
    working = {"program": "import time; time.sleep(1.2); print('done')", "wall_s": 4}
    with serve() as service, ThreadPoolExecutor(4) as clients:
        client = service.http()
        assert client.get("/readyz").status_code == 200
        under_way = [clients.submit(client.post, "/v1/execute", json=working) for _ in range(3)]
        service.wait_until_busy(2, waiting=1)
        service.process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        late = client.post("/v1/execute", json=working)
        assert (late.status_code, late.json()["status"]) == (503, 503)
        assert "retry-after" in late.headers
        assert client.get("/readyz").status_code == 503
        assert client.get("/healthz").json()["status"] == "stopping"
        assert [f.result().json()["stdout"] for f in under_way] == ["done\n"] * 3
        client.close()
        assert service.process.wait(10) == 0


def test_what_does_not_finish_in_time_is_told_so(serve):
    working = {"program": "import time; time.sleep(30)", "cpu_s": 20}
    with serve("--drain", "0.5") as service, ThreadPoolExecutor(4) as clients, service.http() as client:
        under_way = [clients.submit(client.post, "/v1/execute", json=working) for _ in range(4)]
        service.wait_until_busy(2, waiting=2)
        service.process.send_signal(signal.SIGTERM)
        assert [f.result().status_code for f in under_way] == [503] * 4
        client.close()
        assert service.process.wait(10) == 0  # their programs sleep for half a minute


def test_the_metrics_count_what_was_asked(serve, doubling):
    with serve(token=None) as service, service.http() as client:
        task = {"problem": doubling, "completions": [{"text": reply_of(HONEST["right"][0])}, {"text": "nothing"}]}
        client.post("/v1/grade", json=task)
        client.post("/v1/grade", json={})
        client.get("/" + "x" * 50)
        reply = client.get("/metrics")
        assert reply.headers["content-type"].startswith("text/plain")
        samples = {
            (sample.name, *sorted(sample.labels.values())): sample.value
            for family in text_string_to_metric_families(reply.text)
            for sample in family.samples
        }
    assert samples["truegrade_requests_total", "/v1/grade", "200"] == 1
    assert samples["truegrade_requests_total", "/v1/grade", "422"] == 1
    assert samples["truegrade_requests_total", "404", "unknown"] == 1
    assert samples["truegrade_verdicts_total", "grade", "passed"] == 1
    assert samples["truegrade_verdicts_total", "grade", "no_code"] == 1
    assert samples["truegrade_request_seconds_count", "/v1/grade"] == 2
    assert (samples["truegrade_workers",], samples["truegrade_workers_busy",]) == (2, 0)
    assert (samples["truegrade_queue_length",], samples["truegrade_queue_capacity",]) == (0, 4096)
    assert samples["truegrade_jail_level",] in (1, 2, 3)


def test_nothing_of_the_service_is_left(serve):
    with serve() as service, service.http() as client:
        client.post("/run_code", json={"code": "1", "language": "python"})
        below = descendants(service.process.pid)
        assert len(below) > 1
        client.close()
        assert service.stop() == 0
        time.sleep(0.3)
        assert not [pid for pid in below if os.path.exists(f"/proc/{pid}")]
        assert json.dumps(service.process.stderr.read()) == '"stopped\\n"'
