"""The service as the reward of a trainer: a long hostile load, a full queue, and others' services beside it.

    python -m bench rewards soak --verl VERL --packages SITE [--requests 1000000] [--connections 64] [--out FILE]
    python -m bench rewards full-queue --peers PEERS --peers-python PYTHON [--requests 1000]
    python -m bench rewards against --verl VERL --packages SITE --fusion SANDBOXFUSION --fusion-python PYTHON
    python -m bench rewards open [--fusion SANDBOXFUSION --fusion-python PYTHON] [--open 1,8,64,512]
    python -m bench rewards leetcode LeetCodeDataset-v0.3.1-test.jsonl.gz [--offer sortedcontainers] [--limit 228]

VERL is a checkout of verl-project/verl@1dda039, whose client sends the requests; without it a client that speaks
the same does. SITE is a folder with `requests`, which that client needs. SANDBOXFUSION is a checkout of
bytedance/SandboxFusion@469de08, PYTHON an interpreter with what its router imports. PEERS holds checkouts as
OWNER+NAME, of verl and of allenai/open-instruct@e6c3044, PYTHON has what their clients import.

`open` keeps so many requests open for `--seconds` a round, in alternating rounds; a share of the programs never
ends (``--endless 0.05``), and is given one second. It counts right programs that were refused, too.

`soak` counts requests without an answer (lost), with another answer than the program gives when it is run alone
(wrong), with another request's nonce (crossed), after 30 s (late), and of a failed grader. A process of the
sandbox is killed every 1,000 requests. Under the full load the service is stopped once and started again on a
socket that stays open, as systemd restarts it. Then no process, temporary file or descriptor may be left, and
the median of its memory (each page divided by those who share it) in the last tenth may be 1.1 of the second's.
Anything else makes the exit code 1. Ctrl-C ends the load and counts what there was.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import statistics
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.rewards_beside import Service, against
from bench.rewards_open import open_requests
from bench.rewards_soak import LATE_S, client_of, post, soak

CLIENTS = Path(__file__).parents[1] / "tests/web/service/drive_trainer_clients.py"


def full_queue(options: argparse.Namespace) -> bool:
    """Right programs, sent by verl's and open-instruct's own clients while others keep the queue full."""
    with tempfile.TemporaryDirectory() as folder, Service(options.workers, Path(folder), queue=8) as service:
        over = threading.Event()
        busy = [threading.Thread(target=_fill, args=(service, over)) for _ in range(16)]
        for thread in busy:
            thread.start()
        _await_full(service)
        paid = {}
        for client in options.clients.split(","):
            before, began = service.statuses.copy(), time.monotonic()
            paid[client] = _rewards(service, client, options)
            met = service.statuses - before
            print(f"{client}: 1.0 for {paid[client].count(1.0)} of {len(paid[client])} right programs in"
                  f" {time.monotonic() - began:.0f} s; others were refused {met[429]} times, served {met[200]}",
                  flush=True)  # fmt: skip
        over.set()
        for thread in busy:
            thread.join()
    return all(reward == 1.0 for rewards in paid.values() for reward in rewards)


def _rewards(service: Service, client: str, options: argparse.Namespace) -> list[float]:
    """What a trainer's own client makes of as many right programs, 32 at a time, two tests each."""
    words = [options.peers_python, CLIENTS, options.peers, client, service.address, str(options.requests)]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{client}'s client does not run: {done.stderr[-500:]}")
    return list(json.loads(done.stdout.splitlines()[-1]))


def _fill(service: Service, over: threading.Event) -> None:
    """Keep the queue full by the route that is refused where it is."""
    body = json.dumps({"program": "total = sum(range(10**7))", "cpu_s": 5.0}).encode()
    while not over.is_set():
        status, _ = post(service.address + "/v1/execute", body, LATE_S)
        service.note(status)
        if status != 200:
            time.sleep(0.05)


def _await_full(service: Service) -> None:
    deadline = time.monotonic() + 30
    while not service.statuses[429]:
        if time.monotonic() > deadline:
            raise SystemExit(f"the queue does not fill: {dict(service.statuses)}")
        time.sleep(0.05)


