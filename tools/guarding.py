"""The tests that guard what changed: ``python -m tools.guarding [COMMIT]`` prints their folders.

Which tests guard which code is the table of CONTRIBUTING.md. What changed, git says: everything since HEAD left
COMMIT (or origin/main; on it, since the commit before HEAD), and what is not committed yet.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DEFAULT = ("tests/sandbox",)
"""What guards the machine, where nothing is known about the change."""


def guards(contributing: str) -> dict[str, tuple[str, ...]]:
    """The tests of each path of the repository that the table of CONTRIBUTING.md names."""
    found: dict[str, tuple[str, ...]] = {}
    for changed, tests in re.findall(r"^\| (.*?) \| (.*`tests/.*) \|$", contributing, re.MULTILINE):
        named = tuple(re.findall(r"`(tests/[\w/.]+)`", tests))
        for path in re.findall(r"`([\w/.]+)`", changed):
            inside = f"src/truegrade/{path}"
            found[inside if (ROOT / inside).exists() else path] = named
    return found


def guarding(changed: Iterable[str], table: dict[str, tuple[str, ...]]) -> list[str]:
    """Folders and files of tests: a changed test file, the folder of what tests share, what the table names."""
    found: set[str] = set()
    for path in changed:
        folder, _, name = path.rpartition("/")
        if folder.startswith("tests/") and folder != "tests/support":
            found.add(path if name.startswith("test_") else folder)
        elif known := [prefix for prefix in table if path.startswith(prefix)]:
            found.update(table[max(known, key=len)])
    present = {path for path in found if (ROOT / path).exists()}
    return sorted(path for path in present if not any(path.startswith(f"{other}/") for other in present))


def changed_paths(commit: str | None = None) -> list[str]:
    """What differs from where HEAD left the commit, else from the one before HEAD; empty if git knows neither."""
    base = _git("merge-base", "HEAD", commit or "origin/main")
    if not base or base == _git("rev-parse", "HEAD"):
        base = _git("rev-parse", "--verify", "--quiet", "HEAD^")
    if not base:
        return []
    said = "\n".join([_git("diff", "--name-only", base), _git("ls-files", "--others", "--exclude-standard")])
    return [line for line in said.splitlines() if line]


def _git(*arguments: str) -> str:
    """What git prints, or nothing where it fails."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def main() -> None:
    """Print the folders, and on the error stream why these."""
    changed = changed_paths(*sys.argv[1:2])
    found = guarding(changed, guards((ROOT / "CONTRIBUTING.md").read_text()))
    why = f"the {len(changed)} changed files" if found else "a change of which nothing is known"
    print(f"the tests that guard {why}: {' '.join(found or DEFAULT)}", file=sys.stderr)
    print(*(found or DEFAULT))


if __name__ == "__main__":
    main()
