"""How fast, and in how much memory, `truegrade grade --as strict` streams predicted outputs.

    python -m bench grade_replies [--replies 100000] [--rounds 1]

No program runs: what is measured is reading, extraction, comparison and the journal. The replies are drawn for
1,000 problems; a tenth of them is graded too, so that what grows with their number shows. Beside it stand decoding
the rows and parsing their answers alone; and the floor of the command, which besides writes and reads the same
records with their checksums, and has neither rules of extraction nor a report.
"""

from __future__ import annotations

import ast
import json
import random
import resource
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import IO, Any

import msgspec

from bench.rounds import command, compare, parser, table
from truegrade.files.json_text import checksum_fits, with_checksum

PROBLEMS = 1_000
MIB = 1024
"""Of what the kernel counts in KiB."""


def write_problems(path: Path, rng: random.Random) -> list[tuple[str, str]]:
    """Calls and what they return."""
    asked = []
    with path.open("w") as file:
        for number in range(PROBLEMS):
            values = [rng.randrange(100) for _ in range(rng.randrange(1, 12))]
            output = repr([value + number for value in values])
            asked.append((f"f({values!r})", output))
            row = {
                "id": f"p{number}",
                "function_name": "f",
                "code": f"def f(xs):\n    return [x + {number} for x in xs]\n",
                "input": f"f({values!r})",
                "output": output,
            }
            file.write(json.dumps(row) + "\n")
    return asked


def write_replies(path: Path, asked: list[tuple[str, str]], amount: int, rng: random.Random) -> None:
    """Literals and assertions in turn, as files of this format hold them."""
    with path.open("w") as file:
        for index in range(amount):
            number = index % PROBLEMS
            call, output = asked[number]
            answer = output if rng.random() < 0.4 else repr([rng.randrange(200)])
            reply = f"assert {call} == {answer}" if index % 2 else answer
            row = {"problem_id": f"p{number}", "generated_code": reply, "success": True, "latency_ms": 1.0}
            file.write(json.dumps(row) + "\n")


def parse_all(path: Path, asked: list[tuple[str, str]]) -> None:
    """Decode every row, and parse what is compared."""
    with path.open("rb") as file:
        for index, line in enumerate(file):
            text = json.loads(line)["generated_code"]
            ast.literal_eval(text.rpartition("== ")[2])
            ast.literal_eval(asked[index % PROBLEMS][1])


def write_all(path: Path, asked: list[tuple[str, str]], like: Path) -> None:
    """Take in every row, compare its answer, and count: with records like those of a graded run of one reply."""
    decode, encode = msgspec.json.Decoder().decode, msgspec.json.encode
    kept = like / "completions.jsonl", next(like.glob("verdicts.*.jsonl"))
    completion, verdict = (decode(file.read_bytes()) for file in kept)
    del completion["crc32"], verdict["crc32"]

    def write(file: IO[bytes], record: dict[str, Any], **changed: object) -> None:
        record.update(changed)
        file.write(with_checksum(encode(record)))

    def read(file: Path) -> Iterator[dict[str, Any]]:
        with file.open("rb") as lines:
            for line in lines:
                checksum_fits(line)
                yield decode(line)

    taken_in, judged = path.with_suffix(".taken"), path.with_suffix(".judged")
    with path.open("rb") as rows, taken_in.open("wb") as file:
        for row in map(decode, rows):
            write(file, completion, problem_id=row["problem_id"], text=row["generated_code"])
    with judged.open("wb") as file:
        for index, held in enumerate(read(taken_in)):
            got = ast.literal_eval(held["text"].rpartition("== ")[2])
            passed = got == ast.literal_eval(asked[index % PROBLEMS][1])
            write(file, verdict, problem_id=held["problem_id"], answer=held["text"], passed=passed)
    Counter(each["passed"] for each in read(judged))


def main() -> None:
    """Measure and print."""
    given = parser(__doc__, rounds=1, workers=None)
    given.add_argument("--replies", type=int, default=100_000)
    options = given.parse_args()
    rng, turns = random.Random(0), count()
    with tempfile.TemporaryDirectory() as name, table():
        folder = Path(name)
        asked = write_problems(folder / "problems.jsonl", rng)
        words = ("--benchmark", "execution-prediction", "--data", folder / "problems.jsonl", "--out")
        write_replies(folder / "one.jsonl", asked, 1, rng)
        command("grade", folder / "one.jsonl", *words, like := folder / "like")
        for amount in (max(1, options.replies // 10), options.replies):
            file = folder / f"{amount}.jsonl"
            write_replies(file, asked, amount, rng)
            ways = {
                "grade": lambda file=file: command("grade", file, *words, folder / f"run-{next(turns)}"),
                "decoding and parsing": lambda file=file: parse_all(file, asked),
                "floor": lambda file=file: write_all(file, asked, like),
            }
            compare(f"{amount:,} replies", ways, options.rounds, amount=amount, warm=False)
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / MIB
            print(f"largest process so far: {peak:,.0f} MiB")
