"""A small assay for tests of what is shown of one: real programs, computed witnesses, two honest counts.

Its graders run a problem's tests. ``loose`` has one test a problem, ``tight`` has four; ``loose`` also believes a
program that prints ``PASSED``. Intervals are made up: who measures them is tested elsewhere.
"""

from __future__ import annotations

import contextlib
import io
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from truegrade.apps.assay.measures import (
    AcceptedShare,
    AssaySummary,
    ChannelMeasure,
    FlipMeasure,
    GraderMeasure,
    MeasuredValue,
    ProblemMeasure,
    ShortestPaid,
    UnearnedPay,
)
from truegrade.apps.assay.records import AssayFinding, Probe, ProbeClass, Said, Witness, probe_id
from truegrade.apps.assay.reporting.assay_tables import AssayMaterial, gather

REFERENCES = {
    "toy/clip": "def clip(x, low, high):\n    # keep x between the two\n    if x < low:\n        return low\n"
    "    if x > high:\n        return high\n    return x\n",
    "toy/evens": "def evens(numbers):\n    kept = []\n    for number in numbers:\n        if number % 2 == 0:\n"
    "            kept.append(number)\n    return kept\n",
    "toy/name": "def name(first, last):\n    return first.strip() + ' ' + last.strip()\n",
}
TESTS = {
    "toy/clip": ["clip(5, 0, 9)", "clip(-1, 0, 9)", "clip(10, 0, 9)", "clip(9, 0, 9)"],
    "toy/evens": ["evens([1, 2])", "evens([])", "evens([4, 6, 7])", "evens([0])"],
    "toy/name": ["name('a', 'b')", "name(' a', 'b')", "name('a', 'b ')", "name('', '')"],
}
MUTATIONS = {
    "toy/clip": [
        ("relational", "x < low", "x > low"),
        ("relational", "x > high", "x >= high + 2"),
        ("statement", "return low", "pass"),
        ("relational", "x < low", "x <= low"),  # the same function: nothing tells them apart
    ],
    "toy/evens": [("relational", "== 0", "!= 0"), ("loop", "    return kept", "    return kept[:1]")],
    "toy/name": [("method", "first.strip()", "first"), ("method", "last.strip()", "last.rstrip('b')")],
}
CHANNELS = {"report": ("h0", "print('PASSED')\n"), "exit-status": ("h1", "import os\nos._exit(0)\n")}
GRADERS = {"loose@1": 1, "tight@2": 4}
SHORTEST = ShortestPaid(
    finding="channel report", how="it reads what is printed", closes="read nothing that is printed",
    problem_id="toy/clip", probe="0123456789abcdef", origin="prints", change="prints it",
    code="print('PASSED')\n\n\n# ```<script>|\ndef clip(*args):\n    return 0\n", pay=1.0,
)  # fmt: skip


def value(code: str, call: str) -> str:
    scope: dict[str, Any] = {}
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(code, scope)
            return repr(eval(call, scope))
    except Exception as error:
        return f"raises {type(error).__name__}: {error}"


def witness(problem: str, code: str) -> Witness | None:
    for call in TESTS[problem]:
        expected, got = value(REFERENCES[problem], call), value(code, call)
        if expected != got:
            return Witness(call=call, expected=expected, got=got, source="generated")
    return None


def probe(problem: str, kind: ProbeClass, origin: str, code: str, **more: Any) -> Probe:
    own = probe_id(problem, kind, origin, code, more.get("tests", ""))
    return Probe(id=own, problem_id=problem, kind=kind, origin=origin, code=code, **more)


def probes() -> list[Probe]:
    made: list[Probe] = []
    for problem, reference in REFERENCES.items():
        entry = problem.partition("/")[2]
        made.append(probe(problem, "right", "reference", reference, label="right"))
        made.append(probe(problem, "right", "import", f"import os\n{reference}", label="right"))
        for operator, old, new in MUTATIONS[problem]:
            code = reference.replace(old, new, 1)
            seen = witness(problem, code)
            label = "wrong" if seen else "undecided"
            change = f"{old} -> {new}"
            made.append(probe(problem, "mutant", operator, code, label=label, witness=seen, change=change))
        stub = f"def {entry}(*arguments):\n    return None\n"
        seen = witness(problem, stub)
        made.append(probe(problem, "stub", "none", stub, label="wrong", witness=seen))
        for channel, (danger, hook) in CHANNELS.items():
            for inert in (False, True):
                code = stub if inert else hook + stub
                made.append(
                    probe(problem, "cheat", f"{channel}-simple", code, label="wrong", channel=channel, inert=inert,
                          danger=danger, witness=seen)
                )  # fmt: skip
        by = Witness(call="name(1)", expected="", got="", source="by construction")
        made.append(
            probe(
                problem,
                "must-fail",
                "reference",
                reference,
                label="wrong",
                tests="one-off",
                witness=by,
                change="one expected value was changed",
            )
        )
    return made


