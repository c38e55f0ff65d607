"""Filters of system calls: calls by name and number, and classic BPF assembled by hand.

Two filters stack, and the kernel takes the stricter answer. `jail_filter` is installed once per zygote and
allows the calls of `truegrade.sandbox.seccomp`; `sample_filter` is installed in every child and forbids new
processes (threads stay possible), signals to anyone else and, to a program that has the number of a user who owns
other files, changes of their modes and times. An instruction is ``(code, jump if true, jump if
false, operand)``; every block that a call number selects ends in a return, so no jump is long.
"""

from __future__ import annotations

import struct

# ----------------- System calls by name, with their numbers: what a program in the jail may ask of the kernel.
# Each entry is ``name:x86-64:aarch64``. Numbers: Linux ``arch/x86/entry/syscalls/syscall_64.tbl`` and
# ``include/uapi/asm-generic/unistd.h`` (a test compares them with the headers of the machine it runs on).
#
# Left out, and so refused: everything about networks, namespaces, mounts, users, modules, keys, tracing, other
# processes' memory, what lies in the page cache, System V and POSIX message queues and memory, io_uring, BPF,
# perf, userfaultfd, memfd, device nodes and ownership. Extended attributes are answered as by a file system that
# has none.

_FREE = """
    read:0:63 write:1:64 readv:19:65 writev:20:66 pread64:17:67 pwrite64:18:68 preadv:295:69 pwritev:296:70
    lseek:8:62 close:3:57 close_range:436:436 fstat:5:80 newfstatat:262:79 statx:332:291 fstatfs:138:44
    statfs:137:43 ftruncate:77:46 truncate:76:45 fallocate:285:47 fsync:74:82 fdatasync:75:83 sendfile:40:71
    copy_file_range:326:285 flock:73:32 dup:32:23 dup3:292:24 pipe2:293:59 ppoll:271:73 pselect6:270:72
    epoll_create1:291:20 epoll_ctl:233:21 epoll_pwait:281:22 epoll_pwait2:441:441 eventfd2:290:19
    timerfd_create:283:85 timerfd_settime:286:86 timerfd_gettime:287:87 openat:257:56 faccessat:269:48
    faccessat2:439:439 readlinkat:267:78 mkdirat:258:34 unlinkat:263:35 renameat:264:38 renameat2:316:276
    linkat:265:37 symlinkat:266:36 fchmod:91:52 fchmodat:268:53 utimensat:280:88 getcwd:79:17 chdir:80:49
    fchdir:81:50 umask:95:166 getdents64:217:61 mmap:9:222 munmap:11:215 mprotect:10:226 mremap:25:216
    brk:12:214 msync:26:227 membarrier:324:283 rseq:334:293 rt_sigaction:13:134 rt_sigprocmask:14:135
    rt_sigreturn:15:139 rt_sigpending:127:136 rt_sigtimedwait:128:137 rt_sigsuspend:130:133
    sigaltstack:131:132 kill:62:129 tgkill:234:131 restart_syscall:219:128 getpid:39:172 getppid:110:173
    gettid:186:178 getuid:102:174 geteuid:107:175 getgid:104:176 getegid:108:177 getresuid:118:148
    getresgid:120:150 getgroups:115:158 getpgid:121:155 getsid:124:156 setsid:112:157 setpgid:109:154
    uname:63:160 sysinfo:99:179 times:100:153 getrusage:98:165 getrlimit:97:163 setrlimit:160:164
    getpriority:140:141 getcpu:309:168 capget:125:90 sched_yield:24:124 sched_getaffinity:204:123
    sched_getparam:143:121 sched_getscheduler:145:120 sched_get_priority_max:146:125
    sched_get_priority_min:147:126 sched_rr_get_interval:148:127 clock_gettime:228:113 clock_getres:229:114
    clock_nanosleep:230:115 nanosleep:35:101 gettimeofday:96:169 getitimer:36:102 setitimer:38:103
    timer_create:222:107 timer_settime:223:110 timer_gettime:224:108 timer_getoverrun:225:109
    timer_delete:226:111 futex:202:98 set_robust_list:273:99 get_robust_list:274:100 set_tid_address:218:96
    exit:60:93 exit_group:231:94 wait4:61:260 waitid:247:95 getrandom:318:278 execve:59:221 shutdown:48:210
    getsockopt:55:209 getsockname:51:204 getpeername:52:205
"""
"""Allowed whatever the arguments."""

