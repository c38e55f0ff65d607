"""Completions that other tools wrote, read as if they had been generated here.

The formats of one kind of tool are a file; the order of `IMPORTERS` is the order in which a file is tried.
"""

from __future__ import annotations

from typing import Any

from truegrade.errors import BadRecord
from truegrade.records import sha256_json
from truegrade.registry import Origin, Registry
from truegrade.store.importers.agentcoder import COMPLETION_LIST, COMPLETION_ROWS, MAPCODER_ROWS
from truegrade.store.importers.base import (
    PENDING,
    IdIndex,
    Importer,
    ImportTarget,
    holding_replies,
    index_ids,
    match_id,
    replies_format,
)
from truegrade.store.importers.execution_reasoning import CODE_REASONING, CRUXEVAL_GENERATIONS, RESULTS
from truegrade.store.importers.livecodebench import LIVECODEBENCH_ROWS
from truegrade.store.importers.logs import EVALSCOPE_ROWS, INSPECT_LOG
from truegrade.store.importers.reading import RowFaults, SourceFile, keys_of_later_lines, refuse_unreadable
from truegrade.store.importers.samples import (
    BIGCODE_GENERATIONS,
    COMPLETIONS,
    EVALPLUS_RAW,
    EVALPLUS_RESULTS,
    LM_EVAL_SAMPLES,
    SAMPLES,
)

__all__ = [
    "IMPORTERS",
    "PENDING",
    "IdIndex",
    "ImportTarget",
    "Importer",
    "RowFaults",
    "SourceFile",
    "configuration",
    "find_format",
    "index_ids",
    "match_id",
    "replies_format",
]

IMPORTERS = (
    COMPLETIONS,
    INSPECT_LOG,
    RESULTS,
    CODE_REASONING,
    LM_EVAL_SAMPLES,
    EVALSCOPE_ROWS,
    MAPCODER_ROWS,
    LIVECODEBENCH_ROWS,
    EVALPLUS_RESULTS,
    EVALPLUS_RAW,
    SAMPLES,
    CRUXEVAL_GENERATIONS,
    BIGCODE_GENERATIONS,
    COMPLETION_LIST,
    COMPLETION_ROWS,
)


def _fault(thing: Any) -> str | None:
    return None if isinstance(thing, Importer) else "is no truegrade.store.importers.Importer"


_OF_PROGRAMS = (LIVECODEBENCH_ROWS, EVALPLUS_RESULTS, BIGCODE_GENERATIONS, COMPLETION_ROWS)
_NAMED = (*IMPORTERS, *map(holding_replies, _OF_PROGRAMS))
REGISTRY = Registry[Importer]("importer", {importer.name: importer for importer in _NAMED}, _fault)


def find_format(source: SourceFile, name: str | Importer | None) -> Importer:
    """The importer that the user names, or the one whose format the file's head shows.

    Raises:
        UnknownName: no such format.
        BadRecord: the file is not of any known format.
    """
    if name is not None:
        return REGISTRY.find(name).value
    first = source.keys
    for keys in dict.fromkeys((first, *keys_of_later_lines(source.head))):  # the first row may be a bad one
        source.keys = keys
        found = next((importer for importer in IMPORTERS if importer.sniff(source)), None)
        if found is not None:
            return found
    source.keys = first
    refuse_unreadable(source.path, source.head)
    for _, importer, _ in REGISTRY.usable():
        if importer.sniff(source):
            return importer
    fields = ", ".join(sorted(source.keys))
    if "task_id" in source.keys:
        raise BadRecord(
            source.path,
            f"the row has {fields}; call the text 'solution' where it is a whole program,"
            " 'completion' where it continues the prompt",
            line=1,
        )
    if not fields and source.head.lstrip().startswith(b"{"):
        raise BadRecord(source.path, "broken JSON; write the line anew, whole", line=1)
    names = ", ".join(importer.name for importer in IMPORTERS)
    shown = f" from the fields {fields}" if fields else ""
    raise BadRecord(
        source.path,
        f"its format is not recognised{shown}; see docs/formats.md, and name it with `file_format`, one of:"
        f" {names}",
    )


def importer_origin(name: str | Importer | None) -> Origin | None:
    """Where the importer that the user names was found; None where none is named."""
    return None if name is None else REGISTRY.find(name).origin


def configuration(importer: Importer, source: SourceFile) -> str:
    """What stands in `Completion.config_sha256` of imported texts: the format and the bytes of the file decide."""
    return sha256_json({"import": importer.name, "file_sha256": source.sha256()})
