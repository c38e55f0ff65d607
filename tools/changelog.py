"""The changelog's sections: ``python -m tools.changelog [TAG]``.

Without a tag it checks that the newest section is of ``truegrade.__version__``, or of what is not released yet.
With one it checks that tag, version and newest section agree, and prints the section: the text of the release.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import truegrade

ROOT = Path(__file__).resolve().parents[1]
UNRELEASED = "Unreleased"
_HEADING = re.compile(r"^## (?P<name>Unreleased|\d+\.\d+\.\d+)(?P<date> \(\d{4}-\d{2}-\d{2}\))?$", re.MULTILINE)


def sections(changelog: str) -> dict[str, str]:
    """The text below each heading ``## Unreleased`` or ``## 1.2.3 (2026-11-23)``, newest first."""
    found = list(_HEADING.finditer(changelog))
    ends = [it.start() for it in found[1:]] + [len(changelog)] * bool(found)
    return {it["name"]: changelog[it.end() : end].strip() for it, end in zip(found, ends, strict=True)}


def disagreement(changelog: str, version: str, tag: str | None = None) -> str | None:
    """Why a changelog does not fit a version, or why the tag ``v1.2.3`` cannot be released; else None."""
    names = list(sections(changelog))
    if not names:
        return "the changelog has no section '## Unreleased' or '## 1.2.3 (YEAR-MONTH-DAY)'"
    released = [name for name in names if name != UNRELEASED]
    if names not in ([UNRELEASED, *released], released):
        return f"the section {UNRELEASED!r} must stand once, and first"
    if tag is None:
        return None if names[0] in (UNRELEASED, version) else f"version {version}, newest section {names[0]}"
    if tag != f"v{version}":
        return f"tag {tag}, version {version}"
    return None if names[0] == version else f"tag {tag}, newest section {names[0]}"


def main() -> None:
    """Check, and print the section of a release."""
    tag = sys.argv[1] if len(sys.argv) > 1 else None
    changelog = (ROOT / "CHANGELOG.md").read_text()
    if why := disagreement(changelog, truegrade.__version__, tag):
        sys.exit(f"CHANGELOG.md: {why}")
    print(f"CHANGELOG.md agrees with {truegrade.__version__}" if tag is None else sections(changelog)[tag[1:]])


if __name__ == "__main__":
    main()
