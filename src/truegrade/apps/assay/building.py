"""From a problem to its probes, each with a label and the evidence for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from msgspec import structs

from truegrade.apps.assay.acceptance import REFERENCE
from truegrade.apps.assay.cheats import TaskForm, cheat_probes, of_one_length
from truegrade.apps.assay.folder import BuiltProblem
from truegrade.apps.assay.input_domain import infer_domain
from truegrade.apps.assay.labelling import Labelled, OracleLabeller, find_witness
from truegrade.apps.assay.oracle import STRICTER, ProblemOracle, build_oracle
from truegrade.apps.assay.own_tests import by_own_tests
from truegrade.apps.assay.probes.labelled import ClaimedProbe
from truegrade.apps.assay.probes.must_fail import must_fail_probes
from truegrade.apps.assay.probes.mutants import ENDLESS, changed_outputs, mutants
from truegrade.apps.assay.probes.right import form_probes, rewrites
from truegrade.apps.assay.probes.stubs import (
    DOCUMENTED,
    as_method,
    examples_of,
    explained,
    in_order,
    not_implemented,
    stubs,
    unanswering,
)
from truegrade.apps.assay.records import AssayFinding, Battery, Label, Probe, ProbeClass, Witness, make_probe
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import shortened
from truegrade.grading.marks import JOINED_TESTS
from truegrade.grading.problem_tests import ReferenceTests, SourceTests
from truegrade.kinds import kind_of
from truegrade.profiles import find_profile
from truegrade.records import Answer, Problem, Reason

OTHER_REFERENCE = "other-reference"
_IN_ORDER = 2
"""Problems of which a grader gets programs in a given order."""
_SHOWN = 3


@dataclass(frozen=True)
class ProblemBuilder:
    """Makes the probes of problems; safe to call from several threads."""

    battery: Battery
    companions: Mapping[str, Problem]
    """Problems of the extended benchmark, by the id of the problem that they extend."""
    claims: Mapping[str, Sequence[ClaimedProbe]]
    """Labelled programs, by problem id."""
    number: int
    """How many problems there are; of few, each is sent more cheats, so that every cheat is sent."""
    executor: Executor
    """The jail in which labels are proven."""

    def build(self, problem: Problem, place: int) -> tuple[BuiltProblem, list[Probe]]:
        """The probes of one problem, in the order in which they are sent.

        Its place among all problems, 0-based, decides which cheats are its turn.
        """
        making = _Making(self, problem, place)
        making.right()
        steps = {
            "mutants": making.mutants, "outputs": making.outputs, "stubs": making.stubs,
            "labelled": making.labelled, "forms": making.forms, "cheats": making.cheats,
            "must-fail": making.must_fail,
        }  # fmt: skip
        for name, step in steps.items():
            if name in self.battery.classes:
                step()
        return making.line(), making.probes


def reference_of(problem: Problem) -> str:
    """The problem's right program, whole; empty where the data set has none."""
    reference = kind_of(problem.task).reference(problem.task)
    return reference if isinstance(reference, str) else ""


