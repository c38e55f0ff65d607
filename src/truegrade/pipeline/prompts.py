"""The first stage: the prompt of every selected problem is rendered, and what a prompt gives away is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from truegrade.benchmarks.base import Benchmark
from truegrade.records import Problem, Prompt


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
