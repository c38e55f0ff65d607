"""One pass over a file: what each sample is, what the file says about it, where it departs from the benchmark."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

import msgspec

from truegrade.analysis.audit.audit_rows import RawRow, read_rows
from truegrade.analysis.audit.flags import Flag, speaks_of
from truegrade.analysis.audit.texts import ends_inside_statement, holds_program
from truegrade.analysis.audit.upstream import FieldDifference, differences
from truegrade.benchmarks.base import Benchmark
from truegrade.errors import BadRecord
from truegrade.pipeline.importing import questions_of
from truegrade.records import CasesTask, Completion, FunctionTask, OracleTask, Problem, SampleKey
from truegrade.store.importers import index_ids, match_id
from truegrade.store.importers.base import UNKNOWN_MODEL, ImportTarget
from truegrade.store.importers.reading import SourceFile

MODEL_FIELDS = ("model", "model_name", "model_id")
FINISH_FIELDS = ("finish_reason", "stop_reason")


class SampleFact(msgspec.Struct, frozen=True, kw_only=True):
    """What an audit remembers of a text."""

    sha256: str
    has_program: bool
    limited: bool
    """The service said that it stopped at a token limit."""
    inside: bool
    """The text ends inside a statement."""


class RecordedVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded verdict and the sample it speaks of."""

    problem_id: str
    sample: int | None
    """None where the judged text is not among the row's."""
    flag: Flag
    stale: bool


class AuditSurvey(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Everything but the texts."""

    path: Path
    file_sha256: str
    samples: dict[str, dict[int, SampleFact]]
    """By problem, then by position; problems without any text included."""
    recorded: list[RecordedVerdict]
    differences: list[FieldDifference]
    models: Counter[str]
    """Model id -> samples that name it."""

    @cached_property
    def width(self) -> int:
        """The largest number of samples of a problem."""
        return max((len(facts) for facts in self.samples.values()), default=0)

    def texts(self, problem_id: str) -> tuple[str, ...]:
        """Hashes of a problem's texts, in order."""
        facts = self.samples.get(problem_id, {})
        return tuple(facts[sample].sha256 for sample in sorted(facts))


def survey(path: Path, benchmark: Benchmark, keep: Callable[[Completion], None]) -> AuditSurvey:
    """Read a file to its end.

    Args:
        path: of completions, in a shape of `truegrade.analysis.audit.audit_rows`.
        benchmark: what they answer.
        keep: gets every sample as a completion that can be graded.

    Raises:
        BadRecord: a row is at fault; names line and field.
    """
    problems = benchmark.by_id()
    target = ImportTarget(
        benchmark=benchmark.name, dataset_sha256=benchmark.dataset_sha256, ids=index_ids(problems)
    )
    samples: dict[str, dict[int, SampleFact]] = defaultdict(dict)
    recorded: list[RecordedVerdict] = []
    differing: list[FieldDifference] = []
    models: Counter[str] = Counter()
    with SourceFile(path) as source:
        for row in read_rows(source, target.ids.exact, questions_of(benchmark)):
            id_ = match_id(row.raw_id, target.ids, path=path, line=row.line, field=row.place or "task_id")
            start = _position(path, row, samples[id_])
            for completion in _completions(row, id_, start, target):
                samples[id_][completion.sample] = _fact(row, completion, problems[id_])
                models.update([completion.model] if completion.model != UNKNOWN_MODEL else [])
                keep(completion)
            recorded += _recorded(row, id_, start, benchmark.name)
            shared = {name: value for name, value in row.fields.items() if name != row.text_field}
            differing += differences(shared, problems[id_])
        digest = source.sha256()
    if not any(samples.values()):
        raise BadRecord(path, "holds no completion; is it the right file?")
    return AuditSurvey(
        path=path,
        file_sha256=digest,
        samples=dict(samples),
        recorded=recorded,
        differences=differing,
        models=models,
    )


def _position(path: Path, row: RawRow, present: Mapping[int, SampleFact]) -> int:
    """The first text's sample number: the row's own, else the next."""
    own = row.fields.get("sample")
    if not isinstance(own, int) or len(row.texts) != 1:
        return max(present, default=-1) + 1
    if own in present or own < 0:
        raise BadRecord(path, f"sample {own} is negative or stands there twice", line=row.line, field="sample")
    return own


def _completions(row: RawRow, problem_id: str, start: int, target: ImportTarget) -> list[Completion]:
    model = next((row.fields[f] for f in MODEL_FIELDS if isinstance(row.fields.get(f), str)), UNKNOWN_MODEL)
    finish = next((row.fields[f] for f in FINISH_FIELDS if isinstance(row.fields.get(f), str)), None)
    made = (
        target.completion(problem_id, sample, text, form=row.form, model=model)
        for sample, text in enumerate(row.texts, start)
        if text is not None
    )
    return [msgspec.structs.replace(completion, finish_reason=finish) for completion in made]


def _fact(row: RawRow, completion: Completion, problem: Problem) -> SampleFact:
    text, task = completion.text or "", problem.task
    code = isinstance(task, FunctionTask | OracleTask | CasesTask)
    prefix = task.prefix if isinstance(task, FunctionTask | OracleTask) and row.form == "completion" else ""
    return SampleFact(
        sha256=completion.sha256,
        has_program=holds_program(text) if code else bool(text.strip()),
        limited=completion.truncated,
        inside=code and ends_inside_statement(text, prefix),
    )


def _recorded(row: RawRow, problem_id: str, start: int, benchmark: str) -> list[RecordedVerdict]:
    found = []
    for flag in row.flags:
        if not speaks_of(flag, row.fields, benchmark):
            continue
        own = flag.sample if flag.sample is not None else row.judged
        stale = row.stale and flag.kind == "verdict" and flag.sample is None
        there = own is not None and own < len(row.texts) and row.texts[own] is not None
        sample = start + own if there and own is not None else None
        found.append(RecordedVerdict(problem_id=problem_id, sample=sample, flag=flag, stale=stale))
    return found


def label(key: SampleKey, several: bool) -> str:
    """How a finding names a sample: its problem, and its number where a problem has several."""
    return f"{key.problem_id}#{key.sample}" if several else key.problem_id