class _Making:
    """The probes of one problem as they come together."""

    def __init__(self, builder: ProblemBuilder, problem: Problem, place: int) -> None:
        self._problem, self._place, self._problems = problem, place, builder.number
        self._battery, self._executor = builder.battery, builder.executor
        self._claims, companion = builder.claims.get(problem.id, ()), builder.companions.get(problem.id)
        most, seed = self._battery.inputs, self._battery.seed
        found = build_oracle(problem, companion, self._executor, generated=most, seed=seed)
        self._oracle: ProblemOracle | None = None if isinstance(found, str) else found
        self._no_oracle = found if isinstance(found, str) else ""
        self._labeller = None if self._oracle is None else OracleLabeller(self._oracle, self._executor)
        self._reference = reference_of(problem)
        kind = kind_of(problem.task)
        self._tests = kind.tests(problem.task)
        self._entry_point = kind.entry_point(problem.task) or ""
        self._owner = self._tests.owner if isinstance(self._tests, SourceTests) else ""
        self._equivalent = 0
        self._sent: set[str] = set()
        self.probes: list[Probe] = []
        self.findings: list[AssayFinding] = []

    def right(self) -> None:
        """The reference, the companion's if it agrees everywhere, and rewrites that the oracle finds equal."""
        if self._reference:
            self._add(self._probe("right", REFERENCE, self._reference, "right"))
        if self._oracle is None or "right" not in self._battery.classes:
            return
        if self._oracle.ambiguous:
            calls = ", ".join(self._oracle.ambiguous[:_SHOWN])
            self._find(
                "ambiguous_statement", f"references disagree on {len(self._oracle.ambiguous)} inputs: {calls}"
            )
        else:
            for other in self._oracle.references[1:]:
                self._add(self._probe("right", OTHER_REFERENCE, other, "right"))
        for probe in rewrites(self._problem.id, self._reference, self._entry_point):
            if self._label(probe.code).agrees:
                self._add(probe)

    def mutants(self) -> None:
        """Mutants of the reference."""
        if self._oracle is None:
            return
        most, seed = self._battery.per_problem, self._battery.seed
        name, entry = self._problem.id, self._entry_point
        made, self._equivalent = mutants(name, self._reference, entry, per_problem=most, seed=seed)
        for probe in made:
            self._add(self._searched(probe))

    def outputs(self) -> None:
        """The reference's outputs, changed: those programs that the problem's own comparison refuses."""
        if self._oracle is None or getattr(self._tests, "comparator", "") in STRICTER:
            return
        made = changed_outputs(
            self._problem.id,
            self._entry_point,
            self._reference,
            self._oracle.own,
            place=self._place,
            owner=self._owner,
        )
        if not made or not self._label(made[0].code).agrees:
            return
        for probe in made[1:]:
            labelled = self._labelled(probe)
            if labelled.witness is not None and self._own_tests_refuse(labelled, labelled.witness):
                self._add(labelled)

    def _own_tests_refuse(self, probe: Probe, witness: Witness) -> bool:
        """Whether the tests refuse a program that is wrong by the oracle: their comparison may be a looser one."""
        tests = self._tests
        if witness.source != "own" and not (witness.source == "plus" and isinstance(tests, ReferenceTests)):
            return False
        if probe.origin == ENDLESS or not isinstance(tests, SourceTests) or tests.cases:
            return True  # the oracle compares as they do
        answer = Answer(value=probe.code, found="whole", form="program")
        judged = find_profile("strict").judgement(by_own_tests(self._problem), answer, self._executor)
        return not judged.passed and judged.reason is not Reason.GRADER_ERROR

    def stubs(self) -> None:
        """Stubs that are wrong; one that nothing tells from a right program is none."""
        name, entry = self._problem.id, self._entry_point
        for probe in unanswering(name, entry, self._place, self._problems):
            self._add(self._as_asked(probe))
        if self._reference and self._place < _IN_ORDER:
            self.probes += [
                self._as_asked(probe) if probe.origin == "none" else probe
                for probe in in_order(name, entry, self._reference)
            ]
        if self._oracle is None:
            return
        for probe in stubs(self._problem.id, self._entry_point, self._reference, examples_of(self._problem)):
            labelled = self._labelled(self._as_asked(probe))
            if labelled.label == "wrong":
                self._add(labelled)
                if probe.origin == DOCUMENTED:
                    self._add(explained(labelled))

    def labelled(self) -> None:
        """Programs that somebody labelled, and replies of models, as far as the oracle bears the label out."""
        for claimed in self._claims:
            search = claimed.claim == "wrong" and claimed.probe.form == "program"
            probe = self._searched(claimed.probe) if search else self._labelled(claimed.probe)
            if claimed.claim == "right" and probe.label == "wrong":
                sentence = f"{claimed.source}: labelled right, but {_describe_witness(probe.witness)}"
                self._find("label_conflict", sentence, probe.id)
                continue
            if claimed.claim == "right":
                probe = structs.replace(probe, label="right")
            elif probe.label == "undecided" and probe.kind == "labelled":
                self._find("labelled_unproven", f"{claimed.source}: no input shows that it is wrong", probe.id)
            self._add(probe)

    def forms(self) -> None:
        """The reference as replies of the forms whose turn it is."""
        if self._oracle is not None:
            name, entry, place, problems = self._problem.id, self._entry_point, self._place, self._problems
            self.probes += form_probes(name, entry, self._reference, place=place, problems=problems)

    def must_fail(self) -> None:
        """The reference against its tests made impossible."""
        self.probes += [probe for probe, _ in must_fail_probes(self._problem, self._place)]

    def cheats(self) -> None:
        """The cheats whose turn it is: each, an honest and a wrong program again, its inert twin."""
        form: TaskForm = "function" if self._entry_point else "stdio"
        probes = of_one_length(cheat_probes(self._problem.id, self._entry_point, form))
        every = [self._as_asked(probe) for probe in probes]
        active = [probe for probe in every if not probe.inert]
        count = min(max(self._battery.cheats_per_problem, ceil(len(active) / self._problems)), len(active))
        self._controls()
        turn = {active[(self._place * count + step) % len(active)].origin for step in range(count)}
        for probe in every:
            if probe.origin in turn:
                self._add(probe)
                if not probe.inert:
                    self._controls(probe.id)

    def _controls(self, after: str = "") -> None:
        """A right and a wrong program, sent before the cheats and right behind each, to be compared.

        A comment at the end of each is another, so that what hangs on the text of a program shows as a flip.
        """
        code = not_implemented(self._entry_point) if self._entry_point else ""
        right = self._probe("control", REFERENCE, self._reference, "right", after=after)
        wrong = self._as_asked(self._probe("control", "not-implemented", code, "wrong", after=after))
        for control in (right, wrong):
            self.probes.append(structs.replace(control, code=f"{control.code.rstrip()}\n\n# {control.id[:8]}\n"))

    def line(self) -> BuiltProblem:
        """What is written down when all probes are on the disk."""
        oracle = self._oracle
        if self._no_oracle:
            self._find("no_oracle", f"no label can be proven by running programs: {self._no_oracle}")
        return BuiltProblem(
            problem_id=self._problem.id,
            probes=len(self.probes),
            equivalent=self._equivalent,
            inputs={} if oracle is None else dict(sorted(Counter(one.source for one in oracle.inputs).items())),
            references=0 if oracle is None else len(oracle.references),
            comparator="" if oracle is None else oracle.comparator,
            no_oracle=self._no_oracle,
            notes=() if oracle is None else oracle.notes,
            findings=tuple(self.findings),
        )

    # ------------------------------------------------------------------------------------------- parts

    def _label(self, code: str) -> Labelled:
        if self._labeller is None:
            return Labelled(label="undecided", reason="no oracle")
        return self._labeller.label(code)

    def _as_asked(self, probe: Probe) -> Probe:
        """A program of a function as one of a method, where the tests call a method; not the text of a reply."""
        if not self._owner or probe.form != "program":
            return probe
        if probe.channel == JOINED_TESTS:  # nothing may stand behind it
            nothing = f"    {self._entry_point} = staticmethod(lambda *args, **kwargs: None)\n"
            return structs.replace(probe, code=f"class {self._owner}:\n{nothing}\n\n{probe.code}")
        return structs.replace(probe, code=as_method(probe.code, self._owner, self._entry_point))

    def _labelled(self, probe: Probe) -> Probe:
        found = self._label(probe.code)
        return structs.replace(probe, label=found.label, witness=found.witness)

    def _searched(self, probe: Probe) -> Probe:
        """As `_labelled`, with inputs searched for where the oracle's show no difference."""
        found, oracle, most = self._label(probe.code), self._oracle, self._battery.inputs
        if found.agrees and most and oracle is not None:
            domain, seed = infer_domain(oracle.own), self._battery.seed
            shown = find_witness(
                oracle, domain, probe.code, self._executor, budget_inputs=most, seed=seed, beyond=True
            )
            if shown is not None:
                found = Labelled(label="wrong", witness=shown.witness)
        return structs.replace(probe, label=found.label, witness=found.witness)

    def _probe(self, kind: ProbeClass, origin: str, code: str, label: Label, after: str = "") -> Probe:
        rest = (after,) if after else ()
        return make_probe(self._problem.id, kind, origin, code, *rest, label=label, after=after)

    def _add(self, probe: Probe) -> None:
        """Take a probe, unless the same program is sent already."""
        if probe.code not in self._sent or probe.kind in ("cheat", "must-fail"):
            self._sent.add(probe.code)
            self.probes.append(probe)

    def _find(self, code: str, sentence: str, *probes: str) -> None:
        self.findings.append(
            AssayFinding(code=code, problem_id=self._problem.id, probes=probes, sentence=sentence)
        )


def _describe_witness(witness: Witness | None) -> str:
    if witness is None:
        return ""
    call = shortened(repr(witness.call)) if "\n" in witness.call else witness.call  # the text of an input
    return f"{call} gives {witness.got}, expected {witness.expected}"
