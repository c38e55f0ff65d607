"""Deciding by the stronger oracle whether a program is wrong, with the input that shows it.

What counts as behaviour is the value that a call returns, or that it raises or does not end; what it prints and
what it does to its arguments does not, since the tests of these benchmarks do not look at it. No clock decides:
what takes longer than the references is run again, and its steps are counted. Programs are whole, and the
executor is the jail.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from truegrade.apps.assay.answers import (
    EXIT_CODE,
    MOST_TRACED_CHARS,
    ReferenceAnswers,
    answers_of,
    shown_value,
    watched_stdin,
    written_call,
)
from truegrade.apps.assay.input_domain import Arguments, Domain, ValueMutator
from truegrade.apps.assay.input_edges import named_calls
from truegrade.apps.assay.oracle import OracleInput, ProblemOracle, generated_inputs, rule_of, valid_inputs
from truegrade.apps.assay.records import DOES_NOT_END, Label, Witness
from truegrade.builders.mutation.mutants import MutationOptions
from truegrade.builders.mutation.observing import observe_calls
from truegrade.grading.executor import Executor
from truegrade.records import Reason
from truegrade.sandbox.outcome import SMALL_BYTES, CallResult, Outcome

LEAST_STEPS, TIMES_STEPS = 100_000, 50
"""A call that takes more steps than the first number, and than the second times those of the reference, is taken
not to end: the same on every machine."""
_LEAST_CPU_S, _TIMES_CPU = 0.5, 8.0
"""CPU seconds of one process, before steps are counted; they decide nothing."""
_TRACED_CPU_S = 20.0
ANSWER_CPU_S = 10.0
"""CPU seconds of one call of a reference, which has answered it within far less before."""
_MOST_STEPS = 5_000_000
"""A reference that takes a fiftieth of them or more leaves what does not end undecided."""
_REPEATS = 3
"""Times at least that a call is made of a program which answered it alone as the references do, and not later."""
_MOST_RUNS = 6
"""Processes in which a program goes on behind inputs that took long."""


class Labelled(msgspec.Struct, frozen=True, kw_only=True):
    """What the oracle says of one program."""

    label: Label
    """``wrong`` with a witness, else ``undecided``."""
    witness: Witness | None = None
    agreed: int = 0
    """Inputs on which it answers as the references do."""
    reason: str = ""
    """Why it could not be run on all inputs; empty where it agrees on all of them."""

    @property
    def agrees(self) -> bool:
        """Whether it answers every input as the references do."""
        return self.label == "undecided" and not self.reason


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """One call made again."""

    call: str
    expected: str
    """The reference's value."""
    got: str
    """The program's."""
    differs: bool


class _Difference(NamedTuple):
    number: int
    expected: str
    got: str
    result: CallResult | None = None
    """None where it gave no value."""
    repeats: int = 1


@dataclass
class _Run:
    """One process of a program."""

    answered: int
    difference: _Difference | None
    outcome: Outcome


def replay(oracle: ProblemOracle, program: str, call: str, executor: Executor, repeats: int = 1) -> Replayed:
    """Make one call again, of the reference and of a program.

    Args:
        call: as a `Witness` has it.
        repeats: how often it is made in one process.

    Raises:
        ValueError: the text is no call of plain values, or the reference gives no answer.
    """
    one = OracleInput(arguments=rule_of(oracle).read(call), source="own")
    labeller = OracleLabeller(msgspec.structs.replace(oracle, inputs=(one,) * repeats), executor)
    labelled = labeller.label(program)
    if not labeller.answered(range(1)):
        raise ValueError(f"the reference gives no answer to {call}")
    expected = labeller.expected(0)
    if labelled.witness is not None:
        return Replayed(call=call, expected=expected, got=labelled.witness.got, differs=True)
    return Replayed(call=call, expected=expected, got=labelled.reason or expected, differs=False)


