"""The tests' process: runs trusted test source against a program that lives in another process.

The names under test are proxies here. A call sends its arguments to the program; what comes back is plain
data (`truegrade.sandbox.wire`) or an exception of a built-in type. So the tests compare with the operators
of plain data, in an interpreter that the program has never run in.

One process judges many samples, which saves a fork of each. That gives up the isolation of trusted tests from
each other, never that from programs: all it ever gets of a program is plain data, and each program has a stream of
its own. No verdict changes, because whatever could reach the next sample ends the process instead:

- tests that can change more than their own namespace (`truegrade.sandbox.judging`);
- any end other than a pass, a failed assertion, an exception of the program or one that plain values cause, and
  a forecast that failed: which leaves forgeries, limits and tests that do not run; and, as the supervisor kills
  it then, a hang;
- a peak of memory above what it began with by `BLOAT_BYTES`, which the next sample would lack.

The supervisor replaces it after a thousand samples all the same, and when it says anything unasked.

Not covered: functions as arguments, and, unless the job says so (`truegrade.sandbox.carried`), changes the program
makes to its arguments, and identity. Objects cross where the job says so (`truegrade.sandbox.objects`).
"""

from __future__ import annotations

import builtins
import re
import resource
import sys
from _socket import CMSG_SPACE, socket  # `socket` costs a starting judge 7 ms
from _thread import RLock
from collections import deque
from marshal import loads
from math import ceil
from mmap import mmap
from os import _exit, close, environ, urandom
from time import process_time

from truegrade.sandbox.frames import FD, TOKEN_BYTES, Channel, call_frame
from truegrade.sandbox.judging import (
    DEVIATED,
    cannot_run,
    expected_value,
    failing_frame,
    foreseen,
    is_about,
    is_stateless,
    may_miss,
    rebuild,
    short,
    statement_at,
)
from truegrade.sandbox.mirror import FILES, Mirror
from truegrade.sandbox.objects import TESTS_MODULE
from truegrade.sandbox.rlimits import peak_bytes
from truegrade.sandbox.stand_ins import Remote, StandIns, stand_ins
from truegrade.sandbox.wire import (
    CANNOT_GO_ON,
    GRADER_ERROR,
    MEMORY_LIMIT,
    OUTPUT_LIMIT,
    PASSED,
    RUNTIME_ERROR,
    TAMPERING,
    TURN_OF_PROGRAM,
    TURN_OF_TESTS,
    WRONG_ANSWER,
    Drained,
    Unencodable,
    Unsupported,
    ValueTooLarge,
    Widened,
    WireError,
    of_program,
)

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Verdict = tuple[str, str]

TESTS_FILE = "<tests>"
TRUSTED_FILE = "<trusted>"
KEPT_CHARACTERS = 1 << 19
"""Of tests that are kept compiled, which takes some five times as many bytes: HumanEval's and MBPP's together."""
_GENERATORS = (("random", "getstate", "setstate"), ("numpy.random", "get_state", "set_state"))
"""Modules that draw numbers, and what takes and puts back their state."""
_OWN_GENERATOR = re.compile(r"default_rng|SystemRandom|RandomState|Generator\b|Random\(\s*\)|urandom|token_|uuid")
"""What draws numbers that nobody can foretell."""
_WORD = re.compile(r"\w+")
SENDABLE = "plain values can, and objects of the setup's classes if the task says that its arguments are not plain"
BLOAT_BYTES = 16 << 20
CHUNK_BYTES = 1 << 16
MAX_MESSAGE = 2000
"""Characters of an exception's message that a verdict tells: it may hold all that the program returned."""
FAILED = "suite_failed"
"""Name under which a suite finds what it has to call when its first test fails."""
OUTCOMES = "suite_outcomes"
"""Name under which a suite leaves a text: the verdict's detail is that, where objects crossed, what was done to
what the tests gave, what is in doubt (`truegrade.sandbox.stand_ins.StandIns`), and the rest."""

WORDS = "suite_words"
"""Name under which it leaves what is said of a failure that no line of the tests shows."""


_OF_VALUES = {
    *(AssertionError, AttributeError, IndexError, KeyError, TypeError, UnicodeError, ValueError),
    *(OverflowError, ZeroDivisionError),
}
"""What operators and methods of plain data raise: the next sample's tests are as they would be without."""


