"""The sandbox: runs untrusted programs under fixed limits, from any number of threads."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from truegrade.errors import SandboxError
from truegrade.sandbox import modes
from truegrade.sandbox.levels import GET_BUBBLEWRAP, NO_NAMESPACES, TESTED, detect, self_test
from truegrade.sandbox.limits import LIMITS_ONLY, NAMESPACES, Limits, Protection
from truegrade.sandbox.modes import CodeCache
from truegrade.sandbox.outcome import SMALL_BYTES, CallResult, Outcome, Stop, conclude
from truegrade.sandbox.supervisor import Supervisor
from truegrade.sandbox.worker import Worker

if TYPE_CHECKING:
    from truegrade.sandbox.apart import Apart

PATIENCE_S = 0.1
"""Seconds that callers wait, together, for workers at work before another is started: about what that takes."""
LOOK_S = 0.01
"""How often a waiting caller looks whether a worker, which was only starting, is at work."""


class Sandbox:
    """An executor (`truegrade.grading.executor.Executor`); use it as a context manager.

    A run that ended by itself within a tenth of a time limit is repeated once, and the second outcome stands,
    marked ``time_sensitive``; one that goes on is ended a tenth past the limit. Processes are forked per run and
    are gone, with all they wrote, when it returns; the warm interpreters that fork them are started when first
    needed and live until `close`.

    Args:
        limits: of every run; a run may be given its own CPU limit.
        workers: runs at the same time; by default, the cores this process may use. More callers wait. A further
            worker is started when callers have waited for those that are there as long as that takes.
        max_level: protection level not to go above.
        allow_unsafe: run programs even at level 1, where they can do whatever the user can.
        hash_seed: of the programs' interpreters; the order of a set of strings depends on it.
        code: of scripts that come again; its own by default, and any number of sandboxes may share one.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        workers: int | None = None,
        *,
        max_level: int = NAMESPACES,
        allow_unsafe: bool = False,
        hash_seed: int = 0,
        code: CodeCache | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self._cores = _cores()
        self.workers = workers or len(self._cores)
        self._max_level, self._allow_unsafe, self._hash_seed = max_level, allow_unsafe, hash_seed
        self._code = code or CodeCache()
        self._free = threading.BoundedSemaphore(self.workers)
        self._lock = threading.Condition()
        """Of all below; told when a worker becomes idle."""
        self._idle: list[Worker] = []
        self._busy: list[Worker] = []
        self._waited_s = 0.0
        """For how long callers have waited for workers at work since one was started last."""
        self._apart: list[Apart] = []
        """Idle processes that compare values."""
        self._made = 0
        """Workers, so far."""
        self._closed = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Refuse further runs; those under way end within a moment with a `SandboxError`."""
        with self._lock:
            self._closed.set()
            idle: list[Worker | Apart] = [*self._idle, *self._apart]
            self._idle, self._apart = [], []
            self._lock.notify_all()
        for one in idle:
            one.close()

    @property
    def level(self) -> int:
        """Protection level, see `truegrade.sandbox`; found out, and tested, once per process."""
        return detect(self._max_level).level

    @cached_property
    def conditions(self) -> str:
        """Everything besides a program that decides what it returns: level, limits, packages and our own code."""
        packages = [(name, _version(name)) for name in self.limits.packages]
        return f"level {self.level}, {self.limits}, seed {self._hash_seed}, {packages}, {_own_code()}"

    @property
    def protection(self) -> str:
        """One line: what programs are confined by, and why not by more."""
        return detect(self._max_level).why

    def call(
        self,
        program: str,
        function: str,
        calls: Sequence[Sequence[Any]],
        on_result: Callable[[int, CallResult], bool],
        *,
        cpu_s: float | None = None,
        wall_s: float | None = None,
        call_wall_s: float | None = None,
        forks: bool = False,
    ) -> Outcome:
        """Run ``program``, then ``function(*args)`` for each of ``calls``, in order, in one process.

        Args:
            program: source; it must define ``function``.
            function: name to call.
            calls: argument tuples of plain values (None, bool, int, float, complex, str, bytes, list, tuple, set,
                frozenset, dict).
            on_result: gets each index and result as it arrives, each index once; False ends the run.
            cpu_s: CPU limit for this run.
            wall_s: wall limit for this run.
            call_wall_s: wall limit of each call but the first, counted from the answer before; ``wall_s`` then
                ends with the first answer, and the outcome's ``wall_s`` is that of the last call.
            forks: the program is trusted, and what it is given runs in forks. The first call is made in the
                process itself; of each other one that gets a function without arguments, which a fork calls, with
                the limits of a run.

        Returns:
            ``passed`` if every call was answered or ``on_result`` ended the run; of ``forks`` also where one has
            left something behind, after which no other is made: what is left to call needs another run.

        Raises:
            SandboxError: an argument is not plain, or the machine failed.
        """
        deliver = _Once(on_result)

        def converse(run: Supervisor) -> Stop:
            if forks:
                return modes.make_calls_in_forks(run, program, function, calls, deliver)
            return modes.make_calls(run, program, function, calls, deliver, call_wall_s)

        return self._measure(cpu_s, converse, wall_s)

    def judge(
        self,
        program: str,
        tests: str,
        entry_points: Sequence[str],
        *,
        trusted: str = "",
        code: bytes = b"",
        classes: Sequence[str] | None = None,
        files: bool = False,
        origins: Sequence[str] | None = None,
        lent: Sequence[str] = (),
        carries: bool = False,
        preload: Sequence[str] = (),
        cpu_s: float | None = None,
    ) -> Outcome:
        """Run ``program`` in one process and ``tests`` in another; forward calls of ``entry_points``.

        Args:
            program: untrusted source.
            tests: trusted source; passing means that it ends without an exception.
            entry_points: names bound, in the tests, to proxies of the program's functions.
            trusted: source run before the tests, in their namespace: imports and helpers they use.
            code: of the tests, marshalled, where it is at hand; the text is then for messages alone.
                ``truegrade_invoke(it, "method", ...)`` in it calls a method by one message instead of two, and
                ``truegrade_value("name")`` is what the program binds a name to.
            classes: names of classes of the program that the tests use. Given, even empty, objects cross:
                those of such classes, those of classes that ``trusted`` defines, which the program then gets too,
                and built-in types and functions. None: plain values only.
            files: whether what either changes in its working folder crosses with each call, and where values are
                carried with each answer.
            origins: where its objects may cross (`truegrade.sandbox.stand_ins.code_of`); None: anywhere.
            lent: packages whose objects stay with the program and cross like its own.
            carries: whether what the program does to its arguments is done to the tests' copies of them
                (`truegrade.sandbox.carried`) and to their files, where objects cross.
            preload: modules that both import anyway; a wrong guess costs time and nothing else.
            cpu_s: CPU limit for this run; the tests' own process may use twice as much and a second.

        Returns:
            ``wrong_answer`` if the tests failed, ``grader_error`` if the program is not to blame.

        Raises:
            SandboxError: the machine failed.
        """
        judged = partial(
            modes.run_tests, program=program, tests=tests, names=entry_points, trusted=trusted, code=code,
            classes=classes, files=files, origins=origins, lent=lent, carries=carries,
            preload=preload,
        )  # fmt: skip
        try:
            return self._measure(cpu_s, partial(judged, ahead=True), judged=True)
        # The forecast is never part of a verdict: the sample is judged again, one call at a time.
        except modes.Deviated:
            return self._measure(cpu_s, partial(judged, ahead=False), judged=True)

    def inside(
        self,
        source: str,
        *,
        disabled: Sequence[str] = (),
        preload: Sequence[str] = (),
        swallow: bool = False,
        given: bytes | None = None,
        cpu_s: float | None = None,
    ) -> Outcome:
        """Run ``source`` as one program; passing means that it runs to its end without an exception.

        The end is announced on a private channel, never by the exit code; but program and tests share a
        process, so a program that sets out to can make the announcement itself.

        Args:
            source: program and tests.
            disabled: what is set to None before it runs: ``os.kill``, or ``sys.modules:psutil``.
            preload: modules imported before that; ``tempfile:gettempdir`` also calls this function of one.
            swallow: whether stdin, stdout and stderr are one stream that takes texts and refuses to be read.
            given: what the source reads from the descriptor ``GIVEN``, and closes before it runs a program.
            cpu_s: CPU limit for this run.

        Raises:
            SandboxError: the machine failed.
        """
        return self._measure(cpu_s, lambda run: modes.run_inside(run, source, disabled, preload, swallow, given))

    def script(
        self,
        source: str,
        stdin: str = "",
        *,
        cpu_s: float | None = None,
        wall_s: float | None = None,
        deadline_s: float | None = None,
    ) -> Outcome:
        """Run ``source`` as a script; passing means that its process ends with exit code 0.

        Args:
            source: the script; its ``__name__`` is ``__main__``.
            stdin: what it reads.
            cpu_s: CPU limit for this run.
            wall_s: wall limit for this run.
            deadline_s: wall seconds after which the run ends, those spent waiting for a core included; with it, a
                run close to a limit is not repeated. For clients that wait no longer; None for no such limit.

        Raises:
            SandboxError: the machine failed.
        """
        written: dict[str, str] = {}
        exit_code: int | None = None

        def converse(run: Supervisor) -> Stop:
            nonlocal exit_code
            try:
                return modes.run_script(run, source, stdin, self._code)
            finally:
                exit_code = None if run.program is None else run.program.code
                written.update({name: data.decode("utf-8", "replace") for name, data in run.output.items()})

        outcome = self._measure(cpu_s, converse, wall_s, deadline_s)
        return replace(outcome, exit_code=exit_code, stdout=written["stdout"], stderr=written["stderr"])

    def decide(self, function: Callable[..., Any], got: Any, *trusted: object) -> Any:
        """What a function says of something that a program returned or wrote; see `truegrade.sandbox.apart`.

        Args:
            function: a module's, whose answer is small; it gets ``got``, then ``trusted``.
            got: `CallResult`, for which the function gets its value, or a text.
            trusted: whatever else it takes; results stand for their values here as well.

        Raises:
            ValueTooLarge: it takes too much memory or time to say.
            WireError: the result is none.
            Exception: what the function raises.
        """
        if len(got) <= SMALL_BYTES if isinstance(got, str) else got.small:
            known = [one.whole if isinstance(one, CallResult) else one for one in trusted]
            return function(got.value if isinstance(got, CallResult) else got, *known)
        with self._lock:
            apart = self._apart.pop() if self._apart else None
        if apart is None:
            from truegrade.sandbox.apart import Apart  # which few values need, and all would wait for

            apart = Apart()
        try:
            return apart.apply(function, got, *trusted)
        finally:
            with self._lock:
                keep = apart.open and not self._closed.is_set()
                if keep:
                    self._apart.append(apart)
            if not keep:
                apart.close()

    def _measure(
        self,
        cpu_s: float | None,
        converse: Callable[[Supervisor], Stop],
        wall_s: float | None = None,
        deadline_s: float | None = None,
        *,
        judged: bool = False,
    ) -> Outcome:
        """Run once, and once more if the clock may have decided and nobody's deadline forbids it."""
        limits = self.limits if cpu_s in (None, self.limits.cpu_s) else replace(self.limits, cpu_s=cpu_s)
        limits = limits if wall_s is None else replace(limits, wall_s=wall_s)
        with self._free:
            worker = self._take(judged)
            try:
                outcome = self._once(worker, limits, converse, deadline_s)
                # Once: a second near miss is the program's own speed, and the mark says so.
                if outcome.close and deadline_s is None:
                    outcome = replace(self._once(worker, limits, converse), time_sensitive=True)
            finally:
                self._give_back(worker)
        return outcome

    def _take(self, judged: bool) -> Worker:
        """A worker that nobody uses, the last used first: it is warm; another where callers have waited enough.

        Args:
            judged: whether the run will need a judge.

        Raises:
            SandboxError: the sandbox is closed, or protects too little for untrusted programs.
        """
        # Before every run, not when opened: a grading in which nothing runs needs no protection at all.
        protection = detect(self._max_level, partial(self._prove, judged))
        if protection.level == LIMITS_ONLY and not self._allow_unsafe:
            remedy = "" if NO_NAMESPACES in protection.why else f"{GET_BUBBLEWRAP}, or "
            raise SandboxError(
                f"untrusted programs are not run here: protection level 1, {protection.why}. {remedy}"
                "pass `allow_unsafe=True`, which lets them read your files, use the network "
                "and signal your processes"
            )
        with self._lock:
            while self._busy and not self._idle and self._waited_s < PATIENCE_S and not self._closed.is_set():
                began = time.monotonic()
                self._lock.wait(LOOK_S)
                # A worker that is only starting is there sooner than another would be.
                if any(worker.at_work for worker in self._busy):
                    self._waited_s += time.monotonic() - began
            if self._closed.is_set():
                raise SandboxError("the sandbox is closed; open another to run more programs")
            worker = self._idle.pop() if self._idle else self._new_worker(protection)
            self._busy.append(worker)
            return worker

    def _prove(self, judged: bool, protection: Protection) -> str | None:
        """The self-test, in the first worker of this sandbox if that is like the one that the test would start."""
        ours = (self.limits.packages, self.limits.processes, self.limits.scratch_bytes, self.limits.grader)
        if ours != (TESTED.packages, TESTED.processes, TESTED.scratch_bytes, TESTED.grader):
            return self_test(protection)
        worker = self._new_worker(protection)
        why_not: str | None = "interrupted"
        try:
            if judged:  # most judges are of this kind, and none runs a program
                worker.zygote("child", "standard")
                worker.zygote("judge", "standard")
            why_not = self_test(protection, worker)
            return why_not
        finally:
            if why_not is None:
                self._give_back(worker)
            else:
                worker.close()

    def _new_worker(self, protection: Protection) -> Worker:
        """One that stays on a core of its own, if there are enough workers to keep every core busy."""
        core = self._cores[self._made % len(self._cores)] if self.workers >= len(self._cores) else None
        self._made += 1
        self._waited_s = 0.0
        return Worker(protection, self.limits, self._hash_seed, core)

    def _give_back(self, worker: Worker) -> None:
        with self._lock:
            if worker in self._busy:
                self._busy.remove(worker)
            worker.at_work = False
            if not self._closed.is_set():
                self._idle.append(worker)
                self._lock.notify()
                return
        worker.close()

    def _once(
        self,
        worker: Worker,
        limits: Limits,
        converse: Callable[[Supervisor], Stop],
        deadline_s: float | None = None,
    ) -> Outcome:
        with Supervisor(limits, self._closed, worker, deadline_s) as run:
            try:
                stop = converse(run)
            except Stop as early:
                stop = early
            wall_s, counted_s = run.wall_s, run.wall_s - run.owed_s()
            run.stop()
            assert run.program is not None
            cpu_s = run.program.cpu_s
            longest_s = max(run.longest_cpu_s, cpu_s - run.cpu_before_s), max(run.longest_wall_s, counted_s)
            outcome = conclude(stop, limits, *longest_s)
            return replace(outcome, cpu_s=cpu_s, wall_s=run.wall_before_s + wall_s)


