"""The soak of `rewards.py`: a long load of right, wrong and hostile programs, and what is counted of it."""

from __future__ import annotations

import argparse
import http.client
import importlib.util
import json
import os
import random
import re
import secrets
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from bench.rewards_beside import LIMITS_MB, Service, descendants, left_over, resident_bytes

LATE_S = 30.0
PROGRESS_S = 10.0
MOST_GROWTH = 1.1
"""Of memory, from the second tenth of the requests to the last."""
CASES = 12
"""Requests that share a program, as those of one completion do."""
NONCE = re.compile(r"nonce-[0-9a-f]{16}")
ECHO = "import sys\nlines = sys.stdin.read().split('\\n')\nprint(lines[0])\n"


class Kind(NamedTuple):
    """A program, how often it is sent, and what comes back."""

    name: str
    share: float
    code: str
    given: Callable[[int], str]
    """What follows the nonce on standard input, for a number."""
    printed: Callable[[int], str] | None
    """What follows the nonce on standard output; None where a hostile program may print what it likes."""
    status: str
    run_timeout: int = 10


def _numbers(number: int) -> str:
    return " ".join(str(number * factor % 1009) for factor in range(1, 40))


def _sum(number: int) -> str:
    return f"{sum(map(int, _numbers(number).split()))}\n"


_ADD = "print(sum(map(int, lines[1].split())))"
_SLOW = f"total = 0\nfor one in range(100_000): total += one\n{_ADD}"
_LOOK_AROUND = """
import glob
for name in glob.glob("/proc/*/cmdline") + glob.glob("/tmp/**", recursive=True):
    try:
        print(open(name).read())
    except OSError:
        pass
"""
HOSTILE = (
    "import os\nos._exit(0)",
    "import os\nos.kill(os.getppid(), 9)\nos.kill(os.getpid(), 9)",
    "import os\nwhile True: os.fork()",
    "while True: print('x' * 10**6)",
    "while True: pass",
    _LOOK_AROUND,
    "held = []\nwhile True: held.append(bytearray(1 << 26))",
    "open('/tmp/' + lines[0], 'w').write(lines[0])\nimport os, time\nos.fork() or os.setsid()\ntime.sleep(9)",
)


def kinds() -> list[Kind]:
    """The mix: 60 % right, 30 % wrong, 6 % slow or large, 3 % malformed, 1 % hostile."""
    wrong = "print(sum(map(int, lines[1].split())) + 1)"
    mix = [
        Kind("right", 0.3, ECHO + _ADD, _numbers, _sum, "Success"),
        Kind("right", 0.3, f"def main():\n    {_ADD}\n{ECHO}main()", _numbers, _sum, "Success"),
        Kind("wrong", 0.2, ECHO + wrong, _numbers, lambda n: f"{int(_sum(n)) + 1}\n", "Success"),
        Kind("wrong", 0.1, f"{ECHO}raise ValueError(lines[1])", _numbers, lambda _: "", "Failed"),
        Kind("slow or large", 0.03, ECHO + _SLOW, _numbers, _sum, "Success"),
        Kind("slow or large", 0.02, ECHO + "print('y' * 500_000)", _numbers, lambda _: f"{'y' * 500_000}\n",
             "Success"),
        Kind("slow or large", 0.01, ECHO + "print(len(lines[1]))", lambda _: "z" * 500_000, lambda _: "500000\n",
             "Success"),
        Kind("malformed", 0.015, ECHO + "print((", _numbers, None, "Failed"),
    ]  # fmt: skip
    share = 0.01 / len(HOSTILE)
    return [*mix, *(Kind("hostile", share, ECHO + code, _numbers, None, "", 1) for code in HOSTILE)]


WAITING = Kind("waiting", 0.0, f"import time\n{ECHO}time.sleep(0.1)\n{_ADD}", _numbers, _sum, "Success")
MALFORMED_BODIES = (b"", b"{", b"[]", b'{"language": "python"}', b"\xff\x00")
BODIES_SHARE = 0.015


class Client:
    """Sends one program as verl's trainer does."""

    def __init__(self, verl: Path | None, packages: Path | None) -> None:
        self.real = client_of(verl, packages) if verl is not None else None

    def run(self, url: str, code: str, stdin: str, timeout: int) -> dict[str, Any] | None:
        """The service's answer; None where the client gives up."""
        if self.real is not None:
            answer, _ = self.real.call_sandbox_api(url, code, stdin, timeout, timeout, LIMITS_MB)
            return answer if isinstance(answer, dict) else None
        body = {
            "compile_timeout": timeout, "run_timeout": timeout, "code": code, "stdin": stdin,
            "memory_limit_MB": LIMITS_MB, "language": "python", "files": {}, "fetch_files": [],
        }  # fmt: skip
        for attempt in range(3):
            status, content = post(url, json.dumps(body).encode(), 2 * timeout + 10)
            if status == 200:
                return dict(json.loads(content))
            if status != 504:
                return None
            time.sleep(attempt + 1)
        return None


