"""Completions that other tools wrote, read as if they had been generated here.

One file a format; the order of `IMPORTERS` is the order in which a file is tried.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from truegrade.errors import BadRecord
from truegrade.records import Completion, sha256_json
from truegrade.registry import Registry
from truegrade.store.importers import (
    bigcode_generations,
    code_reasoning,
    completion_list,
    completion_rows,
    completions_jsonl,
    cruxeval_generations,
    evalplus_raw,
    evalplus_results,
    evalscope_rows,
    inspect_log,
    livecodebench_rows,
    lm_eval_samples,
    mapcoder_rows,
    results_jsonl,
    samples_jsonl,
)
from truegrade.store.importers.base import Importer, Target
from truegrade.store.importers.ids import IdIndex, index_ids, match_id
from truegrade.store.importers.reading import head_of, keys_of_first_line, refuse_unreadable, sha256_of

__all__ = [
    "IMPORTERS",
    "IdIndex",
    "Importer",
    "Target",
    "find_format",
    "index_ids",
    "match_id",
    "read_completions",
    "sniff_format",
]

IMPORTERS = (
    completions_jsonl.IMPORTER,
    inspect_log.IMPORTER,
    results_jsonl.IMPORTER,
    code_reasoning.IMPORTER,
    lm_eval_samples.IMPORTER,
    evalscope_rows.IMPORTER,
    mapcoder_rows.IMPORTER,
    livecodebench_rows.IMPORTER,
    evalplus_results.IMPORTER,
    evalplus_raw.IMPORTER,
    samples_jsonl.IMPORTER,
    cruxeval_generations.IMPORTER,
    bigcode_generations.IMPORTER,
    completion_list.IMPORTER,
    completion_rows.IMPORTER,
)


def _fault(thing: Any) -> str | None:
    return None if isinstance(thing, Importer) else "is no truegrade.store.importers.Importer"


REGISTRY = Registry[Importer]("importer", {importer.name: importer for importer in IMPORTERS}, _fault)


def read_completions(
    path: Path,
    *,
    benchmark: str,
    dataset_sha256: str,
    known_ids: Collection[str],
    format: str | Importer | None = None,  # noqa: A002 - the word that users know, and the option's name
    accept: Collection[str] = (),
    positions: Collection[str] = (),
    questions: Mapping[str, str] | None = None,
    wordings: Mapping[str, str] | None = None,
) -> Iterator[Completion]:
    """Read the completions of a file, one at a time where its format allows.

    Args:
        path: the file, plain or gzipped.
        benchmark: name of the benchmark they answer.
        dataset_sha256: hash of that benchmark's data.
        known_ids: all its problem ids, in the data set's order.
        format: an importer, or its name; None recognises it from the content.
        accept: other benchmarks whose own completions may be graded as answers to this one.
        positions: the problems that a file without ids answers, in order; empty for all.
        questions: problem ids by the words of the question, for rows that keep the prompt and no id.
        wordings: words of the question by problem id, for rows whose id may be a mere count.

    Raises:
        UnknownName: no such format.
        BadRecord: the file is not of any known format, or, while iterating, a row is wrong or occurs twice.
    """
    importer = find_format(path, format)
    target = Target(
        benchmark=benchmark,
        dataset_sha256=dataset_sha256,
        config_sha256=sha256_json({"import": importer.name, "file_sha256": sha256_of(path)}),
        ids=index_ids(known_ids),
        accept=frozenset(accept),
        positions=tuple(positions),
        questions=questions or {},
        wordings=wordings or {},
    )
    return importer.read(path, target)


def find_format(path: Path, name: str | Importer | None) -> Importer:
    """The importer that the user names (`truegrade.registry.Registry.find`), or whose format the file shows.

    Raises:
        UnknownName, BadRecord: no such format; not recognised.
    """
    return REGISTRY.find(name).value if name is not None else sniff_format(path)


def sniff_format(path: Path) -> Importer:
    """The importer whose format the file's first bytes show.

    Raises:
        BadRecord: none does.
    """
    head = head_of(path)
    for importer in IMPORTERS:
        if importer.sniff(head, path):
            return importer
    refuse_unreadable(path, head)
    for _, importer, _ in REGISTRY.usable():
        if importer.sniff(head, path):
            return importer
    names = ", ".join(importer.name for importer in IMPORTERS)
    fields = ", ".join(sorted(keys_of_first_line(head)))
    shown = f" from the fields {fields}" if fields else ""
    raise BadRecord(
        path,
        f"its format is not recognised{shown}; see docs/formats.md, and name it with --format, one of: {names}",
    )
