"""What services and clients say to each other: bodies of requests and answers, refusals, addresses."""

from __future__ import annotations

import errno
import ipaddress
import socket
from contextlib import suppress
from http import HTTPStatus
from typing import Annotated, Any, Literal

import msgspec

from truegrade.errors import UserError
from truegrade.records import BuiltInTask, Form, Verdict
from truegrade.sandbox.limits import MIB

# ----------------------------------------------------------------------------------------------------------------
# What a client is told instead of an answer, and addresses to listen at. No HTTP library is imported here.

# ---- What a client is told instead of an answer. The client imports this module, so it needs no HTTP library.


class ProblemDetails(msgspec.Struct, frozen=True, omit_defaults=True):
    """Body of every answer that is no success (RFC 9457, section 3)."""

    title: str
    """The phrase of the status."""
    status: int
    detail: str
    """What is wrong and what to do."""
    field: str | None = None
    """Path of the field at fault, ``completions[3].text``."""


class Refusal(Exception):
    """Ends a request.

    Args:
        status: of the answer, 400 to 599.
        detail: what is wrong and what to do.
        field: path of the field at fault.
        code: the fault by its name in the OpenAI protocol.
        headers: of the answer.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        field: str | None = None,
        code: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.field, self.code, self.headers = status, detail, field, code, headers or {}

    @property
    def problem(self) -> ProblemDetails:
        """Its body."""
        return ProblemDetails(HTTPStatus(self.status).phrase, self.status, self.detail, self.field)


def unprocessable(detail: str, field: str) -> Refusal:
    """The refusal of a well-formed request that asks for what there is not."""
    return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, detail, field=field)


def ask_again(why: str) -> Refusal:
    """What a client is told that repeats a request after 504 alone."""
    return Refusal(HTTPStatus.GATEWAY_TIMEOUT, f"{why}; ask again")


def stopping() -> Refusal:
    """What a request is told that the service can no longer serve."""
    return Refusal(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "the service is stopping; ask again, of another or later",
        headers={"Retry-After": "5"},
    )


# --------------------------------- Addresses to listen at, and which names of them lead to this machine alone.

BACKLOG = 4096
"""Connections that wait to be accepted, if the kernel's own bound (net.core.somaxconn) is no lower."""


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_host(name: str) -> None:
    """Refuse what a web page sends by way of a name that leads to this machine (DNS rebinding).

    Args:
        name: the request's header ``Host``.

    Raises:
        Refusal: 421, it is no loopback name.
    """
    bare = name[1 : name.find("]")] if name.startswith("[") else name.partition(":")[0]
    if not is_loopback(bare):
        raise Refusal(
            HTTPStatus.MISDIRECTED_REQUEST, f"{name[:100]!r} is not served here; ask 127.0.0.1 or localhost"
        )


