"""The service where only resource limits protect the machine: it refuses, and with --allow-unsafe it says so.

The level is not pretended: a filter of system calls hides Landlock from the service, as an old kernel would.
"""

import subprocess
import sys

import pytest
from prometheus_client.parser import text_string_to_metric_families

from truegrade.sandbox import confine

WITHOUT_LANDLOCK = f"""
import ctypes, os, sys
from truegrade.sandbox.seccomp import LOAD, NUMBER, RETURN_ALLOW, UNKNOWN, RETURN, Filter, on
ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS, which a filter needs
Filter([(LOAD, 0, 0, NUMBER), *on({confine.CREATE_RULESET}, [(RETURN, 0, 0, UNKNOWN)]), RETURN_ALLOW]).install()
os.execv(sys.executable, [sys.executable, "-m", "truegrade", *sys.argv[1:]])
"""
THROUGH = ("-c", WITHOUT_LANDLOCK)

pytestmark = pytest.mark.skipif(confine.version() == 0, reason="this kernel offers no Landlock to hide")


def test_it_refuses_before_it_listens_and_says_what_to_install(monkeypatch):
    monkeypatch.delenv("TRUEGRADE_ALLOW_UNSAFE", raising=False)
    refused = subprocess.run(
        [sys.executable, *THROUGH, "serve", "--port", "0"], capture_output=True, text=True, timeout=60
    )
    assert refused.returncode != 0 and not refused.stdout
    (sentence,) = refused.stderr.splitlines()
    assert "untrusted programs are not run here: protection level 1" in sentence
    assert "the kernel offers no Landlock" in sentence and "--allow-unsafe" in sentence


def test_told_to_it_grades_and_says_the_level_everywhere(serve, doubling):
    endless = {"text": "```python\ndef double(x):\n    while True: pass\n```"}
    doubling["task"]["cpu_s"] = 0.5
    replies = [{"text": f"```python\ndef double(x):\n    return {code}\n```"} for code in ("2 * x", "3 * x")]
    with serve("--allow-unsafe", through=THROUGH) as service, service.http() as http:
        graded = http.post("/v1/grade", json={"problem": doubling, "completions": replies}).json()
        held = http.post("/v1/reward", json={"problem": doubling, "completions": [endless]}).json()
        ran = http.post("/v1/execute", json={"program": "print(1)"}).json()
        health, ready = http.get("/healthz").json(), http.get("/readyz").json()
        page, metrics = http.get("/docs").text, http.get("/metrics").text
    assert [(v["passed"], v["level"]) for v in graded["verdicts"]] == [(True, 1), (False, 1)]
    assert (held["rewards"], held["reasons"]) == ([0.0], ["time_limit"])
    assert (ran["stdout"], ran["level"]) == ("1\n", 1)
    assert (health["status"], health["level"], ready["level"]) == ("ok", 1, 1)
    assert "protection level 1" in page
    levels = [
        sample.value
        for family in text_string_to_metric_families(metrics)
        for sample in family.samples
        if sample.name == "truegrade_jail_level"
    ]
    assert levels == [1]
    assert "protection level 1: resource limits only" in service.said["protection"]
