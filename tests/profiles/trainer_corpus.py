"""Rows on which the profiles of trainers' rewards are compared with the trainers' code.

Honest and awkward programs, mutants, cheats, and every form of reply.
"""

# ruff: noqa: E501 - programs, one a line

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from contest_rows import contest
from peer_calls import CALLS
from peer_replies import CODES, FORMS, REPLIES, fenced, mutant
from profile_rows import problem

from truegrade.apps.assay.cheats import cheat_probes
from truegrade.records import Problem


@dataclass(frozen=True)
class Row:
    """One reply to one problem."""

    problem: Problem
    reply: str

    @property
    def key(self):
        """Under which the trainer's score is stored."""
        return hashlib.sha256(f"{self.problem.id}\0{self.reply}".encode(errors="backslashreplace")).hexdigest()[
            :10
        ]


@dataclass(frozen=True)
class Rows:
    """The rows of a profile on one form of tests, and who of the trainer's answers for them."""

    profile: str
    reward: str
    """Of `assay_rewards.REWARDS`."""
    function: str
    """Of `reward_adapters`."""
    tests_as: str
    rows: tuple[Row, ...]
    sample: int
    """Every so many-th row is graded by default."""


def _named(id_, found):
    return Problem(id=id_, benchmark=found.benchmark, dataset_sha256="", cluster=id_, task=found.task)


ADD = _named("add", problem("mbpp"))
RUNNING = _named("running", problem(
    "mbpp", entry_point="running", reference="", shown_tests=(),
    tests="assert running([1, 2, 3]) == [1, 3, 6]\nassert running([4]) == [4]\nassert running([]) == []\n"
    "assert running([0.5, 1]) == [0.5, 1.5]",
))  # fmt: skip
_RUNNING = (
    "def running(numbers):\n    total, sums = 0, []\n    for number in numbers:\n        total += number\n"
    "        sums.append(total)\n    return sums\n"
)
FUNCTIONS = {
    "loop": _RUNNING,
    "mutant": mutant(_RUNNING),
    "mutant of the start": _RUNNING.replace("total, sums = 0", "total, sums = 1"),
    "mutant of the end": _RUNNING.replace("return sums", "return sums[:2]"),
    "preamble's name": "def running(numbers):\n    return list(accumulate(numbers))\n",
    "own import": "from itertools import accumulate\n\ndef running(numbers):\n    return list(accumulate(numbers))\n",
    "tuple": "from itertools import accumulate\n\ndef running(numbers):\n    return tuple(accumulate(numbers))\n",
    "generator": "def running(numbers):\n    total = 0\n    for n in numbers:\n        total += n\n        yield total\n",
    "numpy": "import numpy as np\n\ndef running(numbers):\n    return np.cumsum(numbers).tolist()\n",
    "numpy's array": "import numpy as np\n\ndef running(numbers):\n    return np.cumsum(numbers)\n",
    "np unimported": "def running(numbers):\n    return np.cumsum(numbers).tolist()\n",
    "import os": f"import os\n{_RUNNING}",
    "word in a comment": f"# no threading here\n{_RUNNING}",
    "pytest in a comment": f"# checked by pytest\n{_RUNNING}",
    "pytest and no solution": "# pytest\ndef running(numbers):\n    return 0\n\ndef test_running():\n    assert 1\n",
    "a test of its own that fails": f"{_RUNNING}\ndef test_own():\n    assert running([1]) == [2]\n",
    "exit behind": f"{_RUNNING}\nimport sys\nsys.exit(0)\n",
    "exit 1 behind": f"{_RUNNING}\nimport sys\nsys.exit(1)\n",
    "raises behind": f"{_RUNNING}\nraise ValueError\n",
    "exits in the call": "def running(numbers):\n    raise SystemExit(0)\n",
    "raises": "def running(numbers):\n    raise KeyError('x')\n",
    "reads": f"given = input()\n{_RUNNING}",
    "prints": f"{_RUNNING}\nprint('π', running([1]))\n",
    "unicode": f"# ∑ 😀\n{_RUNNING}",
    "type hints unimported": _RUNNING.replace("(numbers)", "(numbers: List[int]) -> Optional[list]"),
    "future": f"from __future__ import annotations\n{_RUNNING}",
    "byte order mark": f"\ufeff{_RUNNING}",
    "CRLF": _RUNNING.replace("\n", "\r\n"),
    "tabs": _RUNNING.replace("    ", "\t"),
    "open bracket": f"{_RUNNING}\nx = (",
    "backslash at the end": f"{_RUNNING}\nx = 1 \\",
    "nested def": "class Solution:\n    def running(self, numbers):\n        return []\n",
    "main block": f"{_RUNNING}\nif __name__ == '__main__':\n    running(1)\n\nx = 1\n",
    "main block, raising": f"{_RUNNING}\nif __name__ == \"__main__\":\n    raise SystemExit(3)\n",
    "changes the argument": "def running(numbers):\n    for i in range(1, len(numbers)):\n"
    "        numbers[i] += numbers[i - 1]\n    return numbers\n",
    "empty": "",
    "comment alone": "# nothing\n",
}  # fmt: skip

