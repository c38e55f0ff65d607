"""Graders by name, and the one of this machine."""

import itertools
import os
from contextlib import closing
from dataclasses import replace
from importlib.util import find_spec

import pytest

from truegrade.apps.ray.crew import parse_address
from truegrade.errors import UnknownName, UserError
from truegrade.pipeline.grade import LocalGrader, open_grader
from truegrade.profiles import open_profile
from truegrade.records import Completion, FunctionTask, Problem
from truegrade.sandbox.worker import descendants

OPENS_ITS_OWN_SANDBOXES = True
"""Closing one is what is tested: `support.warm_sandboxes`."""

PROBLEM = Problem(
    id="p/0", benchmark="humaneval", dataset_sha256="", cluster="0",
    task=FunctionTask(prompt="", entry_point="f", tests="assert f() == 1", reference="def f(): return 1"),
)  # fmt: skip


def completion(sample, program):
    return Completion(
        benchmark="humaneval", dataset_sha256="", problem_id="p/0", sample=sample, config_sha256="",
        prompt_sha256="", text=program, form="program", model="m",
    )  # fmt: skip


def test_completions_are_drawn_as_fast_as_they_are_graded():
    """An endless file of completions: whoever read ahead without bound would never return."""
    drawn = itertools.count()
    endless = (completion(next(drawn), "def f(): return 1") for _ in itertools.count())
    with closing(
        LocalGrader(1, allow_unsafe=True).verdicts(endless, {"p/0": PROBLEM}, open_profile("strict"))
    ) as some:
        assert all(verdict.passed for verdict in itertools.islice(some, 8))
    assert next(drawn) < 8 + 4 * 1 + 2


class Patient(type(open_profile("strict"))):
    """Whoever waited for an endless program would wait for an hour."""

    limits = replace(open_profile("strict").limits, cpu_s=3600)


def test_closing_ends_the_programs_under_way():
    programs = [completion(0, "def f(): return 1"), completion(1, "def f():\n    while True: pass")]
    others = set(descendants(os.getpid()))
    verdicts = LocalGrader(2, allow_unsafe=True).verdicts(programs, {"p/0": PROBLEM}, Patient())
    assert next(verdicts).passed
    under_way = set(descendants(os.getpid())) - others
    verdicts.close()
    assert under_way and not under_way & set(descendants(os.getpid()))


def test_an_unknown_executor_gets_a_suggestion():
    with pytest.raises(UnknownName, match="did you mean local"):
        open_grader("locla")
    with pytest.raises(UserError, match="has no address"):
        open_grader("local:8")


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("", "local"),
        ("auto", "auto"),
        ("10.0.0.1:6379", "10.0.0.1:6379"),
        ("//head", "ray://head:10001"),
        ("ray://head", "ray://head:10001"),
        ("//head:7", "ray://head:7"),
    ],
)
def test_addresses_of_clusters(written, address):
    assert parse_address(written) == address


@pytest.mark.parametrize("written", ["head", "ray://", "//head:x", "http://head:1", "a b:1"])
def test_what_cannot_be_an_address_is_refused(written):
    with pytest.raises(UserError, match="write ray, ray:auto"):
        parse_address(written)


@pytest.mark.skipif(find_spec("ray") is not None, reason="ray is installed")
def test_without_ray_the_extra_is_named():
    with pytest.raises(UserError, match=r"truegrade\[ray\]"):
        open_grader("ray")
