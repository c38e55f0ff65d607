"""The third stage: every completion that has no verdict under a profile gets one."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from queue import SimpleQueue
from typing import TYPE_CHECKING, Protocol

import msgspec

from truegrade.errors import BadRecord, SandboxError, UserError
from truegrade.grading.marks import MISSING_PACKAGE
from truegrade.pipeline.loading import scored
from truegrade.pipeline.verdicts import Progress, answer_of, limits_for, package_versions, verdict_on
from truegrade.profiles import Profile
from truegrade.records import Answer, Completion, Problem, SampleKey, Verdict
from truegrade.registry import Registry
from truegrade.sandbox import Limits, Sandbox
from truegrade.store import Run
from truegrade.store.facts import CompletionFacts, reply_hash, sample_hash

if TYPE_CHECKING:
    from truegrade.pipeline.supervisors import Supervisors

# ------- Who turns completions into verdicts: this machine's cores, or those of many machines, opened by name.


class Grader(Protocol):
    """Gives completions their verdicts; how many machines work for it is its own affair."""

    def verdicts(
        self, completions: Iterable[Completion], problems: Mapping[str, Problem], profile: Profile
    ) -> Generator[Verdict, None, None]:
        """One verdict for each completion, as they become known: the order is not that of the completions.

        Completions are drawn only as fast as they are graded. Closing the generator ends what is under way.

        Args:
            completions: each answers one of ``problems``.
            problems: by id.
            profile: the rules.

        Raises:
            SandboxError: programs would have to run at level 1 and that is not allowed, or a machine failed.
        """

    def close(self) -> None:
        """Give back what it holds; safe to call twice."""


class OpenGrader(Protocol):
    """How `open_grader` opens one."""

    def __call__(self, address: str, workers: int | None, allow_unsafe: bool, /) -> Grader:
        """Check the address and what has to be installed; start nothing.

        Raises:
            UserError: one of them is at fault.
        """


REGISTRY = Registry[OpenGrader](
    "executor",
    {"local": "truegrade.pipeline.grade:open_local"},
    lambda opener: None if callable(opener) else "is no function (truegrade.pipeline.grade.OpenGrader)",
)
"""Names of executors to `OpenGrader`; apps and packages add theirs, which are imported when they are used."""


def open_grader(name: str, *, workers: int | None = None, allow_unsafe: bool = False) -> Grader:
    """A grader by name; close it when done. Nothing is started or reached before something is graded.

    Args:
        name: ``local``, ``ray``, or with an address: ``ray:auto``, ``ray:HOST:PORT``, ``ray://HOST:PORT``.
        workers: programs run at once; None for one a core.
        allow_unsafe: run programs even at protection level 1.

    Raises:
        UnknownName: there is none of that name.
        UserError: its address cannot be meant, or the package that it needs is not installed.
    """
    bare, _, address = name.partition(":")
    return REGISTRY.known(bare).value(address, workers, allow_unsafe)


# -------------------------- Grading on this machine: threads that ask, and one sandbox that runs the programs.


class LocalGrader:
    """A `Grader` of processes, or of threads where this process has others or is to run one program at a time.

    Nothing is started before a program has to run.

    Args:
        workers: programs run at once, also where several threads draw verdicts.
        allow_unsafe: run programs even where only resource limits protect this machine (level 1).
    """

    def __init__(self, workers: int, *, allow_unsafe: bool = False) -> None:
        self._workers, self._allow_unsafe = max(1, workers), allow_unsafe
        self._slots = threading.Semaphore(self._workers)
        self._lock = threading.Lock()
        self._open: set[Sandbox | Supervisors] = set()
        self._closed = False

    def close(self) -> None:
        """End what is under way in other threads: it fails with a SandboxError."""
        with self._lock:
            self._closed = True
            for each in self._open:
                each.close()

    def verdicts(
        self, completions: Iterable[Completion | None], problems: Mapping[str, Problem], profile: Profile
    ) -> Generator[Verdict, None, None]:
        """See `Grader.verdicts`.

        What needs no program is judged in this thread. A completion that is None says that no other is there yet:
        what was judged meanwhile is handed out.
        """
        if self._workers > 1 and not self._open:
            from truegrade.pipeline.supervisors import Supervisors, may_be_copied  # 8 ms, of a start

            if may_be_copied():
                supervisors = Supervisors(problems, profile, self._workers, allow_unsafe=self._allow_unsafe)
                with self._registered(supervisors):
                    yield from supervisors.verdicts(completions)
                return
        pool = ThreadPoolExecutor(self._workers, thread_name_prefix="grade")
        under_way, ended = 0, SimpleQueue[Future[Verdict]]()
        limits = limits_for(profile, problems.values())
        try:  # the sandbox closes first: that ends the programs which the threads wait for
            with self._sandbox(limits) as sandbox:
                for completion in completions:
                    while under_way >= 4 * self._workers or not ended.empty():
                        yield ended.get().result()
                        under_way -= 1
                    if completion is None:
                        continue
                    problem = problems[completion.problem_id]
                    answer = answer_of(completion, problem, profile)
                    if answer.value is not None and profile.executes(problem):
                        future = pool.submit(self._judged, completion, problem, profile, sandbox, answer)
                        future.add_done_callback(ended.put)
                        under_way += 1
                    else:
                        yield verdict_on(completion, problem, profile, sandbox, answer)
                for _ in range(under_way):
                    yield ended.get().result()
        finally:
            pool.shutdown(cancel_futures=True)

    def _judged(
        self, completion: Completion, problem: Problem, profile: Profile, sandbox: Sandbox, answer: Answer
    ) -> Verdict:
        with self._slots:
            return verdict_on(completion, problem, profile, sandbox, answer)

    @contextmanager
    def _sandbox(self, limits: Limits) -> Iterator[Sandbox]:
        """A sandbox that `close` closes too."""
        with (
            Sandbox(limits, workers=self._workers, allow_unsafe=self._allow_unsafe) as sandbox,
            self._registered(sandbox),
        ):
            yield sandbox

    @contextmanager
    def _registered(self, each: Sandbox | Supervisors) -> Iterator[None]:
        with self._lock:
            if self._closed:
                raise SandboxError("the grader is closed; open another to grade more")
            self._open.add(each)
        try:
            yield
        finally:
            with self._lock:
                self._open.discard(each)


def open_local(address: str, workers: int | None, allow_unsafe: bool) -> LocalGrader:
    """``--executor local``, one worker a core unless told otherwise.

    Raises:
        UserError: an address was given.
    """
    if address:
        raise UserError(f"`executor` local:{address}: this machine has no address; write `executor` local")
    return LocalGrader(workers or os.cpu_count() or 1, allow_unsafe=allow_unsafe)


NO_TEXT = hashlib.sha256().hexdigest()
"""Stands in a verdict for the text of a request that failed (`Completion.sha256`)."""


def grade_run(
    run: Run,
    problems: Mapping[str, Problem],
    profile: Profile,
    *,
    workers: int = 1,
    progress: Progress,
    allow_unsafe: bool = False,
    grader: Grader | None = None,
) -> None:
    """Give every completion a verdict under one profile; what has one already is not graded again.

    Memory is bounded: completions are streamed, and at most a few per worker are under way. Nothing is started
    before a program has to run.

    Args:
        run: holds the completions and receives the verdicts.
        problems: those to grade, by id; completions of others, and of shots, are passed over.
        profile: the rules.
        workers: programs run at once.
        progress: told about every verdict.
        allow_unsafe: run programs even where only resource limits protect this machine (level 1).
        grader: who does it, with workers and permissions of its own; None for ``workers`` on this machine.

    Raises:
        BadRecord: a completion belongs to another data set.
        NotComparable: the run holds verdicts that another version of the profile's file gave.
        SandboxError: programs would have to run at level 1, and that is not allowed.
    """
    grading = _opened(run, problems, profile)
    total = 0
    waiting = bytearray()
    for reply in _gradable(run, grading):
        total += reply is not None
        waiting.append(_NONE if reply is None or reply in grading.graded else _LATER)
    progress.start(f"grade as {profile.name}", total=total, done=total - waiting.count(_LATER))
    grader = grader or LocalGrader(workers, allow_unsafe=allow_unsafe)
    try:
        _store(
            run,
            grading,
            grader.verdicts(_pending(run, waiting), grading.problems, profile),
            progress.advance,
        )
    finally:
        progress.finish()
    _record(run, grading)


@contextmanager
def grading_beside(
    run: Run,
    problems: Mapping[str, Problem],
    profiles: Sequence[Profile],
    *,
    asked: Iterable[SampleKey],
    grader: LocalGrader,
    progress: Progress,
) -> Iterator[Callable[[], bool]]:
    """Grade replies in threads of their own, under every profile, while the body has them written to the run.

    At the end of the body what is left is graded; after an exception nothing more is begun. Memory is bounded as
    with `grade_run`: the journal is read as it grows.

    Args:
        run: receives the replies, and the verdicts.
        problems: those to grade, by id.
        profiles: the rules; every sample waits for all of them.
        asked: the samples that the body asks for.
        grader: closed after an exception.
        progress: a second stage is watched beside that of the body.

    Yields:
        Whether grading failed: no further reply is of use before the cause is mended.

    Raises:
        BadRecord, NotComparable, SandboxError: as `grade_run`.
    """
    gradings = [_opened(run, problems, profile) for profile in profiles]
    run.append_completions().close()  # there is one to read, and no torn line in it
    answered = {(facts.key, facts.sha256) for facts in run.completion_facts() if facts.sha256 is not None}
    keys = {*asked, *(key for key, _ in answered)}
    ended, lock, watch = threading.Event(), threading.Lock(), progress.beside()

    def advance() -> None:
        with lock:
            watch.advance()

    def grade(grading: _Grading) -> None:
        replies = _arriving(run, grading, ended.is_set)
        _store(run, grading, grader.verdicts(replies, grading.problems, grading.profile), advance)

    watch.start(
        f"grade as {profiles[0].name}" if len(profiles) == 1 else f"grade as {len(profiles)} profiles",
        total=sum(key.problem_id in grading.problems for grading in gradings for key in keys),
        done=sum(
            key.problem_id in grading.problems and reply_hash(key, sha256) in grading.graded
            for grading in gradings
            for key, sha256 in answered
        ),
    )
    try:
        with ThreadPoolExecutor(len(gradings), thread_name_prefix="grade") as threads:
            under_way = [threads.submit(grade, grading) for grading in gradings]
            try:
                yield lambda: any(future.done() for future in under_way)
            except BaseException:
                grader.close()
                raise
            finally:
                ended.set()
    finally:
        watch.finish()
    for grading, future in zip(gradings, under_way, strict=True):
        future.result()
        _record(run, grading)


class _Grading(msgspec.Struct, frozen=True):
    """What is known of grading a run under a profile before it begins."""

    profile: Profile
    problems: Mapping[str, Problem]
    """Those that it scores."""
    packages: dict[str, str]
    graded: set[int]
    """What needs no verdict, by `reply_hash`."""
    levels: set[int]
    """Of the programs that ran, filled by `_store`."""

    def judges(self, completion: Completion) -> bool:
        """Whether it gets a verdict: a request that failed only where the harness counts it."""
        scored = completion.problem_id in self.problems
        return scored and (completion.text is not None or self.profile.counts_failed)


def _opened(run: Run, problems: Mapping[str, Problem], profile: Profile) -> _Grading:
    run.record_origin(profile.id, profile.origin)
    problems = scored(run, problems, profile)
    packages = package_versions(limits_for(profile, problems.values()).packages)
    others = packages != (run.manifest.packages or {}).get(profile.id)
    graded = run.graded(profile.id, anew=MISSING_PACKAGE if others else None)
    return _Grading(profile, problems, packages, graded, set())


def _store(
    run: Run, grading: _Grading, made: Generator[Verdict, None, None], advance: Callable[[], object]
) -> None:
    with closing(made) as verdicts, run.append_verdicts(grading.profile.id) as journal:
        for verdict in verdicts:
            journal.append(verdict)
            advance()
            if verdict.level is not None:
                grading.levels.add(verdict.level)


def _record(run: Run, grading: _Grading) -> None:
    run.record_grading(grading.profile.id, min(grading.levels, default=None), grading.packages)


_NONE, _FIRST, _LATER = range(3)
"""What a completion waits for: for no verdict, or when for one."""


def _pending(run: Run, waiting: bytearray) -> Iterator[Completion]:
    """What needs a verdict; first whatever came near a time limit under another profile, which would end last.

    The texts are read here, and of a run without any missing not at all.

    Args:
        run: its journal is read in order.
        waiting: for every completion in it, `_LATER` or `_NONE`.
    """
    known = (facts for profile in run.profiles for facts in run.verdict_facts(profile)) if any(waiting) else ()
    slow = {reply_hash(facts, facts.completion_sha256) for facts in known if facts.time_sensitive}
    for place, facts in enumerate(run.completion_facts() if slow else ()):
        if waiting[place] and reply_hash(facts, facts.sha256 or NO_TEXT) in slow:
            waiting[place] = _FIRST
    for turn in (_FIRST, _LATER):
        if turn in waiting:
            yield from (one for one, when in zip(run.completions(), waiting, strict=False) if when == turn)


def _arriving(run: Run, grading: _Grading, ended: Callable[[], bool]) -> Iterator[Completion | None]:
    """Completions without a verdict as they are written; None where there is none at the moment."""
    for completion in run.arriving(ended):
        if completion is None:
            yield None
        elif grading.judges(completion):
            _refuse_other_data(run, completion, grading.problems[completion.problem_id])
            if reply_hash(completion, completion.sha256) not in grading.graded:
                yield completion


def _gradable(run: Run, grading: _Grading) -> Iterator[int | None]:
    """The `reply_hash` of every completion, None where it gets no verdict; a request that failed, until it is
    answered."""
    answered = run.answered() if grading.profile.counts_failed else set()
    for facts in run.completion_facts():
        problem = grading.problems.get(facts.problem_id)
        failed = grading.profile.counts_failed and sample_hash(facts) not in answered
        if problem is None or not (facts.answered or failed):
            yield None
            continue
        _refuse_other_data(run, facts, problem)
        yield reply_hash(facts, facts.sha256 or NO_TEXT)


def _refuse_other_data(run: Run, found: Completion | CompletionFacts, problem: Problem) -> None:
    if found.dataset_sha256 != problem.dataset_sha256:
        raise BadRecord(
            run.completions_path,
            f"{found.problem_id} sample {found.sample} answers another version of the data set"
            f" ({found.dataset_sha256[:12]}…, loaded {problem.dataset_sha256[:12]}…)",
            field="dataset_sha256",
        )
