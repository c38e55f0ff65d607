"""More tests for a benchmark, chosen by the wrong programs that they refuse."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from truegrade.api import unsafe_allowed
from truegrade.apps.assay.hardening_forms import FORMS, AcceptedPrograms
from truegrade.apps.assay.hardening_problem import HardenedProblem, HardeningOptions, harden_problem
from truegrade.apps.assay.input_domain import find_companions
from truegrade.apps.assay.probes.labelled import ClaimedProbe, read_labels
from truegrade.apps.assay.running import in_sandbox
from truegrade.benchmarks import find_benchmark
from truegrade.errors import UserError
from truegrade.files.json_text import encode
from truegrade.grading.problem_tests import StreamTests
from truegrade.kinds import kind_at_fault, kind_of
from truegrade.pipeline.loading import Limit, load_announced, select
from truegrade.pipeline.verdicts import Progress
from truegrade.records import Problem, sha256_json
from truegrade.report import format as fmt
from truegrade.report.progress_lines import download_progress
from truegrade.sandbox import Sandbox
from truegrade.settings import Silent
from truegrade.statistics import wilson
from truegrade.store.journal import Journal, Notice, ignore, read_journal
from truegrade.store.manifest import write_atomically

# ----------------------------------------------------------------------------------------------------------------
# Hardening a benchmark: problem by problem, within a budget; then the files, and what it came to in lines.
# The files are a benchmark of ours, EvalPlus' form, what trainers read, a card, and a manifest.


MANIFEST, CARD = ".manifest.json", ".card.md"
"""Ends of the files beside the benchmark; they take the place of ``.jsonl``."""
_SHOWN = 12
"""Problems that the card names for one reason; the manifest names all."""


class ExportedFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file of rows, and what its consumer makes of known programs: the sums over its rows."""

    form: str
    file: str
    rows: int
    left_out: Mapping[str, tuple[str, ...]]
    """Reason to the problems that it left out."""
    right: AcceptedPrograms
    stubs: AcceptedPrograms
    held_out: AcceptedPrograms


def total(sides: Sequence[AcceptedPrograms | None]) -> AcceptedPrograms:
    """All of them together."""
    some = [side for side in sides if side is not None]
    return AcceptedPrograms(
        programs=sum(one.programs for one in some),
        before=sum(one.before for one in some),
        after=sum(one.after for one in some),
    )


class Hardened(msgspec.Struct, frozen=True, kw_only=True):
    """What hardening came to."""

    benchmark: str
    files: tuple[Path, ...]
    """Empty where the budget ended first: the same call goes on."""
    lines: tuple[HardenedProblem, ...]
    exported: tuple[ExportedFile, ...] = ()
    """What the consumer of each file makes of known programs."""
    left: int = 0
    """Problems that the budget left."""

    def total(self, side: str) -> AcceptedPrograms:
        """The programs of one field of `HardenedProblem` over all problems, as ``held_out``."""
        return total([getattr(line, side) for line in self.lines])


def exported_files(out: Path, lines: Sequence[HardenedProblem]) -> Iterator[ExportedFile]:
    """The files of rows, with their figures."""
    for name, form in FORMS.items():
        left_out: dict[str, list[str]] = defaultdict(list)
        for line in lines:
            if line.exports[name].reason:
                left_out[line.exports[name].reason].append(line.problem_id)
        kept = [line.exports[name] for line in lines if not line.exports[name].reason]
        yield ExportedFile(
            form=name,
            file=_beside(out, form.ending).name,
            rows=len(kept),
            left_out={reason: tuple(ids) for reason, ids in left_out.items()},
            right=total([row.right for row in kept]),
            stubs=total([row.stubs for row in kept]),
            held_out=total([row.held_out for row in kept]),
        )


def write_hardened(
    out: Path, about: Mapping[str, Any], lines: Sequence[HardenedProblem], files: Sequence[ExportedFile]
) -> tuple[Path, ...]:
    """Write every file, each in one step, the benchmark as ``out`` and the others beside it; return their paths.

    ``about`` is the benchmark that was hardened, its licence, which is carried along, name, hash and origin of its
    data, and the options that the tests were made with.
    """
    manifest: dict[str, Any] = {
        **about,
        "problems": len(lines),
        "hardened": sum(bool(line.tests) for line in lines),
        "files": files,
        "sha256": {},
        "lines": [msgspec.structs.replace(line, exports={}) for line in lines],
    }
    contents = {
        form.ending: "".join(f"{row.text}\n" for line in lines if (row := line.exports[name]).text)
        for name, form in FORMS.items()
    }
    contents[CARD] = _card(manifest)
    for ending, content in contents.items():
        write_atomically(_beside(out, ending), content.encode())
        manifest["sha256"][_beside(out, ending).name] = sha256_json(content)
    write_atomically(_beside(out, MANIFEST), encode(manifest, indent=2) + b"\n")
    return tuple(_beside(out, ending) for ending in (*contents, MANIFEST))


