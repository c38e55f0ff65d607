"""Building the stronger oracle of a problem: an input decides nothing before every reference has answered it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from truegrade.assay.generators import Domain, generated_calls
from truegrade.assay.generators.stdin_texts import MOST_TEXTS, generated_texts
from truegrade.assay.oracle import OracleInput, ProblemOracle
from truegrade.assay.oracle_inputs import KnownCalls, known_calls
from truegrade.assay.reference_answers import AnswerRule, Arguments, ReferenceAnswers, answers_of
from truegrade.assay.reference_steps import ALL_SIZE, ALL_STEPS, CALL_SIZE, CALL_STEPS, affordable
from truegrade.assay.stdin_programs import inputs_of
from truegrade.assay.written_calls import is_plain
from truegrade.grading.executor import Executor
from truegrade.records import Problem
from truegrade.sandbox.outcome import CallResult

_COSTLY = (
    f"the reference executes over {CALL_STEPS:,} lines, or input and output hold over {CALL_SIZE:,} items and "
    f"characters, or those taken before come to {ALL_STEPS:,} or {ALL_SIZE:,}"
)
OWN_CPU_S, FURTHER_CPU_S, STDIN_CPU_S = 10.0, 2.0, 0.1
"""CPU seconds of a reference on one input: of its own tests, of others, and of others on stdin. Those of others
that take many steps are left out before (`truegrade.assay.reference_steps`), so that seconds decide little."""

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
    """Inputs that take it too many steps, or whose values are too large (`truegrade.assay.reference_steps`)."""


def rule_of(oracle: ProblemOracle) -> AnswerRule:
    """How programs are held against the oracle."""
    return AnswerRule(entry_point=oracle.entry_point, comparator=oracle.comparator, atol=oracle.atol)


def build_oracle(
    problem: Problem, companion: Problem | None, executor: Executor, *, generated: int = 200, seed: int = 0
) -> ProblemOracle | str:
    """The stronger oracle of a problem, or the reason in words why there is none.

    For inputs of its own tests the problem's own reference decides; every other input counts only if each
    reference answers it and all agree.

    Args:
        problem: any.
        companion: the same problem of an extended benchmark (`oracle_inputs.load_companions`).
        executor: the jail; its limits name the packages that the problem needs.
        generated: how many generated inputs to try.
        seed: of the generators; equal seeds give equal inputs.
    """
    known = known_calls(problem, executor)
    if isinstance(known, str):
        return known
    rule, companion_calls = _agreed_rule(known, companion, executor)
    builder = _Builder(known, rule, executor)
    reason = builder.take_own()
    if reason:
        return reason
    if companion_calls is not None:
        builder.take_reference(companion_calls.reference)
    further = [*known.plus, *(() if companion_calls is None else companion_calls.own + companion_calls.plus)]
    builder.take_plus(further)
    if generated:
        builder.take_generated(generated, f"{seed} {problem.id}")
    return ProblemOracle(
        problem_id=problem.id,
        entry_point=known.entry_point,
        references=tuple(builder.references),
        inputs=tuple(builder.inputs),
        comparator=builder.rule.comparator,
        atol=builder.rule.atol,
        ambiguous=tuple(builder.ambiguous),
        packages=problem.packages,
        prefix=getattr(problem.task, "prefix", ""),
        method_call=known.method_call,
        unanswered=builder.unanswered,
        notes=tuple(builder.notes),
    )


def _agreed_rule(
    known: KnownCalls, companion: Problem | None, executor: Executor
) -> tuple[AnswerRule, KnownCalls | None]:
    """The comparison, the companion's where there is one; and the companion, if its function has the same name."""
    extended = None if companion is None else known_calls(companion, executor)
    if isinstance(extended, str) or (extended is not None and extended.entry_point != known.entry_point):
        extended = None
    source = extended or known
    return (
        AnswerRule(entry_point=known.entry_point, comparator=source.comparator, atol=source.atol),
        extended,
    )


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
    first = answers_of(references[0], rule, inputs, executor, call_cpu_s=call_cpu_s)
    answered = [number for number in first.results if first.results[number].error is None]
    again = _again(references[0], rule, inputs, answered, executor, call_cpu_s)
    others = [
        answers_of(other, rule, [inputs[number] for number in answered], executor, call_cpu_s=call_cpu_s).results
        for other in references[1:]
    ]
    for place, number in enumerate(answered):
        expected, arguments = first.results[number], inputs[number]
        rest = [again.get(number), *(other.get(place) for other in others)]
        if any(one is None or one.error is not None for one in rest):
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


