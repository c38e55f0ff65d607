"""Contest problems and programs for the tests of LiveCodeBench's profiles."""

from __future__ import annotations

import json

from truegrade.profiles import open_profile
from truegrade.records import Answer, Completion, ContestTask, Problem
from truegrade.sandbox import Sandbox

OFFICIAL, JANUARY, EVALSCOPE, FORK = "livecodebench", "livecodebench-2025-01", "evalscope", "lm-eval-fork"
PUBLISHED = (OFFICIAL, JANUARY, EVALSCOPE, FORK)
SUM = (("3 4\n", "7\n"),)
SUCCESSOR = (("3", "4"), ("7", "8"))


def contest(tests=SUM, function=None, **changed):
    """A problem with these (input, output) tests."""
    stored = json.dumps([{"input": given, "output": wanted, "testtype": "stdin"} for given, wanted in tests])
    fields = {"title": "t", "question": "QC", "function": function, "public_tests": stored, "private_tests": "[]"}
    task = ContestTask(**(fields | changed))
    return Problem(id="c1", benchmark="livecodebench", dataset_sha256="", cluster="c1", task=task)


def reply(text, form="reply"):
    return Completion(benchmark="livecodebench", dataset_sha256="", problem_id="c1", sample=0, config_sha256="",
                      prompt_sha256="", text=text, model="m", form=form)  # fmt: skip


def judged(profile, rows):
    """Judgements of (problem, program) rows."""
    rules = open_profile(profile)
    with Sandbox(rules.limits, workers=1) as sandbox:
        return [rules.judgement(problem, Answer(value=code, found=""), sandbox) for problem, code in rows]


def published(profile, rows):
    """(results, error_code, error_message) of each row, as the harness would have written them."""
    return [
        (found["results"], found["metadata"].get("error_code"), found["metadata"].get("error_message"))
        for found in (judgement.harness for judgement in judged(profile, rows))
    ]


def method(body, arguments="x"):
    """A class Solution whose method f has this body."""
    lines = "".join(f"        {line}\n" for line in body.split("\n"))
    return f"class Solution:\n    def f(self, {arguments}):\n{lines}"
