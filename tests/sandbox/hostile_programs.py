# ruff: noqa: E501, ISC004 - programs, one a line
"""Programs that try to get out, to stay, or to use up the machine; each says itself whether it succeeded.

An escape is a function ``f`` that returns True if its technique worked and False (or raises) if it was refused. Each
stands beside ``OUTSIDE``: the same technique where nothing forbids it, so that a row can fail.
"""

C = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"

CHANGED = """import os
def f(t):
    path = %s
    what = %r
    was = getattr(os.stat(path), what)
    %s
    try: return getattr(os.stat(path), what) != was
    finally: %s
"""
"""Path, what of it, how it is changed and how changed back."""

NETWORK = {
    "tcp": "import socket\ndef f(t): return bool(socket.create_connection(('127.0.0.1', t['port']), 1))",
    "listen": "import socket\ndef f(t): return bool(socket.create_server(('127.0.0.1', 0)))",
    "udp": "import socket\ndef f(t): return bool(socket.socket(2, 2).sendto(b'x', ('127.0.0.1', t['port'])))",
    "unix path": "import socket\ndef f(t):\n    s = socket.socket(1)\n    s.connect(t['unix'])\n    return True",
    "unix abstract": "import socket\ndef f(t):\n    s = socket.socket(1)\n    s.connect(t['abstract'].encode())\n    return True",
    "datagram pair": (
        "import socket\ndef f(t):\n    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
        "    return bool(a.sendto(b'x', t['datagram']))"
    ),
    "raw call": C + "def f(t): return libc.syscall(t['socket_call'], 2, 1, 0) >= 0",
}

FILES = {
    "secret file": "def f(t): return open(t['secret']).read() == t['content']",
    "secret through proc": "def f(t): return open('/proc/1/root' + t['secret']).read() == t['content']",
    "secret through a link": "import os\ndef f(t):\n    os.symlink(t['secret'], 'l')\n    return open('l').read() == t['content']",
    "list of a home": "import os\ndef f(t): return bool(os.listdir(t['home']))",
    "write beside the secret": "import os\ndef f(t): return bool(open(os.path.join(t['home'], 'note'), 'w'))",
    "write to the library": "import os\ndef f(t): return bool(os.open(os.__file__, os.O_RDWR))",
    "mode of the secret": CHANGED % ("t['secret']", "st_mode", "os.chmod(path, was ^ 1)", "os.chmod(path, was)"),
    "mode by a descriptor": CHANGED
    % ("os.__file__", "st_mode", "os.fchmod(os.open(path, 0), was ^ 1)", "os.chmod(path, was)"),
    "mode for every jail": CHANGED
    % ("'/proc/version'", "st_mode", "os.chmod(path, was ^ 4)", "os.chmod(path, was)"),
    "time of the secret": CHANGED
    % ("t['secret']", "st_mtime_ns", "os.utime(path, (7, 7))", "os.utime(path, ns=(was, was))"),
    "time of a device": CHANGED % ("'/dev/null'", "st_mtime_ns", "os.utime(path)", "None"),
    "length of a file": CHANGED % ("t['victim']", "st_size", "os.truncate(path, was + 1)", "None"),
    "emptied by opening": "import os\ndef f(t): return os.open(t['victim'], os.O_RDONLY | os.O_TRUNC) >= 0",
    "emptied by opening for neither": "import os\ndef f(t): return os.open(t['victim'], os.O_ACCMODE | os.O_TRUNC) >= 0",
    "caller's environment": "def f(t): return t['content'].encode() in open(f\"/proc/{t['parent']}/environ\", 'rb').read()",
}

PROCESSES = {
    "fork": "import os\ndef f(t):\n    if os.fork() == 0: os._exit(0)\n    return True",
    "spawn": "import os\ndef f(t): return os.posix_spawn('/bin/sh', ['sh', '-c', 'true'], {}) > 0",
    "shell": "import os\ndef f(t): return os.system('true') == 0",
    "subprocess": "import subprocess, sys\ndef f(t): return subprocess.run([sys.executable, '-c', 'pass']).returncode == 0",
    "clone": C
    + "def f(t):\n    pid = libc.syscall(t['clone_call'], 17, 0, 0, 0, 0)\n    if pid == 0: os._exit(0)\n    return pid > 0",
    "exec": "import os\ndef f(t): os.execv(t['true'], ['true'])",
    "signal the parent": "import os\ndef f(t): os.kill(os.getppid(), 0); return True",
    "signal the caller": "import os\ndef f(t): os.kill(t['parent'], 0); return True",
    "ptrace the parent": C + "def f(t): return libc.ptrace(0x4206, os.getppid(), 0, 0) == 0",
    "read the parent's memory": (
        C + "class V(ctypes.Structure): _fields_ = [('a', ctypes.c_void_p), ('n', ctypes.c_size_t)]\n"
        "def f(t):\n    b = ctypes.create_string_buffer(8)\n    here = V(ctypes.addressof(b), 8)\n"
        "    there = V(id(None), 8)\n"
        "    n = libc.process_vm_readv(t['target'] or os.getppid(), ctypes.byref(here), 1, ctypes.byref(there), 1, 0)\n"
        "    return n == 8 or ctypes.get_errno() == 14  # allowed, though nothing lies at that address\n"
    ),
    "open the parent's memory": "import os\ndef f(t): return bool(open(f\"/proc/{t['target'] or os.getppid()}/mem\", 'rb'))",
    "descriptors of the parent": "import os\ndef f(t): return bool(os.listdir(f\"/proc/{t['target'] or os.getppid()}/fd\"))",
    "counters of the parent": "import os\ndef f(t): return bool(open(f\"/proc/{t['target'] or os.getppid()}/stat\").read())",
    "limits of the parent": "import os, resource\ndef f(t): return bool(resource.prlimit(t['target'] or os.getppid(), 7))",
    "affinity of the parent": "import os\ndef f(t):\n    os.sched_setaffinity(t['target'] or os.getppid(), os.sched_getaffinity(0))\n    return True",
    "signals by a descriptor": (
        "import fcntl, os\ndef f(t):\n    r, w = os.pipe()\n    fcntl.fcntl(r, fcntl.F_SETOWN, os.getpid())\n    return True"
    ),
}

