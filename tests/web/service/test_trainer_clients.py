"""Clients of trainers, which make a reward of every answer: none of them pays 0 because of our own load."""

import asyncio
import base64
import contextlib
import json
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from truegrade.sandbox.worker import descendants
from truegrade.web.service.grading_application import OPEN_FILES
from truegrade.web.service.trainer_protocols import OVERRUNS, ProgramTests, hold_s
from truegrade.web.service.workload import TURN, JobOrigin, Workload

ADD = "import os\nfrom threading import Thread\ndef add(a, b):\n    return a + b"
ASSERTS = ["assert add(1, 2) == 3", "assert add(0, 0) == 0", "x = add(2, 2)\nassert x == 4"]
ECHO = "print(input())"
PRINTS = [{"input": "7\n", "output": "7\n"}, {"input": "a b", "output": "a b\n"}]
EQUAL = "class E:\n    __eq__ = lambda *a: True\n    __ne__ = lambda *a: False\n    __bool__ = lambda *a: True\n"
SLEEPER = {"program": "import time; time.sleep(30)", "cpu_s": 1, "wall_s": 40}
RUN = {"code": "print(1)", "language": "python", "stdin": ""}


def packed(value):
    return base64.b64encode(zlib.compress(pickle.dumps(value))).decode()


def asked(http, program, tests, path="/test_program", **more):
    reply = http.post(path, json={"program": program, "tests": tests, **more})
    return reply.json()["results"] if reply.status_code == 200 else (reply.status_code, reply.json()["field"])


class Runs:
    def __reduce__(self):
        return os.mkdir, ("unpickled",)


@pytest.mark.parametrize(
    ("program", "tests", "results"),
    [
        (ADD, ASSERTS, [1, 1, 1]),
        (ADD, json.dumps(ASSERTS), [1, 1, 1]),
        (ADD, packed(ASSERTS), [1, 1, 1]),
        ("def add(a, b):\n    return 3", ASSERTS, [1, 0, 0]),
        ("def add(a, b:", ASSERTS, [0, 0, 0]),
        (
            "class Box:\n    def __init__(self): self.held = [1]",
            ["assert Box().held == [1]", "assert Box().x"],
            [1, 0],
        ),
        ("def f(x): return g(x)\ndef g(x): return x + 1", ["assert f(1) == g(1) == 2"], [1]),
        # What the tests cannot be told from inside the program's process.
        ("import os\nos._exit(0)", ASSERTS, [0, 0, 0]),
        ("raise SystemExit(0)", ASSERTS, [0, 0, 0]),
        (EQUAL + "def add(a, b):\n    return E()", ASSERTS, [0, 0, 0]),
        ("import builtins\nbuiltins.AssertionError = Exception\ndef add(a, b):\n    return 9", ASSERTS, [0, 0, 0]),
        ("import sys\nsys.excepthook = print\nsys.settrace(None)\ndef add(*a): sys.exit()", ASSERTS, [0, 0, 0]),
        # No test is no pass, and one that everything passes is none.
        (ADD, [], (422, "tests")),
        (ADD, "", (422, "tests")),
        (ADD, "no tests", (422, "tests")),
        (ADD, {"a": 1}, (422, "tests")),
        (ADD, packed([Runs()]), (422, "tests")),
        (ADD, [*ASSERTS, "assert True"], (422, "tests[3]")),
        (ADD, [*ASSERTS, "assert add("], (422, "tests[3]")),
        (ADD, [*ASSERTS, {"input": ""}], (422, "tests[3]")),
    ],
)
def test_asserts_are_judged_one_by_one_outside_the_program(http, program, tests, results):
    assert asked(http, program, tests) == results
    assert not os.path.exists("unpickled")


@pytest.mark.parametrize(
    ("program", "tests", "results"),
    [
        (ECHO, PRINTS, [1, 1]),
        (ECHO, packed(PRINTS), [1, 1]),
        ("import os, threading\n" + ECHO, PRINTS, [1, 1]),
        ("print(7)", PRINTS, [1, 0]),
        ("print(input(), 1)", PRINTS, [0, 0]),
        ("import os\nos._exit(0)", PRINTS, [0, 0]),
        (ECHO, [], (422, "tests")),
        (ECHO, [{"input": "1"}], (422, "tests")),
        (ECHO, [{"input": 1, "output": "1"}], (422, "tests")),
    ],
)
def test_printed_output_is_compared_outside_the_program(http, program, tests, results):
    assert asked(http, program, tests, "/test_program_stdio") == results


