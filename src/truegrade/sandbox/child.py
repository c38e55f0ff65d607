"""The program's process: reads a job, runs the source, answers calls.

What runs here after the source has started is at the mercy of the program, and is written so that this does
not matter: it holds no expected value, and the most it can be made to say is something the program could
have returned. Only ``inside`` trusts it, as the published harnesses do, and says so in its verdicts.
"""

from __future__ import annotations

import builtins
import sys
from _io import StringIO
from _socket import SHUT_WR, socketpair  # `socket` would be loaded into every program
from _weakrefset import WeakSet
from gc import unfreeze
from marshal import dumps, loads
from mmap import MAP_PRIVATE, mmap
from os import O_RDONLY, WNOHANG, _exit, close, closerange, dup2, fork, getpid, pipe, read, waitpid, write
from os import open as open_fd
from resource import RUSAGE_CHILDREN, getrusage
from select import POLLIN, poll
from time import process_time

from truegrade.sandbox.encode import describe
from truegrade.sandbox.endings import leave, may_act_when_freed
from truegrade.sandbox.frames import (
    READ_BYTES,
    READY,
    THE_END,
    TOKEN_BYTES,
    call_frame,
    called,
    ended_frame,
    is_one_frame,
    job_frame,
    most_bytes,
    pack,
    read_frame,
    read_frames,
    take_file,
    take_stdin,
    value_frame,
    write_frame,
)
from truegrade.sandbox.mirror import FILES, Mirror, MirroredCalls
from truegrade.sandbox.objects import PROGRAM, TESTS_MODULE, Held, own_classes
from truegrade.sandbox.rlimits import restrict
from truegrade.sandbox.wire import (
    MEMORY_LIMIT,
    OUTPUT_LIMIT,
    RUNTIME_ERROR,
    SYNTAX_ERROR,
    Digest,
    TooMany,
    ValueTooLarge,
    encoded,
)

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType
    from typing import Any

    from truegrade.sandbox.frames import Message
    from truegrade.sandbox.zygote import ZygoteServer


PREPARED_NAMES = "PREPARED_NAMES"
"""Of a served source in which it stands, a name for what `PreparedMain.names` returns."""
GIVEN = "GIVEN"
"""Of a source that shares its process with a program, the name of a descriptor to read from."""
MODULE_NAME = "truegrade_candidate"
"""``__name__`` of a served program: not ``__main__``, so that a main block does not run."""
FILE_NAME = "<program>"
RESERVE_BYTES = 1 << 20
LOOK_MS = 20
"""How often it is looked whether a fork has ended that has closed its answer."""
REHEARSALS = 20
"""Python 3.11 and later rewrite code at its eighth call and what it found slow a few calls on."""
REHEARSAL = """from typing import Any, Dict, List, Optional, Tuple, Union
def g(a: List[float], b: List[int], c: List[str], d: Dict[str, int], e: Optional[int]) -> Tuple[int, int]:
    pass
def f(*values, **more):
    return [value for value in sorted(map(str, values))][:2], {len(values)}, more
"""
MAX_ERROR_BYTES = 1 << 16
MAX_CODE_BYTES = 1 << 16
"""Of compiled code; a source that has more is compiled for each run."""
_REAL_BUILTINS = vars(builtins)


def main(fd: int, zygote: ZygoteServer) -> None:
    """Do the one job that arrives on this stream."""
    frame = read_frame(fd)
    if frame is None:
        _exit(0)
    mode, source, token, limits, *details = loads(frame)
    restrict(limits)
    if mode == "forks":
        serve_in_forks(fd, zygote, source, token, *details)
        _exit(0)
    zygote.bind()
    reseed(source)
    if mode == "script":
        take_stdin(fd)
        script(fd, source, token, *details)
        return
    if mode == "inside":
        inside(fd, source, token, *details)
    else:
        serve(fd, source, token, *details)
    _exit(0)


def reseed(source: str) -> None:
    """Seed the generators that a program may use: they are those of the zygote, the same in each child."""
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
        sys.modules["random"].seed()
    elif "random" in source or "statistics" in source:
        __import__("random").seed()


