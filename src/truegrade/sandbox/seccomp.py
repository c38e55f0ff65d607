"""Filters of system calls, assembled by hand: classic BPF over ``struct seccomp_data``.

Two filters stack, and the kernel takes the stricter answer. `jail_filter` is installed once per zygote and
allows the calls of `truegrade.sandbox.syscalls`; `sample_filter` is installed in every child and forbids new
processes (threads stay possible), signals to anyone else and, to a program that has the number of a user who owns
other files, changes of their modes and times. An instruction is ``(code, jump if true, jump if
false, operand)``; every block that a call number selects ends in a return, so no jump is long.
"""

from __future__ import annotations

import struct

from truegrade.sandbox.syscalls import X86_64, advice, apart, checked, free, local, unsupported

TYPE_CHECKING = False  # `typing` costs a spawned interpreter 8 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Instruction = tuple[int, int, int, int]

LOAD, AND, RETURN = 0x20, 0x54, 0x06
IF_EQUAL, IF_ANY_BIT, IF_AT_LEAST = 0x15, 0x45, 0x35
NUMBER, ARCH = 0, 4
"""Offsets of the call's number and of the architecture."""
ALLOW, REFUSE, INVALID, UNKNOWN, UNSUPPORTED = 0x7FFF0000, 0x00050001, 0x00050016, 0x00050026, 0x0005005F
KILL, PRETEND = 0x80000000, 0x00050000
"""Go ahead; fail with EPERM, EINVAL, ENOSYS or EOPNOTSUPP; end the process; say 0 and do nothing."""

