"""Which programs are so plain that they cannot reach a grader in their own process."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegrade.grading.contests.screen import plain, plain_without

HONEST = """
print(sum(map(int, input().split())))
---
import sys
input = sys.stdin.readline
sys.setrecursionlimit(10**6)
print(int(input()) + 1)
---
import sys, threading
def main():
    print(1)
threading.stack_size(1 << 26)
t = threading.Thread(target=main)
t.start()
t.join()
---
from collections import defaultdict, deque
from heapq import *
import math as m
d = defaultdict(list)
d[m.gcd(4, 6)].append(1)
heappush(d[2], 3)
---
class Node:
    __slots__ = ('left', 'right')
    def __init__(self, left=None):
        self.left = left
    def __lt__(self, other):
        return self.left < other.left
n = Node(1)
n.right = Node(2)
n.right.left = 4
---
class A:
    def __init__(self):
        self.items = []
class B(A):
    def __init__(self):
        super().__init__()
        self._cache = {}
---
from functools import lru_cache, cmp_to_key
@lru_cache(maxsize=None)
def f(n):
    return n if n < 2 else f(n - 1)
f.cache_clear()
print(sorted([1], key=cmp_to_key(lambda a, b: a - b)))
---
from dataclasses import dataclass, field
@dataclass(order=True)
class P:
    x: int
    y: list = field(default_factory=list)
print(P(1).x)
---
from collections import namedtuple
P = namedtuple('P', 'row col')
print(P(1, 2).row, P(1, 2)._replace(col=3))
---
print('{:.2f} {0}'.format(1.5) if type(1) == int else f'{1.5:>8.3f}', type(1).__name__)
---
string = input()
copy = string[:]
print(copy.upper(), string.count('a'))
---
from decimal import Decimal, getcontext
getcontext().prec = 50
print(Decimal(1) / 3)
---
import re, random, bisect, itertools, operator, os
print(re.compile('a+').findall('aa'), bisect.bisect_left([1], 1), operator.itemgetter(0)([1]))
print(random.randint(1, 2))
---
print(open(0).read())
---
try:
    n = int(input())
except (EOFError, ValueError) as error:
    print(error.args)
finally:
    exit(0)
---
class Solution:
    def f(self, nums: List[int]) -> Optional[int]:
        best = float('inf')
        for i, n in enumerate(nums):
            best = min(best, n)
        return best
""".split("---\n")  # noqa: SIM905 - programs as they are written


@pytest.mark.parametrize("code", HONEST)
def test_what_contest_programs_do_is_plain(code):
    assert plain(code, stdin=True)
    assert plain(code, stdin=False)


def own(*names):
    """A class that makes these attributes the program's own."""
    return "class Own:\n" + "".join(f"    {name} = 1\n" for name in names)


