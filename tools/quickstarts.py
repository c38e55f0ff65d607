"""Follows every quickstart page from a fresh clone, its setup included: `make quickstarts`.

A ``bash`` block is the setup, whose ``git clone`` takes this checkout; a ``shell`` block runs in the clone itself.
Prints the seconds of setup and page for each.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tools.tutorials import QUICKSTARTS, ROOT, agrees, run

CLONE = ROOT / "build" / "quickstart"
_SETUP = re.compile(r"^```bash\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_IN_CLONE = re.compile(r"^```shell\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def set_up(page: Path) -> float:
    """Do what a page says first, in `CLONE`; seconds taken."""
    began = time.monotonic()
    shutil.rmtree(CLONE, ignore_errors=True)
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(CLONE)], check=True)
    lines = [line for line in _setup_of(page) if not line.startswith(("git clone", "cd "))]
    subprocess.run(["bash", "-e", "-c", "\n".join(lines)], cwd=CLONE, check=True)
    return time.monotonic() - began


def _setup_of(page: Path) -> list[str]:
    return [line for text in _SETUP.findall(page.read_text()) for line in text.splitlines()]


def follow(page: Path) -> tuple[float, bool]:
    """Run a page in the clone: seconds, and whether it printed what it says."""
    folder = CLONE / "build" / page.stem
    folder.mkdir(parents=True)
    began = time.monotonic()
    right = True
    for step in run(page, folder, CLONE / ".venv" / "bin"):
        if not agrees(step):
            right = False
            print("\n".join([f"{page.name}: {step.shown} prints something else:", *step.printed]))
    for text in _IN_CLONE.findall(page.read_text()):
        subprocess.run(["bash", "-e", "-c", text], cwd=CLONE, check=True)
    return time.monotonic() - began, right


def main() -> int:
    """Follow all pages, each from a clone of its own; 1 if one printed something else than it says."""
    results = []
    for page in sorted(QUICKSTARTS.glob("*.md")):
        set_up_s = set_up(page)
        seconds, right = follow(page)
        results.append(right)
        print(f"{page.stem}: {set_up_s:.0f} s of setup, {seconds:.0f} s of the page", flush=True)
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
