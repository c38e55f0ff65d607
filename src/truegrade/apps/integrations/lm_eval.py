"""Truegrade's benchmarks and profiles as external tasks of lm-evaluation-harness (``--include_path``).

Nothing here imports ``lm_eval``: the folder that `write_task` writes names functions of this module, and the
harness calls them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from truegrade.apps.integrations.reply_grader import Answered, ReplyGrader, open_grader
from truegrade.errors import UserError
from truegrade.models.base import Reply
from truegrade.pipeline.summary import USUAL_K
from truegrade.records import Problem, Prompt, Verdict
from truegrade.statistics import pass_at_k
from truegrade.store.exporters import TaskExporter
from truegrade.store.manifest import write_atomically

# ------------ What lm-evaluation-harness calls: a filter that gives verdicts, and the metrics of one document.
# A filter sees all replies of a task at once (EleutherAI/lm-evaluation-harness v0.4.13
# ``lm_eval/filters/custom.py``), so grading uses every core; ``process_results`` is called document by document
# and only counts.


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
                " `truegrade export --format lm-eval`"
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


# ----------------------------------------------------------------------------------------------------------------
# Writes a folder of tasks for ``lm_eval --include_path``: a YAML and its documents each, and one ``utils.py``.
# Keys of the YAML: EleutherAI/lm-evaluation-harness v0.4.13 ``lm_eval/config/task.py``. ``unsafe_code`` is left
# out on purpose: programs run in Truegrade's jail and never in the harness.

UTILS = '''"""What the tasks beside this file call; written by `truegrade export`."""

from truegrade.apps.integrations.lm_eval import grade, process_results

__all__ = ["grade", "process_results"]
'''


def write_task(
    folder: Path,
    benchmark: str,
    profile: str = "strict",
    *,
    prompt: str | None = None,
    data: Path | None = None,
    task_args: Mapping[str, str] | None = None,
    repeats: int = 1,
    temperature: float | None = None,
    max_tokens: int = 2048,
) -> str:
    """Add one task to a folder and return its name.

    Args:
        folder: made if it is not there; a task of the same name is replaced.
        benchmark: a name of ``truegrade list benchmarks`` or a path to a benchmark file.
        profile: the rules.
        prompt: one of the profile's prompt variants.
        data: local data file or folder; the harness will read it again, so it must stay.
        task_args: arguments of the benchmark.
        repeats: replies to each document.
        temperature: None for greedy where there is one reply, else 0.8 (arXiv 2107.03374, section 3.3).
        max_tokens: tokens of each.

    Raises:
        UserError: a name or file is at fault, the folder cannot be written, or the harness cannot ask the prompts.
    """
    if benchmark.endswith(".py"):
        benchmark = str(Path(benchmark).expanduser().resolve())
    where = None if data is None else str(data.expanduser().resolve())
    args = dict(task_args or {})
    grader = open_grader(benchmark, profile, prompt=prompt, data=where, task_args=args)
    name = "_".join(part.replace("-", "_") for part in ("truegrade", grader.benchmark.name, grader.profile.name))
    name += f"_{prompt.replace('-', '_')}" if prompt else ""
    identity = GraderName(
        benchmark=benchmark,
        profile=grader.profile.id,
        prompt=prompt,
        data=where,
        task_args=args,
        dataset_sha256=grader.benchmark.dataset_sha256,
    )
    documents = [_document(problem, words, identity) for problem, words in grader.items]
    rows = b"".join(msgspec.json.encode(document) + b"\n" for document in documents)
    generation = {
        "until": list(_stops(grader)),
        "max_gen_toks": max_tokens,
        "temperature": _temperature(temperature, repeats),
        "do_sample": _temperature(temperature, repeats) > 0,
    }
    file = (folder / f"{name}.jsonl").expanduser().resolve()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, rows)
        write_atomically(file.with_name("utils.py"), UTILS.encode())
        write_atomically(file.with_suffix(".yaml"), _yaml(_config(name, file, grader, repeats, generation)))
    except OSError as error:
        raise UserError(
            f"{folder}: cannot be written ({error.strerror or error}); choose another folder"
        ) from None
    return name


EXPORTER = TaskExporter(
    name="lm-eval",
    summary="benchmarks as tasks of lm-evaluation-harness, a folder for its --include_path",
    write=write_task,
    command=lambda folder, names: f"lm_eval run --include_path {folder} --tasks {','.join(names)} --model ...",
)


def _document(problem: Problem, prompt: Prompt, identity: GraderName) -> dict[str, str]:
    """One row. A question stands in ``question``, a text to continue in ``prompt``: our importer of the samples
    that the harness writes tells the two apart by that (`truegrade.store.importers.samples`).
    """
    roles = [message.role for message in prompt.messages]
    if roles not in (["user"], ["system", "user"]):
        raise UserError(
            f"{problem.id}: lm-evaluation-harness asks one question with at most a system message before it, and"
            f" this prompt has the turns {', '.join(roles)}; choose another profile or prompt"
        )
    return {
        "task_id": problem.id,
        "cluster": problem.cluster,
        "system": prompt.messages[0].content if len(roles) > 1 else "",
        _field(prompt): prompt.messages[-1].content,
        "target": "",
        "grader": msgspec.json.encode(identity).decode(),
    }


def _field(prompt: Prompt) -> str:
    return "prompt" if prompt.style == "text" else "question"


def _config(
    name: str, file: Path, grader: ReplyGrader, repeats: int, generation: Mapping[str, Any]
) -> dict[str, Any]:
    """The task's YAML, without its functions."""
    first = grader.items[0][1]
    metrics = [
        {"metric": metric, "aggregation": "mean", "higher_is_better": True} for metric in metric_names(repeats)
    ]
    return {
        "task": name,
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(file)}},
        "test_split": "test",
        "output_type": "generate_until",
        "description": "system",
        "doc_to_text": _field(first),
        "doc_to_target": "target",
        "generation_kwargs": dict(generation),
        "repeats": repeats,
        "num_fewshot": 0,
        "metric_list": metrics,
        "metadata": {"version": 1.0, **grader.facts},
    }


def _temperature(asked: float | None, repeats: int) -> float:
    return asked if asked is not None else float(repeats > 1) * 0.8


def _stops(grader: ReplyGrader) -> tuple[str, ...]:
    """The stop strings of a profile's prompts; a task of the harness has one list for all documents."""
    found = {prompt.stop for _, prompt in grader.items}
    if len(found) > 1:
        raise UserError(
            f"{grader.benchmark.name} under {grader.profile.name}: prompts differ in their stop strings, and a"
            " task of lm-evaluation-harness has one list; choose another profile or prompt"
        )
    return found.pop() if found else ()


def _yaml(config: Mapping[str, Any]) -> bytes:
    """JSON values are YAML; functions are named by a tag that JSON lacks."""
    lines = [f"{key}: {msgspec.json.encode(value).decode()}" for key, value in config.items()]
    functions = [
        "process_results: !function utils.process_results",
        "filter_list:",
        "  - name: verdicts",
        "    filter:",
        "      - function: custom",
        "        filter_fn: !function utils.grade",
    ]
    return "\n".join([*lines, *functions, ""]).encode()
