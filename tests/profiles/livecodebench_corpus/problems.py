"""Twenty-six problems of both kinds: a right program each, wrong turns it can take, and inputs.

A solver here is both the reference and the text that completions are made of.
"""

from __future__ import annotations

import inspect
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from livecodebench_corpus.sizes import CONTEST_SIZE

TESTS, FULL_TESTS = 5, 20


@dataclass(frozen=True, kw_only=True)
class ContestProblem:
    """A problem; ``edits`` are (old, new) replacements in the solver's text that make it wrong, or fail."""

    name: str
    question: str
    solve: Callable[..., Any]
    functional: bool
    draw: Callable[[random.Random], Any]
    edits: tuple[tuple[str, str], ...]

    @property
    def source(self) -> str:
        return inspect.getsource(self.solve)

    @cached_property
    def tests(self) -> list[tuple[str, str]]:
        """Inputs and outputs as a data set stores them; small."""
        chance = random.Random(self.name)
        return self._answered([self.draw(chance) for _ in range(TESTS)])

    @cached_property
    def full_tests(self) -> list[tuple[str, str]]:
        """As many as a data set has: the small ones, then some of contest size."""
        chance = random.Random(f"{self.name} of contest size")
        draw = CONTEST_SIZE[self.name]
        return [*self.tests, *self._answered([draw(chance) for _ in range(FULL_TESTS - TESTS)])]

    def _answered(self, drawn: list[Any]) -> list[tuple[str, str]]:
        if self.functional:
            return [("\n".join(map(json.dumps, given)), json.dumps(self.solve(*given))) for given in drawn]
        return [(text, self.solve(text)) for text in drawn]


# ------------------------------------------------------------------------------------------------ functional


def two_sum(nums, target):
    seen = {}
    for i, n in enumerate(nums):
        if target - n in seen:
            return [seen[target - n], i]
        seen[n] = i
    return []


def longest_run(s):
    best = run = 0
    last = ""
    for c in s:
        run = run + 1 if c == last else 1
        best = max(best, run)
        last = c
    return best


def rotate(matrix):
    return [list(row) for row in zip(*matrix[::-1])]


def is_palindrome(s):
    kept = [c.lower() for c in s if c.isalnum()]
    return kept == kept[::-1]


def average(nums):
    return sum(nums) / len(nums)


def merge(intervals):
    merged = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged


def climb(n):
    a, b = 1, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def group(words):
    groups = {}
    for word in words:
        groups.setdefault("".join(sorted(word)), []).append(word)
    return sorted(groups.values())


def frequencies(words):
    counts = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return counts


def primes(n):
    return [p for p in range(2, n + 1) if all(p % d for d in range(2, int(p**0.5) + 1))]


def min_coins(coins, amount):
    best = [0] + [10**9] * amount
    for total in range(1, amount + 1):
        for coin in coins:
            if coin <= total:
                best[total] = min(best[total], best[total - coin] + 1)
    return best[amount] if best[amount] < 10**9 else -1


def spiral(matrix):
    out = []
    while matrix:
        out += matrix[0]
        matrix = [list(row) for row in zip(*matrix[1:])][::-1]
    return out


def first_missing(nums):
    present = set(nums)
    n = 1
    while n in present:
        n += 1
    return n


# ----------------------------------------------------------------------------------------------------- stdin


def total(text):
    return str(sum(map(int, text.split()[1:]))) + "\n"


def reverse_lines(text):
    return "\n".join(line[::-1] for line in text.strip().split("\n")) + "\n"


def yes_no(text):
    rows = text.split("\n")[1:]
    return "\n".join("YES" if int(row) % 3 == 0 else "NO" for row in rows if row) + "\n"


def mean(text):
    numbers = list(map(int, text.split()[1:]))
    return f"{sum(numbers) / len(numbers):.6f}\n"


def grid(text):
    rows = text.strip().split("\n")[1:]
    return "\n".join("".join("#" if c == "." else "." for c in row) for row in rows) + "\n"


def sorted_words(text):
    return " ".join(sorted(text.split()[1:])) + "\n"


def largest(text):
    numbers = list(map(int, text.split()[1:]))
    return f"{max(numbers)} {numbers.index(max(numbers)) + 1}\n"


def brackets(text):
    depth = 0
    for c in text.strip():
        depth += 1 if c == "(" else -1
        if depth < 0:
            return "No\n"
    return "No\n" if depth else "Yes\n"


def digits(text):
    return str(sum(int(c) for c in text.strip() if c.isdigit())) + "\n"


def table(text):
    n = int(text)
    return "\n".join(" ".join(str(i * j) for j in range(1, n + 1)) for i in range(1, n + 1)) + "\n"


def paths(text):
    h, w = map(int, text.split())
    row = [1] * w
    for _ in range(h - 1):
        for i in range(1, w):
            row[i] = (row[i] + row[i - 1]) % 998244353
    return f"{row[-1]}\n"


