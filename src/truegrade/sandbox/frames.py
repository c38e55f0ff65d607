"""Messages over a stream: a 32-bit length, then one tuple in the wire format, its kind first.

    to the program      a job, see `job_frame`, then calls, see `call_frame`; it answers them in their order
    from the program    ("ready", token, missing)           the source ran; names it does not define
                        ("ready", token)                    inside: the guard is up, the source runs next
                        ("value", token, value)             what the call returned
                        ("digest", token, sha256)           what stands for a value too large to send
                        ("raised", token, types, bases, args, text)   the exception it raised
                        ("failed", token, status, detail)   the run is over
                        ("code", token, bytes)              of a script, before it runs, where asked for: its code
                        ("end", token)                      the source ran to its end
                        ("ended", token, status, cpu_s, so_far_s, clean, frames)   see `ended_frame`
    to the judge        ("job", bytes)                      what to judge, marshalled; with the program's stream
    from the judge      ("lost",)                           the program's end of the stream is closed
                        ("verdict", status, detail, again, cpu_s)   ``again``: it can judge more

A token is fresh random bytes, so an answer cannot be sent before its question. Several questions may be under way.
"""

from __future__ import annotations

import struct
from _socket import AF_UNIX, CMSG_SPACE, SCM_RIGHTS, SOCK_STREAM, SOL_SOCKET, socket
from marshal import dumps, loads
from os import close, dup2, read, write  # bound now: a published harness' guard may set names in `os` to None

from truegrade.sandbox.decode import decode
from truegrade.sandbox.encode import encode
from truegrade.sandbox.wire import WireError

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    Message = tuple[Any, ...]
    Job = tuple[Any, ...]
    """Mode; source; the token that names the answer; limits, as `rlimits.pairs` gives them; what the function of
    this mode in `truegrade.sandbox.child` takes besides. A dict's keys would be interned in each child."""

OVERHEAD_BYTES = 1 << 16
"""What a message may hold besides the one value that a limit is about."""
MAX_OWN_BYTES = 2 * OVERHEAD_BYTES
"""Of a message that holds no such value."""
REQUEST_BYTES = 1 << 28
"""Bound on what the trusted side sends: programs and arguments."""
TOKEN_BYTES = 16
MARSHAL_VERSION = 2
"""The last that sends a list which occurs twice as two lists, as `encode` does."""
MARSHALLED = b"("
"""How a marshalled tuple begins, and nothing that `encode` makes."""
MARSHAL_DEPTH = 20
_ATOMS = frozenset(map(type, (None, True, 0, 0.0, 0j, "", b"", ...)))
CHUNK_BYTES = 1 << 20
"""Of a frame that does not arrive at once, read at a time."""
HEADER = struct.Struct("<I")
READ_BYTES = 1 << 16
"""Of frames that come together, read at a time: a program may have left no room for more."""
FD = struct.Struct("@i")
ENDED, OF_FORK = b"ended", struct.Struct("<idd?b")
"""How `ended_frame` begins, and nothing that `encode` makes of a message; and what it says."""
PASSED_ON = b"S"
"""The byte that a descriptor comes with."""


def pack(message: Message, max_bytes: int, *, strict: bool = False) -> bytes:
    """The frame of a message; ``max_bytes`` bounds the value inside it. Errors are those of `encode`."""
    payload = encode(message, max_bytes + OVERHEAD_BYTES, strict=strict)
    return HEADER.pack(len(payload)) + payload


def job_frame(job: Job) -> bytes:
    """What to run, for a program's process; only the trusted side sends it."""
    payload = dumps(job)
    return HEADER.pack(len(payload)) + payload


def give_file(stream: int, file: int) -> None:
    """Pass a file on for a process to read, once it has its job."""
    link = socket(AF_UNIX, SOCK_STREAM, 0, stream)
    try:
        link.sendmsg([PASSED_ON], [(SOL_SOCKET, SCM_RIGHTS, FD.pack(file))])
    finally:
        link.detach()


def take_file(stream: int) -> int:
    """The descriptor that `give_file` passed on; -1 where the stream ended before."""
    link = socket(AF_UNIX, SOCK_STREAM, 0, stream)
    passed = link.recvmsg(len(PASSED_ON), CMSG_SPACE(FD.size))[1]
    link.detach()
    return int(FD.unpack(passed[0][2])[0]) if passed else -1


