"""Programs that show what EvalPlus' sanitizer keeps and drops; each defines or lacks ``add``."""

from __future__ import annotations

import random

ADD = "def add(a, b):\n    return a + b"

QUIRKS = {
    "the first of two": (f"{ADD}\ndef add(a, b):\n    return a - b\n", ADD),
    "no return": ("import math\ndef add(a, b):\n    print(a + b)\n", "import math"),
    "generator": ("x = 1\ndef add(a, b):\n    yield a + b\n", "x = 1\ndef add(a, b):\n    yield a + b\n"),
    "second has the return": (f"def add(a, b):\n    pass\n{ADD}\n", ADD),
    "decorated": (f"import functools\n@functools.cache\n{ADD}\n", "import functools"),
    "future import": (f"from __future__ import annotations\nimport re\n{ADD}\n", f"import re\n{ADD}"),
    "imports go first": (f"{ADD}\nimport re\nfrom math import *\n", f"import re\nfrom math import *\n{ADD}"),
    "main block": (f"{ADD}\nif __name__ == '__main__':\n    add(1, 2)\n", ADD),
    "try is dropped": (f"try:\n    import numpy\nexcept ImportError:\n    pass\n{ADD}\n", ADD),
    "unused helper": (f"def other(x):\n    return x\n{ADD}\n", ADD),
    "named by an attribute": (
        "def plus(a):\n    return a\ndef add(a, b):\n    return a.plus(b)\n",
        "def plus(a):\n    return a\ndef add(a, b):\n    return a.plus(b)",
    ),
    "named by a keyword": (
        "end = 1\ndef add(a, b):\n    return f(end=b)\n",
        "end = 1\ndef add(a, b):\n    return f(end=b)",
    ),
    "not named in a string": ("end = 1\ndef add(a, b):\n    return 'end'\n", "def add(a, b):\n    return 'end'"),
    "name from the right": (f"t[0] = add\n{ADD}\n", "t[0] = add"),
    "constant": (f"MOD: int = 7\n{ADD} % MOD\n", f"MOD: int = 7\n{ADD} % MOD"),
    "tuple is dropped": (f"p, q = 1, 2\n{ADD} + p\n", f"{ADD} + p"),
    "async": ("x = 1\nasync def add(a, b):\n    return a + b\n", "async def add(a, b):\n    return a + b"),
    "class": (f"class Plus:\n    pass\n{ADD} + Plus()\n", f"class Plus:\n    pass\n{ADD} + Plus()"),
    "statements on one line": ("x = 1; y = 2\ndef add(a, b): return x\n", "x = 1\ndef add(a, b): return x"),
    "non-ASCII": (f"π = 'é'; z = 2\n{ADD} + π\n", f"π = 'é'\n{ADD} + π"),
    "only imports": ("import re\nimport math\n", "import re\nimport math"),
    "nothing kept": ("add(1, 2)\nprint(3)\n", "add(1, 2)\nprint(3)\n"),
    "CRLF": ("def add(a, b):\r\n    return a + b\r\nx = 1\r\n", "def add(a, b):\r\n    return a + b"),
    "longest span wins": (f"{ADD}\nHere is a test:\nx = 1\ny = 2\nz = 3\n", "x = 1\ny = 2\nz = 3\n"),
    "comments in a body": (
        f"{ADD};  # a\n        # b\n\n    # c\n# d\n    # e\n",
        f"{ADD};  # a\n        # b\n\n    # c",
    ),
    "comment left of a body": (f"{ADD}  # a\n  # b\n    # c\n", f"{ADD}  # a"),
    "comment behind a line": (
        "import re  # a\ndef add(a): return a  # b\n",
        "import re\ndef add(a): return a  # b",
    ),
    "colours": ("\x1b[32mdef add(a, b):\x1b[0m\n    return a + b\n", ADD),
    "fences": (f"Sure:\n```python\n{ADD}\n```\nDone it is.", ADD),
    "unclosed": (f"```python\n{ADD}\n\nx = (1,", ADD),
}
"""Name to the reply and what is left of it. By the rules of tree-sitter-python's grammar and EvalPlus' code."""

_STATEMENTS = (
    "import re", "from os import path as p, sep", "import a.b as c", "from . import x", "x = 1", "y: int = add",
    "z: list[int]", "x = y = 2", "t['k'] = add", "t.k = x", "t[0] = u = 1", "(x) = 3", "x = (y)", "a, b = x",
    "[a] = b", "x += 1", "add = 5", "f = lambda a: b", "print(x)", "del x", "'text'", "# comment",
    "x = 1; y = x",
    "def add(a, b):\n    return help_(a)", "def add(a):\n    pass", "def help_(x, *, k=y):\n    return x.z",
    "def x():\n    def inner():\n        return C\n    return inner", "def y():\n    yield x",
    "async def z():\n    return await y()", "class C:\n    k = y",
    "class C(x):\n    def add(self):\n        return 1",
    "class add:\n    pass", "@x\ndef add(a):\n    return a", "if x:\n    y = 1", "for a in x:\n    pass",
    "try:\n    pass\nexcept E as x:\n    pass", "with x as y:\n    z = 1", "global_ = {add: x for x in y}",
    "from __future__ import annotations", "def u(x: C = f(k=a)) -> b:\n    return 'x'", "é = 'ü'; w = é",
    "def w():\n    global x, y\n    return 1",
    "def v():\n    if x:\n        return y  # z\n    # w\n  # u", "match x:\n    case C(k=y):\n        pass",
    "not code at all", "```",
)  # fmt: skip


def programs(count: int, seed: int = 1) -> list[str]:
    """Random runs of statements, some broken by text or fences."""
    choose = random.Random(seed)
    return ["\n".join(choose.choices(_STATEMENTS, k=choose.randint(2, 9))) for _ in range(count)]