def listen(host: str, port: int, *, else_free: bool = False) -> socket.socket:
    """A socket that listens.

    Args:
        host: name or address.
        port: 0 takes a free one.
        else_free: take a free one where that one is taken.

    Raises:
        UserError: that address cannot be listened at.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        if else_free and error.errno == errno.EADDRINUSE:
            return listen(host, 0)
        raise UserError(
            f"cannot listen at {host}:{port} ({error.strerror}): choose another `port` or `host`"
        ) from None
    # Its connections inherit this. asyncio sets it for sockets that name their protocol, which this one does not;
    # without, the body of an answer can wait until the client has acknowledged the head, 40 ms later.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def listening_at(fd: int) -> socket.socket:
    """The TCP socket of a descriptor that was opened by whoever started this process; left open where it is none.

    Args:
        fd: its number.

    Raises:
        UserError: it is no TCP socket that listens.
    """
    found = None
    with suppress(OSError):  # it is not open, or no socket
        found = socket.socket(fileno=fd)
    if found is not None:
        listens = found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        if listens and found.family in (socket.AF_INET, socket.AF_INET6):
            found.set_inheritable(False)
            return found
        found.detach()
    raise UserError(
        f"`fd` {fd} must be a TCP socket that listens; have systemd open one (ListenStream=), or give `host`"
        " and `port`"
    )


def http_address(bound: Any) -> str:
    """``http://HOST:PORT`` of a TCP socket's own address, as `socket.socket.getsockname` gives it."""
    host, port = bound[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


# ---------------- Bodies of the service's own requests and answers; ``/openapi.json`` is generated from these.

Seconds = Annotated[float, msgspec.Meta(gt=0)]
MIN_MEMORY_BYTES = 256 * MIB
"""Less than that, and the interpreter of programs does not start."""


class InlineProblem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A problem that travels with its request. Its tests are trusted as much as the token's holder is."""

    task: BuiltInTask
    """As in a benchmark's `Problem`."""
    id: str = "inline"
    benchmark: str = "inline"
    """The benchmark it is like: every profile but `strict` has rules for named ones only."""


class Submission(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One completion, and which problem it answers where that is not said for all."""

    text: str
    problem_id: str | None = None
    """Of the benchmark."""
    problem: InlineProblem | None = None
    benchmark: str | None = None
    """Instead of the request's."""
    sample: Annotated[int, msgspec.Meta(ge=0, le=2**53)] = 0
    """Which answer to its problem; returned with the verdict."""
    form: Form = "reply"
    reasoning: str | None = None
    finish_reason: str | None = None
    """As the model's service said; ``length`` and ``max_tokens`` mean that the reply was cut."""


class GradeRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Completions to grade under one or more profiles."""

    completions: list[Submission]
    benchmark: str | None = None
    problem: InlineProblem | None = None
    """One problem that all completions answer, instead of a benchmark."""
    profiles: Annotated[list[str], msgspec.Meta(min_length=1)] | None = None
    """Names, also as ``name@version``; by default the service's."""


class GradeResponse(msgspec.Struct, frozen=True, kw_only=True):
    """One verdict for each completion and profile: completions in order, for each the profiles in order."""

    verdicts: list[Verdict]


class RewardRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Completions to reward under one profile."""

    completions: list[Submission]
    benchmark: str | None = None
    problem: InlineProblem | None = None
    problems: list[InlineProblem] = []
    """Several, which completions name by ``problem_id``: replies to the same prompt need not repeat its tests."""
    profile: str | None = None
    cpu_s: Seconds | None = None
    """CPU seconds in place of each limit of the profile: of a program, a call or a test."""
    memory_bytes: Annotated[int, msgspec.Meta(ge=MIN_MEMORY_BYTES)] | None = None
    """In place of the profile's limit."""
    partial: bool = False
    """Whether a wrong completion gets the share of tests that it passes, where they can be counted."""
    first_tests: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """With `partial`: how many tests, from the first one on, the share is taken of; by default all."""
    tests_inside: bool = False
    """Whether passes under `strict` are paid that have the mark ``tests-inside``: their tests ran in the program's
    process and can be forged. Else their reward is null, and no tests of suites are counted for `partial`."""
    attempts: bool = False
    """Instead of rewarding, look whether completions set out to be paid for nothing: the reason is ``tampering``
    where one does, its marks are the channels, and ``wrong_answer`` where it does not. No reward counts."""


class RewardResponse(msgspec.Struct, frozen=True, kw_only=True):
    """1.0 for a right completion, 0.0 for a wrong one; null where the grader failed and nothing is known."""

    rewards: list[float | None]
    """With `partial`, a wrong completion's is below 1.0 by a test at least, unless `first_tests` left some out."""
    reasons: list[str]
    """Why, one of the reasons of ``docs/formats.md`` each."""
    pass_rates: list[float | None]
    """Share of the tests that passed; null where they were not counted."""
    marks: list[tuple[str, ...]]
    """Of the verdict each."""
    details: list[str]
    """Of the verdict each: for people."""


class ExecuteRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A Python program to run as a script."""

    program: str
    stdin: str = ""
    cpu_s: Seconds | None = None
    """By default 10, or the service's limit where that is lower."""
    wall_s: Seconds | None = None
    """By default ``3 * cpu_s + 5``."""
    memory_bytes: Annotated[int, msgspec.Meta(ge=MIN_MEMORY_BYTES)] | None = None
    """By default the service's limit."""


class ExecuteResponse(msgspec.Struct, frozen=True, kw_only=True):
    """How a program ended, and what it wrote."""

    status: str
    """``passed`` (exit code 0), or the reason why not."""
    detail: str
    exit_code: int | None
    """Minus the signal that ended it; null where it was never started."""
    stdout: str
    stderr: str
    cpu_s: float
    wall_s: float
    time_sensitive: bool
    level: int
    """Protection level under which it ran."""


class ProfileInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A profile that requests may name."""

    id: str
    summary: str
    covers: tuple[str, ...]
    """Kinds of problem it has rules for."""
    cpu_s: float


class BenchmarkInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark that requests may refer to."""

    name: str
    problems: int
    dataset_sha256: str


class Profiles(msgspec.Struct, frozen=True, kw_only=True):
    """All profiles, and those in force where a request names none."""

    profiles: list[ProfileInfo]
    default: list[str]


class Benchmarks(msgspec.Struct, frozen=True, kw_only=True):
    """The benchmarks that were named when the service was started."""

    benchmarks: list[BenchmarkInfo]


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the service lives, and whether it takes work."""

    status: Literal["ok", "stopping"]
    version: str
    level: int
    """Protection level of programs."""
