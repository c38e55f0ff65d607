"""The ways to run a program, each as one conversation with its process; a cache of compiled code.

Every function here drives a fresh `Supervisor` and says how the run ended, as a `Stop` that it returns or,
where a limit or a forgery cut the conversation short, raises.
"""

from __future__ import annotations

import fcntl
import math
import os
import signal
import sys
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from hashlib import sha256
from importlib.util import MAGIC_NUMBER
from marshal import dumps
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, TYPE_CHECKING, Any

from truegrade.errors import SandboxError
from truegrade.sandbox import wire
from truegrade.sandbox.frames import TOKEN_BYTES, call_frame
from truegrade.sandbox.judging import DEVIATED
from truegrade.sandbox.limits import Limits
from truegrade.sandbox.outcome import BAND, CallResult, Stop, one_line
from truegrade.sandbox.rlimits import pairs
from truegrade.sandbox.supervisor import Gone, Supervisor
from truegrade.sandbox.wire import Digest, Unencodable, ValueTooLarge, WireError
from truegrade.sandbox.zygotes import kind_of

if TYPE_CHECKING:
    from truegrade.sandbox.frames import Job, Message


# ----------------------------------------------------------------------------------------------------------------
# Compiled code of scripts that come again, as opaque bytes: a script with many inputs is compiled once or twice.
# Only a script's process makes such bytes, after compiling and before anything of the program has run in it, and
# they are the first that it says (`truegrade.sandbox.child.script`), so no program can have written them; what it
# says later is never taken for code. Only such a process unmarshals them, before its own program runs, and it
# gets those of the very source that it would have compiled itself. So the worst that a program can do to the code
# of another is to push it out of the cache, and nothing that a program made, no output, module or answer, is
# kept.

MAX_KEYS = 4096
MAX_BYTES = 64 << 20


class CodeCache:
    """Keeps the code that was used last; safe to use from several threads.

    Args:
        max_keys: sources that are remembered, with or without their code.
        max_bytes: of all code together.
    """

    def __init__(self, max_keys: int = MAX_KEYS, max_bytes: int = MAX_BYTES) -> None:
        self._max_keys, self._max_bytes = max_keys, max_bytes
        self._kept: OrderedDict[bytes, bytes | None] = OrderedDict()
        """None where a source was seen once: most are, and to ask for their code would cost more than it saves.
        Empty where there is too much of it."""
        self._lock = threading.Lock()
        self.hits = 0
        """Runs that were given code."""
        self.misses = 0
        self.bytes = 0

    @staticmethod
    def key(source: str, cpu_s: float, memory_bytes: int) -> bytes:
        """What code is kept under: source, limits of the run, and version of the byte code."""
        limits = f"python {cpu_s!r} {memory_bytes} ".encode()
        return sha256(b"".join((limits, MAGIC_NUMBER, source.encode("utf-8", "surrogatepass")))).digest()

    def look(self, key: bytes) -> tuple[bytes, bool]:
        """The code, empty if there is none, and whether it is worth asking for."""
        with self._lock:
            code = self._kept.get(key)
            if code:
                self.hits += 1
            else:
                self.misses += 1
            wanted = code is None and key in self._kept
            self._put(key, code)
            return code or b"", wanted

    def keep(self, key: bytes, code: bytes) -> None:
        """Keep code that `look` asked for."""
        with self._lock:
            self._put(key, code)

    def _put(self, key: bytes, code: bytes | None) -> None:
        """Have it as the one used last, and drop those for which there is no room."""
        self.bytes += len(code or b"") - len(self._kept.pop(key, None) or b"")
        self._kept[key] = code
        while len(self._kept) > self._max_keys or self.bytes > self._max_bytes:
            self.bytes -= len(self._kept.popitem(last=False)[1] or b"")


DIGEST_BYTES = 32
MAX_ASKED = 32
"""Calls that are sent before the first of them is answered, so that nobody waits for anybody between two; more are
sent once half of them are, for a write costs as much as a short call."""
MAX_ASKED_BYTES = 1 << 16
"""Of calls that are written together."""
PASSED = Stop(wire.PASSED, "")
TESTS_ENDED = "the tests' process ended without a verdict"
OnResult = Callable[[int, CallResult], bool]


def make_calls(
    run: Supervisor,
    program: str,
    function: str,
    calls: Sequence[Sequence[Any]],
    on_result: OnResult,
    call_wall_s: float | None = None,
) -> Stop:
    """Run the program, then make the calls, handing each result over as it arrives; see `Sandbox.call`."""
    token = os.urandom(TOKEN_BYTES)
    questions, asked = enumerate(calls), deque[bytes]()

    def ask() -> None:
        while len(asked) <= MAX_ASKED // 2 and (run.all_sent or not asked):
            frames = bytearray()
            while len(asked) < MAX_ASKED and len(frames) < MAX_ASKED_BYTES and (question := next(questions, None)):
                asked.append(os.urandom(TOKEN_BYTES))
                frames += _question(asked[-1], function, *question)
            if not frames:
                return
            run.send(bytes(frames))

    run.prepare(kind_of(program) if run.limits.grader is None else "measured")
    run.instruct(_job(run.limits, "serve", program, token, [function], run.limits.output_bytes, True))
    run.converse()
    ask()
    try:
        _, _, missing = _expect(run, "ready", token, 3)
        if missing:
            return Stop(wire.RUNTIME_ERROR, f"NameError: the program does not define {function!r}")
        for index in range(len(calls)):
            if not _handed_over(run, on_result, index, _result(run, asked.popleft())):
                break
            ask()
            if call_wall_s is not None:
                run.begin_anew(call_wall_s)
    except Gone:
        return run.death()
    return PASSED


