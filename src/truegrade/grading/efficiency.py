"""Right answers and what they cost, measured from outside the program's process.

Each measurement is a process of its own, which gets a batch of argument tuples and sends back the outputs as one
string of bytes. Its cost is the CPU time that the kernel counts for it, with all its threads, from its start to
its end. A program cannot change that account, and cannot move work to another process, since it may start none.
Every output of every measurement is compared, and the arguments of a batch are drawn independently, so outputs
kept for later calls save little. What a process costs besides the calls is known from the reference's own runs, in
which trusted code also reads the clock around the calls; it is subtracted. CPU time depends on what else the
machine does, so every measurement of an answer is followed by one of the reference, made in the same way, and the
two are compared.

The rules of scoring are those of q-rz/enamel@b97da79 ``enam/evaluate.py`` and ``demo.py``, except for the clock,
for batches in place of repetitions, and for the limit of a process.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from marshal import dumps
from math import ceil, inf
from typing import Any

import msgspec

from truegrade.grading import oracles
from truegrade.grading.efficiency_inputs import Batch, make_inputs
from truegrade.grading.executor import Executor
from truegrade.grading.functions import ReferenceFailed, References, grade_by_oracle
from truegrade.grading.judgement import Judgement, shortened, shown, shown_call
from truegrade.grading.kept import LastKept
from truegrade.records import EfficiencyTask, Reason
from truegrade.sandbox.outcome import CallResult, Outcome
from truegrade.statistics.efficiency import level_efficiency, sample_efficiency

HARDNESS = (0.0, 3.0, 3.0, 4.0)
"""Weights of the levels (``demo.py``, ``--hardness``); the first decides only whether an answer is right."""
TIMEOUT_FACTOR = 2.0
"""Times the reference's cost on the most expensive test that an answer may cost (``demo.py``)."""
REPEATS = 3
"""Measurements of each batch, of which the cheapest counts: what else the machine does only adds."""
WORTH_S = 0.01
"""CPU seconds that the reference is to need for a batch, many times what two measurements differ by."""
MOST_INPUTS, MOST_BYTES = 20_000, 1 << 18
"""Bounds of a batch."""
REFERENCE_CPU_S = 60.0
MIN_CPU_S = 0.25
"""CPU seconds that a measurement may take whatever the reference needs; what counts is its cost."""

_BATCH = """

def _truegrade_batch(data):
    from marshal import dumps, loads
    return dumps([ENTRY_POINT(*arguments) for arguments in loads(data)], 2)
"""
_TIMED = """

def _truegrade_timed(data):
    # Asked again, without a batch: what the calls took.
    from marshal import dumps, loads
    from time import thread_time
    global _truegrade_spent
    if data is None:
        return _truegrade_spent
    batch = loads(data)
    began = thread_time()
    outputs = [ENTRY_POINT(*arguments) for arguments in batch]
    _truegrade_spent = thread_time() - began
    return dumps(outputs, 2)
"""
_READ = """from marshal import loads

def outputs(data):
    return loads(data)
"""


class CostedBatch(msgspec.Struct, frozen=True):
    """One test of a level, as a batch, and what the reference made of it."""

    batch: Batch
    data: bytes
    """The same, marshalled, as it is sent."""
    outputs: CallResult
    """Marshalled, as one string of bytes."""
    cost_s: float
    """CPU seconds a call."""
    overhead_s: float
    """CPU seconds of a process besides its calls."""


class CostedBatches(msgspec.Struct, frozen=True):
    """What the answers to one problem are measured by."""

    first: Batch
    """Of the easiest level, whose cost does not count."""
    levels: tuple[tuple[CostedBatch, ...], ...]
    """The others."""

    @property
    def references_s(self) -> list[float]:
        """CPU seconds of a call of the reference on the most expensive test, by level."""
        return [max(test.cost_s for test in level) for level in self.levels]

    @property
    def limit_s(self) -> float:
        """CPU seconds that a call of an answer may cost."""
        return TIMEOUT_FACTOR * max(self.references_s)


class Wrong(Exception):
    """An answer is wrong.

    Args:
        reason: of the verdict.
        detail: of the verdict.
    """

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason, self.detail = reason, detail


class OutsideMeasure:
    """Grades answers, and keeps what those of the problems graded last are measured by."""

    def __init__(self) -> None:
        self._references = References()
        self._batches = LastKept[CostedBatches](8)

    def grade(
        self, key: str, task: EfficiencyTask, program: str, executor: Executor, *, cpu_s: float
    ) -> Judgement:
        """Whether an answer is right and what it costs.

        Args:
            key: identifies the problem.
            task: the problem.
            program: the answer, complete.
            executor: runs programs.
            cpu_s: CPU limit of the easiest level.
        """
        try:
            known = self._batches.of(key, lambda: prepare(task, executor))
        except ReferenceFailed as failure:
            return Judgement(reason=Reason.GRADER_ERROR, detail=str(failure))
        easy = msgspec.structs.replace(task, base_inputs=tuple(known.first))
        judged = grade_by_oracle(key, easy, program, self._references, executor, min_cpu_s=cpu_s)
        return _measured(task, program, known, judged, executor) if judged.passed else judged


