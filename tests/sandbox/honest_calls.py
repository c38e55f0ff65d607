# ruff: noqa: E501 - programs
"""What honest programs ask of the kernel by way of the standard library; each gives the same in the jail as outside.

Every entry is the body of a function; with `hostile_programs` it shows both sides of the filter, on the kernel that
the tests run on and not only in an emulator of it.
"""

FILES = {
    "write, read, size": "open('a', 'w').write('x' * 9000); return len(open('a').read()), os.stat('a').st_size",
    "rename, replace": "open('a', 'w').close(); os.rename('a', 'b'); os.replace('b', 'c'); return os.listdir('.')",
    "devices": (
        "open('/dev/null', 'w').write('x')\n"
        "return open('/dev/null').read(), open('/dev/zero', 'rb').read(2), len(open('/dev/urandom', 'rb').read(9))"
    ),
    "links": "open('a', 'w').close(); os.symlink('a', 's'); os.link('a', 'h'); return os.readlink('s'), os.lstat('h').st_nlink",
    "directories": (
        "os.makedirs('d/e'); os.rmdir('d/e'); open('d/f', 'w').close(); os.unlink('d/f'); os.chdir('d')\n"
        "where = os.path.basename(os.getcwd()); os.chdir('..')\n"
        "return where, [e.is_dir() for e in os.scandir('.')], list(os.walk('.'))"
    ),
    "sizes": (
        "with open('a', 'wb+') as f:\n    f.truncate(5000); os.posix_fallocate(f.fileno(), 0, 9000)\n"
        "    os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL); os.fsync(f.fileno()); os.fdatasync(f.fileno())\n"
        "return os.path.getsize('a')"
    ),
    "cut off by its name": "open('a', 'w').write('x' * 99); os.truncate('a', 77); return os.path.getsize('a')",
    "modes and times": (
        "open('a', 'w').close(); os.chmod('a', 0o640); os.utime('a', (5, 6)); f = os.open('a', os.O_RDONLY)\n"
        "os.fchmod(f, 0o600); os.utime(f, ns=(1, 2)); old = os.umask(0o77); os.umask(old); s = os.stat('a')\n"
        "return oct(s.st_mode), s.st_mtime_ns, os.access('a', os.R_OK), os.access('a', os.X_OK, effective_ids=True)"
    ),
    "positions": (
        "f = os.open('a', os.O_RDWR | os.O_CREAT)\n"
        "os.pwrite(f, b'abc', 2); os.pwritev(f, [b'd', b'ef'], 5); os.writev(f, [b'g', b'h']); os.lseek(f, 0, 0)\n"
        "into = [bytearray(2), bytearray(3)]; os.preadv(f, into, 1); os.pwritev(f, [b'i'], 9, os.RWF_DSYNC)\n"
        "return os.pread(f, 3, 2), os.readv(f, [bytearray(4)]), into"
    ),
    "copies": (
        "open('a', 'w').write('x' * 5000); shutil.copy2('a', 'b'); os.mkdir('d'); shutil.move('b', 'd/b'); shutil.copytree('d', 'e')\n"
        "i, o = os.open('a', 0), os.open('c', os.O_WRONLY | os.O_CREAT); sent = os.sendfile(o, i, 0, 1000)\n"
        "copied = os.copy_file_range(i, o, 500, 0); shutil.rmtree('d'); return sent, copied, sorted(os.listdir('.'))"
    ),
    "locks": (
        "import fcntl\nwith open('a', 'w') as f:\n    fcntl.flock(f, fcntl.LOCK_EX); fcntl.lockf(f, fcntl.LOCK_EX)\n"
        "    fcntl.lockf(f, fcntl.LOCK_UN); return fcntl.fcntl(f, fcntl.F_GETFL) & 3, fcntl.fcntl(f, fcntl.F_GETFD)"
    ),
    "descriptors": (
        "r, w = os.pipe(); d = os.dup(w); os.dup2(w, 40); os.set_inheritable(d, True); os.set_blocking(r, False)\n"
        "os.write(40, b'x'); got = os.read(r, 9); os.closerange(40, 60); return got, os.isatty(r), os.get_inheritable(d)"
    ),
    "temporary files": (
        "import tempfile\nwith tempfile.TemporaryDirectory() as d, tempfile.TemporaryFile(dir=d) as f:\n"
        "    f.write(b'xy'); f.seek(0); return f.read()"
    ),
    "file systems": "return os.statvfs('.').f_bsize > 0, os.fstatvfs(os.open('.', 0)).f_bavail > 0, shutil.disk_usage('.').free > 0",
    "a database": (
        "import sqlite3\nwith sqlite3.connect('a.db') as db:\n    db.execute('pragma journal_mode=wal'); db.execute('create table t(x)')\n"
        "    db.executemany('insert into t values (?)', [(n,) for n in range(500)]); return db.execute('select sum(x) from t').fetchall()"
    ),
}

