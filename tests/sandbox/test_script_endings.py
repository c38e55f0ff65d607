"""A script ends as in an interpreter of its own, whichever way its process is ended."""

import json
import re
import subprocess
import sys

import pytest

from support.thorough import one_in
from truegrade.grading.contests import inside
from truegrade.grading.contests.separate import PREAMBLE
from truegrade.sandbox import Limits, Sandbox
from truegrade.sandbox.zygotes import CONTEST_IMPORTS

THREAD = (
    "import threading\nthreading.stack_size(1 << 24)\n"
    "t = threading.Thread(target=print, args=(1,))\nt.start()\nt.join()\n"
)
"""As contest programs that recurse deeply."""
SCRIPTS = {
    "nothing": "",
    "output": "print(input())",
    "exit codes": "import sys\nprint(1)\nsys.exit(7)",
    "exit with a text": "raise SystemExit('words')",
    "exit with a large number": "raise SystemExit(256 + 3)",
    "exit with a negative number": "raise SystemExit(-1)",
    "exit with true": "raise SystemExit(True)",
    "an exit of one's own": "class Exit(SystemExit): pass\nraise Exit(4)",
    "__del__ of a global": "class A:\n    def __del__(self): print('gone')\na = A()",
    "__del__ of a slotted one": "class A:\n    __slots__ = ()\n    def __del__(self): print('gone')\na = A()",
    "__del__ set later": "class A: pass\nsetattr(A, '__d' + 'el__', lambda self: print('gone'))\na = A()",
    "__del__ in a cycle": "class A:\n    def __del__(self): print(len('abc'))\na = A()\na.a = a\ndel a",
    "__del__ in an attribute of a module": "import math\nclass A:\n    def __del__(self): print(1)\nmath.a = A()",
    "file over 1": "out = open(1, 'w', closefd=False)\nout.write('held')",
    "file over 1, hidden": "import io\nout = getattr(io, 'op' + 'en')(1, 'wb', closefd=False)\nout.write(b'held')",
    "stdout replaced": "import io, sys\n"
    "sys.stdout = io.TextIOWrapper(open(1, 'wb', closefd=False))\nprint('held')",
    "stdout replaced by an object": "import sys\nclass O:\n"
    "    def write(self, t): sys.__stdout__.write(t.upper())\n"
    "    def flush(self): sys.__stdout__.write('flushed')\nsys.stdout = O()\nprint('words')",
    "suspended generator": "def g():\n    try: yield 1\n    finally: print('finally')\nh = g()\nnext(h)",
    "coroutine": "async def f(): pass\nc = f()",
    "atexit": "import atexit\natexit.register(print, 'at exit')\nprint('first')",
    "weakref.finalize": "import weakref\nclass A: pass\na = A()\nweakref.finalize(a, print, 'final')",
    "weakref with a callback": "import weakref\nclass A: pass\n"
    "a = A()\nr = weakref.ref(a, lambda _: print('dead'))",
    "thread": "import threading, time\n"
    "threading.Thread(target=lambda: (time.sleep(0.05), print('late'))).start()\nprint('soon')",
    "thread with a larger stack": f"{THREAD}print('after')",
    "thread that is still there": "import threading, time\n"
    "threading.Thread(target=time.sleep, args=(0.05,)).start()\nprint('soon')",
    "WeakSet": "import weakref\nclass A:\n    def __hash__(self): return print('hashed') or 1\n"
    "a = A()\ns = weakref.WeakSet([a])",
    "WeakSet of what has a __del__": "import weakref\nclass A:\n    def __del__(self): print('gone', len(s))\n"
    "a = A()\ns = weakref.WeakSet([a])",
    "callback of the name": "import weakref\nclass A: pass\na = A()\ndef _remove(item): print('dead')\n"
    "r = weakref.ref(a, _remove)",
    "files that are read": "read, whole = open(0).readline, open(0, 'rb')\n"
    "raw = open('/dev/null', 'rb', buffering=0)",
    "files that are read, and warnings": "import warnings\n"
    "warnings.simplefilter('always')\nread = open(0).readline",
    "reader of one's own": "import io\nclass R(io.RawIOBase):\n    def close(self): print('closed')\n"
    "    def readable(self): return True\nf = io.TextIOWrapper(io.BufferedReader(R()))",
    "file of one's own": "import io\nclass F(io.FileIO):\n    def close(self): print('closed')\nf = F(0)",
    "texts and bytes": "import io\ns, b = io.StringIO('a'), io.BytesIO(b'b')",
    "bytes of one's own": "import io\nclass B(io.BytesIO):\n    def close(self): print('closed')\nb = B()",
    "generator that catches nothing": "g = (i for i in range(3))\nnext(g)",
    "generator that hands on": "class I:\n    def __iter__(self): return self\n    def __next__(self): return 1\n"
    "    def close(self): print('closed')\ndef g(): yield from I()\nh = g()\nnext(h)",
    "pool of threads": "from concurrent.futures import ThreadPoolExecutor as P\n"
    "p = P(2)\np.submit(print, 'worked')",
    "exception": "def f(x):\n    return 1 / x\nprint('before')\nf(0)",
    "exception with __del__": "class A:\n    def __del__(self): print('gone')\na = A()\n1 / 0",
    "chained": "try:\n    1 / 0\nexcept ZeroDivisionError:\n    {}['x']",
    "syntax": "print(1\n",
    "closed stdout": "import sys\nsys.stdout.close()",
    "closed descriptor": "import os\nprint('lost')\nos.close(1)",
    "isinstance": "from collections.abc import Sequence\nprint(isinstance([], Sequence), isinstance(1, Sequence))",
    "large": "x = [[i] for i in range(200_000)]\nprint(len(x))",
}


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(Limits(cpu_s=10.0), workers=1) as opened:
        yield opened


