"""pass@1 of stored runs, corrected by an audit of their own passes.

How often a grader accepts wrong programs depends on the model that wrote them, so that no other programs tell it.
A simple random sample of the run's passes, drawn by a seed that is recorded, is judged again by stronger tests;
`truegrade.statistics.error_rates` says what pass@1 then is.
"""

from __future__ import annotations

import os
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import msgspec

from truegrade.analysis.comparison import graded
from truegrade.analysis.standings import tallies_of
from truegrade.api import unsafe_allowed
from truegrade.apps.assay.building import reference_of
from truegrade.apps.assay.input_domain import find_companions
from truegrade.apps.assay.labelling import OracleLabeller
from truegrade.apps.assay.measures import MeasuredValue
from truegrade.apps.assay.oracle import ProblemOracle, build_oracle
from truegrade.apps.assay.probes.labelled import program_of
from truegrade.apps.assay.running import in_sandbox
from truegrade.benchmarks import load_benchmark
from truegrade.errors import UserError
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement
from truegrade.kinds import kind_of
from truegrade.pipeline.loading import load_for
from truegrade.pipeline.verdicts import Progress, answer_of, counted_by_sample, verdict_table
from truegrade.profiles import open_profile, open_stored
from truegrade.records import Answer, Problem, Reason, SampleKey, sha256_json
from truegrade.report import format as fmt
from truegrade.report.progress_lines import download_progress
from truegrade.sandbox import Sandbox
from truegrade.settings import Silent
from truegrade.statistics import TaskTally, estimate
from truegrade.statistics.error_rates import (
    USUAL_RIGHT,
    AuditedRate,
    AuditedTask,
    audited_rate,
    audits_needed,
    expected_width,
)
from truegrade.store import Run
from truegrade.store.journal import Journal, Notice, alone_in, ignore, read_journal


class AuditedSample(msgspec.Struct, frozen=True, kw_only=True):
    """A line of ``audit.PROFILE.jsonl``, beside the verdicts: what stronger tests say of one sample.

    They are those of the extended benchmark and of a hardened file, and the oracle's with generated inputs.
    """

    problem_id: str
    sample: int
    completion_sha256: str
    seed: int
    """Of the draw that it was judged for."""
    settings_sha256: str
    """Of the data and options that decide the verdict."""
    right: bool | None
    """None where the audit gives no verdict."""
    why: str = ""
    """The call that shows that it is wrong, or why there is no verdict."""


class StrongerTests(msgspec.Struct, frozen=True, kw_only=True):
    """What samples of a run are judged by."""

    problems: Mapping[str, Problem]
    companions: Mapping[str, Problem]
    """Of the extended benchmark, by the id of the problem that they extend."""
    hardened: Mapping[str, Problem]
    """The same problems with further tests."""
    inputs: int
    """Generated for each problem."""
    sha256: str
    """Of all of it."""


