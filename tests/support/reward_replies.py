"""Replies to one small problem, right and wrong, with ground truths as trainers hold them."""

from truegrade.apps.rewards.records import PolicyReply

SQUARES = ["assert f(1) == 1", "assert f(2) == 4", "assert f(3) == 9", "assert f(4) == 16"]
LINES = {"inputs": ["1\n", "2\n", "3\n", "4\n"], "outputs": ["1\n", "4\n", "9\n", "16\n"]}
RIGHT, MOSTLY, WRONG = "n * n", "n * n if n < 4 else 0", "n + 1"
SLOW = "__import__('time').sleep(.15) or n * n"
"""Right, and at work for half a second without taking a core from other tests."""
ENDLESS = "__import__('time').sleep(30) or n * n"


def fenced(code):
    return f"```python\n{code}\n```"


def square(value=RIGHT, truth=SQUARES, **about):
    """A reply that returns this."""
    return PolicyReply(text=fenced(f"def f(n):\n    return {value}"), ground_truth=truth, **about)


def script(code, truth=LINES, **about):
    """A reply that is a program."""
    return PolicyReply(text=fenced(f"n = int(input())\n{code}"), ground_truth=truth, **about)
