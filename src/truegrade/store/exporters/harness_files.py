"""Files of other harnesses: bigcode, the blog, EvalPlus, human-eval, execution prediction, LiveCodeBench."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from statistics import fmean
from typing import IO, Any

import msgspec

from truegrade.files.json_text import encode
from truegrade.grading.programs import assemble
from truegrade.records import (
    Answer,
    Completion,
    ContestTask,
    FunctionTask,
    OracleTask,
    Problem,
    Prompt,
    Reason,
    Verdict,
)
from truegrade.statistics import pass_at_k
from truegrade.statistics.summaries import totals_by_task
from truegrade.statistics.tally import OFFICIAL, PERCENT, Scale, published_metrics
from truegrade.store.manifest import Manifest, now

# ------------------------------------------- What a writer of another harness' files is given, and what it is.


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    """One sample with everything that a format may ask for."""

    problem: Problem
    completion: Completion
    answer: Answer
    """What the profile took out of the completion."""
    kept: str
    """What the profile's own harness would have written down of it."""
    reused: bool = False
    """Taken over from a file, not asked for."""
    reason: Reason | None = None
    """Of the profile's verdict; None where there is none, or the format needs none."""
    base_reason: Reason | None = None
    """Of the verdict on the base tests alone, on the plus sets."""
    harness: dict[str, Any] | None = None
    """What the profile's own harness would have written of the grading; None where the verdict holds nothing."""
    verdict: Verdict | None = None
    """The whole verdict, where the format needs verdicts and there is one."""
    prompt: Prompt | None = None
    """What the problem was asked with; None for imported completions, and where the format needs no verdicts."""
    run: Manifest | None = None
    """What the run was."""


class Exporter(msgspec.Struct, frozen=True, kw_only=True):
    """One file format."""

    name: str
    summary: str
    """One line: who reads it."""
    file: str
    """Name of the file in the run's folder."""
    covers: tuple[str, ...]
    """Benchmarks that its readers know; empty for readers that know none, or any."""
    profile: str = "strict"
    """Whose rule takes the answers out, unless told otherwise."""
    verdicts: bool = False
    """Whether it needs graded samples."""
    write: Callable[[Iterable[Exported], Mapping[str, Problem], IO[bytes]], None]
    """``write(samples, problems, file)``: samples arrive in the run's order, problems are in the data set's."""


def write_line(file: IO[bytes], row: Mapping[str, Any]) -> None:
    """One JSON object and a newline."""
    file.write(encode(row) + b"\n")


def by_problem(
    samples: Iterable[Exported], problems: Mapping[str, Problem]
) -> Iterator[tuple[Problem, list[Exported]]]:
    """Samples of each problem in order of their number, problems in the data set's order, empty ones included."""
    found: dict[str, list[Exported]] = defaultdict(list)
    for sample in samples:
        found[sample.problem.id].append(sample)
    for key, problem in problems.items():
        yield problem, sorted(found.get(key, ()), key=lambda item: item.completion.sample)


# ----------------------------------------------------------------------------------------------------------------
# The blog's own output, ``./dataset/{model}_{lang}.json``: row index to data-set row with its completions.
#
# NotAlvin/NotAlvin.github.io@d884b6b ``content/posts/Circular Coding.md`` fetch_completion: the fields of the
# data set, ``completion_list`` (cut out of the replies), ``time_taken`` (seconds from the first request of a task
# to the end of its last, failed ones included; here the sum over its requests, for ours run side by side) and
# ``total_tokens`` (of the accepted replies). A row taken over from an earlier file has 0 for both and keeps
# ``need_reproduce``. Unlike the post's, a number that nobody recorded is null, and a row without replies is
# there.


def write_blog(samples: Iterable[Exported], problems: Mapping[str, Problem], file: IO[bytes]) -> None:
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


BLOG = Exporter(
    name="blog",
    summary="the blog's JSON: row index to completion_list, time_taken, total_tokens",
    file="blog.json",
    covers=("humaneval",),
    profile="blog",
    write=write_blog,
)


# -------------------------------------- ``samples.jsonl`` for ``evalplus.evaluate``: self-contained solutions.
# evalplus/evalplus@26d6d00 ``evalplus/data/utils.py`` load_solutions. A reply without an answer becomes an empty
# solution, because the reader demands every task.


def write_evalplus_samples(samples: Iterable[Exported], problems: Mapping[str, Problem], file: IO[bytes]) -> None:
    """Write one program a line."""
    for sample in samples:
        write_line(file, {"task_id": sample.problem.id, "solution": whole_program(sample)})


def whole_program(sample: Exported) -> str:
    """The answer as a program that needs no prompt; empty where there is no answer."""
    task = sample.problem.task
    prefix = task.prefix if isinstance(task, FunctionTask | OracleTask) else ""
    return assemble(prefix, sample.answer) if sample.answer.value is not None else ""


EVALPLUS_SAMPLES = Exporter(
    name="evalplus",
    summary="samples.jsonl for evalplus.evaluate",
    file="samples.evalplus.jsonl",
    covers=("humaneval", "humanevalplus", "mbppplus"),
    write=write_evalplus_samples,
)


# ------ ``generations.json`` for bigcode's ``--load_generations_path``: a list of programs per task, in order.
# bigcode-project/bigcode-evaluation-harness@8fc5bae6 ``bigcode_eval/generation.py``. The file has no ids: with a
# run over a part of the data set, say which with ``--limit`` and ``--limit_start`` there.


