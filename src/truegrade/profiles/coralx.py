"""`coralx`: program repair as CORAL-X's description words, extracts and tests it.

skishore23/coralx@93e9490 docs/archive/QUIXBUGS_USAGE_ANALYSIS.md (the next commit, 4f939f1, deleted it).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import ClassVar

import msgspec

from truegrade.errors import UserError
from truegrade.extraction.contest_programs import take_code
from truegrade.extraction.parsing import Fault, parse_module
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement
from truegrade.grading.repairs import RepairTask, grade_repair, suite_of
from truegrade.grading.static_findings import Linter
from truegrade.profiles.base import NO_EXAMPLES, Profile, Rule
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
from truegrade.profiles.prompt_building import repair_prompts
from truegrade.profiles.refusals import check_variant, covered_task
from truegrade.records import Answer, CasesTask, Completion, FunctionTask, Problem, Prompt, Reason, Verdict
from truegrade.records.kinds import Kind
from truegrade.sandbox import Limits

_SOURCE = "skishore23/coralx@93e9490 docs/archive/QUIXBUGS_USAGE_ANALYSIS.md"

TEST_CPU_S = 5.0
"""CPU seconds of one test; CORAL-X's alarm is 5 seconds of wall time."""


class Coralx(Profile):
    """The first block wins; outputs are equal under ``==`` or wrong; a test that takes 5 s is failed."""

    name: ClassVar[str] = "coralx"
    version: ClassVar[str] = "4f939f1"
    summary: ClassVar[str] = "program repair as CORAL-X's description has it: first block, literal ==, 5 s a test"
    current: ClassVar[bool] = False
    covers: ClassVar[tuple[Kind, ...]] = ("repair",)
    variants: ClassVar[tuple[str, ...]] = ("default", "base")
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("prompt", "quixbugs.repair: name, buggy file and an open ```python fence; base: the same to continue",
             _SOURCE),
        Rule("extraction", "first ```python block, else first ``` block without a language, else the lines from"
             " each def to the next unindented one, else the reply; stripped. Of the completion alone", _SOURCE),
        Rule("program", "run in a namespace of its own, the function taken by the problem's name; code that"
             " ast.parse refuses is not run", _SOURCE),
        Rule("comparison", "result == expected, per test; inputs are fresh for every test. Compared outside the"
             " program's process: an object whose own __eq__ says yes is wrong here", _SOURCE),
        Rule("comparison", "the 9 programs without JSON tests, which CORAL-X does not evaluate, by the tests of"
             " their pytest modules; micro-repair by its assertions", "ours"),
        Rule("limits", "5 s a test, of CPU time; a test over it is failed and the next one runs, in a fresh"
             " process. No test is skipped", _SOURCE),
        Rule("aggregation", "bugfix, style, security, runtime and syntax of each answer, arithmetic mean over"
             " problems, sum weighted by .30, .15, .25, .10 and .20; style by flake8 and security by bandit, where"
             " they are installed", _SOURCE),
    )  # fmt: skip
    defects: ClassVar[tuple[str, ...]] = (
        "the prompt opens a fence: of prompt and completion together the first block is the buggy program",
        "first block wins: of a draft and a final program the draft is graded",
        "a reply that closes the prompt's fence and shows another block: the text between them, or that block",
        "``` inside a docstring ends the block",
        "```py, ```Python and ~~~ open no block; what follows the fence that closes one may be taken for it",
        "without a block: imports, constants and decorators before the first def are lost",
        "without a block: async def is not found, and the prose around it is graded as code",
        "without a block: of a class its first method is taken, bare",
        "without a block: a helper behind any unindented line that is no def is lost",
        "flatten and kheapsort return generators, which equal no list: no test can pass",
        "hanoi's moves are tuples, JSON's are lists: only the tests whose answer is empty can pass",
        "sqrt asks for the very float, although it takes a tolerance as argument",
        "knapsack and levenshtein have a test each that the right program does not finish: it is failed",
        "an empty reply is valid code",
    )
    limits: ClassVar[Limits] = Limits(cpu_s=TEST_CPU_S)
    scored: ClassVar[tuple[str, ...]] = (*WEIGHTS, WEIGHTED_SUM)

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """CORAL-X's prompt, as a message or as text to continue."""
        prompts = repair_prompts(_task(self, problem))
        prompt = prompts[check_variant(self, variant)]()
        return msgspec.structs.replace(prompt, stop=())  # CORAL-X names no stop string

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """The first block of the completion, whatever the prompt was; a given program stays as it is."""
        _task(self, problem)
        text = completion.text or ""
        if completion.form == "program":
            return Answer(value=text, found="as given: a whole program")
        code, step = take_code(text)
        return Answer(value=code, found=step)

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Run every test under ``==``; invalid code is not run."""
        task = _task(self, problem)
        suite = msgspec.structs.replace(suite_of(task), skipped=())
        code = answer.value or ""
        tree = parse_module(code)
        if isinstance(tree, Fault):
            results = [str(Reason.SYNTAX_ERROR)] * suite.size
            counts = {"tests": suite.size, "passed": 0, "results": results}
            return Judgement(reason=Reason.SYNTAX_ERROR, detail=f"line {tree.line}", harness=counts)
        return grade_repair(suite, code, executor, cpu_s=self.cpu_s(TEST_CPU_S), comparator="eq")

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


def _task(profile: Profile, problem: Problem) -> RepairTask:
    return covered_task(profile, problem, CasesTask, FunctionTask)