class _Once:
    """Hands each result over once, though a time-sensitive run is run again from its first call."""

    def __init__(self, on_result: Callable[[int, CallResult], bool]) -> None:
        self._on_result = on_result
        self._next = 0
        self._last: int | None = None

    def __call__(self, index: int, result: CallResult) -> bool:
        if index == self._next and self._last is None:
            self._next += 1
            if not self._on_result(index, result):
                self._last = index
        return self._last is None or index < self._last


def run_program(
    source: str, stdin: str = "", *, limits: Limits | None = None, allow_unsafe: bool = False
) -> Outcome:
    """Run one untrusted script and return what it wrote; for many, use `Sandbox.script`."""
    with Sandbox(limits, workers=1, allow_unsafe=allow_unsafe) as sandbox:
        return sandbox.script(source, stdin)


def _version(package: str) -> str:
    """Of an installed package; empty if it is not."""
    from importlib.metadata import PackageNotFoundError, version  # which few runs need, and all would wait for

    try:
        return version(package)
    except PackageNotFoundError:
        return ""


@cache
def _own_code() -> str:
    """Hash of the modules of this folder."""
    sources = [path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))]
    return hashlib.sha256(b"".join(sources)).hexdigest()


def _cores() -> list[int]:
    """Numbers of the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))
