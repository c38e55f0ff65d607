"""The first stage: the prompt of every selected problem is rendered, and what a prompt gives away is left out."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from truegrade.benchmarks.base import Benchmark
from truegrade.pipeline.cautions import Caution, caution
from truegrade.records import Estimate, FunctionTask, OutputTask, Problem, Prompt
from truegrade.statistics import TaskTally, estimate


class PromptSet(msgspec.Struct, frozen=True):
    """The problems of a run with their prompts, and those that a prompt gives away."""

    items: list[tuple[Problem, Prompt]]
    excluded: dict[str, str]

    @property
    def problems(self) -> dict[str, Problem]:
        """The problems that are asked, by id."""
        return {problem.id: problem for problem, _ in self.items}


class PromptRenderer(Protocol):
    """Renders prompts: a profile, or an agent with prompts of its own."""

    @property
    def scores_shots(self) -> Sequence[str]:
        """Benchmarks whose problems count although a prompt shows them solved."""

    def render_prompt(self, problem: Problem, variant: str | None, examples: Mapping[str, Problem]) -> Prompt:
        """See `truegrade.profiles.base.Profile.render_prompt`."""


def render_prompts(
    benchmark: Benchmark, selected: Sequence[Problem], renderer: PromptRenderer, variant: str | None
) -> PromptSet:
    """Render every prompt; a problem that one shows solved is left out, unless the renderer scores it.

    Args:
        benchmark: the whole data set, from which worked examples come.
        selected: problems to ask, in order.
        renderer: whose prompt is used.
        variant: one of its prompt variants.
    """
    examples = benchmark.by_id()
    prompts = [(problem, renderer.render_prompt(problem, variant, examples)) for problem in selected]
    given_away = benchmark.name not in renderer.scores_shots
    shown = {shot for _, prompt in prompts for shot in prompt.shots} if given_away else set()
    excluded = {problem.id: "shown solved in the prompt" for problem in selected if problem.id in shown}
    return PromptSet([(problem, prompt) for problem, prompt in prompts if problem.id not in shown], excluded)


# ----------------- Runs that ask programs of several kinds: their rates are told apart before they are pooled.


POPULATIONS = {
    "original": "originals",
    "mutant": "mutants",
    "changed": "changed problems",
    "preserved": "rewritings",
}
"""`Pairing.shown`, ``changed`` for problems whose statement was changed, and how many of them are called; the
first that was asked gives the headline."""


def population_rates(problems: Mapping[str, Problem], tallies: Sequence[TaskTally]) -> list[Estimate]:
    """pass@1 of each kind of program, as ``original_pass@1``; empty where only one kind was asked."""
    parts = _parts(problems, tallies)
    if len(parts) < 2:
        return []
    return [
        msgspec.structs.replace(estimate("pass@1", parts[kind]), metric=f"{kind}_pass@1")
        for kind in POPULATIONS
        if any(tally.n for tally in parts.get(kind, ()))
    ]


def unchanged(problems: Mapping[str, Problem], tallies: Sequence[TaskTally]) -> list[TaskTally]:
    """The counts without those of changed problems, which are reported beside their originals."""
    return [tally for tally in tallies if _kind(problems[tally.task_id]) != "changed"]


def pooled_populations(problems: Mapping[str, Problem]) -> list[Caution]:
    """The warning that pass@1 is a mean over several kinds of program."""
    asked = Counter(map(_kind, problems.values()))
    if len(asked) < 2:
        return []
    held = [f"{asked[kind]} {words}" for kind, words in POPULATIONS.items() if kind in asked]
    said = f"pass@1 pools {', '.join(held[:-1])} and {held[-1]}; the rate of each kind comes before it"
    return [caution("pooled-populations", said)]


def _parts(problems: Mapping[str, Problem], tallies: Sequence[TaskTally]) -> Mapping[str, Sequence[TaskTally]]:
    """The counts by kind of program; a problem without variants is an original."""
    parts: dict[str, list[TaskTally]] = defaultdict(list)
    for tally in tallies:
        parts[_kind(problems[tally.task_id])].append(tally)
    return parts


def _kind(problem: Problem) -> str:
    task = problem.task
    pairing = task.pairing if isinstance(task, OutputTask | FunctionTask) else None
    if pairing is not None and pairing.shown == "mutant" and isinstance(task, FunctionTask):
        return "changed"
    return pairing.shown if pairing else "original"
