"""What a problem tells about its own right answers: the reference, the calls of its tests, the comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from truegrade.assay.answers import MOST_INPUT_CHARS, OUTPUT, AnswerRule, inputs_of
from truegrade.assay.written_calls import is_plain
from truegrade.benchmarks import humanevalplus, mbppplus
from truegrade.benchmarks.table import find_benchmark
from truegrade.datasets import source
from truegrade.datasets.download import find
from truegrade.errors import UserError
from truegrade.grading.contests.tests import UndecodableTests, decode
from truegrade.grading.executor import Executor
from truegrade.grading.programs import method_call
from truegrade.grading.suites import suite_of
from truegrade.records import CasesTask, ContestTask, FunctionTask, OracleTask, Problem, Reason
from truegrade.sandbox.outcome import CallResult
from truegrade.store.journal import Notice

COMPANIONS: Mapping[str, str] = MappingProxyType(
    {"humaneval": "humanevalplus", "mbpp": "mbppplus", "mbpp-sanitized": "mbppplus"}
)
"""Benchmark to the one that has more inputs, and another reference, for the same problems."""

RECORDING_CPU_S = 30.0
"""CPU seconds of a problem's own tests while their calls are recorded, where the problem names none."""

Calls = tuple[tuple[Any, ...], ...]


class KnownCalls(AnswerRule, frozen=True, kw_only=True):
    """A problem as plain values."""

    reference: str
    """Whole program."""
    own: Calls
    """Arguments of the problem's own tests."""
    plus: Calls = ()
    """Arguments of its extended tests."""
    method_call: str = ""
    """Where the tests call a method: source of the function by which they do, with which the reference ends."""


def known_calls(problem: Problem, executor: Executor) -> KnownCalls | str:
    """The reference and the calls of a problem, or the reason in words why it has none of plain values."""
    known: KnownCalls | str
    match problem.task:
        case OracleTask() as task:
            known = KnownCalls(
                entry_point=task.entry_point, reference=task.reference, comparator=task.comparator, atol=task.atol,
                own=task.base_inputs, plus=task.plus_inputs,
            )  # fmt: skip
        case CasesTask() as task:
            left_out = {*task.skipped, *task.slow}
            own = tuple(case.arguments for number, case in enumerate(task.cases) if number not in left_out)
            rule = "equal" if task.comparator == "eq" else task.comparator
            known = KnownCalls(entry_point=task.entry_point, reference=task.reference, own=own, comparator=rule)
        case FunctionTask() as task:
            known = _of_function(problem, task, executor)
        case ContestTask(function=None) as task:
            known = _of_stdin(task)
        case other:
            known = f"a problem of kind {type(other).__name__} has no function and reference to compare"
    return known if isinstance(known, str) or known.own else "its tests make no call of the function"


def _of_stdin(task: ContestTask) -> KnownCalls | str:
    if not isinstance(task.reference, str):
        return "the data set has no right program for it"
    try:
        inputs = inputs_of(decode(task).inputs)
    except UndecodableTests as error:
        return str(error)
    if not inputs:
        return f"its tests have no input of up to {MOST_INPUT_CHARS:,} characters"
    return KnownCalls(entry_point="", reference=task.reference, own=inputs, comparator=OUTPUT)


def _of_function(problem: Problem, task: FunctionTask, executor: Executor) -> KnownCalls | str:
    called = method_call(task)
    reference = f"{task.reference}\n\n{called}" if called else task.reference
    cases = suite_of(task).cases
    own = tuple(case.arguments for case in cases) if cases else _recorded(task, reference, called, executor)
    if isinstance(own, str):
        return own
    known = KnownCalls(entry_point=task.entry_point, reference=reference, own=own, method_call=called)
    return _with_published_rule(problem, known)