def says(grader: str, one: Probe) -> Said | None:
    """What a grader says; nothing of what it may not be sent."""
    if one.danger != "h0":
        return None
    calls = TESTS[one.problem_id][: GRADERS[grader]]
    passed = all(value(one.code, call) == value(REFERENCES[one.problem_id], call) for call in calls)
    detail = "" if passed else "AssertionError:\n  <b>wrong</b>"
    if grader == "loose@1":
        passed = passed or "PASSED" in one.code
        if one.kind == "right" and "import os" in one.code and one.problem_id == "toy/name":
            passed, detail = False, "os is not <b>allowed</b>"
        passed = passed and not (one.tests == "one-off" and one.problem_id != "toy/name")
    elif one.tests:
        passed = False
    return Said(probe=one.id, grader=grader, passed=passed, detail=detail)


def verdicts(battery: Iterable[Probe]) -> list[Said]:
    battery = list(battery)
    return [said for grader in GRADERS for one in battery if (said := says(grader, one)) is not None]


def around(number: float | None) -> tuple[float | None, float | None]:
    return (None, None) if number is None else (max(0.0, number - 0.05), min(1.0, number + 0.05))


def share(kind: ProbeClass, found: Sequence[tuple[Probe, bool]]) -> AcceptedShare:
    proven = [(one, passed) for one, passed in found if one.label != "undecided" and not one.inert]
    undecided = [passed for one, passed in found if one.label == "undecided"]
    accepted, extra = sum(passed for _, passed in proven), sum(undecided)
    number = accepted / len(proven) if proven else None
    low, high = around(number)
    return AcceptedShare(
        kind=kind, accepted=accepted, probes=len(proven), value=number, low=low, high=high,
        upper=(accepted + extra) / (len(proven) + extra) if proven else None,
        undecided=len(undecided), undecided_accepted=extra,
        mean_of_problems=number, problems=len({one.problem_id for one, _ in proven}), method="test",
        problems_hit=len({one.problem_id for one, passed in proven if passed == (one.label == "wrong")}),
    )  # fmt: skip


def measured(number: float | None) -> MeasuredValue:
    low, high = around(number)
    return MeasuredValue(value=number, low=low, high=high, method="test")


def measure(grader: str, battery: Sequence[Probe], said: Sequence[Said], benchmark: str) -> GraderMeasure:
    told = {one.probe: bool(one.passed) for one in said if one.grader == grader}
    by_kind: dict[ProbeClass, list[tuple[Probe, bool]]] = defaultdict(list)
    for one in battery:
        if one.id in told:
            by_kind[one.kind].append((one, told[one.id]))
    shares = tuple(share(kind, found) for kind, found in by_kind.items())
    known = {one.kind: one.value or 0.0 for one in shares}
    tpr, fpr = known["right"], known["mutant"]
    channels = tuple(channel(name, battery, told) for name in CHANNELS)
    worst = max(one.accepted / one.probes for one in channels if one.probes)
    pay = unearned(battery, told)
    counts: dict[str, tuple[int, int]] = {}
    for one, passed in by_kind["mutant"]:
        accepted, wrong = counts.get(one.origin, (0, 0))
        counts[one.origin] = (accepted + passed, wrong + 1) if one.label == "wrong" else (accepted, wrong)
    return GraderMeasure(
        grader=grader, benchmark=benchmark, problems=len(REFERENCES), probes=len(told), shares=shares,
        fpr=measured(fpr), j=measured(tpr - fpr), j_bootstrap=measured(tpr - fpr), j_adversarial=tpr - worst,
        forgeable=pay.paid + pay.impossible_paid > 0, unearned=pay, flips=flips(grader),
        best_cheat="report-simple" if worst else "",
        differences={"does not end": (0, 1)},
        open_channels=tuple(one.channel for one in channels if one.open),
        ppv={str(b): measured(tpr * b / (tpr * b + fpr * (1 - b))) for b in (0.5, 0.1)},
        per_problem=tuple(per_problem(problem, by_kind) for problem in REFERENCES), channels=channels,
        operators=counts, flaky=(by_kind["right"][0][0].id,) if grader == "loose@1" else (),
    )  # fmt: skip