def _card(manifest: Mapping[str, Any]) -> str:
    """A dataset card for the hub."""
    benchmark, licence, source = manifest["benchmark"], manifest["licence"], manifest["source"]
    files: Sequence[ExportedFile] = manifest["files"]
    table = "\n".join(
        f"| `{one.file}` | {one.rows} | {one.right.before - one.right.after} of {one.right.before}"
        f" | {one.stubs.before} | {one.stubs.after} of {one.stubs.programs}"
        f" | {rate_told(one.held_out.before, one.held_out.programs)}"
        f" | {rate_told(one.held_out.after, one.held_out.programs)} |"
        for one in files
    )
    return f"""---
license: other
license_name: {licence}
task_categories:
- text-generation
language:
- en
tags:
- code
---

# {benchmark}, hardened

The problems of {benchmark} with further tests, chosen by `truegrade assay harden` so that they refuse wrong
programs that the benchmark's own tests accept. {manifest["hardened"]} of {manifest["problems"]} problems have new
tests. Expected values are those of the benchmark's reference program; the manifest names for every test the
programs that it refuses, and what the tests gain on programs that were kept out of the choice.

Each row holds the benchmark's own and the new tests. It was measured as it is written here: read back as the
consumer of its form reads it, and graded by the consumer's rules (the file of trainers by two of them:
LiveCodeBench's runner and verl's prime_code). A row that then refuses a right program, accepts a stub, or
accepts a wrong program that chose the tests and that they refuse, is left out. Wrong mutants that chose nothing
are accepted at these rates (95 % intervals, programs taken for independent):

| file | rows | right refused | stubs, own tests | stubs, as exported | mutants, own tests | mutants, as exported |
| --- | --- | --- | --- | --- | --- | --- |
{table}

Left out:

{chr(10).join(_left_out_lines(files)) or "nothing."}

Source: {", ".join(f"{name} {value}" for name, value in source.items())}. Licence of the source: {licence}.
"""


def _left_out_lines(files: Sequence[ExportedFile]) -> Iterator[str]:
    for one in files:
        for reason, ids in sorted(one.left_out.items(), key=lambda pair: -len(pair[1])):
            named = ", ".join(ids[:_SHOWN]) + (", …" if len(ids) > _SHOWN else "")
            yield f"- `{one.file}`: {fmt.count(len(ids))}, because {reason}: {named}"


def rate_told(accepted: int, programs: int) -> str:
    """``3 of 40, 7.5 % [2.6, 19.9]``; the interval is Wilson's."""
    if not programs:
        return "none"
    low, high = wilson(accepted, programs)
    return f"{accepted} of {programs}, {fmt.percent(accepted / programs)} {fmt.bounds(low, high)}"


def _beside(out: Path, ending: str) -> Path:
    """The file of that ending beside the benchmark."""
    return out.with_name(out.name.removesuffix(".jsonl") + ending)


_SIDES = (
    ("held_out", "wrong mutants, not used to choose"),
    ("seen", "wrong mutants, used to choose"),
    ("bugs", "labelled wrong programs"),
    ("right", "right programs, not used to choose"),
    ("labelled_right", "labelled right programs"),
)


def hardened_lines(found: Hardened) -> Iterator[str]:
    """A table of what the present and the new tests accept, then the files."""
    new = [len(line.tests) for line in found.lines if line.tests]
    yield (
        f"{found.benchmark}: {fmt.count(len(new))} of {fmt.count(len(found.lines))} problems have new tests,"
        f" {fmt.count(sum(new))} in all, {median(new or [0]):g} a problem (median)"
    )
    for field, name in _SIDES:
        side = found.total(field)
        if side.programs:
            told = rate_told(side.after, side.programs)
            yield f"{name:36}{side.before:>7,} of {side.programs:,} accepted before, after {told}"
    times = [(line.cpu_before_s, line.cpu_after_s) for line in found.lines if line.tests]
    before = sum(one for one, other in times if one is not None and other is not None)
    after = sum(other for one, other in times if one is not None and other is not None)
    if times:
        yield f"CPU of a right solution, all hardened problems: {before:.2f} s before, {after:.2f} s after"
    dropped = sum(len(line.dropped) for line in found.lines)
    if dropped:
        yield f"{fmt.count(dropped)} tests refused a right program and were left out; the manifest lists them"
    doubts = sum(bool(line.ambiguous) for line in found.lines)
    if doubts:
        yield f"{fmt.count(doubts)} problems have inputs on which references disagree; the manifest lists them"
    if found.left:
        yield f"{fmt.count(found.left)} problems are left; the same command goes on and then writes the files"
    for one in found.exported:
        left_out = sum(map(len, one.left_out.values()))
        yield (
            f"{one.file}, measured as written: {fmt.count(one.rows)} rows, {fmt.count(left_out)} left out;"
            f" right programs refused: {one.right.before - one.right.after} of {one.right.before};"
            f" stubs accepted: {one.stubs.after} of {one.stubs.programs}; wrong mutants, not used to choose:"
            f" {rate_told(one.held_out.after, one.held_out.programs)}"
        )
        if one.left_out and not one.rows:
            why = max(one.left_out, key=lambda reason: len(one.left_out[reason]))
            yield f"{one.file} is empty: of {fmt.plural(len(one.left_out[why]), 'problem')}, {why}"
    yield from (f"wrote {path}" for path in found.files)