KERNEL = {
    "user namespace": C + "def f(t): return libc.unshare(0x10000000) == 0",
    "mount": C + "def f(t): return libc.mount(b'x', os.getcwd().encode(), b'tmpfs', 0, None) == 0",
    "chroot": "import os\ndef f(t): os.chroot('.'); return True",
    "other user": "import os\ndef f(t): os.setuid(12345); return True",
    "host name": "import socket\ndef f(t): socket.sethostname(socket.gethostname()); return True",
    "memory file": "import os\ndef f(t): return os.memfd_create('x') >= 0",
    "io_uring": C + "def f(t): return libc.syscall(425, 1, ctypes.create_string_buffer(256)) >= 0",
    "keyring": C + "def f(t): return libc.syscall(t['keyctl_call'], 0, -3, 1) >= 0",
    "System V memory": C + "def f(t): return libc.shmget(0, 4096, 0o1600) >= 0",
    "message queue": C + "def f(t): return libc.mq_open(b'/truegrade', 0o102, 0o600, None) >= 0",
    "extended attribute": "import os\ndef f(t):\n    open('a', 'w').close()\n    os.setxattr('a', 'user.note', b'x')\n    return True",
    "lease of a file": "import fcntl\ndef f(t): return fcntl.fcntl(open('a', 'w'), fcntl.F_SETLEASE, fcntl.F_WRLCK) == 0",
    "notice of changes": "import fcntl, os\ndef f(t): return fcntl.fcntl(os.open('.', os.O_RDONLY), fcntl.F_NOTIFY, fcntl.DN_CREATE) == 0",
    "larger pipe": "import fcntl, os\ndef f(t): return fcntl.fcntl(os.pipe()[1], fcntl.F_SETPIPE_SZ, 1 << 20) >= 1 << 20",
    "urgent data": (
        "import socket\ndef f(t):\n    a, b = socket.socketpair()\n    a.send(b'xy')\n    a.send(b'z', socket.MSG_OOB)\n"
        "    return b.recv(1, socket.MSG_OOB) == b'z'"
    ),
    "urgent message": "import socket\ndef f(t):\n    a, b = socket.socketpair()\n    return a.sendmsg([b'x'], [], socket.MSG_OOB) == 1",
    "pages in memory": (
        C
        + "import mmap\ndef f(t):\n    m = mmap.mmap(-1, 4096)\n    at = ctypes.addressof(ctypes.c_char.from_buffer(m))\n"
        "    return libc.mincore(ctypes.c_void_p(at), 4096, ctypes.create_string_buffer(1)) == 0"
    ),
    "read only what is in memory": (
        "import os\ndef f(t):\n    open('a', 'w').write('x')\n"
        "    return os.preadv(os.open('a', os.O_RDONLY), [bytearray(1)], 0, os.RWF_NOWAIT) == 1"
    ),
    "throw out of memory": (
        C
        + "import mmap\ndef f(t):\n    m = mmap.mmap(-1, 4096)\n    at = ctypes.addressof(ctypes.c_char.from_buffer(m))\n"
        "    return libc.madvise(ctypes.c_void_p(at), 4096, 21) == 0"
    ),
    "device node": "import os\ndef f(t): os.mknod('d', 0o20666, os.makedev(1, 3)); return True",
    "raised limit": "import resource\ndef f(t): resource.setrlimit(4, (1 << 30, 1 << 30)); return True",
    "32-bit calls": C
    + (
        "import mmap\ndef f(t):\n    code = mmap.mmap(-1, 4096, prot=7)\n"
        "    code.write(b'\\xb8\\x14\\0\\0\\0\\xcd\\x80\\xc3')\n"
        "    call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))\n"
        "    return call() > 0"
    ),
}

