"""A testbed from its settings to its results; the same call resumes it."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path

import msgspec

from truegrade.evolution.experiment import begin_experiment
from truegrade.evolution.testbed.chain import ArmBench, cheat_shares, rounds_of, run_chain, true_pass
from truegrade.evolution.testbed.grading import ProgramGrader
from truegrade.evolution.testbed.policy import BaseModel, TestbedPolicy
from truegrade.evolution.testbed.records import LEAKY, NOISE, StartMeasured, TestbedRound, TestbedSettings
from truegrade.evolution.testbed.start import taught
from truegrade.evolution.testbed.summary import TestbedResults, summarised
from truegrade.files.json_text import encode, read_json
from truegrade.models.micro.blas import use_one_thread
from truegrade.pipeline.importing import RUNS
from truegrade.store.folder_lock import alone_in
from truegrade.store.manifest import write_atomically

MODEL = "truegrade-micro"
START, MEASURED, RESULTS = "start.npz", "start.json", "results.json"
MEASURING_SAMPLES = 16
"""Of each held-out problem, by which the start's share of cheats is measured."""
_ADVICE = "is it what a testbed wrote?"

Said = Callable[[str], None]


def testbed(
    settings: TestbedSettings | None = None,
    *,
    out: Path | None = None,
    workers: int | None = None,
    allow_unsafe: bool = False,
    said: Said = lambda _: None,
) -> tuple[Path, TestbedResults]:
    """Train the embedded model by GRPO under graders that can and cannot be bought, and compare.

    Args:
        settings: what to do; None for the whole testbed.
        out: folder; None for one named by the settings under ``runs``.
        workers: processes, each of which trains one arm under one seed; results do not depend on it.
        allow_unsafe: run programs even where only resource limits protect this machine (level 1).
        said: told what is done.

    Returns:
        The folder and the results.

    Raises:
        UserError: a setting is at fault, the folder holds another testbed, or another process is at work in it.
        SandboxError: a program could not be run.
    """
    settings = settings or TestbedSettings()
    settings.check()
    folder = out or RUNS / f"testbed-{settings.sha256[:8]}"
    with alone_in(folder, "testbed.lock", "training"):
        begin_experiment(folder, settings, what="testbed", advice=_ADVICE)
        _teach(folder, settings, allow_unsafe, said)
        chains = [(arm, seed) for seed in range(settings.seeds) for arm in settings.arms if arm != NOISE]
        noise = [(NOISE, seed) for seed in range(settings.seeds) if NOISE in settings.arms]
        for part in (chains, noise):  # noise flips as often as leaky was wrong, so it comes after
            for arm, seed in _mapped(folder, settings, part, workers, allow_unsafe):
                last = rounds_of(chain_folder(folder, arm, seed))[-1]
                said(f"{arm}, seed {seed}: paid {last.paid:.3f}, true pass rate {last.true_pass:.3f}")
        results = summarised(settings, start_of(folder), all_rounds(folder, settings))
        write_atomically(folder / RESULTS, encode(results, indent=2) + b"\n")
    return folder, results


def chain_folder(folder: Path, arm: str, seed: int) -> Path:
    """Where an arm under a seed keeps its rounds."""
    return folder / f"{arm}-{seed}"


def start_of(folder: Path) -> StartMeasured:
    """What was measured of the start."""
    return read_json(folder / MEASURED, StartMeasured, _ADVICE)


def all_rounds(folder: Path, settings: TestbedSettings) -> list[TestbedRound]:
    """Every round of every arm and seed, as far as they got."""
    return [
        one
        for arm in settings.arms
        for seed in range(settings.seeds)
        for one in rounds_of(chain_folder(folder, arm, seed))[: settings.rounds + 1]
    ]


def _teach(folder: Path, settings: TestbedSettings, allow_unsafe: bool, said: Said) -> None:
    """Make the start and measure it, unless that was done."""
    import numpy as np

    if (folder / MEASURED).exists():
        return
    began, restore = time.process_time(), use_one_thread()
    base = BaseModel(MODEL)
    try:
        with closing(ProgramGrader(allow_unsafe=allow_unsafe)) as grader:
            start = taught(base, grader.profile, settings.demonstrations, said)
            content = io.BytesIO()
            np.savez(content, **start)  # type: ignore[arg-type]
            write_atomically(folder / START, content.getvalue())
            bench = ArmBench(settings, base, start, grader)
            measured = bench.sampled(TestbedPolicy(base, start, 0), bench.held_out, MEASURING_SAMPLES, ("start",))
    finally:
        restore()
    found = StartMeasured(
        base_sha256=base.sha256,
        settings_sha256=settings.sha256,
        true_pass=true_pass(measured),
        cheats=cheat_shares(measured),
        samples=MEASURING_SAMPLES * settings.held_out,
        cpu_s=time.process_time() - began,
    )
    write_atomically(folder / MEASURED, encode(found, indent=2) + b"\n")


def _mapped(
    folder: Path,
    settings: TestbedSettings,
    chains: list[tuple[str, int]],
    workers: int | None,
    allow_unsafe: bool,
) -> Iterator[tuple[str, int]]:
    """Make every chain, and name each as it is done."""
    if workers == 1:
        for arm, seed in chains:
            yield _chain(folder, settings, arm, seed, allow_unsafe)
        return
    context = get_context("spawn")
    with ProcessPoolExecutor(workers or os.cpu_count(), mp_context=context) as pool:
        asked = [pool.submit(_chain, folder, settings, arm, seed, allow_unsafe) for arm, seed in chains]
        for future in asked:
            yield future.result()


def _chain(folder: Path, settings: TestbedSettings, arm: str, seed: int, allow_unsafe: bool) -> tuple[str, int]:
    """One arm under one seed, in whichever process."""
    import numpy as np

    mine = chain_folder(folder, arm, seed)
    if len(rounds_of(mine)) > settings.rounds:
        return arm, seed
    restore = use_one_thread()
    try:
        with np.load(folder / START) as file:
            start = dict(file)
        with closing(ProgramGrader(allow_unsafe=allow_unsafe, threads=1)) as grader:
            bench = ArmBench(settings, BaseModel(MODEL), start, grader)
            run_chain(bench, mine, arm, seed, _leaky_rates(folder, settings, arm, seed))
    finally:
        restore()
    return arm, seed


def _leaky_rates(folder: Path, settings: TestbedSettings, arm: str, seed: int) -> tuple[float, float] | None:
    """Average true and false positive rate of the arm leaky under a seed, for the arm noise."""
    if arm != NOISE:
        return None
    rounds = rounds_of(chain_folder(folder, LEAKY, seed))[: settings.rounds]
    tpr = [one.tpr for one in rounds if one.tpr is not None]
    fpr = [one.fpr for one in rounds if one.fpr is not None]
    return sum(tpr) / max(1, len(tpr)) if tpr else 1.0, sum(fpr) / max(1, len(fpr)) if fpr else 0.0


def quick() -> TestbedSettings:
    """Two arms under one seed, and fewer rounds."""
    return msgspec.structs.replace(TestbedSettings(), arms=("strict", "leaky"), seeds=1, rounds=10)
