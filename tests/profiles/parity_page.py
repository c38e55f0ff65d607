"""Writes a part of ``docs/evidence.md`` from what ``run_parity.py`` printed.

    python tests/profiles/parity_page.py --data FOLDER LOG...

Of several comparisons of the same profile on the same data set the one with the most rows is kept.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from pathlib import Path

from evidence_page import write_part
from run_parity import COMPARISONS, corpus

from truegrade.profiles import open_profile

PART = "code generation, by tests/profiles/parity_page.py"
HEAD = """| profile | data set | rows | equal | at a limit | passed |
| --- | --- | --- | --- | --- | --- |
"""
PUBLISHED = """
The same for files that others published (`run_parity.py --files FILE...`), with the equal rows of each profile:

| file | data set | rows | equal |
| --- | --- | --- | --- |
"""
_LINE = re.compile(r"(\S+) +(\S+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +\d+ s")


@dataclass
class Counts:
    """One comparison, as printed."""

    rows: int
    equal: int
    differ: int
    limited: int
    passed: int
    below: list[str]
    """What it is, then the lines on single rows."""

    def cells(self) -> str:
        """As a row of a table has them; what differs stands below the table."""
        return f"{self.rows} | {self.equal} | {self.limited} | {self.passed}"


def main() -> None:
    """Read the logs, write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("logs", nargs="+", type=Path)
    options = parser.parse_args()
    totals = {(item.profile, item.data_set): len(corpus(item, options.data, 1)) for item in COMPARISONS}
    write_part(PART, tables("\n".join(log.read_text() for log in options.logs), totals))


def tables(printed: str, totals: dict[tuple[str, str], int]) -> str:
    """What was compared, and the rows that differ, in Markdown.

    Args:
        printed: what the comparisons printed, in any order.
        totals: rows of the whole corpus, by profile and data set.
    """
    found = compared(printed)
    kept = [(*key, found[key]) for key in totals if key in found]
    lines = [f"| `{open_profile(profile).id}` | {benchmark} | {one.cells()} |" for profile, benchmark, one in kept]
    missing = [f"`{profile}` on {benchmark}" for profile, benchmark in totals if (profile, benchmark) not in found]
    if missing:
        lines += ["", f"Not in these logs: {', '.join(missing)}."]
    files = [(profile, *name.rsplit(":", 1), one) for (profile, name), one in found.items() if "." in name]
    if files:
        rows: dict[tuple[str, str, int], list[str]] = {}
        for profile, name, file, one in files:
            rows.setdefault((file, name, one.rows), []).append(f"`{open_profile(profile).id}` {one.equal}")
        told = (f"| {' | '.join(map(str, key))} | {', '.join(equal)} |" for key, equal in rows.items())
        lines += (PUBLISHED + "\n".join(told)).splitlines()
        kept += [(profile, name, one) for profile, name, _, one in files]
    single = [line for *_, one in kept if one.differ for line in one.below]
    if single:
        lines += ["", "Rows that differ:", "", "```text", *single, "```"]
    return HEAD + "\n".join(lines) + "\n"


def compared(printed: str) -> dict[tuple[str, str], Counts]:
    """What is said of each comparison."""
    found: dict[tuple[str, str], Counts] = {}
    for line in printed.splitlines():
        match = _LINE.fullmatch(line)
        if match is not None:
            profile, benchmark, *numbers = match.groups()
            current = Counts(*map(int, numbers), below=[f"{profile}, {benchmark}"])
            known = found.get((profile, benchmark))
            if known is None or known.rows <= current.rows:
                found[profile, benchmark] = current
        elif line.startswith("    "):
            current.below.append(line)
    return found


if __name__ == "__main__":
    main()