@pytest.mark.parametrize("preamble", ["", PREAMBLE], ids=["alone", "behind the imports of contests"])
@pytest.mark.parametrize("name", one_in(2, SCRIPTS))
def test_a_script_ends_as_in_an_interpreter_of_its_own(name, preamble, sandbox, tmp_path):
    source = preamble + SCRIPTS[name]
    (tmp_path / "program.py").write_text(source)
    flags = ["-S", "-s", "-P"]
    alone = subprocess.run(
        [sys.executable, *flags, "program.py"],
        input="words",
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=30,
        env={"PYTHONHASHSEED": "0", "LANG": "C.UTF-8"},
    )
    outcome = sandbox.script(source, "words")
    assert outcome.exit_code == alone.returncode
    assert outcome.stdout == alone.stdout
    theirs = alone.stderr.replace(f"{tmp_path}/program.py", "<program>").replace("program.py", "<program>")
    assert _words(outcome.stderr) == _words(theirs)


def _words(stderr: str) -> list[str]:
    """Lines without the marks below a statement, and with no address in them.

    Nor with what Python 3.13 says at its end of a descriptor that two files closed: no verdict reads that.
    """
    stderr = re.sub(r"Exception ignored in: <_io\.Buffered.*\nOSError: \[Errno 9\].*\n?", "", stderr)
    return [line.split(" at 0x")[0].rstrip() for line in stderr.splitlines() if line.strip(" ^~")]


@pytest.mark.parametrize("size", [0, 1, 5_000_000])
def test_what_a_script_reads_comes_after_its_job(size, sandbox):
    text = "x" * size
    outcome = sandbox.script("import sys\nprint(len(sys.stdin.read()), open('/dev/stdin').read() == '')", text)
    assert outcome.stdout.split()[0] == str(size)


@pytest.mark.parametrize(
    "source",
    ["1", THREAD, "read = open(0).readline", "g = (i for i in range(3))\nnext(g)"],
    ids=["nothing", "thread", "file", "generator"],
)
def test_a_short_script_costs_no_ending_of_the_interpreter(source, sandbox):
    runs = 20

    def cost(source):
        return sum(sandbox.script(source).cpu_s for _ in range(runs))

    cost(source)
    # The second is what an ending of the interpreter takes besides.
    assert cost(source) < 0.6 * cost(f"class A:\n    def __del__(self): pass\n{source}")


def test_a_script_behind_the_contests_imports_finds_all_that_they_bind_and_its_lines_at_their_numbers(sandbox):
    assert PREAMBLE.startswith(CONTEST_IMPORTS)  # else every test of a contest would run them anew
    look = f"fresh = {{}}\nexec({CONTEST_IMPORTS!r}, fresh)\ndel fresh['__builtins__']\n"
    look += "print([name for name, value in fresh.items() if globals()[name] is not value])\n"
    look += "print(sorted(set(globals()) - set(fresh)), __name__)\n1 / 0\n"
    for source, others in [(PREAMBLE + look, ["fresh"]), ("import sys\n" + PREAMBLE + look, ["fresh"])]:
        found = sandbox.script(source, "")
        dunders = ["__builtins__", "__doc__", "__loader__", "__name__", "__package__", "__spec__"]
        assert found.stdout == f"[]\n{dunders + others} __main__\n"
        assert f"line {source.count(chr(10))}, in <module>" in found.stderr


def test_a_script_leaves_nothing_in_the_module_of_the_next_that_begins_with_the_same_imports(sandbox):
    assert sandbox.script(f"{PREAMBLE}kept = 1\ndel heappush\nprint(ceil(0.5))", "").stdout == "1\n"
    after = sandbox.script(f"{PREAMBLE}print('kept' in globals(), heappush.__name__)", "")
    assert after.stdout == "False heappush\n"


LOOK = """
def look(text):
    import builtins
    fresh, given = {}, globals()["__builtins__"]
    exec(text, fresh)
    del fresh["__builtins__"]
    others = [name for name, value in fresh.items() if given.get(name) is not value]
    more = sorted(set(given) - set(fresh) - set(vars(builtins)))
    given["ceil"] = None  # which the next process is not to see
    return others, more, "ceil" in globals()
"""


@pytest.mark.parametrize("preamble", [PREAMBLE, "import sys\n" + PREAMBLE, "import heapq as heap\n"])
def test_a_contest_function_finds_the_names_of_its_preamble_as_it_finds_built_ins(sandbox, preamble):
    program, compiled = inside.solution(LOOK)
    calls = [(compiled, LOOK, preamble), *[(b"", "look", json.dumps(preamble))] * 2]
    found = []
    sandbox.call(
        program, inside.ENTRY_POINT, calls, lambda index, result: found.append(result.value) or True, forks=True
    )
    assert found == [None, *[([], [], False)] * 2]
