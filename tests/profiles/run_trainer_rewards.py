"""The trainers' own code on the rows of `trainer_corpus`, beside the profiles that follow it.

    python tests/profiles/run_trainer_rewards.py --peers FOLDER [--only NAME...] [--out FILE]

``--peers`` holds the repositories as `python -m bench assay_rewards` takes them, each at the commit that it names.
The code runs in the jail, by the calls of `bench/reward_adapters.py`. Prints rows, equal rows and each that
differs; writes the trainers' scores, which the suite compares with where there are no checkouts, to FILE.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import mkdtemp

from profile_rows import completion
from trainer_corpus import TRAINERS, Row, Rows

from truegrade.apps.assay.records import Dispatch, Probe
from truegrade.apps.assay.targets.opening import open_target
from truegrade.profiles import open_profile
from truegrade.sandbox import Sandbox

sys.path.insert(0, str(Path(__file__).parents[2]))
from bench.assay_rewards import ADAPTERS, PACKAGES, REWARDS, prepare

GOLDEN = Path(__file__).with_name("golden_trainer_rewards.json")
FULL = 0.999
BY_NAME = {reward.name: reward for reward in REWARDS}


def name(rows: Rows) -> str:
    """Of one comparison."""
    return f"{rows.profile} {rows.tests_as}"


def scores(rows: Rows, chosen: Sequence[Row], peers: Path) -> dict[str, float]:
    """What the trainer's code pays for rows, by their key; None is said where it raised or died."""
    sources = Path(mkdtemp(prefix="trainer-rewards-"))
    prepare(peers, [BY_NAME[rows.reward]], sources)
    target = open_target(
        f"{sources / ADAPTERS.name}:{rows.function}", call="verl", tests_as=rows.tests_as, packages=PACKAGES,
        workers=1, timeout_s=120.0,
    )  # fmt: skip
    sent = [
        Dispatch(
            probe=Probe(id=row.key, problem_id=row.problem.id, kind="stub", origin="row", code=row.reply,
                        form="reply", label="wrong"),
            problem=row.problem,
        )
        for row in chosen
    ]  # fmt: skip
    try:
        said = list(target.grade(sent))
    finally:
        target.close()
    return {row.key: round(one.score or 0.0, 4) for row, one in zip(chosen, said, strict=True)}


def ours(rows: Rows, chosen: Sequence[Row]) -> dict[str, str]:
    """The reason of the profile's verdict, by row."""
    profile = open_profile(rows.profile)
    with Sandbox(profile.limits, workers=1) as sandbox:

        def judge(row: Row) -> str:
            answer = profile.answer(row.problem, completion(row.reply))
            if answer.value is None:
                return str(answer.reason)
            return profile.judgement(row.problem, answer, sandbox).reason.value

        return {row.key: judge(row) for row in chosen}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path, required=True)
    parser.add_argument("--only", nargs="+", default=[name(rows) for rows in TRAINERS])
    parser.add_argument("--out", type=Path, default=GOLDEN)
    options = parser.parse_args()
    stored = json.loads(options.out.read_text()) if options.out.exists() else {}
    differing = 0
    for rows in (one for one in TRAINERS if name(one) in options.only):
        began = time.monotonic()
        with ThreadPoolExecutor(1) as threads:
            asked = threads.submit(scores, rows, rows.rows, options.peers)
            found = ours(rows, rows.rows)
            theirs = asked.result()
        stored[name(rows)] = theirs
        options.out.write_text(dumped(stored))
        distinct = {row.key: row for row in rows.rows}
        differ = [row for key, row in distinct.items() if (found[key] == "passed") != (theirs[key] >= FULL)]
        full = sum(score >= FULL for score in theirs.values())
        print(f"{name(rows):32}{len(distinct):6}{len(distinct) - len(differ):6} equal {full:5} paid in full"
              f"{time.monotonic() - began:7.0f} s", flush=True)  # fmt: skip
        for row in differ:
            print(f"    {row.key} ours {found[row.key]}, theirs {theirs[row.key]}\n        {row.reply!r:.400}")
        differing += len(differ)
    return 1 if differing else 0


def dumped(stored: dict[str, dict[str, float]]) -> str:
    """One line a comparison."""
    lines = [f"{json.dumps(key)}: {json.dumps(stored[key], separators=(',', ':'))}" for key in sorted(stored)]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    sys.exit(main())
