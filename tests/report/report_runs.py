"""Builds small real runs on disk, with the store's own functions, for the tests of the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import msgspec

from truegrade.pipeline.summary import summarise_run
from truegrade.profiles import Profile
from truegrade.records import (
    Attempt,
    Completion,
    FunctionTask,
    Message,
    Problem,
    Prompt,
    Reason,
    Usage,
    Verdict,
)
from truegrade.records.config import GenerationConfig, Sampling
from truegrade.store import BenchmarkIdentity, Manifest, Run

DATASET = "d" * 64
REASONS = (Reason.PASSED, Reason.PASSED, Reason.WRONG_ANSWER, Reason.NO_CODE, Reason.TIME_LIMIT, Reason.TRUNCATED)


class House(Profile):
    """A profile that is in no registry; only its name and its counting matter here."""

    name: ClassVar[str] = "house"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "counts what it is told"
    covers: ClassVar[tuple[str, ...]] = ("toy",)
    rules = ()

    def render_prompt(self, problem, variant=None, examples=None):
        raise NotImplementedError

    def extract(self, problem, completion):
        raise NotImplementedError

    def judgement(self, problem, answer, executor):
        raise NotImplementedError


class Lenient(House):
    """A second one."""

    name: ClassVar[str] = "lenient"


def task_id(number: int) -> str:
    return f"Toy/{number}"


def outcome(profile: Profile, task: int, sample: int) -> Reason:
    """Deterministic; `Lenient` accepts what `House` calls wrong in every third task."""
    reason = REASONS[(task * 7 + sample * (1 + task % 2)) % len(REASONS)]
    if isinstance(profile, Lenient) and reason is Reason.WRONG_ANSWER and task % 3 == 0:
        return Reason.PASSED
    return reason


def build_run(
    path: Path,
    *,
    tasks: int = 12,
    samples: int = 5,
    profiles: Sequence[Profile] = (House(),),
    reply: str = "```python\ndef f(x):\n    return x + 1\n```",
    detail: str = "`assert f(1) == 3` failed; the program returned 2",
    model: str = "toy/parrot",
    reasoning: str | None = None,
    excluded: dict[str, str] | None = None,
    unanswered: int = 0,
) -> Run:
    """A graded run with its summary; the last ``unanswered`` tasks have no reply to sample 0."""
    problems = {task_id(number): _problem(number) for number in range(tasks)}
    config = GenerationConfig(
        model=model,
        prompt_rule="house@1/default",
        sampling=Sampling(temperature=0.2, max_tokens=512, seed=7),
    )
    manifest = Manifest(
        created="2026-01-02T03:04:05+00:00",
        benchmark=BenchmarkIdentity(name="toy", dataset_sha256=DATASET, source="toy.jsonl", problems=tasks + 3),
        generation=config,
        samples_per_task=samples,
        excluded=excluded or {},
        environment={"truegrade": "0.1.0", "python": "3.12.1", "platform": "Linux"},
    )
    run = Run.create_or_resume(path, manifest)
    prompt = Prompt(messages=(Message(role="user", content="Add one. <b>Really</b>."),), source="house")
    run.add_prompts((problem, prompt) for problem in problems)
    run.update(prompts_sha256="b" * 64)
    keys = [(number, sample) for number in range(tasks) for sample in range(samples)]
    missing = {(number, 0) for number in range(tasks - unanswered, tasks)}
    with run.append_completions() as journal:
        for number, sample in keys:
            text = None if (number, sample) in missing else reply
            journal.append(_completion(number, sample, config, prompt, text, reasoning))
    for profile in profiles:
        with run.append_verdicts(profile.id) as verdicts:
            for number, sample in keys:
                if (number, sample) not in missing:
                    verdicts.append(_verdict(profile, number, sample, config, reply, detail))
        run.record_grading(profile.id, 3)
    summary = summarise_run(run, problems, profiles)
    run.write("summary.json", msgspec.json.encode(summary))
    return run


def _problem(number: int) -> Problem:
    task = FunctionTask(prompt="Add one.", entry_point="f", tests="assert f(1) == 2", reference="def f(x): ...")
    name = task_id(number)
    return Problem(id=name, benchmark="toy", dataset_sha256=DATASET, cluster=name, task=task)


def _completion(
    number: int, sample: int, config: GenerationConfig, prompt: Prompt, text: str | None, reasoning: str | None
) -> Completion:
    answered = text is not None
    return Completion(
        benchmark="toy",
        dataset_sha256=DATASET,
        problem_id=task_id(number),
        sample=sample,
        config_sha256=config.sha256,
        prompt_sha256=prompt.sha256,
        text=text,
        reasoning=reasoning,
        finish_reason="stop" if answered else None,
        usage=Usage(input_tokens=100 + number, output_tokens=50 + sample) if answered else None,
        latency_s=0.5 + sample if answered else None,
        model=config.model,
        seed=7 + sample,
        attempts=(Attempt(outcome="ok" if answered else "error", latency_s=0.5),),
        cost_usd=0.00005 if answered else None,
    )


def _verdict(
    profile: Profile, number: int, sample: int, config: GenerationConfig, reply: str, detail: str
) -> Verdict:
    reason = outcome(profile, number, sample)
    passed = reason is Reason.PASSED
    return Verdict(
        benchmark="toy",
        dataset_sha256=DATASET,
        problem_id=task_id(number),
        sample=sample,
        config_sha256=config.sha256,
        completion_sha256="c" * 64,
        profile=profile.id,
        passed=passed,
        reason=reason,
        detail="" if passed else detail,
        answer=None if reason in (Reason.NO_CODE, Reason.TRUNCATED) else reply,
        found="fence:entry_point",
        cpu_s=0.004,
        wall_s=0.01,
        time_sensitive=number == 1,
        truncated=reason is Reason.TRUNCATED,
        level=3,
    )
