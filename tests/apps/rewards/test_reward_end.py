"""A script that uses rewards ends as any other: its own exit code, nothing on stderr, no process left."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

BEGIN = """
import asyncio, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from truegrade.apps.rewards.grader import RewardGrader, reward_grader
from truegrade.apps.rewards.records import PolicyReply
from truegrade.apps.rewards.telemetry import Telemetry
from truegrade.apps.rewards.trl import truegrade_reward
from truegrade.apps.rewards.verl import compute_score

def reply(body="return n"):
    return PolicyReply(text=f"```python\\nimport time\\ndef f(n): {body}\\n```", ground_truth=["assert f(1) == 1"])

right, slow = [reply()], [reply("time.sleep(20); return n")]
"""
WAYS = {
    "sync": "print(reward_grader(workers=1).grade_sync(right)[0].value)",
    "async": "print(asyncio.run(reward_grader(workers=1).grade(right))[0].value)",
    "trl": "print(truegrade_reward()(completions=[right[0].text], ground_truth=[['assert f(1) == 1']])[0])",
    "verl": "print(asyncio.run(compute_score('', right[0].text, ['assert f(1) == 1'], {}))['score'])",
    "closed": "with RewardGrader(workers=1) as it: print(it.grade_sync(right)[0].value)",
    "unused": "reward_grader(workers=1); print(1.0)",
    "two": "print(min(make(workers=1).grade_sync(right)[0].value for make in (RewardGrader, reward_grader)))",
    "threads": """
with ThreadPoolExecutor(4) as pool:
    print(min(each[0].value for each in pool.map(reward_grader().grade_sync, [right] * 8)))
""",
    "telemetry": "print(RewardGrader(telemetry=Telemetry(shadow_share=1.0)).grade_sync(right)[0].value)",
}
ENDS = {
    "exception": ("print(reward_grader().grade_sync(right)[0].value); raise SystemError('mine')", 1, "1.0"),
    "exit": ("print(reward_grader().grade_sync(right)[0].value); sys.exit(3)", 3, "1.0"),
    # What other threads wait for when the main thread ends is not known.
    "begun": (
        """
threading.Thread(target=lambda: print(reward_grader().grade_sync(slow)[0].value)).start()
time.sleep(2)
""",
        0,
        "None",
    ),
    "late": (
        """
def late():
    threading.main_thread().join()
    time.sleep(0.2)
    print(reward_grader().grade_sync(right)[0].value)
threading.Thread(target=late).start()
""",
        0,
        None,  # known where a thread can still be started
    ),
    "left": (
        """
async def main():
    task = asyncio.ensure_future(reward_grader().grade(slow))
    await asyncio.sleep(2)
    print("left")
asyncio.run(main())
""",
        0,
        "left",
    ),
}


def ended(script: str) -> tuple[int, str, str]:
    """Exit code and output of a process; fails if one of its session is left."""
    process = subprocess.Popen(
        [sys.executable, "-c", BEGIN + script],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    out, err = process.communicate(timeout=120)
    until = time.monotonic() + 10
    while (left := _session(process.pid)) and time.monotonic() < until:
        time.sleep(0.05)
    assert left == []
    return process.returncode, out, err


def _session(of: int) -> list[str]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, fields = stat.read_text().rpartition(")")
        except OSError:
            continue
        if fields.split()[3] == str(of):
            found.append(name)
    return found


@pytest.mark.parametrize("way", WAYS)
def test_it_ends_in_silence(way):
    assert ended(WAYS[way]) == (0, "1.0\n", "")


@pytest.mark.parametrize("end", ENDS)
def test_it_ends_as_the_script_does(end):
    script, code, said = ENDS[end]
    found, out, err = ended(script)
    assert (found, out) == (code, f"{said}\n") or (said is None and found == code and out in ("1.0\n", "None\n"))
    assert err.splitlines()[-1:] == (["SystemError: mine"] if end == "exception" else [])
    assert err.count("Traceback") == (end == "exception") and "Exception ignored" not in err


def test_the_session_of_this_process_is_seen():
    assert _session(os.getsid(0))
