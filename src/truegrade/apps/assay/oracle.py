"""The stronger oracle of a problem: what decides whether a program is right, whatever the grader says.

It is made of the references of the problem and of inputs from its own tests, from its extended benchmark and from
generators; an input decides nothing before every reference has answered it and all of them agree.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from truegrade.apps.assay.answers import (
    SIZE,
    AnswerRule,
    Arguments,
    ReferenceAnswers,
    answers_of,
    inputs_of,
    is_plain,
)
from truegrade.apps.assay.input_domain import Domain, KnownCalls, known_calls
from truegrade.apps.assay.input_edges import generated_calls
from truegrade.apps.assay.stdin_texts import MOST_TEXTS, generated_texts
from truegrade.grading.executor import Executor
from truegrade.kinds import kind_of
from truegrade.records import Problem
from truegrade.sandbox.outcome import CallResult


class OracleInput(msgspec.Struct, frozen=True, kw_only=True):
    """One call of the entry point."""

    arguments: tuple[Any, ...]
    """Plain values."""
    source: str
    """``own``, ``plus`` or ``generated``."""


class ProblemOracle(AnswerRule, frozen=True, kw_only=True):
    """What a program for one problem is held against; its comparison never accepts everything."""

    problem_id: str
    references: tuple[str, ...]
    """Whole programs, the benchmark's own first."""
    inputs: tuple[OracleInput, ...]
    """Validated."""
    ambiguous: tuple[str, ...] = ()
    """Calls on which references disagree: doubts about the statement, used for nothing."""
    packages: tuple[str, ...] = ()
    prefix: str = ""
    """Trusted code that the benchmark puts before a solution; programs here are whole and have it already, but for
    what stands in ``ahead``."""
    method_call: str = ""
    """Source of the function by which a method is called; put behind every program that is held against this."""
    unanswered: int = 0
    """Calls of its own tests that its reference gives no answer to, so that they are no inputs."""
    notes: tuple[str, ...] = ()
    """What was left aside while it was built, and why: a second reference, inputs without an answer."""

    @property
    def own(self) -> list[Arguments]:
        """The inputs of the problem's own tests."""
        return [one.arguments for one in self.inputs if one.source == "own"]


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
_COSTLY = (
    f"the reference executes over {CALL_STEPS:,} lines, or input and output hold over {CALL_SIZE:,} items and "
    f"characters, or those taken before come to {ALL_STEPS:,} or {ALL_SIZE:,}"
)
OWN_CPU_S, FURTHER_CPU_S, STDIN_CPU_S = 10.0, 2.0, 0.1
"""CPU seconds of a reference on one input: of its own tests, of others, and of others on stdin. Those of others
that take many steps are left out before (`affordable`), so that seconds decide little."""

SLOW_CPU_S = 1.0
"""A problem on whose own tests the reference takes longer has no oracle: dozens of programs would take as long."""
STRICTER = {"always": "equal", "not_none": "equal", "equal_or_zero": "equal"}
"""Published rules that accept any value, any object, or zero on every input, and what labels are decided by."""
_DOUBTFUL: dict[str, tuple[Arguments, ...]] = {"equal_or_zero": ((1,),)}
"""Inputs with two right answers, for which the rule was made."""


@dataclass
class ValidInputs:
    """What the references say about inputs."""

    inputs: list[Arguments] = field(default_factory=list)
    """Those on which all of them agree."""
    ambiguous: list[str] = field(default_factory=list)
    """Calls on which they do not."""
    refused: int = 0
    """Inputs that a reference raises on."""
    costly: int = 0
    """Inputs that take it too many steps, or whose values are too large (`affordable`)."""


def rule_of(known: AnswerRule) -> AnswerRule:
    """How programs are held against what is known, and nothing else of it, as it is sent to another process."""
    return AnswerRule(
        entry_point=known.entry_point, comparator=known.comparator, atol=known.atol, ahead=known.ahead
    )


