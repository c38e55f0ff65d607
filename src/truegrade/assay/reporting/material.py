"""What the page of an assay shows: its conclusions, and the probes on which a grader erred."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from truegrade.assay.measures import AssaySummary
from truegrade.assay.records import AssayFinding, Probe, Said

DETAIL_CHARS = 300
"""Of what a grader said of a probe, one line is kept to this length."""


class ErredProbe(msgspec.Struct, frozen=True, kw_only=True):
    """A probe, and the graders that were wrong about it."""

    probe: Probe
    graders: tuple[str, ...]
    """In the order in which they first spoke."""
    details: tuple[str, ...] = ()
    """What each of them said, beside `graders`; empty strings where they gave no reason."""


class AssayMaterial(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the page and its tables are made from."""

    summary: AssaySummary
    survivors: tuple[ErredProbe, ...]
    """Wrong programs that were accepted, no cheats: one of every problem before the second of any."""
    refused: tuple[ErredProbe, ...]
    """Right programs that were refused."""
    impossible: tuple[ErredProbe, ...]
    """Programs that passed tests which nothing honest passes."""
    cheats: tuple[ErredProbe, ...]
    """One accepted cheat of each channel."""
    flaky: tuple[ErredProbe, ...]
    """Probes whose verdict differed between repetitions."""
    findings: tuple[AssayFinding, ...]
    references: Mapping[str, str]
    """Problem to its reference."""
    folder: str
    """Of the assay, as a command names it."""
    command: str
    """What measures this again; empty where it is not known."""


def gather(
    summary: AssaySummary,
    probes: Iterable[Probe],
    said: Iterable[Said],
    findings: Iterable[AssayFinding] = (),
    *,
    references: Mapping[str, str],
    folder: str,
    command: str = "",
) -> AssayMaterial:
    """Choose what is shown; each iterable is read once and only what a grader got wrong is kept.

    Args:
        summary: of the assay.
        probes: all of them.
        said: all verdicts; of repetitions the first counts.
        findings: of the assay.
        references: problem to its reference; a problem may be missing.
        folder: of the assay, as commands name it.
        command: what measures this again.
    """
    accepted: dict[str, dict[str, str]] = defaultdict(dict)
    refused: dict[str, dict[str, str]] = defaultdict(dict)
    for one in said:
        if one.repeat == 0 and one.passed is not None:
            (accepted if one.passed else refused)[one.probe][one.grader] = one.detail[:DETAIL_CHARS]
    unsteady: dict[str, dict[str, None]] = defaultdict(dict)
    for measure in summary.measures:
        for name in measure.flaky:
            unsteady[name][measure.grader] = None
    found: dict[str, list[ErredProbe]] = defaultdict(list)
    for probe in probes:
        if probe.id in unsteady:
            found["flaky"].append(ErredProbe(probe=probe, graders=tuple(unsteady[probe.id])))
        group = _group(probe)
        erred = (refused if group == "refused" else accepted).get(probe.id)
        if group and erred:
            found[group].append(
                ErredProbe(probe=probe, graders=tuple(erred), details=tuple(map(_one_line, erred.values())))
            )
    return AssayMaterial(
        summary=summary,
        survivors=tuple(_one_a_problem_first(found["survivors"])),
        refused=tuple(_one_a_problem_first(found["refused"])),
        impossible=tuple(_one_a_problem_first(found["impossible"])),
        cheats=tuple({erred.probe.channel: erred for erred in reversed(found["cheats"])}.values())[::-1],
        flaky=tuple(found["flaky"]),
        findings=tuple(findings),
        references=references,
        folder=folder,
        command=command,
    )


def _group(probe: Probe) -> str:
    """Where a probe is shown if a grader is wrong about it; empty where it proves nothing."""
    if probe.kind == "control" or probe.label == "undecided":
        return ""
    if probe.kind == "cheat":
        return "" if probe.inert else "cheats"
    if probe.kind == "must-fail":
        return "impossible"
    return "refused" if probe.label == "right" else "survivors"


def _one_line(text: str) -> str:
    return " ".join(text.split())


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
