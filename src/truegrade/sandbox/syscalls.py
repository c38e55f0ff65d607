"""System calls by name, with their numbers: what a program in the jail may ask of the kernel.

Each entry is ``name:x86-64:aarch64``. Numbers: Linux ``arch/x86/entry/syscalls/syscall_64.tbl`` and
``include/uapi/asm-generic/unistd.h`` (a test compares them with the headers of the machine it runs on).

Left out, and so refused: everything about networks, namespaces, mounts, users, modules, keys, tracing, other
processes' memory, what lies in the page cache, System V and POSIX message queues and memory, io_uring, BPF,
perf, userfaultfd, memfd, device nodes and ownership. Extended attributes are answered as by a file system that
has none.
"""

from __future__ import annotations

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
"""Allowed to a zygote that gives each program namespaces (`truegrade.sandbox.fresh`), and to no program."""

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


def apart(arch: int) -> dict[str, int]:
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