def rehearse() -> None:
    """Play every part once over, in the zygote, with programs of our own.

    What an interpreter does when code first runs (it rewrites the code, looks methods up and keeps where they
    are) it would otherwise do in each child, and a page written in a child is a page copied.
    """
    token = bytes(TOKEN_BYTES)
    job = job_frame(("serve", REHEARSAL, token, [], ["f"], 1 << 10, True))
    calls = [call_frame(token, "f", (argument, 1.0, "a", [2], {3: None}), {}) for argument in (1, bytearray())]
    reserve.hold()  # every child needs it
    for _ in range(REHEARSALS):
        ours, theirs = socketpair()
        fd = theirs.fileno()
        ours.sendall(b"".join((job, *calls)))
        ours.shutdown(SHUT_WR)
        frame = read_frame(fd)
        assert frame is not None
        _, source, token, _, *details = loads(frame)
        serve(fd, source, token, *details)
        inside(fd, source, token, [], [], False)
        may_act_when_freed([int, *vars(WeakSet([Mirror]))["data"], *calls])
        ours.close()
        theirs.close()
    del sys.modules[MODULE_NAME]


class Reserve:
    """Address space set aside for saying that there is none left; never touched, so it costs no memory."""

    def __init__(self) -> None:
        self._held: mmap | None = None

    def hold(self) -> None:
        """Set it aside, unless it still is."""
        if self._held is None:
            self._held = mmap(-1, RESERVE_BYTES, MAP_PRIVATE)

    def release(self) -> None:
        """Give it up."""
        if self._held is not None:
            self._held.close()
            self._held = None


reserve = Reserve()


# ---------------------------------------------------------------------------------------------- the modes


def serve(
    fd: int,
    source: str,
    token: bytes,
    names: Sequence[str],
    value_bytes: int,
    digests: bool,
    classes: tuple[str, bool, list[str], bool] | None = None,
    files: bool = False,
) -> None:
    """Run the source as a module, then answer calls of its functions until the stream closes.

    Args:
        names: functions that will be called.
        value_bytes: bound on a returned value.
        digests: whether one of too many values is sent as its digest.
        classes: if objects cross (`truegrade.sandbox.objects`), the source of the tests' own classes, whether
            those of the program cross too, packages whose objects do, and whether values that can change are
            carried.
        files: whether those of the working folder cross (`truegrade.sandbox.mirror`).
    """
    mirror = Mirror() if files else None  # before the program, which may write files when it is loaded
    own = None if classes is None else given_by(classes[0])
    pid = getpid()
    namespace = load(fd, source, token, names)
    if namespace is None:
        return
    if classes is not None and own is not None:
        _, remote, lent, carries = classes
        how = describe if carries else None
        held = Held(own_classes(own), namespace, value_bytes, remote=remote, lent=lent, describe=how, given=own)
        namespace = {PROGRAM: held.perform}
    if mirror is not None:
        namespace = {FILES: MirroredCalls(namespace, mirror).perform}
    for request in read_frames(fd):
        frame = answer(namespace, value_bytes, digests, *called(request))
        if getpid() != pid:
            _exit(0)
        write_frame(fd, frame)


def load(fd: int, source: str, token: bytes, names: Sequence[str]) -> dict[str, Any] | None:
    """Run the source as a module and say how that went; its namespace, or None where it failed."""
    module: ModuleType = type(sys)(MODULE_NAME)
    sys.modules[MODULE_NAME] = module  # dataclasses and pickle look a class's module up
    namespace = module.__dict__
    if PREPARED_NAMES in source:
        namespace[PREPARED_NAMES] = PREPARED.names()
    pid = getpid()
    failure = attempt(source, namespace, token)
    if getpid() != pid:
        _exit(0)  # a copy that the program forked has come to the end of the program
    tell(fd, failure or ("ready", token, tuple([name for name in names if name not in namespace])))
    return namespace if failure is None else None


