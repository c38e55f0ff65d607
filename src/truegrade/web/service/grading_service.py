"""The service without HTTP: what it holds, from its start to its end."""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from truegrade import __version__
from truegrade.errors import SandboxError, TruegradeError, UserError
from truegrade.grading.attempts import HackLog, HackRecord, is_drawn, program_shape
from truegrade.grading.marks import JOINED_TESTS, TAMPERING
from truegrade.kinds import problem_kind
from truegrade.pipeline.verdicts import answer_of, limits_for, verdict_on, with_packages
from truegrade.profiles import Profile
from truegrade.profiles.base import has_rules
from truegrade.records import Completion, Problem, Reason, Verdict
from truegrade.sandbox import Limits
from truegrade.sandbox.limits import usable_cores
from truegrade.web.application import BodyRoom, Client
from truegrade.web.messages import Health, Submission, is_loopback
from truegrade.web.service.about import Metrics
from truegrade.web.service.jobs import Executors, JobGrader, NameCatalogue, completion_of, looked_at, refused
from truegrade.web.service.workload import Workload

# --------------------------------- What a service may be asked to do and how much of it: fixed when it starts.


MIB = 1024 * 1024
BAIT = "bait"
"""Shadow that is no profile: the grader for attempts alone."""


class ServiceSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that `truegrade serve` can be told."""

    host: str = "127.0.0.1"
    port: int = 8080
    """Port; 0 selects a free one."""
    fd: int | None = None
    """Descriptor of a TCP socket that listens already, in place of host and port: whoever opened it keeps it
    open while one service follows another, so that no connection is refused."""
    token: str | None = None
    """What clients must show; None asks for nothing, which only a loopback address allows."""
    workers: int = msgspec.field(default_factory=usable_cores)
    """Programs run at once."""
    profiles: tuple[str, ...] = ("strict",)
    """Rules in force where a request names none."""
    benchmarks: tuple[tuple[str, Path | None], ...] = ()
    """Names and data files of the benchmarks that requests may refer to."""
    packages: tuple[str, ...] = ()
    """Installed packages that programs may import besides those of a profile."""
    max_queue: int = 4096
    """Programs that may wait or run; a request that would exceed it is told to come back."""
    max_body_bytes: int = 64 * MIB
    max_bodies_bytes: int = 256 * MIB
    """Bytes that the bodies of all requests under way may hold together; one that is alone has room."""
    max_cpu_s: float = 60.0
    """Highest time limit that a request may ask for."""
    max_memory_bytes: int = 4096 * MIB
    """Highest memory limit that a request may ask for."""
    max_output_bytes: int = 4 * MIB
    """Bytes that an executed program may write."""
    max_connections: int = 512
    """Requests to ``/v1/*`` under way at once; a further one is told 503. Other clients' are not bounded."""
    patience_s: float = 30.0
    """Seconds within which a client must have sent its request, headers and body each."""
    drain_s: float = 60.0
    """Seconds that running programs get to finish once the service is told to stop."""
    shadow: str | None = None
    """Look, beside the grading, at replies that earned nothing: do they set out to be paid? `bait`, or a profile
    that is known to be leaky, which is asked what it would have paid as well."""
    shadow_share: float = 0.05
    """Share of these replies that is looked at."""
    hacks: Path | None = None
    """Folder in which the first reply of each kind of attempt is kept, in ``hacks.jsonl``; None keeps none."""
    allow_unsafe: bool = False
    """Run programs even at protection level 1."""

    def check(self) -> None:
        """Refuse settings that would open the machine to strangers.

        Raises:
            UserError: no token is asked for, but others than this machine can reach the address.
        """
        if self.token is None and not is_loopback(self.host):
            raise UserError(
                f"without a token everybody who reaches {self.host} can run programs here; give a `token`, or"
                " `host` 127.0.0.1"
            )
        if not 0 <= self.shadow_share <= 1:
            raise UserError(f"`shadow_share`: {self.shadow_share:g} is no share, from 0 to 1")
        if self.hacks is not None and self.shadow is None:
            raise UserError("`hacks` keeps what a `shadow` finds; give one, as bait")
        if self.token is not None and (not self.token.isascii() or len(self.token) < 8 or " " in self.token):
            raise UserError("the token must be at least 8 ASCII characters without a space")


# --------- Looks, beside the grading, at replies that earned nothing: did they set out to be paid for nothing?
# One thread with a short queue: when it is behind, replies are left out, so that no reward waits for it.


WAITING = 256
"""Replies that may wait to be looked at."""
UNNAMED = "unnamed"
"""Channel of a program that the profile's own rules mark, and that is not accepted by the grader for attempts."""


class _Seen(NamedTuple):
    completion: Completion
    problem: Problem
    profile: Profile
    verdict: Verdict


class ShadowWatch:
    """Counts what is paid, and looks at a share of what is not.

    Args:
        settings: say what is looked at, and where attempts are kept.
        catalogue: opens the shadow's profile.
        executors: run programs.
        metrics: where it is counted.

    Raises:
        UserError: the profile is unknown, or the folder cannot be written to.
    """

    def __init__(
        self, settings: ServiceSettings, catalogue: NameCatalogue, executors: Executors, metrics: Metrics
    ) -> None:
        self._catalogue = catalogue
        self._share, self._executors, self._metrics = settings.shadow_share, executors, metrics
        self._on = settings.shadow is not None
        leaky = settings.shadow not in (None, BAIT)
        self._leaky = catalogue.known_profile(str(settings.shadow)) if leaky else None
        self._log = HackLog(settings.hacks) if settings.hacks is not None else None
        self._queue: queue.Queue[_Seen | None] = queue.Queue(WAITING)
        self._thread = threading.Thread(target=self._run, name="shadow", daemon=True)
        if self._on:
            self._thread.start()

    def rewarded(self, completion: Completion, problem: Problem, profile: Profile, verdict: Verdict) -> None:
        """Told of every reward, in any thread; returns at once."""
        self._metrics.rewarded(profile.name, verdict, truncated=completion.truncated)
        marked = not {TAMPERING, JOINED_TESTS}.isdisjoint(verdict.marks) or verdict.reason is Reason.TAMPERING
        wanted = not verdict.passed and verdict.reason is not Reason.GRADER_ERROR
        if self._on and (marked or (wanted and is_drawn(completion.text or "", self._share))):
            with suppress(queue.Full):
                self._queue.put_nowait(_Seen(completion, problem, profile, verdict))

    def wants(self, text: str, *, paid: bool) -> bool:
        """Whether a program that no profile judged as a whole is one to look at."""
        return self._on and not paid and is_drawn(text, self._share)

    def look(self, problem: Problem, submission: Submission, profile: str) -> None:
        """Look at such a program, beside the grading; returns at once."""
        completion = completion_of(problem, submission)
        rules = self._catalogue.known_profile(profile)
        with suppress(queue.Full):
            self._queue.put_nowait(_Seen(completion, problem, rules, refused(completion, rules)))

    def close(self) -> None:
        """Look at nothing more."""
        self._on = False
        with suppress(queue.Full):
            self._queue.put_nowait(None)

    def settle(self) -> None:
        """Wait until all that was handed over has been looked at."""
        self._queue.join()

    def _run(self) -> None:
        while (seen := self._queue.get()) is not None and self._on:
            try:
                self._look(seen)
            except (TruegradeError, OSError) as error:
                if not self._executors.closed:
                    logging.getLogger("truegrade.service").warning("a reply was not looked at: %s", error)
            except Exception:  # whatever a request held, the next ones are looked at
                logging.getLogger("truegrade.service").exception("a reply was not looked at")
            finally:
                self._queue.task_done()

    def _look(self, seen: _Seen) -> None:
        answer = answer_of(seen.completion, seen.problem, seen.profile)
        with self._executors.lend(limits_for(seen.profile, [seen.problem])) as sandbox:
            found = looked_at(seen.problem, answer, sandbox, seen.completion)
        pays = self._pays(seen)
        if pays is not None and pays != seen.verdict.passed:
            self._metrics.disagreed()
        if not found and TAMPERING in seen.verdict.marks:
            found = (UNNAMED,)
        if not found:
            return
        paid = "yes" if seen.verdict.passed else "shadow" if pays else "no"
        for channel in found:
            self._metrics.attempted(channel, paid)
        if self._log is not None:
            record = HackRecord(
                channel=found[0],
                channels=found,
                shape=program_shape(answer.value or ""),
                profile=seen.profile.id,
                paid=paid,
                problem_id=seen.completion.problem_id,
                text=seen.completion.text or "",
            )
            self._log.add(record)

    def _pays(self, seen: _Seen) -> bool | None:
        """Whether the shadow's profile pays; None where there is none, or it has no rules for the problem."""
        leaky = self._leaky
        if leaky is None or not has_rules(leaky, problem_kind(seen.problem.task), seen.problem.benchmark):
            return None
        try:
            with self._executors.lend(limits_for(leaky, [seen.problem])) as sandbox:
                verdict = verdict_on(seen.completion, seen.problem, leaky, sandbox)
        except UserError:
            return None
        return None if verdict.reason is Reason.GRADER_ERROR else verdict.passed


LOOK_S = 0.02
"""How often a service that stops looks whether all is done."""


class Service:
    """Everything that requests share.

    Args:
        settings: checked ones.

    Raises:
        UserError: a benchmark or profile is unknown, its data is not at hand, or a package is not installed.
        SandboxError: programs would run at protection level 1, and that is not allowed.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        settings.check()
        with_packages({}, settings.packages)
        self.settings = settings
        self.catalogue = NameCatalogue(settings.benchmarks, settings.max_cpu_s, settings.max_memory_bytes)
        for name in settings.profiles:
            self.catalogue.known_profile(name)
        self.executors = Executors(
            settings.workers, allow_unsafe=settings.allow_unsafe, packages=settings.packages
        )
        self.level, self.protection = self._prove()
        self.grader = JobGrader(self.catalogue, self.executors, settings.profiles)
        self.workload = Workload(settings.workers, settings.max_queue)
        self.metrics = Metrics(self.workload, self.level, self.executors.code)
        self.watch = ShadowWatch(settings, self.catalogue, self.executors, self.metrics)
        self.grader.rewarded = self.watch.rewarded
        self.workload.waited = self.metrics.waited
        self.bodies = BodyRoom(settings.max_bodies_bytes)
        self.stopping = False
        self.requests: Counter[Client] = Counter()
        """Requests for work that are not answered yet, by client."""

    @property
    def health(self) -> Health:
        """For people and load balancers."""
        return Health(status="stopping" if self.stopping else "ok", version=__version__, level=self.level)

    async def drain(self) -> None:
        """Wait for the work there is, at most ``drain_s``, then end it.

        Meanwhile own clients are refused; those that are not, and are never to see a refusal, are served.
        """
        self.stopping = True
        deadline = time.monotonic() + self.settings.drain_s
        while self.requests.total() and time.monotonic() < deadline:
            await asyncio.sleep(LOOK_S)
        self.workload.close()
        self.watch.close()
        await asyncio.to_thread(self.executors.close)

    def close(self) -> None:
        """End everything at once."""
        self.workload.close()
        self.watch.close()
        self.executors.close()

    def _prove(self) -> tuple[int, str]:
        """Run a program, so that a machine that cannot is found out before the first request."""
        with self.executors.lend(Limits(cpu_s=self.settings.max_cpu_s)) as sandbox:
            ended = sandbox.script("print(6 * 7)")
            if ended.stdout != "42\n":
                raise SandboxError(f"the sandbox does not run programs: {ended.status}, {ended.detail}")
            return sandbox.level, sandbox.protection