_FREE_X86 = """
    open:2 creat:85 stat:4 lstat:6 access:21 pipe:22 select:23 poll:7 dup2:33 alarm:37 pause:34 fork:57
    vfork:58 rename:82 mkdir:83 rmdir:84 unlink:87 readlink:89 symlink:88 link:86 chmod:90 getdents:78
    getpgrp:111 time:201 arch_prctl:158 epoll_create:213 epoll_wait:232 eventfd:284 utime:132 utimes:235
    futimesat:261
"""
"""The same, in the older spelling that only x86-64 has."""

_CHECKED = """
    clone:56:220 fcntl:72:25 ioctl:16:29 prctl:157:167 prlimit64:302:261 sched_setaffinity:203:122
    sendto:44:206 sendmsg:46:211 recvfrom:45:207 recvmsg:47:212 setpriority:141:140 socketpair:53:199
    madvise:28:233 preadv2:327:286 pwritev2:328:287 execveat:322:281
"""
"""Known by name to `truegrade.sandbox.seccomp`, which looks at the arguments."""

_UNSUPPORTED = """
    setxattr:188:5 lsetxattr:189:6 fsetxattr:190:7 getxattr:191:8 lgetxattr:192:9 fgetxattr:193:10
    listxattr:194:11 llistxattr:195:12 flistxattr:196:13 removexattr:197:14 lremovexattr:198:15
    fremovexattr:199:16
"""
"""Whoever copies a file asks for its extended attributes (`shutil.copy2`, `copytree`, `move`), and goes on where
there are none, but not where it may not ask."""

_LOCAL = """
    socket:41:198 bind:49:200 listen:50:201 accept:43:202 accept4:288:242 connect:42:203 setsockopt:54:208
"""
"""Allowed to graders alone, and of sockets only local ones."""

_APART = """
    mount:165:40 unshare:272:97 setns:308:268 capset:126:91 landlock_create_ruleset:444:444
    landlock_add_rule:445:445 landlock_restrict_self:446:446
"""
"""Allowed to a zygote that gives each program namespaces (`truegrade.sandbox.confine`), and to no program."""

_ADVICE = """
    fadvise64:221:223 readahead:187:213
"""
"""Answered as done, and not done: what is in the page cache would be a note to the next program."""

X86_64, AARCH64 = 0xC000003E, 0xC00000B7
"""AUDIT_ARCH constants, from ``include/uapi/linux/audit.h``."""
MACHINES = {"x86_64": X86_64, "aarch64": AARCH64}
"""What ``uname`` calls them; filters exist for these."""


def free(arch: int) -> dict[str, int]:
    """Numbers of the calls that are allowed whatever their arguments."""
    return _table(_FREE + _FREE_X86 if arch == X86_64 else _FREE, arch)


def checked(arch: int) -> dict[str, int]:
    """Numbers of the calls that a filter looks into."""
    return _table(_CHECKED, arch)


def local(arch: int) -> dict[str, int]:
    """Numbers of the calls that make local sockets and connect them."""
    return _table(_LOCAL, arch)


def namespace_calls(arch: int) -> dict[str, int]:
    """Numbers of the calls that make namespaces and what is mounted in them."""
    return _table(_APART, arch)


def unsupported(arch: int) -> dict[str, int]:
    """Numbers of the calls that fail as if the file system did not know them."""
    return _table(_UNSUPPORTED, arch)


def advice(arch: int) -> dict[str, int]:
    """Numbers of the calls that are answered as done, without being made."""
    return _table(_ADVICE, arch)


def _table(text: str, arch: int) -> dict[str, int]:
    column = 1 if arch == X86_64 else 2
    fields = (entry.split(":") for entry in text.split())
    return {entry[0]: int(entry[column]) for entry in fields}


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
    for call in namespace_calls(arch).values() if namespaces else ():
        code += on(call, [RETURN_ALLOW])
    return [*code, (IF_AT_LEAST, 0, 1, FIRST_RECENT), (RETURN, 0, 0, UNKNOWN), RETURN_REFUSE]


def leaving_filter(arch: int) -> list[Instruction]:
    """What only a zygote may do; refused as `jail_filter` refuses it elsewhere."""
    code: list[Instruction] = [(LOAD, 0, 0, NUMBER)]
    for call in namespace_calls(arch).values():
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
