"""What lm-evaluation-harness calls: a filter that gives verdicts, and the metrics of one document.

A filter sees all replies of a task at once (EleutherAI/lm-evaluation-harness v0.4.13
``lm_eval/filters/custom.py``), so grading uses every core; ``process_results`` is called document by document and
only counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from truegrade.errors import UserError
from truegrade.integrations.reply_grader import Answered, ReplyGrader, open_grader
from truegrade.models.base import Reply
from truegrade.pipeline.summary import USUAL_K
from truegrade.records import Verdict
from truegrade.statistics import pass_at_k


class GraderName(msgspec.Struct, frozen=True, kw_only=True):
    """Which grader a document belongs to; each document carries it as JSON text."""

    benchmark: str
    profile: str
    prompt: str | None = None
    data: str | None = None
    task_args: dict[str, str] = {}
    dataset_sha256: str
    """Of the data that the folder was written from."""

    def open(self) -> ReplyGrader:
        """The grader.

        Raises:
            UserError: the data at hand is not that of the folder.
        """
        grader = open_grader(
            self.benchmark, self.profile, prompt=self.prompt, data=self.data, task_args=self.task_args
        )
        if grader.benchmark.dataset_sha256 != self.dataset_sha256:
            raise UserError(
                f"the tasks were written from another version of {self.benchmark} ({self.dataset_sha256[:12]}…)"
                f" than the local data ({grader.benchmark.dataset_sha256[:12]}…); write them again with"
                " `truegrade lm-eval-tasks`"
            )
        return grader


def grade(replies: Sequence[Sequence[str]], docs: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """The verdicts on all replies to each document, in their order; JSON text, which the harness logs as it is.

    Raises:
        UserError: see `GraderName.open`.
    """
    if not docs:
        return []
    grader = msgspec.json.decode(docs[0]["grader"], type=GraderName).open()
    verdicts = iter(grader.grade_all(_answered(replies, docs)))
    return [[msgspec.json.encode(next(verdicts)).decode() for _ in texts] for texts in replies]


def process_results(doc: Mapping[str, Any], results: Sequence[Sequence[str]]) -> dict[str, float]:
    """The metrics of one document: pass@k for the usual k; of several replies, whether any or all are right."""
    return _metrics([msgspec.json.decode(verdict, type=Verdict).passed for verdict in results[0]])


def metric_names(repeats: int) -> list[str]:
    """The metrics that `process_results` gives for so many replies to a document."""
    return list(_metrics([False] * repeats))


def _metrics(passed: Sequence[bool]) -> dict[str, float]:
    n, c = len(passed), sum(passed)
    found = {f"pass@{k}": pass_at_k(n, c, k) for k in USUAL_K if k <= n}
    return found | ({"any_correct": float(c > 0), "all_correct": float(c == n)} if n > 1 else {})


def _answered(replies: Sequence[Sequence[str]], docs: Sequence[Mapping[str, Any]]) -> Iterator[Answered]:
    for texts, doc in zip(replies, docs, strict=True):
        for sample, text in enumerate(texts):
            yield Answered(problem_id=doc["task_id"], sample=sample, reply=Reply(text=text, model="lm-eval"))
