"""``/v1/grade`` and ``/v1/reward``: completions in, verdicts or rewards out, in the order they came.

What requests may refer to by name: the benchmarks loaded at the start, and the profiles.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from truegrade.benchmarks import load_benchmark
from truegrade.benchmarks.base import Benchmark
from truegrade.errors import SandboxError, UnknownName, UserError
from truegrade.extraction.conversations import answering_turn, policy_turns
from truegrade.grading.attempts import attempts
from truegrade.grading.executor import Executor
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.grading.marks import READS_TESTS
from truegrade.grading.problem_tests import first_tests
from truegrade.kinds import kind_of, problem_kind
from truegrade.pipeline.verdicts import answer_of, limits_for, verdict_on
from truegrade.profiles import PROFILES, Profile, open_profile, unsupported
from truegrade.profiles.base import has_rules
from truegrade.records import Answer, Completion, Problem, Reason, Verdict, sha256_json
from truegrade.sandbox import Limits, Sandbox
from truegrade.sandbox.modes import CodeCache
from truegrade.web.messages import (
    GradeRequest,
    InlineProblem,
    ProfileInfo,
    RewardRequest,
    Submission,
    stopping,
    unprocessable,
)
from truegrade.web.service.workload import doubtful, steadily, unknown

LIMITED_KEPT = 16
"""Profiles with a time limit of a request's that are kept: their number is the clients' to choose."""


class NameCatalogue:
    """Names and what they mean; profiles are opened once, since they keep what they computed.

    Args:
        benchmarks: names and data files.
        max_cpu_s: highest time limit that a request may ask for.
        max_memory_bytes: highest memory limit that a request may ask for.

    Raises:
        UserError: a benchmark cannot be loaded.
    """

    def __init__(
        self, benchmarks: tuple[tuple[str, Path | None], ...], max_cpu_s: float, max_memory_bytes: int
    ) -> None:
        self._max_cpu_s, self._max_memory_bytes = max_cpu_s, max_memory_bytes
        self.benchmarks: dict[str, Benchmark] = {}
        for name, data in benchmarks:
            loaded = load_benchmark(name, data)
            self.benchmarks[loaded.name] = loaded
        self._problems = {name: loaded.by_id() for name, loaded in self.benchmarks.items()}
        self.loads = False
        """Whether a benchmark, ``NAME`` or ``NAME=FILE``, is loaded once a request names it: only where whoever
        asks may read this user's files."""
        self._profiles: dict[str, Profile] = {}
        self._limited: dict[str, Profile] = {}

    def profile(self, name: str, field: str) -> Profile:
        """A profile by name.

        Raises:
            Refusal: there is none.
        """
        try:
            return self.known_profile(name)
        except UnknownName as error:
            raise unprocessable(str(error), field) from None

    def known_profile(self, name: str) -> Profile:
        """The same for names that are not a request's.

        Raises:
            UnknownName: there is none.
        """
        if name not in self._profiles:
            if "+" in name:
                raise UnknownName("profile", name, PROFILES, "a time limit is the field cpu_s of /v1/reward")
            opened = open_profile(name)
            self._profiles[name] = self._profiles.setdefault(opened.name, opened)
        return self._profiles[name]

    def limited(self, profile: Profile, cpu_s: float | None, memory_bytes: int | None) -> Profile:
        """The profile with these limits in place of its own; None keeps those.

        Raises:
            Refusal: one is higher than the service allows.
        """
        if cpu_s is None and memory_bytes is None:
            return profile
        if cpu_s is not None:
            self.within(cpu_s, "cpu_s")
        if memory_bytes is not None and memory_bytes > self._max_memory_bytes:
            raise unprocessable(
                f"{memory_bytes} bytes; this service allows at most {self._max_memory_bytes}", "memory_bytes"
            )
        key = f"{profile.id}+{cpu_s!r}s+{memory_bytes}"
        if key not in self._limited:
            limited = copy(profile)
            limited.timeout_s = profile.timeout_s if cpu_s is None else cpu_s
            if memory_bytes is not None:
                # Of this instance, which hides the class' own.
                vars(limited)["limits"] = replace(profile.limits, memory_bytes=memory_bytes)
            while len(self._limited) >= LIMITED_KEPT:
                del self._limited[next(iter(self._limited))]
            self._limited[key] = limited
        return self._limited[key]

    def problems(self, benchmark: str | None, field: str) -> Mapping[str, Problem]:
        """The problems of a benchmark by id.

        Raises:
            Refusal: it is not served.
        """
        served = ", ".join(self.benchmarks) or "none"
        if benchmark is None:
            raise unprocessable(f"name a benchmark (served here: {served}) or send a problem", field)
        if benchmark not in self._problems and self.loads:
            self._load(benchmark, field)
        if benchmark not in self._problems:
            raise unprocessable(
                f"no benchmark {benchmark!r} here; served: {served}; the service loads what it is started with"
                " (`benchmarks`)",
                field,
            )
        return self._problems[benchmark]

    def _load(self, benchmark: str, field: str) -> None:
        name, _, file = benchmark.partition("=")
        try:
            self._problems[benchmark] = load_benchmark(name, Path(file) if file else None).by_id()
        except UserError as error:
            raise unprocessable(str(error), field) from None

    def inline(self, sent: InlineProblem, field: str) -> Problem:
        """The problem that came with a request.

        Raises:
            Refusal: it points into this machine's files, holds packed tests, or asks for too much time.
        """
        task = sent.task
        if refused := kind_of(task).refusal(task):
            raise unprocessable(refused[1], f"{field}.task.{refused[0]}")
        if (cpu_s := kind_of(task).needs(task).cpu_s) is not None:
            self.within(cpu_s, f"{field}.task.cpu_s")
        identity = sha256_json(sent)
        return Problem(id=sent.id, benchmark=sent.benchmark, dataset_sha256=identity, cluster=sent.id, task=task)

    def within(self, seconds: float, field: str) -> None:
        """Check a time limit that a request asks for.

        Raises:
            Refusal: it is higher than the service allows.
        """
        if not 0 < seconds <= self._max_cpu_s:
            raise unprocessable(
                f"{seconds:g} seconds; this service allows more than 0 and at most {self._max_cpu_s:g}", field
            )

    def check_covered(self, profile: Profile, problem: Problem, field: str) -> None:
        """Refuse to grade by rules that are not made for a problem.

        Raises:
            Refusal: the profile has no rules for its benchmark.
        """
        if has_rules(profile, problem_kind(problem.task), problem.benchmark):
            return
        raise unprocessable(str(unsupported(profile, problem)), field)

    def all_profiles(self) -> list[ProfileInfo]:
        """Every profile there is."""
        opened = [self.known_profile(name) for name in PROFILES]
        return [
            ProfileInfo(id=it.id, summary=it.summary, covers=it.covers, cpu_s=it.limits.cpu_s) for it in opened
        ]


