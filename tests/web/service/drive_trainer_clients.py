"""Trainers' own clients ask a service for rewards: ``PEERS CLIENT ADDRESS ROWS``; prints the rewards as JSON.

Each loads the one file that asks; the modules beside it are replaced, which need accelerators.
"""

import asyncio
import importlib.util
import json
import logging
import sys
import threading
import types
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import ModuleSpec
from pathlib import Path
from unittest.mock import MagicMock

THREADS = 32
PROGRAM = "import os\nprint(sum(map(int, input().split())))"
FUNCTION = "import os\ndef add(a, b):\n    return a + b"


def load(name, file):
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=[str(file.parent)])
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def verl(peers, address, rows):
    folder = peers / "verl-project+verl/verl/utils/reward_score/sandbox_fusion"
    client = load("sandbox_fusion", folder / "__init__.py")
    semaphore = threading.Semaphore(64)

    def score(row):
        cases = {"inputs": [f"{row} {k}\n" for k in range(2)], "outputs": [str(row + k) for k in range(2)]}
        reply = f"```python\n{PROGRAM}\n```"
        return client.compute_score(f"{address}/run_code", semaphore, 1024, reply, cases)[0]

    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(score, range(rows)))


def openrlhf(peers, address, rows):
    sys.meta_path.insert(0, Replaced())
    client = load("agent", peers / "OpenRLHF+OpenRLHF/openrlhf/utils/agent.py")
    executor = client.SingleTurnAgentExecutor([f"{address}/openrlhf"])

    async def score(row, places):
        prompt, label = f"<|im_start|>user\n{row}<|im_end|>\n", [f"assert add({row}, 1) == {row + 1}"]
        async with places:
            query = f"{prompt}```python\n{FUNCTION}\n```<|im_end|>"
            return (await executor._fetch_rewards_via_http([query], [prompt], [label]))[0]["rewards"]

    return together(score, rows)


def together(score, rows):
    async def every():
        places = asyncio.Semaphore(THREADS)
        return await asyncio.gather(*(score(row, places) for row in range(rows)))

    return asyncio.run(every())


class StandIn(types.ModuleType):
    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return MagicMock()


class Replaced:
    """Finds a stand-in for every module of a trainer but the one that asks."""

    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self, is_package=True) if name.startswith(("open_instruct", "openrlhf")) else None

    def create_module(self, spec):
        return StandIn(spec.name)

    def exec_module(self, module):
        pass


def open_instruct(peers, address, rows):
    sys.meta_path.insert(0, Replaced())
    client = load("ground_truth_utils", peers / "allenai+open-instruct/open_instruct/ground_truth_utils.py")

    def verifier(path):
        settings = types.SimpleNamespace(
            code_api_url=f"{address}{path}",
            code_max_execution_time=1.0,
            code_pass_rate_reward_threshold=0.0,
            code_apply_perf_penalty=False,
        )
        return client.CodeVerifier(settings)

    asserts, stdio = verifier("/test_program"), verifier("/test_program_stdio")

    async def score(row, places):
        async with places:
            if row % 2:
                label = [f"assert add({row}, {k}) == {row + k}" for k in range(2)]
                return (await asserts.async_call([], f"```python\n{FUNCTION}\n```", label)).score
            label = [{"input": f"{row} {k}\n", "output": f"{row + k}\n"} for k in range(2)]
            return (await stdio.async_call([], f"```python\n{PROGRAM}\n```", label)).score

    return together(score, rows)


def main():
    logging.disable(logging.CRITICAL)
    peers, client, address, rows = sys.argv[1:]
    asks = {"verl": verl, "oi": open_instruct, "openrlhf": openrlhf}[client]
    print(json.dumps(asks(Path(peers), address, int(rows))))


main()
