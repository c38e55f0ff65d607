"""Rows of other tools laid flat, their recorded verdicts, and whether a row asks what the benchmark asks."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from truegrade.files.json_text import convert
from truegrade.records import (
    CasesTask,
    ChoiceTask,
    ContestTask,
    FunctionTask,
    InputTask,
    OracleTask,
    OutputTask,
    Problem,
)
from truegrade.store.importers.execution_reasoning import answers
from truegrade.store.importers.logs import EvalScopeRow, Output, samples_of
from truegrade.store.importers.reading import SourceFile
from truegrade.store.importers.samples import PLUS_SETS, form_of

# ----------------------------------------------------------------------------------------------------------------
# Rows that keep problem, text and verdict at different depths, laid flat: logs of lm-eval, EvalScope and Inspect,
# results of code-reasoning runs.

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
        **_verdicts_by_response(fields, texts if isinstance(texts, list) else []),
    }


def _verdicts_by_response(fields: Mapping[str, Any], texts: list[Any]) -> dict[str, Any]:
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


# -------------------------------------------- Recorded verdicts of a file: the field names that harnesses use.

Kind = Literal["verdict", "acceptance"]


class Flag(msgspec.Struct, frozen=True):
    """One recorded verdict."""

    name: str
    value: bool
    kind: Kind
    """``verdict`` claims that the benchmark's tests passed; ``acceptance`` that a pipeline's own checks did."""
    sample: int | None = None
    """Index of the text it speaks of; None for the text that its row chose."""


FLAGS: Mapping[str, Kind] = MappingProxyType(
    {
        "is_solved": "verdict",
        "passed": "verdict",
        "correct": "verdict",
        "solved": "verdict",
        "result": "verdict",
        "base_status": "verdict",
        "plus_status": "verdict",
        "status": "verdict",
        "report_passed": "verdict",
        "report_result": "verdict",
        "oc_correct": "verdict",
        "mc_correct": "verdict",
        "oc_successes": "verdict",
        "mc_successes": "verdict",
        "all_correct": "verdict",
        "correct_for_chosen_program": "verdict",
        "need_reproduce": "acceptance",
    }
)
"""Field names. ``result`` begins with "passed" or says why not (openai/human-eval@6d43fb9
``human_eval/execution.py``); ``base_status`` and ``plus_status`` are evalplus' "pass", "fail"
or "timeout" on two sets of tests, of which a plus set asks for both; ``status`` says the same in BigCodeBench's
results (bigcode-project/bigcodebench@47eff25 ``bigcodebench/evaluate.py``); ``oc_correct`` and those up to
``correct_for_chosen_program`` are of code-reasoning runs (`truegrade.store.importers.execution_reasoning`);
``need_reproduce`` is false once AgentCoder's own tests pass (huangd1999/AgentCoder@dddd1b9
``src/test_executor_humaneval.py``)."""

REVERSED = frozenset({"need_reproduce"})
"""Flags that are false of a text that is taken."""

LISTS = ("graded_list", "scores", "raw_scored_generations")
"""Fields that hold one verdict per text (LiveCodeBench's and CRUXEval's files), beside those of `FLAGS` where they
hold a list."""


def read_flags(fields: Mapping[str, Any]) -> tuple[Flag, ...]:
    """Every recorded verdict of a row, in the order of `FLAGS`; values that are no verdict are passed over."""
    single = [
        Flag(name, value, kind) for name, kind in FLAGS.items() if (value := _value(name, fields)) is not None
    ]
    listed = [
        Flag(name, value, "verdict", sample)
        for name in (*LISTS, *(name for name, kind in FLAGS.items() if kind == "verdict"))
        if isinstance(fields.get(name), list)
        for sample, item in enumerate(fields[name])
        if (value := _truth(item)) is not None
    ]
    return (*single, *listed)


def speaks_of(flag: Flag, fields: Mapping[str, Any], benchmark: str) -> bool:
    """Whether a row's flag is a verdict on this benchmark's tests, as far as its name tells."""
    if flag.name == "plus_status":
        return benchmark in PLUS_SETS
    both = _truth(fields.get("plus_status")) is not None
    return not (flag.name == "base_status" and both and benchmark in PLUS_SETS)


def _value(name: str, fields: Mapping[str, Any]) -> bool | None:
    """What a field says of the text: accepted or not, passed or not."""
    value = _truth(fields.get(name))
    if value is None or name not in (*REVERSED, "plus_status"):
        return value
    return not value if name in REVERSED else value and _truth(fields.get("base_status")) is not False


def _truth(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        text = value.lower()
        if text in ("passed", "pass"):
            return True
        return False if text.startswith(("fail", "timed out", "timeout")) else None
    return None


# ----------------------------------------------------------------------------------------------------------------
# Does a published row ask the question that the benchmark asks? Its fields against the benchmark's, by hash.

Part = Literal["prompt", "test", "reference"]


class FieldDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A field of a row that is not the benchmark's."""

    problem_id: str
    part: Part
    field: str
    found_sha256: str
    upstream_sha256: str
    only_blanks: bool
    """Nothing but white space differs."""


def differences(fields: Mapping[str, Any], problem: Problem) -> Iterator[FieldDifference]:
    """Compare the fields that a row shares with the benchmark; what it lacks is passed over.

    A prompt that holds the benchmark's whole prompt is a wording around it, not a change of it.
    """
    for part, field, upstream in _upstream(problem):
        found = as_text(fields.get(field))
        if part == "reference" and field == "code" and "test_list" not in fields:
            continue
        if found is None or found == upstream or _says_more(part, found, upstream):
            continue
        yield FieldDifference(
            problem_id=problem.id,
            part=part,
            field=field,
            found_sha256=_sha256(found),
            upstream_sha256=_sha256(upstream),
            only_blanks=found.split() == upstream.split(),
        )


def _upstream(problem: Problem) -> Iterator[tuple[Part, str, str]]:
    """What upstream stores under the names that published files keep."""
    task = problem.task
    if isinstance(task, OutputTask | InputTask):
        yield "prompt", "code", task.program
        return
    if isinstance(task, ContestTask):
        yield "prompt", "question_content", task.question
        return
    if isinstance(task, ChoiceTask):
        yield "prompt", "code", task.programs["AB".index(task.original)]
        return
    if isinstance(task, CasesTask):
        yield "prompt", "buggy", task.buggy
        yield "reference", "correct", task.reference
        return
    yield "prompt", "prompt", task.prompt
    yield "reference", "entry_point", task.entry_point
    yield "reference", "canonical_solution", task.reference.removeprefix(task.prefix)
    if isinstance(task, FunctionTask):
        yield "test", "test", task.tests.removesuffix(f"\ncheck({task.entry_point})")
        yield from _asserts(task)
    elif isinstance(task, OracleTask) and task.shown_tests:
        yield "test", "test_list", "\n".join(task.shown_tests)


def _asserts(task: FunctionTask) -> Iterator[tuple[Part, str, str]]:
    """The fields of MBPP, whose tests are a list of statements."""
    if task.shown_tests:
        yield "test", "test_list", "\n".join(task.shown_tests)
        yield "test", "test_imports", task.setup
        yield "test", "test_setup_code", task.setup
        # Elsewhere `code` is the program that a model wrote; beside the tests it is the data set's own.
        yield "reference", "code", task.reference
        yield "prompt", "text", task.prompt


def as_text(value: Any) -> str | None:
    """A field as one text; a list of statements as lines. None where it holds neither."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "\n".join(value)
    return None


def _says_more(part: Part, found: str, upstream: str) -> bool:
    return part == "prompt" and bool(upstream.strip()) and upstream.strip() in found


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
