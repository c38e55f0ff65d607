"""What the endpoints answer, over HTTP."""

import re
from pathlib import Path

import pytest

from truegrade.benchmarks import load_benchmark
from truegrade.pipeline.verdicts import verdict_on
from truegrade.profiles import open_profile
from truegrade.records import Completion
from truegrade.sandbox import Sandbox


def fenced(code):
    return f"```python\n{code}\n```"


RIGHT, WRONG = fenced("def double(x):\n    return 2 * x"), fenced("def double(x):\n    return 3 * x")


@pytest.mark.parametrize(
    ("code", "more", "status", "run"),
    [
        ("print(input()[::-1])", {"stdin": "ab"}, "Success", ("Finished", 0, "ba\n")),
        ("import sys; sys.exit(3)", {}, "Failed", ("Finished", 3, "")),
        ("1 / 0", {}, "Failed", ("Finished", 1, "")),
        ("import os; os.kill(os.getpid(), 11)", {}, "Failed", ("Finished", -11, "")),
        ("while True: pass", {"run_timeout": 0.5}, "Failed", ("TimeLimitExceeded", None, "")),
        ("import time; time.sleep(9)", {"run_timeout": 0.5}, "Failed", ("TimeLimitExceeded", None, "")),
        ("print(len(' ' * 10**8))", {"memory_limit_MB": 1024}, "Success", ("Finished", 0, "100000000\n")),
        ("' ' * 10**9", {"memory_limit_MB": 512}, "Failed", ("Finished", 1, "")),
        ("print('x' * 5 * 2**20)", {}, "Failed", ("Finished", -9, None)),
        ("print('\\ud800'.encode('utf-8', 'surrogatepass'))", {}, "Success", ("Finished", 0, None)),
    ],
)
def test_run_code_answers_as_sandboxfusion_does(http, code, more, status, run):
    reply = http.post("/run_code", json={"code": code, "language": "python", **more})
    assert reply.status_code == 200
    body = reply.json()
    assert set(body) == {"status", "message", "compile_result", "run_result", "executor_pod_name", "files"}
    assert body["status"] == status
    result = body["run_result"]
    assert set(result) == {"status", "execution_time", "return_code", "stdout", "stderr"}
    assert (result["status"], result["return_code"]) == run[:2]
    assert run[2] in (None, result["stdout"])
    assert result["execution_time"] < 5


def test_half_a_surrogate_pair_is_graded_like_any_text(http):
    body = (
        b'{"benchmark": "humaneval", "completions": ['
        b'{"problem_id": "HumanEval/53", "text": "    return x + y  # \\ud800", "form": "completion"},'
        b'{"problem_id": "HumanEval/53", "text": "    return x + y", "form": "completion"}]}'
    )
    reply = http.post("/v1/grade", content=body, headers={"Content-Type": "application/json"})
    assert reply.status_code == 200, reply.text
    assert [verdict["reason"] for verdict in reply.json()["verdicts"]] == ["syntax_error", "passed"]


def test_run_code_takes_what_verl_sends(http):
    """volcengine/verl@10f0796 verl/utils/reward_score/sandbox_fusion/utils.py ``call_sandbox_api``."""
    payload = {"compile_timeout": 5, "run_timeout": 5, "code": "print(1)", "stdin": "", "language": "python"}
    body = http.post("/run_code", json={**payload, "files": {}, "fetch_files": []}).json()
    assert (body["status"], body["run_result"]["stdout"]) == ("Success", "1\n")


@pytest.mark.parametrize(
    ("completion", "extra", "accepted", "reason"),
    [
        ("    return x + y\n", {}, True, "passed"),
        ("    return x - y\n", {}, False, "wrong_answer"),
        (fenced("def add(x, y):\n    return x + y"), {"is_freeform": True}, True, "passed"),
        ("I do not know.", {"is_freeform": True, "profile": "human-eval"}, False, "syntax_error"),
        ("    import os; os._exit(0)\n", {}, False, "runtime_error"),
    ],
)
def test_submit_answers_as_sandboxfusion_does(http, completion, extra, accepted, reason):
    request = {"dataset": "humaneval_python", "id": 53, "completion": completion, "config": {"extra": extra}}
    body = http.post("/submit", json=request).json()
    fields = "id accepted extracted_code full_code test_code tests extracted_type extra"
    assert set(body) == set(fields.split())
    assert (body["id"], body["accepted"]) == (53, accepted)
    (test,) = body["tests"]
    assert (test["passed"], test["test_info"]["reason"]) == (accepted, reason)
    assert test["exec_info"]["status"] == ("Success" if accepted else "Failed")
    assert "candidate(0, 1) == 1" in body["test_code"]


