"""What rLLM puts around a program before it runs it.

rllm-org/rllm@9beb6e0 ``rllm/rewards/code_utils/utils.py`` BASE_IMPORTS; ``rllm/rewards/code_reward.py``
clean_code_main_block.
"""

from __future__ import annotations

import re

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
