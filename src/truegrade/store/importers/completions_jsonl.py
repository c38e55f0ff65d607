"""Truegrade's own ``completions.jsonl``, e.g. of a run made elsewhere.

Records keep everything but their target. Those of another benchmark are refused: the ids of two benchmarks may
look alike where the questions differ.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import msgspec

from truegrade.errors import BadRecord
from truegrade.records import SCHEMA_VERSION, Completion, SampleKey
from truegrade.store.importers.base import Importer, ImportTarget
from truegrade.store.importers.reading import SourceFile, json_lines


def sniff(source: SourceFile) -> bool:
    """Whether the first line holds the fields that only our records have together."""
    return {"problem_id", "sample", "config_sha256", "dataset_sha256"} <= source.keys


def read(source: SourceFile, target: ImportTarget) -> Iterator[Completion]:
    """Yield the stored records, aimed at the target benchmark.

    A sample whose attempts all failed is asked for again on resume, so a later record replaces one without text;
    those never replaced come last.

    Raises:
        BadRecord: a line is cut or mistyped, repeats a sample, or belongs to another benchmark, data set or
            schema.
    """
    path = source.path
    answered: dict[str, set[int]] = defaultdict(set)
    failed: dict[SampleKey, Completion] = {}
    for line, record in json_lines(source, Completion, target.faults):
        _refuse_foreign(path, line, record, target)
        problem_id = target.problem(record.problem_id, path, line=line, field="problem_id")
        if problem_id is None:
            continue
        if record.sample in answered[problem_id]:
            problem = f"sample {record.sample} of problem {problem_id} is stored twice; keep one of the two lines"
            raise BadRecord(path, problem, line=line, field="sample")
        aimed = msgspec.structs.replace(
            record, benchmark=target.benchmark, dataset_sha256=target.dataset_sha256, problem_id=problem_id
        )
        if record.text is None:
            failed[aimed.key] = aimed
            continue
        failed.pop(aimed.key, None)
        answered[problem_id].add(record.sample)
        yield aimed
    yield from failed.values()


def _refuse_foreign(path: Path, line: int, record: Completion, target: ImportTarget) -> None:
    """Raise BadRecord where the record answers other questions than the target's."""
    if record.schema > SCHEMA_VERSION:
        problem = f"schema {record.schema} is newer than this version reads ({SCHEMA_VERSION}); upgrade truegrade"
        raise BadRecord(path, problem, line=line, field="schema")
    if record.sample < 0:
        raise BadRecord(
            path, f"sample {record.sample} is negative; samples count from 0", line=line, field="sample"
        )
    if record.benchmark == target.benchmark:
        if record.dataset_sha256 != target.dataset_sha256:
            problem = (
                f"it answers data set {record.dataset_sha256[:12]}, but {target.benchmark} was loaded with"
                f" {target.dataset_sha256[:12]}; pass the data file it was generated from (`data`)"
            )
            raise BadRecord(path, problem, line=line, field="dataset_sha256")
    else:
        problem = (
            f"it answers {record.benchmark}, not {target.benchmark}; grade it with `benchmark` {record.benchmark}"
        )
        raise BadRecord(path, problem, line=line, field="benchmark")


IMPORTER = Importer(
    name="truegrade",
    summary="completions.jsonl of a Truegrade run",
    sniff=sniff,
    read=read,
)