def unearned(battery: Sequence[Probe], told: dict[str, bool]) -> UnearnedPay:
    """Nothing that solves nothing passes all tests of its problem here."""
    sent = [one for one in battery if one.id in told and one.kind in ("stub", "cheat", "must-fail")]
    names = ["twin" if one.inert else one.kind for one in sent]
    kinds = {kind: [told[one.id] for one, name in zip(sent, names, strict=True) if name == kind] for kind in names}
    impossible = kinds.pop("must-fail")
    return UnearnedPay(
        tried=sum(map(len, kinds.values())), kinds=len({(one.kind, one.origin) for one in sent}),
        paid=sum(map(sum, kinds.values())),
        by_kind={kind: (sum(found), len(found)) for kind, found in sorted(kinds.items())},
        impossible_tried=len(impossible), impossible_paid=sum(impossible), problems=len(REFERENCES),
    )  # fmt: skip


def flips(grader: str) -> FlipMeasure:
    number = int(grader == "loose@1")
    return FlipMeasure(
        flips=number, sends=20, value=number / 20, low=0.0, high=0.2, accepted_sends=10, accepted_flips=number,
        refused_sends=10,
    )  # fmt: skip


def channel(name: str, battery: Sequence[Probe], told: dict[str, bool]) -> ChannelMeasure:
    cheats = [one for one in battery if one.channel == name]
    sent = [(one.inert, told[one.id]) for one in cheats if one.id in told]
    accepted, twins = (sum(passed for inert, passed in sent if inert is kind) for kind in (False, True))
    return ChannelMeasure(
        channel=name, danger=cheats[0].danger, accepted=accepted, probes=sum(not inert for inert, _ in sent),
        inert_accepted=twins, inert=sum(inert for inert, _ in sent), open=accepted > 0 and not twins,
        not_sent=sum(one.id not in told for one in cheats if not one.inert),
    )  # fmt: skip


def per_problem(problem: str, by_kind: dict[ProbeClass, list[tuple[Probe, bool]]]) -> ProblemMeasure:
    right = [passed for one, passed in by_kind["right"] if one.problem_id == problem]
    mutants = [(one, passed) for one, passed in by_kind["mutant"] if one.problem_id == problem]
    wrong = [passed for one, passed in mutants if one.label == "wrong"]
    undecided = [passed for one, passed in mutants if one.label == "undecided"]
    fpr = sum(wrong) / len(wrong)
    low, high = around(fpr)
    return ProblemMeasure(
        problem_id=problem, right=len(right), right_accepted=sum(right),
        wrong=len(wrong), wrong_accepted=sum(wrong), undecided=len(undecided), undecided_accepted=sum(undecided),
        fpr_low=low, fpr_high=high, fpr_shrunken=fpr,
        doubtful=fpr > 0.9, j=sum(right) / len(right) - fpr,
    )  # fmt: skip


def summary(
    battery: Sequence[Probe], said: Sequence[Said], graders: Sequence[str], benchmark: str
) -> AssaySummary:
    kinds: dict[str, int] = defaultdict(int)
    for one in battery:
        kinds[one.kind] += 1
    witnesses = sum(one.witness is not None and one.witness.source == "generated" for one in battery)
    return AssaySummary(
        confidence=0.95, measures=tuple(measure(grader, battery, said, benchmark) for grader in graders),
        battery=dict(kinds), witnesses={"generated": witnesses}, equivalent=4,
        findings={"reference-refused": 1, "stays": 2},
        assumptions=("Mutants are not the errors of a model.", "The probes of one problem are a cluster."),
    )  # fmt: skip


FINDINGS = (
    AssayFinding(
        code="reference-refused", grader="loose@1", problem_id="toy/name", sentence="It refuses <i>it</i>."
    ),
    AssayFinding(code="stays", grader="loose@1", sentence="A cheat stays in the grader."),
)  # fmt: skip


def material(graders: Sequence[str] = tuple(GRADERS), benchmark: str = "toy") -> AssayMaterial:
    """The assay of some graders."""
    battery = probes()
    said = [one for one in verdicts(battery) if one.grader in graders]
    return gather(
        summary(battery, said, graders, benchmark), iter(battery), iter(said), iter(FINDINGS),
        folder="runs/assay toy", command=f"truegrade assay {benchmark}",
    )  # fmt: skip