SUMS = _named(
    "sums", contest((("2\n1 2\n3 4 5\n", "3\n12\n"), ("1\n70\n", "70\n"), ("2\n5 5\n-1 1\n", "10\n0\n")))
)
HALF = _named("half", contest((("1\n", "0.5\n"), ("2\n", "1.0\n"), ("3", "1.50"))))
WORDS = _named("words", contest((("a b\n", "\nb a \n"), ("é π\n", "\nπ é \n"))))
MANY = _named("many", contest(tuple([(f"{n}\n", f"{n % 11}\n") for n in range(12)])))
_SUMS = "for _ in range(int(input())):\n    print(sum(map(int, input().split())))\n"
_READ = "import sys\nlines = sys.stdin.read().split('\\n')\n"
PROGRAMS = (
    (SUMS, {
        "loop": _SUMS,
        "mutant": _SUMS.replace("sum(", "max("),
        "mutant of the count": _SUMS.replace("int(input())", "1"),
        "int of one": "n = int(input())\nprint(n)\n",
        "trailing blanks": _SUMS.replace("())))", "())), end=' \\n')"),
        "CRLF out": _SUMS.replace("())))", "())), end='\\r\\n')"),
        "CR out": _SUMS.replace("())))", "())), end='\\r')"),
        "empty lines": f"print()\n{_SUMS}print()\nprint()\n",
        "empty lines between": _SUMS.replace("())))", "())), end='\\n\\n')"),
        "no last newline": "n = int(input())\nprint(*[sum(map(int, input().split())) for _ in range(n)], sep='\\n', end='')\n",
        "one line": "n = int(input())\nprint(*[sum(map(int, input().split())) for _ in range(n)])\n",
        "first line alone": "input()\nprint(sum(map(int, input().split())))\n",
        "more lines": f"{_SUMS}print('done')\n",
        "floats": _SUMS.replace("print(sum", "print(1.0 * sum"),
        "nothing": "pass\n",
        "empty": "",
        "exit behind": f"{_SUMS}import sys\nsys.exit(0)\n",
        "exit 1 behind": f"{_SUMS}import sys\nsys.exit(1)\n",
        "exit()": f"{_SUMS}exit()\n",
        "quit(2)": f"{_SUMS}quit(2)\n",
        "raises behind": f"{_SUMS}raise ValueError\n",
        "os._exit": f"{_SUMS}import os\nos._exit(0)\n",
        "import os": f"import os\n{_SUMS}",
        "from os": f"from os import environ\n{_SUMS}",
        "threading": "import threading\ndef main():\n" + "".join(f"    {line}\n" for line in _SUMS.splitlines())
        + "thread = threading.Thread(target=main)\nthread.start()\nthread.join()\n",
        "word in a comment": f"# shutil\n{_SUMS}",
        "main": "def main():\n    for _ in range(int(input())):\n        print(sum(map(int, input().split())))\n\n"
        "if __name__ == '__main__':\n    main()\n",
        "main, double quotes": "def main():\n    for _ in range(int(input())):\n"
        "        print(sum(map(int, input().split())))\n\nif __name__ == \"__main__\":\n    main()\n",
        "class Solution": "class Solution:\n    def f(self):\n        pass\n\n" + _SUMS,
        "stdin.read": f"{_READ}for line in lines[1:int(lines[0]) + 1]:\n    print(sum(map(int, line.split())))\n",
        "stdin.readlines": "import sys\nlines = sys.stdin.readlines()\nfor line in lines[1:int(lines[0]) + 1]:\n"
        "    print(sum(map(int, line.split())))\n",
        "iterates": "import sys\nnext(sys.stdin)\nfor line in sys.stdin:\n    print(sum(map(int, line.split())))\n",
        "input alias": "import sys\ninput = sys.stdin.readline\n" + _SUMS,
        "buffer": "import sys\nlines = sys.stdin.buffer.read().split(b'\\n')\n"
        "for line in lines[1:int(lines[0]) + 1]:\n    print(sum(map(int, line.split())))\n",
        "open(0)": "lines = open(0).read().split('\\n')\nfor line in lines[1:int(lines[0]) + 1]:\n"
        "    print(sum(map(int, line.split())))\n",
        "stdout.write": "import sys\nfor _ in range(int(input())):\n"
        "    sys.stdout.write(str(sum(map(int, input().split()))) + '\\n')\n",
        "stderr": f"import sys\n{_SUMS}print('x', file=sys.stderr)\n",
        "stdout closed": f"import sys\n{_SUMS}sys.stdout.flush()\nsys.stdout.close()\n",
        "recursion": f"import sys\nsys.setrecursionlimit(10 ** 6)\ndef f(n):\n    return n and f(n - 1)\nf(3000)\n{_SUMS}",
        "recursion without leave": f"def f(n):\n    return n and f(n - 1)\nf(3000)\n{_SUMS}",
        "preamble's name": "n = int(input())\nfor _ in range(n):\n    print(reduce(add, map(int, input().split())))\n",
        "numpy": "import numpy as np\nfor _ in range(int(input())):\n    print(np.array(input().split(), int).sum())\n",
        "reads too much": f"{_SUMS}input()\n",
        "tabs": _SUMS.replace("    ", "\t"),
        "CRLF": _SUMS.replace("\n", "\r\n"),
        "byte order mark": f"\ufeff{_SUMS}",
        "unicode comment": f"# ∑ of π\n{_SUMS}",
        "emoji": f"# 😀\n{_SUMS}",
        "syntax error": f"{_SUMS}x = (\n",
        "bad indentation": f"  {_SUMS}",
        "large program": f"{_SUMS}# {'x' * 5000}\n",
        "program beyond an argument": f"{_SUMS}# {'x' * 140_000}\n",
        "__file__": f"__file__\n{_SUMS}",
        "__name__": f"assert __name__ == '__main__'\n{_SUMS}",
        "global": f"n = 0\ndef f():\n    global n\n    n += 1\nf()\n{_SUMS}",
        "function before its global": "def f():\n    return k\nk = 1\nf()\n" + _SUMS,
        "file": f"open('f', 'w').write('x')\nassert open('f').read() == 'x'\n{_SUMS}",
        "subprocess": f"import subprocess\nsubprocess.run(['true'])\n{_SUMS}",
        "tempfile": f"import tempfile\ntempfile.mkdtemp()\n{_SUMS}",
        "NUL printed": f"{_SUMS}print('\\0', end='')\n",
        "form feed printed": f"{_SUMS}print('\\f', end='')\n",
    }),
    (HALF, {
        "float": "print(int(input()) / 2)\n",
        "two digits": "print(f'{int(input()) / 2:.2f}')\n",
        "one digit": "print(f'{int(input()) / 2:.1f}')\n",
        "comma": "print(str(int(input()) / 2).replace('.', ','))\n",
        "nan": "print('nan')\n",
        "exponent": "print(f'{int(input()) / 2:e}')\n",
    }),
    (WORDS, {
        "reversed": "print()\nprint(*reversed(input().split()))\n",
        "with its blank": "print()\nprint(*reversed(input().split()), end=' \\n')\n",
        "nothing": "pass\n",
        "without the empty line": "print(*reversed(input().split()))\n",
        "ascii": "print()\nprint(ascii(input()))\n",
        "bytes": "import sys\nsys.stdout.buffer.write(('\\n' + ' '.join(reversed(input().split())) + ' \\n').encode())\n",
        "another coding": "import sys\nsys.stdout.buffer.write(('\\n' + ' '.join(reversed(input().split())) + ' \\n')"
        ".encode('utf-16'))\n",
    }),
    (MANY, {
        "right": "print(int(input()) % 11)\n",
        "right up to the tenth": "n = int(input())\nprint(n if n < 10 else -1)\n",
        "wrong at the tenth": "n = int(input())\nprint(n if n < 9 else -1)\n",
        "sleeps": "import time\ntime.sleep(0.01)\nprint(int(input()) % 11)\n",
    }),
)  # fmt: skip
ENDLESS = "while True:\n    pass\n"
_VALUES = _named("values", contest((("3", "4"), ("7\n1", "8"), ('"a"', '"a"')), "f"))
_LISTS = _named("lists", contest((("[1, 2]", "[2, 3]"), ("[]", "[]")), "f"))
CALLED = (
    (_VALUES, {
        "add": "def f(x, y=1):\n    return x + y\n",
        "texts as they are": "def f(x, y=1):\n    return x if x == 'a' else x + y\n",
        "texts in quotes": "def f(x, y=1):\n    return '\"a\"' if x == 'a' else x + y\n",
        "floats": "def f(x, y=1):\n    return '\"a\"' if x == 'a' else float(x + y)\n",
        "prints": "def f(x, y=1):\n    print('\"a\"' if x == 'a' else x + y)\n",
        "None": "def f(x, y=1):\n    return None\n",
        "raises": "def f(x, y=1):\n    raise ValueError\n",
        "exits": "def f(x, y=1):\n    raise SystemExit(0)\n",
        "another name": "def g(x, y=1):\n    return x + y\n",
        "Solution": "class Solution:\n    def f(self, x, y=1):\n        return '\"a\"' if x == 'a' else x + y\n",
        "Solution that takes": "class Solution:\n    def __init__(self, n):\n        pass\n",
        "f is zero": "f = 0\n",
    }),
    (_LISTS, {
        "list": "def f(xs):\n    return [x + 1 for x in xs]\n",
        "tuple": "def f(xs):\n    return tuple(x + 1 for x in xs)\n",
        "generator": "def f(xs):\n    return (x + 1 for x in xs)\n",
        "set": "def f(xs):\n    return {x + 1 for x in xs}\n",
        "numpy": "import numpy as np\ndef f(xs):\n    return np.array(xs) + 1\n",
        "preamble's name": "def f(xs):\n    return list(accumulate(xs))\n",
        "typed": "def f(xs: List[int]) -> List[int]:\n    return [x + 1 for x in xs]\n",
        "text": "def f(xs):\n    return str([x + 1 for x in xs])\n",
        "future": "from __future__ import annotations\ndef f(xs):\n    return [x + 1 for x in xs]\n",
        "import os": "import os\ndef f(xs):\n    return [x + 1 for x in xs]\n",
        "recursion": "def f(xs):\n    return xs and [xs[0] + 1] + f(xs[1:])\n",
        "an object": "class A:\n    pass\ndef f(xs):\n    return [A()]\n",
    }),
)  # fmt: skip