def build_oracle(
    problem: Problem, companion: Problem | None, executor: Executor, *, generated: int = 200, seed: int = 0
) -> ProblemOracle | str:
    """The stronger oracle of a problem, or the reason in words why there is none.

    For inputs of its own tests the problem's own reference decides; every other input counts only if each
    reference answers it and all agree.

    Args:
        problem: any.
        companion: the same problem of an extended benchmark (`oracle_inputs.find_companions`), whose comparison
            holds then; passed over where its function has another name.
        executor: the jail; its limits name the packages that the problem needs.
        generated: how many generated inputs to try.
        seed: of the generators; equal seeds give equal inputs.
    """
    known = known_calls(problem, executor)
    if isinstance(known, str):
        return known
    extended = None if companion is None else known_calls(companion, executor)
    if isinstance(extended, str) or (extended is not None and extended.entry_point != known.entry_point):
        extended = None
    builder = _Builder(known, rule_of(extended or known), executor)
    reason = builder.take_own()
    if reason:
        return reason
    if extended is not None:
        builder.take_reference(extended.reference)
    builder.take([*known.plus, *(() if extended is None else extended.own + extended.plus)], "plus")
    if generated:
        taken, own_seed = [one.arguments for one in builder.inputs], f"{seed} {problem.id}"
        tried = generated_inputs(builder.rule, taken, builder.references, seed=own_seed, limit=generated)
        builder.take(tried, "generated")
    return ProblemOracle(
        problem_id=problem.id,
        entry_point=known.entry_point,
        references=tuple(builder.references),
        inputs=tuple(builder.inputs),
        comparator=builder.rule.comparator,
        atol=builder.rule.atol,
        ahead=builder.rule.ahead,
        ambiguous=tuple(builder.ambiguous),
        packages=problem.packages,
        prefix=kind_of(problem.task).prefix(problem.task),
        method_call=known.method_call,
        unanswered=builder.unanswered,
        notes=tuple(builder.notes),
    )


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

    Where all of them together take too much, those are kept that come first in an order drawn by lot. Steps
    and sizes are counted and not seconds, so that another machine, or another load of it, uses the same inputs.
    The reference is trusted, and no program on stdin.
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


def valid_inputs(
    references: Sequence[str],
    rule: AnswerRule,
    inputs: Sequence[Arguments],
    executor: Executor,
) -> ValidInputs:
    """Ask the references; the first is asked twice, in both orders, so that one that keeps a state is noticed."""
    valid, tried, call_cpu_s = ValidInputs(), len(inputs), STDIN_CPU_S
    if rule.entry_point and inputs:
        inputs, valid.costly = affordable(references[0], rule, inputs, executor)
        call_cpu_s = FURTHER_CPU_S
    if not inputs:
        return valid
    answered = answers_of(references[0], rule, inputs, executor, call_cpu_s=call_cpu_s).given
    asked = [(references[0], [*reversed(answered)]), *((other, [*answered]) for other in references[1:])]
    others = [
        answers_of(one, rule, inputs, executor, call_cpu_s=call_cpu_s, numbers=numbers).given
        for one, numbers in asked
    ]
    for number, expected in answered.items():
        arguments = inputs[number]
        rest = [other.get(number) for other in others]
        if None in rest:
            valid.refused += 1
        elif all(rule.same(expected, one, arguments, executor) for one in rest if one is not None):
            valid.inputs.append(arguments)
        else:
            valid.ambiguous.append(rule.written(arguments))
    valid.refused += tried - valid.costly - len(answered)
    return valid


def generated_inputs(
    rule: AnswerRule,
    known: Sequence[Arguments],
    programs: Sequence[str],
    *,
    seed: str,
    limit: int,
    domain: Domain | None = None,
) -> list[Arguments]:
    """New inputs near known ones: calls of a function, or texts for a program on stdin.

    Args:
        rule: how programs are asked.
        known: inputs.
        programs: whose constants are of interest; not for texts.
        seed: equal seeds give equal inputs.
        limit: the most to give; of texts there are few.
        domain: of the known calls, where it was inferred before.
    """
    if rule.entry_point:
        return generated_calls(known, programs, seed=seed, limit=limit, domain=domain)
    texts = [text for (text,) in known]
    return [*inputs_of(generated_texts(texts, seed=seed, limit=min(limit, MOST_TEXTS)))]


