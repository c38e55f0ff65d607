"""Which evaluation programs the predictions of a run showed: `python -m train.shown DSL_LIST_FILE`.

Draws every shard again (13 CPU minutes for the run that ships) and prints, as JSON, the rows whose original or
whose mutant was shown, up to names and layout. `python -m train.shown --pack FILE` writes what the product warns
by (`truegrade.models.micro`).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Set
from pathlib import Path

from train.examples import shard
from train.settings import Settings, read_settings
from truegrade.datasets.executions import read_executions
from truegrade.datasets.identity import identity
from truegrade.models.micro import pack

_HERE = Path(__file__).parent


def shown(numbers: Iterable[int], settings: Settings, held_out: frozenset[str]) -> set[str]:
    """The identities that predictions of these shards show."""
    return {
        example.identity
        for number in numbers
        for example in shard(number, settings, held_out)
        if example.task == "prediction"
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dsl_list", type=Path, nargs="?")
    parser.add_argument("--pack", type=Path, help="write the list of all that were shown")
    asked = parser.parse_args()
    settings = read_settings(_HERE / "settings.json")
    held_out = frozenset((_HERE / "held_out.txt").read_text().split())
    found = shown(range(settings.all_shards), settings, held_out)
    if asked.pack is not None:
        asked.pack.write_bytes(pack(found))
    if asked.dsl_list is not None:
        print(json.dumps(_rows_of(asked.dsl_list, found)))


def _rows_of(dsl_list: Path, found: Set[str]) -> dict[str, list[str]]:
    """The rows of a data set whose original, or mutant, was shown."""
    rows = read_executions(dsl_list).rows
    originals = {identity(row.code): row.id for row in rows}
    mutants = {identity(row.mutated_code): row.id for row in rows if row.mutated_code is not None}
    return {"originals": _of(originals, found), "mutants": _of(mutants, found)}


def _of(programs: Mapping[str, str | int], found: Set[str]) -> list[str]:
    return sorted(str(row) for program, row in programs.items() if program in found)


if __name__ == "__main__":
    main()