X32_BIT = 0x40000000
FIRST_RECENT = 424
"""Calls from here on are younger than Linux 5.1. A C library that tries one expects ENOSYS where it is missing,
and then takes the older call; clone3, whose flags no filter can read, is one of them."""
CLONE_THREAD, CLONE_NAMESPACES = 0x00010000, 0x7E020000
AF_UNIX, SOCK_TYPE, SOCK_STREAM, SOCK_SEQPACKET = 1, 0xF, 1, 5
SOL_SOCKET, SO_REUSEADDR = 1, 2
FCNTLS = (*range(8), 36, 37, 38, 1030, 1032, 1034)
"""Copies, flags and locks of descriptors, what a pipe holds and which seals there are. Not those that make the
kernel send signals on the caller's behalf (F_SETOWN, F_SETSIG, F_NOTIFY), that make whoever opens a file wait
(F_SETLEASE), nor a larger pipe, which no limit of memory counts."""
OPEN_FLAGS = {"open": 1, "openat": 2}
"""Which argument they are."""
ACCESS, WRITING, O_TRUNC = 0b11, (1, 2), 0o1000
MESSAGE_FLAGS = {"sendto": 3, "recvfrom": 3, "sendmsg": 2, "recvmsg": 2}
MESSAGE_ALLOWED = 0x4000C1EA
"""All but MSG_OOB and what no connected stream has: peek, truncate, do not wait, wait for all, no signal, more."""
VECTOR_ALLOWED = 0b10111
"""Flags of preadv2 and pwritev2; others tell whether a page was in memory, or throw it out."""
METADATA = ("chmod", "fchmod", "fchmodat", "utime", "utimes", "futimesat", "utimensat")
MADV_EVICT = (20, 21)
"""MADV_COLD, MADV_PAGEOUT: a kernel before 5.4 does not know them."""
IOCTLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX."""
PRCTLS = (1, 3, 4, 15, 16, 22, 23, 39, 0x53564D41)
"""Parent-death signal, dumpable, name, stricter seccomp, reading the bounding set and no_new_privs, naming memory:
all of them about the caller alone."""

RETURN_ALLOW: Instruction = (RETURN, 0, 0, ALLOW)
RETURN_REFUSE: Instruction = (RETURN, 0, 0, REFUSE)


def jail_filter(
    arch: int, *, truncation: bool = True, sockets: bool = False, namespaces: bool = False
) -> list[Instruction]:
    """The allow-list.

    Args:
        arch: an AUDIT_ARCH.
        truncation: whether something else keeps files that may only be read from being cut off.
        sockets: whether local sockets may be made, which `socketpair` alone makes otherwise.
        namespaces: whether some may be made, until `leaving_filter` ends that.
    """
    number = checked(arch)
    code: list[Instruction] = [
        (LOAD, 0, 0, ARCH),
        # Numbers mean other calls under another architecture: a 64-bit process can make 32-bit calls by int 0x80.
        (IF_EQUAL, 1, 0, arch),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
    ]
    # x32 calls carry this architecture too, and are told by a bit of their number.
    if arch == X86_64:
        code += [(IF_AT_LEAST, 0, 1, X32_BIT), (RETURN, 0, 0, KILL)]
    if not truncation:
        code += _no_truncation(free(arch))
    for call in free(arch).values():
        code += on(call, [RETURN_ALLOW])
    for call in advice(arch).values():
        code += on(call, [(RETURN, 0, 0, PRETEND)])
    # In a user namespace of its own the program would have every capability.
    code += on(number["clone"], [*argument(0), (IF_ANY_BIT, 0, 1, CLONE_NAMESPACES), RETURN_REFUSE, RETURN_ALLOW])
    code += on(number["fcntl"], [*argument(1), *allow_if(FCNTLS), RETURN_REFUSE])
    code += on(number["ioctl"], [*argument(1), *allow_if(IOCTLS), RETURN_REFUSE])
    code += on(number["prctl"], [*argument(0), *allow_if(PRCTLS), RETURN_REFUSE])
    # Of limits and scheduling, only the caller's own, which is spelled 0.
    for name in ("prlimit64", "sched_setaffinity"):
        code += on(number[name], [*argument(0), *allow_if((0,)), RETURN_REFUSE])
    both = [*argument(0), (IF_EQUAL, 1, 0, 0), RETURN_REFUSE, *argument(1), *allow_if((0,)), RETURN_REFUSE]
    code += on(number["setpriority"], both)
    # Datagram sockets could be sent to any address; connected ones talk to their pair only.
    pair = [*argument(0), (IF_EQUAL, 1, 0, AF_UNIX), RETURN_REFUSE, *argument(1), (AND, 0, 0, SOCK_TYPE)]
    code += on(number["socketpair"], [*pair, *allow_if((SOCK_STREAM, SOCK_SEQPACKET)), RETURN_REFUSE])
    unaddressed = [
        step for high in (False, True) for step in (*argument(4, high=high), (IF_EQUAL, 1, 0, 0), RETURN_REFUSE)
    ]
    for name, index in MESSAGE_FLAGS.items():
        plain = only_bits(index, MESSAGE_ALLOWED)
        code += on(number[name], [*unaddressed, *plain] if name == "sendto" else plain)
    for name in ("preadv2", "pwritev2"):
        code += on(number[name], only_bits(5, VECTOR_ALLOWED))
    evict = [step for value in MADV_EVICT for step in ((IF_EQUAL, 0, 1, value), (RETURN, 0, 0, INVALID))]
    code += on(number["madvise"], [*argument(2), *evict, RETURN_ALLOW])
    for call in unsupported(arch).values():
        code += on(call, [(RETURN, 0, 0, UNSUPPORTED)])
    if sockets:
        code += _local_sockets(local(arch))
    for call in apart(arch).values() if namespaces else ():
        code += on(call, [RETURN_ALLOW])
    return [*code, (IF_AT_LEAST, 0, 1, FIRST_RECENT), (RETURN, 0, 0, UNKNOWN), RETURN_REFUSE]


def leaving_filter(arch: int) -> list[Instruction]:
    """What only a zygote may do; refused as `jail_filter` refuses it elsewhere."""
    code: list[Instruction] = [(LOAD, 0, 0, NUMBER)]
    for call in apart(arch).values():
        code += on(call, [(RETURN, 0, 0, UNKNOWN) if call >= FIRST_RECENT else RETURN_REFUSE])
    return [*code, RETURN_ALLOW]


def sample_filter(arch: int, pid: int, *, processes: bool, alone: bool = True) -> list[Instruction]:
    """What one program may not do besides.

    Args:
        arch: AUDIT_ARCH, which `jail_filter` has checked.
        pid: the only process it may signal.
        processes: whether it may start some.
        alone: whether it can reach no file of its user's but those in its scratch. If it can, modes and times
            are not changed and the program is told that they were: honest ones that unpack archives go on.
    """
    number = free(arch) | checked(arch)
    code: list[Instruction] = [(LOAD, 0, 0, NUMBER)]
    # Its own number alone: -1, 0 and process groups would reach the zygote where there is no namespace.
    for name in ("kill", "tgkill"):
        code += on(number[name], [*argument(0), *allow_if((pid,)), RETURN_REFUSE])
    if not processes:
        for name in ("fork", "vfork", "execve", "execveat"):
            if name in number:
                code += on(number[name], [RETURN_REFUSE])
        # What shares its thread group ends with it, so nothing of a sample outlives its one process.
        thread = [*argument(0), (IF_ANY_BIT, 0, 1, CLONE_THREAD), RETURN_ALLOW, RETURN_REFUSE]
        code += on(number["clone"], thread)
    for name in () if alone else METADATA:
        if name in number:
            code += on(number[name], [(RETURN, 0, 0, PRETEND)])
    return [*code, RETURN_ALLOW]


def _local_sockets(number: dict[str, int]) -> list[Instruction]:
    """Make stream sockets of this machine's, connect them, and say that their address may be used again."""
    kind = [*argument(0), (IF_EQUAL, 1, 0, AF_UNIX), RETURN_REFUSE, *argument(1), (AND, 0, 0, SOCK_TYPE)]
    code = on(number["socket"], [*kind, *allow_if((SOCK_STREAM,)), RETURN_REFUSE])
    option = [*argument(1), (IF_EQUAL, 1, 0, SOL_SOCKET), RETURN_REFUSE, *argument(2)]
    code += on(number["setsockopt"], [*option, *allow_if((SO_REUSEADDR,)), RETURN_REFUSE])
    for name in ("bind", "listen", "accept", "accept4", "connect"):
        code += on(number[name], [RETURN_ALLOW])
    return code


