"""The inputs of problems whose cost counts, made in the jail by the data set's own generators.

A generator may use the names ``random``, ``string`` and ``time``, those of the prompt, and four functions that
q-rz/enamel@b97da79 ``enam/datautils.py`` defines. Those here take the same random numbers in the same order, so
the inputs are upstream's; a test compares them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from truegrade.grading.executor import Executor
from truegrade.grading.functions import ReferenceFailed
from truegrade.records import EfficiencyTask, Reason
from truegrade.sandbox.outcome import CallResult

TESTS = (8, 4, 4, 4)
"""Tests of each level (``demo.py``, ``--n_tests``)."""
GENERATION_CPU_S = 120.0
"""CPU seconds for all inputs of a problem."""

Batch = list[tuple[Any, ...]]
"""Argument tuples of one size."""

_HELPERS = '''import random
import string
import time


def rand_parens(size, valid=True, par="()", sep=""):
    """Balanced brackets, in groups that each close; or not balanced, by a closing one ahead of an opening one."""
    if not valid:
        assert sep == ""
        half = (size + 1) // 2 - 1
        front = rand_parens(half, par=par)
        return front + par[1] + par[0] + rand_parens(half, par=par)
    groups, depth = [], 0
    for left in range(size + size % 2, 0, -1):
        if depth == 0:
            groups.append([])
        opens = depth == 0 or (depth < left and random.randint(0, 1) == 1)
        groups[-1].append(par[0] if opens else par[1])
        depth += 1 if opens else -1
    texts = ["".join(group) for group in groups]
    return texts if sep is None else sep.join(texts)


def miller_rabin(n, k=5):
    """Whether a number is probably prime, by k random witnesses."""
    if n in (2, 3):
        return True
    if n == 1 or n % 2 == 0:
        return False
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for _ in range(k):
        power = pow(random.randint(2, n - 2), odd, n)
        if power in (1, n - 1):
            continue
        if not any((power := pow(power, 2, n)) == n - 1 for _ in range(twos - 1)):
            return False
    return True


def rand_probably_prime(lb, ub=None):
    """A number that is probably prime: up to lb and at least half of it, or between two bounds."""
    if ub is None:
        high = max(lb, 3)
        low = high // 2
    else:
        low = max(lb, 0)
        high = max(2 * low, ub, 3)
    while not miller_rabin(found := random.randint(low, high)):
        pass
    return found


def rand_primality(size, lid, cid):
    """A prime, the square of one or a product of two; at the first level also numbers taken for primes."""
    special = {0: 30031, 1: 561, 2: 2, 3: 125}
    if lid == 0 and cid in special:
        return special[cid]
    size = max(size, 4)
    root = int(size**0.5 + 1)
    if cid % 3 == 0:
        return rand_probably_prime(size)
    if cid % 3 == 1:
        return rand_probably_prime(root) ** 2
    return rand_probably_prime(root) * rand_probably_prime(root)


'''
_MAKE = """

def _truegrade_inputs(seeds, size, lid, cid):
    made = []
    for seed in seeds:
        random.seed(seed)
        made.append(tuple(generate_input(size=size, lid=lid, cid=cid)))
    return made
"""
_APART = 2**32
"""Between the seeds of inputs of one test."""


def make_inputs(
    task: EfficiencyTask, executor: Executor, levels: Sequence[int], count: int = 1
) -> list[list[Batch]]:
    """The inputs of these levels: by level, by test, ``count`` of each size.

    The first of each test is upstream's, whose seed is ``seed ^ number ^ place``; ``place`` counts the tests of
    all levels, and the task's own seed holds the number (``enam/evaluate.py``, ``make_tests``).

    Args:
        task: with its generator.
        executor: the jail.
        levels: 0-based.
        count: inputs of each test.

    Raises:
        ReferenceFailed: the generator fails.
    """
    program = f"{_HELPERS}{task.prompt}\n{task.generator}\n{_MAKE}"
    asked = [(level, test) for level in levels for test in range(TESTS[level])]
    made: list[Batch] = []
    errors: list[str] = []

    def keep(_: int, result: CallResult) -> bool:
        if result.error is not None or not isinstance(result.whole, list):
            errors.append(result.error or "it made no arguments")
            return False
        made.append(result.whole)
        return True

    calls = [
        ([_seed(task, level, test) + _APART * extra for extra in range(count)], task.sizes[level], level, test)
        for level, test in asked
    ]
    outcome = executor.call(program, "_truegrade_inputs", calls, keep, cpu_s=GENERATION_CPU_S)
    if errors or outcome.status != Reason.PASSED:
        cause = errors[0] if errors else f"{outcome.status}: {outcome.detail}"
        raise ReferenceFailed(f"the data set's generator failed on test {len(made)}: {cause}")
    tests = iter(made)
    return [[next(tests) for _ in range(TESTS[level])] for level in levels]


def _seed(task: EfficiencyTask, level: int, test: int) -> int:
    return task.seed ^ (sum(TESTS[:level]) + test)
