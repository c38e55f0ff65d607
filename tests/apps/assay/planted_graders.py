"""Graders whose error rates are known, simulated at the level of what they said."""

from __future__ import annotations

import msgspec
import numpy as np

from truegrade.apps.assay.acceptance import GraderVerdicts
from truegrade.apps.assay.records import Dispatch, Probe, Said, probe_id
from truegrade.apps.assay.sending import send_again
from truegrade.records import FunctionTask, Problem

KINDS = {"right": 6, "mutant": 8, "labelled": 3, "reply": 3, "stub": 4, "must-fail": 2}
CHANNELS = ("exit", "frames")


def problem(name: str, benchmark: str = "toy") -> Problem:
    task = FunctionTask(prompt="", entry_point="f", tests="", reference="")
    return Problem(id=name, benchmark=benchmark, dataset_sha256="0" * 64, cluster=name, task=task)


def probe(name: str, kind: str, number: int | str = 0, **fields) -> Probe:
    label = "right" if kind == "right" else "wrong"
    code = fields.pop("code", f"{kind} {number}")
    origin = fields.pop("origin", "reference" if (kind, number) == ("right", 0) else f"{kind}-{number}")
    values = {"label": label, **fields}
    rest = [str(each) for each in values.values()]
    return Probe(
        id=probe_id(name, kind, origin, code, *rest),
        problem_id=name,
        kind=kind,
        origin=origin,
        code=code,
        **values,
    )


def battery(problems: int) -> list[Probe]:
    """Every class for every problem; cheats with their twins and the controls behind each."""
    found = []
    for place in range(problems):
        name = f"p{place:03}"
        found += controls(name)
        for kind, number in KINDS.items():
            tests = "one-off" if kind == "must-fail" else ""
            found += [probe(name, kind, each, tests=tests) for each in range(number)]
        for channel in CHANNELS:
            cheat, twin = (
                probe(name, "cheat", origin=channel, channel=channel, code=f"{channel} {inert}", inert=inert)
                for inert in (False, True)
            )
            found += [cheat, twin]
            found += controls(name, cheat.id)
    return found


def controls(name, after=""):
    """The reference and the first stub again."""
    return [
        probe(
            name,
            "control",
            origin=kind,
            code=f"{kind} 0",
            after=after,
            label="right" if kind == "right" else "wrong",
        )
        for kind in ("right", "stub")
    ]


class Planted:
    """A grader that accepts each class with a probability.

    Args:
        name: of the grader.
        rates: by class.
        correlation: between programs of a problem; 0 where its errors do not hang on the problem.
        flaky: share of verdicts that come out the other way.
        poisoned: channel whose cheats make it accept whatever comes next.
        open_channel: channel whose cheats it accepts, and not their twins.
    """

    def __init__(self, name, rates, *, correlation=0.0, flaky=0.0, poisoned="", open_channel=""):
        self.name, self.rates, self.correlation = name, rates, correlation
        self.flaky, self.poisoned, self.open_channel = flaky, poisoned, open_channel

    def truth(self, kind):
        """Share of a class that it accepts."""
        rate = self.rates.get(kind, 0.0)
        return rate * (1 - self.flaky) + (1 - rate) * self.flaky

    keeps_state = restarts = True
    lanes = 1

    def said(self, probes, seed, repeats=1):
        """All rows: what is sent first, and what is sent again to tell it from chance."""
        self._generator = np.random.default_rng(seed)
        chances, self._truth = {}, {}
        for one in probes:
            if one.kind != "control":
                self._truth[one.problem_id, one.kind, one.origin, one.inert] = (
                    self._generator.random() < self._chance(self._generator, chances, one)
                )
        sent = [Dispatch(probe=one, problem=problem(one.problem_id)) for one in probes]
        rows = [msgspec.structs.replace(row, repeat=n) for n in range(repeats) for row in self.grade(sent)]
        verdicts = GraderVerdicts()
        for row in rows:
            verdicts.add(row)
        send_again(self, sent, verdicts, None, rows.append)
        return rows

    def grade(self, sent):
        """What a grader started anew says; behind a cheat of the poisoned channel it accepts both controls."""
        poisoned = set()
        for each in sent:
            one = each.probe
            if one.kind == "cheat" and one.channel == self.poisoned and not one.inert:
                poisoned.add(one.id)
            name = ("right", "reference", False) if one.origin == "right" else ("stub", "stub-0", False)
            name = name if one.kind == "control" else (one.kind, one.origin, one.inert)
            accepted = self._truth[one.problem_id, *name] or one.after in poisoned
            flipped = self._generator.random() < self.flaky
            yield Said(probe=one.id, grader=self.name, passed=bool(accepted != flipped))

    def _chance(self, generator, chances, one):
        rate = self.rates.get(one.kind, 0.0)
        if one.channel and one.channel == self.open_channel and not one.inert:
            return 1.0
        if not self.correlation or rate in (0.0, 1.0):
            return rate
        key = one.problem_id, one.kind
        if key not in chances:
            prior = 1 / self.correlation - 1
            chances[key] = generator.beta(rate * prior, (1 - rate) * prior)
        return chances[key]


def planted() -> list[Planted]:
    """Twelve with known rates, four whose errors hang on the problem, two flaky and two poisoned ones."""
    found = []
    for place, (tpr, fpr) in enumerate([(t, f) for t in (0.8, 0.95, 1.0) for f in (0.02, 0.1, 0.3, 0.6)]):
        rates = {"right": tpr, "mutant": fpr, "labelled": fpr / 2, "reply": min(1.0, 1.5 * fpr), "stub": fpr / 4}
        found.append(Planted(f"known-{place:02}", {**rates, "must-fail": 0.05 * (place % 3)}))
    for place, fpr in enumerate((0.05, 0.1, 0.2, 0.4)):
        rates = {"right": 0.95, "mutant": fpr, "labelled": fpr, "reply": fpr, "stub": 0.02}
        found.append(Planted(f"unlike-{place}", rates, correlation=0.3))
    for place, share in enumerate((0.02, 0.1)):
        rates = {"right": 0.97, "mutant": 0.1, "labelled": 0.1, "reply": 0.1}
        found.append(Planted(f"flaky-{place}", rates, flaky=share))
    for channel in CHANNELS:
        rates = {"right": 0.97, "mutant": 0.1, "labelled": 0.1, "reply": 0.1}
        found.append(Planted(f"poisoned-{channel}", rates, poisoned=channel))
    return found
