"""Replies as models write them, and worse: material for comparing profiles with the harnesses they follow."""

from __future__ import annotations

import ast
import warnings

FENCE = "```"

CODES = {
    "whole": "def add(a, b):\n    return a + b\n",
    "body": "    return a + b\n",
    "compound body": "    total = 0\n    for x in (a, b):\n        total += x\n    return total\n",
    "imports apart": "import math\nfrom typing import List\n\n\n"
    "def add(a, b):\n    return int(math.fsum([a, b]))\n",
    "helper first": "def plus(a, b):\n    return a + b\n\n\ndef add(a, b):\n    return plus(a, b)\n",
    "class": "class Solution:\n    def add(self, a, b):\n        return a + b\n",
    "defined twice": "def add(a, b):\n    return a - b\n\n\ndef add(a, b):\n    return a + b\n",
    "main block": 'def add(a, b):\n    return a + b\n\n\nif __name__ == "__main__":\n    print(add(1, 2))\n',
    "main block, single quotes": "def add(a, b):\n    return a + b\n\nif __name__ == '__main__':\n    add(1)\n",
    "own asserts": "def add(a, b):\n    return a + b\n\nassert add(1, 2) == 3\nprint(add(1, 2))\n",
    "docstring": 'def add(a, b):\n    """Add.\n"""\n    return a + b\n',
    "example": "def add(a, b):\n    return a + b\n\n# Example usage\nprint(add(1, 2))\n",
    "CRLF": "def add(a, b):\r\n    return a + b\r\n",
    "tabs": "def add(a, b):\n\treturn a + b\n",
    "two blanks": "def add(a, b):\n  return a + b\n",
    "no newline": "def add(a, b): return a + b",
    "comment": "# adds\nimport math\n# two numbers\ndef add(a, b):\n\n    return a + b\n\n",
    "exit": "def add(a, b):\n    import sys\n    sys.exit(0)\n",
    "empty": "",
}

FORMS = {
    "raw": "{code}",
    "python": "```python\n{code}```",
    "python, prose": "Here is the function:\n\n```python\n{code}```\n\nIt adds `a` and `b`.\n",
    "py": "```py\n{code}```\n",
    "Python": "```Python\n{code}\n```\n",
    "bare": "```\n{code}```\n",
    "info": "```python title=add.py\n{code}```\n",
    "blank after the tag": "```python \n{code}```\n",
    "tildes": "~~~python\n{code}~~~\n",
    "unclosed": "```python\n{code}",
    "unclosed bare": "Sure!\n```\n{code}",
    "continued": "{code}```\n",
    "continued, newline": "{code}\n```\nThis adds.\n",
    "two": "```python\n# pseudocode: add the two\n```\n\n```python\n{code}```\n",
    "bare, then python": "```\nadd(1, 2)\n```\n\n```python\n{code}```\n",
    "thinking": "<think>I could write ```python\nx = 1``` but no.</think>\n```python\n{code}```\n",
    "done": "[BEGIN]\n{code}[DONE]\n\nYou are an expert",
    "indented": "1. Write it:\n\n    ```python\n{code}    ```\n",
    "one line": "Use ```python x = 1``` or\n{code}",
    "language inside": "```\npython\n{code}```\n",
}

REPLIES = tuple(form.replace("{code}", code) for form in FORMS.values() for code in CODES.values())
"""Every code in every form, 380 in all."""

ALWAYS_EQUAL = (
    "type('E', (), {'__eq__': lambda s, o: True, '__hash__': lambda s: 1, '__lt__': lambda s, o: True,"
    " '__sub__': lambda s, o: 0, '__abs__': lambda s: 0})()"
)
CHEATS = {
    "always equal": f"    return {ALWAYS_EQUAL}\n",
    "sys.exit(0)": "    import sys\n    sys.exit(0)\n",
    "os._exit(0)": "    import os\n    os._exit(0)\n",
    "SystemExit": "    raise SystemExit(0)\n",
}
"""Function bodies that hold no solution."""


def fenced(code: str, language: str = "python") -> str:
    """The code in a fence, on lines of its own."""
    return f"{FENCE}{language}\n{code.rstrip()}\n{FENCE}\n"


OTHERS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Lt: ast.GtE,
    ast.Gt: ast.LtE,
    ast.Eq: ast.NotEq,
    ast.LtE: ast.Gt,
    ast.GtE: ast.Lt,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
}


class _Swap(ast.NodeTransformer):
    """Turns the first operator that it meets into another one."""

    done = False

    def generic_visit(self, node):
        other = OTHERS.get(type(node))
        if other is not None and not self.done:
            self.done = True
            return other()
        return super().generic_visit(node)


def mutant(code: str) -> str:
    """The program with its first operator swapped for another."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MBPP has invalid escapes
        return ast.unparse(_Swap().visit(ast.parse(code)))