def take_stdin(stream: int) -> None:
    """Read on from the file that `give_file` passed on."""
    found = take_file(stream)
    if found >= 0:
        dup2(found, 0)
        close(found)


def call_frame(token: bytes, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    """One call of a function; only the trusted side sends it. Errors are those of a strict `encode`.

    Built-in values are marshalled, which takes a tenth of the time; the program's process may believe its caller.
    """
    if is_plain(args, MARSHAL_DEPTH) and is_plain(kwargs, MARSHAL_DEPTH):
        payload = dumps((token, name, args, kwargs), MARSHAL_VERSION)
        if len(payload) <= REQUEST_BYTES:
            return HEADER.pack(len(payload)) + payload
    return pack((token, name, args, kwargs), REQUEST_BYTES, strict=True)


def called(payload: bytes) -> tuple[bytes, str, tuple[Any, ...], dict[str, Any]]:
    """The call in the payload of a `call_frame`."""
    call: tuple[bytes, str, tuple[Any, ...], dict[str, Any]]
    call = loads(payload) if payload.startswith(MARSHALLED) else decode(payload)
    return call


def is_plain(value: object, depth: int) -> bool:
    """Whether a value means the same marshalled; not so a bytearray, say, or what is nested deeper than this."""
    kind = type(value)
    if kind is list or kind is tuple:
        parts: Iterable[object] = value  # type: ignore[assignment]
    elif kind is dict:
        parts = [*value, *value.values()]  # type: ignore[misc, attr-defined]
    else:
        return kind in _ATOMS
    return _ATOMS.issuperset(map(type, parts)) or (depth > 0 and all(is_plain(part, depth - 1) for part in parts))


def value_frame(token: bytes, value: object, max_bytes: int) -> bytes:
    """`pack` of the message that a call returned this value."""
    payload = b"".join((VALUE, token, encode(value, max_bytes)))
    return HEADER.pack(len(payload)) + payload


def ended_frame(token: bytes, status: int, cpu_s: float, so_far_s: float, clean: bool, frames: int) -> bytes:
    """Says that a call in a fork is over, ahead of its answer; in a fixed form, for it comes with every call.

    Args:
        token: of the program.
        status: of the fork, as `os.wait` gives it.
        cpu_s: CPU seconds of the fork.
        so_far_s: of it and of all before it.
        clean: whether nothing of it is left.
        frames: 1 where it gave an answer, 0 where it said nothing, -1 where it said anything else.
    """
    payload = b"".join((ENDED, token, OF_FORK.pack(status, cpu_s, so_far_s, clean, frames)))
    return HEADER.pack(len(payload)) + payload


def message_of(payload: bytes) -> Message:
    """The message in a frame.

    Raises:
        WireError: there is none in it.
    """
    if payload.startswith(VALUE):
        start = len(VALUE) + TOKEN_BYTES
        return "value", payload[len(VALUE) : start], decode(payload, start)
    if payload.startswith(ENDED):
        start = len(ENDED) + TOKEN_BYTES
        if len(payload) != start + OF_FORK.size:
            raise WireError("a message about a fork of another length")
        return "ended", payload[len(ENDED) : start], *OF_FORK.unpack_from(payload, start)
    message = decode(payload)
    if type(message) is not tuple or not message or type(message[0]) is not str:
        raise WireError("a message must begin with its kind")
    return message


def read_frame(fd: int) -> bytes | None:
    """The payload of the next frame, which the trusted side sent; None when it has closed the stream."""
    header = read(fd, HEADER.size)
    if len(header) < HEADER.size:
        return None
    size: int = HEADER.unpack(header)[0]
    data = read(fd, size)
    if len(data) == size:
        return data
    parts = [data]  # joined once: to add each to the others would copy a large frame a thousand times
    left = size - len(data)
    while left:
        more = read(fd, min(left, CHUNK_BYTES))
        if not more:
            return None
        parts.append(more)
        left -= len(more)
    return b"".join(parts)


def most_bytes(max_bytes: int) -> int:
    """Length of the longest frame with a value of so many bytes."""
    return HEADER.size + OVERHEAD_BYTES + max_bytes


def is_one_frame(data: bytearray) -> bool:
    """Whether these bytes are one frame, and nothing besides."""
    size: int = HEADER.unpack_from(data)[0] if len(data) >= HEADER.size else -1
    return size == len(data) - HEADER.size


def read_frames(fd: int) -> Iterator[bytes]:
    """The payloads of the frames that the trusted side sends, until it closes the stream: many by one read."""
    held = bytearray()
    while data := read(fd, READ_BYTES):
        held += data
        start = 0
        while len(held) - start >= HEADER.size:
            end = start + HEADER.size + HEADER.unpack_from(held, start)[0]
            if end > len(held):
                break
            yield bytes(held[start + HEADER.size : end])
            start = end
        del held[:start]


def write_frame(fd: int, frame: bytes) -> None:
    """Send bytes that one of the functions above made."""
    sent = write(fd, frame)
    if sent < len(frame):
        left = memoryview(frame)[sent:]
        while left:
            left = left[write(fd, left) :]


class Inbox:
    """Cuts a stream of bytes into messages.

    Args:
        max_bytes: bound on the value inside a message; nothing longer is ever held.
        closed: leave values as the bytes they came as, and take no other message that is larger than ours are.
    """

    def __init__(self, max_bytes: int, *, closed: bool = False) -> None:
        self._max = max_bytes + OVERHEAD_BYTES
        self._closed = closed
        self._held = bytearray()

    def feed(self, data: bytes) -> None:
        """Take in what has arrived."""
        self._held += data

    @property
    def empty(self) -> bool:
        """Whether no part of a message is held."""
        return not self._held

    def pop(self) -> Message | None:
        """The next whole message, or None if it has not arrived yet.

        Raises:
            WireError: these bytes are no message.
        """
        if len(self._held) < HEADER.size:
            return None
        size: int = HEADER.unpack_from(self._held)[0]
        # As soon as the header is there: what follows such a one is not waited for.
        if size > self._max:
            raise WireError("a message longer than any sender may send")
        end = HEADER.size + size
        if len(self._held) < end:
            return None
        held = memoryview(self._held)
        if self._closed and held[HEADER.size : HEADER.size + len(VALUE)] == VALUE:
            start = HEADER.size + len(VALUE)
            message = "value", bytes(held[start : start + TOKEN_BYTES]), bytes(held[start + TOKEN_BYTES : end])
        elif self._closed and size > MAX_OWN_BYTES:
            raise WireError("a message longer than any but an answer may be")
        else:
            message = message_of(bytes(held[HEADER.size : end]))
        held.release()
        del self._held[:end]
        return message


_BLANK = bytes(TOKEN_BYTES)
READY, THE_END = (pack((kind, _BLANK), 0)[:-TOKEN_BYTES] for kind in ("ready", "end"))
"""What comes before the token in the frames that every run inside sends."""
VALUE = encode(("value", _BLANK, None), OVERHEAD_BYTES)[: -TOKEN_BYTES - 1]
"""What comes before the token in a message that a call returned a value."""


class Channel:
    """Both directions of a stream, blocking: the side of the spawned processes.

    Args:
        fd: file descriptor of a connected stream socket.
        max_bytes: bound on the value inside a message that arrives.
    """

    def __init__(self, fd: int, max_bytes: int = REQUEST_BYTES) -> None:
        self._fd = fd
        self._inbox = Inbox(max_bytes)

    def send(self, message: Message) -> None:
        """Send a message of our own making."""
        self.send_frame(pack(message, REQUEST_BYTES))

    def send_frame(self, frame: bytes) -> None:
        """Send bytes that `pack` made."""
        write_frame(self._fd, frame)

    def feed(self, data: bytes) -> None:
        """Take in what was read elsewhere."""
        self._inbox.feed(data)

    def receive(self) -> Message | None:
        """The next message; None when the other side has closed the stream.

        Raises:
            WireError: what arrived is no message.
        """
        while (message := self._inbox.pop()) is None:
            data = read(self._fd, READ_BYTES)
            if not data:
                return None
            self._inbox.feed(data)
        return message
