"""What a report of an assay shows: its conclusions, and the probes on which a grader erred."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from truegrade.apps.assay.acceptance import (
    REFERENCE,
    Acceptance,
    counted_class,
    is_undecided,
    left_out,
    settle,
)
from truegrade.apps.assay.folder import AssayFolder
from truegrade.apps.assay.measures import AssaySummary
from truegrade.apps.assay.records import AssayFinding, Probe, Said

DETAIL_CHARS = 300
"""Of what a grader said of a probe, one line is kept to this length."""


class ErredProbe(msgspec.Struct, frozen=True, kw_only=True):
    """A probe, and the graders that were wrong about it."""

    probe: Probe
    graders: tuple[str, ...]
    """In alphabetical order."""
    details: tuple[str, ...] = ()
    """What each of them said, beside `graders`; empty strings where they gave no reason."""


class AssayMaterial(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a report of an assay is made from; a terminal needs no probes."""

    summary: AssaySummary
    findings: tuple[AssayFinding, ...] = ()
    folder: str
    """Of the assay, as a command names it."""
    survivors: tuple[ErredProbe, ...] = ()
    """Wrong programs that were accepted, no cheats: one of every problem before the second of any."""
    refused: tuple[ErredProbe, ...] = ()
    """Right programs that were refused."""
    impossible: tuple[ErredProbe, ...] = ()
    """Programs that passed tests which nothing honest passes."""
    flaky: tuple[ErredProbe, ...] = ()
    """Probes whose verdict differed between repetitions."""
    references: Mapping[str, str] = {}
    """Problem to its reference."""
    command: str = ""
    """What measures this again; empty where it is not known."""


def gather(
    summary: AssaySummary,
    probes: Iterable[Probe],
    said: Iterable[Said],
    findings: Iterable[AssayFinding] = (),
    *,
    folder: str,
    command: str = "",
    pass_at: float | None = None,
) -> AssayMaterial:
    """Choose what is shown: by the rules by which the rates are counted, so that it is what they count.

    Probes and verdicts are read once. ``pass_at`` is that of `Acceptance`; the rest is as `AssayMaterial` has it.
    """
    battery = list(probes)
    details: dict[tuple[str, str], str] = {}
    verdicts = settle(_noted(said, {probe.id for probe in battery if probe.label == "right"}, details))
    graders = {name: Acceptance(battery, given, pass_at) for name, given in verdicts.items()}
    unsteady: dict[str, list[str]] = defaultdict(list)
    for name, grader in ((name, measure.grader) for measure in summary.measures for name in measure.flaky):
        unsteady[name].append(grader)
    found: dict[str, list[ErredProbe]] = defaultdict(list)
    for probe in battery:
        if probe.id in unsteady:
            found["flaky"].append(ErredProbe(probe=probe, graders=tuple(dict.fromkeys(unsteady[probe.id]))))
        group = _group(probe)
        erred = [name for name, acceptance in graders.items() if group and _errs(group, probe, acceptance)]
        if erred:
            told = tuple(details.get((probe.id, name), "") for name in erred)
            found[group].append(ErredProbe(probe=probe, graders=tuple(erred), details=told))
    return AssayMaterial(
        summary=summary,
        findings=tuple(findings),
        folder=folder,
        survivors=tuple(_one_a_problem_first(found["survivors"])),
        refused=tuple(_one_a_problem_first(found["refused"])),
        impossible=tuple(_one_a_problem_first(found["impossible"])),
        flaky=tuple(found["flaky"]),
        references={
            probe.problem_id: probe.code for probe in battery if (probe.kind, probe.origin) == ("right", REFERENCE)
        },
        command=command,
    )


def gather_folder(folder: AssayFolder, command: str = "") -> AssayMaterial:
    """The same of a finished assay.

    Raises:
        UserError: it is not finished.
    """
    return gather(
        folder.summary(), folder.probes(), folder.said(), folder.findings(), folder=str(folder.path),
        command=command, pass_at=folder.manifest().pass_at,
    )  # fmt: skip


def _noted(said: Iterable[Said], right: set[str], details: dict[tuple[str, str], str]) -> Iterator[Said]:
    """Hand verdicts on, and keep why right programs were refused."""
    for one in said:
        if one.passed is not None and one.probe in right:
            details.setdefault((one.probe, one.grader), " ".join(one.detail[:DETAIL_CHARS].split()))
        yield one


def _group(probe: Probe) -> str:
    """Where a probe is shown if a grader is wrong about it; empty where it proves nothing."""
    kind = counted_class(probe)
    if kind is None or kind == "cheat" or is_undecided(kind, probe):
        return ""
    return {"right": "refused", "must-fail": "impossible"}.get(kind, "survivors")


def _errs(group: str, probe: Probe, acceptance: Acceptance) -> bool:
    accepted = acceptance.accepted(probe)
    if accepted is None or left_out(probe.kind, probe, acceptance.refused):
        return group == "refused" and accepted is False
    return accepted is (group != "refused")


def _one_a_problem_first(found: Sequence[ErredProbe]) -> list[ErredProbe]:
    """Problems take turns, those with most errors first; stable beside that."""
    by_problem: dict[str, list[ErredProbe]] = defaultdict(list)
    for erred in found:
        by_problem[erred.probe.problem_id].append(erred)
    turns = [
        (turn, -len(group), erred)
        for group in by_problem.values()
        for turn, erred in enumerate(sorted(group, key=lambda one: -len(one.graders)))
    ]
    return [erred for _, _, erred in sorted(turns, key=lambda entry: entry[:2])]
