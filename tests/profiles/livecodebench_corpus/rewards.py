"""Replies and outputs that trainers' rewards take apart differently: wording, comparison, partial success, names."""

from livecodebench_corpus.cases import Case, method, stdin

SUM = "print(sum(map(int, input().split())))\n"


def fenced(code: str) -> str:
    """A reply that is nothing but the program."""
    return f"```python\n{code}\n```"


def texts() -> dict[str, str]:
    """One right program, worded in every way."""
    block, other = fenced(SUM), "```\n1 2\n```"
    return {
        "plain": block, "no fence": SUM, "prose alone": "I cannot solve this.", "nothing": "", "spaces": "  \n ",
        "block behind": f"{block}\nFor example:\n{other}\n", "block ahead": f"{other}\nand\n{block}",
        "two programs": f"{fenced('print(1)')}\n{block}", "program, then wrong": f"{block}\n{fenced('print(1)')}",
        "unclosed": f"```python\n{SUM}", "unclosed behind": f"{block}\n```python\nprint(1)", "odd": f"```\n{block}",
        "no word": f"```\n{SUM}```", "py": f"```py\n{SUM}```", "Python": f"```Python\n{SUM}```",
        "python3": f"```python3\n{SUM}```", "two words": f"```python title=a\n{SUM}```", "c++": f"```c++\n{SUM}```",
        "space behind": f"```python \n{SUM}```", "indented fence": f"  ```python\n  {SUM}  ```",
        "tilde": f"~~~python\n{SUM}~~~", "four": f"````python\n{SUM}````", "one line": f"```python {SUM.strip()}```",
        "inline": f"Use `{SUM.strip()}`.", "inline fence": f"```{SUM.strip()}```", "crlf": block.replace("\n", "\r\n"),
        "cr": block.replace("\n", "\r"), "fence in code": fenced(f"a = '```'\n{SUM}"), "unicode": fenced(f"é = 'ß∑😀'\n{SUM}"),
        "line separator": fenced(f"a = 'x\u2028y'\n{SUM}"), "form feed": fenced(f"\x0c\n{SUM}"), "nul": fenced(f"a = '\x00'\n{SUM}"),
        "bom": fenced(f"\ufeff{SUM}"), "tabs": fenced(f"if True:\n\t{SUM}"), "indented": fenced(f"    {SUM}"),
        "indented twice": fenced(f"    a = 1\n    {SUM}"), "empty block": fenced(""), "think": f"<think>\nso\n</think>\n{block}",
        "think, open": f"<think>\n{block}", "think, closed": f"so </think>\n{block}", "answer tag": f"<answer>\n{block}\n</answer>",
        "think in code": fenced(f"# <think>\n{SUM}"), "many blocks": f"{other}\n" * 20 + block, "glued": f"text{block}text",
        "surrogate-free emoji": f"😀{block}😀", "blank lines": fenced(f"\n\n\n{SUM}\n\n"), "html": f"<pre>{SUM}</pre>",
    }  # fmt: skip


