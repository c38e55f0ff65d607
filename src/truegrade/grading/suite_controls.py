"""Control runs: how a suite of unit tests that shares the program's process is run, so that forging needs guesses.

Such a process says of its own tests what it likes, so a forger need not compute what is asked; but it has to
know what is asked. Each assertion is shown in up to four versions: the original, and others in which one
constant is another (`truegrade.grading.suite_versions`), so that a right program fails them. There are as many
runs as versions, and in them every assertion shows each of its versions, in an order drawn by the operating
system's generator for each verdict and each assertion. A failing assertion does not end its test. A right
program holds each assertion exactly where it shows the original. All runs are alike: no run has the unchanged
suite, not even the last one. If one had, programs that leave notes for later ones would tell them which versions
are the original ones: those of that run. Nothing is run again because of what a program did.

**Chance.** Let a forger know all versions and all runs, of earlier verdicts too; each version is shown equally
often, so nothing it sees tells the original from the others of its block. For an assertion whose block has n
values it has to name one, right with chance 1 / n. Assertions with the same block are no further guesses, unless
their originals differ: of a block of n with j originals the forger names j different ones in order, 1 / (n (n -
1) ... (n - j + 1)). Blocks are disjoint, so the product over blocks is the chance of a program that computes
nothing (`SuiteControls.chance`). For d assertions of blocks of their own, each with m alternatives, that is (m +
1) ** -d.

It is given only where every assertion that the reference reaches is decisive, so that none can be forged without
a guess: it stands in a test outside loops, conditions and helpers, is reached once, fails with each alternative,
and a program whose functions return mocks does not keep to it. Truth, types, exceptions, bounds and unknown
words have versions too, and count as no guess. All other suites are run once, unchanged.

**What it does not cover.** A program that knows the suite. One that is right in all but k of the blocks has to
guess these alone: with m alternatives (m + 1) ** -k. And one that estimates which version is likelier, from its
arguments or from how values are related in the suite, does better than chance as far as its estimate goes.
"""

from __future__ import annotations

import ast
import hashlib
import math
import platform
import random
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from truegrade.files.kept import KeptOnDisk, LastKept, user_cache
from truegrade.grading.executor import Executor
from truegrade.grading.functions import REFERENCE_CPU_S, ReferenceFailed
from truegrade.grading.marks import installed_version
from truegrade.grading.suite_assertions import Assertion, SuiteSource
from truegrade.grading.suite_runner import FAILED, HELD, OFTEN, RAISED
from truegrade.grading.suite_runs import MOST_TESTS, MOST_WATCHED, WATCH, SuiteRun, outside_suite, run_suite
from truegrade.grading.suite_versions import Versions, versions_of
from truegrade.records import Reason, SuiteTask

CONTROLS_VERSION = 12
"""Of what is kept on disk; other rules of finding changes raise it."""
APART = 3
"""The lowest protection level at which runs have namespaces of their own: below it a suite has no chance."""
MOST_TRIED = 4
"""How many constants of an assertion are tried."""
REFERENCE_RUNS = 30
"""So often the reference has to do in control runs what it should; what wavers is left out with its suite."""


class Control(msgspec.Struct, frozen=True, array_like=True):
    """An assertion, and what it is shown with."""

    place: int
    raising: bool
    test: int
    """Number of its test."""
    constant: int
    """Place of what is changed."""
    versions: Versions

    def kept_to(self, seen: int, shown: int) -> bool:
        """Whether what was seen of it is what a right program makes of the version that it showed."""
        if shown == self.versions.original:
            return seen == HELD
        return seen == FAILED or (self.raising and seen == RAISED)


class SuiteControls(msgspec.Struct, frozen=True, kw_only=True):
    """What the reference showed of a suite."""

    tests: str
    """Outcome of each test with the reference (`SuiteRun.tests`)."""
    cpu_s: float
    """CPU seconds that the reference took."""
    wall_s: float = 0.0
    """Wall seconds, which are more where the suite sleeps."""
    controls: tuple[Control, ...] = ()
    """Of every assertion that it reaches; none where there is one that nothing decides."""
    why: str = ""
    """Why there are none."""
    outside: bool = False
    """Whether the judge's process runs the suite (`truegrade.grading.suite_runs`), which needs no controls."""
    origins: tuple[str, ...] = ()
    """Outside, where the reference's objects crossed (`truegrade.sandbox.stand_ins.code_of`)."""

    @property
    def chance(self) -> float:
        """The chance that a program which computes nothing passes one verdict; 1 where it need not guess."""
        return chance_of_all(one.versions for one in self.controls)


def chance_of_all(asked: Iterable[Versions]) -> float:
    """The chance to name the originals of all these, see above."""
    originals: dict[tuple[str, int], set[int]] = {}
    for one in asked:
        originals.setdefault((one.block, len(one.sources)), set()).add(one.original)
    return 1 / math.prod(math.perm(size, len(found)) for (name, size), found in originals.items() if name)


