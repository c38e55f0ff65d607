"""Builds a graded run of execution prediction and choice on disk; the verdicts say what the marks say."""

from __future__ import annotations

from pathlib import Path

import msgspec
from report_runs import DATASET, House

from truegrade.grading.marks import CHOSE_A, CHOSE_B, CHOSE_MUTANT, CHOSE_ORIGINAL, REVERTED, TYPES_DIFFER
from truegrade.pipeline.summary import summarise_run
from truegrade.records import ChoiceTask, Completion, OutputTask, Pairing, Problem, Reason, Verdict
from truegrade.records.config import GenerationConfig
from truegrade.store import BenchmarkIdentity, Manifest, Run

ITEMS = 8
CASES = 2
SAMPLES = 2


def problems() -> dict[str, Problem]:
    """Originals, mutants, rewritings and pairs in both orders; on the last item the values are equal."""
    found = {}
    for item in range(ITEMS):
        for case in range(CASES):
            values = {"original": "1", "mutant": "1" if item == ITEMS - 1 else "2"}
            values["preserved"] = values["original"]
            for shown, expected in values.items():
                other = {"original": values["mutant"], "mutant": values["original"]}.get(shown)
                place = {"item": str(item), "case": case, "other": other, "mutation": f"{shown}-rule"}
                pairing = Pairing(shown=shown, **place)
                task = OutputTask(program="", function="f", arguments="", expected=expected, pairing=pairing)
                found |= _named(f"{item}/case{case}~{shown}", item, task)
            for order, letter in (("AB", "A"), ("BA", "B")):
                choice = ChoiceTask(
                    programs=("", ""),
                    function="f",
                    arguments="",
                    expected=("1", "2") if letter == "A" else ("2", "1"),
                    original=letter,
                    item=str(item),
                    case=case,
                )
                found |= _named(f"{item}/case{case}~{order}", item, choice)
    return found


def _named(name: str, item: int, task: OutputTask | ChoiceTask) -> dict[str, Problem]:
    return {name: Problem(id=name, benchmark="toy", dataset_sha256=DATASET, cluster=f"question {item}", task=task)}


def judged(name: str, task: OutputTask | ChoiceTask, sample: int, skill: int) -> tuple[Reason, tuple[str, ...]]:
    """What the model of a certain skill made of it: mutants of high items are read as their originals."""
    if isinstance(task, ChoiceTask):
        if task.item == "0" and sample == 1:
            return Reason.NO_ANSWER, ()
        letter = "A" if int(task.item) % 2 else task.original
        chosen = CHOSE_ORIGINAL if letter == task.original else CHOSE_MUTANT
        return Reason.PASSED, (CHOSE_A if letter == "A" else CHOSE_B, chosen)
    if int(task.pairing.item) < skill or task.pairing.shown != "mutant":
        return Reason.PASSED, (TYPES_DIFFER,) if task.pairing.item == "1" else ()
    if sample == 0:
        return Reason.TRUNCATED, ()
    return Reason.WRONG_ANSWER, (REVERTED,)


def build_reasoning_run(path: Path, *, skill: int = 5, model: str = "toy/reader", data: str = DATASET) -> Run:
    """A graded run with its summary; ``skill`` items are understood."""
    asked = problems()
    config = GenerationConfig(model=model, prompt_rule="house@1/default")
    manifest = Manifest(
        created="2026-01-02T03:04:05+00:00",
        benchmark=BenchmarkIdentity(name="toy", dataset_sha256=data, source="toy.jsonl", problems=len(asked)),
        generation=config,
        samples_per_task=SAMPLES,
    )
    run = Run.create_or_resume(path, manifest)
    facts = {"benchmark": "toy", "dataset_sha256": data, "config_sha256": config.sha256}
    with run.append_completions() as completions, run.append_verdicts("house@1") as verdicts:
        for name, problem in asked.items():
            for sample in range(SAMPLES):
                reason, marks = judged(name, problem.task, sample, skill)
                key = facts | {"problem_id": name, "sample": sample}
                cut = reason is Reason.TRUNCATED
                completion = Completion(
                    **key, prompt_sha256="", text="1", model=model, finish_reason="length" if cut else "stop"
                )
                completions.append(completion)
                verdicts.append(
                    Verdict(
                        **key,
                        completion_sha256=completion.sha256,
                        profile="house@1",
                        passed=reason is Reason.PASSED,
                        reason=reason,
                        marks=marks,
                        truncated=cut,
                    )
                )
    run.record_grading("house@1", None)
    run.write("summary.json", msgspec.json.encode(summarise_run(run, asked, [House()])))
    return run
