"""What is refused, how it is said, and that the service is the same afterwards."""

import http.client
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from support.thorough import one_in
from truegrade.cli import main
from truegrade.web.port import HttpServer

JSON = {"Content-Type": "application/json"}
GRADE = {"completions": [{"text": "x", "problem_id": "HumanEval/0"}], "benchmark": "humaneval"}
RUN = {"code": "1", "language": "python"}
SUBMIT = {"dataset": "humaneval", "id": 0, "completion": "", "config": {}}
EXECUTE = {"program": "1"}
TASK = {"type": "function", "prompt": "", "entry_point": "f", "tests": "", "reference": ""}
SPAN = {"path": "/etc/passwd", "offset": 0, "length": 9, "sha256": ""}
DEEP = b'{"completions": [], "problem": {"task": {"type": "oracle", "base_inputs": [[' + b"[" * 100_000
CONTEST = {"type": "contest", "title": "", "question": "", "public_tests": "[]", "private_tests": SPAN}
PACKED = {**CONTEST, "private_tests": "eJzzSM3JyVcIzy/KSQEAGAsEHQ=="}


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/v1/grade", {**GRADE, "benchmark": "mbpp"}, "benchmark"),
        ("/v1/grade", {"completions": [{"text": "x"}]}, "benchmark"),
        ("/v1/grade", {**GRADE, "profiles": ["strict", "stict"]}, "profiles[1]"),
        ("/v1/grade", {**GRADE, "profiles": ["strict@0"]}, "profiles[0]"),
        ("/v1/grade", {**GRADE, "profiles": ["strict+99999s"]}, "profiles[0]"),
        ("/v1/grade", {**GRADE, "profiles": []}, "profiles"),
        ("/v1/grade", {**GRADE, "profiles": ["cruxeval"]}, "profiles[0]"),
        ("/v1/grade", {**GRADE, "completions": [{"text": "x"}]}, "completions[0].problem_id"),
        ("/v1/grade", {**GRADE, "completions": [{"text": "x", "problem_id": "9"}]}, "completions[0].problem_id"),
        ("/v1/grade", {**GRADE, "completions": [{"text": 1}]}, "completions[0].text"),
        ("/v1/grade", {**GRADE, "completions": [{"text": "", "sample": -1}]}, "completions[0].sample"),
        ("/v1/grade", {**GRADE, "extra": 1}, "extra"),
        ("/v1/grade", {}, "completions"),
        ("/v1/grade", [], "body"),
        ("/v1/grade", {"completions": [], "problem": {"task": CONTEST}}, "problem.task.private_tests"),
        ("/v1/grade", {"completions": [], "problem": {"task": PACKED}}, "problem.task.private_tests"),
        ("/v1/grade", {"completions": [], "problem": {"task": {**TASK, "cpu_s": 99}}}, "problem.task.cpu_s"),
        ("/v1/grade", {"completions": [], "problem": {"task": {"type": "other"}}}, "problem.task.type"),
        ("/v1/reward", {**GRADE, "profile": "nobody"}, "profile"),
        ("/v1/execute", {**EXECUTE, "cpu_s": 6}, "cpu_s"),
        ("/v1/execute", {**EXECUTE, "cpu_s": 0}, "cpu_s"),
        ("/v1/execute", {**EXECUTE, "wall_s": 1e9}, "wall_s"),
        ("/v1/execute", {**EXECUTE, "memory_bytes": 2**50}, "memory_bytes"),
        ("/run_code", {**RUN, "language": "cpp"}, "language"),
        ("/run_code", {"code": ""}, "language"),
        ("/run_code", {**RUN, "files": {"a": "YQ=="}}, "files"),
        ("/run_code", {**RUN, "fetch_files": ["a"]}, "fetch_files"),
        ("/run_code", {**RUN, "run_timeout": 50}, "run_timeout"),
        ("/run_code", {**RUN, "memory_limit_MB": 9}, "memory_limit_MB"),
        ("/submit", {**SUBMIT, "dataset": "mbpp"}, "dataset"),
        ("/submit", {**SUBMIT, "id": 999}, "id"),
        ("/submit", {**SUBMIT, "config": {"custom_extract_logic": "1"}}, "config.custom_extract_logic"),
        ("/submit", {**SUBMIT, "config": {"language": "go"}}, "config.language"),
        ("/submit", {**SUBMIT, "config": {"extra": {"profile": "x"}}}, "config.extra.profile"),
    ],
)  # fmt: skip
def test_a_field_at_fault_is_named(http, path, body, field):
    reply = http.post(path, json=body)
    assert reply.status_code == 422, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    problem = reply.json()
    assert (problem["status"], problem["field"]) == (422, field)
    assert len(problem["detail"]) > 10


