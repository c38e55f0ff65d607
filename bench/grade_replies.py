"""How fast, and in how much memory, `truegrade grade --as strict` streams predicted outputs.

Writes 1,000 problems and N replies of CRUXEval's kind, grades them with the command line in a process of its
own, and compares with a lower bound measured in the same run: decoding the file and parsing both literals of each
row, which no grader can leave out. Peak memory is printed for N and for N / 10: what grows with N is not streamed.

    python bench/grade_replies.py [N, default 100000]
"""

from __future__ import annotations

import ast
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROBLEMS = 1_000


def write_problems(path: Path, rng: random.Random) -> list[str]:
    outputs = []
    with path.open("w") as file:
        for number in range(PROBLEMS):
            values = [rng.randrange(100) for _ in range(rng.randrange(1, 12))]
            output = repr([value + number for value in values])
            outputs.append(output)
            row = {
                "id": f"p{number}",
                "function_name": "f",
                "code": f"def f(xs):\n    return [x + {number} for x in xs]\n",
                "input": f"f({values!r})",
                "output": output,
            }
            file.write(json.dumps(row) + "\n")
    return outputs


def write_replies(path: Path, outputs: list[str], count: int, rng: random.Random) -> None:
    with path.open("w") as file:
        for index in range(count):
            number = index % PROBLEMS
            answer = outputs[number] if rng.random() < 0.4 else repr([rng.randrange(200)])
            reply = f"Step by step: the list is mapped.\n[ANSWER]\nassert f(...) == {answer}\n[/ANSWER]"
            row = {"problem_id": f"p{number}", "generated_code": reply, "success": True, "latency_ms": 1.0}
            file.write(json.dumps(row) + "\n")


def lower_bound_s(path: Path, outputs: list[str]) -> float:
    start = time.process_time()
    with path.open("rb") as file:
        for index, line in enumerate(file):
            text = json.loads(line)["generated_code"]
            answer = text[text.index("== ") + 3 : text.index("\n[/ANSWER]")]
            ast.literal_eval(answer)
            ast.literal_eval(outputs[index % PROBLEMS])
    return time.process_time() - start


def grade(folder: Path, replies: Path) -> tuple[float, float, int]:
    """Wall seconds, CPU seconds and peak resident bytes of one grading."""
    command = [sys.executable, "-m", "truegrade", "grade", str(replies), "--benchmark", "execution-prediction"]
    command += ["--data", str(folder / "problems.jsonl"), "--out", str(folder / f"run-{replies.stem}"), "--json"]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        outputs = write_problems(folder / "problems.jsonl", rng)
        for size in (count // 10, count):
            replies = folder / f"replies{size}.jsonl"
            write_replies(replies, outputs, size, rng)
            bound = lower_bound_s(replies, outputs)
            wall, cpu, rss = grade(folder, replies)
            print(
                f"{size:>9,} replies  {size / wall:>8,.0f} rows/s  {cpu:6.2f} s CPU"
                f" ({cpu / bound:.1f} x decoding and parsing alone)  peak {rss / 2**20:,.0f} MiB"
            )


main()
