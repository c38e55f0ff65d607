"""`coralx`: program repair as CORAL-X's description words, extracts and tests it.

skishore23/coralx@93e9490 docs/archive/QUIXBUGS_USAGE_ANALYSIS.md (the next commit, 4f939f1, deleted it).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, partial
from typing import Any, ClassVar

import msgspec

from truegrade.errors import UserError
from truegrade.extraction.contest_programs import take_code
from truegrade.extraction.parsing import Fault, parse_module
from truegrade.grading.judgement import Judgement
from truegrade.grading.repairs import grade_repair
from truegrade.grading.static_findings import Linter
from truegrade.kinds import Context, kind_of
from truegrade.kinds.repair import repair_prompts
from truegrade.profiles.base import Profile, Way
from truegrade.profiles.coralx_objectives import (
    VALID_SYNTAX,
    WEIGHTED_SUM,
    WEIGHTS,
    bugfix,
    deepest_loop,
    runtime,
    security,
    style,
    weighted_sum,
)
from truegrade.prompts.making import RenderPrompt
from truegrade.records import Answer, Completion, Problem, Prompt, Reason, Task, Verdict
from truegrade.sandbox import Limits

TEST_CPU_S = 5.0
"""CPU seconds of one test; CORAL-X's alarm is 5 seconds of wall time."""


def _prompts(problem: Problem, task: Any, examples: object) -> dict[str, RenderPrompt]:
    """CORAL-X's prompt, as a message or as text to continue; it names no stop string."""

    def without_stop(render: RenderPrompt) -> Prompt:
        return msgspec.structs.replace(render(), stop=())

    worded = repair_prompts(task.entry_point, task.buggy)
    return {name: partial(without_stop, render) for name, render in worded.items()}


def _extract(problem: Problem, task: object, completion: Completion) -> Answer:
    """The first block of the completion, whatever the prompt was; a given program stays as it is."""
    text = completion.text or ""
    if completion.form == "program":
        return Answer(value=text, found="as given: a whole program")
    code, step = take_code(text)
    return Answer(value=code, found=step)


def _judge(problem: Problem, task: Task, answer: Answer, context: Context) -> Judgement:
    """Run every test under ``==``; invalid code is not run."""
    held = kind_of(task).suite(task)
    assert held is not None  # every repair has one
    suite = msgspec.structs.replace(held, skipped=())
    code = answer.value or ""
    tree = parse_module(code)
    if isinstance(tree, Fault):
        results = [str(Reason.SYNTAX_ERROR)] * suite.size
        counts = {"tests": suite.size, "passed": 0, "results": results}
        return Judgement(reason=Reason.SYNTAX_ERROR, detail=f"line {tree.line}", harness=counts)
    return grade_repair(suite, code, context.executor, cpu_s=context.cpu_s(TEST_CPU_S), comparator="eq")


class Coralx(Profile):
    """The first block wins; outputs are equal under ``==`` or wrong; a test that takes 5 s is failed."""

    name = "coralx"
    version = "4f939f1"
    current = False
    ways: ClassVar[Mapping[str, Way]] = {"repair": Way(prompts=_prompts, extract=_extract, judge=_judge)}
    variants = ("default", "base")
    limits = Limits(cpu_s=TEST_CPU_S)
    scored = (*WEIGHTS, WEIGHTED_SUM)

    def scores(self, verdict: Verdict) -> Mapping[str, float]:
        """The five objectives of an answer and their weighted sum; without the linters three objectives."""
        results = (verdict.harness or {}).get("results", ())
        linter = installed_linter()
        if isinstance(linter, UserError):
            return objective_scores(verdict.answer, results.count(Reason.PASSED), len(results), None)
        found = objective_scores(verdict.answer, results.count(Reason.PASSED), len(results), linter)
        return {**found, WEIGHTED_SUM: weighted_sum(found)}

    def warnings(self, problems: Iterable[Problem]) -> list[str]:
        """Which objectives are missing where a linter is not installed."""
        linter = installed_linter()
        if isinstance(linter, Linter):
            return []
        return [f"the scores style and security, and with them the weighted sum, are missing: {linter}"]


@cache
def installed_linter() -> Linter | UserError:
    """The linters, loaded once in a process; or the error that says which of them is not installed."""
    try:
        return Linter()
    except UserError as error:
        return error


def objective_scores(code: str | None, passed: int, tests: int, linter: Linter | None) -> dict[str, float]:
    """The five objectives of one answer.

    Args:
        code: what was graded; None if nothing was found in the reply.
        passed: tests that it passed.
        tests: tests of its problem.
        linter: finds what style and security count; None leaves these two out.
    """
    tree = None if code is None else parse_module(code)
    if code is None or tree is None or isinstance(tree, Fault):
        return {name: 0.0 for name in WEIGHTS if linter is not None or name not in ("style", "security")}
    linted = {}
    if linter is not None:
        findings = linter.check(tree, code)
        linted["style"] = style(len(findings.style)) if findings.complete else 0.0
        linted["security"] = security(findings.security) if findings.complete else 0.0
    return {
        "bugfix": bugfix(passed, tests),
        **linted,
        "runtime": runtime(code, deepest_loop(tree)),
        "syntax": VALID_SYNTAX,
    }