def outputs() -> list[Case]:
    """What is printed or returned, that the rewards compare differently."""
    printed = {
        "floats close": ("3.14159265", "3.14159266"), "floats far": ("3.1415", "3.1416"), "floats, two a line": ("1.5 2.50", "1.5 2.5"),
        "floats, lines": ("1.50\n2.0", "1.5\n2"), "whole close": ("100000000", "100000001"), "int for float": ("7.0", "7"),
        "exponent": ("1e3", "1000"), "nan": ("nan", "nan"), "inf": ("inf", "Infinity"), "spaces behind": ("7  ", "7"),
        "spaces between": ("1  2", "1 2"), "empty lines between": ("1\n\n2", "1\n2"), "empty lines wanted": ("1\n2", "1\n\n2"),
        "order": ("2 1", "1 2"), "lines as one": ("1\n2", "1 2"), "upper": ("YES", "yes"), "tab": ("1\t2", "1 2"), "crlf": ("1\r\n2", "1\n2"),
        "form feed": ("1\x0c2", "1\n2"), "separator": ("1\u20282", "1\n2"), "nothing wanted": ("", ""), "nothing told": ("", "7"),
        "more lines": ("7\n8", "7"), "fewer lines": ("7", "7\n8"), "unicode": ("ß∑😀", "ß∑😀"), "sign": ("-0.0", "0"), "plus": ("+7", "7"),
        "underscore": ("1_0", "10"), "words and number": ("a 1.0", "a 1"), "word for number": ("seven", "7"), "zero close": ("0.0", "1e-9"),
        "ints then word": ("1\n2", "1\n2\nx"), "superscript": ("²", "2"), "arabic": ("٧", "7"),
    }  # fmt: skip
    cases = [
        stdin(f"told: {name}", "told", f"print({got!r})", ("\n", wanted))
        for name, (got, wanted) in printed.items()
    ]
    returned = {
        "float close": ("3.14159265", "3.14159266"), "float far": ("3.1", "3.2"), "int for float": ("7", "7.0"), "text for int": ("'7'", "7"),
        "tuple": ("(1, 2)", "[1, 2]"), "tuples": ("[(1, 2)]", "[[1, 2]]"), "first item": ("1", "[1, 2]"), "first list": ("[1, 2]", "[[1, 2], [3]]"),
        "tuples, first list": ("[(1, 2)]", "[[[1, 2]]]"), "keys": ("{1: 2}", '{"1": 2}'), "keys as texts": ("{'1': 2}", '{"1": 2}'),
        "word keys": ("{'a': 2}", '{"a": 2}'), "list of keys": ("[{1: 2}]", '[{"1": 2}, {"3": 4}]'), "set": ("{1, 2}", "[1, 2]"), "None": ("None", "null"),
        "bool": ("1", "true"), "nan": ("float('nan')", "NaN"), "inf": ("float('inf')", "Infinity"), "floats": ("[0.30000001]", "[0.3]"),
        "close text": ("'3.0000001'", "3"), "numpy": ("__import__('numpy').int64(7)", "7"), "numpy float": ("__import__('numpy').float64(7)", "7"),
        "array": ("__import__('numpy').array([1, 2])", "[1, 2]"), "empty": ("[]", "[]"), "empty tuple": ("()", "[]"), "true": ("True", "1"), "unicode": ("'ß'", '"ß"'),
    }  # fmt: skip
    cases += [
        method(f"told: {name}, returned", "told", f"def f(x):\n    return {got}\n", ("3", wanted))
        for name, (got, wanted) in returned.items()
    ]
    return [*cases, *_shared()]