@pytest.mark.parametrize("memory", [1, 64, 255])
def test_sandboxfusions_clients_are_told_in_their_own_words_what_is_too_little(http, memory):
    said = http.post("/run_code", json={**RUN, "memory_limit_MB": memory}).json()
    assert said["field"] == "memory_limit_MB" and "memory_bytes" not in said["detail"]
    assert f"{memory} MB" in said["detail"] and "256" in said["detail"]
    assert http.post("/run_code", json={**RUN, "memory_limit_MB": 256}).json()["status"] == "Success"
    much = http.post("/run_code", json={**RUN, "memory_limit_MB": 2**40}).json()
    assert much["field"] == "memory_limit_MB" and f"{2**40:g} MB" in much["detail"]


@pytest.mark.parametrize(
    ("method", "path", "content", "headers", "status"),
    [
        ("POST", "/v1/grade", b"{", JSON, 400),
        ("POST", "/v1/grade", b"", JSON, 400),
        ("POST", "/v1/grade", b"\xff\xfe", JSON, 400),
        ("POST", "/v1/grade", b'{"completions": [], "profiles": ["\\ud800"]}', JSON, 422),
        ("POST", "/v1/grade", DEEP, JSON, 400),
        ("POST", "/v1/execute", b'{"program": ' + b"9" * 10_000 + b"}", JSON, 422),
        ("POST", "/v1/grade", b"{}", {"Content-Type": "text/plain"}, 415),
        ("POST", "/v1/grade", b"{}", {}, 415),
        ("POST", "/v1/grade", b" " * (2**20 + 1), JSON, 413),
        ("GET", "/v1/grade", b"", {}, 405),
        ("POST", "/healthz", b"", {}, 405),
        ("DELETE", "/run_code", b"", {}, 405),
        ("GET", "/", b"", {}, 404),
        ("GET", "/v1/%00", b"", {}, 404),
    ],
)
def test_requests_that_are_none(http, method, path, content, headers, status):
    reply = http.request(method, path, content=content, headers=headers)
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.json()["status"] == status
    if status == 405:
        assert reply.headers["allow"] in ("GET", "POST")


def test_chunks_beyond_the_limit_are_refused_while_they_come(http):
    reply = http.post("/v1/grade", content=(b" " * 2**16 for _ in range(64)), headers=JSON)
    assert reply.status_code == 413


@pytest.mark.parametrize(
    "shown",
    [None, "Bearer", "Bearer wrong", "Basic a-token-of-the-tests", "Bearer a-token-of-the-test", "Bearer é"],
)
def test_without_the_token_nothing_is_done(service, shown):
    headers = {} if shown is None else {"Authorization": shown.encode()}
    connection = http.client.HTTPConnection(urlsplit(service.address).netloc, timeout=180)
    for method, path in (
        ("POST", "/run_code"),
        ("GET", "/metrics"),
        ("GET", "/v1/benchmarks"),
        ("POST", "/submit"),
    ):
        connection.request(method, path, json.dumps(RUN) if method == "POST" else None, {**JSON, **headers})
        reply = connection.getresponse()
        assert (reply.status, reply.headers["WWW-Authenticate"]) == (401, 'Bearer realm="truegrade"')
        assert json.loads(reply.read())["status"] == 401
    for path in ("/healthz", "/readyz", "/openapi.json", "/docs"):
        connection.request("GET", path)
        reply = connection.getresponse()
        reply.read()
        assert reply.status == 200
    connection.close()


