"""What a problem tells: its right answers, and the domain of its inputs as known calls show it.

A domain has a shape for each argument, and relations between arguments. New inputs are known ones after a few
changes that keep kinds, ranges, lengths and order. The idea of changing known arguments by their types, and the
share of values that are taken from other known values, are those of evalplus/evalplus@26d6d00
(evalplus/gen/type_mut.py); here every change is bounded by a shape.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from truegrade.apps.assay.answers import MOST_INPUT_CHARS, OUTPUT, AnswerRule, inputs_of, is_plain
from truegrade.benchmarks import find_benchmark, humaneval, mbpp
from truegrade.builders.shapes import (
    MANY,
    SOME,
    DictShape,
    ExactShape,
    ListShape,
    NumberShape,
    RecordShape,
    Shape,
    ShapeDrawer,
    TextShape,
    UnionShape,
    shape_of,
)
from truegrade.datasets import source
from truegrade.datasets.download import find
from truegrade.errors import UserError
from truegrade.grading.executor import Executor
from truegrade.grading.problem_tests import CallTests, ReferenceTests, SourceTests, StreamTests
from truegrade.grading.programs import assemble
from truegrade.kinds import kind_of
from truegrade.records import Answer, Problem, Reason
from truegrade.sandbox.outcome import CallResult
from truegrade.store.journal import Notice

Arguments = tuple[Any, ...]
Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Signature:
    """Calls with one number of arguments."""

    shapes: tuple[Shape, ...]
    known: tuple[Arguments, ...]
    same_length: Pairs = ()
    """Places of arguments that are equally long in every known call."""
    sizes: Pairs = ()
    """Place of a whole number that is the length of another argument."""
    within: Pairs = ()
    """Place of a whole number from 0 to the length of another argument."""
    ordered: Pairs = ()
    """Places of numbers of which the first is never the larger."""

    def fits(self, arguments: Arguments) -> bool:
        """Whether every argument keeps its shape and all relations hold."""
        if len(arguments) != len(self.shapes):
            return False
        if not all(shape.fits(value) for shape, value in zip(self.shapes, arguments, strict=True)):
            return False
        relations = self.same_length, self.sizes, self.within, self.ordered
        return all(
            holds(arguments[one], arguments[other])
            for pairs, holds in zip(relations, _HOLDS, strict=True)
            for one, other in pairs
        )


@dataclass(frozen=True)
class Domain:
    """A signature for each number of arguments that was seen."""

    signatures: tuple[Signature, ...]

    def fits(self, arguments: Arguments) -> bool:
        """Whether a call belongs to it."""
        return any(signature.fits(arguments) for signature in self.signatures)


def infer_domain(calls: Sequence[Arguments]) -> Domain:
    """The domain of known calls with plain values, at least one, each of which fits it."""
    by_number: dict[int, list[Arguments]] = {}
    for arguments in calls:
        by_number.setdefault(len(arguments), []).append(arguments)
    return Domain(tuple(_signature(known) for known in by_number.values()))


def _signature(known: list[Arguments]) -> Signature:
    places = list(zip(*known, strict=True))
    return Signature(
        shapes=tuple(shape_of(values) for values in places),
        known=tuple(known),
        same_length=_pairs(places, _equally_long, SOME - 1, both_ways=False),
        sizes=_pairs(places, _is_length, SOME - 1),
        within=_pairs(places, _is_within, SOME),
        ordered=_pairs(places, _is_ordered, MANY),
    )


def _pairs(
    places: Sequence[Sequence[Any]], holds: Callable[[Any, Any], bool], least: int, *, both_ways: bool = True
) -> Pairs:
    """Pairs of places between which something holds in every known call, of which there are enough."""
    return tuple(
        (one, other)
        for one in range(len(places))
        for other in range(len(places))
        if one != other and (both_ways or one < other) and len(places[one]) >= least
        if all(holds(*values) for values in zip(places[one], places[other], strict=True))
    )


def _equally_long(one: Any, other: Any) -> bool:
    return isinstance(one, _SIZED) and isinstance(other, _SIZED) and len(one) == len(other)


def _is_length(number: Any, sized: Any) -> bool:
    return type(number) is int and isinstance(sized, _SIZED) and number == len(sized)


def _is_within(number: Any, sized: Any) -> bool:
    return type(number) is int and isinstance(sized, _SIZED) and 0 <= number <= len(sized)


def _is_ordered(one: Any, other: Any) -> bool:
    return type(one) in {int, float} and type(other) in {int, float} and bool(one <= other)


_SIZED = (str, list, tuple)
_HOLDS = (_equally_long, _is_length, _is_within, _is_ordered)


MOST_STEPS = 5
"""Changes of one input, as in EvalPlus."""
INGREDIENT, TEXT_INGREDIENT = 0.5, 0.4
"""Share of numbers, and of texts, that are replaced by known ones, as in EvalPlus."""
_WORDS_AT_ONCE = 3
_TRIES = 8
_FRESH_ITEMS = 4
_DIGITS = 3
"""Decimal places of floating-point numbers that are made anew."""


class ValueMutator(ShapeDrawer):
    """Changes values within their shapes, and draws such as are like known ones.

    ``constants``, numbers and texts of programs, are used like known values where a shape takes them.
    """

    def __init__(self, rng: random.Random, constants: Sequence[Any] = ()) -> None:
        super().__init__(rng)
        self._constants = tuple(constants)

    def mutated_call(self, signature: Signature) -> Arguments:
        """A known call after 1 to `MOST_STEPS` changes; relations between arguments still hold."""
        rng = self._random
        arguments = list(rng.choice(signature.known))
        for _ in range(rng.randint(1, MOST_STEPS)):
            if not arguments:
                break
            place = rng.randrange(len(arguments))
            if len(signature.known) > 1 and rng.random() < 1 / (2 * MOST_STEPS):
                arguments[place] = rng.choice(signature.known)[place]
            else:
                arguments[place] = self.mutated(signature.shapes[place], arguments[place])
        return self.repaired(signature, arguments)

    def repaired(self, signature: Signature, arguments: Sequence[Any]) -> Arguments:
        """The arguments with what hangs together put right."""
        held = list(arguments)
        for one, other in signature.same_length:
            least = min(len(held[one]), len(held[other]))
            held[one], held[other] = held[one][:least], held[other][:least]
        for number, sized in signature.sizes:
            held[number] = len(held[sized])
        for number, sized in signature.within:
            held[number] = max(0, min(held[number], len(held[sized])))
        for one, other in signature.ordered:
            if held[one] > held[other]:
                held[one], held[other] = held[other], held[one]
        return tuple(held)

    # -------------------------------------------------------------------------------------------- values

    def mutated(self, shape: Shape, value: Any) -> Any:  # noqa: PLR0911 (one return a shape)
        """A neighbour of a value that fits the shape, or the value itself."""
        match shape:
            case NumberShape():
                return self._changed_number(shape, value)
            case TextShape():
                return self._changed_text(shape, value)
            case ListShape():
                return self._list(shape, value)
            case RecordShape():
                return self._record(shape, value)
            case DictShape():
                return self._dict(shape, value)
            case ExactShape():
                return self._random.choice(shape.values)
            case UnionShape():
                fitting = [option for option in shape.options if option.fits(value)] or list(shape.options)
                return self.mutated(self._random.choice(fitting), value)

    def _count(self, shape: ListShape | DictShape) -> int:
        return self._random.randint(shape.shortest, min(shape.longest, _FRESH_ITEMS))

    def _number(self, shape: NumberShape) -> Any:
        return self._changed_number(shape, self._random.choice(shape.known))

    def _text(self, shape: TextShape) -> str:
        return self._changed_text(shape, self._random.choice(shape.known))

    def _changed_number(self, shape: NumberShape, value: Any) -> Any:
        rng = self._random
        if rng.random() < INGREDIENT:
            return rng.choice([*shape.known, *self._fitting(shape)])
        if shape.kind is int:
            changed = value + rng.choice((-1, 1, -1, 1, -value, value, rng.randint(-10, 10)))
        elif rng.random() < INGREDIENT:
            changed = round(value + rng.uniform(-1, 1), _DIGITS)
        else:
            changed = round(value * rng.uniform(0.5, 1.5), _DIGITS)
        return changed if shape.fits(changed) else value

    def _changed_text(self, shape: TextShape, value: str) -> str:
        rng = self._random
        if rng.random() < TEXT_INGREDIENT:
            return rng.choice(shape.known)
        place = rng.randint(0, len(value))
        end = min(len(value), place + rng.randint(1, _WORDS_AT_ONCE))
        letter = rng.choice(shape.alphabet) if shape.alphabet else ""
        changed = rng.choice(
            (
                value[:place] + value[end:],
                value[:place] + letter + value[place:],
                value[:place] + letter + value[end:],
                value[:place] + value[place:end] * 2 + value[end:],
                value[:place] + rng.choice(self._words(shape)) + value[place:],
                value[:place] + value[place:][::-1],
            )
        )
        return changed if shape.fits(changed) else value

    def _words(self, shape: TextShape) -> list[str]:
        words = [word for text in shape.known for word in text.split()] or [""]
        return [*words, *self._fitting(shape)]

    def _fitting(self, shape: NumberShape | TextShape) -> list[Any]:
        return [constant for constant in self._constants if shape.fits(constant)]

    def _list(self, shape: ListShape, value: Any) -> Any:
        if shape.items is None:
            return value
        for _ in range(_TRIES):
            changed = shape.finished(self._changed_items(shape, shape.items, list(value)))
            if shape.fits(changed):
                return changed
        return value

    def _changed_items(self, shape: ListShape, items_of: Shape, items: list[Any]) -> list[Any]:
        rng = self._random
        if not items:
            return [self.value(items_of)]
        place = rng.randrange(len(items))
        match rng.randrange(5):
            case 0:
                del items[place]
            case 1:
                items.insert(rng.randint(0, len(items)), self.mutated(items_of, items[place]))
            case 2:
                items.append(items[place])
            case 3 if not shape.is_sorted:
                rng.shuffle(items)
            case _:
                items[place] = self.mutated(items_of, items[place])
        return items

    def _record(self, shape: RecordShape, value: Any) -> Any:
        items = list(value)
        place = self._random.randrange(len(items))
        items[place] = self.mutated(shape.places[place], items[place])
        return shape.kind(items)

    def _dict(self, shape: DictShape, value: dict[Any, Any]) -> dict[Any, Any]:
        if shape.keys is None or shape.values is None:
            return value
        rng, changed = self._random, dict(value)
        keys = list(changed)
        match rng.randrange(3) if keys else 1:
            case 0:
                del changed[rng.choice(keys)]
            case 1:
                changed[self.value(shape.keys)] = self.value(shape.values)
            case _:
                key = rng.choice(keys)
                changed[key] = self.mutated(shape.values, changed[key])
        return changed if shape.fits(changed) else value


# ---- What a problem tells about its own right answers: the reference, the calls of its tests, the comparison.


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
    kind, task = kind_of(problem.task), problem.task
    whole = kind.reference(task)
    if not isinstance(whole, str):
        return "the data set has no right program for it"
    known: KnownCalls | str
    match kind.tests(task):
        case ReferenceTests() as tests:
            known = KnownCalls(
                entry_point=tests.entry_point, reference=tests.reference, comparator=tests.comparator,
                atol=tests.atol, own=tests.inputs, plus=tests.further,
            )  # fmt: skip
        case CallTests() as tests:
            own = tuple(tests.cases[number].arguments for number in tests.quick)
            rule = "equal" if tests.comparator == "eq" else tests.comparator
            known = KnownCalls(entry_point=tests.entry_point, reference=whole, own=own, comparator=rule)
        case SourceTests() as tests:
            known = _of_function(problem, tests, whole, executor)
        case StreamTests(function=None) as tests:
            known = _of_stdin(tests, whole)
        case str() as why:
            known = why
        case _:
            known = "its tests are texts for a method, or in no shape of truegrade.grading.problem_tests"
    return known if isinstance(known, str) or known.own else "its tests make no call of the function"


def _of_stdin(tests: StreamTests, reference: str) -> KnownCalls | str:
    inputs = inputs_of(tests.inputs)
    if not inputs:
        return f"its tests have no input of up to {MOST_INPUT_CHARS:,} characters"
    return KnownCalls(entry_point="", reference=reference, own=inputs, comparator=OUTPUT)


def _of_function(problem: Problem, tests: SourceTests, written: str, executor: Executor) -> KnownCalls | str:
    kind, called = kind_of(problem.task), tests.method_call
    prefix, prompt = kind.prefix(problem.task), kind.shown(problem.task).text
    reference = f"{written}\n\n{called}" if called else written
    ahead = "" if prefix.strip() in prompt or written.startswith(prefix) else prefix
    whole = assemble(ahead, Answer(value=reference, found=""))
    cases = tests.cases
    cpu_s = kind.needs(problem.task).cpu_s or RECORDING_CPU_S
    own = tuple(case.arguments for case in cases) if cases else _recorded(tests, whole, cpu_s, executor)
    if isinstance(own, str):
        return own
    known = KnownCalls(
        entry_point=tests.entry_point, reference=reference, own=own, method_call=called, ahead=ahead
    )
    return _with_published_rule(problem, known)


def _recorded(tests: SourceTests, reference: str, cpu_s: float, executor: Executor) -> Calls | str:
    """The calls that the tests make of the reference, seen while they run; or why they cannot be used."""
    answers: list[CallResult] = []

    def keep(_: int, result: CallResult) -> bool:
        answers.append(result)
        return True

    source = tests.source.removeprefix(tests.method_call)  # which would hide what records
    asked = (reference, f"{tests.setup}\n{source}", tests.entry_point)
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
        rule = humaneval.COMPARATORS.get(problem.id, "equal")
    elif problem.benchmark in COMPANIONS and number.isdigit():
        rule = mbpp.COMPARATORS.get(int(number), "equal")
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
