"""The tests' process: runs trusted test source against a program that lives in another process.

The names under test are proxies here. A call sends its arguments to the program; what comes back is plain
data (`truegrade.sandbox.wire`) or an exception of a built-in type. So the tests compare with the operators
of plain data, in an interpreter that the program has never run in.

Not covered: changes the program makes to its arguments, identity, functions and objects of the tests' own
classes as arguments. Tests that need them must run inside the program's process.
"""

from __future__ import annotations

import builtins
from marshal import dumps, loads
from os import _exit, urandom

from truegrade.sandbox.frames import REQUEST_BYTES, TOKEN_BYTES, Channel, pack
from truegrade.sandbox.judging import expected_value, failing_frame, short, statement_at
from truegrade.sandbox.rlimits import restrict
from truegrade.sandbox.statuses import (
    GRADER_ERROR,
    MEMORY_LIMIT,
    PASSED,
    RUNTIME_ERROR,
    TAMPERING,
    WRONG_ANSWER,
    of_program,
)
from truegrade.sandbox.values import Unsupported
from truegrade.sandbox.wire import TooLarge, Unencodable, WireError

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Verdict = tuple[str, str]

TESTS_FILE = "<tests>"
TRUSTED_FILE = "<trusted>"
_EXCEPTIONS = {
    name: kind
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, BaseException)
}


class Over(BaseException):
    """Unwinds the tests: whatever they catch, the verdict stands in `Link.over`."""


class Link:
    """The stream to the program.

    Args:
        channel: to the program.
        report: to the supervisor.
    """

    def __init__(self, channel: Channel, report: Channel) -> None:
        self.channel, self.report = channel, report
        self.over: Verdict | None = None
        """Set once no test can pass any more, even one that catches every exception."""
        self.raised: BaseException | None = None
        """The last exception that came from the program."""
        self.returned: tuple[Any] | None = None
        """The last value that came from the program, if its last call gave one."""
        self.touched = False
        """Whether the tests have seen anything of the program."""

    def end(self, status: str, detail: str) -> Over:
        """Settle the verdict; the exception to raise."""
        if self.over is None:
            self.over = (status, detail)
        return Over()

    def request(self, message: tuple[Any, ...]) -> None:
        """Send; that the program is dead is found, with its reason, by reading. Errors are those of `encode`."""
        frame = pack(message, REQUEST_BYTES, strict=True)
        try:
            self.channel.send_frame(frame)
        except (BrokenPipeError, ConnectionResetError):
            return

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
        if self.over is not None:
            raise Over
        self.raised = self.returned = None
        token = urandom(TOKEN_BYTES)
        try:
            self.request(("call", token, name, args, kwargs))
            if not self.touched:
                self.report.send(("turn", "program"))
        except Unencodable as error:
            if isinstance(error.value, Unsupported):
                raise TypeError(f"the program returned {error.value!r}, which cannot be passed on") from None
            text = f"the tests pass {name} {_article(error.value)}, which cannot be sent to another process"
            raise self.end(GRADER_ERROR, text + "; run them inside the program's process") from None
        except TooLarge as error:
            blamed = RUNTIME_ERROR if self.touched else GRADER_ERROR
            raise self.end(blamed, f"the tests pass {name} {error}") from None
        message = self.receive(token)
        self.touched = True
        if message[0] == "value" and len(message) == 3:
            self.returned = (message[2],)
            return message[2]
        if message[0] != "raised" or len(message) != 6:
            raise self.end(TAMPERING, "the program sent an answer of no known kind")
        self.raised = rebuild(*message[2:])
        raise self.raised


def main(report_fd: int, link_fd: int) -> None:
    """Judge the one job that arrives on the first stream, of the program at the end of the second."""
    report = Channel(report_fd)
    message = report.receive()
    if message is None:
        return
    job = loads(message[1])
    restrict(job["limits"])
    link = Link(Channel(link_fd, job["program"]["value_bytes"]), report)
    link.request(("job", dumps(job["program"])))
    report.send(("verdict", *judge(job, link)))
    _exit(0)


def judge(job: dict[str, Any], link: Link) -> Verdict:
    """Run the trusted source, wait for the program, run the tests."""
    namespace: dict[str, Any] = {"__name__": "truegrade_tests", "__builtins__": builtins}
    try:
        exec(compile(job["trusted"], TRUSTED_FILE, "exec", dont_inherit=True), namespace)
        tests = compile(job["tests"], TESTS_FILE, "exec", dont_inherit=True)
    except BaseException as error:
        return GRADER_ERROR, f"the trusted source or the tests do not run: {_text(error)}"
    try:
        link.report.send(("turn", "program"))
        link.receive(job["program"]["token"])
        link.report.send(("turn", "tests"))
        namespace.update({name: proxy(link, name) for name in job["names"]})
        exec(tests, namespace)
    except BaseException as error:
        return link.over or blame(error, link, job["tests"])
    return link.over or (PASSED, "")


def proxy(link: Link, name: str) -> Callable[..., Any]:
    """A function that stands for the program's function of this name."""

    def function(*args: Any, **kwargs: Any) -> Any:
        return link.call(name, args, kwargs)

    function.__name__ = function.__qualname__ = name
    return function


def blame(error: BaseException, link: Link, tests: str) -> Verdict:
    """Whose fault an exception that ended the tests is, and the words for it."""
    where = expected = place = ""
    if at := failing_frame(error, TESTS_FILE):
        frame, line = at
        where, statement = statement_at(tests, line)
        place = f", in `{where}`"
        expected = expected_value(statement, frame) if isinstance(error, AssertionError) else ""
    if error is link.raised:
        return RUNTIME_ERROR, _text(error) + place
    facts = [f"expected {expected}"] if expected else []
    if link.returned is not None:
        facts.append(f"the program returned {short(link.returned[0])}")
    detail = "; ".join([f"`{where}` failed" if where else "a test failed", *facts])
    if isinstance(error, AssertionError):
        return WRONG_ANSWER, detail
    # What the program returned cannot unbind a name of the tests or make an import fail.
    if isinstance(error, NameError | ImportError) or not link.touched:
        return GRADER_ERROR, f"the tests do not run: {_text(error)}{place}"
    if isinstance(error, MemoryError):
        return MEMORY_LIMIT, detail
    return WRONG_ANSWER, f"{_text(error)}: {detail}"


def rebuild(name: Any, base: Any, args: Any, text: Any) -> BaseException:
    """The program's exception as one of a built-in type, or of a new type of its name below one."""
    kind = _EXCEPTIONS.get(base) if type(base) is str else None
    if kind is None or type(name) is not str or type(args) is not tuple or type(text) is not str:
        return RuntimeError("the program described its exception in no known form")
    if issubclass(kind, StopIteration | StopAsyncIteration | GeneratorExit):
        kind = RuntimeError  # these end loops: `all(map(f, inputs))` would take them for the end of the inputs
    try:
        named = kind if name == kind.__name__ else type(name, (kind,), {})
        error: BaseException = named(*args)
    except Exception:  # types that take no such arguments, e.g. ExceptionGroup of objects that do not travel
        error = RuntimeError(text)
    return error


def _text(error: BaseException) -> str:
    try:
        message = str(error)
    except Exception:
        message = ""
    name = type(error).__name__
    return f"{name}: {message}" if message else name


def _article(value: object) -> str:
    name = type(value).__name__
    return f"an {name}" if name[0].lower() in "aeiou" else f"a {name}"
