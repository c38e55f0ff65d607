"""An assay from beginning to end: probes are made and labelled, sent to every grader, and the verdicts counted.

Each stage writes a journal (`truegrade.apps.assay.folder`), so that a kill loses at most the problem or the probe
in flight, and the same call goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import msgspec

from truegrade.apps.assay.acceptance import Acceptance, GraderVerdicts, settle
from truegrade.apps.assay.batches import BatchSaid, plan_batches, said_of_batch
from truegrade.apps.assay.building import ProblemBuilder
from truegrade.apps.assay.cheats import CHEATS
from truegrade.apps.assay.folder import (
    BATCHES,
    OWN,
    PROBES,
    PROBLEMS,
    SUMMARY,
    AssayFolder,
    AssayManifest,
    BuiltProblem,
)
from truegrade.apps.assay.measures import AssaySummary
from truegrade.apps.assay.measuring import measure
from truegrade.apps.assay.own_tests import by_own_tests
from truegrade.apps.assay.paying import UnearnedPrograms
from truegrade.apps.assay.probes.labelled import ClaimedProbe
from truegrade.apps.assay.records import DANGERS, Danger, Dispatch, Probe, Said
from truegrade.apps.assay.reporting import words
from truegrade.apps.assay.sending import send, wanted
from truegrade.apps.assay.targets import BatchTarget, Target
from truegrade.apps.assay.targets.opening import ProfileTarget
from truegrade.apps.assay.turns import plan_turns
from truegrade.errors import UserError
from truegrade.files.threads import in_order
from truegrade.files.writing import require_writable, writing
from truegrade.kinds import kind_at_fault
from truegrade.pipeline.verdicts import Progress
from truegrade.profiles import find_profile
from truegrade.records import Problem
from truegrade.sandbox import Limits, Sandbox
from truegrade.settings import Silent
from truegrade.store.journal import Notice, ignore

Piece = TypeVar("Piece")
Result = TypeVar("Result")

LABEL_LIMITS = Limits(cpu_s=10.0, output_bytes=64 * 2**20)
"""Of the programs that are labelled; seconds decide no label (`truegrade.apps.assay.labelling`)."""
WITHOUT_ORACLE = frozenset({"cheats", "must-fail"})
"""Classes of probes that are wrong by construction."""
OWN_TESTS = "strict"
"""The profile that judges by the problems' own tests."""
ASSUMPTIONS: tuple[str, ...] = tuple(
    " ".join(each.split())
    for each in (
        """A mutant, stub or labelled program counts as wrong only with a witness: an input on which every
        reference agrees and the program does something else. What has none is undecided, and the interval covers
        both possibilities.""",
        """Mutants are not a model's errors: the share of mutants accepted says how weak the tests are, not what
        share of a model's wrong answers they accept.""",
        """Cheats are counted apart, by channel: a policy that is trained against a grader finds the open channel,
        whatever the average over channels is.""",
        """A mutant that takes over 100,000 steps, and over fifty times those of the reference, on an input of the
        problem's own tests is taken not to end; profiles of ours stop it after 1 CPU second, and not at their
        own limit.""",
        """Out of scope: graders that ask a language model for the verdict, instructions to such a model in a
        program (prompt injection), side channels by time, and attacks on the machine around a grader.""",
        "Flipped verdicts are taken to be as likely for a cheat as for the honest controls, and independent.",
        "The problems are taken for a sample of problems like them; intervals are clustered by problem.",
    )
)


def label_limits(problems: Iterable[Problem]) -> Limits:
    """What programs may use while labels are proven: `LABEL_LIMITS`, and the packages that the problems name."""
    names = {name for problem in problems for name in problem.packages} - {*LABEL_LIMITS.packages}
    return replace(LABEL_LIMITS, packages=(*LABEL_LIMITS.packages, *sorted(names)))


def in_sandbox(
    pieces: Sequence[Piece],
    begin: Callable[[Sandbox], Callable[[Piece], Result]],
    problems: Iterable[Problem],
    *,
    workers: int,
    allow_unsafe: bool,
    late: Callable[[], bool] = lambda: False,
) -> Generator[Result, None, None]:
    """Work on pieces in threads and one sandbox, and give the results in order; without pieces none is opened.

    What ``begin`` gives works on a piece, and is safe to call from several threads; programs may use the packages
    of ``problems``; once ``late`` is true no further piece is begun.
    """
    if pieces:
        with Sandbox(label_limits(problems), workers=workers, allow_unsafe=allow_unsafe) as sandbox:
            work = begin(sandbox)
            with closing(in_order(pieces, work, workers=workers, stop=sandbox.close, late=late)) as results:
                yield from results


class AssayRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be measured, opened and checked."""

    folder: AssayFolder
    manifest: AssayManifest
    problems: Mapping[str, Problem]
    """Those selected, by id, in the benchmark's order."""
    companions: Mapping[str, Problem]
    """Problems of the extended benchmark, by the id of the problem that they extend."""
    claims: Mapping[str, Sequence[ClaimedProbe]]
    """Labelled programs and replies, by problem id."""
    targets: Sequence[Target]
    workers: int
    allow_unsafe: bool
    confidence: float = 0.95


LABEL_CPU_S = 4.0
"""Of one problem, about: its probes are made and labelled."""
PROGRAM_CPU_S = 0.15
"""Of one program, about, with a grader that starts a process for it."""
EACH = MappingProxyType({"right": 19, "outputs": 20, "stubs": 8, "must-fail": 5, "forms": 1})
"""Programs of a class for one problem, about; mutants and cheats are as many as the battery says."""


def plan(request: AssayRequest, of: int) -> str:
    """How many programs new problems bring, about, how long that takes, and how to go on; empty without a new one.

    ``of`` is the number of problems of the benchmark.
    """
    battery, chosen = request.manifest.battery, len(request.problems)
    new = len(request.problems.keys() - request.folder.built().keys())
    if not new:
        return ""
    mutants = battery.per_problem if "mutants" in battery.classes else 0
    cheats = max(len(CHEATS), battery.cheats_per_problem * new) if "cheats" in battery.classes else 0
    each = mutants + sum(EACH.get(name, 0) for name in battery.classes)
    programs = new * each + 4 * cheats  # each cheat once at least, with twins and controls
    graders = [target.name for target in request.targets]
    own = [target.name for target in request.targets if target.limit_s is None]
    minutes = round((new * LABEL_CPU_S + programs * len(own) * PROGRAM_CPU_S) / request.workers / 60)
    long = f"about {minutes} min" if minutes else "less than a minute"
    takes = f"{long} if one takes {PROGRAM_CPU_S:g} s" if own else f"{long} to label them"
    if len(own) < len(graders):
        takes += f"{f' with {own[0]}' if own else ''}; then the time of foreign graders is measured and told"
    more = f"; the same command with `limit` {of} goes on in the same folder" if chosen < of else ""
    return (
        f"{new} new of {chosen} problems ({of} in {request.manifest.benchmark.name}): about {programs} programs to"
        f" {' and '.join(graders)}, {takes}{more}"
    )


def run_assay(
    request: AssayRequest, progress: Progress, notice: Notice = ignore
) -> tuple[AssaySummary, dict[str, str]]:
    """Build what is not built, send what was not sent, and count; the folder is locked by the caller.

    Returns:
        What is concluded, and the graders that could not be measured, with the reason.

    Raises:
        UserError: no grader can be used at all.
        SandboxError: programs would have to run at level 1, and that is not allowed.
    """
    request.folder.begin(request.manifest)
    _build(request, progress)
    _refuse_unproven(request)
    probes = list(request.folder.probes())
    unusable: dict[str, str] = {}
    for target in request.targets:
        try:
            goes_on = send(
                target, probes, request.problems, request.folder, request.manifest, progress, notice,
                partial(tell_so_far, request, notice, target.name),
            )  # fmt: skip
            if goes_on and isinstance(target, BatchTarget):
                _send_batches(target, target.name, probes, request, progress)
        except UserError as error:  # the others are measured all the same
            unusable[target.name] = str(error)
    if unusable and len(unusable) == len(request.targets):
        raise UserError("; ".join(unusable.values()))
    _judge_by_own_tests(request, probes, progress)
    return count(request.folder, request.problems, request.confidence), unusable