@dataclass(frozen=True, kw_only=True)
class SampleAudit:
    """Judges samples of runs by stronger tests."""

    inputs: int
    """Generated for each problem."""
    hardened: str | Path | None
    """A file with further tests for the problems."""
    data: str | Path | None
    """The benchmark's file, or a folder that holds it."""
    seed: int
    """Of the draw, to be written down."""
    workers: int
    """Problems at once."""
    allow_unsafe: bool
    progress: Progress
    notice: Notice

    def tests(self, run: Run) -> StrongerTests:
        """The tests by which a run is audited.

        Raises:
            UserError: the data are not at hand, or there is no test that the benchmark does not have itself.
        """
        place = None if self.data is None else Path(self.data)
        loaded = load_for(run, None, place, self.notice, download_progress)
        problems = loaded.by_id()
        companions = find_companions(loaded.name, problems.values(), place, self.notice)
        further = {} if self.hardened is None else load_benchmark(str(self.hardened)).by_id()
        if not (companions or self.inputs or further.keys() & problems.keys()):
            raise UserError(
                f"{loaded.name}: an audit by its own tests finds nothing, and there are no others: it has no"
                " extended benchmark here, `inputs` is 0, and no `hardened` file holds its problems"
            )
        shas = [sorted({one.dataset_sha256 for one in each.values()}) for each in (problems, companions, further)]
        return StrongerTests(
            problems=problems, companions=companions, hardened=further, inputs=self.inputs,
            sha256=sha256_json([shas, self.inputs]),
        )  # fmt: skip

    def judge(self, run: Run, profile: str, drawn: Mapping[SampleKey, str]) -> dict[SampleKey, AuditedSample]:
        """What stronger tests say of samples, each drawn with the hash of its completion.

        Those that were judged before are read from the journal. ``profile`` is the id of the one that cut the
        programs out.

        Raises:
            UserError: there are no such tests, or another process audits this run.
        """
        tests = self.tests(run)
        path = run.outputs / f"audit.{profile.replace('/', '_')}.jsonl"
        with alone_in(run.outputs, "audit.lock", "auditing"):
            found = {
                key: line
                for line in (read_journal(path, AuditedSample, notice=self.notice) if path.exists() else ())
                if drawn.get(key := SampleKey(line.problem_id, line.sample)) == line.completion_sha256
                and line.settings_sha256 == tests.sha256
            }
            self.progress.start("audit", total=len(drawn), done=len(found))
            missing = _programs(run, profile, {key: sha for key, sha in drawn.items() if key not in found}, tests)
            try:
                with Journal[AuditedSample](path, notice=self.notice, fsync_every=1) as kept:
                    for key, right, why in self._judgements(missing, tests):
                        found[key] = AuditedSample(
                            problem_id=key.problem_id, sample=key.sample, completion_sha256=drawn[key],
                            seed=self.seed, settings_sha256=tests.sha256, right=right, why=why,
                        )  # fmt: skip
                        kept.append(found[key])
                        self.progress.advance()
            finally:
                self.progress.finish()
        return found

    def _judgements(self, missing: _Programs, tests: StrongerTests) -> Iterator[_Judged]:
        """Whether each program is right, problem by problem."""

        def begin(sandbox: Sandbox) -> Callable[[str], list[_Judged]]:
            def judged(name: str) -> list[_Judged]:
                judge = _Judge(name, tests, sandbox)
                return [(key, *judge.verdict(program)) for key, program in missing[name]]

            return judged

        problems = [tests.problems[name] for name in missing]
        with closing(
            in_sandbox([*missing], begin, problems, workers=self.workers, allow_unsafe=self.allow_unsafe)
        ) as parts:
            yield from chain.from_iterable(parts)


_Judged = tuple[SampleKey, bool | None, str]
_Programs = Mapping[str, Sequence[tuple[SampleKey, str | None]]]
"""Problem to the programs of its samples; None where an answer holds none."""


def _programs(run: Run, profile: str, wanted: Mapping[SampleKey, str], tests: StrongerTests) -> _Programs:
    """The whole programs of samples."""
    rules = open_stored(profile, run.manifest.origin(profile), run.path)
    programs: dict[SampleKey, str | None] = dict.fromkeys(wanted)
    for completion in run.completions() if wanted else ():
        if wanted.get(completion.key) == completion.sha256:
            problem = tests.problems[completion.problem_id]
            programs[completion.key] = program_of(problem, answer_of(completion, problem, rules))
    found: dict[str, list[tuple[SampleKey, str | None]]] = defaultdict(list)
    for key, program in programs.items():
        found[key.problem_id].append((key, program))
    return found