def _cheats(form, entry_point):
    # No scores are stored yet for what these two channels send to programs on standard input.
    new = ("report", "switches") if form == "stdio" else ()
    probes = [probe for probe in cheat_probes("cheats", entry_point, form) if probe.channel not in new]
    return [probe.code if probe.form == "reply" else fenced(probe.code) for probe in probes]


def _rows(task, replies):
    return [Row(task, reply) for reply in replies]


def functions(*, every=1, more=()):
    """Replies that define a function."""
    found = _rows(RUNNING, map(fenced, FUNCTIONS.values())) + _rows(ADD, [*_cheats("function", "add"), *more])
    return found + _rows(ADD, REPLIES[::every])


def stdio(*, endless=False, tagged=lambda reply: reply):
    """Replies that are programs on standard input."""
    found = [(task, fenced(code)) for task, programs in PROGRAMS for code in programs.values()] + [
        (SUMS, reply) for reply in _cheats("stdio", "")
    ]
    found += [(SUMS, form.replace("{code}", code)) for form in FORMS.values() for code in (_SUMS, CODES["empty"])]
    found += [(SUMS, "no code at all"), (SUMS, ""), (SUMS, "``` ```"), (SUMS, f"````python\n{_SUMS}````")]
    return [Row(task, tagged(reply)) for task, reply in found] + ([Row(MANY, fenced(ENDLESS))] if endless else [])


