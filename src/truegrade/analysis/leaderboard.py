"""Runs of a folder ranked by benchmark and profile: what the data can tell apart, and what must not be ranked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

import msgspec

from truegrade.analysis.comparison import GradedRun, differences, graded
from truegrade.analysis.standings import tallies_of
from truegrade.app import folder_kind
from truegrade.errors import NotComparable, UserError
from truegrade.pipeline.summary import read_summary
from truegrade.records import SCHEMA_VERSION, Estimate
from truegrade.statistics import compare_paired, estimate
from truegrade.statistics.claims import METHOD, holm
from truegrade.store import Run
from truegrade.store.packing import is_pack

MAX_DEPTH = 3
"""Folders between the one given and a run."""
ALPHA = 0.05
"""Two runs are told apart where Holm's adjusted p-value is below it."""


class BoardRow(msgspec.Struct, frozen=True, kw_only=True):
    """One run on one board, with how its number was made."""

    model: str
    agent: str | None
    run: str
    """Name of the run's folder."""
    rate: Estimate
    """pass@1."""
    best_rank: int | None
    worst_rank: int | None
    """Ranks that the paired tests leave open; None where the run is not ranked."""
    not_ranked: tuple[str, ...]
    """Why it is not comparable with the ranked ones; empty where it is ranked."""
    problems: int
    """Of the whole benchmark."""
    samples_per_task: int
    dataset_sha256: str
    prompt_rule: str | None
    """None where the replies were imported."""
    created: str
    graded: str
    """When it was graded under the profile; empty where the manifest does not say."""
    version: str
    """Of Truegrade."""
    level: int | None
    cost_usd: float | None
    warnings: tuple[str, ...]


