"""``.eval``: the log of Inspect AI, which `inspect view`, ``read_eval_log`` and the tools around them read.

A zip of JSON documents. Names and fields: UKGovernmentBEIS/inspect_ai 0.3.285 ``log/_log.py`` and
``log/_recorders/eval.py``; Inspect compresses with zstandard and reads deflate as well, which Python has.
"""

from __future__ import annotations

import shutil
import string
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from statistics import fmean
from typing import IO, Any

import msgspec

from truegrade.files.json_text import encode
from truegrade.records import Completion, Problem, sha256_json
from truegrade.statistics.intervals import cluster_variance
from truegrade.store.exporters.harness_files import Exported, Exporter, file_beside
from truegrade.store.importers.logs import FORM
from truegrade.store.manifest import Manifest, now

# --------------------------------- The head of an Inspect log: which task, data, model and settings a run had.
# Fields: UKGovernmentBEIS/inspect_ai 0.3.285 ``log/_log.py`` (EvalSpec, EvalPlan) and
# ``model/_generate_config.py``.


SCORE = "verdict"
"""Name of the score; that of the scorer in our tasks for Inspect AI."""

_IMPORTED = "none/imported"
_ALPHABET = string.digits + string.ascii_letters
_ID_LENGTH = 22
_SAMPLING = {"stop": "stop_seqs"}
"""Settings that Inspect calls otherwise."""


def specification(sample: Exported, problems: Mapping[str, Problem]) -> dict[str, Any]:
    """The log's ``eval``; equal for equal runs, so that exporting twice gives the same identifiers.

    Args:
        sample: any of the run.
        problems: all of them.
    """
    run = sample.run
    benchmark = sample.problem.benchmark
    profile = sample.verdict.profile if sample.verdict else ""
    identity = sha256_json([sample.completion.config_sha256, sample.problem.dataset_sha256, profile])
    return {
        "eval_id": identifier("eval", identity),
        "run_id": identifier("run", identity),
        "task_id": identifier("task", identity),
        "created": run.created if run else now(),
        "task": f"truegrade/{benchmark}",
        "task_version": profile,
        "task_args": {"profile": profile.partition("@")[0], **(run.benchmark.args if run else {})},
        "dataset": {
            "name": benchmark,
            "location": run.benchmark.source if run else None,
            "samples": len(problems),
            "sample_ids": list(problems),
            "shuffled": False,
        },
        "model": model_name(sample),
        "model_base_url": run.generation.base_url if run and run.generation else None,
        "model_generate_config": _sampling(run),
        "config": {"epochs": run.samples_per_task if run else 1},
        "packages": {"truegrade": run.environment["truegrade"]} if run and "truegrade" in run.environment else {},
        "metadata": {"dataset_sha256": sample.problem.dataset_sha256, "profile": profile},
        "scorers": [{"name": SCORE}],
    }


def plan(sample: Exported) -> dict[str, Any]:
    """The log's ``plan``: one step, asking."""
    rule = sample.run.generation.prompt_rule if sample.run and sample.run.generation else "imported"
    return {
        "name": "plan",
        "steps": [{"solver": "generate", "params": {"prompt_rule": rule}}],
        "config": _sampling(sample.run),
    }


def model_name(sample: Exported) -> str:
    """``provider/name`` as asked for; of an imported run, that of its reply."""
    generation = sample.run.generation if sample.run else None
    return generation.model if generation else sample.completion.model or _IMPORTED


def identifier(kind: str, identity: str) -> str:
    """22 letters and digits, as Inspect's identifiers are, made of a hash."""
    number = int(sha256_json([kind, identity]), 16)
    letters = []
    for _ in range(_ID_LENGTH):
        number, digit = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[digit])
    return "".join(letters)


def _sampling(run: Manifest | None) -> dict[str, Any]:
    """Sampling parameters that were set, under Inspect's names."""
    if run is None or run.generation is None:
        return {}
    sampling = run.generation.sampling
    given = msgspec.to_builtins(sampling)
    written = {_SAMPLING.get(name, name): value for name, value in given.items() if value not in (None, ())}
    if (penalty := written.pop("repetition_penalty", None)) is not None:
        written["extra_body"] = {"repetition_penalty": penalty}  # Inspect refuses what it has no field for
    return written


LOG_VERSION = 2
_STOPS = {"stop": "stop", "length": "max_tokens", "max_tokens": "max_tokens", "content_filter": "content_filter"}


def write(samples: Iterable[Exported], problems: Mapping[str, Problem], file: IO[bytes]) -> None:
    """Write the log: start, one document a sample, then what sums them up; one sample is held at a time."""
    passed: dict[str, list[bool]] = defaultdict(list)
    start: dict[str, Any] = {}
    answered = 0
    with file_beside(file) as summaries, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for sample in samples:
            if not start:
                start = {"version": LOG_VERSION, "eval": specification(sample, problems), "plan": plan(sample)}
                _add(archive, "_journal/start.json", start)
            document = _sample(sample)
            _add(archive, f"samples/{document['id']}_epoch_{document['epoch']}.json", document)
            summaries.write((b"," if answered else b"[") + encode(_summary(document)))
            answered += 1
            if sample.verdict is not None:
                passed[sample.problem.id].append(sample.verdict.passed)
        epochs = start["eval"]["config"]["epochs"] if start else 1
        scores = {problem: fmean(row) for problem, row in passed.items()}
        summaries.write(b"]" if answered else b"[]")
        _add_file(archive, "summaries.json", summaries)
        _add(archive, "reductions.json", [_reduction(scores)])
        _add(archive, "header.json", {**start, **_outcome(scores, problems, answered, epochs)})