# ----------------------------------------------------------------------------------------------------------------
# Sandboxes by their limits: each profile has its own, a request may ask for others, all share the workers.


KEPT = 4
"""Sandboxes that stay warm; each holds up to ``workers`` interpreters of some 30 MB."""


class Executors:
    """Lends sandboxes; safe to use from several threads.

    Args:
        workers: of each sandbox.
        allow_unsafe: run programs even at protection level 1.
        packages: installed packages that programs may import besides those of the limits.
        kept: sandboxes that stay warm.
    """

    def __init__(
        self, workers: int, *, allow_unsafe: bool = False, packages: Sequence[str] = (), kept: int = KEPT
    ) -> None:
        self._workers, self._allow_unsafe, self._kept = workers, allow_unsafe, kept
        self._packages = tuple(packages)
        self.code = CodeCache()
        """Of the programs of all of them."""
        self._open: OrderedDict[Limits, Sandbox] = OrderedDict()
        self._lent: dict[Limits, int] = {}
        self._lock = threading.Lock()
        self.closed = False

    @contextmanager
    def lend(self, limits: Limits) -> Iterator[Sandbox]:
        """A sandbox of these limits and the packages, for as long as the block lasts.

        Raises:
            SandboxError: all have been closed.
        """
        if self._packages:
            limits = replace(limits, packages=tuple(dict.fromkeys((*limits.packages, *self._packages))))
        with self._lock:
            if self.closed:
                raise SandboxError("the service is stopping")
            if limits not in self._open:
                self._open[limits] = Sandbox(
                    limits, self._workers, allow_unsafe=self._allow_unsafe, code=self.code
                )
            self._open.move_to_end(limits)
            self._lent[limits] = self._lent.get(limits, 0) + 1
            sandbox = self._open[limits]
        try:
            yield sandbox
        finally:
            with self._lock:
                self._lent[limits] -= 1
                surplus = self._surplus()
            for idle in surplus:
                idle.close()

    def close(self) -> None:
        """End every run; later ones are refused."""
        with self._lock:
            self.closed = True
            sandboxes = [*self._open.values()]
            self._open.clear()
        for sandbox in sandboxes:
            sandbox.close()

    def _surplus(self) -> list[Sandbox]:
        """Take out the sandboxes that nobody uses, the longest unused first, down to as many as are kept."""
        idle = [limits for limits in self._open if not self._lent[limits]]
        surplus = idle[: max(0, len(self._open) - self._kept)]
        for limits in surplus:
            del self._lent[limits]
        return [self._open.pop(limits) for limits in surplus]


