"""Rows that keep problem, text and verdict at different depths, laid flat: logs of lm-eval, EvalScope and Inspect,
results of code-reasoning runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec

from truegrade.files.json_text import convert
from truegrade.store.importers.execution_reasoning import answers
from truegrade.store.importers.logs import EvalScopeRow, Output, samples_of
from truegrade.store.importers.reading import SourceFile
from truegrade.store.importers.samples import form_of

NESTING = ("doc_id", "index")
"""Fields that such rows begin with."""

_MEANS = ("pass@1", "pass_at_1")
"""Metrics of lm-eval's code tasks that are the share of right responses
(EleutherAI/lm-evaluation-harness@4e7e0d47f ``lm_eval/tasks/humaneval/utils.py``, ``tasks/mbpp/utils.py``)."""


def unnest(fields: dict[str, Any]) -> dict[str, Any]:
    """The row with its id, its texts and its verdict under the names that flat files use; others as they are."""
    if isinstance(fields.get("doc"), dict) and "resps" in fields:
        return _lm_eval(fields)
    if "index" in fields and fields.keys() & {"model_output", "sample_score"}:
        return _evalscope(fields)
    return fields


def _lm_eval(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Document, responses, and the verdict on each where the metric tells it."""
    doc = fields["doc"]
    prompt = doc.get("prompt")
    form = form_of(fields.get("arguments"), prompt if isinstance(prompt, str) else "")
    texts = (
        [text for request in fields["resps"] for text in request] if _nested(fields["resps"]) else fields["resps"]
    )
    return {
        **doc,
        "completion" if form == "completion" else "reply": texts,
        **_judged(fields, texts if isinstance(texts, list) else []),
    }


def _judged(fields: Mapping[str, Any], texts: list[Any]) -> dict[str, Any]:
    """The verdict on each response: the only metric of a single one, or a mean that is 1 or 0 over several."""
    named = fields.get("metrics")
    metrics = (
        {name: fields.get(name) for name in named if isinstance(name, str)} if isinstance(named, list) else {}
    )
    means = [metrics[name] for name in _MEANS if name in metrics]
    if len(texts) == 1 == len(metrics):
        means = [*metrics.values()]
    verdict = next((value for value in means if value in (0, 1)), None)
    return {} if verdict is None else {"passed": [bool(verdict)] * len(texts)}


def _nested(resps: Any) -> bool:
    return isinstance(resps, list) and all(isinstance(request, list) for request in resps)


def _evalscope(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Reply and, in a review, its accuracy. A row of another shape stays as it is, and is refused for that."""
    try:
        row = convert(fields, EvalScopeRow)
    except msgspec.ValidationError:
        return dict(fields)
    score = row.sample_score.score if row.sample_score else None
    passed = _main_value(score.value or {}, fields["sample_score"]["score"]) if score else None
    return {
        **({} if row.task_id is None else {"task_id": row.task_id}),
        **({} if row.question is None else {"question": row.question}),
        "reply": row.text,
        "model": row.model or None,
        "finish_reason": row.finish_reason,
        **({"passed": bool(passed)} if passed in (0, 1) else {}),
    }


def _main_value(values: Mapping[str, Any], score: Mapping[str, Any]) -> Any:
    """The score that EvalScope calls the main one, by its name, else the first
    (modelscope/evalscope@0db6d7f ``evalscope/api/metric/scorer.py``, ``main_value``).
    """
    name = str(score.get("main_score_name"))
    return values[name] if name in values else next(iter(values.values()), None)


def inspect_rows(source: SourceFile) -> Iterator[tuple[str, dict[str, Any]]]:
    """The samples of a log of Inspect, each with its place in it; the prompt is all that was asked."""
    for place, sample in samples_of(source):
        passed, output = sample.passed, sample.output or Output()
        yield (
            place,
            {
                "task_id": sample.id,
                "sample": sample.epoch - 1,
                "text": output.text,
                "form": sample.form,
                "prompt": sample.question,
                "model": output.model or None,
                "finish_reason": output.finish_reason,
                **({} if passed is None else {"passed": passed}),
            },
        )


def code_reasoning_rows(source: SourceFile, known: Collection[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The replies of a code-reasoning run, each with the place of its record and the verdict recorded of it."""
    for answer in answers(source, known):
        fields = {"task_id": answer.problem_id, "response": answer.text, "model": answer.model}
        yield answer.place, {**fields, **dict([answer.verdict] if answer.verdict else [])}