# fmt: off
def components(text):
    lines = text.strip().split("\n")
    n, m = map(int, lines[0].split())
    parent = list(range(n + 1))
    def find(x):
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x
    for line in lines[1:m + 1]:
        a, b = map(int, line.split())
        parent[find(a)] = find(b)
    return str(sum(find(x) == x for x in range(1, n + 1))) + "\n"


def queries(text):
    tokens = text.split()
    n, q = int(tokens[0]), int(tokens[1])
    prefix = [0]
    for token in tokens[2:n + 2]:
        prefix.append(prefix[-1] + int(token))
    ends = list(map(int, tokens[n + 2:]))
    return "\n".join(str(prefix[ends[2 * i + 1]] - prefix[ends[2 * i] - 1]) for i in range(q)) + "\n"


# fmt: on
# -------------------------------------------------------------------------------------------------- the table


def _ints(chance: random.Random, low: int = -9, high: int = 9, most: int = 8) -> list[int]:
    return [chance.randint(low, high) for _ in range(chance.randint(1, most))]


def _word(chance: random.Random, letters: str = "aab", most: int = 6) -> str:
    return "".join(chance.choice(letters) for _ in range(chance.randint(1, most)))


def _words(chance: random.Random) -> list[str]:
    return [_word(chance, "ab", 3) for _ in range(chance.randint(1, 6))]


def _matrix(chance: random.Random) -> list[list[int]]:
    width = chance.randint(1, 4)
    return [[chance.randint(0, 9) for _ in range(width)] for _ in range(chance.randint(1, 4))]


def _counted(items: Sequence[Any], by: str = " ") -> str:
    return f"{len(items)}\n" + by.join(map(str, items)) + "\n"


def _graph(chance: random.Random) -> str:
    n = chance.randint(2, 6)
    edges = [f"{chance.randint(1, n)} {chance.randint(1, n)}" for _ in range(chance.randint(0, n))]
    return "\n".join([f"{n} {len(edges)}", *edges]) + "\n"


def _ranges(chance: random.Random) -> str:
    numbers = _ints(chance)
    asked = [sorted((chance.randint(1, len(numbers)), chance.randint(1, len(numbers)))) for _ in range(3)]
    rows = [f"{len(numbers)} 3", " ".join(map(str, numbers)), *(f"{a} {b}" for a, b in asked)]
    return "\n".join(rows) + "\n"


def _f(question: str, solve: Callable[..., Any], draw: Callable[[random.Random], Any], *edits: tuple[str, str]):
    return ContestProblem(
        name=solve.__name__, question=question, solve=solve, functional=True, draw=draw, edits=edits
    )


def _s(question: str, solve: Callable[..., Any], draw: Callable[[random.Random], Any], *edits: tuple[str, str]):
    return ContestProblem(
        name=solve.__name__, question=question, solve=solve, functional=False, draw=draw, edits=edits
    )