def leetcode(options: argparse.Namespace) -> bool:
    """References of LeetCodeDataset with all their cases; tasks/s a core."""
    from truegrade.benchmarks.ground_truths.ground_truth import read_ground_truth
    from truegrade.pipeline.verdicts import verdict_on
    from truegrade.profiles import open_profile
    from truegrade.records import Completion, Problem
    from truegrade.sandbox import Sandbox

    rows = list(_rows(options.file))[: options.limit]
    profile = open_profile("strict")
    ids = {
        "benchmark": "leetcode",
        "dataset_sha256": "",
        "problem_id": "",
        "config_sha256": "",
        "prompt_sha256": "",
    }

    def graded(row: dict[str, Any]) -> Any:
        truth = read_ground_truth({"test": row["test"], "entry_point": row["entry_point"]})
        assert truth.task is not None, truth.why_not
        problem = Problem(id=row["task_id"], benchmark="leetcode", dataset_sha256="", cluster="", task=truth.task)
        text = f"```python\n{row['completion']}\n```"
        return verdict_on(Completion(**ids, sample=0, model="", text=text), problem, profile, sandbox)

    workers = options.workers or os.cpu_count() or 1
    offered = tuple(filter(None, options.offer.split(",")))
    limits = replace(profile.limits, packages=(*profile.limits.packages, *offered))
    with Sandbox(limits, workers=workers) as sandbox, ThreadPoolExecutor(workers) as threads:
        list(threads.map(lambda _: sandbox.script("1"), range(2 * workers)))
        began = time.monotonic()
        verdicts = list(threads.map(graded, rows))
        wall_s = time.monotonic() - began
    tests = sum(len(re.findall(r"^\s*assert ", row["test"], re.MULTILINE)) for row in rows)
    cpu = sorted(verdict.cpu_s or 0.0 for verdict in verdicts)
    rate = len(rows) / wall_s / workers
    print(f"{len(rows)} references, {tests / len(rows):.1f} tests a task, {rate:.2f} tasks/s a core")
    print(f"CPU of a program: {sum(cpu) / len(cpu):.3f} s a task (median {statistics.median(cpu):.3f} s)")
    print("a different load: ScaleBox publishes 0.31 tasks/s a vCPU for PrimeIntellect/verifiable-coding-problems")
    for (reason, detail), count in Counter((v.reason.value, v.detail[:60]) for v in verdicts).most_common(12):
        print(f"  {count:5} {reason} {detail}")
    return True


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = parser.add_subparsers(dest="mode", required=True)
    found = {name: modes.add_parser(name) for name in ("soak", "full-queue", "against", "open", "leetcode")}
    for mode in found.values():
        mode.add_argument("--workers", type=int)
    for name, requests in (("soak", 1_000_000), ("full-queue", 1000), ("against", 300)):
        found[name].add_argument("--requests", type=int, default=requests)
    for name in ("soak", "against"):
        found[name].add_argument("--verl", type=Path, required=name == "against")
        found[name].add_argument("--packages", type=Path)
        found[name].add_argument("--connections", type=int, default=64)
    found["soak"].add_argument("--kill-every", type=int, default=1000)
    found["soak"].add_argument("--out", type=Path)
    found["full-queue"].add_argument("--peers", type=Path, required=True)
    found["full-queue"].add_argument("--peers-python", required=True)
    found["full-queue"].add_argument("--clients", default="verl,oi")
    for name in ("against", "open"):
        found[name].add_argument("--fusion", type=Path)
        found[name].add_argument("--fusion-python", type=Path)
        found[name].add_argument("--rounds", type=int, default=3)
    found["open"].add_argument("--open", default="1,8,64,512")
    found["open"].add_argument("--endless", type=float, default=0.05)
    found["open"].add_argument("--seconds", type=float, default=10.0)
    found["leetcode"].add_argument("file", type=Path)
    found["leetcode"].add_argument("--limit", type=int)
    found["leetcode"].add_argument("--offer", default="")
    return parser


def main() -> None:
    """Measure and print."""
    options = _arguments().parse_args()
    if options.mode == "against":
        against(client_of(options.verl, options.packages), options)
        return
    run = {"soak": soak, "full-queue": full_queue, "open": open_requests, "leetcode": leetcode}[options.mode]
    raise SystemExit(0 if run(options) else 1)
