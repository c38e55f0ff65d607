"""Programs that somebody labels, right or wrong: a data set's submissions, and what models answered in a run.

A label given is a claim. The oracle decides about the probe; where the two disagree, the conflict is listed and
the program is counted nowhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal, cast, get_args

import msgspec

from truegrade.apps.assay.records import Probe, make_probe
from truegrade.errors import BadRecord, UnknownName
from truegrade.kinds import kind_of
from truegrade.pipeline.importing import tell_faults
from truegrade.pipeline.verdicts import answer_of
from truegrade.profiles import Profile, open_stored
from truegrade.records import (
    Answer,
    Completion,
    Problem,
    Reason,
    SampleKey,
)
from truegrade.store.importers.reading import RowFaults, SourceFile, json_lines
from truegrade.store.journal import Notice, ignore
from truegrade.store.run import Run

Claim = Literal["right", "wrong"]


class ClaimedProbe(msgspec.Struct, frozen=True, kw_only=True):
    """A program with the label that its source gives it; the probe's own label is undecided."""

    probe: Probe
    claim: Claim
    source: str
    """Who says so."""


class _Row(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a file of labels."""

    problem: str
    program: str
    label: str
    """A `Claim`."""
    source: str


def read_labels(
    path: Path,
    problems: Collection[str],
    left_out: Mapping[str, str] = MappingProxyType({}),
    *,
    notice: Notice = ignore,
) -> list[ClaimedProbe]:
    """Labelled programs of a JSON Lines file: ``problem``, ``program``, ``label`` (right or wrong) and ``source``.

    ``problems`` are the ids that programs may be for, ``left_out`` says why others are not among them; a program
    that stands there twice for one is read once. The file may be compressed with gzip. A line that is no such row,
    names a problem that is not known, or contradicts an earlier one is left out, which ``notice`` is told.

    Raises:
        BadRecord: no line can be used; names file, line and field of the first.
    """
    found: dict[str, tuple[int, ClaimedProbe]] = {}
    faults = RowFaults(refusing=False)
    with SourceFile(path, hashed=False) as source:
        for line, row in json_lines(source, _Row, faults):
            field, problem = _fault(row, problems, left_out)
            if not problem:
                made = _claimed(row.problem, "labelled", row.program, cast(Claim, row.label), row.source)
                earlier, same = found.setdefault(made.probe.id, (line, made))
                if same.claim != row.label:
                    field = "label"
                    problem = f"line {earlier} says that this program is {same.claim}; keep one of the two"
            if problem:
                faults.add(BadRecord(path, problem, line=line, field=field))
    if not found:
        raise faults.first[0] if faults.first else BadRecord(path, "holds no rows; see docs/assay.md")
    tell_faults(faults, notice, "the line is left out, the others are used")
    return [claimed for _, claimed in found.values()]


def _fault(row: _Row, problems: Collection[str], left_out: Mapping[str, str]) -> tuple[str, str]:
    """The field of a row that is at fault, and how; nothing of a row that can be used."""
    if row.problem not in problems:
        why = left_out.get(row.problem)
        return "problem", f"it is left out: {why}" if why else str(UnknownName("problem", row.problem, problems))
    if not row.program.strip():
        return "program", "holds no program"
    if row.label not in get_args(Claim):
        return "label", f"{row.label!r} is neither right nor wrong; write one of these"
    return "", ""


def replies(
    run: Path,
    problems: Iterable[Problem],
    profile: str | None = None,
    *,
    per_problem: int = 8,
    notice: Notice = ignore,
) -> Iterator[ClaimedProbe]:
    """What models answered in a run that was graded, as whole programs; each text once a problem.

    Replies without an answer, and those on which the grader itself failed, are passed over.

    Args:
        run: its folder or pack.
        problems: of its benchmark; replies to others are passed over.
        profile: under which it was graded; may be None where it was graded under one.
        per_problem: the most right ones, and the most wrong ones, of a problem.
        notice: told what a person should know of the run's files.

    Raises:
        UnknownName: the run was not graded under that profile.
        BadRecord: a file of the run cannot be read.
        UserError: ``run`` is no run, or it was graded under several profiles and none is named.
    """
    opened = Run.open(run, notice=notice)
    graded = opened.profile_id(profile)
    rules = open_stored(graded, opened.manifest.origin(graded), opened.path)
    passed = {
        (verdict.key, verdict.completion_sha256): verdict.passed
        for verdict in opened.verdict_facts(graded)
        if verdict.reason is not Reason.GRADER_ERROR
    }
    asked = {problem.id: problem for problem in problems}
    source = f"{opened.given.name}, {graded}"
    taken: Counter[tuple[str, Claim]] = Counter()
    seen: set[str] = set()
    for completion in opened.completions():
        made = _reply(completion, asked, rules, passed, source)
        if made is None or made.probe.id in seen:
            continue
        seen.add(made.probe.id)
        taken[made.probe.problem_id, made.claim] += 1
        if taken[made.probe.problem_id, made.claim] <= per_problem:
            yield made


def _reply(
    completion: Completion,
    problems: Mapping[str, Problem],
    profile: Profile,
    passed: Mapping[tuple[SampleKey, str], bool],
    source: str,
) -> ClaimedProbe | None:
    problem, right = problems.get(completion.problem_id), passed.get((completion.key, completion.sha256))
    if problem is None or right is None or completion.text is None:
        return None
    answer = answer_of(completion, problem, profile)
    program = program_of(problem, answer)
    if program is None:
        return None
    return _claimed(problem.id, "reply", program, "right" if right else "wrong", source)


def program_of(problem: Problem, answer: Answer) -> str | None:
    """The whole program of an answer; None where it holds none, or the problem asks for no program."""
    if not answer.value or answer.reason is not None:
        return None
    kind = kind_of(problem.task)
    return kind.program(problem.task, answer) if kind.gives == "program" else None


def _claimed(
    problem_id: str, kind: Literal["labelled", "reply"], code: str, claim: Claim, source: str
) -> ClaimedProbe:
    # The id does not hang on the source: the same program from two sources is one probe.
    probe = make_probe(problem_id, kind, "", code, change=f"{source} says {claim}")
    return ClaimedProbe(probe=msgspec.structs.replace(probe, origin=source), claim=claim, source=source)