PROBLEMS = (
    _f("Indices of two numbers that add up to target, the earlier first.", two_sum,
       lambda c: [_ints(c), c.randint(-9, 9)], ("[seen[target - n], i]", "(seen[target - n], i)"),
       ("[seen[target - n], i]", "[i, seen[target - n]]"), ("return []", "return None"), ("seen = {}", "seen = []")),
    _f("Length of the longest run of one letter.", longest_run, lambda c: [_word(c, most=12)],
       ("best = max(best, run)", "best = run"), ("return best", "return float(best)"), ("return best", "return str(best)")),
    _f("The matrix turned clockwise.", rotate, lambda c: [_matrix(c)], ("list(row)", "row"), ("[::-1]", ""),
       ("list(row)", "np.array(row)"), ("return [", "import numpy as np\n    return np.rot90(matrix, -1) # [")),
    _f("Whether the letters and digits read the same backwards.", is_palindrome, lambda c: [_word(c, "Aa, b", 7)],
       (".lower()", ""), ("return kept == kept[::-1]", "return int(kept == kept[::-1])"), ("if c.isalnum()", "")),
    _f("The mean.", average, lambda c: [_ints(c)], ("/", "//"), ("return ", "return 1e-9 + "),
       ("return sum(nums) / len(nums)", "import numpy as np\n    return np.mean(nums)"),
       ("sum(nums) / len(nums)", "Fraction(sum(nums), len(nums))"),
       ("return sum(nums) / len(nums)", "return statistics.fmean(nums)")),
    _f("Merge overlapping intervals.", merge, lambda c: [[sorted(c.sample(range(20), 2)) for _ in range(4)]],
       ("sorted(intervals)", "intervals"), ("<=", "<"), ("merged.append([start, end])", "merged.append((start, end))")),
    _f("Ways to climb n steps by ones and twos.", climb, lambda c: [c.randint(0, 40)],
       ("a, b = 1, 1", "a, b = 0, 1"), ("def climb(n):", "def climb(n, memo={}):"), ("return a", "return a % 10**9"),
       ("a, b = 1, 1", "if n > 1:\n        return climb(n - 1) + climb(n - 2)\n    a, b = 1, 1")),
    _f("Anagrams together, groups sorted.", group, lambda c: [_words(c)], ("sorted(groups.values())", "groups.values()"),
       ("sorted(groups.values())", "list(groups.values())"), ("groups = {}", "groups = defaultdict(list)")),
    _f("How often each word occurs.", frequencies, lambda c: [_words(c)], ("counts = {}", "counts = Counter()"),
       ("return counts", "return Counter(words)"), ("return counts", "return list(counts.items())"),
       ("counts.get(word, 0)", "counts[word]")),
    _f("All primes up to n.", primes, lambda c: [c.randint(0, 60)], ("n + 1", "n"), ("range(2, n + 1)", "range(1, n + 1)"),
       ("return [p", "return list(p"), ("p**0.5", "sqrt(p)"), ("p**0.5", "math.sqrt(p)"), ("p**0.5", "isqrt(p)")),
    _f("Fewest coins for the amount, or -1.", min_coins, lambda c: [[c.randint(2, 7) for _ in range(2)], c.randint(0, 30)],
       ("else -1", "else None"), ("<= total", "< total"), ("best[amount] if", "best[total] if")),
    _f("The matrix read in a spiral.", spiral, lambda c: [_matrix(c)], ("[::-1]", ""), ("out += matrix[0]", "out += matrix.pop(0)"),
       ("return out", "print(out)"), ("return out", "return tuple(out)")),
    _f("Smallest positive integer that is missing.", first_missing, lambda c: [_ints(c, -2, 5)],
       ("set(nums)", "nums"), ("n = 1", "n = 0"), ("return n", "return np.int64(n)")),
    _s("Sum of n numbers.", total, lambda c: _counted(_ints(c)), ("[1:]", ""), ('+ "\\n"', '+ " "'), ("str(", "'Sum: ' + str("),
       ("str(sum(map(int, text.split()[1:])))", "f'{sum(map(int, text.split()[1:])):.1f}'")),
    _s("Each line reversed.", reverse_lines, lambda c: "\n".join(_word(c, "abc") for _ in range(3)) + "\n",
       (".strip()", ""), ('"\\n".join', '" ".join'), ('+ "\\n"', '+ "\\n\\n\\n"'), ("line[::-1]", "'  ' + line[::-1] + ' '")),
    _s("YES for each multiple of three, else NO.", yes_no, lambda c: _counted(_ints(c, 0, 30), "\n"), ("YES", "Yes"),
       ("% 3", "% 2"), ("if row", ""), ('"\\n".join', '" ".join')),
    _s("The mean with six decimals.", mean, lambda c: _counted(_ints(c)), (":.6f", ""), (":.6f", ":.5f"), (":.6f", ":.9f"),
       (":.6f", ":e"), ("return f", "return 'nan ' + f")),
    _s("The grid with # and . exchanged.", grid, lambda c: _counted([_word(c, "#.", 5) for _ in range(3)], "\n"),
       ("[1:]", ""), ('"#" if', '"." if'), ("for row in rows", "for row in rows if row")),
    _s("The words sorted.", sorted_words, lambda c: _counted(_words(c)), ('" ".join', '"\\n".join'), ('" ".join', '"  ".join'),
       ("sorted(", "set(")),
    _s("The largest number and its first position.", largest, lambda c: _counted(_ints(c)), ("+ 1", ""),
       ("max(numbers)} {", "max(numbers)}  {"), ("max(numbers)} {", "max(numbers)}.0 {"), ("max(numbers)} {", "max(numbers)}\\n{")),
    _s("Whether the brackets match.", brackets, lambda c: _word(c, "(())", 6) + "\n", ("if depth < 0", "if depth < -1"),
       ("Yes", "YES"), (".strip()", "")),
    _s("The sum of the digits.", digits, lambda c: f"{c.randint(0, 10**30)}\n", (" if c.isdigit()", ""), ("str(sum", "(sum"),
       ("int(c)", "ord(c) - 47")),
    _s("The multiplication table.", table, lambda c: f"{c.randint(1, 6)}\n", ('" ".join', '"\\t".join'),
       ('" ".join', '" ".join(["", ""]) + " ".join'), ("j in range(1, n + 1)", "j in range(1, n)"), ("n = int(text)", "n = int(text.split('\\n'))")),
    _s("Ways through a grid, modulo 998244353.", paths, lambda c: f"{c.randint(1, 30)} {c.randint(1, 30)}\n",
       (" % 998244353", ""), ("range(h - 1)", "range(h)"), ("row[-1]", "row[-2]"), ("row[-1]", "float(row[-1])")),
    _s("Number of components.", components, _graph, ("parent[x] = parent[parent[x]]\n", "pass\n"), ("range(n + 1)", "range(n)"),
       ("range(1, n + 1)", "range(n + 1)"), ("lines[1:m + 1]", "lines[1:m]")),
    _s("Range sums.", queries, _ranges, ("- 1]", "]"), ('"\\n".join', '" ".join'), ("prefix = [0]", "prefix = []"),
       ("int(tokens[0]), int(tokens[1])", "map(int, text.split())")),
)  # fmt: skip
