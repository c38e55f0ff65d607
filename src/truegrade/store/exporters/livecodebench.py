"""LiveCodeBench's own files: answers for its evaluator, and the two that its evaluator writes.

LiveCodeBench/LiveCodeBench@28fef95: ``lcb_runner/runner/custom_evaluator.py`` reads ``[{"question_id",
"code_list"}]``, one row a problem of the benchmark; ``lcb_runner/benchmarks/code_generation.py`` makes the rows of
``_eval_all.json`` (insert_output_evaluation), which ``evaluation/compute_scores.py`` reads; ``codegen_metrics``
makes the three parts of ``_eval.json``: metrics as fractions, results and metadata, by the problem's place;
modelscope/evalscope@fde259d2 ``evalscope/benchmarks/live_code_bench/evaluate_utils.py`` the same in percent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import IO, Any

from truegrade.files.json_text import encode
from truegrade.records import ContestTask, Problem, Reason
from truegrade.statistics.contest_metrics import OFFICIAL, PERCENT, Scale, published_metrics
from truegrade.store.exporters.base import Exported, Exporter, by_problem

_CODES = {Reason.TIME_LIMIT: -3, Reason.WRONG_ANSWER: -2}
_OTHER_FAILURES = -4


def write_answers(samples: Iterable[Exported], problems: Mapping[str, Problem], file: IO[bytes]) -> None:
    """Write the programs of each problem, in the order in which the evaluator sorts them."""
    rows = [
        {"question_id": problem.id, "code_list": [sample.answer.value or "" for sample in found]}
        for problem, found in by_problem(samples, problems)
    ]
    _write(file, sorted(rows, key=lambda row: str(row["question_id"])))


def write_eval_all(samples: Iterable[Exported], problems: Mapping[str, Problem], file: IO[bytes]) -> None:
    """Write problems, answers and verdicts together."""
    _write(file, [_evaluated(problem, found) for problem, found in _graded(samples, problems)])


def write_eval(
    samples: Iterable[Exported], problems: Mapping[str, Problem], file: IO[bytes], scale: Scale = OFFICIAL
) -> None:
    """Write metrics, results and metadata."""
    rows = [found for _, found in _graded(samples, problems)]
    results = {str(place): [published_results(sample) for sample in found] for place, found in enumerate(rows)}
    metadata = [[json.dumps(published_metadata(sample)) for sample in found] for found in rows]
    passed = {str(place): [s.reason is Reason.PASSED for s in found] for place, found in enumerate(rows)}
    _write(file, [published_metrics(passed, scale), results, metadata])


def published_results(sample: Exported) -> list[Any]:
    """The harness' own list, one entry a test up to the first failure; of another profile's verdict, one entry."""
    if sample.harness is not None and "results" in sample.harness:
        return list(sample.harness["results"])
    return [True if sample.reason is Reason.PASSED else _code(sample)]


def published_metadata(sample: Exported) -> dict[str, Any]:
    """The harness' own; of another profile's verdict, an error code of the same kind where it failed."""
    if sample.harness is not None and "metadata" in sample.harness:
        return dict(sample.harness["metadata"])
    if sample.reason is Reason.PASSED:
        return {}
    return {"error_code": _code(sample), "error_message": str(sample.reason)}


def _code(sample: Exported) -> int:
    return _OTHER_FAILURES if sample.reason is None else _CODES.get(sample.reason, _OTHER_FAILURES)


def _graded(samples: Iterable[Exported], problems: Mapping[str, Problem]) -> list[tuple[Problem, list[Exported]]]:
    """Problems with graded samples, by id as the official benchmark is sorted."""
    found = by_problem((sample for sample in samples if sample.reason is not None), problems)
    return sorted(((problem, rows) for problem, rows in found if rows), key=lambda pair: pair[0].id)


def _evaluated(problem: Problem, found: Sequence[Exported]) -> dict[str, Any]:
    task = problem.task
    assert isinstance(task, ContestTask)  # the exporter covers contest problems alone
    graded = [sample.reason is Reason.PASSED for sample in found]
    return {
        "question_title": task.title,
        "question_content": task.question,
        "platform": problem.tags["platform"],
        "question_id": problem.id,
        "contest_id": problem.tags["contest_id"],
        "contest_date": datetime.fromisoformat(problem.tags["contest_date"]).isoformat(),
        "starter_code": task.starter_code,
        "difficulty": problem.tags["difficulty"],
        "output_list": [sample.completion.text for sample in found],
        "code_list": [sample.answer.value or "" for sample in found],
        "graded_list": graded,
        "pass@1": graded.count(True) / len(graded),
        "metadata": [json.dumps(published_metadata(sample)) for sample in found],
    }


def _write(file: IO[bytes], document: Any) -> None:
    file.write(encode(document) + b"\n")


Write = Callable[[Iterable[Exported], Mapping[str, Problem], IO[bytes]], None]


def _exporter(
    name: str, summary: str, file: str, write: Write, *, verdicts: bool, profile: str = "livecodebench"
) -> Exporter:
    return Exporter(
        name=name,
        summary=summary,
        file=file,
        covers=("livecodebench",),
        profile=profile,
        verdicts=verdicts,
        write=write,
    )


ANSWERS = _exporter(
    "livecodebench",
    "question_id and code_list for custom_evaluator",
    "livecodebench.json",
    write_answers,
    verdicts=False,
)
EVAL_ALL = _exporter(
    "livecodebench-eval-all",
    "_eval_all.json for compute_scores.py and self-repair",
    "livecodebench_eval_all.json",
    write_eval_all,
    verdicts=True,
)
EVAL = _exporter(
    "livecodebench-eval",
    "_eval.json: metrics, results and metadata",
    "livecodebench_eval.json",
    write_eval,
    verdicts=True,
)
EVAL_PERCENT = _exporter(
    "evalscope-eval",
    "the three parts of livecodebench-eval with pass@1 in percent, as EvalScope and the fork compute them",
    "evalscope_eval.json",
    partial(write_eval, scale=PERCENT),
    verdicts=True,
    profile="evalscope",
)