def serve_in_forks(
    fd: int, zygote: ZygoteServer, source: str, token: bytes, names: Sequence[str], value_bytes: int, digests: bool
) -> None:
    """Run the source, which is the grader's own, answer the first call, and every other call in a fork of its own.

    What such a call returns takes no arguments and is called in the fork: as little as can be, for a page that a
    fork writes is a page copied. Only the forks run a program, so only they are bound. A fork knows its own call
    and no other, and has a stream of its own for the answer, which is passed on once nothing is left of it.
    """
    namespace = load(fd, source, token, names)
    if namespace is None or (request := read_frame(fd)) is None:
        return
    write_frame(fd, answer(namespace, value_bytes, digests, *called(request)))
    clean, forks_s = True, 0.0
    while clean and (request := read_frame(fd)) is not None:
        asked, name, args, more = called(request)
        try:
            function = {name: namespace[name](*args, **more)}
        except BaseException as error:
            tell(fd, failed(token, error))
            return
        pid, streams = forked(fd)
        if pid == 0:
            zygote.bind()
            if "numpy" in sys.modules:  # asked here: the call alone copies ten pages
                reseed(source)
            write_frame(fd, answer(function, value_bytes, digests, asked, name, (), {}))
            _exit(0)
        said, status = ended_fork(pid, streams, most_bytes(value_bytes))
        clean = zygote.leave_none and zygote.restored()
        of_forks = getrusage(RUSAGE_CHILDREN)
        before_s, forks_s = forks_s, of_forks.ru_utime + of_forks.ru_stime
        used_s, so_far_s = forks_s - before_s, forks_s + process_time()
        frames = 1 if is_one_frame(said) else -1 if said else 0
        write_frame(fd, ended_frame(token, status, used_s, so_far_s, clean, frames) + said * (frames > 0))


def forked(fd: int) -> tuple[int, list[int]]:
    """As `os.fork`, with descriptors from which to read what the fork writes to ``fd``, stdout and stderr.

    Its streams are its own: flags, locks, modes and what is still unread would be notes to the next fork.
    """
    pipes = [pipe(), pipe(), pipe()]
    pid = fork()
    if pid == 0:
        (_, answers), (_, stdout), (_, stderr) = pipes
        dup2(answers, fd, False)
        dup2(stdout, 1)
        dup2(stderr, 2)
        stdin = open_fd("/dev/null", O_RDONLY)
        dup2(stdin, 0)
        closerange(fd + 1, stdin + 1)
    else:
        for _, writing in pipes:
            close(writing)
    return pid, [reading for reading, _ in pipes]


def ended_fork(pid: int, streams: list[int], max_bytes: int) -> tuple[bytearray, int]:
    """All that a fork has answered, and how it ended; what else it writes is passed on as if it were our own.

    Args:
        pid: of the fork.
        streams: as `forked` gives them; they are closed.
        max_bytes: of the answer; a fork that goes on to write then ends by that.
    """
    said, ended, answers = bytearray(), (0, 0), streams[0]
    onto = dict(zip(streams, (-1, 1, 2), strict=True))
    waiting = poll()
    for stream in streams:
        waiting.register(stream, POLLIN)
    while onto and not ended[0]:
        # What a fork leaves running, where it can, may hold its output for good.
        arrived = waiting.poll(None if answers in onto else LOOK_MS)
        for stream, _ in arrived:
            part = read(stream, READ_BYTES)
            if stream == answers:
                said += part
            elif part:
                write_frame(onto[stream], part)
            if not part or len(said) > max_bytes:
                waiting.unregister(stream)
                close(stream)
                del onto[stream]
        if not arrived:
            ended = waitpid(pid, WNOHANG)
    for stream in onto:
        close(stream)
    return said, (ended if ended[0] else waitpid(pid, 0))[1]


def given_by(trusted: str) -> dict[str, Any]:
    """What the source of the tests' own classes defines; the judge has seen that it runs."""
    namespace: dict[str, Any] = {"__name__": TESTS_MODULE}
    exec(compile(trusted, "<trusted>", "exec", dont_inherit=True), namespace)
    return namespace


def inside(
    fd: int,
    source: str,
    token: bytes,
    disabled: Sequence[str],
    preload: Sequence[str],
    swallow: bool,
    given: bool = False,
) -> None:
    """Run program and tests as one source, in an empty namespace (``__name__`` is then ``builtins``).

    Args:
        given: whether a file comes after the job; `GIVEN` is then its descriptor, which the source closes.
    """
    namespace = {GIVEN: take_file(fd)} if given else {}
    for name in preload:
        module, _, function = name.partition(":")
        __import__(module)
        if function:
            getattr(sys.modules[module], function)()
    if disabled:
        disable(disabled)
    if swallow:
        sys.stdin = sys.stdout = sys.stderr = Swallowed()
    write(fd, READY + token)
    pid = getpid()
    failure = attempt(source, namespace, token)
    if getpid() == pid:
        if failure is None:
            write(fd, THE_END + token)
        else:
            tell(fd, failure)