def prepare(task: EfficiencyTask, executor: Executor) -> CostedBatches:
    """Make a problem's inputs and run its reference on them; batches as large as telling costs apart needs.

    Raises:
        ReferenceFailed: the generator or the reference fails.
    """
    (first,) = make_inputs(task, executor, [0])
    count = 1
    while True:
        batches = make_inputs(task, executor, range(1, len(HARDNESS)), count)
        tried = [_reference(task, batch, executor, 1) for level in batches for batch in level]
        worth_s = count * max(test.cost_s for test in tried)
        one_bytes = max(len(test.data) for test in tried) // count
        room = min(MOST_INPUTS, max(1, MOST_BYTES // max(one_bytes, 1)))
        if worth_s >= WORTH_S / 2 or count >= room:
            break
        count = min(room, ceil(count * WORTH_S / max(worth_s, 1e-9)))
    levels = tuple(tuple(_reference(task, batch, executor, REPEATS) for batch in level) for level in batches)
    return CostedBatches([arguments for batch in first for arguments in batch], levels)


def _reference(task: EfficiencyTask, batch: Batch, executor: Executor, repeats: int) -> CostedBatch:
    """What the reference makes of a batch; the cheapest of several runs."""
    program = task.reference + _TIMED.replace("ENTRY_POINT", task.entry_point)
    data = dumps(batch, 2)
    spent_s = besides_s = inf
    for _ in range(repeats):
        outcome, results = _call(program, "_truegrade_timed", (data, None), executor, REFERENCE_CPU_S)
        errors = [result.error for result in results if result.error is not None]
        if errors or len(results) < 2:
            cause = errors[0] if errors else f"{outcome.status}: {outcome.detail}"
            raise ReferenceFailed(f"the data set's reference failed on inputs of one size: {cause}")
        spent_s = min(spent_s, results[1].whole)
        besides_s = min(besides_s, outcome.cpu_s - results[1].whole)
    return CostedBatch(batch, data, results[0], spent_s / len(batch), besides_s)


def _call(
    program: str, function: str, arguments: Sequence[object], executor: Executor, cpu_s: float
) -> tuple[Outcome, list[CallResult]]:
    """Calls with one argument each, in a process of their own, and their results if all were answered."""
    results: list[CallResult] = []

    def keep(_: int, result: CallResult) -> bool:
        results.append(result)
        return True

    outcome = executor.call(program, function, [(argument,) for argument in arguments], keep, cpu_s=cpu_s)
    return outcome, results if outcome.status == Reason.PASSED else []


def _measured(
    task: EfficiencyTask, program: str, known: CostedBatches, judged: Judgement, executor: Executor
) -> Judgement:
    """The judgement of an answer that is right on the easiest level."""
    costs: list[list[float]] = []
    references_s = list(known.references_s)
    used: list[Outcome] = []
    try:
        for number, level in enumerate(known.levels):
            beside: list[float] = []
            costs.append([])
            for test in level:
                cost_s, reference_s = _costs(task, program, test, known.limit_s, executor, used)
                costs[-1].append(cost_s)
                beside.append(reference_s)
                if cost_s == inf:
                    break
            if costs[-1][-1] == inf:
                break
            references_s[number] = max(beside)
    except Wrong as wrong:
        return _spent(msgspec.structs.replace(judged, reason=wrong.reason, detail=wrong.detail), used)
    limit_s = TIMEOUT_FACTOR * max(references_s)
    scores = [
        level_efficiency(max(level), reference, limit_s)
        for level, reference in zip(costs, references_s, strict=False)
    ]
    return _spent(scored(judged, scores, costs, references_s, "cpu_s"), used)


def scored(
    judged: Judgement,
    scores: Sequence[float],
    costs: Sequence[Sequence[float]],
    references: Sequence[float],
    unit: str,
) -> Judgement:
    """A passing judgement with the efficiency of the answer, and what that rests on.

    Args:
        judged: the judgement.
        scores: of the levels that count, as far as the answer got.
        costs: of a call on each test of these levels; infinite where a limit ended it.
        references: what the reference's most expensive test of each level costs.
        unit: of the costs: ``cpu_s``, ``wall_s`` or ``steps``.
    """
    efficiency = sample_efficiency([0.0, *scores], HARDNESS)
    full = [*scores, *[0.0] * (len(HARDNESS) - 1 - len(scores))]
    harness = {
        "efficiency": efficiency,
        "levels": full,
        "costs": [[None if cost == inf else cost for cost in level] for level in costs],
        "references": list(references),
        "unit": unit,
    }
    words = f"efficiency {efficiency:.3f}; levels {', '.join(f'{score:.2f}' for score in full)}"
    return msgspec.structs.replace(judged, detail=words, harness=harness)


def _spent(judged: Judgement, outcomes: Iterable[Outcome]) -> Judgement:
    """With the time of the answer's runs."""
    runs = list(outcomes)
    return msgspec.structs.replace(
        judged,
        cpu_s=(judged.cpu_s or 0.0) + sum(run.cpu_s for run in runs),
        wall_s=(judged.wall_s or 0.0) + sum(run.wall_s for run in runs),
    )


def _costs(
    task: EfficiencyTask, program: str, test: CostedBatch, limit_s: float, executor: Executor, used: list[Outcome]
) -> tuple[float, float]:
    """CPU seconds of a call of the answer, at least 0, and of the reference, measured in turns.

    The former is infinite where time, memory or a float's range ran out.

    Raises:
        Wrong: an output is wrong, or there is none.
    """
    answer, reference = (
        source + _BATCH.replace("ENTRY_POINT", task.entry_point) for source in (program, task.reference)
    )
    cpu_s = max(MIN_CPU_S, 2 * (test.overhead_s + limit_s * len(test.batch)))
    least_s = reference_s = inf
    for _ in range(REPEATS):
        outcome, results = _call(answer, "_truegrade_batch", (test.data,), executor, cpu_s)
        used.append(outcome)
        if _ran_out(task, test, outcome, results):
            return inf, test.cost_s
        _check(task, test, results[0], executor)
        least_s = min(least_s, outcome.cpu_s)
        if least_s - test.overhead_s > 2 * limit_s * len(test.batch):
            return (least_s - test.overhead_s) / len(test.batch), test.cost_s
        beside, _ = _call(reference, "_truegrade_batch", (test.data,), executor, REFERENCE_CPU_S)
        reference_s = min(reference_s, beside.cpu_s)
    # The difference of two processes may be less than nothing, where the calls are next to nothing beside them.
    cost_s, beside_s = ((spent - test.overhead_s) / len(test.batch) for spent in (least_s, reference_s))
    return max(0.0, cost_s), max(beside_s, test.cost_s / 2)


def _ran_out(task: EfficiencyTask, test: CostedBatch, outcome: Outcome, results: Sequence[CallResult]) -> bool:
    """Whether time, memory or a float's range ran out.

    Raises:
        Wrong: there is no output for another reason.
    """
    if outcome.status in (Reason.TIME_LIMIT, Reason.MEMORY_LIMIT):
        return True
    if not results:
        raise Wrong(Reason(outcome.status), outcome.detail)
    error = results[0].error
    if error is None or error.startswith("OverflowError"):
        return error is not None
    raise Wrong(Reason.RUNTIME_ERROR, f"{task.entry_point} on {len(test.batch)} inputs: {shortened(error)}")


def _check(task: EfficiencyTask, test: CostedBatch, result: CallResult, executor: Executor) -> None:
    """Compare the outputs of a batch; bytes that differ are read in the jail, since a program chose them.

    Raises:
        Wrong: one is wrong.
    """
    if result.same_as(test.outputs):
        return
    try:
        sent = result.value
    except ValueError:
        sent = None
    if not isinstance(sent, bytes):
        raise Wrong(Reason.TAMPERING, "the program sent something else than the outputs of a batch")
    _, got = _call(_READ, "outputs", (sent,), executor, REFERENCE_CPU_S)
    _, expected = _call(_READ, "outputs", (test.outputs.whole,), executor, REFERENCE_CPU_S)
    if not got or got[0].error is not None:
        raise Wrong(Reason.WRONG_ANSWER, f"{task.entry_point} gave outputs that are no built-in values")
    try:
        words = executor.decide(
            _difference, got[0], expected[0], test.batch, task.entry_point, task.comparator, task.atol
        )
    except ValueError as error:
        raise Wrong(
            Reason.OUTPUT_LIMIT, f"{task.entry_point} gave outputs that cannot be compared: {error}"
        ) from None
    if words is not None:
        raise Wrong(Reason.WRONG_ANSWER, words)


def _difference(got: Any, expected: Any, batch: Batch, function: str, comparator: str, atol: float) -> str | None:
    """What is wrong with the outputs of a batch, or None."""
    if not isinstance(got, list) or len(got) != len(batch):
        return f"{function} gave no list of {len(batch)} outputs"
    for arguments, one, right in zip(batch, got, expected, strict=True):
        if not oracles.compare(comparator, arguments, right, one, atol):
            return f"{shown_call(function, arguments)} gave {shown(one)}, expected {shown(right)}"
    return None
