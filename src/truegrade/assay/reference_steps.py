"""Which inputs a reference answers in few steps: programs that are labelled are asked these.

Steps are counted and not seconds, so that another machine, or another load of this one, uses the same inputs.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from truegrade.assay.reference_answers import AnswerRule, Arguments
from truegrade.grading.executor import Executor
from truegrade.sandbox.outcome import CallResult

CALL_STEPS, ALL_STEPS = 50_000, 500_000
"""Lines that a reference may execute for one input, and for all inputs of one source together."""
_MOST_ITEMS = 50_000
"""Of a value: dozens of programs are to send it and have it compared."""
_LONG_CPU_S, _CPU_S = 0.1, 60.0
"""CPU seconds of one input, and of all: for calls that take long without executing lines, many times what lines
take."""
_COUNTED = '''

class _TruegradeLate(BaseException):
    pass


def _truegrade_counted(*args):
    """Lines executed; -1 where they are too many or the call raises, -2 where no more are to be counted."""
    import sys
    import time
    global _truegrade_all
    if _truegrade_all > MOST_IN_ALL:
        return -2
    steps = 0

    def local(frame, event, arg):
        nonlocal steps
        if event == "line":
            steps += 1
            if steps > MOST_A_CALL:
                raise _TruegradeLate
        return local

    began = time.process_time()
    sys.settrace(lambda frame, event, arg: local)
    try:
        value = ASKED(*args)
        large = isinstance(value, (list, tuple, set, dict, str)) and len(value) > MOST_ITEMS
        if large or time.process_time() - began > LONG_CPU_S:  # in C, where no lines are counted
            raise _TruegradeLate
    except _TruegradeLate:
        steps = -max(steps, MOST_IN_ALL // 10)
    except BaseException:
        steps = -steps
    finally:
        sys.settrace(None)
        _truegrade_all += abs(steps)
    return steps if steps > 0 else -1


_truegrade_all = 0
'''


def affordable(
    reference: str, rule: AnswerRule, inputs: Sequence[Arguments], executor: Executor
) -> list[Arguments]:
    """The inputs that a reference answers within its steps, in their order.

    Where all of them together take too many, those are kept that come first in an order drawn by lot.

    Args:
        reference: whole program, trusted.
        rule: how it is asked; not for programs on stdin.
        inputs: argument tuples.
        executor: the jail.
    """
    order = random.Random(0).sample(range(len(inputs)), len(inputs))
    kept: list[int] = []

    def keep(place: int, result: CallResult) -> bool:
        steps = result.whole if result.error is None else -1
        if steps >= 0:
            kept.append(order[place])
        return bool(steps != -2)

    program, asked = rule.adapted(reference)
    counted = _COUNTED.replace("ASKED", asked)
    counted = counted.replace("MOST_A_CALL", str(CALL_STEPS)).replace("MOST_IN_ALL", str(ALL_STEPS))
    counted = counted.replace("LONG_CPU_S", str(_LONG_CPU_S)).replace("MOST_ITEMS", str(_MOST_ITEMS))
    executor.call(program + counted, "_truegrade_counted", [inputs[each] for each in order], keep, cpu_s=_CPU_S)
    return [inputs[each] for each in sorted(kept)]