JOURNAL_ENDING = ".journal.jsonl"
_LINES = "3"
"""Version of the journal's lines: those made by other rules belong to other settings."""


def harden(
    benchmark: str,
    *,
    out: str | Path,
    budget_s: float | None = None,
    mutants: int = 40,
    inputs: int = 400,
    most_tests: int = 10,
    seed: int = 0,
    labels: str | Path | None = None,
    data: str | Path | None = None,
    task_args: Mapping[str, str] | None = None,
    limit: Limit = None,
    ids: Sequence[str] = (),
    workers: int | None = None,
    allow_unsafe: bool | None = None,
    progress: Progress | None = None,
    notice: Notice = ignore,
) -> Hardened:
    """Add tests to a benchmark that refuse wrong programs which its own tests accept.

    Half of the mutants of each problem choose the tests, the other half only measures what they gain. The same
    call goes on where an earlier one stopped.

    Args:
        benchmark: name or file.
        out: the hardened benchmark, a ``.jsonl`` file; other forms and the manifest are written beside it.
        budget_s: seconds after which no further problem is begun; None for no end.
        mutants, inputs, most_tests, seed: as `HardeningOptions` has them.
        labels: labelled programs, which measure and do not choose.
        workers: problems at once; None for one a core.
        data, task_args, limit, ids, allow_unsafe, progress, notice: as `truegrade.apps.assay.assay` has them.

    Raises:
        UserError: a name, file or number is at fault, or the journal beside ``out`` belongs to other settings.
    """
    place = Path(out)
    if place.suffix != ".jsonl":
        raise UserError(f"`out` {place}: write a name that ends in .jsonl")
    options = HardeningOptions(mutants=mutants, inputs=inputs, most_tests=most_tests, seed=seed)
    folder = None if data is None else Path(data)
    loaded = load_announced(benchmark, folder, task_args or {}, notice, download_progress)
    chosen = {problem.id: problem for problem in select(loaded, limit, ids)}
    for problem in chosen.values():
        tests = kind_of(problem.task).tests(problem.task)
        if isinstance(tests, str | StreamTests):
            raise UserError(f"{loaded.name}: {type(problem.task).__name__} has no calls that a test could add")
    companions = find_companions(loaded.name, chosen.values(), folder, notice)
    claims: dict[str, list[ClaimedProbe]] = {}
    for claimed in read_labels(Path(labels), chosen.keys(), notice=notice) if labels else ():
        claims.setdefault(claimed.probe.problem_id, []).append(claimed)
    settings = sha256_json([_LINES, options, loaded.dataset_sha256, sorted(companions), claims])
    journal = _beside(place, JOURNAL_ENDING)
    journal.parent.mkdir(parents=True, exist_ok=True)
    lines = {line.problem_id: line for line in read_journal(journal, HardenedProblem, notice=notice)}
    if any(line.settings_sha256 != settings for line in lines.values()):
        raise UserError(f"{journal}: belongs to other settings or data; remove it, or choose another `out`")
    deadline = None if budget_s is None else time.monotonic() + budget_s
    missing = [problem for problem in chosen.values() if problem.id not in lines]
    watch = progress or Silent()
    watch.start("harden", total=len(chosen), done=len(chosen) - len(missing))

    def begin(sandbox: Sandbox) -> Callable[[Problem], HardenedProblem]:
        def harden(each: Problem) -> HardenedProblem:
            with kind_at_fault(each):
                return harden_problem(each, companions.get(each.id), options, sandbox, claims.get(each.id, ()))

        return harden

    try:
        made = in_sandbox(
            missing, begin, chosen.values(), workers=workers or os.cpu_count() or 1,
            allow_unsafe=unsafe_allowed(allow_unsafe),
            late=lambda: deadline is not None and time.monotonic() > deadline,
        )  # fmt: skip
        with closing(made), Journal[HardenedProblem](journal, notice=notice, fsync_every=1) as kept:
            for line in made:
                lines[line.problem_id] = msgspec.structs.replace(line, settings_sha256=settings)
                kept.append(lines[line.problem_id])
                watch.advance()
    finally:
        watch.finish()
    ordered = tuple(lines[name] for name in chosen if name in lines)
    if len(ordered) < len(chosen):
        return Hardened(benchmark=loaded.name, files=(), lines=ordered, left=len(chosen) - len(ordered))
    about = {
        "benchmark": loaded.name,
        "licence": find_benchmark(benchmark).licence,
        "source": {"benchmark": loaded.name, "sha256": loaded.dataset_sha256},
        "options": options,
    }
    exported = tuple(exported_files(place, ordered))
    files = write_hardened(place, about, ordered, exported)
    return Hardened(benchmark=loaded.name, files=files, lines=ordered, exported=exported)
