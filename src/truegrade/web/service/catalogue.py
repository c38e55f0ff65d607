"""What requests may refer to by name: the benchmarks loaded at the start, and the profiles."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from pathlib import Path

from truegrade.benchmarks import load_benchmark
from truegrade.benchmarks.base import Benchmark
from truegrade.errors import SandboxError, UnknownName, UserError
from truegrade.profiles import PROFILES, Profile, open_profile, unsupported
from truegrade.profiles.base import has_rules
from truegrade.records import ContestTask, FileSpan, FunctionTask, OracleTask, Problem, SuiteTask, sha256_json
from truegrade.records.kinds import problem_kind
from truegrade.sandbox import Limits, Sandbox
from truegrade.sandbox.modes import CodeCache
from truegrade.web.messages import InlineProblem, ProfileInfo, unprocessable

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
        if isinstance(task, ContestTask):
            _check_contest(task, f"{field}.task.private_tests")
        if isinstance(task, FunctionTask | OracleTask | SuiteTask) and task.cpu_s is not None:
            self.within(task.cpu_s, f"{field}.task.cpu_s")
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


def _check_contest(task: ContestTask, field: str) -> None:
    """Refuse tests that are elsewhere, or that could unpack to more than a request may hold."""
    if isinstance(task.private_tests, FileSpan):
        raise unprocessable("a request cannot name files of this machine", field)
    if not task.private_tests.lstrip().startswith("["):
        raise unprocessable("send private tests as JSON text, a list; packed ones are not taken", field)


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
