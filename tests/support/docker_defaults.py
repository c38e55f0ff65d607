"""What Docker starts a container with, unless told otherwise, as an OCI configuration that runc reads.

Facts of github.com/moby/moby ``oci/defaults.go`` @ 0a86509 and ``oci/caps/defaults.go`` @ 1086671, and of
github.com/moby/profiles ``seccomp/default.json`` @ cd3bed8, for x86-64 and aarch64: calls that only 32-bit
programs, other processors or capabilities beyond the default ones have are left out.
"""

CAPABILITIES = [
    "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FSETID", "CAP_FOWNER", "CAP_MKNOD", "CAP_NET_RAW", "CAP_SETGID",
    "CAP_SETUID", "CAP_SETFCAP", "CAP_SETPCAP", "CAP_NET_BIND_SERVICE", "CAP_SYS_CHROOT", "CAP_KILL",
    "CAP_AUDIT_WRITE",
]  # fmt: skip
_CALLS = """
    accept accept4 access adjtimex alarm bind brk cachestat capget capset chdir chmod chown clock_adjtime
    clock_getres clock_gettime clock_nanosleep close close_range connect copy_file_range creat dup dup2 dup3
    epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 epoll_wait epoll_wait_old
    eventfd eventfd2 execve execveat exit exit_group faccessat faccessat2 fadvise64 fallocate fanotify_mark
    fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl fdatasync fgetxattr flistxattr flock fork
    fremovexattr fsetxattr fstat fstatfs fsync ftruncate futex futex_requeue futex_wait futex_waitv futex_wake
    futimesat get_robust_list getcpu getcwd getdents getdents64 getegid geteuid getgid getgroups getitimer
    getpeername getpgid getpgrp getpid getppid getpriority getrandom getresgid getresuid getrlimit getrusage
    getsid getsockname getsockopt gettid gettimeofday getuid getxattr getxattrat inotify_add_watch inotify_init
    inotify_init1 inotify_rm_watch io_cancel io_destroy io_getevents io_pgetevents io_setup io_submit ioctl
    ioprio_get ioprio_set kill landlock_add_rule landlock_create_ruleset landlock_restrict_self lchown lgetxattr
    link linkat listen listmount listxattr listxattrat llistxattr lremovexattr lseek lsetxattr lstat madvise
    map_shadow_stack membarrier memfd_create memfd_secret mincore mkdir mkdirat mknod mknodat mlock mlock2
    mlockall mmap mprotect mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink mremap mseal
    msgctl msgget msgrcv msgsnd msync munlock munlockall munmap name_to_handle_at nanosleep newfstatat open
    openat openat2 pause pidfd_open pidfd_send_signal pipe pipe2 pkey_alloc pkey_free pkey_mprotect poll ppoll
    prctl pread64 preadv preadv2 prlimit64 process_mrelease process_vm_readv process_vm_writev pselect6 ptrace
    pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv recvfrom recvmmsg recvmsg
    remap_file_pages removexattr removexattrat rename renameat renameat2 restart_syscall riscv_hwprobe rmdir
    rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait
    rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr
    sched_getparam sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam
    sched_setscheduler sched_yield seccomp select semctl semget semop semtimedop sendfile sendmmsg sendmsg
    sendto set_robust_list set_tid_address setfsgid setfsuid setgid setgroups setitimer setpgid setpriority
    setregid setresgid setresuid setreuid setrlimit setsid setsockopt setuid setxattr setxattrat shmat shmctl
    shmdt shmget shutdown sigaltstack signalfd signalfd4 socketpair splice stat statfs statmount statx symlink
    symlinkat sync sync_file_range syncfs sysinfo tee tgkill time timer_create timer_delete timer_getoverrun
    timer_gettime timer_settime timerfd_create timerfd_gettime timerfd_settime times tkill truncate umask uname
    unlink unlinkat uretprobe utime utimensat utimes vfork vmsplice wait4 waitid write writev
"""
ALLOWED = _CALLS.split()
"""Whatever the arguments; also `chroot`, by CAP_SYS_CHROOT, and `arch_prctl` and `modify_ldt` on x86-64."""
PERSONALITIES = (0x0, 0x8, 0x20000, 0x20008, 0xFFFFFFFF)
NEW_NAMESPACES, ENOSYS = 0x7E020000, 38
AF_ALG = 38
MASKED = [
    "/proc/asound", "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
    "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware",
]  # fmt: skip
READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
NO_PROGRAMS = ["nosuid", "noexec", "nodev"]
MOUNTS = [
    ("/proc", "proc", "proc", NO_PROGRAMS),
    ("/dev", "tmpfs", "tmpfs", ["nosuid", "strictatime", "mode=755", "size=65536k"]),
    ("/dev/pts", "devpts", "devpts", ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"]),
    ("/sys", "sysfs", "sysfs", [*NO_PROGRAMS, "ro"]),
    ("/sys/fs/cgroup", "cgroup", "cgroup", ["ro", *NO_PROGRAMS]),
    ("/dev/mqueue", "mqueue", "mqueue", NO_PROGRAMS),
    ("/dev/shm", "tmpfs", "shm", [*NO_PROGRAMS, "mode=1777", "size=67108864"]),
]

NAMESPACES = ("mount", "network", "uts", "pid", "ipc")
SUBORDINATE = [{"containerID": 0, "hostID": 100_000, "size": 65_536}]
"""As /etc/subuid has it."""


def configuration(root, command, *, environment, uid=0, capabilities=CAPABILITIES, read=(), remapped=False):
    """``docker run --network none --user UID -v PATH:PATH:ro ... command`` on a root file system of one's own.

    ``remapped``: in a user namespace, as rootless Docker and `userns-remap` make one.
    """
    held = {"bounding": capabilities}
    if uid == 0:
        held |= {"effective": capabilities, "permitted": capabilities}
    return {
        "ociVersion": "1.0.2",
        "process": {
            "user": {"uid": uid, "gid": 0, "additionalGids": [0]},
            "args": list(command),
            "env": [f"{name}={value}" for name, value in environment.items()],
            "cwd": "/",
            "capabilities": held,
            "noNewPrivileges": False,
        },
        "root": {"path": str(root)},
        "hostname": "container",
        "mounts": [
            *({"destination": at, "type": kind, "source": of, "options": how} for at, kind, of, how in MOUNTS),
            *({"destination": path, "type": "bind", "source": path, "options": ["rbind", "ro"]} for path in read),
        ],
        "linux": {
            "namespaces": [{"type": kind} for kind in (*NAMESPACES, *(["user"] if remapped else []))],
            **({"uidMappings": SUBORDINATE, "gidMappings": SUBORDINATE} if remapped else {}),
            "maskedPaths": MASKED,
            "readonlyPaths": READ_ONLY,
            "seccomp": seccomp(capabilities),
        },
    }


def seccomp(capabilities):
    """The filter of system calls: what is not named fails with EPERM."""

    def allow(*names, first_argument=None):
        arguments = [] if first_argument is None else [{"index": 0, **first_argument}]
        return {"names": list(names), "action": "SCMP_ACT_ALLOW", "args": arguments}

    by_capability = ["chroot"] if "CAP_SYS_CHROOT" in capabilities else []
    no_namespace = {"value": NEW_NAMESPACES, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}
    # Not AF_ALG, whose number is 38, nor AF_VSOCK, 40.
    families = [(AF_ALG, "SCMP_CMP_LT"), (AF_ALG + 1, "SCMP_CMP_EQ"), (AF_ALG + 2, "SCMP_CMP_GT")]
    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": 1,
        "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32", "SCMP_ARCH_AARCH64"],
        "syscalls": [
            allow(*ALLOWED, "arch_prctl", "modify_ldt", *by_capability),
            *(allow("personality", first_argument={"value": one, "op": "SCMP_CMP_EQ"}) for one in PERSONALITIES),
            *(allow("socket", first_argument={"value": number, "op": how}) for number, how in families),
            allow("clone", first_argument=no_namespace),
            {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": ENOSYS},
        ],
    }
