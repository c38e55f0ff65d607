"""LeetCodeDataset's command ``eval_lcd``: its `evaluate`, on a file of problems and one of replies."""

import json
import os
import sys
import types
from pathlib import Path

REPOSITORY = Path(sys.argv[1]) / "newfacade+LeetCodeDataset"


def prepare():
    """Its module; what it imports for downloads, its command line and a bar of progress does nothing here."""
    for name in ("tempdir", "wget", "fire", "tqdm", "appdirs"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["appdirs"].user_cache_dir = lambda name: name
    sys.modules["tqdm"].tqdm = lambda rows, **_: rows
    sys.path.insert(0, str(REPOSITORY))
    from eval_lcd import evaluate

    return evaluate


def main():
    request = json.load(sys.stdin)
    evaluate = prepare()
    folder = Path(os.environ["SCRATCH"])
    problems, replies = folder / "problems.jsonl", folder / "replies.jsonl"
    problems.write_text("".join(json.dumps(row) + "\n" for row in request["rows"]))
    replies.write_text("".join(json.dumps(sample) + "\n" for sample in request["samples"]))
    evaluate.get_problem_file = lambda version, split: str(problems)
    evaluate.evaluate(str(replies), predict_column="reply", k="1")
    results = folder / "replies_sample.jsonl_results.jsonl"
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    answers = [{"program": row["completion"], "passed": row["passed"], "result": row["result"]} for row in rows]
    print(json.dumps({"answers": answers}))


if __name__ == "__main__":
    main()