class _Builder:
    """Collects references and validated inputs of one problem."""

    def __init__(self, known: KnownCalls, rule: AnswerRule, executor: Executor) -> None:
        self._known, self._executor = known, executor
        self.references = [known.reference]
        self.inputs: list[OracleInput] = []
        self.ambiguous: list[str] = []
        self.notes: list[str] = []
        self.unanswered = 0
        self._seen: set[str] = set()
        stricter = STRICTER.get(rule.comparator)
        if stricter is not None:
            self.notes.append(f"the published comparison {rule.comparator} is replaced by {stricter}")
        doubtful = [rule.written(arguments) for arguments in _DOUBTFUL.get(rule.comparator, ())]
        self._seen.update(doubtful)
        self.ambiguous += doubtful
        self.rule = rule if stricter is None else msgspec.structs.replace(rule, comparator=stricter)

    def take_own(self) -> str:
        """Take the inputs of the problem's own tests; why there is no oracle, or an empty text."""
        own = self._new(self._known.own)
        if not own:
            return "its tests pass arguments that are not plain values"
        first = self._asked(self._known.reference, own)
        answered = first.given
        if first.cpu_s > SLOW_CPU_S:
            return f"its reference takes over {SLOW_CPU_S:g} CPU seconds on its own tests"
        if not answered:
            errors = [one.error for one in first.results.values() if one.error is not None]
            why_not = next(iter([*errors, *first.stopped.values()]), "not asked")
            return f"its reference answers none of its own inputs ({why_not})"
        again = self._asked(self._known.reference, own, [*reversed(answered)]).results
        for number, result in answered.items():
            reason = self._unlike(result, again.get(number), own[number])
            if reason:
                return reason
            self.inputs.append(OracleInput(arguments=own[number], source="own"))
        self.unanswered = len(own) - len(answered)
        if self.unanswered:
            self.notes.append(f"the reference gives no answer on {self.unanswered} of its own inputs")
        return ""

    def take_reference(self, reference: str) -> None:
        """Take another reference, unless it disagrees on the problem's own inputs."""
        own = [one.arguments for one in self.inputs]
        ours, theirs = self._asked(self._known.reference, own).results, self._asked(reference, own).given
        for number, arguments in enumerate(own):
            expected, got = ours.get(number), theirs.get(number)
            if expected is None or got is None or not self.rule.same(expected, got, arguments, self._executor):
                call = self.rule.written(arguments)
                self.notes.append(f"the extended benchmark's reference is not used: it disagrees on {call[:200]}")
                return
        self.references.append(reference)

    def take(self, further: Iterable[Arguments], source: str) -> None:
        """Take other inputs, those of the extended benchmark or generated ones, as far as they are valid."""
        inputs = self._new(further)
        valid = valid_inputs(self.references, self.rule, inputs, self._executor)
        self.inputs += [OracleInput(arguments=arguments, source=source) for arguments in valid.inputs]
        self.ambiguous += valid.ambiguous
        if valid.refused:
            self.notes.append(f"a reference gives no answer on {valid.refused} of {len(inputs)} {source} inputs")
        if valid.costly:
            self.notes.append(f"{valid.costly} of {len(inputs)} {source} inputs are cut: {_COSTLY}")

    def _asked(
        self, reference: str, inputs: Sequence[Arguments], numbers: Sequence[int] | None = None
    ) -> ReferenceAnswers:
        rule, executor = self.rule, self._executor
        return answers_of(reference, rule, inputs, executor, call_cpu_s=OWN_CPU_S, numbers=numbers)

    def _new(self, inputs: Iterable[Arguments]) -> list[Arguments]:
        """Plain inputs that were not met before."""
        kept = []
        for arguments in inputs:
            if not is_plain(arguments):
                continue
            try:
                call = self.rule.written(arguments)
            except ValueError:  # an integer of thousands of digits: no witness could show it
                continue
            if call not in self._seen:
                self._seen.add(call)
                kept.append(arguments)
        return kept

    def _unlike(self, one: CallResult, other: CallResult | None, arguments: Arguments) -> str:
        """Why the answers cannot be compared with others."""
        if not self.rule.same(one, one, arguments, self._executor):
            return "its reference returns values that are not plain"
        if other is None or other.error is not None or not self.rule.same(one, other, arguments, self._executor):
            return "its reference does not answer the same twice"
        return ""