def draw_versions(sizes: Sequence[int], chance: random.Random | None = None) -> list[list[int]]:
    """For each control run the number of the version that each assertion shows in it.

    Args:
        sizes: how many versions each assertion has. There are as many runs as the largest says; an assertion with
            fewer versions shows all of them, and some again.
        chance: draws; None for the operating system's generator.
    """
    chance = chance or random.SystemRandom()
    runs, orders = max(sizes, default=0), []
    for size in sizes:
        order = [*range(size), *(chance.randrange(size) for _ in range(runs - size))]
        chance.shuffle(order)
        orders.append(order)
    return [list(shown) for shown in zip(*orders, strict=True)]


def drawn_for(controls: Sequence[Control]) -> list[list[int]]:
    """The same for controls."""
    return draw_versions([len(one.versions.sources) for one in controls])


def run_control(
    task: SuiteTask,
    source: SuiteSource,
    controls: Sequence[Control],
    shown: Sequence[int],
    program: str,
    executor: Executor,
    *,
    cpu_s: float,
) -> SuiteRun:
    """Run the suite with these versions of its assertions."""
    watched = {one.place: number for number, one in enumerate(controls)}
    changed = {one.constant: one.versions.sources[number] for one, number in zip(controls, shown, strict=True)}
    tests = source.compiled(watched, changed, WATCH)
    broad = [number for number, one in enumerate(controls) if one.raising]
    return run_suite(task, source, program, executor, tests=tests, broad=broad, watched=len(controls), cpu_s=cpu_s)


_MOST_BYTES = 256 * 10**6
"""Of controls on disk."""