MEMORY = {
    "maps": (
        "import mmap\nm = mmap.mmap(-1, 1 << 16, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS); m.resize(1 << 18); m.madvise(mmap.MADV_DONTNEED); m[-1] = 7\n"
        "with open('a', 'wb+') as f:\n    f.truncate(9000); g = mmap.mmap(f.fileno(), 0); g[8999] = 1; g.flush()\n"
        "return m[-1], os.stat('a').st_size, open('a', 'rb').read()[-1]"
    ),
    "a large heap": "x = [bytearray(1 << 20) for _ in range(40)]; del x[::2]; return len(x)",
    "a function called from C": (
        "import ctypes\nkind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))\n"
        "values = (ctypes.c_int * 5)(3, 1, 2, 5, 4)\n"
        "ctypes.CDLL(None).qsort(values, 5, 4, kind(lambda a, b: a[0] - b[0])); return list(values)"
    ),
}

WAITING = {
    "select": (
        "import select\nr, w = os.pipe(); os.write(w, b'x'); p = select.poll(); p.register(r)\n"
        "e = select.epoll(); e.register(r); return [len(x) for x in select.select([r], [w], [], 1)], len(p.poll(1)), len(e.poll(1))"
    ),
    "selectors": (
        "import selectors\nr, w = os.pipe(); os.write(w, b'x')\nwith selectors.DefaultSelector() as s:\n"
        "    s.register(r, selectors.EVENT_READ); return len(s.select(1))"
    ),
    "an event": "f = os.eventfd(3); os.eventfd_write(f, 2); return os.eventfd_read(f)",
    "asyncio": (
        "import asyncio\nasync def one(n): await asyncio.sleep(.001); return n\n"
        "async def all_of_them(): return await asyncio.gather(*map(one, range(5))), await asyncio.to_thread(abs, -3)\n"
        "return asyncio.run(all_of_them())"
    ),
    "a pair of sockets": (
        "import socket\na, b = socket.socketpair(); a.settimeout(5); a.sendall(b'xyz'); got = b.recv(2)\n"
        "n, *_ = b.recvmsg(9); b.sendmsg([b'q']); b.shutdown(socket.SHUT_WR)\n"
        "return got, n, a.recv(9), a.recv(9), a.getsockname(), a.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE)"
    ),
    "sleep and clocks": (
        "import time\ntime.sleep(.001); clocks = [time.time(), time.monotonic(), time.process_time(), time.thread_time()]\n"
        "return [c > 0 for c in clocks], time.clock_getres(time.CLOCK_MONOTONIC) > 0, sum(os.times()[:2]) >= 0"
    ),
}

SIGNALS = {
    "alarm": (
        "import signal\nseen = []\nold = signal.signal(signal.SIGALRM, lambda *_: seen.append(1))\n"
        "signal.setitimer(signal.ITIMER_REAL, .005, .005); left = signal.getitimer(signal.ITIMER_REAL)[0] > 0\n"
        "while not seen: signal.pause()\nsignal.setitimer(signal.ITIMER_REAL, 0); signal.alarm(9); return left, bool(seen), signal.alarm(0)"
    ),
    "waited for": (
        "import signal, threading\nsignal.pthread_sigmask(signal.SIG_BLOCK, [10, 12]); os.kill(os.getpid(), 10); pending = signal.sigpending()\n"
        "signal.pthread_kill(threading.get_ident(), 12)\n"
        "return pending, signal.sigwait([10]), signal.sigtimedwait([12], 1).si_signo, signal.sigtimedwait([12], 0)"
    ),
    "caught": (
        "import signal\nseen = []\nsignal.signal(10, lambda n, _: seen.append(n)); signal.raise_signal(10); os.kill(os.getpid(), 10)\n"
        "signal.siginterrupt(10, False); return seen"
    ),
    "time-out of a harness": (
        "import signal\ndef late(*_): raise TimeoutError\nsignal.signal(signal.SIGALRM, late)\n"
        "try:\n    signal.setitimer(signal.ITIMER_REAL, .01)\n    while True: pass\nexcept TimeoutError: return 'over'"
    ),
}

