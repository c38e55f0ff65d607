"""The folder of an assay: opened by one process at a time, never mixed with another assay's.

manifest.json    what was measured: battery, graders, data, versions
problems.jsonl   each problem whose probes are complete, with what its oracle rests on
probes.jsonl     the probes, with their witnesses
verdicts.jsonl   what each grader said of each probe
batches.jsonl    what it said of replies in batches
own-tests.jsonl  what strict says, by the tests of the problem, of programs that a grader accepted
findings.jsonl, summary.json, report.html   made anew from these at the end
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

import msgspec

from truegrade.apps.assay.batches import BatchSaid
from truegrade.apps.assay.measures import AssaySummary
from truegrade.apps.assay.records import AssayFinding, Battery, Probe, Said
from truegrade.errors import BadRecord, UserError
from truegrade.files.json_text import encode, read_json, with_checksum
from truegrade.store.journal import FSYNC_EVERY, Journal, Notice, alone_in, ignore, read_journal
from truegrade.store.manifest import write_atomically

MANIFEST = "manifest.json"
PROBLEMS = "problems.jsonl"
PROBES = "probes.jsonl"
VERDICTS = "verdicts.jsonl"
BATCHES = "batches.jsonl"
OWN = "own-tests.jsonl"
FINDINGS = "findings.jsonl"
SUMMARY = "summary.json"
PAGE = "report.html"
T = TypeVar("T", bound=msgspec.Struct)
_LOCK = "assay.lock"
_ADVICE = "is it the folder of an assay?"


class AssayedBenchmark(msgspec.Struct, frozen=True, kw_only=True):
    """A data set whose problems are assayed."""

    name: str
    dataset_sha256: str
    selected: tuple[str, ...]
    """Ids of the problems that count; the folder may hold more, of earlier calls."""
    companion: str = ""
    """The extended benchmark whose inputs and references help to prove labels; empty where there is none."""
    companion_sha256: str = ""
    args: dict[str, str] = {}
    data: str = ""
    """The file that was named, if one was."""


class AssayManifest(msgspec.Struct, frozen=True, kw_only=True):
    """``manifest.json``: what decides the numbers, and with what it was made."""

    battery: Battery
    benchmark: AssayedBenchmark
    graders: tuple[str, ...]
    repeat: int = 1
    pass_at: float | None = None
    labels_sha256: str = ""
    call: str = ""
    """How foreign graders are called."""
    tests_as: str = ""
    setups: dict[str, str] = {}
    """Foreign grader to a hash of its file and of how it is called: what would change its verdicts."""
    one_at_a_time: tuple[str, ...] = ()
    """Graders of replies, which are sent one at a time at first."""
    schema: int = 1
    environment: dict[str, str] = {}
    """Versions; they decide nothing about whether an assay may go on."""
    created: str = ""

    @property
    def identity(self) -> tuple[object, ...]:
        """What must not change between an assay and its resumption; graders and problems may be added."""
        data = msgspec.structs.replace(self.benchmark, selected=())
        return (self.battery, data, self.pass_at, self.labels_sha256)


class BuiltProblem(msgspec.Struct, frozen=True, kw_only=True):
    """A line of ``problems.jsonl``: the probes of this problem are all in ``probes.jsonl``."""

    problem_id: str
    probes: int
    equivalent: int = 0
    """Mutants proven equal to the reference, and left out."""
    inputs: dict[str, int] = {}
    """Source to validated inputs of the oracle."""
    references: int = 1
    comparator: str = ""
    no_oracle: str = ""
    """Why no label could be proven here by running programs; empty where one could."""
    notes: tuple[str, ...] = ()
    """What the oracle left aside, and why."""
    findings: tuple[AssayFinding, ...] = ()


class AssayFolder:
    """Reads and appends; ``notice`` is told of torn lines."""

    def __init__(self, path: Path, *, notice: Notice = ignore) -> None:
        self.path, self.notice = path, notice

    def locked(self) -> AbstractContextManager[None]:
        """Alone with the folder; the lock goes with its process, however that ends.

        Raises:
            UserError: another process is at work in it, or it cannot be made.
        """
        return alone_in(self.path, _LOCK, "assaying")

    def begin(self, manifest: AssayManifest) -> None:
        """Write down what this assay is, or see that it is the one that began here.

        Raises:
            UserError: another one began here.
        """
        if (self.path / MANIFEST).exists():
            before = self.manifest()
            if before.identity != manifest.identity:
                raise UserError(
                    f"{self.path} holds another assay: its battery, data set, labels or `pass_at` differ; choose"
                    " another `out`"
                )
            for name, setup in manifest.setups.items():
                if before.setups.get(name, setup) != setup:
                    raise UserError(
                        f"{self.path} holds verdicts of another {name}: its file, `call`, `tests_as`, `packages`,"
                        " `timeout_s` or `jail` differ; choose another `out`"
                    )
            manifest = msgspec.structs.replace(
                manifest,
                graders=tuple(dict.fromkeys((*before.graders, *manifest.graders))),
                setups=before.setups | manifest.setups,
                created=before.created,
            )
        self.write(MANIFEST, manifest)
        (self.path / PROBES).touch()  # by which others tell what folder this is

    def manifest(self) -> AssayManifest:
        """What was measured.

        Raises:
            BadRecord, UserError: the folder holds none.
        """
        return read_json(self.path / MANIFEST, AssayManifest, _ADVICE)

    def built(self) -> dict[str, BuiltProblem]:
        """The problems whose probes are complete, by id."""
        return {built.problem_id: built for built in self._lines(PROBLEMS, BuiltProblem)}

    def probes(self) -> Iterator[Probe]:
        """The probes of complete problems that are selected, each once, in the order in which they were made."""
        complete = self.built().keys() & {*self.manifest().benchmark.selected}
        seen = set[str]()
        for probe in self._lines(PROBES, Probe):
            if probe.problem_id in complete and probe.id not in seen:
                seen.add(probe.id)
                yield probe

    def said(self) -> Iterator[Said]:
        """What graders said."""
        return self._lines(VERDICTS, Said)

    def said_of_batches(self) -> dict[str, list[BatchSaid]]:
        """What graders said of batches, by grader."""
        found = defaultdict[str, list[BatchSaid]](list)
        for row in self._lines(BATCHES, BatchSaid):
            found[row.grader].append(row)
        return found

    def own_verdicts(self) -> dict[str, bool]:
        """Id of an accepted program to whether the tests of its problem accept it under ``strict``."""
        return {said.probe: said.passed for said in self._lines(OWN, Said) if said.passed is not None}

    def summary(self) -> AssaySummary:
        """What a finished assay concludes.

        Raises:
            BadRecord, UserError: it is not finished.
        """
        if not (self.path / SUMMARY).is_file():
            raise UserError(f"{self.path}: this assay is not finished; run its command again")
        return read_json(self.path / SUMMARY, AssaySummary, _ADVICE)

    def findings(self) -> list[AssayFinding]:
        """What was found, of a finished assay."""
        return list(self._lines(FINDINGS, AssayFinding))

    def append(self, name: str, kind: type[T], *, fsync_every: int = FSYNC_EVERY) -> Journal[T]:
        """Open a journal for its records, to be synced each so many."""
        return Journal[kind](self.path / name, notice=self.notice, fsync_every=fsync_every)  # type: ignore[valid-type]

    def write(self, name: str, content: object) -> None:
        """Write a JSON file in one step."""
        write_atomically(self.path / name, encode(content, indent=2) + b"\n")

    def write_findings(self, findings: list[AssayFinding]) -> None:
        """Write all findings, in one step."""
        write_atomically(self.path / FINDINGS, b"".join(with_checksum(encode(each)) for each in findings))

    def _lines(self, name: str, kind: type[T]) -> Iterator[T]:
        path = self.path / name
        return read_journal(path, kind, notice=self.notice) if path.exists() else iter(())


def open_assay(path: Path) -> AssayFolder:
    """The folder of an assay that was begun.

    Raises:
        UserError: it is none.
    """
    if not (path / MANIFEST).is_file():
        raise UserError(f"{path}: not the folder of an assay; `truegrade assay` writes one")
    folder = AssayFolder(path)
    try:
        folder.manifest()
    except BadRecord as error:
        raise UserError(str(error)) from None
    return folder
