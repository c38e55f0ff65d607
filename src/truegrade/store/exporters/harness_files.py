"""Files of other harnesses: bigcode, the blog, EvalPlus, human-eval, execution prediction, LiveCodeBench."""

from __future__ import annotations

import json
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import IO, Any

import msgspec

from truegrade.files.json_text import decode, encode
from truegrade.kinds import kind_of
from truegrade.records import Answer, Completion, ContestTask, Problem, Prompt, Reason, Verdict
from truegrade.statistics import pass_at_k
from truegrade.statistics.summaries import totals_by_task
from truegrade.statistics.tally import OFFICIAL, PERCENT, Scale, published_metrics
from truegrade.store.manifest import Manifest, now
from truegrade.store.spool import unnamed_file

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


def file_beside(file: IO[bytes]) -> IO[bytes]:
    """An unnamed file on the disk of another, for what is to be written later."""
    return unnamed_file(Path(str(getattr(file, "name", ""))))


@contextmanager
def kept_by_problem(
    samples: Iterable[Exported], kept: Callable[[Exported], Any], file: IO[bytes]
) -> Iterator[Callable[[Problem], list[Any]]]:
    """What a format writes of the samples of a problem, in order of their number; empty where it has none.

    Until it is asked for it lies in an unnamed file.

    Args:
        samples: in any order.
        kept: what is written of a sample: plain values.
        file: that will be written, beside which the unnamed file lies.
    """
    decoder = msgspec.json.Decoder(Any)
    places: dict[str, array[int]] = defaultdict(lambda: array("q"))
    """By problem: number of a sample and where it begins, for each in turn."""

    def read(begin: int) -> Any:
        spool.seek(begin)
        return decode(spool.readline(), decoder)

    def of(problem: Problem) -> list[Any]:
        found = places.get(problem.id, array("q"))
        return [read(begin) for _, begin in sorted(zip(found[::2], found[1::2], strict=True))]

    with file_beside(file) as spool:
        for sample in samples:
            places[sample.problem.id].extend((sample.completion.sample, spool.tell()))
            spool.write(encode(kept(sample)) + b"\n")
        yield of


def write_list(file: IO[bytes], values: Iterable[Any]) -> None:
    """A JSON array, one value after the other."""
    file.write(b"[")
    for place, value in enumerate(values):
        file.write((b"," if place else b"") + encode(value))
    file.write(b"]")


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
    with kept_by_problem(samples, _blog_sample, file) as kept:
        between = b"{\n"
        for index, problem in enumerate(problems.values()):
            row = encode(_row(problem, kept(problem)), indent=4).replace(b"\n", b"\n    ")
            file.write(b'%b    "%d": %b' % (between, index, row))
            between = b",\n"
    file.write(b"\n}\n" if problems else b"{}\n")


def _blog_sample(sample: Exported) -> tuple[str, bool, float | None, float | None]:
    """Text, whether it was taken over, seconds and tokens."""
    return sample.kept, sample.reused, _seconds(sample.completion), _tokens(sample.completion)


def _row(problem: Problem, samples: Sequence[tuple[str, bool, float | None, float | None]]) -> dict[str, Any]:
    asked = [sample for sample in samples if not sample[1]]
    seconds = totals_by_task((problem.id, seconds) for _, _, seconds, _ in asked).get(problem.id, 0)
    tokens = totals_by_task((problem.id, tokens) for _, _, _, tokens in asked).get(problem.id, 0)
    return {
        **_upstream(problem),
        **({"need_reproduce": False} if len(asked) < len(samples) else {}),
        "completion_list": [text for text, _, _, _ in samples],
        "time_taken": seconds,
        "total_tokens": None if tokens is None else int(tokens),
    }


def _upstream(problem: Problem) -> dict[str, str]:
    """The fields of openai_humaneval's row."""
    fields = {field: text for _, field, text in kind_of(problem.task).upstream(problem.task)}
    kept = ("prompt", "canonical_solution", "test", "entry_point")
    return {"task_id": problem.id} | {name: fields[name] for name in kept if name in fields}


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
    return kind_of(task).program(task, sample.answer) if sample.answer.value is not None else ""


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
    with kept_by_problem(samples, whole_program, file) as kept:
        write_list(file, map(kept, problems.values()))
    file.write(b"\n")


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
    head = {"date": now(), "hash": next(iter(problems.values())).dataset_sha256 if problems else ""}
    statuses: list[list[tuple[str, str | None]]] = []
    file.write(encode(head)[:-1] + b',"eval":{')
    with kept_by_problem(_graded(samples), _graded_row, file) as kept:
        for problem in problems.values():
            if rows := kept(problem):
                file.write((b"," if statuses else b"") + encode(problem.id) + b":" + encode(rows))
                statuses.append([(row["base_status"], row["plus_status"]) for row in rows])
    file.write(b'},"pass_at_k":' + encode(_rates(statuses)) + b"}\n")


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


