"""HumanEval+ predicted from HumanEval and an audit of some passes, where the verdicts of both are known.

    python -m bench assay_audits RUN... [--draws 500]

Each RUN is a run's folder, graded under `evalplus-base` and `evalplus` (``truegrade grade FILE -b humanevalplus
--as evalplus-base --as evalplus``), or a file of verdicts as EvalPlus writes it (``*_eval_results.json``). To
audit a pass of the base inputs is to look up what EvalPlus says of it. Printed, by the number of audited passes,
over seeded draws: the predicted rate of the first draw with its interval, the standard deviation of the
prediction, the mean width, how often the interval holds the truth, and how often the audit's own interval holds
the share of the run's passes that EvalPlus accepts. The truth is the rate that EvalPlus gives the whole run.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from pathlib import Path

import numpy as np

from truegrade.records import SampleKey
from truegrade.statistics.error_rates import AuditedRate, AuditedTask, audited_rate
from truegrade.store import Run

STEPS = (20, 40, 60, 80, 100)
PASSED = ("success", "pass")
"""What EvalPlus says of a program that passes, before and since version 0.3."""


def main() -> None:
    """Print a table for each run."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("runs", nargs="+", type=Path)
    asked.add_argument("--draws", type=int, default=500)
    given = asked.parse_args()
    for path in given.runs:
        base, plus = published(path) if path.suffix == ".json" else graded(path)
        passes = sorted((key for key in base if base[key]), key=lambda key: (key.problem_id, key.sample))
        right = sum(plus[key] for key in passes)
        print(f"{path.name}: {len(base)} replies, {len(passes)} pass HumanEval, {right} of these HumanEval+")
        truth = predicted(base, plus, passes, set(passes))
        for count in (*(step for step in STEPS if step < len(passes)), len(passes)):
            found = [
                predicted(base, plus, passes, set(random.Random(seed).sample(passes, count)))
                for seed in range(given.draws)
            ]
            holds = [low - 1e-9 <= truth.right_of_passes <= high + 1e-9
                     for low, high in (one.right_of_passes_bounds for one in found)]  # fmt: skip
            inside = [(one.low or 0.0) <= truth.value <= (one.high or 0.0) for one in found]
            first, values = found[0], [one.value for one in found]
            widths = [(one.high or 0.0) - (one.low or 0.0) for one in found]
            print(
                f"  {count:4} audited: {100 * first.value:.1f} [{100 * (first.low or 0):.1f},"
                f" {100 * (first.high or 0):.1f}], truth {100 * truth.value:.1f}; standard deviation"
                f" {100 * np.std(values):.1f}, width {100 * np.mean(widths):.1f}, the interval holds the"
                f" truth in {100 * np.mean(inside):.1f} %, the audit's the share in {100 * np.mean(holds):.1f} %"
            )


def graded(folder: Path) -> tuple[dict[SampleKey, bool], dict[SampleKey, bool]]:
    """Of each sample of a run whether it passes the base inputs, and these and the others."""
    run = Run.open(folder)
    base, plus = (
        {fact.key: fact.passed for fact in run.verdict_facts(run.profile_id(name))}
        for name in ("evalplus-base", "evalplus")
    )
    return base, plus


def published(path: Path) -> tuple[dict[SampleKey, bool], dict[SampleKey, bool]]:
    """The same of a file that EvalPlus wrote, whose ``plus`` says of the further inputs alone."""
    base, plus = {}, {}
    for name, row in json.loads(path.read_bytes())["eval"].items():
        samples = zip(row["base"], row["plus"], strict=True) if isinstance(row, dict) else (
            ((one["base_status"],), (one["plus_status"],)) for one in row
        )  # fmt: skip
        for number, (own, further) in enumerate(samples):
            key = SampleKey(problem_id=name, sample=number)
            base[key] = own[0] in PASSED
            plus[key] = base[key] and further[0] in PASSED
    return base, plus


def predicted(
    base: dict[SampleKey, bool], plus: dict[SampleKey, bool], passes: list[SampleKey], drawn: set[SampleKey]
) -> AuditedRate:
    """The corrected rate where these passes are audited."""
    samples = Counter(key.problem_id for key in base)
    passed, audited = Counter(key.problem_id for key in passes), Counter(key.problem_id for key in drawn)
    right = Counter(key.problem_id for key in drawn if plus[key])
    return audited_rate([
        AuditedTask(task_id=name, cluster=name, n=n, c=passed[name], audited=audited[name], right=right[name])
        for name, n in samples.items()
    ])  # fmt: skip