def test_run_times_are_told_and_endless_programs_do_not_hold_up_others(http):
    body = {"program": ADD, "tests": ASSERTS, "unknown": 1}
    reply = http.post("/test_program", json=body)
    assert all(0 <= seconds < 1 for seconds in reply.json()["runtimes"])
    assert reply.headers["connection"] == "close"
    endless = "def add(a, b):\n    while (a, b) != (0, 0): pass\n    return 0"
    tests = ["assert add(0, 0) == 0", *["assert add(1, 2) == 3"] * OVERRUNS, "assert add(0, 0) == 0"]
    reply = http.post("/test_program", json={"program": endless, "tests": tests, "max_execution_time": 0.1}).json()
    assert reply["results"] == [1] + [0] * (OVERRUNS + 1)
    assert reply["runtimes"][1:] == [-1.0] * (OVERRUNS + 1)
    assert asked(http, ADD, ASSERTS, max_execution_time=6) == (422, "max_execution_time")


def rewarded(http, reply, label, prompt="<|im_start|>user\nAdd.<|im_end|>\n<|im_start|>assistant\n", before=""):
    body = {"query": [before + prompt + reply], "prompts": [prompt], "labels": [label]}
    answer = http.post("/openrlhf", json=body)
    return answer.json()["rewards"] if answer.status_code == 200 else (answer.status_code, answer.json()["field"])


@pytest.mark.parametrize(
    ("reply", "label", "reward"),
    [
        (f"```python\n{ADD}\n```<|im_end|>", ASSERTS, 1.0),
        (f"{ADD}\n<|im_end|>\n", ASSERTS, 1.0),
        (f"{ADD}</s>", json.dumps(ASSERTS), 1.0),
        (f"<think>\nno\n</think>\n{ADD}<|endoftext|>", ASSERTS, 1.0),
        (f"```python\n{ECHO}\n```<|eot_id|>", {"inputs": ["1\n"], "outputs": ["1\n"]}, 1.0),
        (f"```python\n{ECHO}\n```<end_of_turn>\n", {"inputs": ["1\n"], "outputs": ["2\n"]}, 0.0),
        ("I cannot.<|im_end|>", ASSERTS, 0.0),
        ("```python\nimport os\nos._exit(0)\n```", ASSERTS, 0.0),
        (EQUAL + "def add(a, b):\n    return E()", ASSERTS, 0.0),
        (ADD, [], (422, "labels[0]")),
        (ADD, None, (422, "labels[0]")),
        (ADD, "no test", (422, "labels[0]")),
    ],
)
def test_replies_are_taken_out_of_openrlhf_s_queries(http, reply, label, reward):
    assert rewarded(http, reply, label) == reward


def test_a_query_without_its_prompt_has_no_reward(http):
    assert rewarded(http, ADD, ASSERTS, before="<|begin_of_text|>") == 1.0
    assert rewarded(http, ADD, ASSERTS, prompt="") == 1.0
    assert rewarded(http, ADD, ASSERTS, before="something") == (422, "query[0]")
    several = {"query": [ADD, "none"], "prompts": ["", ""], "labels": [ASSERTS, ASSERTS]}
    answer = http.post("/openrlhf", json=several).json()
    assert answer == {"rewards": [1.0, 0.0], "scores": [1.0, 0.0], "extra_logs": {"tampering": [0.0, 0.0]}}
    assert http.post("/openrlhf", json={**several, "labels": []}).json()["field"] == "query"
    nothing = {"query": [], "prompts": [], "labels": []}  # what all servers but one are sent
    assert http.post("/openrlhf", json=nothing).json()["rewards"] == []


@pytest.mark.parametrize(("limit", "held"), [(0.5, 30.0), (1.0, 30.0), (6.0, 60.0), (60.0, 300.0)])
def test_a_request_is_held_as_long_as_its_client_waits(limit, held):
    assert hold_s(ProgramTests(program="", tests=[], max_execution_time=limit)) == held