def _add(archive: zipfile.ZipFile, name: str, document: Any) -> None:
    archive.writestr(name, encode(document))


def _add_file(archive: zipfile.ZipFile, name: str, content: IO[bytes]) -> None:
    """What was written to a file, as `_add` writes a document."""
    content.seek(0)
    with archive.open(name, "w", force_zip64=True) as target:
        shutil.copyfileobj(content, target)


def _sample(sample: Exported) -> dict[str, Any]:
    """One reply with what was asked and the verdict on it."""
    completion, problem = sample.completion, sample.problem
    asked = [_message(turn.role, turn.content) for turn in (sample.prompt.messages if sample.prompt else ())]
    reply = _message("assistant", _content(completion)) | {"source": "generate", "model": completion.model}
    usage = {model_name(sample): _usage(completion)} if completion.usage else {}
    return {
        "id": problem.id,
        "epoch": completion.sample + 1,
        "input": asked or "",
        "target": "",
        "messages": [*asked, reply],
        "output": {
            "model": completion.model,
            "choices": [{"message": reply, "stop_reason": _STOPS.get(completion.finish_reason or "", "unknown")}],
            "completion": completion.text or "",
            "usage": _usage(completion),
            "time": completion.latency_s,
        },
        "scores": _scores(sample),
        "metadata": {
            "cluster": problem.cluster,
            "benchmark": problem.benchmark,
            FORM: completion.form,
            **problem.tags,
        },
        "store": {},
        "events": [],
        "model_usage": usage,
        "total_time": completion.latency_s,
        "uuid": identifier("sample", sha256_json([completion.config_sha256, problem.id, completion.sample])),
    }


def _message(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


def _content(completion: Completion) -> str | list[dict[str, str]]:
    """The reply; in parts where the service delivered thinking apart from it."""
    text = completion.text or ""
    if completion.reasoning is None:
        return text
    return [{"type": "reasoning", "reasoning": completion.reasoning}, {"type": "text", "text": text}]


def _usage(completion: Completion) -> dict[str, Any] | None:
    usage = completion.usage
    if usage is None:
        return None
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
    }


def _scores(sample: Exported) -> dict[str, Any]:
    """The verdict as Inspect shows a score; a sample without one has none."""
    verdict = sample.verdict
    if verdict is None:
        return {}
    score = {
        "value": "C" if verdict.passed else "I",
        "answer": verdict.answer,
        "explanation": verdict.explanation,
        "metadata": {"verdict": msgspec.to_builtins(verdict)},
    }
    return {SCORE: score}


def _summary(document: Mapping[str, Any]) -> dict[str, Any]:
    """What lists show of a sample: all but messages, output and the score's metadata."""
    kept = ("id", "epoch", "input", "target", "metadata", "model_usage", "total_time", "uuid")
    scores = {
        name: {key: value for key, value in score.items() if key != "metadata"}
        for name, score in document["scores"].items()
    }
    return {
        **{key: document[key] for key in kept},
        "scores": scores,
        "message_count": len(document["messages"]),
        "completed": True,
    }


def _reduction(scores: Mapping[str, float]) -> dict[str, Any]:
    rows = [{"sample_id": problem, "value": score} for problem, score in scores.items()]
    return {"scorer": SCORE, "reducer": "mean", "samples": rows}


def _outcome(
    scores: Mapping[str, float], problems: Mapping[str, Problem], answered: int, epochs: int
) -> dict[str, Any]:
    """Status, metrics and statistics; a run with samples that were never answered is shown as cancelled."""
    wanted = len(problems) * epochs
    metrics = _metrics(list(scores.values()), [problems[problem].cluster for problem in scores])
    score = {
        "name": SCORE,
        "scorer": SCORE,
        "reducer": "mean",
        "scored_samples": len(scores),
        "metrics": {name: {"name": name, "value": value} for name, value in metrics.items()},
    }
    return {
        "status": "success" if answered >= wanted else "cancelled",
        "results": {"total_samples": wanted, "completed_samples": answered, "scores": [score]},
        "stats": {},
    }


def _metrics(scores: Sequence[float], clusters: Sequence[str]) -> dict[str, float]:
    """Mean over tasks and its clustered standard error, by the formula of Inspect's ``stderr(cluster=…)``."""
    if not scores:
        return {}
    variance = cluster_variance(scores, [1.0] * len(scores), clusters)
    return {"accuracy": fmean(scores), "stderr": sqrt(variance or 0.0)}


EXPORTER = Exporter(
    name="inspect",
    summary="a log of Inspect AI, for inspect view",
    file="inspect.eval",
    covers=(),
    verdicts=True,
    write=write,
)