def _send_batches(
    target: BatchTarget, name: str, probes: Sequence[Probe], request: AssayRequest, progress: Progress
) -> None:
    """Send a grader replies in batches, a conversation at a time; one that is all written is not held again."""
    folder, manifest = request.folder, request.manifest
    verdicts = settle(folder.said()).get(name, GraderVerdicts())
    acceptance = Acceptance(probes, verdicts, manifest.pass_at)
    talks = plan_batches(probes, request.problems, acceptance, manifest.battery.seed)
    if talks and target.takes_messages:
        talks.append(plan_turns(probes, request.problems, acceptance))
    rows = folder.said_of_batches()[name]
    told = {(row.talk, row.place): row.items for row in rows}
    number = sum(map(len, talks))
    progress.start(
        f"grade in {'batches' if target.takes_batches else 'other orders'} as {name}", total=number, done=0
    )
    try:
        with folder.append(BATCHES, BatchSaid) as journal:
            for talk, batches in enumerate(talks):
                made = [tuple(reply.item for reply in batch) for batch in batches]
                if all(told.get((talk, place)) == items for place, items in enumerate(made)):
                    continue
                sent = [[reply.sent for reply in batch] for batch in batches]
                with closing(target.grade_batches(sent)) as answers:  # type: ignore[type-var]
                    for place, items in enumerate(made):
                        answer, at_once = next(answers, None), target.takes_batches
                        journal.append(said_of_batch(name, talk, place, items, answer, at_once=at_once))
                        progress.advance()
                journal.sync()
    finally:
        progress.finish()


LONG_S = 10.0
"""Seconds for which nobody waits without an answer."""


def tell_so_far(request: AssayRequest, notice: Notice, grader: str = "", left_s: float = LONG_S) -> None:
    """Say what is known of a grader, or of all, where what is left takes long; no file of the folder holds it."""
    if left_s < LONG_S:
        return
    probes, said = list(request.folder.probes()), list(request.folder.said())
    if not any(each.passed is not None and grader in ("", each.grader) for each in said):
        return
    _judge_by_own_tests(request, probes, Silent())
    measures, _ = measure(
        probes, said, request.problems, confidence=request.confidence, pass_at=request.manifest.pass_at,
        graders=request.manifest.graders, own=request.folder.own_verdicts(),
        one_at_a_time=request.manifest.one_at_a_time,
    )  # fmt: skip
    for one in measures:
        if grader in ("", one.grader) and one.probes:
            answer = f"{words.QUESTION}: {words.answer(one)}"
            notice(f"{one.grader}, so far ({one.probes} of {len(probes)} programs): {answer}")


def _judge_by_own_tests(request: AssayRequest, probes: Sequence[Probe], progress: Progress) -> None:
    """Have the problems' own tests judge, under ``strict``, accepted programs that may solve nothing."""
    settled = settle(request.folder.said())
    with (
        closing(
            ProfileTarget(find_profile(OWN_TESTS), workers=request.workers, allow_unsafe=request.allow_unsafe)
        ) as strict,
        request.folder.append(OWN, Said) as journal,
    ):
        for verdicts in settled.values():
            acceptance = Acceptance(probes, verdicts, request.manifest.pass_at)
            own = request.folder.own_verdicts()
            for _ in range(2):  # other wrong programs are looked at if none that solves nothing was paid
                left = [
                    Dispatch(probe=probe, problem=by_own_tests(request.problems[probe.problem_id]))
                    for probe in UnearnedPrograms(probes, acceptance, own).unjudged()
                    if probe.problem_id in request.problems
                ]
                if not left:
                    break
                progress.start(f"judge by {OWN_TESTS}", total=len(left), done=0)
                for said in strict.grade(left):
                    journal.append(said)
                    if said.passed is not None:
                        own[said.probe] = said.passed
                    progress.advance()
                progress.finish()
                journal.sync()


PROGRAMS, INDEX = "probes", "battery.jsonl"
DOES: dict[Danger, str] = {
    "h0": "returns values, prints, raises: harmless anywhere",
    "h1": "touches the interpreter that it runs in, and may end it",
    "h2": "writes files in its working folder",
}


def dry(targets: Sequence[Target], dispatches: Sequence[Dispatch], folder: Path) -> Path:
    """Write every probe as a file, and a line about each: what it would do, and which grader would get it.

    Returns:
        The path of ``battery.jsonl`` in the folder, beside which stand ``probes/ID.py`` (``.txt`` for replies).

    Raises:
        UserError: it cannot be written.
    """
    require_writable(folder)
    lines = []
    for dispatch in dispatches:
        probe = dispatch.probe
        path = folder / PROGRAMS / f"{probe.id}.{'py' if probe.form == 'program' else 'txt'}"
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(probe.code, encoding="utf-8", errors="surrogatepass")
        sent = {one.name: DANGERS.index(probe.danger) <= DANGERS.index(one.danger) for one in targets}
        about = {
            "file": path.relative_to(folder).as_posix(),
            "problem": dispatch.problem.id,
            "class": probe.kind,
            "origin": probe.origin,
            "channel": probe.channel,
            "label": probe.label,
            "danger": probe.danger,
            "does": DOES[probe.danger],
            "change": probe.change,
            "after": probe.after,
            "sent_to": [name for name, goes in sent.items() if goes],
            "not_sent_to": [name for name, goes in sent.items() if not goes],
        }
        lines.append(msgspec.json.encode(about) + b"\n")
    with writing(folder / INDEX):
        (folder / INDEX).write_bytes(b"".join(lines))
    return folder / INDEX


