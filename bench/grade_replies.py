"""How fast, and in how much memory, `truegrade grade --as strict` streams predicted outputs.

    python -m bench grade_replies [--replies 100000] [--rounds 1]

No program runs: what is measured is reading, extraction, comparison and the journal. The replies are drawn for
1,000 problems; a tenth of them is graded too, so that what grows with their number shows. Beside it stand decoding
the rows and parsing their answers alone.
"""

from __future__ import annotations

import ast
import json
import random
import resource
import tempfile
from itertools import count
from pathlib import Path

from bench.rounds import command, compare, parser, table

PROBLEMS = 1_000
MIB = 1024
"""Of what the kernel counts in KiB."""


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


def write_replies(path: Path, outputs: list[str], amount: int, rng: random.Random) -> None:
    with path.open("w") as file:
        for index in range(amount):
            number = index % PROBLEMS
            answer = outputs[number] if rng.random() < 0.4 else repr([rng.randrange(200)])
            reply = f"Step by step: the list is mapped.\n[ANSWER]\nassert f(...) == {answer}\n[/ANSWER]"
            row = {"problem_id": f"p{number}", "generated_code": reply, "success": True, "latency_ms": 1.0}
            file.write(json.dumps(row) + "\n")


def parse_all(path: Path, outputs: list[str]) -> None:
    """Decode every row, and parse what is compared."""
    with path.open("rb") as file:
        for index, line in enumerate(file):
            text = json.loads(line)["generated_code"]
            ast.literal_eval(text[text.index("== ") + 3 : text.index("\n[/ANSWER]")])
            ast.literal_eval(outputs[index % PROBLEMS])


def main() -> None:
    """Measure and print."""
    given = parser(__doc__, rounds=1, workers=None)
    given.add_argument("--replies", type=int, default=100_000)
    asked = given.parse_args()
    rng, turns = random.Random(0), count()
    with tempfile.TemporaryDirectory() as name, table():
        folder = Path(name)
        outputs = write_problems(folder / "problems.jsonl", rng)
        words = ("--benchmark", "execution-prediction", "--data", folder / "problems.jsonl", "--out")
        for amount in (max(1, asked.replies // 10), asked.replies):
            file = folder / f"{amount}.jsonl"
            write_replies(file, outputs, amount, rng)
            ways = {
                "grade": lambda file=file: command("grade", file, *words, folder / f"run-{next(turns)}"),
                "decoding and parsing": lambda file=file: parse_all(file, outputs),
            }
            compare(f"{amount:,} replies", ways, asked.rounds, amount=amount, warm=False)
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / MIB
            print(f"largest process so far: {peak:,.0f} MiB")
