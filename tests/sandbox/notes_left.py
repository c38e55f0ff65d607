"""Ways to leave a note for whoever runs next, and what shows it; run in the jail, and where nothing forbids it.

`leave` tries them all, `found` names those whose note is there; before any was left it is to name none.
"""

import ctypes
import fcntl
import os
import resource
import stat

LIBC = ctypes.CDLL(None, use_errno=True)
STREAMS = range(3)
MARK = b"a note to the next"
KEY = 0x7E57
IPC_CREAT = 0o1000
KEYCTL = {"x86_64": (248, 250), "aarch64": (217, 219)}[os.uname().machine]
FOLDERS = (".", "..", "/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run/lock", "/sys/fs/cgroup", "/sample", "/")
RINGS = (-3, -4, -5)
"""Of keys: the session's, the user's, and that of the user's session."""


def mappings():
    """Addresses of shared memory that can be written."""
    with open("/proc/self/maps") as file:
        return [int(line.partition("-")[0], 16) for line in file if line.split()[1].startswith("rw-s")]


def leave_memory():
    for at in mappings():
        ctypes.memmove(at, MARK, len(MARK))


def look_memory():
    return any(ctypes.string_at(at, len(MARK)) == MARK for at in mappings())


def leave_flags():
    for fd in STREAMS:
        fcntl.fcntl(fd, fcntl.F_SETFL, os.O_NONBLOCK | os.O_APPEND)


def look_flags():
    return any(fcntl.fcntl(fd, fcntl.F_GETFL) & (os.O_NONBLOCK | os.O_APPEND) for fd in STREAMS)


def leave_modes():
    for fd in STREAMS[1:]:
        os.fchmod(fd, 0o641)


def look_modes():
    return any(stat.S_IMODE(os.fstat(fd).st_mode) == 0o641 for fd in STREAMS[1:])


def leave_times():
    for fd in STREAMS[1:]:
        os.utime(fd, (77, 77))


def look_times():
    return any(os.fstat(fd).st_mtime == 77 for fd in STREAMS)


def leave_offset():
    for fd in STREAMS:
        if stat.S_ISREG(os.fstat(fd).st_mode):
            os.lseek(fd, 7, os.SEEK_SET)


def look_offset():
    return any(stat.S_ISREG(os.fstat(fd).st_mode) and os.lseek(fd, 0, os.SEEK_CUR) == 7 for fd in STREAMS)


def leave_unread():
    os.write(1, MARK)


def look_unread():
    again = os.open("/proc/self/fd/1", os.O_RDONLY | os.O_NONBLOCK)
    try:
        return MARK in os.read(again, 1 << 16)
    finally:
        os.close(again)


def leave_lock():
    fcntl.flock(1, fcntl.LOCK_EX)


def look_lock():
    again = os.open("/proc/self/fd/1", os.O_RDONLY | os.O_NONBLOCK)
    try:
        fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(again)
    return False


def leave_files():
    for folder in FOLDERS:
        for name in ("note-1", "note-2"):
            try:
                with open(f"{folder}/{name}", "wb") as file:
                    file.write(MARK)
            except OSError:
                continue


def look_files():
    return any(os.path.exists(f"{folder}/note-{number}") for folder in FOLDERS for number in (1, 2))


def leave_folder():
    os.chmod(".", 0o711)
    os.utime(".", (77, 77))


def look_folder():
    found = os.stat(".")
    return found.st_mode & 0o777 == 0o711 or 77 in (found.st_mtime, found.st_atime)


def leave_size_of_folder():
    names = [f"{'x' * 90}-{number}" for number in range(300)]
    for name in names:
        open(name, "w").close()
    for name in names:
        os.unlink(name)


def look_size_of_folder():
    return os.stat(".").st_size > 4096


def leave_shared_memory():
    LIBC.shmget(KEY, 4096, IPC_CREAT | 0o666)


def look_shared_memory():
    return LIBC.shmget(KEY, 4096, 0) >= 0


def leave_semaphore():
    LIBC.semget(KEY, 1, IPC_CREAT | 0o666)


def look_semaphore():
    return LIBC.semget(KEY, 1, 0) >= 0


def leave_message_queue():
    LIBC.msgget(KEY, IPC_CREAT | 0o666)


def look_message_queue():
    return LIBC.msgget(KEY, 0) >= 0


def leave_posix_queue():
    LIBC.mq_open(b"/note", os.O_CREAT | os.O_RDWR, 0o666, None)


def look_posix_queue():
    return LIBC.mq_open(b"/note", os.O_RDWR) >= 0


def leave_key():
    add, _ = KEYCTL
    for ring in RINGS:
        LIBC.syscall(add, b"user", b"note", MARK, len(MARK), ring)


def look_key():
    search = 10
    return any(LIBC.syscall(KEYCTL[1], search, ring, b"user", b"note", 0) > 0 for ring in RINGS)


def leave_limits_of_the_parent():
    resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (55, 55))


def look_limits_of_the_parent():
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 55


def leave_priority_of_the_parent():
    os.setpriority(os.PRIO_PROCESS, os.getppid(), 14)  # of nobody else's: where it is allowed, it must harm nobody


def look_priority_of_the_parent():
    return os.getpriority(os.PRIO_PROCESS, 0) == 14


def leave_score_of_the_parent():
    with open(f"/proc/{os.getppid()}/oom_score_adj", "w") as file:
        file.write("77")


def look_score_of_the_parent():
    with open("/proc/self/oom_score_adj") as file:
        return file.read().strip() == "77"


WAYS = [name.removeprefix("leave_") for name in dict(globals()) if name.startswith("leave_")]


def leave(names=WAYS):
    """Leave a note by each of these ways; those that raised nothing."""
    left = []
    for name in names:
        try:
            globals()[f"leave_{name}"]()
        except OSError:
            continue
        left.append(name)
    return left


def found(names=WAYS):
    """The ways whose note is there."""
    seen = []
    for name in names:
        try:
            if globals()[f"look_{name}"]():
                seen.append(name)
        except OSError:
            continue
    return seen


def writable(roots):
    """What can be opened for writing below these folders, links followed nowhere."""
    opened = []
    for root in roots:
        for folder, folders, files in os.walk(root):
            folders[:] = [name for name in folders if not os.path.islink(f"{folder}/{name}")]
            for path in (f"{folder}/{name}" for name in files):
                try:
                    os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
                except OSError:
                    continue
                opened.append(path)
    return opened
