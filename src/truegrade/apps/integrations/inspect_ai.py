"""Truegrade's benchmarks and profiles as tasks of Inspect AI; needs ``pip install 'truegrade[inspect]'``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from anyio import to_thread

from truegrade.apps.integrations.reply_grader import Answered, chat_messages, open_grader, reply_of
from truegrade.benchmarks import BENCHMARKS
from truegrade.files.extras import importing
from truegrade.records import Problem, Prompt, Reason, Verdict

with importing("inspect_ai", "truegrade.apps.integrations.inspect_ai", "pip install 'truegrade[inspect]'"):
    from inspect_ai import Task, task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser
    from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, accuracy, scorer, stderr
    from inspect_ai.solver import Generate, Solver, TaskState, solver

# -------------------------------------- Inspect's scorer: the verdict of a profile, given in Truegrade's jail.


@scorer(metrics=[accuracy(), stderr(cluster="cluster")])
def verdict(
    benchmark: str,
    profile: str = "strict",
    prompt: str | None = None,
    data: str | None = None,
    task_args: Mapping[str, Any] | None = None,
) -> Scorer:
    """Right or wrong as `truegrade grade` says; the whole verdict is in the score's metadata.

    Args:
        benchmark: as for `truegrade.apps.integrations.reply_grader.open_grader`, like all the others.
        profile: the rules.
        prompt: the variant that was asked.
        data: local data file or folder.
        task_args: arguments of the benchmark.
    """
    grader = open_grader(benchmark, profile, prompt=prompt, data=data, task_args=task_args)

    async def score(state: TaskState, target: Target) -> Score:
        said = state.output
        content = said.choices[0].message.content if said.choices else None
        reply = reply_of(said.completion, content, stop_reason=said.stop_reason, model=said.model)
        answered = Answered(problem_id=str(state.sample_id), sample=state.epoch - 1, reply=reply)
        return score_of(await to_thread.run_sync(grader.grade, answered))

    return score


def score_of(verdict: Verdict) -> Score:
    """A verdict as Inspect shows it; a fault of the grader says so and counts as it does in a run."""
    return Score(
        value=CORRECT if verdict.passed else INCORRECT,
        answer=verdict.answer,
        explanation=verdict.explanation,
        reason="scoring_failed" if verdict.reason is Reason.GRADER_ERROR else None,
        metadata={"verdict": msgspec.to_builtins(verdict)},
    )


# ----------------- Every benchmark as an Inspect task: ``inspect eval truegrade/humaneval -T profile=strict``.
# Inspect imports this module through the entry point ``inspect_ai`` (UKGovernmentBEIS/inspect_ai@0.3.285,
# ``_util/entrypoints.py``); reading a data set waits until its task is run.

_MESSAGES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}


def make_task(
    benchmark: str, profile: str = "strict", prompt: str | None = None, data: str | None = None, **task_args: Any
) -> Any:
    """A benchmark under one profile: its words, its extraction, its grading in Truegrade's jail.

    Args:
        benchmark: a name of ``truegrade list benchmarks`` or a path to a benchmark file.
        profile: a name of ``truegrade list profiles``.
        prompt: one of the profile's prompt variants.
        data: local data file or folder.
        task_args: arguments of the benchmark.

    Raises:
        UserError: a name, file or argument is at fault, or the profile words a text to continue.
    """
    grader = open_grader(benchmark, profile, prompt=prompt, data=data, task_args=task_args)
    samples = [_sample(problem, words) for problem, words in grader.items]
    return Task(
        dataset=MemoryDataset(samples, name=grader.benchmark.name, location=grader.benchmark.source),
        solver=ask(),
        scorer=verdict(benchmark, profile, prompt, data, task_args),
        version=grader.profile.id,
        metadata=grader.facts,
    )


@solver
def ask() -> Solver:
    """Generate once, with the stop strings of the prompt's rule."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        stops = state.metadata["stop"]
        return await (generate(state, stop_seqs=stops) if stops else generate(state))

    return solve


def _sample(problem: Problem, prompt: Prompt) -> Sample:
    return Sample(
        input=[_MESSAGES[message.role](content=message.content) for message in chat_messages(problem, prompt)],
        id=problem.id,
        metadata={"cluster": problem.cluster, "stop": list(prompt.stop), **problem.tags},
    )


def _maker(benchmark: str) -> Callable[..., Any]:
    """The function that Inspect calls for one benchmark; its parameters are the task's ``-T`` arguments."""

    def make(profile: str = "strict", prompt: str | None = None, data: str | None = None, **task_args: Any) -> Any:
        return make_task(benchmark, profile, prompt, data, **task_args)

    return make


for _name in BENCHMARKS:
    task(name=_name)(_maker(_name))