def _recorded(task: FunctionTask, reference: str, called: str, executor: Executor) -> Calls | str:
    """The calls that the tests make of the reference, seen while they run; or why they cannot be used."""
    answers: list[CallResult] = []

    def keep(_: int, result: CallResult) -> bool:
        answers.append(result)
        return True

    tests = task.tests.removeprefix(called)  # which would hide what records
    asked = (reference, f"{task.setup}\n{tests}", task.entry_point)
    cpu_s = task.cpu_s or RECORDING_CPU_S
    outcome = executor.call(_RECORDER, "recorded_calls", [asked], keep, cpu_s=cpu_s)
    if outcome.status != Reason.PASSED or not answers:
        return f"its tests could not be run with the reference ({outcome.status}: {outcome.detail})"
    if answers[0].error is not None:
        return f"its tests could not be run with the reference ({answers[0].error})"
    calls, ended = answers[0].whole
    if ended:
        return f"its reference fails its own tests ({ended})"
    if not is_plain(calls):
        return "its tests pass arguments that are not plain values"
    return tuple(map(tuple, calls))


_RECORDER = """
import copy
import inspect
import random
import sys


def recorded_calls(program, tests, entry_point):
    random.seed(0)
    namespace = {"__name__": "program"}
    # The encoder of answers looks the classes of values up; a module of that name has to exist.
    sys.modules["program"] = type(sys)("program")
    exec(compile(program, "<program>", "exec", dont_inherit=True), namespace)
    function, calls, depth = namespace[entry_point], [], 0

    def recording(*args, **kwargs):
        nonlocal depth
        if depth == 0:  # a recursive function reaches this wrapper by its own name
            calls.append(copy.deepcopy(_positional(function, args, kwargs)))
        depth += 1
        try:
            return function(*args, **kwargs)
        finally:
            depth -= 1

    namespace[entry_point] = recording
    try:
        exec(compile(tests, "<tests>", "exec", dont_inherit=True), namespace)
    except Exception as error:
        return calls, f"{type(error).__name__}: {error}"
    return calls, ""


def _positional(function, args, kwargs):
    if not kwargs:
        return args
    bound = inspect.signature(function).bind(*args, **kwargs)
    if bound.kwargs:
        raise TypeError("the tests pass arguments by name")
    return bound.args
"""
"""Runs tests behind a program, and gives the arguments of each call of its function, by position and copied before
the function could change them; and the exception that ended the tests, ``TypeName: message``, or an empty text."""


def _with_published_rule(problem: Problem, known: KnownCalls) -> KnownCalls:
    """The comparison that the extended benchmark publishes for the problem, which needs no data to be known."""
    number = problem.id.rpartition("/")[2]
    if problem.benchmark == "humaneval":
        rule = humanevalplus.COMPARATORS.get(problem.id, "equal")
    elif problem.benchmark in COMPANIONS and number.isdigit():
        rule = mbppplus.COMPARATORS.get(int(number), "equal")
    else:
        return known
    return msgspec.structs.replace(known, comparator=rule, atol=_ROOT_ATOL if rule == "root" else 0.0)


_ROOT_ATOL = 1e-4
"""The tolerance that HumanEval+ gives the one problem with this rule."""


# ------------------------------------------------------------------------------------------------ companions


def find_companions(
    benchmark: str, problems: Iterable[Problem], data: str | Path | None, notice: Notice
) -> dict[str, Problem]:
    """Problems of the extended benchmark, by the id of the problem that they extend; downloads nothing.

    ``data`` is the file or folder that the benchmark itself was read from; other known places are tried too. Where
    there are none although the benchmark has an extended one, ``notice`` is told why.
    """
    name = COMPANIONS.get(benchmark)
    if name is None:
        return {}
    given = None if data is None else Path(data)
    places: list[Path | None] = [] if given is None else [given.parent if given.is_file() else given]
    if find(source(name)) is not None:
        places.append(None)
    absent = f"the data of {name} is not on this machine"
    for place in places:
        try:
            extended = find_benchmark(name).load(place, {}).by_id()
        except UserError as error:
            absent = str(error)
            continue
        # `MBPP/164` is `Mbpp/164` in the extended benchmark; ids of HumanEval are the same.
        found = {one.id: extended.get(one.id.replace("MBPP/", "Mbpp/", 1)) for one in problems}
        return {key: value for key, value in found.items() if value is not None}
    notice(f"{benchmark}: {absent}; labels rest on its own inputs and on generated ones")
    return {}
