"""Bodies of the service's own requests and answers; ``/openapi.json`` is generated from these."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from truegrade.records import Form, Task, Verdict
from truegrade.sandbox.limits import MIB

Seconds = Annotated[float, msgspec.Meta(gt=0)]
MIN_MEMORY_BYTES = 256 * MIB
"""Less than that, and the interpreter of programs does not start."""


class InlineProblem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A problem that travels with its request. Its tests are trusted as much as the token's holder is."""

    task: Task
    """As in a benchmark's `Problem`."""
    id: str = "inline"
    benchmark: str = "inline"
    """The benchmark it is like: every profile but `strict` has rules for named ones only."""


class Submission(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One completion, and which problem it answers where that is not said for all."""

    text: str
    problem_id: str | None = None
    """Of the benchmark."""
    problem: InlineProblem | None = None
    benchmark: str | None = None
    """Instead of the request's."""
    sample: Annotated[int, msgspec.Meta(ge=0, le=2**53)] = 0
    """Which answer to its problem; returned with the verdict."""
    form: Form = "reply"
    reasoning: str | None = None
    finish_reason: str | None = None
    """As the model's service said; ``length`` and ``max_tokens`` mean that the reply was cut."""


class GradeRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Completions to grade under one or more profiles."""

    completions: list[Submission]
    benchmark: str | None = None
    problem: InlineProblem | None = None
    """One problem that all completions answer, instead of a benchmark."""
    profiles: Annotated[list[str], msgspec.Meta(min_length=1)] | None = None
    """Names, also as ``name@version``; by default the service's."""


class GradeResponse(msgspec.Struct, frozen=True, kw_only=True):
    """One verdict for each completion and profile: completions in order, for each the profiles in order."""

    verdicts: list[Verdict]


class RewardRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Completions to reward under one profile."""

    completions: list[Submission]
    benchmark: str | None = None
    problem: InlineProblem | None = None
    problems: list[InlineProblem] = []
    """Several, which completions name by ``problem_id``: replies to the same prompt need not repeat its tests."""
    profile: str | None = None
    cpu_s: Seconds | None = None
    """CPU seconds in place of each limit of the profile: of a program, a call or a test."""
    memory_bytes: Annotated[int, msgspec.Meta(ge=MIN_MEMORY_BYTES)] | None = None
    """In place of the profile's limit."""
    partial: bool = False
    """Whether a wrong completion gets the share of tests that it passes, where they can be counted."""
    first_tests: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """With `partial`: how many tests, from the first one on, the share is taken of; by default all."""
    tests_inside: bool = False
    """Whether passes under `strict` are paid that have the mark ``tests-inside``: their tests ran in the program's
    process and can be forged. Else their reward is null, and no tests of suites are counted for `partial`."""
    attempts: bool = False
    """Instead of rewarding, look whether completions set out to be paid for nothing: the reason is ``tampering``
    where one does, its marks are the channels, and ``wrong_answer`` where it does not. No reward counts."""


class RewardResponse(msgspec.Struct, frozen=True, kw_only=True):
    """1.0 for a right completion, 0.0 for a wrong one; null where the grader failed and nothing is known."""

    rewards: list[float | None]
    """With `partial`, a wrong completion's is below 1.0 by a test at least, unless `first_tests` left some out."""
    reasons: list[str]
    """Why, one of the reasons of ``docs/formats.md`` each."""
    pass_rates: list[float | None]
    """Share of the tests that passed; null where they were not counted."""
    marks: list[tuple[str, ...]]
    """Of the verdict each."""
    details: list[str]
    """Of the verdict each: for people."""


class ExecuteRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A Python program to run as a script."""

    program: str
    stdin: str = ""
    cpu_s: Seconds | None = None
    """By default 10, or the service's limit where that is lower."""
    wall_s: Seconds | None = None
    """By default ``3 * cpu_s + 5``."""
    memory_bytes: Annotated[int, msgspec.Meta(ge=MIN_MEMORY_BYTES)] | None = None
    """By default the service's limit."""


class ExecuteResponse(msgspec.Struct, frozen=True, kw_only=True):
    """How a program ended, and what it wrote."""

    status: str
    """``passed`` (exit code 0), or the reason why not."""
    detail: str
    exit_code: int | None
    """Minus the signal that ended it; null where it was never started."""
    stdout: str
    stderr: str
    cpu_s: float
    wall_s: float
    time_sensitive: bool
    level: int
    """Protection level under which it ran."""


class ProfileInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A profile that requests may name."""

    id: str
    summary: str
    covers: tuple[str, ...]
    """Kinds of problem it has rules for."""
    cpu_s: float


class BenchmarkInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark that requests may refer to."""

    name: str
    problems: int
    dataset_sha256: str


class Profiles(msgspec.Struct, frozen=True, kw_only=True):
    """All profiles, and those in force where a request names none."""

    profiles: list[ProfileInfo]
    default: list[str]


class Benchmarks(msgspec.Struct, frozen=True, kw_only=True):
    """The benchmarks that were named when the service was started."""

    benchmarks: list[BenchmarkInfo]


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the service lives, and whether it takes work."""

    status: Literal["ok", "stopping"]
    version: str
    level: int
    """Protection level of programs."""
