"""What answers cost by the clock of their own process, as ENAMEL's evaluator takes it, or by lines executed.

Program and clock share a process, so a program can forge what is measured: verdicts carry `COST_INSIDE`. Source of
the rules: q-rz/enamel@b97da79 ``enam/evaluate.py``, ``enam/execute.py`` and ``demo.py``.
"""

from __future__ import annotations

from math import inf
from typing import Any

import msgspec

from truegrade.grading import oracles
from truegrade.grading.efficiency import HARDNESS, TIMEOUT_FACTOR, Wrong, scored
from truegrade.grading.efficiency_inputs import Batch, make_inputs
from truegrade.grading.executor import Executor
from truegrade.grading.functions import ReferenceFailed
from truegrade.grading.judgement import Judgement, from_outcome, shown, shown_call
from truegrade.grading.kept import LastKept
from truegrade.records import EfficiencyTask, Reason
from truegrade.sandbox.outcome import CallResult
from truegrade.statistics.efficiency import level_efficiency, typical_cost

COST_INSIDE = "cost-inside"
"""Mark of a verdict whose efficiency was measured in the candidate's process."""
REPEATS = 6
"""Measurements of a test whose cost counts (``demo.py``, ``--n_reps``)."""
TOLERANCE = {"cpu": 0.01, "steps": 100_000}
"""What a call may cost beyond the limit before it is ended: seconds (``demo.py``, ``--tolerence_sec``), or as many
steps as that is."""
REFERENCE_LIMIT = {"cpu": 60.0, "steps": 10**9}
SLACK_S = 30.0
"""CPU seconds of a process besides the limits of all calls."""

_MEASURE = '''import contextlib
import gc
import io
import signal
import sys
import time
from copy import deepcopy


class _Late(Exception):
    pass


class _Streams(io.StringIO):
    def read(self, *args, **kwargs):
        raise OSError

    readline = readlines = read


def _late(*_):
    raise _Late("Timed out!")


def _seconds(head, code, entry, scope, limit):
    source = f"{head}\\n{code}\\n__t0 = time.time()\\n__output = {entry}(*__input)\\n__t1 = time.time()\\n"
    signal.signal(signal.SIGALRM, _late)
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        exec(source, scope)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return scope["__t1"] - scope["__t0"], scope["__output"]


def _steps(head, code, entry, scope, limit):
    steps = 0

    def local(frame, event, argument):
        nonlocal steps
        if event == "line":
            steps += 1
            if steps > limit:
                raise _Late
        return local

    exec(f"{head}\\n{code}\\n", scope)
    function, arguments = scope[entry], scope["__input"]
    sys.settrace(lambda frame, event, argument: local)
    try:
        output = function(*arguments)
    finally:
        sys.settrace(None)
    return steps, output


def measure(head, code, entry, arguments, repeats, limit, unit):
    """What each of several calls costs, and what the last returned; None and None where a limit ended one."""
    costs = []
    gc.disable()
    for _ in range(repeats):
        scope = {"time": time, "input": None, "print": None, "__input": deepcopy(arguments)}
        streams = _Streams()
        try:
            with contextlib.redirect_stdout(streams), contextlib.redirect_stderr(streams):
                cost, output = (_steps if unit == "steps" else _seconds)(head, code, entry, scope, limit)
        except (_Late, MemoryError, OverflowError):
            return None, None
        costs.append(cost)
    return costs, output
'''


class ReferenceCosts(msgspec.Struct, frozen=True):
    """What the reference makes of the inputs, by level and test."""

    batches: list[list[Batch]]
    outputs: list[list[CallResult]]
    """Each of `measure`: costs and output."""
    references: list[float]
    """Cost of the most expensive test, by level that counts."""

    @property
    def limit(self) -> float:
        """What a call of an answer may cost."""
        return TIMEOUT_FACTOR * max(self.references)


class InsideMeasure:
    """Grades answers by the clock of their own process."""

    def __init__(self) -> None:
        self._answered = LastKept[ReferenceCosts](8)

    def grade(self, key: str, task: EfficiencyTask, code: str, executor: Executor) -> Judgement:
        """Whether an answer is right and what it costs, as the process says that runs it.

        Args:
            key: identifies the problem.
            task: the problem, and what is counted as cost.
            code: the answer, which is run behind the prompt.
            executor: runs programs.
        """
        try:
            known = self._answered.of(f"{key} {task.cost}", lambda: _reference(task, executor))
        except ReferenceFailed as failure:
            return Judgement(reason=Reason.GRADER_ERROR, detail=str(failure))
        return _measured(task, code, known, executor)


def _repeats(task: EfficiencyTask, level: int) -> int:
    """A level without weight is measured once, and so are steps, which do not vary."""
    return REPEATS if HARDNESS[level] and task.cost == "cpu" else 1