def make_calls_in_forks(
    run: Supervisor, program: str, function: str, calls: Sequence[Sequence[Any]], on_result: OnResult
) -> Stop:
    """Run the program and make the first call, then each other call in a fork of that process; see `Sandbox.call`.

    Each call has the limits of a run, and none is sent before the answer to the last has been looked at. Where
    something of a fork is left the run ends as passed, though calls are left.
    """
    token = os.urandom(TOKEN_BYTES)
    run.prepare(kind_of(program))
    run.instruct(_job(run.limits, "forks", program, token, [function], run.limits.output_bytes, True))
    run.converse()
    try:
        _expect(run, "ready", token, 3)
        for index, args in enumerate(calls):
            asked = os.urandom(TOKEN_BYTES)
            run.send(_question(asked, function, index, args))
            if index:
                _, _, status, used_s, so_far_s, clean, frames = _expect(run, "ended", token, 7)
                if frames < 0:
                    raise _forged()
                if frames == 0:
                    return run.death_of_fork(os.waitstatus_to_exitcode(status))
                if run.call_over(used_s, so_far_s):
                    return PASSED
            if not _handed_over(run, on_result, index, _result(run, asked)) or (index and not clean):
                break
    except Gone:
        return run.death()
    return PASSED


def _handed_over(run: Supervisor, on_result: OnResult, index: int, result: CallResult) -> bool:
    """Whether to go on; what is found out when a value is looked at is the program's doing."""
    began = time.monotonic()
    try:
        return on_result(index, result)
    except WireError as error:
        raise Stop(wire.TAMPERING, f"the program answered with bytes that are no value: {error}") from error
    except ValueTooLarge as error:
        raise Stop(wire.OUTPUT_LIMIT, f"the program returned {error}") from error
    finally:
        run.excuse(time.monotonic() - began)


class Deviated(Exception):
    """The tests made another call than the one foretold: the run says nothing."""


def run_tests(
    run: Supervisor,
    program: str,
    tests: str,
    names: Sequence[str],
    trusted: str,
    *,
    code: bytes,
    classes: Sequence[str] | None,
    files: bool,
    origins: Sequence[str] | None,
    lent: Sequence[str],
    carries: bool,
    preload: Sequence[str],
    ahead: bool,
) -> Stop:
    """Run the program and the tests in a process each, and take the judge's verdict.

    Raises:
        Deviated: never without ``ahead``, by which calls that can be foretold are sent together.
    """
    token = os.urandom(TOKEN_BYTES)
    rules = {
        "limits": _rlimits(run.limits),
        "token": token,
        "value_bytes": run.limits.output_bytes,
        "names": list(names),
        "tests": tests,
        "code": code,
        "trusted": trusted,
        "ahead": ahead and classes is None and not files,
        "files": files,
        "lent": list(lent),
        "carries": carries,
        "origins": None if origins is None else list(origins),
        "classes": None if classes is None else list(classes),
    }
    run.prepare(kind_of(program, preload=preload), kind_of(tests, trusted, preload=preload))
    served = [*names, *(classes or ())]
    objects = None if classes is None else (trusted, bool(classes), list(lent), carries)
    job = _job(run.limits, "serve", program, token, served, run.limits.output_bytes, False, objects, files)
    run.instruct(job)
    run.instruct_judge(("job", dumps(rules)))
    return _verdict_of_judge(run)


def _verdict_of_judge(run: Supervisor) -> Stop:
    """How the judge says that the run ended, or how it ended without the judge."""
    try:
        match run.receive():
            case ("verdict", str(status), str(detail), bool(again), float(used_s)):
                if again:
                    run.release_judge(used_s)
                if status == DEVIATED:
                    raise Deviated
                return Stop(status, detail)
            case _:
                return run.death()
    except Gone:
        assert run.judge is not None
        if not run.judge.process.ends_soon():
            return run.death()
        run.judge.process.kill()  # which tells how it ended
        if run.judge.process.code == -signal.SIGXCPU:
            return _blame(run, Stop(wire.TIME_LIMIT, "CPU seconds in the process of the tests"))
        return _blame(run, Stop(wire.RUNTIME_ERROR, TESTS_ENDED))
    except Stop as stop:
        return _blame(run, stop)