def _no_truncation(number: dict[str, int]) -> list[Instruction]:
    """Refuse to cut off a file by its path, and to do so by opening it without the right to write."""
    code = on(number["truncate"], [RETURN_REFUSE])
    for name, index in OPEN_FLAGS.items():
        if name in number:
            flags = [*argument(index), (IF_ANY_BIT, 1, 0, O_TRUNC), RETURN_ALLOW, (AND, 0, 0, ACCESS)]
            code += on(number[name], [*flags, *allow_if(WRITING), RETURN_REFUSE])
    return code


def on(call: int, block: list[Instruction]) -> list[Instruction]:
    """The block, for this call only; it must return on every path."""
    return [(IF_EQUAL, 0, len(block), call), *block]


def argument(index: int, *, high: bool = False) -> list[Instruction]:
    """Load the low (or high) half of an argument; both architectures are little-endian."""
    return [(LOAD, 0, 0, 16 + 8 * index + (4 if high else 0))]


def allow_if(values: Iterable[int]) -> list[Instruction]:
    """Return ALLOW if what is loaded is one of these."""
    return [step for value in values for step in ((IF_EQUAL, 0, 1, value), RETURN_ALLOW)]


def only_bits(index: int, allowed: int) -> list[Instruction]:
    """Return ALLOW if this argument has no bit but these, else that this is not supported."""
    others = ~allowed & 0xFFFFFFFF
    return [*argument(index), (IF_ANY_BIT, 0, 1, others), (RETURN, 0, 0, UNSUPPORTED), RETURN_ALLOW]


class Filter:
    """A program as the kernel reads it, laid out once so that a child only has to point at it.

    Args:
        code: instructions.
        slot: operand that `installer` replaces, wherever something is compared with it.
    """

    def __init__(self, code: list[Instruction], slot: int | None = None) -> None:
        import ctypes

        self._steps = bytearray(b"".join(_STEP.pack(*step) for step in code))
        # struct sock_fprog: a length and, aligned, a pointer.
        self._held = (ctypes.c_char * len(self._steps)).from_buffer(self._steps)
        self._program = _PROGRAM.pack(len(code), ctypes.addressof(self._held))
        """As bytes: nothing passes a pointer with less ado."""
        self._slots = [
            index * _STEP.size + _STEP.size - _OPERAND.size
            for index, step in enumerate(code)
            if step[0] == IF_EQUAL and step[3] == slot
        ]

    def installer(self) -> Callable[[int], None]:
        """What binds a process, and all it starts, to the filter for good; it needs no_new_privs.

        Its argument goes into the slots. It raises OSError where the kernel refuses.
        """
        prctl, pack = libc_prctl(), _OPERAND.pack_into
        program, steps, slots = self._program, self._steps, self._slots

        def install(value: int) -> None:
            for offset in slots:
                pack(steps, offset, value)
            if prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0):
                raise OSError("the kernel refused the filter of system calls")

        return install

    def install(self, value: int = 0) -> None:
        """Bind this process; see `installer`."""
        self.installer()(value)


def libc_prctl() -> Callable[..., int]:
    """The C library's prctl, without errno: to keep it costs a child a dozen pages."""
    import ctypes

    prctl: Callable[..., int] = ctypes.CDLL(None).prctl
    return prctl


PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
_STEP, _OPERAND, _PROGRAM = struct.Struct("=HBBI"), struct.Struct("=I"), struct.Struct("@HP")
"""struct sock_filter; its last field; struct sock_fprog (``include/uapi/linux/filter.h``)."""