class OracleLabeller:
    """Holds programs for one problem against its oracle; the references are run once."""

    def __init__(self, oracle: ProblemOracle, executor: Executor) -> None:
        self._executor, self._rule = executor, rule_of(oracle)
        self._references, self._method_call = oracle.references, oracle.method_call
        rank = {"own": 0, "plus": 1}
        self.inputs = sorted(oracle.inputs, key=lambda one: rank.get(one.source, len(rank)))
        self._arguments = [one.arguments for one in self.inputs]
        own = sum(one.source == "own" for one in self.inputs)
        self._stages = [range(own), range(own, len(self.inputs))]
        self._cpu_s = _LEAST_CPU_S
        self._expected: dict[int, CallResult] = {}
        self._others: dict[int, tuple[CallResult, ...]] = {}
        self._answered: dict[range, list[int]] = {}
        self._steps: dict[int, int | None] = {}

    def label(self, program: str) -> Labelled:
        """The first input on which a whole program differs from every reference."""
        program = f"{program}\n\n{self._method_call}" if self._method_call else program
        agreed = 0
        for stage in self._stages:
            labelled = self._label_on(program, self.answered(stage))
            agreed += labelled.agreed
            if not labelled.agrees:
                return msgspec.structs.replace(labelled, agreed=agreed)
        return Labelled(label="undecided", agreed=agreed)

    def expected(self, number: int) -> str:
        """The benchmark's own reference's answer to an input that it has answered, as text."""
        return shown_value(self._expected[number].whole)

    def answered(self, stage: range) -> list[int]:
        """Those inputs that the benchmark's own reference answers; it is run when they are first asked for."""
        if stage not in self._answered:
            answers = self._asked(self._references[0], stage)
            self._expected.update(answers.given)
            self._answered[stage] = list(answers.given)
            self._cpu_s = max(self._cpu_s, _TIMES_CPU * answers.cpu_s)
        return self._answered[stage]

    def _label_on(self, program: str, numbers: Sequence[int]) -> Labelled:
        first, cpu_s = 0, self._cpu_s
        for _ in range(_MOST_RUNS):
            run = self._run(program, numbers[first:], cpu_s)
            first += run.answered
            if run.difference is not None:
                found = self._settled(program, run.difference, run.answered)
            elif first < len(numbers):
                found = self._stopped(program, numbers[first], run.outcome)
            else:
                return Labelled(label="undecided", agreed=first)
            if isinstance(found, str):
                return Labelled(label="undecided", agreed=first, reason=found)
            if found is not None:
                return self._wrong(found, first)
            first, cpu_s = first + 1, 2 * cpu_s
        return Labelled(label="undecided", agreed=first, reason="takes long on several inputs")

    def _run(self, program: str, numbers: Sequence[int], cpu_s: float) -> _Run:
        """Ask the inputs of these numbers, until one differs or the process ends."""
        answered, difference = 0, None

        def compare(place: int, result: CallResult) -> bool:
            nonlocal answered, difference
            difference = self._difference(numbers[place], result)
            answered += difference is None
            return difference is None

        asked = [self.inputs[number].arguments for number in numbers]
        outcome = self._rule.ask(program, asked, compare, self._executor, cpu_s=cpu_s)
        return _Run(answered, difference, outcome)

    def _difference(self, number: int, result: CallResult) -> _Difference | None:
        """How an answer differs from that of the benchmark's own reference."""
        if result.error is not None:
            ended = result.error.startswith(EXIT_CODE)
            return _Difference(
                number, self.expected(number), f"{'ends with' if ended else 'raises'} {result.error}"
            )
        arguments = self.inputs[number].arguments
        found = self._rule.difference(self._expected[number], result, arguments, self._executor)
        return None if found is None else _Difference(number, *found, result)

    def _settled(self, program: str, difference: _Difference, before: int) -> _Difference | str | None:
        """What a difference from the first reference comes to, seen in a process that answered inputs before.

        Returns:
            The difference, which a call of its own or its repetition shows too, so that the witness can be
            replayed, and which is one from every reference; why it stays undecided; or None where another
            reference answers alike.
        """
        number = difference.number
        if before:
            again = self._run(program, [number], self._cpu_s).difference or self._repeated(program, number, before)
            if again is None:
                return "differs in one of two runs: it keeps a state, or chance decides"
            difference = again
        arguments, got = self.inputs[number].arguments, difference.result
        if got is None:
            return difference
        others = self._other_answers(number)
        alike = any(self._rule.same(one, got, arguments, self._executor) for one in others)
        return None if alike else difference

    def _repeated(self, program: str, number: int, before: int) -> _Difference | None:
        """How a program that keeps a state differs when a call is repeated; None where two runs do not agree."""
        calls = [number] * max(_REPEATS, before + 1)
        one, other = (self._run(program, calls, self._cpu_s) for _ in range(2))
        if one.difference is None or other.difference is None or one.answered != other.answered:
            return None
        return (
            one.difference._replace(repeats=one.answered + 1)
            if one.difference.got == other.difference.got
            else None
        )

    def _other_answers(self, number: int) -> tuple[CallResult, ...]:
        """What the references other than the first answer."""
        if number not in self._others:
            answers = (self._asked(reference, [number]).given for reference in self._references[1:])
            self._others[number] = tuple(one for given in answers for one in given.values())
        return self._others[number]

    def _asked(self, reference: str, numbers: Sequence[int]) -> ReferenceAnswers:
        """What a reference answers to the inputs of these numbers."""
        inputs, rule, executor = self._arguments, self._rule, self._executor
        return answers_of(reference, rule, inputs, executor, call_cpu_s=ANSWER_CPU_S, numbers=numbers)

    def _stopped(  # noqa: PLR0911 (one return a status)
        self, program: str, number: int, outcome: Outcome
    ) -> _Difference | str | None:
        """What it means that a process ended before an input was answered.

        Returns:
            A difference; why it stays undecided; or None where the input is answered after all.
        """
        expected = self.expected(number)
        match outcome.status:
            case Reason.SYNTAX_ERROR:
                return _Difference(number, expected, f"does not compile: {outcome.detail}")
            case Reason.RUNTIME_ERROR:
                ended = outcome.detail.startswith("the program ended the process")
                return _Difference(number, expected, outcome.detail if ended else f"raises {outcome.detail}")
            case Reason.TAMPERING:
                return _Difference(number, expected, outcome.detail)
            case Reason.KILLED if "SIGKILL" not in outcome.detail:
                return _Difference(number, expected, outcome.detail)
            case Reason.OUTPUT_LIMIT if self._too_large(number, outcome):
                return _Difference(number, expected, outcome.detail)
            case Reason.OUTPUT_LIMIT if not self._rule.entry_point:
                return self._by_steps(program, number, expected, outcome)
            case Reason.TIME_LIMIT | Reason.MEMORY_LIMIT:
                return self._by_steps(program, number, expected, outcome)
        return f"{outcome.status}: {outcome.detail}"

    def _too_large(self, number: int, outcome: Outcome) -> bool:
        """Whether a value could not be sent although the references' was small."""
        expected = self._expected[number]
        small = expected.digest is None and len(expected.encoded) <= SMALL_BYTES
        return small and outcome.detail.startswith(f"{self._rule.asked} returned ")

    def _by_steps(self, program: str, number: int, expected: str, outcome: Outcome) -> _Difference | str | None:
        """Count the steps of one call that took long or much memory."""
        steps = self._reference_steps(number)
        if steps is None:
            return f"{outcome.status}: {outcome.detail}; the reference's steps cannot be counted"
        most = max(LEAST_STEPS, TIMES_STEPS * steps)
        kind, _ = self._traced(program, number, most)
        if kind == "endless":
            return _Difference(number, expected, f"{DOES_NOT_END}: more than {most} steps")
        if kind not in {"value", "raised", "unwritable"}:
            return f"{outcome.status}: {outcome.detail}"
        alone = self._run(program, [number], _TRACED_CPU_S)
        if alone.difference is not None or alone.answered:
            return alone.difference
        return f"{alone.outcome.status}: {alone.outcome.detail}"

    def _reference_steps(self, number: int) -> int | None:
        if number not in self._steps:
            kind, steps = self._traced(self._references[0], number, _MOST_STEPS // TIMES_STEPS)
            self._steps[number] = steps if kind in {"value", "unwritable"} else None
        return self._steps[number]

    def _traced(self, program: str, number: int, most: int) -> tuple[str, int]:
        """How one watched call ended, and its steps."""
        arguments = self.inputs[number].arguments
        if self._rule.entry_point:
            call = written_call(self._rule.entry_point, arguments)
        elif len(arguments[0]) > MOST_TRACED_CHARS:
            return "too long", 0
        else:
            program, call = watched_stdin(program, arguments[0])
        options = MutationOptions(max_steps=most, cpu_s=_TRACED_CPU_S)
        case = next(observe_calls(self._executor, program, [call], options))
        return case.kind, case.steps

    def _wrong(self, difference: _Difference, agreed: int) -> Labelled:
        one = self.inputs[difference.number]
        witness = Witness(
            call=self._rule.written(one.arguments),
            expected=difference.expected,
            got=difference.got,
            source=one.source,
            repeats=difference.repeats,
        )
        return Labelled(label="wrong", witness=witness, agreed=agreed)


MOST_NAMED = 60
"""Inputs that a program names, in a batch of their own: a reference may take many steps on a large one."""
BATCH = 100
"""Inputs that are validated and asked together."""


class FoundWitness(msgspec.Struct, frozen=True, kw_only=True):
    """An input that shows a program to be wrong."""

    input: OracleInput
    witness: Witness


def find_witness(
    oracle: ProblemOracle,
    domain: Domain,
    program: str,
    executor: Executor,
    *,
    budget_inputs: int,
    seed: int = 0,
    beyond: bool = False,
) -> FoundWitness | None:
    """Search the domain near known inputs and near the constants of a program.

    Args:
        oracle: of the problem; its inputs are known not to tell the program from the references.
        domain: of its inputs (`infer_domain`).
        budget_inputs: the most inputs to try.
        seed: equal seeds give equal inputs.
        beyond: try inputs as well that only the program names, which may be larger than the known ones.
    """
    known = [one.arguments for one in oracle.inputs]
    programs = [program, *oracle.references]
    own_seed = f"{seed} {oracle.problem_id} {program}"
    fresh = generated_inputs(rule_of(oracle), known, programs, seed=own_seed, limit=budget_inputs, domain=domain)
    for start in range(0, len(fresh), BATCH):
        found = _differing(oracle, program, fresh[start : start + BATCH], executor)
        if found is not None:
            return found
    if not beyond or not oracle.entry_point:
        return None
    mutator = ValueMutator(random.Random(own_seed))
    named = named_calls(domain, program, oracle.references, mutator, limit=MOST_NAMED)
    return _differing(oracle, program, named, executor)


def _differing(
    oracle: ProblemOracle, program: str, inputs: Sequence[Arguments], executor: Executor
) -> FoundWitness | None:
    """The first valid input on which the program is wrong."""
    valid = valid_inputs(oracle.references, rule_of(oracle), inputs, executor).inputs
    asked = tuple(OracleInput(arguments=arguments, source="generated") for arguments in valid)
    labelled = OracleLabeller(msgspec.structs.replace(oracle, inputs=asked), executor).label(program)
    if labelled.witness is None:
        return None
    calls = {rule_of(oracle).written(one.arguments): one for one in asked}
    return FoundWitness(input=calls[labelled.witness.call], witness=labelled.witness)
