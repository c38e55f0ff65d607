"""Replies to contest problems for the rewards that grade in LiveCodeBench's way, and their trainers' own answers.

Honest completions, mutants of them, awkward programs for every trap of LiveCodeBench's grader, texts that are hard
to cut a program out of, outputs that verl's comparison alone forgives, programs that a clock decides, every cheat.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from livecodebench_corpus.awkward import CASES, CLOCKED
from livecodebench_corpus.completions import ROWS
from livecodebench_corpus.rewards import fenced, outputs, texts
from livecodebench_peers import jailed
from livecodebench_rows import sample_of

from truegrade.apps.assay.cheats import TaskForm, cheat_probes
from truegrade.apps.assay.records import Probe

DRIVER = Path(__file__).with_name("drive_contest_rewards.py")
REWARDS = ("verl-prime", "rllm-lcb", "skyrl-lcb", "nemo-gym")
_BENCH = {"nemo-gym": "gym-code-gen"}
NOT_REPRODUCED = ("cheat: result-list", "cheat: oracle-from-")
"""Rows whose verdict may not be the trainer's. Results come back in a list of `multiprocessing`, which is not
there; and the grader's variables that hold expected outputs have another shape in some frames."""
TWO = {"inputs": ["3 4\n", "1 1\n"], "outputs": ["7\n", "2\n"], "fn_name": None}
"""The tests of the sum of two numbers."""


@dataclass(frozen=True)
class Row:
    """One reply, and the tests it is paid by."""

    name: str
    part: str
    """``texts``, ``outputs``, ``programs``, ``completions``, ``cheats`` or ``clock``."""
    reply: str
    tests: dict


def _of_form(form: TaskForm, entry_point: str) -> list[Probe]:
    """Of what two channels send to programs on standard input no scores are stored yet."""
    new = ("report", "switches") if form == "stdio" else ()
    return [probe for probe in cheat_probes("c1", entry_point, form) if probe.channel not in new]


def _cheats() -> list[Row]:
    """Every cheat on each form, and its harmless neighbour."""
    forms = {
        "stdio": ("", TWO),
        "function": ("f", {"inputs": ["3", "7"], "outputs": ["4", "8"], "fn_name": "f"}),
    }
    return [
        Row(
            f"cheat: {probe.origin}{', inert' if probe.inert else ''}, {form} {number}",
            "cheats",
            fenced(probe.code),
            tests,
        )
        for form, (entry_point, tests) in forms.items()
        for number, probe in enumerate(_of_form(form, entry_point))
    ]


def corpus() -> list[Row]:
    """All rows."""
    programs = [Row(case.name, "programs", fenced(case.code), case.sample) for case in CASES]
    told = [Row(case.name, "outputs", fenced(case.code), case.sample) for case in outputs()]
    texts_ = [Row(f"text: {name}", "texts", text, TWO) for name, text in texts().items()]
    completions = [Row(name, "completions", text, sample_of(problem)) for name, problem, _, text in ROWS]
    clocked = [Row(f"clock: {case.name}", "clock", fenced(case.code), case.sample) for case in CLOCKED]
    return [*texts_, *told, *programs, *completions, *_cheats(), *clocked]


def missing(peers: Path, reward: str) -> str | None:
    """Why a trainer's reward cannot be asked: there is no checkout."""
    from bench.assay_rewards import REWARDS as KNOWN

    known = next(one for one in KNOWN if one.name == _BENCH.get(reward, reward))
    return None if (peers / known.repository).is_dir() else f"not compared: no {known.repository}"


def ask(peers: Path, reward: str, rows: Sequence[Row], *, workers: int = 1) -> list[float | str | None]:
    """What the trainer's own reward pays for each row: None for an assertion, a text for another exception.

    Args:
        peers: folder of checkouts or git directories.
        reward: one of `REWARDS`.
        rows: to be paid.
        workers: gradings at the same time.

    Raises:
        RuntimeError: no bubblewrap, or the reward's process failed.
    """
    from bench.assay_rewards import REWARDS as KNOWN
    from bench.assay_rewards import Reward, prepare

    known: Reward = next(one for one in KNOWN if one.name == _BENCH.get(reward, reward))
    if reward == "nemo-gym":
        known = _with_app(known)
    with TemporaryDirectory() as folder:
        prepare(peers, [known], Path(folder))
        request = {
            "reward": reward,
            "workers": workers,
            "rows": [{"reply": row.reply, "tests": row.tests} for row in rows],
        }
        command = jailed(Path(folder), "nice", "-n5", driver=DRIVER)
        done = subprocess.run(command, input=json.dumps(request), capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{reward}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _with_app(known):
    from dataclasses import replace

    return replace(known, sources=(*known.sources, "resources_servers/code_gen/app.py"))
