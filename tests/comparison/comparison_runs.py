"""Builds small graded runs on disk whose verdicts a test chooses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from report_runs import DATASET, House, Lenient

from truegrade.pipeline.summary import summarise_run
from truegrade.profiles import Profile
from truegrade.records import Completion, FunctionTask, Message, Problem, Prompt, Reason, Verdict
from truegrade.records.config import GenerationConfig, Sampling
from truegrade.store import BenchmarkIdentity, Manifest, Run


def task(number: int) -> str:
    return f"Toy/{number:02}"


def build(
    path: Path,
    passes: Sequence[Sequence[bool] | None],
    *,
    model: str = "toy/parrot",
    lenient: Sequence[Sequence[bool]] | None = None,
    dataset: str = DATASET,
    rule: str | None = "house@1/default",
    profile: type[Profile] = House,
    selected: Sequence[int] | None = None,
    temperature: float = 0.2,
    clusters: Mapping[int, str] | None = None,
    prompt: str = "Add one. <b>Really</b>.",
    reply: str = "def f(x):\n    return x + 1",
) -> Run:
    """A run whose sample s of task t passes as ``passes[t][s]`` says; None for a task without a reply.

    ``lenient`` are the same replies' verdicts under a second profile.
    """
    samples = max(len(row) for row in passes if row is not None)
    chosen = range(len(passes)) if selected is None else selected
    config = GenerationConfig(model=model, prompt_rule=rule or "", sampling=Sampling(temperature=temperature))
    manifest = Manifest(
        created="2026-01-02T03:04:05+00:00",
        benchmark=BenchmarkIdentity(name="toy", dataset_sha256=dataset, source="toy.jsonl", problems=len(passes)),
        generation=config if rule else None,
        imported_from=None if rule else "samples.jsonl",
        samples_per_task=samples,
        selected=None if selected is None else tuple(task(number) for number in selected),
    )
    run = Run.create_or_resume(path, manifest)
    asked = Prompt(messages=(Message(role="user", content=prompt),), source="house")
    run.add_prompts((task(number), asked) for number in chosen)
    verdicts = {profile: passes, **({Lenient: lenient} if lenient is not None else {})}
    with run.append_completions() as journal:
        for number in chosen:
            for sample in range(len(passes[number] or ())):
                text = f"{reply}  # {path.name} {number}"
                journal.append(_completion(number, sample, config, asked, dataset, text))
    for grading, table in verdicts.items():
        with run.append_verdicts(grading().id) as journal:
            for number in chosen:
                for sample, passed in enumerate(table[number] or ()):
                    journal.append(_verdict(grading().id, number, sample, config, dataset, passed))
        run.record_grading(grading().id, 3)
    problems = {task(number): _problem(number, dataset, (clusters or {}).get(number)) for number in chosen}
    summary = summarise_run(run, problems, [grading() for grading in verdicts])
    run.write("summary.json", msgspec.json.encode(summary))
    return run


def _problem(number: int, dataset: str, cluster: str | None) -> Problem:
    content = FunctionTask(prompt="Add one.", entry_point="f", tests="assert f(1) == 2", reference="def f(x): ...")
    name = task(number)
    return Problem(id=name, benchmark="toy", dataset_sha256=dataset, cluster=cluster or name, task=content)


def _completion(number, sample, config, prompt, dataset, text) -> Completion:
    return Completion(
        benchmark="toy",
        dataset_sha256=dataset,
        problem_id=task(number),
        sample=sample,
        config_sha256=config.sha256,
        prompt_sha256=prompt.sha256,
        text=text,
        finish_reason="stop",
        model=config.model,
    )


def _verdict(profile, number, sample, config, dataset, passed) -> Verdict:
    return Verdict(
        benchmark="toy",
        dataset_sha256=dataset,
        problem_id=task(number),
        sample=sample,
        config_sha256=config.sha256,
        completion_sha256="c" * 64,
        profile=profile,
        passed=passed,
        reason=Reason.PASSED if passed else Reason.WRONG_ANSWER,
        detail="" if passed else "`assert f(1) == 2` failed; the program returned 3",
        answer="def f(x):\n    return x + 1",
        level=3,
    )


def single(pattern: str) -> list[list[bool] | None]:
    """One sample a task: ``1`` passes, ``0`` fails, ``-`` has no reply."""
    return [None if mark == "-" else [mark == "1"] for mark in pattern]
