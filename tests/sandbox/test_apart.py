"""The process that compares what is too large to compare where programs are supervised."""

import operator

from truegrade.grading.contests.output_comparison import same_output
from truegrade.sandbox import Limits, Sandbox


def test_a_value_that_took_much_memory_is_not_held_against_the_next():
    long = "a" * 100_000
    with Sandbox(Limits(), workers=1, allow_unsafe=True) as sandbox:
        for _ in range(2):
            assert sandbox.decide(same_output, "1.0 " * 1_500_000, "1 " * 1_500_000 + "2") is False
            assert sandbox.decide(operator.eq, long, long) is True
