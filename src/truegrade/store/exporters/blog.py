"""The blog's own output, ``./dataset/{model}_{lang}.json``: row index to data-set row with its completions.

NotAlvin/NotAlvin.github.io@d884b6b ``content/posts/Circular Coding.md`` fetch_completion: the fields of the data
set, ``completion_list`` (cut out of the replies), ``time_taken`` (seconds from the first request of a task to the
end of its last, failed ones included; here the sum over its requests, for ours run side by side) and
``total_tokens`` (of the accepted replies). A row taken over from an earlier file has 0 for both and keeps
``need_reproduce``. Unlike the post's, a number that nobody recorded is null, and a row without replies is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Any

from truegrade.files.json_text import encode
from truegrade.records import Completion, FunctionTask, Problem
from truegrade.statistics.summaries import totals_by_task
from truegrade.store.exporters.base import Exported, Exporter, by_problem


def write(samples: Iterable[Exported], problems: Mapping[str, Problem], file: IO[bytes]) -> None:
    """Write one document, indented by four as the post does."""
    rows = {
        str(index): _row(problem, found) for index, (problem, found) in enumerate(by_problem(samples, problems))
    }
    file.write(encode(rows, indent=4) + b"\n")


def _row(problem: Problem, samples: Sequence[Exported]) -> dict[str, Any]:
    asked = [(problem.id, sample.completion) for sample in samples if not sample.reused]
    seconds = totals_by_task((key, _seconds(completion)) for key, completion in asked).get(problem.id, 0)
    tokens = totals_by_task((key, _tokens(completion)) for key, completion in asked).get(problem.id, 0)
    return {
        **_upstream(problem),
        **({"need_reproduce": False} if len(asked) < len(samples) else {}),
        "completion_list": [sample.kept for sample in samples],
        "time_taken": seconds,
        "total_tokens": None if tokens is None else int(tokens),
    }


def _upstream(problem: Problem) -> dict[str, str]:
    """The fields of openai_humaneval's row."""
    task = problem.task
    if not isinstance(task, FunctionTask):
        return {"task_id": problem.id}
    return {
        "task_id": problem.id,
        "prompt": task.prompt,
        "canonical_solution": task.reference.removeprefix(task.prompt),
        "test": task.tests.removesuffix(f"\ncheck({task.entry_point})"),
        "entry_point": task.entry_point,
    }


def _seconds(completion: Completion) -> float | None:
    known = [attempt.latency_s for attempt in completion.attempts if attempt.latency_s is not None]
    return sum(known) if known else completion.latency_s


def _tokens(completion: Completion) -> float | None:
    usage = completion.usage
    return None if usage is None else usage.input_tokens + usage.output_tokens


EXPORTER = Exporter(
    name="blog",
    summary="the blog's JSON: row index to completion_list, time_taken, total_tokens",
    file="blog.json",
    covers=("humaneval",),
    profile="blog",
    write=write,
)
