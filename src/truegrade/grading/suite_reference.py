"""What the reference of a suite of unit tests shows: how its tests end, how long they take, where they can run."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from truegrade.files.kept import KeptOnDisk, LastKept, user_cache
from truegrade.grading.executor import Executor
from truegrade.grading.functions import OF_REFERENCE, REFERENCE_CPU_S, ReferenceFailed
from truegrade.grading.marks import installed_version
from truegrade.grading.suite_doubts import doubts_of
from truegrade.grading.suite_runs import outside_suite, run_suite
from truegrade.grading.suite_source import SuiteSource
from truegrade.records import Reason, SuiteTask

REFERENCES_VERSION = 5
"""Of what is kept on disk; other rules of what is judged outside raise it."""
_MOST_BYTES = 256 * 10**6
"""Of what is kept on disk."""


class SuiteReference(msgspec.Struct, frozen=True, kw_only=True):
    """What the reference showed of a suite."""

    tests: str
    """Outcome of each test with the reference (`SuiteRun.tests`)."""
    cpu_s: float
    """CPU seconds that the reference took."""
    wall_s: float = 0.0
    """Wall seconds, which are more where the suite sleeps."""
    outside: bool = False
    """Whether the judge's process runs the suite (`truegrade.grading.suite_runs`)."""
    origins: tuple[str, ...] = ()
    """Outside, where the reference's objects crossed (`truegrade.sandbox.stand_ins.code_of`)."""
    doubts: tuple[str, ...] = ()
    """Outside, what the tests may ask for that only a run beside the program shows them."""
    copied: bool = True
    """Outside, whether it passes on copies of its arguments and files: not if it is to change them, or to return
    one."""
    tied: str = ""
    """Outside, what it does to them, where all runs agree (`truegrade.grading.suite_runs.OutsideRun`)."""


class ReferencesShown:
    """What references showed: found once, kept in memory for the suites graded last, and on disk.

    Args:
        folder: where; None for ``truegrade/suites`` under ``XDG_CACHE_HOME`` or ``~/.cache``.
        kept: suites in memory.
    """

    def __init__(self, folder: Path | None = None, kept: int = 256) -> None:
        self._folder = folder
        self._memory = LastKept[SuiteReference](kept)

    def of(
        self, task: SuiteTask, source: SuiteSource, executor: Executor, packages: Sequence[str] = ()
    ) -> SuiteReference:
        """What the reference of a task shows.

        Args:
            task: with suite and reference.
            source: that suite.
            executor: runs the reference, where that is not known yet.
            packages: installed packages on whose versions it depends.

        Raises:
            ReferenceFailed: the reference itself does not pass.
        """
        key = _key(task, packages, executor.level)

        def find() -> bytes:
            return msgspec.json.encode(
                reference_outside(task, source, executor) or reference_beside(task, source, executor)
            )

        return self._memory.of(key, lambda: _decoded(self._disk().of(key, find)))

    def known(self, task: SuiteTask, packages: Sequence[str] = (), *, level: int) -> SuiteReference | None:
        """What is on disk of a task, if it has been found before at a protection level."""
        found = self._disk().read(_key(task, packages, level))
        return None if found is None else _decoded(found)

    def _disk(self) -> KeptOnDisk:
        return KeptOnDisk(self._folder or user_cache("suites"), _MOST_BYTES)


_decoded = msgspec.json.Decoder(SuiteReference).decode


def _key(task: SuiteTask, packages: Iterable[str], level: int) -> str:
    """Hash of all that it depends on: at level 2 no path of a file means the same outside."""
    versions = [(name, installed_version(name)) for name in (*packages, task.framework)]
    decides = [
        *(task.tests, task.reference, task.framework, task.module, task.files, task.entry_point),
        *(REFERENCES_VERSION, platform.python_version(), versions, level),
    ]
    return hashlib.sha256(msgspec.json.encode(decides)).hexdigest()


def reference_outside(task: SuiteTask, source: SuiteSource, executor: Executor) -> SuiteReference | None:
    """What the reference shows of a suite that the judge's process can run; None where it cannot."""
    suite = outside_suite(task, source)
    cpu_s = task.cpu_s or REFERENCE_CPU_S
    runs = suite.reference_runs(task.reference, executor, cpu_s) if suite is not None else []
    if suite is None or not runs:
        return None
    # A program that passes has to pass in one process with the tests as well.
    together = run_suite(task, source, task.reference, executor, tests=suite.beside, cpu_s=cpu_s)
    if together.reason is not Reason.PASSED or together.tests != runs[0].tests:
        return None
    copied, tied = True, {run.tied for run in runs}
    if any(tied):
        on_copies = suite.reference_runs(task.reference, executor, cpu_s, carries=False)
        copied, runs = bool(on_copies), [*runs, *on_copies]
    copies_values = copied or not any(each.startswith("v") for each in tied)
    origins = tuple(sorted({each for run in runs for each in run.origins}))
    # An object may say another length than it has items; of a value that is met again it is not asked where.
    if origins and (source.asserts_in_turns() or not copies_values):
        return None
    doubts = {each for run in runs for each in run.doubts}
    doubts.update(doubts_of(source, suite.trusted, objects=bool(origins)))
    outcomes = [*(run.outcome for run in runs), together.outcome]
    return SuiteReference(
        tests=runs[0].tests,
        cpu_s=max(one.cpu_s for one in outcomes),
        wall_s=max(one.wall_s for one in outcomes),
        outside=True,
        origins=origins,
        doubts=tuple(sorted(doubts)),
        copied=copied,
        tied=tied.pop() if len(tied) == 1 else "",
    )


def reference_beside(task: SuiteTask, source: SuiteSource, executor: Executor) -> SuiteReference:
    """What the reference shows of a suite that runs in the program's process.

    Raises:
        ReferenceFailed: it does not pass.
    """
    run = run_suite(task, source, task.reference, executor, tests=task.tests, cpu_s=task.cpu_s or REFERENCE_CPU_S)
    if run.reason is not Reason.PASSED:
        raise ReferenceFailed(f"{OF_REFERENCE}does not pass its suite here: {run.detail}")
    return SuiteReference(tests=run.tests, cpu_s=run.outcome.cpu_s, wall_s=run.outcome.wall_s)
