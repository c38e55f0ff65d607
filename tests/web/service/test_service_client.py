"""The Python client against the real service, and against a busy one."""

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from truegrade.errors import UserError
from truegrade.records import FunctionTask, Reason
from truegrade.web.client import Client, ServiceError
from truegrade.web.messages import InlineProblem, Submission

RIGHT = Submission(text="```python\ndef double(x):\n    return 2 * x\n```")
PROBLEM = InlineProblem(
    task=FunctionTask(prompt="", entry_point="double", tests="assert double(2) == 4", reference="")
)


@pytest.fixture
def client(service):
    with Client(service.address, service.token, attempts=2) as client:
        yield client


def test_it_grades_rewards_and_executes(client):
    wrong = Submission(text="```python\ndef double(x):\n    return x\n```", sample=1)
    verdicts = client.grade([RIGHT, wrong], problem=PROBLEM)
    assert [(v.sample, v.passed, v.reason) for v in verdicts] == [
        (0, True, Reason.PASSED), (1, False, Reason.WRONG_ANSWER)
    ]  # fmt: skip
    assert client.reward([RIGHT, wrong], problem=PROBLEM) == [1.0, 0.0]
    assert client.execute("print(input())", "x", cpu_s=2.0).stdout == "x\n"
    assert [benchmark.name for benchmark in client.benchmarks().benchmarks] == ["humaneval"]


def test_a_refusal_names_the_field(client, service):
    with pytest.raises(UserError, match=r"no benchmark 'mbpp'.*field 'benchmark'"):
        client.grade([RIGHT], benchmark="mbpp")
    with Client(service.address, "wrong") as stranger, pytest.raises(UserError, match="401"):
        stranger.benchmarks()


def test_a_client_loads_no_server():
    code = "import sys, truegrade.web.client; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"starlette", "uvicorn", "prometheus_client"} & set(loaded)


def test_nobody_there():
    with Client("http://127.0.0.1:9", attempts=1) as client, pytest.raises(ServiceError, match="ConnectError"):
        client.benchmarks()


def test_a_busy_service_is_asked_again(serve):
    with serve("--max-queue", "2") as service, ThreadPoolExecutor(4) as threads:

        def ask(number):
            with Client(service.address, service.token) as client:
                return client.execute(f"print({number}); import time; time.sleep(0.2)").stdout

        assert list(threads.map(ask, range(4))) == [f"{number}\n" for number in range(4)]


def test_it_waits_as_long_as_it_is_told():
    asked = []

    class Busy(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(time.monotonic())
            first = len(asked) == 1
            body = b'{"title": "", "status": 503, "detail": "later"}' if first else b'{"benchmarks": []}'
            self.send_response(503 if first else 200)
            self.send_header("Retry-After", "1")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Busy) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        with Client(f"http://127.0.0.1:{server.server_port}") as client:
            assert client.benchmarks().benchmarks == []
        server.shutdown()
        thread.join()
    assert 0.9 < asked[1] - asked[0] < 5
