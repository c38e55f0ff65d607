"""Pays replies by the trainers' own rewards: a request in, numbers out.

The argument is a folder that `prepare` of `bench.assay_rewards` filled: ``reward_adapters.py`` and the sources.
Runs programs unprotected: start it in the jail of `livecodebench_peers.jailed` alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace

MEMORY_BYTES, MOST_S = 4 << 30, 90.0
ADAPTERS = {"verl-prime": "verl_prime", "rllm-lcb": "rllm_lcb", "skyrl-lcb": "skyrl_lcb"}


def nemo_gym(reply: str, tests: dict) -> float:
    """``verify`` of ``code_gen`` itself; of the framework around it only what it inherits from is replaced."""
    from pydantic import BaseModel

    class Request(BaseModel):
        response: object
        verifier_metadata: dict | None = None

    class Response(Request):
        reward: float

    def module(name, **content):
        found = sys.modules.setdefault(name, ModuleType(name))
        vars(found).update(content)

    def remote(**given):
        async def started(call, *arguments):
            return call(*arguments)

        return lambda call: SimpleNamespace(remote=lambda *arguments: started(call, *arguments))

    server = type("SimpleResourcesServer", (), {"__init__": lambda self: None})
    metrics = "add_avg_sample_std_dev compute_pass_majority_metrics compute_subset_metrics highest_k_metrics"
    module("ray", remote=remote)
    module("tqdm", tqdm=iter)
    module("nemo_gym", __path__=[])
    module("nemo_gym.reward_profile", **dict.fromkeys(metrics.split()))
    module("nemo_gym.base_resources_server", BaseResourcesServerConfig=BaseModel, BaseRunRequest=BaseModel,
           BaseVerifyRequest=Request, BaseVerifyResponse=Response, SimpleResourcesServer=server)  # fmt: skip
    folder = str(Path(sys.argv[1]) / "peers" / "NVIDIA-NeMo+Gym" / "resources_servers" / "code_gen")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    app = importlib.import_module("app")
    served = app.CompCodingResourcesServer()
    served._semaphore = asyncio.Semaphore(1)
    served.config = SimpleNamespace(unit_test_timeout_secs=10, debug=False, reasoning_format_penalty=0.0)
    body = app.CompCodingVerifyRequest(
        response=SimpleNamespace(output_text=reply, output=[]), verifier_metadata={"unit_tests": tests}
    )
    return asyncio.run(served.verify(body)).reward


def paid(job):
    """What a reward pays for one reply; None where it raises."""
    name, reply, tests = job
    import reward_adapters

    given = {key: value for key, value in tests.items() if value is not None}
    try:
        if name == "nemo-gym":
            return nemo_gym(reply, tests)
        truth = given
        if name != "verl-prime":
            kind = {"testtype": "stdin"}
            if "fn_name" in given:
                kind = {"testtype": "functional", "metadata": {"func_name": given["fn_name"]}}
            pairs = zip(given["inputs"], given["outputs"], strict=True)
            truth = [{"input": one, "output": two, **kind} for one, two in pairs]
        return getattr(reward_adapters, ADAPTERS[name])(reply, json.dumps(truth))
    except Exception as error:
        return None if isinstance(error, AssertionError) else repr(error)


def main():
    request = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))  # the rewards themselves set none
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import numpy  # noqa: F401 - what a trainer's process has imported
    import pandas  # noqa: F401

    answer = os.fdopen(os.dup(1), "w")
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    sys.path.insert(0, sys.argv[1])
    jobs = [(request["reward"], row["reply"], row["tests"]) for row in request["rows"]]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as into, contextlib.chdir(into):
        running = {}
        for number, job in enumerate(jobs):
            if len(running) >= request.get("workers", 1):
                ended(running)
            pid = os.fork()
            if not pid:
                os.setpgid(0, 0)
                os.closerange(3, 256)  # a program that writes to whatever is open reaches none of ours
                value = paid(job)
                Path(f"{into}/{number}").write_text(json.dumps(value))
                os._exit(0)
            running[pid] = time.monotonic()
        while running:
            ended(running)
        written = [Path(f"{into}/{number}") for number in range(len(jobs))]
        rows = [json.loads(file.read_text()) if file.exists() else "no answer" for file in written]
    answer.write(json.dumps(rows) + "\n")
    answer.flush()
    os._exit(0)  # what a program left running is not waited for


def ended(running):
    """Wait until a process ends; one that takes too long is killed."""
    while True:
        for pid, began in list(running.items()):
            if time.monotonic() - began > MOST_S:
                os.killpg(pid, signal.SIGKILL)
            if os.waitpid(pid, os.WNOHANG)[0]:
                del running[pid]
                return
        time.sleep(0.01)


if __name__ == "__main__":
    main()