def client_of(verl: Path, packages: Path | None) -> ModuleType:
    """verl's ``sandbox_fusion/utils.py``, alone."""
    if packages is not None:
        sys.path.append(str(packages))
    path = verl / "verl/utils/reward_score/sandbox_fusion/utils.py"
    spec = importlib.util.spec_from_file_location("verl_sandbox_fusion", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.logger.disabled = True
    return module


def post(url: str, body: bytes, timeout_s: float) -> tuple[int, bytes]:
    """Status and body of one request on a connection of its own; 0 where there was no answer."""
    address, _, path = url.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(address, timeout=timeout_s)
    try:
        connection.request(
            "POST", f"/{path}", body, {"Content-Type": "application/json", "Accept": "application/json"}
        )
        response = connection.getresponse()
        return response.status, response.read()
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()


class Soak:
    """A load, and what is counted of it; memory does not grow with the number of requests.

    The service is restarted after a twentieth of the requests, without a pause of the load. After a tenth the load
    pauses once: what the service holds open then, it may hold open at the end.
    """

    def __init__(self, service: Service, client: Client, options: argparse.Namespace) -> None:
        self.service, self.client = service, client
        self.planned = self.total = options.requests
        """How many are to be sent; the latter is lower once the soak was told to end."""
        self.connections, self.kill_every, self.mix = options.connections, options.kill_every, kinds()
        self.counts: Counter[str] = Counter()
        """Of what was sent and done."""
        self.failed: Counter[str] = Counter()
        self.faults: list[str] = []
        self.opened = 0
        self.restart_s = 0.0
        self.longest_s = 0.0
        self._sent, self._busy, self._paused = 0, 0, False
        self._chance = random.Random(21)
        self._turn = threading.Condition()
        self._memory: dict[int, list[int]] = {}

    def run(self) -> None:
        """Send everything; meanwhile restart the service, measure its memory, and say how far it is."""
        self.warm()
        threads = [threading.Thread(target=self._send) for _ in range(self.connections)]
        for thread in threads:
            thread.start()
        signal.signal(signal.SIGINT, lambda *_: setattr(self, "total", min(self.total, self._sent)))
        told, told_sent = time.monotonic(), 0
        while any(thread.is_alive() for thread in threads):
            time.sleep(0.5)
            if self._sent >= self.planned // 20 and not self.counts["restarts"]:
                self.restart_s = self.service.restart()
                with self._turn:
                    self.counts["restarts"] += 1
                    self._turn.notify_all()
            self._measure()
            now, sent = time.monotonic(), self._sent
            if now - told >= PROGRESS_S:
                self._tell((sent - told_sent) / (now - told))
                told, told_sent = now, sent

    def warm(self) -> None:
        """Every program once, alone, and then some at once that wait, so that every worker has started, anew where
        it was killed: short ones leave some of the workers idle."""
        for kind in self.mix:
            if problem := self.check(kind, 1):
                raise SystemExit(f"alone already {': '.join(problem)}")
        with ThreadPoolExecutor(self.connections) as threads:
            list(threads.map(lambda number: self.check(WAITING, number), range(4 * self.connections)))

    def _measure(self) -> None:
        if self.counts["restarts"] and not self._paused:
            held = self._memory.setdefault(self._sent * 100 // self.planned, [])
            held.append(resident_bytes(self.service.pid))
            del held[:-200]

    def _tell(self, rate: float) -> None:
        failed = ", ".join(f"{count} {name}" for name, count in self.failed.items() if count) or "nothing at fault"
        held, load = resident_bytes(self.service.pid) / 1e6, os.getloadavg()[0]
        print(f"{self._sent:8} sent, {rate:4.0f}/s, {held:5.0f} MB, load {load:.1f}: {failed}", flush=True)

    def _next(self) -> int | None:
        with self._turn:
            if self._sent == self.planned // 10 and not self.opened:
                self._pause()
            if self._sent >= self.total:
                return None
            number, self._sent = self._sent, self._sent + 1
            self._busy += 1
            if number % self.kill_every == self.kill_every - 1:
                self._kill()
            return number

    def _pause(self) -> None:
        """Let what is under way end, and note what the service then holds open."""
        self._turn.wait_for(lambda: not self._busy and self.counts["restarts"])
        if not self.opened:
            self._paused = True
            self.warm()
            self.opened = self.service.settled()
            self._paused = False

    def _kill(self) -> None:
        below = descendants(self.service.pid)
        if below:
            victim = self._chance.choice(below)
            try:
                os.kill(victim, 9)
                self.counts["killed"] += 1
            except ProcessLookupError:
                pass

    def _send(self) -> None:
        chance = random.Random(secrets.randbits(64))
        while (number := self._next()) is not None:
            began = time.monotonic()
            try:
                self._one(number, chance)
            except Exception as error:  # a fault of the load must be seen, and must not end it
                self._fault("lost", f"{type(error).__name__}: {error}")
            finally:
                took_s = time.monotonic() - began
                with self._turn:
                    self.failed["late"] += took_s > LATE_S
                    self.longest_s = max(self.longest_s, took_s)
                    self._busy -= 1
                    self._turn.notify_all()

    def _one(self, number: int, chance: random.Random) -> None:
        if chance.random() < BODIES_SHARE:
            status, _ = post(self.service.url, chance.choice(MALFORMED_BODIES), LATE_S)
            self.counts["malformed"] += 1
            if not 400 <= status < 500:
                self._fault("lost" if not status else "wrong", f"a malformed request got {status}")
            return
        kind = chance.choices(self.mix, [each.share for each in self.mix])[0]
        self.counts[kind.name] += 1
        if problem := self.check(kind, number):
            self._fault(*problem)

    def check(self, kind: Kind, number: int) -> tuple[str, str] | None:
        """What is wrong with the answer to a program, if anything."""
        nonce = f"nonce-{secrets.token_hex(8)}"
        code = f"{kind.code}\n# completion {number // CASES}"
        answer = self.client.run(self.service.url, code, f"{nonce}\n{kind.given(number)}", kind.run_timeout)
        if answer is None:
            return "lost", f"no answer to a {kind.name} program"
        ran = answer.get("run_result") or {}
        printed = f"{ran.get('stdout') or ''}{ran.get('stderr') or ''}"
        if set(NONCE.findall(printed)) - {nonce}:
            return "crossed", f"a {kind.name} program's output holds another's nonce"
        if answer["status"] == "SandboxError":
            return "grader errors", f"{kind.name}: {answer.get('message', '')[:200]}"
        if kind.printed is not None and ran.get("stdout") != f"{nonce}\n{kind.printed(number)}":
            shown = f"{str(ran.get('stdout'))[:80]!r}, {str(ran.get('stderr'))[-200:]!r}"
            return "wrong", f"a {kind.name} program was {ran.get('status')} and printed {shown}"
        if kind.status not in {"", answer["status"]}:
            return "wrong", f"a {kind.name} program was {answer['status']}: {printed[:80]!r}"
        return None

    def _fault(self, kind: str, words: str) -> None:
        with self._turn:
            self.failed[kind] += 1
            if len(self.faults) < 20:
                self.faults.append(f"{self._sent} sent: {kind}: {words}")

    def memory_mb(self) -> dict[int, float]:
        """Median of each tenth of what was sent."""
        tenths: dict[int, list[int]] = {}
        for percent, held in sorted(self._memory.items()):
            tenths.setdefault(min(9, percent * self.planned // (10 * self.total)), []).extend(held)
        return {tenth: statistics.median(held) / 1e6 for tenth, held in tenths.items()}

    def growth(self) -> float:
        """Memory of the last tenth, as a share of the second's, or of a later one that is the first measured."""
        found = self.memory_mb()
        first = next((held for tenth, held in found.items() if tenth), None)
        return found[9] / first if first and 9 in found else 1.0


FAULTS = ("lost", "wrong", "crossed", "late", "grader errors")


def soak(options: argparse.Namespace) -> bool:
    """Run and print; whether nothing was at fault."""
    client = Client(options.verl, options.packages)
    with tempfile.TemporaryDirectory() as folder:
        with Service(options.workers, Path(folder)) as service:
            load = Soak(service, client, options)
            began = time.monotonic()
            load.run()
            wall_s = time.monotonic() - began
            load.warm()
            opened = service.settled() - load.opened if load.opened else 0
        left = left_over()
        files = sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*"))
    found = {
        "client": "verl" if client.real else "plain",
        "requests": load.total, "connections": options.connections, "sent": dict(load.counts),
        "faults": {name: load.failed[name] for name in FAULTS}, "said": load.faults,
        "wall_s": round(wall_s), "requests_per_s": round(load.total / wall_s, 1),
        "restart_s": round(load.restart_s, 1), "longest_s": round(load.longest_s, 1),
        "processes_left": left, "files_left": files[:10], "descriptors_left": opened,
        "memory_mb_of_tenths": {tenth: round(held, 1) for tenth, held in load.memory_mb().items()},
        "memory_growth": round(load.growth(), 3), "load_average": os.getloadavg(),
    }  # fmt: skip
    words = json.dumps(found, indent=2)
    if options.out is not None:
        options.out.write_text(words + "\n")
    print(words)
    return not (load.failed.total() or left or files or opened > 0 or load.growth() > MOST_GROWTH)