class _Judge:
    """The stronger tests of one problem."""

    def __init__(self, name: str, tests: StrongerTests, executor: Executor) -> None:
        problem, companion = tests.problems[name], tests.companions.get(name)
        self._executor, self._strict = executor, open_profile("strict")
        self._suites = {}
        if companion is not None and self._asks_the_same(problem, companion):
            self._suites["extended benchmark"] = companion
        if name in tests.hardened:
            self._suites["hardened tests"] = tests.hardened[name]
        oracle: ProblemOracle | str = "no input is generated"
        if tests.inputs or not self._suites:
            oracle = build_oracle(problem, companion, executor, generated=tests.inputs)
        self._no_oracle = oracle if isinstance(oracle, str) else ""
        self._labeller = None if isinstance(oracle, str) else OracleLabeller(oracle, executor)

    def _asks_the_same(self, problem: Problem, companion: Problem) -> bool:
        """Whether the extended benchmark's right program is one of the problem: MBPP+ changed some statements."""
        names = {kind_of(one.task).entry_point(one.task) for one in (problem, companion)}
        return len(names) == 1 and self._judged(problem, reference_of(companion)).passed

    def _judged(self, problem: Problem, program: str) -> Judgement:
        return self._strict.judgement(
            problem, Answer(value=program, found="audit", form="program"), self._executor
        )

    def verdict(self, program: str | None) -> tuple[bool | None, str]:
        """Whether a program is right, and what shows it; None where the tests do not say."""
        if program is None:
            return None, "its answer holds no program"
        for name, problem in self._suites.items():
            judgement = self._judged(problem, program)
            if judgement.reason is Reason.GRADER_ERROR:
                return None, f"{name}: {judgement.detail}"
            if not judgement.passed:
                return False, f"{name}: {judgement.detail}"
        if self._labeller is None:
            return (True, "") if self._suites else (None, f"no oracle: {self._no_oracle}")
        found = self._labeller.label(program)
        if found.witness is not None:
            return False, f"{found.witness.call} gives {found.witness.got}, expected {found.witness.expected}"
        return (True, "") if found.agrees else (None, found.reason)


_STEPS = (0.1, 0.25, 0.5, 1.0)
"""Shares of the passes for which a plan gives the width to expect."""
_SHOWN = 5


class AuditCount(msgspec.Struct, frozen=True, kw_only=True):
    """An audit of the passes of a run, or of its failures."""

    samples: int
    """With this verdict of the grader."""
    drawn: int
    right: int
    no_verdict: int
    """Drawn, and in no rate."""


class CorrectedPass(msgspec.Struct, frozen=True, kw_only=True):
    """pass@1 of one run as it would be under tests that no wrong program passes."""

    run: str
    profile: str
    confidence: float
    problems: int
    raw: MeasuredValue
    seed: int
    """By which samples are drawn."""
    wanted: int
    """Passes to audit."""
    plan: tuple[tuple[int, float], ...]
    """Passes audited, and the width of the interval to expect then."""
    passes: AuditCount | None = None
    """None where nothing was audited."""
    failures: AuditCount | None = None
    """None where all of them count as wrong."""
    rate: AuditedRate | None = None
    """None where no pass has a verdict of the audit."""
    without_verdict: tuple[float, float] | None = None
    """The rate if all drawn passes without a verdict are wrong, and if all are right; None without such passes."""
    samples: tuple[AuditedSample, ...] = ()
    """What the audit said."""


class CorrectedRuns(msgspec.Struct, frozen=True, kw_only=True):
    """What ``truegrade assay verdicts`` says."""

    runs: tuple[CorrectedPass, ...]


def corrected_runs(
    runs: Sequence[str | Path],
    *,
    corrected: bool = True,
    audit: int | None = None,
    width: float | None = None,
    failures: int = 0,
    inputs: int = 200,
    hardened: str | Path | None = None,
    seed: int = 0,
    profile: str | None = None,
    data: str | Path | None = None,
    confidence: float = 0.95,
    workers: int | None = None,
    allow_unsafe: bool | None = None,
    progress: Progress | None = None,
    notice: Notice = ignore,
) -> CorrectedRuns:
    """Correct pass@1 of graded runs by an audit of a random sample of their passes.

    The same call goes on where an earlier one stopped, and a larger audit keeps what a smaller one found.

    Args:
        runs: folders of runs.
        corrected: audit them; else they are only planned for.
        audit: passes to draw; None for as many as ``width`` needs.
        width: wanted width of the interval, as a fraction; None for 1.1 times that with every pass audited.
        failures: failures to draw as well; with 0 every failure counts as wrong.
        inputs: generated for each problem, beside the tests of its extended benchmark.
        hardened: a file with further tests for the problems, as `harden` writes it.
        seed: decides which samples are drawn.
        profile: under which the runs are graded, by name or id; None if they have only one.
        workers: problems at once; None for one a core.
        data, confidence, allow_unsafe, progress: as `truegrade.apps.assay.assay` has them.
        notice: told the plan before anything is run, and what else a person should know.

    Raises:
        UserError: no run, a run that is not graded, or tests that are no stronger than the run's own.
    """
    if not runs:
        raise UserError("no run is named; give the folder of a graded run")
    judge = SampleAudit(inputs=inputs, hardened=hardened, data=data, seed=seed, notice=notice,
                        workers=workers or os.cpu_count() or 1, allow_unsafe=unsafe_allowed(allow_unsafe),
                        progress=progress or Silent())  # fmt: skip
    drawn = (_Drawn(Run.open(Path(each), notice=notice), profile, seed, confidence) for each in runs)
    made = (each.corrected(audit, width, failures, judge if corrected else None) for each in drawn)
    return CorrectedRuns(runs=tuple(made))


