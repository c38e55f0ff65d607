"""The reward function of a trainer: replies in, rewards out, from a service or from a pool on this node.

Nothing here pays 0 because a machine failed: what is not known is None, an error or a number that the user chose.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from inspect import signature
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from truegrade.apps.rewards.batching import AskedUnder, RewardAsker, RewardQuestion
from truegrade.apps.rewards.busy_clock import GRADING
from truegrade.apps.rewards.node_pool import PlaceName, attach, detach
from truegrade.apps.rewards.records import (
    TRUTHS,
    AnswerGiven,
    OnError,
    PolicyReply,
    Reward,
    RewardError,
    RewardLimits,
    RewardObserver,
    Scheme,
    SentProblem,
    Truncated,
    TruthCache,
)
from truegrade.apps.rewards.turns import ANSWERS, Answer, TurnRewards, by_reply, graded_turns
from truegrade.benchmarks import find_benchmark
from truegrade.errors import UnknownName, UserError
from truegrade.extraction.conversations import answering_turn, policy_turns
from truegrade.extraction.observations import POLICY_ROLES
from truegrade.grading.marks import TAMPERING
from truegrade.profiles import open_profile
from truegrade.records import Reason
from truegrade.web.client import ServiceError

# ----------------------------------------------------------------------------------------------------------------
# Settings of rewards in the environment, for trainers that hand a reward function no arguments of its own.

PREFIX = "TRUEGRADE_REWARD_"


def _on_error(text: str) -> str | float:
    return text if text in {"retry", "raise"} else float(text)


def _yes(text: str) -> bool:
    return bool(("0", "1").index(text))


READERS: Mapping[str, tuple[Callable[[str], Any], str]] = {
    "url": (str, ""),
    "token": (str, ""),
    "profile": (str, ""),
    "benchmark": (str, ""),
    "scheme": (str, ""),
    "on_error": (_on_error, "neither retry nor raise nor a number"),
    "retry_s": (float, "not a number of seconds"),
    "tampering": (float, "not a number"),
    "truncated": (str, ""),
    "answer": (str, ""),
    "tests_inside": (_yes, "neither 1 nor 0"),
    "workers": (int, "not a whole number"),
}
"""Arguments of `RewardGrader` that variables may give, how each is read, and what is said where it cannot be."""


def variable(name: str) -> str:
    """The environment variable of an argument of `RewardGrader`."""
    return PREFIX + name.upper()


def settings_of(environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Arguments of `RewardGrader` that the environment gives: ``TRUEGRADE_REWARD_URL`` and those of `READERS`.

    A variable that is empty gives nothing.

    Raises:
        UserError: a variable is not a number where one is needed, or none of that name is known.
    """
    names = {variable(name): name for name in READERS}
    found = {}
    for given in sorted(key for key in environ if key.startswith(PREFIX) and environ[key]):
        if given not in names:
            raise UserError(f"{given}: there is no such setting, only {', '.join(names)}")
        read, otherwise = READERS[names[given]]
        try:
            found[names[given]] = read(environ[given])
        except ValueError:
            raise UserError(f"{given}: {environ[given]!r} is {otherwise}") from None
    return found


CUT = frozenset({"length", "max_tokens"})
"""Finish reasons of a reply that the model was cut off in."""
Known = Future[AnswerGiven] | AnswerGiven
"""What is or will be known of a reply."""


