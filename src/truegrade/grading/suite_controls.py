"""Control runs: what a suite of unit tests is run with besides, to show results that are not the program's own.

Tests and program share a process, so a program can make every test pass: by ending with success, by objects equal
to everything, by replacing `unittest`, by reading expected values. It cannot know what *should* pass. In a control
run a constant of some assertions has been changed, so that a right program fails exactly these; which they are is
drawn for each verdict outside the process. What fails is noted, and the test goes on, so that every assertion is
a control of its own. A second run changes the other assertions. A program that forges the result of an assertion
has to guess right in both.

Which changes a right program fails is found with the data set's reference.
"""

from __future__ import annotations

import functools
import hashlib
import operator
import os
import platform
import random
import threading
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import msgspec

from truegrade.files.json_text import UNREADABLE
from truegrade.grading.executor import Executor
from truegrade.grading.functions import REFERENCE_CPU_S, ReferenceFailed
from truegrade.grading.kept import LastKept
from truegrade.grading.suite_assertions import MOST_TRIED, Assertion, Edit, SuiteSource
from truegrade.grading.suite_outside import outside_suite
from truegrade.grading.suite_runner import FAILED, HELD, RAISED
from truegrade.grading.suite_runs import MOST_WATCHED, WATCH, SuiteRun, run_suite
from truegrade.records import Reason, SuiteTask

CONTROLS_VERSION = 6
"""Of what is kept on disk; other rules of finding changes raise it."""
CONFIRMING = 12
"""How often what misbehaves is left out before the reference is given up."""
RECHECK_RUNS = 10
"""How often the reference is run again with the changes that a program's results differ by."""
RECHECKS = 2
"""How often that is done for a suite whose reference never differs."""
UNSTEADY = "the data set's reference passes its suite only now and then"
ENOUGH = 4
"""So many decisive controls make two patterns enough; with fewer there are four."""


class Control(msgspec.Struct, frozen=True, array_like=True):
    """An assertion that the reference comes to, and a change with which it fails."""

    place: int
    raising: bool
    required: bool
    """Whether a right program must come to it."""
    edit: Edit | None
    """None where nothing was found that makes it fail."""

    @property
    def decisive(self) -> bool:
        """Whether no object can satisfy it both ways."""
        return self.edit is not None and self.edit.decisive


class SuiteControls(msgspec.Struct, frozen=True, kw_only=True):
    """What the reference showed of a suite."""

    tests: str
    """Outcome of each test with the reference (`SuiteRun.tests`)."""
    cpu_s: float
    """CPU seconds that the reference took."""
    wall_s: float = 0.0
    """Wall seconds, which are more where the suite sleeps."""
    controls: tuple[Control, ...]
    salt: str
    """Unknown to programs; what is drawn depends on it."""
    outside: bool = False
    """Whether the judge's process runs the suite (`truegrade.grading.suite_outside`), which needs no controls."""
    origins: str = ""
    """Outside, where the reference's objects crossed (`truegrade.sandbox.objects.Origins`), in hexadecimal."""
    rechecks: int = 0
    """How often the reference was run again because a program's results differed, and did not differ itself."""

    @property
    def decisive(self) -> int:
        """Number of assertions that some control run would show to be forged, unless the program guesses."""
        return sum(one.decisive for one in self.controls)

    @property
    def coverage(self) -> str:
        """``full``, ``partial`` or ``none``: how many of the assertions that is."""
        return "none" if not self.decisive else "full" if self.decisive == len(self.controls) else "partial"

    def patterns(self, program: str) -> list[frozenset[int]]:
        """For each control run the numbers of the controls that are to fail, drawn for a program."""
        chance = random.Random(hashlib.sha256(f"{self.salt}\0{program}".encode("utf-8", "replace")).digest())
        usable = [number for number, one in enumerate(self.controls) if one.edit is not None]
        found: list[frozenset[int]] = []
        for _ in range(1 if self.decisive >= ENOUGH else 2):
            half = frozenset(number for number in usable if chance.random() < 0.5)
            found += [half, frozenset(usable) - half]
        return found


def run_control(
    task: SuiteTask,
    source: SuiteSource,
    controls: Sequence[Control],
    changed: Iterable[int],
    program: str,
    executor: Executor,
    *,
    cpu_s: float,
) -> SuiteRun:
    """Run the suite with the changes of some of its controls."""
    watched = {one.place: number for number, one in enumerate(controls)}
    edits = [edit for number in changed if (edit := controls[number].edit) is not None]
    tests = source.compiled(watched, edits, WATCH)
    broad = [number for number, one in enumerate(controls) if one.raising]
    return run_suite(task, source, program, executor, tests=tests, broad=broad, watched=len(controls), cpu_s=cpu_s)