ESCAPES = {**NETWORK, **FILES, **PROCESSES, **KERNEL}

NOTES = {
    "file": ("open('note', 'w').close()", "__import__('os').path.exists('note')"),
    "hidden deep": ("import os\nos.makedirs('.a/' * 50)", "bool(__import__('os').listdir('.'))"),
    "closed directory": (
        "import os\nos.mkdir('d')\nopen('d/x', 'w').close()\nos.chmod('d', 0)",
        "bool(__import__('os').listdir('.'))",
    ),
    "closed directory below": (
        "import os\nos.mkdir('d')\nos.mkdir('d/e', 0)",
        "bool(__import__('os').listdir('.'))",
    ),
    "names of the sweep": (
        "import os\nfor n in range(9):\n    for name in (f'.lifted-{n}', f'a{n}'):\n        os.makedirs(f'{name}/b')",
        "bool(__import__('os').listdir('.'))",
    ),
    "mode of the scratch": (
        "import os\nos.chmod('.', 0o711)",
        "__import__('os').stat('.').st_mode & 0o777 != 0o700",
    ),
    "times of the scratch": ("import os\nos.utime('.', (77, 77))", "__import__('os').stat('.').st_atime == 77"),
    "builtins": ("import builtins\nbuiltins.len = lambda x: 99", "len([]) == 99"),
    "module": ("import math\nmath.sqrt = lambda x: 99", "__import__('math').sqrt(4) == 99"),
    "environment": ("import os\nos.environ['X'] = '1'", "'X' in __import__('os').environ"),
    "limits": ("import resource\nresource.setrlimit(7, (20, 20))", "__import__('resource').getrlimit(7)[0] == 20"),
    "working directory": ("import os\nos.chdir('/')", "__import__('os').getcwd() == '/'"),
    "umask": ("import os\nos.umask(0o777)", "__import__('os').umask(0o22) == 0o777"),
    "random state": ("import random\nrandom.seed(5)", "__import__('random').random() == 0.6229016948897019"),
    "shared memory file": ("open('/dev/shm/note', 'w').close()", "__import__('os').path.exists('/dev/shm/note')"),
}
"""What the first program does, and what the second would see."""

IGNORE = "import signal\nfor s in range(1, 65):\n    try: signal.signal(s, signal.SIG_IGN)\n    except Exception: pass\n"

ENDLESS = {
    "loop": "while True: pass",
    "catch-all": "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
    "ignored signals": IGNORE + "while True: pass",
    "masked signals": "import signal\nsignal.pthread_sigmask(0, range(1, 65))\nwhile True: pass",
    "sum": "sum(iter(int, 1))",
    "power": "pow(7, 10 ** 10)",
    "regex": "import re\nre.match('(a+)+$', 'a' * 60 + 'b')",
    "sleep": "import time\ntime.sleep(60)",
    "stopped": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "lock": "import threading\na = threading.Lock()\na.acquire()\na.acquire()",
    "threads": "import threading\ndef g():\n    while True: pass\nfor _ in range(2): threading.Thread(target=g).start()\ng()",
    "alarm": "import signal\nsignal.signal(14, lambda *a: None)\nsignal.setitimer(0, .001, .001)\nwhile True: pass",
    "pipe": "import os\nos.read(os.pipe()[0], 1)",
    "destructor": "class D:\n    def __del__(self):\n        while True: pass\nD()",
}

BOMBS = {
    "memory in steps": ("x = []\nwhile True: x.append(bytearray(1 << 22))", {"memory_limit", "time_limit"}),
    "anonymous maps": (
        "import mmap\nx = [mmap.mmap(-1, 1 << 24) for _ in range(10000)]",
        {"runtime_error", "memory_limit"},
    ),
    "disk": ("for i in range(10000): open(str(i), 'wb').write(b'x' * (1 << 22))", {"runtime_error"}),
    "disk on /dev/shm": (
        "for i in range(10000): open(f'/dev/shm/{i}', 'wb').write(b'x' * (1 << 22))",
        {"runtime_error"},
    ),
    "inodes": ("for i in range(200000): open(str(i), 'w').close()", {"runtime_error", "time_limit"}),
    "deep directories": (
        "import os\nfor i in range(100000):\n    os.mkdir('d')\n    os.chdir('d')",
        {"runtime_error", "time_limit"},
    ),
    "descriptors": ("import os\nx = [os.pipe() for _ in range(5000)]", {"runtime_error"}),
    "threads": (
        "import threading, time\nthreading.stack_size(32768)\n"
        "for _ in range(20000): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
        {"runtime_error", "memory_limit", "time_limit"},
    ),
    "fork bomb": ("import os\nfor _ in range(8): os.fork()", {"runtime_error"}),
    "kill everybody": ("import os\nos.kill(-1, 9)", {"runtime_error", "killed"}),
    "kill the group": ("import os\nos.killpg(0, 9)", {"runtime_error", "killed"}),
    "output": ("while True: print('x' * 10000)", {"output_limit"}),
}
"""Bounded, in case they are not held."""