class Swallowed(StringIO):
    """Keeps what is written and refuses to be read: what published harnesses put in place of the three streams."""

    def _refuse(self, *args: Any) -> Any:
        raise OSError

    read = readline = readlines = _refuse

    def readable(self) -> bool:
        """False, as theirs says."""
        return False


def empty_main() -> ModuleType:
    """A module ``__main__`` in which nothing has run."""
    module: ModuleType = type(sys)("__main__")
    module.__dict__["__builtins__"] = builtins
    return module


class PreparedMain:
    """The module of scripts that begin with a text which the zygote has run in it, ahead of them all.

    The names that it defines are also lent to functions that are called, as built-ins are.

    Star imports count a reference to a thousand objects, and where a child does that, it copies their pages: more
    than half of the CPU time of a short contest program.
    """

    def __init__(self) -> None:
        self._preamble = self._blank = ""
        self._module: ModuleType | None = None
        self._names: dict[str, Any] = {}
        self._streams: list[str] = []

    def prepare(self, preamble: str) -> None:
        """Run what such scripts begin with; in the zygote, once."""
        self._preamble, self._blank = preamble, "\n" * preamble.count("\n")
        self._module = empty_main()
        space = self._module.__dict__
        code = compile_source(preamble)
        exec(code, space)
        # A stream that something holds is not written out when the interpreter ends.
        self._streams = [name for name in ("stdin", "stdout", "stderr") if space.pop(name, None) is not None]
        # With room for all that a process sets in it: a dict that grows is copied as a whole.
        self._names = {**_REAL_BUILTINS, **space, **dict.fromkeys(self._streams)}

    def names(self) -> tuple[str, dict[str, Any]]:
        """The text, and the names that it and built-ins define, in a dict that is the process' own to change.

        ``__builtins__`` may be among them.
        """
        names = self._names or dict(_REAL_BUILTINS)
        names.update({name: getattr(sys, name) for name in self._streams})
        return self._preamble, names

    def taken_by(self, source: str) -> tuple[ModuleType, str]:
        """The module for a script, and what is still to run in it, every line at its number."""
        if self._module is None or not source.startswith(self._preamble):
            return empty_main(), source
        module, self._module = self._module, None  # when the interpreter ends, nothing else may hold it
        module.__dict__.update({name: getattr(sys, name) for name in self._streams})
        return module, self._blank + source[len(self._preamble) :]


PREPARED = PreparedMain()


def script(fd: int, source: str, token: bytes, known: bytes, asked: bool) -> None:
    """Run the source as ``__main__``, with all that an interpreter's ending shows: exit code, threads, atexit.

    Args:
        known: its compiled code, if an earlier process of the same interpreter has sent it.
        asked: whether to send it. That is said first of all, so nothing that the program says can pass for it.
    """
    module, source = PREPARED.taken_by(source)
    sys.modules["__main__"] = module
    try:
        code, warned = (loads(known), "") if known else compile_warned(source)
    except SyntaxError as error:
        tell(fd, ("failed", token, SYNTAX_ERROR, describe(error)[3]))
        report_traceback(error, source)
        leave(1)
        sys.exit(1)
    if asked:
        tell(fd, ("code", token, b"" if warned else marshalled(code)))
    pid = getpid()
    try:
        exec(code, module.__dict__)
    except SystemExit as error:
        if type(error) is SystemExit and getpid() == pid:
            leave(error.code)
        raise
    except BaseException as error:
        tell(fd, failed(token, error))
        report_traceback(error, source)
        leave(1)
        sys.exit(1)
    else:
        leave(0)
    finally:
        unfreeze()  # or what hangs on a prepared module in a cycle would not be freed, nor say so


# ------------------------------------------------------------------------------------------------- running