class _Drawn:
    """One run, and the random order of its samples."""

    def __init__(self, run: Run, profile: str | None, seed: int, confidence: float) -> None:
        self.run, self._seed, self._confidence = run, seed, confidence
        summary = graded(run, profile).summary
        self.profile = summary.profile
        self.tallies: list[TaskTally] = [tally for tally in tallies_of(summary) if tally.n]
        counted = {tally.task_id for tally in self.tallies}
        facts = run.verdict_facts(self.profile)
        self._outcomes = verdict_table(facts, counted, run.manifest.samples_per_task)

    def keys(self, most: int, *, passed: bool) -> dict[SampleKey, str]:
        """The first of all passes, or of all failures, in a random order: a larger draw holds the smaller one."""
        keys = [
            SampleKey(task, sample)
            for task in sorted(self._outcomes)
            for sample, outcome in counted_by_sample(self._outcomes[task])
            if outcome.passed is passed
        ]
        random.Random(f"{self._seed} {passed}").shuffle(keys)
        chosen = dict.fromkeys(keys[:most], "")
        facts = self.run.verdict_facts(self.profile)
        return chosen | {fact.key: fact.completion_sha256 for fact in facts if fact.key in chosen}

    def planned(self, audit: int | None, width: float | None) -> CorrectedPass:
        """What an audit of so many passes, or for an interval of so much, should give."""
        size = sum(tally.c for tally in self.tallies)
        needed = audits_needed(self.tallies, width, confidence=self._confidence) if audit is None else audit
        wanted = min(needed, size)
        steps = sorted({wanted, *(round(share * size) for share in _STEPS)} - {0})
        raw = estimate("pass@1", self.tallies, self._confidence)
        return CorrectedPass(
            run=str(self.run.given),
            profile=self.profile,
            confidence=self._confidence,
            problems=len(self.tallies),
            raw=MeasuredValue.of(raw),
            seed=self._seed,
            wanted=wanted,
            plan=tuple((step, expected_width(self.tallies, step, confidence=self._confidence)) for step in steps),
        )

    def corrected(
        self, audit: int | None, width: float | None, failures_wanted: int, judge: SampleAudit | None
    ) -> CorrectedPass:
        """What an audit says, whose plan is told before anything is run; the plan alone where nothing judges."""
        plan = self.planned(audit, width)
        if judge is None:
            return plan
        judge.notice(planned_sentence(plan))
        wanted = {True: plan.wanted, False: failures_wanted}
        drawn = {passed: self.keys(most, passed=passed) for passed, most in wanted.items()}
        samples = judge.judge(self.run, self.profile, drawn[True] | drawn[False])
        parts = {passed: [line for key, line in samples.items() if key in keys] for passed, keys in drawn.items()}
        passes, failures = (self._count(parts[passed], passed=passed) for passed in (True, False))
        rows = self._rows(parts[True], parts[False])
        without = None
        if passes.no_verdict:
            either = ([msgspec.structs.replace(line, right=line.right or (line.right is None and right))
                       for line in parts[True]] for right in (False, True))  # fmt: skip
            low, high = (audited_rate(self._rows(each, parts[False])).value for each in either)
            without = low, high
        known = passes.drawn > passes.no_verdict or not passes.samples
        return msgspec.structs.replace(
            plan,
            passes=passes,
            failures=failures if failures.drawn else None,
            rate=audited_rate(rows, self._confidence) if known else None,
            without_verdict=without,
            samples=tuple(samples.values()),
        )

    def _count(self, lines: Sequence[AuditedSample], *, passed: bool) -> AuditCount:
        return AuditCount(
            samples=sum(tally.c if passed else tally.n - tally.c for tally in self.tallies),
            drawn=len(lines),
            right=sum(line.right is True for line in lines),
            no_verdict=sum(line.right is None for line in lines),
        )

    def _rows(self, passes: Sequence[AuditedSample], failures: Sequence[AuditedSample]) -> list[AuditedTask]:
        """What the estimate takes, problem by problem; samples without a verdict are not audited."""
        both = passes, failures
        audited = [Counter(line.problem_id for line in lines if line.right is not None) for lines in both]
        right = [Counter(line.problem_id for line in lines if line.right) for lines in both]
        return [
            AuditedTask(
                task_id=tally.task_id,
                cluster=tally.cluster,
                n=tally.n,
                c=tally.c,
                audited=audited[0][tally.task_id],
                right=right[0][tally.task_id],
                failures_audited=audited[1][tally.task_id],
                failures_right=right[1][tally.task_id],
            )
            for tally in self.tallies
        ]