Job = Callable[[], Verdict]


class Rewarded(NamedTuple):
    """What a completion earns, and why."""

    pass_rate: float | None
    """Share of the tests that passed; None where they were not counted."""
    verdict: Verdict

    @property
    def value(self) -> float | None:
        """0.0 to 1.0; None where the grader failed, so that no model is trained on it."""
        if self.verdict.reason is Reason.GRADER_ERROR:
            return None
        return 0.0 if self.pass_rate is None else self.pass_rate


class JobGrader:
    """Turns requests into jobs; a job never fails for what it was sent.

    Args:
        catalogue: benchmarks and profiles.
        executors: run the programs.
        defaults: profiles in force where a request names none.
    """

    def __init__(self, catalogue: NameCatalogue, executors: Executors, defaults: tuple[str, ...]) -> None:
        self._catalogue, self._executors, self._defaults = catalogue, executors, defaults
        self.rewarded: Callable[[Completion, Problem, Profile, Verdict], None] = lambda *seen: None
        """Told of each reward, in the thread that graded it."""

    def jobs(self, request: GradeRequest) -> list[Job]:
        """One job for each completion and profile.

        Raises:
            Refusal: a name or field is at fault.
        """
        names = request.profiles or self._defaults
        field = "profiles" if request.profiles is None else "profiles[{}]"
        profiles = [
            (self._catalogue.profile(name, field.format(i)), field.format(i)) for i, name in enumerate(names)
        ]
        return [self.job(*asked) for asked in self._asked(request, profiles)]

    def reward_jobs(self, request: RewardRequest) -> list[Callable[[], Rewarded]]:
        """One job for each completion; raises as `jobs` does."""
        profile = self._catalogue.profile(request.profile or self._defaults[0], "profile")
        if request.partial and type(profile).tests_passed is Profile.tests_passed:
            raise unprocessable(f"profile {profile.name!r} does not count tests; strict does", "partial")
        profile = self._catalogue.limited(profile, request.cpu_s, request.memory_bytes)
        asked = [
            (_said(completion_of(problem, submission), problem), problem, profile)
            for problem, submission, profile in self._asked(request, [(profile, "profile")])
        ]
        if request.attempts:
            return [partial(self._look, *each) for each in asked]
        share_of = (request.first_tests or math.inf) if request.partial else 0
        return [partial(self._reward, *each, share_of, request.tests_inside) for each in asked]

    def job(self, problem: Problem, submission: Submission, profile: Profile) -> Job:
        """The job that grades one completion under one profile."""
        return partial(self._grade, completion_of(problem, submission), problem, profile)

    def reward_job(self, problem: Problem, submission: Submission, profile: Profile) -> Job:
        """The same where the verdict is a reward."""
        completion = _said(completion_of(problem, submission), problem)

        def graded() -> Verdict:
            verdict = self._grade(completion, problem, profile)
            self.rewarded(completion, problem, profile, verdict)
            return verdict

        return graded

    def _asked(
        self, request: GradeRequest | RewardRequest, profiles: list[tuple[Profile, str]]
    ) -> Iterator[tuple[Problem, Submission, Profile]]:
        """What is to be graded: completions in order, for each the profiles in order."""
        common = None if request.problem is None else self._catalogue.inline(request.problem, "problem")
        several = request.problems if isinstance(request, RewardRequest) else []
        sent = {it.id: self._catalogue.inline(it, f"problems[{index}]") for index, it in enumerate(several)}
        for index, submission in enumerate(request.completions):
            named = None if submission.problem is not None else sent.get(submission.problem_id or "")
            problem = named or self._problem(request, submission, common, f"completions[{index}]")
            for profile, field in profiles:
                self._catalogue.check_covered(profile, problem, field)
                yield problem, submission, profile

    def _problem(
        self, request: GradeRequest | RewardRequest, submission: Submission, common: Problem | None, field: str
    ) -> Problem:
        if submission.problem is not None:
            return self._catalogue.inline(submission.problem, f"{field}.problem")
        if common is not None and submission.problem_id in (None, common.id):
            return common
        own = submission.benchmark
        problems = self._catalogue.problems(
            own or request.benchmark, "benchmark" if own is None else f"{field}.benchmark"
        )
        if submission.problem_id is None:
            raise unprocessable("say which problem of the benchmark this answers", f"{field}.problem_id")
        if submission.problem_id not in problems:
            raise unprocessable(f"the benchmark has no problem {submission.problem_id!r}", f"{field}.problem_id")
        return problems[submission.problem_id]

    def _look(self, completion: Completion, problem: Problem, profile: Profile) -> Rewarded:
        """Whether a completion sets out to be paid for nothing: ``tampering``, its marks the channels."""
        executors = self._executors
        try:
            answer = answer_of(completion, problem, profile)
            with executors.lend(limits_for(profile, [problem])) as sandbox:
                found = looked_at(problem, answer, sandbox, completion)
        except Exception as error:  # as in `_grade`
            if executors.closed:
                raise stopping() from error
            return Rewarded(None, _failed(completion, profile, f"{type(error).__name__}: {error}"))
        verdict = refused(completion, profile)
        if found:
            verdict = msgspec.structs.replace(verdict, reason=Reason.TAMPERING, marks=found)
        return Rewarded(None, verdict)

    def _reward(
        self, completion: Completion, problem: Problem, profile: Profile, share_of: float, tests_inside: bool
    ) -> Rewarded:
        """The reward of one completion, which is told to whoever watches."""
        trusting = tests_inside or not profile.judges_outside
        if kind_of(problem.task).inside and not trusting:
            share_of = 0  # tests are counted in the program's process
        rewarded = self._rewarded(completion, problem, profile, share_of)
        if rewarded.verdict.passed and (why := _untrusted(rewarded.verdict.marks, trusting)):
            reason = Reason.GRADER_ERROR
            unknown_now = msgspec.structs.replace(rewarded.verdict, passed=False, reason=reason, detail=why)
            rewarded = Rewarded(None, unknown_now)
        self.rewarded(completion, problem, profile, rewarded.verdict)
        return rewarded

    def _rewarded(self, completion: Completion, problem: Problem, profile: Profile, share_of: float) -> Rewarded:
        """The reward of one completion; tests are counted of what failed alone, since that takes further runs.

        Args:
            completion: of the problem.
            problem: with the tests.
            profile: one that counts tests, if any are to be counted.
            share_of: how many, from the first one on: none, some or all.
        """
        verdict = self._grade(completion, problem, profile)
        if verdict.passed or verdict.reason is Reason.GRADER_ERROR or not share_of:
            return Rewarded(1.0 if verdict.passed else None, verdict)
        answer = answer_of(completion, problem, profile)
        if answer.value is None or answer.reason is not None:
            return Rewarded(0.0, verdict)
        executors = self._executors
        try:
            asked = problem if math.isinf(share_of) else _with_first_tests(problem, int(share_of))
            with executors.lend(limits_for(profile, [problem])) as sandbox:
                counted = profile.tests_passed(asked, answer, sandbox)
        except Exception as error:  # as in `_grade`
            if executors.closed:
                raise stopping() from error
            return Rewarded(None, _failed(completion, profile, f"{type(error).__name__}: {error}"))
        if counted is None:
            return Rewarded(None, verdict)
        # The verdict stands: whatever its tests give one by one, what failed does not get what a right one gets,
        # unless the test that it fails is none of those that are asked for.
        most = counted.tests if counted.tests == share_of else counted.tests - 1
        return Rewarded(min(counted.passed, most) / counted.tests, verdict)

    def _grade(self, completion: Completion, problem: Problem, profile: Profile) -> Verdict:
        """A verdict, whatever happens; where the machinery fails for good it is a ``grader_error``.

        Raises:
            Refusal: the service is stopping.
        """
        executors = self._executors
        try:
            with executors.lend(limits_for(profile, [problem])) as sandbox:
                verdict = steadily(
                    lambda: verdict_on(completion, problem, profile, sandbox),
                    lambda verdict: doubtful(verdict.reason, verdict.detail),
                    lambda: executors.closed,
                )
            return _failed(completion, profile, verdict.detail) if unknown(verdict.detail) else verdict
        except SandboxError as error:
            if executors.closed:
                raise stopping() from error
            return _failed(completion, profile, str(error))
        except Exception as error:  # an inline problem can hold anything; its neighbours must get their verdicts
            return _failed(completion, profile, f"{type(error).__name__}: {error}")


