"""The programs that no prediction may show: `python -m train.hold DSL_LIST_FILE > train/held_out.txt`.

Every program of the file, and every program that a mutation operator makes of one in one place, whichever mutants
a selection keeps: a later change to the selection finds them held out too.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from train.examples import HASH_CHARS
from truegrade.builders.mutation.mutants import PUBLISHED, MutationOptions, mutants_of, normalised
from truegrade.datasets.executions import read_executions
from truegrade.datasets.identity import identity


def hold(programs: Sequence[str]) -> set[str]:
    """Beginnings of the identities of the programs and of all their mutants."""
    tables = [MutationOptions(), MutationOptions(operators=(PUBLISHED,))]
    plain = map(normalised, programs)
    made = (mutant.code for code in plain for table in tables for mutant in mutants_of(code, table))
    return {identity(code)[:HASH_CHARS] for code in [*programs, *made]}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dsl_list", type=Path)
    rows = read_executions(parser.parse_args().dsl_list).rows
    print(*sorted(hold([row.code for row in rows])), sep="\n")


if __name__ == "__main__":
    main()
