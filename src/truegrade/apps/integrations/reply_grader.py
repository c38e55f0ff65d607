"""A benchmark under one profile, as another tool needs it: questions to ask, and a verdict for every reply.

The tool asks the model; wording, extraction, the jail and the verdict are those of `truegrade.run`.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from truegrade.api import unsafe_allowed
from truegrade.benchmarks import load_benchmark
from truegrade.benchmarks.base import Benchmark
from truegrade.errors import UnknownName, UserError
from truegrade.files.threads import in_order
from truegrade.models.base import Reply
from truegrade.pipeline.generate import completion_of, render_prompts
from truegrade.pipeline.verdicts import limits_for, verdict_on
from truegrade.profiles import Profile, find_profile
from truegrade.profiles.base import refuse_uncovered
from truegrade.records import Message, Problem, Prompt, SampleKey, Verdict
from truegrade.sandbox import Sandbox
from truegrade.store.importers.logs import finish_reason_of

KEPT = 4
"""Graders that stay open; each holds its data set and, once programs ran, one warm interpreter a core."""


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """A reply, and what it answers."""

    problem_id: str
    sample: int = 0
    """0-based."""
    reply: Reply


class ReplyGrader:
    """Words the problems of a benchmark and grades replies to them; safe to use from several threads.

    Args:
        benchmark: the loaded data set.
        profile: the rules.
        variant: one of the profile's prompt variants; None for its own choice.

    Raises:
        UserError: the profile has no words for these problems.
    """

    def __init__(self, benchmark: Benchmark, profile: Profile, variant: str | None = None) -> None:
        refuse_uncovered([profile], benchmark.problems)
        self.benchmark, self.profile, self.variant = benchmark, profile, variant or "default"
        prompt_set = render_prompts(benchmark, benchmark.problems, profile, variant)
        self.items: tuple[tuple[Problem, Prompt], ...] = tuple(prompt_set.items)
        """Problems with their prompts, in the data set's order; those that a prompt shows solved are left out."""
        self._by_id = {problem.id: (problem, prompt) for problem, prompt in prompt_set.items}
        self._sandbox = Sandbox(limits_for(profile, benchmark.problems), allow_unsafe=unsafe_allowed())
        weakref.finalize(self, self._sandbox.close)

    @property
    def facts(self) -> dict[str, str]:
        """What decides a verdict, for the tool's own log."""
        return {
            "benchmark": self.benchmark.name,
            "dataset_sha256": self.benchmark.dataset_sha256,
            "profile": self.profile.id,
            "prompt": self.variant,
        }

    def grade(self, answered: Answered) -> Verdict:
        """The verdict on one reply.

        Raises:
            UnknownName: the benchmark has no such problem, or it is not scored.
            SandboxError: the machine failed, or programs may not run on it (protection level 1).
        """
        name = answered.problem_id
        if name not in self._by_id:
            raise UnknownName("problem", name, self._by_id, f"in {self.benchmark.name}")
        problem, prompt = self._by_id[name]
        completion = completion_of(problem, prompt, SampleKey(name, answered.sample), answered.reply)
        return verdict_on(completion, problem, self.profile, self._sandbox)

    def grade_all(self, answered: Iterable[Answered]) -> list[Verdict]:
        """Verdicts in the order of the replies, as many at a time as this machine has cores; raises as `grade`."""
        return list(in_order(answered, self.grade, workers=self._sandbox.workers))


def reply_of(text: str, content: Any = None, *, stop_reason: str | None = None, model: str = "") -> Reply:
    """A reply as Inspect and EvalScope hold one.

    Args:
        text: its words.
        content: the message's content; where it is a list, its parts with ``reasoning`` are the thinking that the
            service delivered apart.
        stop_reason: in their words.
        model: its name.
    """
    parts = content if isinstance(content, list) else []
    thinking = [part.reasoning for part in parts if getattr(part, "reasoning", None)]
    reason = finish_reason_of(stop_reason)
    return Reply(text=text, reasoning="\n".join(thinking) or None, finish_reason=reason, model=model)


def chat_messages(problem: Problem, prompt: Prompt) -> tuple[Message, ...]:
    """The turns of a prompt, for tools that ask chat models only.

    Raises:
        UserError: the prompt is a text to continue.
    """
    if prompt.style == "text":
        raise UserError(
            f"{problem.id}: this prompt is a text for base models to continue, and only chat models are asked"
            " here; choose another profile or prompt, or ask with `truegrade run`"
        )
    return prompt.messages


def open_grader(
    benchmark: str,
    profile: str = "strict",
    *,
    prompt: str | None = None,
    data: str | Path | None = None,
    task_args: Mapping[str, Any] | None = None,
) -> ReplyGrader:
    """The grader of that name; the same names give the same open grader.

    Args:
        benchmark: a name of ``truegrade list benchmarks`` or a path to a benchmark file.
        profile: a name of ``truegrade list profiles``.
        prompt: one of the profile's prompt variants.
        data: local data file or folder.
        task_args: arguments of the benchmark (``-T``); true and false may be booleans.

    Raises:
        UserError: a name, file or argument is at fault.
    """
    args = tuple(sorted((key, _text(value)) for key, value in (task_args or {}).items()))
    return _opened(benchmark, profile, prompt, None if data is None else os.fspath(data), args)


@lru_cache(maxsize=KEPT)
def _opened(
    benchmark: str, profile: str, prompt: str | None, data: str | None, args: tuple[tuple[str, str], ...]
) -> ReplyGrader:
    loaded = load_benchmark(benchmark, None if data is None else Path(data), dict(args))
    return ReplyGrader(loaded, find_profile(profile), prompt)


def _text(value: object) -> str:
    """An argument as the command line would have it; other tools read ``true`` as YAML."""
    return str(value).lower() if isinstance(value, bool) else str(value)
