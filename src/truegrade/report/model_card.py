"""Results as the Hugging Face Hub takes them: ``model-index`` of a model card, and files of ``.eval_results``.

The fields are those of `huggingface_hub` 2.4: ``eval_results_to_model_index`` (``repocard_data.py``) and
``eval_result_entries_to_yaml`` (``_eval_results.py``), which the tests read the files back with.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from truegrade.errors import UserError
from truegrade.pipeline.summary import ProfileSummary
from truegrade.records import Estimate
from truegrade.report.report_material import ReportMaterial

HUB_DATASETS: Mapping[str, str] = MappingProxyType(
    {
        "humaneval": "openai/openai_humaneval",
        "mbpp": "google-research-datasets/mbpp",
        "humanevalplus": "evalplus/humanevalplus",
        "mbppplus": "evalplus/mbppplus",
        "cruxeval": "cruxeval-org/cruxeval",
        "livecodebench": "livecodebench/code_generation_lite",
    }
)
"""Benchmark -> the data set's name on the Hub."""
_SOURCE = {"name": "Truegrade", "url": "https://github.com/truegrade/truegrade"}


def model_index(material: ReportMaterial) -> Iterator[tuple[str, bytes]]:
    """``model-index.yaml``: the block for the front matter of a model card, every estimate under every profile."""
    summary, benchmark = material.summary, material.manifest.benchmark
    asked = f" ({summary.tasks} of {benchmark.problems} problems)" if summary.tasks < benchmark.problems else ""
    result = {
        "task": {"type": "text-generation", "name": "Code generation"},
        "dataset": {
            "name": f"{benchmark.label}{asked}",
            "type": HUB_DATASETS.get(benchmark.label, benchmark.label),
            "args": {**benchmark.args, "sha256": benchmark.dataset_sha256, "problems": summary.tasks},
        },
        "metrics": [_metric(profile, each) for profile in summary.profiles for each in profile.estimates],
        "source": _SOURCE,
    }
    content = {"model-index": [{"name": summary.model.rpartition("/")[2] or summary.model, "results": [result]}]}
    yield "model-index.yaml", as_yaml(content).encode()


def eval_results(material: ReportMaterial) -> Iterator[tuple[str, bytes]]:
    """``.eval_results/BENCHMARK-PROFILE.yaml``, one file a profile: its first estimate in percent.

    Raises:
        UserError: the Hub has no data set of the benchmark, or the run covers a part of it.
    """
    summary, benchmark = material.summary, material.manifest.benchmark
    if benchmark.label not in HUB_DATASETS:
        known = ", ".join(HUB_DATASETS)
        raise UserError(
            f".eval_results files are of data sets of the Hub ({known}); for {benchmark.label} use model-index"
        )
    covered = min(summary.tasks, *(profile.estimates[0].tasks for profile in summary.profiles))
    if covered < benchmark.problems:
        raise UserError(
            f".eval_results files are of whole benchmarks, and this run covers {covered} of the"
            f" {benchmark.problems} problems of {benchmark.label}; use model-index"
        )
    for profile in summary.profiles:
        headline = profile.estimates[0]
        entry = {
            "dataset": {"id": HUB_DATASETS[benchmark.label], "task_id": "default"},
            "value": round(100 * headline.value, 2),
            "date": material.manifest.profiles.get(profile.profile, material.manifest.created),
            "source": _SOURCE,
            "notes": f"{headline.metric} in percent under {profile.profile}{_bounds(headline)};"
            f" {headline.samples} samples of {headline.tasks} problems",
        }
        name = f"{benchmark.label}-{profile.profile.partition('@')[0]}.yaml"
        yield f".eval_results/{name}", as_yaml([entry]).encode()


def _metric(profile: ProfileSummary, estimate: Estimate) -> dict[str, Any]:
    bounds = {} if estimate.low is None or estimate.high is None else {"low": estimate.low, "high": estimate.high}
    return {
        "type": estimate.metric,
        "value": estimate.value,
        "name": f"{estimate.metric} ({profile.profile})",
        "config": profile.profile,
        "args": {
            **bounds,
            "confidence": estimate.confidence,
            "method": estimate.method,
            "samples": estimate.samples,
            "problems": estimate.tasks,
        },
    }


def _bounds(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f", {estimate.confidence:.0%} confidence interval {100 * estimate.low:.1f} to {100 * estimate.high:.1f}"


def as_yaml(value: Any, depth: int = 0) -> str:
    """Mappings and lists as indented YAML; texts in double quotes, so that none is read as something else."""
    space = "  " * depth
    if isinstance(value, Mapping) and value:
        return "".join(f"{space}{_scalar(name)}:{_below(each, depth)}" for name, each in value.items())
    if isinstance(value, list) and value:
        return "".join(f"{space}-{_below(each, depth)}" for each in value)
    return f"{space}{_scalar(value)}\n"


def _below(value: Any, depth: int) -> str:
    nested = isinstance(value, Mapping | list) and value
    return f"\n{as_yaml(value, depth + 1)}" if nested else f" {_scalar(value)}\n"


def _scalar(value: Any) -> str:
    """As JSON writes it, but for what YAML 1.1 reads otherwise: pairs of surrogates, ``1e-05`` without a dot."""
    if isinstance(value, str):
        return f'"{"".join(map(_character, value))}"'
    text = json.dumps(value)
    return text.replace("e", ".0e") if isinstance(value, float) and "e" in text and "." not in text else text


def _character(one: str) -> str:
    return json.dumps(one)[1:-1] if ord(one) < 0x10000 else f"\\U{ord(one):08x}"