def _again(
    reference: str,
    rule: AnswerRule,
    inputs: Sequence[Arguments],
    numbers: Sequence[int],
    executor: Executor,
    call_cpu_s: float,
) -> dict[int, CallResult]:
    """The answers to the inputs of these numbers, asked in reverse order."""
    turned = list(reversed(numbers))
    answers = answers_of(reference, rule, [inputs[number] for number in turned], executor, call_cpu_s=call_cpu_s)
    return {turned[place]: result for place, result in answers.results.items()}


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
        self.rule = AnswerRule(
            entry_point=rule.entry_point, comparator=stricter or rule.comparator, atol=rule.atol
        )

    def take_own(self) -> str:
        """Take the inputs of the problem's own tests; why there is no oracle, or an empty text."""
        own = self._new(self._known.own)
        if not own:
            return "its tests pass arguments that are not plain values"
        first = answers_of(self._known.reference, self.rule, own, self._executor, call_cpu_s=OWN_CPU_S)
        answered = [number for number in first.results if first.results[number].error is None]
        if first.cpu_s > SLOW_CPU_S:
            return f"its reference takes over {SLOW_CPU_S:g} CPU seconds on its own tests"
        if not answered:
            return f"its reference answers none of its own inputs ({_why_not(first)})"
        again = _again(self._known.reference, self.rule, own, answered, self._executor, OWN_CPU_S)
        for number in answered:
            result = first.results[number]
            reason = self._unlike(result, again.get(number), own[number])
            if reason:
                return reason
            self._add(own[number], "own")
        self.unanswered = len(own) - len(answered)
        if self.unanswered:
            self.notes.append(f"the reference gives no answer on {self.unanswered} of its own inputs")
        return ""

    def take_reference(self, reference: str) -> None:
        """Take another reference, unless it disagrees on the problem's own inputs."""
        own = [one.arguments for one in self.inputs]
        ours = answers_of(self._known.reference, self.rule, own, self._executor, call_cpu_s=OWN_CPU_S)
        theirs = answers_of(reference, self.rule, own, self._executor, call_cpu_s=OWN_CPU_S)
        for number, arguments in enumerate(own):
            expected, got = ours.results.get(number), theirs.results.get(number)
            if expected is None or got is None or got.error is not None:
                difference = True
            else:
                difference = not self.rule.same(expected, got, arguments, self._executor)
            if difference:
                call = self.rule.written(arguments)
                self.notes.append(f"the extended benchmark's reference is not used: it disagrees on {call[:200]}")
                return
        self.references.append(reference)

    def take_plus(self, further: Iterable[Arguments]) -> None:
        """Take the inputs of the extended benchmark."""
        self._take(self._new(further), "plus")

    def take_generated(self, limit: int, seed: str) -> None:
        """Take generated inputs, near the known ones and at the edges of their domain."""
        known = [one.arguments for one in self.inputs]
        tried = generated_inputs(self.rule, known, self.references, seed=seed, limit=limit)
        self._take(self._new(tried), "generated")

    def _take(self, inputs: Sequence[Arguments], source: str) -> None:
        valid = valid_inputs(self.references, self.rule, inputs, self._executor)
        for arguments in valid.inputs:
            self._add(arguments, source)
        self.ambiguous += valid.ambiguous
        if valid.refused:
            self.notes.append(f"a reference gives no answer on {valid.refused} of {len(inputs)} {source} inputs")
        if valid.costly:
            self.notes.append(f"{valid.costly} of {len(inputs)} {source} inputs are cut: {_COSTLY}")

    def _add(self, arguments: Arguments, source: str) -> None:
        self.inputs.append(OracleInput(arguments=arguments, source=source))

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


def _why_not(answers: ReferenceAnswers) -> str:
    for result in answers.results.values():
        if result.error is not None:
            return result.error
    return next(iter(answers.stopped.values()), "not asked")