def compile_source(source: str) -> CodeType:
    """The code of a source.

    Raises:
        SyntaxError: whatever the compiler objected to: NUL bytes, surrogates, nesting that is too deep.
    """
    try:
        return compile(source, FILE_NAME, "exec", dont_inherit=True)
    except SyntaxError:
        raise
    except (ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise SyntaxError(f"the source cannot be compiled: {type(error).__name__}: {error}") from None


def compile_warned(source: str) -> tuple[CodeType, str]:
    """The same, and what the compiler wrote to stderr: code that is kept would not warn again."""
    stderr, held = sys.stderr, StringIO()
    sys.stderr = held
    try:
        code = compile_source(source)
    finally:
        sys.stderr = stderr
    warned = held.getvalue()
    if warned:
        stderr.write(warned)
    return code, warned


def marshalled(code: CodeType) -> bytes:
    """Code as bytes, none if they would be too many."""
    try:
        data = dumps(code)
    except (MemoryError, ValueError):
        return b""
    return data if len(data) <= MAX_CODE_BYTES else b""


def attempt(source: str, namespace: dict[str, Any], token: bytes) -> Message | None:
    """Run a source; None if it ended without an exception, else the message that says how it failed."""
    namespace["__builtins__"] = _REAL_BUILTINS
    reserve.hold()
    try:
        code = compile_source(source)
    except SyntaxError as error:
        return ("failed", token, SYNTAX_ERROR, describe(error)[3])
    try:
        exec(code, namespace)
    except BaseException as error:  # SystemExit included: leaving is not passing
        reserve.release()
        return failed(token, error)
    return None


def answer(
    namespace: dict[str, Any],
    value_bytes: int,
    digests: bool,
    token: bytes,
    name: str,
    args: Sequence[Any],
    kwargs: dict[str, Any],
) -> bytes:
    """Make one call; the frame with its value, or with the exception that it or the sending of it raised."""
    reserve.hold()
    try:
        if name not in namespace:
            raise NameError(f"name {name!r} is not defined")
        value = namespace[name](*args, **kwargs)
        rest: list[Any] | None = None
        if name == FILES and type(value) is tuple:
            value, *rest = value
        try:
            return encoded(lambda x: value_frame(token, x if rest is None else (x, *rest), value_bytes), value)
        except TooMany:
            if not digests:
                raise
            return digested(token, value)
    except MemoryError as error:
        reserve.release()
        return pack(failed(token, error), MAX_ERROR_BYTES)
    except ValueTooLarge as error:
        shown = args[1] if name == FILES else name
        return pack(("failed", token, OUTPUT_LIMIT, f"{shown} returned {error}"), MAX_ERROR_BYTES)
    except BaseException as error:
        return pack(("raised", token, *describe(error)), MAX_ERROR_BYTES)


def digested(token: bytes, value: object) -> bytes:
    """The frame that stands for a value of too many values to send.

    Raises:
        TooMany: it has no digest either.
    """
    try:
        return pack(("digest", token, Digest.of(value).sha256), MAX_ERROR_BYTES)
    except (ValueError, MemoryError) as error:
        raise TooMany(f"more values than can be sent or digested: {error or 'out of memory'}") from None


def tell(fd: int, message: Message) -> None:
    """Send a message of our own making."""
    write_frame(fd, pack(message, MAX_ERROR_BYTES))


def failed(token: bytes, error: BaseException) -> Message:
    """The message that an exception ended the run."""
    status = MEMORY_LIMIT if isinstance(error, MemoryError) else RUNTIME_ERROR
    return ("failed", token, status, describe(error)[3])


def disable(names: Sequence[str]) -> None:
    """Set names to None: ``os.kill`` an attribute of a module, ``sys.modules:psutil`` a module itself."""
    for name in names:
        table, _, entry = name.partition(":")
        if entry:
            if table != "sys.modules":
                raise ValueError(f"{name!r} is neither an attribute nor an entry of sys.modules")
            sys.modules[entry] = None  # type: ignore[assignment]  # what makes an import of it fail
        else:
            owner, _, attribute = name.rpartition(".")
            __import__(owner)
            setattr(sys.modules[owner], attribute, None)


def report_traceback(error: BaseException, source: str) -> None:
    """Print the traceback as the interpreter would have, without our own frames."""
    import linecache
    import traceback

    linecache.cache[FILE_NAME] = (len(source), None, source.splitlines(keepends=True), FILE_NAME)
    own = error.__traceback__
    while own is not None and own.tb_frame.f_code.co_filename == __file__:
        own = own.tb_next
    traceback.print_exception(type(error), error.with_traceback(own), own)
