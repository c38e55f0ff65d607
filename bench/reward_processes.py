"""Rewards through pickled adapters in processes that are killed: none lost, wrong or another reply's.

    python -m bench reward_processes [--rewards 100000] [--processes 8] [--kill-s 5] [--seed 0]

Each process is spawned with pickled adapters, as a trainer's workers are: TRL's function, verl's coroutine, and a
`RewardGrader`, in turn for batches of 32. All share one pool of this node, which one of them owns. Every
``--kill-s`` seconds one of them, or a process of the sandbox below one, is killed with SIGKILL, and a process
that died is spawned again with adapters pickled anew; it goes on behind its last batch on disk.

Every reply returns its own number and its tests ask for that, so a reward that belongs to another reply shows. Of
the replies 45 % are right; the others return another number, raise, end their process, hold no program, or, one
in a thousand, never end. Exit code 1 where a reward is missing, twice there, unknown (None) or not the due one, or
where a process is left.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import pickle
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from multiprocessing.context import SpawnProcess
from pathlib import Path

from bench.rewards_beside import adopt_orphans, descendants, left_over
from truegrade.apps.rewards.grader import RewardGrader
from truegrade.apps.rewards.records import PolicyReply, RewardLimits
from truegrade.apps.rewards.trl import truegrade_reward
from truegrade.apps.rewards.verl import compute_score

BATCH = 32
CPU_S = 1.0
PROGRESS_S = 10.0
_KINDS = {
    "right": (450, "def f(): return {number}"),
    "another number": (400, "def f(): return {other}"),
    "raises": (50, "def f(): raise ValueError({number})"),
    "ends its process": (49, "import os\ndef f(): os._exit(0)"),
    "no program": (50, ""),
    "endless": (1, "def f():\n    while True: pass"),
}


def kind_of(number: int, seed: int) -> str:
    """The kind of a reply."""
    shares = [share for share, _ in _KINDS.values()]
    return random.Random(f"{seed}/{number}").choices(list(_KINDS), shares)[0]


def reply(number: int, seed: int) -> tuple[str, list[str]]:
    """A reply, and its tests."""
    code = _KINDS[kind_of(number, seed)][1].format(number=number, other=number + 1)
    text = f"```python\n{code}\n```" if code else f"The answer is {number}."
    return text, [f"assert f() == {number}"]


def paid_by(adapter: object, rows: Sequence[tuple[str, list[str]]]) -> list[float | None]:
    """The rewards of a batch, asked for as the adapter's trainer does."""
    if isinstance(adapter, RewardGrader):
        return [each.value for each in adapter.grade_sync([PolicyReply(text=t, ground_truth=g) for t, g in rows])]
    if isinstance(adapter, partial):

        async def gathered() -> list[float | None]:
            found = await asyncio.gather(*(adapter("", text, truth) for text, truth in rows))
            return [each["score"] for each in found]

        return asyncio.run(gathered())
    assert callable(adapter)
    return list(adapter(completions=[t for t, _ in rows], ground_truth=[g for _, g in rows]))


def work(adapters: Sequence[object], share: range, seed: int, path: Path) -> None:
    """Grade batches of this share behind those on disk; one line each."""
    done = {json.loads(line)[0] for line in path.read_bytes().splitlines()}
    with path.open("ab", buffering=0) as file:
        for at in range(0, len(share), BATCH):
            if at not in done:
                rows = [reply(number, seed) for number in share[at : at + BATCH]]
                rewards = paid_by(adapters[at // BATCH % len(adapters)], rows)
                file.write(json.dumps([at, rewards]).encode() + b"\n")


class Workers:
    """The processes, spawned again where one was killed."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        limits = RewardLimits(cpu_s=CPU_S)
        self._adapters = [
            truegrade_reward(unknown="none", limits=limits),
            partial(compute_score, limits=limits),
            RewardGrader(limits=limits),
        ]
        self.shares = [range(at, options.rewards, options.processes) for at in range(options.processes)]
        self.paths = [folder / f"{at}.jsonl" for at in range(options.processes)]
        for path in self.paths:
            path.touch()
        self._seed, self._chance = options.seed, random.Random(options.seed)
        self.killed: Counter[str] = Counter()
        self.running: dict[int, SpawnProcess] = {at: self._spawned(at) for at in range(options.processes)}

    def _spawned(self, at: int) -> SpawnProcess:
        lines = self.paths[at].read_bytes()
        self.paths[at].write_bytes(lines[: lines.rfind(b"\n") + 1])  # a line cut by a kill
        adapters = pickle.loads(pickle.dumps(self._adapters))
        process = multiprocessing.get_context("spawn").Process(
            target=work, args=(adapters, self.shares[at], self._seed, self.paths[at])
        )
        process.start()
        return process

    def look(self) -> None:
        """Take out who is done, and spawn again who died."""
        for at, process in list(self.running.items()):
            if process.exitcode == 0:
                del self.running[at]
            elif process.exitcode is not None:
                self.killed["died otherwise"] += process.exitcode != -signal.SIGKILL
                self.running[at] = self._spawned(at)

    def kill_one(self) -> None:
        """One of the processes, or one of the sandbox below one."""
        victim = self._chance.choice(list(self.running.values())).pid
        assert victim is not None
        below = [pid for process in self.running.values() for pid in descendants(process.pid or 0)]
        name = "trainer's process"
        if self._chance.random() < 0.5 and below:
            victim, name = self._chance.choice(below), "process of the sandbox"
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            return
        self.killed[name] += 1

    def counted(self) -> int:
        """Rewards on disk."""
        return sum(BATCH * path.read_bytes().count(b"\n") for path in self.paths)


def faults(workers: Workers, seed: int) -> Counter[str]:
    """What is not as it should be, of all rewards on disk."""
    found: Counter[str] = Counter()
    for share, path in zip(workers.shares, workers.paths, strict=True):
        batches = [json.loads(line) for line in path.read_bytes().splitlines()]
        found["twice"] += len(batches) - len({at for at, _ in batches})
        missing = set(share)
        for at, rewards in batches:
            numbers = share[at : at + BATCH]
            missing -= set(numbers)
            found["rewards of a batch too few or many"] += len(numbers) != len(rewards)
            for number, reward in zip(numbers, rewards, strict=False):
                due = float(kind_of(number, seed) == "right")
                found["unknown" if reward is None else "wrong"] += reward != due
        found["lost"] += len(missing)
    return +found


def _left() -> list[str]:
    """Processes that should have ended; Python's own tracker ends with this one."""
    return [words for words in left_over() if "resource_tracker" not in words]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rewards", type=int, default=100_000)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--kill-s", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    adopt_orphans()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder  # a pool of its own
        began = told = killed = time.monotonic()
        workers = Workers(options, Path(folder))
        while workers.running:
            time.sleep(0.2)
            workers.look()
            now = time.monotonic()
            if workers.running and now - killed >= options.kill_s:
                workers.kill_one()
                killed = now
            if now - told >= PROGRESS_S:
                print(f"{workers.counted()} of {options.rewards}", flush=True)
                told = now
        wall_s = time.monotonic() - began
        found = faults(workers, options.seed)
    deadline = time.monotonic() + 10
    while (left := _left()) and time.monotonic() < deadline:
        time.sleep(0.2)
    print(f"{options.rewards} rewards in {options.processes} processes in {wall_s:.0f} s,"
          f" {options.rewards / wall_s:.0f} a second; killed: {dict(workers.killed)}")  # fmt: skip
    print(f"faults: {dict(found) or 'none'}; processes left: {left or 'none'}")
    raise SystemExit(1 if found or left else 0)


if __name__ == "__main__":
    main()