def write_bigcode_generations(
    samples: Iterable[Exported], problems: Mapping[str, Problem], file: IO[bytes]
) -> None:
    """Write one document."""
    lists = [[whole_program(sample) for sample in rows] for _, rows in by_problem(samples, problems)]
    file.write(encode(lists) + b"\n")


BIGCODE_GENERATIONS = Exporter(
    name="bigcode",
    summary="generations.json for bigcode's --load_generations_path",
    file="generations.json",
    covers=("humaneval", "humanevalplus", "mbpp", "mbppplus"),
    write=write_bigcode_generations,
)


# ------------------ ``eval_results.json`` as ``evalplus.evaluate`` writes it, and reads it where it finds one.
# evalplus/evalplus@26d6d00 ``evalplus/evaluate.py``: solutions by task id with ``base_status`` and
# ``plus_status`` ("pass", "fail" or "timeout"), and pass@1, 10 and 100. A solution counts on the plus tests if
# both statuses are "pass". Failing inputs are not stored by Truegrade as values, so their lists are empty;
# ``hash`` is the sha256 of the data file, not EvalPlus' md5 of its decoded content.

PASS, FAIL, TIMEOUT = "pass", "fail", "timeout"
_KS = (1, 10, 100)


def write_evalplus_results(samples: Iterable[Exported], problems: Mapping[str, Problem], file: IO[bytes]) -> None:
    """Write all graded samples as one document."""
    graded = (sample for sample in samples if sample.reason is not None)
    tasks = {
        problem.id: [_graded_row(sample) for sample in rows]
        for problem, rows in by_problem(graded, problems)
        if rows
    }
    document = {
        "date": now(),
        "hash": next(iter(problems.values())).dataset_sha256 if problems else "",
        "eval": tasks,
        "pass_at_k": _rates(list(tasks.values())),
    }
    file.write(encode(document) + b"\n")


def _graded_row(sample: Exported) -> dict[str, Any]:
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


EVALPLUS_RESULTS = Exporter(
    name="evalplus-results",
    summary="eval_results.json as evalplus.evaluate writes and reads it",
    file="eval_results.json",
    covers=("humaneval", "humanevalplus", "mbppplus"),
    verdicts=True,
    write=write_evalplus_results,
)


# --------------------------------------- ``samples.jsonl`` for human-eval's `evaluate_functional_correctness`.
# The reader (openai/human-eval@6d43fb9 ``human_eval/evaluation.py``) puts the prompt in front of ``completion``.
# Every HumanEval prompt ends in a newline, so bodies and whole definitions both work. A reply without an answer
# becomes an empty completion, which fails there as it does here.


def write_human_eval_samples(
    samples: Iterable[Exported], problems: Mapping[str, Problem], file: IO[bytes]
) -> None:
    """Write one extracted answer a line."""
    for sample in samples:
        write_line(file, {"task_id": sample.problem.id, "completion": sample.answer.value or ""})


HUMAN_EVAL_SAMPLES = Exporter(
    name="human-eval",
    summary="samples.jsonl for human-eval's evaluate_functional_correctness",
    file="samples.human-eval.jsonl",
    covers=("humaneval",),
    write=write_human_eval_samples,
)


# ----------- ``*_results.jsonl`` of execution prediction: one predicted value a line, under its historic name.
# Fields as in akshsgaur/code-reasoning-repro@6c43fa8 ``src/models/inference.py``: ``generated_code`` holds the
# predicted output. Its reader is ``src/models/evaluate.py``, and ours
# `truegrade.store.importers.execution_reasoning`.


def write_seed_results(samples: Iterable[Exported], problems: Mapping[str, Problem], file: IO[bytes]) -> None:
    """Write one prediction a line."""
    for sample in samples:
        write_line(file, seed_row(sample.completion, sample.answer))


def seed_row(completion: Completion, answer: Answer) -> dict[str, Any]:
    """One line. A reply without an answer has the empty prediction, which is wrong there as it is here.

    Args:
        completion: the stored reply; without text (every attempt failed) its ``success`` is false.
        answer: what a profile took out of it.
    """
    return {
        "problem_id": completion.problem_id,
        "model_name": completion.model,
        "generated_code": answer.value or "",
        "success": completion.text is not None,
        "latency_ms": None if completion.latency_s is None else completion.latency_s * 1000,
    }


SEED_RESULTS = Exporter(
    name="seed-results",
    summary="*_results.jsonl for code-reasoning-repro's evaluate.py",
    file="seed_results.jsonl",
    covers=("execution-prediction", "dsl-list", "cruxeval-output", "livecodebench-execution"),
    write=write_seed_results,
)


# ---------------- LiveCodeBench's own files: answers for its evaluator, and the two that its evaluator writes.
# LiveCodeBench/LiveCodeBench@28fef95: ``lcb_runner/runner/custom_evaluator.py`` reads ``[{"question_id",
# "code_list"}]``, one row a problem of the benchmark; ``lcb_runner/benchmarks/code_generation.py`` makes the rows
# of ``_eval_all.json`` (insert_output_evaluation), which ``evaluation/compute_scores.py`` reads;
# ``codegen_metrics`` makes the three parts of ``_eval.json``: metrics as fractions, results and metadata, by the
# problem's place; modelscope/evalscope@fde259d2 ``evalscope/benchmarks/live_code_bench/evaluate_utils.py`` the
# same in percent.

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