_OF_OURS = (Unsupported.__name__, f"_{Remote.__name__}__")
"""Words of messages that Python makes of what stands for an object of the program."""


class Over(BaseException):
    """Unwinds the tests: whatever they catch, the verdict stands in `Link.over`."""


class Link:
    """The stream to the program.

    Args:
        channel: to the program.
        report: to the supervisor.
        turn: memory that it shares; one byte.
    """

    def __init__(self, channel: Channel, report: Channel, turn: mmap) -> None:
        self.channel, self.report, self.turn = channel, report, turn
        self.over: Verdict | None = None
        """Set once no test can pass any more, even one that catches every exception."""
        self.raised: BaseException | None = None
        """The last exception that came from the program."""
        self.raised_before: deque[BaseException] = deque(maxlen=1000)
        """Those before it: of a suite the first failure counts, and the other tests run all the same."""
        self.returned: tuple[Any] | None = None
        """The last value that came from the program, if its last call gave one."""
        self.at_failure: tuple[Any, ...] | None = None
        """The same when the first test of a suite failed; None before: the other tests run all the same."""
        self.offered: tuple[object, ...] = ()
        """What stands for the program in the tests."""
        self.names: frozenset[str] = frozenset()
        """Under which it was asked for."""
        self.touched = False
        """Whether the tests have seen anything of the program."""
        self.namespace: dict[str, Any] = {}
        """Where exceptions of the program are looked up by name, besides the built-in ones."""
        self.given: frozenset[str] = frozenset()
        """Names of what stood there before the tests ran, which the program knows as well."""
        self.mirror: Mirror | None = None
        """Of the tests' working folder, where files cross."""
        self.unread = False
        """Whether an iterator of the program was not read to its end before the next call."""
        self.lock = RLock()
        """Held for a call and its answer: tests may call from several threads."""
        self._ahead: deque[tuple[bytes, bytes]] = deque()
        """Token and frame of the calls that are sent and not yet made."""

    def note_failure(self) -> None:
        """Keep what the program returned last, for the words about a test that fails now."""
        self.at_failure = self.returned or ()

    def end(self, status: str, detail: str) -> Over:
        """Settle the verdict; the exception to raise."""
        if self.over is None:
            self.over = (status, detail)
        return Over()

    def request(self, frame: bytes) -> None:
        """Send; that the program is dead is found, with its reason, by reading."""
        try:
            self.channel.send_frame(frame)
        except (BrokenPipeError, ConnectionResetError):
            return

    def foretell(self, calls: Sequence[bytes]) -> None:
        """Send the calls that the tests are about to make (`truegrade.sandbox.judging`)."""
        for call in calls:
            token = urandom(TOKEN_BYTES)
            self._ahead.append((token, call_frame(token, *loads(call))))
        if calls:
            self.request(b"".join([frame for _, frame in self._ahead]))

    def receive(self, token: bytes) -> tuple[Any, ...]:
        """The answer to the request of this token."""
        try:
            message = self.channel.receive()
        except WireError as error:
            raise self.end(TAMPERING, f"the program wrote to the stream of its answers: {error}") from None
        except ConnectionResetError:
            message = None
        if message is None:
            self.report.send(("lost",))
            raise self.end(RUNTIME_ERROR, "the program ended the process")
        if len(message) < 3 or message[1] != token:
            raise self.end(TAMPERING, "the program answered a call that was not made")
        if message[0] == "failed":
            raise self.end(*of_program(message[2:]))
        return message

    def call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the program's function returns, or raises."""
        with self.lock:
            return self._in_turn(name, args, kwargs)

    def _in_turn(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.over is not None:
            raise Over
        if Drained.made:  # that the program ran them to their end may show in what it says now
            self.unread = self.unread or not all(one.is_at_end for one in Drained.made)
            Drained.made.clear()
        if self.mirror is None:
            return self._call(name, name, args, kwargs)
        try:
            answer = self._call(name, FILES, (self.mirror.changes(), name, args, kwargs), {})
            value = self.mirror.answered(answer)
        except WireError as error:
            raise self.end(TAMPERING, f"the program answered with {error}") from None
        except ValueTooLarge as error:
            raise self.end(OUTPUT_LIMIT, f"the program left {error}") from None
        self.returned = (value,)
        return value

    def _call(self, shown: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.raised is not None:
            self.raised_before.append(self.raised)
        self.raised = self.returned = None
        token, sent = self._ahead.popleft() if self._ahead else (urandom(TOKEN_BYTES), b"")
        try:
            frame = call_frame(token, name, args, kwargs)
        except (Unencodable, ValueTooLarge) as error:
            if not sent:
                raise self.refusal(shown, error) from None
            frame = b""  # which was not foretold
        if not sent:
            self.request(frame)
        elif frame != sent:
            raise self.end(DEVIATED, "the tests did not make the call that was foretold")
        self.turn[0] = TURN_OF_PROGRAM
        message = self.receive(token)
        self.touched = True
        if message[0] == "value" and len(message) == 3:
            self.returned = (message[2],)
            return message[2]
        if message[0] != "raised" or len(message) != 6:
            raise self.end(TAMPERING, "the program sent an answer of no known kind")
        raise self.remade(message[2:])

    def remade(self, described: Any) -> BaseException:
        """An exception of the program, which comes from it now."""
        if self.raised is not None:
            self.raised_before.append(self.raised)
        self.raised = rebuild(*(*described, self.namespace, self.given))
        return self.raised

    def refusal(self, name: str, error: Unencodable | ValueTooLarge) -> BaseException:
        """What a call raises whose arguments cannot be sent."""
        if isinstance(error, ValueTooLarge):
            blamed = RUNTIME_ERROR if self.touched else GRADER_ERROR
            return self.end(blamed, f"the tests pass {name} {error}")
        if isinstance(error.value, Unsupported):
            return TypeError(f"the program returned {error.value!r}, which cannot be passed on")
        text = f"the tests pass {name} {_article(error.value)}, which cannot be sent to another process"
        return self.end(GRADER_ERROR, f"{CANNOT_GO_ON if self.touched else ''}{text}; {SENDABLE}")


def main(fd: int, zygote: Any) -> None:
    """Judge one job after the other, until one leaves this process unfit for more."""
    zygote.bind()
    report, stream = Channel(fd), socket(fileno=fd)
    turn: mmap | None = None
    cap, plans = Cap(), Plans()
    while True:
        data, passed, _, _ = stream.recvmsg(CHUNK_BYTES, CMSG_SPACE(2 * FD.size))
        if not data:
            _exit(0)
        report.feed(data)
        message = report.receive()
        if message is None:
            _exit(0)
        fds = [fd for _, _, rights in passed for (fd,) in FD.iter_unpack(rights)]
        turn = turn or mmap(fds[1], 1)
        job = loads(message[1])
        cap.set(job["limits"])
        link = Link(Channel(fds[0], job["value_bytes"]), report, turn)
        status, detail, again = judge(job, link, plans)
        report.send(("verdict", status, detail, again and not cap.bloated(), process_time()))
        if not again:
            _exit(0)
        for used in fds:
            close(used)


def rehearse() -> None:
    """Nothing: a judge is rarely forked."""


def judge(job: dict[str, Any], link: Link, plans: Plans) -> tuple[str, str, bool]:
    """Run the trusted source, wait for the program, run the tests; status, detail, whether to judge another."""
    namespace = fresh_namespace()
    try:
        plan = plans.of(job["trusted"], job["tests"], job["code"])
        plan.seed()
        calls = plan.calls(job["names"]) if job["ahead"] else ()
        exec(plan.trusted, namespace)
    except BaseException as error:
        return GRADER_ERROR, f"the trusted source or the tests do not run: {_text(error)}", False
    again, table = plan.stateless, None
    status, detail = PASSED, ""
    try:
        link.foretell(calls)
        link.turn[0] = TURN_OF_PROGRAM
        link.receive(job["token"])
        link.turn[0] = TURN_OF_TESTS
        table = _offer(job, link, namespace)
        exec(plan.tests, namespace)
    except BaseException as error:
        status, detail = link.over or blame(error, link, job["tests"])
        ordinary = error is link.raised or type(error) in _OF_VALUES
        again = again and status != GRADER_ERROR and (ordinary or status == DEVIATED)
    else:
        status, detail = link.over or (PASSED, "")
    again = again and (link.over is None or status == DEVIATED)
    if (outcomes := namespace.get(OUTCOMES)) is not None:
        assert table is not None, "a suite's objects cross"
        table.look_for_changes()
        if status == WRONG_ANSWER:
            detail = namespace.get(WORDS) or detail
        crossed = ",".join(sorted(table.met_at))
        detail = f"{outcomes};{crossed};{table.tied};{','.join(sorted(table.doubts))};{detail}"
    elif status == PASSED:
        detail = _in_doubt(link, table if job["carries"] else None, job["tests"])
    if again:
        namespace.clear()  # its functions refer to it: nothing else would free it soon
    return status, detail, again


def _in_doubt(link: Link, table: StandIns | None, tests: str) -> str:
    """What a program that passes did to what the tests gave it, and behind a semicolon what is in doubt."""
    tied, doubts = "", {"an iterator was not read to its end before a later call"} if link.unread else set[str]()
    if Widened.met:
        doubts.add("a number of numpy crossed as one of more bits")
    if any(may_miss(error, tests) for error in (link.raised, *link.raised_before)):
        doubts.add("the tests name a class of exceptions that another one stands for")
    if table is not None:
        table.look_for_changes()
        tied, doubts = table.tied, doubts | table.doubts
    return f"{tied};{','.join(sorted(doubts))}" if tied or doubts else ""


def _offer(job: dict[str, Any], link: Link, namespace: dict[str, Any]) -> StandIns | None:
    """Give the tests what stands for the program; the table of the objects that cross, where some do."""
    link.namespace, link.given, link.names = namespace, frozenset(namespace), frozenset(job["names"])
    Drained.remade, Drained.at_end, Drained.made = link.remade, lambda: None, []
    Widened.met = False
    if job["files"]:
        # What the program leaves in its folder is laid in this one; libraries read settings and data at home.
        environ["HOME"] = "/nonexistent"
        link.mirror = Mirror(keeps=not job["carries"])
    if job["classes"] is None:
        proxies = {name: proxy(link, name) for name in job["names"]}
        link.offered = tuple(proxies.values())
        namespace.update(proxies)
        return None
    origins = None if job["origins"] is None else frozenset(job["origins"])
    table, offered = stand_ins(
        link,
        job["names"],
        job["classes"],
        namespace,
        origins=origins,
        lent=job["lent"],
        carries=job["carries"],
    )
    if job["carries"]:
        table.words = frozenset(_WORD.findall(job["tests"]))
        Drained.at_end = lambda: table.look_for_changes(at_end_of_iterator=True)
        if link.mirror is not None:
            link.mirror.watch(table.tie_files, job["tests"])
    link.offered = (*offered.values(), Remote)
    namespace.update(offered)
    namespace[FAILED] = link.note_failure
    return table


def fresh_namespace() -> dict[str, Any]:
    """What tests start with."""
    return {"__name__": TESTS_MODULE, "__builtins__": builtins, "__file__": TESTS_FILE}


class JudgePlan:
    """Tests, ready to run.

    Args:
        trusted: source that runs before them.
        tests: their source.
        code: of the tests, marshalled; nothing where it is still to be compiled. Names of methods are texts in it,
            so that it does not show what may last.

    Raises:
        Exception: one of them is no Python.
    """

    def __init__(self, trusted: str, tests: str, code: bytes = b"") -> None:
        self.trusted = compile(trusted, TRUSTED_FILE, "exec", dont_inherit=True)
        self.tests = loads(code) if code else compile(tests, TESTS_FILE, "exec", dont_inherit=True)
        self.stateless = not code and is_stateless(self.trusted) and is_stateless(self.tests)
        self._random = "random" in trusted or "random" in tests
        self._foretold = self.stateless and not any(map(_OWN_GENERATOR.search, (trusted, tests)))
        self._calls: dict[tuple[str, ...], tuple[bytes, ...]] = {}

    def calls(self, names: Sequence[str]) -> tuple[bytes, ...]:
        """The calls of these names with which the tests begin, as far as they can be told without the program.

        Of tests that draw numbers, those that they make with the numbers to be drawn next.
        """
        if not self._foretold:
            return ()
        if self._random:
            return self._foresee_draws(names)
        known = self._calls.get(tuple(names))
        if known is None:
            known = self._calls[tuple(names)] = self._foresee(names)
        return known

    def _foresee(self, names: Sequence[str]) -> tuple[bytes, ...]:
        return foreseen(self.trusted, self.tests, names, fresh_namespace())

    def _foresee_draws(self, names: Sequence[str]) -> tuple[bytes, ...]:
        """Let the generators draw once for the forecast, and the same once more for the tests."""
        kept = [
            (getattr(module, put), getattr(module, take)())
            for name, take, put in _GENERATORS
            if (module := sys.modules.get(name))
        ]
        try:
            return self._foresee(names)
        finally:
            for put, state in kept:
                put(state)

    def seed(self) -> None:
        """Seed the generators that the tests may use, as in a process of their own."""
        if self._random:
            for name, _, _ in _GENERATORS:
                if module := sys.modules.get(name):
                    module.seed()


class Plans:
    """The plans of the tests that were judged last: a problem's samples need not follow each other."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str, bytes], JudgePlan] = {}
        self._characters = 0

    def of(self, trusted: str, tests: str, code: bytes = b"") -> JudgePlan:
        """The plan of these tests; raises as `JudgePlan` does."""
        key = trusted, tests, code
        plan = self._kept.pop(key, None)
        if plan is None:
            plan = JudgePlan(*key)
            self._characters += sum(map(len, key))
        self._kept[key] = plan  # the last used comes last
        while self._characters > KEPT_CHARACTERS:
            oldest = next(iter(self._kept))
            del self._kept[oldest]
            self._characters -= sum(map(len, oldest))
        return plan


class Cap:
    """What a sample's tests may use: soft limits, so that the next sample's can be others."""

    def __init__(self) -> None:
        self._set: dict[int, int] = {}
        self._peak = peak_bytes()

    def set(self, limits: dict[str, int]) -> None:
        """Put the limits in force, CPU time counted from now."""
        self._soft(resource.RLIMIT_AS, limits["memory_bytes"])
        self._soft(resource.RLIMIT_FSIZE, limits["file_bytes"])
        self._soft(resource.RLIMIT_NOFILE, limits["open_files"])
        self._soft(resource.RLIMIT_CPU, limits["cpu_s"] + ceil(process_time()))

    def _soft(self, kind: int, value: int) -> None:
        if self._set.get(kind) == value:
            return
        self._set[kind] = value
        hard = resource.getrlimit(kind)[1]
        soft = value if hard == resource.RLIM_INFINITY else min(value, hard)
        try:
            resource.setrlimit(kind, (soft, hard))
        except (ValueError, OSError):  # macOS refuses some
            return

    def bloated(self) -> bool:
        """Whether a sample has left less memory to the next."""
        return peak_bytes() > self._peak + BLOAT_BYTES


def proxy(link: Link, name: str) -> Callable[..., Any]:
    """A function that stands for the program's function of this name."""

    def function(*args: Any, **kwargs: Any) -> Any:
        return link.call(name, args, kwargs)

    function.__name__ = function.__qualname__ = name
    return function


def blame(error: BaseException, link: Link, tests: str) -> Verdict:
    """Whose fault an exception that ended the tests is, and the words for it."""
    where = expected = place = ""
    asked = False
    returned = (link.returned or ()) if link.at_failure is None else link.at_failure
    if at := failing_frame(error, TESTS_FILE):
        frame, line = at
        where, statement = statement_at(tests, line)
        place, asked = f", in `{where}`", is_about(statement, frame, link.offered, link.names, returned)
        if isinstance(error, AssertionError):
            expected = expected_value(statement, frame, link.offered, returned)
    if error is link.raised or any(error is one for one in link.raised_before):
        return RUNTIME_ERROR, _text(error) + place
    facts = [f"expected {expected}"] if expected else []
    facts += [f"the program returned {short(value)}" for value in returned if asked]
    detail = "; ".join([f"`{where}` failed" if where else "a test failed", *facts]).replace(f"{TESTS_MODULE}.", "")
    if isinstance(error, AssertionError):
        return WRONG_ANSWER, detail
    if not link.touched or cannot_run(error, tests):
        seen = CANNOT_GO_ON if link.touched else "the tests do not run: "
        return GRADER_ERROR, f"{seen}{_text(error)}{place}"
    if isinstance(error, MemoryError):
        return MEMORY_LIMIT, detail
    words = _text(error)
    return WRONG_ANSWER, f"{words}: {detail}"


def _text(error: BaseException) -> str:
    try:
        message = str(error)[:MAX_MESSAGE]
    except Exception:
        message = ""
    if any(name in message for name in _OF_OURS):
        message = "what the program gave does not cross to the tests"
    name = type(error).__name__
    return f"{name}: {message}" if message else name


def _article(value: object) -> str:
    name = type(value).__name__
    return f"an {name}" if name[0].lower() in "aeiou" else f"a {name}"
