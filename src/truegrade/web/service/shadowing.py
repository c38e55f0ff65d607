"""Looks, beside the grading, at replies that earned nothing: did they set out to be paid for nothing?

One thread with a short queue: when it is behind, replies are left out, so that no reward waits for it.
"""

from __future__ import annotations

import logging
import queue
import threading
from contextlib import suppress
from typing import NamedTuple

from truegrade.errors import TruegradeError, UserError
from truegrade.grading.attempts.hack_log import HackLog, HackRecord, drawn, program_shape
from truegrade.grading.attempts.looking import attempts
from truegrade.grading.marks import TAMPERING
from truegrade.pipeline.verdicts import answer_of, limits_for, verdict_on
from truegrade.profiles import Profile
from truegrade.profiles.base import has_rules
from truegrade.records import Completion, Problem, Reason, Verdict
from truegrade.records.kinds import problem_kind
from truegrade.web.service.catalogue import NameCatalogue
from truegrade.web.service.executors import Executors
from truegrade.web.service.jobs import completion_of, refused
from truegrade.web.service.messages import Submission
from truegrade.web.service.metrics import Metrics
from truegrade.web.service.service_settings import BAIT, ServiceSettings

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
        marked = TAMPERING in verdict.marks or verdict.reason is Reason.TAMPERING
        wanted = not verdict.passed and verdict.reason is not Reason.GRADER_ERROR
        if self._on and (marked or (wanted and drawn(completion.text or "", self._share))):
            with suppress(queue.Full):
                self._queue.put_nowait(_Seen(completion, problem, profile, verdict))

    def wants(self, text: str, *, paid: bool) -> bool:
        """Whether a program that no profile judged as a whole is one to look at."""
        return self._on and not paid and drawn(text, self._share)

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
            found = attempts(seen.problem, answer, sandbox)
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
