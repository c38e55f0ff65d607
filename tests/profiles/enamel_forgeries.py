"""Code to put behind a slow ``fold(n)``, which it would have look fast; each is tried under `strict`."""

FORGERIES = {
    "clocks that stand": """
import time
for name in dir(time):
    if "time" in name or "perf" in name:
        setattr(time, name, lambda *values: 0.0)
""",
    "no tracing": """
import gc, sys
sys.settrace(None)
sys.setprofile(None)
gc.disable()
""",
    "a thread": """
import threading
slow, done = fold, []
def fold(n):
    thread = threading.Thread(target=lambda: done.append(slow(n)))
    thread.start()
    thread.join()
    return done[-1]
""",
    "another process": """
import os
slow = fold
def fold(n):
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, str(slow(n)).encode())
        os._exit(0)
    return int(os.read(read, 99))
""",
    "another program": """
import subprocess, sys
slow = fold
def fold(n):
    code = f"t=7\\nfor i in range({n}): t=(t*31+i)%1000003\\nprint(t)"
    return int(subprocess.run([sys.executable, "-c", code], capture_output=True).stdout)
""",
    "a pool": """
from concurrent.futures import ProcessPoolExecutor
slow = fold
def fold(n):
    with ProcessPoolExecutor(1) as pool:
        return pool.submit(slow, n).result()
""",
    "answers kept on disk": """
import json
slow, places = fold, (".", "/tmp", "/dev/shm", "/var/tmp")
def fold(n):
    for place in places:
        try:
            with open(f"{place}/kept-{n}") as file:
                return json.load(file)
        except Exception:
            pass
    value = slow(n)
    for place in places:
        try:
            with open(f"{place}/kept-{n}", "w") as file:
                json.dump(value, file)
        except Exception:
            pass
    return value
""",
    "answers kept in a module": """
import sys
slow, kept = fold, sys.__dict__.setdefault("kept", {})
def fold(n):
    if n not in kept:
        kept[n] = slow(n)
    return kept[n]
""",
    "made when loaded": """
made, slow = {n: fold(n) for n in range(29990, 30001)}, fold
def fold(n):
    return made[n] if n in made else slow(n)
""",
    "made when sent": """
slow = fold
class Late(list):
    def __iter__(self):
        return iter([slow(30000)])
def fold(n):
    return Late([n])
""",
    "bytes that claim": """
import marshal
marshal.dumps = lambda value, version=2: b"\\xfa"
""",
    "bytes that break the reader": """
import marshal
marshal.dumps = lambda value, version=2: b"[\\xff\\xff\\xff\\x7f" + b"(\\xff\\xff\\xff\\x7f" * 99
""",
    "no bytes": """
import marshal
marshal.dumps = lambda value, version=2: []
""",
    "leaves early": """
import os
slow = fold
def fold(n):
    if n > 1000:
        os._exit(0)
    return slow(n)
""",
    "answers by itself and leaves": """
import os, sys
from marshal import dumps
slow = fold
def fold(n):
    frame, held = sys._getframe(1), {}
    while frame is not None:
        for known in (frame.f_locals, frame.f_globals):
            for name in ("fd", "token", "batch", "value_frame"):
                if name in known:
                    held.setdefault(name, known[name])
        frame = frame.f_back
    if len(held) < 4:
        return slow(n)
    outputs = [slow(*arguments) for arguments in held["batch"]]
    os.write(held["fd"], held["value_frame"](held["token"], dumps(outputs, 2), 1 << 20))
    os._exit(0)
""",
    "other limits": """
import resource
for name in dir(resource):
    if name.startswith("RLIMIT_"):
        try:
            resource.setrlimit(getattr(resource, name), (-1, -1))
        except Exception:
            pass
""",
    "answers the measurement only": """
import sys
slow = fold
def fold(n):
    return 1 if sys._getframe(1).f_code.co_name != "answer" else slow(n)
""",
}
