"""An experiment from its settings to its results; the same call resumes it.

<folder>/settings.json, trainings.jsonl (a `LeakTraining` a line), results.json
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from truegrade.evolution.experiment import begin_experiment
from truegrade.evolution.leakage.planting import Arm, LeakSettings
from truegrade.evolution.leakage.summary import LeakResults, summarised
from truegrade.evolution.leakage.training import LeakTraining, train_one
from truegrade.files.json_text import encode
from truegrade.pipeline.importing import RUNS
from truegrade.store.folder_lock import alone_in
from truegrade.store.journal import Journal, read_journal
from truegrade.store.manifest import write_atomically

TRAININGS, RESULTS = "trainings.jsonl", "results.json"
_ADVICE = "is it what `truegrade data leakage` wrote?"
Planned = tuple[Arm, int]
"""An arm and a seed."""


def leakage(
    settings: LeakSettings | None = None,
    *,
    out: Path | None = None,
    workers: int | None = None,
    allow_unsafe: bool = False,
    said: Callable[[str], None] = lambda _: None,
) -> tuple[Path, LeakResults]:
    """Train the embedded model on known shares of a benchmark, and estimate each share from its answers.

    Args:
        settings: what to do; None for the whole experiment.
        out: folder; None for one named by the settings under ``runs``.
        workers: processes, each of which does one training at a time; results do not depend on it.
        allow_unsafe: run programs even where only resource limits protect this machine (level 1).
        said: told what is done.

    Returns:
        The folder and the results.

    Raises:
        UserError: a setting is at fault, the folder holds another experiment, or another process is at work in it.
        SandboxError: a program could not be run.
    """
    settings = settings or LeakSettings()
    settings.check()
    folder = out or RUNS / f"leakage-{settings.sha256[:8]}"
    with alone_in(folder, "leakage.lock", "training"):
        begin_experiment(folder, settings, what="experiment", advice=_ADVICE)
        done = {(one.arm, one.seed): one for one in _kept(folder)}
        planned = _planned(settings)
        missing = [each for each in planned if each not in done]
        with Journal[LeakTraining](folder / TRAININGS, fsync_every=1) as journal:
            for one in _trained(settings, missing, workers, allow_unsafe):
                journal.append(one)
                done[one.arm, one.seed] = one
                left = sum(each not in done for each in planned)
                said(f"dose {one.dose:.0%}, {one.repeats} times, seed {one.seed}: {one.cpu_s:.0f} s; {left} left")
        results = summarised(settings, [done[each] for each in planned])
        write_atomically(folder / RESULTS, encode(results, indent=2) + b"\n")
    return folder, results


def _planned(settings: LeakSettings) -> list[Planned]:
    """Arms in turn, so that an experiment that is stopped holds some trainings of each."""
    most = max(settings.arms.values(), default=0)
    return [(arm, seed) for seed in range(most) for arm, size in settings.arms.items() if seed < size]


def _kept(folder: Path) -> list[LeakTraining]:
    path = folder / TRAININGS
    return list(read_journal(path, LeakTraining)) if path.exists() else []


def _trained(
    settings: LeakSettings, planned: list[Planned], workers: int | None, allow_unsafe: bool
) -> Iterator[LeakTraining]:
    """Do what is missing; each training is given as it ends."""
    if workers == 1 or len(planned) < 2:
        for arm, seed in planned:
            yield train_one(settings, arm, seed, allow_unsafe)
        return
    with ProcessPoolExecutor(workers or os.cpu_count(), mp_context=get_context("spawn")) as pool:
        asked = [pool.submit(train_one, settings, arm, seed, allow_unsafe) for arm, seed in planned]
        for future in as_completed(asked):
            yield future.result()
