"""Completions of mixed quality for the problems, as models word them: right, wrong, failing, badly fenced."""

from __future__ import annotations

import textwrap

from livecodebench_corpus.problems import PROBLEMS, ContestProblem

# How a program hands its input to the solver and its result to the output; ``{name}`` is the solver.
READERS = (
    "import sys\nsys.stdout.write({name}(sys.stdin.read()))\n",
    "import sys\nprint({name}(sys.stdin.buffer.read().decode()), end='')\n",
    "import sys\n\ndef main():\n    print({name}(sys.stdin.read()))\n\nif __name__ == '__main__':\n    main()\n",
    ("import sys\ninput = sys.stdin.readline\nlines = []\nwhile True:\n    line = input()\n    if not line:\n        break\n"
    "    lines.append(line)\nprint({name}(''.join(lines)))\n"),
    "lines = []\ntry:\n    while True:\n        lines.append(input())\nexcept EOFError:\n    pass\nprint({name}('\\n'.join(lines)))\n",
    "import sys\nprint({name}(''.join(line for line in sys.stdin)))\n",
    "from sys import stdin\nprint({name}(stdin.read()))\n",
    "from sys import stdin, stdout\nstdout.write({name}(stdin.read()))\n",
    "import sys\nfirst = sys.stdin.readline()\nprint({name}(first + sys.stdin.read()))\n",
    "print({name}(open(0).read()))\n",
    ("import sys, threading\ndef main():\n    print({name}(sys.stdin.read()))\nsys.setrecursionlimit(10**6)\n"
    "threading.stack_size(1 << 26)\nt = threading.Thread(target=main)\nt.start()\nt.join()\n"),
    "import sys\ndef main():\n    print({name}(sys.stdin.read()))\n    sys.exit(0)\nmain()\n",
    "import sys\nprint({name}('\\n'.join(sys.stdin.readlines())))\n",
)  # fmt: skip

# How a reply holds its program; ``{code}`` is the program.
REPLIES = (
    "```python\n{code}```",
    "Here is the solution:\n\n```python\n{code}```\n\nIt runs in linear time.\n",
    "First the idea:\n\n```\nread, solve, print\n```\n\nand now\n\n```python\n{code}```\n",
    "```python\n{code}```\n\nFor example:\n\n```\n3\n```\n",
    "```python\n{code}```\n\nUse ```print``` to see it.\n",
    "```python\n{code}",
    "{code}",
    "1. The program:\n\n{indented}\n",
    "~~~python\n{code}~~~\n",
    "````python\n{code}````\n",
    "```py\n{code}``` and that is all\n",
    "<think>\n```python\npass\n```\n</think>\n```python\n{code}```\n",
)


def completions(problem: ContestProblem, number: int) -> list[tuple[str, str]]:
    """(program, completion) pairs; the program is what a reader sees, the completion what the model sent."""
    sources = [problem.source, problem.source]
    for old, new in problem.edits:
        assert old in problem.source, (problem.name, old)
        sources.append(problem.source.replace(old, new))
    pairs = []
    for turn, source in enumerate(sources):
        code = _program(problem, source, number + turn)
        indented = textwrap.indent(f"```python\n{code}```", "   ")
        replies = (REPLIES[0], REPLIES[(number + turn) % len(REPLIES)])
        pairs += [(code, reply.replace("{code}", code).replace("{indented}", indented)) for reply in replies]
    return pairs


def _program(problem: ContestProblem, source: str, turn: int) -> str:
    if not problem.functional:
        reader = READERS[turn % len(READERS)].replace("{name}", problem.name)
        imports, line = reader.split("\n", 1) if reader.startswith(("import", "from")) else ("", reader)
        return f"{imports}\n{source}\n{line}"
    if turn % 4 == 0:
        return source
    method = textwrap.indent(source.replace(f"def {problem.name}(", f"def {problem.name}(self, ", 1), "    ")
    method = method.replace(f" {problem.name}(n ", f" self.{problem.name}(n ")
    head = ("", "from typing import List\n\n", "import math\nfrom collections import defaultdict\n\n")[turn % 3]
    return f"{head}class Solution:\n{method}"


ROWS = tuple(
    (f"{problem.name} #{index}", problem, code, completion)
    for number, problem in enumerate(PROBLEMS)
    for index, (code, completion) in enumerate(completions(problem, number))
)
"""(name, problem, program, completion) of every row."""

RECORDED_IN_FULL = ("climb #8", "merge #6", "primes #4", "mean #6", "components #10", "queries #0")
"""Rows whose grading on all tests is in the golden file: the last is right, the others fail at contest size."""


def name_in_full(name: str) -> str:
    """Of a row graded on all tests, in the golden file."""
    return f"{name}, all tests"
