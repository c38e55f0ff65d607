"""Rewards from inside the trainers' own code: ``python -m tools.trainers --peers FOLDER [TRAINER ...]``.

Each file of ``tests/apps/rewards/trainers`` has a process of its own, since two checkouts' packages may clash.
What was not run is said last, with the reason. Exit code 1 where a test fails, or where a trainer that is
named was not run; without names, those are run whose checkouts are there.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
FILES = {
    path.stem.removeprefix("test_").removesuffix("_reward"): path
    for path in sorted((ROOT / "tests" / "apps" / "rewards" / "trainers").glob("test_*.py"))
}
"""Trainer -> its tests."""


def not_run(report: Path) -> list[str]:
    """Why tests of a report in JUnit's format were skipped, each reason once; said too where there were none."""
    cases = ElementTree.parse(report).getroot().findall(".//testcase")
    reasons = dict.fromkeys(told.get("message", "").strip() for case in cases for told in case.findall("skipped"))
    return list(reasons) if cases else ["no test was collected"]


def main() -> None:
    """Run them one after another."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", type=Path, required=True)
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    parser.add_argument("trainers", nargs="*", metavar="TRAINER", help=", ".join(FILES))
    asked = parser.parse_args()
    if unknown := [name for name in asked.trainers if name not in FILES]:
        parser.error(f"no trainer {', '.join(unknown)}; known: {', '.join(FILES)}")
    if not asked.peers.is_dir():
        parser.error(f"--peers {asked.peers}: no such folder")
    failed, left_out = [], {}
    for name in asked.trainers or FILES:
        # open-r1 wants a TRL of its time.
        packages = [ROOT / "build" / "trainers" / "open_r1"] if name == "open_r1" else []
        path = os.pathsep.join(map(str, [*packages, ROOT / "src"]))
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.xml"
            done = subprocess.run(
                [asked.python, "-m", "pytest", "-W", "ignore", f"--junitxml={report}", FILES[name]],
                cwd=ROOT, env=os.environ | {"TRUEGRADE_PEERS": str(asked.peers.resolve()), "PYTHONPATH": path},
                check=False,
            )  # fmt: skip
            if done.returncode not in (0, 5):
                failed.append(name)
            if report.is_file() and (reasons := not_run(report)):
                left_out[name] = "; ".join(reasons)
    for name, why in left_out.items():
        print(f"not run, or not all of it: {name}: {why}")
    ran = [name for name in asked.trainers or FILES if name not in left_out]
    print(f"failed: {', '.join(failed)}" if failed else f"ran whole: {', '.join(ran) or 'none'}")
    sys.exit(bool(failed or (asked.trainers and left_out)))


if __name__ == "__main__":
    main()