def _calls(task: EfficiencyTask, code: str, batches: list[list[Batch]], limit: float) -> list[tuple[Any, ...]]:
    return [
        (task.prompt, code, task.entry_point, batch[0], _repeats(task, level), limit, task.cost)
        for level, tests in enumerate(batches)
        for batch in tests
    ]


def _reference(task: EfficiencyTask, executor: Executor) -> ReferenceCosts:
    """Make the inputs and run the reference on them.

    Raises:
        ReferenceFailed: the generator or the reference fails.
    """
    batches = make_inputs(task, executor, range(len(HARDNESS)))
    calls = _calls(task, task.reference.removeprefix(task.prompt), batches, REFERENCE_LIMIT[task.cost])
    results: list[CallResult] = []

    def keep(_: int, result: CallResult) -> bool:
        results.append(result)
        return result.error is None and result.whole[0] is not None

    outcome = executor.call(_MEASURE, "measure", calls, keep, cpu_s=REFERENCE_LIMIT["cpu"])
    if len(results) < len(calls) or results[-1].error is not None or results[-1].whole[0] is None:
        cause = (results[-1].error if results else None) or f"{outcome.status}: {outcome.detail}"
        raise ReferenceFailed(f"the data set's reference failed on test {len(results)}: {cause}")
    left = iter(results)
    outputs = [[next(left) for _ in tests] for tests in batches]
    references = [max(typical_cost(one.whole[0]) for one in level) for level in outputs[1:]]
    return ReferenceCosts(batches, outputs, references)


def _measured(task: EfficiencyTask, code: str, known: ReferenceCosts, executor: Executor) -> Judgement:
    """Every test in one process, until an output is wrong or a limit ends a call."""
    limit = known.limit
    calls = _calls(task, code, known.batches, limit + TOLERANCE[task.cost])
    places = [(level, test) for level, tests in enumerate(known.batches) for test in range(len(tests))]
    costs: list[list[float]] = [[] for _ in HARDNESS]
    wrong: list[Wrong] = []

    def take(index: int, result: CallResult) -> bool:
        level, test = places[index]
        (arguments,) = known.batches[level][test]
        try:
            costs[level].append(_cost(task, arguments, result, known.outputs[level][test], executor))
        except Wrong as error:
            wrong.append(error)
            return False
        return costs[level][-1] < inf

    most_s = SLACK_S if task.cost == "steps" else SLACK_S + sum(call[4] * call[5] for call in calls)
    judged = from_outcome(executor.call(_MEASURE, "measure", calls, take, cpu_s=most_s), marks=(COST_INSIDE,))
    if wrong and judged.passed:
        return msgspec.structs.replace(judged, reason=wrong[0].reason, detail=wrong[0].detail)
    if judged.passed and inf in costs[0]:
        return msgspec.structs.replace(judged, reason=Reason.TIME_LIMIT, detail="on the easiest level")
    if not judged.passed:
        return judged
    reached = [level for level in costs[1:] if level]
    scores = [
        level_efficiency(max(level), reference, limit)
        for level, reference in zip(reached, known.references, strict=False)
    ]
    return scored(judged, scores, reached, known.references, "steps" if task.cost == "steps" else "wall_s")


def _cost(
    task: EfficiencyTask, arguments: tuple[Any, ...], result: CallResult, right: CallResult, executor: Executor
) -> float:
    """What a call costs by its process; infinite where a limit ended it.

    Raises:
        Wrong: its output is wrong, or it raised.
    """
    call = shown_call(task.entry_point, arguments)
    if result.error is not None:
        raise Wrong(Reason.RUNTIME_ERROR, f"{call} raised {result.error}")
    said = executor.decide(_said, result, right, arguments, task.comparator, task.atol)
    if said is None:
        raise Wrong(Reason.TAMPERING, f"{call}: the process sent no measurement")
    costs, words = said
    if words is not None:
        raise Wrong(Reason.WRONG_ANSWER, f"{call} gave {words}")
    return typical_cost(costs) if costs else inf


def _said(
    got: Any, right: Any, arguments: tuple[Any, ...], comparator: str, atol: float
) -> tuple[list[float], str | None] | None:
    """Costs, none where a limit ended the call, and what is wrong with the output; None for no measurement."""
    match got:
        case (None, None):
            return [], None
        case ([*costs], output) if costs and all(type(cost) in (int, float) for cost in costs):
            expected = right[1]
            if oracles.compare(comparator, arguments, expected, output, atol):
                return [float(cost) for cost in costs], None
            return [], f"{shown(output)}, expected {shown(expected)}"
        case _:
            return None
