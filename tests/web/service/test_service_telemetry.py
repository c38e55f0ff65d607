"""What the service counts of rewards, and its shadow, over HTTP."""

import json
import re
import time

import pytest

from truegrade.errors import UserError
from truegrade.web.service.grading_service import ServiceSettings

LEAVES = "```python\nimport os\n\n\ndef double(x):\n    os._exit(0)\n```"
RIGHT = "```python\ndef double(x):\n    return 2 * x\n```"
WRONG = "```python\ndef double(x):\n    return x\n```"


def counted(http):
    """Sample -> value, of what the service counts."""
    pairs = re.findall(r"^(truegrade_\w+_total(?:\{[^}]*\})?) (\S+)$", http.get("/metrics").text, re.MULTILINE)
    return {name: float(value) for name, value in pairs}


def test_rewards_are_counted_by_what_became_of_the_reply(http, doubling):
    completions = [{"text": RIGHT}, {"text": WRONG}, {"text": WRONG, "finish_reason": "length"}]
    before = counted(http)
    http.post("/v1/reward", json={"problem": doubling, "completions": completions}).raise_for_status()
    after = counted(http)

    def more(outcome):
        name = f'truegrade_rewards_total{{outcome="{outcome}",profile="strict"}}'
        return after.get(name, 0.0) - before.get(name, 0.0)

    assert [more(it) for it in ("right", "wrong", "truncated", "unknown")] == [1.0, 1.0, 1.0, 0.0]
    assert not any("hack_attempts_total{" in name for name in after)


def test_attempts_are_told_where_a_request_asks_for_them(http, doubling):
    completions = [{"text": text} for text in (RIGHT, WRONG, LEAVES, "no program")]
    said = http.post("/v1/reward", json={"problem": doubling, "completions": completions, "attempts": True}).json()
    assert said["reasons"] == ["wrong_answer", "wrong_answer", "tampering", "wrong_answer"]
    assert said["marks"] == [[], [], ["exit-status"], []]


def test_a_shadow_counts_attempts_and_keeps_the_first_of_each_kind(serve, doubling, tmp_path):
    options = ("--shadow", "verl-sandbox-fusion", "--shadow-share", "1", "--hacks", str(tmp_path / "kept"))
    attempts = 'truegrade_hack_attempts_total{channel="exit-status",paid="shadow"}'
    with serve(*options) as running, running.http() as http:
        request = {"problem": doubling, "completions": [{"text": text} for text in (LEAVES, WRONG, RIGHT, LEAVES)]}
        assert http.post("/v1/reward", json=request).json()["rewards"] == [0.0, 0.0, 1.0, 0.0]
        body = {"query": [f"Double it.{LEAVES}"], "prompts": ["Double it."], "labels": [["assert double(2) == 4"]]}
        assert http.post("/openrlhf", json=body).json()["rewards"] == 0.0
        asked = {"program": LEAVES.strip("`").removeprefix("python"), "tests": ["assert double(2) == 4"]}
        assert http.post("/test_program", json=asked).json()["results"] == [0]
        until = time.monotonic() + 30
        while counted(http).get(attempts, 0) < 4 and time.monotonic() < until:
            time.sleep(0.05)
        found = counted(http)
        assert found[attempts] == 4.0 == found["truegrade_grader_disagreements_total"]
        assert running.stop() == 0
    (kept,) = map(json.loads, (tmp_path / "kept" / "hacks.jsonl").read_text().splitlines())
    assert (kept["channel"], kept["paid"], kept["text"]) == ("exit-status", "shadow", LEAVES)


def test_settings_of_a_shadow_are_checked(tmp_path):
    with pytest.raises(UserError, match="`shadow_share`: 2 is no share"):
        ServiceSettings(shadow_share=2.0).check()
    with pytest.raises(UserError, match="`hacks` keeps what a `shadow` finds"):
        ServiceSettings(hacks=tmp_path).check()