class ControlsKept:
    """Controls of suites: found once, kept in memory for those graded last, and on disk.

    Args:
        folder: where; None for ``truegrade/controls`` under ``XDG_CACHE_HOME`` or ``~/.cache``.
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

        def find() -> bytes:
            return msgspec.json.encode(
                found_outside(task, source, executor) or find_controls(task, source, executor)
            )

        return self._memory.of(key, lambda: _decoded(self._disk().of(key, find)))

    def known(self, task: SuiteTask, packages: Sequence[str] = (), *, level: int) -> SuiteControls | None:
        """The controls of a task that are on disk, if they have been found before at a protection level."""
        found = self._disk().read(_key(task, packages, level))
        return None if found is None else _decoded(found)

    def _disk(self) -> KeptOnDisk:
        return KeptOnDisk(self._folder or user_cache("controls"), _MOST_BYTES)


_decoded = msgspec.json.Decoder(SuiteControls).decode


def _key(task: SuiteTask, packages: Iterable[str], level: int) -> str:
    """Hash of all that the controls of a task depend on: at level 2 no path of a file means the same outside."""
    versions = [(name, installed_version(name)) for name in (*packages, task.framework)]
    decides = [
        *(task.tests, task.reference, task.framework, task.module, task.files, task.entry_point),
        *(CONTROLS_VERSION, platform.python_version(), versions, level),
    ]
    return hashlib.sha256(msgspec.json.encode(decides)).hexdigest()


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
    origins = tuple(sorted({each for run in runs for each in run.origins}))
    if origins and source.asserts_in_turns():  # an object may say another length than it has items
        return None
    outcomes = [*(run.outcome for run in runs), together.outcome]
    return SuiteControls(
        tests=runs[0].tests,
        cpu_s=max(one.cpu_s for one in outcomes),
        wall_s=max(one.wall_s for one in outcomes),
        outside=True,
        origins=origins,
    )


def find_controls(task: SuiteTask, source: SuiteSource, executor: Executor) -> SuiteControls:
    """Find with the reference what each assertion can be shown with.

    Nothing is drawn but the order of versions, so whoever finds the controls of a suite finds the same.

    Args:
        task: with suite and reference.
        source: that suite.
        executor: runs the reference.

    Raises:
        ReferenceFailed: the reference itself does not pass.
    """
    cpu_s = task.cpu_s or REFERENCE_CPU_S
    first = run_suite(task, source, task.reference, executor, tests=task.tests, cpu_s=cpu_s)
    if first.reason is not Reason.PASSED:
        raise ReferenceFailed(f"the data set's reference does not pass its suite here: {first.detail}")
    found = SuiteControls(tests=first.tests, cpu_s=first.outcome.cpu_s, wall_s=first.outcome.wall_s)
    if executor.level < APART:
        return msgspec.structs.replace(found, why="runs that share what the machine shows them are no runs apart")
    try:
        controls = _Finding(task, source, executor, cpu_s, first.tests).controls()
    except _NotDecisive as why:
        return msgspec.structs.replace(found, why=str(why))
    return msgspec.structs.replace(found, controls=tuple(controls))


class _NotDecisive(Exception):
    """An assertion can be forged without a guess; says which, and why."""


class _Finding:
    """Finds the controls of one suite; see `find_controls`."""

    def __init__(self, task: SuiteTask, source: SuiteSource, executor: Executor, cpu_s: float, tests: str) -> None:
        self._task, self._source, self._executor, self._cpu_s, self._tests = task, source, executor, cpu_s, tests
        self._told = f"{task.prompt} {task.prefix} {task.starter} {source.spelled}"
        self._runs = 0

    def controls(self) -> list[Control]:
        """The controls.

        Raises:
            _NotDecisive: of some assertion there is none.
        """
        assertions = self._reached()
        turns = [0] * len(assertions)
        for _ in range(MOST_TRIED):
            controls = self._chosen(assertions, turns)
            faulty = self._faulty(controls)
            for number in faulty:
                turns[number] += 1
            if not faulty:
                break
        else:
            raise _NotDecisive("the reference does not fail with the changes that were tried")
        if chance_of_all(one.versions for one in controls) == 1:
            raise _NotDecisive("what it asks for can be guessed")
        while self._runs < REFERENCE_RUNS:
            for number in self._faulty(controls):
                raise _NotDecisive(f"the reference does not always keep to {self._named(assertions[number])}")
        self._refuse_free(assertions, controls)
        return controls

    def _named(self, one: Assertion) -> str:
        return f"line {self._source.line(one.place)}, {self._source.text(one.place)}"

    def _reached(self) -> list[Assertion]:
        """The assertions that the reference comes to."""
        every = self._source.assertions()
        if not every or self._source.decides_otherwise(every):
            raise _NotDecisive("tests fail by other statements than assertions, or have none")
        if len(every) > MOST_WATCHED or len(self._source.names) > MOST_TESTS:
            raise _NotDecisive("it has too many assertions or tests")
        tests = self._source.compiled({one.place: number for number, one in enumerate(every)}, {}, WATCH)
        run = self._run(tests, [number for number, one in enumerate(every) if one.raising], len(every))
        reached = [(one, seen) for one, seen in zip(every, run.seen, strict=False) if seen]
        for one, seen in reached:
            if seen == OFTEN or not one.test:
                raise _NotDecisive(f"in a loop, a condition or a helper: {self._named(one)}")
            if not one.choices:
                raise _NotDecisive(f"nothing that can be changed: {self._named(one)}")
        if not reached or run.tests != self._tests:
            raise _NotDecisive("the reference comes to no assertion, or not always")
        return [one for one, _ in reached]

    def _run(self, tests: bytes, broad: list[int], watched: int) -> SuiteRun:
        reference = self._task.reference
        return run_suite(
            self._task, self._source, reference, self._executor,
            tests=tests, broad=broad, watched=watched, cpu_s=self._cpu_s,
        )  # fmt: skip

    def _chosen(self, assertions: Sequence[Assertion], turns: Sequence[int]) -> list[Control]:
        """A control of each assertion: of what can be changed in it that whose turn it is."""
        choices = [choice for one in assertions for choice in one.choices]
        others = self._source.elsewhere(choices, self._told)
        chosen = []
        for one, turn in zip(assertions, turns, strict=True):
            order = sorted(one.choices, key=lambda choice: not versions_of(choice, others).block)
            if turn >= len(order):
                raise _NotDecisive(f"no change that the reference fails: {self._named(one)}")
            chosen.append(order[turn])
        elsewhere = self._source.elsewhere(chosen, self._told)
        controls = []
        for one, choice in zip(assertions, chosen, strict=True):
            versions = versions_of(choice, elsewhere)
            test = self._source.names.index(one.test)
            controls.append(Control(one.place, one.raising, test, choice.place, versions))
        return controls

    def _faulty(self, controls: Sequence[Control]) -> list[int]:
        """Numbers of the controls that the reference does not keep to in all control runs of one drawing."""
        faulty: set[int] = set()
        for shown in drawn_for(controls):
            run = run_control(
                self._task, self._source, controls, shown, self._task.reference, self._executor, cpu_s=self._cpu_s
            )
            self._runs += 1
            faulty.update(strayed(controls, shown, run))
            if not run.tests or (run.tests != self._tests and not faulty):
                raise _NotDecisive(f"tests of the reference end otherwise when constants change: {run.detail}")
        return sorted(faulty)

    def _refuse_free(self, assertions: Sequence[Assertion], controls: Sequence[Control]) -> None:
        """Refuse assertions to which a program keeps that computes nothing."""
        free, met = set(range(len(controls))), set()
        for shown in drawn_for(controls):
            run = run_control(
                self._task, self._source, controls, shown, idle(self._task.reference), self._executor,
                cpu_s=self._cpu_s,
            )  # fmt: skip
            free -= set(strayed(controls, shown, run)) if run.tests else set(free)
            met |= {number for number, seen in enumerate(run.seen) if seen}
        free |= {number for number, one in enumerate(assertions) if number not in met and not one.programs}
        for number in sorted(free):
            raise _NotDecisive(f"not decided by what the program returns: {self._named(assertions[number])}")


def strayed(controls: Sequence[Control], shown: Sequence[int], run: SuiteRun) -> list[int]:
    """Numbers of the controls that were not kept to in a run."""
    found = enumerate(zip(controls, shown, run.seen, strict=True)) if run.tests else ()
    return [number for number, (one, version, seen) in found if not one.kept_to(seen, version)]


def idle(reference: str) -> str:
    """The reference, but all its functions return mocks."""
    tree = ast.parse(reference)
    nothing = ast.parse("return __import__('unittest.mock').mock.MagicMock()").body
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [ast.Pass()] if node.name == "__init__" else list(nothing)
    return ast.unparse(tree)