def completion_of(problem: Problem, submission: Submission) -> Completion:
    """A completion as a request holds it."""
    return Completion(
        benchmark=problem.benchmark,
        dataset_sha256=problem.dataset_sha256,
        problem_id=problem.id,
        sample=submission.sample,
        config_sha256="",
        prompt_sha256="",
        text=submission.text,
        form=submission.form,
        reasoning=submission.reasoning,
        finish_reason=submission.finish_reason,
        model="",
    )


def looked_at(problem: Problem, answer: Answer, executor: Executor, completion: Completion) -> tuple[str, ...]:
    """By which channels an answer to a problem would be paid for nothing."""
    kind, task = kind_of(problem.task), problem.task
    return attempts(kind.tests(task), answer, executor, completion.text or "", kind.prefix(task))


def _with_first_tests(problem: Problem, most: int) -> Problem:
    """The problem with its first tests alone, if they are to be had; for counting alone."""
    kind, task = kind_of(problem.task), problem.task
    if isinstance(tests := kind.tests(task), str):
        return problem
    # What is kept of a reference's outputs goes by this hash, and fewer inputs have fewer outputs.
    identity = f"{problem.dataset_sha256}:{most}"
    fewer = kind.with_tests(task, first_tests(tests, most))
    return msgspec.structs.replace(problem, task=fewer, dataset_sha256=identity)


