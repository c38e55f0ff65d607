"""Which inputs a reference answers in few steps and with small values: programs that are labelled are asked these.

Steps and sizes are counted and not seconds, so that another machine, or another load of this one, uses the same
inputs.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from truegrade.assay.reference_answers import SIZE, AnswerRule, Arguments
from truegrade.grading.executor import Executor
from truegrade.sandbox.outcome import CallResult

CALL_STEPS, ALL_STEPS = 50_000, 500_000
"""Lines that a reference may execute for one input, and for all inputs of one source together."""
CALL_SIZE, ALL_SIZE = 50_000, 1_000_000
"""Items and characters, nested ones too, that an input and its output may hold, and all of one source together:
dozens of programs are to be sent the one and to have the other compared."""
_LONG_CPU_S, _CPU_S = 0.1, 60.0
"""CPU seconds of one input, and of all: for calls that take long without executing lines, many times what lines
take."""
_BOUNDS = {
    "CALL_STEPS": CALL_STEPS, "ALL_STEPS": ALL_STEPS, "CALL_SIZE": CALL_SIZE, "ALL_SIZE": ALL_SIZE,
    "LONG_CPU_S": _LONG_CPU_S,
}  # fmt: skip
_COUNTED = '''

class _TruegradeLate(BaseException):
    pass


def _truegrade_counted(*args):
    """Lines executed; -1 where the call raises, 0 where it, or those before it, take too much."""
    import sys
    import time
    global _truegrade_steps, _truegrade_sizes
    if _truegrade_steps > ALL_STEPS or _truegrade_sizes > ALL_SIZE:
        return 0
    steps, size = 0, _truegrade_size(args, CALL_SIZE)

    def local(frame, event, arg):
        nonlocal steps
        if event == "line":
            steps += 1
            if steps > CALL_STEPS:
                raise _TruegradeLate
        return local

    began = time.process_time()
    sys.settrace(lambda frame, event, arg: local)
    try:
        value = ASKED(*args)
        sys.settrace(None)
        size += _truegrade_size(value, CALL_SIZE)
        if size > CALL_SIZE or time.process_time() - began > LONG_CPU_S:  # in C, where no lines are counted
            raise _TruegradeLate
        _truegrade_sizes += size
        return max(steps, 1)
    except _TruegradeLate:
        steps = max(steps, ALL_STEPS // 10)
        return 0
    except BaseException:
        return -1
    finally:
        sys.settrace(None)
        _truegrade_steps += steps


_truegrade_steps = _truegrade_sizes = 0
'''


def affordable(
    reference: str, rule: AnswerRule, inputs: Sequence[Arguments], executor: Executor
) -> tuple[list[Arguments], int]:
    """The inputs that a reference answers within its steps and size, in their order, and how many take too much.

    Where all of them together take too much, those are kept that come first in an order drawn by lot.

    Args:
        reference: whole program, trusted.
        rule: how it is asked; not for programs on stdin.
        inputs: argument tuples.
        executor: the jail.
    """
    order = random.Random(0).sample(range(len(inputs)), len(inputs))
    kept: list[int] = []
    raising = 0

    def keep(place: int, result: CallResult) -> bool:
        nonlocal raising
        steps = result.whole if result.error is None else -1
        raising += steps < 0
        if steps > 0:
            kept.append(order[place])
        return True

    program, asked = rule.adapted(reference)
    counted = _COUNTED.replace("ASKED", asked)
    for name, most in _BOUNDS.items():
        counted = counted.replace(name, str(most))
    executor.call(
        program + SIZE + counted, "_truegrade_counted", [inputs[each] for each in order], keep, cpu_s=_CPU_S
    )
    return [inputs[each] for each in sorted(kept)], len(inputs) - len(kept) - raising