REACHING = {
    "frames": "import sys\nsys._getframe()",
    "frames of a generator": "g = (i for i in [1])\ng.gi_frame",
    "frames of a traceback": "try:\n    1 / 0\nexcept Exception as e:\n    e.__traceback__",
    "traceback of a with statement": "class C:\n    def __exit__(self, kind, error, at):\n        at.tb_frame",
    "own name for an inward attribute": own("f_back") + "x = 1\nx.f_back",
    "class from the type of a type": "T = type(type(1))\nT('E', (), {})",
    "type with three arguments": "type('E', (), {})",
    "type under another name": "t = type",
    "enumeration made of a dictionary": "import enum\nenum.Enum('E', {'a': 1})",
    "special method": "class E:\n    def __eq__(self, other): return 1\n    def __getattr__(self, name): return 1",
    "special method as a name": "class E:\n    __class__ = int",
    "special method as an attribute": "class E: pass\nE.__eq__ = lambda a, b: 1",
    "metaclass": "class M: pass\nclass E(metaclass=M): pass",
    "getattr": "getattr(1, 'real')",
    "getattr under another name": "g = getattr",
    "eval in a default": "def f(x=eval('1')): pass",
    "eval in an annotation": "def f(x: eval('1')): pass",
    "eval in a format": "f'{eval(1)}'",
    "eval by look-alike letters": "\uff45val('1')",
    "exec": "exec('1')",
    "compile": "compile('1', '', 'eval')",
    "globals": "globals()",
    "vars": "vars()",
    "import by name": "__import__('os')",
    "built-ins": "__builtins__",
    "built-ins declared": "def f():\n    global __builtins__\n    __builtins__ = 1",
    "built-ins as a module": "import math as __builtins__",
    "module that is not listed": "import gc",
    "module of a module": "import json.decoder",
    "relative module": "from . import math",
    "name that is not listed": "from sys import modules",
    "module handed out by another": "from statistics import sys",
    "attribute that is not listed": "import os\nos.write(1, b'')",
    "module passed": "import json\ndef f(m):\n    m.loads = 1\nf(json)",
    "module under another name": "import json as j\nk = j",
    "module changed": "import json\njson.loads = 1",
    "module changed by a loop": "import sys\nfor sys.stdout in [1]: pass",
    "module changed by with": "import sys\nwith open(0) as sys.stdin: pass",
    "module changed by deletion": "import sys\ndel sys.stdin",
    "class of the decoder": "JSONDecoder",
    "module behind a variable's name": own("_os", "system") + "def f(random): pass\nrandom._os.system('')",
    "class behind a variable": own("Formatter") + "def f(string): pass\nstring.Formatter",
    "preamble's name made an own one": "def g():\n    settrace = 1\nsettrace(g)",
    "preamble's name": "attrgetter('a')",
    "star of a module that is not the preamble's": "from threading import *",
    "getvalue replaced": "import sys\nsys.stdout.getvalue = 1",
    "attributes copied": "import functools\nfunctools.update_wrapper(1, 2)",
    "format that walks": "'{0.real}'.format(1)",
    "format that walks by an index": "'{0[a]}'.format(1)",
    "format that walks in a width": "'{0:{1.real}}'.format(1, 2)",
    "format of a text made": "('{0.' + 'real}').format(1)",
    "format of the class": "str.format('{}', 1)",
    "format_map": own("format_map") + "'{a.b}'.format_map({})",
    "file": "open('/proc/self/mem')",
    "file by a descriptor": "open(3)",
    "file by a mode": "open(0, 'w')",
    "stream opened anew": own("raw") + "import sys\nsys.stdin.buffer.raw.__init__(3, 'w')",
    "attribute of a pattern": "match 1:\n    case int(real=x): pass",
    "coroutine": "async def f(): pass",
    "attribute nobody defines": "x = 1\nx.ctypes",
    "numpy": "import numpy as np\nnp.array([1])",
    "no Python": "def f(:",
    "too long": "x = 1\n" * 20_000,
    "nested too deeply": "(" * 3000 + ")" * 3000,
}  # fmt: skip


@pytest.mark.parametrize("name", REACHING)
def test_what_might_reach_a_grader_is_not_plain(name):
    assert not plain(REACHING[name], stdin=False)


def test_equality_of_own_objects_is_plain_where_only_text_is_compared():
    code = "class P:\n    def __eq__(self, other):\n        return True"
    assert plain(code, stdin=True)
    assert not plain(code, stdin=False)


def test_names_that_a_script_uses_can_be_kept_from_the_program():
    def kept(code):
        return plain_without(code, frozenset({"print", "stdout"}), frozenset({"json", "list"}))

    assert kept("import json\ndef f(x):\n    return list(x)")
    for code in (
        "print(1)",
        "import sys\nsys.stdout.flush()",
        "import math as json",
        "def list(x): pass",
        "x = eval",
    ):
        assert not kept(code), code


@given(st.text(alphabet="abx_.()='{}:\n importdef0", max_size=60))
def test_any_text_is_read(text):
    assert plain(text, stdin=False) in (True, False)