def _blame(run: Supervisor, stop: Stop) -> Stop:
    """An end without a verdict is the program's once the tests have called it: a value can exhaust them."""
    if (run.judge is not None and run.judge.programs_turn) or stop.status in {
        wire.TAMPERING,
        wire.OUTPUT_LIMIT,
    }:
        return stop
    return Stop(wire.GRADER_ERROR, f"the tests did not get as far as a call: {stop.detail}")


def run_inside(
    run: Supervisor,
    source: str,
    disabled: Sequence[str],
    preload: Sequence[str],
    swallow: bool,
    given: bytes | None = None,
) -> Stop:
    """Run program and tests as one source; only its own announcement of the end counts as an end."""
    token = os.urandom(TOKEN_BYTES)
    run.prepare(kind_of(source, guarded=bool(disabled), preload=preload))
    details = (list(disabled), list(preload), swallow, given is not None)
    with nullcontext() if given is None else _sealed(given) as file:
        run.instruct(_job(run.limits, "inside", source, token, *details), file)
    run.converse()
    try:
        _expect(run, "ready", token, 2)
    except Gone:
        # Nothing of the source has run yet.
        end = run.death()
        return Stop(wire.GRADER_ERROR, f"the guard or a preloaded module failed ({end.detail})")
    try:
        _expect(run, "end", token, 2)
    except Gone:
        return run.death()
    return PASSED


def run_script(run: Supervisor, source: str, stdin: str, cache: CodeCache) -> Stop:
    """Run the source as a script on this input, to the end of its process; the exit code is its own."""
    said: Stop | None = None
    token = os.urandom(TOKEN_BYTES)
    key = cache.key(source, run.limits.cpu_s, run.limits.memory_bytes)
    known, asked = cache.look(key)
    with _sealed(stdin.encode("utf-8", "surrogatepass")) as file:
        run.prepare(kind_of(source))
        run.instruct(_job(run.limits, "script", source, token, known, asked), file)
        run.converse()
        with suppress(Gone):
            message = run.receive()
            # The first that is said where code was asked for, so it is from before the program.
            if asked and message[:2] == ("code", token):
                cache.keep(key, message[2])
                message = run.receive()
            said = Stop(*wire.of_program(message[2:]))
        run.wait_for_end()
    end = run.death()
    code = run.program.code if run.program is not None else None
    if code == 0:
        return PASSED
    return said or (end if code is None or code < 0 else Stop(end.status, f"exit code {code}"))


def _sealed(data: bytes) -> IO[bytes]:
    """A file that can be read and not written, and has no name any more."""
    if sys.platform != "linux":
        with NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            return Path(file.name).open("rb")
    # In memory and sealed: Landlock lets the program open it again, as /dev/stdin.
    with os.fdopen(os.memfd_create("given", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING), "wb") as memory:
        memory.write(data)
        memory.flush()
        seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
        fcntl.fcntl(memory, fcntl.F_ADD_SEALS, seals)
        return Path(f"/proc/self/fd/{memory.fileno()}").open("rb")


def _forged() -> Stop:
    return Stop(wire.TAMPERING, "the program sent an answer that was not asked for")


def _job(limits: Limits, mode: str, source: str, token: bytes, *details: object) -> Job:
    return (mode, source, token, pairs(_rlimits(limits)), *details)


def _rlimits(limits: Limits) -> dict[str, int]:
    return {
        "memory_bytes": limits.memory_bytes if limits.grader is None else limits.grader.address_bytes,
        "cpu_s": math.ceil(limits.cpu_s * (1 + BAND)) + 1,  # a backstop: the supervisor is to be first
        "file_bytes": limits.scratch_bytes,
        "open_files": limits.open_files,
    }


def _question(token: bytes, function: str, index: int, args: Sequence[Any]) -> bytes:
    try:
        return call_frame(token, function, tuple(args), {})
    except (Unencodable, ValueTooLarge) as error:
        raise SandboxError(f"argument of call {index}: {error}; only plain values can be arguments") from error


def _expect(run: Supervisor, kind: str, token: bytes, length: int) -> Message:
    """The next message, which must be of this kind and answer this token."""
    message = run.receive()
    if message[1:2] != (token,):
        raise _forged()
    if message[0] == "failed":
        raise Stop(*wire.of_program(message[2:]))
    if message[0] != kind or len(message) != length:
        raise _forged()
    return message


def _result(run: Supervisor, token: bytes) -> CallResult:
    """The answer to a call.

    Raises:
        Stop: it is the end of the run instead.
    """
    message = run.receive()
    if message[1:2] != (token,):
        raise _forged()
    match message:
        case ("value", _, bytes(encoded)):
            return CallResult(encoded)
        case ("digest", _, bytes(sha256)) if len(sha256) == DIGEST_BYTES:
            return CallResult(digest=Digest(sha256))
        case ("raised", _, tuple(), tuple(), tuple(), str(text)):
            return CallResult(error=one_line(text))
        case ("failed", _, *claim):
            raise Stop(*wire.of_program(tuple(claim)))
        case _:
            raise _forged()