def _said(completion: Completion, problem: Problem) -> Completion:
    """The completion with the model's own text alone, of which a reward is paid: it may hold a rollout's turns."""
    if completion.form != "reply" or completion.text is None:
        return completion
    answer = answering_turn(policy_turns(completion.text), kind_of(problem.task).entry_point(problem.task))
    return completion if answer == completion.text else msgspec.structs.replace(completion, text=answer)


def refused(completion: Completion, profile: Profile) -> Verdict:
    """A verdict that says no more than that it was wrong."""
    return msgspec.structs.replace(_failed(completion, profile, ""), reason=Reason.WRONG_ANSWER)


def _untrusted(marks: tuple[str, ...], trusting: bool) -> str:
    """Why nothing is known of a program that passes; empty where its pass is paid.

    A model in training tries without end, and finds what pays.
    """
    if READS_TESTS in marks:
        return "it passes in one process with its tests, and its text reads them or may do so (mark reads-tests)"
    if TESTS_INSIDE in marks and not trusting:
        return (
            "it passes in one process with its tests, where a pass can be forged (mark tests-inside);"
            " `tests_inside` pays such passes"
        )
    return ""


def _failed(completion: Completion, profile: Profile, detail: str) -> Verdict:
    """The verdict where an inline problem cannot be graded, or the machine cannot grade."""
    return Verdict(
        benchmark=completion.benchmark,
        dataset_sha256=completion.dataset_sha256,
        problem_id=completion.problem_id,
        sample=completion.sample,
        config_sha256=completion.config_sha256,
        completion_sha256=completion.sha256,
        profile=profile.id,
        passed=False,
        reason=Reason.GRADER_ERROR,
        detail=detail[:500],
    )
