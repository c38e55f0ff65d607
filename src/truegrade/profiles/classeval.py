"""`classeval`: class-level generation, holistic, of FudanSELab/ClassEval @eaeac44."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from truegrade.grading.executor import Executor
from truegrade.grading.functions import TESTS_INSIDE
from truegrade.grading.joined_tests import with_joined
from truegrade.grading.judgement import Judgement
from truegrade.grading.marks import methods_mark
from truegrade.grading.programs import test_classes
from truegrade.profiles.base import NO_EXAMPLES, Profile, check_variant, covered_task
from truegrade.profiles.harness_runs import Script, run_script, unreported
from truegrade.profiles.prompt_building import chat, continuation, origin
from truegrade.records import Answer, Completion, Problem, Prompt, Reason, SuiteTask
from truegrade.sandbox import Limits

CLASS_S = 5.0
"""Seconds that a class of tests has."""
NOT_FOUND: Mapping[str, tuple[str, ...]] = MappingProxyType({"ClassEval/97": ("Words2NumbersTestMain",)})
"""Classes of tests that the data set's list names with a blank before the name: the harness finds none."""
_RESPONSES = ("### Response:", "@@ Response:", "[/INST]")
_FENCES = (
    *(("```python", "```"), ("```ruby", "```"), ("```scss", "```"), ("```python", ""), ("```", "```")),
    ("[PYTHON]", "[/PYTHON]"),
)
"""In the harness' order: the first that a reply has is taken. What nothing closes is cut to nothing."""
_RUNNER = """
import importlib, io, unittest
found = {}
for name in JOB["classes"]:
    counts, over, words = [0, 0, 0], False, ""
    try:
        clock(JOB["seconds"], 1)
        module = importlib.import_module(JOB["module"])
        suite = unittest.TestLoader().loadTestsFromTestCase(getattr(module, name))
        result = unittest.TextTestRunner(stream=io.StringIO()).run(suite)
        clock(0)
        counts = [len(result.errors), len(result.failures), result.testsRun]
        over = any("TimedOut: " in text for _, text in result.errors)
    except TimedOut:
        over = True
    except BaseException as error:
        words = f"{type(error).__name__}: {error}"[:200]
    clock(0)
    found[name] = [0, 0, 0, True, ""] if over else [*counts, False, words]
report(found)
"""


class ClassEval(Profile):
    """A whole class at once, tested as a module with its tests behind it."""

    name = "classeval"
    version = "eaeac44"
    covers = ("suite",)
    only = MappingProxyType({"suite": ("classeval",)})
    takes = "program"
    variants = ("default", "plain", "magicoder", "skeleton")
    limits = Limits(cpu_s=60.0)

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """The harness' words for a family of models.

        Raises:
            UnknownName: there is no such variant.
        """
        style = check_variant(self, variant)
        task = covered_task(self, problem, SuiteTask)
        if style == "skeleton":
            return continuation(task.prompt, source=origin("classeval.plain.user"))
        values = {"class_name": task.entry_point, "skeleton": task.prompt}
        if style == "default":
            return chat("classeval.alpaca.user", values, system="classeval.system")
        return chat(f"classeval.{style}.user", values)

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """The code in a reply, its static methods marked anew, behind the data set's imports."""
        task = covered_task(self, problem, SuiteTask)
        text = completion.text or ""
        code = text if completion.form == "program" else extract_code(text)
        # The harness joins the imports, none being an empty line, with a line break.
        head = task.prefix or "\n"
        return Answer(value=head + with_static(code), found="the first fence, or from the class on")

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Run each class of tests."""
        task = covered_task(self, problem, SuiteTask)
        classes = test_classes(task)
        lost = NOT_FOUND.get(problem.id, ())
        seconds = self.cpu_s(CLASS_S)
        name = f"{problem.id.replace('/', '_')}_0"
        source = f"{answer.value}\n{task.tests}"
        script = Script(
            source=_RUNNER,
            files={f"{name}.py": source},
            job={"module": name, "classes": [f" {one}" if one in lost else one for one in classes],
                 "seconds": seconds},
            cpu_s=seconds * (len(classes) + 1),
        )  # fmt: skip
        outcome, found = run_script(script, executor)
        if not _is_report(found):
            return unreported(outcome)
        results = {test: _result(*counts[:3]) for test, counts in found.items()}
        words = dict.fromkeys(counts[4] for counts in found.values() if counts[4])
        passed = sum(result == "success" for result in results.values())
        judged = Judgement(
            reason=_reason(results, found),
            detail="; ".join(
                [*words, *(f"{test}: {word}" for test, word in results.items() if word != "success")]
            )[:300],
            cpu_s=outcome.cpu_s,
            wall_s=outcome.wall_s,
            time_sensitive=outcome.time_sensitive or any(counts[3] for counts in found.values()),
            marks=(TESTS_INSIDE, methods_mark(passed, len(results))),
            harness={"tests": len(results), "passed": passed, "results": list(results.values())},
        )
        return with_joined(judged, source, task.tests)


def extract_code(text: str) -> str:
    """The harness' ``extract_code``, of models that are not InCoder."""
    text = text.rstrip()
    for words in _RESPONSES:
        if words in text:
            text = text.split(words)[1]
            break
    for opening, closing in _FENCES:
        start = text.find(opening)
        end = text.find(closing, start + len(opening)) if start >= 0 else -1
        if end >= 0:
            return text[start + len(opening) : end]
    return _from_class(text)


def _from_class(text: str) -> str:
    """The lines from the first that begins with ``class``, imports before it kept, moved to the margin."""
    lines, removed = text.split("\n"), set()
    for line in lines:
        if line.strip().startswith("class"):
            break
        if not line.strip().startswith(("import", "from")):
            removed.add(line)
    kept = [line for line in lines if line not in removed]
    head = next((line for line in kept if line.strip().startswith("class")), "")
    if not (margin := _blanks(head)):
        return "\n".join(kept)
    return "\n".join(" " * (_blanks(line) - margin) + line.lstrip() for line in kept)


def with_static(code: str) -> str:
    """The harness' ``add_static_statement``."""
    lines = []
    for line in code.split("\n"):
        if "@staticmethod" in line:
            continue
        if line.strip().startswith("def ") and "self" not in line and "cls" not in line and _blanks(line) == 4:
            lines.append("    @staticmethod")
        lines.append(line)
    return "\n".join(lines)


def _blanks(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_report(found: Any) -> bool:
    """Whether this is what the runner reports; the program may have written something else."""
    return isinstance(found, dict) and all(
        isinstance(counts, list) and list(map(type, counts)) == [int, int, int, bool, str]
        for counts in found.values()
    )


def _result(errors: int, failures: int, run: int) -> str:
    """The harness' ``get_test_answer``."""
    if run in (0, errors):
        return "error"
    if errors + failures == 0:
        return "success"
    return "partial_success" if errors + failures < run else "fail"


def _reason(results: Mapping[str, str], found: Mapping[str, Sequence[Any]]) -> Reason:
    if all(result == "success" for result in results.values()):
        return Reason.PASSED
    if any(counts[3] for counts in found.values()):
        return Reason.TIME_LIMIT
    return Reason.WRONG_ANSWER if any(counts[1] for counts in found.values()) else Reason.RUNTIME_ERROR