class RewardGrader:
    """Grades replies of a model in training; safe to use from several threads, event loops and forked processes.

    It is pickled as its settings, the token among them: in a process, all that come of equal settings are one, and
    nothing is opened before the first reply. Copies are such, too.

    Args:
        url: address of `truegrade serve`; None is this node's pool, which all processes of the user share.
        token: the service's, if it has one.
        workers: programs run at once where this process owns the node's pool; by default one a core.
        profile: the rules, a name of `truegrade list profiles`.
        benchmark: whose problems replies name; a service must have it loaded, the node's pool takes ``NAME=FILE``.
        scheme: ``all``, ``share``, ``share-after-all(K)`` or ``threshold(T)``; all but the first pay for programs
            that are wrong, by design.
        on_error: ``retry`` asks again until `retry_s` is over and then gives None; ``raise``; or the value paid.
        retry_s: seconds that a reply's grading may take at most, the waiting included.
        tampering: the value paid where the program set out to change its own verdict.
        truncated: ``fail`` takes the verdict on a reply that was cut off; ``none`` gives None without grading it.
        answer: of a conversation, ``last`` grades the model's last turn that holds an answer, ``any`` each of
            these and pays the best, ``joined`` all of its turns as one text.
        tests_inside: whether a pass of `strict` is paid whose tests ran in the program's process, where it can be
            forged; else nothing is known of it.
        limits: `RewardLimits`, or a mapping of its fields, in place of the profile's.
        telemetry: is told what was paid; `truegrade.apps.rewards.telemetry.Telemetry` also looks for
            attempts to be paid for nothing.

    Raises:
        UserError: a setting is at fault.
    """

    def __init__(
        self,
        *,
        url: str | None = None,
        token: str | None = None,
        workers: int | None = None,
        profile: str = "strict",
        benchmark: str | None = None,
        scheme: str = "all",
        on_error: OnError = "retry",
        retry_s: float = 600.0,
        tampering: float = 0.0,
        truncated: Truncated = "fail",
        answer: Answer = "last",
        tests_inside: bool = False,
        limits: RewardLimits | Mapping[str, Any] | None = None,
        telemetry: RewardObserver | None = None,
    ) -> None:
        if on_error not in ("retry", "raise") and not _is_number(on_error):
            raise UserError(f"`on_error`: {on_error!r} is neither retry nor raise nor a number")
        if truncated not in ("fail", "none"):
            raise UserError(f"`truncated`: {truncated!r} is neither fail nor none")
        if answer not in ANSWERS:
            raise UserError(f"`answer`: {answer!r} is none of {', '.join(ANSWERS)}")
        if not isinstance(tests_inside, bool):
            raise UserError(f"`tests_inside`: {tests_inside!r} is neither True nor False")
        if not _is_number(tampering):
            raise UserError(f"`tampering`: {tampering!r} is no number")
        if url is not None and not (isinstance(url, str) and url.startswith(("http://", "https://"))):
            raise UserError(f"`url`: {url!r} begins with neither http:// nor https://")
        if workers is not None and (type(workers) is not int or workers < 1):
            raise UserError(f"`workers`: {workers!r} is no whole number above 0")
        if not (_is_number(retry_s) and retry_s > 0):
            raise UserError(f"`retry_s`: {retry_s!r} is no number above 0")
        if url is None:
            open_profile(profile)  # a service may have others
            _find_benchmark(benchmark)
        self.scheme = Scheme.parse(scheme)
        self.on_error, self.retry_s, self.tampering, self.truncated = on_error, retry_s, tampering, truncated
        self.answer, self.telemetry = answer, telemetry
        self.benchmark = None if benchmark is None else benchmark if url else _absolute(benchmark)
        self._settings: dict[str, Any] = {
            "url": url,
            "token": token,
            "workers": workers,
            "profile": profile,
            "benchmark": self.benchmark,
            "scheme": scheme,
            "on_error": on_error,
            "retry_s": retry_s,
            "tampering": tampering,
            "truncated": truncated,
            "answer": answer,
            "tests_inside": tests_inside,
            "limits": (limited := _limits(limits)),
            "telemetry": telemetry,
        }
        fields = self._fields(profile, limited) | {"tests_inside": bool(tests_inside)}
        self._under = AskedUnder(tuple(fields.items()), patient=on_error == "retry")
        self._place = PlaceName(url, token, None if url else workers)
        self._truths = TruthCache()
        self._lock = threading.Lock()
        self._asker: RewardAsker | None = None
        self._release: weakref.finalize[Any, RewardGrader] | None = None
        self.closed = False
        watch = getattr(telemetry, "watch", None)
        if watch is not None:
            watch(self._shadow, profile)
        _every.add(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _travelled, (type(self), self._settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop; replies under way get what `on_error` says. The node's pool ends with its owner's last grader."""
        self.closed = True
        if self._release is not None:
            self._release()

    async def grade(self, replies: Sequence[PolicyReply]) -> list[Reward]:
        """The rewards of replies, in order.

        Raises:
            UserError: the service refuses a name or a limit.
            RewardError: nothing is known of a reply, where `on_error` says to raise.
            SandboxError: programs cannot be run on this node, or only at protection level 1.
        """
        if self.answer == "any":
            return [each.best for each in await self.grade_turns(replies)]
        replies = [self._read(reply) for reply in replies]
        return await self._graded(replies)

    async def _graded(self, replies: Sequence[PolicyReply]) -> list[Reward]:
        with GRADING:
            return await self._when_known(replies)

    async def _when_known(self, replies: Sequence[PolicyReply]) -> list[Reward]:
        known = self._begin(replies)
        waiting = [asyncio.wrap_future(it) for it in known if isinstance(it, Future)]
        if waiting:
            try:
                await asyncio.wait(waiting)
            finally:
                for it in waiting:
                    it.cancel()
        # Looked at, so that no loop says of one that its exception was never retrieved.
        for it in waiting:
            it.exception()
        return self._rewards(replies, known)

    def grade_sync(self, replies: Sequence[PolicyReply]) -> list[Reward]:
        """The same where there is no event loop; raises as `grade` does."""
        if self.answer == "any":
            return [each.best for each in self.grade_turns_sync(replies)]
        return self._graded_sync([self._read(reply) for reply in replies])

    async def grade_turns(self, replies: Sequence[PolicyReply]) -> list[TurnRewards]:
        """The rewards of each turn of the model that holds an answer, reply by reply; raises as `grade`."""
        turns = [graded_turns(reply, self._called) for reply in replies]
        return by_reply(turns, await self._graded([one for of in turns for _, one in of]))

    def grade_turns_sync(self, replies: Sequence[PolicyReply]) -> list[TurnRewards]:
        """The same where there is no event loop."""
        turns = [graded_turns(reply, self._called) for reply in replies]
        return by_reply(turns, self._graded_sync([one for of in turns for _, one in of]))

    def _graded_sync(self, replies: Sequence[PolicyReply]) -> list[Reward]:
        with GRADING:
            known = self._begin(replies)
            futures = [it for it in known if isinstance(it, Future)]
            try:
                for it in futures:
                    it.exception()
            finally:
                for it in futures:
                    it.cancel()
        return self._rewards(replies, known)

    # ------------------------------------------------------------------------------------------- asking

    def _fields(self, profile: str, limits: RewardLimits) -> dict[str, Any]:
        return {
            "profile": profile,
            "benchmark": self.benchmark,
            "cpu_s": limits.cpu_s,
            "memory_bytes": limits.memory_bytes,
            "partial": self.scheme.counts,
            "first_tests": self.scheme.first_tests,
        }

    def _begin(self, replies: Sequence[PolicyReply]) -> list[Known]:
        deadline = time.monotonic() + self.retry_s
        known: list[Known] = []
        questions = []
        for reply in replies:
            asked = self._question(reply, deadline)
            known.append(asked if isinstance(asked, AnswerGiven) else asked.answer)
            if isinstance(asked, RewardQuestion):
                questions.append(asked)
        if questions:
            try:
                self._attached().ask(questions)
            except ServiceError as error:
                for question in questions:
                    question.answer.set_exception(error)
        return known

    def _read(self, reply: PolicyReply) -> PolicyReply:
        """The reply with the text alone that is graded; its messages are left where none is the model's."""
        if reply.messages is None and reply.form != "reply":
            return reply
        turns = policy_turns(reply.text if reply.messages is None else reply.messages)
        if not turns:
            return reply
        if self.answer == "joined":
            text = "\n\n".join(turns)
        else:
            text = answering_turn(turns, self._called(reply) if len(turns) > 1 else None)
        return msgspec.structs.replace(reply, text=text, messages=None)

    def _called(self, reply: PolicyReply) -> str | None:
        """The function that a reply is to define, where that is known."""
        if reply.entry_point is not None or (problem := self._problem(reply)) is None:
            return reply.entry_point
        return problem.entry_point

    def _question(self, reply: PolicyReply, deadline: float) -> RewardQuestion | AnswerGiven:
        if reply.messages is not None:
            why = f"no message of the conversation is the model's, whose role is {', '.join(sorted(POLICY_ROLES))}"
            return AnswerGiven(Reason.GRADER_ERROR, None, (), why)
        if self.truncated == "none" and reply.finish_reason in CUT:
            return AnswerGiven(Reason.TRUNCATED, None, (), "the model was cut off")
        problem = self._problem(reply)
        if problem is not None and not problem.body:
            return AnswerGiven(Reason.GRADER_ERROR, None, (), f"no tests: {problem.why_not}")
        return RewardQuestion(self._under, _submission(reply, problem), problem, deadline)

    def _shadow(self, replies: Sequence[PolicyReply], profile: str | None) -> list[Future[AnswerGiven]]:
        """As `ShadowAsker` says."""
        fields = dict(self._under.fields) | {"partial": False, "first_tests": None}
        fields |= {"attempts": True} if profile is None else {"profile": profile}
        under = AskedUnder(tuple(fields.items()), patient=False)
        deadline = time.monotonic() + self.retry_s
        asked = [(reply, self._problem(reply)) for reply in replies]
        questions = [
            RewardQuestion(under, _submission(reply, problem), problem, deadline)
            for reply, problem in asked
            if problem is None or problem.body
        ]
        self._attached().ask(questions)
        return [question.answer for question in questions]

    def _problem(self, reply: PolicyReply) -> SentProblem | None:
        """What comes with the reply; None where it names one of the benchmark's."""
        if reply.ground_truth is not None:
            return self._truths.problem(reply.ground_truth, reply.entry_point)
        if self.benchmark is None or reply.problem_id is None:
            why_not = f"the row has none of {', '.join(TRUTHS)}, and names no problem of a `benchmark`"
            return SentProblem(id="", body=b"", why_not=why_not)
        return None

    def _attached(self) -> RewardAsker:
        """The asker of this process: one that was forked has its own."""
        with self._lock:
            if self.closed:
                raise ServiceError("the grader of rewards is closed")
            if self._asker is None or self._asker.pid != os.getpid():
                self._asker = attach(self._place)
                self._release = weakref.finalize(self, detach, self._place, self._asker)
            return self._asker

    # ------------------------------------------------------------------------------------------- paying

    def _rewards(self, replies: Sequence[PolicyReply], known: Sequence[Known]) -> list[Reward]:
        rewards = [self._reward(reply, it) for reply, it in zip(replies, known, strict=True)]
        if self.telemetry is not None:
            try:
                self.telemetry.observe(replies, rewards)
            except Exception:
                logging.getLogger("truegrade.rewards").exception("telemetry failed; rewards are unchanged")
        return rewards

    def _reward(self, reply: PolicyReply, known: Known) -> Reward:
        if isinstance(known, Future):
            try:
                known = known.result()
            except ServiceError as error:
                known = AnswerGiven(Reason.GRADER_ERROR, None, (), str(error))
        reason, pass_rate, marks, detail = known
        cut = reply.finish_reason in CUT
        tampering = reason is Reason.TAMPERING or TAMPERING in marks
        value, passed = self._value(reply, known, tampering)
        return Reward(
            value=value,
            passed=passed,
            reason=reason,
            detail=detail,
            pass_rate=pass_rate,
            marks=marks,
            truncated=cut,
            tampering=tampering,
        )

    def _value(self, reply: PolicyReply, known: AnswerGiven, tampering: bool) -> tuple[float | None, bool | None]:
        """What is paid, and whether every test passed."""
        if known.reason is Reason.GRADER_ERROR:
            if self.on_error == "raise":
                name = f"{reply.problem_id}: " if reply.problem_id else ""
                raise RewardError(f"{name}the reply could not be graded: {known.detail}")
            return (None if self.on_error == "retry" else float(self.on_error)), None
        if self.truncated == "none" and reply.finish_reason in CUT:
            return None, None
        passed = known.reason is Reason.PASSED
        return self.tampering if tampering else self.scheme.value(passed, known.pass_rate), passed


def reward_grader(**settings: Any) -> RewardGrader:
    """The open `RewardGrader` of these settings; the same settings give the same one, once a process.

    What is not given comes from the environment: `truegrade.apps.rewards.grader`.

    Raises:
        UserError: a setting is at fault; one from the environment is named as its variable.
    """
    from_environment = {name: value for name, value in settings_of().items() if name not in settings}
    settings |= from_environment
    key = tuple(sorted((name, _frozen(value)) for name, value in settings.items()))
    with _graders_lock:
        found = _graders.get(key)
        if found is None or found.closed:
            known = signature(RewardGrader).parameters
            if unknown := next((name for name in settings if name not in known), ""):
                raise UnknownName("setting of a reward", unknown, known)
            try:
                found = _graders[key] = RewardGrader(**settings)
            except UserError as error:
                name = str(error).partition("`")[2].partition("`")[0]
                if name not in from_environment:
                    raise
                raise UserError(str(error).replace(f"`{name}`", variable(name), 1)) from None
        return found


def _travelled(made: type[RewardGrader], settings: dict[str, Any]) -> RewardGrader:
    """A grader that was pickled: a pool of processes unpickles one with every task."""
    return reward_grader(**settings) if made is RewardGrader else made(**settings)


_graders: dict[tuple[tuple[str, object], ...], RewardGrader] = {}
_graders_lock = threading.RLock()
_every: weakref.WeakSet[RewardGrader] = weakref.WeakSet()


def _in_child() -> None:
    global _graders_lock  # noqa: PLW0603 - another thread of the parent may have held them
    _graders_lock = threading.RLock()
    for grader in [*_every]:
        grader._lock = threading.Lock()
        grader._truths = TruthCache()


os.register_at_fork(after_in_child=_in_child)


def _submission(reply: PolicyReply, problem: SentProblem | None) -> dict[str, Any]:
    return {
        "text": reply.text,
        "problem_id": reply.problem_id if problem is None else problem.id,
        "form": reply.form,
        "reasoning": reply.reasoning,
        "finish_reason": reply.finish_reason,
    }


def _frozen(value: object) -> object:
    return tuple(sorted(value.items())) if isinstance(value, Mapping) else value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _limits(given: RewardLimits | Mapping[str, Any] | None) -> RewardLimits:
    if isinstance(given, RewardLimits):
        return given
    if given is not None and not isinstance(given, Mapping):
        raise UserError(f"`limits`: {given!r} is no mapping of {', '.join(RewardLimits.__struct_fields__)}")
    for name in given or {}:
        if name not in RewardLimits.__struct_fields__:
            raise UnknownName("field of `limits`", name, RewardLimits.__struct_fields__)
    try:
        return msgspec.convert(dict(given or {}), RewardLimits)
    except msgspec.ValidationError as error:
        raise UserError(f"`limits`: {error}") from None


def _find_benchmark(benchmark: str | None) -> None:
    """See that the node's pool will find what replies name."""
    name, sign, file = (benchmark or "").partition("=")
    if name:
        find_benchmark(name)
    if sign and not Path(file).exists():
        raise UserError(f"`benchmark`: {benchmark}: no such file as {file}; check the path")


def _absolute(benchmark: str) -> str:
    """The owner of the pool may run in another folder."""
    name, sign, file = benchmark.partition("=")
    if sign:
        return f"{name}={Path(file).resolve()}"
    return os.fspath(Path(name).resolve()) if Path(name).is_file() else benchmark