def tagged(reply):
    """As code-r1 wants it."""
    return f"<think>\nso\n</think>\n<answer>\n{reply.strip()}\n</answer>"


def _untagged():
    whole, code = tagged(fenced(_SUMS)), fenced(_SUMS)
    return [
        code, f" {whole}\n\n", f"{whole}.", whole.replace("</think>", ""), whole.replace("<think>", "", 1),
        f"<think></think><answer>{code}</answer>", f"<think><answer></think>{code}</answer>",
        f"<think></think><answer>nothing</answer><answer>{code}</answer>",
        f"<think></think><answer>{code}</answer> and <answer>{code}</answer>",
        f"<think>{code}</think><answer>see above</answer>", f"<think></think></answer>{code}<answer></answer>",
        f"<think></think><answer>{code}\n{fenced('print(1)')}</answer>",
    ]  # fmt: skip


_CALLS = [fenced(code) for code in CALLS.values()]
TRAINERS = (
    Rows("open-instruct", "open-instruct-asserts", "open_instruct", "asserts",
         (*functions(more=[*_CALLS, fenced(ENDLESS)]),), 12),
    Rows("open-instruct", "open-instruct-stdio", "open_instruct", "stdio", (*stdio(),), 7),
    Rows("open-r1", "open-r1", "open_r1", "stdio", (*stdio(),), 7),
    Rows("verl-sandbox-fusion", "verl-fusion-asserts", "verl_sandbox_fusion", "asserts", (*functions(),), 12),
    Rows("verl-sandbox-fusion", "verl-fusion-stdio", "verl_sandbox_fusion", "stdio", (*stdio(),), 7),
    Rows("verl-sandbox-fusion", "verl-fusion-stdio", "verl_sandbox_fusion", "taco",
         tuple([Row(task, fenced(code)) for task, codes in CALLED for code in codes.values()]), 3),
    Rows("rllm-kodcode", "rllm-kodcode", "rllm_kodcode", "pytest", (*functions(every=8),), 24),
    Rows("rllm-humanevalplus", "rllm-humanevalplus", "rllm_humanevalplus", "taco", (*functions(every=8),), 12),
    Rows("code-r1", "code-r1-asserts", "code_r1_tagged", "asserts",
         tuple([Row(row.problem, tagged(row.reply)) for row in functions(every=8)]), 12),
    Rows("code-r1", "code-r1-stdio", "code_r1_tagged", "stdio",
         (*stdio(tagged=tagged), *_rows(SUMS, _untagged())), 7),
)  # fmt: skip