def test_who_asks_once_begins_before_who_comes_back():
    async def main():
        workload, gate, began, waits = Workload(1, 1), threading.Event(), [], []
        workload.waited = lambda route, seconds: waits.append((route, seconds >= 0))

        def job(name):
            return lambda: (gate.wait(10), began.append(name))

        first = asyncio.create_task(workload.run([job("first")], JobOrigin("/v1/grade")))
        await asyncio.sleep(0.05)
        rest = [
            asyncio.create_task(workload.run_within([job(name)], 10.0, JobOrigin(name, client)))
            for name, client in [
                ("own", "own"),
                ("verl", "verl"),
                ("oi", "oi"),
                ("verl 2", "verl"),
                ("oi 2", "oi"),
            ]
        ]
        await asyncio.sleep(0.05)
        assert workload.waiting == 5
        gate.set()
        await asyncio.gather(first, *rest)
        assert began == ["first", "oi", "oi 2", "verl", "verl 2", "own"]
        assert waits[:2] == [("/v1/grade", True), ("oi", True)]
        assert workload.unfinished == 0
        workload.close()

    asyncio.run(main())


def test_no_job_waits_for_ever_behind_more_urgent_ones():
    async def main():
        workload, gate, began = Workload(1, 1), threading.Event(), []

        def job(name):
            return lambda: (gate.wait(10), began.append(name))

        first = asyncio.create_task(workload.run_within([job("first")], 10.0, JobOrigin("", "own")))
        while not workload.running:
            await asyncio.sleep(0.01)
        rest = [
            asyncio.create_task(workload.run_within([job(client)], 10.0, JobOrigin("", client)))
            for client in ("own", *["oi"] * (2 * TURN))
        ]
        await asyncio.sleep(0.05)
        gate.set()
        await asyncio.gather(first, *rest)
        assert began.index("own") == TURN - 1
        workload.close()

    asyncio.run(main())


def held_answers(service):
    """What each of the held routes answers a right program."""
    with service.http() as http:
        assert http.post("/run_code", json=RUN).json()["run_result"]["stdout"] == "1\n"
        assert asked(http, ADD, ASSERTS[:1]) == [1]
        assert asked(http, ECHO, PRINTS[:1], "/test_program_stdio") == [1]
        assert rewarded(http, ADD, ASSERTS[:1]) == 1.0


def test_the_bound_on_requests_is_not_for_clients_that_never_come_back(serve):
    options = ("--max-connections", "2", "--workers", "3", "--drain", "0.1")
    with serve(*options) as service, ThreadPoolExecutor(2) as threads, service.http() as http:
        own = [threads.submit(http.post, "/v1/execute", json=SLEEPER) for _ in range(2)]
        files = Path(f"/proc/{service.process.pid}/limits").read_text().partition("Max open files")[2].split()
        assert int(files[0]) == min(int(files[1]), OPEN_FILES)
        service.wait_until_busy(2)
        refused = http.post("/v1/execute", json={"program": "1"})
        assert (refused.status_code, "retry-after" in refused.headers) == (503, True)
        assert "come back" in refused.json()["detail"]
        assert [http.get(path).status_code for path in ("/healthz", "/readyz", "/metrics")] == [200] * 3
        held_answers(service)
        assert not any(reply.done() for reply in own)
        assert service.stop() == 0
        assert [reply.result().status_code for reply in own] == [503] * 2


def test_a_service_that_drains_serves_them_still_and_says_504_at_last(serve):
    late = {**RUN, "code": SLEEPER["program"], "run_timeout": 40}
    working = {"program": "import time; time.sleep(1.5)"}
    with serve("--drain", "4") as service, ThreadPoolExecutor(4) as threads, service.http() as http:
        own = threads.submit(http.post, "/v1/execute", json=working)
        service.wait_until_busy(1)
        service.process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        assert http.post("/v1/execute", json={"program": "1"}).status_code == 503
        held_answers(service)
        endless = {"program": late["code"], "tests": PRINTS, "max_execution_time": 30}
        never = [
            threads.submit(http.post, path, json=body)
            for path, body in (("/run_code", late), ("/test_program_stdio", endless))
        ]
        assert own.result().status_code == 200
        for reply in never:
            assert (reply.result().status_code, "ask again" in reply.result().json()["detail"]) == (504, True)
        http.close()
        assert service.process.wait(15) == 0


