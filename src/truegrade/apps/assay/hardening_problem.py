"""New tests for one problem: chosen by half of its wrong programs, measured on the other half."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from contextlib import suppress

import msgspec

from truegrade.apps.assay import hardening_forms as forms
from truegrade.apps.assay.answers import (
    MOST_LATE,
    TOO_LARGE,
    TOO_LONG,
    Arguments,
    answers_of,
    is_plain,
    read_call,
    written,
    written_call,
)
from truegrade.apps.assay.building import reference_of
from truegrade.apps.assay.input_domain import infer_domain
from truegrade.apps.assay.labelling import OracleLabeller, find_witness
from truegrade.apps.assay.oracle import CALL_SIZE, ProblemOracle, build_oracle, rule_of
from truegrade.apps.assay.probes.labelled import ClaimedProbe
from truegrade.apps.assay.probes.mutants import mutants
from truegrade.apps.assay.probes.right import rewrites
from truegrade.apps.assay.probes.stubs import examples_of, stubs
from truegrade.apps.assay.records import Probe
from truegrade.apps.assay.targets.asking import is_endless
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement
from truegrade.kinds import kind_of
from truegrade.profiles import open_profile
from truegrade.records import Answer, Problem
from truegrade.sandbox import CallResult

MOST_TESTS = 10
"""New tests of a problem, unless more are asked for."""
MOST_CPU = 2.0
"""Times the CPU of the present tests that present and new tests together may take, where it can be measured."""
_LEAST_CPU_S = 0.02
"""Below it the start of a process is all that is measured."""
_CALL_CPU_S = 0.1
_LARGE = (
    "{} wrong programs are not judged on every generated input: a value holds over "
    f"{CALL_SIZE:,} items and characters, or all of one program's over {MOST_LATE * CALL_SIZE:,}"
)


class HardenedProblem(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the journal of hardening."""

    problem_id: str
    tests: tuple[forms.NewTest, ...] = ()
    dropped: tuple[str, ...] = ()
    """Calls whose test refused a right program, and was left out."""
    comparison: str = ""
    """How outputs are compared, in words."""
    comparator: str = "equal"
    ambiguous: tuple[str, ...] = ()
    """Calls on which references disagree: doubts about the statement."""
    notes: tuple[str, ...] = ()
    """What was cut while inputs were taken, and why."""
    seen: forms.AcceptedPrograms | None = None
    """Wrong mutants that the choice was made by."""
    held_out: forms.AcceptedPrograms | None = None
    """Wrong mutants that it never saw."""
    right: forms.AcceptedPrograms | None = None
    """Right programs that it never saw."""
    bugs: forms.AcceptedPrograms | None = None
    """Labelled wrong programs, which it never saw."""
    labelled_right: forms.AcceptedPrograms | None = None
    cpu_before_s: float | None = None
    """CPU seconds of the reference under the present tests."""
    cpu_after_s: float | None = None
    reason: str = ""
    """Why there are no new tests; empty where there are."""
    exports: Mapping[str, forms.ExportedRow] = {}
    """By the name of the form: the row, measured as it is written, or why there is none."""
    settings_sha256: str = ""
    """Of what decided this line, so that lines of other settings are not mixed in."""


class HardeningOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What decides the new tests; equal options and data give equal tests."""

    mutants: int = 40
    """Of each reference; half of them choose, half measure."""
    inputs: int = 400
    """Candidates that are generated for each problem."""
    most_tests: int = MOST_TESTS
    """New tests of a problem, at most."""
    seed: int = 0
    """Of every choice."""


def harden_problem(
    problem: Problem,
    companion: Problem | None,
    options: HardeningOptions,
    executor: Executor,
    claims: Sequence[ClaimedProbe] = (),
) -> HardenedProblem:
    """The new tests of a problem; safe to call from several threads.

    The inputs of ``companion``, the same problem of an extended benchmark, prove labels and are never chosen;
    ``claims``, labelled programs, only measure.
    """
    oracle = build_oracle(problem, companion, executor, generated=options.inputs, seed=options.seed)
    if isinstance(oracle, str):
        exports = dict.fromkeys(forms.FORMS, forms.ExportedRow(reason=f"it cannot be measured: {oracle}"))
        return HardenedProblem(problem_id=problem.id, reason=oracle, exports=exports)
    work = HardeningWork(problem, oracle, options, executor)
    tests, dropped = work.tests() if oracle.comparator in forms.STATED else ([], [])
    return work.measured(tests, dropped, claims)


class HardeningWork:
    """One problem under way."""

    def __init__(
        self, problem: Problem, oracle: ProblemOracle, options: HardeningOptions, executor: Executor
    ) -> None:
        self._problem, self._oracle, self._options = problem, oracle, options
        self._executor, self._strict = executor, open_profile("strict")
        self._rule = rule_of(oracle)
        self._labeller = OracleLabeller(oracle, executor)
        self._domain = infer_domain([one.arguments for one in oracle.inputs if one.source == "own"])
        reference = reference_of(problem)
        made, _ = mutants(
            problem.id, reference, oracle.entry_point, per_problem=options.mutants, seed=options.seed
        )
        found = [(probe, self._labeller.label(probe.code)) for probe in made]
        wrong = [
            msgspec.structs.replace(probe, label="wrong", witness=one.witness)
            for probe, one in found
            if one.label == "wrong"
        ]
        self._endless = {probe.code for probe in wrong if is_endless(probe)}
        right = [
            probe
            for probe in rewrites(problem.id, reference, oracle.entry_point)
            if self._labeller.label(probe.code).agrees
        ]
        self._wrong, self._wrong_held = _halves(wrong)
        self._right, self._right_held = _halves(right)
        self._others = oracle.references[1:]
        self._verdicts: dict[tuple[str, str], bool] = {}
        self._large: set[str] = set()
        made_stubs = stubs(problem.id, oracle.entry_point, reference, examples_of(problem))
        self._stubs = [probe for probe in made_stubs if self._labeller.label(probe.code).label == "wrong"]
        # A stub that the present tests accept is refused by a new one, as a mutant is.
        self._choosing = [*self._wrong, *(each for each in self._stubs if self._accepts(problem, each.code))]

    @property
    def held_out(self) -> list[str]:
        """Wrong mutants that choose nothing, whole programs."""
        return [probe.code for probe in self._wrong_held if probe.code not in self._endless]

    def tests(self) -> tuple[list[forms.NewTest], list[str]]:
        """The tests chosen, without those that refuse a right program, and the calls of those."""
        inputs = self._candidates()
        kills = self._kills(inputs)
        survivors = {probe.id for probe in self._choosing if self._accepts(self._problem, probe.code)}
        further = self._further(survivors.difference(*kills))
        inputs, kills = [*inputs, *further], [*kills, *self._kills(further)]
        calls = [written_call(self._oracle.entry_point, arguments) for arguments in inputs]
        chosen = forms.choose_inputs(
            kills, survivors, [len(call) for call in calls], most=self._options.most_tests
        )
        expected = self._expected([inputs[number] for number in chosen])
        tests = [
            forms.NewTest(call=calls[number], expected=expected[place], victims=tuple(sorted(kills[number])))
            for place, number in enumerate(chosen)
            if place in expected
        ]
        return self._harmless(tests)

    def measured(
        self, tests: list[forms.NewTest], dropped: list[str], claims: Sequence[ClaimedProbe]
    ) -> HardenedProblem:
        """What the tests gain, and what they cost."""
        hardened = self._with(tests) if tests else self._problem
        comparator = self._rule.comparator
        reason = "no generated input refuses a program that is not refused already"
        if comparator not in forms.STATED:
            reason = f"its outputs are compared by the rule {comparator}, which no added test can state"
        bugs = [each.probe.code for each in claims if each.claim == "wrong"]
        bugs = [code for code in bugs if self._labeller.label(code).label == "wrong"]
        kept = [each.probe.code for each in claims if each.claim == "right"]
        kept = [code for code in kept if self._labeller.label(code).agrees]
        return HardenedProblem(
            problem_id=self._problem.id,
            tests=tuple(tests),
            dropped=tuple(dropped),
            comparison=forms.STATED.get(comparator, ""),
            comparator=comparator,
            ambiguous=self._oracle.ambiguous,
            notes=(*self._oracle.notes, *([_LARGE.format(len(self._large))] if self._large else ())),
            seen=self._side(hardened, [probe.code for probe in self._wrong]),
            held_out=self._side(hardened, [probe.code for probe in self._wrong_held]),
            right=self._side(hardened, [*(probe.code for probe in self._right_held), *self._others]),
            bugs=self._side(hardened, bugs) if bugs else None,
            labelled_right=self._side(hardened, kept) if kept else None,
            cpu_before_s=self._cpu_s(self._problem),
            cpu_after_s=self._cpu_s(hardened),
            reason="" if tests else reason,
            exports=forms.exported_rows(self._material(tests, hardened), self._known(hardened), self._executor),
        )

    def _candidates(self) -> list[Arguments]:
        """Generated inputs on which all references agree; with a single one those that keep to the known calls."""
        several = len(self._oracle.references) > 1
        return [
            one.arguments
            for one in self._oracle.inputs
            if one.source == "generated" and (several or self._domain.fits(one.arguments))
        ]

    def _further(self, missed: Set[str]) -> list[Arguments]:
        """Inputs searched for near the change of each wrong program that no candidate refuses."""
        found: dict[str, Arguments] = {}
        for probe in self._choosing:
            if probe.id in missed:
                shown = find_witness(
                    self._oracle, self._domain, probe.code, self._executor,
                    budget_inputs=self._options.inputs, seed=self._options.seed,
                )  # fmt: skip
                if shown is not None:
                    found.setdefault(shown.witness.call, shown.input.arguments)
        return list(found.values())

    def _kills(self, inputs: Sequence[Arguments]) -> list[set[str]]:
        """Of each input the ids of the wrong programs that it refuses."""
        kills: list[set[str]] = [set() for _ in inputs]
        expected = self._answers(self._oracle.references[0], inputs)
        for probe in self._choosing:
            if probe.code in self._endless:
                continue  # its present tests refuse it, after as long as they wait
            got = self._answers(probe.code, inputs, most_size=CALL_SIZE)
            if any((one.error or "").endswith(TOO_LARGE) for one in got.values()):
                self._large.add(probe.id)
            for number, right in expected.items():
                one = got.get(number)
                late = one is None or (one.error or "").endswith((TOO_LONG, TOO_LARGE))
                if one is None or late or right.error is not None:
                    continue  # what did not end in time says nothing that another machine would say too
                if one.error is not None or not self._rule.same(right, one, inputs[number], self._executor):
                    kills[number].add(probe.id)
        return kills

    def _expected(self, inputs: Sequence[Arguments]) -> dict[int, str]:
        """Number of the input to the reference's output as a literal, where two runs give the same plain value."""
        found: dict[int, str] = {}
        first, again = (self._answers(self._oracle.references[0], inputs) for _ in range(2))
        for number, result in first.items():
            other = again.get(number)
            same = result.error is None and other is not None and other.same_as(result) and result.digest is None
            if same and is_plain(value := result.whole):
                with suppress(ValueError, RecursionError):
                    found[number] = written(value)
        return found

    def _answers(self, program: str, inputs: Sequence[Arguments], most_size: int = 0) -> Mapping[int, CallResult]:
        return answers_of(
            program, self._rule, inputs, self._executor, call_cpu_s=_CALL_CPU_S, most_size=most_size
        ).results

    def _harmless(self, tests: list[forms.NewTest]) -> tuple[list[forms.NewTest], list[str]]:
        """Leave out tests that refuse a right program, and the last ones where all together take too long."""
        dropped: list[str] = []
        programs = [reference_of(self._problem), *self._others, *(probe.code for probe in self._right)]
        for code in programs:
            while tests and not self._accepts(self._with(tests), code):
                guilty = next((test for test in tests if not self._accepts(self._with([test]), code)), tests[-1])
                tests = [test for test in tests if test is not guilty]
                dropped.append(guilty.call)
        before = self._cpu_s(self._problem)
        while tests and before is not None and (after := self._cpu_s(self._with(tests))) is not None:
            if after <= max(_LEAST_CPU_S, MOST_CPU * before):
                break
            tests = tests[:-1]
        return tests, dropped

    def _with(self, tests: Sequence[forms.NewTest]) -> Problem:
        return forms.with_tests(self._problem, tests, self._rule.comparator)

    def _side(self, hardened: Problem, programs: Sequence[str]) -> forms.AcceptedPrograms:
        before = [code for code in programs if self._accepts(self._problem, code)]
        after = (
            sum(self._accepts(hardened, code) for code in before) if hardened is not self._problem else len(before)
        )
        return forms.AcceptedPrograms(programs=len(programs), before=len(before), after=after)

    def _material(self, tests: Sequence[forms.NewTest], hardened: Problem) -> forms.ExportMaterial:
        """The tests as calls: those of the problem, and the new ones."""
        oracle = self._oracle
        own, plus = ([one.arguments for one in oracle.inputs if one.source == name] for name in ("own", "plus"))
        # The inputs of a companion prove labels and are not the problem's own tests.
        further = plus if getattr(kind_of(self._problem.task).tests(self._problem.task), "further", ()) else []
        further += [read_call(test.call) for test in tests]
        expected = self._expected([*own, *further])
        not_calls = "its own tests call a method" if oracle.method_call else ""
        if oracle.unanswered:
            not_calls = f"its reference answers not all calls of its own tests ({oracle.unanswered} raise)"
        return forms.ExportMaterial(
            problem=self._problem,
            hardened=hardened,
            comparator=oracle.comparator,
            atol=oracle.atol,
            own=own,
            further=further,
            expected=[expected[each] for each in sorted(expected)]
            if len(expected) == len(own) + len(further)
            else None,
            not_calls=not_calls,
        )

    def _known(self, hardened: Problem) -> forms.KnownPrograms:
        """The programs that every exported row is measured with."""
        reference, wrong = reference_of(self._problem), [probe.code for probe in self._stubs]
        seen = [probe.code for probe in self._wrong if probe.code not in self._endless]
        right = [reference, *self._others, *(probe.code for probe in (*self._right, *self._right_held))]
        return forms.KnownPrograms(
            right={code: self._accepts(self._problem, code) for code in right},
            stubs={code: self._accepts(self._problem, code) for code in wrong},
            seen={code: self._accepts(hardened, code) for code in seen},
            held_out={code: self._accepts(self._problem, code) for code in self.held_out},
        )

    def _accepts(self, problem: Problem, code: str) -> bool:
        if code in self._endless:
            return False  # it does not end on an input of the present tests, so there is nothing to wait for
        key = problem.dataset_sha256, code
        if key not in self._verdicts:
            self._verdicts[key] = self._judged(problem, code).passed
        return self._verdicts[key]

    def _judged(self, problem: Problem, code: str) -> Judgement:
        return self._strict.judgement(problem, Answer(value=code, found="assay", form="program"), self._executor)

    def _cpu_s(self, problem: Problem) -> float | None:
        return self._judged(problem, reference_of(problem)).cpu_s


def _halves(probes: Sequence[Probe]) -> tuple[list[Probe], list[Probe]]:
    """Those that choose and those that measure, told apart by their ids, which are hashes."""
    seen = [probe for probe in probes if int(probe.id, 16) % 2 == 0]
    return seen, [probe for probe in probes if int(probe.id, 16) % 2]