def test_without_a_token_only_loopback_names_are_answered(serve):
    with serve(token=None) as service, service.http() as client:
        port = urlsplit(service.address).port
        for host, status in (
            ("evil.example", 421),
            (f"evil.example:{port}", 421),
            ("", 421),
            (f"localhost:{port}", 200),
        ):
            assert client.get("/v1/benchmarks", headers={"Host": host}).status_code == status, host
        for host in ("127.0.0.1", f"127.0.0.1:{port}", f"[::1]:{port}"):
            assert client.post("/run_code", headers={"Host": host}, json=RUN).status_code == 200, host


def raw(service, data, *, read=True):
    parts = urlsplit(service.address)
    with socket.create_connection((parts.hostname, parts.port), timeout=180) as connection:
        connection.sendall(data)
        return connection.recv(65536) if read else b""


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nno colon\r\n\r\n",
        b"POST /v1/grade HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"POST /v1/grade HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n12345",
        b"POST /v1/grade HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: nothing\r\n\r\n",
        b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n",
        bytes(range(256)),
    ],
)
def test_malformed_http_is_refused_and_the_service_goes_on(service, http, data):
    assert raw(service, data).split(b" ", 2)[1] in (b"400", b"501")
    assert http.get("/healthz").status_code == 200


def test_clients_that_leave_harm_nobody(service, http):
    head = f"POST /run_code HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {service.token}\r\n".encode()
    for _ in range(5):
        raw(service, head + b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", read=False)
        body = json.dumps({"code": "while True: pass", "language": "python", "run_timeout": 0.5}).encode()
        full = head + b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        raw(service, full, read=False)
    assert http.post("/run_code", json=RUN).json()["status"] == "Success"


def test_one_connection_serves_many_requests(service):
    connection = http.client.HTTPConnection(urlsplit(service.address).netloc, timeout=180)
    headers = {"Authorization": f"Bearer {service.token}", **JSON}
    connection.connect()
    first = connection.sock
    for body, status in ((RUN, 200), ({}, 422), (RUN, 200), ("{", 400), (RUN, 200)):
        connection.request("POST", "/run_code", body if isinstance(body, str) else json.dumps(body), headers)
        reply = connection.getresponse()
        assert reply.status == status
        reply.read()
        assert connection.sock is first
    connection.close()


@pytest.mark.slow
def test_slow_clients_are_hung_up_on(serve):
    with serve("--patience", "1") as service:
        parts = urlsplit(service.address)
        head = f"POST /run_code HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {service.token}\r\n".encode()

        def held_s(start):
            began = time.monotonic()
            with socket.create_connection((parts.hostname, parts.port), timeout=180) as connection:
                connection.sendall(start)
                said = connection.recv(65536)
                assert said == b"" or b" 408 " in said.splitlines()[0]
                return time.monotonic() - began

        body = head + b"Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
        with ThreadPoolExecutor(3) as clients:
            assert min(clients.map(held_s, (b"", b"GET /heal", body))) >= 0.9  # a second is theirs


@pytest.mark.parametrize(
    ("options", "message"),
    one_in(
        3,
        [
            (["--no-token", "--host", "0.0.0.0"], "everybody who reaches 0.0.0.0"),
            (["--token", "short"], "at least 8"),
            (["--token", "long-enough", "--no-token"], "exclude each other"),
            (["--benchmark", "humanevil"], "did you mean humaneval"),
            (["--benchmark", "humaneval=nowhere.jsonl"], "nowhere.jsonl"),
            (["--as", "stict"], "did you mean strict"),
            (["--host", "203.0.113.7"], "cannot listen at 203.0.113.7"),
        ],
    ),
)
def test_a_service_that_cannot_be_does_not_start(options, message, monkeypatch):
    monkeypatch.setattr(HttpServer, "serve_forever", lambda *_: pytest.fail("it serves"))
    done = CliRunner().invoke(main, ["serve", "--port", "0", *options])
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
