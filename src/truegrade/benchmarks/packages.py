"""The task argument ``packages``: what becomes of problems that need packages besides the standard library."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from truegrade.benchmarks.base import Benchmark
from truegrade.benchmarks.benchmark_args import choice
from truegrade.errors import UserError, first_few

ALL, INSTALLED, STANDARD = "all", "installed", "standard"
_SHOWN = 12
"""Packages that a message names."""
PACKAGES: Mapping[str, str] = MappingProxyType(
    {
        "packages": "all (default): refused where a package is not installed; installed: problems that lack one"
        " are left out; standard: only problems that need none"
    }
)


def with_packages(loaded: Benchmark, args: Mapping[str, str], whole: Benchmark | None = None) -> Benchmark:
    """The benchmark, or what of it the argument says; what was left out is told as a modification.

    Programs may import what any problem of the whole benchmark needs, so that no verdict depends on which
    problems are run together.

    Args:
        loaded: problems with the packages that each needs; the extra that installs them has the benchmark's name.
        args: task arguments given.
        whole: the benchmark of which ``loaded`` is a subset.

    Raises:
        UserError: a package is not installed, and it was not said what is to be left out, or nothing is left.
    """
    wanted = choice(args, "packages", (ALL, INSTALLED, STANDARD))
    problems, missing = loaded.problems, _missing(loaded)
    counted = Counter(name for problem in problems for name in problem.packages if name in missing)
    names = first_few([f"{name} ({count})" for name, count in counted.most_common()], _SHOWN)
    if wanted == STANDARD:
        kept = tuple([problem for problem in problems if not problem.packages])
        why = "that need more than the standard library"
    else:
        kept = tuple([problem for problem in problems if not missing.intersection(problem.packages)])
        why = f"whose packages are not installed: {names}"
    lacking = f"{len(problems) - len(kept)} of {len(problems)} problems"
    if wanted == ALL and missing:
        raise UserError(
            f"{loaded.name}: {lacking} need packages that are not installed: {names}; pip install"
            f" 'truegrade[{loaded.name}]', or leave them out with `task_args` packages=installed"
        )
    if not kept:
        raise UserError(f"`task_args` packages={wanted}: leaves out {lacking}, those {why}")
    offered = tuple(sorted({name for problem in (whole or loaded).problems for name in problem.packages}))
    told = f"{lacking} are left out {why}" if len(kept) < len(problems) else None
    return msgspec.structs.replace(
        loaded,
        problems=tuple([msgspec.structs.replace(problem, packages=offered) for problem in kept]),
        modified="; ".join(part for part in (loaded.modified, told) if part) or None,
    )


def _missing(loaded: Benchmark) -> set[str]:
    """Names of the packages that some problem needs and that are not installed."""
    from importlib.metadata import PackageNotFoundError, version  # 20 ms that few need

    found = set()
    for name in {name for problem in loaded.problems for name in problem.packages}:
        try:
            version(name)
        except PackageNotFoundError:
            found.add(name)
    return found