def test_served_verdicts_are_those_of_the_pipeline(http, humaneval_file):
    benchmark = load_benchmark("humaneval", humaneval_file)
    chosen = benchmark.problems[:6]
    texts = [problem.task.reference if i % 2 else "nothing" for i, problem in enumerate(chosen)]
    sent = [
        {"problem_id": p.id, "text": t, "form": "program", "sample": 7} for p, t in zip(chosen, texts, strict=True)
    ]
    request = {"benchmark": "humaneval", "completions": sent, "profiles": ["strict", "human-eval"]}
    verdicts = http.post("/v1/grade", json=request).json()["verdicts"]
    assert [(v["problem_id"], v["profile"].split("@")[0]) for v in verdicts] == [
        (problem.id, name) for problem in chosen for name in ("strict", "human-eval")
    ]
    with Sandbox(workers=1) as sandbox:
        for position, (problem, text) in enumerate(zip(chosen, texts, strict=True)):
            completion = Completion(
                benchmark="humaneval", dataset_sha256=benchmark.dataset_sha256, problem_id=problem.id, sample=7,
                config_sha256="", prompt_sha256="", text=text, form="program", model="",
            )  # fmt: skip
            for offset, name in enumerate(("strict", "human-eval")):
                expected = verdict_on(completion, problem, open_profile(name), sandbox)
                got = verdicts[2 * position + offset]
                for field in (
                    "passed",
                    "reason",
                    "detail",
                    "answer",
                    "found",
                    "completion_sha256",
                    "sample",
                    "marks",
                ):
                    own = getattr(expected, field)
                    assert got[field] == (list(own) if field == "marks" else own), (problem.id, name, field)


def test_rewards_are_numbers_in_order_and_null_where_the_grader_failed(http, doubling):
    broken = {"task": {**doubling["task"], "tests": "raise SystemError('tests')"}}
    strange = {
        "task": {"type": "oracle", "prompt": "", "entry_point": "f", "reference": "f = 1", "comparator": "no"}
    }
    strange["task"]["base_inputs"] = [[[1]], [[{"a": []}]]]
    completions = [
        {"text": RIGHT},
        {"text": RIGHT, "problem": strange},
        {"text": WRONG},
        {"text": "no code at all"},
        {"text": RIGHT, "problem": broken},
        {
            "text": fenced("def add(x, y):\n    return x + y"),
            "benchmark": "humaneval",
            "problem_id": "HumanEval/53",
        },
    ]
    body = http.post("/v1/reward", json={"problem": doubling, "completions": completions}).json()
    assert body["rewards"] == [1.0, None, 0.0, 0.0, None, 1.0]
    assert body["reasons"] == ["passed", "grader_error", "wrong_answer", "no_code", "grader_error", "passed"]
    assert body["pass_rates"] == [1.0, None, None, None, None, 1.0]
    assert body["marks"] == [[]] * 6 and [bool(detail) for detail in body["details"]][1:5] == [True] * 4


def test_a_cut_reply_is_truncated_and_nothing_is_an_empty_answer(http, doubling):
    cut = {"text": "", "finish_reason": "length"}
    request = {"problem": doubling, "completions": [cut]}
    (verdict,) = http.post("/v1/grade", json=request).json()["verdicts"]
    assert (verdict["reason"], verdict["truncated"]) == ("truncated", True)
    assert http.post("/v1/grade", json={"completions": []}).json() == {"verdicts": []}


def test_expected_values_stay_outside_the_jail(http, doubling):
    """A program that searches its whole process for what the tests expect finds nothing."""
    secret = "an-expected-value-nobody-knows"
    spy = (
        "import gc, os\ndef double(x):\n"
        "    seen = repr(gc.get_objects()) + open('/proc/self/environ').read()\n"
        "    return '-'.join(['expected', 'value', 'nobody']) in seen\n"
    )
    task = {**doubling["task"], "tests": f"assert double(2) is False, '{secret}'"}
    request = {"problem": {"task": task}, "completions": [{"text": fenced(spy)}]}
    (verdict,) = http.post("/v1/grade", json=request).json()["verdicts"]
    assert verdict["reason"] == "passed", verdict["detail"]


def test_execute_says_everything(http):
    request = {"program": "import sys; print(1, file=sys.stderr); print(input())", "stdin": "in", "cpu_s": 2}
    body = http.post("/v1/execute", json=request).json()
    assert (body["status"], body["exit_code"], body["stdout"], body["stderr"]) == ("passed", 0, "in\n", "1\n")
    assert body["level"] >= 1 and 0 < body["cpu_s"] < 2


def test_what_there_is_can_be_asked(http):
    (humaneval,) = http.get("/v1/benchmarks").json()["benchmarks"]
    assert (humaneval["name"], humaneval["problems"]) == ("humaneval", 164)
    known = http.get("/v1/profiles").json()
    assert known["default"] == ["strict"]
    assert {"strict@6", open_profile("human-eval").id} <= {profile["id"] for profile in known["profiles"]}
    assert http.get("/readyz").json()["status"] == http.get("/healthz").json()["status"] == "ok"


def test_the_page_fetches_nothing(http):
    page = http.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert "/v1/grade" in page.text
    assert not re.search(r"src=|@import|https?://", page.text)


def test_the_documentation_s_python_runs(service):
    text = (Path(__file__).parents[3] / "docs" / "service.md").read_text()
    blocks = re.findall(r"^```py\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert blocks
    scope = {"address": service.address, "token": service.token}
    for block in blocks:
        exec(compile(block, "service.md", "exec"), scope)
