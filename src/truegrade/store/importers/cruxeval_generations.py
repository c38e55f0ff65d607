"""CRUXEval's ``generations.json``: sample id to a list of answers, already cut out of the replies.

As facebookresearch/cruxeval@190faf1 ``samples/model_generations`` holds them. The scored files of
``samples/evaluation_results`` hold the same object under ``raw_generations``; their verdicts are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from truegrade.errors import BadRecord
from truegrade.records import Completion
from truegrade.store.importers.base import Importer, ImportTarget, TasksOnce
from truegrade.store.importers.reading import SourceFile, typed

SCORED = "raw_generations"


def sniff(source: SourceFile) -> bool:
    """Whether it starts like an object of ``sample_i`` lists, or like a scored file."""
    return re.match(rb'\s*\{\s*"(sample_\d+"\s*:\s*\[|raw_(scored_)?generations"\s*:)', source.head) is not None


def read(source: SourceFile, target: ImportTarget) -> Iterator[Completion]:
    """Yield the answers of each problem, in the file's order.

    Raises:
        BadRecord: not such a file, or an unknown problem.
    """
    path = source.path
    document = source.document
    if not isinstance(document, dict):
        raise BadRecord(path, "expected an object that maps sample ids to lists of answers")
    inside = f"{SCORED}." if SCORED in document else ""
    once = TasksOnce(path)
    for raw_id, value in typed(path, document.get(SCORED, document), dict[str, Any], inside=SCORED).items():
        field = f"{inside}{raw_id}"
        problem_id = target.problem(raw_id, path, field=field)
        if problem_id is None:
            continue
        once.add(problem_id, field=field)
        for sample, text in enumerate(target.texts(value, path, field=field)):
            yield target.completion(problem_id, sample, text, form="answer")


IMPORTER = Importer(
    name="cruxeval-generations",
    summary="CRUXEval generations.json, or a scored file with raw_generations",
    sniff=sniff,
    read=read,
)