def write_battery(request: AssayRequest, folder: Path, progress: Progress) -> Path:
    """Make and label the probes, and list what each does and which graders would get it; nothing is sent."""
    request.folder.begin(request.manifest)
    _build(request, progress)
    probes, sent = list(request.folder.probes()), dict[str, Dispatch]()
    for target in request.targets:
        sent |= {each.probe.id: each for each in wanted(target, probes, request.problems)}
    return dry(request.targets, list(sent.values()), folder)


def _build(request: AssayRequest, progress: Progress) -> None:
    """Make the probes of every problem that has none, several problems at once, written in their order."""
    built = request.folder.built()
    missing = [
        (place, problem) for place, problem in enumerate(request.problems.values()) if problem.id not in built
    ]

    def begin(sandbox: Sandbox) -> Callable[[tuple[int, Problem]], tuple[BuiltProblem, list[Probe]]]:
        battery, number = request.manifest.battery, len(request.problems)
        builder = ProblemBuilder(battery, request.companions, request.claims, number, sandbox)

        def build(each: tuple[int, Problem]) -> tuple[BuiltProblem, list[Probe]]:
            with kind_at_fault(each[1]):
                return builder.build(each[1], each[0])

        return build

    progress.start("label probes", total=len(request.problems), done=len(request.problems) - len(missing))
    try:
        if not missing:
            return
        made = in_sandbox(
            missing, begin, request.problems.values(), workers=request.workers, allow_unsafe=request.allow_unsafe
        )
        with (
            closing(made),
            request.folder.append(PROBLEMS, BuiltProblem, fsync_every=1) as problems,
            request.folder.append(PROBES, Probe) as journal,
        ):
            for line, probes in made:
                for probe in probes:
                    journal.append(probe)
                journal.sync()  # the line below says that all of them are on the disk
                problems.append(line)
                progress.advance()
    finally:
        progress.finish()


def _refuse_unproven(request: AssayRequest) -> None:
    """Refuse to send anything where right and wrong programs were asked for and not one label can be proven.

    Raises:
        UserError: says why, and what can be measured instead.
    """
    built = request.folder.built()
    reasons = [built[name].no_oracle for name in request.problems if name in built]
    if all(reasons) and reasons and not set(request.manifest.battery.classes) <= WITHOUT_ORACLE:
        raise UserError(
            f"{request.manifest.benchmark.name}: no label can be proven for any of its problems: {reasons[0]};"
            f" name a benchmark of functions, or `classes` {','.join(sorted(WITHOUT_ORACLE))}"
        )


def count(folder: AssayFolder, problems: Mapping[str, Problem], confidence: float = 0.95) -> AssaySummary:
    """Count what was said; write ``findings.jsonl`` and ``summary.json``. Equal journals give equal bytes.

    The problems, by id, are asked for their clusters.
    """
    manifest = folder.manifest()
    probes = list(folder.probes())
    measures, findings = measure(
        probes, folder.said(), problems, confidence=confidence, pass_at=manifest.pass_at, graders=manifest.graders,
        own=folder.own_verdicts(), one_at_a_time=manifest.one_at_a_time, batches=folder.said_of_batches(),
    )  # fmt: skip
    lines = folder.built()
    built = [lines[name] for name in problems if name in lines]
    found = [*(each for line in built for each in line.findings), *findings]
    summary = AssaySummary(
        confidence=confidence,
        measures=measures,
        battery=dict(sorted(Counter(probe.kind for probe in probes).items())),
        witnesses=dict(sorted(Counter(each.witness.source for each in probes if each.witness).items())),
        equivalent=sum(line.equivalent for line in built),
        findings=dict(sorted(Counter(each.code for each in found).items())),
        assumptions=ASSUMPTIONS,
    )
    folder.write_findings(found)
    folder.write(SUMMARY, summary)
    return summary