def _rates(tasks: Sequence[Sequence[tuple[str, str | None]]]) -> dict[str, dict[str, float]]:
    """pass@k on the base tests and, where there are plus verdicts, on both, for each k that every task allows."""
    rates = {"base": _pass_at([(len(rows), sum(base == PASS for base, _ in rows)) for rows in tasks])}
    if any(plus is not None for rows in tasks for _, plus in rows):
        rates["plus"] = _pass_at([(len(rows), rows.count((PASS, PASS))) for rows in tasks])
    return rates


def _pass_at(counts: Sequence[tuple[int, int]]) -> dict[str, float]:
    """Of samples and passes of each task."""
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
    with kept_by_problem(samples, lambda sample: sample.answer.value or "", file) as kept:
        ordered = _by_id(problems)
        write_list(file, ({"question_id": problem.id, "code_list": kept(problem)} for problem in ordered))
    file.write(b"\n")


def write_eval_all(samples: Iterable[Exported], problems: Mapping[str, Problem], file: IO[bytes]) -> None:
    """Write problems, answers and verdicts together."""
    with kept_by_problem(_graded(samples), _evaluated_sample, file) as kept:
        found = ((problem, kept(problem)) for problem in _by_id(problems))
        write_list(file, (_evaluated(problem, rows) for problem, rows in found if rows))
    file.write(b"\n")


def write_eval(
    samples: Iterable[Exported], problems: Mapping[str, Problem], file: IO[bytes], scale: Scale = OFFICIAL
) -> None:
    """Write metrics, results and metadata."""
    with kept_by_problem(_graded(samples), _graded_sample, file) as kept:
        shown = [problem for problem in _by_id(problems) if kept(problem)]
        passed = {str(place): [passed for _, passed, _ in kept(each)] for place, each in enumerate(shown)}
        file.write(b"[" + encode(published_metrics(passed, scale)) + b",{")
        for place, problem in enumerate(shown):
            results = [results for results, _, _ in kept(problem)]
            file.write(b'%b"%d":%b' % (b"," if place else b"", place, encode(results)))
        file.write(b"},")
        write_list(file, ([metadata for _, _, metadata in kept(problem)] for problem in shown))
    file.write(b"]\n")


def _graded_sample(sample: Exported) -> tuple[list[Any], bool, str]:
    """Results, whether it passed, and metadata."""
    metadata = json.dumps(published_metadata(sample))
    return published_results(sample), sample.reason is Reason.PASSED, metadata


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


def _graded(samples: Iterable[Exported]) -> Iterator[Exported]:
    return (sample for sample in samples if sample.reason is not None)


def _by_id(problems: Mapping[str, Problem]) -> list[Problem]:
    """As the official benchmark is sorted."""
    return sorted(problems.values(), key=lambda problem: problem.id)


def _evaluated_sample(sample: Exported) -> tuple[str | None, str, bool, str]:
    """Text, code, whether it passed, and metadata."""
    _, passed, metadata = _graded_sample(sample)
    return sample.completion.text, sample.answer.value or "", passed, metadata


def _evaluated(problem: Problem, found: Sequence[tuple[str | None, str, bool, str]]) -> dict[str, Any]:
    task = problem.task
    assert isinstance(task, ContestTask)  # the exporter covers contest problems alone
    texts, codes, graded, metadata = (list(column) for column in zip(*found, strict=True))
    return {
        "question_title": task.title,
        "question_content": task.question,
        "platform": problem.tags["platform"],
        "question_id": problem.id,
        "contest_id": problem.tags["contest_id"],
        "contest_date": datetime.fromisoformat(problem.tags["contest_date"]).isoformat(),
        "starter_code": task.starter_code,
        "difficulty": problem.tags["difficulty"],
        "output_list": texts,
        "code_list": codes,
        "graded_list": graded,
        "pass@1": graded.count(True) / len(graded),
        "metadata": metadata,
    }


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
