"""Judging samples of a run again, by tests that are stronger than those it was graded by.

They are those of the extended benchmark, hardened tests where a file of them is given, and the assay's oracle with
generated inputs. What they say of a sample is a line of a journal beside the run's verdicts, so that a larger
audit, or one that was interrupted, goes on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import msgspec

from truegrade.assay.building import reference_of
from truegrade.assay.labelling import OracleLabeller
from truegrade.assay.oracle import ProblemOracle, build_oracle
from truegrade.assay.oracle_inputs import find_companions
from truegrade.assay.probes.labelled import program_of
from truegrade.assay.running import in_sandbox
from truegrade.benchmarks import load_benchmark
from truegrade.errors import UserError
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement
from truegrade.pipeline.loading import load_for
from truegrade.pipeline.progress import Progress
from truegrade.pipeline.verdicts import answer_of
from truegrade.profiles import open_profile, open_stored
from truegrade.records import Answer, Problem, Reason, SampleKey, sha256_json
from truegrade.report.progress_lines import download_progress
from truegrade.sandbox import Sandbox
from truegrade.store import Run
from truegrade.store.journal import Journal, Notice, alone_in, read_journal


class AuditedSample(msgspec.Struct, frozen=True, kw_only=True):
    """A line of ``audit.PROFILE.jsonl``: what the stronger tests say of one sample."""

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
            problems=problems,
            companions=companions,
            hardened=further,
            inputs=self.inputs,
            sha256=sha256_json([shas, self.inputs]),
        )

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
        names = {getattr(one.task, "entry_point", "") for one in (problem, companion)}
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