def differs(run: SuiteRun, tests: str, controls: Sequence[Control], changed: Iterable[int]) -> str:
    """How a control run differs from what a right program makes of it, in words; empty where it does not.

    Args:
        run: the control run.
        tests: outcomes of the suite without changes.
        controls: those watched.
        changed: numbers of those that are to fail.
    """
    if not run.tests:
        return f"a control run ended without a report: {run.detail}"
    failing = frozenset(changed)
    for number, (control, seen) in enumerate(zip(controls, run.seen, strict=True)):
        if fault := _fault(control, seen, due=number in failing):
            return fault
    decisive = [seen for one, seen in zip(controls, run.seen, strict=True) if one.decisive]
    if decisive and not any(decisive):
        return "none of the assertions was reached that control runs look at"
    if any(before != after for before, after in zip(tests, run.tests, strict=True)):
        return f"tests ended otherwise when assertions were changed: {run.words or 'not all were run'}"
    return ""


def _fault(control: Control, seen: int, *, due: bool) -> str:
    """What a right program does not make of an assertion; empty where all is as it should be.

    Args:
        control: the assertion.
        seen: what was seen of it.
        due: whether it has been changed, so that it is to fail.
    """
    if seen == 0:
        return "an assertion was not reached, which every right program comes to" if control.required else ""
    if not due:
        return "" if seen == HELD else "an assertion that held does not where others were changed"
    return (
        ""
        if _failed(control.raising, seen)
        else "an assertion held that was changed so that a right program fails it"
    )


def _failed(raising: bool, seen: int) -> bool:
    return seen in ((FAILED, RAISED, FAILED | RAISED) if raising else (FAILED,))


