"""Programs graded under our profiles, in the form that the published graders answer in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache

from livecodebench_corpus.cases import Case
from livecodebench_corpus.problems import ContestProblem

from truegrade.profiles import open_profile
from truegrade.records import Answer, Completion, ContestTask, Problem
from truegrade.sandbox import Sandbox


def problem_of(name: str, public_tests: str, function: str | None) -> Problem:
    """A row of the data set, nothing in it but its tests."""
    task = ContestTask(title=name, question="", function=function, public_tests=public_tests, private_tests="[]")
    return Problem(id=name, benchmark="livecodebench", dataset_sha256="", cluster=name, task=task)


def case_row(case: Case) -> tuple[Problem, str]:
    """(problem, program) of an awkward program."""
    return problem_of(case.name, case.public_tests, case.function), case.code


@cache
def contest_problem(problem: ContestProblem, full: bool = False) -> Problem:
    """The problem as a row of the data set; ``full``: with the tests of contest size as well."""
    chosen = problem.full_tests if full else problem.tests
    tests = json.dumps([{"input": given, "output": wanted, "testtype": ""} for given, wanted in chosen])
    return problem_of(problem.name, tests, problem.name if problem.functional else None)


@cache
def sample_of(problem: ContestProblem, full: bool = False) -> dict:
    """The problem as the published graders take it."""
    given, wanted = zip(*(problem.full_tests if full else problem.tests), strict=True)
    return {"inputs": given, "outputs": wanted, "fn_name": problem.name if problem.functional else None}


def extract(profile: str, problem: Problem, text: str) -> str:
    """The program that a profile takes out of a reply; "" where it takes none."""
    completion = Completion(benchmark="livecodebench", dataset_sha256="", problem_id=problem.id, sample=0,
                            config_sha256="", prompt_sha256="", text=text, model="m")  # fmt: skip
    return open_profile(profile).extract(problem, completion).value or ""


def grade(
    profile: str, rows: Sequence[tuple[Problem, str]], workers: int = 1, memory_bytes: int | None = None
) -> list[dict]:
    """``results``, ``metadata``, ``passed`` of each program, and the judgement they come from."""
    rules = open_profile(profile)
    limits = replace(rules.limits, memory_bytes=memory_bytes or rules.limits.memory_bytes)
    with Sandbox(limits, workers=workers) as sandbox, ThreadPoolExecutor(workers) as pool:

        def one(row: tuple[Problem, str]) -> dict:
            answer = Answer(value=row[1], found="")
            judgement = rules.judgement(row[0], answer, sandbox)
            published = judgement.harness or {}
            return {
                "results": published.get("results"),
                "metadata": published.get("metadata", {}),
                "passed": judgement.passed,
                "judgement": judgement,
            }

        return list(pool.map(one, rows))
