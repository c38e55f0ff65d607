"""Truegrade's benchmarks and profiles for EvalScope; needs ``pip install 'truegrade[evalscope]'``.

EvalScope knows what has been imported and has no hook for other packages (modelscope/evalscope 1.14.1,
``evalscope/api/registry.py``). So call its command line through this module, ``python -m
truegrade.apps.integrations.evalscope``, or import `truegrade.apps.integrations.evalscope` before ``run_task``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import msgspec

from truegrade.apps.integrations.reply_grader import Answered, ReplyGrader, chat_messages, open_grader, reply_of
from truegrade.benchmarks import list_benchmarks
from truegrade.benchmarks.base import BenchmarkSpec
from truegrade.files.extras import importing
from truegrade.records import Verdict

with importing("evalscope", "truegrade.apps.integrations.evalscope", "pip install 'truegrade[evalscope]'"):
    from evalscope.api.benchmark import BenchmarkMeta, DefaultDataAdapter
    from evalscope.api.dataset import DatasetDict, DictDataLoader, Sample
    from evalscope.api.evaluator import TaskState
    from evalscope.api.messages import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser
    from evalscope.api.metric import Score
    from evalscope.api.metric.semantics import MetricSelector
    from evalscope.api.model import GenerateConfig, Model
    from evalscope.api.registry import BENCHMARK_REGISTRY, register_benchmark
    from evalscope.constants import Tags

# ----------------------------------------------------------------------------------------------------------------
# Every benchmark as an EvalScope benchmark, ``truegrade_humaneval`` and so on, graded in Truegrade's jail.
# The shape of an adapter: modelscope/evalscope 1.14.1 ``evalscope/benchmarks/humaneval/humaneval_adapter.py`` and
# ``evalscope/api/benchmark/adapters/default_data_adapter.py``.

METRIC = "acc"
_MESSAGES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
_PARAMETERS: dict[str, dict[str, Any]] = {
    "profile": {"type": "str", "description": "Rules: a name of `truegrade list profiles`.", "value": "strict"},
    "prompt": {"type": "str", "description": "One of the profile's prompts; empty for its own.", "value": ""},
    "task_args": {"type": "dict", "description": "Arguments of the benchmark.", "value": {}},
}


class EvalScopeAdapter(DefaultDataAdapter):
    """One benchmark; ``extra_params`` choose profile, prompt and task arguments, ``local_path`` the data."""

    benchmark: ClassVar[str]

    @property
    def grader(self) -> ReplyGrader:
        """Words and grades; opened when first needed."""
        chosen = self.extra_params or {}  # an empty dict from the user replaces all defaults
        data = self.dataset_id if Path(self.dataset_id).exists() else None
        return open_grader(
            self.benchmark,
            chosen.get("profile") or "strict",
            prompt=chosen.get("prompt") or None,
            data=data,
            task_args=chosen.get("task_args"),
        )

    def load(self) -> tuple[DatasetDict, None]:
        """The problems as EvalScope's samples, cut and repeated as the task says."""
        records = [
            {
                "task_id": problem.id,
                "cluster": problem.cluster,
                "messages": chat_messages(problem, prompt),
                "stop": list(prompt.stop),
            }
            for problem, prompt in self.grader.items
        ]
        loader = DictDataLoader(
            dict_list=records,
            sample_fields=self.record_to_sample,
            limit=self.limit,
            repeats=self.repeats,
            shuffle=self.shuffle,
            seed=self.seed,
        )
        return DatasetDict({self.default_subset: loader.load()}), None

    def record_to_sample(self, record: dict[str, Any]) -> Sample:
        """One problem; what grades it stays with the grader."""
        return Sample(
            input=[_MESSAGES[message.role](content=message.content) for message in record["messages"]],
            metadata={name: record[name] for name in ("task_id", "cluster", "stop")} | self.grader.facts,
        )

    def _on_inference(self, model: Model, sample: Sample) -> Any:
        """Ask once, with the stop strings of the prompt's rule."""
        stops = sample.metadata["stop"]
        if not stops:
            return super()._on_inference(model, sample)
        return model.generate(input=sample.input, config=GenerateConfig(stop_seqs=stops))

    def match_score(
        self, original_prediction: str, filtered_prediction: str, reference: str, task_state: TaskState
    ) -> Score:
        """The verdict on one reply."""
        said = task_state.output
        content = said.choices[0].message.content if said.choices else None
        answered = Answered(
            problem_id=task_state.metadata["task_id"],
            sample=int(task_state.sample_id) % self.repeats,
            reply=reply_of(original_prediction, content, stop_reason=said.stop_reason, model=said.model),
        )
        return score_of(self.grader.grade(answered), original_prediction)


def score_of(verdict: Verdict, prediction: str) -> Score:
    """A verdict as EvalScope keeps it in its reviews."""
    return Score(
        value={METRIC: float(verdict.passed)},
        prediction=prediction,
        extracted_prediction=verdict.answer or "",
        explanation=verdict.explanation,
        metadata={"task_id": verdict.problem_id, "verdict": msgspec.to_builtins(verdict)},
        main_score_name=METRIC,
    )


def register_all() -> None:
    """Make every benchmark known to EvalScope as ``truegrade_NAME``; what is known already is left."""
    for spec in list_benchmarks():
        name = registered_name(spec.name)
        if not BENCHMARK_REGISTRY.is_registered(name):
            register_benchmark(_meta(name, spec))(
                type("EvalScopeAdapter", (EvalScopeAdapter,), {"benchmark": spec.name})
            )


def registered_name(benchmark: str) -> str:
    """What EvalScope calls a benchmark: ``truegrade_mbpp_sanitized`` for ``mbpp-sanitized``."""
    return f"truegrade_{benchmark.replace('-', '_')}"


def _meta(name: str, spec: BenchmarkSpec) -> BenchmarkMeta:
    return BenchmarkMeta(
        name=name,
        pretty_name=f"Truegrade {spec.name}",
        tags=[Tags.CODING],
        description=f"{spec.summary} Prompts, extraction and grading by Truegrade; programs run in its sandbox.",
        dataset_id=f"truegrade/{spec.name}",
        metric_list=[METRIC],
        aggregation="mean_and_pass_at_k",
        primary_metric=MetricSelector(name="accuracy", aggregation="pass_at_k", dimensions={"k": 1}),
        eval_split="test",
        extra_params={key: dict(entry) for key, entry in _PARAMETERS.items()},
    )


if __name__ == "__main__":
    from evalscope.cli.cli import run_cmd

    register_all()
    run_cmd()