def controls_folder() -> Path:
    """``truegrade/controls`` under ``XDG_CACHE_HOME`` or ``~/.cache``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "truegrade" / "controls"


class ControlsKept:
    """Controls of suites: found once, kept in memory for those graded last, and on disk.

    Args:
        folder: where; None for `controls_folder`.
        kept: suites in memory.
    """

    def __init__(self, folder: Path | None = None, kept: int = 256) -> None:
        self._folder = folder
        self._memory = LastKept[SuiteControls](kept)

    def of(
        self, task: SuiteTask, source: SuiteSource, executor: Executor, packages: Sequence[str] = ()
    ) -> SuiteControls:
        """The controls of a task.

        Args:
            task: with suite and reference.
            source: that suite.
            executor: runs the reference, where the controls are not known yet.
            packages: installed packages on whose versions they depend.

        Raises:
            ReferenceFailed: the reference itself does not pass.
        """
        key = _key(task, packages, executor.level)

        def find() -> SuiteControls:
            found = self._read(key)
            if found is None:
                found = found_outside(task, source, executor) or find_controls(task, source, executor)
                self._write(key, found)
            return found

        return self._memory.of(key, find)

    def rechecked(
        self,
        task: SuiteTask,
        source: SuiteSource,
        controls: SuiteControls,
        changed: frozenset[int],
        executor: Executor,
        packages: Sequence[str] = (),
    ) -> SuiteControls | None:
        """The controls without those that the reference itself does not always keep to; None where it does.

        Args:
            task, source, executor, packages: as for `of`.
            controls: the controls so far.
            changed: numbers of those that were changed when a program's results differed.
        """
        if controls.rechecks >= RECHECKS:
            return None
        cpu_s, key = task.cpu_s or REFERENCE_CPU_S, _key(task, packages, executor.level)
        for _ in range(RECHECK_RUNS):
            run = run_control(task, source, controls.controls, changed, task.reference, executor, cpu_s=cpu_s)
            if run.tests and differs(run, controls.tests, controls.controls, changed):
                left = _without_faults(list(controls.controls), changed, run)
                found = msgspec.structs.replace(controls, controls=tuple(left), rechecks=0)
                self._keep(key, found)
                return found
        self._keep(key, msgspec.structs.replace(controls, rechecks=controls.rechecks + 1))
        return None

    def known(self, task: SuiteTask, packages: Sequence[str] = (), *, level: int) -> SuiteControls | None:
        """The controls of a task that are on disk, if they have been found before at a protection level."""
        return self._read(_key(task, packages, level))

    def _read(self, key: str) -> SuiteControls | None:
        path = (self._folder or controls_folder()) / f"{key}.json"
        try:
            return msgspec.json.decode(path.read_bytes(), type=SuiteControls)
        except (OSError, *UNREADABLE):
            return None

    def _keep(self, key: str, found: SuiteControls) -> None:
        self._memory.keep(key, found)
        self._write(key, found)

    def _write(self, key: str, found: SuiteControls) -> None:
        """Keep them, whole or not at all; a disk that cannot be written to costs time and nothing else."""
        path = (self._folder or controls_folder()) / f"{key}.json"
        beside = path.with_name(f"{key}.{os.getpid()}-{threading.get_ident()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            beside.write_bytes(msgspec.json.encode(found))
            beside.replace(path)
        except OSError:
            beside.unlink(missing_ok=True)


def _key(task: SuiteTask, packages: Iterable[str], level: int) -> str:
    """Hash of all that the controls of a task depend on: at level 2 no path of a file means the same outside."""
    versions = [(name, _version(name)) for name in (*packages, task.framework)]
    decides = [
        *(task.tests, task.reference, task.framework, task.module, task.files, task.entry_point),
        *(CONTROLS_VERSION, platform.python_version(), versions, level),
    ]
    return hashlib.sha256(msgspec.json.encode(decides)).hexdigest()


@cache
def _version(package: str) -> str:
    """Of an installed package; empty if it is not. Every verdict asks, and each look-up reads the disk."""
    from importlib.metadata import PackageNotFoundError, version  # which few runs need, and all would wait for

    try:
        return version(package)
    except PackageNotFoundError:
        return ""


# --------------------------------------------------------------------------------------------------- finding


def found_outside(task: SuiteTask, source: SuiteSource, executor: Executor) -> SuiteControls | None:
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
    outcomes = [*(run.outcome for run in runs), together.outcome]
    return SuiteControls(
        tests=runs[0].tests,
        cpu_s=max(one.cpu_s for one in outcomes),
        wall_s=max(one.wall_s for one in outcomes),
        controls=(),
        salt="",
        outside=True,
        origins=f"{functools.reduce(operator.or_, (run.origins for run in runs)):x}",
    )


def find_controls(
    task: SuiteTask, source: SuiteSource, executor: Executor, salt: bytes | None = None
) -> SuiteControls:
    """Find with the reference what changes each assertion fails by.

    Every round tries one change of every assertion that has none yet, all in one run.

    Args:
        task: with suite and reference.
        source: that suite.
        executor: runs the reference.
        salt: what is drawn depends on it; None for an unknown one.

    Raises:
        ReferenceFailed: the reference itself does not pass, or not twice.
    """
    salt = os.urandom(16) if salt is None else salt
    cpu_s = task.cpu_s or REFERENCE_CPU_S
    first = run_suite(task, source, task.reference, executor, tests=task.tests, cpu_s=cpu_s)
    if first.reason is not Reason.PASSED:
        raise ReferenceFailed(f"the data set's reference does not pass its suite here: {first.detail}")
    controls = _tried(task, source, source.assertions(random.Random(salt))[:MOST_WATCHED], executor, cpu_s)
    return _confirmed(task, source, first, controls, executor, salt.hex())


def _tried(
    task: SuiteTask, source: SuiteSource, assertions: list[Assertion], executor: Executor, cpu_s: float
) -> list[Control]:
    """The assertions that the reference comes to, each with the first of its changes by which it fails."""
    found: dict[int, Edit] = {}
    reached: set[int] = set()
    for turn in range(MOST_TRIED):
        trying = {one.place: one.edits[turn] for one in assertions if turn < len(one.edits)}
        trying = {place: edit for place, edit in trying.items() if place not in found}
        if not trying:
            break
        # All are broad: what ends one by another exception is not to hide those behind it.
        tested = [Control(one.place, True, False, trying.get(one.place)) for one in assertions]
        run = run_control(task, source, tested, range(len(tested)), task.reference, executor, cpu_s=cpu_s)
        for one, seen in zip(assertions, run.seen, strict=False):
            reached.update({one.place} if seen else ())
            if one.place in trying and _failed(one.raising, seen):
                found[one.place] = trying[one.place]
    return [
        Control(one.place, one.raising, one.straight, found.get(one.place))
        for one in assertions
        if one.place in reached
    ]


def _confirmed(
    task: SuiteTask, source: SuiteSource, first: SuiteRun, controls: list[Control], executor: Executor, salt: str
) -> SuiteControls:
    """Leave out what does not behave when the controls are used as they will be, until everything does."""
    cpu_s = task.cpu_s or REFERENCE_CPU_S
    for _ in range(CONFIRMING):
        found = SuiteControls(
            tests=first.tests,
            cpu_s=first.outcome.cpu_s,
            wall_s=first.outcome.wall_s,
            controls=tuple(controls),
            salt=salt,
        )
        for pattern in found.patterns(task.reference)[:2]:
            run = run_control(task, source, controls, pattern, task.reference, executor, cpu_s=cpu_s)
            if differs(run, first.tests, controls, pattern):
                controls = _without_faults(controls, pattern, run)
                break
        else:
            return found
    raise ReferenceFailed(UNSTEADY)


def _without_faults(controls: list[Control], pattern: frozenset[int], run: SuiteRun) -> list[Control]:
    """The controls without those that misbehave; where none shows, without half of the changes."""
    faulty = {
        number
        for number, (one, seen) in enumerate(zip(controls, run.seen, strict=False))
        if _fault(one, seen, due=number in pattern)
    }
    innocent = min(faulty - pattern, default=None)
    if innocent is not None:
        # What was changed before it has an effect on it, unless nothing was.
        before = [number for number in pattern if number < innocent]
        if not before:
            return [one for number, one in enumerate(controls) if number != innocent]
        faulty = {max(before)}
    dropped = faulty or frozenset(sorted(pattern)[::2])
    return [
        msgspec.structs.replace(one, edit=None) if number in dropped else one
        for number, one in enumerate(controls)
    ]
