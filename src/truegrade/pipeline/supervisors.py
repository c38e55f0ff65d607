"""Grading on many cores of this machine: a process supervises the programs of each core.

A process holds its interpreter's lock while it reads answers and compares them, so one cannot supervise many
cores, however many threads it has. Each of these is forked, with the problems that are loaded. Where there is one
for every core, each stays on its own with its programs, so that they wake each other without another core.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import selectors
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from pathlib import Path

import msgspec

from truegrade.errors import SandboxError, TruegradeError, UserError
from truegrade.pipeline.verdicts import limits_for, verdict_on
from truegrade.profiles import Profile
from truegrade.records import Completion, Problem, SampleKey, Verdict
from truegrade.sandbox import Sandbox
from truegrade.sandbox.seccomp import libc_prctl

AHEAD = 2
"""Completions that a process has at a time: the one that it grades and the next."""
CHOICE = 16
"""Completions that wait for each process: it can be given one of a problem that it had; and a process is started
for so many where none is known to be slow."""
SMALL_BYTES = 1 << 16
"""Of a completion that is sent to a process which is not reading: the stream between them holds it."""
PATIENCE_S = 0.1
"""Seconds that completions wait for the processes at work before as many more are started."""
PR_SET_PDEATHSIG = 1


def may_be_copied() -> bool:
    """Whether this process may be copied: what other threads hold at that moment would stay held in the copy.

    The thread that draws bars on a terminal is no hindrance: what it holds, a copy does not touch. A process of
    `multiprocessing.Pool` may have no processes of its own.
    """
    if sys.platform != "linux" or multiprocessing.current_process().daemon:
        return False
    drawing = sum(type(one).__module__ == "rich.live" for one in threading.enumerate())
    return len(list(Path("/proc/self/task").iterdir())) - drawing == 1


class Failed(msgspec.Struct, frozen=True):
    """A `TruegradeError` that ends the grading; its own class may not survive the way."""

    sentence: str
    users: bool


class _Supervisor:
    """A process, seen from the one that started it."""

    def __init__(self, process: ForkProcess, link: Connection) -> None:
        self.process, self.link = process, link
        self.under_way: deque[SampleKey] = deque()
        self.problem_id = ""
        self.at_work = False


class Supervisors:
    """The processes that grade under one profile, as many as there is work for.

    Args:
        problems: by id; those of the completions.
        profile: the rules.
        most: processes at a time.
        allow_unsafe: run programs even at protection level 1.
    """

    def __init__(
        self, problems: Mapping[str, Problem], profile: Profile, most: int, *, allow_unsafe: bool = False
    ) -> None:
        limits = limits_for(profile, problems.values())

        def sandbox() -> Sandbox:
            return Sandbox(limits, workers=1, allow_unsafe=allow_unsafe)

        self._problems, self._profile, self._sandbox, self._most = problems, profile, sandbox, most
        cores = sorted(os.sched_getaffinity(0))
        self._cores = cores if most >= len(cores) and not limits.processes else []
        """On which they stay; programs that may start processes stay on none."""
        self._all: list[_Supervisor] = []
        self._selector = selectors.DefaultSelector()
        self._started = 0.0
        self._closed = False

    def close(self) -> None:
        """End what is under way: `verdicts` fails with a SandboxError."""
        self._closed = True
        for one in self._all:
            with suppress(ValueError):  # it has ended meanwhile
                one.process.terminate()

    def verdicts(self, completions: Iterable[Completion | None]) -> Generator[Verdict, None, None]:
        """A verdict for each completion, as they become known; see `truegrade.pipeline.grade.Grader.verdicts`.

        Raises:
            SandboxError: the machine failed, or a process was lost.
            UserError: what a process says.
        """
        waiting = deque[Completion]()
        try:
            with self._sandbox() as executor:
                for completion in completions:
                    if completion is not None:
                        problem = self._problems[completion.problem_id]
                        if not self._profile.executes(problem):
                            yield verdict_on(completion, problem, self._profile, executor)
                            continue
                        waiting.append(completion)
                    if completion is None or len(waiting) >= CHOICE * self._most:
                        self._hand_out(waiting)
                        yield from self._received(wait=completion is not None)
            while waiting or any(one.under_way for one in self._all):
                self._hand_out(waiting)
                yield from self._received(wait=True)
        except BaseException:
            self.close()
            raise
        finally:
            self._end()

    def _hand_out(self, waiting: deque[Completion]) -> None:
        """Give every process what it can take, and start more where that is not enough."""
        while waiting:
            free = [one for one in self._all if len(one.under_way) < AHEAD]
            if not free:
                if not self._may_grow():
                    return
                more = len(self._all) or -(-len(waiting) // CHOICE)
                free = [self._start() for _ in range(min(more, self._most - len(self._all)))]
            one = min(free, key=lambda each: len(each.under_way))
            completion = next((each for each in waiting if each.problem_id == one.problem_id), waiting[0])
            packed = pickle.dumps(completion)
            if one.under_way and len(packed) > SMALL_BYTES:
                return  # each would wait for the other to read
            waiting.remove(completion)
            one.problem_id = completion.problem_id
            one.under_way.append(completion.key)
            with suppress(BrokenPipeError, ConnectionResetError):  # found by reading
                one.link.send_bytes(packed)

    def _may_grow(self) -> bool:
        if len(self._all) == self._most:
            return False
        # One that is only starting is there sooner than another would be.
        starting = any(not one.at_work for one in self._all)
        return not self._all or not (starting or time.monotonic() - self._started < PATIENCE_S)

    def _start(self) -> _Supervisor:
        ours, theirs = multiprocessing.Pipe()
        core = self._cores[len(self._all) % len(self._cores)] if self._cores else None
        inherited = [ours, *(one.link for one in self._all)]
        process = multiprocessing.get_context("fork").Process(
            target=_supervise,
            args=(theirs, inherited, core, os.getpid(), self._problems, self._profile, self._sandbox),
            name=f"supervisor-{len(self._all)}",
            daemon=True,
        )
        process.start()
        theirs.close()
        self._started = time.monotonic()
        one = _Supervisor(process, ours)
        self._all.append(one)
        self._selector.register(ours, selectors.EVENT_READ, one)
        return one

    def _received(self, *, wait: bool) -> Iterator[Verdict]:
        """What has come; if ``wait``, until something comes, or another process may be started."""
        grows = len(self._all) < self._most
        at_most_s = (PATIENCE_S if grows else None) if wait else 0
        for key, _ in self._selector.select(at_most_s):
            yield self._verdict_of(key.data)

    def _verdict_of(self, one: _Supervisor) -> Verdict:
        try:
            said = one.link.recv()
        except (EOFError, ConnectionResetError):
            if self._closed:
                raise SandboxError("the grader was closed") from None
            one.process.join()
            names = ", ".join(f"{key.problem_id} sample {key.sample}" for key in one.under_way)
            raise SandboxError(
                f"the process that graded {names} was lost (exit code {one.process.exitcode}); the verdicts so far"
                " are kept, and the same command goes on"
            ) from None
        if isinstance(said, Failed):
            raise (UserError if said.users else SandboxError)(said.sentence)
        if not one.at_work:
            one.at_work, self._started = True, time.monotonic()
        one.under_way.popleft()
        verdict: Verdict = said
        return verdict

    def _end(self) -> None:
        """Give no more, and wait until every process has ended."""
        for one in self._all:
            self._selector.unregister(one.link)
            one.link.close()
        for one in self._all:
            one.process.join()
            one.process.close()
        self._all.clear()
        self._selector.close()


def _supervise(
    link: Connection,
    inherited: list[Connection],
    core: int | None,
    parent: int,
    problems: Mapping[str, Problem],
    profile: Profile,
    sandbox: Callable[[], Sandbox],
) -> None:
    """What runs in a process: a verdict for each completion that comes, until none can come any more."""
    for other in inherited:
        other.close()
    for name, number in (("stdout", 1), ("stderr", 2)):
        with suppress(OSError):  # it is closed; those of the parent may be held by the thread that draws
            setattr(sys, name, open(number, "w", closefd=False))  # noqa: SIM115
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; who started us ends us
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    libc_prctl()(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        return
    gc.freeze()  # what was there before is looked at by no collection, and its pages stay shared
    with _kept_on(core, sandbox) as executor, suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            completion: Completion = link.recv()
            try:
                link.send(verdict_on(completion, problems[completion.problem_id], profile, executor))
            except TruegradeError as error:
                link.send(Failed(str(error), isinstance(error, UserError)))
                return
            _stay_on(core)


def _kept_on(core: int | None, sandbox: Callable[[], Sandbox]) -> Sandbox:
    """One that keeps its programs on a core. It starts on all of them, since its processes start side by side."""
    cores = os.sched_getaffinity(0)
    _stay_on(core)
    try:
        return sandbox()
    finally:
        os.sched_setaffinity(0, cores)


def _stay_on(core: int | None) -> None:
    if core is not None:
        with suppress(OSError):  # it has gone since it was counted
            os.sched_setaffinity(0, {core})