class Board(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark under one profile."""

    benchmark: str
    profile: str
    rows: list[BoardRow]
    """Ranked ones first, the largest number first."""


class Leaderboard(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the page shows."""

    schema: int = SCHEMA_VERSION
    boards: list[Board]
    method: str
    """How two runs are told apart."""
    left_out: dict[str, str]
    """Folder or pack -> why it is on no board."""


def read_leaderboard(runs: Sequence[str | Path], *, profiles: Sequence[str] = ()) -> Leaderboard:
    """Read graded runs and rank them.

    Args:
        runs: runs, packs, or folders that hold them at most `MAX_DEPTH` folders deep.
        profiles: only these, by name or id; none for all.

    Raises:
        UserError: there is no graded run among them.
    """
    found: dict[tuple[str, str], list[GradedRun]] = defaultdict(list)
    left_out: dict[str, str] = {}
    known: set[tuple[object, ...]] = set()
    for path in dict.fromkeys(place for given in runs for place in run_folders(Path(given))):
        if other := folder_kind(path):
            left_out[path.name] = f"{other[1].name}, and no run; its page is {path / other[1].page}"
            continue
        try:
            run = Run.open(path)
            if not run.manifest.profiles and not run.answered():
                raise UserError(f"{path}: it ended before the first reply; its command goes on")
            told = (run.path.resolve().name, run.manifest.created, *run.manifest.profiles.items())
            if told in known:  # a run beside its pack
                continue
            known.add(told)
            for side in _sides(run, profiles):
                found[side.run.manifest.benchmark.label, side.summary.profile].append(side)
        except UserError as error:
            left_out[path.name] = str(error)
    if not found:
        why = "; ".join(left_out.values()) or "no run lies there"
        raise UserError(f"{', '.join(map(str, runs))}: no graded run for a leaderboard: {why}")
    boards = [
        Board(benchmark=benchmark, profile=profile, rows=_rows(sides))
        for (benchmark, profile), sides in sorted(found.items(), key=_strict_first)
    ]
    return Leaderboard(boards=boards, method=f"paired tests by problem, corrected by {METHOD}", left_out=left_out)


def _strict_first(board: tuple[tuple[str, str], object]) -> tuple[bool, str, str]:
    """Our own rules come before those of the harnesses."""
    benchmark, profile = board[0]
    return (profile.partition("@")[0] != "strict", benchmark, profile)


def run_folders(path: Path, depth: int = MAX_DEPTH) -> Iterator[Path]:
    """The runs and packs below a folder, by name; a run or pack itself."""
    if not path.is_dir() or (path / "manifest.json").is_file() or folder_kind(path):
        yield path
        return
    for below in sorted(path.iterdir()):
        if is_pack(below) or (below / "manifest.json").is_file() or folder_kind(below):
            yield below
        elif depth and below.is_dir() and not below.name.startswith("."):
            yield from run_folders(below, depth - 1)


def _sides(run: Run, profiles: Sequence[str]) -> list[GradedRun]:
    told = [profile.profile for profile in read_summary(run).profiles]
    chosen = [name for name in told if not profiles or name in profiles or name.partition("@")[0] in profiles]
    if not chosen:
        raise UserError(f"{run.given}: graded under {', '.join(told)} alone")
    return [graded(run, name) for name in chosen]


def _rows(sides: Sequence[GradedRun]) -> list[BoardRow]:
    """The rows of one board."""
    reference = _reference(sides)
    apart = [tuple(_words(*fact) for fact in differences(reference, side)) for side in sides]
    ranked = [place for place, why in enumerate(apart) if not why]
    ranks = _ranks([sides[place] for place in ranked])
    rows = [
        _row(side, ranks[ranked.index(place)] if place in ranked else None, why)
        for place, (side, why) in enumerate(zip(sides, apart, strict=True))
    ]
    return sorted(rows, key=lambda row: (bool(row.not_ranked), -row.rate.value, row.model, row.run))


def _reference(sides: Sequence[GradedRun]) -> GradedRun:
    """The run that most others may be compared with, among those of the most problems; the first of equals."""
    most = max(len(side.summary.tasks) for side in sides)
    whole = [side for side in sides if len(side.summary.tasks) == most]
    return max(whole, key=lambda side: sum(not differences(side, other) for other in sides))


def _words(what: str, ranked: str, own: str) -> str:
    return f"{what}: {own or 'not known'}, where the ranked runs have {ranked or 'another'}"


def _ranks(sides: Sequence[GradedRun]) -> list[tuple[int, int]]:
    """Best and worst rank of each: those that are significantly better stand before it, those worse behind it."""
    counts = [tallies_of(side.summary) for side in sides]
    pairs = list(combinations(range(len(sides)), 2))
    compared = []
    for first, second in pairs:
        try:
            paired = compare_paired(counts[first], counts[second])
            compared.append((paired.difference, paired.permutation_p))
        except NotComparable:  # no problem in common with a reply
            compared.append((0.0, 1.0))
    adjusted = holm([p for _, p in compared])
    better, worse = [0] * len(sides), [0] * len(sides)
    for (first, second), (difference, _), p in zip(pairs, compared, adjusted, strict=True):
        if p < ALPHA and difference:
            winner, loser = (second, first) if difference > 0 else (first, second)
            better[loser] += 1
            worse[winner] += 1
    return [(1 + better[place], len(sides) - worse[place]) for place in range(len(sides))]


def _row(side: GradedRun, rank: tuple[int, int] | None, why: tuple[str, ...]) -> BoardRow:
    manifest, summary = side.run.manifest, read_summary(side.run)
    config, profile = manifest.generation, side.summary.profile
    return BoardRow(
        model=summary.model,
        agent=f"{config.agent.name}@{config.agent.version}" if config and config.agent else None,
        run=side.run.path.resolve().name,
        rate=estimate("pass@1", tallies_of(side.summary)),
        best_rank=rank[0] if rank else None,
        worst_rank=rank[1] if rank else None,
        not_ranked=why,
        problems=manifest.benchmark.problems,
        samples_per_task=manifest.samples_per_task,
        dataset_sha256=manifest.benchmark.dataset_sha256,
        prompt_rule=config.prompt_rule if config else None,
        created=manifest.created,
        graded=manifest.profiles.get(profile, ""),
        version=manifest.environment.get("truegrade", ""),
        level=side.summary.level,
        cost_usd=summary.usage.cost_usd,
        warnings=tuple(side.summary.warnings),
    )
