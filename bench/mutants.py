"""Mutants of a repository's functions judged by its own tests, per core-second, beside mutmut.

    python -m bench mutants FOLDER... [--peer-python PYTHON] [--most 1000]

FOLDER is a checkout or an unpacked sdist whose package is a folder of its root. Prints for each: mutants, those
killed, CPU seconds of all processes with the runs that record and time the tests, and mutants per CPU second; the
same for mutmut 3 with one process, if PYTHON is an interpreter in which it and what the tests need are installed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.rounds import ended_cpu_s
from truegrade.apps.repository.build import take_inventory
from truegrade.apps.repository.source import import_root, read_tree
from truegrade.apps.repository.strength import StrengthOptions, measure_functions, open_sandbox, survey_tests

_TOLD = re.compile(r"(\d+)/\1\s+🎉 (\d+)")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--peer-python")
    parser.add_argument("--most", type=int, default=1000)
    parser.add_argument("--own", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.own:
        print(json.dumps(_own(asked.folders[0], asked.most)))
        return
    print(f"load {os.getloadavg()[0]:.1f}")
    print("| package | tool | mutants | killed | CPU seconds | mutants per CPU second |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for folder in asked.folders:
        own = [sys.executable, "-m", "bench", "mutants", folder, "--own", "--most", str(asked.most)]
        text, seconds = _timed(own, Path.cwd())
        _print(folder, "truegrade", tuple(json.loads(text.splitlines()[-1])), seconds)
        if asked.peer_python:
            _print(folder, "mutmut", *_mutmut(folder, asked.peer_python))


def _print(folder: str, tool: str, counts: tuple[int, int] | None, seconds: float) -> None:
    mutants, killed = counts or (0, 0)
    told = [Path(folder).name, tool, mutants, killed, f"{seconds:.0f}", f"{mutants / seconds:.1f}"]
    print(f"| {' | '.join(map(str, told))} |", flush=True)


def _timed(command: list[str], place: Path) -> tuple[str, float]:
    """What a command writes, and the CPU seconds of it and of all that it waited for."""
    before = ended_cpu_s()
    done = subprocess.run(command, cwd=place, stdout=subprocess.PIPE, text=True, check=False)
    return done.stdout, ended_cpu_s() - before


def _own(folder: str, most: int) -> tuple[int, int]:
    """Mutants and those killed, as the command measures them, with one worker."""
    with tempfile.TemporaryDirectory() as place:
        inventory = take_inventory(read_tree(folder), Path(place))
        with open_sandbox(inventory, 1, allow_unsafe=False) as sandbox:
            survey = survey_tests(inventory, sandbox, Path(place), 0)
            results = measure_functions(inventory, survey, StrengthOptions(most=most), sandbox, Path(place))
        return sum(one.decided for one in results), sum(one.killed for one in results)


def _mutmut(folder: str, python: str) -> tuple[tuple[int, int] | None, float]:
    """The same of mutmut, in a copy of the folder."""
    tree = read_tree(folder)
    tops = {
        path.removeprefix(import_root(tree)).partition("/")[0]
        for path in tree.files
        if path.startswith(import_root(tree)) and path.endswith("/__init__.py")
    } - {"test", "tests"}
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / "tree"
        shutil.copytree(folder, copy)
        with (copy / "setup.cfg").open("a") as file:
            file.write(f"\n[mutmut]\nsource_paths={import_root(tree)}{min(tops)}\n")
        text, seconds = _timed([python, "-m", "mutmut", "run", "--max-children", "1"], copy)
    found = _TOLD.findall(text)
    return ((int(found[-1][0]), int(found[-1][1])) if found else None), seconds