@contextlib.contextmanager
def full_queue(service):
    """Own clients that send batches as fast as they can, so that most are told 429."""
    told, done = [], threading.Event()
    spin = "import time\nend = time.process_time() + 0.05\nwhile time.process_time() < end: pass"

    def flood():
        with service.http() as http:
            while not done.is_set():
                told.append(http.post("/v1/execute", json={"program": spin}).status_code)

    threads = [threading.Thread(target=flood) for _ in range(8)]
    for thread in threads:
        thread.start()
    try:
        yield told
    finally:
        done.set()
        for thread in threads:
            thread.join()


@pytest.mark.slow
@pytest.mark.thorough
def test_a_right_program_is_paid_whole_however_full_the_queue_is(serve):
    with serve("--max-queue", "3") as service, full_queue(service) as told, ThreadPoolExecutor(12) as threads:
        for answer in [threads.submit(held_answers, service) for _ in range(24)]:
            answer.result()
        with service.http() as http:
            samples = {
                (sample.name, *sorted(sample.labels.values())): sample.value
                for family in text_string_to_metric_families(http.get("/metrics").text)
                for sample in family.samples
            }
    assert told.count(429) > 10
    assert samples["truegrade_client_status_total", "200", "verl"] == 24
    assert samples["truegrade_client_status_total", "200", "oi"] == 48
    assert samples["truegrade_client_status_total", "429", "own"] > 10
    assert samples["truegrade_wait_seconds_count", "/run_code"] == 24
    assert samples["truegrade_wait_seconds_count", "/test_program"] == 24


@pytest.mark.slow
def test_killed_workers_cost_no_reward(serve):
    busy = "def add(a, b):\n    return a + b + 0 * sum(i * i for i in range(10**6))"
    script = {**RUN, "code": "print(sum(i * i for i in range(10**6)) * 0)"}
    choose, done, killed, answers = random.Random(3), threading.Event(), [], []
    with serve() as service, ThreadPoolExecutor(5) as threads:

        def kill():
            while len(killed) < 6 and not done.wait(0.5):  # three in a row would be the machine's failure for good
                below = [pid for pid in descendants(service.process.pid) if pid != service.process.pid]
                with suppress(ProcessLookupError, IndexError):
                    os.kill(victim := choose.choice(below), signal.SIGKILL)
                    killed.append(victim)

        def ask(number):
            with service.http() as http:
                if number % 2:
                    return asked(http, busy, ASSERTS[:2], max_execution_time=5)
                return http.post("/run_code", json=script).json()["run_result"]["stdout"]

        killer = threads.submit(kill)
        # A fast machine has answered twelve before a second one is killed.
        while not answers or (len(killed) < 2 and len(answers) < 480):
            answers += threads.map(ask, range(12))
        done.set()
        killer.result()
    assert len(killed) >= 2
    assert answers == ["0\n", [1, 1]] * (len(answers) // 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("client", "package"), [("verl", "requests"), ("oi", "requests"), ("openrlhf", "aiohttp")]
)
def test_trainers_own_clients_pay_every_right_program_while_the_queue_is_full(serve, client, package):
    """One thousand programs with TRUEGRADE_PARITY_ROWS=all."""
    pytest.importorskip(package, reason=f"{package} is not installed, by which the trainer asks")
    if not (peers := os.environ.get("TRUEGRADE_PEERS")):
        pytest.skip("peers not present: set TRUEGRADE_PEERS")
    rows = 1000 if os.environ.get("TRUEGRADE_PARITY_ROWS") == "all" else 40
    script = Path(__file__).with_name("drive_trainer_clients.py")
    with serve("--max-queue", "3", token=None) as service, full_queue(service) as told:
        command = [sys.executable, "-W", "ignore", str(script), peers, client, service.address, str(rows)]
        asking = subprocess.run(command, capture_output=True, text=True)
    assert asking.returncode == 0, asking.stderr[-3000:]
    rewards = json.loads(asking.stdout.splitlines()[-1])
    assert (len(rewards), rewards.count(1.0)) == (rows, rows), [reward for reward in rewards if reward != 1.0][:5]
    assert told.count(429) > rows / 10
