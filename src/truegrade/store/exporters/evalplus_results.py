"""``eval_results.json`` as ``evalplus.evaluate`` writes it, and reads it where it finds one.

evalplus/evalplus@26d6d00 ``evalplus/evaluate.py``: solutions by task id with ``base_status`` and ``plus_status``
("pass", "fail" or "timeout"), and pass@1, 10 and 100. A solution counts on the plus tests if both statuses are
"pass". Failing inputs are not stored by Truegrade as values, so their lists are empty; ``hash`` is the sha256 of
the data file, not EvalPlus' md5 of its decoded content.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import IO, Any

from truegrade.files.json_text import encode
from truegrade.records import Problem, Reason
from truegrade.statistics import pass_at_k
from truegrade.store.exporters.base import Exported, Exporter, by_problem
from truegrade.store.exporters.evalplus_samples import whole_program
from truegrade.store.manifest import now

PASS, FAIL, TIMEOUT = "pass", "fail", "timeout"
_KS = (1, 10, 100)


def write(samples: Iterable[Exported], problems: Mapping[str, Problem], file: IO[bytes]) -> None:
    """Write all graded samples as one document."""
    graded = (sample for sample in samples if sample.reason is not None)
    tasks = {
        problem.id: [_row(sample) for sample in rows] for problem, rows in by_problem(graded, problems) if rows
    }
    document = {
        "date": now(),
        "hash": next(iter(problems.values())).dataset_sha256 if problems else "",
        "eval": tasks,
        "pass_at_k": _rates(list(tasks.values())),
    }
    file.write(encode(document) + b"\n")


def _row(sample: Exported) -> dict[str, Any]:
    """One graded solution; without a separate verdict on the base tests, the only verdict is the base one."""
    base, plus = (sample.base_reason, sample.reason) if sample.base_reason is not None else (sample.reason, None)
    return {
        "task_id": sample.problem.id,
        "solution": whole_program(sample),
        "base_status": _status(base),
        "plus_status": None if plus is None else _status(plus),
        "base_fail_tests": [],
        "plus_fail_tests": [],
    }


def _status(reason: Reason | None) -> str:
    if reason is Reason.PASSED:
        return PASS
    return TIMEOUT if reason is Reason.TIME_LIMIT else FAIL


def _rates(tasks: Sequence[Sequence[Mapping[str, Any]]]) -> dict[str, dict[str, float]]:
    """pass@k on the base tests and, where there are plus verdicts, on both, for each k that every task allows."""
    rates = {"base": _pass_at(tasks, ("base_status",))}
    if any(row["plus_status"] is not None for rows in tasks for row in rows):
        rates["plus"] = _pass_at(tasks, ("base_status", "plus_status"))
    return rates


def _pass_at(tasks: Sequence[Sequence[Mapping[str, Any]]], statuses: Sequence[str]) -> dict[str, float]:
    counts = [(len(rows), sum(all(row[name] == PASS for name in statuses) for row in rows)) for rows in tasks]
    fewest = min((n for n, _ in counts), default=0)
    return {f"pass@{k}": fmean(pass_at_k(n, c, k) for n, c in counts) for k in _KS if k <= fewest}


EXPORTER = Exporter(
    name="evalplus-results",
    summary="eval_results.json as evalplus.evaluate writes and reads it",
    file="eval_results.json",
    covers=("humaneval", "humanevalplus", "mbppplus"),
    verdicts=True,
    write=write,
)
