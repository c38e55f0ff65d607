"""Hands mutated frames, values, replies, import files and live answers to what reads them: `make fuzz`.

Input N of a target is drawn from the seed, the target and N alone: the stored inputs as they are, then
mutations of them and inputs made anew. Each target runs in a process of its own with bounded memory, so that a
crash or a hang loses nothing: what it was reading is drawn again. A fault is an exception that the target does
not allow, lack of memory, or more CPU time than `CPU_S`; its input is written to `WRITTEN`, once for each place
that raised it.
"""

from __future__ import annotations

import argparse
import base64
import faulthandler
import mmap
import os
import random
import resource
import shlex
import signal
import sys
import time
import traceback
import zlib
from pathlib import Path

import fuzz_target
import fuzz_text
import fuzz_wire

ROOT = Path(__file__).parents[2]
CORPUS = Path(__file__).with_name("corpus")
WRITTEN = ROOT / "build" / "fuzz"
TARGETS: dict[str, fuzz_target.Target] = {
    "frames": fuzz_wire.FRAMES,
    "values": fuzz_wire.VALUES,
    "replies": fuzz_text.REPLIES,
    "imports": fuzz_text.IMPORTS,
    "jail": fuzz_wire.JAIL,
}
SEED = 16
"""Drawn from unless another is asked for: the same inputs on every machine, as many as it has time for."""
CPU_S = 10.0
"""CPU seconds that one input may take."""
HANG_S = 120
"""Wall seconds after which a process that still reads the same input is ended."""
MEMORY_BYTES = 300 << 20
"""Address space that reading may take beyond what the process has when it begins."""
FOUND = 3
"""Exit code of a process that found a fault and says so itself; the alarm ends one by its signal."""


def stored(path: Path) -> bytes:
    """The input in a file of the corpus; ``.b64`` files hold it as base64."""
    return base64.b64decode(path.read_bytes()) if path.suffix == ".b64" else path.read_bytes()


def drawn(name: str, seed: int, number: int) -> bytes:
    """An input of a target by its number; the first are the stored ones."""
    paths = sorted((CORPUS / name).iterdir())
    if number < len(paths):
        return stored(paths[number])
    rng = random.Random(f"{seed} {name} {number}")
    return fuzz_target.drawn(rng, TARGETS[name], [stored(path) for path in paths])


def tried(name: str, data: bytes) -> None:
    """Read one input; raises what is wrong with how it was read."""
    signal.alarm(HANG_S)
    began = time.process_time()
    try:
        TARGETS[name].read(data)
    finally:
        signal.alarm(0)
    used_s = time.process_time() - began
    if used_s > CPU_S:
        raise TimeoutError(f"{used_s:.1f} CPU seconds for {len(data)} bytes")


def place(error: BaseException) -> str:
    """What was raised, and the last line of Truegrade on the way to it."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/src/truegrade/" in frame.filename] or frames
    return f"{type(error).__name__} at {Path(own[-1].filename).name}:{own[-1].lineno}"


def report(name: str, data: bytes, words: str) -> None:
    """Keep an input and say how to try it again."""
    WRITTEN.mkdir(parents=True, exist_ok=True)
    path = WRITTEN / f"{name}-{zlib.crc32(data):08x}"
    path.write_bytes(data)
    again = shlex.join([sys.executable, str(Path(__file__)), "--replay", name, str(path)])
    print(f"{name}: {words[:300]}\n    {again}", flush=True)


def ready(name: str) -> None:
    """Have a target load what it needs, and let allocation fail beyond `MEMORY_BYTES` from here on.

    The alarm writes where the process hangs, then ends it. A thread could not watch: one that begins while
    `tracemalloc.start` exchanges the allocators ends CPython 3.11 with a segmentation fault now and then.
    """
    faulthandler.register(signal.SIGALRM, chain=True)
    TARGETS[name].read(b"")
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def worked(name: str, seed: int, seconds: float, number: mmap.mmap) -> int:
    """Try the stored inputs, then others for a time; `FOUND` if one of them was a fault."""
    places, count, fewest = set(), 0, len(list((CORPUS / name).iterdir()))
    with fuzz_target.OPENED:
        ready(name)
        began = end = time.monotonic()
        while count < fewest or time.monotonic() < end:
            number[:8] = count.to_bytes(8, "little")
            data = drawn(name, seed, count)
            try:
                tried(name, data)
            except Exception as error:
                if (where := place(error)) not in places:
                    places.add(where)
                    report(name, data, f"{where}: {error}")
            count += 1
            if count == fewest:
                end = time.monotonic() + seconds
    spent_s = time.monotonic() - began
    rate = f"{count} inputs in {spent_s:.1f} s, {count / spent_s:.0f} a second"
    print(f"{name}: {rate}; seed {seed}; {len(places)} faults", flush=True)
    return FOUND if places else 0


def fuzzed(name: str, seed: int, seconds: float) -> bool:
    """Whether a target took every input of its time."""
    number = mmap.mmap(-1, 8)
    if (child := os.fork()) == 0:
        code = 70
        try:
            code = worked(name, seed, seconds, number)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code not in (0, FOUND):
        data = drawn(name, seed, int.from_bytes(number[:8], "little"))
        limit = f"{-signal.SIGALRM} after {HANG_S} s"
        report(name, data, f"the process ended with {code}: by a signal if negative, {limit}")
    return code == 0


def main() -> int:
    """Run the targets one after the other; 1 if any input was a fault."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="for all targets together; 0: stored inputs only"
    )
    parser.add_argument("--seed", default=str(SEED), help="a number, or `random`")
    parser.add_argument("--target", action="append", choices=list(TARGETS), help="only this one; may be repeated")
    parser.add_argument(
        "--replay", nargs=2, metavar=("TARGET", "FILE"), help="read one file and show what is raised"
    )
    given = parser.parse_args()
    if given.replay:
        name, file = given.replay
        with fuzz_target.OPENED:
            ready(name)
            tried(name, stored(Path(file)))
        return 0
    seed = random.SystemRandom().randrange(2**32) if given.seed == "random" else int(given.seed)
    names = given.target or list(TARGETS)
    right = [fuzzed(name, seed, given.seconds / len(names)) for name in names]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