def _shared() -> list[Case]:
    """Partial success, names of the preambles, exits, huge outputs."""
    many = tuple((f"{n}\n", f"{n}\n") for n in range(12))
    echo, tail = "n = int(input())\n", "print(n)\n"
    return [
        stdin("share: half", "share", f"{echo}print(n if n % 2 else -1)\n", *many),
        stdin("share: all but the last two", "share", f"{echo}print(n if n < 10 else -1)\n", *many),
        stdin("share: all but the tenth", "share", f"{echo}print(n if n != 9 else -1)\n", *many),
        stdin("share: none", "share", "print(-1)\n", *many),
        stdin("share: exits on one", "share", f"{echo}import os\nif n == 3:\n    os._exit(0)\n{tail}", *many),
        stdin("share: raises behind", "share", f"{echo}{tail}1 / (n - 4)\n", *many),
        stdin("share: state", "share", f"import math\n{echo}math.seen = getattr(math, 'seen', 0) + 1\nprint(n if math.seen < 3 else -1)\n", *many),
        stdin("preamble: deque", "preamble", "print(deque([7])[0])\n"),
        stdin("preamble: np", "preamble", "print(np.array([3, 4]).sum())\n"),
        stdin("preamble: pd", "preamble", "print(int(pd.Series([3, 4]).sum()))\n"),
        stdin("preamble: variable pd", "preamble", "pd = 7\nprint(pd)\n"),
        stdin("preamble: time", "preamble", "t = time()\nprint(7)\n"),
        stdin("preamble: os", "preamble", "os.environ\nprint(7)\n"),
        stdin("preamble: sqrt", "preamble", "print(int(sqrt(49)))\n"),
        stdin("preamble: re_search", "preamble", "print(re_search('7', '7').group())\n"),
        stdin("preamble: BytesIO", "preamble", "print(len(BytesIO(b'x' * 7).read()))\n"),
        stdin("preamble: sub", "preamble", "print(sub(10, 3))\n"),
        stdin("preamble: depth", "preamble", "def f(n):\n    return n and f(n - 1) + 1\nprint(f(3000) - 2993)\n"),
        stdin("preamble: dataclass", "preamble", "from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\nprint(P(7).x)\n"),
        stdin("exit: exit()", "exit", f"{SUM}exit()\n"), stdin("exit: exit(1)", "exit", f"{SUM}exit(1)\n"),
        stdin("exit: sys.exit", "exit", f"import sys\n{SUM}sys.exit(1)\n"), stdin("exit: quit()", "exit", f"{SUM}quit()\n"),
        stdin("exit: raise", "exit", f"{SUM}raise SystemExit\n"), stdin("exit: os._exit", "exit", f"import os\n{SUM}os._exit(0)\n"),
        stdin("exit: before", "exit", f"import sys\nsys.exit()\n{SUM}"),
        stdin("wrap: text of lines", "wrap", "a = '''x\ny'''\nprint(len(a) + 4)\n"),
        stdin("wrap: text with import", "wrap", "a = '''x\nimport y'''\nprint(len(a) - 3)\n"),
        stdin("wrap: import between", "wrap", "a = 7\nimport math\nprint(a)\n"),
        stdin("wrap: star import between", "wrap", "a = 7\nfrom math import *\nprint(a)\n"),
        stdin("wrap: imports alone", "wrap", "import math\nfrom os import path\n"),
        stdin("wrap: global", "wrap", "n = 7\ndef f():\n    global n\n    print(n)\nf()\n"),
        stdin("wrap: class scope", "wrap", "n = 7\nclass A:\n    m = n\nprint(A.m)\n"),
        stdin("wrap: import of subprocess", "wrap", "import subprocess\nprint(7)\n"), stdin("wrap: ctypes", "wrap", "import ctypes\nprint(7)\n"),
        stdin("wrap: iterates", "wrap", "import sys\nprint(sum(int(n) for line in sys.stdin for n in line.split()))\n"),
        stdin("wrap: buffer", "wrap", "import sys\nprint(sum(map(int, sys.stdin.buffer.read().split())))\n"),
        stdin("wrap: own module", "wrap", "import tmp_sol\nprint(7)\n"), stdin("wrap: comment ahead", "wrap", f"# x\nimport sys\n{SUM}"),
        stdin("huge: output", "huge", "for _ in range(200):\n    print('x' * 10000)\n"),
        stdin("huge: right", "huge", "print('x' * 10**6)\n", ("", "x" * 10**6)),
        stdin("zero: three tests, no output", "huge", "pass\n", ("1", ""), ("2", ""), ("3", "")),
        method("args: dictionary", "args", "def f(d, *more):\n    return sorted(map(str, d)) + list(more)\n", ('{"1": 2}\n5', '["1", 5]')),
        method("args: dictionary of words", "args", "def f(d, *more):\n    return sorted(d) + list(more)\n", ('{"a": 2}\n5', '["a", 5]')),
        method("prints what is wanted", "args", "print(4)\ndef f(x):\n    return 0\n", ("3", "4")),
        method("args: no JSON", "args", "def f(x):\n    return x\n", ("a", "a")),
    ]  # fmt: skip
