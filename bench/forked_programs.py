"""Contest programs by themselves, a fork of a warm interpreter a test: the least that a process a test takes.

No jail and no limit. A program's tests end at the first whose words, or whose value, are not the expected ones.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Run = tuple[str, str | None, Sequence[str], Sequence[str]]
"""A program, its function's name or None for one that reads standard input, its inputs and expected outputs."""


def measured(preamble: str, runs: Sequence[Run], workers: int) -> tuple[float, float]:
    """CPU seconds of the processes, and wall seconds; of both without starting the interpreters.

    Args:
        preamble: what every program may use; it runs once in each interpreter.
        runs: what to run.
        workers: interpreters that fork beside each other.
    """
    start, whole = (_once(preamble, these, workers) for these in ([], runs))
    return whole[0] - start[0], whole[1] - start[1]


def _once(preamble: str, runs: Sequence[Run], workers: int) -> tuple[float, float]:
    import subprocess  # nothing of this where it forks: every module is more to copy
    import tempfile
    import time
    from concurrent.futures import ThreadPoolExecutor

    from bench.rounds import ended_cpu_s

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as pool:
        Path(folder, "preamble.py").write_text(preamble)
        for number, run in enumerate(runs):
            Path(folder, f"{number}.json").write_text(json.dumps(run))

        def share(first: int) -> None:
            command = [sys.executable, "-S", __file__, folder, str(first), str(workers)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        began, used = time.perf_counter(), ended_cpu_s()
        list(pool.map(share, range(workers)))
        return ended_cpu_s() - used, time.perf_counter() - began


def main() -> None:
    """Run every so manyth of a folder's programs."""
    folder, first, workers = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile((folder / "preamble.py").read_text(), "<preamble>", "exec", dont_inherit=True), names)
    gc.collect()
    gc.freeze()
    number = first
    while (file := folder / f"{number}.json").exists():  # one at a time: a fork copies what its parent holds
        code, function, inputs, outputs = json.loads(file.read_text())
        number += workers
        try:
            program = compile(code, "<program>", "exec", dont_inherit=True)
        except SyntaxError:
            continue
        for given, expected in zip(inputs, outputs, strict=True):
            printed = _fork(program, function, given, names)
            if printed is None or _read(printed, function) != _read(expected, function):
                break


def _read(text: str, function: str | None) -> Any:
    try:
        return text.split() if function is None else json.loads(text)
    except ValueError:  # a function that prints
        return text


def _fork(program: Any, function: str | None, given: str, names: dict[str, Any]) -> str | None:
    """What the program prints, or its function returns as JSON; None if it fails."""
    read, write = os.memfd_create("given"), os.memfd_create("printed")
    os.write(read, given.encode())
    os.lseek(read, 0, os.SEEK_SET)
    pid = os.fork()
    if pid:
        _, status = os.waitpid(pid, 0)
        printed = os.pread(write, os.fstat(write).st_size, 0)
        os.close(read)
        os.close(write)
        return None if status else printed.decode()
    os.dup2(read, 0)
    os.dup2(write, 1)
    try:
        exec(program, names)
        if function is not None:
            called = getattr(names["Solution"](), function) if "Solution" in names else names[function]
            print(json.dumps(called(*map(json.loads, given.split("\n")))))
        sys.stdout.flush()
    except SystemExit as error:
        sys.stdout.flush()
        os._exit(1 if error.code else 0)
    except BaseException:  # a program that fails is one that fails
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main()
