"""What the searches of an ended evolution selected, on problems of another draw than its final ones.

    python -m bench fresh_problems runs/evolve-micro-... [--seed 2026] [--size 200] [--workers 2]

For micro-repair, which can draw any number of problems. Those that share a name or a program with any problem of
the evolution are left out; the adapters come from the cache, or are trained anew. The evolution itself stays as it
is, and its ledger does not count this: so fix the seed before you look, and look once.
"""

from __future__ import annotations

import argparse
import json
from contextlib import closing
from pathlib import Path
from statistics import fmean

import msgspec

from truegrade.apps.evolve.evaluation import Evaluator
from truegrade.apps.evolve.finishing import Finish, choose
from truegrade.apps.evolve.folder import EvolutionFolder, Final, PassRateDifference
from truegrade.apps.evolve.loop import open_map
from truegrade.apps.evolve.roles import MicroSizes, Roles, micro_roles, repair_of
from truegrade.apps.evolve.settings import EvolutionSettings
from truegrade.apps.evolve.subject import Workplace, prepare
from truegrade.records import Problem


def main() -> None:
    """Evaluate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--size", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    folder = EvolutionFolder(options.folder)
    settings = msgspec.convert(
        json.loads((options.folder / "evolution.json").read_text())["settings"], EvolutionSettings
    )
    workplace = prepare(settings, allow_unsafe=True)
    problems = fresh(workplace.roles, options.seed, options.size)
    workplace = msgspec.structs.replace(workplace, roles=with_final(workplace.roles, problems))
    print(f"{len(problems)} problems of seed {options.seed}; the evolution is of seed {settings.seed}")
    show(compared(settings, workplace, folder, options.workers))


def fresh(roles: Roles, seed: int, size: int) -> tuple[Problem, ...]:
    """Final problems of another seed, without those that share anything with a problem of these roles."""
    known = set[str]()
    for problem in (*roles.learned, *roles.tested):
        known |= marks(problem)
    drawn = micro_roles(seed, MicroSizes(final=2 * size)).final
    return tuple(problem for problem in drawn if not marks(problem) & known)[:size]


def marks(problem: Problem) -> set[str]:
    """Name and programs."""
    repair = repair_of(problem)
    return {repair.name, *repair.programs}


def with_final(roles: Roles, problems: tuple[Problem, ...]) -> Roles:
    """The same roles, but with other problems to report on."""
    return msgspec.structs.replace(roles, final=problems, forgetting=())


def compared(settings: EvolutionSettings, workplace: Workplace, folder: EvolutionFolder, workers: int) -> Final:
    """What the searches chose, evaluated as a final report does."""
    events = folder.events()
    chosen = [
        choose(settings, events, search.title, replicate)
        for search in settings.searches
        for replicate in range(settings.replicates)
    ]
    with (
        closing(Evaluator(workplace)) as evaluator,
        closing(open_map(workplace, evaluator, workers)) as jobs,
    ):
        return Finish(workplace, folder, jobs, evaluator).compared(chosen)


def show(final: Final) -> None:
    """Means over replicates, and what the search is better by."""
    print(f"{'base':24} {final.base.value:6.1%}")
    contests = {contest.baseline: contest for contest in final.contests}
    for name in dict.fromkeys(one.search for one in final.selected):
        rates = [one.final.value for one in final.selected if one.search == name]
        contest = contests.get(name)
        more = "" if contest is None else f"   {final.chosen} better by {_points(contest.difference)}"
        print(f"{name:24} {fmean(rates):6.1%}  ({', '.join(f'{rate:.1%}' for rate in rates)}){more}")


def _points(difference: PassRateDifference) -> str:
    return f"{100 * difference.value:+.1f} [{100 * difference.low:.1f}, {100 * difference.high:.1f}]"
