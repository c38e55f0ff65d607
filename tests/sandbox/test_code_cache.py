"""Scripts that come again are not compiled again; what they do, and what they can do to others, stays the same."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from truegrade.sandbox import Limits, Sandbox
from truegrade.sandbox.limits import MIB
from truegrade.sandbox.modes import CodeCache

LIMITS = Limits(cpu_s=15, wall_s=90, memory_bytes=512 * MIB, output_bytes=4 * MIB)
ECHO = "import sys\nprint(sys.stdin.read())\n"
CORPUS = (
    ECHO,
    "def f(n):\n    return n * 2\nprint(f(int(input()) if False else 3), __name__, __file__ if 0 else '')",
    "print((1, 2, 'a') is (1, 2, 'a'), 'x' * 3, 1e300, -0.0, 10**50, b'\\x00', ..., {1: [2]})",
    "def f():\n    1 / 0\ndef g():\n    f()\ng()",
    "print('syntax'",
    "x = '\\ud800'\nprint(ascii(x))",
    "import sys\nsys.exit(3)",
    "import os\nos._exit(5)",
    "import os\nos.kill(os.getpid(), 9)",
    "x = [0] * 10**9",
    "class A:\n    def __del__(self): print('gone')\na = A()",
    "import math\nmath.seen = getattr(math, 'seen', 0) + 1\nprint(math.seen, globals().get('math_', 0))",
    "try:\n    open('note').read()\n    print('found')\nexcept OSError:\n    open('note', 'w').write('x')",
    "print('x' * 70_000)\n" + "\n".join(f"k{i} = 'text {i}'" for i in range(4000)),
)


@pytest.fixture(scope="module")
def opened():
    with Sandbox(LIMITS, workers=2, allow_unsafe=True) as sandbox:
        yield sandbox


def _seen(outcome):
    return outcome.status, outcome.detail, outcome.exit_code, outcome.stdout, outcome.stderr


@pytest.mark.parametrize("source", CORPUS, ids=range(len(CORPUS)))
def test_a_run_with_kept_code_ends_like_the_first(source, opened):
    first, *later = (_seen(opened.script(source, "words")) for _ in range(4))
    assert later == [first] * 3


def test_code_is_asked_for_at_the_second_sight_and_used_from_the_third():
    cache = CodeCache()
    with Sandbox(LIMITS, workers=1, allow_unsafe=True, code=cache) as sandbox:
        seen = []
        for number in range(4):
            assert sandbox.script(ECHO, str(number)).stdout == f"{number}\n"
            seen.append((cache.hits, cache.misses, cache.bytes > 0))
    assert seen == [(0, 1, False), (0, 2, True), (1, 2, True), (2, 2, True)]


def test_code_is_kept_for_its_limits_alone():
    keys = {CodeCache.key("1", cpu_s, memory) for cpu_s in (1.0, 2.0) for memory in (1, 2)}
    assert len(keys | {CodeCache.key("2", 1.0, 1)}) == 5


def test_the_code_that_was_used_last_stays():
    cache = CodeCache(max_keys=3, max_bytes=10)
    for name in (b"a", b"b", b"c"):
        cache.keep(name, b"1234")
    assert cache.bytes == 8
    assert [cache.look(name) for name in (b"a", b"b", b"c")] == [(b"", False), (b"1234", False), (b"1234", False)]
    for name in (b"d", b"e", b"f"):
        assert cache.look(name) == (b"", False)
    assert cache.bytes == 0
    assert cache.look(b"d") == (b"", True)


def test_no_program_can_say_what_passes_for_code():
    """It knows the token, which lies in its memory, and sends bytes of its own as its code."""
    forging = (
        "import marshal, struct\n"
        "evil = marshal.dumps(compile('print(666)', 'x', 'exec'))\n"
        "import gc, sys\n"
        "token = sys._getframe(1).f_locals['token']\n"
        "def s(b): return struct.pack('<I', len(b)) + b\n"
        "code = b't' + struct.pack('<I', 3) + b's' + s(b'code') + b'b' + s(token) + b'b' + s(evil)\n"
        "import os\n"
        "os.write(3, s(code))\n"
        "print('mine')\n"
    )
    cache = CodeCache()
    with Sandbox(LIMITS, workers=1, allow_unsafe=True, code=cache) as sandbox:
        outcomes = [sandbox.script(forging) for _ in range(4)]
    assert all("666" not in outcome.stdout for outcome in outcomes)
    assert {outcome.stdout for outcome in outcomes} == {"mine\n"}, outcomes
    # Had its bytes been kept, they would be the shortest.
    assert b"evil" in next(code for code in cache._kept.values() if code)


def test_many_clients_of_one_program_read_their_own_input(opened):
    hostile = (
        "import os, sys\nword = input()\n"
        "if word.startswith('exit'): os._exit(1)\n"
        "if word.startswith('kill'): os.kill(os.getpid(), 9)\n"
        "if word.startswith('memory'): x = [0] * 10**9\n"
        "if word.startswith('loop'):\n    while True: pass\n"
        "print(word)\n"
    )
    kinds = {"exit": "runtime_error", "kill": "killed", "memory": "memory_limit", "loop": "time_limit"}
    words = [f"{kind}{number}" for kind in kinds for number in range(1)] + [f"nonce{n}" for n in range(60)]
    words = words[4:20] + words[:4] + words[20:]
    with ThreadPoolExecutor(64) as clients:
        outcomes = list(
            clients.map(lambda word: opened.script(hostile, word, cpu_s=0.5 if "loop" in word else None), words)
        )
    for word, outcome in zip(words, outcomes, strict=True):
        kind = word.rstrip("0123456789")
        assert outcome.status == kinds.get(kind, "passed"), (word, outcome)
        assert outcome.stdout == ("" if kind in kinds else f"{word}\n")


def test_a_worker_that_dies_under_one_case_leaves_the_others_and_the_code():
    cache = CodeCache()
    with Sandbox(LIMITS, workers=1, allow_unsafe=True, code=cache) as sandbox:
        for word in ("a", "b", "c"):
            assert sandbox.script(ECHO, word).stdout == f"{word}\n"
        slow = "import time\ntime.sleep(1)\nprint('end')"
        with ThreadPoolExecutor(2) as clients:
            (worker,) = sandbox._idle
            running = clients.submit(sandbox.script, slow)
            time.sleep(0.3)
            (zygote,) = [it for (role, _), it in worker._zygotes.items() if role == "child"]
            os.kill(zygote.pid, signal.SIGKILL)
            waiting = clients.submit(sandbox.script, ECHO, "d")
            assert running.result().status == "killed"
            assert waiting.result().stdout == "d\n"
    assert cache.hits == 2
