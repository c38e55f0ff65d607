"""What an adapter learned from, beside its weights: no run may test it on that without a word.

`truegrade evolve` writes the file into ``best/``; `truegrade run` and `generate` read it where ``--adapter`` names
a folder that has one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from truegrade.datasets.identity import program_identity
from truegrade.errors import UserError
from truegrade.files.json_text import encode, read_json
from truegrade.records import Problem
from truegrade.store.manifest import write_atomically

FILE = "learned_from.json"
REASON = "the adapter learned from this program"
_ADVICE = "is it what an evolution wrote?"


class LearnedFrom(msgspec.Struct, frozen=True, kw_only=True):
    """``learned_from.json`` of an adapter."""

    benchmark: str
    problems: tuple[str, ...]
    """Ids of the problems that it was trained on."""
    programs: tuple[str, ...]
    """Of the buggy and the right ones: `truegrade.datasets.identity.program_identity`."""


def write_learned(folder: Path, benchmark: str, training: Sequence[Problem]) -> None:
    """Write down what the adapter in a folder was trained on."""
    programs = sorted({program for problem in training for program in _programs(problem)})
    learned = LearnedFrom(
        benchmark=benchmark, problems=tuple(problem.id for problem in training), programs=tuple(programs)
    )
    write_atomically(folder / FILE, encode(learned, indent=2) + b"\n")


def leave_out_learned(adapter: str | Path | None, problems: Iterable[Problem]) -> dict[str, str]:
    """The problems one of whose programs the adapter was trained on, each with the reason why it does not count.

    Programs are compared whatever their names and layout; names alone decide nothing.

    Args:
        adapter: its folder, or None where there is none. Without a `FILE`, as other trainers leave it, nothing is
            known and nothing left out.
        problems: those that are to be asked.

    Raises:
        UserError: it was trained on all of them, or the file is damaged.
    """
    if adapter is None or not (path := Path(adapter) / FILE).is_file():
        return {}
    programs = set(read_json(path, LearnedFrom, _ADVICE).programs)
    asked = list(problems)
    known = {problem.id: REASON for problem in asked if _programs(problem) & programs}
    if asked and len(known) == len(asked):
        raise UserError(
            f"CONTAMINATION: {asked[0].id} is training problem, and so is every other that is asked: the adapter"
            f" in {adapter} learned from them ({FILE}); ask for other problems"
        )
    return known


def _programs(problem: Problem) -> set[str]:
    sources = (getattr(problem.task, field, "") for field in ("buggy", "reference"))
    return {program_identity(source) for source in sources if source}
