"""Putting a program together from data set and answer; what rLLM puts around it."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Sequence

import msgspec

from truegrade.extraction.parsing import quietly
from truegrade.files import syntax
from truegrade.records import Answer, FunctionTask, SuiteTask

_FUTURE = re.compile(r"^from __future__ import .*\n?", re.MULTILINE)


def assemble(prefix: str, answer: Answer) -> str:
    """The program to run: the answer behind the trusted prefix.

    A body-only ``completion`` follows the prefix directly, as in the Codex paper (arXiv 2107.03374). A whole
    ``program`` follows it on a new line: the prefix then still supplies imports and helpers, and the answer's
    own definition replaces the stub. ``from __future__`` lines move to the top, where Python wants them.

    Raises:
        ValueError: the answer has no value.
    """
    if answer.value is None:
        raise ValueError("an answer without a value makes no program")
    if answer.form == "completion" or not prefix:
        return prefix + answer.value
    # Python takes them at the top alone, and the prefix would stand in front of them.
    futures = "".join(match.group().rstrip("\n") + "\n" for match in _FUTURE.finditer(answer.value))
    return f"{futures}{prefix}\n{_FUTURE.sub('', answer.value) if futures else answer.value}"


def stub(prefix: str) -> str:
    """The prefix as a whole program: its unfinished last function, if it ends in one, gets an empty body."""
    whole = prefix.rstrip()
    unfinished = whole.endswith(":") or whole[whole.rfind("\n") + 1 :][:1].isspace()
    return whole + ("\n    pass\n" if unfinished else "\n") if whole else ""


class Arrangement(msgspec.Struct, frozen=True):
    """What a judge needs of a task besides its tests."""

    trusted: str
    """Runs before there is a program; where objects cross, in the program's process too, so it says no more than
    imports, the prefix and the classes of the setup."""
    setup: str
    """Runs behind it, ahead of the tests."""
    classes: tuple[str, ...] | None
    """Names of classes of the program, see `truegrade.grading.executor.Executor.judge`."""


def arrange(task: FunctionTask) -> Arrangement:
    """Decide what of a task runs where."""
    modules = [name for name in task.tests_use if name in sys.stdlib_module_names]
    head = "".join(f"import {name}\n" for name in modules) + stub(task.prefix)
    if task.plain_arguments and len(modules) == len(task.tests_use):
        return Arrangement(f"{head}\n{task.setup}\n", "", None)
    body = statements(task.setup)
    shared = [node for node in body if isinstance(node, ast.ClassDef | ast.Import | ast.ImportFrom)]
    rest = [node for node in body if node not in shared]
    return Arrangement(
        trusted=f"{head}\n{_source(shared)}\n",
        setup=f"{_source(rest)}\n",
        classes=tuple(name for name in task.tests_use if name not in modules),
    )


def method_call(task: FunctionTask) -> str:
    """How the tests of a task call a method: the function of the entry point's name with which they begin.

    Empty where the program defines the entry point itself. The class is the one of `FunctionTask.tests_use`.
    """
    if not task.tests_use:
        return ""
    first = next(iter(statements(task.tests)), None)
    if not isinstance(first, ast.FunctionDef) or first.name != task.entry_point:
        return ""
    return "".join(task.tests.splitlines(keepends=True)[: first.end_lineno])


def renamed(program: str, old: str, new: str) -> str:
    """The program, or tests, with a function or method under another name."""
    return program if old == new else re.sub(rf"\b{re.escape(old)}\b", new, program)


def called_class(task: FunctionTask) -> str:
    """The class whose method the tests call (`method_call`); empty where they call a function."""
    return task.tests_use[0] if method_call(task) else ""


def own_part(task: SuiteTask) -> str:
    """What of a suite's reference an answer brings: without what stands before every answer and in no prompt.

    All of it where the rest alone is no program.
    """
    own = task.reference.removeprefix(task.prefix)
    if task.prefix.strip() in task.prompt:
        return task.reference
    try:
        return own.lstrip("\n") if statements(own) else task.reference
    except SyntaxError:
        return task.reference


def statements(source: str) -> list[ast.stmt]:
    """The statements of trusted source.

    Raises:
        SyntaxError: it is no Python.
    """
    with quietly():  # CPython 3.11 confuses the trees that two threads build at once (python/cpython#106905)
        return syntax.parse(source).body


def _source(body: Sequence[ast.stmt]) -> str:
    return ast.unparse(ast.Module(list(body), []))


# ---------------------------------------------------------- What rLLM puts around a program before it runs it.
# rllm-org/rllm@9beb6e0 ``rllm/rewards/code_utils/utils.py`` BASE_IMPORTS; ``rllm/rewards/code_reward.py``
# clean_code_main_block.

_FIRST = {
    "itertools": "accumulate, chain, combinations, count, permutations, product, groupby, islice, repeat",
    "copy": "deepcopy",
    "string": "ascii_lowercase, ascii_uppercase",
    "math": "floor, log2, log10, sqrt, comb, gcd, ceil, inf, isqrt, factorial, atan2, pi",
    "collections": "defaultdict, deque, Counter",
    "bisect": "bisect, bisect_left, bisect_right, insort",
    "heapq": "heappush, heappop, heapify, merge, nlargest, nsmallest, heapreplace",
    "functools": "reduce, cache, lru_cache, cmp_to_key",
    "random": "randrange, shuffle",
    "operator": "itemgetter, sub, xor, or_",
    "re": "search as re_search",
    "os.path": "commonprefix",
    "typing": "List, Tuple, Dict, Set, Optional, Union, Any, Callable, Iterable, Iterator, Generator, Deque",
}
_MODULES = "copy, string, math, collections, bisect, heapq, functools, random, itertools, operator, re, datetime"
_LAST = {
    "math": "log, prod",
    "collections": "deque, defaultdict, Counter, OrderedDict",
    "itertools": "accumulate, permutations, combinations, product, groupby, islice, chain, repeat, zip_longest,"
    " cycle, pairwise",
    "functools": "lru_cache, reduce, partial",
    "operator": "iand",
}
_PACKAGES = {"np|numpy": "import numpy as np\n", "pd|pandas": "import pandas as pd\n"}


def _froms(names: dict[str, str]) -> str:
    return "".join(f"from {module} import {imported}\n" for module, imported in names.items())


def base_imports(source: str) -> str:
    """The imports in front of a program, those of numpy and pandas only where this text has their names.

    Each of the two takes longer to import than most programs to run.
    """
    packages = (line for words, line in _PACKAGES.items() if re.search(rf"\b(?:{words})\b", source))
    head = f"{_froms(_FIRST)}import {_MODULES}\nfrom time import time\n{''.join(packages)}"
    return f"{head}{_froms(_LAST)}import sys\nimport io, os\n"


def without_main_block(code: str) -> str:
    """The program without its main blocks: up to the next line that begins with neither a blank nor a tab."""
    kept: list[str] = []
    inside = False
    for line in code.split("\n"):
        if line.strip().startswith(('if __name__ == "__main__"', "if __name__ == '__main__'")):
            inside = True
            continue
        inside = inside and (not line.strip() or line.startswith((" ", "\t")))
        if not inside:
            kept.append(line)
    return "\n".join(kept)