def planned_sentence(run: CorrectedPass) -> str:
    """How many passes are audited, and how wide the interval should be."""
    steps = ", ".join(f"{count} give {100 * width:.1f}" for count, width in run.plan)
    return (
        f"{run.run}: {run.wanted} of {run.plan[-1][0] if run.plan else 0} passes are to be audited, drawn by seed"
        f" {run.seed}; width of the {100 * run.confidence:g} % interval to expect, in points, if"
        f" {100 * USUAL_RIGHT:g} % of the passes are right: {steps or 'there is no pass'}"
    )


def corrected_lines(found: CorrectedRuns) -> Iterator[str]:
    """The result for a terminal, line by line."""
    for run in found.runs:
        yield f"{run.run}, graded by {run.profile}: {run.problems} problems"
        yield f"  raw pass@1   {_rate(run.raw.value, run.raw.low, run.raw.high)}"
        if run.passes is None:
            yield f"  {planned_sentence(run)}"
        else:
            yield from _audit_lines(run, run.passes)


def _audit_lines(run: CorrectedPass, passes: AuditCount) -> Iterator[str]:
    judged = passes.drawn - passes.no_verdict
    yield (
        f"  audited      {passes.drawn} of {passes.samples} passes, drawn by seed {run.seed}: {passes.right} of"
        f" {judged} are right; no verdict on {passes.no_verdict}"
    )
    if run.rate is None:
        yield "  not corrected: the audit gave no verdict on any pass"
    else:
        rate = run.rate
        yield f"  corrected    {_rate(rate.value, rate.low, rate.high)}"
        sampling = rate.sampling or (None, None)
        yield f"    of which problems and samples alone {_rate(rate.value, *sampling)}"
        yield f"    passes that are right, of this run {_rate(rate.right_of_passes, *rate.right_of_passes_bounds)}"
    if run.without_verdict is not None:
        low, high = run.without_verdict
        yield f"  passes without a verdict: {100 * low:.1f} % if they are wrong, {100 * high:.1f} % if right"
    if run.failures is None:
        yield "  every failure counts as wrong; `failures` has some of them audited as well"
    else:
        failed = run.failures
        yield (
            f"  audited      {failed.drawn} of {failed.samples} failures: {failed.right} are right; no verdict on"
            f" {failed.no_verdict}"
        )
    yield "  a program counts as right if it passes all tests of the audit"
    wrong = [line for line in run.samples if line.right is False and line.why]
    for line in wrong[:_SHOWN]:
        yield f"  {line.problem_id}, sample {line.sample}: {line.why}"
    reasons = Counter(line.why for line in run.samples if line.right is None)
    for reason, count in reasons.most_common(_SHOWN):
        yield f"  no verdict on {count}: {reason}"


def _rate(value: float | None, low: float | None, high: float | None) -> str:
    """``61.2 % [55.0, 67.1]``."""
    if value is None:
        return "none"
    interval = "" if low is None or high is None else f" {fmt.bounds(low, high)}"
    return f"{fmt.percent(value)}{interval}"