TASKS = {
    "threads": (
        "import threading\nfrom concurrent.futures import ThreadPoolExecutor\nlock, seen = threading.Lock(), []\n"
        "def one(n):\n    with lock: seen.append(n)\n    return n, threading.get_native_id() > 0\n"
        "with ThreadPoolExecutor(8) as pool: found = list(pool.map(one, range(40)))\nreturn found, sorted(seen)"
    ),
    "a deep stack": (
        "import sys, threading\nfound = []\ndef down(n): return n and 1 + down(n - 1)\nold = threading.stack_size(64 << 20)\n"
        "sys.setrecursionlimit(9000); t = threading.Thread(target=lambda: found.append(down(5000))); t.start(); t.join()\nreturn found"
    ),
    "a queue and a timer": (
        "import queue, threading\nq = queue.Queue(); threading.Timer(.001, q.put, [5]).start()\n"
        "event = threading.Event(); return q.get(timeout=5), event.wait(.001)"
    ),
    "numbers": (
        "ids = [os.getpid(), os.getppid(), os.getpgid(0), os.getsid(0), os.getpgrp()]\n"
        "return len(ids), len({os.getuid(), os.geteuid(), *os.getresuid()}), len({os.getgid(), *os.getresgid()}), type(os.getgroups())"
    ),
    "limits": (
        "import resource\nsoft, hard = resource.getrlimit(resource.RLIMIT_NOFILE); resource.setrlimit(resource.RLIMIT_NOFILE, (20, hard))\n"
        "return resource.getrlimit(resource.RLIMIT_NOFILE)[0], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0"
    ),
    "scheduling": (
        "cores = os.sched_getaffinity(0); os.sched_setaffinity(0, cores); os.sched_yield(); os.nice(1); os.setpriority(os.PRIO_PROCESS, 0, 19)\n"
        "low, high = os.sched_get_priority_min(0), os.sched_get_priority_max(0)\n"
        "return len(cores) > 0, os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0), os.sched_getparam(0), low, high, os.sched_rr_get_interval(0) >= 0"
    ),
    "the machine": "import platform; return os.uname().sysname, os.uname().machine, platform.machine(), len(os.urandom(9)), len(os.getrandom(7))",
}

NUMBERS = {
    "numpy": (
        "import numpy as np\na = np.arange(6.0).reshape(2, 3); np.save('a.npy', a); b = np.load('a.npy', mmap_mode='r')\n"
        "q, r = np.linalg.qr(np.eye(60) + 1); m = np.ones((300, 300)) @ np.ones((300, 300))\n"
        "return b.sum().item(), round(float(np.abs(q @ r).sum())), m[0, 0].item(), np.fft.fft([1, 2]).real.tolist()"
    ),
    "decimal, hashes": "import decimal, hashlib, zlib; return decimal.Decimal(2).sqrt(), hashlib.sha256(b'x' * 99999).hexdigest(), zlib.crc32(b'x')",
}

CALLS = {**FILES, **MEMORY, **WAITING, **SIGNALS, **TASKS, **NUMBERS}

PROCESSES = {
    "fork, wait": "pid = os.fork()\nif pid == 0: os._exit(7)\nreturn os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])",
    "wait for its number": "pid = os.fork()\nif pid == 0: os._exit(7)\nreturn os.waitid(os.P_PID, pid, os.WEXITED).si_status",
    "subprocess": "import subprocess, sys; return subprocess.run([sys.executable, '-c', 'print(6 * 7)'], capture_output=True).stdout",
    "spawn": "import sys; return os.waitpid(os.posix_spawn(sys.executable, ['p', '-c', 'pass'], {}), 0)[1]",
    "pool": "from multiprocessing import get_context\nwith get_context('fork').Pool(2) as p: return p.map(abs, [-1, -2])",
    "its own in /proc": "pid = os.fork()\nif pid == 0: os._exit(0)\nseen = os.path.exists(f'/proc/{pid}/stat'); os.waitpid(pid, 0); return seen",
    "group and session": "pid = os.fork()\nif pid == 0:\n    os.setsid()\n    os._exit(os.getsid(0) == os.getpid())\nreturn os.waitpid(pid, 0)[1]",
}
"""Where processes are allowed."""
