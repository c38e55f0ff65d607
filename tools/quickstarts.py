"""Follows every section of the quickstart from a fresh clone, setup included: `make quickstarts [PART=NAME]`.

A ``bash`` block above the sections or in one is its setup, whose ``git clone`` takes this checkout; a ``shell``
block runs in the clone itself. Prints the seconds of setup and section for each, or for those named like NAME.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence

from tools.tutorials import QUICKSTART, ROOT, Part, agrees, followed, named, run

CLONE = ROOT / "build" / "quickstart"
_SETUP = re.compile(r"^```bash\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_IN_CLONE = re.compile(r"^```shell\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def set_up(part: Part) -> float:
    """Do what the page and this section of it say first, in `CLONE`; seconds taken."""
    began = time.monotonic()
    shutil.rmtree(CLONE, ignore_errors=True)
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(CLONE)], check=True)
    above = QUICKSTART.read_text().partition("\n## ")[0]
    lines = [line for block in _SETUP.findall(above + part.text) for line in block.splitlines()]
    script = "\n".join(line for line in lines if not line.startswith(("git clone", "cd ")))
    subprocess.run(["bash", "-e", "-c", script], cwd=CLONE, check=True)
    return time.monotonic() - began


def follow(part: Part) -> tuple[float, bool]:
    """Run a section in the clone: seconds, and whether it printed what it says."""
    folder = CLONE / "build" / part.name
    folder.mkdir(parents=True)
    began = time.monotonic()
    right = True
    for step in run(part.text, folder, CLONE / ".venv" / "bin"):
        if not agrees(step):
            right = False
            print("\n".join([f"{part.name}: {step.shown} prints something else:", *step.printed]))
    for text in _IN_CLONE.findall(part.text):
        subprocess.run(["bash", "-e", "-c", text], cwd=CLONE, check=True)
    return time.monotonic() - began, right


def main(words: Sequence[str]) -> int:
    """Follow the sections, each from a clone of its own; 1 if one printed something else than it says."""
    results = []
    for part in named(words, [part for part in followed() if part.page == QUICKSTART]):
        set_up_s = set_up(part)
        seconds, right = follow(part)
        results.append(right)
        print(f"{part.name}: {set_up_s:.0f} s of setup, {seconds:.0f} s of the section", flush=True)
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
