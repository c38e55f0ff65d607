"""`cweval`: function and security of Co1lin/CWEval @e9a2a12, its Python tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from truegrade.grading.executor import Executor
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.grading.judgement import Judgement
from truegrade.grading.marks import NOT_COLLECTED, SECURE
from truegrade.profiles.base import NO_EXAMPLES, Profile, check_variant, covered_task
from truegrade.profiles.harness_runs import Script, run_script, unreported
from truegrade.profiles.prompt_building import base, chat
from truegrade.records import Answer, Completion, Problem, Prompt, Reason, SuiteTask
from truegrade.sandbox import Limits

TEST_S = 3.0
"""Seconds that a test has."""
START_S = 10.0
"""CPU seconds for pytest itself and for what program and tests import."""
_PARTS = ("functionality", "security")
_RUNNER = """
os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
import pytest
found = {}
class Collector:
    def pytest_collection_modifyitems(self, items):
        for item in items:
            found[item.nodeid] = False
    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item):
        clock(JOB["seconds"])
        yield
        clock(0)
    def pytest_runtest_logreport(self, report):
        if report.when == "call":
            found[report.nodeid] = report.outcome == "passed"
os._exit = lambda *codes: None
options = ["--tb=short", "--no-header", "--continue-on-collection-errors", "-k", "not _unsafe"]
options += ["-p", "no:cacheprovider", "--basetemp", "scratch", "--rootdir", os.getcwd()]
try:
    pytest.main([*JOB["tests"], *options], plugins=[Collector()])
finally:
    report(found)
"""


class CWEval(Profile):
    """A function of a known weakness, tested for what it does and for whether it is secure."""

    name = "cweval"
    version = "e9a2a12"
    covers = ("suite",)
    only = MappingProxyType({"suite": ("cweval",)})
    takes = "program"
    variants = ("default", "secure", "compl")
    limits = Limits(cpu_s=60.0, processes=16, packages=("numpy", "pytest"))

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """The harness' words.

        Raises:
            UnknownName: there is no such variant.
        """
        style = check_variant(self, variant)
        values = {"prompt": covered_task(self, problem, SuiteTask).prompt.strip()}
        if style == "compl":
            return base("cweval.compl.prompt", values)
        return chat("cweval.secure.user" if style == "secure" else "cweval.direct.user", values)

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """The first fence, or the whole reply."""
        task = covered_task(self, problem, SuiteTask)
        text = completion.text or ""
        if completion.form == "program":
            return Answer(value=text, found="as given: a whole program")
        if completion.form == "completion":  # it goes on in the fence that the prompt has opened
            text = f"```py\n{task.prompt.strip()}\n{text}"
        return Answer(value=first_block(text) or text, found="first fence, else the whole reply")

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Run the tests of function and of security."""
        task = covered_task(self, problem, SuiteTask)
        suites = dict(zip(_PARTS, (task.tests, task.security), strict=True))
        files = {f"{task.module.removesuffix('_task')}_{part}_test.py": text for part, text in suites.items()}
        seconds = self.cpu_s(TEST_S)
        script = Script(
            source=_RUNNER,
            files={f"{task.module}.py": answer.value or "", **files},
            job={"tests": list(files), "seconds": seconds},
            cpu_s=START_S + seconds * 20,
        )
        outcome, found = run_script(script, executor)
        if not _is_report(found):
            return unreported(outcome)
        results = {part: _passed(found, file) for part, file in zip(_PARTS, files, strict=True)}
        failed = ", ".join(name.partition("::")[2] for name, passed in found.items() if not passed)
        marks = [TESTS_INSIDE, *([SECURE] if results["security"] else []), *([] if found else [NOT_COLLECTED])]
        return Judgement(
            reason=_reason(results["functionality"], found),
            detail="" if not failed else f"failed: {failed}"[:300],
            cpu_s=outcome.cpu_s,
            wall_s=outcome.wall_s,
            time_sensitive=outcome.time_sensitive,
            marks=tuple(marks),
            harness={"functional": results["functionality"], "secure": results["security"]} if found else None,
        )

    def tally(self, outcomes: Sequence[tuple[bool, tuple[str, ...]]]) -> tuple[int, int]:
        """Only programs that could be imported are samples."""
        return super().tally([each for each in outcomes if NOT_COLLECTED not in each[1]])


def first_block(text: str) -> str:
    """What stands between the first line that begins with a fence and the next such line, or the end."""
    lines = text.splitlines()
    fences = [place for place, line in enumerate(lines) if line.startswith("```")]
    if not fences:
        return ""
    return "\n".join(lines[fences[0] + 1 : fences[1] if len(fences) > 1 else len(lines)])


def _is_report(found: Any) -> bool:
    """Whether this is what the runner reports; the program may have written something else."""
    return isinstance(found, dict) and all(isinstance(passed, bool) for passed in found.values())


def _passed(found: Mapping[str, bool], file: str) -> bool:
    """Whether every test of a file passed, and there is one."""
    results = [passed for name, passed in found.items() if name.startswith(f"{file}::")]
    return bool(results) and all(results)


def _reason(functional: bool, found: Mapping[str, bool]) -> Reason:
    if functional:
        return Reason.PASSED
    return Reason.WRONG_ANSWER if found else Reason.RUNTIME_ERROR
